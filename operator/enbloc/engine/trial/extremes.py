# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extremes: which rows may come and go before scores have to be normalised anew."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from enbloc.engine.trial.parts import ScorePart
from enbloc.framework import decide
from enbloc.model.nodes import Mask, Rows

#: Of more rows that come and go at once, what there is is counted anew instead.
_MOST_MOVES: Final = 256


class Extremes:
    """How many feasible rows have the least and the greatest of each raw score that is normalised.

    What `by_extremes` normalises stays as it is on the other rows while some row has each of these.

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
        """The same for the ranking's own scores, or those of a fork."""
        made = object.__new__(Extremes)
        made._unknown = self._unknown
        made._raws = [score.raw for score in scores if score.normalizer is not None]
        made._counts = [count.copy() for count in self._counts]
        return made

    def move(self, gained: Sequence[int], lost: Sequence[int]) -> bool:
        """Rows have become feasible, and ceased to be; whether others' scores may change.

        Then this tells nothing any more.
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
        """A row is not feasible any more; whether the normalised scores of others may change."""
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
        """The scores that are normalised, each with the extremes of what is raw."""
        normalized = (score for score in scores if score.normalizer is not None)
        return zip(normalized, map(list, self._counts), strict=True)


def _ends(raw: decide.Scores) -> dict[Any, int]:
    """How often there is the least and the greatest."""
    if not len(raw):
        return {}
    return {end: int((raw == end).sum()) for end in {raw.min(), raw.max()}}


class Turned(NamedTuple):
    """Rows that have become feasible, and that have ceased to be."""

    gained: list[int]
    lost: list[int]


def turned_between(rows: Rows, before: Mask, after: Mask) -> Turned | None:
    """The rows that are feasible and were not, or were and are not; None = there are none."""
    if np.array_equal(before, after):
        return None
    numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    return Turned(numbers[after & ~before].tolist(), numbers[before & ~after].tolist())
