# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""HyperNodes as a Topology, and as labels of nodes."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.hyper_node import HyperNode, Pattern
from enbloc.model.node import Node
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.model.topology import Level, Topology
from enbloc.topology import HyperNodes

TIER: Final = "hypernode:tier-"


def hyper(name: str, tier: int, nodes: str = "", children: str = "", called: str = "") -> HyperNode:
    return HyperNode(
        name, tier, called, frozenset(nodes.split()), children=frozenset(children.split())
    )


def world(*hyper_nodes: HyperNode, nodes: str = "n0 n1 n2 n3") -> HyperNodes:
    """Nodes that are there before the HyperNodes."""
    found = HyperNodes()
    for name in nodes.split():
        found.node(Node(name))
    for each in hyper_nodes:
        found.put(each)
    return found


def tiers(node: Node) -> dict[str, str]:
    """The labels of HyperNodes, by number of the tier."""
    return {key.removeprefix(TIER): value for key, value in node.labels if key.startswith(TIER)}


def lie(found: HyperNodes, nodes: str = "n0 n1 n2 n3") -> dict[str, dict[str, str]]:
    """Where nodes are, as when each is shown again."""
    return {name: tiers(found.node(Node(name))) for name in nodes.split()}


TREE: Final = (
    hyper("s0", 1, "n0 n1"),
    hyper("s1", 1, "n2"),
    hyper("s4", 2, children="s0 s1"),
)


def test_a_node_has_the_names_of_those_it_is_in() -> None:
    found = world(*TREE)
    assert lie(found) == {
        "n0": {"1": "s0", "2": "s4"},
        "n1": {"1": "s0", "2": "s4"},
        "n2": {"1": "s1", "2": "s4"},
        "n3": {},
    }


def test_tiers_are_the_levels_of_a_topology_the_highest_first() -> None:
    named = (hyper("s4", 2, children="s0", called="spine"), hyper("s0", 1, "n0"))
    assert world(*named).topology == Topology(
        "topology.volcano.sh/hypernodes",
        (Level("spine", f"{TIER}2", "tier-2"), Level("tier-1", f"{TIER}1", "tier-1")),
    )
    assert world().topology is None


def test_a_tier_that_its_hyper_nodes_call_differently_has_its_number_only() -> None:
    found = world(hyper("a", 1, called="rack"), hyper("b", 1, called="shelf")).topology
    assert found is not None
    assert found.levels == (Level("tier-1", f"{TIER}1", "tier-1"),)


def test_tiers_between_are_levels_and_few_are_told_apart_where_there_are_gaps() -> None:
    found = world(hyper("a", 1, "n0"), hyper("b", 3, "n1", children="a")).topology
    assert found is not None
    assert [level.name for level in found.levels] == ["tier-3", "tier-2", "tier-1"]
    far = world(*(hyper(f"h{n}", 100 * n, f"n{n}") for n in range(20)))
    assert far.topology is not None
    assert [level.name for level in far.topology.levels] == [
        f"tier-{100 * n}" for n in reversed(range(16))
    ]


def test_a_node_that_is_in_none_of_a_tier_has_the_one_of_the_tier_below() -> None:
    """As in Volcano, where a HyperNode of tier 1 meets "tier 2 at most"."""
    found = world(hyper("s0", 1, "n0"), hyper("s4", 2, "n1"), hyper("s9", 3, children="s4"))
    assert lie(found, "n0 n1") == {
        "n0": {"1": "s0", "2": "s0", "3": "s0"},
        "n1": {"2": "s4", "3": "s9"},
    }


def test_of_several_of_one_tier_that_with_the_first_name_counts() -> None:
    found = world(hyper("b", 1, "n0"), hyper("a", 1, "n0"), hyper("p", 2, children="a b"))
    assert lie(found, "n0") == {"n0": {"1": "a", "2": "p"}}
    found.put(hyper("o", 2, children="a"))
    assert lie(found, "n0") == {"n0": {"1": "a", "2": "o"}}


def test_a_hyper_node_may_be_in_others_of_several_tiers() -> None:
    found = world(hyper("s0", 1, "n0"), hyper("p", 2, children="s0"), hyper("q", 3, children="s0"))
    assert lie(found, "n0") == {"n0": {"1": "s0", "2": "p", "3": "q"}}


def test_a_name_that_tiers_share_is_the_name_of_none() -> None:
    """Whichever had it would be a guess: a gang that must lie in a rack could lie in a block."""
    same = world(hyper("a", 1, called="rack"), hyper("b", 2, called="rack")).topology
    assert same is not None
    assert [level.name for level in same.levels] == ["tier-2", "tier-1"]
    other = world(hyper("a", 1), hyper("b", 2, called="tier-1")).topology
    assert other is not None
    assert [level.name for level in other.levels] == ["tier-2", "tier-1"]


def test_circles_and_parents_of_lower_tiers_end() -> None:
    found = world(hyper("a", 1, "n0", children="b"), hyper("b", 2, "n1", children="a b"))
    assert lie(found, "n0 n1") == {"n0": {"1": "a", "2": "b"}, "n1": {"2": "b"}}
    found.remove("b")
    assert lie(found, "n0 n1") == {"n0": {"1": "a"}, "n1": {}}


def test_what_a_hyper_node_selects_is_seen_as_labels_change() -> None:
    rack = Selector((Requirement("rack", Operator.IN, ("r1",)),))
    found = world(HyperNode("s0", 1, selectors=(rack,)), nodes="")
    assert tiers(found.node(Node("n", labels=(("rack", "r1"),)))) == {"1": "s0"}
    assert tiers(found.node(Node("n", labels=(("rack", "r2"),)))) == {}
    assert tiers(found.node(Node("n", labels=(("rack", "r1"),)))) == {"1": "s0"}
    found.node_gone("n")
    assert not found.remove("s0")


def test_own_labels_stay_beside_those_of_hyper_nodes_in_the_order_of_keys() -> None:
    found = world(hyper("s0", 1, "n"), nodes="")
    node = found.node(Node("n", labels=(("a", "1"), ("z", "2"))))
    assert node.labels == (("a", "1"), (f"{TIER}1", "s0"), ("z", "2"))


def test_only_nodes_whose_labels_change_are_told_of() -> None:
    found = world(*TREE)
    assert [node.name for node in found.put(hyper("s1", 1, "n2 n3"))] == ["n3"]
    assert [node.name for node in found.put(hyper("s4", 2, children="s0"))] == ["n2", "n3"]
    assert found.put(hyper("s4", 2, children="s0")) == []
    assert [node.name for node in found.remove("s4")] == ["n0", "n1", "n2", "n3"]


def test_a_node_that_a_hyper_node_names_may_come_later_and_again() -> None:
    found = world(hyper("s0", 1, "n"), nodes="")
    assert tiers(found.node(Node("n"))) == {"1": "s0"}
    found.node_gone("n")
    assert found.put(hyper("s0", 1, "n m")) == []
    assert tiers(found.node(Node("n"))) == {"1": "s0"}


# ── whatever happens ─────────────────────────────────────────────────────────────────────────────

NAMES: Final = ("a", "b", "c", "d")
NODES: Final = ("n0", "n1", "n2")
SOME_OF_NAMES: Final = st.frozensets(st.sampled_from(NAMES), max_size=2)
SELECTORS: Final = st.sampled_from(
    [
        (),
        (Selector((Requirement("x", Operator.IN, ("1",)),)),),
        (Selector((Requirement("x", Operator.EXISTS),)),),
        (Selector((Requirement("x", Operator.IN, ("1", "2")), Requirement("y", Operator.EXISTS))),),
    ]
)
PATTERNS: Final = st.sampled_from(
    [
        (),
        *(
            (Pattern(text, re.compile(text).search),)
            for text in ("^n0$", "^n[01]", "^n1?", "1", "^n0|^n2", "^n2+", "(?i)N2")
        ),
    ]
)
HYPER_NODES: Final = st.builds(
    HyperNode,
    st.sampled_from(NAMES),
    st.integers(0, 3),
    nodes=st.frozensets(st.sampled_from(NODES), max_size=2),
    selectors=SELECTORS,
    patterns=PATTERNS,
    children=SOME_OF_NAMES,
)
SHOWN: Final = st.builds(
    Node,
    st.sampled_from(NODES),
    labels=st.sampled_from([(), (("x", "1"),), (("x", "2"), ("y", "")), (("x", "3"),)]),
)
CHANGES: Final = st.lists(
    HYPER_NODES | SHOWN | st.sampled_from(NAMES) | st.sampled_from(NODES), max_size=14
)


def brute(hyper_node: HyperNode, node: Node) -> bool:
    """Whether a HyperNode lists a node itself."""
    return (
        node.name in hyper_node.nodes
        or any(each.search(node.name) for each in hyper_node.patterns)
        or any(each.matches(dict(node.labels)) for each in hyper_node.selectors)
    )


@given(HYPER_NODES, SHOWN, st.booleans())
def test_a_hyper_node_lists_whom_it_names_and_whom_it_selects(
    hyper_node: HyperNode, node: Node, first: bool
) -> None:
    """Whichever of them comes first."""
    found = HyperNodes()
    if first:
        found.put(hyper_node)
        shown = found.node(node)
    else:
        found.node(node)
        found.put(hyper_node)
        shown = found.node(node)
    assert bool(tiers(shown)) is brute(hyper_node, node)


def fresh(hyper_nodes: Iterable[HyperNode], nodes: Iterable[Node]) -> dict[str, Node]:
    """The nodes as somebody sees them who has just begun."""
    found = HyperNodes()
    for hyper_node in hyper_nodes:
        found.put(hyper_node)
    return {node.name: found.node(node) for node in nodes}


@given(CHANGES)
def test_whoever_follows_changes_knows_what_a_newcomer_sees(
    changes: list[HyperNode | Node | str],
) -> None:
    found = HyperNodes()
    hyper_nodes: dict[str, HyperNode] = {}
    nodes: dict[str, Node] = {}
    told: dict[str, Node] = {}
    for change in changes:
        if isinstance(change, Node):
            nodes[change.name] = change
            told[change.name] = found.node(change)
        elif isinstance(change, HyperNode):
            hyper_nodes[change.name] = change
            told |= by_name(found.put(change))
        elif change in NAMES:
            hyper_nodes.pop(change, None)
            told |= by_name(found.remove(change))
        else:
            nodes.pop(change, None)
            told.pop(change, None)
            found.node_gone(change)
    assert told == fresh(hyper_nodes.values(), nodes.values())
    newcomer = HyperNodes()
    for hyper_node in hyper_nodes.values():
        newcomer.put(hyper_node)
    assert found.topology == newcomer.topology


def by_name(nodes: Iterable[Node]) -> Mapping[str, Node]:
    return {node.name: node for node in nodes}
