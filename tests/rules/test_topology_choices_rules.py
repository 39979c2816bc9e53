# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §11: parts and slices that find a place only where somebody else takes another."""

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from enbloc.engine.decide.assign import place_group
from enbloc.engine.events import SlotsFree
from enbloc.model.names import RANK_KEY
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector
from enbloc.model.topology import Slice, TopologyPart, TopologyRequest
from tests.rules.fabrics import (
    BLOCK,
    HOST,
    ONE_CPU,
    RACK,
    ZONE,
    fabric,
    gang,
    lying,
    message,
    racks,
)
from tests.rules.world import World
from tests.world.builders import spec


def part(roles: str, required: str) -> TopologyPart:
    """These roles in one domain of a level."""
    return TopologyPart(f"spec.roles[{roles}]", frozenset(roles.split()), _in(required))


def _in(required: str) -> TopologyRequest:
    return TopologyRequest("", required)


def members(of: World, role: str, count: int, cpu: int = 1) -> None:
    for index in range(count):
        of.member(f"g-{role}-{index}", "g", role=role, spec=spec(cpu=cpu))


def where(of: World, role: str) -> set[str]:
    """The nodes of members of a role, without their numbers."""
    found = of.where("g-").items()
    return {node.rstrip("0123456789") for name, node in found if name.startswith(f"g-{role}-")}


def by_slice(of: World, size: int, label: str) -> dict[int, set[str]]:
    """In which domains of a label each slice lies, by the ranks that members were bound with."""
    found: dict[int, set[str]] = {}
    nodes = of.engine._state.nodes
    for bind in of.sent:
        rank = int(dict(bind.target.annotations)[RANK_KEY])
        row = nodes.row(bind.target.node)
        assert row is not None
        found.setdefault(rank // size, set()).add(dict(nodes.labels_of(row))[label])
    return found


# ── parts ────────────────────────────────────────────────────────────────────────────────────────


def test_a_role_takes_another_rack_where_the_next_one_would_find_none() -> None:
    """Semantics §11.7: workers would fit the small rack best, and the launcher has but one node."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:3")
    w.group("g", 3, roles=[("x", 2), ("y", 1)], topology_parts=(part("x", "rack"),), timeout=60)
    members(w, "x", 2)
    w.member("g-y-0", "g", role="y", spec=spec(cpu=1, node_selector=((HOST, "a1"),)))
    w.settle()
    assert where(w, "x") == {"b"}
    assert where(w, "y") == {"a"}


def test_a_group_goes_to_another_domain_where_many_choices_in_the_first_are_in_vain() -> None:
    """Semantics §11.7: of the small zone's racks none has four large nodes."""
    small = " ".join(f"a{index}=z1/b/r{index}:6" for index in range(70))
    halves = "c1=z1/b/x1:10 c2=z1/b/x1:10 c3=z1/b/x2:10 c4=z1/b/x2:10"
    w = fabric(f"{small} {halves} b1=z2/b/r1:5000")
    w.group(
        "g",
        10,
        roles=[("x", 6), ("y", 4)],
        topology=_in("zone"),
        topology_parts=(part("x", "rack"), part("y", "rack")),
        timeout=60,
    )
    members(w, "x", 6)
    members(w, "y", 4, cpu=10)
    w.settle()
    assert len(w.where("g-")) == 10
    assert where(w, "x") | where(w, "y") == {"b"}


@pytest.mark.parametrize("nodes", ["a1=z/b/r1:2 b1=z/b/r2:4", "a1=z/b/r1:3 b1=z/b/r2:3"])
def test_what_a_group_needs_beyond_the_minimum_of_a_role_lies_in_its_rack_too(nodes: str) -> None:
    """Semantics §11.7."""
    w = fabric(nodes)
    w.group("g", 4, roles=[("x", 2)], topology_parts=(part("x", "rack"),), timeout=60)
    members(w, "x", 4)
    w.settle()
    assert len(w.where("g-")) == (4 if "r2:4" in nodes else 0)
    assert where(w, "x") == ({"b"} if "r2:4" in nodes else set())


def test_members_of_no_part_meet_the_minimum_of_their_group_before_those_of_one() -> None:
    """Semantics §11.7."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:2")
    w.group("g", 4, roles=[("x", 1)], topology_parts=(part("x", "rack"),), timeout=60)
    members(w, "x", 3)
    members(w, "y", 2)
    w.settle()
    assert len(where(w, "x")) == 1
    assert len(w.where("g-")) == 4


def test_members_of_a_part_meet_it_where_those_of_none_fit_nowhere() -> None:
    """Semantics §11.7."""
    w = fabric("a1=z/b/r1:3 b1=z/b/r2:2")
    w.group("g", 3, roles=[("x", 1)], topology_parts=(part("x", "rack"),), timeout=60)
    members(w, "x", 3)
    members(w, "y", 2, cpu=100)
    w.settle()
    assert where(w, "x") == {"a"}
    assert len(w.where("g-x-")) == 3


def test_parts_share_what_is_needed_beyond_them_where_none_can_meet_it_alone() -> None:
    """Semantics §11.7."""
    w = fabric("a1=z/b/r1:4 b1=z/b/r2:4")
    parts = part("x", "rack"), part("y", "rack")
    w.group("g", 8, roles=[("x", 1), ("y", 1)], topology_parts=parts, timeout=60)
    members(w, "x", 8)
    members(w, "y", 6)
    w.settle()
    assert len(w.where("g-")) == 8
    assert len(where(w, "x")) == len(where(w, "y")) == 1


def test_children_of_a_tree_beyond_those_that_are_enough_follow_in_racks_of_their_own() -> None:
    """Semantics §11.7 and §2.8."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:2 c1=z/b/r3:1 c2=z/b/r4:1")
    parts = tuple(part(role, "rack") for role in "xyz")
    roles = [(role, 2) for role in "xyz"]
    w.group("g", 1, roles=roles, min_group_count=1, topology_parts=parts, timeout=60)
    members(w, "x", 2)
    w.settle()
    assert len(w.where("g-")) == 2
    members(w, "y", 2)
    members(w, "z", 2)
    w.settle()
    assert len(where(w, "y")) == 1
    assert not where(w, "z"), "no rack has room for all of it"
    w.node("d1", 2, labels=((BLOCK, "b"), (RACK, "r5"), (ZONE, "z")))
    w.settle()
    assert where(w, "z") == {"d"}


def test_a_member_that_fits_nowhere_keeps_no_other_of_its_role_waiting() -> None:
    """Semantics §11.7 and §2.1."""
    w = fabric("a1=z/b/r1:3 b1=z/b/r2:3")
    roles = [("l", 1), ("x", 0)]
    w.group("g", 1, roles=roles, topology_parts=(part("x", "rack"),), timeout=60)
    members(w, "l", 1)
    w.member("g-x-large", "g", role="x", spec=spec(cpu=100))
    members(w, "x", 2)
    w.settle()
    assert len(w.where("g-x-")) == 2
    assert len(where(w, "x")) == 1


def test_a_member_beyond_the_minimum_lies_on_no_node_outside_of_the_level() -> None:
    """Semantics §11.7 and §11.1."""
    w = fabric("a1=z/b/r1:1 n1=z/b:50")
    roles = [("l", 1), ("x", 0)]
    w.group("g", 1, roles=roles, topology_parts=(part("x", "rack"),), timeout=60)
    members(w, "l", 1, cpu=2)
    members(w, "x", 2)
    w.settle()
    assert where(w, "x") == {"a"}


def test_a_role_that_comes_says_what_its_own_rack_lacks() -> None:
    """Semantics §11.7 and §2.5."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:1 c1=z/b/r3:1")
    w.group("g", 2, roles=[("a", 2)], topology_parts=(part("a", "rack"),), timeout=60)
    members(w, "a", 2)
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    both = part("a", "rack"), part("b", "rack")
    w.alter("g", min_member=4, roles=(("a", 2), ("b", 2)), topology_parts=both)
    members(w, "b", 2)
    w.settle()
    assert not w.where("g-b-")
    assert "rack z/b/r2 has room for 1 of 2" in w.pod_conditions("g-b-0")[-1][1]


# ── how many domains are tried ───────────────────────────────────────────────────────────────────


def full_racks(count: int) -> str:
    """Racks of two nodes of four CPUs."""
    return " ".join(f"n{rack}x{node}=z/b/r{rack}:4" for rack in range(count) for node in "ab")


def unlike(of: World, role: str) -> None:
    """Four members in zone z; by sums alone, two nodes of four CPUs have room for them."""
    for index, cpu in enumerate((3, 3, 2, 2)):
        of.member(
            f"g-{role}-{index}", "g", role=role, spec=spec(cpu=cpu, node_selector=((ZONE, "z"),))
        )


def test_a_role_is_tried_in_as_many_racks_as_its_group_would_be() -> None:
    """Semantics §11.3 and §11.7."""
    w = fabric(f"{full_racks(20)} c1=z/b/big:16 c2=z/b/big:16")
    w.group("g", 4, roles=[("x", 4)], topology_parts=(part("x", "rack"),), timeout=60)
    unlike(w, "x")
    w.settle()
    assert where(w, "x") == {"c"}


def beside_a(of: World, *others: tuple[str, int], tree: bool) -> None:
    """A gang "g" whose role a runs; others in racks come, or are children beyond it."""
    roles = (("a", 1), *others)
    parts = tuple(part(role, "rack") for role, _ in others)
    if tree:
        of.group("g", 1, roles=roles, min_group_count=1, topology_parts=parts, timeout=60)
    else:
        of.group("g", 1, roles=[("a", 1)], timeout=60)
    of.member("g-a-0", "g", role="a", spec=spec(cpu=1, node_selector=((HOST, "l1"),)))
    of.settle()
    of.run_pods(["g-a-0"])
    of.settle()
    if not tree:
        total = sum(count for _, count in roles)
        of.alter("g", min_member=total, roles=roles, topology_parts=parts)


@pytest.mark.parametrize("tree", [False, True], ids=["roles that come", "children"])
def test_who_finds_no_rack_keeps_no_other_from_its_rack(tree: bool) -> None:
    """Semantics §2.5, §2.8 and §11.7."""
    w = fabric(f"l1=z/b/l:1 {full_racks(70)}")
    beside_a(w, ("b", 4), ("c", 1), tree=tree)
    unlike(w, "b")
    members(w, "c", 1)
    w.settle()
    assert len(w.where("g-c-")) == 1
    assert not w.where("g-b-")


@pytest.mark.parametrize("tree", [False, True], ids=["roles that come", "children"])
def test_others_are_tried_a_few_times_though_one_has_cost_all_that_a_decision_may(
    tree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Semantics §2.5, §2.8 and §11.3."""
    monkeypatch.setattr("enbloc.engine.decide.domain.MOST_ROWS", 0)
    w = fabric(f"l1=z/b/l:1 {full_racks(9)}")
    beside_a(w, ("b", 4), ("c", 1), tree=tree)
    unlike(w, "b")
    members(w, "c", 1)
    w.settle()
    assert len(w.where("g-c-")) == 1
    assert not w.where("g-b-")


@pytest.mark.parametrize("tree", [False, True], ids=["roles that come", "children"])
def test_who_is_searched_for_in_vain_leaves_steps_to_search_for_others(tree: bool) -> None:
    """Semantics §2.5, §2.8 and §11.7."""
    nodes = f"l1=z/b/l:1 {full_racks(70)} c1=y/b/big:8 c2=y/b/big:7"
    w = fabric(nodes, search_steps=1000)
    beside_a(w, ("b", 4), ("c", 2), tree=tree)
    unlike(w, "b")
    for index, cpu in enumerate((7, 8)):
        w.member(f"g-c-{index}", "g", role="c", spec=spec(cpu=cpu))
    w.settle()
    assert where(w, "c") == {"c"}
    assert not w.where("g-b-")


def test_a_ninth_child_beyond_those_that_are_enough_is_placed_too() -> None:
    """Semantics §2.8 and §11.7: eight before it fit nowhere."""
    w = fabric("l1=z/b/r1:1 b1=z/b/r2:1")
    large = [(role, 2) for role in "bcdefghi"]
    beside_a(w, *large, ("j", 1), tree=True)
    for role, count in large:
        members(w, role, count, cpu=2)
    members(w, "j", 1)
    w.settle()
    assert where(w, "j") == {"b"}


# ── slices ───────────────────────────────────────────────────────────────────────────────────────


def sliced(of: World, count: int, minimum: int, *slices: Slice, required: str = "") -> None:
    """A gang "g" of numbered members of one CPU, cut into slices."""
    request = TopologyRequest("", required, slices=slices)
    of.group("g", minimum, topology=request, timeout=60)
    for index in range(count):
        of.member(f"g-{index}", "g", spec=ONE_CPU)


def test_slices_of_members_that_differ_fill_any_number_of_racks() -> None:
    """Semantics §11.9."""
    w = fabric(" ".join(f"n{index}=z/b/r{index}:4" for index in range(20)))
    w.group("g", 80, topology=TopologyRequest("", slices=(Slice(4, "rack"),)), timeout=60)
    for index in range(80):
        w.member(f"g-{index}", "g", spec=spec(cpu=1, memory=f"{index % 2 + 1}Mi"))
    w.settle()
    assert set(racks(w, "g").values()) == {4}
    assert all(len(each) == 1 for each in by_slice(w, 4, RACK).values())


@pytest.mark.parametrize("room", [4, 5, 6, 7, 9])
def test_members_beyond_the_minimum_are_bound_with_the_ranks_of_their_slices(room: int) -> None:
    """Semantics §11.9: who finds no place in its slice keeps later ones from its rank."""
    w = fabric(f"a1=z/b/r1:{room} b1=z/b/r2:{room}")
    sliced(w, 12, 4, Slice(4, "rack"))
    w.settle()
    assert len(w.where("g-")) >= 4
    assert all(len(each) == 1 for each in by_slice(w, 4, RACK).values())


@pytest.mark.parametrize("required", ["rack", ""], ids=["in its rack", "anywhere"])
def test_a_member_for_which_too_little_is_unreserved_keeps_later_ones_from_its_rank(
    required: str,
) -> None:
    """Semantics §11.9, §5.1 and §11.10."""
    w = fabric("a1=z/b/r1:4 b1=z/b/r2:9 c1=z/b/r3:4")
    reserved = (("cpu", 6000),)
    w.group("app", 1, min_resources=reserved, topology=TopologyRequest("", required), timeout=60)
    w.member("app-driver", "app", spec=spec(cpu=1, node_selector=((HOST, "b1"),)))
    w.settle()
    w.now += 1
    w.group("g", 4, topology=TopologyRequest("", slices=(Slice(4, "rack"),)), timeout=60)
    for index in range(12):
        own = ((RACK, f"r{index // 4 + 1}"),)
        w.member(f"g-{index}", "g", spec=spec(cpu=5 if index == 7 else 1, node_selector=own))
    w.settle()
    assert sorted(w.where("g-")) == [f"g-{index}" for index in range(7)]


def test_a_slice_of_one_member_beyond_the_minimum_lies_on_no_node_outside_of_its_level() -> None:
    """Semantics §11.9 and §11.1."""
    w = fabric("a1=z/b/r1:2 n1=z/b:50")
    sliced(w, 4, 1, Slice(1, "rack"))
    w.settle()
    assert set(w.where("g-").values()) == {"a1"}


def test_slices_of_one_member_within_others_leave_those_whole() -> None:
    """Semantics §11.9."""
    w = fabric("a1=z/b1/r1:3 a2=z/b1/r2:3 b1=z/b2/r1:3 b2=z/b2/r2:3")
    sliced(w, 8, 4, Slice(4, "block"), Slice(1, "rack"))
    w.settle()
    assert len(w.where("g-")) > 4
    assert all(len(each) == 1 for each in by_slice(w, 4, BLOCK).values())


def test_a_slice_is_planned_again_when_a_node_moves_to_another_domain_before_it_is_sent() -> None:
    """Semantics §11.2 and §3.1."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r1:1 b1=z/b/r2:8", slots=0)
    sliced(w, 2, 2, Slice(2, "rack"))
    w.settle()
    w.node("a2", 1, labels=((BLOCK, "b"), (RACK, "r9"), (ZONE, "z")))
    w.tell(SlotsFree(32))
    w.settle()
    assert lying(w, "g", (RACK,)) == {"r2": 2}
    assert w.attempts("g") == 2, "the first plan had been made"


def test_slices_of_other_members_pass_over_the_racks_that_those_before_them_have_filled() -> None:
    """Semantics §11.9: of as many racks as are tried for a slice none has room any more."""
    large = " ".join(f"a{index}=z/b/r{index}:3" for index in range(9))
    w = fabric(f"{large} b1=z/b/s1:2 b2=z/b/s2:2")
    w.group("g", 22, topology=TopologyRequest("", slices=(Slice(2, "rack"),)), timeout=60)
    for index in range(22):
        kind = index % 2 + (1 if index < 18 else 3)
        w.member(f"g-{index}", "g", spec=spec(cpu=1, memory=f"{kind}Mi"))
    w.settle()
    assert set(racks(w, "g").values()) == {2}
    assert len(w.where("g-")) == 22
    assert all(len(each) == 1 for each in by_slice(w, 2, RACK).values())


def test_many_slices_of_alike_members_fill_racks_by_adding_up() -> None:
    """Semantics §11.9."""
    w = fabric(" ".join(f"n{index}=z/b/r{index}:4" for index in range(300)))
    sliced(w, 600, 600, Slice(2, "rack"))
    w.settle()
    assert Counter(racks(w, "g").values()) == {4: 150}
    assert all(len(each) == 1 for each in by_slice(w, 2, RACK).values())


def test_a_slice_whose_node_has_lost_its_label_is_joined_where_its_others_are() -> None:
    """Semantics §11.9 and §11.1: a node without the label is in no domain."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r1:1 a3=z/b/r1:1 n1=z/b:4")
    sliced(w, 2, 2, Slice(4, "rack"))
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.node("a1", 1, labels=((BLOCK, "b"), (ZONE, "z")))
    for index in (2, 3):
        w.member(f"g-{index}", "g", spec=ONE_CPU)
    w.settle()
    assert w.where("g-") == {"g-0": "a1", "g-1": "a2", "g-2": "a3"}


def running_in_slices(of: World, minimum: int, *slices: Slice) -> None:
    """A gang "g" that runs, of two members of role a and others up to its minimum."""
    topology = TopologyRequest("", slices=slices)
    of.group("g", minimum, roles=[("a", 2)], topology=topology, timeout=600, on_incomplete="Keep")
    members(of, "a", 2)
    for index in range(2, minimum):
        of.member(f"g-z-{index}", "g", spec=ONE_CPU)
    of.settle()
    of.run_pods(sorted(of.where("g-")))
    of.settle()


def b_comes(of: World, minimum: int, count: int) -> None:
    """Role b with so many members, all of which are needed."""
    of.alter("g", min_member=minimum + count, roles=(("a", 2), ("b", count)))
    members(of, "b", count)
    of.settle()


def test_a_role_that_comes_is_cut_into_slices_too() -> None:
    """Semantics §11.9 and §2.5."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:1 c1=z/b/r3:1 d1=z/b/r4:2 e1=z/b/r5:2")
    running_in_slices(w, 2, Slice(2, "rack"))
    b_comes(w, 2, 4)
    assert len(w.where("g-b-")) == 4
    assert all(len(each) == 1 for each in by_slice(w, 2, RACK).values())


def test_a_role_that_comes_waits_for_domains_that_hold_its_slices() -> None:
    """Semantics §11.9 and §2.5."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:1 c1=z/b/r3:1")
    running_in_slices(w, 2, Slice(2, "rack"))
    b_comes(w, 2, 2)
    assert not w.where("g-b-")
    assert "no domain of rack has room for ranks 2 to 3" in w.pod_conditions("g-b-0")[-1][1]
    w.node("d1", 2, labels=((BLOCK, "b"), (RACK, "r4"), (ZONE, "z")))
    w.settle()
    assert len(w.where("g-b-")) == 2


@pytest.mark.parametrize("role", ["a", "c"])
@pytest.mark.parametrize("sliced", [True, False])
def test_a_role_that_waits_for_a_domain_is_woken_whatever_other_members_wait_for(
    *, role: str, sliced: bool
) -> None:
    """Semantics §11.7, §11.9, §2.5 and §9.2: of its role that runs, or of another that comes."""
    w = fabric("a1=z/b/r1:3 b1=z/b/r2:2")
    w.pod("other", node="b1", spec=ONE_CPU)
    running_in_slices(w, 2, *[Slice(2, "rack")] if sliced else [])
    if not sliced:
        w.alter("g", topology_parts=(part("b", RACK),))
    w.member("nowhere", "g", role=role, spec=spec(cpu=1, node_selector=(("pool", "x"),)))
    w.alter("g", min_member=5, roles=(("a", 2), ("b", 2), ("c", 1)))
    members(w, "b", 2)
    w.settle()
    assert not w.where("g-b-")
    w.delete("other")
    w.settle()
    assert w.where("g-b-") == {"g-b-0": "b1", "g-b-1": "b1"}


def test_a_member_of_a_role_that_came_is_no_replacement_in_a_slice() -> None:
    """Semantics §11.9 and §2.5: it is placed with its role whole, once the floor is held."""
    w = fabric("a1=z/b/r1:3 b1=z/b/r2:2")
    running_in_slices(w, 3, Slice(3, "rack"))
    w.delete("g-z-2")
    b_comes(w, 3, 2)
    w.member("g-z-9", "g", spec=ONE_CPU)
    w.settle()
    assert w.where("g-z-") == {"g-z-9": "a1"}
    assert set(w.where("g-b-").values()) == {"b1"}


# ── what it may cost ─────────────────────────────────────────────────────────────────────────────


def test_domains_that_hold_all_but_a_few_of_many_unlike_members_end_a_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Semantics §9.1 and §11.3: each member that is placed in vain counts."""
    monkeypatch.setattr("enbloc.engine.decide.domain.MOST_ROWS", 20_000)
    w = fabric(" ".join(f"n{index}=z/b/r{index}:5" for index in range(20)))
    w.group("g", 5, topology=_in("rack"), timeout=60)
    for index in range(5):
        w.member(f"g-{index}", "g", spec=spec(cpu=1 if index else 3))
    w.settle()
    [decided] = w.decisions()
    assert decided.steps >= 20_000 // 100
    assert "; searched 7 domains" in message(w, "g")


def counting(asked: list[int]) -> Callable[..., Any]:
    """Places as ever, and remembers that it was asked."""

    def place(*given: Any, **more: Any) -> Any:
        asked.append(1)
        return place_group(*given, **more)

    return place


def test_one_domain_that_preemption_can_clear_will_do_when_looking_was_dear(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Semantics §10.5."""
    tried: list[int] = []
    for limit in (2000, 0):
        monkeypatch.setattr(import_module("enbloc.engine.preemption.search"), "SEARCH_LIMIT", limit)
        w = fabric(" ".join(f"n{index}=z/b/r{index}:2" for index in range(8)))
        for index in range(8):
            w.pod(f"low-{index}", node=f"n{index}", spec=spec(cpu=2))
        with monkeypatch.context() as patch:
            asked: list[int] = []
            patch.setattr("enbloc.engine.decide.cycle.place_group", counting(asked))
            gang(w, "g", 2, required="rack", priority=10)
            w.settle()
        assert len(w.evictions) == 1
        tried.append(len(asked))
    assert tried[1] < tried[0] - 7


# ── facts of other projects' own suites ──────────────────────────────────────────────────────────


def test_children_of_a_tree_wait_for_one_rack_that_holds_both() -> None:
    """Semantics §11.1: two racks with room for one each are no rack for two."""
    w = fabric("a1=z/b/r1:1 b1=z/b/r2:1")
    w.group("g", 2, roles=[("x", 1), ("y", 1)], topology=_in("rack"), timeout=60)
    members(w, "x", 1)
    members(w, "y", 1)
    w.settle()
    assert not w.where("g-")
    w.node("c1", 2, labels=((BLOCK, "b"), (RACK, "r3"), (ZONE, "z")))
    w.settle()
    assert racks(w, "g") == {"z/b/r3": 2}


def test_room_that_adds_up_over_nodes_is_no_room_for_large_members() -> None:
    """Semantics §11.1: two nodes of one in one rack, and a node of two in another."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r1:1 b1=z/b/r2:2")
    w.job("g", 2, pod=spec(cpu=2), topology=_in("rack"))
    w.settle()
    assert not w.where("g-")


def test_members_that_keep_apart_prefer_the_rack_that_has_a_node_for_each() -> None:
    """Semantics §11.3: of three racks of two nodes, two have one node that is full."""
    w = fabric("a1=z/b/r1:2 a2=z/b/r1:2 b1=z/b/r2:2 b2=z/b/r2:2 c1=z/b/r3:2 c2=z/b/r3:2")
    for node in ("a2", "b1"):
        w.pod(f"full-{node}", node=node, spec=spec(cpu=2))
    like = Selector((Requirement("app", Operator.IN, ("g",)),))
    apart = PodAffinity(required=(PodAffinityTerm(HOST, like),))
    pod = spec(cpu=1, pod_anti_affinity=apart)
    w.group("g", 2, topology=TopologyRequest("", preferred="rack"), timeout=60)
    for index in range(2):
        w.member(f"g-{index}", "g", spec=pod, labels=(("app", "g"),))
    w.settle()
    assert racks(w, "g") == {"z/b/r3": 2}


@pytest.mark.parametrize(("used", "block"), [(False, "small"), (True, "large")])
def test_sub_groups_of_one_workload_lie_in_the_smallest_block_that_holds_all(
    used: bool, block: str
) -> None:
    """Semantics §11.3: blocks of 18 and of 10 nodes, and ten members in two roles."""
    large = " ".join(f"a{index}=z/large/r{index}:1" for index in range(18))
    small = " ".join(f"b{index}=z/small/r{index}:1" for index in range(10))
    w = fabric(f"{large} {small}")
    if used:
        w.pod("other", node="b3", spec=ONE_CPU)
    roles = [("x", 4), ("y", 6)]
    w.group("g", 10, roles=roles, topology=_in("block"), timeout=60)
    for role, count in roles:
        members(w, role, count)
    w.settle()
    assert lying(w, "g", (BLOCK,)) == {block: 10}
