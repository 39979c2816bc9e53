# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Engine: events in, effects out; the only object of the core that shells hold.

::

    apply(event)   update the tables and the groups               O(changed row)
    step(now)      one turn: expire · wake · review · decide · send · evict
    stand_by()     instead of a step, while another replica decides
    wakeup()       when to call step again if no event arrives

The clock is server time in seconds since the epoch, advanced by the shell's monotonic clock.
The same events and steps give the same effects: nothing here reads a clock or draws a number.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from enbloc.engine.admission import Admission
from enbloc.engine.core import Core
from enbloc.engine.decide import Attempts, Planner
from enbloc.engine.effects import Effect
from enbloc.engine.event_handlers import EventHandlers
from enbloc.engine.events import Event
from enbloc.engine.left_overs import LeftOvers
from enbloc.engine.policies import (
    HeldCapacity,
    MinResources,
    NodeHistory,
    Policy,
    Preemptions,
    Repair,
    Returning,
)
from enbloc.engine.queue import CapacityPrecheck
from enbloc.engine.replay import Aftermath, Dump, WhatIf, take_dump
from enbloc.engine.report import (
    Progress,
    ReasonAndMessage,
    advise,
    counted,
    preparing,
    topology_status,
)
from enbloc.engine.settings import Settings
from enbloc.engine.state import MIN_RESOURCES, Key, Run
from enbloc.engine.tally import Census, Tally
from enbloc.engine.trial import Stopwatch, timed
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.ledgers import ledgers_of
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.model.pods import PodUID

#: At most this many changed groups are reviewed per turn; the rest come first in the next turn.
MOST_REVIEWS: Final = 256

#: A turn that has placed this many pods decides no further group, so that their effects are sent.
MOST_PLACED: Final = 16

#: Creates additional policies for a core.
Further = Callable[[Core], Sequence[Policy]]


class Engine:
    """Decide where groups of pods run, one whole group at a time.

    Args:
        profiles: by the schedulerName that pods set.
        settings: of the engine.
        further: creates policies that are asked after the built-in ones.
        stopwatch: times plugin calls, in the decisions that it samples.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        settings: Settings | None = None,
        further: Further = lambda _: (),
        stopwatch: Stopwatch | None = None,
    ) -> None:
        self._stopwatch = stopwatch
        self.settings = settings or Settings()
        self._core = core = Core(profiles, self.settings)
        self._state, self._groups, self._queue = core.state, core.groups, core.queue
        self._plans, self._victims, self._reporter = core.plans, core.victims, core.reporter
        self._min_resources = MinResources(
            core.state, core.groups, core.plans, core.order, core.reporter, self.settings
        )
        self._repair = Repair(
            core.groups,
            core.order,
            core.queue,
            core.victims,
            core.reporter,
            Planner(core, self._min_resources),
            self.settings.schedule_timeout,
        )
        self._preemptions = Preemptions(core, self._min_resources.to_be_free)
        self._policies: tuple[Policy, ...] = (
            NodeHistory(core.observations, core.groups),
            self._repair,
            HeldCapacity(core.state, core.groups, core.plans, self._repair),
            self._min_resources,
            self._preemptions,
            Returning(),
            *further(core),
        )
        precheck = CapacityPrecheck(core.state, core.groups, self._min_resources)
        self._admission = Admission(core, self._policies, precheck)
        self._left_overs = LeftOvers(core.state)
        self._attempts = Attempts(
            core,
            self._policies,
            self._min_resources,
            self._preemptions,
            self._admission,
            precheck,
            self._left_overs,
        )
        self._handlers = EventHandlers(core)
        #: The turn that the next step will process.
        self._next = Turn()
        #: Groups that changed while another replica decided, and are not reviewed yet.
        self._deferred: dict[GroupKey, None] = {}

    @property
    def synced(self) -> bool:
        """Whether every stream has synced, that of the Lease too; before, nothing is decided."""
        return self._handlers.synced

    def apply(self, event: Event) -> None:
        """Record an event; nothing is decided here."""
        self._handlers.apply(event, self._next)

    def dump(self) -> Dump:
        """Return what is needed to replay recent decisions, or to ask what comes next, offline."""
        return take_dump(self._core)

    def without(
        self, nodes: Collection[str], now: float, timely: Callable[[], bool] = lambda: True
    ) -> Sequence[Aftermath]:
        """Return what would happen to groups with members on these nodes if the nodes went away.

        Raises:
            UsageError: there is no such node.
            PluginError: a plugin failed.
            EnblocError: `timely` said that there is no time left.
        """
        return WhatIf(self._core, self._min_resources, self._preemptions, now).gone(nodes, timely)

    def places(self, pod_group: GroupKey, but: PodUID) -> bool:
        """Whether a pod of a Kubernetes PodGroup, other than this one, has a seat."""
        return self._state.places(pod_group, but)

    def unknown_classes(self) -> Sequence[str]:
        """Return the PriorityClasses that the settings name but the cluster lacks, in order."""
        named = {each.priority_class for each in self.settings.preemption.min_runtimes}
        return sorted(named - self._groups.classes.keys() - {""})

    # ── for the metrics ──────────────────────────────────────────────────────────────────────

    @property
    def tally(self) -> Tally:
        """Return the counters since the start."""
        return self._core.tally

    def census(self) -> Census:
        """Return who waits for what, and what is known and reserved."""
        census, state = self._admission.census(), self._state
        census.reserved = {
            "binding": self._plans.reserving,
            "min_resources": len(state.reservations.with_purpose(MIN_RESOURCES)),
        }
        topologies = self._groups.topologies.values()
        levels = {level.name for topology in topologies for level in topology.levels}
        census.topology_gangs = counted(self._reporter.whereabouts.values(), levels)
        assumed = len(state.reservations.plans)
        census.cached = {
            "nodes": len(state.nodes),
            "pods": len(state.pods),
            "assumed_pods": assumed,
        }
        return census

    def below_minimum(self) -> int:
        """Return the number of started groups that now run with less than their minimum."""
        return self._reporter.below_minimum

    def in_part(self) -> int:
        """Return the number of gangs bound below their minimum now, unless by a burst under way."""
        return len(self._repair)

    # ── one turn ─────────────────────────────────────────────────────────────────────────────

    def step(self, now: float) -> Sequence[Effect]:
        """Decide one or a few groups, and do all that follows from the applied events.

        Returns:
            Effects in the order in which to start them; none until every stream has synced.
        """
        if not self.synced:
            return ()
        turn = self._next
        turn.now = now
        if self._deferred:
            turn.changed = {**self._deferred, **turn.changed}
            self._deferred = {}
        self._expire(turn)
        self._wake(turn)
        self._review(turn)
        self._decide(turn)
        self._plans.send(turn)
        self._evict(turn)
        self._next = turn.left_over()
        self._validate()
        return turn.effects

    def stand_by(self) -> None:
        """Discard what only a step would process, while another replica decides.

        Groups are reviewed when the first step comes. What happened before is not reported then, as
        after a restart.
        """
        turn, self._next = self._next, Turn()
        while turn.changed:  # forgetting a run changes the other runs of its group
            due, turn.changed = turn.changed, {}
            for key in due:
                run = self._groups.get(key)
                if run is None or run.at_rest or self._groups.over(run):
                    self._deferred.pop(key, None)
                    if run is not None:
                        self._forget(turn, run)
                else:
                    self._deferred[key] = None

    def _expire(self, turn: Turn) -> None:
        """Process what time ended (reservations, evictions, pauses), and a new order."""
        turn.happened += self._state.expire_reservations(turn.now)
        self._victims.expire(turn)
        for policy in self._policies:
            policy.expire(turn)
        self._admission.expire(turn)
        self._left_overs.expire(turn)
        for key in self._groups.overdue(turn.now):
            turn.change(key)
        if self._core.order.outdated(self._core.profiles.values()):
            self._admission.reorder(turn)

    def _wake(self, turn: Turn) -> None:
        """Ask waiting Permit plugins again; queue the groups that recent events could help.

        A Permit wait that is over ends here: after the events that preceded its end, and before the
        decision, so that other groups can use its capacity.
        """
        happened, turn.happened = turn.happened, []
        self._plans.wake(happened)
        self._plans.permits(turn, lambda key: self._groups.facts(self._groups[key]))
        released, turn.happened = turn.happened, []
        self._admission.wake(turn, [*happened, *released])
        self._plans.wake(released)

    def _review(self, turn: Turn) -> None:
        """Review the groups whose plan ended or that changed."""
        endings, turn.endings = turn.endings, []
        for ending in endings:
            self._admission.ended(turn, ending)
        due = list(islice(turn.changed, MOST_REVIEWS))
        turn.behind |= len(turn.changed) > MOST_REVIEWS
        for key in due:
            del turn.changed[key]
        for key in due:
            run = self._groups.get(key)
            if run is not None:
                self._review_group(turn, run)
            turn.losses.pop(key, None)
        if turn.fallen:  # once for all of them, as there may be many who look for victims
            turn.fallen = False
            self._admission.doubt(self._preemptions.seek_again())

    def _decide(self, turn: Turn) -> None:
        """Decide one group after the other, each against one snapshot, and reserve the result.

        After a placed group, decide the next one, unless the result needs an earlier stage first or
        a ranking had to be rebuilt. So a turn costs no more than one decision may.
        """
        rankings, left = self._state.rankings, MOST_PLACED
        made = rankings.made
        while left > 0 and not (turn.behind or self._admission.must_wait):
            placed = self._decide_next(turn)
            if not placed or rankings.made != made or turn.unseen:
                return
            left -= placed

    def _decide_next(self, turn: Turn) -> int:
        """Decide the first group in order; return the number of placed pods."""
        item = self._admission.next(turn)
        if item is None:
            return 0
        run = self._groups[item.key]
        facts = turn.reviewed.get(item.key) or self._groups.facts(run)
        fresh = item.key in turn.reviewed
        if not fresh and self._admission.kept_out(turn, item, run, facts):
            self._report(turn, run, facts)
            return 0
        profile = self._groups.profile(facts)
        decide, watch = self._attempts.decide, self._stopwatch
        if watch is not None and watch.begin(profile.name):
            decided = timed(watch, decide, turn, item, run, facts, profile)
        else:
            decided = decide(turn, item, run, facts, profile)
        if decided and not run.solo:
            self._report(turn, run, self._groups.facts(run))
        open_plan = self._plans.of(item.key)
        return open_plan.size if decided and open_plan is not None else 0

    def _evict(self, turn: Turn) -> None:
        """Let policies choose what to evict, and evict at most one unit of members."""
        for policy in self._policies:
            policy.choose(turn)
        self._victims.evict(turn)

    def wakeup(self) -> float | None:
        """Return when to step again if no event arrives; a time in the past means at once.

        None: only an event can make a difference.
        """
        if not self.synced:
            return None
        if self._deferred or self._next.news:
            return 0.0
        first = min(
            self._admission.deadline(),
            self._plans.deadline(),
            self._state.reservations.deadline(),
            self._groups.deadline(),
            self._victims.deadline(),
            self._left_overs.deadline(),
            *(policy.deadline() for policy in self._policies),
        )
        return first if first < math.inf else None

    # ── one group ────────────────────────────────────────────────────────────────────────────

    def _review_group(self, turn: Turn, run: Run) -> None:
        key = run.key
        self._arrange(turn, run)
        open_plan = self._plans.of(key)
        if open_plan is None and (run.at_rest or self._groups.over(run)):
            self._forget(turn, run)
            return
        if open_plan is not None and open_plan.started and not open_plan.floor_confirmed:
            for policy in self._policies:
                policy.burst(turn, run)
            return  # the status is written when a burst begins and when its floor is bound
        closed = run.scheduled
        facts = self._follow(run, self._groups.facts(run), turn.now)
        turn.reviewed[key] = facts
        if run.scheduled != closed and len(self._groups.runs(key)) > 1:
            turn.change(key)  # who waited with it may join it now
        before = self._core.order.of(key)
        misplaced = self._admission.place(run, facts)
        for policy in self._policies:
            policy.review(turn, run, facts)
        self._let_by(turn, run, before)
        if open_plan is None:
            self._admission.review(turn, run, facts, misplaced)
            if self._admission.item(run).place.parked:
                self._left_overs.parked(turn, facts, self._groups.profile(facts))
            else:
                self._left_overs.tried(key)
        elif not open_plan.started and not open_plan.still_meets(facts, run.pods):
            self._plans.withdraw(key, turn)
        elif facts.deficit:
            self._plans.give_up_additions(key, turn)
        self._report(turn, run, facts)

    def _arrange(self, turn: Turn, run: Run) -> None:
        """Find out which members of a PodGroup form one gang, and who writes its status."""
        if not run.solo:
            for each in self._groups.arrange(run, turn.now):
                turn.change(each)
            self._reporter.look(self._groups.newest(run))

    def _let_by(self, turn: Turn, run: Run, before: Key | None) -> None:
        """Let those try that a group no longer precedes, if it holds what they could use.

        That is what is reserved for it, and nodes of its members if its priority has fallen.
        """
        order = self._core.order
        after = order.of(run.key)
        if run.solo or before is None or after is None or not before < after:
            return
        reserved = self._state.reservations.until_placed(run.key)
        turn.happened += (each.released for each in reserved)
        if run.bound and (order.level(after) is None or order.level(before) != order.level(after)):
            turn.fallen = True

    def _follow(self, run: Run, facts: GroupFacts, now: float) -> GroupFacts:
        """Record that the floor is reserved, the group runs, or no member is bound any more."""
        if facts.group is None or run.solo:
            return facts
        if not facts.deficit:
            if run.scheduled is None and run.planned_here:
                self._core.tally.group_waits.append(max(0.0, now - facts.queue_time))
            run.close(now)
        if run.starts_anew(facts, now):
            run.stop()
            return self._groups.facts(run)
        if run.started is None and not facts.deficit and run.runs_whole(facts):
            run.start(now)
            return replace(facts, started=True)
        if whole := [floor for floor in facts.coming if not floor.deficit]:
            came = {floor.role: floor.minimum for floor in whole}
            run.floor.welcome(facts.group, came, facts.total.held)
            return self._groups.facts(run)
        return facts

    def _forget(self, turn: Turn, run: Run) -> None:
        key = run.key
        self._groups.drop(run)
        if not run.solo:
            left = self._groups.runs(key)
            for each in left:
                turn.change(each.key)
            if not left:
                self._reporter.forget_podgroup(key.podgroup)
        for policy in self._policies:
            policy.forget(turn, run)
        self._attempts.forget(key)
        self._left_overs.tried(key)
        self._admission.forget(key)
        self._core.order.forget(key)
        self._reporter.forget_group(key)

    def _report(self, turn: Turn, run: Run, facts: GroupFacts) -> None:
        """Update the status of a group; a pod without a group has its own conditions."""
        if run.solo:
            return
        runs = self._groups.runs(run.key)
        if runs[-1] is not run:
            self._reporter.satisfied(turn, run, facts)
            run, facts = runs[-1], self._groups.facts(runs[-1])
        why = self._admission.why(run.key)
        open_plan = self._plans.of(run.key)
        if open_plan is not None and not open_plan.permitted:
            note = f"capacity is reserved; {open_plan.waiting()}"
            why = ReasonAndMessage(Reason.WAITING_ON_PERMIT, note)
        elif open_plan is None:
            notes = [note for p in self._policies if (note := p.remark(run, facts))]
            others = sum(len(each.live) for each in runs) - facts.members
            if others:
                theirs = "1 member" if others == 1 else f"{others} members"
                notes.append(f"not counting {theirs} of earlier runs")
            if notes:
                why = replace(why, message=f"{why.message} ({'; '.join(notes)})")
        binding = ""
        if open_plan is not None and open_plan.permitted:
            waits = preparing(open_plan.in_preparation(), ledgers_of(self._state.nodes))
            members = "member" if open_plan.size == 1 else "members"
            binding = f"binding {open_plan.size} {members}" + (f"; {waits}" if waits else "")
        self._reporter.status(
            turn,
            runs,
            facts,
            self._admission.item(run),
            why,
            Progress(
                binding,
                self._min_resources.expired(run.key),
                self._preemptions.preempted(run.key),
            ),
            notes=advise(facts, self._groups.classes),
            topology=topology_status(facts.locality, self._state.nodes),
        )

    def _validate(self) -> None:
        """Assert the invariants, if the settings ask for it."""
        if self.settings.validate:
            self._state.check()
            self._min_resources.capacity().check(self._state.nodes)
            self._state.check_rankings(self._core.profiles)
