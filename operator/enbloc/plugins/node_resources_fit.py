# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesFit: the node has room for what the pod requests; emptier nodes score higher."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from enbloc.framework.decide import MAX_NODE_SCORE, Scores
from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Amounts, Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.resources import CPU, MEMORY, PODS


@dataclass(frozen=True)
class NodeResourcesFit:
    """Source: framework.md §9.6 and §10.1 (LeastAllocated over cpu and memory, weight 1 each)."""

    name: ClassVar[str] = "NodeResourcesFit"
    reads: ClassVar[Reads] = Reads.NODE
    reason: ClassVar[str] = "Insufficient resources"
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.POD, Action.DELETE | Action.UPDATE_OTHER),
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_ALLOCATABLE | Action.UPDATE_TAINT),
    )

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """Every requested resource is free; a request of zero always fits."""
        mask = np.ones(len(nodes), np.bool_)
        for resource, amount in pod.spec.requests:
            mask &= nodes.free(resource) >= amount
        return mask

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """Each refused node counts under every resource that it lacks."""
        counts: Counter[str] = Counter()
        for resource, amount in pod.spec.requests:
            short = int((refused & (nodes.free(resource) < amount)).sum())
            if short:
                counts["Too many pods" if resource == PODS else f"Insufficient {resource}"] += short
        return counts

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """LeastAllocated: the mean over cpu and memory of what would stay free, in percent."""
        cpu = nodes.allocatable(CPU)
        memory = nodes.allocatable(MEMORY)
        total = _left(cpu, nodes.nonzero_cpu + pod.spec.nonzero_cpu)
        total += _left(memory, nodes.nonzero_memory + pod.spec.nonzero_memory)
        counted = (cpu > 0).astype(np.int64) + (memory > 0)
        return total // np.maximum(counted, 1)


def _left(capacity: Amounts, used: Amounts) -> Amounts:
    """(capacity − used) · 100 // capacity; 0 where there is none or too little."""
    free = np.maximum(capacity - used, 0)
    return free * MAX_NODE_SCORE // np.maximum(capacity, 1)
