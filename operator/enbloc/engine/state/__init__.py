# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""State: what the cluster holds, and what is known of every group.

`cluster` has the tables and where each pod is. `groups` has every group, `runs` the runs of one
PodGroup, and `run` what one run has: `floor` is its minimum, `successes` and `runners` count its
members, and `gathering` says which owners may be one run. `reservations` is the ledger of reserved
capacity, `capacity` sums up its amounts, `order` compares groups, `nominations` knows for which
pods of other schedulers nodes are reserved. `trials` makes the copy of the cluster that a group may
see. `checkpoint` and `log` record the tables of recent decisions.
"""

from enbloc.engine.state.capacity import (
    GroupAmount,
    ReservedAmounts,
    beyond,
    free_amounts,
    reservable,
    reserved_amounts,
    to_be_admitted,
)
from enbloc.engine.state.checkpoint import (
    Arrays,
    Checkpoint,
    ClaimUserSeen,
    PlanWithdrawn,
    Seat,
    SeatLeft,
    TableChange,
)
from enbloc.engine.state.cluster import ClusterState
from enbloc.engine.state.groups import Groups
from enbloc.engine.state.log import Log, after
from enbloc.engine.state.nominations import pinned_to
from enbloc.engine.state.order import Key, Order
from enbloc.engine.state.reservations import (
    HELD,
    MIN_RESOURCES,
    PREEMPTION,
    Against,
    Reservation,
    ReservationLedger,
    nominated,
    stand_in,
)
from enbloc.engine.state.run import Run, solo_key
from enbloc.engine.state.runs import MOST_RUNS
from enbloc.engine.state.trials import Trials, adjust

__all__ = [
    "HELD",
    "MIN_RESOURCES",
    "MOST_RUNS",
    "PREEMPTION",
    "Against",
    "Arrays",
    "Checkpoint",
    "ClaimUserSeen",
    "ClusterState",
    "GroupAmount",
    "Groups",
    "Key",
    "Log",
    "Order",
    "PlanWithdrawn",
    "Reservation",
    "ReservationLedger",
    "ReservedAmounts",
    "Run",
    "Seat",
    "SeatLeft",
    "TableChange",
    "Trials",
    "adjust",
    "after",
    "beyond",
    "free_amounts",
    "nominated",
    "pinned_to",
    "reservable",
    "reserved_amounts",
    "solo_key",
    "stand_in",
    "to_be_admitted",
]
