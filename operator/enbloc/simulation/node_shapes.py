# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Shapes of nodes: nodes that offer the same, what is free on them, and for whom."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from enbloc.model.groups import GroupKey
from enbloc.model.node import Node
from enbloc.model.pending import name_of
from enbloc.model.pods import Pod
from enbloc.model.taints import Taint
from enbloc.simulation.waiting import Waiting, group_of


@dataclass(slots=True)
class NodeShape:
    """Nodes with the same allocatable resources and taints.

    Attributes:
        nodes: all of them, by name.
        usable: those that are Ready and not cordoned.
        taints: of each node, without those that Kubernetes sets for a cordon or a state.
        offered: what the usable ones offer together, by resource.
        requested: what the pods on the usable ones request, by resource.
        pods: the number of pods on the usable ones.
        starting: the groups that get nodes of this shape when the scheduler takes them next.
        reserved: the groups that nodes of this shape are reserved for; see `reservations`.
    """

    nodes: list[str]
    taints: tuple[Taint, ...]
    usable: list[str] = field(default_factory=list[str])
    offered: Counter[str] = field(default_factory=Counter[str])
    requested: Counter[str] = field(default_factory=Counter[str])
    pods: int = 0
    starting: dict[str, None] = field(default_factory=dict[str, None])
    reserved: dict[str, None] = field(default_factory=dict[str, None])

    def free(self, resource: str) -> int:
        """How much of a resource is free on the usable nodes together."""
        return max(0, self.offered[resource] - self.requested[resource])


def reservations(pods: Iterable[Pod]) -> Mapping[str, Counter[GroupKey]]:
    """Node → for how many pods of each group it is reserved.

    A node is reserved for a pending pod that is nominated for it: pods of lower priority are
    evicted there, and their capacity is for that pod.
    """
    found: dict[str, Counter[GroupKey]] = {}
    for pod in pods:
        if pod.live and not pod.node and pod.nominated:
            found.setdefault(pod.nominated, Counter())[group_of(pod)] += 1
    return found


def shapes(
    nodes: Mapping[str, Node], pods: Collection[Pod], rows: Sequence[Waiting]
) -> Sequence[NodeShape]:
    """The shapes of nodes, those with the most nodes first.

    Args:
        nodes: by name.
        pods: all pods.
        rows: the waiting groups and pods.
    """
    found: dict[object, NodeShape] = {}
    of: dict[str, NodeShape] = {}
    for name in sorted(nodes):
        node = nodes[name]
        taints = tuple(t for t in node.taints if not t.key.startswith("node.kubernetes.io/"))
        shape = found.setdefault((node.allocatable, taints), NodeShape([], taints))
        shape.nodes.append(name)
        of[name] = shape
        if node.ready and not node.unschedulable:
            shape.usable.append(name)
            shape.offered.update(dict(node.allocatable))
    usable = {name for shape in found.values() for name in shape.usable}
    for pod in pods:
        if pod.node in of and not pod.finished:
            of[pod.node].pods += 1
            if pod.node in usable:
                of[pod.node].requested.update(dict(pod.spec.requests))
    for row in rows:
        for node_name in row.placed.values():
            of[node_name].starting[row.name] = None
    for node_name, groups in reservations(pods).items():
        if node_name in of:
            of[node_name].reserved.update(dict.fromkeys(map(name_of, groups)))
    return sorted(found.values(), key=lambda shape: (-len(shape.nodes), shape.nodes[0]))
