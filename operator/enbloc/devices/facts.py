# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Facts: the parts of ResourceSlices, DeviceClasses and ResourceClaims that scheduling reads.

Amounts of capacities and counters are integers in billionths of a unit. Selectors are the texts of
CEL expressions.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Final, NamedTuple

from enbloc.model.ledger import OfCluster, OfNamespace
from enbloc.model.pods import NodeSelectorTerm
from enbloc.model.weight import weight_of

#: Devices of one claim, as the API server enforces it.
MOST_RESULTS: Final = 32
MOST_CONSUMERS: Final = 256
#: The API group of Kubernetes' own PodGroups; each PodGroup is one consumer.
SCHEDULING: Final = "scheduling.k8s.io"
#: Alternatives of one request.
MOST_ALTERNATIVES: Final = 8

Amounts = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Version:
    """An attribute that is a semantic version, as it was written."""

    text: str


Scalar = bool | int | str | Version
AttributeValue = Scalar | tuple[Scalar, ...]


def typed(value: AttributeValue) -> Hashable:
    """A value that equals no value of another type: True is not 1, even in a list."""
    if isinstance(value, tuple):
        return tuple, tuple(map(type, value)), value
    return type(value), value


class DeviceTaint(NamedTuple):
    """A taint on a device, which keeps claims off."""

    key: str
    value: str = ""
    effect: str = ""


class DeviceToleration(NamedTuple):
    """A toleration of a request, which lets it ignore taints of devices.

    Attributes:
        key: "" = every key.
        operator: "Equal" or "Exists".
        effect: "" = every effect.
        seconds: `tolerationSeconds`; scheduling ignores it.
    """

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    def tolerates(self, taint: DeviceTaint) -> bool:
        """Whether this lets a request ignore `taint`."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


class CapacityPolicy(NamedTuple):
    """How much of a capacity may be requested, and how much that consumes.

    Attributes:
        default: consumed if nothing is requested; None = all of it.
        values: the amounts that may be consumed, ascending; empty = any.
        minimum: the least amount consumed; None = no range is given.
        maximum: the most; None = no upper end.
        step: the step above the minimum; None = any amount.
    """

    default: int | None = None
    values: tuple[int, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    step: int | None = None


class DeviceCapacity(NamedTuple):
    """One capacity of a device."""

    name: str
    value: int
    policy: CapacityPolicy | None = None


class Consumption(NamedTuple):
    """What a device consumes of one counter set of its pool."""

    counters: str
    amounts: Amounts


class DeviceReach(NamedTuple):
    """The nodes from which devices are reached.

    Attributes:
        node: its name; "" = not one node by name.
        everywhere: all nodes reach them.
        terms: the terms of a node selector; None = no selector.
    """

    node: str = ""
    everywhere: bool = False
    terms: tuple[NodeSelectorTerm, ...] | None = None


NOWHERE: Final = DeviceReach()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Traits:
    """What alike devices have in common; one object for all of them.

    Attributes:
        names: the attributes' names with their domain, sorted.
        capacity: the capacities, sorted by name.
        consumes: what a device consumes of the pool's counters.
        taints: in the device's order.
        site: the device's site, if each device has its own; else NOWHERE.
        binds_to_node: a claim that gets it can be used on one node only.
        conditions: conditions of the device that must be true before a pod is bound.
        failures: conditions that say that this will not happen.
        shared: `allowMultipleAllocations`; None = not said.
    """

    names: tuple[str, ...] = ()
    capacity: tuple[DeviceCapacity, ...] = ()
    consumes: tuple[Consumption, ...] = ()
    taints: tuple[DeviceTaint, ...] = ()
    site: DeviceReach = NOWHERE
    binds_to_node: bool = False
    conditions: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    shared: bool | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Devices are grouped by their traits, so these are hashed once."""
        said = self.names, self.capacity, self.consumes, self.taints, self.site
        ways = self.binds_to_node, self.conditions, self.failures, self.shared
        object.__setattr__(self, "_hash", hash((said, ways)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a slice.

    Attributes:
        values: the attributes' values, in the order of `traits.names`.
    """

    name: str
    values: tuple[AttributeValue, ...] = ()
    traits: Traits = Traits()

    def attribute(self, name: str) -> AttributeValue | None:
        """The value of an attribute, by its name with the domain; None = it has none."""
        names = self.traits.names
        return self.values[names.index(name)] if name in names else None


@dataclass(frozen=True, slots=True)
class ResourceSlice(OfCluster):
    """Some devices of a pool, or counters that its devices share.

    Attributes:
        count: how many slices make up the pool in this generation.
        site: the nodes that reach all of its devices; None = each device has its own site.
        counters: the counters by set, `(set, amounts)`.
        problem: what could not be read, with the field; "" = nothing.
    """

    name: str
    driver: str
    pool: str
    generation: int = 1
    count: int = 1
    site: DeviceReach | None = NOWHERE
    devices: tuple[Device, ...] = ()
    counters: tuple[tuple[str, Amounts], ...] = ()
    resource_version: str = field(default="", compare=False)
    problem: str = ""

    kind: ClassVar[str] = "ResourceSlice"


class Config(NamedTuple):
    """Configuration for a driver; scheduling only passes it on.

    Attributes:
        opaque: the JSON of `opaque`; b"" = none.
        requests: the claim's requests that it is for; empty = all.
        source: "FromClass" or "FromClaim"; only in an allocation.
    """

    opaque: bytes
    requests: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class DeviceClass(OfCluster):
    """Which devices a request for the class may get.

    Attributes:
        selectors: all must match; "" = a selector of an unknown kind.
        extended: the extended resource that devices of the class serve; "" = none.
    """

    name: str
    selectors: tuple[str, ...] = ()
    config: tuple[Config, ...] = ()
    extended: str = ""
    created: float = 0.0
    resource_version: str = field(default="", compare=False)

    kind: ClassVar[str] = "DeviceClass"


@dataclass(frozen=True, slots=True)
class SubRequest:
    """A number of devices of a class: a request, or one alternative of it.

    Attributes:
        mode: "ExactCount" or "All".
        admin: admin access, to devices that others may use.
        capacity: the capacity requested of each device.
    """

    name: str
    device_class: str
    selectors: tuple[str, ...] = ()
    mode: str = "ExactCount"
    count: int = 1
    admin: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: Amounts = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a claim: exactly this, or the first available of several alternatives.

    With neither, its kind is unknown.
    """

    name: str
    exactly: SubRequest | None = None
    first: tuple[SubRequest, ...] = ()

    @property
    def asks(self) -> tuple[SubRequest, ...]:
        """Its alternatives, or its only sub-request; none if its kind is unknown."""
        return (self.exactly,) if self.exactly else self.first


class DeviceConstraint(NamedTuple):
    """All devices have the same value of an attribute, or all have distinct values.

    Attributes:
        attribute: the attribute with its domain; "" = the constraint's kind is unknown.
        requests: the requests whose devices it applies to; empty = all of the claim.
    """

    attribute: str
    distinct: bool = False
    requests: tuple[str, ...] = ()

    def concerns(self, request: str, alternative: str) -> bool:
        """Whether it applies to devices of a request, or of its alternative ("" = none)."""
        if not self.requests or request in self.requests:
            return True
        return bool(alternative) and f"{request}/{alternative}" in self.requests


@dataclass(frozen=True, eq=True)
class ClaimSpec:
    """What a claim requests; claims of one template share one, or have equal ones."""

    requests: tuple[Request, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[Config, ...] = ()

    @cached_property
    def _hash(self) -> int:
        return hash((self.requests, self.constraints, self.config))

    def __hash__(self) -> int:
        return self._hash

    @property
    def asks(self) -> tuple[SubRequest, ...]:
        """The sub-requests of all requests."""
        return tuple(ask for request in self.requests for ask in request.asks)

    @cached_property
    def size(self) -> int:
        """Its approximate size in bytes."""
        return weight_of((self.requests, self.constraints, self.config))


class AllocatedDevice(NamedTuple):
    """One device that is allocated to a claim.

    Attributes:
        request: the request's name, or `request/alternative`.
        share: the share of a device that allows several allocations; "" = the whole device.
        consumed: what a share consumes of the device's capacity.
    """

    request: str
    driver: str
    pool: str
    device: str
    admin: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    conditions: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    share: str = ""
    consumed: Amounts = ()


def identity(result: AllocatedDevice) -> tuple[str, str, str, str]:
    """The identity of a result's device, or share of a device."""
    return result.driver, result.pool, result.device, result.share


@dataclass(frozen=True, slots=True)
class Allocation:
    """The devices that are allocated to a claim.

    Attributes:
        terms: the terms of the selector for nodes that can use it; None = all can.
        at: when it was written, server seconds; None = unknown.
    """

    results: tuple[AllocatedDevice, ...] = ()
    config: tuple[Config, ...] = ()
    terms: tuple[NodeSelectorTerm, ...] | None = None
    at: float | None = field(default=None, compare=False)


def pod_group_id(name: str) -> str:
    """The `Consumer.id` of the Kubernetes PodGroup of that name."""
    return f"{SCHEDULING}/{name}"


class Consumer(NamedTuple):
    """One of `status.reservedFor`."""

    resource: str
    name: str
    uid: str
    group: str = ""

    @property
    def id(self) -> str:
        """Its UID; for a Kubernetes PodGroup its name, as pods know no more of it."""
        if (self.group, self.resource) == (SCHEDULING, "podgroups"):
            return pod_group_id(self.name)
        return self.uid


class DeviceState(NamedTuple):
    """A driver's status of a device that is allocated to a claim.

    Attributes:
        true: the types of its conditions that are True.
    """

    driver: str
    pool: str
    device: str
    true: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ResourceClaim(OfNamespace):
    """A claim for devices, and its allocation.

    Attributes:
        owner: the UID of its controller; "" = none.
        pod_group: the name of its controller, if that is a Kubernetes PodGroup; else "".
        extended_for: the UID of the pod whose extended resources it was made for; "" = none.
        allocation: its devices; None = not allocated yet.
        states: the statuses of its devices, as far as their drivers publish any.
    """

    namespace: str
    name: str
    uid: str = ""
    spec: ClaimSpec = ClaimSpec()
    owner: str = ""
    pod_group: str = ""
    extended_for: str = ""
    deleting: bool = False
    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] = ()
    states: tuple[DeviceState, ...] = ()
    resource_version: str = field(default="", compare=False)
    problem: str = ""
    _consumers: frozenset[str] = field(default=frozenset(), init=False, repr=False, compare=False)

    kind: ClassVar[str] = "ResourceClaim"

    def __post_init__(self) -> None:
        """Every pod that names a claim asks whether it is among these."""
        object.__setattr__(self, "_consumers", frozenset(each.id for each in self.reserved_for))

    @property
    def consumers(self) -> frozenset[str]:
        """`reserved_for`, as `Consumer.id` names them; there may be hundreds."""
        return self._consumers

    def reserved(self, uid: str) -> bool:
        """Whether the object with this UID is among those that it is reserved for."""
        return any(each.uid == uid for each in self.reserved_for)

    def reserves(self, *ids: str) -> bool:
        """Whether it is reserved for one of these, as `Consumer.id` names them."""
        return not self.consumers.isdisjoint(ids)


Fact = ResourceSlice | DeviceClass | ResourceClaim


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that could not be read at all; it counts as absent."""

    kind: str
    key: str
    text: str
