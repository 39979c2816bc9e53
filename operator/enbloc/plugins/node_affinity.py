# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeAffinity: nodeSelector and node affinity, required and preferred."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from enbloc.framework.decide import NodeSet, Scores
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hinting import newly_passes
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.normalizing import default_normalize
from enbloc.framework.reads import Reads
from enbloc.framework.status import Status, refuse_for_good
from enbloc.model.node_selection import names_of, selected, term_matches, terms_match
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import NodeSelectorTerm, Pod
from enbloc.model.snapshot import Snapshot

_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"


@dataclass(frozen=True)
class NodeAffinity:
    """Filter by nodeSelector and required node affinity, score by preferred node affinity.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go
    Filter, Score.

    Attributes:
        added_required: terms that hold for every pod besides its own; None = there are none.
        added_preferred: `(weight, term)`, preferred by every pod besides its own.
    """

    added_required: tuple[NodeSelectorTerm, ...] | None = None
    added_preferred: tuple[tuple[int, NodeSelectorTerm], ...] = ()

    name: ClassVar[str] = "NodeAffinity"
    same_on_any_host: ClassVar[bool] = True
    reads: ClassVar[Reads] = Reads.SPEC
    by_extremes: ClassVar[bool] = True
    reason: ClassVar[str] = "node(s) didn't match Pod's node affinity/selector"
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_LABEL | Action.UPDATE_TAINT),
    )

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Self | NodeSet | Status | None:
        """None without a constraint; a NodeSet where every term of the pod names nodes."""
        del snapshot
        terms = pod.spec.node_affinity
        if not pod.spec.node_selector and terms is None and self.added_required is None:
            return None
        names = names_of(terms) if terms else None
        if names is None:
            return self
        if not names:
            return refuse_for_good("pod affinity terms conflict")
        return NodeSet(names, self)

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """True where the pod's selector and terms hold, and those of the profile."""
        mask = selected(pod.spec, nodes)
        if self.added_required is not None:
            mask &= terms_match(self.added_required, nodes)
        return mask

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """The profile's terms are blamed first, then the pod's."""
        del pod
        enforced = 0
        if self.added_required is not None:
            enforced = int((refused & ~terms_match(self.added_required, nodes)).sum())
        return +Counter({_ENFORCED: enforced, self.reason: int(refused.sum()) - enforced})

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> Self | None:
        """None where nothing is preferred."""
        del snapshot
        return self if pod.spec.preferred_node_affinity or self.added_preferred else None

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """The sum of the weights of the preferred terms that hold."""
        total = np.zeros(len(nodes), np.int64)
        for weight, term in (*self.added_preferred, *pod.spec.preferred_node_affinity):
            total += weight * term_matches(term, nodes)
        return total

    def normalize(self, scores: Scores) -> Scores:
        """The best node gets 100."""
        return default_normalize(scores)

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE when the node matches now and did not before.

        As upstream, any change of taints may also stand for a node that could not be seen when it
        was added.
        """
        if Action.UPDATE_TAINT in event.action:
            return Hint.QUEUE
        return newly_passes(event, facts, self)
