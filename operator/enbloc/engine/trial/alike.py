# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Alike: the rows that identical pods take one after the other, found without placing them.

A pod that takes a row changes the score of that row alone, if nothing that is asked looks beyond
it. So `count` pods never go beyond the `count` best rows, and the scores of these with further pods
are requested all at once::

    row        with 0   1    2  …
    n7           90    85   80        each pod takes the highest that is left: n7, n2, n7, n4, …
    n2           88    81
    n4           83

With `count` pods, at most `count / m` rows can get `m` each: for so many of the best, the totals
with `m` pods are requested beforehand; for any other row, on demand.
"""

from collections.abc import Sequence
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from enbloc.engine.trial.ranking import Ranking
from enbloc.model.nodes import Nodes

Numbers = npt.NDArray[np.intp]

#: The most further pods on a row for which totals are requested beforehand.
_LEVELS: Final = 64


def rows_in_turn(
    ranking: Ranking, nodes: Nodes, count: int, among: Numbers | None = None
) -> list[int]:
    """Return where pods of a class go, each on the best row that those before it leave.

    Args:
        ranking: of the class, up to date, `row_by_row`.
        nodes: the table that it is up to date with.
        count: how many pods, from 1 on.
        among: intp[R], ascending, the rows to which they may go; None = all.

    Returns:
        At most `count` rows in order. Fewer if no row is feasible any more, or if the next one is
        only known once these are placed; none means that no row is feasible.

    Raises:
        PluginError: a plugin raised or broke its contract.
    """
    rows = ranking.first(count, among)
    if not len(rows):
        return []
    ahead = _Ahead(ranking, nodes, rows, count)
    # The best on top, of equals the first row; with it its index in `rows`, and its further pods.
    heap = [
        (-total, row, place, 0)
        for place, (row, total) in enumerate(
            zip(rows.tolist(), ranking.totals[rows].tolist(), strict=True)
        )
    ]
    heapify(heap)
    extremes = ranking.extremes()
    placed: list[int] = []
    while heap:
        _, row, place, more = heap[0]
        placed.append(row)
        if len(placed) == count:
            break
        total = ahead.total(place, more + 1)
        if total >= 0:
            heapreplace(heap, (-total, row, place, more + 1))
            continue
        heappop(heap)
        if extremes.lose(row):
            break
    return placed


class _Ahead:
    """The totals of rows with further pods; −1 where these do not fit."""

    def __init__(self, ranking: Ranking, nodes: Nodes, rows: Numbers, count: int) -> None:
        self._ranking, self._nodes, self._rows = ranking, nodes, rows
        self._asked = asked = _asked_ahead(len(rows), count)
        found = ranking.with_more(nodes, rows[asked.places], asked.levels)
        self._totals: list[int] = found.tolist()
        self._others: dict[tuple[int, int], int] = {}

    def total(self, place: int, more: int) -> int:
        """Return the total of the row at an index with so many further pods."""
        asked = self._asked
        if more <= len(asked.wide) and place < asked.wide[more - 1]:
            return self._totals[asked.first[more - 1] + place]
        found = self._others.get((place, more))
        if found is not None:
            return found
        levels = np.arange(more, 2 * more + 1)
        rows = np.full(len(levels), self._rows[place])
        totals = self._ranking.with_more(self._nodes, rows, levels).tolist()
        self._others |= {(place, more + step): each for step, each in enumerate(totals)}
        return self._others[place, more]


class _Requested(NamedTuple):
    """What is requested beforehand.

    Attributes:
        wide: for how many of the best rows the totals with 1, 2, … further pods are requested.
        first: where the answers for each of these begin.
        places: intp[A], the row of each question, by its index.
        levels: int64[A], the number of further pods in each question.
    """

    wide: Sequence[int]
    first: Sequence[int]
    places: Numbers
    levels: npt.NDArray[np.int64]


@lru_cache(16)
def _asked_ahead(rows: int, count: int) -> _Requested:
    """Return the questions for so many of the best rows and pods; the same for identical gangs."""
    wide = [min(rows, count // more) for more in range(1, min(count, _LEVELS) + 1)]
    levels = np.repeat(np.arange(1, len(wide) + 1), wide)
    places = np.concatenate([np.arange(each) for each in wide])
    return _Requested(wide, np.cumsum([0, *wide]).tolist(), places, levels)
