# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A provisioner whose volumes hold nothing: it makes and deletes PersistentVolumes by name only.

It serves the classes that name it, as an external provisioner does: told by the claim's annotation,
on the node that a scheduler selected where the class waits for one. A claim that it cannot serve
loses its selected node, so that the scheduler chooses again.

A class with parameter `capacityPerNode` has that much on each node: published as
CSIStorageCapacity, and never exceeded. A claim with annotation `sandbox.enbloc.dev/refuse` is
refused for the reason that it gives.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from enbloc.client.client import Client
from enbloc.client.paths import (
    CSI_DRIVERS,
    CSI_STORAGE_CAPACITIES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
)
from enbloc.model import names
from enbloc.model.pins import HOSTNAME
from enbloc.model.quantity import render, whole
from enbloc_sandbox.nodes.claims.events import Reporter
from enbloc_sandbox.nodes.claims.following import Change, Following, each
from enbloc_sandbox.nodes.claims.of_pods import Objects
from enbloc_sandbox.nodes.claims.volumes import (
    PROVISIONED_BY,
    PROVISIONER,
    SELECTED_NODE,
    StorageClass,
    class_of,
    size_of,
)
from enbloc_sandbox.nodes.objects import Metadata, Object

#: The provisioner that a StorageClass names, and the driver of its volumes.
DISK_DRIVER: Final = "disk.sandbox.enbloc.dev"
#: The parameter of a class: how much of it each node has.
CAPACITY: Final = "capacityPerNode"
#: Where the CSIStorageCapacity objects are: any namespace will do.
_NAMESPACE: Final = "kube-system"
#: What is left of a class without a limit (bytes).
_PLENTY: Final = 2**60
#: In place of a node's name, in the name of what all nodes have.
_EVERYWHERE: Final = "everywhere"
_REPORTER: Final = Reporter(DISK_DRIVER, "Provision")


class Capacity(msgspec.Struct, frozen=True, rename="camel"):
    """A CSIStorageCapacity, as far as it is read here."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    capacity: str = "0"


@dataclass(frozen=True, slots=True)
class Stock:
    """All that the provisioner looks at.

    Attributes:
        classes: by name.
        claims: by namespace/name.
        volumes: by name.
        nodes: by name.
        capacities: CSIStorageCapacity objects by namespace/name.
        drivers: CSIDriver objects by name.
        refused: UID and resourceVersion of claims that have had their answer.
    """

    classes: Mapping[str, StorageClass]
    claims: Objects
    volumes: Objects
    nodes: Objects
    capacities: Mapping[str, Capacity]
    drivers: Objects
    refused: set[tuple[str, str]]


def changes(stock: Stock) -> Iterator[Change]:
    """What is to be written next, as things stand."""
    ours = {name: one for name, one in stock.classes.items() if one.provisioner == DISK_DRIVER}
    used = _used(stock.volumes.values())

    def of_claim(claim: Object) -> Iterator[Change]:
        found = ours.get(class_of(claim))
        if found is not None and _is_asked(claim, found):
            yield from _provision(claim, found, stock, used)

    yield from each(stock.volumes.values(), _reclaimed)
    yield from each(stock.claims.values(), of_claim)
    yield from _published(ours, stock, used)


def _reclaimed(volume: Object) -> Iterator[Change]:
    policy = volume.spec.get("persistentVolumeReclaimPolicy")
    made = volume.annotations.get(PROVISIONED_BY) == DISK_DRIVER
    if made and volume.phase == "Released" and policy == "Delete" and not volume.deleting:
        yield Change(volume, PERSISTENT_VOLUMES, None)


def _is_asked(claim: Object, found: StorageClass) -> bool:
    return (
        claim.annotations.get(PROVISIONER) == DISK_DRIVER
        and not claim.spec.get("volumeName")
        and not claim.deleting
        and (not found.waits or SELECTED_NODE in claim.annotations)
    )


def _provision(
    claim: Object, found: StorageClass, stock: Stock, used: dict[tuple[str, str], int]
) -> Iterator[Change]:
    name = f"pvc-{claim.metadata.uid}"
    node = claim.annotations.get(SELECTED_NODE, "")
    seen = (claim.metadata.uid, claim.metadata.resource_version)
    if name in stock.volumes or seen in stock.refused:
        return
    why = claim.annotations.get(names.REFUSE_KEY, "")
    if not why and node and node not in stock.nodes:
        why = f'node "{node}" not found'
    room = _room(found)
    key = (found.metadata.name, node)
    if not why and room is not None and used.get(key, 0) + size_of(claim) > room:
        why = f"not enough capacity of class {found.metadata.name} on node {node}"
    if why:
        stock.refused.add(seen)
        note = f'failed to provision volume with StorageClass "{class_of(claim)}": {why}'
        yield _REPORTER.warning(claim, PERSISTENT_VOLUME_CLAIMS, "ProvisioningFailed", note)
        if node:
            chosen = {"metadata": {"annotations": {SELECTED_NODE: None}}}
            yield Change(claim, PERSISTENT_VOLUME_CLAIMS, chosen)
        return
    used[key] = used.get(key, 0) + size_of(claim)
    yield Change(claim, PERSISTENT_VOLUMES, _volume(name, claim, found, node), create=True)


#: Modes of volumes that are reached from everywhere, as those of file servers.
_MANY_NODES: Final = frozenset(("ReadWriteMany", "ReadOnlyMany"))


def _volume(name: str, claim: Object, found: StorageClass, node: str) -> dict[str, Any]:
    meta = claim.metadata
    spec: dict[str, Any] = {
        "accessModes": claim.spec.get("accessModes"),
        "capacity": {"storage": claim.spec["resources"]["requests"]["storage"]},
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
        },
        "csi": {"driver": DISK_DRIVER, "volumeHandle": name},
        "persistentVolumeReclaimPolicy": found.reclaim_policy,
        "storageClassName": found.metadata.name,
        "volumeMode": claim.spec.get("volumeMode"),
    }
    if node and not _MANY_NODES & set(spec["accessModes"] or ()):
        term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    annotations = {PROVISIONED_BY: DISK_DRIVER}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": spec}


# ── capacity ─────────────────────────────────────────────────────────────────────────────────
def _room(found: StorageClass) -> int | None:
    """Bytes of a class on each node; None = without limit."""
    text = (found.parameters or {}).get(CAPACITY)
    try:
        return None if text is None else whole(text)
    except ValueError:
        return 0  # nothing can be made of such a class


def _used(volumes: Iterable[Object]) -> dict[tuple[str, str], int]:
    """Bytes of our volumes by class and node."""
    found: dict[tuple[str, str], int] = {}
    for volume in volumes:
        if volume.annotations.get(PROVISIONED_BY) == DISK_DRIVER:
            try:
                required = volume.spec["nodeAffinity"]["required"]
                node = required["nodeSelectorTerms"][0]["matchExpressions"][0]["values"][0]
            except (LookupError, TypeError):
                continue  # on no node, or made by somebody else
            key = (class_of(volume), node)
            found[key] = found.get(key, 0) + size_of(volume)
    return found


def _published(
    ours: Mapping[str, StorageClass], stock: Stock, used: Mapping[tuple[str, str], int]
) -> Iterator[Change]:
    """What is left of each class on each node, once a class says how much there is.

    From then on a scheduler asks it of all classes of the driver: those without a limit, and those
    that come when the first one has gone, have plenty everywhere.
    """
    asked = DISK_DRIVER in stock.drivers
    if not asked and all(_room(found) is None for found in ours.values()):
        return
    if not asked:
        spec = {"attachRequired": False, "storageCapacity": True}
        body = {"metadata": {"name": DISK_DRIVER}, "spec": spec}
        yield Change(Object(), CSI_DRIVERS, body, create=True)
    for name, found in ours.items():
        room = _room(found)
        for node in stock.nodes if room is not None else (_EVERYWHERE,):
            left = _PLENTY if room is None else max(0, room - used.get((name, node), 0))
            there = stock.capacities.get(f"{_NAMESPACE}/{name}-{node}")
            text = render("storage", left)
            if there is None:
                body = {
                    "metadata": {"name": f"{name}-{node}"},
                    "storageClassName": name,
                    "nodeTopology": {} if room is None else {"matchLabels": {HOSTNAME: node}},
                    "capacity": text,
                }
                where = Object(Metadata(namespace=_NAMESPACE))
                yield Change(where, CSI_STORAGE_CAPACITIES, body, create=True)
            elif whole(there.capacity) != left:
                seen = Object(there.metadata)
                yield Change(seen, CSI_STORAGE_CAPACITIES, {"capacity": text})


class Provisioner:
    """Serves the classes of `DISK_DRIVER`.

    Args:
        client: the API.
    """

    def __init__(self, client: Client) -> None:
        self._refused: set[tuple[str, str]] = set()
        self._following = Following(
            client,
            STORAGE_CLASSES,
            PERSISTENT_VOLUME_CLAIMS,
            PERSISTENT_VOLUMES,
            NODES,
            CSI_STORAGE_CAPACITIES,
            CSI_DRIVERS,
            shapes={STORAGE_CLASSES: StorageClass, CSI_STORAGE_CAPACITIES: Capacity},
        )

    async def run(self) -> None:
        """Work until cancelled."""
        await self._following.run(self._step)

    async def _step(self) -> None:
        of = self._following.of
        claims = of(PERSISTENT_VOLUME_CLAIMS)
        states = {(one.metadata.uid, one.metadata.resource_version) for one in claims.values()}
        self._refused &= states
        stock = Stock(
            classes=of(STORAGE_CLASSES),
            claims=claims,
            volumes=of(PERSISTENT_VOLUMES),
            nodes=of(NODES),
            capacities=of(CSI_STORAGE_CAPACITIES),
            drivers=of(CSI_DRIVERS),
            refused=self._refused,
        )
        await self._following.carry_out(list(changes(stock)))
