# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Search: a placement of the deficit where the ordered pass found none."""

from typing import Final

from enbloc.engine.outcome import Outcome, Search
from enbloc.engine.search_orders import other_orders, place_deficit
from enbloc.engine.tentative import Tentative
from enbloc.framework.facts import GroupFacts

#: Steps that placing one member with the plugins is worth; a step is about 5 µs.
PLACING: Final = 20


def search(facts: GroupFacts, tentative: Tentative, steps: int) -> Outcome:
    """Look for a placement of the deficit; `tentative` then holds it, or nothing new.

    Args:
        facts: the group as it is.
        tentative: the cluster as it is.
        steps: how much it may cost in all.
    """
    failed = Outcome()
    for order in other_orders(facts, tentative):
        cost = PLACING * len(order)
        if failed.steps + cost > steps:
            failed.search = Search.SPENT
            break
        failed.steps += cost
        mark = tentative.mark
        outcome = Outcome()
        place_deficit(facts, order, tentative, outcome)
        if not outcome.failed:
            outcome.search, outcome.steps = Search.ORDER, failed.steps
            outcome.diagnoses.clear()
            return outcome
        tentative.rewind(mark)
    return failed
