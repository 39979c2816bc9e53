# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Totals: the score of every row, whose highest are found without reading all of them.

::

    rows      0 … 127 │ 128 … 255 │ 256 … 383 │ …
    highest        90 │        85 │        90 │ …     kept for each block, updated where touched

 Among equals the first row goes first. So the best `count` rows are in the best `count` blocks:
 each of these has a row that precedes all rows of any other block.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.model.nodes import Rows

Values = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.intp]

#: Rows per block: the few blocks that hold a gang's rows then have about as many rows as the
#: largest clusters have blocks.
_BLOCK: Final = 128
_IN_BLOCK: Final = np.arange(_BLOCK)


class Totals:
    """int64[N]: the total of each row; −1 where it is not feasible.

    Attributes:
        values: read-only; `put` changes them.

    Args:
        values: int64[N], owned by this object from here on.
    """

    __slots__ = ("_highest", "_touched", "values")

    def __init__(self, values: Values) -> None:
        self.values = values
        #: The highest total of each block, correct for all but those in `_touched`; None = not
        #: requested yet, and then `_touched` is not kept.
        self._highest: Values | None = None
        self._touched: set[int] = set()

    def fork(self) -> "Totals":
        """Return an independent copy."""
        made = Totals(self.values.copy())
        made._highest = None if self._highest is None else self._highest.copy()
        made._touched = self._touched.copy()
        return made

    def put(self, rows: Rows, values: Values) -> None:
        """Set the totals of some rows."""
        self.values[rows] = values
        if self._highest is None:
            return
        if isinstance(rows, slice):
            self._touched.update(row // _BLOCK for row in range(rows.start, rows.stop))
        else:
            self._touched.update((rows // _BLOCK).tolist())

    def best(self) -> int | None:
        """Return the row with the highest total from 0 on, the first of equals; None if none."""
        if not len(self.values):
            return None
        row = int(self.values.argmax())
        return row if self.values[row] >= 0 else None

    def first(self, count: int, among: Numbers | None = None) -> Numbers:
        """Return the rows of the `count` highest totals from 0 on, best first, of equals the first.

        Args:
            count: how many.
            among: only these rows, ascending; None = all.
        """
        values = self.values
        if among is not None:
            rows = among[_where_highest(values[among], count)]
        elif count * _BLOCK < len(values):
            blocks = _where_highest(self._by_block(), count)
            rows = (blocks[:, None] * _BLOCK + _IN_BLOCK).reshape(-1)
            rows = rows[: int(rows.searchsorted(len(values)))]  # the last block may be shorter
            rows = rows[_where_highest(values[rows], count)]
        else:
            rows = _where_highest(values, count)
        return rows[np.lexsort((rows, -values[rows]))]

    def _by_block(self) -> Values:
        """Return the highest total of each block."""
        values, touched = self.values, self._touched
        starts = np.arange(0, len(values), _BLOCK)
        if self._highest is None or 4 * len(touched) > len(starts):
            self._highest = np.maximum.reduceat(values, starts)
        elif touched:
            blocks = np.fromiter(touched, np.intp, len(touched))
            rows = np.minimum(blocks[:, None] * _BLOCK + _IN_BLOCK, len(values) - 1)
            self._highest[blocks] = values[rows].max(axis=1)
        touched.clear()
        return self._highest


def _where_highest(values: Values, count: int) -> Numbers:
    """Return the indices of the `count` highest values from 0 on, ascending; first of equals."""
    if count >= len(values):
        return np.flatnonzero(values >= 0)
    in_order = values.copy()
    in_order.partition(len(values) - count)
    least = max(int(in_order[len(values) - count]), 0)
    taken = values > least
    (equal,) = (values == least).nonzero()
    taken[equal[: count - np.count_nonzero(taken)]] = True
    return taken.nonzero()[0]
