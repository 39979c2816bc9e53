# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Log: the latest changes and decisions, and the tables as they were before them.

::

    checkpoint ── Seat ── NodeSeen ── Decision ─ SeatLeft ── Seat ── … ── the present
        ▲           │                   │
        └── applied ┘                   └── is taken again on the checkpoint and the changes
            when it drops out               between

So memory is bounded, and nothing is copied before a dump is requested.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from enbloc.engine.events import FactSeen
from enbloc.engine.state.checkpoint import (
    TABLE_CHANGES,
    Checkpoint,
    ClaimUserSeen,
    Seat,
    TableChange,
)
from enbloc.ledgers import weight_of_fact

#: Bytes of the source of the pods in the entries: only made-up entries are likely to reach it.
_MOST_BYTES: Final = 16 * 2**20


class Weighed(Protocol):
    """An entry that states how many bytes it keeps in memory."""

    @property
    def weight(self) -> int:
        """Bytes that it refers to, roughly."""
        ...


#: A change, or a decision between changes: the log does not inspect it.
Entry = TableChange | Weighed


class Log:
    """The latest changes and decisions.

    Args:
        limit: how many of them are kept; older changes are part of the checkpoint.
        resources: returns those counted in the tables, in the order of their columns.
        most: the most bytes that they may keep in memory.
    """

    def __init__(
        self, limit: int, resources: Callable[[], Sequence[str]], most: int = _MOST_BYTES
    ) -> None:
        self._limit = limit
        self._most = most
        #: The sum of `_weights`, bytes.
        self._bytes = 0
        self._resources = resources
        #: The tables before the first of `_entries`.
        self._checkpoint = Checkpoint()
        #: The latest changes and decisions, and the bytes of each, within the limits.
        self._entries: deque[Entry] = deque()
        self._weights: deque[int] = deque()
        #: Whether no decision was dropped.
        self._whole = True

    def note(self, entry: Entry) -> None:
        """Add a change or a decision."""
        entries = self._entries
        entries.append(entry)
        weight = entry.pod.size if type(entry) is Seat else _weight(entry)
        self._weights.append(weight)
        self._bytes += weight
        if len(entries) > self._limit or self._bytes > self._most:
            self._drop()

    def _drop(self) -> None:
        """Move the oldest entries into the checkpoint, until the rest is within the limits."""
        entries = self._entries
        while len(entries) > self._limit or self._bytes > self._most:
            oldest = entries.popleft()
            self._bytes -= self._weights.popleft()
            if isinstance(oldest, TABLE_CHANGES):
                self._checkpoint.apply(oldest)
            else:
                self._whole = False

    def present(self) -> Checkpoint:
        """Return the present tables, as a copy."""
        return after(self.begin(), self._entries)

    @property
    def entries(self) -> Sequence[Entry]:
        """Return the entries that are still kept, the latest last."""
        return tuple(self._entries)

    @property
    def whole(self) -> bool:
        """Whether no decision was dropped."""
        return self._whole

    def begin(self) -> Checkpoint:
        """Return the tables before all of `entries`, as a copy."""
        made = self._checkpoint.fork()
        made.resources = self._resources()  # others get a column from nodes that offer them
        return made


def _weight(entry: Entry) -> int:
    """Return the bytes of an entry; 0 for seats, and for other changes, which are small."""
    if isinstance(entry, FactSeen):
        return weight_of_fact(entry.fact)
    if isinstance(entry, ClaimUserSeen):
        return 0 if entry.pod is None else entry.pod.size
    return 0 if isinstance(entry, TABLE_CHANGES) else entry.weight


def after(tables: Checkpoint, entries: Iterable[Entry]) -> Checkpoint:
    """Return the tables after the changes among these entries.

    Raises:
        KeyError: the entries do not follow from the tables.
    """
    for entry in entries:
        if isinstance(entry, TABLE_CHANGES):
            tables.apply(entry)
    return tables
