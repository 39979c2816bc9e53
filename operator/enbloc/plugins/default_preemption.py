# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""DefaultPreemption: preempts pods for one that fits nowhere."""

from dataclasses import dataclass
from typing import ClassVar

from enbloc.framework.hints import ClusterEvent


@dataclass(frozen=True)
class DefaultPreemption:
    """Preempts pods of lower priority.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/defaultpreemption/
    default_preemption.go.

    Attributes:
        min_candidate_nodes_percentage: so many candidates are enough, in percent of the nodes that
            could do;
        min_candidate_nodes_absolute: but no fewer than this.
    """

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    name: ClassVar[str] = "DefaultPreemption"
    events: ClassVar[tuple[ClusterEvent, ...]] = ()

    def candidate_nodes(self, nodes: int) -> int:
        """As many as both arguments require, and no more than there are."""
        share = nodes * self.min_candidate_nodes_percentage // 100
        return min(nodes, max(share, self.min_candidate_nodes_absolute))
