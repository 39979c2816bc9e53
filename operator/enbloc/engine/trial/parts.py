# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Parts: what one filter or scorer says of every node, and which evaluators hear of pods."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from enbloc.engine.trial.opinions import NodeView
from enbloc.engine.trial.plugin_calls import asked, checked_scores, shape_of
from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Mask, Nodes, Rows
from enbloc.model.pods import Pod

Scorer = decide.Score | decide.ScoreAmong

#: By id of an evaluator, its fork.
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
        """Use another evaluator from now on."""
        self.evaluator = evaluator

    def fork(self, forks: Forks) -> "FilterPart":
        """Return an independent copy; the mask is only written to where rows are asked again."""
        evaluator = self.evaluator
        mask = self.mask.copy() if evaluator.reads is Reads.NODE else self.mask
        return FilterPart(self.name, forks.get(id(evaluator), evaluator), mask)


@dataclass(slots=True)
class ScorePart:
    """What one scorer says of every node: raw, and weighted."""

    name: str
    evaluator: Scorer
    weight: int
    normalizer: decide.NormalizeScore | None
    raw: decide.Scores
    part: npt.NDArray[np.int64]
    #: Whether its raw scores depend on which nodes are feasible.
    among: bool = field(init=False)
    #: The highest valid score.
    highest: int = field(init=False)

    def __post_init__(self) -> None:
        self.among = decide.implements(self.evaluator, decide.ScoreAmong)
        self.highest = decide.MAX_NODE_SCORE
        if isinstance(self.evaluator, NodeView):
            self.highest = self.evaluator.highest

    def ask(self, pod: Pod, nodes: Nodes, feasible: Mask) -> decide.Scores:
        """Return the raw answer for some nodes, checked."""
        evaluator = self.evaluator
        if self.among:
            assert decide.implements(evaluator, decide.ScoreAmong)
            if not np.count_nonzero(feasible):  # it is asked again once there is a feasible node
                return np.zeros(len(nodes), np.int64)
            scores = asked(self.name, "Score", evaluator.score_among, pod, nodes, feasible)
        else:
            assert decide.implements(evaluator, decide.Score)
            scores = asked(self.name, "Score", evaluator.score, pod, nodes)
        return checked_scores(self.name, scores, len(nodes))

    def replace(self, evaluator: Any) -> None:
        """Use another evaluator from now on."""
        if self.normalizer is cast("Any", self.evaluator):
            self.normalizer = evaluator
        self.evaluator = evaluator

    def fork(self, forks: Forks) -> "ScorePart":
        """Return an independent copy; arrays are only written to where rows are asked again."""
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
        if not count:  # it need not handle an empty set
            return
        normalize = self.normalizer.normalize
        feasible = asked(self.name, "NormalizeScore", normalize, self.raw[mask])
        scores = checked_scores(self.name, feasible, count, "NormalizeScore")
        self.part[mask] = self.bounded(scores) * self.weight

    def weigh_rows(self, rows: npt.NDArray[np.intp], ends: Sequence[Any]) -> npt.NDArray[np.int64]:
        """Compute the weighted part of some rows that have become feasible.

        Args:
            rows: intp[R].
            ends: the minimum and maximum raw score of the rows that were feasible before.

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
        """Return the scores as integers, if those that count (True in `mask`) are in range."""
        if scores.dtype == np.int64:  # as unsigned, a negative value is far above the maximum
            wrong = scores.view(np.uint64) > self.highest
        else:
            wrong = (scores < 0) | (scores > self.highest)
        if np.count_nonzero(wrong):
            if mask is not None:
                wrong &= mask
            for score in scores[wrong]:
                raise PluginError(
                    self.name,
                    "Score",
                    f"returns an invalid score {score}, it should in the range of "
                    f"[0, {self.highest}] after normalizing",
                )
        return scores.astype(np.int64, copy=False)


def forked(plugin: str, evaluator: decide.Forks) -> object:
    """Return a copy of an evaluator; PluginError if it returns something else."""
    fork = asked(plugin, "Filter", evaluator.fork)
    if not isinstance(fork, type(evaluator)):
        detail = f"fork gave {shape_of(fork)}, not {shape_of(evaluator)}"
        raise PluginError(plugin, "Filter", detail)
    return fork


def hears(plugin: str, evaluator: object, changes: Sequence[PlacedChange]) -> bool:
    """Tell an evaluator which pods came and left; False = it says that this changes nothing."""
    if not decide.implements(evaluator, decide.TracksPods):
        return True
    return asked(plugin, "Filter", _told, evaluator, changes)


def _told(evaluator: decide.TracksPods, changes: Sequence[PlacedChange]) -> bool:
    came, went = evaluator.placed, evaluator.removed
    matters = False
    for pod, row, left in changes:
        if (went if left else came)(pod, row) is not False:
            matters = True
    return matters


def rows_of(changes: Sequence[PlacedChange], others: Collection[int] = ()) -> Rows:
    """Return the rows that changed; a single one as a slice, which costs no copy."""
    touched = {change.row for change in changes}.union(others)
    if len(touched) == 1:
        (row,) = touched
        return slice(row, row + 1)
    return np.array(sorted(touched), np.int64)
