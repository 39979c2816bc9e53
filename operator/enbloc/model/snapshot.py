# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshot: the frozen facts on which one decision stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from enbloc.model.nodes import Nodes
from enbloc.model.placed import Placed


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Nodes and placed pods at one moment.

    Attributes:
        ledgers: what each Reserve plugin keeps over the reserved plans, by plugin name.
    """

    nodes: Nodes
    placed: Placed
    ledgers: Mapping[str, object] = field(default_factory=dict[str, object])
