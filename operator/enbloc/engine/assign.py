# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Assign: which member goes where: tried in order, and where that fails, searched for."""

from collections.abc import Sequence

from enbloc.engine.outcome import Outcome, Search
from enbloc.engine.search import search
from enbloc.engine.search_orders import place_deficit
from enbloc.engine.tentative import Tentative
from enbloc.framework.facts import GroupFacts
from enbloc.model.pods import Pod

__all__ = ["Outcome", "Search", "Tentative", "ordered_pass", "place_group"]


def place_group(
    facts: GroupFacts, tentative: Tentative, steps: int, *, exactly: bool = True
) -> Outcome:
    """Place the deficit, whole, then whatever else fits, oldest member first.

    Members are tried in order. Where that fails, a placement is searched for, whatever its order;
    plugins have the last word on it. A group that is held in part gets its deficit and nothing
    beyond it.

    Args:
        facts: the group as it is.
        tentative: the cluster as it is; it holds the placement afterwards, or nothing new.
        steps: how much the search may cost; 0 = there is none. More steps never lose a placement
            that fewer find.
        exactly: ask the exact solver too, where it is installed.
    """
    mark = tentative.mark
    outcome = ordered_pass(facts, tentative)
    if not outcome.failed:
        return outcome
    tentative.rewind(mark)
    found = search(facts, tentative, steps, exactly=exactly)
    if not found.needed:
        outcome.search, outcome.steps = found.search, found.steps
        return outcome
    placed = {pod.uid for pod, _ in found.needed}
    others = [pod for pod in facts.pending if pod.uid not in placed]
    _place_surplus(facts, others, tentative, found)
    return found


def ordered_pass(facts: GroupFacts, tentative: Tentative) -> Outcome:
    """Place the deficit, whole, then whatever else fits, oldest member first."""
    outcome = Outcome()
    left = place_deficit(facts, facts.pending, tentative, outcome)
    if not outcome.failed:
        _place_surplus(facts, (*outcome.unplaced, *left), tentative, outcome)
    return outcome


def _place_surplus(
    facts: GroupFacts, others: Sequence[Pod], tentative: Tentative, outcome: Outcome
) -> None:
    """Place what else fits and say why the rest does not; nothing if the group is held in part."""
    if facts.held_in_part:
        return
    for pod in others:
        row = tentative.place(pod)
        if row is not None:
            outcome.surplus.append((pod, row))
    kept = {pod.uid for pod, _ in (*outcome.needed, *outcome.surplus)}
    outcome.unplaced = [pod for pod in facts.pending if pod.uid not in kept]
    for pod in {tentative.key(pod): pod for pod in reversed(outcome.unplaced)}.values():
        outcome.note(tentative.diagnosis(pod))
