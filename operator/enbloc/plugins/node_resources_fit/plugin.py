# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesFit: nodes with enough free resources, scored by how full they get."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final

import numpy as np

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hinting import alone, classes, is_own
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.reads import Reads
from enbloc.ledgers import ledgers_of
from enbloc.model.nodes import Amounts, Mask, Nodes
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.resources import CPU, MEMORY, PODS, is_extended
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.node_resources_fit.score import (
    FullnessScore,
    RatioScore,
    Share,
    least_allocated,
    most_allocated,
    scored,
)

Requests = tuple[tuple[str, int], ...]

_SHARES: Final[Mapping[str, Share]] = {
    "LeastAllocated": least_allocated,
    "MostAllocated": most_allocated,
}


@dataclass(frozen=True)
class NodeResourcesFit:
    """Keep a pod off nodes without enough free resources, and score the others by fullness.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/noderesources/fit.go Filter, Score.

    Attributes:
        ignored_resources: extended resources that something else checks.
        ignored_resource_groups: prefixes of such resources, without the slash.
        strategy: LeastAllocated, MostAllocated or RequestedToCapacityRatio.
        resources: the resources to score by, `(name, weight)`, weight 1 to 100.
        shape: `(utilisation 0 to 100, score 0 to 10)` for RequestedToCapacityRatio.
    """

    ignored_resources: frozenset[str] = frozenset()
    ignored_resource_groups: frozenset[str] = frozenset()
    strategy: str = "LeastAllocated"
    resources: tuple[tuple[str, int], ...] = ((CPU, 1), (MEMORY, 1))
    shape: tuple[tuple[int, int], ...] = ()

    name: ClassVar[str] = "NodeResourcesFit"
    same_on_any_host: ClassVar[bool] = True
    reads: ClassVar[Reads] = Reads.NODE
    reason: ClassVar[str] = "Insufficient resources"
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.POD, Action.DELETE | Action.UPDATE_SCALE_DOWN),
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_ALLOCATABLE | Action.UPDATE_TAINT),
        ClusterEvent(Resource.DEVICE_CLASS, Action.ADD | Action.UPDATE),
    )

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """True where every requested resource is free; a request of zero always fits."""
        requests = self._requests(pod.spec)
        names, amounts = _columns_of(requests)
        enough = nodes.frees(names) >= amounts
        for name in _served(pod.spec, nodes):
            if name in names:
                enough[names.index(name)] |= nodes.allocatable(name) == 0
        fits: Mask = np.logical_and.reduce(enough)
        return fits

    def takes(self, pod: Pod) -> tuple[str, ...]:
        """Every requested resource that is not ignored."""
        return tuple(name for name, _ in self._requests(pod.spec))

    def leaves_out(self, resource: str) -> bool:
        """Only an extended resource can be ignored."""
        if not is_extended(resource):
            return False
        group = resource.partition("/")[0]
        return resource in self.ignored_resources or group in self.ignored_resource_groups

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """Each refused node counts under every resource that it lacks."""
        counts: Counter[str] = Counter()
        served = _served(pod.spec, nodes)
        for resource, amount in self._requests(pod.spec):
            lacking = refused & (nodes.free(resource) < amount)
            if resource in served:
                lacking &= nodes.allocatable(resource) > 0
            short = int(lacking.sum())
            if short:
                counts["Too many pods" if resource == PODS else f"Insufficient {resource}"] += short
        return counts

    def unresolvable(self, pod: Pod, nodes: Nodes, refused: Mask) -> Mask:
        """Nodes where the pod requests more of a resource than the empty node has."""
        beyond = np.zeros(len(nodes), np.bool_)
        served = _served(pod.spec, nodes)
        for resource, amount in self._requests(pod.spec):
            offered = nodes.allocatable(resource)
            if resource != PODS:  # kube-scheduler tries nodes that take no further pod
                beyond |= (offered < amount) & ((offered > 0) | (resource not in served))
        return refused & beyond

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> FullnessScore | RatioScore:
        """Never skips: a pod that requests nothing counts by its defaults."""
        del snapshot
        counted = scored(pod.spec, self.resources)
        share = _SHARES.get(self.strategy)
        return RatioScore(counted, self.shape) if share is None else FullnessScore(counted, share)

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if a resource that a pending pod requests was freed or grew.

        As upstream, any change of taints also counts as a new node, which may not have been seen
        when it was added.
        """
        if event.resource is Resource.DEVICE_CLASS:
            helps = any(pod.spec.extended for pod in classes(facts))
        elif event.resource is Resource.NODE:
            helps = Action.UPDATE_TAINT in event.action or self._grew(event, facts)
        elif Action.DELETE in event.action or event.pod is None or is_own(event, facts):
            helps = True
        else:
            helps = self._shrank(event.pod, event.old_pod, facts)
        return Hint.QUEUE if helps else Hint.SKIP

    def _requests(self, spec: PodSpec) -> Requests:
        """The resources that must be free on the node."""
        if not self.ignored_resources and not self.ignored_resource_groups:
            return spec.requests
        return tuple(pair for pair in spec.requests if not self.leaves_out(pair[0]))

    def _grew(self, event: Happening, facts: GroupFacts) -> bool:
        """Whether a pending pod fits on the node when empty, and it is new or offers more."""
        assert event.node is not None, "an event of a node carries the node"
        new = alone(event.node)
        old = None if event.old_node is None else alone(event.old_node)
        for pod in classes(facts):
            grown = old is None or any(
                new.allocatable(name)[0] > old.allocatable(name)[0]
                for name, _ in self._requests(pod.spec)
            )
            # An empty table knows no devices.
            names = {each.resource for each in pod.spec.extended if each.resource in event.served}
            if grown and all(
                new.free(name)[0] >= amount or (name in names and not new.allocatable(name)[0])
                for name, amount in self._requests(pod.spec)
            ):
                return True
        return False

    def _shrank(self, pod: Pod, old: Pod | None, facts: GroupFacts) -> bool:
        """Whether a placed pod requests less of something that a pending pod requests."""
        if not pod.node or old is None:
            return False
        now, before = dict(pod.spec.requests), dict(old.spec.requests)
        wanted = {name for each in classes(facts) for name, _ in each.spec.requests}
        return any(before.get(name, 0) > now.get(name, 0) for name in wanted)


def _served(spec: PodSpec, nodes: Nodes) -> frozenset[str]:
    """The requested resources that devices serve on nodes that do not offer them.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/noderesources/fit.go
    shouldDelegateResourceToDRA.
    """
    if not spec.extended:
        return frozenset()
    devices = ledgers_of(nodes).devices
    wanted = {each.resource for each in spec.extended}
    return frozenset(name for name in wanted if devices.served_by_devices(name))


@lru_cache(maxsize=1024)
def _columns_of(requests: Requests) -> tuple[tuple[str, ...], Amounts]:
    """The names of the requested resources, and int64[R, 1]: the amounts."""
    amounts = np.array([amount for _, amount in requests], np.int64).reshape(-1, 1)
    return tuple(name for name, _ in requests), amounts
