# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Policies: who reserves capacity and who evicts; they stand on claims, order and victims alone.

Each is a `Policy` that the stages of a turn ask, in a module of its name; none knows another but by
what it is given. A further policy (quota, backfill) is a further module here, or is handed to the
engine by whoever makes it.
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
