# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Replay: a decision of a dump is made again, and the search for victims that it led to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from enbloc.engine.binding import ledgers_over
from enbloc.engine.decide import (
    AllowedCapacity,
    Decision,
    DecisionInput,
    Placer,
    VictimSearch,
    schedule_group,
)
from enbloc.engine.packing import infeasible
from enbloc.engine.plan import Plan, Refutation
from enbloc.engine.preemption import LookedAt, Preemption, preempting, search
from enbloc.engine.replay.dump import Dump
from enbloc.engine.state import Arrays, Checkpoint, ReservedAmounts
from enbloc.engine.trial import MOST_OF_EXTENDERS, Rankings, Trial
from enbloc.errors import UsageError
from enbloc.framework.profile import Profile
from enbloc.ledgers import reclaim


@dataclass(frozen=True, slots=True)
class Replayed:
    """A decision as it was made, and as it is made now.

    Attributes:
        was, now: the victims for the group, then and now; None = none were sought, or the dump does
            not hold the search.
    """

    decision: Decision
    plan: Plan
    was: Preemption | None = None
    now: Preemption | None = None

    @property
    def differences(self) -> Sequence[str]:
        """Return the differences, a sentence each; empty = the replay decided the same."""
        old, new = self.decision.plan, self.plan
        found: list[str] = []
        if old.verdict is not new.verdict:
            found.append(f"it was {old.verdict.value}, and is {new.verdict.value} now")
        were = {each.pod.key: each.node for each in old.assignments}
        are = {each.pod.key: each.node for each in new.assignments}
        found += [
            f"pod {pod} went to {were.get(pod, 'no node')}, and goes to {are.get(pod, 'no node')}"
            for pod in {**were, **are}
            if were.get(pod) != are.get(pod)
        ]
        if old.message != new.message:
            found.append(f'the message is "{new.message}" now')
        if self.was is not None and self.now is not None:
            found += _other_victims(self.was, self.now)
        return found


def _other_victims(was: Preemption, now: Preemption) -> Iterator[str]:
    left = {pod.key: pod.node for unit in was.victims for pod in unit.pods}
    leave = {pod.key: pod.node for unit in now.victims for pod in unit.pods}
    for pod, node in {**left, **leave}.items():
        if pod not in leave:
            yield f"pod {pod} on {node} was to give way, and is not now"
        elif pod not in left:
            yield f"pod {pod} on {node} is to give way now"
    went, go = ({pod.key: node for pod, node in each.nodes} for each in (was, now))
    for pod in {**went, **go}:
        if went.get(pod) != go.get(pod):
            there, here = (each.get(pod, "no node") for each in (went, go))
            yield f"pod {pod} was to go to {there}, and is to go to {here} now"
    if was.message != now.message:
        yield f'of those who could give way it says "{now.message}" now'


def replay_plan(dump: Dump, plan: str, profiles: Mapping[str, Profile]) -> Replayed | None:
    """Replay one decision; None = the dump does not reach back to a plan of that id.

    Raises:
        UsageError: the dump names a profile that is not among these.
    """
    found: Replayed | None = None
    for decision, tables in dump.forwards():
        if decision.plan.id == plan:
            found = replayed(decision, tables, profiles, dump.search_steps)
            break
    for entry, tables in dump.searches() if found is not None else ():
        if entry.plan == plan and found is not None:
            now = searched(entry, tables, profiles, dump.search_steps)
            return replace(found, was=entry.searched.found, now=now)
    return found


def replayed(
    decision: Decision, tables: Checkpoint, profiles: Mapping[str, Profile], steps: int
) -> Replayed:
    """Replay a decision on the tables that it was made on.

    Raises:
        UsageError: its profile is not among these.
    """
    question = decision.question
    trial = _trial(question, Arrays(tables), _profile(question, profiles))
    allowed, facts = _allowed(question), question.facts

    def never(trial: Trial, steps: int) -> Refutation:
        return Refutation(infeasible(facts, question.held, trial, steps))

    plan = schedule_group(decision.plan.id, facts, trial, allowed, never, steps)
    return Replayed(decision, plan)


def searched(
    entry: VictimSearch, tables: Checkpoint, profiles: Mapping[str, Profile], steps: int
) -> Preemption:
    """Repeat a search for victims on the tables that it was made on.

    Raises:
        UsageError: its profile is not among these, or has no preemption.
    """
    question = entry.question
    profile = _profile(question, profiles)
    plugin = preempting(profile)
    if plugin is None:
        raise UsageError(f'profile "{question.profile}" has no plugin that lets others give way')
    trial = _trial(question, Arrays(tables), profile)
    units = LookedAt(None, trial.nodes, entry.searched.units)
    place = Placer(_allowed(question), steps)
    return search(question.facts, plugin, trial, units, entry.searched.budgets, place)


def _profile(question: DecisionInput, profiles: Mapping[str, Profile]) -> Profile:
    profile = profiles.get(question.profile)
    if profile is None:
        known = ", ".join(sorted(profiles))
        raise UsageError(f'the decision was made by profile "{question.profile}", not by {known}')
    return profile


def _allowed(question: DecisionInput) -> AllowedCapacity | None:
    if question.wanted is None:
        return None
    return AllowedCapacity(ReservedAmounts(question.reserved), question.wanted)


def _trial(question: DecisionInput, arrays: Arrays, profile: Profile) -> Trial:
    rankings = Rankings()
    rankings.selected.enter(question.selected, question.facts.key.namespace)
    snapshot = arrays.snapshot(ledgers_over(profile, question.plans))
    reclaim(snapshot.nodes, question.facts.key)
    trial = Trial(
        profile,
        snapshot,
        rankings,
        opinions=[named.opinion(arrays.nodes) for named in question.opinions],
    )
    for pod, name in question.lifted:
        trial.remove_from(pod, name)
    for pod, opinions in question.consulted:
        said = [named.opinion(arrays.nodes, MOST_OF_EXTENDERS) for named in opinions]
        trial.consulted(trial.key(pod), said)
    return trial
