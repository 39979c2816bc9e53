# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Adoptions: Kubernetes PodGroups whose pods are members of another group, in one of its roles."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from enbloc.model.groups import GroupKey, Role


class Adoption(NamedTuple):
    """The group and role of pods that name such a PodGroup by `spec.schedulingGroup`."""

    group: GroupKey
    role: str


def adopted(roles: Iterable[Role]) -> dict[str, str]:
    """The role that adopts each PodGroup's pods, by PodGroup; of several roles the first."""
    found: dict[str, str] = {}
    for role in roles:
        if role.pod_group:
            found.setdefault(role.pod_group, role.name)
    return found


class Adoptions:
    """Which group adopts the pods of which PodGroup; of several, the first by name.

    So scheduler and controller agree, whichever object they see first.
    """

    def __init__(self) -> None:
        self._by: dict[GroupKey, Mapping[str, str]] = {}
        self._of: dict[GroupKey, list[Adoption]] = {}

    def put(self, group: GroupKey, roles: Mapping[str, str]) -> list[GroupKey]:
        """Update a group's adoptions (no roles = it is gone); returns the PodGroups concerned.

        Args:
            group: the group that adopts.
            roles: its role by PodGroup, as `adopted` returns them.
        """
        before = self._by.pop(group, {})
        if roles:
            self._by[group] = roles
        changed = [name for name in {**before, **roles} if before.get(name) != roles.get(name)]
        for name in changed:
            key = GroupKey(group.namespace, name)
            adoptions = self._of.setdefault(key, [])
            if name in before:
                del adoptions[bisect_left(adoptions, Adoption(group, before[name]))]
            if name in roles:
                insort(adoptions, Adoption(group, roles[name]))
            if not adoptions:
                del self._of[key]
        return [GroupKey(group.namespace, name) for name in changed]

    def of(self, podgroup: GroupKey) -> Adoption | None:
        """What pods that name this PodGroup belong to; None = the group of that name."""
        adoptions = self._of.get(podgroup)
        return adoptions[0] if adoptions else None

    def under(self, group: GroupKey) -> list[GroupKey]:
        """The PodGroups whose pods this group adopts."""
        named = (GroupKey(group.namespace, name) for name in self._by.get(group, ()))
        return [key for key in named if self._of[key][0].group == group]
