# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Replay: a decision of a dump taken once more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from enbloc.engine.binding import ledgers_over
from enbloc.engine.decide import Decision, Room, schedule_group
from enbloc.engine.packing import infeasible
from enbloc.engine.plan import Plan, Refutation
from enbloc.engine.replay.dump import Dump
from enbloc.engine.state import Arrays, Capacity, Checkpoint
from enbloc.engine.trial import Rankings, Trial
from enbloc.errors import UsageError
from enbloc.framework.profile import Profile
from enbloc.ledgers import reclaim


@dataclass(frozen=True, slots=True)
class Replayed:
    """A decision as it was taken, and as it is taken now."""

    decision: Decision
    plan: Plan

    @property
    def differences(self) -> Sequence[str]:
        """What differs, a sentence each; empty = the replay decided the same."""
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
        return found


def replay_plan(dump: Dump, plan: str, profiles: Mapping[str, Profile]) -> Replayed | None:
    """Take one decision once more; None = the dump does not reach back to a plan of that id.

    Raises:
        UsageError: the dump names a profile that is not among these.
    """
    for decision, tables in dump.forwards():
        if decision.plan.id == plan:
            return replayed(decision, tables, profiles, dump.search_steps)
    return None


def replayed(
    decision: Decision, tables: Checkpoint, profiles: Mapping[str, Profile], steps: int
) -> Replayed:
    """Take a decision once more on the tables that it was made on.

    Raises:
        UsageError: its profile is not among these.
    """
    question = decision.question
    profile = profiles.get(question.profile)
    if profile is None:
        known = ", ".join(sorted(profiles))
        raise UsageError(f'the decision was made by profile "{question.profile}", not by {known}')
    trial = _trial(decision, Arrays(tables), profile)
    room = None
    if question.wanted is not None:
        room = Room(Capacity(question.reserved), question.wanted)
    facts = question.facts

    def never(trial: Trial, steps: int) -> Refutation:
        return Refutation(infeasible(facts, question.held, trial, steps))

    plan = schedule_group(decision.plan.id, facts, trial, room, never, steps)
    return Replayed(decision, plan)


def _trial(decision: Decision, arrays: Arrays, profile: Profile) -> Trial:
    question = decision.question
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
        trial.lift(pod, name)
    for pod, opinions in question.consulted:
        said = [named.opinion(arrays.nodes) for named in opinions]
        trial.consulted(trial.key(pod), said)
    return trial
