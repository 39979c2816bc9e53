# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which group a pod names, and in which role, by the keys of each dialect."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from enbloc.model.dns_names import LONGEST_NAME, SUBDOMAIN
from enbloc.model.names import (
    MIN_MEMBER_KEY,
    MIRROR_POD_KEY,
    POD_GROUP_KEY,
    ROLE_KEY,
    TOPOLOGY_KEY,
    TOPOLOGY_PREFERRED_KEY,
    TOPOLOGY_REQUIRED_KEY,
    TOPOLOGY_SLICES_KEY,
)
from enbloc.model.near_misses import near_misses


@dataclass(frozen=True, slots=True)
class Dialect:
    """The keys with which one project's pods name their group.

    Attributes:
        project: its name, for messages.
        groups: annotation or label keys whose value is the group's name, the preferred one first.
        roles: keys whose value is the role's name; empty = the dialect has none.
        part: the key of the number of a part within a role; "" = the dialect has none.
        only_with: a pod is a member only if it has this annotation or label too; "" = always.
        alone: keys that only imply a group, which the pod must name by another key.
        yields: its name counts only where no other dialect names a group.
    """

    project: str
    groups: tuple[str, ...]
    roles: tuple[str, ...] = ()
    part: str = ""
    only_with: str = ""
    alone: tuple[str, ...] = ()
    yields: bool = False


_TASK_GROUP: Final = "yunikorn.apache.org/task-group-name"
#: In order of trust: when several name the same group, the first one's role counts. Keys are as
#: these projects document them.
DIALECTS: Final = (
    Dialect("enbloc", (POD_GROUP_KEY,), (ROLE_KEY,), alone=(MIN_MEMBER_KEY,)),
    Dialect(
        "the coscheduling plugin",
        (
            "scheduling.x-k8s.io/pod-group",
            "pod-group.scheduling.sigs.k8s.io",
            "pod-group.scheduling.sigs.k8s.io/name",
        ),
        alone=("pod-group.scheduling.sigs.k8s.io/min-available",),
    ),
    Dialect(
        "Volcano",
        ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"),
        ("volcano.sh/task-spec",),
        part="volcano.sh/partition-id",
        alone=("scheduling.volcano.sh/group-min-member",),
    ),
    Dialect(
        "Koordinator",
        ("gang.scheduling.koordinator.sh/name",),
        alone=("gang.scheduling.koordinator.sh/min-available",),
    ),
    Dialect("KAI", ("pod-group-name",), ("kai.scheduler/subgroup-name",)),
    Dialect(
        "YuniKorn",
        ("yunikorn.apache.org/app-id", "applicationId"),
        (_TASK_GROUP,),
        only_with=_TASK_GROUP,
        alone=(_TASK_GROUP,),
    ),
    # Spark writes it into all of its pods, whoever names their group.
    Dialect(
        "Spark on YuniKorn",
        ("spark-app-selector",),
        (_TASK_GROUP,),
        only_with=_TASK_GROUP,
        yields=True,
    ),
    Dialect("Gödel", ("godel.bytedance.com/pod-group-name",)),
    # On KAI its pods have KAI's key too, with another name, and controllers write both.
    Dialect("Grove", ("grove.io/podgang",), ("grove.io/podclique",), yields=True),
)
#: By key that names a group, the place of its dialect in DIALECTS.
_TOLD_IN: Final = {key: place for place, each in enumerate(DIALECTS) for key in each.groups}
#: Keys whose name counts only where no other dialect names a group.
YIELDING: Final = frozenset(key for each in DIALECTS if each.yields for key in each.groups)
_ALONE: Final[Mapping[str, Dialect]] = {
    key: dialect for dialect in DIALECTS for key in dialect.alone
}
#: Keys for the topology of a group that is made for the pod, the most specific first.
_TOPOLOGY_KEYS: Final = (
    TOPOLOGY_REQUIRED_KEY, TOPOLOGY_PREFERRED_KEY, TOPOLOGY_SLICES_KEY, TOPOLOGY_KEY
)  # fmt: skip
#: The field of Kubernetes' own gang scheduling.
NATIVE_FIELD: Final = "spec.schedulingGroup"
_WORKLOAD: Final = f"spec.workloadRef is not read: name a PodGroup with annotation {POD_GROUP_KEY}"


class Membership(NamedTuple):
    """What a pod says about its group.

    Attributes:
        group: the name, in the pod's namespace; "" = none.
        conflict: the label's group, if it differs from the annotation's, which is `group`.
        problem: two dialects name different groups, or the pod means a group but does not name it;
            then `group` may be "", and the pod must not be placed on its own. "" = none.
        hint: a likely mistake that does not prevent scheduling; "" = none.
        key: the key by which the pod names its group.
        topology_key: the key by which it sets its group's topology; "" = none.
    """

    group: str = ""
    role: str = ""
    conflict: str = ""
    problem: str = ""
    hint: str = ""
    key: str = POD_GROUP_KEY
    topology_key: str = ""


_NOTHING: Final = Membership()

_LONGEST_ROLE: Final = 63
_QUOTED: Final = 40
#: Digits in the number of a part; no gang has more than 100,000 members.
_MOST_DIGITS: Final = 6


def membership(
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    native: str = "",
    *,
    workload: bool = False,
) -> Membership:
    """The group that a pod names; an annotation wins over the label of the same key.

    A kubelet's mirror pod names none: a node may create one in any namespace, and it would count in
    anybody's gang. A pod that names a group only by a misspelt key must not be placed on its own:
    half of a gang would start.

    Args:
        labels: of the pod.
        annotations: of the pod.
        native: the group named by Kubernetes' own field; "" = none.
        workload: whether it names a group of a Workload by the field of Kubernetes 1.35.
    """
    if MIRROR_POD_KEY in annotations:
        return _NOTHING
    found = _named(labels, annotations, native)
    if found is not None and found.problem:
        return found
    odd, certain = near_misses(labels, annotations)
    if found is not None:
        hint = odd if certain else ""
        key = next((key for key in _TOPOLOGY_KEYS if key in annotations or key in labels), "")
        return found._replace(hint=hint, topology_key=key) if hint or key else found
    for kind, pairs in (("annotation", annotations), ("label", labels)):
        if POD_GROUP_KEY in pairs:
            text = f"{kind} {POD_GROUP_KEY} is empty; write the name of a PodGroup, or remove it"
            return Membership(problem=text)
    if not certain and (lacking := _nameless(labels, annotations)):
        return Membership(problem=lacking)
    if not certain and workload:
        return Membership(problem=_WORKLOAD)
    if not odd:
        return _NOTHING
    return Membership(problem=odd) if certain else Membership(hint=odd)


def _named(
    labels: Mapping[str, str], annotations: Mapping[str, str], native: str
) -> Membership | None:
    """What a pod says in all dialects together; None = nothing."""
    found = Membership(native, key=NATIVE_FIELD) if native else None
    told = {_TOLD_IN[key] for pairs in (annotations, labels) for key in pairs if key in _TOLD_IN}
    for place in sorted(told):
        said = _said(labels, annotations, DIALECTS[place])
        if found is None or said is None:
            found = found or said
        elif found.group != said.group:
            if DIALECTS[place].yields:
                continue
            return found._replace(
                problem=f'{found.key} names group "{_quoted(found.group)}" and {said.key} '
                f'names "{_quoted(said.group)}"; remove one of them'
            )
        elif said.role and not found.role:
            found = found._replace(role=said.role)
    return found


def _nameless(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """What a pod lacks if its keys imply a group but name none; "" = nothing."""
    if _ALONE.keys().isdisjoint(annotations) and _ALONE.keys().isdisjoint(labels):
        return ""
    for key, dialect in _ALONE.items():
        for kind, pairs in (("annotation", annotations), ("label", labels)):
            if key in pairs:
                return f"{kind} {key} is set, and the pod names no group; add {dialect.groups[0]}"
    return ""


def _said(
    labels: Mapping[str, str], annotations: Mapping[str, str], dialect: Dialect
) -> Membership | None:
    """What a pod says in one dialect; None = nothing."""
    for key in dialect.groups:
        annotated, labelled = annotations.get(key, ""), labels.get(key, "")
        group = annotated or labelled
        if not group:
            continue
        if dialect.only_with and not (
            annotations.get(dialect.only_with) or labels.get(dialect.only_with)
        ):
            continue
        roles = (annotations.get(role) or labels.get(role) for role in dialect.roles)
        role = next(filter(None, roles), "")
        part = annotations.get(dialect.part) or labels.get(dialect.part, "")
        if role and len(part) <= _MOST_DIGITS and part.isascii() and part.isdecimal():
            role = part_of(role, int(part))
        conflict = labelled if labelled not in ("", group) else ""
        return Membership(group, role, conflict, key=key)
    return None


def part_of(role: str, number: int) -> str:
    """The role name of a part of a role; the role itself if that name is too long."""
    part = f"{role}-{number}"
    return part if len(part) <= _LONGEST_ROLE else role


def readable(member: Membership) -> Membership:
    """The membership without impossible names, and with a problem that says so.

    An annotation may have 256 KiB: such a text is reported, but not kept.
    """
    if not member.group:
        return member
    if len(member.group) > LONGEST_NAME or not _is_subdomain(member.group):
        return Membership(problem=_unreadable(member.key, member.group))
    if len(member.role) > _LONGEST_ROLE:
        problem = (
            f'{ROLE_KEY} is "{_quoted(member.role)}", which is not a valid role name; use one that '
            "the PodGroup lists"
        )
        return member._replace(role="", problem="; ".join(filter(None, (member.problem, problem))))
    return member


@lru_cache(maxsize=4096)
def _is_subdomain(name: str) -> bool:
    """Whether a group may have this name; all members of a group ask the same."""
    return SUBDOMAIN.fullmatch(name) is not None


def _unreadable(key: str, group: str) -> str:
    """What is wrong with a name that no group can have."""
    namespace, slash, name = group.rpartition("/")
    if slash and name and SUBDOMAIN.fullmatch(name) and "/" not in namespace:
        return (
            f'{key} is "{_quoted(group)}"; write "{_quoted(name)}" alone: a pod joins a '
            "PodGroup of its own namespace"
        )
    return (
        f'{key} is "{_quoted(group)}", which is not a valid PodGroup name; write the '
        "name of one that exists"
    )


def _quoted(name: str) -> str:
    return name if len(name) <= _QUOTED else f"{name[:_QUOTED]}…"
