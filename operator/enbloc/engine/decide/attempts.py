# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Attempts: one group is decided against one snapshot of the present."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from enbloc.devices.effort import MOST_EFFORT
from enbloc.engine.admission import Admission
from enbloc.engine.choices import with_planned
from enbloc.engine.core import Core
from enbloc.engine.decide.assign import place_group
from enbloc.engine.decide.cycle import Placer, Room, schedule_group, to_be_admitted
from enbloc.engine.decide.decision import Decision, VictimSearch, question
from enbloc.engine.effects import Attempt, Decided
from enbloc.engine.left_overs import LeftOvers
from enbloc.engine.plan import Plan, PlanResult
from enbloc.engine.policies import MinResources, Policy, Preemptions
from enbloc.engine.preemption import Searched, preempting
from enbloc.engine.queue import CapacityPrecheck, Item, Refutations
from enbloc.engine.report import Explanation
from enbloc.engine.state import Members, Reservation
from enbloc.engine.trial import Search, Trial, preferring
from enbloc.engine.turn import Turn
from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.framework.decide import MAX_NODE_SCORE
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.ledgers import ledgers_of
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.model.pods import Pod
from enbloc.storage.wanted import to_be_made

#: Steps of search while others wait for a first attempt, about 3 ms.
HURRIED_STEPS: Final = 625

#: A search for victims among more units is not kept for a replay.
MOST_UNITS_KEPT: Final = 4096

#: What a decision costs that is unfinished: a step takes as long as five units.
_STEPS_OF_EFFORT: Final = MOST_EFFORT // 5

_REASONS: Final = {
    PlanResult.UNSCHEDULABLE: Reason.UNSCHEDULABLE,
    PlanResult.INFEASIBLE: Reason.INFEASIBLE,
    PlanResult.ERROR: Reason.SCHEDULER_ERROR,
}


class Planner:
    """What would be decided, with nothing done about it.

    Args:
        core: what is known.
    """

    def __init__(self, core: Core) -> None:
        self._groups, self._plans, self._trials = core.groups, core.plans, core.trials
        self._steps = core.settings.search_steps

    def planning(self, group: GroupKey) -> bool:
        """A plan of this group is under way."""
        return self._plans.of(group) is not None

    def stalled(self) -> Collection[str]:
        """The namespaces of which no group is decided until a Binding of theirs is answered."""
        return self._plans.stalled

    def completes(self, now: float, waiting: GroupFacts, without: Sequence[Pod]) -> bool:
        """Whether a group could be placed if these pods were gone."""
        profile = self._groups.profile(waiting)
        try:
            ledgers = self._plans.ledgers(profile)
            trial = self._trials.trial(profile, waiting, now, ledgers, keep=False)
            for pod in without:
                trial.remove_from(pod, pod.node)
            outcome, _ = place_group(waiting, trial, self._steps)
        except PluginError:
            return False
        return not outcome.failed


class Attempts:
    """Decides one group at a time.

    Args:
        core: what is known.
        policies: learn which plans are open.
        min_resources: says what groups want reserved.
        preemptions: lets others give way to a group that fits nowhere.
        admission: where a group goes that was not placed.
        precheck: learns what was lacking.
        left_overs: takes back what is left of members that were not placed.
    """

    def __init__(
        self,
        core: Core,
        policies: Sequence[Policy],
        min_resources: MinResources,
        preemptions: Preemptions,
        admission: Admission,
        precheck: CapacityPrecheck,
        left_overs: LeftOvers,
    ) -> None:
        self._core, self._groups = core, core.groups
        self._policies = policies
        self._min_resources = min_resources
        self._preemptions = preemptions
        self._admission = admission
        self._precheck = precheck
        self._left_overs = left_overs
        self._refutations = Refutations(precheck)
        #: How many plans were made, for their ids.
        self._count = 0

    def forget(self, key: GroupKey) -> None:
        """A group is gone."""
        self._refutations.forget(key)

    def decide(
        self, turn: Turn, item: Item, members: Members, facts: GroupFacts, profile: Profile
    ) -> bool:
        """Decide about a group; a plan that is found is open from here on.

        Returns:
            False where HTTP extenders must be asked first, whose answers bring it back; or others
            that are ordered before it must be tried first, or have a first attempt before a search
            for this one. True also where it has to wait until the end of a pause.
        """
        core = self._core
        hurried = core.queue.hurried(item)
        self._precheck.forget(facts.key)
        self._count += 1
        plan_id = f"{core.settings.identity}-{self._count}"
        try:
            trial = core.trials.trial(profile, facts, turn.now, core.plans.ledgers(profile))
            trial = self._to_nominated(facts, trial)
            asks = core.extender_queries.ask(facts.key, trial, facts.pending)
            if asks is not None:
                turn.effects += asks
                return False
            wanted = self._min_resources.wanted(members, facts)
        except PluginError as error:
            room = None
            plan = Plan(plan_id, facts.key, PlanResult.ERROR, message=str(error))
        else:
            room = Room(self._min_resources.capacity(), wanted) if wanted else None
            bound = members.bound
            asked = question(facts, bound, trial, room, core.plans.reserved(profile), turn.now)
            never = partial(self._refutations.of, core.state.epoch, facts, bound, hurried=hurried)
            steps = core.settings.search_steps
            steps = min(steps, HURRIED_STEPS) if hurried else steps
            plan = schedule_group(plan_id, facts, trial, room, never, steps)
            self._note_lack(facts, profile, plan, wanted)
            if hurried and _to_be_searched(plan):
                core.queue.defer(item)
                return False
            core.state.log.note(Decision(asked, plan))
            del trial, asked, never  # a table that somebody reads is copied before it is written
        if plan.verdict is PlanResult.PLACED:
            if self._admission.held_back(turn, item, facts):
                return True
            if core.queue.call_up(item, self._admission.lacked_capacity, self._alike):
                return False
        tried = self._preempting(turn, members, facts, profile, plan, room)
        if tried is None:
            return False
        plan = tried
        core.extender_queries.drop(item.key)
        item.attempted(turn.now, core.plans.opened)
        turn.effects.append(_decided(item, profile, facts, plan))
        if plan.verdict is not PlanResult.PLACED:
            self._refused(turn, members, facts, profile, plan)
            return True
        core.queue.placed(item)
        queued = turn.now if item.queued is None else item.queued
        attempt = Attempt(item.attempts - item.tried, queued, turn.now)
        core.plans.open(plan, profile, _as_planned(facts, plan), turn, attempt)
        self._commit(turn, members, facts, plan)
        return True

    def _to_nominated(self, facts: GroupFacts, trial: Trial) -> Trial:
        """Prefer the nodes that were left for the group, or that somebody nominated it for.

        Source: kube-scheduler v1.36 pkg/scheduler/schedule_one.go evaluateNominatedNode.
        """
        names = {*self._preemptions.nominated(facts.key).values()}
        names = names or {pod.nominated for pod in facts.pending if pod.nominated}
        rows = [row for name in names if (row := trial.snapshot.nodes.row(name)) is not None]
        if not rows:
            return trial
        scores = np.zeros(len(trial.snapshot.nodes), np.int64)
        scores[rows] = MAX_NODE_SCORE
        return trial.advised(preferring("nominated nodes", scores))

    def _preempting(
        self,
        turn: Turn,
        members: Members,
        facts: GroupFacts,
        profile: Profile,
        plan: Plan,
        room: Room | None,
    ) -> Plan | None:
        """A group that fits nowhere, with what came of letting others give way.

        None = extenders have to be asked about that.
        """
        if plan.verdict is not PlanResult.UNSCHEDULABLE or plan.settled:
            return plan
        until = self._admission.paused_until(facts, turn.now)
        if until is not None:  # it would not be bound before
            self._preemptions.try_later(facts.key, until)
            return plan
        core = self._core

        def note(trial: Trial, searched: Searched) -> None:
            pod = facts.pending[0]
            asked = facts.solo and any(each.judges_victims(pod) for each in profile.extenders)
            if asked or searched.size > MOST_UNITS_KEPT:  # of many, little but it would be kept
                return
            plans = core.plans.reserved(profile)
            made = question(facts, members.bound, trial, room, plans, turn.now)
            core.state.log.note(VictimSearch(plan.id, made, searched))

        place = Placer(room, core.settings.search_steps)
        try:
            said = self._preemptions.tried(turn, facts, profile, plan.diagnosis, place, note)
        except PluginError as error:
            return replace(plan, verdict=PlanResult.ERROR, message=str(error))
        if said is None:
            return None
        return replace(plan, message=" ".join(filter(None, (plan.message, said))))

    def _note_lack(
        self, facts: GroupFacts, profile: Profile, plan: Plan, wanted: Reservation | None
    ) -> None:
        """Have the precheck know what a group lacked that it wants reserved."""
        if plan.verdict is PlanResult.PLACED:
            return
        if any(decide.implements(each, decide.PostFilter) for each in profile.post_filter):
            self._precheck.forget(facts.key)  # one of them may make room, whatever is free
            return
        if wanted and plan.verdict is PlanResult.UNSCHEDULABLE and to_be_admitted(facts):
            self._precheck.not_admitted(wanted)
        if all(pod.preempts for pod in facts.pending) and preempting(profile) is not None:
            self._precheck.preempts(facts.key, facts.priority)

    def _commit(self, turn: Turn, members: Members, facts: GroupFacts, plan: Plan) -> None:
        """The plan of a group is open: its members are of this life from here on."""
        for key in self._groups.commit(members, plan):
            turn.change(key)
        for policy in self._policies:
            policy.planned(turn, members, facts)

    def _refused(
        self, turn: Turn, members: Members, facts: GroupFacts, profile: Profile, plan: Plan
    ) -> None:
        """A group waits, and what an earlier attempt has left of its members is taken back."""
        misfits = {key: misfit.text for misfit in plan.misfits for key in misfit.members}
        detail = plan.diagnosis.detail if members.solo else ""
        reason = _REASONS[plan.verdict]
        if reason is Reason.UNSCHEDULABLE and not members.solo and self._awaits_claims(plan, facts):
            reason = Reason.WAITING_FOR_MEMBERS
        why = Explanation(reason, plan.message, misfits, detail)
        searched = plan.steps + plan.refuting
        if plan.unfinished:
            searched += _STEPS_OF_EFFORT
        unfinished = plan.unfinished
        self._admission.refused(turn, members, facts, why, plan, searched, unfinished=unfinished)
        if plan.verdict is not PlanResult.ERROR:
            self._left_overs.take_back(turn, facts, profile, plan.id)

    def _awaits_claims(self, plan: Plan, facts: GroupFacts) -> bool:
        """Whether members were refused as a whole, and claims of some are still to be made."""
        known = ledgers_of(self._core.state.nodes).volumes.known
        refused = bool(plan.diagnosis.message)
        return refused and any(to_be_made(pod, known) for pod in facts.pending)

    def _alike(self, item: Item) -> object:
        """Equal for pods without a group that the same profile takes for one class."""
        members = self._groups.get(item.key)
        if members is None or not members.solo or item.profile is None:
            return None
        pod = next(iter(members.pods.values()), None)
        if pod is None:
            return None
        state = self._core.state
        holds = ledgers_of(state.nodes).alike(pod)
        return item.profile.name, state.rankings.key(pod, item.profile, holds=holds)


def _to_be_searched(plan: Plan) -> bool:
    """Whether more than the ordered pass and adding up has to say what becomes of a plan.

    What a hurried search finds is not taken: with all of the steps, as in a replay, another
    placement may be found first.
    """
    return plan.put_off or plan.search not in (Search.NONE, Search.INFEASIBLE)


def _decided(item: Item, profile: Profile, facts: GroupFacts, plan: Plan) -> Decided:
    """What is told of a decision."""
    return Decided(
        group=item.key,
        profile=profile.name,
        attempts=item.attempts,
        result=plan.verdict.value,
        placed=len(plan.assignments),
        message=plan.message,
        plan=plan.id,
        search=plan.search,
        steps=plan.steps,
        pods=len(facts.pending),
        solo=item.solo,
    )


def _as_planned(facts: GroupFacts, plan: Plan) -> GroupFacts:
    """A group with the floor that it has once a plan is bound: of a tree that is chosen by it."""
    if facts.choice is None:
        return facts
    return with_planned(facts, Counter(each.pod.role for each in plan.assignments if each.needed))
