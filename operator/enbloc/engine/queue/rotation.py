# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Rotation: groups in their order; after failed attempts, equals take turns.

Equals are the groups of one level; in the default order, those of one priority. Among them
namespaces take turns, and within a namespace owners. Those that never failed go first, in the
order; then the one whose last failed attempt is longest ago::

    level ──► namespaces ──► owners ──► groups, in their order
    many   m0 m1 m2 …    m0 fails: one's turn    m1 fails: one's, if it has others
    one    o0            o0 fails: many's turn
           ─────────────────────────────────►  m0 o0 m1 m2 m3 …

While nothing fails, that is the order itself. Failures are remembered over placements: otherwise,
with pods that fit and come and go, the same failures would go first for ever.

Lists are kept sorted by bisection, and entries are removed at once, so nothing stale piles up.

Source: semantics §9.7.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from enbloc.model.groups import GroupKey

#: After this many attempts in vain in a row, a group of a lower level is tried; attempts count as
#: `SchedulingQueue.failed` says.
MOST_IN_VAIN: Final = 64

#: One turn in this many goes to groups that have failed, even while others never did.
_EVERY: Final = 64

#: The most namespaces and owners with failures to remember, the latest.
_MOST_REMEMBERED: Final = 8192

Level = tuple[Any, ...]


class Subqueue(NamedTuple):
    """Groups that are tried strictly in order.

    Attributes:
        level: the prefix of equal groups' sort keys; None = equality is undefined.
        namespace: takes turns among equals.
        owner: takes turns within a namespace.
    """

    level: Level | None
    namespace: str
    owner: str = ""


#: No equality is defined, so all groups are tried strictly in order.
STRICT: Final = Subqueue(None, "")


class QueueEntry(NamedTuple):
    """A group in a list, sorted by key, then by ticket (oldest first); tickets are unique."""

    key: tuple[Any, ...]
    ticket: int
    group: GroupKey
    subqueue: Subqueue


class FailureHistory:
    """Which namespaces and owners failed, and when last, counted in failures.

    Attributes:
        in_vain: the cost of failed attempts since the last one of a lower level.
    """

    def __init__(self) -> None:
        self.in_vain = 0
        #: The number of failures.
        self._count = 0
        #: By namespace (level, name) and owner, the number of its last failure; the oldest first.
        self._last: dict[tuple[Any, ...], int] = {}

    def failed(self, subqueue: Subqueue, cost: int = 1) -> None:
        """Record a failed attempt at one of its groups, which counts `cost` times."""
        self.in_vain += cost
        self._count += 1
        for who in (subqueue[:2], subqueue):
            self._last.pop(who, None)
            self._last[who] = self._count
        while len(self._last) > _MOST_REMEMBERED:
            del self._last[next(iter(self._last))]

    def last(self, who: tuple[Any, ...]) -> int:
        """Return when a namespace (level, name) or an owner failed last; 0 = it never did."""
        return self._last.get(who, 0)

    @property
    def turn_of_failed(self) -> bool:
        """Whether it is the turn of those that have failed."""
        return self._count % _EVERY == _EVERY - 1


class _Row(NamedTuple):
    """A namespace or owner that takes turns: its last failure, its first entry, and its name."""

    last: int
    first: QueueEntry
    name: str


class _Turns:
    """Rows in the order of their turns."""

    def __init__(self) -> None:
        #: Sorted; each row is also in `_of`, by name.
        self._rows: list[_Row] = []
        self._of: dict[str, _Row] = {}

    def put(self, name: str, last: int, first: QueueEntry | None) -> None:
        """Put one in its place; without an entry, remove it."""
        row = self._of.pop(name, None)
        if row is not None:
            del self._rows[bisect_left(self._rows, row)]
        if first is not None:
            row = self._of[name] = _Row(last, first, name)
            insort(self._rows, row)

    @property
    def first(self) -> QueueEntry | None:
        """The first entry of the first row; None without any."""
        return self._rows[0].first if self._rows else None

    @property
    def anew(self) -> bool:
        """Whether any row never failed."""
        return bool(self._rows) and not self._rows[0].last

    def next(self, *, failed: bool) -> str:
        """Return whose turn it is.

        Args:
            failed: it is the turn of those that have failed, if there are any.
        """
        at = bisect_left(self._rows, (1,)) if failed else 0
        return self._rows[at if at < len(self._rows) else 0].name


class _Namespace:
    """Owners that take turns, each with its entries in order."""

    def __init__(self) -> None:
        self.owners: dict[str, list[QueueEntry]] = {}
        self.turns = _Turns()


class _Level:
    """Namespaces that take turns."""

    def __init__(self) -> None:
        self.namespaces: dict[str, _Namespace] = {}
        self.turns = _Turns()


class Rotation:
    """Entries, in order and by turns.

    Args:
        history: which namespaces and owners failed; may be shared.
    """

    def __init__(self, history: FailureHistory) -> None:
        self._history = history
        #: All entries, sorted.
        self._order: list[QueueEntry] = []
        #: The number of entries of each namespace; without zeros.
        self._namespaces: Counter[str] = Counter()
        #: The entries by level; also empty while the only entry came alone.
        self._levels: dict[Level, _Level] = {}
        #: The keys of `_levels`, sorted.
        self._sorted: list[Level] = []
        #: The lower level that last had a turn, after many attempts in vain.
        self._lower: Level = ()

    def __iter__(self) -> Iterator[QueueEntry]:
        """Iterate over all entries in order; do not change it meanwhile."""
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def beside(self, namespaces: Collection[str]) -> bool:
        """Whether there is an entry of another namespace than these."""
        return any(name not in namespaces for name in self._namespaces)

    def push(self, entry: QueueEntry) -> None:
        """Add an entry."""
        insort(self._order, entry)
        self._namespaces[entry.group.namespace] += 1
        if len(self._order) == 1:
            return  # a single entry, as with most pods, needs no turns
        for each in (entry,) if self._levels else tuple(self._order):
            self._index(each)

    def _index(self, entry: QueueEntry) -> None:
        key, namespace, owner = _place(entry.subqueue)
        level = self._levels.get(key)
        if level is None:
            level = self._levels[key] = _Level()
            insort(self._sorted, key)
        within = level.namespaces.setdefault(namespace, _Namespace())
        entries = within.owners.setdefault(owner, [])
        insort(entries, entry)
        if entries[0] is entry:
            self._arrange(entry.subqueue)

    def remove(self, entry: QueueEntry) -> None:
        """Remove an entry that is here."""
        del self._order[bisect_left(self._order, entry)]
        namespace = entry.group.namespace
        self._namespaces[namespace] -= 1
        if not self._namespaces[namespace]:
            del self._namespaces[namespace]
        if not self._levels:
            return  # it was the only entry
        key, namespace, owner = _place(entry.subqueue)
        level = self._levels[key]
        within = level.namespaces[namespace]
        entries = within.owners[owner]
        was_first = entries[0] is entry
        del entries[bisect_left(entries, entry)]
        if was_first:
            self._arrange(entry.subqueue)
        if not entries:
            del within.owners[owner]
        if not within.owners:
            del level.namespaces[namespace]
        if not level.namespaces:
            del self._levels[key]
            del self._sorted[bisect_left(self._sorted, key)]

    def failed(self, subqueue: Subqueue) -> None:
        """Move a subqueue to its new place, after another failure of it in the history."""
        key, namespace, _ = _place(subqueue)
        level = self._levels.get(key)
        if level is not None and namespace in level.namespaces:
            self._arrange(subqueue)

    def _arrange(self, subqueue: Subqueue) -> None:
        key, namespace, owner = _place(subqueue)
        level = self._levels[key]
        within = level.namespaces[namespace]
        last, entries = self._history.last, within.owners.get(owner)
        within.turns.put(owner, last(subqueue), entries[0] if entries else None)
        level.turns.put(namespace, last(subqueue[:2]), within.turns.first)

    def first(self) -> QueueEntry | None:
        """Return the entry whose turn it is; None without any."""
        if len(self._order) <= 1:
            return self._order[0] if self._order else None
        level = self._levels[self._level()]
        failed = self._history.turn_of_failed
        within = level.namespaces[level.turns.next(failed=failed)]
        return within.owners[within.turns.next(failed=failed)][0]

    @property
    def anew(self) -> bool:
        """Whether a group that never failed has the next turn, or a turn soon."""
        if not self._order:
            return False
        if len(self._order) == 1:
            alone, last = self._order[0].subqueue, self._history.last
            return not last(alone[:2]) or not last(alone)
        level = self._levels[self._level()]
        return level.turns.anew or level.namespaces[level.turns.next(failed=False)].turns.anew

    def pop(self) -> QueueEntry | None:
        """Remove and return the entry that `first` returns."""
        entry = self.first()
        if entry is not None:
            key = _place(entry.subqueue)[0]
            if self._sorted and key != self._sorted[0]:
                self._lower, self._history.in_vain = key, 0
            self.remove(entry)
        return entry

    def _level(self) -> Level:
        """Return the first level; after many attempts in vain, the others in turn."""
        if self._history.in_vain < MOST_IN_VAIN or len(self._sorted) == 1:
            return self._sorted[0]
        at = max(bisect_right(self._sorted, self._lower), 1)
        return self._sorted[at if at < len(self._sorted) else 1]


def _place(subqueue: Subqueue) -> tuple[Level, str, str]:
    return subqueue.level or (), subqueue.namespace, subqueue.owner
