# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""ResourceSlices, DeviceClasses and ResourceClaims, as far as scheduling reads them.

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

#: Of one claim, as the API server enforces it.
MOST_RESULTS: Final = 32
MOST_CONSUMERS: Final = 256
#: The API group of Kubernetes' own PodGroups, of which one is one consumer.
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
    """A value that equals no value of another type: True is not 1 here, nor in a list."""
    if isinstance(value, tuple):
        return tuple, tuple(map(type, value)), value
    return type(value), value


class DeviceTaint(NamedTuple):
    """A mark on a device that keeps claims off."""

    key: str
    value: str = ""
    effect: str = ""


class DeviceToleration(NamedTuple):
    """A request's leave to ignore taints of devices.

    Attributes:
        key: "" = every key.
        operator: "Equal" or "Exists".
        effect: "" = every effect.
        seconds: `tolerationSeconds`; no matter for scheduling.
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


class Policy(NamedTuple):
    """What may be asked of a capacity, and what is taken for it.

    Attributes:
        default: taken where nothing is asked; None = all of it.
        values: that may be taken, ascending; empty = no such rule.
        minimum: of what is taken; None = no range is given.
        maximum: the same; None = no upper end.
        step: from the minimum; None = any amount.
    """

    default: int | None = None
    values: tuple[int, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    step: int | None = None


class Capacity(NamedTuple):
    """One capacity of a device."""

    name: str
    value: int
    policy: Policy | None = None


class Consumption(NamedTuple):
    """What a device takes of one set of its pool's counters."""

    counters: str
    amounts: Amounts


class Site(NamedTuple):
    """From which nodes devices are reached.

    Attributes:
        node: its name; "" = not one node by name.
        everywhere: from all nodes.
        terms: of a node selector; None = none.
    """

    node: str = ""
    everywhere: bool = False
    terms: tuple[NodeSelectorTerm, ...] | None = None


NOWHERE: Final = Site()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Traits:
    """What devices have in common with others; one object for all that are alike.

    Attributes:
        names: of the attributes, with their domain, sorted.
        capacity: by name, sorted.
        consumes: of counters of the pool.
        taints: in the device's order.
        site: where each device says it for itself; else NOWHERE.
        binds_to_node: who gets it can use it on one node only.
        conditions: that must be true of the device before a pod is bound.
        failures: conditions that say that this will not come.
        shared: `allowMultipleAllocations`; None = not said.
    """

    names: tuple[str, ...] = ()
    capacity: tuple[Capacity, ...] = ()
    consumes: tuple[Consumption, ...] = ()
    taints: tuple[DeviceTaint, ...] = ()
    site: Site = NOWHERE
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
        values: of the attributes, in the order of `traits.names`.
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
        count: of slices that make up the pool in this generation.
        site: from where all of its devices are reached; None = each device says it.
        counters: by set, `(set, amounts)`.
        problem: what could not be read, with the field; "" = nothing.
    """

    name: str
    driver: str
    pool: str
    generation: int = 1
    count: int = 1
    site: Site | None = NOWHERE
    devices: tuple[Device, ...] = ()
    counters: tuple[tuple[str, Amounts], ...] = ()
    resource_version: str = field(default="", compare=False)
    problem: str = ""

    kind: ClassVar[str] = "ResourceSlice"


class Config(NamedTuple):
    """What a driver is told about devices; scheduling only passes it on.

    Attributes:
        opaque: JSON of `opaque`; b"" = none.
        requests: of the claim that it is for; empty = all.
        source: "FromClass" or "FromClaim", in an allocation.
    """

    opaque: bytes
    requests: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class DeviceClass(OfCluster):
    """Which devices a request for the class may get.

    Attributes:
        selectors: all of these must match; "" = of a kind that is not known.
        extended: name of the extended resource that devices of the class serve; "" = none.
    """

    name: str
    selectors: tuple[str, ...] = ()
    config: tuple[Config, ...] = ()
    extended: str = ""
    created: float = 0.0
    resource_version: str = field(default="", compare=False)

    kind: ClassVar[str] = "DeviceClass"


@dataclass(frozen=True, slots=True)
class Ask:
    """So many devices of a class: a request, or one alternative of it.

    Attributes:
        mode: "ExactCount" or "All".
        admin: for looking after devices that others use.
        capacity: what is asked of each device.
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
    """One request of a claim: exactly this, or the first of several that can be had.

    With neither it is of a kind that is not known.
    """

    name: str
    exactly: Ask | None = None
    first: tuple[Ask, ...] = ()

    @property
    def asks(self) -> tuple[Ask, ...]:
        """Its alternatives, or the one that it has; none if it is of a kind that is not known."""
        return (self.exactly,) if self.exactly else self.first


class Constraint(NamedTuple):
    """All devices have the same value of an attribute, or each another.

    Attributes:
        attribute: with its domain; "" = of a kind that is not known.
        requests: whose devices; empty = all of the claim.
    """

    attribute: str
    distinct: bool = False
    requests: tuple[str, ...] = ()

    def concerns(self, request: str, alternative: str) -> bool:
        """Whether devices of a request, or of an alternative ("" = none) of it, are meant."""
        if not self.requests or request in self.requests:
            return True
        return bool(alternative) and f"{request}/{alternative}" in self.requests


@dataclass(frozen=True, eq=True)
class ClaimSpec:
    """What a claim asks for; claims of one template share it, or have equal ones."""

    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    config: tuple[Config, ...] = ()

    @cached_property
    def _hash(self) -> int:
        return hash((self.requests, self.constraints, self.config))

    def __hash__(self) -> int:
        return self._hash

    @property
    def asks(self) -> tuple[Ask, ...]:
        """Those of all requests."""
        return tuple(ask for request in self.requests for ask in request.asks)

    @cached_property
    def size(self) -> int:
        """Bytes that it takes, roughly."""
        return weight_of((self.requests, self.constraints, self.config))


class Result(NamedTuple):
    """One device that a claim has got.

    Attributes:
        request: or `request/alternative`.
        share: which share of a device that several may have; "" = all of it is the claim's.
        consumed: of its capacity, by a share.
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


def identity(result: Result) -> tuple[str, str, str, str]:
    """Which device it is, or which share of one."""
    return result.driver, result.pool, result.device, result.share


@dataclass(frozen=True, slots=True)
class Allocation:
    """What a claim has got.

    Attributes:
        terms: of the selector of nodes from which it can be used; None = from all.
        at: when it was written, server seconds; None = not said.
    """

    results: tuple[Result, ...] = ()
    config: tuple[Config, ...] = ()
    terms: tuple[NodeSelectorTerm, ...] | None = None
    at: float | None = field(default=None, compare=False)


def pod_group_id(name: str) -> str:
    """The `Consumer.id` of the PodGroup of Kubernetes of that name."""
    return f"{SCHEDULING}/{name}"


class Consumer(NamedTuple):
    """One of `status.reservedFor`."""

    resource: str
    name: str
    uid: str
    group: str = ""

    @property
    def id(self) -> str:
        """Its UID; of a PodGroup of Kubernetes, of which pods know no more than the name, that."""
        if (self.group, self.resource) == (SCHEDULING, "podgroups"):
            return pod_group_id(self.name)
        return self.uid


class DeviceState(NamedTuple):
    """What a driver says of a device that a claim has got.

    Attributes:
        true: types of its conditions that are True.
    """

    driver: str
    pool: str
    device: str
    true: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ResourceClaim(OfNamespace):
    """A request for devices, and what it got.

    Attributes:
        owner: UID of its controller; "" = none.
        pod_group: the name of its controller, if that is a PodGroup of Kubernetes; "" = it is not.
        extended_for: UID of the pod whose extended resources it was made for; "" = no such claim.
        allocation: None = nothing yet.
        states: of the devices that it has got, where their drivers say anything.
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

    kind: ClassVar[str] = "ResourceClaim"

    def reserved(self, uid: str) -> bool:
        """Whether the object with this UID is among those that it is reserved for."""
        return any(each.uid == uid for each in self.reserved_for)

    def reserves(self, *ids: str) -> bool:
        """Whether it is reserved for one of these, as `Consumer.id` names them."""
        return any(each.id in ids for each in self.reserved_for)


Fact = ResourceSlice | DeviceClass | ResourceClaim


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that could not be read at all; it counts as absent."""

    kind: str
    key: str
    text: str
