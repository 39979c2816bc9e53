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
#: Two resources have a formula of their own.
_PAIR = 2

#: float64[2, N]: without and with the pod.
Fractions = npt.NDArray[np.float64]


class _Balance:
    """How much better balanced a node is with the pod than without it.

    Attributes:
        added: for each resource that counts, int64[2, 1]: nothing, then what the pod requests.
    """

    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, requests: tuple[tuple[str, int], ...]) -> None:
        self.added = [(name, np.array([[0], [amount]], np.int64)) for name, amount in requests]

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """50 to 100; 75 when the pod leaves the balance as it is."""
        del pod
        fractions: list[Fractions] = []
        offers: list[Mask] = []
        for resource, added in self.added:
            offered = nodes.allocatable(resource)
            used = offered - nodes.free(resource) + added
            fraction = used / np.maximum(offered, 1)
            fractions.append(np.minimum(fraction, 1.0, out=fraction))
            offers.append(offered > 0)
        balance = ((1 - _deviation(fractions, offers)) * MAX_NODE_SCORE).astype(np.int64)
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


def _deviation(fractions: list[Fractions], offers: list[Mask]) -> Fractions:
    """The standard deviation over the resources that a node offers; 0 for fewer than two.

    Args:
        fractions: for each resource, without and with the pod, 0 to 1.
        offers: for each resource, bool[N].
    """
    if len(fractions) == _PAIR:
        deviation = fractions[0] - fractions[1]
        np.abs(deviation, out=deviation)
        deviation /= 2
        deviation *= offers[0] & offers[1]
        return deviation
    counted = np.sum(offers, axis=0)
    divisor = np.maximum(counted, 1)
    # Added up one by one, as upstream does: another order could round to another score.
    mean = sum(part * offer for part, offer in zip(fractions, offers, strict=True)) / divisor
    squares = sum((part - mean) ** 2 * offer for part, offer in zip(fractions, offers, strict=True))
    of_all = np.sqrt(squares / divisor)
    return np.where(counted == _PAIR, _of_pair(fractions, offers), of_all) * (counted > 1)


def _of_pair(fractions: list[Fractions], offers: list[Mask]) -> Fractions:
    """Half the difference, where just two resources are offered."""
    highest = np.max([part * offer for part, offer in zip(fractions, offers, strict=True)], axis=0)
    lowest = np.min(
        [np.where(offer, part, 1.0) for part, offer in zip(fractions, offers, strict=True)], axis=0
    )
    return (highest - lowest) / 2
