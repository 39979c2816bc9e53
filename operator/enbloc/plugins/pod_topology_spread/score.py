# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""SpreadScore: how crowded each node's domains are, by the ScheduleAnyway constraints."""

import math
from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from enbloc.framework.decide import MAX_NODE_SCORE, Scores
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pins import HOSTNAME
from enbloc.model.pods import Pod
from enbloc.model.selectors import SpreadConstraint
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.pod_topology_spread.constraints import (
    Counting,
    Table,
    counted,
    keys_present,
)

#: The raw score of a node that is not scored; it ends up with 0.
IGNORED: Final = -1


class SpreadScore(Counting["_Table"]):
    """Counts pods per domain, updated as pods come and go.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/podtopologyspread/scoring.go Score.
    """

    reads: ClassVar[Reads] = Reads.CLUSTER

    def __init__(
        self,
        pod: Pod,
        constraints: Sequence[SpreadConstraint],
        snapshot: Snapshot,
        *,
        require_keys: bool,
    ) -> None:
        """Count for the class of `pod`; `require_keys` ignores nodes that lack a topology key."""
        size = len(snapshot.nodes)
        present = keys_present(constraints, snapshot.nodes)
        complete = present if require_keys else np.ones(size, np.bool_)
        self._ignored = ~complete
        tables = [_Table(each, pod, snapshot, complete) for each in constraints]
        super().__init__(pod.key.namespace, tables)

    def score_among(self, pod: Pod, nodes: Nodes, feasible: Mask) -> Scores:
        """round(Σ count · ln(domains + 2) + (max_skew − 1)); fewer is better.

        The sum is over the constraints whose key the node has; `domains` counts those of the
        feasible nodes that are not ignored.
        """
        del pod
        candidates = feasible & ~self._ignored
        total = np.zeros(len(nodes), np.float64)
        for table in self._tables:
            total += table.crowding(candidates)
        whole = np.floor(total)
        # Go rounds halves away from zero; the difference is exact, while adding 0.5 is not.
        raw = (whole + (total - whole >= 0.5)).astype(np.int64)
        raw[self._ignored] = IGNORED
        return raw


class _Table(Table):
    """One constraint's pods, by domain; each node is a domain of its own for the host name."""

    def __init__(
        self, constraint: SpreadConstraint, pod: Pod, snapshot: Snapshot, complete: Mask
    ) -> None:
        nodes, key = snapshot.nodes, constraint.topology_key
        self._per_node = key == HOSTNAME
        self._keyless = ~nodes.has_label(key)
        if self._per_node:
            size = len(nodes)
            codes, counting = np.arange(size), np.ones(size, np.bool_)
        else:
            codes, size = nodes.domains(key).astype(np.intp), nodes.domain_count(key)
            counting = complete & counted(constraint, pod, nodes)
        super().__init__(constraint, codes, counting, size, pod, snapshot)

    def crowding(self, candidates: Mask) -> npt.NDArray[np.float64]:
        """float64[N]: this constraint's part of the raw score; 0 where the node lacks its key."""
        if self._per_node:
            domains = int(np.count_nonzero(candidates))
        else:
            seen = np.zeros(len(self.counts), np.bool_)
            seen[self.codes[candidates]] = True
            domains = int(np.count_nonzero(seen))
        by_domain = self.counts.astype(np.float64) * math.log(domains + 2)
        by_domain += self.constraint.max_skew - 1
        crowding = by_domain if self._per_node else by_domain[self.codes]
        crowding[self._keyless] = 0
        return crowding


def normalize(scores: Scores) -> Scores:
    """100 · (max + min − score) // max over the scored nodes; all 100 when max is 0."""
    scored = scores != IGNORED
    if not scored.any():
        return np.zeros_like(scores)
    top, low = scores.max(), scores[scored].min()
    if top == 0:
        return np.where(scored, MAX_NODE_SCORE, np.zeros_like(scores))
    return np.where(scored, MAX_NODE_SCORE * (top + low - scores) // top, 0)
