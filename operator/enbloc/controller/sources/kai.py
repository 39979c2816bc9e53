# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of the KAI scheduler, `scheduling.run.ai/v2alpha2`; they are read, and told nothing.

Source of the meaning of fields: KAI-Scheduler, pkg/apis/scheduling/v2alpha2/podgroup_types.go.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from enbloc.controller.sources.source import LARGEST, Derived, Refused, Source, SourceObject
from enbloc.kube.paths import Resource
from enbloc.model.objects import Int64
from enbloc.model.text import clipped, quoted

RESOURCE: Final = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup")
#: A PodGroup of ours takes so many.
_MOST_ROLES: Final = 16
#: Sub-groups that are looked at: to follow the parents of all takes the square of it.
_MOST_GROUPS: Final = 256
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class _SubGroup(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    min_member: Int64 | None = None
    parent: str | None = None
    min_sub_group: Int64 | None = None


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    min_member: Int64 | None = None
    min_sub_group: Int64 | None = None
    priority_class_name: str | None = None
    queue: str | None = None
    preemptibility: str | None = None
    mark_unschedulable: bool | None = None
    topology_constraint: dict[str, Any] | None = None
    sub_groups: tuple[_SubGroup, ...] | None = None


class KaiPodGroup(SourceObject):
    """A PodGroup of KAI."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: KaiPodGroup) -> Derived | Refused:
    """Our PodGroup: the sub-groups that have no others below them are roles, all of them needed."""
    spec, all_groups = found.spec, found.spec.sub_groups or ()
    problem = "; ".join(_problems(spec, all_groups))
    if problem:
        return Refused(clipped(problem))
    groups = [_filled(each, all_groups) for each in all_groups]
    parents = {each.parent for each in groups}
    roles = {each.name: each.min_member for each in groups if each.name not in parents}
    wanted: dict[str, Any] = {"minMember": max(spec.min_member or 1, _needed("", groups))}
    if roles:
        wanted["roles"] = [{"name": name, "minMember": floor} for name, floor in roles.items()]
    if spec.priority_class_name:
        wanted["priorityClassName"] = spec.priority_class_name
    return Derived(wanted, ignored="; ".join(_ignored(spec)))


def _filled(group: _SubGroup, groups: Sequence[_SubGroup]) -> _SubGroup:
    """A sub-group with its defaults: a minimum of 1 where it has pods, and "" above the highest."""
    has_pods = all(each.parent != group.name for each in groups)
    minimum = int(has_pods) if group.min_member is None else group.min_member
    return _SubGroup(group.name, minimum, group.parent or "")


def _needed(name: str, groups: Sequence[_SubGroup]) -> int:
    """How many members a sub-group needs, with those below it; of "", all of them."""
    own = sum(each.min_member or 0 for each in groups if each.name == name)
    return max(own, sum(_needed(each.name, groups) for each in groups if each.parent == name))


def _problems(spec: _Spec, groups: Sequence[_SubGroup]) -> Iterator[str]:
    """Why no PodGroup can be made of it, each with its field."""
    if spec.min_member is not None and not 1 <= spec.min_member <= LARGEST:
        yield f"spec.minMember: {spec.min_member} is not between 1 and {LARGEST}"
    if spec.min_sub_group is not None:
        yield "spec.minSubGroup is not supported: leave it out, and all sub-groups are needed"
    if len(groups) > _MOST_GROUPS:
        yield f"spec.subGroups: it lists {len(groups)}; {_MOST_GROUPS} are supported"
        return
    above = {each.name: each.parent for each in groups}
    for index, each in enumerate(groups):
        for problem in _problems_of(each, above.keys()):
            yield f"spec.subGroups[{index}].{problem}"
    if len(above) < len(groups):
        yield "spec.subGroups: a name is there twice; the names must differ"
    if any(_circles(name, above) for name in above):
        yield "spec.subGroups: the parents form a circle; leave the parent of one of them out"
    lowest = above.keys() - set(above.values())
    if len(lowest) > _MOST_ROLES:
        yield f"spec.subGroups: {len(lowest)} have pods; {_MOST_ROLES} are supported"


def _problems_of(group: _SubGroup, names: Collection[str]) -> Iterator[str]:
    if not _NAME.fullmatch(group.name):
        yield (
            f'name: {quoted(group.name)} is not a name of at most 63 small letters, digits and "-"'
        )
    if group.parent and group.parent not in names:
        yield f"parent: {quoted(group.parent)} is no sub-group; name one that is listed"
    if group.min_member is not None and not 0 <= group.min_member <= LARGEST:
        yield f"minMember: {group.min_member} is not between 0 and {LARGEST}"
    if group.min_sub_group is not None:
        yield "minSubGroup is not supported: leave it out, and all are needed"


def _circles(name: str, above: Mapping[str, str | None]) -> bool:
    """Whether the way up from a sub-group comes to no end."""
    at: str | None = name
    for _ in above:
        at = above.get(at) if at else None
    return bool(at)


def _ignored(spec: _Spec) -> Iterator[str]:
    if spec.queue:
        yield "spec.queue is ignored: quota and fair share need Kueue or KAI"
    if spec.preemptibility:
        yield "spec.preemptibility is ignored: nothing is preempted"
    if spec.mark_unschedulable is False:
        yield "spec.markUnschedulable: false is ignored: pods that lack room say so"
    if spec.topology_constraint:
        yield (
            "spec.topologyConstraint is ignored: members may be placed in several domains; use a "
            "node selector or affinity in the pods"
        )


KAI: Final = Source(
    name="KAI",
    resources=(RESOURCE,),
    shape=KaiPodGroup,
    derive=derive,
    scheduler_names=frozenset({"kai-scheduler"}),
)
