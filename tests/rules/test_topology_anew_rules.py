# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §11: who comes beside members that run, but hold no domain any more."""

import pytest

from enbloc.model.topology import TopologyPart, TopologyRequest
from tests.rules.fabrics import BLOCK, RACK, ZONE, fabric
from tests.rules.test_topology_choices_rules import members
from tests.rules.world import World
from tests.world.builders import spec

WAYS = pytest.mark.parametrize("tree", [False, True], ids=["roles that come", "children"])


def beside_a_without_rack(
    nodes: str, *others: tuple[str, int], tree: bool, parts: tuple[TopologyPart, ...] = ()
) -> World:
    """A gang "g" in one rack, whose role a runs on a node that has lost the label; others come."""
    w = fabric(f"a1=z/b/r1:1 {nodes}")
    roles = (("a", 1), *others)
    w.group(
        "g",
        1,
        roles=roles if tree else roles[:1],
        min_group_count=int(tree),
        topology=TopologyRequest("", "rack"),
        topology_parts=parts,
        timeout=60,
    )
    w.member("g-a-0", "g", role="a", spec=spec(cpu=1, node_selector=((RACK, "r1"),)))
    w.settle()
    w.run_pods(["g-a-0"])
    w.settle()
    w.node("a1", 1, labels=((BLOCK, "b"), (ZONE, "z")))
    if not tree:
        w.alter("g", min_member=sum(count for _, count in roles), roles=roles)
    return w


@WAYS
def test_who_comes_lies_in_one_rack_though_nobody_holds_one(tree: bool) -> None:
    """Semantics §11.1 and §11.2."""
    w = beside_a_without_rack("b1=z/b/r2:1 c1=z/b/r3:1", ("b", 2), tree=tree)
    members(w, "b", 2)
    w.settle()
    assert not w.where("g-b-")
    w.node("c2", 1, labels=((BLOCK, "b"), (RACK, "r3"), (ZONE, "z")))
    w.settle()
    assert sorted(w.where("g-b-").values()) == ["c1", "c2"]


@WAYS
def test_who_comes_next_lies_in_the_rack_that_the_one_before_has_chosen(tree: bool) -> None:
    """Semantics §11.1 and §11.2."""
    w = beside_a_without_rack("b1=z/b/r2:3 c1=z/b/r3:4", ("b", 2), ("c", 2), tree=tree)
    members(w, "b", 2)
    members(w, "c", 2)
    w.settle()
    assert set(w.where("g-b-").values()) == {"b1"}
    assert not w.where("g-c-")


@WAYS
def test_who_had_better_be_near_others_lies_in_one_rack_with_them(tree: bool) -> None:
    """Semantics §11.1 and §11.7: its own topology requires nothing."""
    own = TopologyPart("spec.roles[b]", frozenset("b"), TopologyRequest("", preferred="rack"))
    nodes = "b1=z/b/r2:1 c1=z/b/r3:1"
    w = beside_a_without_rack(nodes, ("b", 2), tree=tree, parts=(own,))
    members(w, "b", 2)
    w.settle()
    assert not w.where("g-b-")
    w.node("d1", 2, labels=((BLOCK, "b"), (RACK, "r4"), (ZONE, "z")))
    w.settle()
    assert sorted(w.where("g-b-").values()) == ["d1", "d1"]
