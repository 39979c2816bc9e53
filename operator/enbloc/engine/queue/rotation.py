# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Rotation: groups in their order, where namespaces of equals take turns once attempts fail.

Each namespace has a heap of its own within each level, which is what equal groups have in common:
their priority, with the default order. The heads of these heaps are in one heap more, so that the
first of all is found in O(log n). A heap that is set back has no head there until the others of its
level had their turn::

    many   m0 m1 m2 …    m0 fails: set back          m1 fails: set back
    one    o0 o1                       o0 fails: set back: all were, so all are restored
           ──────────────────────────────────────────────────► m0 o0 m1 o1 m2 m3 …

While nothing fails, that is the order itself.

Source: semantics §9.7.
"""

import heapq
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from enbloc.model.groups import GroupKey


class Subqueue(NamedTuple):
    """The groups that are tried strictly in order.

    Attributes:
        level: what the sort keys of equals begin with; None = nobody says who is equal.
    """

    level: tuple[Any, ...] | None
    namespace: str


#: Nobody says who is equal, and so all groups are tried strictly in order.
STRICT: Final = Subqueue(None, "")


class Entry(NamedTuple):
    """A group in a heap: the smallest key first, then the oldest ticket; tickets are unique."""

    key: tuple[Any, ...]
    ticket: int
    group: GroupKey
    subqueue: Subqueue = STRICT


class Rotation:
    """Entries by key; those of a subqueue that was set back come after their equals.

    Args:
        stands: whether an entry is not stale; stale ones are skipped when they are met.
    """

    def __init__(self, stands: Callable[[Entry], bool]) -> None:
        self._stands = stands
        self._heaps: dict[Subqueue, list[Entry]] = {}
        # Of each heap that is not set back: its first entry, or one before it that is stale. Of no
        # entry twice, so that nothing is left behind by those that come and go before it.
        self._heads: list[Entry] = []
        self._shown: set[int] = set()
        self._back: dict[tuple[Any, ...], dict[Subqueue, None]] = {}

    def __iter__(self) -> Iterator[Entry]:
        """All entries, stale ones too, in no order."""
        for heap in self._heaps.values():
            yield from heap

    def push(self, entry: Entry) -> None:
        """Add an entry."""
        heap = self._heaps.setdefault(entry.subqueue, [])
        heapq.heappush(heap, entry)
        if heap[0] is entry:
            self._next_head(entry.subqueue, heap)

    def first(self) -> Entry | None:
        """The entry whose turn it is; None without any."""
        if not self._heads and not self._back:
            return None
        head = self._head()
        while self._back:  # the round of a level is over where nobody is left of it
            over = [
                level
                for level in self._back
                if head is None or head.subqueue.level is None or level < head.subqueue.level
            ]
            if not over:
                break
            for level in over:
                self._restore(level)
            head = self._head()
        return head

    def pop(self) -> Entry | None:
        """Take out what `first` gives."""
        entry = self.first()
        if entry is not None:
            heap = self._heaps[entry.subqueue]
            heapq.heappop(heap)
            self._drop_head(entry.subqueue, heap)
        return entry

    def set_back(self, subqueue: Subqueue) -> None:
        """An attempt at one of its groups failed: its equals have their turn first."""
        if subqueue.level is not None:
            self._back.setdefault(subqueue.level, {})[subqueue] = None

    def restore(self) -> None:
        """Nobody is set back any more: the order alone decides."""
        for level in list(self._back):
            self._restore(level)

    def _restore(self, level: tuple[Any, ...]) -> None:
        for subqueue in self._back.pop(level):
            self._next_head(subqueue, self._heaps.get(subqueue, []))

    def _is_back(self, subqueue: Subqueue) -> bool:
        return subqueue.level is not None and subqueue in self._back.get(subqueue.level, ())

    def _head(self) -> Entry | None:
        """The first entry of all that are not set back."""
        while self._heads:
            entry = self._heads[0]
            heap = self._heaps.get(entry.subqueue, [])
            while heap and not self._stands(heap[0]):
                heapq.heappop(heap)
            if heap and heap[0] is entry and not (self._back and self._is_back(entry.subqueue)):
                return entry
            self._drop_head(entry.subqueue, heap)
        return None

    def _drop_head(self, subqueue: Subqueue, heap: list[Entry]) -> None:
        self._shown.discard(heapq.heappop(self._heads).ticket)
        if heap:
            self._next_head(subqueue, heap)
        else:
            self._heaps.pop(subqueue, None)

    def _next_head(self, subqueue: Subqueue, heap: list[Entry]) -> None:
        """Show the first entry of a heap, unless it is set back."""
        if not heap or (self._back and self._is_back(subqueue)):
            return
        entry = heap[0]
        if entry.ticket not in self._shown:
            self._shown.add(entry.ticket)
            heapq.heappush(self._heads, entry)
