# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PerNode: write a filter or score for one node at a time, as kube-scheduler's plugins do."""

from collections import Counter
from typing import ClassVar

import numpy as np

from enbloc.errors import PluginError
from enbloc.framework.decide import Scores
from enbloc.framework.reads import Reads
from enbloc.framework.status import Status
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod


class PerNode:
    """Base class for porting a plugin from kube-scheduler; slow.

    Override `filter_node` (and set `reason`), `score_node`, or both. Each is given a table with
    exactly one row. With 5 000 nodes a Python call per node costs milliseconds, an array answer
    microseconds. A method that is not overridden costs nothing.
    """

    reads: ClassVar[Reads] = Reads.NODE
    reason: ClassVar[str] = "node(s) were refused"

    def filter_node(self, pod: Pod, node: Nodes) -> Status | None:
        """None or SUCCESS if the node is feasible, else a status that says why not.

        Any status but a refusal, such as ERROR, makes the group pause.
        """
        del pod, node
        return None

    def score_node(self, pod: Pod, node: Nodes) -> int:
        """From 0 to 100; higher is better."""
        del pod, node
        return 0

    def _verdicts(self, pod: Pod, nodes: Nodes) -> list[Status | None]:
        rows = range(len(nodes))
        found = [self.filter_node(pod, nodes.take(slice(row, row + 1))) for row in rows]
        for status in found:
            if not (status is None or status.ok or status.rejected):
                name = getattr(self, "name", type(self).__name__)
                detail = status.message or f"answered {status.code.name}"
                raise PluginError(name, "Filter", detail)
        return found

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """One verdict per row; see `filter_node`."""
        if type(self).filter_node is PerNode.filter_node:
            return np.ones(len(nodes), np.bool_)
        verdicts = self._verdicts(pod, nodes)
        return np.array([status is None or status.ok for status in verdicts], dtype=bool)

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """Count the messages of the refused rows."""
        counts: Counter[str] = Counter()
        for status, is_refused in zip(self._verdicts(pod, nodes), refused, strict=True):
            if is_refused:
                counts[(status.message if status else "") or self.reason] += 1
        return counts

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """One score per row; see `score_node`."""
        if type(self).score_node is PerNode.score_node:
            return np.zeros(len(nodes), np.int64)
        rows = range(len(nodes))
        scores = [self.score_node(pod, nodes.take(slice(row, row + 1))) for row in rows]
        return np.array(scores, dtype=np.int64)
