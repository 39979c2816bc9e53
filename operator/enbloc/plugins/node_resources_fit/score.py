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

#: Resources that count even if the pod does not request them.
_ALWAYS: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


class Scored(NamedTuple):
    """A resource that counts for a class of pods, its weight, and what the pod adds to it."""

    resource: str
    weight: int
    request: int


def scored(spec: PodSpec, resources: tuple[tuple[str, int], ...]) -> tuple[Scored, ...]:
    """The configured resources that count for a class; extended ones only if requested."""
    if spec.fit_scored is not None:
        requests = dict(spec.fit_scored)
    else:
        requests = {**dict(spec.requests), CPU: spec.nonzero_cpu, MEMORY: spec.nonzero_memory}
    found = (Scored(name, weight, requests.get(name, 0)) for name, weight in resources)
    return tuple(one for one in found if one.request or one.resource in _ALWAYS)


class _Fullness:
    """How much nodes offer of each scored resource, and how much would be used."""

    def __init__(self, scored: tuple[Scored, ...]) -> None:
        self.names = tuple(one.resource for one in scored)
        self.weights = np.array([[one.weight] for one in scored], np.int64).reshape(-1, 1)
        self._requests = np.array([[one.request] for one in scored], np.int64).reshape(-1, 1)
        self._plain = self.names == (CPU, MEMORY)

    def look(self, nodes: Nodes) -> tuple[Amounts, Amounts]:
        """int64[R, N] each: what nodes offer, and what would be used."""
        offered = nodes.allocatables(self.names)
        if self._plain:
            return offered, nodes.nonzeros + self._requests
        used = offered - nodes.frees(self.names)
        for line, name in enumerate(self.names):
            if name == CPU:
                used[line] = nodes.nonzero_cpu
            elif name == MEMORY:
                used[line] = nodes.nonzero_memory
        return offered, used + self._requests


class FullnessScore:
    """The weighted mean of what each resource scores, over those that the node offers.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/noderesources/least_allocated.go
    leastResourceScorer; pkg/scheduler/framework/plugins/noderesources/most_allocated.go
    mostResourceScorer.
    """

    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, scored: tuple[Scored, ...], share: Share) -> None:
        self._fullness = _Fullness(scored)
        self._share = share
        self._weights = int(self._fullness.weights.sum())

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """0 to 100, rounded down."""
        del pod
        offered, used = self._fullness.look(nodes)
        share = self._share(offered, used)
        share *= self._fullness.weights
        total: Amounts = share.sum(axis=0)
        if offered.all():
            return total // max(self._weights, 1)
        return total // np.maximum(((offered > 0) * self._fullness.weights).sum(axis=0), 1)


class RatioScore:
    """The weighted mean over the resources with a score above 0, rounded half up.

    Source: kube-scheduler v1.36
    pkg/scheduler/framework/plugins/noderesources/requested_to_capacity_ratio.go
    requestedToCapacityRatioScorer.
    """

    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, scored: tuple[Scored, ...], shape: tuple[tuple[int, int], ...]) -> None:
        self._fullness = _Fullness(scored)
        self._line = broken_line(tuple((percent, high * _SHAPE_SCALE) for percent, high in shape))

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """0 to 100."""
        del pod
        offered, used = self._fullness.look(nodes)
        share = self._line[most_allocated(offered, used)] * (offered > 0)
        total = (share * self._fullness.weights).sum(axis=0)
        weights = ((share > 0) * self._fullness.weights).sum(axis=0)
        scores: Amounts = (2 * total + weights) // np.maximum(2 * weights, 1)
        return scores


def least_allocated(capacity: Amounts, used: Amounts) -> Amounts:
    """What would stay free, in percent."""
    free = np.maximum(capacity - used, 0)
    free *= MAX_NODE_SCORE
    free //= np.maximum(capacity, 1)
    return free


def most_allocated(capacity: Amounts, used: Amounts) -> Amounts:
    """What would be used, in percent; 100 if there is too little."""
    taken = np.minimum(used, capacity)
    taken *= MAX_NODE_SCORE
    taken //= np.maximum(capacity, 1)
    return taken
