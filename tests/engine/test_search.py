# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Search beyond the given order: what is found, and what may be said where nothing is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.config import default_profiles
from enbloc.engine.decide.assign import place_group
from enbloc.engine.trial import Outcome, Search
from enbloc.engine.trial.ranking import Ranking
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.framework.reads import Reads
from enbloc.model.names import SCHEDULER_NAME
from enbloc.model.node import Node
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, SpreadConstraint
from enbloc.model.snapshot import Snapshot
from tests.effort import examples
from tests.engine.searching import (
    HOST,
    ZONE,
    Kind,
    cluster,
    gangs,
    group,
    lawful,
    machine,
    machine_lists,
    member,
    members,
    named,
    possible,
    trying,
)
from tests.world import tables
from tests.world.builders import node, spec

PLENTY = 400_000
PROFILE = default_profiles()[SCHEDULER_NAME]


def place(facts: GroupFacts, machines: Sequence[Node], steps: int = PLENTY) -> Outcome:
    return place_group(facts, trying(cluster(*machines)), steps)[0]


def where(outcome: Outcome, machines: Sequence[Node]) -> dict[int, str]:
    pairs = (*outcome.needed, *outcome.surplus)
    return {int(pod.key.name[1:]): machines[row].name for pod, row in pairs}


# ── what it finds ────────────────────────────────────────────────────────────────────────────


def test_heterogeneous_members_are_placed_largest_first_where_the_oldest_first_fails() -> None:
    machines = machine("n0", 6), machine("n1", 2)
    facts = group(members(Kind(cpu=2), Kind(cpu=6)))
    assert place(facts, machines, steps=0).failed
    outcome = place(facts, machines)
    assert where(outcome, machines) == {0: "n1", 1: "n0"}
    assert outcome.search is Search.ORDER
    assert outcome.steps > 0
    assert not outcome.failed


def test_heterogeneous_members_that_no_order_places_are_found_by_the_search_over_classes() -> None:
    machines = machine("n0", 6), machine("n1", 6)
    facts = group(members(*[Kind(cpu=2)] * 3, *[Kind(cpu=3)] * 2))
    outcome = place(facts, machines)
    assert outcome.search is Search.CLASSES
    assert len(outcome.needed) == 5


def test_members_that_keep_apart_are_placed_where_the_order_given_leaves_no_node() -> None:
    # The leader keeps workers away; put first, it takes the only node that has room for two.
    alone = Kind("lead", apart=frozenset({(HOST, "work")}))
    machines = machine("n0", 4), machine("n1", 1)
    facts = group(members(alone, Kind("work"), Kind("work")))
    assert place(facts, machines, steps=0).failed
    outcome = place(facts, machines)
    assert where(outcome, machines) == {0: "n1", 1: "n0", 2: "n0"}


def test_members_that_keep_apart_by_zone_share_none() -> None:
    machines = machine("n0", 9, zone="z"), machine("n1", 9, zone="z"), machine("n2", 1, zone="y")
    kinds = Kind("a", apart=frozenset({(ZONE, "b")})), Kind("b", cpu=2), Kind("b", cpu=2)
    outcome = place(group(members(*kinds)), machines)
    assert where(outcome, machines)[0] == "n2"


def test_a_limit_of_pods_per_node_is_kept_in_mind() -> None:
    machines = machine("n0", 8, pods=1), machine("n1", 2)
    facts = group(members(Kind(cpu=1), Kind(cpu=1), Kind(cpu=4)))
    assert place(facts, machines, steps=0).failed
    assert where(place(facts, machines), machines) == {0: "n1", 1: "n1", 2: "n0"}


def test_members_that_want_to_be_near_others_are_placed_after_them() -> None:
    first, second = members(Kind("near", cpu=2), Kind("far"))
    near = PodAffinity(required=(PodAffinityTerm(HOST, named("far")),))
    first = replace(first, spec=replace(first.spec, pod_affinity=near))
    machines = machine("n0", 3), machine("n1", 2)
    outcome = place(group((first, second)), machines)
    assert where(outcome, machines) == {0: "n0", 1: "n0"}
    assert [pod.key.name for pod, _ in outcome.needed] == ["m1", "m0"]


def together(*pods: Pod) -> tuple[Pod, ...]:
    """The same pods, wanting to be in one zone with pods of app "a"."""
    near = PodAffinity(required=(PodAffinityTerm(ZONE, named("a")),))
    specs = {pod.spec: replace(pod.spec, pod_affinity=near) for pod in pods}
    return tuple(replace(pod, spec=specs[pod.spec]) for pod in pods)


@pytest.mark.parametrize("sizes", [(2, 2, 2, 2), (3, 2, 2, 1)])
def test_members_that_must_be_in_one_zone_find_the_zone_that_holds_them_all(
    sizes: tuple[int, ...],
) -> None:
    # The emptiest node, to which the first member goes, is in the zone that is too small.
    machines = machine("n0", 7, zone="y"), *(machine(f"n{i}", 4, zone="z") for i in (1, 2))
    facts = group(together(*members(*[Kind(cpu=cpu) for cpu in sizes])))
    assert place(facts, machines, steps=0).failed
    outcome = place(facts, machines)
    assert outcome.search is Search.DOMAIN
    assert set(where(outcome, machines).values()) == {"n1", "n2"}


def test_labels_that_nodes_had_before_do_not_change_the_zone_that_is_chosen() -> None:
    # Two zones are equally good; the emptiest node is in a third, which is too small.
    machines = (
        machine("n0", 7, zone="x"),
        *(machine(f"n{i}", 4, zone="y" if i < 3 else "z") for i in (1, 2, 3, 4)),
    )
    facts = group(together(*members(*[Kind(cpu=2)] * 4)))
    before = [machine(f"n{i}", 4, zone=zone) for i, zone in enumerate("wzyzy")]
    expected = place(facts, machines)
    table = tables.nodes(*before)
    table.domains(ZONE)
    for each in machines:
        table.put(each)
    snapshot = replace(tables.snapshot(table), namespaces={"ns": ()})
    found = place_group(facts, trying(snapshot), PLENTY)[0]
    assert expected.search is Search.DOMAIN
    assert (where(found, machines), found.steps) == (where(expected, machines), expected.steps)


def test_members_that_no_zone_holds_together_are_not_placed() -> None:
    machines = machine("n0", 5, zone="y"), machine("n1", 5, zone="z"), machine("n2", 9)
    facts = group(together(*members(*[Kind(cpu=2)] * 3)))
    outcome = place(facts, machines)
    assert (outcome.failed, outcome.search) == (True, Search.NONE)


def test_room_that_pods_of_others_keep_free_of_us_is_not_proposed() -> None:
    keeps = member(9, Kind("other", apart=frozenset({(HOST, "a")})))
    machines = machine("n0", 9), machine("n1", 4), machine("n2", 4)
    facts = group(members(Kind(cpu=1), Kind(cpu=3), Kind(cpu=4)))
    trial = trying(cluster(*machines, seated=[(keeps, "n0")]))
    outcome, _ = place_group(facts, trial, PLENTY)
    assert {row for _, row in outcome.needed} == {1, 2}


def test_surplus_that_fits_beside_what_was_searched_for_is_placed_too() -> None:
    machines = machine("n0", 6), machine("n1", 3)
    kinds = Kind(cpu=2, role="w"), Kind(cpu=6, role="w"), Kind(cpu=1)
    outcome = place(group(members(*kinds), 2, w=2), machines)
    assert outcome.search is Search.ORDER
    assert [pod.key.name for pod, _ in outcome.surplus] == ["m2"]


def test_a_group_that_is_held_in_part_gets_its_deficit_and_nothing_beyond_it() -> None:
    machines = (machine("n0", 9),)
    facts = group(members(*[Kind()] * 3), minimum=4, held=2)
    outcome = place(facts, machines)
    assert len(outcome.needed) == 2
    assert outcome.surplus == []


# ── what it says when nothing is found ───────────────────────────────────────────────────────


def test_members_that_adding_up_refutes_are_not_searched_for() -> None:
    facts = group(members(Kind(cpu=4), Kind(cpu=4), Kind(cpu=1)))
    outcome = place(facts, [machine("n0", 8)])
    assert (outcome.failed, outcome.search) == (True, Search.INFEASIBLE)
    assert outcome.steps < 100


def test_a_search_that_tried_everything_proves_that_there_is_no_placement() -> None:
    machines = machine("n0", 6), machine("n1", 6)
    facts = group(members(Kind(cpu=4), Kind(cpu=4), Kind(cpu=3), Kind(cpu=1)))
    outcome = place(facts, machines)
    assert (outcome.failed, outcome.search) == (True, Search.INFEASIBLE)
    assert [each.text() for each in outcome.diagnoses] == [
        each.text() for each in place(facts, machines, steps=0).diagnoses
    ]


def test_a_budget_of_nothing_switches_the_search_off() -> None:
    machines = machine("n0", 6), machine("n1", 2)
    outcome = place(group(members(Kind(cpu=2), Kind(cpu=6))), machines, steps=0)
    assert (outcome.failed, outcome.search, outcome.steps) == (True, Search.NONE, 0)


def test_a_budget_that_is_spent_is_said_to_be() -> None:
    machines = machine("n0", 6), machine("n1", 6)
    facts = group(members(*[Kind(cpu=2)] * 3, *[Kind(cpu=3)] * 2))
    outcome = place(facts, machines, steps=50)
    assert (outcome.failed, outcome.search) == (True, Search.SPENT)


@dataclass
class Asked:
    """Keeps nobody apart, and counts how often it was asked whom it does."""

    name: ClassVar[str] = "Asked"
    reads: ClassVar[Reads] = Reads.NODE
    reason: ClassVar[str] = "asked"
    times: int = 0

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        return np.ones(len(nodes), np.bool_)

    def apart(self, pod: Pod, other: Pod, snapshot: Snapshot) -> tuple[str, ...]:
        del pod, other, snapshot
        self.times += 1
        return ()


@pytest.mark.parametrize("kinds", [20, 300])
def test_who_excludes_whom_is_asked_within_the_steps_or_not_at_all(kinds: int) -> None:
    asked = Asked()
    profile = Profile("p", (*PROFILE.plugins, asked), PROFILE.weights)
    facts = group(members(*[Kind(cpu=3 + index) for index in range(kinds)]), 2)
    trial = trying(cluster(machine("n0", 5), machine("n1", 1)), profile)
    outcome, _ = place_group(facts, trial, 2000)
    assert outcome.failed
    assert outcome.steps <= 2000
    assert asked.times == (210 if kinds == 20 else 0)


def test_what_adding_up_refutes_it_refutes_without_knowing_who_excludes_whom() -> None:
    facts = group(members(*[Kind(cpu=1 + index) for index in range(300)]))
    outcome = place(facts, [machine("n0", 300, pods=500)], 2000)
    assert outcome.search is Search.INFEASIBLE


def test_alike_members_whom_only_plugins_refuse_are_not_searched_for() -> None:
    profile = Profile("p", (*PROFILE.plugins, Never()), PROFILE.weights)
    trial = trying(cluster(machine("n0", 9)), profile)
    outcome, _ = place_group(group(members(Kind(), Kind())), trial, PLENTY)
    assert (outcome.failed, outcome.search) == (True, Search.NONE)


@dataclass(frozen=True)
class Never:
    """Refuses every node, for reasons that a search cannot know."""

    name: ClassVar[str] = "Never"
    reads: ClassVar[Reads] = Reads.NODE
    reason: ClassVar[str] = "never"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        return np.zeros(len(nodes), np.bool_)


def test_plugins_have_the_last_word() -> None:
    profile = Profile("p", (*PROFILE.plugins, Never()), PROFILE.weights)
    trial = trying(cluster(machine("n0", 9)), profile)
    outcome, _ = place_group(group(members(Kind(cpu=1), Kind(cpu=2))), trial, PLENTY)
    assert (outcome.failed, outcome.search) == (True, Search.REFUSED)


# ── laws ─────────────────────────────────────────────────────────────────────────────────────


@given(gang=gangs(), machines=machine_lists)
@examples(200)
def test_it_finds_a_placement_if_and_only_if_there_is_one(
    gang: tuple[list[Kind], GroupFacts], machines: tuple[Node, ...]
) -> None:
    kinds, facts = gang
    outcome = place(facts, machines)
    assert outcome.failed is not possible(facts, kinds, machines)
    if outcome.failed:
        assert outcome.search in (Search.INFEASIBLE, Search.NONE)
        return
    found = where(outcome, machines)
    assert lawful(kinds, machines, found)
    assert len(outcome.needed) >= facts.total.deficit
    for floor in facts.roles:
        assert sum(pod.role == floor.role for pod, _ in outcome.needed) >= floor.deficit


@given(gang=gangs(), machines=machine_lists, steps=st.integers(0, 3000))
@examples(60)
def test_a_proof_is_never_wrong_whatever_the_budget(
    gang: tuple[list[Kind], GroupFacts], machines: tuple[Node, ...], steps: int
) -> None:
    kinds, facts = gang
    outcome = place(facts, machines, steps)
    if outcome.search is Search.INFEASIBLE:
        assert not possible(facts, kinds, machines)


@given(gang=gangs(), machines=machine_lists, budgets=st.tuples(*[st.integers(0, 3000)] * 2))
@examples(60)
def test_more_steps_never_lose_a_placement(
    gang: tuple[list[Kind], GroupFacts], machines: tuple[Node, ...], budgets: tuple[int, int]
) -> None:
    _, facts = gang
    few, many = (place(facts, machines, steps) for steps in sorted(budgets))
    assert few.failed or not many.failed


@given(gang=gangs(), machines=machine_lists, steps=st.integers(0, 8000))
@examples(60)
def test_a_search_spends_no_more_steps_than_it_may(
    gang: tuple[list[Kind], GroupFacts], machines: tuple[Node, ...], steps: int
) -> None:
    _, facts = gang
    assert place(facts, machines, steps).steps <= steps


@given(gang=gangs(), machines=machine_lists)
@examples(50)
def test_the_same_question_gets_the_same_answer(
    gang: tuple[list[Kind], GroupFacts], machines: tuple[Node, ...]
) -> None:
    _, facts = gang
    one, two = (place(facts, machines, 2000) for _ in range(2))
    assert (one.needed, one.surplus, one.search, one.steps) == (
        two.needed,
        two.surplus,
        two.search,
        two.steps,
    )


@given(gang=gangs(), machines=machine_lists)
@examples(50)
def test_a_fork_holds_the_placement_and_nothing_else_has_changed(
    gang: tuple[list[Kind], GroupFacts], machines: tuple[Node, ...]
) -> None:
    _, facts = gang
    snapshot = cluster(*machines)
    trial = trying(snapshot)
    outcome, tried = place_group(facts, trial, PLENTY)
    fork = snapshot.nodes.fork()
    for pod, row in (*outcome.needed, *outcome.surplus) if not outcome.failed else ():
        fork.place(row, pod.spec)
    names = ("cpu", "nvidia.com/gpu", "pods")
    assert (tried.nodes.frees(names) == fork.frees(names)).all()
    assert (tried is trial) is outcome.failed
    for pod in facts.pending:
        ranking, fresh = trial.ranking(pod), Ranking(pod, PROFILE, snapshot)
        assert (ranking.mask == fresh.mask).all()
        assert (ranking.totals == fresh.totals).all()
        ranking, fresh = (
            tried.ranking(pod),
            Ranking(pod, PROFILE, snapshot, tried.nodes, tried.changes),
        )
        assert (ranking.mask == fresh.mask).all()
        assert (ranking.totals == fresh.totals).all()


@pytest.mark.parametrize(
    ("rooms", "size"),
    [
        pytest.param(((1, "a", "x"), (1, "b", "z"), (2, "b", "x")), 2, id="greed takes the wrong"),
        pytest.param(
            ((2, "a", "z"), (1, "a", "z"), (1, "a", "y"), (2, "b", "z")), 2, id="alike but for zone"
        ),
        pytest.param(((2, "b", "x"), (1, "b", "z"), (1, "a", "x")), 3, id="in one order only"),
    ],
)
def test_alike_members_with_two_spread_constraints_are_placed_where_one_placement_is_left(
    rooms: Sequence[tuple[int, str, str]], size: int
) -> None:
    machines = [
        node(f"n{at}", cpu=cpu, labels=(("rack", rack), ("zone", zone)))
        for at, (cpu, rack, zone) in enumerate(rooms)
    ]
    spread = tuple(SpreadConstraint(key, selector=named("a")) for key in ("zone", "rack"))
    pods = [replace(pod, spec=spec(cpu=1, spread=spread)) for pod in members(*[Kind()] * size)]
    outcome = place(group(pods), machines)
    assert len(outcome.needed) == size
