# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# Hooks share their arguments and say in hooks.py what they are for.
# ruff: noqa: ARG002, D102
"""Hooks of devices: claims and their templates, classes, slices of what drivers offer.

Not checked: whether a CEL expression compiles. A real API server refuses one that does not, here
it is for the scheduler to name it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from enbloc_sandbox.apiserver.kinds.hooks import Api, Kind
from enbloc_sandbox.apiserver.schema.metadata import label_rule
from enbloc_sandbox.apiserver.status import (
    FieldError,
    forbidden_field,
    not_supported,
    raw,
    required,
    wrong,
)

Document = Mapping[str, Any]
Fresh = dict[str, Any]

_CONSUMERS: Final = 256
_REQUESTS: Final = 32
_ALTERNATIVES: Final = 8
_SELECTORS: Final = 32
_DEVICES: Final = 128
#: With taints or counters a slice holds fewer devices.
_DEVICES_WITH_MORE: Final = 64
_MODES: Final = ("All", "ExactCount")
_FIXED: Final = "field is immutable"
_ONE_OF: Final = "exactly one of `exactly` or `firstAvailable` is required"
_UNKNOWN_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)
_NO_NEW_CONSUMERS: Final = (
    "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
)
#: The label of namespaces whose claims may have admin access.
_ADMINS: Final = "resource.kubernetes.io/admin-access"
_NODES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_OF_NODES: Final = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)


class ResourceClaim(Kind):
    """Claims: their spec is fixed, and an allocation stands until it is cleared."""

    returns_deleted = True

    def default(self, obj: Fresh) -> None:
        _default_claim(obj.setdefault("spec", {}))

    def prepare_status(self, api: Api, obj: Fresh, old: Document) -> None:
        metadata, before = obj["metadata"], old["metadata"]
        kept = ["labels", "annotations", "ownerReferences"]
        if metadata.get("deletionTimestamp") == before.get("deletionTimestamp"):
            kept.append("finalizers")  # only a deletion may change these here
        for name in kept:
            metadata.pop(name, None)
            if name in before:
                metadata[name] = before[name]

    def validate_create(self, api: Api, obj: Document) -> list[FieldError]:
        return list(_asks_as_admin(api, obj, obj["spec"]))

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        return list(_claim("spec", obj["spec"]))

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        return _same_spec(obj, old)

    def validate_status(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        return [*_has_as_admin(api, obj, old), *_status(obj, old)]


class ResourceClaimTemplate(Kind):
    """Templates of claims: fixed."""

    returns_deleted = True

    def default(self, obj: Fresh) -> None:
        _default_claim(obj.setdefault("spec", {}).setdefault("spec", {}))

    def validate_create(self, api: Api, obj: Document) -> list[FieldError]:
        return list(_asks_as_admin(api, obj, obj["spec"]["spec"]))

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        return list(_claim("spec.spec", obj["spec"]["spec"]))

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        return _same_spec(obj, old)


class DeviceClass(Kind):
    """Classes of devices."""

    generation = True
    returns_deleted = True

    def default(self, obj: Fresh) -> None:
        obj.setdefault("spec", {})

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        return list(_selectors("spec.selectors", obj["spec"].get("selectors") or ()))


class ResourceSlice(Kind):
    """What a driver offers on some nodes."""

    generation = True
    returns_deleted = True

    def default(self, obj: Fresh) -> None:
        obj.setdefault("spec", {})

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        _date_taints(api, obj)

    def prepare_update(self, api: Api, obj: Fresh, old: Document) -> None:
        _date_taints(api, obj)

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        return list(_slice(obj["spec"]))

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        new, before = obj["spec"], old["spec"]
        errors: list[FieldError] = []
        pool, had = (spec.get("pool", {}).get("name") for spec in (new, before))
        if pool != had:
            errors.append(wrong("spec.pool.name", pool, _FIXED))
        return errors + [
            wrong(f"spec.{name}", new.get(name), _FIXED)
            for name in ("driver", "nodeName")
            if new.get(name) != before.get(name)
        ]


# ── claims ───────────────────────────────────────────────────────────────────────────────────
def _default_claim(spec: Fresh) -> None:
    for request in spec.setdefault("devices", {}).get("requests") or ():
        asked = request.get("exactly")
        for one in [
            *([asked] if asked is not None else ()),
            *(request.get("firstAvailable") or ()),
        ]:
            if one.setdefault("allocationMode", "ExactCount") == "ExactCount":
                one["count"] = one.get("count") or 1


def _same_spec(obj: Document, old: Document) -> list[FieldError]:
    return [] if obj["spec"] == old["spec"] else [wrong("spec", raw("object"), _FIXED)]


def _claim(path: str, spec: Document) -> Iterator[FieldError]:
    path = f"{path}.devices"
    devices = spec["devices"]
    requests: Sequence[Document] = devices.get("requests") or ()
    if len(requests) > _REQUESTS:
        yield _too_many(f"{path}.requests", len(requests), _REQUESTS)
        return
    for i, request in enumerate(requests):
        yield from _request(f"{path}.requests[{i}]", request)
    yield from _unique(f"{path}.requests", requests)
    known = _request_names(spec)
    for i, constraint in enumerate(devices.get("constraints") or ()):
        where = f"{path}.constraints[{i}]"
        yield from _named_requests(f"{where}.requests", constraint.get("requests") or (), known)
        if not constraint.get("matchAttribute") and not constraint.get("distinctAttribute"):
            yield required(where, 'exactly one of "matchAttribute" or "distinctAttribute"')


def _request(path: str, request: Document) -> Iterator[FieldError]:
    yield from _named(path, request)
    exactly, several = request.get("exactly"), request.get("firstAvailable") or ()
    if exactly is None and not several:
        yield required(path, _ONE_OF)
    elif exactly is not None and several:
        detail = f"{_ONE_OF}, but multiple fields are set"
        yield wrong(path, None, detail)
    elif exactly is not None:
        yield from _asked(f"{path}.exactly", exactly)
    elif len(several) > _ALTERNATIVES:
        yield _too_many(f"{path}.firstAvailable", len(several), _ALTERNATIVES)
    else:
        yield from _unique(f"{path}.firstAvailable", several)
        for i, one in enumerate(several):
            yield from _named(f"{path}.firstAvailable[{i}]", one)
            yield from _asked(f"{path}.firstAvailable[{i}]", one)


def _asked(path: str, asked: Document) -> Iterator[FieldError]:
    if not asked.get("deviceClassName"):
        yield required(f"{path}.deviceClassName")
    yield from _selectors(f"{path}.selectors", asked.get("selectors") or ())
    mode, count = asked["allocationMode"], asked.get("count", 0)
    if mode not in _MODES:
        yield not_supported(f"{path}.allocationMode", mode, _MODES)
    elif mode == "All" and count:
        detail = "must not be specified when allocationMode is 'All'"
        yield wrong(f"{path}.count", count, detail)
    elif mode == "ExactCount" and count <= 0:
        yield wrong(f"{path}.count", count, "must be greater than zero")


def _selectors(path: str, selectors: Sequence[Document]) -> Iterator[FieldError]:
    if len(selectors) > _SELECTORS:
        yield _too_many(path, len(selectors), _SELECTORS)
        return
    for i, selector in enumerate(selectors):
        if not selector.get("cel"):
            yield required(f"{path}[{i}].cel")


def _request_names(spec: Document) -> frozenset[str]:
    """The requests of a claim, and their alternatives as "request/alternative"."""
    found: list[str] = []
    for request in spec["devices"].get("requests") or ():
        found.append(request.get("name", ""))
        for one in request.get("firstAvailable") or ():
            found.append(f"{request.get('name', '')}/{one.get('name', '')}")
    return frozenset(found)


def _named_requests(path: str, names: Sequence[str], known: frozenset[str]) -> Iterator[FieldError]:
    for i, name in enumerate(names):
        if name not in known:
            yield wrong(f"{path}[{i}]", name, _UNKNOWN_REQUEST)


def _status(obj: Document, old: Document) -> Iterator[FieldError]:
    state, before = obj.get("status") or {}, old.get("status") or {}
    reserved: Sequence[Document] = state.get("reservedFor") or ()
    path = "status.reservedFor"
    if len(reserved) > _CONSUMERS:
        yield _too_many(path, len(reserved), _CONSUMERS)
        return
    yield from _unique(path, reserved, "uid")
    for i, consumer in enumerate(reserved):
        for name in ("resource", "name", "uid"):
            if not consumer.get(name):
                yield required(f"{path}[{i}].{name}")
    allocation, had = state.get("allocation"), before.get("allocation")
    if reserved and allocation is None:
        yield forbidden_field(path, "may not be specified when `allocated` is not set")
    elif "deletionTimestamp" in obj["metadata"]:
        held = before.get("reservedFor") or ()
        if any(one not in held for one in reserved):
            yield forbidden_field(path, _NO_NEW_CONSUMERS)
    if allocation is not None and had is None:
        yield from _allocation(allocation, _request_names(obj["spec"]))
    elif allocation is not None and allocation != had:
        yield wrong("status.allocation", raw("object"), _FIXED)


def _allocation(allocation: Document, known: frozenset[str]) -> Iterator[FieldError]:
    results = (allocation.get("devices") or {}).get("results") or ()
    path = "status.allocation.devices.results"
    if len(results) > _REQUESTS:
        yield _too_many(path, len(results), _REQUESTS)
        return
    for i, result in enumerate(results):
        for name in ("driver", "pool", "device"):
            if not result.get(name):
                yield required(f"{path}[{i}].{name}")
        request = result.get("request", "")
        if request not in known:
            yield wrong(f"{path}[{i}].request", request, _UNKNOWN_REQUEST)


def _asks_as_admin(api: Api, obj: Document, spec: Document) -> Iterator[FieldError]:
    """A request for devices that others use, where the namespace does not allow one.

    The path is that of a claim, in a template too.

    Source: kube-apiserver v1.36 pkg/registry/resource/utils.go AuthorizedForAdmin.
    """
    for i, request in enumerate(spec["devices"].get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            yield from _admin(api, obj, f"spec.devices.requests[{i}].adminAccess")
            return


def _has_as_admin(api: Api, obj: Document, old: Document) -> Iterator[FieldError]:
    """The same of a device that is allocated.

    Source: kube-apiserver v1.36 pkg/registry/resource/utils.go AuthorizedForAdminStatus.
    """
    results, had = (
        (((one.get("status") or {}).get("allocation") or {}).get("devices") or {}).get("results")
        or ()
        for one in (obj, old)
    )
    if any(one.get("adminAccess") for one in had):
        return
    for i, result in enumerate(results):
        if result.get("adminAccess"):
            path = f"status.allocation.devices.results[{i}].adminAccess"
            yield from _admin(api, obj, path)
            return


def _admin(api: Api, obj: Document, path: str) -> Iterator[FieldError]:
    namespace = api.store.get("namespaces", ("", obj["metadata"]["namespace"]))
    labels = (namespace.obj["metadata"].get("labels") or {}) if namespace else {}
    if labels.get(_ADMINS) != "true":
        detail = (
            f"admin access to devices requires the `{_ADMINS}: true` label on the containing "
            "namespace"
        )
        yield forbidden_field(path, detail)


# ── slices ───────────────────────────────────────────────────────────────────────────────────
def _slice(spec: Document) -> Iterator[FieldError]:
    if not spec.get("driver"):
        yield required("spec.driver")
    pool = spec.get("pool") or {}
    if not pool.get("name"):
        yield required("spec.pool.name")
    if pool.get("resourceSliceCount", 0) <= 0:
        count = pool.get("resourceSliceCount", 0)
        yield wrong("spec.pool.resourceSliceCount", count, "must be greater than zero")
    if pool.get("generation", 0) < 0:
        detail = "must be greater than or equal to zero"
        yield wrong("spec.pool.generation", pool["generation"], detail)
    given = [name for name in _NODES if spec.get(name)]
    if not given:
        yield required("spec", _ONE_OF_NODES)
    elif len(given) > 1:
        listed = ", ".join(f"`{name}`" for name in given)
        detail = f"{_ONE_OF_NODES}, but multiple fields are set"
        yield wrong("spec", f"{{{listed}}}", detail)
    if "sharedCounters" in spec and "devices" in spec:
        yield wrong("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    devices: Sequence[Document] = spec.get("devices") or ()
    more = any(one.get("taints") or one.get("consumesCounters") for one in devices)
    most = _DEVICES_WITH_MORE if more else _DEVICES
    if len(devices) > most:
        yield _too_many("spec.devices", len(devices), most)
        return
    yield from _unique("spec.devices", devices)
    for i, device in enumerate(devices):
        yield from _named(f"spec.devices[{i}]", device)


def _date_taints(api: Api, obj: Fresh) -> None:
    for device in obj["spec"].get("devices") or ():
        for taint in device.get("taints") or ():
            taint.setdefault("timeAdded", api.now())


def _unique(path: str, items: Sequence[Document], key: str = "name") -> Iterator[FieldError]:
    seen: set[str] = set()
    for i, item in enumerate(items):
        value = item.get(key) or ""
        if value and value in seen:
            yield FieldError(f"{path}[{i}]", "Duplicate value", "", value)
        seen.add(value)


def _named(path: str, item: Document) -> Iterator[FieldError]:
    name = item.get("name") or ""
    if rule := label_rule(name):
        yield wrong(f"{path}.name", name, rule)


def _too_many(path: str, count: int, most: int) -> FieldError:
    return FieldError(path, "Too many", f"must have at most {most} items", count)
