# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Selectors: which devices of a pool an expression selects, asked once and remembered."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple, Protocol

from enbloc.model import cel
from enbloc.model.devices.effort import QUESTION, UNSEEN, Effort
from enbloc.model.devices.facts import AttributeValue, Capacity, Device, Traits, Version
from enbloc.model.devices.pools import Bits, Pool
from enbloc.model.quantity import NANO

#: So many expressions are kept compiled, of each so many answers, and of each pool so many.
_MOST_PROGRAMS: Final = 512
_MOST_ANSWERS: Final = 4096
_MOST_OF_POOL: Final = 64


Named = tuple[str, AttributeValue]
#: What went wrong, each with the devices that it went wrong with.
Faults = tuple[tuple[str, Bits], ...]


class Fault(Protocol):
    """Why an expression cannot be compiled, or has no answer for a device."""

    @property
    def text(self) -> str:
        """For people."""
        ...


class DeviceSelector(Protocol):
    """A compiled expression."""

    def matches(self, device: cel.DeviceView) -> "bool | Fault":
        """Whether it selects a device."""
        ...


Compiler = Callable[[str], DeviceSelector | Fault]


class Selection(NamedTuple):
    """What an expression says of a pool.

    Attributes:
        matched: the devices that it selects.
        faults: what went wrong with which of those that it has no answer for.
    """

    matched: Bits
    faults: Faults = ()


@dataclass(slots=True)
class _Program:
    """A compiled expression with answers that it gave, for devices that say the same.

    Attributes:
        reads: the only names that it can read; None = any.
    """

    selector: DeviceSelector
    reads: frozenset[str] | None
    effort: Effort
    plans: dict[tuple[str, int], "_Plan"] = field(default_factory=dict[tuple[str, int], "_Plan"])
    answers: dict[object, bool | str] = field(default_factory=dict[object, bool | str])

    def ask(self, driver: str, device: Device) -> bool | str:
        """Whether it selects the device; a text says why there is no answer."""
        traits = device.traits
        asked = driver, id(traits)
        plan = self.plans.get(asked)
        if plan is None or plan.traits is not traits:
            if len(self.plans) >= _MOST_ANSWERS:
                self.plans.clear()
            plan = self.plans[asked] = _plan(driver, traits, self.reads)
        values = [device.values[place] for place in plan.places]
        key = driver, plan.names, plan.capacity, traits.shared, *values, *map(type, values)
        known = self.answers.get(key)
        if known is None:
            if len(self.answers) >= _MOST_ANSWERS:
                self.answers.clear()
            pairs = tuple(zip(plan.names, values, strict=True))
            known = self.answers[key] = self._answer(driver, pairs, plan.capacity, device)
        return known

    def _answer(
        self,
        driver: str,
        values: tuple[Named, ...],
        capacity: tuple[Capacity, ...],
        device: Device,
    ) -> bool | str:
        try:
            view = _view(driver, values, capacity, device.traits.shared)
        except ValueError as error:
            return f"parse semantic version: {error}"
        answer = self._matches(view)
        return answer if isinstance(answer, bool) else answer.text

    def _matches(self, view: cel.DeviceView) -> bool | Fault:
        self.effort.spend(QUESTION)
        if not isinstance(self.selector, cel.Program):
            return self.selector.matches(view)
        outcome = self.selector.evaluate(view)
        self.effort.spend(outcome.cost // 2)
        return outcome.answer


class _Plan(NamedTuple):
    """What an expression reads of devices with these traits.

    Attributes:
        places: of the values.
        names: of them.
    """

    traits: Traits
    places: tuple[int, ...]
    names: tuple[str, ...]
    capacity: tuple[Capacity, ...]


def _plan(driver: str, traits: Traits, reads: frozenset[str] | None) -> _Plan:
    places = tuple(
        place for place, name in enumerate(traits.names) if reads is None or name in reads
    )
    capacity = tuple(
        each for each in traits.capacity if reads is None or _qualified(each.name, driver) in reads
    )
    return _Plan(traits, places, tuple(traits.names[place] for place in places), capacity)


def _qualified(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _view(
    driver: str,
    values: tuple[Named, ...],
    capacity: tuple[Capacity, ...],
    shared: bool | None,
) -> cel.DeviceView:
    return cel.DeviceView(
        driver,
        {name: _attribute(value) for name, value in values},
        {
            _qualified(each.name, driver): (
                each.value // NANO if each.value % NANO == 0 else Fraction(each.value, NANO)
            )
            for each in capacity
        },
        shared,
    )


def _attribute(value: AttributeValue) -> bool | int | str | cel.Version | tuple[bool, ...]:
    """Raises ValueError for a version that is none."""
    if isinstance(value, Version):
        return cel.Version.parse(value.text)
    if isinstance(value, tuple):
        return tuple(_attribute(each) for each in value)  # type: ignore[misc]
    return value


class Selectors:
    """Expressions, compiled and asked once."""

    def __init__(self, compiler: Compiler = cel.compile) -> None:
        self._compile = compiler
        self.effort = Effort()
        self._programs: dict[str, _Program | str] = {}

    def fault(self, expression: str) -> str:
        """Why an expression cannot be used at all; "" = it can."""
        program = self._program(expression)
        return program if isinstance(program, str) else ""

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
        matched, faults, left = 0, dict[str, Bits](), among
        while left:
            if self.effort.spent:
                return Selection(0, ((UNSEEN, among),))
            low = left & -left
            left ^= low
            answer = program.ask(pool.key[0], pool.devices[low.bit_length() - 1])
            if answer is True:
                matched |= low
            elif answer is not False:
                faults[answer] = faults.get(answer, 0) | low
        return Selection(matched, tuple(faults.items()))

    def _program(self, expression: str) -> _Program | str:
        known = self._programs.get(expression)
        if known is None:
            made = self._compile(expression)
            if getattr(made, "matches", None) is not None:
                names = cel.reads(expression)
                known = _Program(made, names, self.effort)  # type: ignore[arg-type]
            else:
                known = made.text  # type: ignore[union-attr]
            if len(self._programs) >= _MOST_PROGRAMS:
                self._programs.clear()
            self._programs[expression] = known
        return known
