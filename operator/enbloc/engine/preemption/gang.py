# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption for a gang: which units of lower priority let its whole deficit fit.

::

    all of lower priority gone ──► does it fit at all?          no: nobody is touched
    the lowest priorities that suffice, budgets kept if they can be
    place where victims matter least ──► bring back whoever leaves it placed
    look for victims that cost less, while steps are left

Where members must be together, each domain of the topology is priced, a few of the cheapest are
tried, and the victims that cost least are taken.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.engine.packing import gathering
from enbloc.engine.preemption.reprieve import brought_back
from enbloc.engine.preemption.units import (
    LOWEST,
    Cost,
    Preemption,
    Seats,
    Unit,
    beyond,
    cost,
    importance,
    seats_of,
)
from enbloc.engine.topology import required_domains
from enbloc.engine.trial import MOST_SLOTS, ClassKey, Opinion, Outcome, Trial, preferring
from enbloc.framework.facts import GroupFacts
from enbloc.model.budgets import Budgets
from enbloc.model.nodes import Mask
from enbloc.model.pods import Pod

#: So often the set of victims is sought anew because together they go beyond a budget.
_MOST_ROUNDS: Final = 3

#: So many rows for each member are emptied, of those that cost least, before all are.
_ROWS_A_MEMBER: Final = (1, 3, 9)

#: All domains of a topology are priced, and so many of the cheapest are tried.
_MOST_DOMAINS: Final = 8

#: Of more classes of members it is not asked where they could go.
_MOST_ASKED: Final = 8

#: Among more units no cheaper ones are looked for, nor another placement that needs fewer.
_MOST_COMPARED: Final = 256

#: Units whose costs, or pods whose requests, are added up in the time of moving a pod.
_COSTS_A_MOVE: Final = 16

#: Of the steps of a search for a placement, so many are as much work as moving a pod.
_STEPS_A_MOVE: Final = 2

Units = frozenset[Unit]
Numbers = npt.NDArray[np.int64]

#: Where only some rows are emptied, a placement is searched for with one part of so many of the
#: steps.
_PART: Final = 8

#: Tries to place a group's deficit, with one part of so many of the steps of a search; what it came
#: to, and the fork that holds the placement.
Placing = Callable[[GroupFacts, Trial, int], tuple[Outcome, Trial]]


def preempt_for_gang(
    facts: GroupFacts,
    trial: Trial,
    units: Sequence[Unit],
    budgets: Budgets,
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


#: No node refuses the members, and still they may not be placed.
RESERVED: Final = "too little would be free that is not reserved."


class _Search:
    def __init__(
        self,
        facts: GroupFacts,
        trial: Trial,
        units: Sequence[Unit],
        budgets: Budgets,
        place: Placing,
        limit: int,
    ) -> None:
        self._facts, self._trial = facts, trial
        self._units, self._budgets = units, budgets
        self._place, self._limit = place, limit
        #: The same set is tried in the same order: sets of objects have none of their own.
        self._number = {unit: number for number, unit in enumerate(units)}
        #: Who is where.
        self._on: dict[int, list[Unit]] = {}
        row_of = cache(trial.nodes.row)
        for unit in units:
            for name in dict.fromkeys([pod.node for pod in unit.pods]):
                row = row_of(name)
                if row is not None:
                    self._on.setdefault(row, []).append(unit)
        self._followers: dict[Unit, list[Unit]] = {}
        for unit in units:
            if unit.of is not None:
                self._followers.setdefault(unit.of, []).append(unit)
        self._seats: dict[Unit, Seats] = {}
        self._steps = 0
        #: What placing the gang without each set came to, of those that were tried.
        self._outcomes: dict[Units, Outcome] = {}

    def found(self) -> Preemption:
        best: tuple[Cost, Units] | None = None
        barred = frozenset[Unit]()
        if self._budgets:
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
        why = next((each.text() for each in diagnoses), RESERVED)
        return Preemption(message=f"preemption: {why}", steps=self._steps)

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
        began = self._steps
        # A minimum is barred if it is with all that goes with it.
        free = [unit for unit in self._units if barred.isdisjoint(self._closed((unit,)))]
        found = self._of_lowest_priority(free)
        if found is None and len(free) < len(self._units):
            found = self._of_lowest_priority(self._units)
        return None if found is None else self._reprieved(found, barred, began)

    def _of_lowest_priority(self, units: Sequence[Unit]) -> Units | None:
        """Victims among some units, of the lowest priorities that suffice."""
        levels = sorted({_level(unit) for unit in units})
        found = self._within(units) if units else None
        low, high = 0, len(levels) - 1
        while found is not None and low < high:
            middle = (low + high) // 2
            fewer = self._within([unit for unit in units if _level(unit) <= levels[middle]])
            if fewer is None:
                low = middle + 1
            else:
                found, high = fewer, middle
        return found

    def _within(self, units: Sequence[Unit]) -> Units | None:
        """Those of some units that must go from where the gang does best without them.

        Where few rows are enough, no others are emptied for it.
        """
        prices, some = self._prices(units), frozenset(units)
        able = self._able()
        order = sorted(prices, key=lambda row: (not able[row], prices[row], row))
        found: list[Units] = []
        for inside, rows in self._domains(order, some, able):
            victims = self._without_rows(rows, some, prices, inside)
            if victims is not None:
                found.append(victims)
                if self._steps >= self._limit:
                    break
        if found:
            return min(found, key=lambda victims: cost(victims, self._budgets))
        for share in _ROWS_A_MEMBER:
            rows = order[: share * self._facts.lacking]
            victims = self._without_rows(rows, some, prices)
            if victims is not None:
                return victims
            if len(rows) == len(order):
                break
        return self._narrowed(some, self._advice(prices))

    def _without_rows(
        self,
        rows: Sequence[int],
        some: Units,
        prices: Mapping[int, Cost],
        inside: Mask | None = None,
    ) -> Units | None:
        """As `_narrowed`, of those of some units that are on these rows; inside a domain."""
        return self._narrowed(self._there(rows, some), self._advice(prices, inside), _PART)

    def _there(self, rows: Iterable[int], some: Units) -> Units:
        """Those of some units that are on these rows, and who goes with them."""
        return self._closed(unit for row in rows for unit in self._on[row] if unit in some)

    def _narrowed(self, victims: Units, advice: Opinion, part: int = 1) -> Units | None:
        """Those of some victims that must go if the gang goes where it costs least."""
        outcome = self._placed_without(victims, self._trial.advised(advice), part)
        if outcome.failed:
            return None
        needed = {row for _, row in outcome.needed}
        fewer = self._closed(
            unit for row in needed for unit in self._on.get(row, ()) if unit in victims
        )
        if fewer != victims and self._suffices(fewer):
            return fewer
        # Advice decides where the ordered pass succeeds: it must do without as well.
        return victims if self._suffices(victims) else None

    def _prices(self, units: Iterable[Unit]) -> dict[int, Cost]:
        """What it costs to empty each row of some units."""
        some = frozenset(units)
        there = {row: [u for u in units if u in some] for row, units in self._on.items()}
        return {row: cost(units, self._budgets) for row, units in there.items() if units}

    def _advice(self, prices: Mapping[int, Cost], inside: Mask | None = None) -> Opinion:
        """The dearer it is to empty a row, the worse it is; outside of a domain the worst."""
        order = {price: place for place, price in enumerate(sorted(set(prices.values())), 1)}
        scores = np.full(len(self._trial.nodes), 100, np.int64)
        for row, price in prices.items():
            scores[row] = 100 - 99 * order[price] // (len(order) + 1)
        if inside is not None:
            scores[~inside] = 0
        return preferring("DefaultPreemption", scores)

    def _able(self) -> Mask:
        """bool[N]: rows that could do for some member once pods have left them."""
        nodes, classes = self._trial.nodes, dict[ClassKey, Pod]()
        for key, pod in zip(self._trial.keys(pending := self._facts.pending), pending, strict=True):
            classes.setdefault(key, pod)
        if len(classes) > _MOST_ASKED:
            return np.ones(len(nodes), np.bool_)
        able = np.zeros(len(nodes), np.bool_)
        for key, pod in classes.items():
            ranking = self._trial.ranking(pod, key)
            able |= ranking.mask | ranking.resolvable(nodes)
        return able

    def _domains(
        self, order: Sequence[int], some: Units, able: Mask
    ) -> Iterator[tuple[Mask, Sequence[int]]]:
        """The cheapest domains in one of which members must be together: the domain, its rows.

        Those go last that have no room for all members if their rows are emptied.

        Args:
            order: rows with some units, the cheapest first.
            some: these.
            able: bool[N], rows that could do for some member.
        """
        together = list(self._together())
        if not together:
            return
        room = self._room_without(some) * able
        others = room.copy()
        others[order] = 0
        for codes in together:
            rows: dict[int, list[int]] = {}
            for row in order:
                rows.setdefault(int(codes[row]), []).append(row)
            rows.pop(0, None)  # without the label
            free = np.bincount(codes, others)
            dear = {code: self._price(rows[code], some, room, free[code]) for code in rows}
            for code in sorted(rows, key=lambda code: (dear[code], code))[:_MOST_DOMAINS]:
                yield codes == code, rows[code]

    def _price(
        self, rows: Sequence[int], some: Units, room: Numbers, free: float
    ) -> tuple[bool, Cost]:
        """Whether all rows are too few, and what it costs to empty as many as are enough.

        Args:
            rows: of one domain, in the order in which they are emptied.
            some: who leaves them.
            room: int64[N], for how many members each row has room then.
            free: for so many there is room on other rows of the domain.
        """
        emptied: list[int] = []
        for row in rows:
            if free >= self._facts.lacking:
                break
            emptied.append(row)
            free += room[row]
        return free < self._facts.lacking, cost(self._there(emptied, some), self._budgets)

    def _room_without(self, some: Units) -> Numbers:
        """int64[N]: for how many members each row has room without some units.

        That is by requests alone, and as if each member requested the least that any does.
        """
        nodes, found = self._trial.nodes, np.full(len(self._trial.nodes), MOST_SLOTS, np.int64)
        specs = {id(pod.spec): pod.spec for pod in self._facts.pending}
        asked = [dict(spec.requests) for spec in specs.values()]
        seats = [(dict(pod.spec.requests), row) for u in some for pod, row in self._seats_of(u)]
        rows = np.array([row for _, row in seats], np.int64)
        self._steps += len(rows) // _COSTS_A_MOVE
        for name in asked[0]:
            least = min(each.get(name, 0) for each in asked)
            if least and nodes.allocatable(name).any():  # else devices may serve it
                room = nodes.free(name).copy()
                np.add.at(room, rows, [each.get(name, 0) for each, _ in seats])
                np.minimum(found, room // least, out=found)
        return np.maximum(found, 0)

    def _together(self) -> Iterator[npt.NDArray[np.integer]]:
        """int[N] each: the domains in one of which members must be; 0 = in none."""
        nodes, locality = self._trial.nodes, self._facts.locality
        for key in gathering(self._trial, self._facts.pending):
            yield nodes.domains(key) if key else np.arange(1, len(nodes) + 1)
        required = required_domains(locality, nodes) if locality is not None else None
        if required is not None:
            yield required

    def _reprieved(self, victims: Units, barred: Units, began: int) -> Units:
        """Without whoever need not go: those beyond a budget first, then the most important.

        Args:
            victims: they suffice.
            barred: those beyond a budget.
            began: the steps that were taken before these victims were sought.
        """
        order = sorted(
            victims, key=lambda unit: (unit not in barred, unit.of is not None, unit.importance)
        )
        outcome, placed = self._outcome(victims), self._without(victims, self._trial)
        placed.add_all(outcome.needed)
        fewer = brought_back(order, self._seats_of, outcome.needed, placed)
        self._limit += self._steps - began  # so far it was needed
        if fewer is not None and self._suffices(fewer):  # it knows of rows alone
            victims = fewer
            if len(self._units) > _MOST_COMPARED:
                return victims
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
        """Take cheaper victims, while there are some and steps are left."""
        while len(self._units) <= _MOST_COMPARED:
            cheaper = self._cheaper(price, victims)
            if cheaper is None:
                break
            victims = self._without_needless(sorted(cheaper, key=importance), cheaper)
            price = cost(victims, self._budgets)
        return victims

    def _cheaper(self, price: Cost, victims: Units) -> Units | None:
        """Units that suffice and cost less; None = none were found.

        Each unit is chosen or not, the victims first. Where even all that could be chosen beside
        some do not suffice, no choice among them does.
        """
        order = sorted(self._units, key=importance, reverse=True)
        order.sort(key=lambda unit: unit not in victims)
        stack = [(Units(), order)]
        while stack and self._steps < self._limit:
            chosen, left = stack.pop()
            self._steps += 1 + len(left) * (1 + len(chosen)) // _COSTS_A_MOVE
            left = [unit for unit in left if self._cost_with(chosen, unit) < price]
            most = self._closed((*chosen, *left))
            if not self._suffices(most):
                continue
            if cost(most, self._budgets) < price:
                return most
            if left:
                stack.append((chosen, left[1:]))
                stack.append((self._closed((*chosen, left[0])), left[1:]))
        return None

    def _cost_with(self, chosen: Units, unit: Unit) -> Cost:
        return cost(self._closed((*chosen, unit)), self._budgets)

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

    def _placed_without(self, victims: Units, trial: Trial, part: int = 1) -> Outcome:
        outcome, _ = self._place(self._facts, self._without(victims, trial), part)
        self._steps += len(self._facts.pending) + outcome.steps // _STEPS_A_MOVE
        return outcome

    def _without(self, victims: Units, trial: Trial) -> Trial:
        made = trial.fork()
        for unit in sorted(victims, key=self._number.__getitem__):
            made.remove_all(self._seats_of(unit))
            self._steps += len(unit.pods)
        return made

    def _seats_of(self, unit: Unit) -> Seats:
        seats = self._seats.get(unit)
        if seats is None:
            seats = self._seats[unit] = seats_of(unit, self._trial.nodes)
        return seats


def _level(unit: Unit) -> int:
    """Its priority; who leaves soon in any case has none to speak of."""
    return LOWEST if unit.soon else unit.priority
