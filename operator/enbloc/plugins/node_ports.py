# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodePorts: a pod's host ports must be free on its node."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hinting import classes
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Amounts, Mask, Nodes
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.snapshot import Snapshot


class _FreePorts:
    """Where the host ports of one class of pods are free.

    Attributes:
        wanted: the class.
        taken: int64[N], how many pods on each row hold a conflicting port.
    """

    reads: ClassVar[Reads] = Reads.CLUSTER
    reason: ClassVar[str] = "node(s) didn't have free ports for the requested pod ports"
    narrows: ClassVar[bool] = True

    def __init__(self, wanted: PodSpec, taken: Amounts) -> None:
        self.wanted = wanted
        self.taken = taken

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """True where no pod holds a conflicting port."""
        del pod, nodes
        return self.taken == 0

    def placed(self, pod: Pod, row: int) -> bool:
        """Count a pod that came."""
        return self._count(pod, row, 1)

    def removed(self, pod: Pod, row: int) -> bool:
        """Stop counting a pod that left."""
        return self._count(pod, row, -1)

    def ignores(self, pod: Pod) -> bool:
        """Whether it holds no conflicting port."""
        return not self.wanted.ports_clash(pod.spec)

    def fork(self) -> "_FreePorts":
        """A copy that counts independently."""
        return _FreePorts(self.wanted, self.taken.copy())

    def _count(self, pod: Pod, row: int, sign: int) -> bool:
        clash = self.wanted.ports_clash(pod.spec)
        if clash:
            self.taken[row] += sign
        return clash


@dataclass(frozen=True)
class NodePorts:
    """Keep a pod off nodes where one of its host ports is taken.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/nodeports/node_ports.go Filter.
    """

    name: ClassVar[str] = "NodePorts"
    same_on_any_host: ClassVar[bool] = True
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.POD, Action.DELETE),
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_TAINT),
    )

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> _FreePorts | None:
        """None for a pod without host ports."""
        wanted = pod.spec
        if not wanted.host_ports:
            return None

        def conflicts(spec: PodSpec) -> bool:
            return wanted.ports_clash(spec)

        placed = snapshot.placed
        rows = placed.row[placed.specs_where(conflicts)]
        taken = np.bincount(rows, minlength=len(snapshot.nodes)).astype(np.int64, copy=False)
        return _FreePorts(wanted, taken)

    def apart(self, pod: Pod, other: Pod, snapshot: Snapshot) -> tuple[str, ...]:
        """Keep them off the same node if their ports conflict."""
        del snapshot
        return ("",) if pod.spec.ports_clash(other.spec) else ()

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE for a node, and for a pod that left and held a conflicting port."""
        if event.resource is Resource.NODE or event.pod is None:
            return Hint.QUEUE
        freed = event.pod.spec
        helps = any(pod.spec.ports_clash(freed) for pod in classes(facts))
        return Hint.QUEUE if helps else Hint.SKIP
