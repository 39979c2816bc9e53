# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of a ranking: what one plugin says of every node."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from enbloc.engine.asking import asked, checked_mask, checked_scores
from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod

Scorer = decide.Score | decide.ScoreAmong


class Change(NamedTuple):
    """A pod came to a row of the node table, or left it."""

    pod: Pod
    row: int
    left: bool = False


class Opinion(NamedTuple):
    """A filter and scorer that somebody outside gave for one class and one decision."""

    name: str
    evaluator: "OutsideEvaluator"
    weight: int


class OutsideEvaluator(decide.Filter, decide.Score, Protocol):
    """What an opinion is made of."""


@dataclass(slots=True)
class FilterPart:
    """What one filter says of every node."""

    name: str
    evaluator: decide.Filter
    mask: Mask

    def ask(self, pod: Pod, nodes: Nodes) -> Mask:
        """The answer for some nodes, checked."""
        mask = asked(self.name, "Filter", self.evaluator.filter, pod, nodes)
        return checked_mask(self.name, mask, len(nodes))


@dataclass(slots=True)
class ScorePart:
    """What one scorer says of every node: as it said it, and as it counts."""

    name: str
    evaluator: Scorer
    weight: int
    normalize: decide.Normalize | None
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
            if not feasible.any():  # it is asked again as soon as there is one
                return np.zeros(len(nodes), np.int64)
            scores = asked(self.name, "Score", evaluator.score_among, pod, nodes, feasible)
        else:
            assert decide.implements(evaluator, decide.Score)
            scores = asked(self.name, "Score", evaluator.score, pod, nodes)
        return checked_scores(self.name, scores, len(nodes))

    def weigh(self, mask: Mask) -> None:
        """Compute the weighted part from the raw scores, normalised over the feasible rows."""
        if self.normalize is None:
            self.part = self.bounded(self.raw, mask) * self.weight
            return
        self.part = np.zeros(len(mask), dtype=np.int64)
        count = int(mask.sum())
        if not count:  # it need not know how to compare nobody
            return
        feasible = asked(self.name, "NormalizeScore", self.normalize, self.raw[mask])
        scores = checked_scores(self.name, feasible, count, "NormalizeScore")
        self.part[mask] = self.bounded(scores) * self.weight

    def bounded(self, scores: decide.Scores, mask: Mask | None = None) -> npt.NDArray[np.int64]:
        """As integers, if those that count (True in `mask`) lie in [0, 100]."""
        wrong = (scores < 0) | (scores > decide.MAX_NODE_SCORE)
        if wrong.any():
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


def hears(plugin: str, evaluator: object, changes: Sequence[Change]) -> bool:
    """Tell an evaluator who came and left; False = it says that this makes no difference."""
    if not decide.implements(evaluator, decide.Placed):
        return True
    matters = False
    for pod, row, left in changes:
        question = evaluator.removed if left else evaluator.placed
        matters |= asked(plugin, "Filter", question, pod, row) is not False
    return matters
