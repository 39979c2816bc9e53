# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Demand: what one claim requests, with its DeviceClasses resolved."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Final
from weakref import WeakValueDictionary

from enbloc.devices.effort import DEVICE, GLANCE, LOOK, UNSEEN
from enbloc.devices.facts import MOST_RESULTS, ClaimSpec, DeviceClass, SubRequest
from enbloc.devices.lens import Lens, RequestView, lens_of, unseen
from enbloc.devices.pools import Pool
from enbloc.devices.selectors import Selectors

#: How many kinds of devices are numbered before they are forgotten.
_MOST_KINDS: Final = 65_536


@dataclass(frozen=True, slots=True)
class DeviceWant:
    """A request, or an alternative of one.

    Attributes:
        request: the request's name.
        alternative: the alternative's name; "" = the request has none.
        number: its place among all wants of the demand.
        order: its place among the alternatives of the request.
    """

    ask: SubRequest
    device_class: DeviceClass
    request: str
    alternative: str
    number: int
    order: int

    @property
    def name(self) -> str:
        """The name that results use."""
        return f"{self.request}/{self.alternative}" if self.alternative else self.request

    @property
    def all(self) -> bool:
        """Whether it wants all devices that match."""
        return self.ask.mode == "All"


@dataclass(frozen=True, eq=False)
class Demand:
    """What one claim requests; one object for all claims that request the same.

    Attributes:
        requests: the alternatives of each request, or the single want.
        least: the fewest devices that each request needs.
        problem: why no node can serve it, as `search.told` completes it; "" = some may.
    """

    spec: ClaimSpec
    requests: tuple[tuple[DeviceWant, ...], ...] = ()
    least: tuple[int, ...] = ()
    problem: str = ""
    selectors: Selectors = field(default_factory=Selectors, repr=False)
    _lenses: dict[Pool, Lens] = field(default_factory=dict[Pool, Lens], repr=False)
    _alike: WeakValueDictionary[Hashable, Lens] = field(
        default_factory=WeakValueDictionary[Hashable, Lens], repr=False
    )
    _kinds: dict[object, int] = field(default_factory=dict[object, int], repr=False)
    _numbers: Iterator[int] = field(default_factory=count, repr=False)

    @cached_property
    def wants(self) -> tuple[DeviceWant, ...]:
        """All wants, by number."""
        return tuple(want for each in self.requests for want in each)

    @cached_property
    def views(self) -> tuple[tuple[RequestView, ...], tuple[str, ...]]:
        """What each want looks for, and the attributes that constraints compare."""
        views = tuple(
            RequestView(want.device_class, want.ask, self.selectors) for want in self.wants
        )
        return views, tuple(each.attribute for each in self.spec.constraints)

    @cached_property
    def reads(self) -> frozenset[str] | None:
        """The attributes by which it distinguishes devices; None = possibly any."""
        found = {each.attribute for each in self.spec.constraints}
        for want in self.wants:
            for expression in (*want.device_class.selectors, *want.ask.selectors):
                names = self.selectors.reads(expression)
                if names is None:
                    return None
                found |= names
        return frozenset(found)

    @cached_property
    def all(self) -> bool:
        """Whether some request wants all devices that match."""
        return any(want.all for want in self.wants)

    @cached_property
    def plain(self) -> bool:
        """Whether it only requests a number of devices, so that any that match are equivalent.

        Claims with such a demand are served alike, whichever devices earlier ones got.
        """
        wants = self.wants
        return len(wants) == 1 and not (
            self.spec.constraints or wants[0].all or wants[0].ask.capacity or wants[0].ask.admin
        )

    @cached_property
    def exclusive(self) -> bool:
        """Whether its devices are exclusive, except those that allow several allocations."""
        return sum(self.least) > 0 and not any(want.ask.admin for want in self.wants)

    @cached_property
    def graded(self) -> bool:
        """Whether nodes score differently, by the alternatives that they can serve."""
        return any(len(each) > 1 for each in self.requests)

    def lens(self, pool: Pool) -> Lens:
        """The pool as this demand sees it; empty once the effort of a decision is spent.

        Pools that look alike share one lens: of five thousand nodes of one kind, one is examined.
        """
        known = self._lenses.get(pool)
        if known is not None:
            return known
        effort = self.selectors.effort
        if not effort.spent:
            known = self._look(pool)
        if known is None or known.unseen:
            return unseen(self.views, pool)
        self._lenses[pool] = known
        return known

    def _look(self, pool: Pool) -> Lens:
        effort, devices = self.selectors.effort, len(pool.devices)
        effort.spend(GLANCE + DEVICE * devices)
        reads = self.reads
        key = pool.looks(reads) if reads is not None else None
        known = self._alike.get(key) if key is not None else None
        if known is None:
            effort.spend(LOOK + DEVICE * devices * len(self.wants))
            known = lens_of(self.views, self.kind, pool)
            if key is not None and not known.unseen:
                self._alike[key] = known
        return known

    def forget(self, pool: Pool) -> None:
        """Drop the lens of a pool that no longer exists."""
        self._lenses.pop(pool, None)

    def kind(self, key: object) -> int:
        """The number of a kind of device, the same in all pools."""
        known = self._kinds.get(key)
        if known is None:
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds.clear()
            known = self._kinds[key] = next(self._numbers)
        return known


def demand_of(
    spec: ClaimSpec, find: Callable[[str], DeviceClass | None], selectors: Selectors
) -> Demand:
    """The demand of claims with this spec.

    Source of the messages: kube-scheduler v1.36
    staging/src/k8s.io/dynamic-resource-allocation/structured/internal allocator Allocate.
    """
    requests: list[tuple[DeviceWant, ...]] = []
    least: list[int] = []
    number = 0
    for request in spec.requests:
        wants: list[DeviceWant] = []
        for order, ask in enumerate(request.asks):
            named = ask.name if request.first else request.name
            found = find(ask.device_class)
            problem = _problem(ask, named, found, selectors)
            if found is None or problem:
                return Demand(spec, problem=problem, selectors=selectors)
            alternative = "" if request.exactly else ask.name
            wants.append(DeviceWant(ask, found, request.name, alternative, number, order))
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
    """The message that a claim requests too many devices."""
    return f": number of requested devices {count} exceeds the claim limit of {MOST_RESULTS}"


def _problem(ask: SubRequest, name: str, found: DeviceClass | None, selectors: Selectors) -> str:
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
            if selectors.effort.spent:
                return f": {UNSEEN}"
            fault = selectors.fault(expression)
            if fault:
                return f"{start} selector #{at}: CEL compile error: {fault}"
    return ""
