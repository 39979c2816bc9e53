# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What would become of a cluster: of who waits, and what a change would do about it.

All of it is pure: the engine decides on facts of the present, and what it asks for succeeds.
"""

from enbloc.simulation.changes import Whose
from enbloc.simulation.cluster import Present, SimulatedCluster
from enbloc.simulation.estimates import Start
from enbloc.simulation.explanation import Explanation, Kind, amounts, explain, taken
from enbloc.simulation.node_shapes import NodeShape
from enbloc.simulation.outlook import Outlook
from enbloc.simulation.remedies import Remedy, Result, Try, outcome
from enbloc.simulation.waiting import Waiting, group_of, members_waiting, queue

__all__ = [
    "Explanation",
    "Kind",
    "NodeShape",
    "Outlook",
    "Present",
    "Remedy",
    "Result",
    "SimulatedCluster",
    "Start",
    "Try",
    "Waiting",
    "Whose",
    "amounts",
    "explain",
    "group_of",
    "members_waiting",
    "outcome",
    "queue",
    "taken",
]
