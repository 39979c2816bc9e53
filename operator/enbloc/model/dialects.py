# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which group a pod names, and in which role, by the keys of each dialect."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from enbloc.model.names import API_GROUP, POD_GROUP_KEY, ROLE_KEY


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


class Membership(NamedTuple):
    """What a pod says about its group.

    Attributes:
        group: the name, in the pod's namespace; "" = none.
        conflict: another name, which the label gives while the annotation gives `group`.
        problem: two dialects name different groups; "" = all agree.
    """

    group: str = ""
    role: str = ""
    conflict: str = ""
    problem: str = ""


_NOTHING: Final = Membership()


def membership(
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    dialects: tuple[Dialect, ...] = DIALECTS,
) -> Membership:
    """The group that a pod names; an annotation wins over the label of the same key."""
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
                problem=f'{said_by} names group "{found.group}" and {dialect.group} names '
                f'"{group}"; remove one of them'
            )
    return found or _NOTHING
