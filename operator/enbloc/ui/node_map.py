# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Node map: nodes grouped by rack and shape, with the used share of each."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from enbloc.model.groups import GroupKey
from enbloc.model.node import Node
from enbloc.model.pods import Pod
from enbloc.model.quantity import render
from enbloc.model.text import clipped
from enbloc.model.topology import Topology
from enbloc.simulation import reservations
from enbloc.topology import HOST

_CPU, _MEMORY, _PODS = "cpu", "memory", "pods"
#: The lowest share of each level of use; the last level counts as full.
LEVELS: Final = (0.0, 0.25, 0.5, 0.75, 0.95)
#: The most vendors' resources that are named, and the longest part of each name (characters).
_MOST_RESOURCES: Final = 6
_NAME: Final = 80
_INSTANCE: Final = "node.kubernetes.io/instance-type"
_MIB, _GIB = 2**20, 2**30
#: In a rack's path, the value of a level whose label a node lacks.
_ABSENT: Final = "(none)"


class Condition(StrEnum):
    """Whether a node takes pods."""

    READY = "ready"
    QUARANTINED = "in quarantine"
    CORDONED = "cordoned"
    NOT_READY = "not ready"


@dataclass(frozen=True, slots=True)
class NodeUse:
    """One node, and what the pods on it request.

    Attributes:
        used: the sum of the requests, by resource; CPU in milli, the rest in whole units.
        allocatable: what the node offers, in the same form.
        pods: the number of pods on it.
        reserved: for how many pods of each group it is reserved.
    """

    name: str
    condition: Condition
    used: Mapping[str, int]
    allocatable: Mapping[str, int]
    pods: int
    reserved: Mapping[GroupKey, int] = field(default_factory=dict[GroupKey, int])

    @property
    def share(self) -> float:
        """The used share of the most used resource; 1 = all of it."""
        shares = (self.used.get(name, 0) / amount for name, amount in _counting(self.allocatable))
        return max(shares, default=0.0)

    @property
    def level(self) -> int:
        """The index in LEVELS of that share."""
        share = self.share
        return max(number for number, least in enumerate(LEVELS) if share >= least)


@dataclass(frozen=True, slots=True)
class Block:
    """Nodes of one shape in one rack.

    Attributes:
        rack: the values of the topology's labels, "/" between them; "" = there is no topology.
        shape: what each node offers, as text.
        nodes: in the order of their names.
    """

    rack: str
    shape: str
    nodes: Sequence[NodeUse]

    def count(self, condition: Condition) -> int:
        """The number of nodes in this condition."""
        return sum(node.condition is condition for node in self.nodes)

    @property
    def reserved(self) -> int:
        """The number of nodes that are reserved for a group."""
        return sum(bool(node.reserved) for node in self.nodes)

    def levels(self) -> Sequence[int]:
        """The number of ready nodes in each of LEVELS."""
        counted = Counter(n.level for n in self.nodes if n.condition is Condition.READY)
        return [counted[level] for level in range(len(LEVELS))]

    def resources(self) -> Sequence[str]:
        """The resources to show: CPU, memory, then devices and similar ones."""
        named = {name for node in self.nodes for name, _ in _counting(node.allocatable)}
        ordered = sorted(named, key=lambda name: (name != _CPU, name != _MEMORY, name))
        return ordered[: 2 + _MOST_RESOURCES]

    def total(self, resource: str) -> tuple[int, int]:
        """(requested, allocatable) of one resource, summed over all nodes."""
        used = sum(node.used.get(resource, 0) for node in self.nodes)
        return used, sum(node.allocatable.get(resource, 0) for node in self.nodes)


@dataclass(frozen=True, slots=True)
class NodeMap:
    """All nodes.

    Attributes:
        topology: the name of the topology that defines racks; None = there are no racks.
        levels: the names of its levels, the outermost first.
        blocks: by rack, then by shape.
    """

    topology: str | None
    levels: Sequence[str]
    blocks: Sequence[Block]

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return sum(len(block.nodes) for block in self.blocks)


def node_map(
    nodes: Iterable[Node], pods: Collection[Pod], topologies: Collection[Topology]
) -> NodeMap:
    """The map of all nodes with their use.

    Args:
        nodes: all nodes.
        pods: all pods; those count that have a node, or one reserved, and have not ended.
        topologies: the first usable one of enbloc's, by name, defines racks; else the first of
            other projects'.
    """
    topology = _chosen(topologies)
    levels = [level for level in topology.levels if level.label != HOST.label] if topology else []
    used, counted = _requested(pods)
    reserved = reservations(pods)
    found: dict[tuple[str, str], list[NodeUse]] = {}
    for node in nodes:
        labels = dict(node.labels)
        rack = "/".join(labels.get(level.label, _ABSENT) for level in levels)
        use = NodeUse(
            node.name,
            _condition(node),
            used.get(node.name, {}),
            dict(node.allocatable),
            counted[node.name],
            reserved.get(node.name, {}),
        )
        found.setdefault((rack, _shape(labels, use.allocatable)), []).append(use)
    blocks = [
        Block(rack, shape, sorted(each, key=lambda use: use.name))
        for (rack, shape), each in sorted(found.items())
    ]
    name = topology.name if topology and levels else None
    return NodeMap(name, [level.name for level in levels], blocks)


def marked(nodes: NodeMap, quarantined: Collection[str]) -> NodeMap:
    """The map, with these nodes marked as in quarantine."""
    return replace(nodes, blocks=[marked_block(block, quarantined) for block in nodes.blocks])


def marked_block(block: Block, quarantined: Collection[str]) -> Block:
    """The block, with these nodes marked as in quarantine."""
    if not quarantined:
        return block

    def use(node: NodeUse) -> NodeUse:
        barred = node.condition is Condition.READY and node.name in quarantined
        return replace(node, condition=Condition.QUARANTINED) if barred else node

    return replace(block, nodes=[use(node) for node in block.nodes])


def _chosen(topologies: Collection[Topology]) -> Topology | None:
    usable = [each for each in topologies if each.levels and not each.problem]
    return min(usable, key=lambda each: (each.foreign, each.name), default=None)


def _requested(pods: Iterable[Pod]) -> tuple[Mapping[str, Mapping[str, int]], Counter[str]]:
    """Node → what its pods request by resource, and node → the number of its pods."""
    used: dict[str, dict[str, int]] = {}
    counted = Counter[str]()
    for pod in pods:
        if not pod.node or pod.finished:
            continue
        counted[pod.node] += 1
        there = used.setdefault(pod.node, {})
        for name, amount in pod.spec.requests:
            there[name] = there.get(name, 0) + amount
    return used, counted


def _condition(node: Node) -> Condition:
    if not node.ready:
        return Condition.NOT_READY
    return Condition.CORDONED if node.unschedulable else Condition.READY


def _counting(allocatable: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    """The resources whose used share matters: CPU, memory, and vendors' resources."""
    return (
        (name, amount)
        for name, amount in allocatable.items()
        if amount > 0 and (name in (_CPU, _MEMORY) or "/" in name)
    )


def _shape(labels: Mapping[str, str], allocatable: Mapping[str, int]) -> str:
    """The shape as text, rounded, because nodes of one kind differ a little in allocatable."""
    amounts = [amount_text(_CPU, allocatable.get(_CPU, 0) // 1000 * 1000) + " CPUs"]
    amounts.append(amount_text(_MEMORY, allocatable.get(_MEMORY, 0)))
    others = [each for each in sorted(_counting(allocatable)) if "/" in each[0]]
    amounts += [f"{n} {clipped(name, _NAME)}" for name, n in others[:_MOST_RESOURCES]]
    kind = labels.get(_INSTANCE, "")
    return f"{kind}: {', '.join(amounts)}" if kind else ", ".join(amounts)


def amount_text(resource: str, amount: int) -> str:
    """An amount for people: CPUs with a decimal, memory in whole Gi or Mi, rounded down."""
    if resource == _CPU:
        return f"{amount // 100 / 10:g}"
    if resource == _MEMORY and amount >= _GIB:
        return f"{amount // _GIB}Gi"
    if resource == _MEMORY:
        return f"{amount // _MIB}Mi"
    return render(resource, amount)
