# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Missing groups: members name them and they do not exist; reported once, after a while."""

import math

from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey


class Missing:
    """Since when members wait for their PodGroup.

    Args:
        grace: seconds that they may be ahead of it.
    """

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._deadlines: dict[GroupKey, float] = {}

    def look(self, facts: GroupFacts, now: float) -> None:
        """Note whether this group is missed."""
        if facts.group is not None:
            self.forget(facts.key)
        elif facts.pending:
            self._deadlines.setdefault(facts.key, now + self._grace)

    def forget(self, key: GroupKey) -> None:
        """The group exists, or nobody names it any more."""
        self._deadlines.pop(key, None)

    def deadline(self) -> float | None:
        """When the next one should be reported."""
        return min(self._deadlines.values(), default=None)

    def overdue(self, now: float) -> list[GroupKey]:
        """The groups that should be reported now; each is given once."""
        found = [key for key, deadline in self._deadlines.items() if deadline <= now]
        self._deadlines |= dict.fromkeys(found, math.inf)
        return found
