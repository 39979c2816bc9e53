# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Programs: compiled expressions of device selectors, with cached answers."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from enbloc import cel
from enbloc.devices.effort import MOST_ANSWERS, QUESTION, DeviceEffort
from enbloc.devices.facts import AttributeValue, Device, DeviceCapacity, Traits, Version, typed
from enbloc.model.quantity import NANO

Named = tuple[str, AttributeValue]


class ExpressionReads(NamedTuple):
    """What an expression reads of some devices.

    Attributes:
        places: the places of the values.
        names: the names of the values.
    """

    driver: str
    places: tuple[int, ...]
    names: tuple[str, ...]
    capacity: tuple[DeviceCapacity, ...]


@dataclass(slots=True)
class DeviceProgram:
    """A compiled expression, with cached answers for devices with equal contents.

    Attributes:
        reads: the only names that it can read; None = any.
    """

    selector: cel.Program
    reads: frozenset[str] | None
    effort: DeviceEffort
    answers: dict[object, bool | str] = field(default_factory=dict[object, bool | str])

    def reading(self, driver: str, traits: Traits) -> ExpressionReads:
        """What it reads of a driver's devices that have these traits."""
        return _reading(driver, traits, self.reads)

    def ask(self, reading: ExpressionReads, device: Device) -> bool | str:
        """Whether it selects the device; a text = why there is no answer."""
        driver, places, names, capacity = reading
        values = [device.values[place] for place in places]
        key = driver, names, capacity, device.traits.shared, *map(typed, values)
        known = self.answers.get(key)
        if known is None:
            if len(self.answers) >= MOST_ANSWERS:
                self.answers.clear()
            pairs = tuple(zip(names, values, strict=True))
            known = self.answers[key] = self._answer(driver, pairs, capacity, device)
        return known

    def _answer(
        self,
        driver: str,
        values: tuple[Named, ...],
        capacity: tuple[DeviceCapacity, ...],
        device: Device,
    ) -> bool | str:
        try:
            view = _view(driver, values, capacity, device.traits.shared)
        except ValueError as error:
            return f"parse semantic version: {error}"
        outcome = self.selector.evaluate(view)
        self.effort.ask(QUESTION + outcome.took)
        return outcome.answer if isinstance(outcome.answer, bool) else outcome.answer.text


def _reading(driver: str, traits: Traits, reads: frozenset[str] | None) -> ExpressionReads:
    places = tuple(
        place for place, name in enumerate(traits.names) if reads is None or name in reads
    )
    capacity = tuple(
        each for each in traits.capacity if reads is None or _qualified(each.name, driver) in reads
    )
    return ExpressionReads(driver, places, tuple(traits.names[place] for place in places), capacity)


def _qualified(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _view(
    driver: str,
    values: tuple[Named, ...],
    capacity: tuple[DeviceCapacity, ...],
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


def _attribute(value: AttributeValue) -> bool | int | str | cel.SemanticVersion | tuple[bool, ...]:
    """The CEL value of an attribute; raises ValueError for an invalid version."""
    if isinstance(value, Version):
        return cel.SemanticVersion.parse(value.text)
    if isinstance(value, tuple):
        return tuple(_attribute(each) for each in value)  # type: ignore[misc]
    return value


def program(expression: str, effort: DeviceEffort) -> DeviceProgram | str:
    """The program of an expression; a text = why there is none.

    Args:
        expression: in CEL.
        effort: charged for compiling and evaluating it.
    """
    made = cel.compile(expression)
    effort.ask(made.took)
    if isinstance(made, cel.CelError):
        return made.text
    return DeviceProgram(made, cel.reads(expression), effort)
