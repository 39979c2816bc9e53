# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The fields of resource.k8s.io objects that scheduling reads, as Structs to decode into.

They decode v1, v1beta2 and v1beta1 alike: if v1beta1 has its own shape (`basic` of a device, the
fields of `exactly` in the request itself), both shapes are optional.
"""

from typing import Any

import msgspec

from enbloc.wire.objects import Int64, Metadata, NodeSelector

Quantity = str | Int64 | float


class _Struct(msgspec.Struct, gc=False, rename="camel"):
    """The base of all."""


class AttributeObject(_Struct):
    """One attribute: one of these is set."""

    int_: Int64 | None = msgspec.field(default=None, name="int")
    bool_: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None
    ints: tuple[Int64, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None


class RangeObject(_Struct):
    """`requestPolicy.validRange`."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class PolicyObject(_Struct):
    """`requestPolicy`."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] | None = None
    valid_range: RangeObject | None = None


class CapacityObject(_Struct):
    """One capacity of a device."""

    value: Quantity = "0"
    request_policy: PolicyObject | None = None


class CounterObject(_Struct):
    """One counter."""

    value: Quantity = "0"


class CounterSetObject(_Struct):
    """`sharedCounters[]`, and `consumesCounters[]` of a device."""

    name: str = ""
    counter_set: str = ""
    counters: dict[str, CounterObject] | None = None


class TaintObject(_Struct):
    """`taints[]` of a device."""

    key: str = ""
    value: str | None = None
    effect: str = ""


class TolerationObject(_Struct):
    """`tolerations[]`."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Int64 | None = None


class BasicDevice(_Struct):
    """All of a device but its name."""

    attributes: dict[str, AttributeObject] | None = None
    capacity: dict[str, CapacityObject] | None = None
    consumes_counters: tuple[CounterSetObject, ...] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[TaintObject, ...] | None = None
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    allow_multiple_allocations: bool | None = None


class DeviceObject(BasicDevice):
    """`devices[]`; v1beta1 has all but the name in `basic`."""

    name: str = ""
    basic: BasicDevice | None = None


class PoolObject(_Struct):
    """`pool`."""

    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class SliceSpecObject(_Struct):
    """`spec` of a ResourceSlice."""

    driver: str = ""
    pool: PoolObject = msgspec.field(default_factory=PoolObject)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[DeviceObject, ...] | None = None
    shared_counters: tuple[CounterSetObject, ...] | None = None


class SliceObject(_Struct):
    """A ResourceSlice."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: SliceSpecObject = msgspec.field(default_factory=SliceSpecObject)


class CelObject(_Struct):
    """`selectors[].cel`."""

    expression: str = ""


class SelectorObject(_Struct):
    """`selectors[]`."""

    cel: CelObject | None = None


class ConfigObject(_Struct):
    """`config[]` of a class, a claim or an allocation."""

    opaque: Any = None
    requests: tuple[str, ...] | None = None
    source: str | None = None


class ClassSpecObject(_Struct):
    """`spec` of a DeviceClass."""

    selectors: tuple[SelectorObject, ...] | None = None
    config: tuple[ConfigObject, ...] | None = None
    extended_resource_name: str | None = None


class ClassObject(_Struct):
    """A DeviceClass."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: ClassSpecObject = msgspec.field(default_factory=ClassSpecObject)


class CapacityRequests(_Struct):
    """`capacity` of a request."""

    requests: dict[str, Quantity] | None = None


class AskObject(_Struct):
    """`exactly`, and `firstAvailable[]`."""

    name: str = ""
    device_class_name: str | None = None
    selectors: tuple[SelectorObject, ...] | None = None
    allocation_mode: str | None = None
    count: Int64 | None = None
    admin_access: bool | None = None
    tolerations: tuple[TolerationObject, ...] | None = None
    capacity: CapacityRequests | None = None


class RequestObject(AskObject):
    """`requests[]`; v1beta1 has the fields of `exactly` in it."""

    exactly: AskObject | None = None
    first_available: tuple[AskObject, ...] | None = None


class ConstraintObject(_Struct):
    """`constraints[]`."""

    requests: tuple[str, ...] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimObject(_Struct):
    """`spec.devices` of a ResourceClaim."""

    requests: tuple[RequestObject, ...] | None = None
    constraints: tuple[ConstraintObject, ...] | None = None
    config: tuple[ConfigObject, ...] | None = None


class ClaimSpecObject(_Struct):
    """`spec` of a ResourceClaim."""

    devices: DeviceClaimObject | None = None


class ResultObject(_Struct):
    """`results[]` of an allocation."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[TolerationObject, ...] | None = None
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, Quantity] | None = None


class AllocatedObject(_Struct):
    """`devices` of an allocation."""

    results: tuple[ResultObject, ...] | None = None
    config: tuple[ConfigObject, ...] | None = None


class AllocationObject(_Struct):
    """`status.allocation`."""

    devices: AllocatedObject | None = None
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ConsumerObject(_Struct):
    """`status.reservedFor[]`."""

    api_group: str | None = None
    resource: str = ""
    name: str = ""
    uid: str = ""


class ConditionObject(_Struct):
    """`status.devices[].conditions[]`."""

    type: str = ""
    status: str = ""


class StateObject(_Struct):
    """`status.devices[]`."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[ConditionObject, ...] | None = None


class ClaimStatusObject(_Struct):
    """`status` of a ResourceClaim."""

    allocation: AllocationObject | None = None
    reserved_for: tuple[ConsumerObject, ...] | None = None
    devices: tuple[StateObject, ...] | None = None


class ClaimObject(_Struct):
    """A ResourceClaim."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: ClaimSpecObject = msgspec.field(default_factory=ClaimSpecObject)
    status: ClaimStatusObject | None = None
