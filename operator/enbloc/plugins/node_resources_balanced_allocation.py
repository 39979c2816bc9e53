# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesBalancedAllocation: prefer nodes whose resources would be used evenly."""

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
#: Two resources have a formula of their own.
_PAIR = 2

#: float64[2, N]: without and with the pod; for several resources, float64[R, 2, N].
Fractions = npt.NDArray[np.float64]


class _Balance:
    """How much better balanced a node is with the pod than without it."""

    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, requests: tuple[tuple[str, int], ...]) -> None:
        self._names = tuple(name for name, _ in requests)
        # int64[R, 2, 1]: nothing, then what the pod requests
        self._added = np.array([[[0], [amount]] for _, amount in requests], np.int64)

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """50 to 100; 75 when the pod leaves the balance as it is."""
        del pod
        offered = nodes.allocatables(self._names)
        used = (offered - nodes.frees(self._names))[:, None] + self._added
        fractions = used / np.maximum(offered, 1)[:, None]
        np.minimum(fractions, 1.0, out=fractions)
        balance = 1 - _deviation(fractions, offered > 0)
        balance *= MAX_NODE_SCORE
        whole = balance.astype(np.int64)
        return _HALF + (_HALF + whole[1] - whole[0]) // 2


@dataclass(frozen=True)
class NodeResourcesBalancedAllocation:
    """Score nodes whose resources the pod would use more evenly, in float64 as upstream.

    Source: kube-scheduler v1.36
    pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go balancedResourceScorer.

    Attributes:
        resources: the resources to balance.
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


def _deviation(fractions: Fractions, offers: Mask) -> Fractions:
    """float64[2, N]: the standard deviation over what a node offers; 0 for fewer than two.

    Args:
        fractions: float64[R, 2, N], 0 to 1.
        offers: bool[R, N].
    """
    if len(fractions) == _PAIR:
        deviation = fractions[0] - fractions[1]
        np.abs(deviation, out=deviation)
        deviation /= 2
        deviation *= offers[0] & offers[1]
        return deviation
    counted = np.sum(offers, axis=0)
    divisor = np.maximum(counted, 1)
    # Summed one by one, as upstream: another order could round to another score.
    mean = sum(part * offer for part, offer in zip(fractions, offers, strict=True)) / divisor
    squares = sum((part - mean) ** 2 * offer for part, offer in zip(fractions, offers, strict=True))
    of_all = np.sqrt(squares / divisor)
    return np.where(counted == _PAIR, _of_pair(fractions, offers), of_all) * (counted > 1)


def _of_pair(fractions: Fractions, offers: Mask) -> Fractions:
    """Half the difference, for nodes that offer just two resources."""
    highest = np.max([part * offer for part, offer in zip(fractions, offers, strict=True)], axis=0)
    lowest = np.min(
        [np.where(offer, part, 1.0) for part, offer in zip(fractions, offers, strict=True)], axis=0
    )
    return (highest - lowest) / 2
