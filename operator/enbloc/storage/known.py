# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Known: the storage objects as the API server shows them, indexed for lookups."""

from collections import Counter
from collections.abc import Hashable, Mapping
from itertools import count
from typing import Any, Final

import numpy as np

from enbloc.model.grouped import Grouped, Index
from enbloc.model.labels import Mask
from enbloc.model.nodes import Nodes
from enbloc.model.reach import Conditions, NodesSeen, mask_of, seen
from enbloc.storage import in_tree
from enbloc.storage.available import Available
from enbloc.storage.facts import (
    Attachable,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeFact,
)
from enbloc.storage.segments import Segments

#: How many sorts of claims and volumes are numbered before they are forgotten.
_MOST_SORTS: Final = 65_536
#: For how many conditions the matching nodes are cached.
_MOST_MASKS: Final = 16_384


class KnownObjects:
    """The objects, by kind and key, with data derived from them.

    Attributes:
        volumes: by name, as are classes, nodes and drivers.
        claims: by `namespace/name`.
        users: the keys of the claims that name a volume, by the volume's name.
        attached: the VolumeAttachments of each node, by name.
        attachments_of: the VolumeAttachments of each volume, by name.
    """

    def __init__(self) -> None:
        self.volumes: dict[str, PersistentVolume] = {}
        self.claims: dict[str, PersistentVolumeClaim] = {}
        self.classes: dict[str, StorageClass] = {}
        self.nodes: dict[str, CSINode] = {}
        self.drivers: dict[str, CSIDriver] = {}
        self.attachments: dict[str, VolumeAttachment] = {}
        self.users: Index[str, str] = Index()
        self.attached: Grouped[str, str, VolumeAttachment] = Grouped()
        self._segments: dict[str, CSIStorageCapacity] = {}
        self._by_kind: Mapping[str, dict[str, Any]] = {
            PersistentVolume.kind: self.volumes,
            PersistentVolumeClaim.kind: self.claims,
            StorageClass.kind: self.classes,
            CSINode.kind: self.nodes,
            CSIDriver.kind: self.drivers,
            CSIStorageCapacity.kind: self._segments,
            VolumeAttachment.kind: self.attachments,
        }
        self._in_class: Grouped[str, str, PersistentVolume] = Grouped()
        #: Volumes that no claim is bound to for good: a few of ten thousand provisioned ones.
        self._unsettled: Grouped[str, str, PersistentVolume] = Grouped()
        self._available: dict[str, Available] = {}
        self._segments_of: Grouped[str, str, CSIStorageCapacity] = Grouped()
        self._segment_tables: dict[str, Segments] = {}
        self.attachments_of: Grouped[str, str, VolumeAttachment] = Grouped()
        self._handles: Counter[Attachable] = Counter()
        self._sorts: dict[Hashable, int] = {}
        self._count = count()
        self._sort_of: dict[tuple[str, str], int] = {}
        self._masks: dict[Conditions, Mask] = {}
        self._seen: NodesSeen | None = None

    def fact(self, kind: str, key: str) -> VolumeFact | None:
        """The object of that kind and key."""
        found: VolumeFact | None = self._by_kind.get(kind, {}).get(key)
        return found

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def change(self, kind: str, key: str, fact: VolumeFact | None) -> VolumeFact | None:
        """Add or update an object, or remove it (None); returns the previous one."""
        objects = self._by_kind.get(kind)
        if objects is None:
            return None
        old: VolumeFact | None = objects.pop(key, None)
        if fact is not None:
            objects[key] = fact
        for each, sign in ((old, -1), (fact, 1)):
            match each:
                case PersistentVolume():
                    self._count_volume(each, sign)
                case PersistentVolumeClaim():
                    self._count_claim(each, sign)
                case StorageClass():
                    self._available.pop(each.name, None)
                case CSIStorageCapacity():
                    self._segment_tables.pop(each.storage_class, None)
                    _count(self._segments_of, each.storage_class, each, sign)
                case VolumeAttachment():
                    _count(self.attachments_of, each.volume, each, sign)
                    _count(self.attached, each.node, each, sign)
                case _:
                    pass
        return old

    def _count_volume(self, volume: PersistentVolume, sign: int) -> None:
        storage_class = volume.storage_class
        _count(self._in_class, storage_class, volume, sign)
        if not self._makes(storage_class):
            self._available.pop(storage_class, None)
        if sign > 0:
            self._settle(volume.name)
        else:
            self._unlist(storage_class, volume.name)
        source = volume.csi or volume.migrated
        if source is not None:
            self._handles[source] += sign
            if not self._handles[source]:
                del self._handles[source]
        self._sort_of.pop((volume.kind, volume.key), None)

    def _settle(self, name: str) -> None:
        """Update whether a volume is available, after it or a claim that names it changed."""
        volume = self.volumes.get(name)
        if volume is None:
            return
        claim = None if volume.claim is None else self.claims.get(volume.claim.key)
        if claim is not None and claim.bound and claim.volume == name:
            self._unlist(volume.storage_class, name)
        elif self._unsettled.get(volume.storage_class, {}).get(name) is not volume:
            self._unsettled.put(volume.storage_class, name, volume)
            self._available.pop(volume.storage_class, None)

    def _unlist(self, storage_class: str, name: str) -> None:
        if self._unsettled.drop(storage_class, name) is not None:
            self._available.pop(storage_class, None)

    def _makes(self, storage_class: str) -> bool:
        known = self.classes.get(storage_class)
        return known is not None and known.provisions

    def _count_claim(self, claim: PersistentVolumeClaim, sign: int) -> None:
        self._sort_of.pop((claim.kind, claim.key), None)
        if not claim.volume:
            return
        self._settle(claim.volume)
        if sign > 0:
            self.users.add(claim.volume, claim.key)
        else:
            self.users.drop(claim.volume, claim.key)

    # ── what follows from them ───────────────────────────────────────────────────────────────

    def available(self, storage_class: str) -> Available:
        """The volumes of a class; if more can be provisioned, without those bound for good."""
        found = self._available.get(storage_class)
        if found is None:
            volumes = self._volumes_of(storage_class).values()
            found = self._available[storage_class] = Available(volumes)
        return found

    def has_volumes(self, storage_class: str) -> bool:
        """Whether `available` has any volume of the class."""
        return bool(self._volumes_of(storage_class))

    def _volumes_of(self, storage_class: str) -> Mapping[str, PersistentVolume]:
        tables = self._unsettled if self._makes(storage_class) else self._in_class
        return tables.get(storage_class, {})

    def segments(self, storage_class: str) -> Segments | None:
        """The segments of a class; None = none are published, and any amount is available."""
        known = self.classes.get(storage_class)
        driver = self.drivers.get(known.provisioner) if known else None
        if driver is None or not driver.storage_capacity:
            return None
        found = self._segment_tables.get(storage_class)
        if found is None:
            facts = self._segments_of.get(storage_class, {}).values()
            found = self._segment_tables[storage_class] = Segments(facts)
        return found

    def attachable(self, claim: PersistentVolumeClaim) -> Attachable | None:
        """The CSI volume that a node attaches for a claim; None = nothing that counts.

        An unbound claim counts under a handle of its own. If a CSI driver serves an old kind of
        disk, only nodes with a CSINode count it; the others have no limits.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/nodevolumelimits/csi.go
        getCSIDriverInfo.
        """
        volume = self.volumes.get(claim.volume) if claim.volume else None
        if volume is not None:
            source = volume.csi or volume.migrated
            return source if source is not None and all(source) else None
        known = self.classes.get(claim.storage_class)
        if known is None or not known.provisioner:
            return None
        driver: str | None = known.provisioner
        if in_tree.is_old_provisioner(known.provisioner):
            driver = in_tree.driver_of(known.provisioner)
        return Attachable(driver, f"\0{claim.key}") if driver else None

    def delayed(self, claim: PersistentVolumeClaim) -> bool:
        """Whether binding of an unbound claim waits for its pod.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go
        GetPodVolumeClaims.
        """
        known = self.classes.get(claim.storage_class)
        return known is not None and known.waits and not claim.volume

    def sort_of_claim(self, claim: PersistentVolumeClaim) -> int:
        """A number that is equal for claims which the same volumes fit."""
        return self._sort(
            (claim.kind, claim.key),
            lambda: (
                claim.storage_class,
                claim.request,
                frozenset(claim.access_modes),
                claim.mode,
                claim.attributes_class,
                claim.selector,
            ),
        )

    def sort_of_volume(self, volume: PersistentVolume) -> int:
        """A number that is equal for volumes which the same nodes reach in the same way."""
        return self._sort(
            (volume.kind, volume.key),
            lambda: (
                volume.affinity,
                volume.migrated_affinity,
                volume.plugin,
                volume.problem,
                tuple(pair for pair in volume.labels if pair[0] in _ZONES),
                (volume.csi or volume.migrated or ("",))[0],
            ),
        )

    def _sort(self, key: tuple[str, str], describe: Any) -> int:
        known = self._sort_of.get(key)
        if known is None:
            if len(self._sorts) >= _MOST_SORTS:
                self._sorts.clear()
                self._sort_of.clear()
                self._available.clear()  # they remember by number
            # Never reuse a number, even after forgetting: a decision may still use the old ones.
            known = self._sort_of[key] = self._sorts.setdefault(describe(), next(self._count))
        return known

    def told_apart(self, volume: PersistentVolume) -> bool:
        """Whether a volume's name matters: it is attached somewhere, or counts with another.

        It counts with another if another volume is the same disk, or several claims name it.
        """
        source = volume.csi or volume.migrated
        several = len(self.users.get(volume.name, ())) > 1
        return (
            several
            or volume.name in self.attachments_of
            or self._handles.get(source or _NO_DISK, 0) > 1
        )

    # ── where ────────────────────────────────────────────────────────────────────────────────

    def mask(self, conditions: Conditions, nodes: Nodes) -> Mask:
        """bool[N]: the nodes whose labels satisfy the conditions; read-only."""
        if self._seen is None or not self._seen.same(nodes):
            self._masks = {}
            self._seen = seen(nodes)
        mask = self._masks.get(conditions)
        if mask is None:
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            mask = self._masks[conditions] = mask_of(conditions, nodes)
            mask.flags.writeable = False
        return mask

    def migrated(self, plugin: str, nodes: Nodes) -> Mask:
        """bool[N]: nodes on which a CSI driver serves that in-tree plugin."""
        mask = np.zeros(len(nodes), np.bool_)
        for name, known in self.nodes.items():
            if plugin in known.migrated and (row := nodes.row(name)) is not None:
                mask[row] = True
        return mask


_ZONES: Final = frozenset(
    (in_tree.ZONE, in_tree.REGION, in_tree.OLD_ZONE, in_tree.OLD_REGION),
)
_NO_DISK: Final = Attachable("", "")


def _count(table: Grouped[str, str, Any], group: str, fact: VolumeFact, sign: int) -> None:
    if sign > 0:
        table.put(group, fact.key, fact)
    else:
        table.drop(group, fact.key)
