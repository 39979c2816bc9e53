# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What would become of a cluster: of who waits, and what a change would do about it.

All of it is pure: the engine decides on facts of the present, and what it asks for succeeds.
"""

from enbloc.simulation.changes import Whose
from enbloc.simulation.cluster import GivenUpError, GoOn, PresentState, SimulatedCluster
from enbloc.simulation.estimates import Ends, Start, ends_of, estimates, lasts
from enbloc.simulation.explanation import INCOMPLETE, Explanation, amounts, explain, taken
from enbloc.simulation.node_shapes import NodeShape, reservations
from enbloc.simulation.outlook import InCopy, Outlook
from enbloc.simulation.remedies import Remedy, Try, TryResult, outcome
from enbloc.simulation.waiting import Waiting, group_of, members_waiting, queue
from enbloc.simulation.what_if import (
    Affected,
    EvictedPod,
    Sized,
    WhatIfAnswer,
    WhatIfQuestion,
    answer,
    created,
    more_nodes,
    resized,
    without_nodes,
)

__all__ = [
    "INCOMPLETE",
    "Affected",
    "Ends",
    "EvictedPod",
    "Explanation",
    "GivenUpError",
    "GoOn",
    "InCopy",
    "NodeShape",
    "Outlook",
    "PresentState",
    "Remedy",
    "SimulatedCluster",
    "Sized",
    "Start",
    "Try",
    "TryResult",
    "Waiting",
    "WhatIfAnswer",
    "WhatIfQuestion",
    "Whose",
    "amounts",
    "answer",
    "created",
    "ends_of",
    "estimates",
    "explain",
    "group_of",
    "lasts",
    "members_waiting",
    "more_nodes",
    "outcome",
    "queue",
    "reservations",
    "resized",
    "taken",
    "without_nodes",
]
