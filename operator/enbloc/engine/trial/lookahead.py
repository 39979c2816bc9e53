# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Lookahead: where the next pods of a class will go, computed in advance.

Each pod of a stream of identical pods changes one row, and would make an update of the ranking
necessary. If `rows_in_turn` can, it computes the rows of many at once. They are valid while nothing
comes to the node table, or leaves it, except these pods::

    computed  ──►  n7  n2  n7  n4  n9 …        came: n7 n2   ──► n7 is next
                           ▲                   came: n7 n2, and another pod   ──► nothing is known
"""

from collections.abc import Sequence
from typing import Final

from enbloc.engine.trial.parts import PlacedChange
from enbloc.model.pods import Pod

#: The number of pods that are looked ahead for.
AHEAD: Final = 64
#: The most bytes of arrived pods that are kept for a class.
MOST_BYTES: Final = 256 * 2**10
#: After lookaheads of little use, the most decisions that are taken without one.
_LONGEST_PAUSE: Final = 64


class Lookahead:
    """The rows of the next pods of one class, from one state of the node table on.

    Attributes:
        position: the number of changes in the journal when the rows were computed.
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
            # Any other pod in between makes the work useless.
            self._pause = 0 if used >= AHEAD // 4 else min(_LONGEST_PAUSE, 2 * self._pause + 1)
            self._rest = self._pause
        self._rest -= 1
        return self._rest < 0

    def tell(self, rows: Sequence[int], pods: Sequence[Pod], position: int) -> list[int]:
        """Store where the next pods go; return the rows of the given ones, which are the first.

        Args:
            rows: in order, at least as many as there are pods.
            pods: of the class, to be placed now.
            position: the number of changes in the journal before the rows were computed.
        """
        self._rows, self.position = rows, position
        return self._take(pods)

    def has(self, count: int, end: int) -> bool:
        """Whether the rows of so many further pods may be known, if the journal ended at `end`."""
        first = len(self._came)
        return len(self._rows) - first >= count and end - self.position == first

    def next(self, pods: Sequence[Pod], came: Sequence[PlacedChange] | None) -> list[int] | None:
        """Return the rows of further pods of the class; None = they are not known.

        Args:
            pods: to be placed now.
            came: what the journal has beyond `position`; None = unknown.
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
        """Assert that the next row, if known, is the best one.

        Raises:
            AssertionError: it is not.
        """
        if self._came == came and len(self._came) < len(self._rows):
            assert self._rows[len(self._came)] == best, "a row that was told ahead is not the best"
