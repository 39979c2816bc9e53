# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGangs of Grove, `scheduler.grove.io/v1alpha1`; their status is not written.

Grove makes one for each replica of a PodCliqueSet, whichever scheduler its pods name; the pods stay
gated until the PodGang lists them all. Source of the meaning of fields: Grove,
scheduler/api/core/v1alpha1/podgang.go; of the labels of pods: operator/api/common/labels.go.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.sources.role_trees import tree_spec, unsaid
from enbloc.controller.sources.source import (
    LARGEST,
    Derived,
    RefusedGroup,
    Source,
    SourceObject,
    label,
    misnamed,
    topology_of,
)
from enbloc.controller.sources.topology import levels
from enbloc.model.text import clipped
from enbloc.model.trees import Child, Tree
from enbloc.wire.codec_groups import MOST_PARTS
from enbloc.wire.objects import Int64

RESOURCE: Final = Resource("scheduler.grove.io", "v1alpha1", "podgangs", "PodGang")


class _PackConstraint(msgspec.Struct, gc=False, rename="camel"):
    required: str | None = None
    preferred: str | None = None


class _Constraint(msgspec.Struct, gc=False, rename="camel"):
    pack_constraint: _PackConstraint | None = None


def _levels(constraint: _Constraint | None) -> dict[str, str]:
    """Our field `topology` for a constraint; empty = none."""
    pack = constraint.pack_constraint if constraint is not None else None
    return levels(pack.required, pack.preferred) if pack is not None else {}


class _PodGroup(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    min_replicas: Int64 | None = None
    topology_constraint: _Constraint | None = None


class _Part(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    pod_group_names: tuple[str, ...] | None = None
    topology_constraint: _Constraint | None = None


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    podgroups: tuple[_PodGroup, ...] | None = None
    priority_class_name: str | None = None
    topology_constraint: _Constraint | None = None
    topology_constraint_group_configs: tuple[_Part, ...] | None = None
    reuse_reservation_ref: dict[str, Any] | None = None


class PodGang(SourceObject):
    """A PodGang of Grove."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: PodGang) -> Derived | RefusedGroup:
    """Our PodGroup: each of its pod groups is a role, and all are needed.

    Pod groups that are packed together are the roles of a sub-group.

    While Grove replaces pods one by one, it sets all minimums to 0.
    """
    spec, groups = found.spec, found.spec.podgroups or ()
    problem = "; ".join(_problems(groups))
    if problem:
        return RefusedGroup(clipped(problem))
    minimums = {each.name: each.min_replicas or 0 for each in groups}
    near = {each.name: said for each in groups if (said := _levels(each.topology_constraint))}
    parts = {label(each.name): each for each in _packed(spec, minimums)}
    near |= {name: _levels(part.topology_constraint) for name, part in parts.items()}
    wanted = tree_spec(_tree(parts, minimums), minimums, 1, near)
    if isinstance(wanted, RefusedGroup):
        return RefusedGroup(f"spec.podgroups: {wanted.problem}")
    if spec.priority_class_name:
        wanted["priorityClassName"] = spec.priority_class_name
    wanted |= topology_of(_levels(spec.topology_constraint))
    lost = unsaid(near, wanted)
    followed = [part for name, part in parts.items() if name not in lost]
    return Derived(wanted, ignored="; ".join(_ignored(spec, followed)))


def _packed(spec: _Spec, roles: Collection[str]) -> Iterator[_Part]:
    """The configs whose pod groups are packed together, and in no other: they are sub-groups."""
    names, taken = {*roles}, set[str]()
    for each in spec.topology_constraint_group_configs or ():
        own = set(each.pod_group_names or ())
        fits = own and own.isdisjoint(taken) and all(name in roles for name in own)
        if fits and _levels(each.topology_constraint) and label(each.name) not in names:
            names.add(label(each.name))
            taken |= own
            yield each


def _tree(parts: Mapping[str, _Part], roles: Iterable[str]) -> Tree:
    within = {name: part.pod_group_names or () for name, part in parts.items()}
    inside = {role for names in within.values() for role in names}
    children: list[Child] = [role for role in roles if role not in inside]
    children += [
        Tree(name, len(set(names)), tuple(dict.fromkeys(names))) for name, names in within.items()
    ]
    return Tree("", len(children), tuple(children))


def _problems(groups: tuple[_PodGroup, ...]) -> Iterator[str]:
    """Why no PodGroup can be made, each reason with its field."""
    if len(groups) > MOST_PARTS:
        yield f"spec.podgroups: it lists {len(groups)}; {MOST_PARTS} are supported"
        return
    for index, each in enumerate(groups):
        path, minimum = f"spec.podgroups[{index}]", each.min_replicas or 0
        if problem := misnamed(each.name):
            yield f"{path}.name: {problem}"
        if not 0 <= minimum <= LARGEST:
            yield f"{path}.minReplicas: {minimum} is not between 0 and {LARGEST}"
    if len({each.name for each in groups}) < len(groups):
        yield "spec.podgroups: a name is there twice; the names must differ"


def _ignored(spec: _Spec, followed: Collection[_Part]) -> Iterator[str]:
    for index, each in enumerate(spec.topology_constraint_group_configs or ()):
        if _levels(each.topology_constraint) and each not in followed:
            yield (
                f"spec.topologyConstraintGroupConfigs[{index}] is ignored: it lists no pod groups "
                "of spec.podgroups, or has some, or the name, of another one, or they are too many"
            )
            break
    if spec.reuse_reservation_ref:
        yield "spec.reuseReservationRef is ignored: a gang that is replaced is placed anew"


GROVE: Final = Source(
    name="Grove",
    resources=(RESOURCE,),
    shape=PodGang,
    derive=derive,
)
