# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Facts: the parts of storage objects that scheduling reads."""

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple, TypeAlias

from enbloc.model.ledger import OfCluster, OfNamespace
from enbloc.model.pods import NodeSelectorTerm
from enbloc.model.selectors import Labels, Selector

#: Required node affinity of a volume: any of the terms suffices; None = every node reaches it.
Affinity: TypeAlias = tuple[NodeSelectorTerm, ...] | None

#: `allowedTopologies`: one term must hold, with all of its requirements, `(label key, values)`.
Topologies: TypeAlias = tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]

READ_WRITE_ONCE: Final = "ReadWriteOnce"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


class ClaimRef(NamedTuple):
    """`spec.claimRef` of a PersistentVolume; uid "" = any claim of that name."""

    key: str
    uid: str = ""


class Attachable(NamedTuple):
    """A volume of a CSI driver, as attached to nodes."""

    driver: str
    handle: str


@dataclass(frozen=True, slots=True)
class PersistentVolume(OfCluster):
    """A PersistentVolume.

    Attributes:
        storage_class: "" = none.
        capacity: bytes.
        mode: `volumeMode`.
        attributes_class: `volumeAttributesClassName`; "" = none.
        available: its phase is Available.
        claim: the claim that it is bound to or reserved for.
        created: creationTimestamp, seconds since the epoch.
        affinity: the nodes that reach it.
        csi: the CSI volume that nodes attach; None = it is of another kind.
        plugin: the in-tree plugin of a disk of an old kind that a CSI driver now serves; "" = none.
        migrated: the disk as that driver's volume.
        migrated_affinity: the nodes that reach it, as that driver sees it.
        problem: why `migrated` cannot be determined; "" = it is, or is not needed.
    """

    name: str
    uid: str = ""
    resource_version: str = ""
    storage_class: str = ""
    capacity: int = 0
    access_modes: frozenset[str] = frozenset()
    mode: str = "Filesystem"
    attributes_class: str = ""
    available: bool = True
    deleting: bool = False
    claim: ClaimRef | None = None
    created: float = 0.0
    labels: Labels = ()
    affinity: Affinity = None
    csi: Attachable | None = None
    plugin: str = ""
    migrated: Attachable | None = None
    migrated_affinity: Affinity = None
    problem: str = ""

    kind: ClassVar[str] = "PersistentVolume"

    def holds(self, claim: "PersistentVolumeClaim") -> bool:
        """Whether it is bound to or reserved for a claim.

        Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go
        IsVolumeBoundToClaim.
        """
        held = self.claim
        return held is not None and held.key == claim.key and held.uid in ("", claim.uid)


@dataclass(frozen=True, slots=True)
class PersistentVolumeClaim(OfNamespace):
    """A PersistentVolumeClaim.

    Attributes:
        storage_class: "" = none.
        request: the requested bytes; None = it names no size.
        selector: the label selector for volumes; None = any volume.
        volume: `spec.volumeName`; "" = none yet.
        bind_completed: the control plane has bound it.
        selected_node: annotation `volume.kubernetes.io/selected-node`; None = it is absent.
        lost: its phase is Lost.
        owner: UID of its controller; "" = none.
        problem: what could not be read; such a claim fits nowhere. "" = nothing.
    """

    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""
    storage_class: str = ""
    request: int | None = None
    access_modes: tuple[str, ...] = ()
    mode: str = "Filesystem"
    attributes_class: str = ""
    selector: Selector | None = None
    volume: str = ""
    bind_completed: bool = False
    selected_node: str | None = None
    lost: bool = False
    deleting: bool = False
    owner: str = ""
    problem: str = ""

    kind: ClassVar[str] = "PersistentVolumeClaim"

    @property
    def bound(self) -> bool:
        """Whether it is bound for good."""
        return self.volume != "" and self.bind_completed

    @property
    def size(self) -> int:
        """The requested bytes; 0 if it names no size."""
        return self.request or 0

    @property
    def once_per_pod(self) -> bool:
        """Whether only one pod of the cluster may use it."""
        return READ_WRITE_ONCE_POD in self.access_modes

    @property
    def once_per_node(self) -> bool:
        """Whether only pods on one node may use it at the same time."""
        return bool(self.access_modes) and all(
            mode in (READ_WRITE_ONCE, READ_WRITE_ONCE_POD) for mode in self.access_modes
        )

    @property
    def of_many_nodes(self) -> bool:
        """Whether pods on several nodes may use it at the same time."""
        return bool(self.access_modes) and not self.once_per_node


@dataclass(frozen=True, slots=True)
class StorageClass(OfCluster):
    """A StorageClass.

    Attributes:
        waits: its claims are bound when their first pod is placed (`WaitForFirstConsumer`).
        topologies: where volumes may be provisioned; () = anywhere.
    """

    name: str
    provisioner: str = ""
    waits: bool = False
    topologies: Topologies = ()
    resource_version: str = ""

    kind: ClassVar[str] = "StorageClass"

    @property
    def provisions(self) -> bool:
        """Whether volumes are provisioned on demand."""
        return self.provisioner not in ("", NO_PROVISIONER)


@dataclass(frozen=True, slots=True)
class CSINode(OfCluster):
    """A CSINode.

    Attributes:
        limits: how many volumes of each driver the node can attach, `(driver, count)`.
        drivers: the names of the installed drivers.
        migrated: the in-tree plugins that CSI drivers serve on this node.
    """

    name: str
    limits: tuple[tuple[str, int], ...] = ()
    drivers: tuple[str, ...] = ()
    migrated: frozenset[str] = frozenset()
    resource_version: str = ""

    kind: ClassVar[str] = "CSINode"


@dataclass(frozen=True, slots=True)
class CSIDriver(OfCluster):
    """A CSIDriver; `storage_capacity`: it publishes how much storage is left where."""

    name: str
    storage_capacity: bool = False
    resource_version: str = ""

    kind: ClassVar[str] = "CSIDriver"


@dataclass(frozen=True, slots=True)
class CSIStorageCapacity(OfNamespace):
    """A CSIStorageCapacity: what is left of one class for one segment of the nodes.

    Attributes:
        capacity: total bytes left; None = unknown.
        largest: the largest volume, in bytes (`maximumVolumeSize`); None = unknown.
        topology: selects the nodes that reach it by label; None = no node does.
    """

    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""
    storage_class: str = ""
    capacity: int | None = None
    largest: int | None = None
    topology: Selector | None = None

    kind: ClassVar[str] = "CSIStorageCapacity"

    @property
    def limit(self) -> int | None:
        """The largest size of one volume, in bytes; None = unknown.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go
        volumeLimit.
        """
        return self.capacity if self.largest is None else self.largest


@dataclass(frozen=True, slots=True)
class VolumeAttachment(OfCluster):
    """A VolumeAttachment: a volume that is attached to a node; `volume` "" = it names none."""

    name: str
    attacher: str = ""
    node: str = ""
    volume: str = ""
    resource_version: str = ""

    kind: ClassVar[str] = "VolumeAttachment"


VolumeFact: TypeAlias = (
    PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
)
