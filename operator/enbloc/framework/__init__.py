# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a plugin may say: the contract, and nothing else.

Types, protocols and their helper functions; no plugin, no queue, no state. Plugin authors should
read `decide` (and `act` for binding) from top to bottom.
"""

from enbloc.framework.facts import Floor, GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.per_node import PerNode
from enbloc.framework.profile import Profile
from enbloc.framework.reads import Reads
from enbloc.framework.registry import Registry
from enbloc.framework.status import (
    SUCCESS,
    Code,
    Diagnosis,
    Status,
    refuse,
    refuse_for_good,
    wait,
)

__all__ = [
    "SUCCESS",
    "Action",
    "ClusterEvent",
    "Code",
    "Diagnosis",
    "Floor",
    "GroupFacts",
    "Happening",
    "Hint",
    "PerNode",
    "Profile",
    "Reads",
    "Registry",
    "Resource",
    "Status",
    "refuse",
    "refuse_for_good",
    "wait",
]
