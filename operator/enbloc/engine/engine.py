# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Engine: events in, decisions out; the only stateful object of the core.

::

    apply(event)   the tables and the groups take note            O(changed row)
    step(now)      review what changed · wake whom it helps · hand out Binds · decide one group
    wakeup()       when to call step again if nothing happens

The clock is server time in seconds since the epoch, advanced by the shell's monotonic clock.
The same events and steps give the same effects: nothing here reads a clock or draws a number.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from enbloc.engine import events as happened
from enbloc.engine.asking import asked
from enbloc.engine.assign import Tentative
from enbloc.engine.conditions import PENDING, Saying
from enbloc.engine.consulting import Consultations
from enbloc.engine.cycle import GANG_PLUGIN, schedule_group
from enbloc.engine.effects import Decided, Effect, EventType
from enbloc.engine.events import Cause, Event, Stream
from enbloc.engine.gate import fingerprint, gate, group_action, helps
from enbloc.engine.groups import Groups
from enbloc.engine.members import Members, solo_key
from enbloc.engine.missing import Missing
from enbloc.engine.plan import Plan, Verdict
from enbloc.engine.plans import End, Ending, Plans
from enbloc.engine.queue import Item, Place, SchedulingQueue
from enbloc.engine.report import Reporter
from enbloc.engine.settings import Settings
from enbloc.engine.state import ClusterState
from enbloc.errors import PluginError
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import EventReason, Reason
from enbloc.model.pods import Pod, PodUID


class Engine:
    """Decides where groups of pods go, whole groups at a time."""

    def __init__(self, profiles: Mapping[str, Profile], settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.log: deque[Event | float] = deque(maxlen=self.settings.log)
        self._profiles = dict(profiles)
        self._state = ClusterState(self._profiles)
        raises = self.settings.priority_class_raises
        self._groups = Groups(profiles, self._state.assumed, raises=raises)
        self._sayings: dict[GroupKey, Saying] = {}
        self._queue = SchedulingQueue(self.settings.backoff, self.settings.longest_wait)
        self._plans = Plans(self._state, self.settings.schedule_timeout)
        self._reporter = Reporter()
        self._unsynced = set(Stream)
        self._dirty: dict[GroupKey, None] = {}
        self._happenings: list[Happening] = []
        self._missing = Missing(self.settings.missing_grace)
        self._helps = partial(helps, self._groups)
        self._consultations = Consultations()
        self._reviewed: dict[GroupKey, GroupFacts] = {}
        self._decided: list[Effect] = []
        self._plan_count = 0

    @property
    def synced(self) -> bool:
        """Every stream has delivered its first list; before, nothing is decided."""
        return not self._unsynced

    def queue_counts(self) -> dict[Place, int]:
        """How many groups are in each place of the queue, for the metrics."""
        return self._queue.counts()

    # ── events ───────────────────────────────────────────────────────────────────────────────

    def apply(self, event: Event) -> None:  # noqa: C901 - one line for each kind of event
        """Take note of what happened; nothing is decided here."""
        self.log.append(event)
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
                self._happenings += self._state.apply(event)
            case happened.Synced(stream):
                self._synced(stream)
            case happened.SlotsFree(count):
                self._plans.slots += count
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
            case happened.Evicted() | happened.EvictRefused():
                pass
            case happened.Answer():
                ready = self._consultations.answered(event)
                asking = self._queue.get(ready) if ready is not None else None
                if asking is not None and asking.place is Place.PARKED:
                    self._queue.activate(asking)
            case _:
                assert_never(event)

    def _synced(self, stream: Stream) -> None:
        self._unsynced.discard(stream)
        if not self._unsynced:
            self._groups.settle()
            self._dirty.update((members.key, None) for members in self._groups)

    def _pod_seen(self, pod: Pod) -> None:
        before = self._groups.key_of(pod.uid)
        if before is not None and before != (pod.group or solo_key(pod)):
            self._leave(pod.uid)
        self._happenings += self._state.pod_seen(pod)
        key = self._groups.enter(pod)
        if key is None:
            return
        if pod.group_conflict and self._groups.ours(pod) and not pod.node:
            self._reporter.ambiguous(pod, pod.scheduler)
        confirmed = self._plans.seen(pod, key)
        if confirmed is not None:  # the watch was quicker than the answer
            self._reporter.bound(pod, confirmed.node, pod.scheduler)
        self._dirty[key] = None

    def _pod_gone(self, uid: PodUID) -> None:
        self._happenings += self._state.pod_gone(uid)
        self._reporter.forget_pod(uid)
        self._leave(uid)

    def _leave(self, uid: PodUID) -> None:
        key = self._groups.leave(uid)
        if key is not None:
            self._plans.gone(uid, key)
            self._dirty[key] = None

    def _group_seen(self, group: Group) -> None:
        members = self._groups.obtain(group.key)
        action = group_action(members.group, group)
        members.take_group(group)
        self._dirty[group.key] = None
        if action & Action.UPDATE_MINIMUM:
            self._plans.withdraw(group.key)
        if action:
            self._happenings.append(Happening(Resource.POD_GROUP, action, group=group.key))

    def _group_gone(self, key: GroupKey, uid: str) -> None:
        members = self._groups.get(key)
        if members is None or members.group is None or members.group.uid != uid:
            return
        open_plan = self._plans.of(key)
        if open_plan is not None and open_plan.started:
            note = "the PodGroup was deleted while its members were being bound; they are completed"
            self._reporter.group_event(
                open_plan.facts, EventType.WARNING, EventReason.POD_GROUP_DELETED, note
            )
        members.take_group(None)
        self._plans.withdraw(key)
        self._dirty[key] = None

    def _class_changed(self, name: str, value: int | None) -> None:
        if value is None:
            self._groups.classes.pop(name, None)
        else:
            self._groups.classes[name] = value
        self._dirty.update((key, None) for key in self._groups.naming_class(name))

    def _answered(
        self,
        event: happened.Bound | happened.BindRefused | happened.PreBound | happened.PreBindFailed,
    ) -> None:
        assignment = self._plans.answered(event)
        if assignment is None:
            return
        self._dirty[self._groups.key_of(event.uid) or solo_key(assignment.pod)] = None
        if isinstance(event, happened.Bound):
            pod = assignment.pod
            self._reporter.bound(pod, assignment.node, pod.scheduler)

    # ── decisions ────────────────────────────────────────────────────────────────────────────

    def step(self, now: float) -> Sequence[Effect]:
        """Decide at most one group, and do all that follows from what was applied.

        Returns:
            Effects in the order in which they should be started; none until every stream synced.
        """
        self.log.append(now)
        if self._unsynced:
            return ()
        self._wake(now)
        self._end_plans(now)
        for overdue in self._queue.due(now):
            if overdue.fingerprint is None:  # a plugin failed before it could be tried
                self._dirty[overdue.key] = None
            else:
                self._queue.activate(overdue)
        self._review(now)
        for key in self._plans.permits(now, lambda key: self._groups.facts(self._groups[key])):
            self._dirty[key] = None
        self._plans.windows()
        item = self._queue.pop()
        if item is not None:
            self._decide(item, now)
            self._plans.windows()
        self._reviewed.clear()
        self._end_plans(now)
        self._report_missing(now)
        if self.settings.validate:
            self._state.check()
            self._state.check_rankings(self._profiles)
        return self._drain()

    def wakeup(self) -> float | None:
        """When to step again if nothing happens; a time that is past means at once.

        None: only an event can make a difference.
        """
        if self._unsynced:
            return None
        if self._dirty or self._happenings or self._plans.news:
            return 0.0
        times = (self._queue.wakeup(), self._plans.deadline(), self._missing.deadline())
        return min((time for time in times if time is not None and time < math.inf), default=None)

    def _drain(self) -> list[Effect]:
        effects = [*self._decided, *self._plans.effects, *self._reporter.effects]
        self._decided.clear()
        self._plans.effects.clear()
        self._reporter.effects.clear()
        return effects

    def _wake(self, now: float) -> None:
        """Re-queue the waiting groups that what happened could help."""
        happenings = [*self._happenings, *self._plans.happenings]
        self._happenings.clear()
        self._plans.happenings.clear()
        for happening in happenings:
            self._plans.heard(happening)
            for key in self._queue.wake(happening, now, self._helps):
                self._dirty[key] = None

    def _activate(self, item: Item, members: Members, facts: GroupFacts, now: float) -> None:
        """Give a group its place in the order, and let it be tried."""
        item.profile = self._groups.profile(facts)
        plugin = item.profile.queue_sort
        group = members.group or Group(members.key)
        try:
            key = asked(plugin.name, "QueueSort", plugin.sort_key, group, facts)
            item.sort_key = asked(plugin.name, "QueueSort", self._queue.ordered, key)
        except PluginError as error:
            item.fingerprint = None
            self._refused(members, facts, now, Saying(Reason.SCHEDULER_ERROR, str(error)))
        else:
            self._queue.activate(item)

    def _review(self, now: float) -> None:
        """Look again at every group of which something changed."""
        dirty = list(self._dirty)
        self._dirty.clear()
        for key in dirty:
            members = self._groups.get(key)
            if members is None:
                continue
            if members.empty or (members.at_rest and self._plans.of(key) is None):
                self._drop(members)
                continue
            open_plan = self._plans.of(key)
            if open_plan is not None and open_plan.started and not open_plan.floor_confirmed:
                continue  # a burst is told of when it begins and when its floor is bound
            facts = self._groups.facts(members)
            if members.started is None and not facts.deficit and members.runs_whole(facts):
                members.start(now)
                facts = replace(facts, started=True)
            self._reviewed[key] = facts
            self._place(members, facts, now)
            self._tell(members, facts)

    def _drop(self, members: Members) -> None:
        key = members.key
        self._groups.drop(members)
        self._queue.drop(key)
        self._consultations.drop(key)
        self._sayings.pop(key, None)
        self._missing.forget(key)
        self._reporter.forget_group(key)

    def _place(self, members: Members, facts: GroupFacts, now: float) -> None:
        """Put a group where it belongs in the queue."""
        item = self._item(members)
        if self._plans.of(members.key) is not None:
            return
        self._missing.look(facts, now)
        if not self._kept_out(item, members, facts, now) and (
            item.fingerprint != fingerprint(facts)
        ):
            item.fingerprint = fingerprint(facts)
            self._sayings[members.key] = PENDING
            self._activate(item, members, facts, now)

    def _kept_out(self, item: Item, members: Members, facts: GroupFacts, now: float) -> bool:
        """Ask whether a group may be tried; if not, it waits for what could change that."""
        profile = self._groups.profile(facts)
        saying, plugin = gate(profile, members.group, facts)
        if saying is None and facts.pending:
            return False
        item.profile, item.fingerprint = profile, None
        self._consultations.drop(item.key)
        if saying is not None and saying.reason is Reason.SCHEDULER_ERROR and facts.pending:
            self._refused(members, facts, now, saying)
            return True
        self._queue.decided(item)
        self._queue.park(item, plugin)
        if saying is not None:
            self._sayings[members.key] = saying
            if facts.solo and facts.problem:
                self._reporter.unplaced(facts, profile.name, saying)
            else:
                self._reporter.gated(facts, saying)
        return True

    def _item(self, members: Members) -> Item:
        item = self._queue.get(members.key)
        if item is None:
            item = self._queue.item(members.key, solo=members.solo)
            if members.group is not None:
                item.attempts = members.group.memory.attempts
        return item

    def _decide(self, item: Item, now: float) -> None:
        members = self._groups[item.key]
        facts = self._reviewed.get(item.key) or self._groups.facts(members)
        profile = self._groups.profile(facts)
        if item.key not in self._reviewed and self._kept_out(item, members, facts, now):
            self._tell(members, facts)
            return
        plan = self._make_plan(members, facts, profile)
        if plan is None:
            return  # extenders are being asked; their answers bring it back
        self._consultations.drop(item.key)
        item.attempts += 1
        item.last_attempt = now
        item.counted = self._plans.opened
        if plan.verdict is Verdict.PLACED:
            self._queue.placed(item)
            self._plans.open(plan, profile, facts, now)
        else:
            reason = (
                Reason.SCHEDULER_ERROR if plan.verdict is Verdict.ERROR else Reason.UNSCHEDULABLE
            )
            self._refused(members, facts, now, Saying(reason, plan.message), plan)
        self._decided.append(
            Decided(
                group=item.key,
                profile=profile.name,
                attempts=item.attempts,
                result=plan.verdict.value,
                placed=len(plan.assignments),
                message=plan.message,
                plan=plan.id,
            )
        )
        if not members.solo:
            self._tell(members, self._groups.facts(members))

    def _make_plan(self, members: Members, facts: GroupFacts, profile: Profile) -> Plan | None:
        """Decide about a group on the present state; None = extenders must be asked first."""
        self._plan_count += 1
        plan_id = f"{self.settings.identity}-{self._plan_count}"
        held = tuple(pod for pod in members.pods.values() if pod.bound)
        try:
            snapshot = self._state.snapshot(self._plans.ledgers(profile))
            # What a ledger or an extender says may change any answer: such rankings are not kept.
            alone = not profile.reserve and not profile.extenders
            epoch = self._state.epoch if alone else None
            tentative = Tentative(profile, snapshot, self._state.rankings, epoch)
            if profile.extenders:
                asks = self._consultations.ask(facts.key, tentative, facts.pending)
                if asks is not None:
                    self._decided += asks
                    return None
        except PluginError as error:
            return Plan(plan_id, facts.key, Verdict.ERROR, message=str(error))
        plan = schedule_group(plan_id, facts, held, tentative)
        if plan.verdict is not Verdict.ERROR:
            tentative.keep()
        return plan

    def _refused(
        self,
        members: Members,
        facts: GroupFacts,
        now: float,
        saying: Saying,
        who: Plan | Ending | None = None,
    ) -> None:
        """An attempt failed; the group waits for what could help it.

        Args:
            members: the group.
            facts: what is true of it.
            now: the engine's clock.
            saying: why.
            who: names the plugins that refused; None = nobody did, it was an error.
        """
        rejectors, pending = (who.rejectors, who.pending) if who else (frozenset(), frozenset())
        if saying.reason is Reason.UNSCHEDULABLE and not rejectors:
            # A refusal without a plugin's name (no nodes at all) is the cluster's.
            rejectors = frozenset({GANG_PLUGIN})
        item = self._item(members)
        item.profile = self._groups.profile(facts)
        self._queue.failed(item, now, rejectors, pending, self._helps)
        self._sayings[members.key] = saying
        self._reporter.unplaced(facts, item.profile.name, saying)

    # ── the end of a plan ────────────────────────────────────────────────────────────────────

    def _end_plans(self, now: float) -> None:
        endings, self._plans.endings = self._plans.endings, []
        for ending in endings:
            members = self._groups.get(ending.open_plan.plan.group)
            if members is not None:
                self._end_plan(ending, members, now)

    def _end_plan(self, ending: Ending, members: Members, now: float) -> None:
        facts = self._groups.facts(members)
        item = self._item(members)
        open_plan = ending.open_plan
        self._dirty[members.key] = None
        item.fingerprint = None
        if ending.end in (End.REJECTED, End.FAILED):
            reason = Reason.UNSCHEDULABLE if ending.rejectors else Reason.SCHEDULER_ERROR
            item.fingerprint = fingerprint(facts)
            saying = Saying(reason, ending.message)
            self._refused(members, facts, now, saying, ending)
            return
        causes = {cause for cause, _ in open_plan.refusals}
        if Cause.NAMESPACE_TERMINATING in causes:
            # Its pods are being deleted; nothing to tell anyone, nothing to try.
            item.fingerprint = fingerprint(facts)
        elif Cause.SCHEDULER_ERROR in causes and facts.pending:
            text = next(m for cause, m in open_plan.refusals if cause is Cause.SCHEDULER_ERROR)
            item.fingerprint = fingerprint(facts)
            saying = Saying(Reason.SCHEDULER_ERROR, f"binding was refused: {text}")
            self._refused(members, facts, now, saying)
        else:
            self._queue.succeeded(item)
        self._queue.decided(item)
        needed = any(assignment.needed for assignment in open_plan.plan.assignments)
        if needed and not facts.deficit and facts.group is not None:
            self._sayings[members.key] = PENDING
            note = f"All {facts.total.minimum} members needed are scheduled"
            self._reporter.transition(facts, Saying(Reason.SCHEDULED, note))
            self._reporter.group_event(facts, EventType.NORMAL, EventReason.GANG_SCHEDULED, note)

    # ── words ────────────────────────────────────────────────────────────────────────────────

    def _tell(self, members: Members, facts: GroupFacts) -> None:
        item = self._item(members)
        saying = self._sayings.get(members.key, PENDING)
        open_plan = self._plans.of(members.key)
        if open_plan is not None and not open_plan.permitted:
            note = f"room is reserved; {open_plan.waiting()}"
            saying = Saying(Reason.WAITING_ON_PERMIT, note)
        binding = open_plan.size if open_plan is not None and open_plan.permitted else 0
        self._reporter.status(members, facts, item, saying, binding)

    def _report_missing(self, now: float) -> None:
        for key in self._missing.overdue(now):
            members = self._groups.get(key)
            if members is not None:
                facts = self._groups.facts(members)
                self._reporter.missing_group(facts, self._groups.profile(facts).name)
