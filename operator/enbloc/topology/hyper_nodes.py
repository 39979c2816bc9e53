# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""HyperNodes: which nodes are near each other, by Volcano's objects of that kind.

::

    s4 (tier 2) ─┬─ s0 (tier 1) ─┬─ node-0      hypernode:tier-2=s4, hypernode:tier-1=s0
                 │               └─ node-1
                 └─ s1 (tier 1) ─── node-2      hypernode:tier-2=s4, hypernode:tier-1=s1

They become a Topology whose levels are tiers, and node labels that the engine sees and the API
server does not have. Their keys hold a colon, which is not valid in a selector, so none names them.
If a node is in no HyperNode of a tier, it has the one of the next tier below: in Volcano, a
HyperNode of tier 1 also meets "tier 2 at most".
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import ClassVar, Final

from enbloc.model.grouped import Index
from enbloc.model.hyper_node import HyperNode
from enbloc.model.node import Node
from enbloc.model.selectors import Labels
from enbloc.model.topology import (
    HYPER_NODE_LABEL,
    HYPER_NODES,
    VOLCANO_GROUP,
    Level,
    Topology,
    foreign_name,
)
from enbloc.topology.selections import Selections

#: The most tiers that become levels.
MOST_TIERS: Final = 16

_NOBODY: Final[frozenset[str]] = frozenset()


class HyperNodes:
    """All HyperNodes, and all nodes with their labels.

    If a node or a HyperNode is in several of one tier, the one with the first name counts.
    """

    #: The name of the Topology.
    TOPOLOGY: ClassVar = foreign_name(VOLCANO_GROUP, HYPER_NODES)

    def __init__(self) -> None:
        #: The nodes as the API server has them, by name.
        self._nodes: dict[str, Node] = {}
        #: Node name → the labels added to it.
        self._given: dict[str, Labels] = {}
        self._hyper_nodes: dict[str, HyperNode] = {}
        self._selections = Selections()
        #: Node name → the names of the HyperNodes that list it directly; the node need not exist.
        self._listed_by: Index[str, str] = Index()
        #: The inverse: HyperNode name → the names of the nodes that it lists directly.
        self._listed: Index[str, str] = Index()
        #: HyperNode name → the names of those that contain it; it need not exist itself.
        self._parents: Index[str, str] = Index()
        #: (tier, name of the tier) → the number of HyperNodes that use them.
        self._counts: Counter[tuple[int, str]] = Counter()
        #: The tiers that are levels, ascending.
        self._tiers: tuple[int, ...] = ()

    # ── nodes ────────────────────────────────────────────────────────────────────────────────────

    def node(self, node: Node) -> Node:
        """Take in a new or changed node, and return it with the labels of its HyperNodes."""
        known = self._nodes.get(node.name)
        self._nodes[node.name] = node
        if known is None or known.labels != node.labels:
            if known is not None:
                self._deselect(known)
            for name in self._selections.put_node(node):
                self._list(name, node.name, lists=True)
            self._given[node.name] = self._labels(node.name)
        return _with(node, self._given[node.name])

    def node_gone(self, name: str) -> None:
        """Take in that a node was deleted."""
        known = self._nodes.pop(name, None)
        if known is not None:
            del self._given[name]
            self._deselect(known)

    def _deselect(self, node: Node) -> None:
        """Drop the listings of a node by HyperNodes that select it without naming it."""
        self._selections.drop_node(node)
        for name in tuple(self._listed_by.get(node.name, ())):
            if name in self._selections:
                self._list(name, node.name, lists=node.name in self._hyper_nodes[name].nodes)

    def _list(self, name: str, node: str, *, lists: bool) -> None:
        """Record whether a HyperNode lists a node directly."""
        if lists:
            self._listed.add(name, node)
            self._listed_by.add(node, name)
        else:
            self._listed.drop(name, node)
            self._listed_by.drop(node, name)

    def _labels(self, node: str) -> Labels:
        listing = self._listed_by.get(node)
        if not listing:
            return ()
        return tuple((_label(tier), name) for tier, name in self._at_tiers(self._chain(listing)))

    def _chain(self, listing: Iterable[str]) -> list[HyperNode]:
        """The HyperNodes that a node is in, one per tier, by ascending tier."""
        chain: list[HyperNode] = []
        names = set(listing)
        while True:
            tier = chain[-1].tier if chain else -1
            above = [each for each in self._existing(names) if each.tier > tier]
            if not above:
                return chain
            chain.append(min(above, key=lambda each: (each.tier, each.name)))
            names.update(self._parents.get(chain[-1].name, ()))

    def _existing(self, names: Iterable[str]) -> Iterator[HyperNode]:
        return (self._hyper_nodes[name] for name in names if name in self._hyper_nodes)

    def _at_tiers(self, chain: list[HyperNode]) -> Iterator[tuple[int, str]]:
        """For each level's tier, the HyperNode of that tier or of the next one below."""
        for tier in self._tiers:
            below = [each.name for each in chain if each.tier <= tier]
            if below:
                yield tier, below[-1]

    # ── HyperNodes ───────────────────────────────────────────────────────────────────────────────

    @property
    def topology(self) -> Topology | None:
        """The HyperNodes as a Topology; None = there are none."""
        if not self._hyper_nodes:
            return None
        called: dict[int, set[str]] = {}
        for tier, name in self._counts:
            if name:
                called.setdefault(tier, set()).add(name)
        uses = Counter(name for names in called.values() for name in names)
        uses.update(map(_number, self._tiers))
        levels = [_level(tier, called.get(tier, _NOBODY), uses) for tier in reversed(self._tiers)]
        return Topology(self.TOPOLOGY, tuple(levels))

    def put(self, hyper_node: HyperNode) -> list[Node]:
        """Take in a new or changed HyperNode; returns the nodes whose labels have changed."""
        return self._change(hyper_node.name, hyper_node)

    def remove(self, name: str) -> list[Node]:
        """Take in that a HyperNode was deleted; returns the nodes whose labels have changed."""
        return self._change(name, None)

    def _change(self, name: str, hyper_node: HyperNode | None) -> list[Node]:
        known = self._hyper_nodes.get(name)
        if known == hyper_node:
            return []
        concerned, tiers = self._under(name), self._tiers
        if known is not None:
            self._take_out(known)
        if hyper_node is not None:
            self._put_in(hyper_node)
        self._tiers = _told_apart({tier for tier, _ in self._counts})
        # A change of the tiers concerns every node that is in any HyperNode.
        concerned |= self._under(name) if tiers == self._tiers else self._listed_by.keys()
        changed: list[Node] = []
        for each in sorted(concerned & self._nodes.keys()):
            labels = self._labels(each)
            if labels != self._given[each]:
                self._given[each] = labels
                changed.append(_with(self._nodes[each], labels))
        return changed

    def _take_out(self, hyper_node: HyperNode) -> None:
        name = hyper_node.name
        del self._hyper_nodes[name]
        self._selections.drop(name)
        for node in tuple(self._listed.get(name, ())):
            self._list(name, node, lists=False)
        for child in hyper_node.children:
            self._parents.drop(child, name)
        called = hyper_node.tier, hyper_node.tier_name
        self._counts[called] -= 1
        if not self._counts[called]:
            del self._counts[called]

    def _put_in(self, hyper_node: HyperNode) -> None:
        name = hyper_node.name
        self._hyper_nodes[name] = hyper_node
        for node in (*hyper_node.nodes, *self._selections.put(hyper_node, self._nodes)):
            self._list(name, node, lists=True)
        for child in hyper_node.children:
            self._parents.add(child, name)
        self._counts[hyper_node.tier, hyper_node.tier_name] += 1

    def _under(self, name: str) -> set[str]:
        """The names of the nodes in a HyperNode and in those that it contains."""
        inside, waiting, found = {name}, [name], set[str]()
        while waiting:
            each = waiting.pop()
            found.update(self._listed.get(each, ()))
            if each in self._hyper_nodes:
                new = self._hyper_nodes[each].children - inside
                inside |= new
                waiting += new
        return found


def _with(node: Node, labels: Labels) -> Node:
    return replace(node, labels=tuple(sorted((*node.labels, *labels)))) if labels else node


def _told_apart(tiers: AbstractSet[int]) -> tuple[int, ...]:
    """The tiers that become levels: all from lowest to highest, else the lowest MOST_TIERS used."""
    if not tiers:
        return ()
    lowest, highest = min(tiers), max(tiers)
    if highest - lowest < MOST_TIERS:
        return tuple(range(lowest, highest + 1))
    return tuple(sorted(tiers)[:MOST_TIERS])


def _number(tier: int) -> str:
    return f"tier-{tier}"


def _label(tier: int) -> str:
    return f"{HYPER_NODE_LABEL}{_number(tier)}"


def _level(tier: int, called: AbstractSet[str], uses: Mapping[str, int]) -> Level:
    """The level of a tier; `tier-N` is its alias, and also its name if no other is unique.

    Args:
        tier: its number.
        called: the names that HyperNodes give the tier; usable if there is only one.
        uses: name → the number of tiers with that name; usable if it is one.
    """
    number = _number(tier)
    name = next(iter(called), number)
    alone = len(called) == 1 and uses[name] == 1
    return Level(name if alone else number, _label(tier), number)
