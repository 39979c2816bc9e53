# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoint: the tables at one moment, as plain facts to which changes are applied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar, assert_never

import msgspec

from enbloc.devices.owners import Withdrawn
from enbloc.engine.events import (
    ClusterFact,
    FactGone,
    FactSeen,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    WorkloadGone,
    WorkloadSeen,
)
from enbloc.ledgers import Decisions, Ledgers, own_ledgers
from enbloc.model.ledger import Fact
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod, PodUID
from enbloc.model.resources import ResourceSpace
from enbloc.model.selectors import Labels, Selector
from enbloc.model.snapshot import Snapshot
from enbloc.model.workloads import WorkloadKey, Workloads

# ── changes ──────────────────────────────────────────────────────────────────────────────────────


class Seat(msgspec.Struct, frozen=True, gc=False):
    """A pod is counted on a node from now on: its requests, labels and constraints.

    The node need not exist. A pod leaves its old seat first. There is one seat per pod, so it is
    small.

    Attributes:
        decided: the volumes and devices that a plan decided for it; None = no plan put it there.
    """

    node: str
    pod: Pod
    decided: Decisions | None = None


class SeatLeft(msgspec.Struct, frozen=True, gc=False):
    """A pod is no longer counted; one is made for each pod that goes, so it is cheap."""

    uid: PodUID


class ClaimUserSeen(NamedTuple):
    """A pod that names claims exists, bound or not; None = it is gone."""

    uid: PodUID
    pod: Pod | None = None


class PlanWithdrawn(NamedTuple):
    """What an abandoned plan still holds of a member; None = nothing any more."""

    member: Withdrawn
    decided: Decisions | None = None


TableChange = Seat | SeatLeft | ClusterFact | ClaimUserSeen | PlanWithdrawn
TABLE_CHANGES: Final = (
    Seat,
    SeatLeft,
    NodeSeen,
    NodeGone,
    NamespaceSeen,
    NamespaceGone,
    WorkloadSeen,
    WorkloadGone,
    FactSeen,
    FactGone,
    ClaimUserSeen,
    PlanWithdrawn,
)

# ── tables ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Checkpoint:
    """Where each pod is, and what else plugins may read.

    Attributes:
        resources: their names, in the order of their columns.
        nodes: in the order of their rows, which decides which of equals is the first.
        seats: also on nodes that do not exist; those of reservations too.
        namespaces: their labels.
        workloads: their selectors.
        facts: the objects about volumes and devices, by kind and key.
        holders: the pods that name claims.
        withdrawn: what abandoned plans still hold.
    """

    resources: Sequence[str] = ()
    nodes: list[Node] = field(default_factory=list[Node])
    seats: dict[PodUID, Seat] = field(default_factory=dict[PodUID, Seat])
    namespaces: dict[str, Labels] = field(default_factory=dict[str, Labels])
    workloads: dict[WorkloadKey, Selector] = field(default_factory=dict[WorkloadKey, Selector])
    facts: dict[tuple[str, str], Fact] = field(default_factory=dict[tuple[str, str], Fact])
    holders: dict[PodUID, Pod] = field(default_factory=dict[PodUID, Pod])
    withdrawn: dict[Withdrawn, Decisions] = field(default_factory=dict[Withdrawn, Decisions])
    _rows: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Index the rows of the nodes."""
        self._rows = {node.name: row for row, node in enumerate(self.nodes)}

    def fork(self) -> "Checkpoint":
        """Return an independent copy; it refers to the same frozen facts."""
        return Checkpoint(
            tuple(self.resources),
            list(self.nodes),
            dict(self.seats),
            dict(self.namespaces),
            dict(self.workloads),
            dict(self.facts),
            dict(self.holders),
            dict(self.withdrawn),
        )

    def apply(self, change: TableChange) -> None:
        """Apply the next change, in time that does not depend on the size of the tables.

        Raises:
            KeyError: the pod that left, or the node that was removed, is not there.
        """
        if isinstance(change, Seat):  # nearly every change is of the first two kinds
            self.seats[change.pod.uid] = change
        elif isinstance(change, SeatLeft):
            del self.seats[change.uid]
        else:
            self._apply(change)

    def _apply(self, change: ClusterFact | ClaimUserSeen | PlanWithdrawn) -> None:  # noqa: C901  # one line for each kind
        match change:
            case NodeSeen(node):
                self._put(node)
            case NodeGone(name):
                self._drop(name)
            case NamespaceSeen(name, labels):
                self.namespaces[name] = labels
            case NamespaceGone(name):
                self.namespaces.pop(name, None)
            case WorkloadSeen(key, selector):
                _set(self.workloads, key, selector)
            case WorkloadGone(key):
                self.workloads.pop(key, None)
            case FactSeen(fact):
                self.facts[fact.kind, fact.key] = fact
            case FactGone(kind, key):
                self.facts.pop((kind, key), None)
            case ClaimUserSeen(uid, pod):
                _set(self.holders, uid, pod)
            case PlanWithdrawn(member, decided):
                _set(self.withdrawn, member, decided)
            case _:
                assert_never(change)

    def _put(self, node: Node) -> None:
        row = self._rows.setdefault(node.name, len(self.nodes))
        if row < len(self.nodes):
            self.nodes[row] = node
        else:
            self.nodes.append(node)

    def _drop(self, name: str) -> None:
        row, last = self._rows.pop(name), self.nodes.pop()
        if row < len(self.nodes):
            self.nodes[row] = last
            self._rows[last.name] = row


K = TypeVar("K")
V = TypeVar("V")


def _set(where: dict[K, V], key: K, value: V | None) -> None:
    if value is None:
        where.pop(key, None)
    else:
        where[key] = value


class Arrays:
    """A checkpoint as the arrays that decisions are made on."""

    def __init__(self, tables: Checkpoint) -> None:
        self.nodes = Nodes(ResourceSpace(tables.resources), Ledgers())
        for node in tables.nodes:
            self.nodes.put(node)
        for fact in tables.facts.values():
            own_ledgers(self.nodes).put(fact)
        for pod in tables.holders.values():
            own_ledgers(self.nodes).enter(pod)
        for member, decided in tables.withdrawn.items():
            own_ledgers(self.nodes).withdrawn(member, decided)
        self._placed = PlacedPods()
        for seat in tables.seats.values():
            self.add(seat)
        self._namespaces = tables.namespaces
        self._workloads = Workloads()
        for key, selector in tables.workloads.items():
            self._workloads.put(key, selector)

    def add(self, seat: Seat) -> None:
        """Count a pod on a node, if that exists."""
        row = self.nodes.row(seat.node)
        if row is not None:
            self.nodes.add(row, seat.pod, seat.decided)
            self._placed.put(seat.pod, row)

    def snapshot(self, ledgers: Mapping[str, object]) -> Snapshot:
        """Return frozen facts for one decision; `ledgers` are the Reserve plugins' own."""
        return Snapshot(
            self.nodes.snapshot(),
            self._placed.snapshot(),
            self._namespaces,
            self._workloads,
            ledgers,
        )
