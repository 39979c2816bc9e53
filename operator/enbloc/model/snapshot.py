# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshot: the frozen facts on which one decision is based."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from enbloc.model.nodes import Nodes
from enbloc.model.placed import PlacedPods
from enbloc.model.selectors import Labels
from enbloc.model.workloads import Workloads


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Nodes and placed pods at one moment.

    Attributes:
        namespaces: the labels of each namespace, by its name.
        workloads: the selectors of Services and controllers.
        ledgers: each Reserve plugin's ledger of the reserved plans, by plugin name.
    """

    nodes: Nodes
    placed: PlacedPods
    namespaces: Mapping[str, Labels] = field(default_factory=dict[str, Labels])
    workloads: Workloads = field(default_factory=Workloads)
    ledgers: Mapping[str, object] = field(default_factory=dict[str, object])
