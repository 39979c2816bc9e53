# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesFit's score: how full the pod would make the node, by a strategy."""

from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

import numpy as np

from enbloc.framework.decide import MAX_NODE_SCORE, Scores
from enbloc.framework.reads import Reads
from enbloc.framework.shape import broken_line
from enbloc.model.nodes import Amounts, Nodes
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY

#: The scores of a configured shape end at 10.
_SHAPE_SCALE: Final = MAX_NODE_SCORE // 10

#: (what a node offers, what would be used of it) → 0 to 100; 0 where nothing is offered.
Share = Callable[[Amounts, Amounts], Amounts]

#: Resources that count though the pod does not request them.
_ALWAYS: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


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


class FullnessScore:
    """The weighted mean of what each resource scores, over those that the node offers.

    Source: framework.md §10.1.
    """

    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, scored: tuple[Scored, ...], share: Share) -> None:
        self._scored = scored
        self._share = share
        self._weights = sum(one.weight for one in scored)

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """0 to 100, rounded down."""
        del pod
        total = np.zeros(len(nodes), np.int64)
        weights: int | Amounts = self._weights
        for resource, weight, request in self._scored:
            capacity = nodes.allocatable(resource)
            total += self._share(capacity, _used(nodes, resource) + request) * weight
            if not capacity.all():
                weights = weights - (capacity == 0) * weight
        return total // np.maximum(weights, 1)


class RatioScore:
    """The weighted mean over the resources that score at all, rounded half up.

    Source: framework.md §10.1, RequestedToCapacityRatio.
    """

    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, scored: tuple[Scored, ...], shape: tuple[tuple[int, int], ...]) -> None:
        self._scored = scored
        self._line = broken_line(tuple((percent, high * _SHAPE_SCALE) for percent, high in shape))

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """0 to 100."""
        del pod
        total = np.zeros(len(nodes), np.int64)
        weights = np.zeros(len(nodes), np.int64)
        for resource, weight, request in self._scored:
            capacity = nodes.allocatable(resource)
            percent = most_allocated(capacity, _used(nodes, resource) + request)
            share = self._line[percent] * (capacity > 0)
            total += share * weight
            weights += (share > 0) * weight
        return (2 * total + weights) // np.maximum(2 * weights, 1)


def least_allocated(capacity: Amounts, used: Amounts) -> Amounts:
    """What would stay free, in percent."""
    free = np.maximum(capacity - used, 0)
    free *= MAX_NODE_SCORE
    free //= np.maximum(capacity, 1)
    return free


def most_allocated(capacity: Amounts, used: Amounts) -> Amounts:
    """What would be used, in percent; all of it where there is too little."""
    taken = np.minimum(used, capacity)
    taken *= MAX_NODE_SCORE
    taken //= np.maximum(capacity, 1)
    return taken


def _used(nodes: Nodes, resource: str) -> Amounts:
    if resource == CPU:
        return nodes.nonzero_cpu
    return nodes.nonzero_memory if resource == MEMORY else nodes.requested(resource)
