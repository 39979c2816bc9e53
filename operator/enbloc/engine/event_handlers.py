# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Event handlers: record events in the tables and the groups; nothing is decided here."""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from enbloc.engine import events as happened
from enbloc.engine.admission import group_action
from enbloc.engine.core import Core
from enbloc.engine.effects import EventType
from enbloc.engine.events import ClusterFact, Event, Stream
from enbloc.engine.queue import QueuePlace
from enbloc.engine.state import HELD, Run, Seat, solo_key
from enbloc.engine.tally import EXTENDER_ANSWERED
from enbloc.engine.turn import Loss, Turn
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.framework.observations import NodeChanged, PodChanged
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import EventReason
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod, PodUID
from enbloc.model.topology import Topology


class EventHandlers:
    """Record events in the tables, and leave to the next turn what it must process.

    Args:
        core: whose tables and groups are updated.
    """

    def __init__(self, core: Core) -> None:
        self._state, self._groups, self._queue = core.state, core.groups, core.queue
        self._plans, self._victims, self._reporter = core.plans, core.victims, core.reporter
        self._extender_queries = core.extender_queries
        self._observations = core.observations
        #: Streams that have not synced.
        self._unsynced = set(Stream)
        #: Pods that name another group since their Binding was sent, in their current form.
        self._regrouped: dict[PodUID, Pod] = {}
        #: Pods that a plan of this process has bound to their node.
        self._placed: set[PodUID] = set()

    @property
    def synced(self) -> bool:
        """Whether every stream has synced, that of the Lease too."""
        return not self._unsynced

    @property
    def _observed(self) -> bool:
        """Whether a plugin learns from changes; not from those before this process decides."""
        return self._observations.wanted and self.synced

    def apply(self, event: Event, turn: Turn) -> None:  # noqa: C901, PLR0912 - one line for each kind of event
        """Take note of what happened."""
        match event:
            case happened.PodSeen(pod):
                self._pod_seen(pod, turn)
            case (
                happened.Bound()
                | happened.BindRefused()
                | happened.PreBound()
                | happened.PreBindFailed()
            ):
                self._answered(event, turn)
            case happened.Unreserved(plan, uid):
                turn.happened += self._state.withdrawals.end(plan, uid)
            case happened.PodGone(_, uid):
                self._pod_gone(uid, turn)
            case happened.GroupSeen(group):
                self._group_seen(group, turn)
            case happened.GroupGone(key, uid):
                self._group_gone(key, uid, turn)
            case happened.PriorityClassSeen(name):
                self._class_changed(name, event, turn)
            case happened.PriorityClassGone(name):
                self._class_changed(name, None, turn)
            case (
                happened.NodeSeen()
                | happened.NodeGone()
                | happened.NamespaceSeen()
                | happened.NamespaceGone()
                | happened.WorkloadSeen()
                | happened.WorkloadGone()
                | happened.FactSeen()
                | happened.FactGone()
            ):
                self._cluster_changed(event, turn)
            case happened.BudgetSeen(budget):
                self._state.budgets.put(budget)
            case happened.BudgetGone(key):
                self._state.budgets.drop(key)
            case happened.TopologySeen(topology):
                self._topology_changed(topology.name, topology, turn)
            case happened.TopologyGone(name):
                self._topology_changed(name, None, turn)
            case happened.Synced(stream):
                self._synced(stream, turn)
            case happened.SlotsFree(count):
                self._plans.slots += count
            case happened.BindUnknown():
                # The member stays SENT and its capacity reserved; the executor is sending it again.
                pass
            case happened.Evicted(uid):
                self._victims.accepted(uid)
            case happened.EvictRefused():
                turn.refused_evictions.append(event)
            case happened.EvictStopped(uid):
                self._eviction_stopped(uid, turn)
            case happened.ExtenderAnswer():
                self._extender_answered(event)
            case _:
                assert_never(event)

    def _synced(self, stream: Stream, turn: Turn) -> None:
        if stream not in self._unsynced:
            return  # a relist: the differences were already delivered
        self._unsynced.discard(stream)
        if not self._unsynced:
            self._groups.settle()
            turn.changed.update((run.key, None) for run in self._groups)

    # ── pods ─────────────────────────────────────────────────────────────────────────────────

    def _pod_seen(self, pod: Pod, turn: Turn) -> None:
        pod = self._regroup(pod, turn)
        old, seat = self._state.pods.get(pod.uid), self._state.seat(pod.uid)
        phase = pod.phase_after(old.phase if old is not None else None)
        if phase is not pod.phase:
            pod = replace(pod, phase=phase)
        turn.happened += self._state.pod_seen(pod)
        if self._observed and pod.node and (old is None or old.phase != pod.phase or not old.node):
            turn.observed.append(PodChanged(old, pod, pod.uid in self._placed))
        if pod.deleting:
            self._victims.terminating(pod.uid)
        changed = self._groups.enter(pod)
        if not changed:
            if pod.finished:
                self._left(pod.uid, turn)
            return
        key = changed[0]
        confirmed = self._plans.seen(pod, key, turn)
        if confirmed is not None:  # the watch was faster than the answer
            self._reporter.bound(turn, pod, confirmed.node, pod.scheduler)
        if seat is not None and not pod.node and seat.pod.spec != pod.spec:
            self._unplanned(pod.uid, key, turn)
        if pod.finished:
            self._freed(key, pod.uid, seat, turn, lost=pod.phase is not Phase.SUCCEEDED)
        for each in changed:
            turn.change(each)

    def _regroup(self, pod: Pod, turn: Turn) -> Pod:
        """Move a pod that now names another group, unless a Binding of it is under way.

        In that case its node is decided, and it moves when the outcome is known.
        """
        if self._regrouped:
            self._regrouped.pop(pod.uid, None)
        named = self._groups.named(pod.uid)
        if named is None:
            return pod
        run_key = self._groups.key_of(pod.uid)
        if pod.node and run_key is not None and self._plans.places(pod, run_key):
            self._placed.add(pod.uid)
        if named == (pod.group or solo_key(pod)):
            return pod
        if not pod.node and run_key is not None and self._plans.binding(pod.uid, run_key):
            self._regrouped[pod.uid] = pod
            return replace(pod, group=self._state.pods[pod.uid].group)
        self._leave(pod.uid, turn, deleted=False)
        return pod

    def _pod_gone(self, uid: PodUID, turn: Turn) -> None:
        seat, planned = self._state.seat(uid), uid in self._state.reservations.plans
        key = self._groups.key_of(uid)
        self._regrouped.pop(uid, None)
        self._placed.discard(uid)
        turn.happened += self._state.pod_gone(uid)
        self._reporter.forget_pod(uid)
        self._leave(uid, turn, deleted=True)
        if key is not None:
            self._freed(key, uid, seat, turn, lost=not planned)
        else:
            self._left(uid, turn)

    def _freed(
        self, key: GroupKey, uid: PodUID, seat: Seat | None, turn: Turn, *, lost: bool
    ) -> None:
        """Record that a member no longer holds its capacity."""
        if not self._left(uid, turn) and lost and seat is not None and seat.pod.group is not None:
            turn.losses.setdefault(key, []).append(Loss(key, seat.pod, seat.node))

    def _left(self, uid: PodUID, turn: Turn) -> bool:
        """Record that a pod holds no capacity any more; return whether it was evicted."""
        eviction = self._victims.gone(uid, finished=uid in self._state.pods)
        if eviction is not None:
            turn.released.append(eviction.group)
        return eviction is not None

    def _eviction_stopped(self, uid: PodUID, turn: Turn) -> None:
        eviction = self._victims.stays(uid)
        if eviction is not None:
            turn.released.append(eviction.group)
            turn.change(eviction.group)

    def _unplanned(self, uid: PodUID, key: GroupKey, turn: Turn) -> None:
        """Drop a member from the plan that it is in, unless its Binding was sent."""
        if not self._plans.binding(uid, key):
            self._plans.gone(uid, key, turn)

    def _leave(self, uid: PodUID, turn: Turn, *, deleted: bool) -> None:
        key = self._groups.leave(uid, deleted=deleted)
        if key is not None:
            self._plans.gone(uid, key, turn)
            turn.change(key)

    # ── groups ───────────────────────────────────────────────────────────────────────────────

    def _group_seen(self, group: Group, turn: Turn) -> None:
        known = self._groups.runs(group.key)
        before = known[0].group if known else None
        action = group_action(before, group)
        if before is not None and before.labels != group.labels and self._groups.shunned(before):
            action |= Action.UPDATE_LABEL
        for run in self._groups.take_group(group.key, group):
            turn.change(run.key)
            if action & Action.UPDATE_MINIMUM:
                self._plans.withdraw(run.key, turn)
        if action:
            turn.happened.append(Happening(Resource.POD_GROUP, action, group=group.key))

    def _group_gone(self, key: GroupKey, uid: str, turn: Turn) -> None:
        runs = self._groups.runs(key)
        group = runs[0].group if runs else None
        if group is None or group.uid != uid:
            return
        for run in runs:
            self._deleted(run, turn)
        if self._groups.shunned(group):
            turn.happened.append(Happening(Resource.POD_GROUP, Action.DELETE, group=key))
        for run in self._groups.take_group(key, None):
            self._plans.withdraw(run.key, turn)
            self._forget_said(run.key)
            turn.change(run.key)

    def _forget_said(self, key: GroupKey) -> None:
        """Have a group tried and reported on anew: another PodGroup may follow in the same turn."""
        self._reporter.forget_group(key)
        item = self._queue.get(key)
        if item is not None:
            item.renew()

    def _deleted(self, run: Run, turn: Turn) -> None:
        """Report what happens to the members of a deleted PodGroup."""
        open_plan, bound = self._plans.of(run.key), len(run.bound)
        note = (
            f"PodGroup deleted while {bound} of its members are bound: bound members keep running, "
        )
        note += "pending ones wait until it is recreated"
        if open_plan is not None and open_plan.started:
            note = "PodGroup deleted while its members are being bound: binding is completed"
        if bound or (open_plan is not None and open_plan.started):
            kind, reason = EventType.WARNING, EventReason.POD_GROUP_DELETED
            self._reporter.group_event(turn, self._groups.facts(run), kind, reason, note)

    def _class_changed(
        self, name: str, seen: happened.PriorityClassSeen | None, turn: Turn
    ) -> None:
        if seen is None:
            self._groups.classes.pop(name, None)
        else:
            self._groups.classes[name] = seen
        turn.changed.update((key, None) for key in self._groups.naming_class(name))

    def _topology_changed(self, name: str, topology: Topology | None, turn: Turn) -> None:
        topologies = self._groups.topologies
        if topologies.get(name) == topology:
            return
        if topology is None:
            del topologies[name]
        else:
            topologies[name] = topology
        for key in self._groups.in_topology():  # each may now refer to another topology
            turn.change(key)
            self._plans.withdraw(key, turn)

    # ── nodes and other objects ──────────────────────────────────────────────────────────────

    def _cluster_changed(
        self,
        event: ClusterFact,
        turn: Turn,
    ) -> None:
        if isinstance(event, happened.NodeSeen):
            self._domain_changed(event.node, turn)
            self._node_changed(event.node.name, event.node, turn)
        elif isinstance(event, happened.NodeGone):
            self._node_changed(event.name, None, turn)
            self._planned_there(event.name, turn)
            held = [c for c in self._state.reservations.with_purpose(HELD) if c.node == event.name]
            turn.happened += self._state.release(held)
        turn.happened += self._state.apply(event)

    def _planned_there(self, node: str, turn: Turn) -> None:
        """Drop members that are planned on a node that is gone, while nothing was sent for them.

        The tables keep nothing of a node that is gone, so others could get the devices of a plan
        whose PreBind still writes them.
        """
        for pod, key in list(self._members_on(node)):
            self._unplanned(pod.uid, key, turn)

    def _domain_changed(self, node: Node, turn: Turn) -> None:
        """Mark groups with members in a node's domain: their status may name another domain now."""
        old = self._state.nodes.node(node.name)
        if old is None or old.labels == node.labels:
            return
        for _, key in self._members_on(node.name):
            run = self._groups.get(key)
            if run is not None and run.in_topology:
                turn.change(key)

    def _node_changed(self, name: str, node: Node | None, turn: Turn) -> None:
        """Notify plugins that learn, with the gangs that have members of this scheduler there."""
        old = self._state.nodes.node(name)
        if not self._observed or _alike(old, node):
            return
        pods = self._state.pods
        gangs = {
            key.podgroup: None
            for pod, key in self._members_on(name)
            if pod.group is not None
            and (shown := pods.get(pod.uid)) is not None
            and shown.node  # otherwise it is only planned there
            and self._groups.ours(pod)
        }
        turn.observed.append(NodeChanged(name, old, node, tuple(gangs)))

    def _members_on(self, node: str) -> Iterator[tuple[Pod, GroupKey]]:
        """Yield the pods counted on a node that are members, each with its group's run."""
        for pod in self._state.on(node):
            key = self._groups.key_of(pod.uid)
            if key is not None:
                yield pod, key

    # ── answers ──────────────────────────────────────────────────────────────────────────────

    def _answered(
        self,
        event: happened.Bound | happened.BindRefused | happened.PreBound | happened.PreBindFailed,
        turn: Turn,
    ) -> None:
        assignment = self._plans.answered(event, turn)
        if assignment is None:
            return
        turn.change(self._groups.key_of(event.uid) or solo_key(assignment.pod))
        if isinstance(event, happened.BindRefused) and event.uid in self._regrouped:
            self._pod_seen(self._regrouped[event.uid], turn)
        if isinstance(event, happened.Bound):
            pod = assignment.pod
            self._reporter.bound(turn, pod, assignment.node, pod.scheduler)

    def _extender_answered(self, event: happened.ExtenderAnswer) -> None:
        ready = self._extender_queries.answered(event)
        asking = self._queue.get(ready) if ready is not None else None
        if asking is not None and asking.place is QueuePlace.DECIDING:
            self._queue.activate(asking, EXTENDER_ANSWERED)


def _alike(old: Node | None, node: Node | None) -> bool:
    """Whether nothing of a node has changed but its version, as with each heartbeat."""
    if old is None or node is None:
        return old is node
    return replace(node, resource_version=old.resource_version) == old
