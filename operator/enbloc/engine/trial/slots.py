# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Slots: how many further pods of a class each row has room for, kept while pods come and go.

This counts requests alone, so it is an upper bound. Sums over groups of rows that are requested,
such as the racks of a topology, are kept as well: a pod that comes changes one row and one sum of
each.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.model.nodes import Amounts, Mask, Nodes, Rows

Numbers = npt.NDArray[np.int64]

#: The most pods for which a row counts as having room, so that sums stay small.
MOST_SLOTS: Final = 2**31
#: The most groupings of rows for which sums are kept.
_MOST_GROUPINGS: Final = 16


class Slots:
    """The slots of each row for one class.

    Attributes:
        requests: `(resource, amount)` that a pod of the class takes of its node.
        values: int64[N], read-only.

    Args:
        requests: as above.
        nodes: the table.
        mask: bool[N], the rows that may take such a pod at all.
    """

    def __init__(self, requests: tuple[tuple[str, int], ...], nodes: Nodes, mask: Mask) -> None:
        self.requests = requests
        self.values = self._of(nodes, mask)
        #: By identity, the bins of rows, and the sum of each bin.
        self._sums: dict[int, tuple[Numbers, Numbers]] = {}

    def _of(self, nodes: Nodes, mask: Mask) -> Amounts:
        found = np.full(len(nodes), MOST_SLOTS, np.int64)
        frees = nodes.frees(tuple(name for name, _ in self.requests)) if self.requests else ()
        for line, (_, amount) in zip(frees, self.requests, strict=True):
            if amount:
                np.minimum(found, line // amount, out=found)
        found[~mask] = 0
        return np.maximum(found, 0, out=found)

    def put(self, rows: Rows, part: Nodes, mask: Mask) -> None:
        """Update some rows that have changed.

        Args:
            rows: these.
            part: the table of these alone.
            mask: bool[R], which of these may take such a pod.
        """
        found = self._of(part, mask)
        more = found - self.values[rows]
        self.values[rows] = found
        for bins, sums in self._sums.values():
            np.add.at(sums, bins[rows], more)

    def sums(self, bins: Numbers, count: int) -> Numbers:
        """Return int64[D]: the sum of the slots of the rows in each bin from 1 to D.

        Args:
            bins: int64[N], the bin of each row; 0 = none.
            count: D.
        """
        kept = self._sums.get(id(bins))
        if kept is None:
            if len(self._sums) >= _MOST_GROUPINGS:
                self._sums.clear()
            added = np.bincount(bins, self.values, 1 + count).astype(np.int64)
            kept = self._sums[id(bins)] = bins, added
        return kept[1][1:].copy()
