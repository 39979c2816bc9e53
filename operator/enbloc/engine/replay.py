# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Replay: a decision of a dump taken once more."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from enbloc.engine.cycle import Room, schedule_group
from enbloc.engine.decision import Decision
from enbloc.engine.dump import Dump
from enbloc.engine.infeasible import infeasible
from enbloc.engine.plan import Plan
from enbloc.engine.plans import ledgers_over
from enbloc.engine.promises import Promises
from enbloc.engine.rankings import Rankings
from enbloc.engine.tables import Arrays, Tables
from enbloc.engine.tentative import Tentative
from enbloc.errors import UsageError
from enbloc.framework.profile import Profile


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


def replay(dump: Dump, plan: str, profiles: Mapping[str, Profile]) -> Replayed | None:
    """Take one decision once more; None = the dump does not reach back to a plan of that id.

    Raises:
        UsageError: the dump names a profile that is not among these.
    """
    for decision, tables in dump.backwards():
        if decision.plan.id == plan:
            return replayed(decision, tables, profiles, dump.search_steps)
    return None


def replayed(
    decision: Decision, tables: Tables, profiles: Mapping[str, Profile], steps: int
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
    tentative = _tentative(decision, Arrays(tables), profile)
    room = None
    if question.claim is not None:
        promises = Promises()
        for claim in question.promised:
            promises.review(claim, -math.inf)
        room = Room(promises, question.claim)
    facts = question.facts
    never = partial(infeasible, facts, question.held)
    plan = schedule_group(decision.plan.id, facts, tentative, room, never, steps)
    return Replayed(decision, plan)


def _tentative(decision: Decision, arrays: Arrays, profile: Profile) -> Tentative:
    question = decision.question
    rankings = Rankings()
    rankings.selector_keys |= question.selector_keys
    tentative = Tentative(
        profile,
        arrays.snapshot(ledgers_over(profile, question.reserved)),
        rankings,
        opinions=[heard.opinion(arrays.nodes) for heard in question.opinions],
    )
    for pod, name in question.lifted:
        tentative.lift(pod, name)
    for pod, opinions in question.consulted:
        said = [heard.opinion(arrays.nodes) for heard in opinions]
        tentative.consulted(tentative.key(pod), said)
    return tentative
