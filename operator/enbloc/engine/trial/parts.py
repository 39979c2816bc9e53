# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Parts: what one filter, or one scorer, says of every node, and who hears of pods."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from enbloc.engine.trial.plugin_calls import asked, checked_scores, shape_of
from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Mask, Nodes, Rows
from enbloc.model.pods import Pod

Scorer = decide.Score | decide.ScoreAmong

#: By the id of an evaluator, its fork.
Forks = Mapping[int, Any]


class PlacedChange(NamedTuple):
    """A pod came to a row of the node table, or left it."""

    pod: Pod
    row: int
    left: bool = False


@dataclass(slots=True)
class FilterPart:
    """What one filter says of every node."""

    name: str
    evaluator: decide.Filter
    mask: Mask

    def replace(self, evaluator: decide.Filter) -> None:
        """Another one says so from now on."""
        self.evaluator = evaluator

    def fork(self, forks: Forks) -> "FilterPart":
        """A copy of its own; only where rows are asked again is the mask written to."""
        evaluator = self.evaluator
        mask = self.mask.copy() if evaluator.reads is Reads.NODE else self.mask
        return FilterPart(self.name, forks.get(id(evaluator), evaluator), mask)


@dataclass(slots=True)
class ScorePart:
    """What one scorer says of every node: as it said it, and as it counts."""

    name: str
    evaluator: Scorer
    weight: int
    normalizer: decide.NormalizeScore | None
    raw: decide.Scores
    part: npt.NDArray[np.int64]
    #: Its raw scores depend on which nodes are feasible.
    among: bool = field(init=False)

    def __post_init__(self) -> None:
        self.among = decide.implements(self.evaluator, decide.ScoreAmong)

    def ask(self, pod: Pod, nodes: Nodes, feasible: Mask) -> decide.Scores:
        """The raw answer for some nodes, checked."""
        evaluator = self.evaluator
        if self.among:
            assert decide.implements(evaluator, decide.ScoreAmong)
            if not np.count_nonzero(feasible):  # it is asked again as soon as there is one
                return np.zeros(len(nodes), np.int64)
            scores = asked(self.name, "Score", evaluator.score_among, pod, nodes, feasible)
        else:
            assert decide.implements(evaluator, decide.Score)
            scores = asked(self.name, "Score", evaluator.score, pod, nodes)
        return checked_scores(self.name, scores, len(nodes))

    def replace(self, evaluator: Any) -> None:
        """Another one says so from now on."""
        if self.normalizer is cast("Any", self.evaluator):
            self.normalizer = evaluator
        self.evaluator = evaluator

    def fork(self, forks: Forks) -> "ScorePart":
        """A copy of its own; only where rows are asked again are the arrays written to."""
        evaluator, normalizer = self.evaluator, self.normalizer
        raw, part = self.raw, self.part
        if evaluator.reads is Reads.NODE:
            raw, part = raw.copy(), part.copy()
        elif normalizer is not None:
            part = part.copy()
        evaluator = forks.get(id(evaluator), evaluator)
        normalizer = forks.get(id(normalizer), normalizer)
        return ScorePart(self.name, evaluator, self.weight, normalizer, raw, part)

    def weigh(self, mask: Mask) -> None:
        """Compute the weighted part from the raw scores, normalised over the feasible rows."""
        if self.normalizer is None:
            self.part = self.bounded(self.raw, mask) * self.weight
            return
        self.part = np.zeros(len(mask), dtype=np.int64)
        count = int(mask.sum())
        if not count:  # it need not know how to compare nobody
            return
        normalize = self.normalizer.normalize
        feasible = asked(self.name, "NormalizeScore", normalize, self.raw[mask])
        scores = checked_scores(self.name, feasible, count, "NormalizeScore")
        self.part[mask] = self.bounded(scores) * self.weight

    def weigh_rows(self, rows: npt.NDArray[np.intp], ends: Sequence[Any]) -> npt.NDArray[np.int64]:
        """Compute the weighted part of some rows that have become feasible.

        Args:
            rows: intp[R].
            ends: the least and the greatest raw score of the feasible rows, as they were before.

        Returns:
            int64[R]: by how much the part of each has grown.
        """
        assert self.normalizer is not None
        raw = np.concatenate((self.raw[rows], np.array(ends, self.raw.dtype)))
        found = asked(self.name, "NormalizeScore", self.normalizer.normalize, raw)
        scores = checked_scores(self.name, found, len(raw), "NormalizeScore")[: len(rows)]
        weighted = self.bounded(scores) * self.weight
        grown: npt.NDArray[np.int64] = weighted - self.part[rows]
        self.part[rows] = weighted
        return grown

    def bounded(self, scores: decide.Scores, mask: Mask | None = None) -> npt.NDArray[np.int64]:
        """As integers, if those that count (True in `mask`) lie in [0, 100]."""
        if scores.dtype == np.int64:  # below 0 is far above the maximum without the sign
            wrong = scores.view(np.uint64) > decide.MAX_NODE_SCORE
        else:
            wrong = (scores < 0) | (scores > decide.MAX_NODE_SCORE)
        if np.count_nonzero(wrong):
            if mask is not None:
                wrong &= mask
            for score in scores[wrong]:
                raise PluginError(
                    self.name,
                    "Score",
                    f"returns an invalid score {score}, it should in the range of "
                    f"[0, {decide.MAX_NODE_SCORE}] after normalizing",
                )
        return scores.astype(np.int64, copy=False)


def forked(plugin: str, evaluator: decide.Forks) -> object:
    """A copy of an evaluator; a PluginError if it gives something else."""
    fork = asked(plugin, "Filter", evaluator.fork)
    if not isinstance(fork, type(evaluator)):
        detail = f"fork gave {shape_of(fork)}, not {shape_of(evaluator)}"
        raise PluginError(plugin, "Filter", detail)
    return fork


def hears(plugin: str, evaluator: object, changes: Sequence[PlacedChange]) -> bool:
    """Tell an evaluator who came and left; False = it says that this makes no difference."""
    if not decide.implements(evaluator, decide.Placed):
        return True
    return asked(plugin, "Filter", _told, evaluator, changes)


def _told(evaluator: decide.Placed, changes: Sequence[PlacedChange]) -> bool:
    came, went = evaluator.placed, evaluator.removed
    matters = False
    for pod, row, left in changes:
        if (went if left else came)(pod, row) is not False:
            matters = True
    return matters


def rows_of(changes: Sequence[PlacedChange], others: Collection[int] = ()) -> Rows:
    """The rows that changed; one alone as a slice, which costs no copy."""
    touched = {change.row for change in changes}.union(others)
    if len(touched) == 1:
        (row,) = touched
        return slice(row, row + 1)
    return np.array(sorted(touched), np.int64)
