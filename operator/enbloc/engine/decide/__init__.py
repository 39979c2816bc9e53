# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Decide: one group, one snapshot and one profile make one plan.

`attempts` decides about the group whose turn it is, `cycle` makes the plan, `assign` places its
members in order (`children` those of a tree, `domain` those that must be close to each other; each
its `floor` first), `explain` writes the message, `decision` records what a replay needs.
"""

from enbloc.engine.decide.attempts import Attempts, Planner
from enbloc.engine.decide.cycle import AllowedCapacity, Placer, schedule_group
from enbloc.engine.decide.decision import Decision, DecisionInput, NamedOpinion, VictimSearch

__all__ = [
    "AllowedCapacity",
    "Attempts",
    "Decision",
    "DecisionInput",
    "NamedOpinion",
    "Placer",
    "Planner",
    "VictimSearch",
    "schedule_group",
]
