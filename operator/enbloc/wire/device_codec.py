# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of resource.k8s.io (v1, v1beta2, v1beta1) to facts; total.

What cannot be read is reported in the fact's `problem`, and counts as absent: a device with an
invalid amount is not offered. An object that cannot be decoded at all becomes `Unreadable`.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from enbloc.devices.facts import (
    SCHEDULING,
    AllocatedDevice,
    Allocation,
    Amounts,
    AttributeValue,
    CapacityPolicy,
    ClaimSpec,
    Config,
    Consumer,
    Consumption,
    Device,
    DeviceCapacity,
    DeviceClass,
    DeviceConstraint,
    DeviceReach,
    DeviceState,
    DeviceTaint,
    DeviceToleration,
    Request,
    ResourceClaim,
    ResourceSlice,
    SubRequest,
    Traits,
    Unreadable,
    Version,
)
from enbloc.model.quantity import nano
from enbloc.model.text import quoted
from enbloc.model.times import seconds_of
from enbloc.wire.canonical import Canonical
from enbloc.wire.codec_selectors import required_node_terms
from enbloc.wire.device_objects import (
    AllocationObject,
    AskObject,
    AttributeObject,
    BasicDevice,
    CapacityObject,
    ClaimObject,
    ClassObject,
    ConfigObject,
    ConstraintObject,
    CounterSetObject,
    DeviceClaimObject,
    DeviceObject,
    PolicyObject,
    Quantity,
    RequestObject,
    SelectorObject,
    SliceObject,
    StateObject,
    TolerationObject,
)
from enbloc.wire.objects import Metadata, NodeSelector, OwnerReference, controller_of
from enbloc.wire.problems import Problems

#: Marks the claim that a scheduler made for a pod's extended resources.
EXTENDED_CLAIM_KEY: Final = "resource.kubernetes.io/extended-resource-claim"
_LONGEST_SHARED: Final = 128
#: How many problems of one object are reported.
_MOST_TOLD: Final = 8

_TRAITS: Final[Canonical[Traits]] = Canonical()
_SPECS: Final[Canonical[ClaimSpec]] = Canonical()


def read_resource_claim(obj: Mapping[str, Any]) -> ResourceClaim | Unreadable:
    """A ResourceClaim from its JSON."""
    try:
        return resource_claim(msgspec.convert(obj, ClaimObject))
    except (msgspec.ValidationError, RecursionError) as error:
        try:
            named = msgspec.convert(obj.get("metadata"), Metadata)
        except (msgspec.ValidationError, RecursionError):
            named = Metadata()
        key = f"{named.namespace}/{named.name}" if named.namespace else named.name
        return Unreadable(ResourceClaim.kind, key, str(error))


def resource_slice(obj: SliceObject) -> ResourceSlice:
    """A ResourceSlice."""
    spec, problems = obj.spec, _BoundedProblems()
    driver = _shared(spec.driver)
    devices: list[Device] = []
    for position, each in enumerate(spec.devices or ()):
        device = _device(each, driver, f"spec.devices[{position}]", problems)
        if device is not None:
            devices.append(device)
    named = _site(spec.node_name, spec.node_selector, spec.all_nodes, "spec", problems)
    return ResourceSlice(
        name=obj.metadata.name,
        driver=driver,
        pool=_shared(spec.pool.name),
        generation=spec.pool.generation,
        count=spec.pool.resource_slice_count,
        site=None if spec.per_device_node_selection and named == DeviceReach() else named,
        devices=tuple(devices),
        counters=tuple(
            (_shared(each.name), _counters(each, f"spec.sharedCounters[{at}]", problems))
            for at, each in enumerate(spec.shared_counters or ())
        ),
        resource_version=obj.metadata.resource_version or "",
        problem=problems.text(),
    )


def device_class(obj: ClassObject) -> DeviceClass:
    """A DeviceClass."""
    metadata, spec = obj.metadata, obj.spec
    return DeviceClass(
        name=metadata.name,
        selectors=_selectors(spec.selectors),
        config=_config(spec.config),
        extended=spec.extended_resource_name or "",
        created=seconds_of(metadata.creation_timestamp or "") or 0.0,
        resource_version=metadata.resource_version or "",
    )


def resource_claim(obj: ClaimObject) -> ResourceClaim:
    """A ResourceClaim."""
    metadata, status, problems = obj.metadata, obj.status, _BoundedProblems()
    owner = controller_of(metadata.owner_references)
    uid = owner.uid if owner else ""
    marked = (metadata.annotations or {}).get(EXTENDED_CLAIM_KEY) == "true"
    return ResourceClaim(
        namespace=_shared(metadata.namespace or ""),
        name=metadata.name,
        uid=metadata.uid,
        spec=_spec(obj.spec.devices or DeviceClaimObject(), problems),
        owner=uid,
        pod_group=owner.name if owner is not None and _is_pod_group(owner) else "",
        extended_for=uid if marked else "",
        deleting=metadata.deletion_timestamp is not None,
        allocation=_allocation(status.allocation, problems)
        if status and status.allocation
        else None,
        reserved_for=tuple(
            Consumer(each.resource, each.name, each.uid, each.api_group or "")
            for each in (status.reserved_for if status else None) or ()
        ),
        states=tuple(_state(each) for each in (status.devices if status else None) or ()),
        resource_version=metadata.resource_version or "",
        problem=problems.text(),
    )


def _is_pod_group(owner: OwnerReference) -> bool:
    return owner.kind == "PodGroup" and owner.api_version.startswith(f"{SCHEDULING}/")


class _BoundedProblems(Problems):
    """Problems of one object, of which there may be as many as it has devices."""

    def append(self, problem: str) -> None:
        if len(self) < _MOST_TOLD:
            super().append(problem)


# ── devices ──────────────────────────────────────────────────────────────────────────────────


def _device(obj: DeviceObject, driver: str, path: str, problems: Problems) -> Device | None:
    """A device; None = it is malformed, and not offered."""
    told, basic = len(problems), obj.basic or obj
    attributes = _attributes(basic, driver, path, problems)
    names = tuple(sorted(attributes))
    unread = _BoundedProblems()
    traits = Traits(
        names=names,
        capacity=_capacity(basic, path, unread, problems),
        consumes=_consumes(basic, path, unread),
        taints=tuple(
            DeviceTaint(each.key, each.value or "", each.effect) for each in basic.taints or ()
        ),
        site=_site(basic.node_name, basic.node_selector, basic.all_nodes, path, unread),
        binds_to_node=bool(basic.binds_to_node),
        conditions=basic.binding_conditions or (),
        failures=basic.binding_failure_conditions or (),
        shared=basic.allow_multiple_allocations,
    )
    if unread:
        problems += unread[: max(0, _MOST_TOLD - told)]
        return None
    return Device(obj.name, tuple(attributes[name] for name in names), _TRAITS.of(traits))


@lru_cache(maxsize=16384)
def _same(text: str) -> str:
    return text


def _shared(text: str) -> str:
    return _same(text) if len(text) <= _LONGEST_SHARED else text


@lru_cache(maxsize=4096)
def _qualified(name: str, driver: str) -> str:
    """The name with its domain; without one, the driver's."""
    return name if "/" in name else f"{driver}/{name}"


def _attributes(
    device: BasicDevice, driver: str, path: str, problems: Problems
) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {}
    # Names with an explicit domain take precedence over the driver's.
    for name, each in sorted((device.attributes or {}).items(), key=lambda item: "/" in item[0]):
        value = _value(each)
        if value is None:
            problems.append(f"{path}.attributes[{quoted(name)}]: holds no value that is known")
        else:
            found[_qualified(name, driver)] = value
    return found


def _value(given: AttributeObject) -> AttributeValue | None:
    """Its value; if several are set, the one that the API lists first."""
    if given.int_ is not None:
        return given.int_
    if given.bool_ is not None:
        return given.bool_
    if given.string is not None:
        return _shared(given.string)
    if given.version is not None:
        return Version(given.version)
    lists = given.ints, given.bools, given.strings
    found: tuple[Any, ...] | None = next((each for each in lists if each is not None), None)
    if found is None and given.versions is not None:
        return tuple(map(Version, given.versions))
    return found


def _capacity(
    device: BasicDevice, path: str, unread: Problems, problems: Problems
) -> tuple[DeviceCapacity, ...]:
    found: list[DeviceCapacity] = []
    for name, each in sorted((device.capacity or {}).items()):
        where = f"{path}.capacity[{quoted(name)}]"
        value = _amount(each.value, f"{where}.value", unread)
        if value < 0:
            problems.append(f"{where}.value: {quoted(str(each.value))} is negative")
        found.append(DeviceCapacity(_shared(name), value, _policy(each, where, unread)))
    return tuple(found)


def _policy(given: CapacityObject, path: str, unread: Problems) -> CapacityPolicy | None:
    policy: PolicyObject | None = given.request_policy
    if policy is None:
        return None
    within, where = policy.valid_range, f"{path}.requestPolicy"
    step = _maybe(within.step if within else None, f"{where}.validRange.step", unread)
    if step is not None and -(-step // 10**9) <= 0:
        unread.append(f"{where}.validRange.step: must be above zero")
    minimum = _maybe(within.min if within else None, f"{where}.validRange.min", unread)
    if within is not None and minimum is None:
        unread.append(f"{where}.validRange.min: missing")
    return CapacityPolicy(
        default=_maybe(policy.default, f"{where}.default", unread),
        values=tuple(
            _amount(each, f"{where}.validValues", unread) for each in policy.valid_values or ()
        ),
        minimum=minimum,
        maximum=_maybe(within.max if within else None, f"{where}.validRange.max", unread),
        step=step,
    )


def _consumes(device: BasicDevice, path: str, unread: Problems) -> tuple[Consumption, ...]:
    found: list[Consumption] = []
    for position, each in enumerate(device.consumes_counters or ()):
        where = f"{path}.consumesCounters[{position}]"
        amounts = _counters(each, where, unread)
        if any(amount < 0 for _, amount in amounts):
            unread.append(f"{where}: consumes less than nothing")
        found.append(Consumption(_shared(each.counter_set), amounts))
    return tuple(found)


def _counters(given: CounterSetObject, path: str, problems: Problems) -> Amounts:
    counters = given.counters or {}
    return tuple(
        (_shared(name), _amount(counters[name].value, f"{path}.counters[{quoted(name)}]", problems))
        for name in sorted(counters)
    )


def _site(
    node: str | None,
    selector: NodeSelector | None,
    everywhere: bool | None,
    path: str,
    problems: Problems,
) -> DeviceReach:
    if node:
        return DeviceReach(_shared(node))
    if everywhere:
        return DeviceReach(everywhere=True)
    told = len(problems)
    terms = required_node_terms(selector, f"{path}.nodeSelector", problems)
    if len(problems) > told:  # what is not understood selects nothing
        return DeviceReach()
    return DeviceReach(terms=terms)


# ── classes, claims ──────────────────────────────────────────────────────────────────────────


def _spec(devices: DeviceClaimObject, problems: Problems) -> ClaimSpec:
    path = "spec.devices.requests"
    return _SPECS.of(
        ClaimSpec(
            tuple(
                _request(each, f"{path}[{at}]", problems)
                for at, each in enumerate(devices.requests or ())
            ),
            tuple(map(_constraint, devices.constraints or ())),
            _config(devices.config),
        )
    )


def _request(given: RequestObject, path: str, problems: Problems) -> Request:
    if given.exactly is not None:
        return Request(given.name, _ask(given.exactly, given.name, f"{path}.exactly", problems))
    if given.first_available:
        return Request(
            given.name,
            first=tuple(
                _ask(each, each.name, f"{path}.firstAvailable[{at}]", problems)
                for at, each in enumerate(given.first_available)
            ),
        )
    if given.device_class_name is not None:  # as v1beta1 writes it
        return Request(given.name, _ask(given, given.name, path, problems))
    return Request(given.name)


def _ask(given: AskObject, name: str, path: str, problems: Problems) -> SubRequest:
    capacity = (given.capacity.requests if given.capacity else None) or {}
    return SubRequest(
        name=name,
        device_class=given.device_class_name or "",
        selectors=_selectors(given.selectors),
        mode=given.allocation_mode or "ExactCount",
        count=1 if given.count is None else given.count,
        admin=bool(given.admin_access),
        tolerations=_tolerations(given.tolerations),
        capacity=tuple(
            (key, _amount(capacity[key], f"{path}.capacity.requests[{quoted(key)}]", problems))
            for key in sorted(capacity)
        ),
    )


def _constraint(given: ConstraintObject) -> DeviceConstraint:
    requests = given.requests or ()
    if given.match_attribute is not None:
        return DeviceConstraint(given.match_attribute, requests=requests)
    return DeviceConstraint(given.distinct_attribute or "", distinct=True, requests=requests)


def _selectors(given: Iterable[SelectorObject] | None) -> tuple[str, ...]:
    return tuple(each.cel.expression if each.cel else "" for each in given or ())


def _tolerations(given: Iterable[TolerationObject] | None) -> tuple[DeviceToleration, ...]:
    return tuple(
        DeviceToleration(
            each.key or "",
            each.operator or "Equal",
            each.value or "",
            each.effect or "",
            each.toleration_seconds,
        )
        for each in given or ()
    )


def _config(given: Iterable[ConfigObject] | None) -> tuple[Config, ...]:
    return tuple(
        Config(
            b"" if each.opaque is None else msgspec.json.encode(each.opaque),
            each.requests or (),
            each.source or "",
        )
        for each in given or ()
    )


def _allocation(given: AllocationObject, problems: Problems) -> Allocation:
    devices, path = given.devices, "status.allocation"
    results = (devices.results if devices else None) or ()
    at = given.allocation_timestamp
    return Allocation(
        results=tuple(
            AllocatedDevice(
                request=each.request,
                driver=_shared(each.driver),
                pool=_shared(each.pool),
                device=each.device,
                admin=bool(each.admin_access),
                tolerations=_tolerations(each.tolerations),
                conditions=each.binding_conditions or (),
                failures=each.binding_failure_conditions or (),
                share=each.share_id or "",
                consumed=tuple(
                    (name, _amount(amount, f"{path}.devices.results[{position}]", problems))
                    for name, amount in sorted((each.consumed_capacity or {}).items())
                ),
            )
            for position, each in enumerate(results)
        ),
        config=_config(devices.config if devices else None),
        terms=required_node_terms(given.node_selector, f"{path}.nodeSelector", problems),
        at=seconds_of(at) if at else None,
    )


def _state(given: StateObject) -> DeviceState:
    true = frozenset(each.type for each in given.conditions or () if each.status == "True")
    return DeviceState(given.driver, given.pool, given.device, true)


def _amount(given: Quantity, path: str, problems: Problems) -> int:
    try:
        return nano(given)
    except ValueError as error:
        problems.append(f"{path}: {error}")
        return 0


def _maybe(given: Quantity | None, path: str, problems: Problems) -> int | None:
    return None if given is None else _amount(given, path, problems)
