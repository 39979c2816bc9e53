# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Children of a tree, placed one by one, each whole or not at all (semantics §2.8)."""

from collections.abc import Set as AbstractSet
from itertools import islice
from typing import NamedTuple

from enbloc.engine.choices import (
    MOST_CHOICES,
    choices,
    held_roles,
    in_turn,
    of_choice,
    of_part,
    spare,
)
from enbloc.engine.decide.floor import PlacedFloor
from enbloc.engine.packing import find_placement
from enbloc.engine.trial import Outcome, Search, Trial, meet, place_deficit
from enbloc.framework.facts import GroupFacts
from enbloc.model.pods import Pod
from enbloc.model.trees import Child, Tree


class _Part(NamedTuple):
    """A child that is placed whole.

    Attributes:
        members: placed for it, with their rows.
        roles: its roles that are whole now.
        trial: the fork that holds it.
    """

    members: tuple[tuple[Pod, int], ...]
    roles: frozenset[str]
    trial: Trial


def place_children(facts: GroupFacts, trial: Trial) -> PlacedFloor:
    """Place the deficit: try children in turn, each whole or not at all, until enough are placed.

    Each child is tried once, so this costs no more than a pass over all members.
    """
    assert facts.choice is not None
    outcome = Outcome()
    part = _part(facts.choice.tree, facts, trial, outcome)
    if part is None:
        outcome.failed = True
        roles = frozenset(floor.role for floor in facts.roles)
        return PlacedFloor(of_choice(facts, roles), outcome, trial)
    while True:
        made = _met(facts, part, outcome)
        if not made.outcome.failed:
            return made
        more = _one_more(facts, part, outcome)
        if more is None:
            return made
        part = more


def _met(facts: GroupFacts, part: _Part, before: Outcome) -> PlacedFloor:
    """Also meet the group's own minimum, with further members of these children."""
    chosen = of_choice(facts, part.roles)
    outcome, tried = Outcome(), part.trial.fork()
    outcome.diagnoses = dict(before.diagnoses)
    outcome.needed = list(part.members)
    left = outcome.left_of(chosen.pending)
    meet(chosen.total.deficit - len(part.members), left, tried, outcome)
    return PlacedFloor(chosen, outcome, tried)


def _one_more(facts: GroupFacts, part: _Part, outcome: Outcome) -> _Part | None:
    for child, _ in spare(facts, part.roles):
        found = _part(child, facts, part.trial, outcome)
        if found is not None:
            members = (*part.members, *found.members)
            return _Part(members, part.roles | found.roles, found.trial)
    return None


def _part(child: Child, facts: GroupFacts, trial: Trial, outcome: Outcome) -> _Part | None:
    """Place what a child needs to be whole; None = it does not fit, `outcome` records why."""
    if isinstance(child, Tree):
        return _node(child, facts, trial, outcome)
    mine, tried, part = Outcome(), trial.fork(), of_part(facts, {child})
    place_deficit(part, part.pending, tried, mine)
    for diagnosis, pod in mine.diagnoses.items():
        outcome.note(diagnosis, pod)
    if mine.failed:
        return None
    return _Part(tuple(mine.needed), frozenset({child}), tried)


def _node(tree: Tree, facts: GroupFacts, trial: Trial, outcome: Outcome) -> _Part | None:
    whole, count = _Part((), frozenset(), trial), 0
    for child in in_turn(facts, tree):
        if count == tree.needed:
            break
        found = _part(child, facts, whole.trial, outcome)
        if found is not None:
            members = (*whole.members, *found.members)
            whole, count = _Part(members, whole.roles | found.roles, found.trial), count + 1
    return whole if count == tree.needed else None


def find_children(facts: GroupFacts, trial: Trial, steps: int, *, exactly: bool) -> PlacedFloor:
    """Search for a placement of the deficit: one choice after another, with a share each."""
    found = [*islice(choices(facts, trial.key), MOST_CHOICES + 1)]
    part, steps_of = found[:MOST_CHOICES], steps // max(1, len(found[:MOST_CHOICES]))
    none = Outcome()
    said = {Search.SPENT} if len(found) > len(part) and steps else set[Search]()
    for roles in part:
        chosen = _extended(facts, roles)
        outcome, tried = find_placement(chosen, trial, steps_of, exactly=exactly)
        none.steps = outcome.steps = none.steps + outcome.steps
        if outcome.needed:
            return PlacedFloor(chosen, outcome, tried)
        said.add(outcome.search)
    # INFEASIBLE is proven only if it is proven of every choice.
    proven = said <= {Search.INFEASIBLE}
    none.search = next((each for each in said if each is not Search.INFEASIBLE), Search.NONE)
    none.search = Search.INFEASIBLE if proven and said else none.search
    return PlacedFloor(facts, none, trial)


def _extended(facts: GroupFacts, roles: AbstractSet[str]) -> GroupFacts:
    """Return a choice with enough further children to reach the group's own minimum."""
    chosen = of_choice(facts, roles)
    while not chosen.quorum and (more := next(spare(facts, roles), None)) is not None:
        roles = roles | more[1]
        chosen = of_choice(facts, roles)
    return chosen


def place_addition(facts: GroupFacts, trial: Trial, steps: int, *, exactly: bool) -> PlacedFloor:
    """Place one more child whole, the first that fits, where the floor is held.

    What is placed for it is needed: its plan binds the whole child or nothing. If none fits in
    order, each is searched for with its share of the steps.
    """
    outcome = Outcome()
    held = held_roles(facts)
    more = [*spare(facts, held)]
    for child, _ in more:
        found = _part(child, facts, trial, outcome)
        if found is not None:
            outcome.needed = list(found.members)
            return PlacedFloor(of_choice(facts, held | found.roles), outcome, found.trial.fork())
    for _, roles in more:
        share = steps // len(more)
        searched, tried = find_placement(of_part(facts, roles), trial, share, exactly=exactly)
        if searched.needed:
            searched.steps += outcome.steps
            return PlacedFloor(of_choice(facts, held | roles), searched, tried.fork())
        outcome.learn(searched)  # also whether it was cut short
    return PlacedFloor(of_choice(facts, held), outcome, trial.fork())
