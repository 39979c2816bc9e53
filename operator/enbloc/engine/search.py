# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Search: a placement of the deficit where the ordered pass found none.

::

    counts ──► domains, other orders ──► search over classes ──► exact solver
    (it is hopeless, or             (a quarter of the steps)     (a half, where it
    nothing to search)                                            is installed)

Each stage has its share of the steps, whatever the others left of theirs: so more steps never
lose what fewer find, and the same steps find the same.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from enbloc.engine import exact
from enbloc.engine.outcome import Outcome, Search
from enbloc.engine.search_classes import ClassSearch
from enbloc.engine.search_counts import counting_decides, shortage
from enbloc.engine.search_model import Counts, Packing, gathering, packing_now
from enbloc.engine.search_orders import other_orders, place_deficit
from enbloc.engine.tentative import Tentative
from enbloc.framework.facts import GroupFacts
from enbloc.model.pods import Pod

#: Steps that placing one member with the plugins is worth; a step is about 5 µs.
_PLACING: Final = 20

#: Members with their rows, in the order they were placed.
Placement = tuple[tuple[Pod, int], ...]


def search(facts: GroupFacts, tentative: Tentative, steps: int, *, exactly: bool = True) -> Outcome:
    """Look for a placement of the deficit; `tentative` then holds it, or nothing new.

    Args:
        facts: the group as it is.
        tentative: the cluster as it is.
        steps: how much it may cost in all.
        exactly: ask the exact solver too, where it is installed.
    """
    outcome = Outcome()
    if steps <= 0:
        return outcome
    packing = packing_now(facts, tentative)
    outcome.steps = cost_of(packing, len(tentative.nodes))
    if shortage(packing) is not None:
        outcome.search = Search.INFEASIBLE
    else:
        for stage in _stages(facts, tentative, packing, steps, exactly=exactly):
            outcome.steps += stage.steps
            outcome.search = stage.search or outcome.search
            if stage.final:
                outcome.needed = list(stage.placed)
                break
    return outcome


def cost_of(packing: Packing, rows: int) -> int:
    """Steps that making a packing and adding it up cost."""
    return 20 + rows * packing.requests.size // 1000 + len(packing.kinds) ** 2 // 8


def _stages(
    facts: GroupFacts, tentative: Tentative, packing: Packing, steps: int, *, exactly: bool
) -> Iterator["_Stage"]:
    """Each stage's word, in order; the last one counts unless one of them is final."""
    keys = gathering(tentative.profile, packing)
    alike = counting_decides(packing)
    if keys:
        yield _domains(packing, tentative, keys, steps if alike else steps // 8)
    if alike:  # then any order finds what there is
        return
    yield _orders(facts, tentative, steps // (8 if keys else 4))
    yield _classes(packing, tentative, steps // 4)
    if exactly and exact.available():
        yield _solver(packing, tentative, steps // 2)


class _Stage(NamedTuple):
    """What one stage found.

    Attributes:
        search: NONE = it has nothing to say.
    """

    search: Search
    steps: int
    placed: Placement = ()

    @property
    def final(self) -> bool:
        """The other stages need not be asked."""
        return bool(self.placed) or self.search is Search.INFEASIBLE


def _domains(packing: Packing, tentative: Tentative, keys: Sequence[str], budget: int) -> _Stage:
    """One topology domain after the other, the smallest first, for those who must be together."""
    steps = 0
    for key in keys:
        codes = tentative.nodes.domains(key)[packing.rows]
        sizes = np.bincount(codes, packing.places.sum(axis=0))
        for domain in np.argsort(sizes, kind="stable").tolist():
            inside = codes == domain
            steps += 1 + packing.places.size // 1000
            if not domain or not inside.any() or shortage(packing.only(inside)) is not None:
                continue
            searching = ClassSearch(packing.only(inside), budget - steps)
            part = next(searching.answers(), None)
            steps += searching.steps
            if part is not None:
                steps += _PLACING * packing.needs[0].members
                counts = np.zeros_like(packing.places)
                counts[:, inside] = part
                if placed := _accepted(packing, counts, tentative):
                    return _Stage(Search.DOMAIN, steps, placed)
            if steps >= budget:
                return _Stage(Search.SPENT, steps)
    return _Stage(Search.NONE, steps)


def _orders(facts: GroupFacts, tentative: Tentative, budget: int) -> _Stage:
    """The orders that matter, all through the plugins."""
    steps = 0
    for order in other_orders(facts, tentative):
        steps += _PLACING * len(order)
        if steps > budget:
            return _Stage(Search.SPENT, steps - _PLACING * len(order))
        mark = tentative.mark
        outcome = Outcome()
        place_deficit(facts, order, tentative, outcome)
        if not outcome.failed:
            return _Stage(Search.ORDER, steps, tuple(outcome.needed))
        tentative.rewind(mark)
    return _Stage(Search.NONE, steps)


def _classes(packing: Packing, tentative: Tentative, budget: int) -> _Stage:
    """The complete search, which goes on after an answer that plugins refuse."""
    searching = ClassSearch(packing, budget)
    refused = False
    for counts in searching.answers():
        searching.steps += _PLACING * packing.needs[0].members
        placed = _accepted(packing, counts, tentative)
        if placed:
            return _Stage(Search.CLASSES, searching.steps, placed)
        refused = True
    if not searching.exhausted:
        return _Stage(Search.SPENT, searching.steps)
    return _Stage(Search.REFUSED if refused else Search.INFEASIBLE, searching.steps)


def _solver(packing: Packing, tentative: Tentative, budget: int) -> _Stage:
    """The exact solver's one answer."""
    answer = exact.solve(packing, budget)
    if answer.counts is not None:
        placed = _accepted(packing, answer.counts, tentative)
        steps = answer.steps + _PLACING * packing.needs[0].members
        return _Stage(Search.SOLVER if placed else Search.NONE, steps, placed)
    return _Stage(Search.INFEASIBLE if answer.refuted else Search.NONE, answer.steps)


def _accepted(packing: Packing, counts: Counts, tentative: Tentative) -> Placement:
    """Place what an answer says, members of a kind by age; () if plugins refuse it.

    A member that is refused is tried again once others are placed, since it may want to be near
    them.
    """
    mark = tentative.mark
    placed: list[tuple[Pod, int]] = []
    waiting = [
        (pod, row)
        for kind, line in zip(packing.kinds, counts, strict=True)
        for pod, row in zip(kind.pods, np.repeat(packing.rows, line).tolist(), strict=False)
    ]
    while waiting:
        refused: list[tuple[Pod, int]] = []
        for pod, row in waiting:
            if tentative.ranking(pod).feasible(row):
                tentative.put(pod, row)
                placed.append((pod, row))
            else:
                refused.append((pod, row))
        if len(refused) == len(waiting):
            tentative.rewind(mark)
            return ()
        waiting = refused
    return tuple(placed)
