# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The fields of volume objects that scheduling reads, as typed Structs to decode into."""

from typing import Any

import msgspec

from enbloc.wire.objects import (
    Int64,
    LabelSelectorObject,
    Metadata,
    NodeSelector,
    Quantities,
)


class _Struct(msgspec.Struct, gc=False, rename="camel"):
    """Base class of all: camelCase names, outside the garbage collector."""


class ClaimRefObject(_Struct):
    """`spec.claimRef`."""

    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class CSISource(_Struct):
    """`spec.csi` of a PersistentVolume."""

    driver: str = ""
    volume_handle: str = ""


class VolumeAffinityObject(_Struct):
    """`spec.nodeAffinity` of a PersistentVolume."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(_Struct):
    """`spec` of a PersistentVolume."""

    capacity: Quantities | None = None
    access_modes: tuple[str, ...] | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    claim_ref: ClaimRefObject | None = None
    node_affinity: VolumeAffinityObject | None = None
    csi: CSISource | None = None
    gce_persistent_disk: dict[str, Any] | None = None
    aws_elastic_block_store: dict[str, Any] | None = None
    azure_disk: dict[str, Any] | None = None
    cinder: dict[str, Any] | None = None
    portworx_volume: dict[str, Any] | None = None


class PhaseStatus(_Struct):
    """`status` of a PersistentVolume or a claim."""

    phase: str | None = None


class PersistentVolumeObject(_Struct):
    """A PersistentVolume as the API server sends it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: PersistentVolumeSpec | None = None
    status: PhaseStatus | None = None


class ClaimResources(_Struct):
    """`spec.resources` of a claim."""

    requests: Quantities | None = None


class ClaimSpec(_Struct):
    """`spec` of a PersistentVolumeClaim."""

    access_modes: tuple[str, ...] | None = None
    selector: LabelSelectorObject | None = None
    resources: ClaimResources | None = None
    volume_name: str | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class ClaimObject(_Struct):
    """A PersistentVolumeClaim as the API server sends it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: ClaimSpec | None = None
    status: PhaseStatus | None = None


class TopologyRequirement(_Struct):
    """`matchLabelExpressions[]` of a topology selector term."""

    key: str = ""
    values: tuple[str, ...] | None = None


class TopologyTerm(_Struct):
    """`allowedTopologies[]`."""

    match_label_expressions: tuple[TopologyRequirement, ...] | None = None


class StorageClassObject(_Struct):
    """A StorageClass as the API server sends it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    provisioner: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologyTerm, ...] | None = None


class DriverLimit(_Struct):
    """`allocatable` of a driver on a node."""

    count: Int64 | None = None


class NodeDriver(_Struct):
    """`spec.drivers[]` of a CSINode."""

    name: str = ""
    allocatable: DriverLimit | None = None


class CSINodeSpec(_Struct):
    """`spec` of a CSINode."""

    drivers: tuple[NodeDriver, ...] | None = None


class CSINodeObject(_Struct):
    """A CSINode as the API server sends it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: CSINodeSpec | None = None


class CSIDriverSpec(_Struct):
    """`spec` of a CSIDriver."""

    storage_capacity: bool | None = None


class CSIDriverObject(_Struct):
    """A CSIDriver as the API server sends it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: CSIDriverSpec | None = None


class CSIStorageCapacityObject(_Struct):
    """A CSIStorageCapacity as the API server sends it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    node_topology: LabelSelectorObject | None = None
    storage_class_name: str | None = None
    capacity: str | Int64 | float | None = None
    maximum_volume_size: str | Int64 | float | None = None


class AttachmentSource(_Struct):
    """`spec.source` of a VolumeAttachment."""

    persistent_volume_name: str | None = None


class AttachmentSpec(_Struct):
    """`spec` of a VolumeAttachment."""

    attacher: str | None = None
    node_name: str | None = None
    source: AttachmentSource | None = None


class AttachmentObject(_Struct):
    """A VolumeAttachment as the API server sends it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: AttachmentSpec | None = None
