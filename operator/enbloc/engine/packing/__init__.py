# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Packing: search for a placement where members tried in order do not find one.

`model` states the problem in numbers, `declarations` what plugins add to it, `bounds` refutes it by
sums, `orders` tries other orders, `branch` and `states` search completely, `highs` asks a solver,
`search` runs them one after the other; `infeasible` tells what no change of load could ever place.
"""

from enbloc.engine.packing.bounds import shortage
from enbloc.engine.packing.highs import available as solver_available
from enbloc.engine.packing.infeasibility import (
    answer,
    infeasible,
    packings_ever,
    undecided,
)
from enbloc.engine.packing.model import (
    Need,
    Packing,
    in_sets,
    packing_now,
    plain_requests,
    takers,
    together,
)
from enbloc.engine.packing.search import PLACING_STEPS, find_placement

__all__ = [
    "PLACING_STEPS",
    "Need",
    "Packing",
    "answer",
    "find_placement",
    "in_sets",
    "infeasible",
    "packing_now",
    "packings_ever",
    "plain_requests",
    "shortage",
    "solver_available",
    "takers",
    "together",
    "undecided",
]
