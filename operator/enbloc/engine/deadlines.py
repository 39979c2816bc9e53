# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Deadlines: when something is due for each of some groups; what is not due costs nothing."""

import math
from heapq import heapify, heappop, heappush
from typing import Final

from enbloc.model.groups import GroupKey

#: Entries of the heap that are out of date are dropped when there are more than this.
_MOST_OLD: Final = 64


class Deadlines:
    """One time for each group, engine clock."""

    def __init__(self) -> None:
        #: By group, its entry of the heap.
        self._of: dict[GroupKey, tuple[float, int, GroupKey]] = {}
        #: `(time, number, group)`, the first on top; entries that were replaced are skipped.
        self._heap: list[tuple[float, int, GroupKey]] = []
        self._next = 0

    def __contains__(self, group: GroupKey) -> bool:
        return group in self._of

    def put(self, group: GroupKey, time: float) -> None:
        """Record when something is due for a group; replaces its earlier time, infinity = never."""
        self.drop(group)
        if time == math.inf:
            return
        entry = self._of[group] = time, self._next, group
        self._next += 1
        heappush(self._heap, entry)

    def drop(self, group: GroupKey) -> None:
        """Record that nothing is due for a group."""
        if self._of.pop(group, None) is not None and len(self._heap) > _MOST_OLD + 2 * len(
            self._of
        ):
            self._heap = [*self._of.values()]
            heapify(self._heap)

    def due(self, now: float) -> list[GroupKey]:
        """Return the groups whose time has come, and drop them; the earliest first."""
        found: list[GroupKey] = []
        while self.first() <= now:
            _, _, group = heappop(self._heap)
            del self._of[group]
            found.append(group)
        return found

    def first(self) -> float:
        """Return the earliest time; infinity = nothing is due."""
        while self._heap and self._of.get(self._heap[0][2]) is not self._heap[0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else math.inf
