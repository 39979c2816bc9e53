# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption for a gang: which units of lower priority let its whole deficit fit.

::

    all of lower priority gone ──► does it fit at all?          no: nobody is touched
    the lowest priorities that suffice, budgets kept if they can be
    place where victims matter least ──► bring back whoever leaves it placed
    exchange victims for cheaper ones, while steps are left
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from enbloc.engine.preemption.reprieve import brought_back
from enbloc.engine.preemption.units import Cost, Preemption, Unit, beyond, cost, importance
from enbloc.engine.trial import Opinion, Outcome, Trial, preferring
from enbloc.framework.facts import GroupFacts
from enbloc.framework.status import Diagnosis
from enbloc.model.budgets import Budget

#: So often the set of victims is sought anew because together they go beyond a budget.
_MOST_ROUNDS: Final = 3

#: So many rows for each member are emptied, of those that cost least, before all are.
_ROWS_A_MEMBER: Final = (2, 8)

Units = frozenset[Unit]

#: Tries to place a group's deficit; what it came to, and the fork that holds the placement.
Placing = Callable[[GroupFacts, Trial], tuple[Outcome, Trial]]


def preempt_for_gang(
    facts: GroupFacts,
    trial: Trial,
    units: Sequence[Unit],
    budgets: Sequence[Budget],
    place: Placing,
    limit: int,
) -> Preemption:
    """Find the units that matter least without which the whole deficit of a gang fits.

    Args:
        facts: it fits nowhere.
        trial: the cluster as the gang may see it.
        units: everybody of lower priority.
        budgets: every PodDisruptionBudget.
        place: tries to place it.
        limit: members placed and pods moved in all, beyond what proof and a first answer need.

    Raises:
        PluginError: a plugin failed.
    """
    return _Search(facts, trial, units, budgets, place, limit).found()


class _Search:
    def __init__(
        self,
        facts: GroupFacts,
        trial: Trial,
        units: Sequence[Unit],
        budgets: Sequence[Budget],
        place: Placing,
        limit: int,
    ) -> None:
        self._facts, self._trial = facts, trial
        self._units, self._budgets = units, budgets
        self._place, self._limit = place, limit
        self._followers: dict[Unit, list[Unit]] = {}
        for unit in units:
            if unit.of is not None:
                self._followers.setdefault(unit.of, []).append(unit)
        #: The same set is tried in the same order: sets of objects have none of their own.
        self._number = {unit: number for number, unit in enumerate(units)}
        self._steps = 0
        #: What placing the gang without each set came to, of those that were tried.
        self._outcomes: dict[Units, Outcome] = {}

    def found(self) -> Preemption:
        best: tuple[Cost, Units] | None = None
        barred = frozenset(unit for unit in self._units if self._beyond(self._closed((unit,))))
        for _ in range(_MOST_ROUNDS):
            victims = self._sought(barred)
            if victims is None:
                break
            price = cost(victims, self._budgets)
            if best is None or price < best[0]:
                best = price, victims
            over = self._beyond(victims)
            if over <= barred:
                break
            barred |= over
        return self._refusal() if best is None else self._preemption(self._improved(*best))

    # ── the answer ───────────────────────────────────────────────────────────────────────────

    def _refusal(self) -> Preemption:
        """It fits nowhere even if all are gone."""
        diagnoses = self._outcome(frozenset(self._units)).diagnoses
        why = next(iter(diagnoses), Diagnosis(nodes=len(self._trial.nodes)))
        return Preemption(message=f"preemption: {why.text()}", steps=self._steps)

    def _preemption(self, victims: Units) -> Preemption:
        names = self._trial.nodes.names
        return Preemption(
            nodes=tuple((pod, names[row]) for pod, row in self._outcome(victims).needed),
            victims=tuple(sorted(victims, key=importance)),
            beyond=self._beyond(victims),
            steps=self._steps,
        )

    # ── sets of victims ──────────────────────────────────────────────────────────────────────

    def _sought(self, barred: Units) -> Units | None:
        """Victims that suffice, of the lowest priorities that do; barred ones only if need be.

        None = the gang fits nowhere even if all are gone.
        """
        # A minimum is barred if it is with all that goes with it.
        free = [unit for unit in self._units if barred.isdisjoint(self._closed((unit,)))]
        found = self._of_lowest_priority(free)
        if found is None and len(free) < len(self._units):
            found = self._of_lowest_priority(self._units)
        return None if found is None else self._reprieved(found, barred)

    def _of_lowest_priority(self, units: Sequence[Unit]) -> Units | None:
        """Victims among some units, of the lowest priorities that suffice."""
        levels = sorted({unit.priority for unit in units})
        found = self._within(units) if units else None
        low, high = 0, len(levels) - 1
        while found is not None and low < high:
            middle = (low + high) // 2
            fewer = self._within([unit for unit in units if unit.priority <= levels[middle]])
            if fewer is None:
                low = middle + 1
            else:
                found, high = fewer, middle
        return found

    def _within(self, units: Sequence[Unit]) -> Units | None:
        """Those of some units that must go from where the gang does best without them.

        Where few rows are enough, no others are emptied for it.
        """
        rows = self._rows(units)
        prices = {row: cost(there, self._budgets) for row, there in rows.items()}
        order = sorted(rows, key=lambda row: (prices[row], row))
        advised = self._trial.advised(self._advice(prices))
        cheapest = [order[: share * len(self._facts.pending)] for share in _ROWS_A_MEMBER]
        tried = [self._closed(unit for row in some for unit in rows[row]) for some in cheapest]
        everybody = frozenset(units)
        for victims in dict.fromkeys((*tried, everybody)):
            outcome = self._placed_without(victims, advised)
            found = self._narrowed(victims, rows, outcome)
            if found is not None:
                return found
        return self._narrowed(everybody, rows, self._outcome(everybody))

    def _narrowed(
        self, victims: Units, rows: Mapping[int, Sequence[Unit]], outcome: Outcome
    ) -> Units | None:
        """Those of some victims that are where the gang would go; None = it does not fit."""
        if outcome.failed:
            return None
        needed = {row for _, row in outcome.needed}
        fewer = self._closed(
            unit for row in needed for unit in rows.get(row, ()) if unit in victims
        )
        if fewer != victims and self._suffices(fewer):
            return fewer
        # Advice decides where the ordered pass succeeds: it must do without as well.
        return victims if self._suffices(victims) else None

    def _advice(self, prices: Mapping[int, Cost]) -> Opinion:
        """The dearer it is to empty a row, the worse it is."""
        order = {price: place for place, price in enumerate(sorted(set(prices.values())), 1)}
        scores = np.full(len(self._trial.nodes), 100, np.int64)
        for row, price in prices.items():
            scores[row] = 100 - 100 * order[price] // (len(order) + 1)
        return preferring("DefaultPreemption", scores)

    def _rows(self, units: Iterable[Unit]) -> dict[int, list[Unit]]:
        """Who is where."""
        found: dict[int, list[Unit]] = {}
        for unit in units:
            for name in dict.fromkeys(pod.node for pod in unit.pods):
                row = self._trial.nodes.row(name)
                if row is not None:
                    found.setdefault(row, []).append(unit)
        return found

    def _reprieved(self, victims: Units, barred: Units) -> Units:
        """Without whoever need not go: those beyond a budget first, then the most important."""
        order = sorted(
            victims, key=lambda unit: (unit not in barred, unit.of is not None, unit.importance)
        )
        outcome, placed = self._outcome(victims), self._without(victims, self._trial)
        for pod, row in (*outcome.needed, *outcome.surplus):
            placed.put(pod, row)
        fewer = brought_back(order, outcome.needed, placed)
        if self._suffices(fewer):  # it knows of rows alone
            victims = fewer
        self._limit += self._steps  # so far it was needed
        return self._without_needless([unit for unit in order if unit in victims], victims)

    def _without_needless(self, some: Sequence[Unit], victims: Units) -> Units:
        """Bring back as many of some as can be, all at once where that does."""
        back = frozenset(some)
        fewer = victims - back
        if not back or self._closed(fewer) != fewer:
            return victims
        if self._suffices(fewer):
            return fewer
        if len(some) == 1 or self._steps >= self._limit:
            return victims
        half = len(some) // 2
        return self._without_needless(some[half:], self._without_needless(some[:half], victims))

    def _improved(self, price: Cost, victims: Units) -> Units:
        """Exchange a victim for a cheaper one, while that helps and steps are left."""
        better = True
        while better and self._steps < self._limit:
            better = False
            for tried in self._exchanges(victims):
                if self._steps >= self._limit:
                    break
                self._steps += 1
                if cost(tried, self._budgets) < price and self._suffices(tried):
                    victims = self._without_needless(sorted(tried, key=importance), tried)
                    price, better = cost(victims, self._budgets), True
                    break
        return victims

    def _exchanges(self, victims: Units) -> Iterator[Units]:
        """One or two victims stay for one other, or one for two; the most important stay first."""
        others = [unit for unit in sorted(self._units, key=importance, reverse=True)
                  if unit not in victims]  # fmt: skip
        staying = sorted(victims, key=importance)
        for leave, come in ((1, 1), (2, 1), (1, 2)):
            for some in combinations(staying, leave):
                left = victims - self._closed(some)
                for more in combinations(others, come):
                    yield self._closed((*left, *more))

    # ── trying ───────────────────────────────────────────────────────────────────────────────

    def _closed(self, units: Iterable[Unit]) -> Units:
        """With a gang's minimum goes the rest of it."""
        found = frozenset(units)
        if not self._followers:
            return found
        return found.union(*(self._followers.get(unit, ()) for unit in found))

    def _beyond(self, units: Iterable[Unit]) -> Units:
        return frozenset(beyond(units, self._budgets))

    def _suffices(self, victims: Units) -> bool:
        return not self._outcome(victims).failed

    def _outcome(self, victims: Units) -> Outcome:
        """What placing the gang without them comes to."""
        if victims not in self._outcomes:
            self._outcomes[victims] = self._placed_without(victims, self._trial)
        return self._outcomes[victims]

    def _placed_without(self, victims: Units, trial: Trial) -> Outcome:
        self._steps += len(self._facts.pending)
        outcome, _ = self._place(self._facts, self._without(victims, trial))
        return outcome

    def _without(self, victims: Units, trial: Trial) -> Trial:
        made = trial.fork()
        for unit in sorted(victims, key=self._number.__getitem__):
            for pod in unit.pods:
                made.lift(pod, pod.node)
        self._steps += sum(len(unit.pods) for unit in victims)
        return made
