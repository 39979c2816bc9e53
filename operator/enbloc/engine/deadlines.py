# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Deadlines: when something is due for each of some keys; what is not due costs nothing."""

import math
from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

#: Entries of the heap that are out of date are dropped when there are more than this.
_MOST_OLD: Final = 64


class Deadlines(Generic[K]):
    """One time for each key, engine clock."""

    def __init__(self) -> None:
        #: By key, its entry of the heap.
        self._of: dict[K, tuple[float, int, K]] = {}
        #: `(time, number, key)`, the first on top; entries that were replaced are skipped.
        self._heap: list[tuple[float, int, K]] = []
        self._next = 0

    def __len__(self) -> int:
        return len(self._of)

    def __contains__(self, key: K) -> bool:
        return key in self._of

    def put(self, key: K, time: float) -> None:
        """Record when something is due for a key; replaces its earlier time, infinity = never."""
        self.drop(key)
        if time == math.inf:
            return
        entry = self._of[key] = time, self._next, key
        self._next += 1
        heappush(self._heap, entry)

    def drop(self, key: K) -> None:
        """Record that nothing is due for a key."""
        if self._of.pop(key, None) is not None and len(self._heap) > _MOST_OLD + 2 * len(self._of):
            self._heap = [*self._of.values()]
            heapify(self._heap)

    def due(self, now: float, most: float = math.inf) -> list[K]:
        """Return at most `most` keys whose time has come, and drop them; the earliest first."""
        found: list[K] = []
        while len(found) < most and self.first() <= now:
            _, _, key = heappop(self._heap)
            del self._of[key]
            found.append(key)
        return found

    def first(self) -> float:
        """Return the earliest time; infinity = nothing is due."""
        while self._heap and self._of.get(self._heap[0][2]) is not self._heap[0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else math.inf
