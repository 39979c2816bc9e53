# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Volumes, claims and pods that use them, in one line each; sizes are in GiB."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from enbloc.ledgers import Ledgers, ledgers_of, own_ledgers
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import NodeSelectorTerm, Pod, PodKey, PodSpec, PodUID, PodVolume
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.resources import ResourceSpace
from enbloc.model.selectors import Selector
from enbloc.storage.facts import (
    Affinity,
    Attachable,
    ClaimRef,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeFact,
)
from enbloc.storage.table import Volumes
from tests.world.builders import node

GIB: Final = 2**30
HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
RWO: Final = "ReadWriteOnce"
RWX: Final = "ReadWriteMany"
RWOP: Final = "ReadWriteOncePod"
LOCAL: Final = StorageClass("local", "kubernetes.io/no-provisioner", waits=True)
FAST: Final = StorageClass("fast", "csi.example.com", waits=True)


def on(*names: str, key: str = HOST) -> Affinity:
    """Node affinity to nodes whose label has one of these values."""
    return (NodeSelectorTerm((Requirement(key, Operator.IN, names),)),)


def pv(
    name: str, gib: int = 1, *nodes: str, storage_class: str = "local", **of: Any
) -> PersistentVolume:
    """An available volume that these nodes reach; all of them where none is named."""
    given: dict[str, Any] = {
        "uid": f"pv-{name}",
        "storage_class": storage_class,
        "capacity": gib * GIB,
        "access_modes": frozenset((RWO,)),
        "affinity": on(*nodes) if nodes else None,
        **of,
    }
    return PersistentVolume(name, **given)


def pvc(
    name: str, gib: int | None = 1, storage_class: str = "local", **of: Any
) -> PersistentVolumeClaim:
    """A claim in namespace "default" that is not bound yet."""
    given: dict[str, Any] = {
        "uid": f"pvc-{name}",
        "storage_class": storage_class,
        "request": None if gib is None else gib * GIB,
        "access_modes": (RWO,),
        **of,
    }
    return PersistentVolumeClaim("default", name, **given)


def bound(name: str, volume: str, **of: Any) -> PersistentVolumeClaim:
    """A claim that is bound to a volume."""
    return pvc(name, volume=volume, bind_completed=True, **of)


def held_by(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """A volume that is bound to a claim."""
    return replace(volume, claim=ClaimRef(claim.key, claim.uid), available=False)


def csi_volume(name: str, driver: str = "csi.example.com", **of: Any) -> PersistentVolume:
    """A volume of a CSI driver, whose handle is its name."""
    return pv(name, storage_class="fast", csi=Attachable(driver, name), **of)


def segment(
    name: str, gib: int | None, zone: str, storage_class: str = "fast", **of: Any
) -> CSIStorageCapacity:
    """What is left of a class in a zone."""
    given: dict[str, Any] = {
        "storage_class": storage_class,
        "capacity": None if gib is None else gib * GIB,
        "topology": Selector((Requirement(ZONE, Operator.IN, (zone,)),)),
        "resource_version": "1",
        **of,
    }
    return CSIStorageCapacity("kube-system", name, **given)


def csi_node(name: str, **limits: int) -> CSINode:
    """A CSINode; in the name of a driver, `_` stands for a dot."""
    found = {driver.replace("_", "."): count for driver, count in limits.items()}
    return CSINode(name, tuple(sorted(found.items())), tuple(sorted(found)))


def using(name: str, *claims: str, spec: PodSpec | None = None, **of: Any) -> Pod:
    """A pod that uses these claims; one that begins with "~" is made for it."""
    volumes = tuple(
        PodVolume(claim[1:], "ephemeral") if claim[0] == "~" else PodVolume(f"v{index}", "claim")
        for index, claim in enumerate(claims)
    )
    names = tuple(f"{name}-{c[1:]}" if c.startswith("~") else c for c in claims)
    given = replace(spec or PodSpec(), volumes=(*volumes, *(spec.volumes if spec else ())))
    return Pod(PodKey("default", name), PodUID(name), given, claims=names, **of)


def inline(kind: str, *, read_only: bool = False, **fields: str) -> PodVolume:
    """An inline volume."""
    return PodVolume("disk", kind, read_only, tuple(sorted(fields.items())))


def hosts(*names: str, **labels: str) -> list[Node]:
    """Nodes with their hostname as a label; `zone="a"` gives all of them that zone."""
    more = tuple((ZONE if key == "zone" else key, value) for key, value in labels.items())
    return [node(name, labels=tuple(sorted(((HOST, name), *more)))) for name in names]


def table_of(nodes: Iterable[Node], *facts: VolumeFact) -> Nodes:
    """A live table of nodes with these objects."""
    table = Nodes(ResourceSpace(), Ledgers())
    for each in nodes:
        table.put(each)
    for fact in facts:
        own_ledgers(table).put(fact)
    return table


def ledger(table: Nodes) -> Volumes:
    """The table of volumes of a table of nodes."""
    return ledgers_of(table).volumes


def seat(table: Nodes, pod: Pod, name: str) -> None:
    """A pod comes to sit on a node."""
    row = table.row(name)
    assert row is not None, f"there is no node {name}"
    table.add(row, pod)


def knowing(table: Nodes, *pods: Pod) -> Nodes:
    """The same table, which knows that these pods exist."""
    for pod in pods:
        own_ledgers(table).enter(pod)
    return table
