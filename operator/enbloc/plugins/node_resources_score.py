# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesFit's score: how full the pod would make the node, by one of three strategies."""

from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

import numpy as np

from enbloc.framework.decide import MAX_NODE_SCORE, Scores
from enbloc.framework.reads import Reads
from enbloc.framework.shape import broken_line
from enbloc.model.nodes import Amounts, Nodes
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"

#: The scores of a configured shape end at 10.
_SHAPE_SCALE: Final = MAX_NODE_SCORE // 10

#: (capacity, capacity that is safe to divide by, what would be used) → 0 to 100.
Share = Callable[[Amounts, Amounts, Amounts], Amounts]


class Scored(NamedTuple):
    """A resource that counts for a class of pods, its weight, and what the pod adds to it."""

    resource: str
    weight: int
    request: int


def scored(spec: PodSpec, resources: tuple[tuple[str, int], ...]) -> tuple[Scored, ...]:
    """The configured resources that count for a class: extended ones only where requested."""
    if spec.fit_scored is not None:
        requests = dict(spec.fit_scored)
    else:
        requests = {**dict(spec.requests), CPU: spec.nonzero_cpu, MEMORY: spec.nonzero_memory}
    found = (Scored(name, weight, requests.get(name, 0)) for name, weight in resources)
    return tuple(one for one in found if one.request or one.resource in _ALWAYS)


_ALWAYS: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


class FullnessScore:
    """The weighted mean of what each resource scores, over those that the node offers.

    Source: framework.md §10.1.
    """

    reads: ClassVar[Reads] = Reads.NODE

    def __init__(
        self, strategy: str, scored: tuple[Scored, ...], shape: tuple[tuple[int, int], ...]
    ) -> None:
        self._scored = scored
        self._ratio = strategy == REQUESTED_TO_CAPACITY_RATIO
        self._share = _ratio(shape) if self._ratio else _SHARES[strategy]

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """0 to 100; by ratio, only resources that score at all enter the mean, which is rounded."""
        del pod
        total = np.zeros(len(nodes), np.int64)
        weights = np.zeros(len(nodes), np.int64)
        for resource, weight, request in self._scored:
            capacity = nodes.allocatable(resource)
            share = self._share(capacity, np.maximum(capacity, 1), _used(nodes, resource) + request)
            counted = share > 0 if self._ratio else capacity > 0
            total += share * weight
            weights += counted * weight
        if self._ratio:
            return (2 * total + weights) // np.maximum(2 * weights, 1)
        return total // np.maximum(weights, 1)


def _used(nodes: Nodes, resource: str) -> Amounts:
    if resource == CPU:
        return nodes.nonzero_cpu
    return nodes.nonzero_memory if resource == MEMORY else nodes.requested(resource)


def _least(capacity: Amounts, divisor: Amounts, used: Amounts) -> Amounts:
    return np.maximum(capacity - used, 0) * MAX_NODE_SCORE // divisor


def _most(capacity: Amounts, divisor: Amounts, used: Amounts) -> Amounts:
    return np.minimum(used, capacity) * MAX_NODE_SCORE // divisor


def _ratio(shape: tuple[tuple[int, int], ...]) -> Share:
    line = broken_line(tuple((percent, score * _SHAPE_SCALE) for percent, score in shape))

    def share(capacity: Amounts, divisor: Amounts, used: Amounts) -> Amounts:
        scores = line[np.minimum(used, capacity) * MAX_NODE_SCORE // divisor]
        return np.where(capacity > 0, scores, 0)

    return share


_SHARES: Final = {LEAST_ALLOCATED: _least, MOST_ALLOCATED: _most}
