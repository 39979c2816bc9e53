# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""ClusterState: what the cluster holds, including the capacity that plans have reserved.

A pod's seat is where its requests are counted::

    unseated ──assume(plan)──► reserved ─watch shows nodeName──► fact ──finished, gone──► unseated
        ▲                        │  ▲                                                         ▲
        └──────── forget ────────┘  └── an answer to a Bind changes nothing: only the watch ──┘

What plans have reserved, and what else is counted without being a pod on a node, is in
`enbloc.engine.state.reservations`.

Only this object changes the node table and the pod table.
"""

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, assert_never

from enbloc.engine import events as happened
from enbloc.engine.events import ClusterFact
from enbloc.engine.plan import Plan, Release
from enbloc.engine.state.checkpoint import ClaimUserSeen, Seat, SeatLeft
from enbloc.engine.state.log import Log
from enbloc.engine.state.nominations import NOMINATION_SECONDS, Nominations
from enbloc.engine.state.order import Order
from enbloc.engine.state.pod_changes import pod_happenings
from enbloc.engine.state.reservations import (
    HELD,
    NOMINATION,
    PLAN,
    Against,
    Reservation,
    ReservationLedger,
)
from enbloc.engine.state.seats import copied_labels, differs, names_others
from enbloc.engine.state.withdrawals import Withdrawals
from enbloc.engine.trial import Named, PlacedChange, Rankings
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.framework.profile import Profile
from enbloc.ledgers import GETS_NOTHING, Ledgers, ledgers_of, own_ledgers
from enbloc.model.budgets import BudgetTable
from enbloc.model.grouped import Index
from enbloc.model.groups import GroupKey
from enbloc.model.node import Node, NodeChange
from enbloc.model.nodes import Nodes
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod, PodSpec, PodUID
from enbloc.model.resources import ResourceSpace
from enbloc.model.selectors import Labels, Selector
from enbloc.model.snapshot import Snapshot
from enbloc.model.workloads import WorkloadKey, Workloads

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


#: At this many selected labels, and twice as many as before, those of gone pods are forgotten.
_MOST_SELECTED: Final = 4096


class ClusterState:
    """The tables, and where each pod is.

    Attributes:
        nodes: the table of nodes, with what is requested on each.
        placed: the table of pods that are counted on a node.
        pods: every known pod, by UID.
        namespaces: the labels of each namespace, by its name.
        budgets: the PodDisruptionBudgets.
        workloads: the selectors of Services and controllers.
        facts_version: grows with every change of an object about volumes or devices.
        foreign_version: grows with every change that no plan of this scheduler made; a plan whose
            snapshot has the same number need not be checked again.
        rankings: kept across decisions; notified of every pod that comes and goes.
        reservations: what is counted, or reserved, without being a pod on a node.
        log: every change of the tables, and the decisions between them.
        withdrawals: what abandoned plans still hold.

    Args:
        ours: the scheduler names served here; a node may be reserved for pending pods of others.
        log: how many of the latest changes and decisions are kept.
        alive: other schedulers that are known to run.
    """

    def __init__(self, ours: Container[str] = (), log: int = 0, alive: Container[str] = ()) -> None:
        self.nodes = Nodes(ResourceSpace(), Ledgers())
        self.placed = PlacedPods()
        self.pods: dict[PodUID, Pod] = {}
        self.namespaces: dict[str, Labels] = {}
        self.budgets = BudgetTable()
        self.workloads = Workloads()
        self.facts_version = self.foreign_version = 0
        self.rankings = Rankings()
        self.reservations = ReservationLedger()
        self._nominations = Nominations(alive)
        self.log = Log(log, lambda: self.nodes.space.names)
        self.withdrawals = Withdrawals(self.nodes, self.log)
        self._ours = ours
        #: Grows with every change of a namespace.
        self._namespaces_version = 0
        #: With more labels that selectors name, those of gone pods are forgotten.
        self._most_selected = _MOST_SELECTED
        #: Where each pod is counted, reservations with a pod too; the node need not exist.
        self._seats: dict[PodUID, Seat] = {}
        #: The same by node, and by Kubernetes PodGroup.
        self._on: Index[str, PodUID] = Index()
        self._of_pod_group: Index[GroupKey, PodUID] = Index()

    @property
    def epoch(self) -> object:
        """Changes whenever what plugins see at PreFilter has changed, other than by pods."""
        nodes = self.nodes
        versions = (self._namespaces_version, self.workloads.version)
        return (nodes.version, nodes.images_version, *versions)

    def snapshot(self, ledgers: Mapping[str, object] | None = None) -> Snapshot:
        """Return frozen facts for one decision; `ledgers` are the Reserve plugins' own."""
        return Snapshot(
            self.nodes.snapshot(),
            self.placed.snapshot(),
            self.namespaces,
            self.workloads,
            ledgers or {},
        )

    def apply(self, event: ClusterFact) -> list[Happening]:
        """Record what the API server shows of nodes, namespaces and workloads."""
        match event:
            case happened.NodeSeen():
                return self._node_seen(event)
            case happened.NodeGone():
                return self._node_gone(event)
            case happened.NamespaceSeen():
                return self._namespace_seen(event)
            case happened.NamespaceGone():
                return self._namespace_gone(event)
            case happened.WorkloadSeen(key, selector):
                return self._workload_changed(event, key, selector)
            case happened.WorkloadGone(key):
                return self._workload_changed(event, key, None)
            case happened.FactSeen():
                return self._fact_seen(event)
            case happened.FactGone():
                return self._fact_gone(event)
            case _:
                assert_never(event)

    # ── facts ────────────────────────────────────────────────────────────────────────────────

    def pod_seen(self, pod: Pod) -> list[Happening]:
        """Record a pod as the API server shows it; return what happened to the cluster."""
        old = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        if pod.spec.holds:
            self._enter(pod, old)
        seat = self._seats.get(pod.uid)
        if old is None or old.spec is not pod.spec:
            self._notice(pod)
        if pod.node or pod.finished:
            self.reservations.plans.pop(pod.uid, None)
        planned = pod.uid in self.reservations.plans
        reserved = None if planned else self.reservations.drop(pod.uid)
        wanted = self._wanted(pod, seat, reserved, planned=planned)
        if differs(seat, wanted):
            self._move(seat, wanted)
        freed = seat is not None and (wanted is None or wanted.node != seat.node)
        return pod_happenings(old, pod, freed=freed)

    def _wanted(
        self, pod: Pod, seat: Seat | None, reserved: Reservation | None, *, planned: bool
    ) -> Seat | None:
        """Return the seat that a pod is to have, given its present seat and its reservation."""
        if pod.node and not pod.finished:
            same = seat is not None and seat.node == pod.node
            return Seat(pod.node, pod, seat.decided if seat and same else None)
        if planned and seat is not None:
            # The planned capacity is kept until the answer and the watch agree.
            kept = replace(
                pod,
                spec=seat.pod.spec,
                claims=seat.pod.claims,
                resource_claims=seat.pod.resource_claims,
                extended_claim=seat.pod.extended_claim,
            )
            return Seat(seat.node, kept, seat.decided)
        if pod.scheduler not in self._ours:
            reservation = self._nominations.reservation(pod, reserved)
            if reservation is not None and self._could_hold(reservation.node, pod):
                self.reservations.put(reservation)
                return Seat(reservation.node, pod, GETS_NOTHING if pod.spec.holds else None)
        return None

    def _move(self, seat: Seat | None, wanted: Seat | None) -> None:
        """Move a pod from its seat to the one that it is to have.

        If only copied labels differ, the plan that bound the pod has made that change, and no other
        plan is checked again for it. If no selector names these labels, not even a ranking is.
        """
        copied = copied_labels(seat, wanted, self.nodes)
        if copied is None:
            self.foreign_version += 1
        elif wanted is not None and not copied & self._selected_of(wanted.pod).keys():
            self._relabel(wanted)
            return
        if seat is not None:
            self._leave(seat.pod.uid)
        if wanted is not None:
            self._sit(wanted)

    def _selected_of(self, pod: Pod) -> Named:
        return self.rankings.selected.in_namespace(pod.key.namespace)

    def _relabel(self, seat: Seat) -> None:
        """Relabel a seat, and all that is counted there, where no selector names the labels."""
        self.log.note(seat)
        self._seats[seat.pod.uid] = seat
        row = self.nodes.row(seat.node)
        if row is not None:
            self.placed.put(seat.pod, row)

    def pod_gone(self, uid: PodUID) -> list[Happening]:
        """Drop a deleted pod; what it held is free."""
        pod = self.pods.pop(uid, None)
        self.reservations.drop(uid)
        self._nominations.forget(uid)
        own_ledgers(self.nodes).leave(uid)
        if pod is not None and pod.spec.holds:  # for any device that now serves its resources
            self.log.note(ClaimUserSeen(uid))
        if pod is None or uid not in self._seats:
            return []
        self.foreign_version += 1
        decided = [Happening(each, Action.UPDATE_OTHER) for each in self._decided(uid)]
        self._leave(uid)
        return [Happening(Resource.POD, Action.DELETE, pod=pod, group=pod.group), *decided]

    def _node_seen(self, event: happened.NodeSeen) -> list[Happening]:
        """Add or update a node; count the pods that were waiting for it."""
        node = event.node
        old = self.nodes.node(node.name)
        change = self._put(node)
        if not change:
            return []
        self.foreign_version += 1
        self.log.note(event)
        served = ledgers_of(self.nodes).devices.served
        of_node = partial(Happening, Resource.NODE, node=node, served=served)
        if NodeChange.ADDED in change:
            for uid in sorted(self._on.get(node.name, ())):
                reservation, seat = self.reservations.get(uid), self._seats[uid]
                expected = reservation is not None and reservation.purpose == NOMINATION
                if expected and not self._could_hold(node.name, seat.pod):
                    self.reservations.drop(uid)
                    self._leave(uid, counted=False)
                else:
                    self._count(seat)
            return [of_node(Action.ADD)]
        if node.unschedulable:  # cordoning helps no group
            change &= ~NodeChange.UNSCHEDULABLE
        action = Action(0)
        for flag, meaning in _NODE_ACTIONS.items():
            if flag in change:
                action |= meaning
        return [of_node(action, old_node=old)] if action else []

    def _put(self, node: Node) -> NodeChange:
        """Write a node's row, and count placed requests of resources that no node has offered."""
        new = self.nodes.new_resources(node)
        if not new:
            return self.nodes.put(node)
        anew = [
            (row, seat.pod.spec)
            for seat in self._seats.values()
            if any(name in new for name, _ in seat.pod.spec.requests)
            and (row := self.nodes.row(seat.node)) is not None
        ]
        for row, spec in anew:
            self.nodes.place(row, spec, -1)
        change = self.nodes.put(node)
        for row, spec in anew:
            self.nodes.place(row, spec)
        return change

    def _could_hold(self, node: str, pod: Pod) -> bool:
        """Whether a pod alone would fit on a node; a node still to come may be large."""
        row = self.nodes.row(node)
        return row is None or all(
            self.nodes.allocatable(name)[row] >= least for name, least in pod.spec.requests
        )

    def _node_gone(self, event: happened.NodeGone) -> list[Happening]:
        """Drop a node; its pods keep their seats in case it comes back."""
        name = event.name
        row = self.nodes.row(name)
        if row is None:
            return []
        self.foreign_version += 1
        node = self.nodes.node(name)
        assert node is not None
        self.log.note(event)
        for uid in self._on.get(name, ()):
            self.placed.drop(uid)
            self.nodes.remove(row, self._seats[uid].pod)
        self.nodes.drop(name)
        if row < len(self.nodes):
            # The last row moved into the free index; its pods move with it.
            for uid in self._on.get(self.nodes.names[row], ()):
                self.placed.put(self._seats[uid].pod, row)
        return [Happening(Resource.NODE, Action.DELETE, node=node)]

    def _namespace_seen(self, event: happened.NamespaceSeen) -> list[Happening]:
        old = self.namespaces.get(event.name)
        if old == event.labels:
            return []
        self.log.note(event)
        self.namespaces[event.name] = event.labels
        self._namespaces_version += 1
        self.foreign_version += 1
        action = Action.ADD if old is None else Action.UPDATE_LABEL
        return [Happening(Resource.NAMESPACE, action)]

    def _namespace_gone(self, event: happened.NamespaceGone) -> list[Happening]:
        if self.namespaces.pop(event.name, None) is None:
            return []
        self.log.note(event)
        self._namespaces_version += 1
        self.foreign_version += 1
        return [Happening(Resource.NAMESPACE, Action.DELETE)]

    def _workload_changed(
        self,
        event: happened.WorkloadSeen | happened.WorkloadGone,
        key: WorkloadKey,
        selector: Selector | None,
    ) -> list[Happening]:
        """Add, update or drop a Service or a controller; no group waits for one."""
        if selector is not None:
            self.rankings.selected.select(selector, key.namespace)
        if self.workloads.put(key, selector):
            self.log.note(event)
            self.foreign_version += 1
        return []

    def _fact_seen(self, event: happened.FactSeen) -> list[Happening]:
        fact = event.fact
        old = own_ledgers(self.nodes).put(fact)
        if old == fact:
            return []
        self.facts_version += 1
        self.log.note(event)
        action = Action.ADD if old is None else Action.UPDATE_OTHER
        return [Happening(Resource(fact.kind), action, fact=fact, old_fact=old)]

    def _fact_gone(self, event: happened.FactGone) -> list[Happening]:
        old = own_ledgers(self.nodes).drop(event.kind, event.key)
        if old is None:
            return []
        self.facts_version += 1
        self.log.note(event)
        return [Happening(Resource(event.kind), Action.DELETE, fact=old)]

    def _enter(self, pod: Pod, old: Pod | None) -> None:
        """Tell the ledgers which claims an unfinished pod names."""
        known = old is not None and not old.finished
        if pod.finished:
            if known:
                own_ledgers(self.nodes).leave(pod.uid)
                self.log.note(ClaimUserSeen(pod.uid))
        elif old is None or not known or names_others(old, pod):
            own_ledgers(self.nodes).enter(pod)
            self.log.note(ClaimUserSeen(pod.uid, pod))

    def _notice(self, pod: Pod) -> None:
        """Note the labels that a pod's selectors name; forget those of gone pods if too many."""
        selected = self.rankings.selected
        selected.notice(pod.spec, pod.key.namespace)
        if selected.size > self._most_selected:
            selected.clear()
            for key, selector in self.workloads.items():
                selected.select(selector, key.namespace)
            for each in self.pods.values():
                selected.notice(each.spec, each.key.namespace)
            self._most_selected = _MOST_SELECTED + 2 * selected.size

    # ── other reservations ───────────────────────────────────────────────────────────────────

    def reserve(self, reservation: Reservation, now: float, *, crowded: bool = False) -> bool:
        """Enter a reservation; a reservation on a node is counted there once it begins.

        Args:
            reservation: what is reserved.
            now: the engine's clock.
            crowded: pods there will leave: the node may have less free than is reserved.

        Returns:
            False if its node is gone or lacks what it requests; then there is no reservation.
        """
        if reservation.start <= now:
            reservation = reservation._replace(start=-math.inf)
        pod = reservation.pod
        if reservation.counted and pod is not None and reservation.id not in self._seats:
            row = self.nodes.row(reservation.node)
            if row is None or (not crowded and self._lacks(row, pod)):
                return False
            self._sit(Seat(reservation.node, pod, reservation.decided))
        self.reservations.put(reservation)
        return True

    def _lacks(self, row: int, pod: Pod) -> bool:
        return any(self.nodes.free(name)[row] < least for name, least in pod.spec.requests)

    def release(self, reservations: Iterable[Reservation]) -> list[Happening]:
        """End reservations, and free what they took on nodes."""
        happenings: list[Happening] = []
        for reservation in reservations:
            self.reservations.drop(reservation.id)
            if reservation.purpose == NOMINATION:
                self._nominations.lapse(reservation)
            if reservation.pod is not None and reservation.id in self._seats:
                self._leave(PodUID(reservation.id))
                self.foreign_version += 1
                happenings.append(reservation.released)
            elif reservation.amount:
                happenings.append(reservation.released)
        return happenings

    def expire_reservations(self, now: float) -> list[Happening]:
        """End the reservations that time has ended; begin those that it has begun."""
        for reservation in self.reservations.undated():
            self.reservations.put(reservation._replace(end=now + NOMINATION_SECONDS))
        for reservation in self.reservations.begun(now):
            self.reservations.drop(reservation.id)
            if self.reserve(reservation, now):
                self.foreign_version += 1
        return self.release(self.reservations.over(now))

    def _make_way(self, nodes: Iterable[str], order: Order) -> list[Happening]:
        """End what is held, the latest in order first, where an earlier group took the capacity."""
        held = self.reservations.with_purpose(HELD)
        left: list[Happening] = []
        for node in nodes if held else ():
            here = [each for each in held if each.node == node]
            in_order = order.first_to_last({c.holder for c in here if c.holder is not None})
            for holder in reversed(in_order):
                for each in [each for each in here if each.holder == holder]:
                    if self._suffices(node):
                        break
                    left += self.release([each])
        return left

    def _suffices(self, node: str) -> bool:
        """Whether a node, if it exists, has all that is counted on it."""
        row = self.nodes.row(node)
        free, names = self.nodes.free, self.nodes.space.names
        return row is None or all(free(name)[row] >= 0 for name in names)

    # ── reservations of plans ────────────────────────────────────────────────────────────────

    def assume(self, plan: Plan, order: Order) -> list[Happening]:
        """Count the members of a plan on their nodes; return what is not held any more for that."""
        seats = [Seat(each.node, each.pod, each.decided) for each in plan.assignments]
        for seat in seats:
            pod = seat.pod
            assert pod.uid not in self._seats, f"{pod.key} has a seat already"
            self.reservations.plans[pod.uid] = Reservation(
                pod.uid, PLAN, Against.EVERYONE, plan.group, "", pod, seat.node
            )
            self._note(seat)
        self._count_all(seats)
        return self._make_way({assignment.node for assignment in plan.assignments}, order)

    def forget(self, uid: PodUID, number: int) -> list[Release]:
        """Release what one reserved member of a plan holds; empty if it holds nothing."""
        if self.reservations.plans.pop(uid, None) is None:
            return []
        decided = self._decided(uid)
        self._leave(uid)
        pod = self.pods.get(uid)
        group = pod.group if pod else None
        room = Release(Resource.POD, Action.DELETE, pod=pod, group=group, number=number)
        others = (Release(each, Action.UPDATE_OTHER, number=number) for each in decided)
        return [room, *others]

    def _decided(self, uid: PodUID) -> list[Resource]:
        """Return the kinds of what a pod holds that no object shows yet."""
        seat = self._seats.get(uid)
        if seat is None or not seat.pod.spec.holds:
            return []
        volumes, devices = ledgers_of(self.nodes).decided(seat.pod)
        found = [Resource.PERSISTENT_VOLUME] if volumes is not None else []
        return [*found, Resource.RESOURCE_CLAIM] if devices is not None else found

    def places(self, pod_group: GroupKey, but: PodUID) -> bool:
        """Whether a pod of a Kubernetes PodGroup, other than this one, has a seat."""
        seats = self._of_pod_group.get(pod_group, {})
        return len(seats) > (but in seats)

    def seat(self, uid: PodUID) -> Seat | None:
        """Return where a pod is counted; None if it has no seat."""
        return self._seats.get(uid)

    def on(self, node: str) -> Sequence[Pod]:
        """Return the pods that are counted on a node, by UID."""
        return [self._seats[uid].pod for uid in sorted(self._on.get(node, ()))]

    # ── seats ────────────────────────────────────────────────────────────────────────────────

    def _sit(self, seat: Seat) -> None:
        self._note(seat)
        self._count(seat)

    def _note(self, seat: Seat) -> None:
        """Record a pod's seat, before it is counted."""
        self.log.note(seat)
        self._seats[seat.pod.uid] = seat
        if (group := _pod_group(seat.pod)) is not None:
            self._of_pod_group.add(group, seat.pod.uid)
        self._on.add(seat.node, seat.pod.uid)

    def _count_all(self, seats: Iterable[Seat]) -> None:
        """Count pods that are not counted yet; identical ones on a row at once."""
        found = [(row, s) for s in seats if (row := self.nodes.row(s.node)) is not None]
        alike: dict[tuple[int, int], list[PodSpec]] = {}
        for row, seat in found:
            spec = seat.pod.spec
            if spec.holds:
                self.nodes.add(row, seat.pod, seat.decided)
            else:
                alike.setdefault((row, id(spec)), []).append(spec)
            self.rankings.journal.note(PlacedChange(seat.pod, row))
        for (row, _), specs in alike.items():
            self.nodes.place(row, specs[0], len(specs))
        self.placed.put_all([seat.pod for _, seat in found], [row for row, _ in found])

    def _count(self, seat: Seat) -> None:
        row = self.nodes.row(seat.node)
        if row is not None:
            self.nodes.add(row, seat.pod, seat.decided)
            self.placed.put(seat.pod, row)
            self.rankings.journal.note(PlacedChange(seat.pod, row))

    def _leave(self, uid: PodUID, *, counted: bool = True) -> None:
        seat = self._seats.pop(uid, None)
        if seat is None:
            return
        self.log.note(SeatLeft(uid))
        self._on.drop(seat.node, uid)
        if (group := _pod_group(seat.pod)) is not None:
            self._of_pod_group.drop(group, uid)
        row = self.nodes.row(seat.node)
        if row is not None and counted:
            self.nodes.remove(row, seat.pod)
            self.placed.drop(uid)
            self.rankings.journal.note(PlacedChange(seat.pod, row, left=True))

    def check(self) -> None:
        """Assert conservation: what the node table and the log count equals the seats.

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
        assert set(self.reservations.plans) <= set(self._seats), "a reserved pod has no seat"
        logged = self.log.present()
        assert list(logged.seats.items()) == list(self._seats.items()), "the log missed a seat"
        assert [node.name for node in logged.nodes] == list(self.nodes.names), (
            "the log missed a node"
        )

    def check_rankings(self, profiles: Mapping[str, Profile]) -> None:
        """Assert that rankings kept across decisions equal new ones.

        Raises:
            AssertionError: an incremental answer is wrong.
        """
        self.rankings.check(profiles, self.snapshot(), self.epoch)


def _pod_group(pod: Pod) -> GroupKey | None:
    """Return the Kubernetes PodGroup that a pod names; None = none."""
    return GroupKey(pod.key.namespace, pod.pod_group) if pod.pod_group else None
