# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Past: the way back from the present tables to those of each recent decision.

Each entry says what stood before a change; undone in reverse, the present becomes the past. So
nothing is kept but a ring of the latest changes, and no base has to be brought along behind it::

    … ── Sat ── NodeWas ── Decision ── Sat ── Sat ── … ── present
                              ▲                              │
                              └──────── undone back to ──────┘
"""

from collections import deque
from typing import NamedTuple

from enbloc.engine.decision import Decision
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodUID
from enbloc.model.selectors import Labels, Selector
from enbloc.model.workloads import WorkloadKey


class Sat(NamedTuple):
    """Where a pod was counted before it sat down elsewhere or left; no pod = nowhere."""

    uid: PodUID
    node: str = ""
    pod: Pod | None = None


class NodeAdded(NamedTuple):
    """A node was added, as the last row."""

    name: str


class NodeWas(NamedTuple):
    """What a node was before it was changed in its row."""

    node: Node


class NodeDropped(NamedTuple):
    """A node was removed, and the last row moved into its place."""

    node: Node
    row: int


class NamespaceWas(NamedTuple):
    """The labels of a namespace before a change; None = it was not known."""

    name: str
    labels: Labels | None = None


class WorkloadWas(NamedTuple):
    """What a workload selected before a change; None = nothing, or it was not known."""

    key: WorkloadKey
    selector: Selector | None = None


TableEntry = Sat | NodeAdded | NodeWas | NodeDropped | NamespaceWas | WorkloadWas
Entry = TableEntry | Decision

#: Of changes and decisions, the latest in the end.
Past = deque[Entry]
