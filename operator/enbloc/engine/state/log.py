# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Log: the latest changes and decisions, and the tables as they were before them.

::

    checkpoint ── Seat ── NodeSeen ── Decision ─ SeatLeft ── Seat ── … ── the present
        ▲           │                   │
        └── applied ┘                   └── is taken again on the checkpoint and the changes
            when it drops out               between

So what is remembered is bounded, and nothing of it is copied before somebody wants a dump.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from enbloc.engine.events import FactSeen
from enbloc.engine.state.checkpoint import (
    TABLE_CHANGES,
    Checkpoint,
    Pending,
    Seat,
    TableChange,
)
from enbloc.ledgers import weight_of_fact

#: Of what the pods were read from of which entries speak: few entries reach it but made-up ones.
_MOST_BYTES: Final = 16 * 2**20


class Weighed(Protocol):
    """An entry that says how much it keeps from being forgotten."""

    @property
    def weight(self) -> int:
        """Bytes of what it speaks of, roughly."""
        ...


#: A change, or a decision that was made between changes: the log does not look into it.
Entry = TableChange | Weighed


class Log:
    """The latest changes and decisions.

    Args:
        limit: how many of them are kept; older changes are part of the checkpoint.
        resources: by which the tables count, in the order of their columns.
        most: bytes that they may keep from being forgotten.
    """

    def __init__(
        self, limit: int, resources: Callable[[], Sequence[str]], most: int = _MOST_BYTES
    ) -> None:
        self._limit = limit
        self._most = most
        #: What `_weights` add up to, bytes.
        self._bytes = 0
        self._resources = resources
        #: The tables before the first of `_entries`.
        self._checkpoint = Checkpoint()
        #: The latest changes and decisions, and the bytes of each: no more than is allowed.
        self._entries: deque[Entry] = deque()
        self._weights: deque[int] = deque()
        #: No decision was dropped.
        self._whole = True

    def note(self, entry: Entry) -> None:
        """One more change or decision."""
        entries = self._entries
        entries.append(entry)
        weight = entry.pod.size if type(entry) is Seat else _weight(entry)
        self._weights.append(weight)
        self._bytes += weight
        if len(entries) > self._limit or self._bytes > self._most:
            self._drop()

    def _drop(self) -> None:
        """Let the oldest entries become part of the checkpoint, until what is left is allowed."""
        entries = self._entries
        while len(entries) > self._limit or self._bytes > self._most:
            oldest = entries.popleft()
            self._bytes -= self._weights.popleft()
            if isinstance(oldest, TABLE_CHANGES):
                self._checkpoint.apply(oldest)
            else:
                self._whole = False

    def present(self) -> Checkpoint:
        """The tables as they are now, a copy."""
        return after(self.begin(), self._entries)

    @property
    def entries(self) -> Sequence[Entry]:
        """What was noted and is still known, the last one last."""
        return tuple(self._entries)

    @property
    def whole(self) -> bool:
        """No decision has dropped out."""
        return self._whole

    def begin(self) -> Checkpoint:
        """The tables before all of `entries`, a copy."""
        made = self._checkpoint.fork()
        made.resources = self._resources()  # others get a column with the nodes that offer them
        return made


def _weight(entry: Entry) -> int:
    """Of all but seats; nearly every other one is small."""
    if isinstance(entry, FactSeen):
        return weight_of_fact(entry.fact)
    if isinstance(entry, Pending):
        return 0 if entry.pod is None else entry.pod.size
    return 0 if isinstance(entry, TABLE_CHANGES) else entry.weight


def after(tables: Checkpoint, entries: Iterable[Entry]) -> Checkpoint:
    """The tables once the changes among these entries are applied to them.

    Raises:
        KeyError: the entries do not follow from the tables.
    """
    for entry in entries:
        if isinstance(entry, TABLE_CHANGES):
            tables.apply(entry)
    return tables
