# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodTopologySpread: keep alike pods spread evenly over the domains of a topology."""

from dataclasses import dataclass
from typing import ClassVar

from enbloc.framework.decide import Scores
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.model.pods import Pod
from enbloc.model.selectors import SpreadConstraint
from enbloc.model.snapshot import Snapshot
from enbloc.model.workloads import SPREADING_KINDS, Workloads
from enbloc.plugins.pod_topology_spread.constraints import (
    SYSTEM_DEFAULTS,
    default_constraints,
    own_constraints,
)
from enbloc.plugins.pod_topology_spread.filter import SpreadFilter
from enbloc.plugins.pod_topology_spread.hints import could_help
from enbloc.plugins.pod_topology_spread.score import SpreadScore, normalize


@dataclass(frozen=True)
class PodTopologySpread:
    """Filter and score by how evenly alike pods are spread over domains.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/podtopologyspread/filtering.go
    Filter; pkg/scheduler/framework/plugins/podtopologyspread/scoring.go Score.

    `labelSelector: {}` counts every pod of the namespace, as the API defines it; kube-scheduler
    up to 1.37 counts none for it.

    Attributes:
        defaulting_type: "System", or "List": `default_constraints` instead of the system's.
        default_constraints: for pods that have no constraints; without selectors.
    """

    defaulting_type: str = "System"
    default_constraints: tuple[SpreadConstraint, ...] = ()

    name: ClassVar[str] = "PodTopologySpread"
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(
            Resource.POD,
            Action.ADD | Action.UPDATE_LABEL | Action.UPDATE_TOLERATION | Action.DELETE,
        ),
        ClusterEvent(
            Resource.NODE,
            Action.ADD | Action.DELETE | Action.UPDATE_LABEL | Action.UPDATE_TAINT,
        ),
    )

    @property
    def same_on_any_host(self) -> bool:
        """True without constraints: only they depend on the nodes that a nodeSelector allows."""
        return not any(constraint.hard for constraint in self.default_constraints)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> SpreadFilter | None:
        """Count by the DoNotSchedule constraints; None if there are none."""
        constraints = self._constraints(pod, snapshot.workloads, hard=True)
        return SpreadFilter(pod, constraints, snapshot) if constraints else None

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> SpreadScore | None:
        """Count by the ScheduleAnyway constraints; None if there are none."""
        constraints = self._constraints(pod, snapshot.workloads, hard=False)
        if not constraints:
            return None
        # With the system defaults, nodes without a zone are still spread by host name.
        require_keys = bool(pod.spec.spread) or not self._system
        return SpreadScore(pod, constraints, snapshot, require_keys=require_keys)

    def normalize(self, scores: Scores) -> Scores:
        """The least crowded node gets the most; an ignored one 0."""
        return normalize(scores)

    def signature(self, pod: Pod) -> object:
        """The pod's owner, if the defaults apply: their selectors include the owner's."""
        if pod.spec.spread or not self._defaults or pod.owner is None:
            return None
        return (pod.owner.kind, pod.owner.name) if pod.owner.kind in SPREADING_KINDS else None

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if a counted pod or a domain comes, goes or changes."""
        classes = {(id(pod.spec), pod.labels): pod for pod in facts.pending}
        defaults = [each for each in self._defaults if each.hard]
        if any(could_help(event, pod, defaults) for pod in classes.values()):
            return Hint.QUEUE
        return Hint.SKIP

    @property
    def _system(self) -> bool:
        return self.defaulting_type == "System"

    @property
    def _defaults(self) -> tuple[SpreadConstraint, ...]:
        return SYSTEM_DEFAULTS if self._system else self.default_constraints

    def _constraints(
        self, pod: Pod, workloads: Workloads, *, hard: bool
    ) -> tuple[SpreadConstraint, ...]:
        if pod.spec.spread:
            return own_constraints(pod, hard=hard)
        return default_constraints(self._defaults, pod, workloads, hard=hard)
