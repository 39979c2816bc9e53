# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""BindingScore: scores nodes by how full a pod would make its volumes or storage.

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/scorer.go
buildScorerFunction; pkg/scheduler/framework/plugins/volumebinding/volume_binding.go Score.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from enbloc.framework.decide import MAX_NODE_SCORE, Scores
from enbloc.framework.reads import Reads
from enbloc.framework.shape import broken_line
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.plugins.volume_claims import FollowsVolumes, volumes_of
from enbloc.storage.facts import PersistentVolumeClaim
from enbloc.storage.matching import smallest_fit
from enbloc.storage.table import Volumes
from enbloc.storage.wanted import WantedVolume, delayed_of

_Amounts = npt.NDArray[np.int64]

#: Shapes score up to 10, nodes up to 100.
_SCALE: Final = 10
#: More bytes than any class can have.
_MOST: Final = 2**62


class _Share(NamedTuple):
    """int64[N] each: what is requested of one class, and of how much; 0 of 0 = nothing."""

    requested: _Amounts
    capacity: _Amounts
    counts: npt.NDArray[np.bool_]


class BindingScore(FollowsVolumes):
    """Scores nodes for one class of pods.

    Args:
        pod: of the class.
        volumes: the table.
        wanted: the pod's claims.
        shape: `(utilisation, score)`, scores up to 10 as the configuration has them.
    """

    reads: ClassVar[Reads] = Reads.CLUSTER

    def __init__(
        self,
        pod: Pod,
        volumes: Volumes,
        wanted: Sequence[WantedVolume],
        shape: tuple[tuple[int, int], ...],
    ) -> None:
        self._line = broken_line(tuple((full, score * _SCALE) for full, score in shape))
        self._by_class: dict[str, list[PersistentVolumeClaim]] = {}
        for claim in delayed_of(wanted):
            # Shared claims that are decided are bound as decided, wherever the pod goes.
            held = volumes.held(claim.key) if volumes.shared(pod, claim.key) else None
            if held is None:
                self._by_class.setdefault(claim.storage_class, []).append(claim)

    def fork(self) -> "BindingScore":
        """Itself: it has no state."""
        return self

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """int64[N]: the mean over the classes of the shape's score for the pod's use.

        On nodes where any claim finds an existing volume, only such claims count.
        """
        del pod
        volumes = volumes_of(nodes)
        bound = [self._bound(volumes, name, nodes) for name in self._by_class]
        any_bound = np.zeros(len(nodes), np.bool_)
        for share in bound:
            any_bound |= share.counts
        total = np.zeros(len(nodes), np.int64)
        classes = np.zeros(len(nodes), np.int64)
        for share in bound:
            total += np.where(share.counts, self._scored(share), 0)
            classes += share.counts
        if not any_bound.all():
            for name in self._by_class:
                share = self._made(volumes, name, nodes)
                counts = share.counts & ~any_bound
                total += np.where(counts, self._scored(share), 0)
                classes += counts
        some = np.maximum(classes, 1)
        rounded: Scores = np.where(classes > 0, (2 * total + some) // (2 * some), 0)
        return rounded

    def _scored(self, share: _Share) -> _Amounts:
        full = (share.capacity == 0) | (share.requested > share.capacity)
        # Halved until a hundredfold fits in int64; no ratio in whole percent changes.
        requested, capacity = share.requested, np.maximum(share.capacity, 1)
        percent = np.where(
            capacity < _MOST // MAX_NODE_SCORE,
            requested * MAX_NODE_SCORE // capacity,
            requested // np.maximum(capacity // MAX_NODE_SCORE, 1),
        )
        found: _Amounts = self._line[np.where(full, MAX_NODE_SCORE, np.minimum(percent, 100))]
        return found

    def _bound(self, volumes: Volumes, name: str, nodes: Nodes) -> _Share:
        """What claims of one class would use of existing volumes."""
        known, claims = volumes.known, self._by_class[name]
        available = known.available(name)
        codes = available.signatures(nodes).codes
        count = int(codes.max(initial=-1)) + 1
        requested, capacity = (np.zeros(max(count, 1), np.int64) for _ in range(2))
        counts = np.zeros(max(count, 1), np.bool_)
        choices = [available.choice(claim, known.sort_of_claim(claim)) for claim in claims]
        free = available.everything & ~volumes.holdings.taken(name)
        for signature in range(count) if available.volumes else ():
            places, _ = smallest_fit(choices, available.reached(signature), free)
            for claim, place in zip(claims, places, strict=True):
                if place is not None and claim.selected_node is None:
                    counts[signature] = True
                    requested[signature] += claim.size
                    capacity[signature] += available.volumes[place].capacity
        if not count:
            codes = np.zeros(len(nodes), np.intp)
        return _Share(requested[codes], capacity[codes], counts[codes])

    def _made(self, volumes: Volumes, name: str, nodes: Nodes) -> _Share:
        """What new volumes for claims of one class would use of the storage that is left."""
        requested, capacity = (np.zeros(len(nodes), np.int64) for _ in range(2))
        counts = np.zeros(len(nodes), np.bool_)
        segments = volumes.known.segments(name)
        if segments is None or not segments.facts:
            return _Share(requested, capacity, counts)
        charged = volumes.holdings.charged(name, segments)
        left, reach = segments.left(charged), segments.reach(nodes)
        for claim in self._by_class[name]:
            if claim.request is None:
                continue
            usable = reach & segments.enough(claim.size, charged)[:, None]
            found = usable.any(axis=0)
            chosen = np.where(usable, left[:, None], np.iinfo(np.int64).max).argmin(axis=0)
            counts |= found
            requested += np.where(found, claim.size, 0)
            given = np.where(segments.known(), left, 0)[chosen]
            capacity = np.where(found, given, capacity)
        return _Share(requested, capacity, counts)
