# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Admission: where a group belongs in the queue, and why it is not scheduled now."""

from collections.abc import Iterable, Sequence
from typing import Final

from enbloc.engine.admission.gate import fingerprint, gate
from enbloc.engine.batch import HintOf
from enbloc.engine.core import Core
from enbloc.engine.effects import EventType
from enbloc.engine.packing import PLACING_STEPS, takers
from enbloc.engine.plan import GANG_PLUGIN, Plan
from enbloc.engine.policies import Pause, Policy
from enbloc.engine.queue import MOST_DUE, CapacityPrecheck, Item, QueuePlace, Subqueue
from enbloc.engine.report import NOWHERE, PENDING, Overdue, ReasonAndMessage, topology_status
from enbloc.engine.state import Run
from enbloc.engine.tally import (
    ACTIVE,
    BACKOFF,
    BACKOFF_OVER,
    GATED,
    POD_ADDED,
    POD_UPDATED,
    TOO_LONG,
    UNSCHEDULABLE,
    Census,
)
from enbloc.engine.turn import End, Ending, Turn
from enbloc.errors import PluginError
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Happening
from enbloc.model.binding import RefusalCause
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason, Reason

#: The queues of kube-scheduler; all others are gated there, or placed.
_QUEUES: Final = {
    QueuePlace.ACTIVE: ACTIVE,
    QueuePlace.BACKOFF: BACKOFF,
    QueuePlace.WAITING: UNSCHEDULABLE,
}

#: At most this many groups are refused without an attempt per turn.
MOST_REFUSED: Final = 1024

_LACK_OF_ROOM: Final = (Reason.UNSCHEDULABLE, Reason.INFEASIBLE)


class Admission:
    """Put groups into the queue, keep out those that may not be tried, and record why.

    Args:
        core: what is known of the cluster.
        policies: learn which attempts failed.
        precheck: tells which groups need no attempt.
    """

    def __init__(self, core: Core, policies: Sequence[Policy], precheck: CapacityPrecheck) -> None:
        self._groups, self._order, self._queue = core.groups, core.order, core.queue
        self._plans, self._victims, self._reporter = core.plans, core.victims, core.reporter
        self._extender_queries = core.extender_queries
        self._nodes = core.state.nodes
        self._policies = policies
        self._precheck = precheck
        #: By profile, the plugins that allot capacity.
        self._takers = {name: takers(profile) for name, profile in core.profiles.items()}
        settings = core.settings
        self._overdue = Overdue(settings.missing_grace, settings.waiting_grace)
        #: Why a group is not scheduled; groups that are missing here have not been tried yet.
        self._why: dict[GroupKey, ReasonAndMessage] = {}

    def why(self, key: GroupKey) -> ReasonAndMessage:
        """Return why a group is not scheduled now."""
        return self._why.get(key, PENDING)

    def item(self, run: Run) -> Item:
        """Return the group's item in the queue; create it if new."""
        item = self._queue.get(run.key)
        if item is None:
            memory = run.group.memory if run.group is not None else None
            if memory is None or memory.run_name != run.run_name:
                return self._queue.item(run.key, solo=run.solo)
            item = self._queue.item(
                run.key,
                solo=run.solo,
                attempts=memory.attempts,
                last_attempt=memory.last_attempt,
            )
        return item

    def census(self) -> Census:
        """Return who waits for what."""
        census = Census()
        for item in self._queue:
            pods, place = item.pods, item.place
            if not item.solo:
                census.podgroups["parked" if place.parked else place.value] += 1
            if not pods or (place.parked and self._plans.of(item.key) is not None):
                continue
            census.pods[_QUEUES.get(place, GATED)] += pods
            if place is QueuePlace.WAITING or place is QueuePlace.BACKOFF:
                for name in item.rejectors:
                    census.refused[name, item.profile.name if item.profile else ""] += pods
            if not item.solo:
                census.reasons[self.why(item.key).reason] += 1
                queued = item.queued
                if queued is not None and not place.parked:
                    census.oldest = queued if census.oldest is None else min(census.oldest, queued)
        return census

    def forget(self, key: GroupKey) -> None:
        """Drop a group that is gone."""
        self._precheck.forget(key)
        self._queue.drop(key)
        self._extender_queries.drop(key)
        self._why.pop(key, None)
        self._overdue.forget(key)

    def doubt(self, keys: Iterable[GroupKey]) -> None:
        """Let the next attempt of these groups find out whether enough may be free for them."""
        for key in keys:
            self._precheck.forget(key)

    # ── time and events ──────────────────────────────────────────────────────────────────────

    def deadline(self) -> float:
        """Return when to act here; groups that can be tried wait for slots if many need them."""
        queue = self._queue
        tried = queue.next_timer() if self.must_wait else queue.wakeup()
        return min(tried, self._overdue.deadline())

    def expire(self, turn: Turn) -> None:
        """Try groups whose pause is over; notify members whose PodGroup or siblings do not come."""
        due = self._queue.due(turn.now)
        turn.behind = len(due) >= MOST_DUE
        for item in due:
            waited = item.place is QueuePlace.WAITING
            if waited:  # no event for long: determine the cause anew
                self._precheck.forget(item.key)
            if item.fingerprint is None:  # a plugin failed before the group could be tried
                turn.change(item.key)
            else:
                self._queue.activate(item, TOO_LONG if waited else BACKOFF_OVER)
        for key in self._overdue.due(turn.now):
            run = self._groups.get(key)
            if run is None or key in turn.changed or self._plans.of(key) is not None:
                continue  # what it waited for has come, or may have: a review will tell
            facts, why = self._groups.facts(run), self.why(key)
            if not facts.quorum or why.reason is Reason.WAITING_FOR_MEMBERS:
                self._tell(turn, facts, why)

    def wake(self, turn: Turn, happened: Sequence[Happening]) -> None:
        """Queue the waiting groups that these events could help."""
        self._queue.hear(happened)
        for key in self._queue.wake(turn.now, self._refused_by_precheck, self._hints):
            turn.change(key)
        turn.behind |= self._queue.behind

    def _hints(self, item: Item) -> HintOf:
        """Return the queueing hints of a group's plugins, on facts that are built once for all."""
        known: list[GroupFacts] = []

        def facts() -> GroupFacts:
            if not known:
                known.append(self._groups.facts(self._groups[item.key]))
            return known[0]

        def hint(plugin: str, happening: Happening) -> bool:
            return item.profile is None or item.profile.hints(plugin, happening, facts)

        return hint

    def _refused_by_precheck(self, item: Item) -> bool:
        """Whether aggregate free capacity refuses a group; a refusal counts as an attempt."""
        if item.profile is None or not self._precheck.refuses(item.key):
            return False
        takers = self._takers[item.profile.name]  # regardless of who refused it last
        if self._precheck.awaits_admission(item.key):
            takers |= {GANG_PLUGIN}
        self._queue.listen(item, takers, self._plans.opened)
        return True

    def lacked_capacity(self, item: Item) -> bool:
        """Whether a plugin that allots capacity, or the engine, refused a group."""
        profile = item.profile
        return profile is not None and bool(
            item.rejectors & (self._takers[profile.name] | {GANG_PLUGIN})
        )

    def reorder(self, turn: Turn) -> None:
        """Compute the place of each group again, after the order has changed."""
        for run in self._groups:
            self.place(run, self._groups.facts(run))
            turn.change(run.key)

    @property
    def must_wait(self) -> bool:
        """Whether no group may be decided until Bindings are answered."""
        if self._plans.far_ahead:
            return True
        stalled = self._plans.stalled
        return bool(stalled) and not self._queue.beside(stalled)

    def next(self, turn: Turn) -> Item | None:
        """Return the next group that is worth an attempt, if one is found within this turn.

        Groups of a namespace with too much under way are set aside, so that others go on.
        """
        stalled = self._plans.stalled
        self._queue.resume(stalled)
        for _ in range(MOST_REFUSED):
            item = self._queue.pop()
            if item is None:
                return None
            if item.key.namespace in stalled:
                self._queue.set_aside(item)
            elif self._refused_by_precheck(item):
                self._queue.rest(item, turn.now)
            else:
                return item
        return None

    # ── one group ────────────────────────────────────────────────────────────────────────────

    def place(self, run: Run, facts: GroupFacts) -> str:
        """Give a group its place in the order; return why that failed, "" = it did not."""
        item = self.item(run)
        item.count(len(facts.pending))
        try:
            key = self._order.note(facts)
        except PluginError as error:
            return str(error)
        level, namespace = self._order.level(key), run.key.namespace
        among = None if level is None else Subqueue(level, namespace, _owner(run))
        self._queue.rank(item, key, among)
        return ""

    def review(self, turn: Turn, run: Run, facts: GroupFacts, misplaced: str) -> None:
        """Put a changed group without an open plan where it belongs in the queue.

        Args:
            turn: receives what to do.
            run: the group's run.
            facts: the group's facts.
            misplaced: what `place` returned.
        """
        item = self.item(run)
        self._reporter.suspect(turn, facts, self._groups.profile(facts).name)
        if self.kept_out(turn, item, run, facts):
            self._precheck.forget(item.key)
            return
        mark = fingerprint(facts)
        if item.fingerprint != mark or (item.held and self._pause(facts, turn.now) is None):
            self._precheck.forget(item.key)
            profile = self._groups.profile(facts)
            if misplaced:
                item.keep_out(profile)
                self.refused(turn, run, facts, ReasonAndMessage(Reason.SCHEDULER_ERROR, misplaced))
                return
            self._why[run.key] = PENDING
            first = item.admit(profile, mark, turn.now)
            self._queue.activate(item, POD_ADDED if first else POD_UPDATED)

    def kept_out(self, turn: Turn, item: Item, run: Run, facts: GroupFacts) -> bool:
        """Whether a group may not be tried; if so, it waits for what could change that."""
        profile = self._groups.profile(facts)
        why, plugin = gate(profile, run.group, facts)
        if not facts.solo:
            gated = (why or self.why(item.key)).reason is Reason.WAITING_FOR_MEMBERS
            self._overdue.look(facts, turn.now, gated=gated)
        staying = self._victims.staying(item.key)
        if staying:
            text = f"evicting {staying} members to release capacity"
            why, plugin = ReasonAndMessage(self._leaves_for(item.key), text), ""
        pause = None
        if why is None and facts.pending:
            pause = self._pause(facts, turn.now)
            if pause is None or not pause.refused:
                return False
        item.keep_out(profile)
        if pause is not None:
            self.hold(turn, item, facts, pause)
            return True
        self._extender_queries.drop(item.key)
        if why is not None and why.reason is Reason.SCHEDULER_ERROR and facts.pending:
            self.refused(turn, run, facts, why)
            return True
        self._queue.decided(item)
        self._queue.park(item, QueuePlace.IDLE if why is None else QueuePlace.GATED, plugin)
        if why is not None:
            self._why[run.key] = why
            if not staying:  # it lacks members or is invalid, and still holds capacity
                self._failed(run.key, why)
            if facts.solo and facts.problem:
                self._unplaced(turn, facts, profile.name, why)
            else:
                self._wait(turn, facts, why)
        return True

    def _leaves_for(self, key: GroupKey) -> Reason:
        eviction = self._victims.of(key)
        preempted = eviction and eviction.reason is Reason.PREEMPTION_BY_SCHEDULER
        return Reason.PREEMPTED if preempted else Reason.TIMED_OUT

    def _wait(self, turn: Turn, facts: GroupFacts, why: ReasonAndMessage) -> None:
        """Report what a group that may not be tried waits for; expected objects after a while."""
        overdue = self._overdue.told(facts.key)
        if facts.group is not None or not overdue:
            self._reporter.gated(turn, facts, why)
        to_come = facts.group is None or why.reason is Reason.WAITING_FOR_MEMBERS
        if overdue or not to_come:
            self._tell(turn, facts, why)

    def _tell(self, turn: Turn, facts: GroupFacts, why: ReasonAndMessage) -> None:
        name = self._groups.profile(facts).name
        if facts.group is None:
            self._reporter.missing_group(turn, facts, name)
        else:
            self._reporter.tell_members(turn, facts, why, name)

    def _pause(self, facts: GroupFacts, now: float) -> Pause | None:
        if facts.solo:  # enbloc never evicted it
            return None
        return next((p for policy in self._policies if (p := policy.pause(facts, now))), None)

    def paused_until(self, facts: GroupFacts, now: float) -> float | None:
        """Return until when a pausing group would not be bound; None = it does not pause."""
        pause = self._pause(facts, now)
        return None if pause is None else pause.until

    def held_back(self, turn: Turn, item: Item, facts: GroupFacts) -> bool:
        """Hold back a group that could be placed until the end of its pause.

        Not one that was called up: otherwise a group later in the order would be placed.
        """
        pause = None if item.called else self._pause(facts, turn.now)
        if pause is not None:
            self.hold(turn, item, facts, pause)
        return pause is not None

    def hold(self, turn: Turn, item: Item, facts: GroupFacts, pause: Pause) -> None:
        """Make a group wait until the end of its pause."""
        self._extender_queries.drop(item.key)
        self._queue.hold(item, pause.until, error=pause.refused)
        self._why[item.key] = pause.why
        self._failed(item.key, pause.cause)
        self._reporter.gated(turn, facts, pause.why)

    def refused(
        self,
        turn: Turn,
        run: Run,
        facts: GroupFacts,
        why: ReasonAndMessage,
        who: Plan | Ending | None = None,
        searched: int = 0,
        *,
        unfinished: bool = False,
    ) -> None:
        """Handle a failed attempt: the group waits for what could help it.

        Args:
            turn: receives what to do.
            run: the group's run.
            facts: the group's facts.
            why: the reason.
            who: names the plugins that refused; None = no plugin did, it was an error.
            searched: the steps that searches took.
            unfinished: the next attempt, after a pause, may get further without any event.
        """
        named = None if unfinished else who
        rejectors, pending = (
            (named.rejectors, named.pending) if named else (frozenset(), frozenset())
        )
        if why.reason in _LACK_OF_ROOM and not rejectors and not unfinished:
            # A refusal that names no plugin (no nodes at all) is due to the cluster.
            rejectors = frozenset({GANG_PLUGIN})
        self._failed(run.key, why)
        item, profile = self.item(run), self._groups.profile(facts)
        item.put_under(profile)
        self._queue.failed(
            item,
            turn.now,
            rejectors,
            pending,
            self._hints,
            infeasible=why.reason is Reason.INFEASIBLE,
            steps=PLACING_STEPS * len(facts.pending) + searched,
        )
        self._why[run.key] = why
        if why.reason is Reason.WAITING_ON_PERMIT:
            self._reporter.gated(turn, facts, why)
            self._tell(turn, facts, why)
        elif why.reason is Reason.WAITING_FOR_MEMBERS:  # for claims that a controller creates
            self._overdue.look(facts, turn.now, gated=True)
            self._wait(turn, facts, why)
        else:
            self._unplaced(turn, facts, profile.name, why)

    def _unplaced(self, turn: Turn, facts: GroupFacts, profile: str, why: ReasonAndMessage) -> None:
        nominated = (policy.nominated(facts.key) for policy in self._policies)
        found = next(filter(None, nominated), NOWHERE)
        self._reporter.unplaced(turn, facts, profile, why, found)

    def _failed(self, key: GroupKey, why: ReasonAndMessage) -> None:
        for policy in self._policies:
            policy.failed(key, why)

    # ── the end of a plan ────────────────────────────────────────────────────────────────────

    def ended(self, turn: Turn, ending: Ending) -> None:
        """Handle a plan that is no longer open: its group is done, or is tried again."""
        run = self._groups.get(ending.plan.group)
        if run is None:
            return
        turn.change(run.key)
        self._groups.plan_ended(run)
        if run.at_rest:
            return  # it is dropped in this same stage
        facts = self._groups.facts(run)
        item = self.item(run)
        item.renew()
        self._queue.park(item, QueuePlace.IDLE)
        if ending.end in (End.REJECTED, End.FAILED):
            reason = Reason.SCHEDULER_ERROR
            if ending.rejectors:  # a gang that a plugin holds up does not lack capacity
                reason = Reason.UNSCHEDULABLE if facts.solo else Reason.WAITING_ON_PERMIT
            item.settle(fingerprint(facts))
            self.refused(turn, run, facts, ReasonAndMessage(reason, ending.message), ending)
            return
        causes = {refusal.cause for refusal in ending.refusals}
        pending = {pod.uid for pod in facts.pending}
        unseen = [refusal for refusal in ending.refusals if refusal.uid in pending]
        if RefusalCause.NAMESPACE_TERMINATING in causes:
            # Its pods are being deleted: there is nothing to report or to try.
            item.settle(fingerprint(facts))
        elif RefusalCause.SCHEDULER_ERROR in causes and facts.pending:
            text = next(
                r.message for r in ending.refusals if r.cause is RefusalCause.SCHEDULER_ERROR
            )
            item.settle(fingerprint(facts))
            why = ReasonAndMessage(Reason.SCHEDULER_ERROR, f"binding rejected: {text}")
            self.refused(turn, run, facts, why)
        elif unseen:
            # The watch has yet to show what happened to the member. That change of the group ends
            # the pause; until then the same Binding would be refused again.
            item.settle(fingerprint(facts))
            self._failed(run.key, self.why(run.key))
            self._queue.failed(item, turn.now, (), (), self._hints)
        else:
            self._queue.succeeded(item)
        self._queue.decided(item)
        needed = any(assignment.needed for assignment in ending.plan.assignments)
        if needed and not facts.deficit and facts.group is not None:
            self._why[run.key] = PENDING
            note = self._scheduled(facts)
            kind, scheduled = EventType.NORMAL, EventReason.GANG_SCHEDULED
            self._reporter.transition(turn, facts, ReasonAndMessage(Reason.SCHEDULED, note))
            self._reporter.group_event(turn, facts, kind, scheduled, note)

    def _scheduled(self, facts: GroupFacts) -> str:
        """Return the message that the minimum is scheduled, and in which domain."""
        note = f"All {facts.total.minimum} required members are scheduled"
        if facts.total.minimum == 1:
            note = "The 1 required member is scheduled"
        where = topology_status(facts.locality, self._nodes)
        return note if where is None or not where.path else f"{note} in {where.level} {where.path}"


def _owner(run: Run) -> str:
    """Return who takes turns in a namespace: the controller or the group; bare pods share one."""
    if not run.solo:
        return (run.group.owner if run.group else "") or run.key.name
    pod = next(iter(run.pods.values()), None)
    return pod.owner.uid if pod is not None and pod.owner is not None else ""
