# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Selectors: which devices of a pool an expression selects, asked once and remembered."""

from typing import TYPE_CHECKING, Final, NamedTuple

from enbloc.model.devices.compilers import Compiler
from enbloc.model.devices.effort import COMPILING, QUESTION, UNSEEN, Effort
from enbloc.model.devices.pools import Bits, Pool, positions

if TYPE_CHECKING:
    from enbloc.model.devices.programs import Program

#: So many expressions are kept compiled, of so many characters, as many as one claim can have at
#: most: each takes some fifty bytes. Of each pool so many answers.
_MOST_PROGRAMS: Final = 32 * 32 * 8
_MOST_CHARACTERS: Final = 3 * 2**19
_MOST_OF_POOL: Final = 64

#: What went wrong, each with the devices that it went wrong with.
Faults = tuple[tuple[str, Bits], ...]


class Selection(NamedTuple):
    """What an expression says of a pool.

    Attributes:
        matched: the devices that it selects.
        faults: what went wrong with which of those that it has no answer for.
    """

    matched: Bits
    faults: Faults = ()


class Selectors:
    """Expressions, compiled and asked once.

    Args:
        compiler: of the expressions; None = that of CEL.
    """

    def __init__(self, compiler: Compiler | None = None) -> None:
        self._compiler = compiler
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
        """Which of some devices of a pool the expression selects."""
        key = expression, among
        known: Selection | None = pool.selected.get(key)
        if known is None:
            if len(pool.selected) >= _MOST_OF_POOL:
                pool.selected.clear()
            known = self._select(expression, pool, among)
            if not self.effort.spent:
                pool.selected[key] = known
        return known

    def _select(self, expression: str, pool: Pool, among: Bits) -> Selection:
        program = self._program(expression)
        if isinstance(program, str):
            return Selection(0, ((program, among),))
        matched, faults = 0, dict[str, Bits]()
        for traits, alike in pool.groups:
            reading = program.reading(pool.key[0], traits)
            for position in positions(alike & among):
                if self.effort.spent:
                    return Selection(0, ((UNSEEN, among),))
                answer = program.ask(reading, pool.devices[position])
                if answer is True:
                    matched |= 1 << position
                elif answer is not False:
                    faults[answer] = faults.get(answer, 0) | 1 << position
        return Selection(matched, tuple(faults.items()))

    def _program(self, expression: str) -> "Program | str":
        known = self._programs.get(expression)
        if known is None:
            self.effort.ask(QUESTION + COMPILING * len(expression))
            # Imported here: CEL takes 20 ms, and few clusters have a selector.
            from enbloc.model.devices import programs  # noqa: PLC0415

            known = programs.program(expression, self._compiler, self.effort)
            self._characters += len(expression)
            self._programs[expression] = known
            while len(self._programs) > _MOST_PROGRAMS or self._characters > _MOST_CHARACTERS:
                oldest = next(iter(self._programs))
                self._characters -= len(oldest)
                del self._programs[oldest]
        return known
