# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""TaintToleration: keep pods off taints they do not tolerate, prefer nodes without soft ones."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from enbloc.framework.decide import Scores
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hinting import is_own, newly_passes
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.normalizing import default_normalize_reversed
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.taints import Effect, Taint, repels, tolerated


@dataclass(frozen=True)
class TaintToleration:
    """Keep a pod off nodes with taints that it does not tolerate, and score those it would avoid.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go
    Filter, Score.
    """

    name: ClassVar[str] = "TaintToleration"
    same_on_any_host: ClassVar[bool] = True
    reads: ClassVar[Reads] = Reads.SPEC
    by_extremes: ClassVar[bool] = True
    reason: ClassVar[str] = "node(s) had untolerated taint(s)"
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_TAINT),
        ClusterEvent(Resource.POD, Action.UPDATE_TOLERATION),
    )

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """False where any NoSchedule or NoExecute taint is not tolerated."""
        return ~nodes.taints_where(partial(repels, pod.spec.tolerations))

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """How many PreferNoSchedule taints are not tolerated; fewer is better."""
        soft = tuple(
            toleration
            for toleration in pod.spec.tolerations
            if toleration.effect in (None, Effect.PREFER_NO_SCHEDULE)
        )

        def untolerated(taint: Taint) -> bool:
            return taint.effect is Effect.PREFER_NO_SCHEDULE and not tolerated(soft, taint)

        return nodes.count_taints(untolerated)

    def normalize(self, scores: Scores) -> Scores:
        """The node with the most untolerated taints gets 0, one without any 100."""
        return default_normalize_reversed(scores)

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if the node's taints are newly tolerated, or a pod has a new toleration."""
        if event.resource is Resource.POD:
            return Hint.QUEUE if is_own(event, facts) else Hint.SKIP
        return newly_passes(event, facts, self)
