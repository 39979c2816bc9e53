# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""ClassSearch: a complete search for an answer to a packing, over kinds and identical rows.

::

    kind with the fewest places to spare ──► row where it costs the others least ──► one member
           ▲                                                                            │
           └───── dead end: the last choice and all rows like it are barred ◄───────────┘

After too many dead ends it restarts, with more weight on the kinds that failed. Each restart may
take twice as many, so that in the end everything is tried. A step is one row that changes; it is
charged before it is made.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from enbloc.engine.packing.model import Counts, Packing
from enbloc.engine.packing.states import States

#: Dead ends before the first restart.
_FIRST_LIMIT: Final = 32

#: Steps that a choice and a new state cost beyond the rows that change; a step is about 5 µs.
_CHOOSING: Final = 8

#: How many numbers can be tabulated in one step.
_NUMBERS: Final = 300


class _Undo(NamedTuple):
    """A row's state before a change, and the kind of the member put there, or −1."""

    row: int
    state: int
    kind: int


class _SpentError(Exception):
    """The next change would cost more than is left."""


class ClassSearch:
    """One search.

    Attributes:
        steps: spent so far.
        exhausted: everything was tried.

    Args:
        packing: the problem.
        budget: how many steps it may take.
    """

    def __init__(self, packing: Packing, budget: int) -> None:
        self.steps = 0
        self.exhausted = False
        self._packing = packing
        self._budget = budget
        kinds, rows = packing.places.shape
        self._tabulating = _CHOOSING + packing.requests.size * kinds // _NUMBERS
        first = _CHOOSING + rows * packing.requests.size * kinds // _NUMBERS
        self._over = first > budget
        if self._over:
            return
        self.steps = first
        self._states = States(packing, lambda: self._charge(self._tabulating))
        self._state = self._states.first.copy()
        self._places = self._states.places[self._state].T.copy()
        self._sums = self._places.sum(axis=1)
        self._left = np.array(packing.counts, np.int64)
        self._needs = [need.members for need in packing.needs]
        self._within = np.zeros((len(packing.needs), kinds), np.bool_)
        for index, need in enumerate(packing.needs):
            self._within[index, list(need.kinds)] = True
        self._weights = np.ones(kinds)
        self._counts: Counts = np.zeros(self._places.shape, np.int64)
        self._trail: list[_Undo] = []
        self._wide = [
            (each, [np.flatnonzero(each.domains == d) for d in range(each.domains.max() + 1)])
            for each in packing.apart
            if len(each.domains) and np.bincount(each.domains)[1:].max(initial=0) > 1
        ]

    def answers(self) -> Iterator[Counts]:
        """Yield answers, each as int64[C, M]; asking for another one rejects the last."""
        limit = _FIRST_LIMIT
        while not self._over and not self.exhausted:
            try:
                yield from self._attempt(limit)
                self._undo(0)
            except _SpentError:
                self._over = True
            limit *= 2

    def charge(self, steps: int) -> bool:
        """Take steps off the budget; return whether so many were left."""
        if self.steps + steps > self._budget:
            return False
        self.steps += steps
        return True

    def _charge(self, steps: int) -> None:
        if not self.charge(steps):
            raise _SpentError

    def _attempt(self, limit: int) -> Iterator[Counts]:
        """Search from the beginning, up to so many dead ends."""
        choices: list[tuple[int, int, int]] = []
        while True:
            self._charge(_CHOOSING)
            spare = self._spare()
            if spare is not None and max(self._needs) > 0:
                kind = self._kind(spare)
                row = self._row(kind, spare)
                choices.append((len(self._trail), kind, row))
                self._put(kind, row)
                continue
            if spare is not None:
                yield self._counts.copy()
            limit -= 1
            if limit < 0:
                return
            if not choices:
                self.exhausted = True
                return
            mark, kind, row = choices.pop()
            self._undo(mark)
            self._bar(kind, row)

    # ── bounds ───────────────────────────────────────────────────────────────────────────────

    def _spare(self) -> npt.NDArray[np.int64] | None:
        """Return int64[2, C]: members that each kind must still place, and its spare places.

        None = a dead end.
        """
        able = np.minimum(self._left, self._sums)
        must = np.zeros(len(able), np.int64)
        for need, within in zip(self._needs, self._within, strict=True):
            if need > 0:
                slack = int(able[within].sum()) - need
                if slack < 0:
                    self._weights[within & (self._sums < self._left)] += 1
                    return None
                np.maximum(must, able - slack, out=must, where=within)
        return np.stack((must, self._sums - must))

    def _kind(self, spare: npt.NDArray[np.int64]) -> int:
        """Return the kind to place next: the one with the fewest spare places per member."""
        must, beyond = spare
        helps = np.zeros(len(must), np.bool_)
        total, *roles = (max(0, need) for need in self._needs)
        for need, within in zip((total - sum(roles), *roles), self._within, strict=True):
            if need > 0:
                helps |= within
        helps &= (self._left > 0) & (self._sums > 0)
        urgency = (must + 0.01) * self._weights / (beyond + 1.0)
        return int(np.where(helps, urgency, -1.0).argmax())

    def _row(self, kind: int, spare: npt.NDArray[np.int64]) -> int:
        """Return the row where a member of the kind costs the others the fewest places."""
        must, beyond = spare
        worth = self._weights * (must > 0) / (beyond + 1.0)
        cost = self._states.loss[self._state, kind] @ worth + self._states.size[self._state]
        return int(np.where(self._places[kind] > 0, cost, np.inf).argmin())

    # ── changes ──────────────────────────────────────────────────────────────────────────────

    def _put(self, kind: int, row: int) -> None:
        """Place one member."""
        self._change(row, self._states.after(int(self._state[row]), kind), kind)
        self._count(kind, row, 1)
        for apart, members in self._wide:
            domain = int(apart.domains[row])
            if domain and apart.pairs[kind].any():
                for other in members[domain].tolist():
                    barred = self._states.barred(int(self._state[other]), apart.pairs[kind])
                    self._change(other, barred, -1)

    def _bar(self, kind: int, row: int) -> None:
        """Bar more members of a kind from a row and from identical rows."""
        alike = self._state == self._state[row]
        for apart, _ in self._wide:
            alike &= apart.domains == apart.domains[row]
        only = np.zeros(len(self._left), np.bool_)
        only[kind] = True
        state = self._states.barred(int(self._state[row]), only)
        for other in np.flatnonzero(alike).tolist():
            self._change(other, state, -1)

    def _change(self, row: int, state: int, kind: int) -> None:
        before = int(self._state[row])
        self._write(row, state)
        self._trail.append(_Undo(row, before, kind))

    def _write(self, row: int, state: int) -> None:
        self._charge(1)
        self._state[row] = state
        places = self._states.places[state]
        self._sums += places - self._places[:, row]
        self._places[:, row] = places

    def _count(self, kind: int, row: int, sign: int) -> None:
        self._counts[kind, row] += sign
        self._left[kind] -= sign
        for index, within in enumerate(self._within):
            if within[kind]:
                self._needs[index] -= sign

    def _undo(self, mark: int) -> None:
        while len(self._trail) > mark:
            row, state, kind = self._trail.pop()
            self._write(row, state)
            if kind >= 0:
                self._count(kind, row, -1)
