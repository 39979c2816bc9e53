# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Near: surplus members, placed where the others of their part or slice are."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from enbloc.engine.decide.floor import PlacedFloor, note_unplaced, place_others
from enbloc.engine.decide.slices import OUTSIDE, ReadBudget, slice_region
from enbloc.engine.member_ranks import ranks_of
from enbloc.engine.topology import chain_of, domains_of, inside, region_of
from enbloc.engine.trial import Outcome, Trial
from enbloc.framework.facts import Locality
from enbloc.model.nodes import Mask
from enbloc.model.pods import Pod

#: How many times placing a slice reads all rows.
_LOOKS: Final = 8


def place_near(
    locality: Locality, budget: ReadBudget, trial: Trial, floor: PlacedFloor, others: Sequence[Pod]
) -> Trial:
    """Place what else fits, each where the others of its part are, the nearest nodes first.

    Args:
        locality: where members are to be.
        budget: what the decision may still cost.
        trial: without the deficit.
        floor: the deficit, placed.
        others: members that are not needed.

    Returns:
        The fork that holds all of them.
    """
    outcome, tried = floor.outcome, floor.trial
    if floor.facts.in_slices:
        return _in_slices(locality, budget, trial, floor, others)
    if locality.levels.slices:  # of one member each, in any domain
        place = locality.levels.slices[0][1]
        level = domains_of(trial.snapshot.nodes, locality.levels.labels).levels[place]
        reason = f"node(s) were outside of all domains of {locality.levels.levels[place].name}"
        trial = inside(trial, level.codes >= 0, reason)
    by_chain: dict[tuple[str, ...], list[Pod]] = {}
    for pod in others:
        fields = tuple(each.field for each in chain_of(locality, pod.role))
        by_chain.setdefault(fields, []).append(pod)
    for pods in by_chain.values():
        tried, pinned = _near_its_own(pods[0], outcome, locality, trial)
        left = pods
        while left and not pinned:
            first, *left = left
            before = len(outcome.surplus)
            place_others([first], tried, outcome)
            if len(outcome.surplus) > before:  # others follow the first
                tried, _ = _near_its_own(first, outcome, locality, trial)
                break
        place_others(left, tried, outcome)
        note_unplaced(pods, tried, outcome)
    return tried


def _in_slices(
    locality: Locality, budget: ReadBudget, trial: Trial, floor: PlacedFloor, others: Sequence[Pod]
) -> Trial:
    """Place what else fits, each with the others of its slice, in rank order.

    Stop at the first member that finds no place: later ones would be bound with the rank before
    their own, and be in the wrong slice.
    """
    outcome, tried, nodes = floor.outcome, floor.trial, trial.snapshot.nodes
    needed = {pod.uid for pod, _ in outcome.needed}
    ranks = ranks_of(floor.facts, floor.facts.pending, needed)
    size = min(size for size, _ in locality.levels.slices if size > 1)
    in_turn = sorted(others, key=lambda pod: ranks[pod.uid])
    for _, each in groupby(in_turn, lambda pod: ranks[pod.uid] // size):
        left = list(each)
        while left and budget.take(_LOOKS * len(nodes)):
            placed = outcome.placed
            mask, pinned = slice_region(ranks[left[0].uid], ranks, placed, locality, nodes)
            tried, _ = _near_its_own(left[0], outcome, locality, trial, mask)
            these, left = (left, []) if pinned else (left[:1], left[1:])
            place_others(these, tried, outcome)
            note_unplaced(these, tried, outcome)
            if len(outcome.placed) < len(placed) + len(these):
                return tried
        if left:
            return tried
    return tried


def _near_its_own(
    pod: Pod, outcome: Outcome, locality: Locality, trial: Trial, within: Mask | None = None
) -> tuple[Trial, bool]:
    """Return the trial with all placed members, where a member may be; and whether they pin it.

    `within` (bool[N]) limits it further.
    """
    region = region_of(chain_of(locality, pod.role), outcome.placed, trial.snapshot.nodes)
    mask, reason = region.mask, region.outside
    if within is not None:
        mask, reason = mask & within, OUTSIDE
    tried = inside(trial, mask, reason, region.near).fork()
    tried.add_all(outcome.placed)
    return tried, region.pinned
