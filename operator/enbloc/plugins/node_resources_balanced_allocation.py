# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesBalancedAllocation: prefer nodes whose resources the pod makes equally full."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from enbloc.framework.decide import MAX_NODE_SCORE, Scores
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from enbloc.model.snapshot import Snapshot

_HALF = MAX_NODE_SCORE // 2
_ALWAYS = (CPU, MEMORY, EPHEMERAL_STORAGE)


class _Balance:
    """How much better balanced a node is with the pod than without it.

    Attributes:
        resources: those that count for the class of pods.
        added: int64[2, R, 1], what is added to each: nothing, then the pod's requests.
    """

    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, requests: tuple[tuple[str, int], ...]) -> None:
        self.resources = tuple(name for name, _ in requests)
        amounts = [amount for _, amount in requests]
        self.added = np.array([[0] * len(amounts), amounts], np.int64)[:, :, np.newaxis]

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """50 to 100 when the balance improves, less when it suffers; 75 when it stays."""
        del pod
        offered = np.array([nodes.allocatable(name) for name in self.resources])
        free = np.array([nodes.free(name) for name in self.resources])
        used = (offered - free) + self.added
        fractions = np.minimum(used / np.maximum(offered, 1), 1.0)
        balance = ((1 - _deviation(fractions, offered > 0)) * MAX_NODE_SCORE).astype(np.int64)
        return _HALF + (_HALF + balance[1] - balance[0]) // 2


@dataclass(frozen=True)
class NodeResourcesBalancedAllocation:
    """Source: framework.md §10.2, in float64 as upstream.

    Attributes:
        resources: whose use should be in balance.
    """

    resources: tuple[str, ...] = (CPU, MEMORY)

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> _Balance | None:
        """None for a pod that requests none of the resources."""
        del snapshot
        requests = dict(pod.spec.requests)
        counted = tuple(
            (name, requests.get(name, 0))
            for name in self.resources
            if name in requests or name in _ALWAYS
        )
        return _Balance(counted) if any(amount for _, amount in counted) else None


def _deviation(fractions: npt.NDArray[np.float64], offered: Mask) -> npt.NDArray[np.float64]:
    """The standard deviation over the resources that a node offers, 0 for fewer than two.

    Args:
        fractions: float64[2, R, N], 0 to 1.
        offered: bool[R, N].

    Returns:
        float64[2, N].
    """
    highest = np.where(offered, fractions, 0.0).max(axis=1)
    lowest = np.where(offered, fractions, 1.0).min(axis=1)
    of_two = np.maximum(highest - lowest, 0.0) / 2
    if len(offered) <= 2:
        return of_two
    counted = offered.sum(axis=0)
    # Summed one by one: another order could round to another score.
    total = np.zeros_like(of_two)
    for index, present in enumerate(offered):
        total += np.where(present, fractions[:, index], 0.0)
    mean = total / np.maximum(counted, 1)
    squares = np.zeros_like(of_two)
    for index, present in enumerate(offered):
        squares += np.where(present, (fractions[:, index] - mean) ** 2, 0.0)
    return np.where(counted > 2, np.sqrt(squares / np.maximum(counted, 1)), of_two)
