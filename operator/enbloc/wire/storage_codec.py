# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Volume objects to model facts; total: what cannot be read becomes a problem, not an error.

A claim or a volume with an unreadable part fits nowhere, and its `problem` says why.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from enbloc.model.limits import MOST_NODE_REQUIREMENTS, MOST_NODE_VALUES
from enbloc.model.quantity import whole
from enbloc.model.text import clipped
from enbloc.model.times import seconds_of
from enbloc.storage import in_tree
from enbloc.storage.facts import (
    Affinity,
    Attachable,
    ClaimRef,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    Topologies,
    VolumeAttachment,
    VolumeFact,
)
from enbloc.wire.codec_selectors import bounded_selector, required_node_terms
from enbloc.wire.objects import Metadata, NodeSelector, controller_of
from enbloc.wire.problems import Problems
from enbloc.wire.storage_objects import (
    AttachmentObject,
    AttachmentSource,
    AttachmentSpec,
    ClaimObject,
    ClaimResources,
    ClaimSpec,
    CSIDriverObject,
    CSINodeObject,
    CSINodeSpec,
    CSIStorageCapacityObject,
    PersistentVolumeObject,
    PersistentVolumeSpec,
    PhaseStatus,
    StorageClassObject,
    TopologyTerm,
)

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_STORAGE: Final = "storage"
_MODE: Final = "Filesystem"
_WAITS: Final = "WaitForFirstConsumer"

#: Terms and values of a class's `allowedTopologies`.
MOST_TOPOLOGIES: Final = 4096
#: Drivers of one node.
MOST_DRIVERS: Final = 256

#: Fields of PersistentVolumeSpec that hold an old kind of disk, by what the API calls them.
_DISKS: Final = {
    "gce_persistent_disk": "gcePersistentDisk",
    "aws_elastic_block_store": "awsElasticBlockStore",
    "azure_disk": "azureDisk",
    "cinder": "cinder",
    "portworx_volume": "portworxVolume",
}


class Problem(NamedTuple):
    """Why an object cannot be read at all."""

    text: str


def persistent_volume(obj: PersistentVolumeObject) -> PersistentVolume:
    """A PersistentVolume."""
    metadata, spec, problems = obj.metadata, obj.spec or PersistentVolumeSpec(), Problems()
    labels = metadata.labels or {}
    affinity = _affinity(spec.node_affinity.required if spec.node_affinity else None, problems)
    kind, disk = _disk(spec)
    plugin, migrated, migrated_affinity, wrong = "", None, None, ""
    if kind and spec.csi is None:
        plugin = in_tree.plugin_name(kind)
        migrated_affinity = in_tree.translated_affinity(kind, affinity, labels)
        try:
            migrated = in_tree.translated(kind, disk, labels)
        except ValueError as error:
            wrong = clipped(str(error))
    return PersistentVolume(
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version or "",
        storage_class=_class(metadata, spec.storage_class_name),
        capacity=_bytes((spec.capacity or {}).get(_STORAGE, 0), "spec.capacity", problems) or 0,
        access_modes=frozenset(spec.access_modes or ()),
        mode=spec.volume_mode or _MODE,
        attributes_class=spec.volume_attributes_class_name or "",
        available=_phase(obj.status) == "Available" and not problems,
        deleting=metadata.deletion_timestamp is not None,
        claim=_claim_ref(spec),
        created=_created(metadata),
        labels=tuple(sorted(labels.items())),
        affinity=() if problems and affinity is not None else affinity,
        csi=Attachable(spec.csi.driver, spec.csi.volume_handle) if spec.csi else None,
        plugin=plugin,
        migrated=migrated,
        migrated_affinity=migrated_affinity,
        problem=wrong,
    )


def persistent_volume_claim(obj: ClaimObject) -> PersistentVolumeClaim:
    """A PersistentVolumeClaim."""
    metadata, spec, problems = obj.metadata, obj.spec or ClaimSpec(), Problems()
    annotations = metadata.annotations or {}
    asked = (spec.resources or ClaimResources()).requests or {}
    request = None
    if _STORAGE in asked:
        request = _bytes(asked[_STORAGE], "spec.resources.requests", problems)
    selector = bounded_selector(spec.selector, "spec.selector", problems)
    owner = controller_of(metadata.owner_references)
    return PersistentVolumeClaim(
        namespace=metadata.namespace or "",
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version or "",
        storage_class=_class(metadata, spec.storage_class_name),
        request=request,
        access_modes=tuple(spec.access_modes or ()),
        mode=spec.volume_mode or _MODE,
        attributes_class=spec.volume_attributes_class_name or "",
        selector=selector,
        volume=spec.volume_name or "",
        bind_completed=BIND_COMPLETED in annotations,
        selected_node=annotations.get(SELECTED_NODE),
        lost=_phase(obj.status) == "Lost",
        deleting=metadata.deletion_timestamp is not None,
        owner=owner.uid if owner else "",
        problem=problems.text(),
    )


def storage_class(obj: StorageClassObject) -> StorageClass:
    """A StorageClass."""
    return StorageClass(
        name=obj.metadata.name,
        provisioner=obj.provisioner or "",
        waits=obj.volume_binding_mode == _WAITS,
        topologies=_topologies(obj.allowed_topologies or ()),
        resource_version=obj.metadata.resource_version or "",
    )


def csi_node(obj: CSINodeObject) -> CSINode:
    """A CSINode; drivers beyond MOST_DRIVERS are ignored."""
    drivers = ((obj.spec or CSINodeSpec()).drivers or ())[:MOST_DRIVERS]
    limits = {
        each.name: each.allocatable.count
        for each in drivers
        if each.allocatable is not None and each.allocatable.count is not None
    }
    migrated = (obj.metadata.annotations or {}).get(MIGRATED_PLUGINS, "")
    return CSINode(
        name=obj.metadata.name,
        limits=tuple(sorted(limits.items())),
        drivers=tuple(sorted({each.name for each in drivers})),
        migrated=frozenset(migrated.split(",")) if migrated else frozenset(),
        resource_version=obj.metadata.resource_version or "",
    )


def csi_driver(obj: CSIDriverObject) -> CSIDriver:
    """A CSIDriver."""
    return CSIDriver(
        name=obj.metadata.name,
        storage_capacity=bool(obj.spec and obj.spec.storage_capacity),
        resource_version=obj.metadata.resource_version or "",
    )


def csi_storage_capacity(obj: CSIStorageCapacityObject) -> CSIStorageCapacity:
    """A CSIStorageCapacity; an unreadable one offers nothing."""
    metadata, problems = obj.metadata, Problems()
    topology = bounded_selector(obj.node_topology, "nodeTopology", problems)
    capacity, largest = (
        None if given is None else _bytes(given, path, problems)
        for given, path in (
            (obj.capacity, "capacity"),
            (obj.maximum_volume_size, "maximumVolumeSize"),
        )
    )
    return CSIStorageCapacity(
        namespace=metadata.namespace or "",
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version or "",
        storage_class=obj.storage_class_name or "",
        capacity=capacity,
        largest=largest,
        topology=None if problems else topology,
    )


def volume_attachment(obj: AttachmentObject) -> VolumeAttachment:
    """A VolumeAttachment."""
    spec = obj.spec or AttachmentSpec()
    return VolumeAttachment(
        name=obj.metadata.name,
        attacher=spec.attacher or "",
        node=spec.node_name or "",
        volume=(spec.source or AttachmentSource()).persistent_volume_name or "",
        resource_version=obj.metadata.resource_version or "",
    )


class FactReader(NamedTuple):
    """The Struct to decode an object into, and the function that makes a fact of it."""

    struct: type[Any]
    fact: Callable[[Any], VolumeFact]


#: Readers by kind.
READERS: Final[Mapping[str, FactReader]] = {
    PersistentVolume.kind: FactReader(PersistentVolumeObject, persistent_volume),
    PersistentVolumeClaim.kind: FactReader(ClaimObject, persistent_volume_claim),
    StorageClass.kind: FactReader(StorageClassObject, storage_class),
    CSINode.kind: FactReader(CSINodeObject, csi_node),
    CSIDriver.kind: FactReader(CSIDriverObject, csi_driver),
    CSIStorageCapacity.kind: FactReader(CSIStorageCapacityObject, csi_storage_capacity),
    VolumeAttachment.kind: FactReader(AttachmentObject, volume_attachment),
}


def read(kind: str, obj: Mapping[str, Any]) -> VolumeFact | Problem:
    """The fact of an object, by its kind; a Problem if it cannot be decoded."""
    reader = READERS.get(kind)
    if reader is None:
        return Problem(f"{kind} is no kind of volume object")
    try:
        return reader.fact(msgspec.convert(obj, reader.struct))
    except (msgspec.ValidationError, RecursionError) as error:
        return Problem(clipped(str(error)))


# ── parts ────────────────────────────────────────────────────────────────────────────────────

_Amount: TypeAlias = str | float


def _phase(status: PhaseStatus | None) -> str:
    return (status.phase or "") if status else ""


def _class(metadata: Metadata, name: str | None) -> str:
    """The class of a claim or a volume; the legacy annotation takes precedence over the field."""
    return (metadata.annotations or {}).get(OLD_CLASS, name or "")


def _bytes(given: _Amount, path: str, problems: Problems) -> int | None:
    try:
        return max(0, whole(given))
    except ValueError as error:
        problems.append(f"{path}: {error}")
        return None


def _created(metadata: Metadata) -> float:
    return seconds_of(metadata.creation_timestamp or "") or 0.0


def _claim_ref(spec: PersistentVolumeSpec) -> ClaimRef | None:
    given = spec.claim_ref
    if given is None:
        return None
    return ClaimRef(f"{given.namespace or ''}/{given.name or ''}", given.uid or "")


def _affinity(selector: NodeSelector | None, problems: Problems) -> Affinity:
    terms = required_node_terms(selector, "spec.nodeAffinity.required", problems)
    if terms is None:
        return None
    requirements = [each for term in terms for each in (*term.expressions, *term.fields)]
    values = sum(len(each.values) for each in requirements)
    if len(terms) + len(requirements) > MOST_NODE_REQUIREMENTS or values > MOST_NODE_VALUES:
        problems.append(
            f"spec.nodeAffinity: {len(requirements)} requirements with {values} values; use at "
            f"most {MOST_NODE_REQUIREMENTS} with {MOST_NODE_VALUES}"
        )
    return terms


def _topologies(terms: Iterable[TopologyTerm]) -> Topologies:
    """`allowedTopologies`; no term is read beyond MOST_TOPOLOGIES values."""
    read_terms: list[tuple[tuple[str, tuple[str, ...]], ...]] = []
    size = 0
    for term in terms:
        needed = tuple((each.key, each.values or ()) for each in term.match_label_expressions or ())
        size += 1 + sum(1 + len(values) for _, values in needed)
        if size > MOST_TOPOLOGIES:
            break
        read_terms.append(needed)
    return tuple(read_terms)


def _disk(spec: PersistentVolumeSpec) -> tuple[str, dict[str, str]]:
    """The old kind of a volume's disk, and its fields; "" = it is of none."""
    for field, kind in _DISKS.items():
        disk: dict[str, Any] | None = getattr(spec, field)
        if disk is not None:
            return kind, {key: str(value) for key, value in disk.items() if isinstance(value, str)}
    return "", {}
