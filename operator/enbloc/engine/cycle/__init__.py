# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Cycle: one group, one snapshot and one profile make one plan.

`trials` makes the copy of the cluster that a group may see, `assign` places its members on it,
`cycle` makes a plan of that, `explain` the sentence for people.
"""

from enbloc.engine.cycle.assign import place_group
from enbloc.engine.cycle.cycle import GANG_PLUGIN, Room, schedule_group, to_be_admitted
from enbloc.engine.cycle.trials import Trials, adjust

__all__ = [
    "GANG_PLUGIN",
    "Room",
    "Trials",
    "adjust",
    "place_group",
    "schedule_group",
    "to_be_admitted",
]
