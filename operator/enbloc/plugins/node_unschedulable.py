# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeUnschedulable: keep pods off cordoned nodes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hinting import is_own, newly_passes
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.reads import Reads
from enbloc.model.names import TAINT_UNSCHEDULABLE
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.taints import Effect, Taint, tolerated

_CORDON = Taint(TAINT_UNSCHEDULABLE, "", Effect.NO_SCHEDULE)


@dataclass(frozen=True)
class NodeUnschedulable:
    """Keep pods off cordoned nodes, unless they tolerate the taint that says so.

    Source: kube-scheduler v1.36
    pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go Filter.
    """

    name: ClassVar[str] = "NodeUnschedulable"
    same_on_any_host: ClassVar[bool] = True
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) were unschedulable"
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_TAINT),
        ClusterEvent(Resource.POD, Action.UPDATE_TOLERATION),
    )

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """False on cordoned nodes, unless the pod tolerates the taint that says so."""
        if tolerated(pod.spec.tolerations, _CORDON):
            return np.ones(len(nodes), np.bool_)
        return ~nodes.unschedulable

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if the node is uncordoned, or a pod of the group now tolerates cordons."""
        if event.resource is Resource.NODE:
            return newly_passes(event, facts, self)
        pod = event.pod
        helps = is_own(event, facts) and pod and tolerated(pod.spec.tolerations, _CORDON)
        return Hint.QUEUE if helps else Hint.SKIP
