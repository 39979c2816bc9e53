# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is: frozen facts about pods, groups and nodes, and the tables that hold them.

Only facts live here, with the exact arithmetic and the codec that they need. No decision, no I/O,
no clock. Names are loaded when first used, so that the fixed names cost no import of NumPy.
"""

from typing import TYPE_CHECKING, Final

from enbloc.lazy import lazily

if TYPE_CHECKING:
    from enbloc.model.binding_record import BindingRecord
    from enbloc.model.groups import Group, GroupKey, Memory, Role
    from enbloc.model.node import Node, NodeChange
    from enbloc.model.nodes import Amounts, Mask, Nodes, Rows
    from enbloc.model.placed import Placed
    from enbloc.model.pods import (
        HostPort,
        NodeSelectorTerm,
        Owner,
        Phase,
        Pod,
        PodKey,
        PodSpec,
        PodUID,
    )
    from enbloc.model.requirements import Operator, Requirement
    from enbloc.model.resources import ResourceSpace
    from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
    from enbloc.model.snapshot import Snapshot
    from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator

_HOMES: Final = {
    "groups": ("Group", "GroupKey", "Memory", "Role"),
    "node": ("Node", "NodeChange"),
    "nodes": ("Amounts", "Mask", "Nodes", "Rows"),
    "placed": ("Placed",),
    "pods": (
        "HostPort",
        "NodeSelectorTerm",
        "Owner",
        "Phase",
        "Pod",
        "PodKey",
        "PodSpec",
        "PodUID",
    ),
    "binding_record": ("BindingRecord",),
    "requirements": ("Operator", "Requirement"),
    "resources": ("ResourceSpace",),
    "selectors": ("PodAffinity", "PodAffinityTerm", "Selector", "SpreadConstraint"),
    "snapshot": ("Snapshot",),
    "taints": ("Effect", "Taint", "Toleration", "TolerationOperator"),
}

__all__ = [
    "Amounts",
    "BindingRecord",
    "Effect",
    "Group",
    "GroupKey",
    "HostPort",
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
    "PodAffinity",
    "PodAffinityTerm",
    "PodKey",
    "PodSpec",
    "PodUID",
    "Requirement",
    "ResourceSpace",
    "Role",
    "Rows",
    "Selector",
    "Snapshot",
    "SpreadConstraint",
    "Taint",
    "Toleration",
    "TolerationOperator",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
