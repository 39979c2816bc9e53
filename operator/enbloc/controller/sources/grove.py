# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGangs of Grove, `scheduler.grove.io/v1alpha1`; they are told nothing.

Grove makes one for each replica of a PodCliqueSet, whichever scheduler its pods name; those wait,
gated, until it lists them all. Source of the meaning of fields: Grove,
scheduler/api/core/v1alpha1/podgang.go; of the labels of pods: operator/api/common/labels.go.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.sources.role_trees import tree_spec
from enbloc.controller.sources.source import (
    LARGEST,
    Derived,
    RefusedGroup,
    Source,
    SourceObject,
    misnamed,
    topology_of_all,
)
from enbloc.controller.sources.topology import topology
from enbloc.model.text import clipped
from enbloc.model.trees import Tree
from enbloc.wire.codec_groups import MOST_PARTS
from enbloc.wire.objects import Int64

RESOURCE: Final = Resource("scheduler.grove.io", "v1alpha1", "podgangs", "PodGang")


class _PackConstraint(msgspec.Struct, gc=False, rename="camel"):
    required: str | None = None
    preferred: str | None = None


class _Constraint(msgspec.Struct, gc=False, rename="camel"):
    pack_constraint: _PackConstraint | None = None

    @property
    def pack(self) -> _PackConstraint:
        """The node labels in one domain of which pods are, or should be."""
        return self.pack_constraint or _PackConstraint()


class _PodGroup(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    min_replicas: Int64 | None = None
    topology_constraint: _Constraint | None = None


class _Part(msgspec.Struct, gc=False, rename="camel"):
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
    """Our PodGroup: each of its pod groups is a role, all of them needed.

    While Grove replaces pods one after the other it sets all minimums to 0.
    """
    spec, groups = found.spec, found.spec.podgroups or ()
    problem = "; ".join(_problems(groups))
    if problem:
        return RefusedGroup(clipped(problem))
    minimums = {each.name: each.min_replicas or 0 for each in groups}
    wanted = tree_spec(Tree("", len(minimums), tuple(minimums)), minimums, 1)
    if isinstance(wanted, RefusedGroup):
        return RefusedGroup(f"spec.podgroups: {wanted.problem}")
    if spec.priority_class_name:
        wanted["priorityClassName"] = spec.priority_class_name
    pack = (spec.topology_constraint or _Constraint()).pack
    wanted |= topology(pack.required, pack.preferred)
    return Derived(wanted, ignored="; ".join(_ignored(spec)))


def _problems(groups: tuple[_PodGroup, ...]) -> Iterator[str]:
    """Why no PodGroup can be made of it, each with its field."""
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


def _ignored(spec: _Spec) -> Iterator[str]:
    for field, parts in (
        ("podgroups", spec.podgroups),
        ("topologyConstraintGroupConfigs", spec.topology_constraint_group_configs),
    ):
        packs = [(each.topology_constraint or _Constraint()).pack for each in parts or ()]
        index = next((n for n, pack in enumerate(packs) if pack.required or pack.preferred), None)
        if index is not None:
            yield topology_of_all(f"spec.{field}[{index}].topologyConstraint")
    if spec.reuse_reservation_ref:
        yield "spec.reuseReservationRef is ignored: a gang that is replaced is placed anew"


GROVE: Final = Source(
    name="Grove",
    resources=(RESOURCE,),
    shape=PodGang,
    derive=derive,
)
