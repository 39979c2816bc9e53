# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Assign: which member goes where: tried in order, and where that fails, searched for."""

from collections.abc import Sequence
from typing import Final

from enbloc.engine.decide.children import (
    Chosen,
    find_children,
    place_addition,
    place_children,
)
from enbloc.engine.packing import find_placement
from enbloc.engine.trial import Outcome, Trial, place_deficit, told_apart
from enbloc.framework.facts import GroupFacts
from enbloc.model.pins import hosts
from enbloc.model.pods import Pod

#: With more hosts that members name, no placement but the ordered one is looked for: each host is
#: a class of its own for a search.
MOST_HOSTS_SEARCHED: Final = 64


def place_group(
    facts: GroupFacts, trial: Trial, steps: int, *, exactly: bool = True
) -> tuple[Outcome, Trial]:
    """Place the deficit, whole, then whatever else fits, oldest member first.

    Members are tried in order. Where that fails, a placement of several is searched for, whatever
    its order; plugins have the last word on it. A group that is held in part gets its deficit and
    nothing beyond it.

    Args:
        facts: the group as it is.
        trial: the cluster as it is, and stays.
        steps: how much the search may cost; 0 = there is none. More steps never lose a placement
            that fewer find.
        exactly: ask the exact solver too, where it is installed.

    Returns:
        What it came to, and the fork that holds the placement; `trial` itself if there is none.
    """
    if hosts(facts.pending) > MOST_HOSTS_SEARCHED:  # each can be on its host alone
        steps = 0
    if facts.choice is not None:
        return _place_tree(facts, trial, steps, exactly=exactly)
    if facts.coming:
        return _place_beside(facts, trial, steps, exactly=exactly)
    outcome, tried = Outcome(), trial.fork()
    left = place_deficit(facts, facts.pending, tried, outcome)
    others = [*outcome.unplaced, *left]
    if outcome.failed:
        if len(facts.pending) == 1:  # no other order, and nobody to be together with
            return outcome, trial
        found, tried = find_placement(facts, trial, steps, exactly=exactly)
        if not found.needed:
            outcome.search, outcome.steps, outcome.lacks = found.search, found.steps, found.lacks
            return outcome, trial
        outcome, placed = found, {pod.uid for pod, _ in found.needed}
        others = [pod for pod in facts.pending if pod.uid not in placed]
    if not facts.held_in_part:
        _place_surplus(facts, others, tried, outcome)
    return outcome, tried


def _place_beside(
    facts: GroupFacts, trial: Trial, steps: int, *, exactly: bool
) -> tuple[Outcome, Trial]:
    """The same where roles came since it started, each whole (semantics §2.5).

    What is placed for one is needed: a plan of it is for the whole role or for nothing.
    """
    running = facts.without_coming
    able = [floor for floor in facts.coming if floor.quorum]
    said = Outcome()
    for floor in able if not running.deficit else ():
        part = facts.part({floor.role}, (floor,))
        found, tried = place_group(part, trial, steps // len(able), exactly=exactly)
        found.steps += said.steps
        if not found.failed:
            return found, tried
        said = found
    if not running.pending:
        return said, trial
    return place_group(running, trial, steps, exactly=exactly)


def _place_tree(
    facts: GroupFacts, trial: Trial, steps: int, *, exactly: bool
) -> tuple[Outcome, Trial]:
    """The same of a group of which some children are enough (semantics §2.8).

    Of children that are not needed, members are placed with their child whole, by a plan for each.
    """
    if not facts.deficit:
        made = place_addition(facts, trial, steps, exactly=exactly)
        _place_others(made)
        return made.outcome, made.trial
    made = place_children(facts, trial)
    if made.outcome.failed:
        found = find_children(facts, trial, steps, exactly=exactly)
        if not found.outcome.needed:
            made.outcome.search, made.outcome.steps = found.outcome.search, found.outcome.steps
            return made.outcome, trial
        made = found
    if not facts.held_in_part:
        _place_others(made)
    return made.outcome, made.trial


def _place_others(made: Chosen) -> None:
    """Further members of children that are whole."""
    placed = {pod.uid for pod, _ in made.outcome.needed}
    others = [pod for pod in made.facts.pending if pod.uid not in placed]
    _place_surplus(made.facts, others, made.trial, made.outcome)


def _place_surplus(
    facts: GroupFacts, others: Sequence[Pod], trial: Trial, outcome: Outcome
) -> None:
    """Place what else fits and say why the rest does not."""
    for pod in others:
        row = trial.place(pod)
        if row is None:
            continue
        if trial.stands(pod):
            outcome.surplus.append((pod, row))
        else:
            trial.remove(pod, row)
    kept = {pod.uid for pod, _ in (*outcome.needed, *outcome.surplus)}
    outcome.unplaced = [pod for pod in facts.pending if pod.uid not in kept]
    keys = told_apart([trial.key(pod) for pod in outcome.unplaced])
    unlike = dict(zip(reversed(keys), reversed(outcome.unplaced), strict=True))
    for pod in unlike.values():
        outcome.note(trial.diagnosis(pod), pod)
