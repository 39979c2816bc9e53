# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Selectors: which devices of a pool an expression selects, evaluated once and cached."""

from typing import TYPE_CHECKING, Final, NamedTuple

from enbloc.devices.effort import COMPILING, MOST_ANSWERS, QUESTION, UNSEEN, DeviceEffort
from enbloc.devices.pools import Bits, Pool, positions

if TYPE_CHECKING:
    from enbloc.devices.programs import DeviceProgram

#: How many compiled expressions are kept, and how many characters of them: as many as one claim can
#: have; a character takes some fifty bytes. How many answers are kept per pool, and per pool with
#: more devices than a program caches answers for.
_MOST_PROGRAMS: Final = 32 * 32 * 8
_MOST_CHARACTERS: Final = 3 * 2**19
_MOST_OF_POOL: Final = 64
_MOST_OF_LARGE: Final = 1024

#: Errors, each with the devices that it concerns.
Faults = tuple[tuple[str, Bits], ...]


class Selection(NamedTuple):
    """The answers of an expression for a pool.

    Attributes:
        matched: the devices that it selects.
        faults: the errors of devices for which it has no answer.
        rest: devices for which it was not evaluated, for lack of effort.
    """

    matched: Bits
    faults: Faults = ()
    rest: Bits = 0


class Selectors:
    """Expressions, compiled and evaluated once."""

    def __init__(self) -> None:
        self.effort = DeviceEffort()
        self._programs: dict[str, DeviceProgram | str] = {}
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

        If the effort does not suffice for all of them, the next decision continues from there.
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
        """The selection, extended to the rest as far as the effort allows."""
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

    def _program(self, expression: str) -> "DeviceProgram | str":
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
