# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption for a gang: which units of lower priority let its whole deficit fit.

::

    all of lower priority gone ──► does it fit at all?          no: nothing is evicted
    the lowest priorities that suffice, within budgets if possible
    place where victims matter least ──► bring back those that the placement does not need gone
    look for cheaper victims, while steps are left

If members must be together, price each domain of the topology, try a few of the cheapest, and take
the victims with the lowest cost.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.engine.packing import together
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

#: The most times that victims are sought anew because together they exceed a budget.
_MOST_ROUNDS: Final = 3

#: The number of rows per member, the cheapest, that are emptied before all are.
_ROWS_A_MEMBER: Final = (1, 3, 9)

#: All domains of a topology are priced, and this many of the cheapest are tried.
_MOST_DOMAINS: Final = 8

#: With more classes of members, where they could go is not determined.
_MOST_ASKED: Final = 8

#: With more units, neither cheaper ones nor a placement that needs fewer are sought.
_MOST_COMPARED: Final = 256

#: The number of units or pods whose costs or requests are summed up in the time of moving a pod.
_COSTS_A_MOVE: Final = 16

#: The number of steps of a search for a placement that are as much work as moving a pod.
_STEPS_A_MOVE: Final = 2

Units = frozenset[Unit]
Numbers = npt.NDArray[np.int64]

#: If only some rows are emptied, the steps of a search for a placement are divided by this.
_PART: Final = 8

#: Tries to place a group's deficit, with the steps of a search divided by a number; returns the
#: outcome, and the fork that holds the placement.
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
        facts: the gang, which fits nowhere.
        trial: the cluster as the gang may see it.
        units: all of lower priority.
        budgets: every PodDisruptionBudget.
        place: tries to place it.
        limit: the most members placed and pods moved, beyond those for proof and a first answer.

    Raises:
        PluginError: a plugin failed.
    """
    return _Search(facts, trial, units, budgets, place, limit).found()


#: No node refuses the members, and yet they may not be placed.
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
        #: The order in which the units of a set are tried: sets of objects have no stable order.
        self._number = {unit: number for number, unit in enumerate(units)}
        #: By row, the units that have pods there.
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
        #: By set of victims that was tried, the result of placing the gang without them.
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
        """Return that it fits nowhere even if all are gone."""
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
        """Return victims that suffice, of the lowest priorities that do; barred ones if needed.

        None = the gang fits nowhere even if all are gone.
        """
        began = self._steps
        # A minimum is barred if it is so together with all that goes with it.
        free = [unit for unit in self._units if barred.isdisjoint(self._closed((unit,)))]
        found = self._of_lowest_priority(free)
        if found is None and len(free) < len(self._units):
            found = self._of_lowest_priority(self._units)
        return None if found is None else self._reprieved(found, barred, began)

    def _of_lowest_priority(self, units: Sequence[Unit]) -> Units | None:
        """Return victims among some units, of the lowest priorities that suffice."""
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
        """Return those of some units that must go from where the gang does best without them.

        If few rows suffice, no others are emptied.
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
        """Return what `_narrowed` does, for the units on these rows; inside a domain."""
        return self._narrowed(self._there(rows, some), self._advice(prices, inside), _PART)

    def _there(self, rows: Iterable[int], some: Units) -> Units:
        """Return those of some units that are on these rows, and those that go with them."""
        return self._closed(unit for row in rows for unit in self._on[row] if unit in some)

    def _narrowed(self, victims: Units, advice: Opinion, part: int = 1) -> Units | None:
        """Return the victims that must go if the gang goes where it costs least; None = no fit."""
        outcome = self._placed_without(victims, self._trial.advised(advice), part)
        if outcome.failed:
            return None
        needed = {row for _, row in outcome.needed}
        fewer = self._closed(
            unit for row in needed for unit in self._on.get(row, ()) if unit in victims
        )
        if fewer != victims and self._suffices(fewer):
            return fewer
        # Advice decides where the ordered pass succeeds; it must also succeed without.
        return victims if self._suffices(victims) else None

    def _prices(self, units: Iterable[Unit]) -> dict[int, Cost]:
        """Return the cost of emptying each row of some units."""
        some = frozenset(units)
        there = {row: [u for u in units if u in some] for row, units in self._on.items()}
        return {row: cost(units, self._budgets) for row, units in there.items() if units}

    def _advice(self, prices: Mapping[int, Cost], inside: Mask | None = None) -> Opinion:
        """Prefer rows that are cheaper to empty; rows outside of a domain are the worst."""
        order = {price: place for place, price in enumerate(sorted(set(prices.values())), 1)}
        scores = np.full(len(self._trial.nodes), 100, np.int64)
        for row, price in prices.items():
            scores[row] = 100 - 99 * order[price] // (len(order) + 1)
        if inside is not None:
            scores[~inside] = 0
        return preferring("DefaultPreemption", scores)

    def _able(self) -> Mask:
        """Return bool[N]: rows that may suit some member once pods have left them."""
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
        """Yield the cheapest domains in one of which members must be together, with their rows.

        Domains without room for all members even when emptied come last.

        Args:
            order: rows with some units, the cheapest first.
            some: these units.
            able: bool[N], rows that may suit some member.
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
            rows.pop(0, None)  # nodes without the label
            free = np.bincount(codes, others)
            dear = {code: self._price(rows[code], some, room, free[code]) for code in rows}
            for code in sorted(rows, key=lambda code: (dear[code], code))[:_MOST_DOMAINS]:
                yield codes == code, rows[code]

    def _price(
        self, rows: Sequence[int], some: Units, room: Numbers, free: float
    ) -> tuple[bool, Cost]:
        """Return whether all rows are too few, and the cost of emptying as many as are enough.

        Args:
            rows: of one domain, in the order in which they are emptied.
            some: the units that leave them.
            room: int64[N], for how many members each row then has room.
            free: for how many members there is room on other rows of the domain.
        """
        emptied: list[int] = []
        for row in rows:
            if free >= self._facts.lacking:
                break
            emptied.append(row)
            free += room[row]
        return free < self._facts.lacking, cost(self._there(emptied, some), self._budgets)

    def _room_without(self, some: Units) -> Numbers:
        """Return int64[N]: for how many members each row has room without some units.

        It considers requests alone, and takes for each member the lowest request of any.
        """
        nodes, found = self._trial.nodes, np.full(len(self._trial.nodes), MOST_SLOTS, np.int64)
        specs = {id(pod.spec): pod.spec for pod in self._facts.pending}
        asked = [dict(spec.requests) for spec in specs.values()]
        seats = [(dict(pod.spec.requests), row) for u in some for pod, row in self._seats_of(u)]
        rows = np.array([row for _, row in seats], np.int64)
        self._steps += len(rows) // _COSTS_A_MOVE
        for name in asked[0]:
            least = min(each.get(name, 0) for each in asked)
            if least and nodes.allocatable(name).any():  # otherwise devices may serve it
                room = nodes.free(name).copy()
                np.add.at(room, rows, [each.get(name, 0) for each, _ in seats])
                np.minimum(found, room // least, out=found)
        return np.maximum(found, 0)

    def _together(self) -> Iterator[npt.NDArray[np.integer]]:
        """Yield int[N]: the domains in one of which members must be together; 0 = in none."""
        nodes, locality = self._trial.nodes, self._facts.locality
        trial, pending = self._trial, self._facts.pending
        kinds = {trial.key(pod): pod for pod in reversed(pending)}
        for each in together(trial, list(kinds.values()), ever=True):
            yield each.domains
        required = required_domains(locality, nodes) if locality is not None else None
        if required is not None:
            yield required

    def _reprieved(self, victims: Units, barred: Units, began: int) -> Units:
        """Bring back victims that need not go: those beyond a budget, then the most important.

        Args:
            victims: a set that suffices.
            barred: those beyond a budget.
            began: the steps that were taken before these victims were sought.
        """
        order = sorted(
            victims, key=lambda unit: (unit not in barred, unit.of is not None, unit.importance)
        )
        outcome, placed = self._outcome(victims), self._without(victims, self._trial)
        placed.add_all(outcome.needed)
        fewer = brought_back(order, self._seats_of, outcome.needed, placed)
        self._limit += self._steps - began  # these steps were necessary
        if fewer is not None and self._suffices(fewer):  # `brought_back` considers rows alone
            victims = fewer
            if len(self._units) > _MOST_COMPARED:
                return victims
        return self._without_needless([unit for unit in order if unit in victims], victims)

    def _without_needless(self, some: Sequence[Unit], victims: Units) -> Units:
        """Bring back as many of some units as possible, all at once if that works."""
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
        """Replace victims by cheaper ones, while there are some and steps are left."""
        while len(self._units) <= _MOST_COMPARED:
            cheaper = self._cheaper(price, victims)
            if cheaper is None:
                break
            victims = self._without_needless(sorted(cheaper, key=importance), cheaper)
            price = cost(victims, self._budgets)
        return victims

    def _cheaper(self, price: Cost, victims: Units) -> Units | None:
        """Return units that suffice and cost less; None = none were found.

        Each unit is chosen or not, the victims first. If a partial choice does not suffice with all
        units that are left, no extension of it does.
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
        """Add to each gang's minimum the rest of the gang."""
        found = frozenset(units)
        if not self._followers:
            return found
        return found.union(*(self._followers.get(unit, ()) for unit in found))

    def _beyond(self, units: Iterable[Unit]) -> Units:
        return frozenset(beyond(units, self._budgets))

    def _suffices(self, victims: Units) -> bool:
        return not self._outcome(victims).failed

    def _outcome(self, victims: Units) -> Outcome:
        """Return the result of placing the gang without these victims."""
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
    """Return its priority; the lowest for a unit that leaves soon anyway."""
    return LOWEST if unit.soon else unit.priority
