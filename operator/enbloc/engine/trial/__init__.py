# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trial: a private copy of the cluster on which members of one group are placed.

`trial` is the copy and its forks, `in_order` places members one after the other, `ranking` is what
the plugins say of every node for one class of identical pods, through the `evaluators` that they
return; `totals` sums it up and finds the best rows, `extremes` tells whether some rows can be
updated without the others, `slots` counts for how many further pods each has room. `ranking_cache`
keeps a ranking across decisions, `lookahead` where the next pods of a stream go. `selected_labels`
tells which pods selectors can tell apart, `opinions` adds what extenders and plugins that learn
say. `plugin_calls` turns any fault of a plugin into one error.
"""

from enbloc.engine.trial.in_order import meet, place_deficit
from enbloc.engine.trial.opinions import (
    MOST_OF_EXTENDERS,
    NodeView,
    Opinion,
    confining,
    preferring,
)
from enbloc.engine.trial.outcome import Outcome, Search
from enbloc.engine.trial.parts import PlacedChange
from enbloc.engine.trial.plugin_calls import (
    Stopwatch,
    asked,
    asked_each,
    asked_status,
    asked_unchecked,
    checked,
    shape_of,
    timed,
)
from enbloc.engine.trial.ranking_cache import MOST_RANKINGS, ClassKey, Rankings, told_apart
from enbloc.engine.trial.selected_labels import Named, required, telling
from enbloc.engine.trial.slots import MOST_SLOTS, Slots
from enbloc.engine.trial.trial import Trial

__all__ = [
    "MOST_OF_EXTENDERS",
    "MOST_RANKINGS",
    "MOST_SLOTS",
    "ClassKey",
    "Named",
    "NodeView",
    "Opinion",
    "Outcome",
    "PlacedChange",
    "Rankings",
    "Search",
    "Slots",
    "Stopwatch",
    "Trial",
    "asked",
    "asked_each",
    "asked_status",
    "asked_unchecked",
    "checked",
    "confining",
    "meet",
    "place_deficit",
    "preferring",
    "required",
    "shape_of",
    "telling",
    "timed",
    "told_apart",
]
