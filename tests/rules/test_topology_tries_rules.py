# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §11.3: of more domains than one decision tries, none keeps others from their turn."""

from collections.abc import Iterable

import pytest

from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector, SpreadConstraint
from enbloc.model.topology import TopologyPart, TopologyRequest
from tests.rules.fabrics import BLOCK, RACK, ZONE, fabric, lying, message
from tests.rules.test_topology_choices_rules import full_racks, members, part, unlike
from tests.rules.world import World
from tests.world.builders import spec

# ── levels ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("required", "preferred"), [("", "rack"), ("zone", "rack"), ("zone", "")])
def test_what_is_preferred_holds_nobody_back_however_many_domains_there_are(
    required: str, preferred: str
) -> None:
    """Semantics §11.3: by sums alone, each of the racks has room for all four."""
    w = fabric(full_racks(70))
    w.group("g", 4, topology=TopologyRequest("", required, preferred), timeout=60)
    unlike(w, "x")
    w.settle()
    assert len(w.where("g-")) == 4


def test_a_level_is_tried_too_where_those_within_it_have_cost_all_that_a_decision_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Semantics §11.3."""
    monkeypatch.setattr("enbloc.engine.decide.domain.MOST_ROWS", 0)
    w = fabric(full_racks(9))
    w.group("g", 4, topology=TopologyRequest("", "", "rack"), timeout=60)
    unlike(w, "x")
    w.settle()
    assert len(w.where("g-")) == 4


def over_pools(of: World, required: str) -> None:
    """A gang "g" of two members in different pools, which adding up does not see."""
    like = Selector((Requirement("app", Operator.IN, ("g",)),))
    pod = spec(cpu=1, spread=(SpreadConstraint("pool", selector=like),))
    of.group("g", 2, topology=TopologyRequest("", required, "rack"), timeout=60)
    for index in range(2):
        of.member(f"g-{index}", "g", spec=pod, labels=(("app", "g"),))


def in_one_pool(of: World, racks: int) -> None:
    """So many racks of four CPUs, nine in a block."""
    for at in range(racks):
        labels = (BLOCK, f"b{at // 9}"), ("pool", "p"), (RACK, f"r{at % 9}"), (ZONE, "z")
        of.node(f"n{at}", 4, labels=labels)


def test_domains_of_an_outer_level_have_an_equal_share_of_all_that_are_tried() -> None:
    """Semantics §11.3: of ten blocks the last and largest has a second pool, of a rack's own."""
    w = fabric("")
    in_one_pool(w, 81)
    for rack in "pq":
        w.node(f"m{rack}", 40, labels=((BLOCK, "large"), ("pool", rack), (RACK, rack), (ZONE, "z")))
    over_pools(w, "block")
    w.settle()
    assert lying(w, "g", (BLOCK,)) == {"large": 2}


def in_blocks_of_racks(blocks: int) -> World:
    """Blocks of 16 racks of two CPUs, and a rack of two nodes of four."""
    w = fabric("")
    for block in range(blocks):
        own = (BLOCK, f"b{block}")
        for rack in range(16):
            w.node(f"s{block}x{rack}", 2, labels=(own, (RACK, f"r{rack}"), (ZONE, "z")))
        for node in "ab":
            labels = (own, ("pool", "fat"), (RACK, "fat"), (ZONE, "z"))
            w.node(f"f{block}x{node}", 4, labels=labels)
    return w


def test_what_is_preferred_holds_nobody_back_whose_roles_have_racks_of_their_own() -> None:
    """Semantics §11.3 and §11.7."""
    w = in_blocks_of_racks(8)
    preferred = TopologyRequest("", "", "block")
    parts = (part("x", "rack"),)
    w.group("g", 6, roles=[("x", 2), ("y", 4)], topology=preferred, topology_parts=parts)
    members(w, "x", 2)
    for index, cpu in enumerate((3, 3, 2, 2)):
        pod = spec(cpu=cpu, node_selector=(("pool", "fat"),))
        w.member(f"g-y-{index}", "g", role="y", spec=pod)
    w.settle()
    assert len(w.where("g-")) == 6


def preferring_racks(roles: Iterable[str]) -> tuple[TopologyPart, ...]:
    preferred = TopologyRequest("", "", "rack")
    return tuple(
        TopologyPart(f"spec.roles[{role}]", frozenset({role}), preferred) for role in roles
    )


def test_what_a_role_prefers_holds_nobody_back() -> None:
    """Semantics §11.3 and §11.7."""
    w = fabric(full_racks(70))
    roles = [("x", 4), ("y", 1)]
    w.group("g", 5, roles=roles, topology_parts=preferring_racks("xy"), timeout=60)
    unlike(w, "x")
    members(w, "y", 1)
    w.settle()
    assert len(w.where("g-")) == 5


def test_each_of_many_roles_that_prefer_racks_has_its_turn() -> None:
    """Semantics §11.3 and §11.7."""
    w = fabric(full_racks(30))
    names = [f"x{number}" for number in range(20)]
    roles, parts = [(name, 1) for name in names], preferring_racks(names)
    request = TopologyRequest("", "zone", "rack")
    w.group("g", 20, roles=roles, topology=request, topology_parts=parts, timeout=60)
    for name in names:
        members(w, name, 1, cpu=3)
    w.settle()
    assert len(w.where("g-")) == 20


def test_the_message_counts_domains_of_the_level_that_is_required() -> None:
    """Semantics §11.3: the one zone was tried, whether all of its racks were or not."""
    w = fabric("")
    in_one_pool(w, 81)
    w.node("outside", 4, labels=(("pool", "q"),))
    over_pools(w, "zone")
    w.settle()
    assert "no domain of zone takes 2, though 1 may have room for so many" in message(w, "g")


# ── ways to meet a minimum ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rows", [10_000_000, 0], ids=["in many racks", "at great cost"])
def test_a_way_to_meet_a_minimum_that_is_tried_in_vain_leaves_tries_for_others(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Semantics §11.7 and §11.3: those of no role are needed first, and fit nowhere."""
    monkeypatch.setattr("enbloc.engine.decide.domain.MOST_ROWS", rows)
    w = fabric(" ".join(f"n{rack}=z/b/r{rack}:8" for rack in range(70)))
    w.group("g", 8, roles=[("x", 5)], topology_parts=(part("x", "rack"),), timeout=60)
    members(w, "x", 8)
    for index in range(3):
        pod = spec(cpu=1, node_selector=(("pool", "x"),))
        w.member(f"g-o-{index}", "g", role="o", spec=pod)
    w.settle()
    assert len(w.where("g-x-")) == 8


def test_each_way_to_meet_a_minimum_has_a_try_for_every_role() -> None:
    """Semantics §11.7: an empty node takes all, and there are four ways."""
    w = fabric("a1=z/b/r:100")
    names = [f"x{number}" for number in range(5)]
    parts = tuple(part(name, "rack") for name in names)
    zone = TopologyRequest("", "zone")
    roles = [(name, 1) for name in names]
    w.group("g", 11, roles=roles, topology=zone, topology_parts=parts, timeout=60)
    members(w, "x0", 6)
    for name in names[1:]:
        members(w, name, 3)
    members(w, "o", 2)
    w.settle()
    assert len(w.where("g-")) == 20


def test_what_one_of_many_roles_prefers_holds_nobody_back() -> None:
    """Semantics §11.3, §11.7."""
    w = fabric(full_racks(90))
    names = [f"y{number}" for number in range(11)]
    parts = preferring_racks(["x", *names])
    roles = [("x", 4), *((name, 1) for name in names)]
    w.group("g", 15, roles=roles, topology_parts=parts, timeout=60)
    unlike(w, "x")
    for name in names:
        members(w, name, 1)
    w.settle()
    assert len(w.where("g-")) == 15
