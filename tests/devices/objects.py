# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of resource.k8s.io for the tests, in few words."""

from typing import Any

import msgspec

from enbloc.devices.facts import DeviceClass, ResourceClaim, ResourceSlice
from enbloc.devices.table import Devices
from enbloc.ledgers import Ledgers
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodKey, PodResourceClaim, PodSpec, PodUID
from enbloc.model.resources import ResourceSpace
from enbloc.wire import device_codec as codec
from enbloc.wire.device_objects import ClassObject, SliceObject

DRIVER = "gpu.example.com"
Json = dict[str, Any]


def device(name: str, **fields: Any) -> Json:
    """A device; keyword `attributes` as plain values."""
    attributes = {
        key: {
            "bool"
            if isinstance(value, bool)
            else "int"
            if isinstance(value, int)
            else "string": value
        }
        for key, value in fields.pop("attributes", {}).items()
    }
    capacity = {
        key: value if isinstance(value, dict) else {"value": value}
        for key, value in fields.pop("capacity", {}).items()
    }
    made = {"name": name, "attributes": attributes, "capacity": capacity, **fields}
    return {key: value for key, value in made.items() if value or key == "name"}


def consumes(counters: str, **amounts: Any) -> Json:
    return {
        "counterSet": counters,
        "counters": {name: {"value": amount} for name, amount in amounts.items()},
    }


def counter_set(name: str, **amounts: Any) -> Json:
    return {"name": name, "counters": {key: {"value": value} for key, value in amounts.items()}}


def slice_of(
    node: str | None,
    *devices: Json,
    pool: str = "",
    name: str = "",
    driver: str = DRIVER,
    generation: int = 1,
    count: int = 1,
    **spec: Any,
) -> ResourceSlice:
    """A slice of a node's devices (None = `spec` says where they are)."""
    where = {"nodeName": node} if node else {}
    pool = pool or node or "pool"
    body = {
        "metadata": {"name": name or f"{driver}-{pool}"},
        "spec": {
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            "devices": list(devices),
            **where,
            **spec,
        },
    }
    return codec.resource_slice(msgspec.convert(body, SliceObject))


def device_class(name: str = "gpu", *selectors: str, **spec: Any) -> DeviceClass:
    body = {
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"selectors": [{"cel": {"expression": each}} for each in selectors], **spec},
    }
    return codec.device_class(msgspec.convert(body, ClassObject))


def exactly(
    name: str = "gpus", count: int = 1, of: str = "gpu", *selectors: str, **more: Any
) -> Json:
    """A request for so many devices of a class."""
    return {"name": name, "exactly": _ask(of, selectors, count=count, **more)}


def every(name: str = "gpus", of: str = "gpu", *selectors: str, **more: Any) -> Json:
    """A request for all devices of a class."""
    return {"name": name, "exactly": _ask(of, selectors, allocationMode="All", **more)}


def first_of(name: str, *asks: Json) -> Json:
    return {"name": name, "firstAvailable": list(asks)}


def ask(name: str, count: int = 1, of: str = "gpu", *selectors: str, **more: Any) -> Json:
    return {"name": name, **_ask(of, selectors, count=count, **more)}


def _ask(of: str, selectors: tuple[str, ...], **more: Any) -> Json:
    made: Json = {"deviceClassName": of, **more}
    if selectors:
        made["selectors"] = [{"cel": {"expression": each}} for each in selectors]
    return made


def claim(
    name: str,
    *requests: Json,
    owner: str = "",
    status: Json | None = None,
    constraints: tuple[Json, ...] = (),
    config: tuple[Json, ...] = (),
    uid: str = "",
    metadata: Json | None = None,
) -> ResourceClaim:
    """A claim; `owner`: the pod that it was made for."""
    meta: Json = {
        "name": name,
        "namespace": "default",
        "uid": uid or f"uid-{name}",
        **(metadata or {}),
    }
    if owner:
        meta["ownerReferences"] = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": owner,
                "uid": f"uid-{owner}",
                "controller": True,
            }
        ]
    made = codec.read_resource_claim(
        {
            "metadata": meta,
            "spec": {
                "devices": {
                    "requests": list(requests),
                    "constraints": list(constraints),
                    "config": list(config),
                }
            },
            "status": status or {},
        }
    )
    assert isinstance(made, ResourceClaim), made
    return made


def allocated(*devices: str, pool: str, request: str = "gpus", **more: Any) -> Json:
    """A status with these devices."""
    results = [
        {"request": request, "driver": DRIVER, "pool": pool, "device": each} for each in devices
    ]
    return {"allocation": {"devices": {"results": results}}, **more}


def pod(name: str, *claims: str | None, shared: bool = False, **fields: Any) -> Pod:
    """A pod with one claim of a template each; `shared`: it names the claims."""
    spec = fields.pop("spec", None) or PodSpec(
        resource_claims=tuple(
            PodResourceClaim(f"claim-{at}", "" if shared else f"template-{at}")
            for at in range(len(claims))
        )
    )
    return Pod(
        key=PodKey("default", name),
        uid=PodUID(f"uid-{name}"),
        spec=spec,
        resource_claims=tuple(claims),
        **fields,
    )


def nodes(*names: str, **labels: str) -> Nodes:
    """A table of such nodes."""
    table = Nodes(ResourceSpace(), Ledgers())
    for name in names:
        table.put(
            Node(
                name,
                labels=tuple(sorted(labels.items())),
                allocatable=(("cpu", 64000), ("pods", 110)),
            )
        )
    return table


def table(*facts: Any) -> Devices:
    """A device table with these objects."""
    made = Devices()
    for each in facts:
        made.put(each)
    return made


def picked(devices: Devices, of: Pod) -> list[list[str]]:
    """The devices that a pod's claims get, as pool/device, by claim; a missing one is empty."""
    decision = devices.decision(of.uid)
    found = [each.allocation for each in decision.claims] if decision is not None else []
    if decision is not None and decision.extended is not None:
        found.append(decision.extended.allocation)
    return [
        [f"{result.pool}/{result.device}" for result in each.results] if each else []
        for each in found
    ]
