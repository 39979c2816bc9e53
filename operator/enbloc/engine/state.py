# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""ClusterState: what the cluster holds, counting the room that plans have reserved.

A pod's seat is where its requests are counted::

    unseated ──assume(plan)──► assumed ──watch shows nodeName──► fact ──finished, gone──► unseated
        ▲                        │  ▲                                                         ▲
        └──────── forget ────────┘  └── an answer to a Bind changes nothing: only the watch ──┘

Some seats are shadows: they count for some decisions and not for others (`enbloc.engine.shadows`).

This object alone changes the node table and the pod table.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from enbloc.engine import events as happened
from enbloc.engine.parts import Change
from enbloc.engine.past import (
    NamespaceWas,
    NodeAdded,
    NodeDropped,
    NodeWas,
    Past,
    Sat,
    WorkloadWas,
)
from enbloc.engine.plan import Assignment, Release
from enbloc.engine.rankings import Rankings
from enbloc.engine.shadows import Order, Shadow, Shadows, expected_on, stand_in
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.framework.profile import Profile
from enbloc.model.groups import GroupKey
from enbloc.model.node import Node, NodeChange
from enbloc.model.nodes import Nodes
from enbloc.model.placed import Placed
from enbloc.model.pods import Pod, PodUID
from enbloc.model.resources import ResourceSpace
from enbloc.model.selectors import Labels, Selector
from enbloc.model.snapshot import Snapshot
from enbloc.model.workloads import WorkloadKey, Workloads

ClusterFact = (
    happened.NodeSeen
    | happened.NodeGone
    | happened.NamespaceSeen
    | happened.NamespaceGone
    | happened.WorkloadSeen
    | happened.WorkloadGone
)

_NODE_ACTIONS = {
    NodeChange.ALLOCATABLE: Action.UPDATE_ALLOCATABLE,
    NodeChange.LABELS: Action.UPDATE_LABEL,
    NodeChange.TAINTS: Action.UPDATE_TAINT,
    NodeChange.FEATURES: Action.UPDATE_DECLARED_FEATURE,
    NodeChange.ANNOTATIONS: Action.UPDATE_ANNOTATION,
    # kube-scheduler reports a node made schedulable again as a change of taints.
    NodeChange.UNSCHEDULABLE: Action.UPDATE_TAINT,
    NodeChange.READY: Action.UPDATE_CONDITION,
}


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a pod is counted, and what of it: its requests, labels and constraints."""

    node: str
    pod: Pod


class ClusterState:
    """The tables, and who sits where.

    Attributes:
        pods: every pod that is known, by UID.
        namespaces: the labels of each namespace, by its name.
        workloads: the selectors of Services and controllers.
        assumed: unconfirmed reservations, pod to plan id.
        foreign_version: grows with every change that no plan of ours made; a plan whose snapshot
            has the same number needs no second look.
        rankings: kept across decisions; told of every pod that comes and goes.
        shadows: the seats that do not count for everyone.
        past: what the latest changes replaced.

    Args:
        ours: the scheduler names that we serve; the pending pods of others may cast shadows.
        log: how many of the latest changes and decisions are kept.
    """

    def __init__(self, ours: Container[str] = (), log: int = 0) -> None:
        self.nodes = Nodes(ResourceSpace())
        self.placed = Placed()
        self.pods: dict[PodUID, Pod] = {}
        self.namespaces: dict[str, Labels] = {}
        self.workloads = Workloads()
        self.assumed: dict[PodUID, str] = {}
        self.foreign_version = 0
        self.rankings = Rankings()
        self.shadows = Shadows()
        self.past = Past(maxlen=log)
        self._ours = ours
        self._namespaces_version = 0
        self._seats: dict[PodUID, Seat] = {}
        self._on: defaultdict[str, set[PodUID]] = defaultdict(set)

    @property
    def epoch(self) -> object:
        """Differs whenever what plugins see at PreFilter has changed, other than by pods."""
        nodes = self.nodes
        versions = (self._namespaces_version, self.workloads.version)
        return (nodes.version, nodes.images_version, *versions)

    def snapshot(self, ledgers: Mapping[str, object] | None = None) -> Snapshot:
        """Frozen facts for one decision; `ledgers` are the Reserve plugins' own."""
        return Snapshot(
            self.nodes.snapshot(),
            self.placed.snapshot(),
            self.namespaces,
            self.workloads,
            ledgers or {},
        )

    def apply(self, event: ClusterFact) -> list[Happening]:
        """Take what the API server shows of nodes, namespaces and workloads."""
        match event:
            case happened.NodeSeen(node):
                return self.node_seen(node)
            case happened.NodeGone(name):
                return self.node_gone(name)
            case happened.NamespaceSeen(name, labels):
                return self.namespace_seen(name, labels)
            case happened.NamespaceGone(name):
                return self.namespace_gone(name)
            case happened.WorkloadSeen(key, selector):
                return self.workload_seen(key, selector)
            case happened.WorkloadGone(key):
                return self.workload_gone(key)
            case _:
                assert_never(event)

    # ── facts ────────────────────────────────────────────────────────────────────────────────

    def pod_seen(self, pod: Pod) -> list[Happening]:
        """Take a pod as the API server shows it; say what happened to the cluster."""
        old = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        seat = self._seats.get(pod.uid)
        if old is None or old.spec is not pod.spec:
            self.rankings.notice(pod.spec)
        if pod.node or pod.finished:
            self.assumed.pop(pod.uid, None)
        shadow = self.shadows.pop(pod.uid)
        wanted: Seat | None = None
        if pod.node and not pod.finished:
            wanted = Seat(pod.node, pod)
        elif pod.scheduler not in self._ours and (node := expected_on(pod)):
            shadow = self.shadows.expected(pod, node, shadow)
            wanted = Seat(node, pod) if shadow else None
        elif pod.uid in self.assumed and seat is not None:
            # The room is kept as it was planned, until the answer and the watch agree.
            wanted = Seat(seat.node, replace(pod, spec=seat.pod.spec))
        else:
            self.shadows.forget(pod.uid)
        if _differs(seat, wanted):
            self.foreign_version += 1
            self._leave(pod.uid)
            if wanted is not None:
                self._sit(wanted)
        freed = seat is not None and (wanted is None or wanted.node != seat.node)
        return _pod_happenings(old, pod, freed=freed)

    def pod_gone(self, uid: PodUID) -> list[Happening]:
        """A pod was deleted; where it held room, that is free."""
        pod = self.pods.pop(uid, None)
        self.assumed.pop(uid, None)
        self.shadows.forget(uid)
        if pod is None or uid not in self._seats:
            return []
        self.foreign_version += 1
        self._leave(uid)
        return [Happening(Resource.POD, Action.DELETE, pod=pod, group=pod.group)]

    def node_seen(self, node: Node) -> list[Happening]:
        """Add or update a node; pods that were waiting for it are counted on it."""
        old = self.nodes.node(node.name)
        change = self.nodes.put(node)
        if not change:
            return []
        self.foreign_version += 1
        self.past.append(NodeAdded(node.name) if old is None else NodeWas(old))
        if NodeChange.ADDED in change:
            for uid in sorted(self._on[node.name]):
                self._count(self._seats[uid])
            return [Happening(Resource.NODE, Action.ADD, node=node)]
        if node.unschedulable:  # to be cordoned helps nobody
            change &= ~NodeChange.UNSCHEDULABLE
        action = Action(0)
        for flag, meaning in _NODE_ACTIONS.items():
            if flag in change:
                action |= meaning
        return [Happening(Resource.NODE, action, node=node, old_node=old)] if action else []

    def node_gone(self, name: str) -> list[Happening]:
        """Drop a node; its pods keep their seats in case it comes back."""
        row = self.nodes.row(name)
        if row is None:
            return []
        self.foreign_version += 1
        node = self.nodes.node(name)
        assert node is not None
        self.past.append(NodeDropped(node, row))
        for uid in self._on.get(name, ()):
            self.placed.drop(uid)
        self.nodes.drop(name)
        if row < len(self.nodes):
            # The last row moved into the free place; its pods move with it.
            for uid in self._on.get(self.nodes.names[row], ()):
                self.placed.put(self._seats[uid].pod, row)
        return [Happening(Resource.NODE, Action.DELETE, node=node)]

    def namespace_seen(self, name: str, labels: Labels) -> list[Happening]:
        """Add or update a namespace."""
        old = self.namespaces.get(name)
        if old == labels:
            return []
        self.past.append(NamespaceWas(name, old))
        self.namespaces[name] = labels
        self._namespaces_version += 1
        self.foreign_version += 1
        action = Action.ADD if old is None else Action.UPDATE_LABEL
        return [Happening(Resource.NAMESPACE, action)]

    def namespace_gone(self, name: str) -> list[Happening]:
        """Drop a namespace."""
        old = self.namespaces.pop(name, None)
        if old is None:
            return []
        self.past.append(NamespaceWas(name, old))
        self._namespaces_version += 1
        self.foreign_version += 1
        return [Happening(Resource.NAMESPACE, Action.DELETE)]

    def workload_seen(self, key: WorkloadKey, selector: Selector | None) -> list[Happening]:
        """Add or update a Service or a controller; nobody waits for one."""
        if selector is not None:
            self.rankings.selector_keys |= selector.keys
        old = self.workloads.get(key)
        if self.workloads.put(key, selector):
            self.past.append(WorkloadWas(key, old))
            self.foreign_version += 1
        return []

    def workload_gone(self, key: WorkloadKey) -> list[Happening]:
        """Drop a Service or a controller."""
        return self.workload_seen(key, None)

    # ── shadows ──────────────────────────────────────────────────────────────────────────────

    def hold(self, lost: Seat, group: GroupKey, order: Order, until: float) -> bool:
        """Keep the room of a lost member for its replacement; False = it is not there any more.

        Args:
            lost: where the member was counted.
            group: whose member it was.
            order: the group's place in the queue; earlier groups need not respect it.
            until: when it is given up, engine clock.
        """
        pod = stand_in(lost.pod)
        row = self.nodes.row(lost.node)
        if row is None or pod.uid in self._seats or self._lacks(row, pod):
            return False
        self.shadows.put(Shadow(pod, lost.node, until, group, order))
        self._sit(Seat(lost.node, pod))
        return True

    def _lacks(self, row: int, pod: Pod) -> bool:
        return any(
            self.nodes.free(resource)[row] < amount for resource, amount in pod.spec.requests
        )

    def let_go(self, shadows: Iterable[Shadow]) -> list[Happening]:
        """Free the room of shadows that are over."""
        happenings: list[Happening] = []
        for shadow in list(shadows):
            self.shadows.lapse(shadow)
            self._leave(shadow.pod.uid)
            self.foreign_version += 1
            happenings.append(Happening(Resource.POD, Action.DELETE, pod=shadow.pod))
        return happenings

    def _make_way(self, nodes: Iterable[str]) -> None:
        """Give up what is held, latest in order first, where an earlier group took the room."""
        for node in nodes:
            for shadow in self.shadows.held_on(node):
                row = self.nodes.row(node)
                if row is None or all(
                    self.nodes.free(resource)[row] >= 0 for resource in self.nodes.space.names
                ):
                    break
                self.shadows.lapse(shadow)
                self._leave(shadow.pod.uid)

    # ── reservations ─────────────────────────────────────────────────────────────────────────

    def assume(self, plan: str, assignments: Sequence[Assignment]) -> None:
        """Count the members of a plan where it puts them: the only change that a decision makes."""
        for assignment in assignments:
            pod = assignment.pod
            assert pod.uid not in self._seats, f"{pod.key} has a seat already"
            self.assumed[pod.uid] = plan
            self._sit(Seat(assignment.node, pod))
        if self.shadows.any_held:
            self._make_way({assignment.node for assignment in assignments})

    def forget(self, uid: PodUID, number: int) -> Release | None:
        """Give back the room of one assumed member of a plan; None if it held none."""
        if self.assumed.pop(uid, None) is None:
            return None
        self._leave(uid)
        pod = self.pods.get(uid)
        group = pod.group if pod else None
        return Release(Resource.POD, Action.DELETE, pod=pod, group=group, number=number)

    def seat(self, uid: PodUID) -> Seat | None:
        """Where a pod is counted; None if it has no seat."""
        return self._seats.get(uid)

    def on(self, node: str) -> Sequence[Pod]:
        """The pods that are counted on a node, by UID."""
        return [self._seats[uid].pod for uid in sorted(self._on.get(node, ()))]

    # ── seats ────────────────────────────────────────────────────────────────────────────────

    def seats(self) -> Sequence[Seat]:
        """Every seat."""
        return tuple(self._seats.values())

    def _sit(self, seat: Seat) -> None:
        self.past.append(Sat(seat.pod.uid))
        self._seats[seat.pod.uid] = seat
        self._on[seat.node].add(seat.pod.uid)
        self._count(seat)

    def _count(self, seat: Seat) -> None:
        row = self.nodes.row(seat.node)
        if row is not None:
            self.nodes.place(row, seat.pod.spec)
            self.placed.put(seat.pod, row)
            self.rankings.journal.note(Change(seat.pod, row))

    def _leave(self, uid: PodUID) -> None:
        seat = self._seats.pop(uid, None)
        if seat is None:
            return
        self.past.append(Sat(uid, seat.node, seat.pod))
        self._on[seat.node].discard(uid)
        if not self._on[seat.node]:
            del self._on[seat.node]
        row = self.nodes.row(seat.node)
        if row is not None:
            self.nodes.place(row, seat.pod.spec, -1)
            self.placed.drop(uid)
            self.rankings.journal.note(Change(seat.pod, row, left=True))

    def check(self) -> None:
        """Assert conservation: what the node table counts is what the seats say.

        Raises:
            AssertionError: an invariant is broken.
        """
        fresh = self.nodes.fork()
        for seat in self._seats.values():
            row = fresh.row(seat.node)
            if row is not None:
                fresh.place(row, seat.pod.spec, -1)
        for resource in self.nodes.space.names:
            left = fresh.requested(resource)
            assert not left.any(), f"{resource}: {int(abs(left).sum())} more counted than seated"
        assert set(self.assumed) <= set(self._seats), "an assumed pod has no seat"

    def check_rankings(self, profiles: Mapping[str, Profile]) -> None:
        """Assert that what is kept across decisions says what would be said anew.

        Raises:
            AssertionError: an incremental answer went astray.
        """
        self.rankings.check(profiles, self.snapshot(), self.epoch)


def _differs(seat: Seat | None, wanted: Seat | None) -> bool:
    """Whether a pod must be counted anew: elsewhere, or as another one."""
    if seat is None or wanted is None:
        return seat is not wanted
    old, new = seat.pod, wanted.pod
    return (
        seat.node != wanted.node
        or (old.spec is not new.spec and old.spec != new.spec)
        or old.labels != new.labels
        or old.deleting != new.deleting
        or old.priority != new.priority
    )


def _pod_happenings(old: Pod | None, pod: Pod, *, freed: bool) -> list[Happening]:
    """What a change of a pod is to those who wait (framework.md §4.6)."""
    if freed:  # the events of who left and of who came have the same listeners
        action = Action.DELETE | (Action.ADD if pod.node and old and not old.node else Action(0))
    elif old is None or (pod.node and old.node != pod.node):
        action = Action.ADD
    else:
        action = _pod_action(old, pod)
    if not action:
        return []
    return [Happening(Resource.POD, action, pod=pod, old_pod=old, group=pod.group)]


def _pod_action(old: Pod, pod: Pod) -> Action:
    action = Action(0)
    if old.labels != pod.labels:
        action |= Action.UPDATE_LABEL
    if old.gates and not pod.gates:
        action |= Action.UPDATE_GATES
    if old.annotations != pod.annotations:
        action |= Action.UPDATE_ANNOTATION
    if old.spec is not pod.spec and old.spec != pod.spec:
        wanted = dict(pod.spec.requests)
        if any(wanted.get(name, 0) < amount for name, amount in old.spec.requests):
            action |= Action.UPDATE_SCALE_DOWN
        if old.spec.tolerations != pod.spec.tolerations:
            action |= Action.UPDATE_TOLERATION
        action = action or Action.UPDATE_OTHER
    return action
