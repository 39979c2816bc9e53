# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Overdue: groups whose PodGroup, members or claims do not come; reported after a while."""

from typing import Final

from enbloc.engine.deadlines import Deadlines
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey

#: The most groups that are reported in one turn.
_MOST_TOLD: Final = 64


class Overdue:
    """Since when members wait for their PodGroup, or for each other.

    Args:
        group_grace: seconds that members may precede their PodGroup.
        member_grace: seconds that members may precede the last of them.
    """

    def __init__(self, group_grace: float, member_grace: float) -> None:
        self._missing = _Waits(group_grace)
        self._lacking = _Waits(member_grace)

    def look(self, facts: GroupFacts, now: float, *, gated: bool) -> None:
        """Record what this group waits for.

        Args:
            facts: the group as it is.
            now: engine clock.
            gated: it has its quorum, and waits for something else to come.
        """
        waits = bool(facts.pending) and (gated or not facts.quorum) and not facts.solo
        missing = facts.group is None
        self._missing.note(facts.key, now, waits=waits and missing)
        self._lacking.note(facts.key, now, waits=waits and not missing)

    def forget(self, key: GroupKey) -> None:
        """Forget a group that no pod names any more."""
        self._missing.forget(key)
        self._lacking.forget(key)

    def told(self, key: GroupKey) -> bool:
        """Whether its members were notified of what it waits for now."""
        return key in self._missing.told or key in self._lacking.told

    def deadline(self) -> float:
        """Return when the next ones should be notified; infinity = never."""
        return min(self._missing.deadlines.first(), self._lacking.deadlines.first())

    def due(self, now: float) -> list[GroupKey]:
        """Return the groups whose members should be notified now; each is returned once."""
        return [*self._missing.due(now), *self._lacking.due(now)]


class _Waits:
    """Groups that wait for one thing: when to notify them, and those that were notified."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self.deadlines: Deadlines[GroupKey] = Deadlines()
        self.told: set[GroupKey] = set()

    def note(self, key: GroupKey, now: float, *, waits: bool) -> None:
        if not waits:
            self.forget(key)
        elif key not in self.told and key not in self.deadlines:
            self.deadlines.put(key, now + self._grace)

    def forget(self, key: GroupKey) -> None:
        self.deadlines.drop(key)
        self.told.discard(key)

    def due(self, now: float) -> list[GroupKey]:
        found = self.deadlines.due(now, _MOST_TOLD)
        self.told.update(found)
        return found
