# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Selections: an index of which nodes the selectors and patterns of HyperNodes select.

Matching each HyperNode with each node takes minutes in a large cluster. Most HyperNodes require
something of all their nodes: a label value, or a prefix of the name. Nodes and HyperNodes are
indexed by that, and only those that agree in it are matched::

    key             value       nodes                   HyperNodes
    example.com/a   r1          node-0 node-1           by label a=r1
    7               node-r2     node-r2-0 node-r2-1     by pattern ^node-r2-[0-9]+$

"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from enbloc.model.grouped import Index
from enbloc.model.hyper_node import HyperNode
from enbloc.model.node import Node
from enbloc.model.requirements import Operator
from enbloc.model.selectors import Selector

#: A label key, or the length of a name prefix.
Key: TypeAlias = str | int
Hint: TypeAlias = tuple[Key, str]

#: Matches the fixed prefix of a pattern, without a last character that is quantified.
_BEGINS: Final = re.compile(r"\^([A-Za-z0-9-]+)(?![*?{+])")


class Selections:
    """An index of all nodes and of the HyperNodes that select nodes by more than their names."""

    def __init__(self) -> None:
        self._hyper_nodes: dict[str, HyperNode] = {}
        #: The names of the HyperNodes that must be matched with every node.
        self._of_all: set[str] = set()
        #: Key → value → the names of the other HyperNodes; `_sorted` has the same of nodes.
        self._asking: dict[Key, Index[str, str]] = {}
        self._sorted: dict[Key, Index[str, str]] = {}

    def __contains__(self, name: str) -> bool:
        """Whether a HyperNode selects nodes by more than their names."""
        return name in self._hyper_nodes

    def put(self, hyper_node: HyperNode, nodes: Mapping[str, Node]) -> list[str]:
        """Add a HyperNode; returns the names of the nodes that it selects.

        Args:
            hyper_node: one whose name is not in the index.
            nodes: all nodes, by name.
        """
        if not (hyper_node.patterns or hyper_node.selectors):
            return []
        name = hyper_node.name
        self._hyper_nodes[name] = hyper_node
        hints = _hints(hyper_node)
        if not hints:
            self._of_all.add(name)
            return [each for each in nodes if _selects(hyper_node, nodes[each])]
        maybe = set[str]()
        for key, value in hints:
            if key not in self._asking:
                self._asking[key], self._sorted[key] = Index(), Index()
                for node in nodes.values():
                    for _, own in _of_node(node, (key,)):
                        self._sorted[key].add(own, node.name)
            self._asking[key].add(value, name)
            maybe.update(self._sorted[key].get(value, ()))
        return [each for each in maybe if _selects(hyper_node, nodes[each])]

    def drop(self, name: str) -> None:
        """Remove a HyperNode."""
        hyper_node = self._hyper_nodes.pop(name, None)
        if hyper_node is None:
            return
        self._of_all.discard(name)
        for key, value in _hints(hyper_node):
            self._asking[key].drop(value, name)
            if not self._asking[key]:
                del self._asking[key], self._sorted[key]

    def put_node(self, node: Node) -> list[str]:
        """Add a node; returns the names of the HyperNodes that select it."""
        own = _of_node(node, self._sorted)
        for key, value in own:
            self._sorted[key].add(value, node.name)
        maybe = self._of_all.union(*(self._asking[key].get(value, ()) for key, value in own))
        return [name for name in maybe if _selects(self._hyper_nodes[name], node)]

    def drop_node(self, node: Node) -> None:
        """Remove a node that is gone or about to change."""
        for key, value in _of_node(node, self._sorted):
            self._sorted[key].drop(value, node.name)


def _selects(hyper_node: HyperNode, node: Node) -> bool:
    if any(pattern.search(node.name) for pattern in hyper_node.patterns):
        return True
    labels = dict(node.labels)
    return any(selector.matches(labels) for selector in hyper_node.selectors)


def _of_node(node: Node, keys: Iterable[Key]) -> list[Hint]:
    """The node's values for these keys."""
    labels = dict(node.labels)
    found: list[Hint] = []
    for key in keys:
        value = labels.get(key) if isinstance(key, str) else node.name[:key]
        if value is not None:
            found.append((key, value))
    return found


def _hints(hyper_node: HyperNode) -> frozenset[Hint]:
    """Every node that it selects has one of these hints; empty = it gives no hint."""
    found = [tuple(_of_selector(each)) for each in hyper_node.selectors]
    found += [tuple(_of_pattern(each.text)) for each in hyper_node.patterns]
    return frozenset(hint for hints in found for hint in hints) if all(found) else frozenset()


def _of_selector(selector: Selector) -> Iterator[Hint]:
    for each in selector.requirements:
        if each.operator is Operator.IN:
            yield from ((each.key, value) for value in each.values)
            return


def _of_pattern(text: str) -> Iterator[Hint]:
    begins = _BEGINS.match(text) if "|" not in text else None
    if begins is not None:
        yield len(begins[1]), begins[1]
