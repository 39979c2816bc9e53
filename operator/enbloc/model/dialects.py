# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which group a pod names, and in which role, by the keys of each dialect."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from enbloc.model.names import API_GROUP, MIRROR_POD_KEY, POD_GROUP_KEY, ROLE_KEY
from enbloc.model.near_misses import near_misses


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one project's pods say what they belong to.

    Attributes:
        name: the API group of its PodGroup kind.
        group: annotation or label key whose value is the group's name.
        role: the same for the role; "" = the dialect has none.
    """

    name: str
    group: str
    role: str = ""


#: In order of trust: when several name the same group, the first one's role counts.
DIALECTS: Final = (Dialect(API_GROUP, POD_GROUP_KEY, ROLE_KEY),)


#: Annotation and label keys by which pods name a group of another project, which is not read yet.
#: They are as these projects document them.
FOREIGN_KEYS: Final[Mapping[str, str]] = {
    "scheduling.x-k8s.io/pod-group": "the coscheduling plugin",
    "pod-group.scheduling.sigs.k8s.io": "the coscheduling plugin",
    "pod-group.scheduling.sigs.k8s.io/name": "the coscheduling plugin",
    "scheduling.k8s.io/group-name": "Volcano",
    "scheduling.volcano.sh/group-name": "Volcano",
    "gang.scheduling.koordinator.sh/name": "Koordinator",
    "pod-group-name": "KAI",
    "yunikorn.apache.org/task-group-name": "YuniKorn",
    "godel.bytedance.com/pod-group-name": "Gödel",
}
#: The field of Kubernetes' own gang scheduling.
NATIVE_FIELD: Final = "spec.schedulingGroup"


class Membership(NamedTuple):
    """What a pod says about its group.

    Attributes:
        group: the name, in the pod's namespace; "" = none.
        conflict: another name, which the label gives while the annotation gives `group`.
        problem: two dialects name different groups, or a group is meant that cannot be told; then
            `group` may be "" and the pod must not be placed on its own. "" = none.
        hint: what looks like a mistake and keeps nothing from being scheduled; "" = nothing.
    """

    group: str = ""
    role: str = ""
    conflict: str = ""
    problem: str = ""
    hint: str = ""


_NOTHING: Final = Membership()

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST_GROUP: Final = 253
_LONGEST_ROLE: Final = 63
_QUOTED: Final = 40


def membership(
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    dialects: tuple[Dialect, ...] = DIALECTS,
    native: str = "",
) -> Membership:
    """The group that a pod names; an annotation wins over the label of the same key.

    A kubelet's mirror pod names none: a node may create one in any namespace, and would otherwise
    be counted in anybody's gang. A pod that names a group only by a key that is not read, of
    another project or misspelt, must not be placed on its own: half of a gang would start.

    Args:
        labels: of the pod.
        annotations: of the pod.
        dialects: those that are read.
        native: the group that Kubernetes' own field names; "" = none.
    """
    if MIRROR_POD_KEY in annotations:
        return _NOTHING
    found: Membership | None = None
    said_by = ""
    for dialect in dialects:
        annotated, labelled = annotations.get(dialect.group, ""), labels.get(dialect.group, "")
        group = annotated or labelled
        if not group:
            continue
        if found is None:
            role = annotations.get(dialect.role) or labels.get(dialect.role, "")
            conflict = labelled if labelled not in ("", group) else ""
            found, said_by = Membership(group, role, conflict), dialect.group
        elif found.group != group:
            return found._replace(
                problem=f'{said_by} names group "{_quoted(found.group)}" and {dialect.group} '
                f'names "{_quoted(group)}"; remove one of them'
            )
    odd, certain = near_misses(labels, annotations)
    if found is not None:
        return found._replace(hint=odd) if odd and certain else found
    for kind, pairs in (("annotation", annotations), ("label", labels)):
        if POD_GROUP_KEY in pairs:
            text = f"{kind} {POD_GROUP_KEY} is empty; write the name of a PodGroup, or remove it"
            return Membership(problem=text)
    foreign = _foreign(labels, annotations, native)
    if foreign.problem or not odd:
        return foreign
    return Membership(problem=odd) if certain else Membership(hint=odd)


def _foreign(labels: Mapping[str, str], annotations: Mapping[str, str], native: str) -> Membership:
    """The problem of a pod that names a group by a key that is not read yet."""
    said = [
        (f"{kind} {key}", project, pairs[key])
        for kind, pairs in (("annotation", annotations), ("label", labels))
        if pairs
        for key, project in FOREIGN_KEYS.items()
        if pairs.get(key)
    ]
    if native:
        said.append((f"field {NATIVE_FIELD}", "Kubernetes itself", native))
    if not said:
        return _NOTHING
    where, project, group = said[0]
    return Membership(
        problem=f'{where} names group "{_quoted(group)}" of {project}, which enbloc does not '
        f"support yet: create a PodGroup of {API_GROUP} and name it with annotation "
        f"{POD_GROUP_KEY}, or remove the {where.partition(' ')[0]}"
    )


def readable(member: Membership) -> Membership:
    """The same without names that nothing can have, and a problem that says so.

    An annotation may have 256 KiB: such a text is told of, and not kept.
    """
    if not member.group:
        return member
    if len(member.group) > _LONGEST_GROUP or not _SUBDOMAIN.fullmatch(member.group):
        return Membership(problem=_unreadable(member.group))
    if len(member.role) > _LONGEST_ROLE:
        problem = (
            f'{ROLE_KEY} is "{_quoted(member.role)}", which is not a valid role name; use one that '
            "the PodGroup lists"
        )
        return member._replace(role="", problem="; ".join(filter(None, (member.problem, problem))))
    return member


def _unreadable(group: str) -> str:
    """What is wrong with the name of a group that none can have."""
    namespace, slash, name = group.rpartition("/")
    if slash and name and _SUBDOMAIN.fullmatch(name) and "/" not in namespace:
        return (
            f'{POD_GROUP_KEY} is "{_quoted(group)}"; write "{_quoted(name)}" alone: a pod joins a '
            "PodGroup of its own namespace"
        )
    return (
        f'{POD_GROUP_KEY} is "{_quoted(group)}", which is not a valid PodGroup name; write the '
        "name of one that exists"
    )


def _quoted(name: str) -> str:
    return name if len(name) <= _QUOTED else f"{name[:_QUOTED]}…"
