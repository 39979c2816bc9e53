# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Engine: events in, decisions out; the only stateful object of the core.

::

    apply(event)   the tables and the groups take note            O(changed row)
    step(now)      review what changed · wake whom it helps · hand out Binds · decide one group
                   · let one gang that is bound in part give its room back
    wakeup()       when to call step again if nothing happens

The clock is server time in seconds since the epoch, advanced by the shell's monotonic clock.
The same events and steps give the same effects: nothing here reads a clock or draws a number.
"""

import math
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from enbloc.engine.asking import asked
from enbloc.engine.conditions import PENDING, Saying
from enbloc.engine.cycle import GANG_PLUGIN, Room, schedule_group
from enbloc.engine.decision import Decision, question
from enbloc.engine.dump import Dump, dump
from enbloc.engine.effects import Decided, Effect, EventType
from enbloc.engine.events import Cause, Event
from enbloc.engine.gate import fingerprint, gate, helps
from enbloc.engine.infeasible import Refutations
from enbloc.engine.intake import Intake
from enbloc.engine.members import Members
from enbloc.engine.mending import Mending
from enbloc.engine.missing import Missing
from enbloc.engine.plan import Plan, Verdict
from enbloc.engine.plans import End, Ending
from enbloc.engine.promising import Promising
from enbloc.engine.prospects import Prospects
from enbloc.engine.queue import Item, Place
from enbloc.engine.search_model import takers
from enbloc.engine.settings import Settings
from enbloc.engine.whatif import Aftermath, WhatIf
from enbloc.errors import PluginError
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Happening
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import EventReason, Reason

_REASONS: Final = {
    Verdict.UNSCHEDULABLE: Reason.UNSCHEDULABLE,
    Verdict.INFEASIBLE: Reason.INFEASIBLE,
    Verdict.ERROR: Reason.SCHEDULER_ERROR,
}


class Engine:
    """Decides where groups of pods go, whole groups at a time."""

    def __init__(self, profiles: Mapping[str, Profile], settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.log: deque[Event | float] = deque(maxlen=self.settings.log)
        self._profiles = dict(profiles)
        self._intake = intake = Intake(self._profiles, self.settings)
        self._state, self._groups, self._queue = intake.state, intake.groups, intake.queue
        self._plans, self._reporter = intake.plans, intake.reporter
        self._consultations = intake.consultations
        self._outlook = intake.outlook
        self._mending = Mending(intake, self.settings)
        self._promising = Promising(intake, self.settings.schedule_timeout)
        self._prospects = Prospects(intake, self._promising)
        self._takers = {name: takers(profile) for name, profile in profiles.items()}
        self._refutations = Refutations(self._prospects)
        self._sayings: dict[GroupKey, Saying] = {}
        self._missing = Missing(self.settings.missing_grace)
        self._reviewed: dict[GroupKey, GroupFacts] = {}
        self._decided: list[Effect] = []
        self._plan_count = 0

    @property
    def synced(self) -> bool:
        """Every stream has delivered its first list; before, nothing is decided."""
        return self._intake.synced

    def apply(self, event: Event) -> None:
        """Take note of what happened; nothing is decided here."""
        self.log.append(event)
        self._intake.apply(event)

    def dump(self) -> Dump:
        """Enough to take every recent decision once more, elsewhere."""
        return dump(self._state, self.settings.search_steps)

    def without(self, nodes: Collection[str], now: float) -> Sequence[Aftermath]:
        """What would become of the groups with members on these nodes if they went.

        Raises:
            UsageError: there is no such node.
            PluginError: a Reserve plugin's ledger cannot be made.
        """
        return WhatIf(self._intake, self._promising, now, self.settings.search_steps).gone(nodes)

    # ── for the metrics ──────────────────────────────────────────────────────────────────────

    def queue_counts(self) -> dict[Place, int]:
        """How many groups are in each place of the queue."""
        return self._queue.counts()

    def below_minimum(self) -> int:
        """How many groups have started and do not run whole now."""
        return self._reporter.below_minimum

    def in_part(self) -> int:
        """How many gangs are bound below their minimum now, and not by a burst under way."""
        return len(self._intake.repairs)

    # ── decisions ────────────────────────────────────────────────────────────────────────────

    def step(self, now: float) -> Sequence[Effect]:
        """Decide at most one group, and do all that follows from what was applied.

        Returns:
            Effects in the order in which they should be started; none until every stream synced.
        """
        self.log.append(now)
        if not self.synced:
            return ()
        dirty = self._intake.dirty
        self._mending.note(now)
        self._promising.note(now)
        self._wake(now)
        self._end_plans(now)
        for overdue in self._queue.due(now):
            if overdue.place is Place.WAITING:  # it heard nothing for long: say afresh why
                self._prospects.forget(overdue.key)
            if overdue.fingerprint is None:  # a plugin failed before it could be tried
                dirty[overdue.key] = None
            else:
                self._queue.activate(overdue)
        self._review(now)
        for key in self._plans.permits(now, lambda key: self._groups.facts(self._groups[key])):
            dirty[key] = None
        self._plans.windows(now)
        for ending in self._plans.endings:  # what they gave back is promised again, if it was
            members = self._groups.get(ending.open_plan.plan.group)
            if members is not None:
                self._promising.look(members, self._groups.facts(members), now)
        item = self._next(now)
        if item is not None:
            self._decide(item, now)
            self._plans.windows(now)
        self._reviewed.clear()
        self._end_plans(now)
        self._decided += self._mending.give_way(now)
        self._report_missing(now)
        if self.settings.validate:
            self._state.check()
            self._intake.promises.check(self._state.nodes)
            self._state.check_rankings(self._profiles)
        return self._drain()

    def wakeup(self) -> float | None:
        """When to step again if nothing happens; a time that is past means at once.

        None: only an event can make a difference.
        """
        if not self.synced:
            return None
        if self._intake.news:
            return 0.0
        times = (
            self._queue.wakeup(),
            self._plans.deadline(),
            self._missing.deadline(),
            self._mending.deadline(),
            self._promising.deadline(),
        )
        return min((time for time in times if time is not None and time < math.inf), default=None)

    def _drain(self) -> list[Effect]:
        effects = [*self._decided, *self._plans.effects, *self._reporter.effects]
        self._decided.clear()
        self._plans.effects.clear()
        self._reporter.effects.clear()
        return effects

    def _wake(self, now: float) -> None:
        """Re-queue the waiting groups that what happened could help."""
        happenings = [*self._intake.happenings, *self._plans.happenings]
        self._intake.happenings.clear()
        self._plans.happenings.clear()
        for happening in happenings:
            self._plans.heard(happening)
            for key in self._queue.wake(happening, now, self._would_help):
                self._intake.dirty[key] = None

    def _would_help(self, item: Item, plugin: str, happening: Happening) -> bool:
        """Whether an event could help a group; one after which it must still fail could not."""
        return not self._in_vain(item) and helps(self._groups, item, plugin, happening)

    def _in_vain(self, item: Item) -> bool:
        """Whether adding up decides about a group as an attempt would; it counts as one."""
        if item.profile is None or not self._prospects.none(item.key):
            return False
        item.counted = self._plans.opened
        self._queue.listen(item, self._takers[item.profile.name])  # whoever refused it last
        return True

    def _next(self, now: float) -> Item | None:
        """The next group that is worth an attempt."""
        while (item := self._queue.pop()) is not None and self._in_vain(item):
            self._queue.rest(item, now)
        return item

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
        dirty = list(self._intake.dirty)
        self._intake.dirty.clear()
        for key in dirty:
            members = self._groups.get(key)
            if members is None:
                continue
            if members.empty or (members.at_rest and self._plans.of(key) is None):
                self._drop(members)
                continue
            open_plan = self._plans.of(key)
            if open_plan is not None and open_plan.started and not open_plan.floor_confirmed:
                self._mending.hold_in_burst(members, open_plan, now)
                continue  # a burst is told of when it begins and when its floor is bound
            facts = self._groups.facts(members)
            if members.started is None and not facts.deficit and members.runs_whole(facts):
                members.start(now)
                facts = replace(facts, started=True)
            self._reviewed[key] = facts
            if open_plan is not None:
                self._mending.hold_in_burst(members, open_plan, now)
                if not open_plan.started and not open_plan.still_meets(facts, members.pods):
                    self._plans.withdraw(key)
                elif facts.deficit:
                    self._plans.give_up_additions(key)
            if open_plan is None:
                self._mending.look(members, facts, now)
            self._promising.look(members, facts, now)
            self._place(members, facts, now)
            self._tell(members, facts)
        self._intake.losses.clear()

    def _drop(self, members: Members) -> None:
        key = members.key
        self._groups.drop(members)
        self._mending.drop(key)
        self._promising.drop(key)
        self._refutations.forget(key)
        self._prospects.forget(key)
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
        if self._kept_out(item, members, facts, now):
            self._prospects.forget(item.key)
        elif item.fingerprint != fingerprint(facts):
            self._prospects.forget(item.key)
            item.fingerprint = fingerprint(facts)
            self._sayings[members.key] = PENDING
            self._activate(item, members, facts, now)

    def _kept_out(self, item: Item, members: Members, facts: GroupFacts, now: float) -> bool:
        """Ask whether a group may be tried; if not, it waits for what could change that."""
        profile = self._groups.profile(facts)
        saying, plugin = gate(profile, members.group, facts)
        leaving = self._mending.giving_back(item.key)
        if leaving:
            text = f"gives its room back: {leaving} of its members are being evicted"
            saying, plugin = Saying(Reason.TIMED_OUT, text), ""
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
            if not leaving:  # it lacks members, or makes no sense: its room is held in vain
                self._mending.failed(members.key)
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
        plan = self._make_plan(members, facts, profile, now)
        if plan is None:
            return  # extenders are being asked; their answers bring it back
        self._consultations.drop(item.key)
        item.attempts += 1
        item.last_attempt = now
        item.counted = self._plans.opened
        if plan.verdict is Verdict.PLACED:
            self._queue.placed(item)
            self._mending.planned(item.key)
            self._plans.open(plan, profile, facts, now)
            self._promising.look(members, facts, now)
        else:
            self._refused(members, facts, now, Saying(_REASONS[plan.verdict], plan.message), plan)
        self._decided.append(
            Decided(
                group=item.key,
                profile=profile.name,
                attempts=item.attempts,
                result=plan.verdict.value,
                placed=len(plan.assignments),
                message=plan.message,
                plan=plan.id,
                search=plan.search,
                steps=plan.steps,
            )
        )
        if not members.solo:
            self._tell(members, self._groups.facts(members))

    def _make_plan(
        self, members: Members, facts: GroupFacts, profile: Profile, now: float
    ) -> Plan | None:
        """Decide about a group on the present state; None = extenders must be asked first."""
        self._prospects.forget(facts.key)
        self._plan_count += 1
        plan_id = f"{self.settings.identity}-{self._plan_count}"
        try:
            ledgers = self._plans.ledgers(profile)
            tentative = self._outlook.tentative(profile, facts, now, ledgers)
            if profile.extenders:
                asks = self._consultations.ask(facts.key, tentative, facts.pending)
                if asks is not None:
                    self._decided += asks
                    return None
        except PluginError as error:
            return Plan(plan_id, facts.key, Verdict.ERROR, message=str(error))
        claim = self._promising.claim(members, facts, now)
        room = Room(self._intake.promises, claim) if claim else None
        never = partial(self._refutations.of, self._state.epoch, facts, members.bound)
        steps = self.settings.search_steps
        reserved = self._plans.reserved(profile)
        asked_for = question(facts, members.bound, tentative, room, reserved, now)
        plan = schedule_group(plan_id, facts, tentative, room, never, steps)
        self._state.past.append(Decision(asked_for, plan))
        self._prospects.tried(facts, profile, claim, plan)
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
        if saying.reason in (Reason.UNSCHEDULABLE, Reason.INFEASIBLE) and not rejectors:
            # A refusal without a plugin's name (no nodes at all) is the cluster's.
            rejectors = frozenset({GANG_PLUGIN})
        self._mending.failed(members.key)
        item = self._item(members)
        item.profile = self._groups.profile(facts)
        never = saying.reason is Reason.INFEASIBLE
        self._queue.failed(item, now, rejectors, pending, self._would_help, infeasible=never)
        self._sayings[members.key] = saying
        if saying.reason is Reason.WAITING_ON_PERMIT:
            self._reporter.gated(facts, saying)
        else:
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
        self._intake.dirty[members.key] = None
        item.fingerprint = None
        if ending.end in (End.REJECTED, End.FAILED):
            reason = Reason.SCHEDULER_ERROR
            if ending.rejectors:  # a gang that somebody holds up does not lack room
                reason = Reason.UNSCHEDULABLE if facts.solo else Reason.WAITING_ON_PERMIT
            item.fingerprint = fingerprint(facts)
            saying = Saying(reason, ending.message)
            self._refused(members, facts, now, saying, ending)
            return
        causes = {refusal.cause for refusal in open_plan.refusals}
        pending = {pod.uid for pod in facts.pending}
        unseen = [refusal for refusal in open_plan.refusals if refusal.uid in pending]
        if Cause.NAMESPACE_TERMINATING in causes:
            # Its pods are being deleted; nothing to tell anyone, nothing to try.
            item.fingerprint = fingerprint(facts)
        elif Cause.SCHEDULER_ERROR in causes and facts.pending:
            text = next(
                refusal.message
                for refusal in open_plan.refusals
                if refusal.cause is Cause.SCHEDULER_ERROR
            )
            item.fingerprint = fingerprint(facts)
            saying = Saying(Reason.SCHEDULER_ERROR, f"binding was refused: {text}")
            self._refused(members, facts, now, saying)
        elif unseen:
            # The watch has yet to show what became of the member. That will be a change of the
            # group's own, and ends the pause; until then the same Binding would be refused again.
            item.fingerprint = fingerprint(facts)
            self._mending.failed(members.key)
            self._queue.failed(item, now, (), (), self._would_help)
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
        elif open_plan is None and (note := self._mending.remark(members, facts)):
            saying = Saying(saying.reason, f"{saying.message} ({note})")
        binding = open_plan.size if open_plan is not None and open_plan.permitted else 0
        expired = self._promising.expired(members.key)
        self._reporter.status(members, facts, item, saying, binding=binding, expired=expired)

    def _report_missing(self, now: float) -> None:
        for key in self._missing.overdue(now):
            members = self._groups.get(key)
            if members is not None:
                facts = self._groups.facts(members)
                self._reporter.missing_group(facts, self._groups.profile(facts).name)
