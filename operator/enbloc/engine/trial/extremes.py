# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extremes: which rows may come and go before scores must be normalised again."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from enbloc.engine.trial.parts import ScorePart
from enbloc.framework import decide
from enbloc.model.nodes import Mask, Rows

#: If more rows come and go at once, everything is counted again instead.
_MOST_MOVES: Final = 256


class Extremes:
    """How many feasible rows have the minimum and the maximum of each normalised raw score.

    What `by_extremes` normalises stays the same on other rows while some row has each of these.

    Args:
        scores: all of a ranking.
        mask: bool[N], the feasible rows.
    """

    __slots__ = ("_counts", "_raws", "_unknown")

    def __init__(self, scores: Sequence[ScorePart], mask: Mask) -> None:
        normalized = [score for score in scores if score.normalizer is not None]
        self._unknown = not all(
            getattr(score.normalizer, "by_extremes", False) for score in normalized
        )
        self._raws = [score.raw for score in normalized]
        self._counts: list[dict[Any, int]] = []
        for raw in () if self._unknown else self._raws:
            self._counts.append(_ends(raw[mask]))

    def copy(self, scores: Sequence[ScorePart]) -> "Extremes":
        """Return a copy for the ranking's own scores, or those of a fork."""
        made = object.__new__(Extremes)
        made._unknown = self._unknown
        made._raws = [score.raw for score in scores if score.normalizer is not None]
        made._counts = [count.copy() for count in self._counts]
        return made

    def move(self, gained: Sequence[int], lost: Sequence[int]) -> bool:
        """Record rows that turned; return whether the scores of others may change.

        If so, this object is invalid.
        """
        if self._unknown or len(gained) + len(lost) > _MOST_MOVES:
            return True
        return any(map(self._gain, gained)) or any(map(self.lose, lost))

    def _gain(self, row: int) -> bool:
        for raw, count in zip(self._raws, self._counts, strict=True):
            score = raw[row]
            if score in count:
                count[score] += 1
            elif not count or not min(count) < score < max(count):
                return True
        return False

    def lose(self, row: int) -> bool:
        """Record that a row is infeasible; return whether others' normalised scores may change."""
        if self._unknown:
            return True
        alone = False
        for raw, count in zip(self._raws, self._counts, strict=True):
            score = raw[row]
            if score in count:
                count[score] -= 1
                alone = alone or not count[score]
        return alone

    def of(self, scores: Sequence[ScorePart]) -> Iterable[tuple[ScorePart, list[Any]]]:
        """Return the normalised scores, each with the extremes of its raw scores."""
        normalized = (score for score in scores if score.normalizer is not None)
        return zip(normalized, map(list, self._counts), strict=True)


def _ends(raw: decide.Scores) -> dict[Any, int]:
    """Return how often the minimum and the maximum occur."""
    if not len(raw):
        return {}
    return {end: int((raw == end).sum()) for end in {raw.min(), raw.max()}}


class Turned(NamedTuple):
    """Rows that have become feasible, and rows that have ceased to be."""

    gained: list[int]
    lost: list[int]


def turned_between(rows: Rows, before: Mask, after: Mask) -> Turned | None:
    """Return the rows that turned feasible or infeasible; None = there are none."""
    if np.array_equal(before, after):
        return None
    numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    return Turned(numbers[after & ~before].tolist(), numbers[before & ~after].tolist())
