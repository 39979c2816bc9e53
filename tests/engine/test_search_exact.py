# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The exact solver: it says what trying everything says, and its word is checked in integers."""

import numpy as np
import pytest
from hypothesis import assume, given

from enbloc.engine.decide.assign import place_group
from enbloc.engine.packing import highs
from enbloc.engine.packing.bounds import shortage
from enbloc.engine.packing.branch import ClassSearch
from enbloc.engine.packing.infeasibility import infeasible
from enbloc.engine.packing.model import Packing, packing_now
from enbloc.engine.trial import Search
from enbloc.framework.facts import GroupFacts
from enbloc.model.node import Node
from tests.effort import examples
from tests.engine.searching import (
    HOST,
    ZONE,
    Kind,
    cluster,
    gangs,
    group,
    machine,
    machine_lists,
    members,
    possible,
    trying,
)

pytestmark = pytest.mark.skipif(not highs.available(), reason="the extra `exact` is not installed")

PLENTY = 10_000_000

#: A quarter of it is too little for the search over classes below, a half enough for the solver.
STEPS = 8000


def packing(facts: GroupFacts, machines: tuple[Node, ...]) -> Packing:
    found = packing_now(facts, trying(cluster(*machines)), PLENTY)
    assert found is not None
    return found


@given(gang=gangs(), machines=machine_lists)
@examples(150)
def test_it_answers_or_refutes_as_trying_everything_does(
    gang: tuple[list[Kind], GroupFacts], machines: tuple[Node, ...]
) -> None:
    kinds, facts = gang
    problem = packing(facts, machines)
    assume(shortage(problem) is None)
    answer = highs.solve(problem, PLENTY)
    exists = possible(facts, kinds, machines)
    assert answer.refuted is not exists
    assert (answer.counts is not None) is exists
    if answer.counts is not None:
        assert problem.holds(answer.counts)


def test_kinds_that_keep_apart_by_zone_without_keeping_their_own_apart() -> None:
    kinds = [Kind("a", apart=frozenset({(ZONE, "b")}))] * 3 + [Kind("b")] * 3
    machines = tuple(machine(f"n{i}", 2, zone="zy"[i % 2]) for i in range(4))
    answer = highs.solve(packing(group(members(*kinds)), machines), PLENTY)
    assert answer.counts is not None
    assert highs.solve(packing(group(members(*kinds)), machines[:3]), PLENTY).refuted


def test_two_that_a_third_keeps_apart_from_itself_may_yet_be_together() -> None:
    far = {
        name: frozenset((HOST, app) for app in apps) for name, apps in [("a", "bcd"), ("b", "cd")]
    }
    kinds = [Kind(app, apart=far.get(app, frozenset())) for app in "abcd"]
    machines = tuple(machine(f"n{i}", 2) for i in range(3))
    answer = highs.solve(packing(group(members(*kinds)), machines), PLENTY)
    assert answer.counts is not None


def tight(*rooms: int, kinds: tuple[int, ...]) -> tuple[GroupFacts, tuple[Node, ...]]:
    """Ten members of each kind, which ask for so many CPUs, on nodes that have so many."""
    wanted = [Kind(cpu=cpu) for cpu in kinds] * 10
    return group(members(*wanted)), tuple(machine(f"n{i}", cpu) for i, cpu in enumerate(rooms))


FITS = tight(
    *(17, 15, 14, 15, 14, 16, 17, 15, 17, 18, 14, 18, 15, 14, 15, 17, 16, 15, 17, 15),
    kinds=(12, 7, 8, 3),
)
FITS_NOT = tight(
    *(11, 15, 11, 13, 15, 11, 15, 12, 11, 11, 14, 14, 11, 12, 11, 15, 14, 11, 15, 11),
    kinds=(8, 5, 9, 3),
)


def test_what_a_short_search_does_not_find_the_solver_does() -> None:
    facts, machines = FITS
    without, _ = place_group(facts, trying(cluster(*machines)), STEPS, exactly=False)
    outcome, _ = place_group(facts, trying(cluster(*machines)), STEPS)
    assert (without.failed, without.search) == (True, Search.SPENT)
    assert (outcome.failed, outcome.search) == (False, Search.SOLVER)
    assert len(outcome.needed) == 40
    again, _ = place_group(facts, trying(cluster(*machines)), STEPS)
    assert (again.needed, again.steps) == (outcome.needed, outcome.steps)


def test_what_no_search_refutes_in_time_the_solver_does() -> None:
    facts, machines = FITS_NOT
    trial = trying(cluster(*machines))
    without, _ = place_group(facts, trial, STEPS, exactly=False)
    outcome, _ = place_group(facts, trial, STEPS)
    assert (without.failed, without.search) == (True, Search.SPENT)
    assert (outcome.failed, outcome.search) == (True, Search.INFEASIBLE)
    assert "missing members do not fit on" in infeasible(facts, (), trial, STEPS)


def test_a_budget_too_small_to_begin_with_asks_nothing() -> None:
    facts, machines = FITS
    assert highs.solve(packing(facts, machines), 10) == highs.SolverAnswer()


def test_what_would_round_in_floats_is_no_proof() -> None:
    apart = frozenset({(HOST, "a")})
    kinds = [Kind(cpu=2**33 + 1, apart=apart), Kind(cpu=2**33, gpu=1), Kind(cpu=1)]
    machines = machine("n0", 2**33), machine("n1", 2**33 + 1, gpu=0)
    problem = packing(group(members(*kinds)), machines)
    answer = highs.solve(problem, PLENTY)
    assert not answer.refuted
    assert answer.counts is None


@given(gang=gangs(), machines=machine_lists)
@examples(50)
def test_answers_of_the_search_over_classes_hold_in_integers(
    gang: tuple[list[Kind], GroupFacts], machines: tuple[Node, ...]
) -> None:
    problem = packing(gang[1], machines)
    for counts in ClassSearch(problem, 5000).answers():
        assert problem.holds(counts)
        assert not problem.holds(np.zeros_like(counts))
