# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Attempts: one group is decided against one snapshot of the present state."""

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
from enbloc.engine.decide.cycle import AllowedCapacity, Placer, schedule_group
from enbloc.engine.decide.decision import Decision, VictimSearch, decision_input
from enbloc.engine.effects import Attempt, Decided
from enbloc.engine.left_overs import LeftOvers
from enbloc.engine.plan import GANG_PLUGIN, Plan, PlanResult
from enbloc.engine.policies import MinResources, Policy, Preemptions
from enbloc.engine.preemption import Searched, preempting
from enbloc.engine.queue import CapacityPrecheck, Item, Refutations
from enbloc.engine.report import ReasonAndMessage
from enbloc.engine.state import GroupAmount, Run, to_be_admitted
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
from enbloc.model.text import sentences
from enbloc.storage.wanted import to_be_made

#: Steps of search while other groups wait for a first attempt, about 3 ms.
HURRIED_STEPS: Final = 625

#: A search for victims among more units than this is not recorded for a replay.
MOST_UNITS_KEPT: Final = 4096

#: The cost, in steps, of a decision that is unfinished: a step takes as long as five units.
_STEPS_OF_EFFORT: Final = MOST_EFFORT // 5

_REASONS: Final = {
    PlanResult.UNSCHEDULABLE: Reason.UNSCHEDULABLE,
    PlanResult.INFEASIBLE: Reason.INFEASIBLE,
    PlanResult.ERROR: Reason.SCHEDULER_ERROR,
}


class Planner:
    """Tells what would be decided, without acting on it.

    Args:
        core: what is known of the cluster.
        min_resources: tells what groups have and want reserved.
    """

    def __init__(self, core: Core, min_resources: MinResources) -> None:
        self._groups, self._plans, self._trials = core.groups, core.plans, core.trials
        self._min_resources = min_resources
        self._steps = core.settings.search_steps

    def planning(self, group: GroupKey) -> bool:
        """Whether a plan of this group is under way."""
        return self._plans.of(group) is not None

    def stalled(self) -> Collection[str]:
        """Return the namespaces where no group is decided until a Binding of theirs is answered."""
        return self._plans.stalled

    def completes(self, now: float, waiting: GroupFacts, without: Sequence[Pod]) -> bool:
        """Whether a group could be placed if these pods were gone, beside what others reserve."""
        profile = self._groups.profile(waiting)
        try:
            ledgers = self._plans.ledgers(profile)
            trial = self._trials.trial(profile, waiting, now, ledgers, keep=False)
            for pod in without:
                trial.remove_from(pod, pod.node)
            place = Placer(self._allowed(waiting, without), self._steps, exactly=True)
            outcome, _ = place(waiting, trial)
        except PluginError:
            return False
        return not outcome.failed

    def _allowed(self, waiting: GroupFacts, without: Sequence[Pod]) -> AllowedCapacity | None:
        """Return what a group could take: a group that held no member would reserve nothing."""
        wanted = self._min_resources.wanted(self._groups[waiting.key], waiting)
        if wanted is None:
            return None
        gone = {pod.uid for pod in without}
        keys = {self._groups.key_of(uid) for uid in gone}
        runs = (self._groups.get(key) for key in keys if key is not None)
        over = {run.key for run in runs if run and gone.issuperset(pod.uid for pod in run.bound)}
        return AllowedCapacity(self._min_resources.capacity().without(over), wanted)


class Attempts:
    """Decides one group at a time.

    Args:
        core: what is known of the cluster.
        policies: learn which plans are open.
        min_resources: tells what groups want reserved.
        preemptions: finds victims for a group that fits nowhere.
        admission: receives groups that were not placed.
        precheck: learns what was lacking.
        left_overs: takes back what earlier attempts left for members that were not placed.
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
        #: The number of plans made, for their ids.
        self._count = 0

    def forget(self, key: GroupKey) -> None:
        """Drop a group that is gone."""
        self._refutations.forget(key)

    def decide(self, turn: Turn, item: Item, run: Run, facts: GroupFacts, profile: Profile) -> bool:
        """Decide about a group; if a plan is found, open it.

        Returns:
            False if the group is to be tried again: after HTTP extenders have answered, after
            groups earlier in the order, or after first attempts of others if it needs a long
            search. True otherwise, even if it must wait until the end of a pause.
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
            wanted = self._min_resources.wanted(run, facts)
        except PluginError as error:
            allowed = None
            plan = Plan(plan_id, facts.key, PlanResult.ERROR, message=str(error))
        else:
            allowed = AllowedCapacity(self._min_resources.capacity(), wanted) if wanted else None
            bound = run.bound
            asked = decision_input(
                facts, bound, trial, allowed, core.plans.reserved(profile), turn.now
            )
            never = partial(self._refutations.of, core.state.epoch, facts, bound, hurried=hurried)
            steps = core.settings.search_steps
            steps = min(steps, HURRIED_STEPS) if hurried else steps
            plan = schedule_group(plan_id, facts, trial, allowed, never, steps)
            self._note_lack(facts, profile, plan, wanted)
            if hurried and _to_be_searched(plan):
                core.queue.defer(item)
                return False
            core.state.log.note(Decision(asked, plan))
            del trial, asked, never  # a referenced table is copied before it is written
        if plan.verdict is PlanResult.PLACED:
            if self._admission.held_back(turn, item, facts):
                return True
            if core.queue.call_up(item, self._admission.lacked_capacity, self._alike):
                return False
        tried = self._preempting(turn, run, facts, profile, plan, allowed)
        if tried is None:
            return False
        plan = tried
        core.extender_queries.drop(item.key)
        item.attempted(turn.now, core.plans.opened)
        turn.effects.append(_decided(item, profile, facts, plan))
        if plan.verdict is not PlanResult.PLACED:
            self._refused(turn, run, facts, profile, plan)
            return True
        core.queue.placed(item)
        queued = turn.now if item.queued is None else item.queued
        attempt = Attempt(item.attempts - item.tried, queued, turn.now)
        core.plans.open(plan, profile, _as_planned(facts, plan), turn, attempt)
        self._commit(turn, run, facts, plan)
        return True

    def _to_nominated(self, facts: GroupFacts, trial: Trial) -> Trial:
        """Prefer the nodes that were left for the group, or that its pods are nominated for.

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
        run: Run,
        facts: GroupFacts,
        profile: Profile,
        plan: Plan,
        allowed: AllowedCapacity | None,
    ) -> Plan | None:
        """Return the plan of a group that fits nowhere, after a try to preempt others.

        None = extenders must be asked about that first.
        """
        if plan.verdict is not PlanResult.UNSCHEDULABLE or plan.settled:
            return plan
        until = self._admission.paused_until(facts, turn.now)
        if until is not None:  # it would not be bound before then
            self._preemptions.try_later(facts.key, until)
            return plan
        core = self._core

        def note(trial: Trial, searched: Searched) -> None:
            pod = facts.pending[0]
            asked = facts.solo and any(each.judges_victims(pod) for each in profile.extenders)
            if asked or searched.size > MOST_UNITS_KEPT:  # a few large records would fill the log
                return
            plans = core.plans.reserved(profile)
            made = decision_input(facts, run.bound, trial, allowed, plans, turn.now)
            core.state.log.note(VictimSearch(plan.id, made, searched))

        place = Placer(allowed, core.settings.search_steps)
        try:
            said = self._preemptions.tried(turn, facts, profile, plan.diagnosis, place, note)
        except PluginError as error:
            return replace(plan, verdict=PlanResult.ERROR, message=str(error))
        if said is None:
            return None
        plan = replace(plan, message=sentences(plan.message, said))
        if said and allowed is not None and allowed.capacity:  # that may be what keeps it out
            plan = replace(plan, rejectors=plan.rejectors | {GANG_PLUGIN})
        return plan

    def _note_lack(
        self, facts: GroupFacts, profile: Profile, plan: Plan, wanted: GroupAmount | None
    ) -> None:
        """Tell the precheck what capacity a group lacked that it wants reserved."""
        if plan.verdict is PlanResult.PLACED:
            return
        if any(decide.implements(each, decide.PostFilter) for each in profile.post_filter):
            self._precheck.forget(facts.key)  # a plugin may free capacity, whatever is free now
            return
        if wanted and plan.verdict is PlanResult.UNSCHEDULABLE and to_be_admitted(facts):
            self._precheck.not_admitted(wanted)
        if all(pod.preempts for pod in facts.pending) and preempting(profile) is not None:
            self._precheck.preempts(facts.key, facts.priority)

    def _commit(self, turn: Turn, run: Run, facts: GroupFacts, plan: Plan) -> None:
        """Commit a group to its open plan: the planned members belong to this run from here on."""
        for key in self._groups.commit(run, plan):
            turn.change(key)
        for policy in self._policies:
            policy.planned(turn, run, facts)

    def _refused(
        self, turn: Turn, run: Run, facts: GroupFacts, profile: Profile, plan: Plan
    ) -> None:
        """Make a refused group wait; take back what an earlier attempt left for its members."""
        misfits = {key: misfit.text for misfit in plan.misfits for key in misfit.members}
        detail = plan.diagnosis.detail if run.solo else ""
        reason = _REASONS[plan.verdict]
        if reason is Reason.UNSCHEDULABLE and not run.solo and self._awaits_claims(plan, facts):
            reason = Reason.WAITING_FOR_MEMBERS
        why = ReasonAndMessage(reason, plan.message, misfits, detail, plan.domain_full)
        searched = plan.steps + plan.refuting
        if plan.unfinished:
            searched += _STEPS_OF_EFFORT
        unfinished = plan.unfinished
        self._admission.refused(turn, run, facts, why, plan, searched, unfinished=unfinished)
        if plan.verdict is not PlanResult.ERROR:
            self._left_overs.take_back(turn, facts, profile, plan.id)

    def _awaits_claims(self, plan: Plan, facts: GroupFacts) -> bool:
        """Whether members were refused as a whole, and some of their claims do not exist yet."""
        known = ledgers_of(self._core.state.nodes).volumes.known
        refused = bool(plan.diagnosis.message)
        return refused and any(to_be_made(pod, known) for pod in facts.pending)

    def _alike(self, item: Item) -> object:
        """Return a value that is equal for solo pods that the profile counts as one class.

        None = like no other: it is a group, or a plugin fails, of which its own attempt tells.
        """
        run = self._groups.get(item.key)
        if run is None or not run.solo or item.profile is None:
            return None
        pod = next(iter(run.pods.values()), None)
        if pod is None:
            return None
        state = self._core.state
        holds = ledgers_of(state.nodes).alike(pod)
        try:
            return item.profile.name, state.rankings.key(pod, item.profile, holds=holds)
        except PluginError:
            return None


def _to_be_searched(plan: Plan) -> bool:
    """Whether a plan needs more than the ordered pass and sums to be settled.

    The result of a hurried search is not used: with all steps, as in a replay, another placement
    may be found first.
    """
    return plan.put_off or plan.search not in (Search.NONE, Search.INFEASIBLE)


def _decided(item: Item, profile: Profile, facts: GroupFacts, plan: Plan) -> Decided:
    """Return the report of a decision."""
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
    """Return a group with the floor that it has once a plan is bound; a plan chooses in a tree."""
    if facts.choice is None:
        return facts
    return with_planned(facts, Counter(each.pod.role for each in plan.assignments if each.needed))
