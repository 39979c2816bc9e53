# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Selectors: which devices of a pool an expression selects, asked once and remembered.

An expression reads a few attributes of a device. What it read is noted: two devices that agree in
all of that get the same answer, however much else makes them differ.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

from enbloc.model.devices.facts import AttributeValue, Device
from enbloc.model.devices.pools import Bits, Pool
from enbloc.model.quantity import NANO

#: So many expressions are kept compiled, and of each so many answers.
_MOST_PROGRAMS: Final = 512
_MOST_ANSWERS: Final = 8192
#: An expression that reads now this and now that is asked anew after so many sets of names.
_MOST_FOOTPRINTS: Final = 8

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A device as an expression sees it: names with their domain, amounts in whole units."""

    driver: str
    attributes: Mapping[str, AttributeValue]
    capacity: Mapping[str, int | Fraction]
    allow_multiple_allocations: bool | None


class Fault(Protocol):
    """Why an expression cannot be compiled, or has no answer for a device."""

    @property
    def text(self) -> str:
        """For people."""
        ...


class DeviceSelector(Protocol):
    """A compiled expression."""

    def matches(self, device: DeviceView) -> "bool | Fault":
        """Whether it selects a device."""
        ...


Compiler = Callable[[str], DeviceSelector | Fault]


@dataclass(frozen=True, slots=True)
class NotSupported:
    """What a compiler says that knows no expression."""

    text: str = "expressions are not supported"


def no_compiler(expression: str) -> Fault:
    """A compiler that knows no expression."""
    del expression
    return NotSupported()


class Selection(NamedTuple):
    """What an expression says of a pool.

    Attributes:
        matched: the devices that it selects.
        fault: what went wrong with the first device that it has no answer for; "" = nothing.
    """

    matched: Bits
    fault: str = ""


class _Noting(Mapping[str, T]):
    """A mapping that notes what is read of it."""

    __slots__ = ("_given", "_prefix", "_read")

    def __init__(self, given: Mapping[str, T], prefix: str, read: dict[str, object]) -> None:
        self._given, self._prefix, self._read = given, prefix, read

    def __getitem__(self, key: str) -> T:
        self._read[self._prefix + key] = self._given.get(key)
        return self._given[key]

    def __iter__(self) -> Iterator[str]:
        self._read[self._prefix] = tuple(self._given.items())
        return iter(self._given)

    def __len__(self) -> int:
        self._read[self._prefix] = tuple(self._given.items())
        return len(self._given)


@dataclass(slots=True)
class _Program:
    """A compiled expression with the answers that it gave.

    Attributes:
        footprints: the names that were read, in each of the ways that occurred.
    """

    selector: DeviceSelector
    footprints: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    answers: dict[object, bool | str] = field(default_factory=dict[object, bool | str])

    def ask(self, driver: str, device: Device) -> bool | str:
        """Whether it selects the device; a text says why there is no answer."""
        attributes, capacity = _attributes(device), partial(_capacity, driver, device)
        shared = device.traits.shared
        for at, names in enumerate(self.footprints):
            key = (at, driver, shared, tuple(_read(name, attributes, capacity) for name in names))
            known = self.answers.get(key)
            if known is not None:
                return known
        read: dict[str, object] = {}
        answer = self.selector.matches(
            DeviceView(
                driver,
                _Noting(attributes, _ATTRIBUTE, read),
                _Noting(capacity(), _CAPACITY, read),
                shared,
            )
        )
        told = answer if isinstance(answer, bool) else answer.text
        self._remember(driver, shared, read, told)
        return told

    def _remember(
        self, driver: str, shared: bool | None, read: dict[str, object], told: bool | str
    ) -> None:
        names = tuple(sorted(read))
        if names not in self.footprints:
            if len(self.footprints) >= _MOST_FOOTPRINTS:
                return
            self.footprints.append(names)
        if len(self.answers) >= _MOST_ANSWERS:
            self.answers.clear()
        values = tuple(_typed(read[name]) for name in names)
        self.answers[self.footprints.index(names), driver, shared, values] = told


_ATTRIBUTE: Final = "a:"
_CAPACITY: Final = "c:"


def _attributes(device: Device) -> dict[str, AttributeValue]:
    return dict(zip(device.traits.names, device.values, strict=True))


def _capacity(driver: str, device: Device) -> dict[str, int | Fraction]:
    """By name with its domain; whole where it is."""
    found: dict[str, int | Fraction] = {}
    for name, value, _ in device.traits.capacity:
        key = name if "/" in name else f"{driver}/{name}"
        found[key] = value // NANO if value % NANO == 0 else Fraction(value, NANO)
    return found


def _read(
    name: str,
    attributes: Mapping[str, AttributeValue],
    capacity: Callable[[], Mapping[str, int | Fraction]],
) -> object:
    """What an expression reads under a noted name."""
    of: Mapping[str, object] = attributes if name.startswith(_ATTRIBUTE) else capacity()
    key = name[len(_ATTRIBUTE) :]
    return _typed(of.get(key) if key else tuple(of.items()))


def _typed(value: object) -> object:
    """So that True, 1 and a version that is spelled like a text stay apart."""
    if isinstance(value, tuple):
        return tuple(map(_typed, value))
    return type(value), value


class Selectors:
    """Expressions, compiled and asked once."""

    def __init__(self, compiler: Compiler = no_compiler) -> None:
        self._compile = compiler
        self._programs: dict[str, _Program | str] = {}

    def fault(self, expression: str) -> str:
        """Why an expression cannot be used at all; "" = it can."""
        program = self._program(expression)
        return program if isinstance(program, str) else ""

    def select(self, expression: str, pool: Pool, among: Bits) -> Selection:
        """Which of some devices of a pool the expression selects."""
        program = self._program(expression)
        if isinstance(program, str):
            return Selection(0, program)
        matched, fault, left = 0, "", among
        while left:
            low = left & -left
            left ^= low
            answer = program.ask(pool.key[0], pool.devices[low.bit_length() - 1])
            if answer is True:
                matched |= low
            elif answer is not False:
                fault = fault or answer
        return Selection(matched, fault)

    def _program(self, expression: str) -> _Program | str:
        known = self._programs.get(expression)
        if known is None:
            made = self._compile(expression)
            matches = getattr(made, "matches", None)
            known = _Program(made) if matches is not None else made.text  # type: ignore[arg-type,union-attr]
            if len(self._programs) >= _MOST_PROGRAMS:
                self._programs.clear()
            self._programs[expression] = known
        return known
