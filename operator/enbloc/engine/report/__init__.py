# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Report: what users are told, each message once.

`reporter` records what was written where, `authorship` decides which groups this scheduler writes
about, `conditions` words a group's conditions, `advice` other hints for its user, `overdue` knows
whose PodGroup, members or claims do not come, `preparations` what a plan waits for, `whereabouts`
in which domains of its topology a group is.
"""

from enbloc.engine.report.advice import advise
from enbloc.engine.report.conditions import PENDING, Progress, ReasonAndMessage
from enbloc.engine.report.overdue import Overdue
from enbloc.engine.report.preparations import preparing
from enbloc.engine.report.reporter import NOWHERE, Reporter
from enbloc.engine.report.whereabouts import counted, topology_status

__all__ = [
    "NOWHERE",
    "PENDING",
    "Overdue",
    "Progress",
    "ReasonAndMessage",
    "Reporter",
    "advise",
    "counted",
    "preparing",
    "topology_status",
]
