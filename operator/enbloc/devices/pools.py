# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pools: the devices of a driver's pool in the newest generation, and the nodes that reach them.

A device is identified by its position: sets of devices are integers with a bit per position.
Devices are tried in order of position: slices by name, in each as the driver wrote them.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from enbloc.devices.facts import Amounts, Device, DeviceReach, ResourceSlice, Traits, typed
from enbloc.model.pods import NodeSelectorTerm

#: Driver and name of a pool.
PoolKey = tuple[str, str]
Bits = int
#: `(index of a counter, amount)`.
Consumed = tuple[tuple[int, int], ...]


def positions(bits: Bits) -> Iterator[int]:
    """The positions in a set, ascending."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


class Reach(NamedTuple):
    """What a node sees of a pool.

    Attributes:
        devices: the devices that can be used there.
        listed: all devices of every slice that has any of them.
    """

    devices: Bits = 0
    listed: Bits = 0

    def __or__(self, other: "Reach") -> "Reach":
        return Reach(self.devices | other.devices, self.listed | other.listed)


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The devices of a pool.

    Attributes:
        devices: by position.
        sites: by position; the slice's site, if it has one.
        named: positions by device name; several if a driver gives two devices one name.
        by_node: what nodes see that are given by name.
        everywhere: what all nodes see; None = nothing.
        chosen: `(terms, reach)`: what nodes see for which any of the terms holds.
        complete: all slices of the generation are known.
        invalid: why none of its devices can be used; "" = they can.
        counters: the counters' amounts.
        consumes: by position, `(index of a counter, amount)`.
        waiting: devices with conditions that must be met before a pod is bound.
        shared: devices that allow several allocations.
        binding: devices that a claim can use on one node only.
        twice: devices whose name occurs more than once.
        groups: sets of devices with common traits.
        group_of: by position, the place of the device's group.
        number: identifies this object, uniquely in this process.
        selected: cached answers of expressions about the devices, by asker.
        said: by demands, what matters of the pool to them, and for which use of it.
    """

    key: PoolKey
    devices: tuple[Device, ...] = ()
    sites: tuple[DeviceReach, ...] = ()
    named: Mapping[str, Bits] = field(default_factory=dict[str, Bits])
    by_node: Mapping[str, Reach] = field(default_factory=dict[str, Reach])
    everywhere: Reach | None = None
    chosen: tuple[tuple[tuple[NodeSelectorTerm, ...], Reach], ...] = ()
    complete: bool = True
    invalid: str = ""
    counters: tuple[int, ...] = ()
    consumes: tuple[Consumed, ...] = ()
    waiting: Bits = 0
    shared: Bits = 0
    binding: Bits = 0
    twice: tuple[Bits, ...] = ()
    groups: tuple[tuple[Traits, Bits], ...] = ()
    group_of: tuple[int, ...] = ()
    number: int = field(default_factory=count().__next__)
    selected: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False)
    said: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False)

    @property
    def spread(self) -> bool:
        """Whether nodes that it does not name see it, or those that it names share counters.

        A pool with counters is examined from every node, but only for whether it is valid.
        """
        if self.chosen or self.everywhere is None:
            return bool(self.chosen)
        if self.everywhere.listed or not self.complete or self.invalid:
            return True
        return len(self.by_node) > 1 and any(self.consumes)

    def looks(self, reads: frozenset[str]) -> Hashable:
        """A value that is equal for pools whose devices are alike in some attributes.

        Args:
            reads: the attributes' names with their domain.
        """
        values: list[object] = []
        for traits, bits in self.groups:
            places = [place for place, name in enumerate(traits.names) if name in reads]
            for position in positions(bits) if places else ():
                device = self.devices[position]
                values += [typed(device.values[place]) for place in places]
        return self.key[0], self.groups, self.consumes, tuple(values)

    def broken(self, reach: Reach) -> str:
        """Why nothing that a node sees can be used; "" = it can."""
        if self.invalid:
            return self.invalid
        for same in self.twice:
            if (same & reach.listed).bit_count() > 1:
                name = self.devices[(same & -same).bit_length() - 1].name
                return f"duplicate device name {name}"
        return ""


def newest(slices: Iterable[ResourceSlice]) -> list[ResourceSlice]:
    """The slices of the highest generation, by name."""
    known = sorted(slices, key=lambda each: each.name)
    highest = max((each.generation for each in known), default=0)
    return [each for each in known if each.generation == highest]


def pool_of(key: PoolKey, slices: Iterable[ResourceSlice]) -> Pool:
    """Build the pool of these slices.

    Source: kube-scheduler v1.36 staging/src/k8s.io/dynamic-resource-allocation/structured/internal
    GatherPools, buildPool. Unlike there, a newer generation makes the old one obsolete for every
    node at once.
    """
    current = newest(slices)
    complete = bool(current) and len(current) == current[0].count
    builder = _Builder()
    for each in current:
        builder.add(each)
    invalid = builder.count(current) if complete else ""
    return Pool(
        key,
        devices=tuple(builder.devices),
        sites=tuple(builder.sites),
        named=builder.named,
        by_node=builder.by_node,
        everywhere=builder.everywhere,
        chosen=tuple(builder.chosen.items()),
        complete=complete,
        invalid=invalid,
        counters=tuple(builder.totals),
        consumes=() if invalid else tuple(builder.consumes),
        waiting=builder.waiting,
        shared=builder.shared,
        binding=builder.binding,
        groups=tuple(builder.groups.items()),
        group_of=tuple(builder.group_of),
        twice=tuple(bits for bits in builder.named.values() if bits.bit_count() > 1),
    )


class _Builder:
    """Collects the slices of one pool."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self.sites: list[DeviceReach] = []
        self.named: dict[str, Bits] = {}
        self.by_node: dict[str, Reach] = {}
        self.everywhere: Reach | None = None
        self.chosen: dict[tuple[NodeSelectorTerm, ...], Reach] = {}
        self.counters: dict[str, int] = {}
        self.totals: list[int] = []
        self.consumes: list[Consumed] = []
        self.groups: dict[Traits, Bits] = {}
        self.group_of: list[int] = []
        self._places: dict[Traits, int] = {}
        self.waiting: Bits = 0
        self.shared: Bits = 0
        self.binding: Bits = 0

    def add(self, each: ResourceSlice) -> None:
        """Add the devices of one slice."""
        first = len(self.devices)
        whole = ((1 << len(each.devices)) - 1) << first
        for position, device in enumerate(each.devices, first):
            bit, site = 1 << position, each.site or device.traits.site
            self.devices.append(device)
            self.groups[device.traits] = self.groups.get(device.traits, 0) | bit
            self.group_of.append(self._places.setdefault(device.traits, len(self._places)))
            self.sites.append(site)
            self.named[device.name] = self.named.get(device.name, 0) | bit
            self.waiting |= bit if device.traits.conditions else 0
            self.shared |= bit if device.traits.shared else 0
            self.binding |= bit if device.traits.binds_to_node else 0
            if each.site is None:
                self._reached(site, Reach(bit, whole))
        if each.counters:  # who has counters is looked at from every node, for whether all is well
            self.everywhere = self.everywhere or Reach()
        if each.site is not None:
            self._reached(each.site, Reach(whole, whole))

    def _reached(self, site: DeviceReach, reach: Reach) -> None:
        if site.node:
            self.by_node[site.node] = self.by_node.get(site.node, Reach()) | reach
        elif site.everywhere:
            self.everywhere = (self.everywhere or Reach()) | reach
        elif site.terms is not None:
            self.chosen[site.terms] = self.chosen.get(site.terms, Reach()) | reach

    def count(self, slices: Sequence[ResourceSlice]) -> str:
        """Read the counters; returns what is wrong with them, "" = nothing."""
        sets: dict[str, Amounts] = {}
        for each in slices:
            for name, amounts in each.counters:
                if name in sets:
                    return f"duplicate counter set name {name}"
                sets[name] = amounts
        for name, amounts in sets.items():
            for counter, total in amounts:
                self.counters[f"{name}/{counter}"] = len(self.totals)
                self.totals.append(total)
        for device in self.devices:
            problem = self._consume(device, sets)
            if problem:
                return problem
        return ""

    def _consume(self, device: Device, sets: Mapping[str, Amounts]) -> str:
        taken: dict[int, int] = {}
        for consumption in device.traits.consumes:
            if consumption.counters not in sets:
                return f"counter set {consumption.counters} not found"
            for counter, amount in consumption.amounts:
                index = self.counters.get(f"{consumption.counters}/{counter}")
                if index is None:
                    return f"counter {counter} not found in counter set {consumption.counters}"
                taken[index] = taken.get(index, 0) + amount
        self.consumes.append(tuple(sorted(taken.items())))
        return ""
