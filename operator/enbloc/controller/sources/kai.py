# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of the KAI scheduler, `scheduling.run.ai/v2alpha2`; their status is not written.

Source of the meaning of fields: KAI-Scheduler v0.15, pkg/apis/scheduling/v2alpha2/
podgroup_types.go and podgroup_webhook.go, pkg/scheduler/api/podgroup_info/subgroup_info/factory.go.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.sources.role_trees import tree_spec, unsaid
from enbloc.controller.sources.source import (
    LARGEST,
    Derived,
    RefusedGroup,
    Source,
    SourceObject,
    misnamed,
    topology_of,
)
from enbloc.controller.sources.topology import in_topology, kais_topology, levels
from enbloc.model.qualified_names import object_name_problem
from enbloc.model.text import clipped, quoted
from enbloc.model.trees import Child, Tree
from enbloc.wire.objects import Int64

RESOURCE: Final = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup")
#: The most sub-groups that are read: following all their parents takes quadratic time.
_MOST_GROUPS: Final = 256
#: The most levels of sub-groups that are read; redundant levels are dropped later.
_MOST_LEVELS: Final = 16


class _Constraint(msgspec.Struct, gc=False, rename="camel"):
    topology: str | None = None
    required_topology_level: str | None = None
    preferred_topology_level: str | None = None


class _SubGroup(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    min_member: Int64 | None = None
    parent: str | None = None
    min_sub_group: Int64 | None = None
    topology_constraint: _Constraint | None = None


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    min_member: Int64 | None = None
    min_sub_group: Int64 | None = None
    priority_class_name: str | None = None
    queue: str | None = None
    preemptibility: str | None = None
    mark_unschedulable: bool | None = None
    topology_constraint: _Constraint | None = None
    sub_groups: tuple[_SubGroup, ...] | None = None


class KaiPodGroup(SourceObject):
    """A PodGroup of KAI."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: KaiPodGroup) -> Derived | RefusedGroup:
    """Our PodGroup: sub-groups without children are roles, the others are the sub-groups above.

    A minSubGroup of 0 counts as 1, as each child starts by itself. A minMember of 0 has no effect,
    and neither has the minMember of a sub-group with children.
    """
    spec, groups = found.spec, found.spec.sub_groups or ()
    problem = "; ".join((*_problems(spec, groups), *_misnamed_topologies(spec)))
    if problem:
        return RefusedGroup(clipped(problem))
    inner = {each.parent for each in groups if each.parent}
    minimums = {each.name: _minimum(each) for each in groups if each.name not in inner}
    tree, minimum = _tree("", spec.min_sub_group, groups), max(1, spec.min_member or 1)
    near = {each.name: said for each in groups if (said := _near(each.topology_constraint))}
    wanted = tree_spec(tree, minimums, minimum, near)
    if isinstance(wanted, RefusedGroup):
        return RefusedGroup(f"spec.subGroups: {wanted.problem}")
    if spec.priority_class_name:
        wanted["priorityClassName"] = spec.priority_class_name
    wanted |= topology_of(_near(spec.topology_constraint))
    lost = unsaid(near, wanted)
    wanted = in_topology(wanted, kais_topology(_topologies(spec)))
    return Derived(wanted, ignored="; ".join(_ignored(spec, inner, lost)))


def _near(constraint: _Constraint | None) -> dict[str, str]:
    """Our field `topology` for a constraint; empty = none."""
    if constraint is None:
        return {}
    return levels(constraint.required_topology_level, constraint.preferred_topology_level)


def _topologies(spec: _Spec) -> Iterator[str]:
    """The Topologies that it names."""
    parts = (each.topology_constraint for each in spec.sub_groups or ())
    for constraint in (spec.topology_constraint, *parts):
        if constraint is not None and constraint.topology:
            yield constraint.topology


def _misnamed_topologies(spec: _Spec) -> Iterator[str]:
    for name in dict.fromkeys(_topologies(spec)):
        if problem := object_name_problem(name):
            yield f"topologyConstraint.topology: {problem}"


def _minimum(group: _SubGroup) -> int:
    """The minimum of a sub-group that has pods; the default is 1."""
    return 1 if group.min_member is None else group.min_member


def _tree(name: str, count: int | None, groups: Sequence[_SubGroup]) -> Tree:
    """The tree of a sub-group, `count` of whose children are needed; None = all."""
    inner = {each.parent for each in groups if each.parent}
    children: list[Child] = [
        _tree(each.name, each.min_sub_group, groups) if each.name in inner else each.name
        for each in groups
        if (each.parent or "") == name
    ]
    return Tree(name, len(children) if count is None else max(1, count), tuple(children))


def _problems(spec: _Spec, groups: Sequence[_SubGroup]) -> Iterator[str]:
    """Why no PodGroup can be made, each reason with its field."""
    if spec.min_member is not None and not 0 <= spec.min_member <= LARGEST:
        yield f"spec.minMember: {spec.min_member} is not between 0 and {LARGEST}"
    if spec.min_member is not None and spec.min_sub_group is not None:
        yield "spec.minMember and spec.minSubGroup are both set; leave one of them out"
    if len(groups) > _MOST_GROUPS:
        yield f"spec.subGroups: it lists {len(groups)}; {_MOST_GROUPS} are supported"
        return
    above = {each.name: each.parent for each in groups}
    below = Counter(each.parent or "" for each in groups)
    yield from _problems_of_count("spec.minSubGroup", spec.min_sub_group, below[""])
    for index, each in enumerate(groups):
        for problem in _problems_of(each, above.keys()):
            yield f"spec.subGroups[{index}].{problem}"
        path = f"spec.subGroups[{index}].minSubGroup"
        yield from _problems_of_count(path, each.min_sub_group, below[each.name])
    if len(above) < len(groups):
        yield "spec.subGroups: a name is there twice; the names must differ"
    depth = max((_depth(name, above) for name in above), default=0)
    if depth > len(above):
        yield "spec.subGroups: the parents form a circle; leave the parent of one of them out"
    elif depth > _MOST_LEVELS:
        yield f"spec.subGroups: they have {depth} levels; {_MOST_LEVELS} are supported"


def _problems_of(group: _SubGroup, names: Collection[str]) -> Iterator[str]:
    if problem := misnamed(group.name):
        yield f"name: {problem}"
    if group.parent and group.parent not in names:
        yield f"parent: {quoted(group.parent)} is no sub-group; name one that is listed"
    if group.min_member is not None and not 0 <= group.min_member <= LARGEST:
        yield f"minMember: {group.min_member} is not between 0 and {LARGEST}"


def _problems_of_count(path: str, count: int | None, children: int) -> Iterator[str]:
    """What is wrong with the number of needed children, given how many there are."""
    if count is not None and not 0 <= count <= children:
        yield f"{path}: {count} is not between 0 and the {children} sub-groups below it"


def _depth(name: str, above: Mapping[str, str | None]) -> int:
    """The depth of a sub-group; more than there are sub-groups = the parents form a cycle."""
    at: str | None = name
    for steps in range(len(above) + 1):
        if not at:
            return steps
        at = above.get(at)
    return len(above) + 1


def _ignored(spec: _Spec, inner: Collection[str], lost: Collection[str]) -> Iterator[str]:
    for index, each in enumerate(spec.sub_groups or ()):
        if each.name in inner and each.min_member is not None:
            path = f"spec.subGroups[{index}].minMember"
            yield f"{path} is ignored: it has sub-groups; use minSubGroup"
            break
    if spec.queue:
        yield "spec.queue is ignored: quota and fair share need Kueue or KAI"
    if spec.preemptibility:
        yield "spec.preemptibility is ignored: who gives way is decided by priority alone"
    if spec.mark_unschedulable is False:
        yield "spec.markUnschedulable: false is ignored: pods that lack room say so"
    for index, each in enumerate(spec.sub_groups or ()):
        if each.name in lost:
            path = f"spec.subGroups[{index}].topologyConstraint"
            yield f"{path} is ignored: the PodGroup has no role or sub-group for it"
            break


KAI: Final = Source(
    name="KAI",
    resources=(RESOURCE,),
    shape=KaiPodGroup,
    derive=derive,
    scheduler_names=frozenset({"kai-scheduler"}),
)
