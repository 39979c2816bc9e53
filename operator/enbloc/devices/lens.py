# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Lens: a pool as one claim sees it, and all pools that look the same to it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from enbloc.devices.capacity import consumption
from enbloc.devices.effort import UNSEEN
from enbloc.devices.facts import Amounts, DeviceClass, DeviceTaint, SubRequest, typed
from enbloc.devices.pools import Bits, Pool, positions
from enbloc.devices.selectors import Faults, Selectors

#: These taints keep claims off; others are informational.
_KEEPS_OFF: Final = ("NoSchedule", "NoExecute")
#: If devices are of more kinds than this, each counts as a kind of its own.
_MOST_KINDS: Final = 256
#: From this many devices on, those with a value are stored as a set.
_MANY: Final = 64

#: The amounts that each want would consume of a device; None = it never suffices.
Takes = tuple[Amounts | None, ...]


class RequestView(NamedTuple):
    """What one want (a request or an alternative) looks for."""

    device_class: DeviceClass
    ask: SubRequest
    selectors: Selectors


class Values:
    """The values of one attribute, by device and by value."""

    __slots__ = ("_having", "_of")

    def __init__(self, pool: Pool, among: Bits, attribute: str) -> None:
        self._of: dict[int, object] = {}
        having: dict[object, list[int]] = {}
        for position in positions(among):
            value = pool.devices[position].attribute(attribute)
            if value is not None:
                told = self._of[position] = typed(value)
                having.setdefault(told, []).append(position)
        self._having: dict[object, Bits | list[int]] = {
            value: _bits(found) if len(found) >= _MANY else found for value, found in having.items()
        }

    @property
    def none(self) -> bool:
        """Whether no device has any value."""
        return not self._of

    def get(self, position: int) -> object:
        """The value of a device; None = it has none."""
        return self._of.get(position)

    def having(self, value: object) -> Bits:
        """The devices that have a value."""
        found = self._having.get(value, 0)
        return found if isinstance(found, int) else _bits(found)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Lens:
    """A pool as one claim sees it.

    Attributes:
        matched: for each want, the devices that its selectors select.
        usable: those of them that taints and capacity allow.
        values: the attribute's values for each constraint.
        kinds: `(number of the kind, its devices)`: devices of a kind are equivalent for the claim.
            Devices that it cannot use have no kind.
        mixed: there are too many kinds: each device is its own, and `kinds` is empty.
        consuming: some device that it could use consumes the pool's counters.
        faults: for each want, the errors of selectors.
        takes: by device group, what each want would consume.
        group_of: by position, the place of the device's group.
    """

    matched: tuple[Bits, ...]
    usable: tuple[Bits, ...]
    values: tuple[Values, ...]
    kinds: tuple[tuple[int, Bits], ...]
    mixed: bool
    consuming: bool
    faults: tuple[Faults, ...]
    takes: dict[int, Takes] = field(repr=False)
    group_of: tuple[int, ...] = field(repr=False)

    @property
    def unseen(self) -> bool:
        """Whether the pool was not examined, for lack of effort."""
        return any(text.endswith(UNSEEN) for faults in self.faults for text, _ in faults)

    @property
    def idle(self) -> bool:
        """Whether nothing in the pool matters to the claim."""
        return not (self.kinds or self.mixed or any(self.faults))

    def consumed(self, position: int, number: int) -> Amounts | None:
        """What a want would consume of a device that matches some want."""
        return self.takes[self.group_of[position]][number]

    def mute(self, number: int) -> Bits:
        """The devices for which the selectors of a want have no answer."""
        found = 0
        for _, bits in self.faults[number]:
            found |= bits
        return found

    def fault(self, number: int, among: Bits) -> str:
        """The selector error of a want for the first of some devices."""
        found = [(bits & among & -(bits & among), text) for text, bits in self.faults[number]]
        return min(((low, text) for low, text in found if low), default=(0, ""))[1]

    def kind_of(self, position: int) -> int:
        """The number of a device's kind; -1 = it is of none."""
        return next((kind for kind, bits in self.kinds if bits >> position & 1), -1)

    def same(self, position: int) -> Bits:
        """The devices that are equivalent to this one for the claim."""
        if self.mixed:
            return 1 << position
        every = 0
        for _, bits in self.kinds:
            if bits >> position & 1:
                return bits
            every |= bits
        return ~every


def lens_of(
    looked_for: tuple[tuple[RequestView, ...], tuple[str, ...]],
    kind: Callable[[object], int],
    pool: Pool,
) -> Lens:
    """Examine a pool.

    Args:
        looked_for: the wants of the claim, and the attributes that its constraints compare.
        kind: numbers the kinds of devices.
        pool: the pool.
    """
    views, attributes = looked_for
    seen = [_matching(view, pool) for view in views]
    matched = tuple(bits for bits, _ in seen)
    every = 0
    for bits in matched:
        every |= bits
    takes: dict[int, Takes] = {}
    served = [0] * len(views)
    for group, (traits, bits) in enumerate(pool.groups):
        if bits & every:
            amounts = tuple(consumption(view.ask.capacity, traits.capacity) for view in views)
            takes[group] = amounts
            for number, (amount, view) in enumerate(zip(amounts, views, strict=True)):
                if amount is not None and not _kept_off(traits.taints, view.ask):
                    served[number] |= bits
    usable = tuple(bits & fit for bits, fit in zip(matched, served, strict=True))
    values = tuple(Values(pool, every, attribute) for attribute in attributes)
    kinds = _kinds(pool, every, (*matched, *usable), values, kind)
    return Lens(
        matched=matched,
        usable=usable,
        values=values,
        kinds=tuple(sorted((kinds or {}).items())),
        mixed=kinds is None,
        consuming=bool(pool.consumes)
        and any(traits.consumes for traits, bits in pool.groups if bits & every),
        faults=tuple(faults for _, faults in seen),
        takes=takes,
        group_of=pool.group_of,
    )


def unseen(looked_for: tuple[tuple[RequestView, ...], tuple[str, ...]], pool: Pool) -> Lens:
    """The lens of a pool that was not examined: nothing of it is available for now."""
    views, attributes = looked_for
    nothing = (0,) * len(views)
    values = tuple(Values(pool, 0, attribute) for attribute in attributes)
    faults = (((f": {UNSEEN}", (1 << len(pool.devices)) - 1),),) * len(views)
    return Lens(nothing, nothing, values, (), False, False, faults, {}, ())


def _kinds(
    pool: Pool,
    among: Bits,
    sets: tuple[Bits, ...],
    values: tuple[Values, ...],
    kind: Callable[[object], int],
) -> dict[int, Bits] | None:
    """The devices of each kind; None = there are too many."""
    found: dict[object, Bits] = {}
    for traits, bits in pool.groups:
        parts: list[tuple[tuple[object, ...], Bits]] = [((), bits & among)]
        for each in sets:
            parts = [
                ((*key, inside), half)
                for key, part in parts
                for inside, half in ((True, part & each), (False, part & ~each))
                if half
            ]
        for value in values:
            parts = [
                ((*key, value.get(position)), 1 << position)
                for key, part in parts
                for position in positions(part)
            ]
        for key, part in parts:
            if part:
                first = (part & -part).bit_length() - 1
                consumes = pool.consumes[first] if pool.consumes else ()
                kept = key, consumes, traits.capacity if traits.shared else None
                found[kept] = found.get(kept, 0) | part
        if len(found) > _MOST_KINDS:
            return None
    return {kind(key): bits for key, bits in found.items()}


def _matching(view: RequestView, pool: Pool) -> tuple[Bits, Faults]:
    """The devices that both the class and the request select; and the errors."""
    left: Bits = (1 << len(pool.devices)) - 1
    faults: Faults = ()
    for of, expressions in (
        (f"class {view.device_class.name}:", view.device_class.selectors),
        (":", view.ask.selectors),
    ):
        for at, expression in enumerate(expressions):
            found = view.selectors.select(expression, pool, left)
            left = found.matched
            start = f"{of} selector #{at}: CEL runtime error: "
            faults += tuple((start + text, bits) for text, bits in found.faults)
    return left, faults


def _kept_off(taints: tuple[DeviceTaint, ...], ask: SubRequest) -> bool:
    return any(
        taint.effect in _KEEPS_OFF and not any(each.tolerates(taint) for each in ask.tolerations)
        for taint in taints
    )


def _bits(found: Iterable[int]) -> Bits:
    bits = 0
    for position in found:
        bits |= 1 << position
    return bits
