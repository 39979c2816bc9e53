# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Demand: what one claim asks for, with its classes, and how a pool looks to it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from enbloc.model.devices.capacity import consumption
from enbloc.model.devices.facts import (
    MOST_RESULTS,
    Amounts,
    Ask,
    ClaimSpec,
    Device,
    DeviceClass,
    DeviceTaint,
)
from enbloc.model.devices.pools import Bits, Pool, positions
from enbloc.model.devices.selectors import Selectors

#: These taints keep claims off; others only tell.
_KEEPS_OFF = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Want:
    """A request, or an alternative of one.

    Attributes:
        request: name of the request.
        alternative: name among its alternatives; "" = it has none.
        number: its place among all of the demand.
        order: which alternative it is.
    """

    ask: Ask
    device_class: DeviceClass
    request: str
    alternative: str
    number: int
    order: int

    @property
    def name(self) -> str:
        """As results name it."""
        return f"{self.request}/{self.alternative}" if self.alternative else self.request

    @property
    def all(self) -> bool:
        """It wants all devices that match."""
        return self.ask.mode == "All"


@dataclass(frozen=True, eq=False)
class Demand:
    """What one claim asks for; one object for all claims that ask for the same.

    Attributes:
        requests: of each its alternatives, or the one that it has.
        least: how many devices each request needs at least.
        problem: why no node can serve it, as `search.told` completes it; "" = some may.
    """

    spec: ClaimSpec
    requests: tuple[tuple[Want, ...], ...] = ()
    least: tuple[int, ...] = ()
    problem: str = ""
    selectors: Selectors = field(default_factory=Selectors, repr=False)
    _lenses: dict[Pool, "Lens"] = field(default_factory=dict["Pool", "Lens"], repr=False)
    _kinds: dict[object, int] = field(default_factory=dict[object, int], repr=False)

    @cached_property
    def wants(self) -> tuple[Want, ...]:
        """All of them, by number."""
        return tuple(want for each in self.requests for want in each)

    @cached_property
    def all(self) -> bool:
        """Some request wants all devices that match."""
        return any(want.all for want in self.wants)

    @cached_property
    def plain(self) -> bool:
        """It asks for a number of devices, and nothing else: which ones it gets is all the same.

        So claims of this demand are served alike, however those before them were.
        """
        wants = self.wants
        return len(wants) == 1 and not (
            self.spec.constraints or wants[0].all or wants[0].ask.capacity or wants[0].ask.admin
        )

    @cached_property
    def exclusive(self) -> bool:
        """Devices that it gets nobody else has, unless several may have one of them."""
        return sum(self.least) > 0 and not any(want.ask.admin for want in self.wants)

    @cached_property
    def graded(self) -> bool:
        """Nodes differ by which alternatives they can serve."""
        return any(len(each) > 1 for each in self.requests)

    def lens(self, pool: Pool) -> "Lens":
        """How a pool looks to this demand."""
        known = self._lenses.get(pool)
        if known is None:
            known = self._lenses[pool] = Lens.of(self, pool)
        return known

    def forget(self, pool: Pool) -> None:
        """The pool is no more."""
        self._lenses.pop(pool, None)

    def kind(self, key: object) -> int:
        """A number for what devices have in common, the same in all pools."""
        return self._kinds.setdefault(key, len(self._kinds))


def demand_of(
    spec: ClaimSpec, find: Callable[[str], DeviceClass | None], selectors: Selectors
) -> Demand:
    """The demand of claims with this spec.

    Source of the messages: kube-scheduler v1.36
    staging/src/k8s.io/dynamic-resource-allocation/structured/internal allocator Allocate.
    """
    requests: list[tuple[Want, ...]] = []
    least: list[int] = []
    number = 0
    for request in spec.requests:
        wants: list[Want] = []
        asks = (request.exactly,) if request.exactly else request.first
        for order, ask in enumerate(asks):
            named = ask.name if request.first else request.name
            found = find(ask.device_class)
            problem = _problem(ask, named, found, selectors)
            if found is None or problem:
                return Demand(spec, problem=problem, selectors=selectors)
            alternative = "" if request.exactly else ask.name
            wants.append(Want(ask, found, request.name, alternative, number, order))
            number += 1
        if not wants:
            return Demand(spec, problem=f", request {request.name}: unknown request type")
        requests.append(tuple(wants))
        least.append(min(1 if want.all else want.ask.count for want in wants))
    for at, constraint in enumerate(spec.constraints):
        if not constraint.attribute:
            empty = f", constraint #{at}: empty constraint (unsupported constraint type?)"
            return Demand(spec, problem=empty)
    problem = ""
    exact = sum(min(0 if want.all else want.ask.count for want in wants) for wants in requests)
    if exact > MOST_RESULTS:
        problem = too_many(exact)
    return Demand(spec, tuple(requests), tuple(least), problem, selectors)


def too_many(count: int) -> str:
    """Why a claim for so many devices cannot be served."""
    return f": number of requested devices {count} exceeds the claim limit of {MOST_RESULTS}"


def _problem(ask: Ask, name: str, found: DeviceClass | None, selectors: Selectors) -> str:
    for at, expression in enumerate(ask.selectors):
        if not expression:
            empty = "CEL expression empty (unsupported selector type?)"
            return f", request {name}, selector #{at}: {empty}"
    if not ask.device_class:
        return f", request {name}: missing device class name (unsupported request type?)"
    if found is None:
        return f", request {name}: could not retrieve device class {ask.device_class}"
    if ask.mode not in ("ExactCount", "All"):
        return f", request {name}: unsupported count mode {ask.mode}"
    of = {f"class {found.name}:": found.selectors, ":": ask.selectors}
    for start, expressions in of.items():
        for at, expression in enumerate(expressions):
            fault = selectors.fault(expression)
            if fault:
                return f"{start} selector #{at}: CEL compile error: {fault}"
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class Lens:
    """A pool as one demand sees it.

    Attributes:
        matched: of each want, the devices that its selectors select.
        usable: those of them that it could get as far as taints and capacity go.
        consumed: by position, of each want what it would take of the capacity.
        values: of each constraint by position, the value that counts; a position that is absent
            has none.
        kinds: `(number of the kind, its devices)`: devices of a kind are all the same to the
            demand. Devices that it cannot use are of none.
        kin: by position, the devices of its kind.
        consuming: some device that it could use takes of the pool's counters.
        fault: what went wrong with a selector; "" = nothing.
        memory: what was last said of the pool, and when.
    """

    pool: Pool
    matched: tuple[Bits, ...]
    usable: tuple[Bits, ...]
    consumed: dict[int, tuple[Amounts | None, ...]]
    values: tuple[dict[int, object], ...]
    kinds: tuple[tuple[int, Bits], ...]
    kin: dict[int, Bits]
    consuming: bool
    fault: str
    memory: list[Any] = field(default_factory=list[Any], repr=False)

    @classmethod
    def of(cls, demand: Demand, pool: Pool) -> "Lens":
        """Look at a pool."""
        matched, usable, fault = [], [], ""
        for want in demand.wants:
            bits, wrong = _matching(want, pool, demand.selectors)
            fault = fault or wrong
            matched.append(bits)
        consumed: dict[int, tuple[Amounts | None, ...]] = {}
        every = 0
        for bits in matched:
            every |= bits
        for position in positions(every):
            consumed[position] = tuple(
                consumption(want.ask.capacity, pool.devices[position].traits.capacity)
                for want in demand.wants
            )
        for want, bits in zip(demand.wants, matched, strict=True):
            usable.append(
                sum(
                    1 << position
                    for position in positions(bits)
                    if consumed[position][want.number] is not None
                    and not _kept_off(pool.devices[position].traits.taints, want.ask)
                )
            )
        values = tuple(
            _values(pool, every, constraint.attribute) for constraint in demand.spec.constraints
        )
        kinds: dict[int, Bits] = {}
        for position in positions(every):
            device = pool.devices[position]
            consumes = pool.consumes[position] if pool.consumes else ()
            kind = demand.kind(
                (
                    tuple(bits >> position & 1 for bits in matched),
                    tuple(bits >> position & 1 for bits in usable),
                    tuple(_typed(found.get(position)) for found in values),
                    consumes,
                    device.traits.shared,
                    consumed[position] if device.traits.shared else (),
                    device.traits.capacity if device.traits.shared else (),
                )
            )
            kinds[kind] = kinds.get(kind, 0) | 1 << position
        return cls(
            pool=pool,
            matched=tuple(matched),
            usable=tuple(usable),
            consumed=consumed,
            values=values,
            kinds=tuple(sorted(kinds.items())),
            kin={each: bits for bits in kinds.values() for each in positions(bits)},
            consuming=bool(pool.consumes) and any(pool.consumes[each] for each in positions(every)),
            fault=fault,
        )

    def kind_of(self, position: int) -> int:
        """The number of a device's kind; -1 = it is of none."""
        return next((kind for kind, bits in self.kinds if bits >> position & 1), -1)

    def same(self, position: int) -> Bits:
        """The devices that are all the same to the demand as this one."""
        found = self.kin.get(position)
        if found is not None:
            return found
        every = 0
        for _, bits in self.kinds:
            every |= bits
        return ~every


def _matching(want: Want, pool: Pool, selectors: Selectors) -> tuple[Bits, str]:
    """The devices that the class selects, and then the request; and what went wrong."""
    left: Bits = (1 << len(pool.devices)) - 1
    fault = ""
    for of, expressions in (
        (f"class {want.device_class.name}:", want.device_class.selectors),
        (":", want.ask.selectors),
    ):
        for at, expression in enumerate(expressions):
            found = selectors.select(expression, pool, left)
            left = found.matched
            if found.fault:
                fault = fault or f"{of} selector #{at}: CEL runtime error: {found.fault}"
    return left, fault


def _kept_off(taints: tuple[DeviceTaint, ...], ask: Ask) -> bool:
    return any(
        taint.effect in _KEEPS_OFF and not any(each.tolerates(taint) for each in ask.tolerations)
        for taint in taints
    )


def _values(pool: Pool, among: Bits, attribute: str) -> dict[int, object]:
    found: dict[int, object] = {}
    for position in positions(among):
        device: Device = pool.devices[position]
        value = device.attribute(attribute)
        if value is not None:
            found[position] = _typed(value)
    return found


def _typed(value: object) -> object:
    """So that True and 1, and a version that is spelled like a text, stay apart."""
    return (type(value), value)
