# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Report: what users are told, each thing once.

`reporter` remembers what stands where, `authorship` knows whose groups are ours to write of,
`conditions` has the words of a group's conditions, `advice` what else its user should know,
`overdue` whose PodGroup, members or claims do not come, `preparations` what a plan waits for,
`whereabouts` in which domains of its topology a group lies.
"""

from enbloc.engine.report.advice import advise
from enbloc.engine.report.conditions import PENDING, Explanation, Progress
from enbloc.engine.report.overdue import Overdue
from enbloc.engine.report.preparations import preparing
from enbloc.engine.report.reporter import NOWHERE, Reporter
from enbloc.engine.report.whereabouts import counted, topology_status

__all__ = [
    "NOWHERE",
    "PENDING",
    "Explanation",
    "Overdue",
    "Progress",
    "Reporter",
    "advise",
    "counted",
    "preparing",
    "topology_status",
]
