# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeDeclaredFeatures: a pod goes only where the kubelet declares the features it needs."""

from dataclasses import dataclass
from typing import ClassVar, Self

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hinting import is_own
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot


@dataclass(frozen=True)
class NodeDeclaredFeatures:
    """Keep a pod off nodes that do not declare a feature that it needs.

    Source: kube-scheduler v1.36
    pkg/scheduler/framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go Filter.
    """

    name: ClassVar[str] = "NodeDeclaredFeatures"
    same_on_any_host: ClassVar[bool] = True
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) didn't match Pod's required features"
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(
            Resource.NODE, Action.ADD | Action.UPDATE_DECLARED_FEATURE | Action.UPDATE_TAINT
        ),
        ClusterEvent(Resource.POD, Action.UPDATE),
    )

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Self | None:
        """None for a pod that needs no feature."""
        del snapshot
        return self if pod.spec.features else None

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """True where every feature that the pod needs is declared."""
        return nodes.declares(pod.spec.features)

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE for every node event, and if a pod of the group now needs other features."""
        if event.resource is Resource.NODE:
            return Hint.QUEUE
        pod, old = event.pod, event.old_pod
        if pod is None or not is_own(event, facts):
            return Hint.SKIP
        same = old is not None and old.spec.features == pod.spec.features
        return Hint.SKIP if same else Hint.QUEUE
