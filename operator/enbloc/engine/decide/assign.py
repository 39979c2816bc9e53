# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Assign: which member goes where; members are tried in order, then a placement is searched for."""

from functools import partial
from typing import Final

from enbloc.engine.decide.children import find_children, place_addition, place_children
from enbloc.engine.decide.domain import place_in_domain
from enbloc.engine.decide.floor import PlacedFloor
from enbloc.engine.packing import find_placement
from enbloc.engine.topology import DueInDomain
from enbloc.engine.trial import Outcome, Trial, place_deficit
from enbloc.framework.facts import GroupFacts
from enbloc.model.pins import hosts

#: If members name more hosts, only the ordered placement is tried: a search would treat each host
#: as a class of its own.
MOST_HOSTS_SEARCHED: Final = 64


def place_group(
    facts: GroupFacts,
    trial: Trial,
    steps: int,
    *,
    exactly: bool = True,
    due: DueInDomain | None = None,
) -> tuple[Outcome, Trial]:
    """Place the deficit, all or nothing, then whatever else fits, oldest member first.

    Members are tried in order. If that fails, a placement of all of them is searched for, in any
    order; plugins have the last word on it. A group that is partially held gets its deficit and
    nothing more.

    Args:
        facts: the group as it is.
        trial: the cluster as it is; unchanged.
        steps: how much the search may cost; 0 = no search. More steps never lose a placement that
            fewer find.
        exactly: also ask the exact solver, if it is installed.
        due: what must be free in a domain of the group; None = nothing.

    Returns:
        The outcome, and the fork that holds the placement; `trial` itself if there is none.
    """
    return place_floor(facts, trial, steps, exactly=exactly, due=due).with_others()


def place_floor(
    facts: GroupFacts,
    trial: Trial,
    steps: int,
    *,
    exactly: bool = True,
    anywhere: bool = False,
    due: DueInDomain | None = None,
) -> PlacedFloor:
    """Place the deficit as `place_group` does; of the other members, only name them.

    Args:
        facts: the group as it is.
        trial: the cluster as it is; unchanged.
        steps: how much the search may cost.
        exactly: also ask the exact solver.
        anywhere: ignore what the group requests of a topology; place wherever the trial allows.
        due: what must be free in a domain of the group; None = nothing.
    """
    if facts.locality is not None and not anywhere:
        place = partial(place_floor, exactly=exactly, anywhere=True)
        return place_in_domain(facts, facts.locality, trial, place, steps, due)
    if hosts(facts.pending) > MOST_HOSTS_SEARCHED:  # each may be limited to its own host
        steps = 0
    if facts.choice is not None:
        return _floor_of_tree(facts, trial, steps, exactly=exactly)
    if facts.coming:
        return _floor_beside(facts, trial, steps, exactly=exactly)
    outcome, tried = Outcome(), trial.fork()
    left = place_deficit(facts, facts.pending, tried, outcome)
    others = [*outcome.unplaced, *left]
    if outcome.failed:
        if len(facts.pending) == 1:  # no other order, and no other member
            return PlacedFloor(facts, outcome, trial)
        found, tried = find_placement(facts, trial, steps, exactly=exactly)
        if not found.needed:
            outcome.search, outcome.steps, outcome.lacks = found.search, found.steps, found.lacks
            return PlacedFloor(facts, outcome, trial)
        outcome, others = found, found.left_of(facts.pending)
    return PlacedFloor(facts, outcome, tried, None if facts.held_in_part else others)


def _floor_beside(facts: GroupFacts, trial: Trial, steps: int, *, exactly: bool) -> PlacedFloor:
    """Place roles that came since the group started, each whole (semantics §2.5).

    What is placed for a role is needed: its plan binds the whole role or nothing.
    """
    running = facts.without_coming
    able = [floor for floor in facts.coming if floor.quorum]
    said = Outcome()
    for each in able if not running.deficit else ():
        part = facts.part({each.role}, (each,))
        found = place_floor(part, trial, steps // len(able), exactly=exactly, anywhere=True)
        if not found.outcome.failed:
            found.outcome.steps += said.steps
            return found
        said.failed = True
        said.learn(found.outcome)
    if not running.pending:
        return PlacedFloor(facts, said, trial)
    floor = place_floor(running, trial, steps, exactly=exactly, anywhere=True)
    floor.outcome.learn(said)  # events that help a role are to wake the group
    return floor


def _floor_of_tree(facts: GroupFacts, trial: Trial, steps: int, *, exactly: bool) -> PlacedFloor:
    """Place the deficit of a group for which some children are enough (semantics §2.8).

    Members of children that are not needed are placed with their child whole, one plan for each.
    """
    if not facts.deficit:
        return place_addition(facts, trial, steps, exactly=exactly).with_rest()
    made = place_children(facts, trial)
    if made.outcome.failed:
        found = find_children(facts, trial, steps, exactly=exactly)
        if not found.outcome.needed:
            made.outcome.search, made.outcome.steps = found.outcome.search, found.outcome.steps
            return PlacedFloor(facts, made.outcome, trial)
        made = found
    return made if facts.held_in_part else made.with_rest()
