# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""AffinityFilter: which nodes required affinity and anti-affinity allow a pod."""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from typing import ClassVar, Final

import numpy as np

from enbloc.framework.reads import Reads
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.selectors import Labels
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.inter_pod_affinity.terms import DomainWeights, Incoming, wanted

#: Tallies in which a pod counts, each with a topology key.
Concerned = Sequence[tuple[DomainWeights, str]]

NOT_NEAR: Final = "node(s) didn't match pod affinity rules"
NOT_APART: Final = "node(s) didn't match pod anti-affinity rules"
UNWELCOME: Final = "node(s) didn't satisfy existing pods anti-affinity rules"


class AffinityFilter:
    """Tallies of the pods to be near, and of those to keep apart from, kept up to date.

    A pod without terms has a filter, too: a pod that keeps it away may still come.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
    Filter.
    """

    reads: ClassVar[Reads] = Reads.CLUSTER
    reason: ClassVar[str] = NOT_NEAR

    def __init__(self, pod: Pod, snapshot: Snapshot) -> None:
        namespace, known = pod.key.namespace, snapshot.namespaces
        size, labels = len(snapshot.nodes), dict(pod.labels)
        self._incoming = Incoming(pod, snapshot)
        self._near, self._apart = (
            [wanted(term, namespace, known) for term in terms]
            for terms in (pod.spec.pod_affinity.required, pod.spec.pod_anti_affinity.required)
        )
        self._speaks = bool(self._near or self._apart)
        self._near_keys = tuple(dict.fromkeys(term.key for term in self._near))
        # The first of several pods that want to be near each other may go anywhere.
        self._wants_its_like = all(term.names(namespace, labels) for term in self._near)
        self._last: tuple[PodSpec, Labels, str] | None = None
        self._of_last: Concerned = ()
        self._near_tally, self._apart_tally, self._unwelcome = (
            DomainWeights(size) for _ in range(3)
        )
        self._count(snapshot)

    def _count(self, snapshot: Snapshot) -> None:
        placed = snapshot.placed
        if self._near:
            both = np.logical_and.reduce([term.among(placed) for term in self._near])
            for key in self._near_keys:
                self._near_tally.add(key, placed.row[both], 1)
        for term in self._apart:
            self._apart_tally.add(term.key, placed.row[term.among(placed)], 1)
        if not placed.has_affinity:
            return
        for spec, owner, places in placed.classes(placed.specs_where(_keeps_others_away)):
            for theirs in spec.pod_anti_affinity.required:
                if self._incoming.named_by(theirs, owner):
                    self._unwelcome.add(theirs.topology_key, placed.row[places], 1)

    @property
    def narrows(self) -> bool:
        """Whether it has no affinity terms: pods to be near may still come."""
        return not self._near

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """True near pods that match each affinity term, and apart from those of anti-affinity."""
        del pod
        mask = np.ones(len(nodes), np.bool_)
        for _, allowed in self._verdicts(nodes):
            mask &= allowed
        return mask

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """Each refused node counts once: affinity first, then anti-affinity, then the others'."""
        del pod
        reasons: Counter[str] = Counter()
        left = refused.copy()
        for reason, allowed in self._verdicts(nodes):
            failed = left & ~allowed
            if failed.any():
                reasons[reason] += int(failed.sum())
                left &= allowed
        return reasons

    def unresolvable(self, pod: Pod, nodes: Nodes, refused: Mask) -> Mask:
        """Nodes where an affinity term is unmet; anti-affinity ends when its pods leave."""
        del pod
        return refused & ~self._is_near(nodes) if self._near else np.zeros_like(refused)

    def _verdicts(self, nodes: Nodes) -> Iterator[tuple[str, Mask]]:
        """bool[N] for each of the three rules that applies."""
        if self._near:
            yield NOT_NEAR, self._is_near(nodes)
        for reason, tally in ((NOT_APART, self._apart_tally), (UNWELCOME, self._unwelcome)):
            for key in tally.keys:
                yield reason, tally.at(key, nodes) == 0

    def _is_near(self, nodes: Nodes) -> Mask:
        complete = np.ones(len(nodes), np.bool_)
        near = np.ones(len(nodes), np.bool_)
        anywhere = False
        for key in self._near_keys:
            sums = self._near_tally.at(key, nodes)
            complete &= nodes.has_label(key)
            near &= sums > 0
            anywhere = anywhere or bool(sums.any())
        return complete if self._wants_its_like and not anywhere else near

    def placed(self, pod: Pod, row: int) -> bool:
        """Count a pod that came."""
        return self._tell(pod, row, 1)

    def removed(self, pod: Pod, row: int) -> bool:
        """Stop counting a pod that left."""
        return self._tell(pod, row, -1)

    def ignores(self, pod: Pod) -> bool:
        """Whether it counts nowhere."""
        speaks = self._speaks or pod.spec.pod_anti_affinity.required
        return not (speaks and self._concerned(pod))

    def fork(self) -> "AffinityFilter":
        """A copy that counts independently."""
        made: AffinityFilter = copy(self)
        made._near_tally = self._near_tally.fork()
        made._apart_tally = self._apart_tally.fork()
        made._unwelcome = self._unwelcome.fork()
        made._last = None  # what it says of is the tallies of this one
        return made

    def _tell(self, pod: Pod, row: int, sign: int) -> bool:
        if self.ignores(pod):
            return False
        concerned = self._concerned(pod)
        for tally, key in concerned:
            tally.add(key, row, sign)
        return True

    def _concerned(self, pod: Pod) -> Concerned:
        """The tallies in which such a pod counts, by topology key; the last answer is cached."""
        if self._last is not None:
            spec, labels, namespace = self._last
            if spec is pod.spec and labels == pod.labels and namespace == pod.key.namespace:
                return self._of_last
        home, texts = pod.key.namespace, dict(pod.labels)
        found: list[tuple[DomainWeights, str]] = []
        for term in self._near:  # a generator would cost twice as much
            if not term.names(home, texts):
                break
        else:
            found += [(self._near_tally, key) for key in self._near_keys]
        for mine in self._apart:
            if mine.names(home, texts):
                found.append((self._apart_tally, mine.key))
        for theirs in pod.spec.pod_anti_affinity.required:
            if self._incoming.named_by(theirs, home):
                found.append((self._unwelcome, theirs.topology_key))
        self._last, self._of_last = (pod.spec, pod.labels, pod.key.namespace), found
        return found


def _keeps_others_away(spec: PodSpec) -> bool:
    return bool(spec.pod_anti_affinity.required)
