# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""AffinityScore: scores nodes by preferred affinity, the pod's own and that of placed pods."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from enbloc.framework.decide import MAX_NODE_SCORE, Scores
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.selectors import Labels, PodAffinityTerm
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.inter_pod_affinity.terms import DomainWeights, Incoming, WantedTerm, wanted


class AffinityScore:
    """The tally of all preferences, kept up as pods come and go.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/interpodaffinity/scoring.go
    PreScore.
    """

    reads: ClassVar[Reads] = Reads.CLUSTER

    def __init__(self, pod: Pod, snapshot: Snapshot, hard_weight: int) -> None:
        """Count for the class of `pod`; `hard_weight` is what a required term of others weighs."""
        self._hard_weight = hard_weight
        self._incoming = Incoming(pod, snapshot)
        self._wanted: list[tuple[int, WantedTerm]] = [
            (weight, wanted(term, pod.key.namespace, snapshot.namespaces))
            for weight, term in _preferred(pod.spec)
        ]
        self._last: tuple[PodSpec, Labels, str] | None = None
        self._of_last: Sequence[tuple[str, int]] = ()
        self._tally = DomainWeights(len(snapshot.nodes))
        placed = snapshot.placed
        for weight, mine in self._wanted:
            self._tally.add(mine.key, placed.row[mine.among(placed)], weight)
        if not placed.has_affinity:
            return
        for spec, owner, places in placed.classes(placed.specs_where(self._draws)):
            for weight, term in self._offered(spec):
                if self._incoming.named_by(term, owner):
                    self._tally.add(term.topology_key, placed.row[places], weight)

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """The sum of the weights in all the node's domains; negative if anti-affinity prevails."""
        del pod
        total = np.zeros(len(nodes), np.float64)
        for key in self._tally.keys:
            total += self._tally.at(key, nodes)
        return total.astype(np.int64)

    def placed(self, pod: Pod, row: int) -> bool:
        """Weigh a pod that came."""
        return self._tell(pod, row, 1)

    def removed(self, pod: Pod, row: int) -> bool:
        """Stop weighing a pod that left."""
        return self._tell(pod, row, -1)

    def ignores(self, pod: Pod) -> bool:
        """Whether it weighs nothing."""
        return not self._weights(pod)

    def fork(self) -> "AffinityScore":
        """A copy that weighs independently."""
        made: AffinityScore = copy(self)
        made._tally = self._tally.fork()
        return made

    def _tell(self, pod: Pod, row: int, sign: int) -> bool:
        weights = self._weights(pod)
        for key, weight in weights:
            self._tally.add(key, row, sign * weight)
        return bool(weights)

    def _weights(self, pod: Pod) -> Sequence[tuple[str, int]]:
        """What such a pod weighs, by topology key; the last answer is cached."""
        if self._last is not None:
            spec, labels, namespace = self._last
            if spec is pod.spec and labels == pod.labels and namespace == pod.key.namespace:
                return self._of_last
        home, found = pod.key.namespace, list[tuple[str, int]]()
        if self._wanted:
            texts = dict(pod.labels)
            for weight, mine in self._wanted:
                if mine.names(home, texts):
                    found.append((mine.key, weight))
        for weight, term in self._offered(pod.spec):
            if self._incoming.named_by(term, home):
                found.append((term.topology_key, weight))
        self._last, self._of_last = (pod.spec, pod.labels, pod.key.namespace), found
        return found

    def _offered(self, spec: PodSpec) -> Iterator[tuple[int, PodAffinityTerm]]:
        """A placed pod's terms, with their weights for the pods that they match."""
        if self._hard_weight:
            for term in spec.pod_affinity.required:
                yield self._hard_weight, term
        yield from _preferred(spec)

    def _draws(self, spec: PodSpec) -> bool:
        return next(self._offered(spec), None) is not None


def _preferred(spec: PodSpec) -> Iterator[tuple[int, PodAffinityTerm]]:
    """Preferred terms with their weights, those of anti-affinity negative."""
    yield from spec.pod_affinity.preferred
    for weight, term in spec.pod_anti_affinity.preferred:
        yield -weight, term


def normalize(scores: Scores) -> npt.NDArray[np.int64]:
    """From 0 for the lowest to 100 for the highest, in floats rounded down; all 0 when equal."""
    if not len(scores):
        return np.zeros(0, np.int64)
    low, span = scores.min(), np.ptp(scores)
    if span == 0:
        return np.zeros(len(scores), np.int64)
    return (float(MAX_NODE_SCORE) * ((scores - low) / span)).astype(np.int64)
