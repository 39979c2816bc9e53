# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is: frozen facts about pods, groups and nodes, and the tables that hold them.

Only facts live here, with the exact arithmetic and the codec that they need. No decision, no I/O,
no clock. Names are loaded when first used, so that the fixed names cost no import of NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from enbloc.model.groups import Group, GroupKey, Memory, Role
    from enbloc.model.node import Node, NodeChange
    from enbloc.model.nodes import Amounts, Mask, Nodes, Rows
    from enbloc.model.placed import Placed
    from enbloc.model.pods import (
        NodeSelectorTerm,
        Owner,
        Phase,
        Pod,
        PodKey,
        PodSpec,
        PodUID,
    )
    from enbloc.model.receipts import Receipt
    from enbloc.model.requirements import Operator, Requirement
    from enbloc.model.resources import ResourceSpace
    from enbloc.model.snapshot import Snapshot
    from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator

_HOMES = {
    "groups": ("Group", "GroupKey", "Memory", "Role"),
    "node": ("Node", "NodeChange"),
    "nodes": ("Amounts", "Mask", "Nodes", "Rows"),
    "placed": ("Placed",),
    "pods": ("NodeSelectorTerm", "Owner", "Phase", "Pod", "PodKey", "PodSpec", "PodUID"),
    "receipts": ("Receipt",),
    "requirements": ("Operator", "Requirement"),
    "resources": ("ResourceSpace",),
    "snapshot": ("Snapshot",),
    "taints": ("Effect", "Taint", "Toleration", "TolerationOperator"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Amounts",
    "Effect",
    "Group",
    "GroupKey",
    "Mask",
    "Memory",
    "Node",
    "NodeChange",
    "NodeSelectorTerm",
    "Nodes",
    "Operator",
    "Owner",
    "Phase",
    "Placed",
    "Pod",
    "PodKey",
    "PodSpec",
    "PodUID",
    "Receipt",
    "Requirement",
    "ResourceSpace",
    "Role",
    "Rows",
    "Snapshot",
    "Taint",
    "Toleration",
    "TolerationOperator",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
