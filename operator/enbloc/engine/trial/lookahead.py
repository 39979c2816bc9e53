# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Lookahead: where the pods of a class go that come next, told before they come.

Of a stream of alike pods each changes one row, and the ranking would be brought up to date for it.
Where `rows_in_turn` can tell, the rows of many are told at once, and hold for as long as nothing
comes to the node table, or leaves it, but just these pods::

    told  ──►  n7  n2  n7  n4  n9 …        came: n7 n2   ──► n7 is next
                       ▲                   came: n7 n2, and somebody else   ──► nothing is known
"""

from collections.abc import Sequence
from typing import Final

from enbloc.engine.trial.parts import PlacedChange
from enbloc.model.pods import Pod

#: So many pods are looked ahead for.
AHEAD: Final = 64
#: Of the pods that came, no more is kept for a class (bytes).
MOST_BYTES: Final = 256 * 2**10
#: After lookaheads that were of little use, so many decisions are taken without one at most.
_LONGEST_PAUSE: Final = 64


class Lookahead:
    """The rows of the next pods of one class, from one state of the node table on.

    Attributes:
        position: how many changes the journal had when the rows were told.
    """

    __slots__ = ("_bytes", "_came", "_pause", "_rest", "_rows", "_used", "position")

    def __init__(self) -> None:
        self._rows: Sequence[int] = ()
        self._came: list[PlacedChange] = []
        self._bytes = 0
        self._used = 0
        self.position = 0
        self._pause = 0
        self._rest = 0

    def wanted(self) -> bool:
        """Whether to look ahead at this decision; asked once in each that goes without."""
        used, self._used = self._used, 0
        self._drop()
        if used:
            # Whoever else comes in between makes the work useless.
            self._pause = 0 if used >= AHEAD // 4 else min(_LONGEST_PAUSE, 2 * self._pause + 1)
            self._rest = self._pause
        self._rest -= 1
        return self._rest < 0

    def tell(self, rows: Sequence[int], pods: Sequence[Pod], position: int) -> list[int]:
        """Keep where the next pods go; the rows of these, who are the first.

        Args:
            rows: in turn, at least as many as there are pods.
            pods: of the class, to be placed now.
            position: how many changes the journal has; the rows were told after these.
        """
        self._rows, self.position = rows, position
        return self._take(pods)

    def has(self, count: int, end: int) -> bool:
        """Whether the rows of so many further pods may be known, the journal having ended there."""
        first = len(self._came)
        return len(self._rows) - first >= count and end - self.position == first

    def next(self, pods: Sequence[Pod], came: Sequence[PlacedChange] | None) -> list[int] | None:
        """The rows of further pods of the class; None = they are not known.

        Args:
            pods: to be placed now.
            came: what the journal has beyond `position`; None = it does not say.
        """
        if len(self._rows) - len(self._came) < len(pods) or self._came != came:
            return None
        return self._take(pods)

    def _take(self, pods: Sequence[Pod]) -> list[int]:
        first = len(self._came)
        rows = list(self._rows[first : first + len(pods)])
        self._used += len(pods)
        self._bytes += sum(pod.own_size for pod in pods)
        if len(self._rows) > first + len(pods) and self._bytes <= MOST_BYTES:
            self._came += map(PlacedChange, pods, rows)
        else:
            self._drop()
        return rows

    def _drop(self) -> None:
        self._rows, self._came, self._bytes = (), [], 0

    def check(self, came: Sequence[PlacedChange] | None, best: int | None) -> None:
        """Assert that the next row, if it is known, is the best one.

        Raises:
            AssertionError: it is not.
        """
        if self._came == came and len(self._came) < len(self._rows):
            assert self._rows[len(self._came)] == best, "a row that was told ahead is not the best"
