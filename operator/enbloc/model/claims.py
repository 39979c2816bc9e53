# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of Kubernetes whose pods are members of another group, each in a role of that."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from enbloc.model.groups import GroupKey, Role


class Claim(NamedTuple):
    """What pods are that name such a PodGroup by `spec.schedulingGroup`."""

    group: GroupKey
    role: str


def claimed(roles: Iterable[Role]) -> dict[str, str]:
    """Whose pods these roles have: the role by the PodGroup; of several roles the first."""
    found: dict[str, str] = {}
    for role in roles:
        if role.pod_group:
            found.setdefault(role.pod_group, role.name)
    return found


class Claims:
    """Which group has the pods of which PodGroup; of several, the first by name.

    So scheduler and controller agree, whatever they saw first.
    """

    def __init__(self) -> None:
        self._by: dict[GroupKey, Mapping[str, str]] = {}
        self._of: dict[GroupKey, list[Claim]] = {}

    def put(self, group: GroupKey, roles: Mapping[str, str]) -> list[GroupKey]:
        """A group as it is shown, without roles when it is gone; the PodGroups that it touches.

        Args:
            group: whose they are.
            roles: by the PodGroups that it names, as `claimed` gives them.
        """
        before = self._by.pop(group, {})
        if roles:
            self._by[group] = roles
        changed = [name for name in {**before, **roles} if before.get(name) != roles.get(name)]
        for name in changed:
            key = GroupKey(group.namespace, name)
            claims = self._of.setdefault(key, [])
            if name in before:
                del claims[bisect_left(claims, Claim(group, before[name]))]
            if name in roles:
                insort(claims, Claim(group, roles[name]))
            if not claims:
                del self._of[key]
        return [GroupKey(group.namespace, name) for name in changed]

    def of(self, podgroup: GroupKey) -> Claim | None:
        """What the pods are that name this PodGroup; None = members of the group of that name."""
        claims = self._of.get(podgroup)
        return claims[0] if claims else None

    def under(self, group: GroupKey) -> list[GroupKey]:
        """The PodGroups whose pods this group has."""
        named = (GroupKey(group.namespace, name) for name in self._by.get(group, ()))
        return [key for key in named if self._of[key][0].group == group]
