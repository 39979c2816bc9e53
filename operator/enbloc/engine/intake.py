# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Intake: the tables and the groups take note of what happened; nothing is decided here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from enbloc.engine import events as happened
from enbloc.engine.conduct import Conduct
from enbloc.engine.consulting import Consultations
from enbloc.engine.effects import EventType
from enbloc.engine.events import Event, Stream
from enbloc.engine.gate import group_action
from enbloc.engine.groups import Groups
from enbloc.engine.members import solo_key
from enbloc.engine.outlook import Outlook
from enbloc.engine.plans import Plans
from enbloc.engine.promises import Promises
from enbloc.engine.queue import Place, SchedulingQueue
from enbloc.engine.repair import Repairs
from enbloc.engine.report import Reporter
from enbloc.engine.settings import Settings
from enbloc.engine.state import ClusterState, Seat
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import EventReason
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod, PodUID


@dataclass(frozen=True, slots=True)
class Loss:
    """A bound member of a group is gone, other than by success."""

    group: GroupKey
    seat: Seat


@dataclass(frozen=True, slots=True)
class PodChange:
    """A pod that sits on a node is another than before; `old` None = it was not known."""

    old: Pod | None
    pod: Pod


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node that holds members is another than before; `node` None = it is gone."""

    old: Node
    node: Node | None
    holders: Sequence[GroupKey]


class Intake:
    """Takes events into the tables, and remembers what the next step must look at.

    Attributes:
        state, groups, queue, plans, repairs, promises, reporter, consultations, conduct: what takes
            note.
        outlook: the cluster as a group may see it.
        dirty: groups of which something changed, in the order of the changes.
        happenings: what may help those who wait.
        losses: members that were lost since the last step.
        conducts: changes that nodes and kubelets are judged by since then.
        refused_evictions: what was answered to evictions since then.
    """

    def __init__(self, profiles: Mapping[str, Profile], settings: Settings) -> None:
        self._profiles = profiles
        self.state = ClusterState(profiles, settings.log)
        raises = settings.priority_class_raises
        self.groups = Groups(profiles, self.state.assumed, raises=raises)
        self.queue = SchedulingQueue(settings.backoff, settings.longest_wait)
        self.repairs = Repairs(settings.schedule_timeout)
        self.promises = Promises()
        self.reporter = Reporter()
        self.consultations = Consultations()
        self.conduct = Conduct()
        self.outlook = Outlook(self.state, self.conduct.opinions)
        self.plans = Plans(self.state, self.outlook, settings.schedule_timeout)
        self.dirty: dict[GroupKey, None] = {}
        self.happenings: list[Happening] = []
        self.losses: list[Loss] = []
        self.conducts: list[PodChange | NodeChange] = []
        self.refused_evictions: list[happened.EvictRefused] = []
        self._unsynced = set(Stream)
        self._regrouped: dict[PodUID, Pod] = {}

    @property
    def synced(self) -> bool:
        """Every stream has delivered its first list."""
        return not self._unsynced

    @property
    def news(self) -> bool:
        """Something happened that no step has looked at."""
        return bool(
            self.dirty
            or self.happenings
            or self.conducts
            or self.refused_evictions
            or self.plans.news
        )

    def apply(self, event: Event) -> None:  # noqa: C901, PLR0912 - one line for each kind of event
        """Take note of what happened."""
        match event:
            case happened.PodSeen(pod):
                self._pod_seen(pod)
            case happened.PodGone(_, uid):
                self._pod_gone(uid)
            case happened.GroupSeen(group):
                self._group_seen(group)
            case happened.GroupGone(key, uid):
                self._group_gone(key, uid)
            case happened.PriorityClassSeen(name, value):
                self._class_changed(name, value)
            case happened.PriorityClassGone(name):
                self._class_changed(name, None)
            case (
                happened.NodeSeen()
                | happened.NodeGone()
                | happened.NamespaceSeen()
                | happened.NamespaceGone()
                | happened.WorkloadSeen()
                | happened.WorkloadGone()
            ):
                self._cluster_changed(event)
            case happened.Synced(stream):
                self._synced(stream)
            case happened.SlotsFree(count):
                self.plans.slots += count
            case (
                happened.Bound()
                | happened.BindRefused()
                | happened.PreBound()
                | happened.PreBindFailed()
            ):
                self._answered(event)
            case happened.BindUnknown():
                # The member stays SENT and its room taken; the executor is sending it again.
                pass
            case happened.Evicted():
                pass  # the watch will show it terminating
            case happened.EvictRefused():
                self.refused_evictions.append(event)
            case happened.Answer():
                self._extender_answered(event)
            case _:
                assert_never(event)

    def _synced(self, stream: Stream) -> None:
        self._unsynced.discard(stream)
        if not self._unsynced:
            self.groups.settle()
            self.dirty.update((members.key, None) for members in self.groups)

    # ── pods ─────────────────────────────────────────────────────────────────────────────────

    def _pod_seen(self, pod: Pod) -> None:
        self._regrouped.pop(pod.uid, None)
        before = self.groups.key_of(pod.uid)
        if before is not None and before != (pod.group or solo_key(pod)):
            if pod.node or not self.plans.binding(pod.uid, before):
                self._leave(pod.uid)
            else:  # where it goes is decided: it changes its group when the outcome is known
                self._regrouped[pod.uid] = pod
                pod = replace(pod, group=self.state.pods[pod.uid].group)
        old, seat = self.state.pods.get(pod.uid), self.state.seat(pod.uid)
        self.happenings += self.state.pod_seen(pod)
        if pod.node and self.synced and (old is None or old.phase != pod.phase or not old.node):
            self.conducts.append(PodChange(old, pod))
        key = self.groups.enter(pod)
        if key is None:
            return
        if pod.group_conflict and self.groups.ours(pod) and not pod.node:
            self.reporter.ambiguous(pod, pod.scheduler)
        confirmed = self.plans.seen(pod, key)
        if confirmed is not None:  # the watch was quicker than the answer
            self.reporter.bound(pod, confirmed.node, pod.scheduler)
        if pod.deleting:
            self.repairs.leaving(pod.uid)
        if pod.finished:
            self._freed(key, pod.uid, seat, lost=pod.phase is not Phase.SUCCEEDED)
        self.dirty[key] = None

    def _pod_gone(self, uid: PodUID) -> None:
        seat, planned = self.state.seat(uid), uid in self.state.assumed
        key = self.groups.key_of(uid)
        self._regrouped.pop(uid, None)
        self.happenings += self.state.pod_gone(uid)
        self.reporter.forget_pod(uid)
        self._leave(uid)
        if key is not None:
            self._freed(key, uid, seat, lost=not planned)

    def _freed(self, key: GroupKey, uid: PodUID, seat: Seat | None, *, lost: bool) -> None:
        """A member holds its room no more."""
        if self.repairs.gone(uid):
            self.retry_repairs()
        elif lost and seat is not None and seat.pod.group is not None:
            self.losses.append(Loss(key, seat))

    def retry_repairs(self) -> None:
        """The evicted pods are gone: the gangs in part are planned again, before anyone yields."""
        for key in self.repairs.try_again():
            item = self.queue.get(key)
            if item is not None:
                item.fingerprint = None
            self.dirty[key] = None

    def _leave(self, uid: PodUID) -> None:
        key = self.groups.leave(uid)
        if key is not None:
            self.plans.gone(uid, key)
            self.dirty[key] = None

    # ── groups ───────────────────────────────────────────────────────────────────────────────

    def _group_seen(self, group: Group) -> None:
        members = self.groups.obtain(group.key)
        action = group_action(members.group, group)
        self.groups.own(group.key, members.group.owner if members.group else "", group.owner)
        members.take_group(group)
        self.dirty[group.key] = None
        if action & Action.UPDATE_MINIMUM:
            self.plans.withdraw(group.key)
        if action:
            self.happenings.append(Happening(Resource.POD_GROUP, action, group=group.key))

    def _group_gone(self, key: GroupKey, uid: str) -> None:
        members = self.groups.get(key)
        if members is None or members.group is None or members.group.uid != uid:
            return
        open_plan = self.plans.of(key)
        if open_plan is not None and open_plan.started:
            note = "the PodGroup was deleted while its members were being bound; they are completed"
            self.reporter.group_event(
                open_plan.facts, EventType.WARNING, EventReason.POD_GROUP_DELETED, note
            )
        self.groups.own(key, members.group.owner, "")
        members.take_group(None)
        self.plans.withdraw(key)
        self.dirty[key] = None

    def _class_changed(self, name: str, value: int | None) -> None:
        if value is None:
            self.groups.classes.pop(name, None)
        else:
            self.groups.classes[name] = value
        self.dirty.update((key, None) for key in self.groups.naming_class(name))

    # ── nodes and what else there is ─────────────────────────────────────────────────────────

    def _cluster_changed(
        self,
        event: happened.NodeSeen
        | happened.NodeGone
        | happened.NamespaceSeen
        | happened.NamespaceGone
        | happened.WorkloadSeen
        | happened.WorkloadGone,
    ) -> None:
        if isinstance(event, happened.NodeSeen):
            self._node_changed(event.node.name, event.node)
        elif isinstance(event, happened.NodeGone):
            self._node_changed(event.name, None)
            held = [s for s in self.state.shadows if s.node == event.name and s.group is not None]
            self.happenings += self.state.let_go(held)
        self.happenings += self.state.apply(event)

    def _node_changed(self, name: str, node: Node | None) -> None:
        """A node that fails is blamed by every gang that has a member of ours there."""
        old = self.state.nodes.node(name)
        if old is None or (node is not None and node.ready and node.uid == old.uid):
            return
        groups = {
            key: None
            for pod in self.state.on(name)
            if pod.group is not None
            and self.groups.ours(pod)
            and (key := self.groups.key_of(pod.uid)) is not None
        }
        if groups:
            self.conducts.append(NodeChange(old, node, tuple(groups)))

    # ── answers ──────────────────────────────────────────────────────────────────────────────

    def _answered(
        self,
        event: happened.Bound | happened.BindRefused | happened.PreBound | happened.PreBindFailed,
    ) -> None:
        assignment = self.plans.answered(event)
        if assignment is None:
            return
        self.dirty[self.groups.key_of(event.uid) or solo_key(assignment.pod)] = None
        if isinstance(event, happened.BindRefused) and event.uid in self._regrouped:
            self._pod_seen(self._regrouped[event.uid])
        if isinstance(event, happened.Bound):
            pod = assignment.pod
            self.reporter.bound(pod, assignment.node, pod.scheduler)

    def _extender_answered(self, event: happened.Answer) -> None:
        ready = self.consultations.answered(event)
        asking = self.queue.get(ready) if ready is not None else None
        if asking is not None and asking.place is Place.PARKED:
            self.queue.activate(asking)
