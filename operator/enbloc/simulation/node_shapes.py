# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Shapes of nodes: those alike in what they offer, with what is free on them, and for whom."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from enbloc.model.node import Node
from enbloc.model.pods import Pod
from enbloc.model.taints import Taint
from enbloc.simulation.waiting import Waiting


@dataclass(slots=True)
class NodeShape:
    """Nodes with the same allocatable resources and taints.

    Attributes:
        nodes: all of them, by name.
        usable: those of them that are Ready and not cordoned.
        taints: of each; those that Kubernetes sets for a cordon or a state are not counted.
        offered: what the usable ones offer together, by resource.
        requested: what pods on those request.
        pods: how many pods are on them.
        starting: names of the groups that get nodes of these when the scheduler takes them next.
    """

    nodes: list[str]
    taints: tuple[Taint, ...]
    usable: list[str] = field(default_factory=list[str])
    offered: Counter[str] = field(default_factory=Counter[str])
    requested: Counter[str] = field(default_factory=Counter[str])
    pods: int = 0
    starting: dict[str, None] = field(default_factory=dict[str, None])

    def free(self, resource: str) -> int:
        """What is left of a resource on the usable nodes together."""
        return max(0, self.offered[resource] - self.requested[resource])


def shapes(
    nodes: Mapping[str, Node], pods: Iterable[Pod], rows: Sequence[Waiting]
) -> Sequence[NodeShape]:
    """The shapes of nodes, those of most nodes first.

    Args:
        nodes: by name.
        pods: as they are.
        rows: who waits.
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
    return sorted(found.values(), key=lambda shape: (-len(shape.nodes), shape.nodes[0]))
