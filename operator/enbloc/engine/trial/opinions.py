# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Opinions: what is said of each node beyond a profile's own filters and scores."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from enbloc.framework import decide
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod

#: Why a node is not feasible, without any other reason.
REFUSED: Final = "node(s) were refused"

#: The most that all extenders together add to the total of a node: with what plugins add, it is far
#: from overflowing int64.
MOST_OF_EXTENDERS: Final = 2**62


@dataclass(frozen=True, slots=True)
class NodeView:
    """What an extender, or the memory of a plugin, says of each node, as a filter and a score.

    Attributes:
        feasible: bool[N].
        scores: int64[N], 0 to `highest`.
        reasons: for each infeasible row; empty = `why` applies to all of them.
        highest: the highest valid score; of an extender MOST_OF_EXTENDERS.
    """

    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = REFUSED
    feasible: Mask
    scores: npt.NDArray[np.int64]
    reasons: Mapping[int, str]
    why: str = REFUSED
    highest: int = decide.MAX_NODE_SCORE

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """Return bool[N]: the nodes that it leaves."""
        del pod, nodes
        return self.feasible.copy()

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """Return its own words for each node."""
        del pod, nodes
        if not self.reasons:
            return Counter({self.why: int(np.count_nonzero(refused))})
        return Counter(self.reasons[row] for row in np.flatnonzero(refused).tolist())

    def score(self, pod: Pod, nodes: Nodes) -> decide.Scores:
        """Return int64[N]."""
        del pod, nodes
        return self.scores


@dataclass(frozen=True, slots=True, kw_only=True)
class PodView(NodeView):
    """A view that leaves different nodes to different pods.

    Attributes:
        rows: bool[N], of a pod: the nodes that it leaves; `feasible` counts for nothing.
    """

    rows: Callable[[Pod], Mask]

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """Return bool[N]: the nodes that it leaves to this pod."""
        del nodes
        return self.rows(pod).copy()


#: Counts more than all scores of plugins.
_BEFORE_ALL: Final = 1_000_000


class Opinion(NamedTuple):
    """A view for one decision, beyond the profile's own filters and scores."""

    name: str
    view: NodeView
    weight: int


def preferring(
    name: str,
    scores: npt.NDArray[np.int64],
    feasible: Mask | None = None,
    reason: str = REFUSED,
) -> Opinion:
    """Prefer the feasible node with the highest score, whatever plugins say.

    Args:
        name: its source.
        scores: int64[N], 0 to 100.
        feasible: bool[N]; None = all.
        reason: why the others are not feasible.
    """
    mask = np.ones(len(scores), np.bool_) if feasible is None else feasible
    return Opinion(name, NodeView(mask, scores, {}, reason), _BEFORE_ALL)


def confining(name: str, rows: Callable[[Pod], Mask], nodes: int) -> Opinion:
    """Let each pod go to some of the nodes only.

    Args:
        name: its source.
        rows: bool[N], of a pod: where it may go.
        nodes: N.
    """
    everywhere, scores = np.ones(nodes, np.bool_), np.zeros(nodes, np.int64)
    view = PodView(feasible=everywhere, scores=scores, reasons={}, rows=rows)
    return Opinion(name, view, 0)
