# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables: what the cluster held at one moment, apart from any engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, assert_never

from enbloc.engine.past import (
    NamespaceWas,
    NodeAdded,
    NodeDropped,
    NodeWas,
    Sat,
    TableEntry,
    WorkloadWas,
)
from enbloc.engine.state import ClusterState
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.placed import Placed
from enbloc.model.pods import Pod, PodUID
from enbloc.model.resources import ResourceSpace
from enbloc.model.selectors import Labels, Selector
from enbloc.model.snapshot import Snapshot
from enbloc.model.workloads import WorkloadKey, Workloads


@dataclass(slots=True)
class Tables:
    """Who sits where, on what, and what else plugins may look at.

    Attributes:
        resources: their names, in the order of their columns.
        nodes: in the order of their rows, on which it depends which of equals is the first.
        seats: pod and node, also of nodes that are not there; assumed pods and shadows too.
        namespaces: their labels.
        workloads: their selectors.
    """

    resources: Sequence[str] = ()
    nodes: list[Node] = field(default_factory=list[Node])
    seats: dict[PodUID, tuple[Pod, str]] = field(default_factory=dict[PodUID, tuple[Pod, str]])
    namespaces: dict[str, Labels] = field(default_factory=dict[str, Labels])
    workloads: dict[WorkloadKey, Selector] = field(default_factory=dict[WorkloadKey, Selector])

    def fork(self) -> "Tables":
        """A copy of one's own."""
        return Tables(
            tuple(self.resources),
            list(self.nodes),
            dict(self.seats),
            dict(self.namespaces),
            dict(self.workloads),
        )

    def undo(self, entry: TableEntry) -> None:
        """Go back to what stood before a change, the latest that was not undone."""
        match entry:
            case Sat(uid, node, pod):
                if pod is None:
                    self.seats.pop(uid, None)
                else:
                    self.seats[uid] = (pod, node)
            case NodeAdded(name):
                added = self.nodes.pop()
                assert added.name == name, f"{name} is not the last node"
            case NodeWas(before):
                self.nodes[self._row(before.name)] = before
            case NodeDropped(dropped, row):
                self.nodes.append(dropped)
                self.nodes[row], self.nodes[-1] = dropped, self.nodes[row]
            case NamespaceWas(name, labels):
                _put_back(self.namespaces, name, labels)
            case WorkloadWas(key, selector):
                _put_back(self.workloads, key, selector)
            case _:
                assert_never(entry)

    def _row(self, name: str) -> int:
        return next(row for row, node in enumerate(self.nodes) if node.name == name)


K = TypeVar("K")
V = TypeVar("V")


def _put_back(where: dict[K, V], key: K, before: V | None) -> None:
    if before is None:
        where.pop(key, None)
    else:
        where[key] = before


def present(state: ClusterState) -> Tables:
    """What the cluster holds now."""
    nodes = (state.nodes.node(name) for name in state.nodes.names)
    return Tables(
        resources=state.nodes.space.names,
        nodes=[node for node in nodes if node is not None],
        seats={seat.pod.uid: (seat.pod, seat.node) for seat in state.seats()},
        namespaces=dict(state.namespaces),
        workloads=dict(state.workloads.items()),
    )


class Arrays:
    """Tables as the arrays that decisions are made on."""

    def __init__(self, tables: Tables) -> None:
        space = ResourceSpace()
        for resource in tables.resources:
            space.column(resource)
        self.nodes = Nodes(space)
        for node in tables.nodes:
            self.nodes.put(node)
        self._placed = Placed()
        for pod, name in tables.seats.values():
            self.sit(pod, name)
        self._namespaces = tables.namespaces
        self._workloads = Workloads()
        for key, selector in tables.workloads.items():
            self._workloads.put(key, selector)

    def sit(self, pod: Pod, node: str) -> None:
        """Count a pod on a node, if that is there."""
        row = self.nodes.row(node)
        if row is not None:
            self.nodes.place(row, pod.spec)
            self._placed.put(pod, row)

    def snapshot(self, ledgers: Mapping[str, object]) -> Snapshot:
        """Frozen facts for one decision; `ledgers` are the Reserve plugins' own."""
        return Snapshot(
            self.nodes.snapshot(),
            self._placed.snapshot(),
            self._namespaces,
            self._workloads,
            ledgers,
        )
