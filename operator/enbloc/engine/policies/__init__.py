# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Policies: they reserve capacity and evict; they depend on reservations, order and victims alone.

Each is a `Policy` that the stages of a turn call, in a module of its name; it knows of others only
what it is given. A further policy (quota, backfill) is a further module here, or is handed to the
engine by its creator.
"""

from enbloc.engine.policies.held_capacity import HeldCapacity
from enbloc.engine.policies.min_resources import MinResources
from enbloc.engine.policies.node_history import NodeHistory
from enbloc.engine.policies.pauses import Pause
from enbloc.engine.policies.policy import Policy
from enbloc.engine.policies.preemptions import Preemptions
from enbloc.engine.policies.repair import Repair
from enbloc.engine.policies.returning import Returning

__all__ = [
    "HeldCapacity",
    "MinResources",
    "NodeHistory",
    "Pause",
    "Policy",
    "Preemptions",
    "Repair",
    "Returning",
]
