# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""enbloc: a gang scheduler for Kubernetes. All pods of a job together, or none.

A plugin needs the names below, and `enbloc.testing` for its tests. They are imported when first
used, because the command line needs none of them.
"""

from typing import TYPE_CHECKING, Final

from enbloc.lazy import lazily

if TYPE_CHECKING:
    from enbloc.framework.act import Api, ReadObject, Reply, Target
    from enbloc.framework.decide import (
        MAX_NODE_SCORE,
        NodeSet,
        Proposal,
        Scores,
    )
    from enbloc.framework.facts import Floor, GroupFacts
    from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
    from enbloc.framework.normalizing import default_normalize, default_normalize_reversed
    from enbloc.framework.observations import (
        Expired,
        GroupGone,
        NodeChanged,
        NodeNote,
        Observation,
        PodChanged,
    )
    from enbloc.framework.per_node import PerNode
    from enbloc.framework.reads import Reads
    from enbloc.framework.status import (
        SUCCESS,
        Code,
        Diagnosis,
        Status,
        pending,
        refuse,
        refuse_for_good,
        wait,
    )
    from enbloc.model.groups import Group, GroupKey, Role
    from enbloc.model.node import Node
    from enbloc.model.nodes import Amounts, Mask, Nodes, Rows
    from enbloc.model.placed import PlacedPods
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
    from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
    from enbloc.model.snapshot import Snapshot
    from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator

__version__ = "0.1.0.dev0"

_HOMES: Final = {
    "framework.act": ("Api", "Reply", "ReadObject", "Target"),
    "framework.decide": (
        "MAX_NODE_SCORE",
        "NodeSet",
        "Proposal",
        "Scores",
    ),
    "framework.normalizing": ("default_normalize", "default_normalize_reversed"),
    "framework.facts": ("Floor", "GroupFacts"),
    "framework.hints": ("Action", "ClusterEvent", "Happening", "Hint", "Resource"),
    "framework.observations": (
        "Expired",
        "GroupGone",
        "NodeChanged",
        "NodeNote",
        "Observation",
        "PodChanged",
    ),
    "framework.per_node": ("PerNode",),
    "framework.reads": ("Reads",),
    "framework.status": (
        "SUCCESS",
        "Code",
        "Diagnosis",
        "Status",
        "pending",
        "refuse",
        "refuse_for_good",
        "wait",
    ),
    "model.groups": ("Group", "GroupKey", "Role"),
    "model.node": ("Node",),
    "model.nodes": ("Amounts", "Mask", "Nodes", "Rows"),
    "model.placed": ("PlacedPods",),
    "model.pods": (
        "HostPort",
        "NodeSelectorTerm",
        "Owner",
        "Phase",
        "Pod",
        "PodKey",
        "PodSpec",
        "PodUID",
    ),
    "model.requirements": ("Operator", "Requirement"),
    "model.selectors": ("PodAffinity", "PodAffinityTerm", "Selector", "SpreadConstraint"),
    "model.snapshot": ("Snapshot",),
    "model.taints": ("Effect", "Taint", "Toleration", "TolerationOperator"),
}

__all__ = [
    "MAX_NODE_SCORE",
    "SUCCESS",
    "Action",
    "Amounts",
    "Api",
    "ClusterEvent",
    "Code",
    "Diagnosis",
    "Effect",
    "Expired",
    "Floor",
    "Group",
    "GroupFacts",
    "GroupGone",
    "GroupKey",
    "Happening",
    "Hint",
    "HostPort",
    "Mask",
    "Node",
    "NodeChanged",
    "NodeNote",
    "NodeSelectorTerm",
    "NodeSet",
    "Nodes",
    "Observation",
    "Operator",
    "Owner",
    "PerNode",
    "Phase",
    "PlacedPods",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodChanged",
    "PodKey",
    "PodSpec",
    "PodUID",
    "Proposal",
    "ReadObject",
    "Reads",
    "Reply",
    "Requirement",
    "Resource",
    "Role",
    "Rows",
    "Scores",
    "Selector",
    "Snapshot",
    "SpreadConstraint",
    "Status",
    "Taint",
    "Target",
    "Toleration",
    "TolerationOperator",
    "__version__",
    "default_normalize",
    "default_normalize_reversed",
    "pending",
    "refuse",
    "refuse_for_good",
    "wait",
]

if not TYPE_CHECKING:  # type checkers know the names above, and no others
    __getattr__, __dir__ = lazily(__name__, _HOMES)
