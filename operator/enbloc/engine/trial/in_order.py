# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""In order: the deficit, placed on a trial member by member in one order or another."""

from collections import Counter
from collections.abc import Sequence

from enbloc.engine.trial.outcome import Outcome
from enbloc.engine.trial.ranking_cache import MOST_RANKINGS, ClassKey, told_apart
from enbloc.engine.trial.trial import Trial
from enbloc.framework.facts import GroupFacts
from enbloc.model.pods import Pod


def place_deficit(
    facts: GroupFacts, order: Sequence[Pod], trial: Trial, outcome: Outcome
) -> list[Pod]:
    """Place the deficit from members in this order; return those that were not tried.

    Each role's deficit is met from members of that role, then the group's from all that are left. A
    member that does not fit is passed over while others can meet the floor in its place.
    """
    left = list(order)
    turn = {pod.uid: index for index, pod in enumerate(order)} if facts.roles else {}
    for floor in facts.roles:
        ours = [pod for pod in left if pod.role == floor.role]
        left = [pod for pod in left if pod.role != floor.role]
        spare = meet(floor.deficit, ours, trial, outcome)
        left = sorted([*left, *spare], key=lambda pod: turn[pod.uid])
        if outcome.failed:
            break
    else:
        left = meet(facts.total.deficit - len(outcome.needed), left, trial, outcome)
    # Only now is it known whether all got their volumes and devices.
    for pod in [pod for pod, _ in outcome.needed if not trial.stands(pod)]:
        outcome.failed = True
        outcome.unplaced.append(pod)
        outcome.note(trial.diagnosis(pod), pod)
    return left


def meet(deficit: int, candidates: Sequence[Pod], trial: Trial, outcome: Outcome) -> list[Pod]:
    """Place `deficit` of the candidates; return those that were not tried."""
    wanted = len(outcome.needed) + max(0, deficit)
    explained: set[ClassKey] = set()
    many = len({id(pod.spec) for pod in candidates}) > MOST_RANKINGS
    keys = trial.keys(candidates)
    told = told_apart(keys)
    to_come = Counter(keys) if many else Counter[ClassKey]()
    index = 0
    while index < len(candidates):
        if len(outcome.needed) >= wanted:
            return list(candidates[index:])
        key = keys[index]
        most = min(len(candidates), index + wanted - len(outcome.needed))
        end = index + 1
        while end < most and keys[end] == key:
            end += 1
        rows = trial.place_alike(candidates[index:end], key)
        outcome.needed += zip(candidates[index:end], rows, strict=False)
        if many:
            to_come[key] -= len(rows)
            if not to_come[key]:  # otherwise each class holds arrays over all nodes until the end
                trial.forget(key)
        index += len(rows)
        if index == end:
            continue
        pod, said = candidates[index], told[index]
        index += 1
        outcome.unplaced.append(pod)
        if said not in explained:
            explained.add(said)
            outcome.note(trial.diagnosis(pod), pod)
        if len(outcome.needed) + len(candidates) - index < wanted:
            break
    outcome.failed = len(outcome.needed) < wanted
    return []
