# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""InterPodAffinity: place a pod near the pods that it wants, and apart from unwanted ones."""

from dataclasses import dataclass
from typing import ClassVar

from enbloc.framework.decide import Scores
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.inter_pod_affinity.filter import AffinityFilter
from enbloc.plugins.inter_pod_affinity.hints import could_help
from enbloc.plugins.inter_pod_affinity.score import AffinityScore, normalize
from enbloc.plugins.inter_pod_affinity.terms import kept_apart


@dataclass(frozen=True)
class InterPodAffinity:
    """Filter and score by affinity to other pods, and theirs to this one.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
    Filter; pkg/scheduler/framework/plugins/interpodaffinity/scoring.go Score.

    Attributes:
        hard_pod_affinity_weight: what a required term of a placed pod weighs in scores, 0 to 100.
        ignore_preferred_terms_of_existing_pods: do not score pods without preferred terms.
    """

    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    name: ClassVar[str] = "InterPodAffinity"
    same_on_any_host: ClassVar[bool] = True
    by_extremes: ClassVar[bool] = True
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.POD, Action.ADD | Action.UPDATE_LABEL | Action.DELETE),
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_LABEL),
        ClusterEvent(Resource.NAMESPACE, Action.ADD | Action.UPDATE_LABEL),
    )

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> AffinityFilter:
        """Count the pods to be near and apart from, and those that keep this pod away."""
        return AffinityFilter(pod, snapshot)

    def apart(self, pod: Pod, other: Pod, snapshot: Snapshot) -> tuple[str, ...]:
        """The topology keys of required anti-affinity of either against the other."""
        return tuple(dict.fromkeys(kept_apart(pod, other, snapshot)))

    def gathers(self, pod: Pod, snapshot: Snapshot) -> tuple[str, ...]:
        """The topology keys of its required affinity."""
        del snapshot
        return tuple(dict.fromkeys(term.topology_key for term in pod.spec.pod_affinity.required))

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> AffinityScore | None:
        """Weigh the preferences of the pod and of the placed pods."""
        prefers = pod.spec.pod_affinity.preferred or pod.spec.pod_anti_affinity.preferred
        if self.ignore_preferred_terms_of_existing_pods and not prefers:
            return None
        return AffinityScore(pod, snapshot, self.hard_pod_affinity_weight)

    def normalize(self, scores: Scores) -> Scores:
        """0 for the node with the lowest sum, 100 for the one with the highest."""
        return normalize(scores)

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if a pod, node or namespace that the terms could match comes or changes."""
        classes = {(id(pod.spec), pod.labels): pod for pod in facts.pending}
        helps = any(could_help(event, pod) for pod in classes.values())
        return Hint.QUEUE if helps else Hint.SKIP
