# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Selectors: which devices of a pool an expression selects, asked once and remembered."""

from typing import TYPE_CHECKING, Final, NamedTuple

from enbloc.devices.effort import COMPILING, MOST_ANSWERS, QUESTION, UNSEEN, Effort
from enbloc.devices.pools import Bits, Pool, positions

if TYPE_CHECKING:
    from enbloc.devices.programs import Program

#: So many expressions are kept compiled, of so many characters, as many as one claim can have at
#: most: each takes some fifty bytes. Of each pool so many answers, and of one that has more devices
#: than a program remembers.
_MOST_PROGRAMS: Final = 32 * 32 * 8
_MOST_CHARACTERS: Final = 3 * 2**19
_MOST_OF_POOL: Final = 64
_MOST_OF_LARGE: Final = 1024

#: What went wrong, each with the devices that it went wrong with.
Faults = tuple[tuple[str, Bits], ...]


class Selection(NamedTuple):
    """What an expression says of a pool.

    Attributes:
        matched: the devices that it selects.
        faults: what went wrong with which of those that it has no answer for.
        rest: devices that it has not been asked about, for lack of effort.
    """

    matched: Bits
    faults: Faults = ()
    rest: Bits = 0


class Selectors:
    """Expressions, compiled and asked once."""

    def __init__(self) -> None:
        self.effort = Effort()
        self._programs: dict[str, Program | str] = {}
        self._characters = 0

    def fault(self, expression: str) -> str:
        """Why an expression cannot be used at all; "" = it can."""
        program = self._program(expression)
        return program if isinstance(program, str) else ""

    def reads(self, expression: str) -> frozenset[str] | None:
        """The attributes and capacities that an expression can read; None = any."""
        program = self._program(expression)
        return frozenset() if isinstance(program, str) else program.reads

    def select(self, expression: str, pool: Pool, among: Bits) -> Selection:
        """Which of some devices of a pool the expression selects.

        Where the effort does not suffice for all of them, the next decision goes on from there.
        """
        key = expression, among
        known = pool.selected.get(key) or Selection(0, rest=among)
        if known.rest:
            known = self._asked(expression, pool, known)
            pool.selected.pop(key, None)
            small = len(pool.devices) <= MOST_ANSWERS  # it is asked again at no cost
            if len(pool.selected) >= (_MOST_OF_POOL if small else _MOST_OF_LARGE):
                del pool.selected[next(iter(pool.selected))]
            pool.selected[key] = known
        return Selection(0, ((UNSEEN, among),)) if known.rest else known

    def _asked(self, expression: str, pool: Pool, begun: Selection) -> Selection:
        """What it says of the rest as well, as far as the effort goes."""
        matched, rest, faults = begun.matched, begun.rest, dict(begun.faults)
        program = self._program(expression)
        if isinstance(program, str):
            return Selection(matched, ((program, rest),))
        for traits, alike in pool.groups:
            reading = program.reading(pool.key[0], traits)
            for position in positions(alike & rest):
                if self.effort.spent:
                    return Selection(matched, tuple(faults.items()), rest)
                answer, bit = program.ask(reading, pool.devices[position]), 1 << position
                rest ^= bit
                if answer is True:
                    matched |= bit
                elif answer is not False:
                    faults[answer] = faults.get(answer, 0) | bit
        return Selection(matched, tuple(faults.items()))

    def _program(self, expression: str) -> "Program | str":
        known = self._programs.get(expression)
        if known is None:
            self.effort.ask(QUESTION + COMPILING * len(expression))
            # Imported here: CEL takes 20 ms, and few clusters have a selector.
            from enbloc.devices import programs  # noqa: PLC0415

            known = programs.program(expression, self.effort)
            self._characters += len(expression)
            self._programs[expression] = known
            while len(self._programs) > _MOST_PROGRAMS or self._characters > _MOST_CHARACTERS:
                oldest = next(iter(self._programs))
                self._characters -= len(oldest)
                del self._programs[oldest]
        return known
