# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A device driver that has no devices: it publishes the ResourceSlices of the sandbox's nodes."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Final

from enbloc.client.client import Client
from enbloc.client.paths import DEVICE_CLASSES, NODES, RESOURCE_SLICES
from enbloc_sandbox.nodes.claims.following import Change, Following
from enbloc_sandbox.nodes.claims.of_pods import Objects
from enbloc_sandbox.nodes.objects import Object, reference
from enbloc_sandbox.nodes.shapes import Shape

#: The driver of the devices, and the DeviceClass that selects them.
DEVICE_DRIVER: Final = "gpu.sandbox.enbloc.dev"
#: A ResourceSlice holds no more devices.
_PER_SLICE: Final = 128
#: Devices that share a NUMA node, as in a server with two sockets and eight GPUs.
_PER_NUMA_NODE: Final = 4


def device_class() -> dict[str, Any]:
    """The DeviceClass of all devices of the driver."""
    selector = {"cel": {"expression": f'device.driver == "{DEVICE_DRIVER}"'}}
    return {"metadata": {"name": DEVICE_DRIVER}, "spec": {"selectors": [selector]}}


def slices(node: Object, model: str, count: int) -> Iterator[dict[str, Any]]:
    """The ResourceSlices of a node's devices."""
    name = node.metadata.name
    chunks = range(0, count, _PER_SLICE)
    for number, first in enumerate(chunks):
        devices = range(first, min(first + _PER_SLICE, count))
        yield {
            "metadata": {
                "name": f"{name}-{DEVICE_DRIVER}-{number}",
                "ownerReferences": [reference(node, NODES, controller=False)],
            },
            "spec": {
                "driver": DEVICE_DRIVER,
                "nodeName": name,
                "pool": {"name": name, "generation": 1, "resourceSliceCount": len(chunks)},
                "devices": [_device(index, model) for index in devices],
            },
        }


def _device(index: int, model: str) -> dict[str, Any]:
    return {
        "name": f"gpu-{index}",
        "attributes": {
            "index": {"int": index},
            "model": {"string": model},
            "numaNode": {"int": index // _PER_NUMA_NODE},
        },
        "capacity": {"memory": {"value": "32Gi"}},
    }


class DeviceDriver:
    """Publishes devices of `DEVICE_DRIVER` on nodes; what it finds published it leaves alone.

    Args:
        client: the API.
        shapes: the nodes.
        count: devices of each.
    """

    def __init__(self, client: Client, shapes: Sequence[Shape], count: int) -> None:
        self._following = Following(client, NODES, RESOURCE_SLICES, DEVICE_CLASSES)
        self._models = {shape.name: shape.model or "sandbox" for shape in shapes}
        self._count = count
        self.published = asyncio.Event()

    async def run(self) -> None:
        """Work until cancelled; `published` is set once every node has its slices."""
        await self._following.run(self._step)

    async def _step(self) -> None:
        found = list(self._changes(self._following.of(NODES), self._following.of(RESOURCE_SLICES)))
        if not found and self._models.keys() <= self._following.of(NODES).keys():
            self.published.set()
        await self._following.carry_out(found)

    def _changes(self, nodes: Objects, there: Objects) -> Iterator[Change]:
        if DEVICE_DRIVER not in self._following.of(DEVICE_CLASSES):
            yield Change(Object(), DEVICE_CLASSES, device_class(), create=True)
        for name, model in self._models.items():
            if name in nodes:
                for one in slices(nodes[name], model, self._count):
                    if one["metadata"]["name"] not in there:
                        yield Change(nodes[name], RESOURCE_SLICES, one, create=True)
