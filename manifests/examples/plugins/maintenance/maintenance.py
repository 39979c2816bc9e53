# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Maintenance: keep pods off nodes under maintenance."""

from dataclasses import dataclass
from typing import ClassVar

from enbloc import Mask, Nodes, Pod, Reads


@dataclass(frozen=True)
class Maintenance:
    """Refuse nodes whose label says that they are under maintenance."""

    name: ClassVar[str] = "Maintenance"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) were under maintenance"
    label: str = "example.com/maintenance"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """Feasible is a node whose label is not "true"."""
        return ~nodes.label(self.label, "true")
