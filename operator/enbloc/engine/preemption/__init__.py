# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption: which pods of lower priority are evicted for a group that fits nowhere."""

from enbloc.engine.preemption.candidates import VictimCandidates
from enbloc.engine.preemption.effort import StepAccount
from enbloc.engine.preemption.gang import preempt_for_gang
from enbloc.engine.preemption.lone import (
    NodeCandidate,
    NodeCandidates,
    candidates_for_pod,
    could_go,
    no_victims,
    preempt_for_pod,
)
from enbloc.engine.preemption.protection import (
    EvictionCounts,
    MinRuntime,
    PreemptionLimits,
    Protection,
    unit_name,
)
from enbloc.engine.preemption.search import (
    EVERYWHERE,
    LookedAt,
    PlacesOnceGone,
    Searched,
    preempting,
    search,
)
from enbloc.engine.preemption.together import (
    admitted,
    floors_of,
    gang_of,
    kueue_key,
    of_kueue,
    parted,
)
from enbloc.engine.preemption.units import Preemption, Unit, cost, decided_without, importance

__all__ = [
    "EVERYWHERE",
    "EvictionCounts",
    "LookedAt",
    "MinRuntime",
    "NodeCandidate",
    "NodeCandidates",
    "PlacesOnceGone",
    "Preemption",
    "PreemptionLimits",
    "Protection",
    "Searched",
    "StepAccount",
    "Unit",
    "VictimCandidates",
    "admitted",
    "candidates_for_pod",
    "cost",
    "could_go",
    "decided_without",
    "floors_of",
    "gang_of",
    "importance",
    "kueue_key",
    "no_victims",
    "of_kueue",
    "parted",
    "preempt_for_gang",
    "preempt_for_pod",
    "preempting",
    "search",
    "unit_name",
]
