# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Volumes, claims and device claims as tests write them, and a scheduler's hand in them."""

from typing import Any

from enbloc.client.client import PatchType
from enbloc.client.paths import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
)
from enbloc_sandbox.nodes import DEVICE_DRIVER, DISK_DRIVER
from enbloc_sandbox.nodes.shapes import Shape
from sandbox.tests.nodes.conftest import Yard

NODE = Shape("n1", 64_000, 64 * 2**30)
SELECTED = "volume.kubernetes.io/selected-node"


def claim(name: str, storage_class: str = "", size: str = "1Gi", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "annotations": more.pop("annotations", {})}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": size}},
        **more,
    }
    return {"metadata": metadata, "spec": spec}


def volume(name: str, storage_class: str = "", size: str = "1Gi", **more: Any) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "storageClassName": storage_class,
        "hostPath": {"path": "/data"},
        **more,
    }
    return {"metadata": {"name": name}, "spec": spec}


def on_node(name: str) -> dict[str, Any]:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}


async def storage_class(yard: Yard, name: str, *, waits: bool = True, **parameters: str) -> None:
    body = {
        "metadata": {"name": name},
        "provisioner": DISK_DRIVER,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
        "parameters": parameters,
    }
    await yard.client.create(STORAGE_CLASSES, body)


async def claimed(yard: Yard, body: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = await yard.client.create(PERSISTENT_VOLUME_CLAIMS, body, "default")
    return made


async def select_node(yard: Yard, name: str, node: str) -> None:
    """As a scheduler tells a provisioner where."""
    chosen = {"metadata": {"annotations": {SELECTED: node}}}
    await yard.client.patch(PERSISTENT_VOLUME_CLAIMS, name, chosen, "default", kind=PatchType.MERGE)


async def bound(yard: Yard, name: str) -> dict[str, Any]:
    return await yard.until(
        PERSISTENT_VOLUME_CLAIMS, name, lambda one: one["status"].get("phase") == "Bound"
    )


async def volume_is(yard: Yard, name: str, phase: str) -> dict[str, Any]:
    return await yard.until(
        PERSISTENT_VOLUMES, name, lambda one: one["status"].get("phase") == phase
    )


async def node(yard: Yard, name: str = "n1") -> None:
    """A Node without a kubelet."""
    await yard.client.create(NODES, Shape(name, 1000, 2**30).manifest())


def mounting(*claims: str) -> list[dict[str, Any]]:
    """A pod's volumes of these claims."""
    return [
        {"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}}
        for i, name in enumerate(claims)
    ]


async def bind(yard: Yard, name: str, to: str = "n1") -> None:
    """As a scheduler binds a pod."""
    body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": to}}
    await yard.client.create(PODS, body, "default", name=name, subresource="binding")


def asking(*names: str) -> dict[str, Any]:
    requests = [
        {"name": name, "exactly": {"deviceClassName": DEVICE_DRIVER}} for name in names or ("gpu",)
    ]
    return {"devices": {"requests": requests}}


async def allocate(
    yard: Yard, name: str, to: dict[str, Any], device: str = "gpu-0", *, of: str = "pods"
) -> None:
    """As a scheduler allocates a claim to a pod, or to a PodGroup, in two writes."""
    held = {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}}
    await yard.client.patch(RESOURCE_CLAIMS, name, held, "default", kind=PatchType.MERGE)
    result = {"request": "gpu", "driver": DEVICE_DRIVER, "pool": "n1", "device": device}
    consumer = {
        **({} if of == "pods" else {"apiGroup": "scheduling.k8s.io"}),
        "resource": of,
        "name": to["metadata"]["name"],
        "uid": to["metadata"]["uid"],
    }
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [consumer]}
    await yard.client.patch(
        RESOURCE_CLAIMS,
        name,
        {"status": status},
        "default",
        kind=PatchType.MERGE,
        subresource="status",
    )
