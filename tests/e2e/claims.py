# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Volumes and devices of a test: how it makes them, and what must never be seen of them.

On a real control plane kube-controller-manager binds and makes claims; the provisioner and the
device driver are the sandbox's on both targets, as clients of the test.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from enbloc.client.client import PatchType
from enbloc.client.errors import Conflict, NotFound
from enbloc.client.items import Deleted, Seen, Synced
from enbloc.client.paths import (
    DEVICE_CLASSES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    STORAGE_CLASSES,
    Resource,
)
from enbloc.client.reflector import Reflector
from enbloc_sandbox.nodes import (
    DEVICE_DRIVER,
    DISK_DRIVER,
    DeviceDriver,
    Object,
    Provisioner,
    Shape,
)
from tests.e2e.world import World
from tests.patience import PATIENCE

TEMPLATES: Final = Resource(
    "resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"
)
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
#: The sandbox's provisioner refuses a claim with this annotation.
REFUSE: Final = "sandbox.enbloc.dev/refuse"


@asynccontextmanager
async def claims_of(world: World) -> AsyncGenerator["Claims"]:
    """What a test does with claims, watched from now on and judged at the end."""
    claims = Claims(world)
    world.keep("provisioner", Provisioner(world.client).run())
    world.keep("watch of claims", claims.watch())
    try:
        async with asyncio.timeout(PATIENCE):
            await claims.synced.wait()
        yield claims
        assert claims.problems == []
    finally:
        await claims.clean()


class Claims:
    """Creates storage and devices, and watches who has them.

    Args:
        world: where.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.synced = asyncio.Event()
        #: What must not have happened.
        self.problems: list[str] = []
        #: Most gangs that had some of what their claims are to get, and not all, at one time.
        self.most_in_part = 0
        self._lists = 0
        self._made: list[tuple[Resource, str]] = []
        self._known: dict[Resource, dict[str, Object]] = defaultdict(dict)

    def name(self, name: str) -> str:
        """The name of a cluster-scoped object of this test."""
        return f"{self._world.namespace}-{name}"

    # ── what is watched ──────────────────────────────────────────────────────────────────────

    async def watch(self) -> None:
        """Watch claims and volumes until cancelled."""
        kinds = (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, RESOURCE_CLAIMS)
        async with asyncio.TaskGroup() as tasks:
            for kind in kinds:
                tasks.create_task(self._watch(kind, len(kinds)))

    async def _watch(self, kind: Resource, kinds: int) -> None:
        known = self._known[kind]
        async for item in Reflector(self._world.client, kind, Object).stream():
            if isinstance(item, Seen):
                known[item.object.key] = item.object
                self._judge(kind)
            elif isinstance(item, Deleted):
                key = f"{item.meta.namespace}/{item.meta.name}"
                known.pop(key if item.meta.namespace else item.meta.name, None)
            elif isinstance(item, Synced):
                self._lists += 1
                if self._lists >= kinds:
                    self.synced.set()
            async with self._world.observer.changed:
                self._world.observer.changed.notify_all()

    def _judge(self, kind: Resource) -> None:
        """No device and no volume has two owners, at any time."""
        owners: dict[str, set[str]] = defaultdict(set)
        for one in self._known[kind].values():
            if kind == RESOURCE_CLAIMS:
                for device in devices_of(one):
                    owners[device].add(one.key)
            elif kind == PERSISTENT_VOLUME_CLAIMS and one.spec.get("volumeName"):
                owners[one.spec["volumeName"]].add(one.key)
        self.problems += [
            f"{what} belongs to {sorted(whose)}" for what, whose in owners.items() if len(whose) > 1
        ]
        partial = [name for name, (some, of) in self._shares(kind).items() if 0 < some < of]
        self.most_in_part = max(self.most_in_part, len(partial))

    def _shares(self, kind: Resource) -> Mapping[str, tuple[int, int]]:
        """By gang, whose claims begin with its name: how many have what they ask for, of all."""
        found: dict[str, tuple[int, int]] = {}
        for one in self.all(kind):
            gang = one.metadata.name.partition("-")[0]
            some, of = found.get(gang, (0, 0))
            found[gang] = (some + is_met(one), of + 1)
        return found

    def all(self, kind: Resource) -> list[Object]:
        """The objects of this test: those of its namespace, or that are named after it."""
        mine = self._world.namespace
        return [
            one
            for one in self._known[kind].values()
            if one.metadata.namespace == mine or one.metadata.name.startswith(f"{mine}-")
        ]

    def met(self, gang: str, kind: Resource = RESOURCE_CLAIMS) -> int:
        """How many claims of a gang have what they ask for."""
        return self._shares(kind).get(gang, (0, 0))[0]

    def chosen(self, gang: str) -> list[str]:
        """The claims of a gang for which a node is selected and that have no volume yet."""
        return [
            one.metadata.name
            for one in self.all(PERSISTENT_VOLUME_CLAIMS)
            if one.metadata.name.startswith(f"{gang}-")
            and SELECTED_NODE in one.annotations
            and not one.spec.get("volumeName")
        ]

    def made_for(self, gang: str) -> list[str]:
        """The volumes that are claimed by a gang."""
        owners = {
            one.metadata.name: (one.spec.get("claimRef") or {})
            for one in self._known[PERSISTENT_VOLUMES].values()
        }
        mine = self._world.namespace
        return [
            name
            for name, owner in owners.items()
            if owner.get("namespace") == mine and owner.get("name", "").startswith(f"{gang}-")
        ]

    def made(self) -> list[str]:
        """The claims for devices that there are."""
        return [one.metadata.name for one in self.all(RESOURCE_CLAIMS)]

    def devices(self) -> dict[str, str]:
        """Each device that is allocated, with the claim that has it."""
        return {
            device: one.metadata.name
            for one in self.all(RESOURCE_CLAIMS)
            for device in devices_of(one)
        }

    # ── storage ──────────────────────────────────────────────────────────────────────────────

    async def storage_class(
        self, name: str, *, waits: bool = True, provisioner: str = DISK_DRIVER, **parameters: str
    ) -> str:
        """A StorageClass; its whole name."""
        body = {
            "metadata": {"name": self.name(name)},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
            "parameters": parameters,
        }
        return await self._create(STORAGE_CLASSES, body)

    async def local_class(self, name: str = "local") -> str:
        """A class whose volumes are made by hand."""
        return await self.storage_class(name, provisioner="kubernetes.io/no-provisioner")

    async def volume(self, name: str, storage_class: str, node: str = "", size: str = "1Gi") -> str:
        """A PersistentVolume on a node, or one that is to be had everywhere; its whole name."""
        term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "storageClassName": storage_class,
            "hostPath": {"path": "/data"},
            **({"nodeAffinity": affinity} if node else {}),
        }
        made = await self._create(
            PERSISTENT_VOLUMES, {"metadata": {"name": self.name(name)}, "spec": spec}
        )
        await self._world.until(
            lambda: self._known[PERSISTENT_VOLUMES].get(made, Object()).phase == "Available",
            f"volume {made} is available",
        )
        return made

    async def claim(
        self,
        name: str,
        storage_class: str,
        size: str = "1Gi",
        *,
        mode: str = "ReadWriteOnce",
        **metadata: Any,
    ) -> None:
        """A PersistentVolumeClaim."""
        body = {
            "metadata": {"name": name, **metadata},
            "spec": claim_spec(storage_class, size, mode),
        }
        await self._world.client.create(PERSISTENT_VOLUME_CLAIMS, body, self._world.namespace)

    async def patch_claim(self, name: str, body: Mapping[str, Any]) -> None:
        """Merge this into a PersistentVolumeClaim."""
        await self._world.client.patch(
            PERSISTENT_VOLUME_CLAIMS, name, body, self._world.namespace, kind=PatchType.MERGE
        )

    async def members(self, gang: str, size: int, storage_class: str, **how: Any) -> None:
        """A gang each of whose pods has a volume of its own."""
        await self._world.gang(gang, size, volumes=[own(storage_class)], **how)

    # ── devices ──────────────────────────────────────────────────────────────────────────────

    async def offer(self, nodes: Sequence[str], count: int) -> None:
        """Give each node so many devices, by the sandbox's driver."""
        driver = DeviceDriver(self._world.client, [Shape(name, 0, 0) for name in nodes], count)
        self._world.keep(f"driver of {nodes[0]}", driver.run())
        async with asyncio.timeout(PATIENCE):
            await driver.published.wait()

    async def slice(self, node: str, devices: Iterable[Mapping[str, Any]], **pool: Any) -> str:
        """A ResourceSlice by hand; its name."""
        spec = {
            "driver": DEVICE_DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1, **pool},
            "devices": list(devices),
        }
        return await self._create(
            RESOURCE_SLICES, {"metadata": {"name": f"{node}-by-hand"}, "spec": spec}
        )

    async def fabric(self, *devices: str) -> None:
        """Devices that all nodes reach, and a class and a template for one of them."""
        await self.device_class()
        await self.template(device_class=self.name("gpu"))
        await self._reached("fabric", devices, {"allNodes": True})

    async def domain(self, name: str, label: str, value: str) -> None:
        """A device that the nodes with this label reach; its pool is `DRIVER/NAMESPACE-name`."""
        has = {"key": label, "operator": "In", "values": [value]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [has]}]}
        await self._reached(name, ["link"], {"nodeSelector": terms})

    async def _reached(self, name: str, devices: Sequence[str], where: Mapping[str, Any]) -> None:
        name = self.name(name)
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        listed = [{"name": each} for each in devices]
        spec = {"driver": DEVICE_DRIVER, "pool": pool, "devices": listed, **where}
        await self._create(RESOURCE_SLICES, {"metadata": {"name": name}, "spec": spec})

    def consumers(self) -> dict[str, list[tuple[str, str]]]:
        """For whom each claim is reserved: what and which."""
        return {
            one.metadata.name: [
                (each["resource"], each["name"]) for each in one.status.get("reservedFor") or ()
            ]
            for one in self.all(RESOURCE_CLAIMS)
        }

    async def slices(self, node: str) -> list[dict[str, Any]]:
        """The ResourceSlices of a node now."""
        query = {"fieldSelector": f"spec.nodeName={node}"}
        return [one async for one in self._world.client.list(RESOURCE_SLICES, query=query)]

    async def republish(self, node: str) -> None:
        """The driver of a node publishes the same devices as a new generation of their pool."""
        for one in await self.slices(node):
            generation = one["spec"]["pool"]["generation"] + 1
            await self._world.client.patch(
                RESOURCE_SLICES,
                one["metadata"]["name"],
                {"spec": {"pool": {"generation": generation}}},
                kind=PatchType.MERGE,
            )

    async def device_class(self, name: str = "", expression: str = "", serves: str = "") -> str:
        """A DeviceClass of the sandbox's devices; its whole name. It may serve a resource."""
        text = expression or f'device.driver == "{DEVICE_DRIVER}"'
        metadata = {"name": self.name(name or "gpu")}
        spec: dict[str, Any] = {"selectors": [{"cel": {"expression": text}}]}
        if serves:
            spec["extendedResourceName"] = serves
        return await self._create(DEVICE_CLASSES, {"metadata": metadata, "spec": spec})

    async def template(self, name: str = "gpu", **request: Any) -> None:
        """A ResourceClaimTemplate with one request; see `asking`."""
        body = {"metadata": {"name": name}, "spec": {"spec": asking(**request)}}
        await self._world.client.create(TEMPLATES, body, self._world.namespace)

    async def resource_claim(self, name: str, **request: Any) -> None:
        """A ResourceClaim with one request; see `asking`."""
        body = {"metadata": {"name": name}, "spec": asking(**request)}
        await self._world.client.create(RESOURCE_CLAIMS, body, self._world.namespace)

    # ── the end ──────────────────────────────────────────────────────────────────────────────

    async def _create(self, resource: Resource, body: Mapping[str, Any]) -> str:
        name: str = body["metadata"]["name"]
        await self._world.client.create(resource, body)
        self._made.append((resource, name))
        return name

    async def clean(self) -> None:
        """Delete what is of no namespace."""
        client = self._world.client
        for resource, name in self._made:
            with suppress(NotFound, Conflict):
                await client.delete(resource, name)
                if resource == PERSISTENT_VOLUMES:  # bound ones are protected
                    free = {"metadata": {"finalizers": None}}
                    await client.patch(resource, name, free, kind=PatchType.MERGE)


async def all_met(world: World, claims: Claims, gang: str, size: int) -> None:
    """Wait until a gang is bound and has devices of its own."""
    await world.bound(gang, size)
    await world.until(lambda: claims.met(gang) == size, f"{gang} has its devices")


def devices_of(claim: Object) -> list[str]:
    """The devices that a ResourceClaim has for itself."""
    allocation = claim.status.get("allocation") or {}
    return [
        f"{one['driver']}/{one['pool']}/{one['device']}"
        for one in (allocation.get("devices") or {}).get("results") or ()
        if not one.get("adminAccess") and not one.get("shareID")
    ]


def is_met(claim: Object) -> bool:
    """Whether a claim of either kind has what it asks for."""
    return "allocation" in claim.status or bool(claim.spec.get("volumeName"))


def claim_spec(
    storage_class: str, size: str = "1Gi", mode: str = "ReadWriteOnce"
) -> dict[str, Any]:
    """The spec of a PersistentVolumeClaim."""
    return {
        "accessModes": [mode],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": size}},
    }


def own(storage_class: str, size: str = "1Gi") -> dict[str, Any]:
    """A pod's volume with a claim of its own."""
    template = {"spec": claim_spec(storage_class, size)}
    return {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}


def mounted(*claims: str) -> list[dict[str, Any]]:
    """A pod's volumes of these claims."""
    return [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": name}}
        for number, name in enumerate(claims)
    ]


def asking(
    *, device_class: str = DEVICE_DRIVER, count: int = 1, expression: str = "", mode: str = ""
) -> dict[str, Any]:
    """The spec of a ResourceClaim with one request."""
    asked: dict[str, Any] = {"deviceClassName": device_class}
    if mode:
        asked["allocationMode"] = mode
    else:
        asked["count"] = count
    if expression:
        asked["selectors"] = [{"cel": {"expression": expression}}]
    return {"devices": {"requests": [{"name": "gpu", "exactly": asked}]}}


def from_template(name: str = "gpu") -> list[dict[str, Any]]:
    """A pod's resource claim that is made from a template."""
    return [{"name": "gpu", "resourceClaimTemplateName": name}]


def sharing(name: str) -> list[dict[str, Any]]:
    """A pod's resource claim that exists by itself."""
    return [{"name": "gpu", "resourceClaimName": name}]
