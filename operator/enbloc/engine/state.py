# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""ClusterState: what the cluster holds, counting the room that plans have reserved.

A pod's seat is where its requests are counted::

    unseated ──assume(plan)──► assumed ──watch shows nodeName──► fact ──finished, gone──► unseated
        ▲                        │  ▲                                                         ▲
        └──────── forget ────────┘  └── an answer to a Bind changes nothing: only the watch ──┘

This object alone changes the node table and the pod table.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from enbloc.engine.plan import Assignment
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.model.node import Node, NodeChange
from enbloc.model.nodes import Nodes
from enbloc.model.placed import Placed
from enbloc.model.pods import Pod, PodSpec, PodUID
from enbloc.model.resources import ResourceSpace
from enbloc.model.selectors import Labels, Selector
from enbloc.model.snapshot import Snapshot
from enbloc.model.workloads import WorkloadKey, Workloads

_NODE_ACTIONS = {
    NodeChange.ALLOCATABLE: Action.UPDATE_ALLOCATABLE,
    NodeChange.LABELS: Action.UPDATE_LABEL,
    NodeChange.TAINTS: Action.UPDATE_TAINT,
    # kube-scheduler reports a node made schedulable again as a change of taints.
    NodeChange.UNSCHEDULABLE: Action.UPDATE_TAINT,
    NodeChange.READY: Action.UPDATE_CONDITION,
}


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a pod's requests are counted, and which requests."""

    node: str
    spec: PodSpec


class ClusterState:
    """The tables, and who sits where.

    Attributes:
        pods: every pod that is known, by UID.
        namespaces: the labels of each namespace, by its name.
        workloads: the selectors of Services and controllers.
        assumed: unconfirmed reservations, pod to plan id.
        foreign_version: grows with every change that no plan of ours made; a plan whose snapshot
            has the same number needs no second look.
    """

    def __init__(self) -> None:
        self.nodes = Nodes(ResourceSpace())
        self.placed = Placed()
        self.pods: dict[PodUID, Pod] = {}
        self.namespaces: dict[str, Labels] = {}
        self.workloads = Workloads()
        self.assumed: dict[PodUID, str] = {}
        self.foreign_version = 0
        self._seats: dict[PodUID, Seat] = {}
        self._on: defaultdict[str, set[PodUID]] = defaultdict(set)

    def snapshot(self, ledgers: Mapping[str, object] | None = None) -> Snapshot:
        """Frozen facts for one decision; `ledgers` are the Reserve plugins' own."""
        return Snapshot(
            self.nodes.snapshot(),
            self.placed.snapshot(),
            self.namespaces,
            self.workloads,
            ledgers or {},
        )

    # ── facts ────────────────────────────────────────────────────────────────────────────────

    def pod_seen(self, pod: Pod) -> list[Happening]:
        """Take a pod as the API server shows it; say what happened to the cluster."""
        old = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        expected = self._seats.get(pod.uid)
        if pod.node or pod.finished:
            self.assumed.pop(pod.uid, None)
        if pod.finished:
            wanted = None
        elif pod.node:
            wanted = Seat(pod.node, pod.spec)
        elif pod.uid in self.assumed:
            # The room is kept as it was planned, until the answer and the watch agree.
            wanted = expected
        else:
            wanted = None
        if wanted != expected:
            self.foreign_version += 1
            self._leave(pod.uid)
            if wanted:
                self._sit(pod, wanted)
        elif wanted and old and old.deleting != pod.deleting:
            self._refresh(pod, wanted)
        return _pod_happenings(old, pod, freed=expected is not None and wanted is None)

    def pod_gone(self, uid: PodUID) -> list[Happening]:
        """A pod was deleted; its room is free."""
        pod = self.pods.pop(uid, None)
        if pod is None:
            return []
        self.assumed.pop(uid, None)
        if uid in self._seats:
            self.foreign_version += 1
            self._leave(uid)
        return [Happening(Resource.POD, Action.DELETE, pod=pod, group=pod.group)]

    def node_seen(self, node: Node) -> list[Happening]:
        """Add or update a node; pods that were waiting for it are counted on it."""
        change = self.nodes.put(node)
        if not change:
            return []
        self.foreign_version += 1
        if NodeChange.ADDED in change:
            for uid in sorted(self._on[node.name]):
                self._count(self.pods[uid], self._seats[uid])
            return [Happening(Resource.NODE, Action.ADD, node=node)]
        action = Action(0)
        for flag, meaning in _NODE_ACTIONS.items():
            if flag in change:
                action |= meaning
        return [Happening(Resource.NODE, action, node=node)]

    def node_gone(self, name: str) -> list[Happening]:
        """Drop a node; its pods keep their seats in case it comes back."""
        row = self.nodes.row(name)
        if row is None:
            return []
        self.foreign_version += 1
        for uid in self._on[name]:
            self.placed.drop(uid)
        self.nodes.drop(name)
        if row < len(self.nodes):
            # The last row moved into the free place; its pods move with it.
            for uid in self._on[self.nodes.names[row]]:
                self.placed.put(self._as_seated(uid), row)
        return [Happening(Resource.NODE, Action.DELETE)]

    def namespace_seen(self, name: str, labels: Labels) -> list[Happening]:
        """Add or update a namespace."""
        old = self.namespaces.get(name)
        if old == labels:
            return []
        self.namespaces[name] = labels
        self.foreign_version += 1
        action = Action.ADD if old is None else Action.UPDATE_LABEL
        return [Happening(Resource.NAMESPACE, action)]

    def namespace_gone(self, name: str) -> list[Happening]:
        """Drop a namespace."""
        if self.namespaces.pop(name, None) is None:
            return []
        self.foreign_version += 1
        return [Happening(Resource.NAMESPACE, Action.DELETE)]

    def workload_seen(self, key: WorkloadKey, selector: Selector | None) -> list[Happening]:
        """Add or update a Service or a controller; nobody waits for one."""
        self.foreign_version += self.workloads.put(key, selector)
        return []

    def workload_gone(self, key: WorkloadKey) -> list[Happening]:
        """Drop a Service or a controller."""
        self.foreign_version += self.workloads.drop(key)
        return []

    # ── reservations ─────────────────────────────────────────────────────────────────────────

    def assume(self, plan: str, assignments: Iterable[Assignment]) -> None:
        """Count the members of a plan where it puts them: the only change that a decision makes."""
        for assignment in assignments:
            pod = assignment.pod
            assert pod.uid not in self._seats, f"{pod.key} has a seat already"
            self.assumed[pod.uid] = plan
            self._sit(pod, Seat(assignment.node, pod.spec))

    def forget(self, uid: PodUID) -> Happening | None:
        """Give back the room of one assumed member; None if it held none."""
        if self.assumed.pop(uid, None) is None:
            return None
        self._leave(uid)
        pod = self.pods.get(uid)
        return Happening(Resource.POD, Action.DELETE, pod=pod, group=pod.group if pod else None)

    # ── seats ────────────────────────────────────────────────────────────────────────────────

    def _sit(self, pod: Pod, seat: Seat) -> None:
        self._seats[pod.uid] = seat
        self._on[seat.node].add(pod.uid)
        self._count(pod, seat)

    def _count(self, pod: Pod, seat: Seat) -> None:
        row = self.nodes.row(seat.node)
        if row is not None:
            self.nodes.place(row, seat.spec)
            self.placed.put(replace(pod, spec=seat.spec), row)

    def _refresh(self, pod: Pod, seat: Seat) -> None:
        row = self.nodes.row(seat.node)
        if row is not None:
            self.placed.put(replace(pod, spec=seat.spec), row)

    def _leave(self, uid: PodUID) -> None:
        seat = self._seats.pop(uid, None)
        if seat is None:
            return
        self._on[seat.node].discard(uid)
        if not self._on[seat.node]:
            del self._on[seat.node]
        row = self.nodes.row(seat.node)
        if row is not None:
            self.nodes.place(row, seat.spec, -1)
            self.placed.drop(uid)

    def _as_seated(self, uid: PodUID) -> Pod:
        return replace(self.pods[uid], spec=self._seats[uid].spec)

    def check(self) -> None:
        """Assert conservation: what the node table counts is what the seats say.

        Raises:
            AssertionError: an invariant is broken.
        """
        fresh = self.nodes.fork()
        for seat in self._seats.values():
            row = fresh.row(seat.node)
            if row is not None:
                fresh.place(row, seat.spec, -1)
        for resource in self.nodes.space.names:
            left = fresh.requested(resource)
            assert not left.any(), f"{resource}: {int(abs(left).sum())} more counted than seated"
        assert set(self.assumed) <= set(self._seats), "an assumed pod has no seat"


def _pod_happenings(old: Pod | None, pod: Pod, *, freed: bool) -> list[Happening]:
    def happened(action: Action) -> list[Happening]:
        return [Happening(Resource.POD, action, pod=pod, group=pod.group)]

    if freed:
        return happened(Action.DELETE)
    if old is None:
        return happened(Action.ADD)
    if old.gated and not pod.gated:
        return happened(Action.UPDATE_GATES)
    if old.node != pod.node:
        return happened(Action.ADD)
    if old.spec != pod.spec:
        return happened(Action.UPDATE_OTHER)
    return []
