# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Known: the volume objects as the API server shows them, indexed by what is asked of them."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from itertools import count
from typing import Any, Final

import numpy as np

from enbloc.model.labels import Mask
from enbloc.model.nodes import Nodes
from enbloc.model.reach import Conditions, Seen, mask_of, seen
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

#: So many sorts of claims and volumes are told apart before the numbers begin anew.
_MOST_SORTS: Final = 65_536
#: Of so many conditions it is remembered where they hold.
_MOST_MASKS: Final = 16_384


class Known:
    """The objects, by kind and key, with what is derived from them.

    Attributes:
        volumes: by name; so classes, nodes and drivers.
        claims: by `namespace/name`.
        users: keys of the claims that name a volume, by its name.
        attached: VolumeAttachments of each node, by their names.
        attachments_of: those of each volume, likewise.
    """

    def __init__(self) -> None:
        self.volumes: dict[str, PersistentVolume] = {}
        self.claims: dict[str, PersistentVolumeClaim] = {}
        self.classes: dict[str, StorageClass] = {}
        self.nodes: dict[str, CSINode] = {}
        self.drivers: dict[str, CSIDriver] = {}
        self.attachments: dict[str, VolumeAttachment] = {}
        self.users: defaultdict[str, set[str]] = defaultdict(set)
        self.attached: defaultdict[str, dict[str, VolumeAttachment]] = defaultdict(dict)
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
        self._in_class: defaultdict[str, dict[str, PersistentVolume]] = defaultdict(dict)
        #: Those that no claim is bound to for good: of ten thousand that were made, a few.
        self._unsettled: defaultdict[str, dict[str, PersistentVolume]] = defaultdict(dict)
        self._available: dict[str, Available] = {}
        self._segments_of: defaultdict[str, dict[str, CSIStorageCapacity]] = defaultdict(dict)
        self._segment_tables: dict[str, Segments] = {}
        self.attachments_of: defaultdict[str, dict[str, VolumeAttachment]] = defaultdict(dict)
        self._handles: Counter[Attachable] = Counter()
        self._sorts: dict[Hashable, int] = {}
        self._count = count()
        self._sort_of: dict[tuple[str, str], int] = {}
        self._masks: dict[Conditions, Mask] = {}
        self._seen: Seen | None = None

    def fact(self, kind: str, key: str) -> VolumeFact | None:
        """The object of that kind and key."""
        found: VolumeFact | None = self._by_kind.get(kind, {}).get(key)
        return found

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def change(self, kind: str, key: str, fact: VolumeFact | None) -> VolumeFact | None:
        """Add or change an object, or, with None, remove it; gives it as it was."""
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
        """A volume, or a claim that names it, has changed: whether it is still to be had."""
        volume = self.volumes.get(name)
        if volume is None:
            return
        claim = None if volume.claim is None else self.claims.get(volume.claim.key)
        if claim is not None and claim.bound and claim.volume == name:
            self._unlist(volume.storage_class, name)
        elif self._unsettled.get(volume.storage_class, {}).get(name) is not volume:
            self._unsettled[volume.storage_class][name] = volume
            self._available.pop(volume.storage_class, None)

    def _unlist(self, storage_class: str, name: str) -> None:
        table = self._unsettled.get(storage_class)
        if table is not None and table.pop(name, None) is not None:
            self._available.pop(storage_class, None)
            if not table:
                del self._unsettled[storage_class]

    def _makes(self, storage_class: str) -> bool:
        known = self.classes.get(storage_class)
        return known is not None and known.provisions

    def _count_claim(self, claim: PersistentVolumeClaim, sign: int) -> None:
        self._sort_of.pop((claim.kind, claim.key), None)
        if not claim.volume:
            return
        self._settle(claim.volume)
        if sign > 0:
            self.users[claim.volume].add(claim.key)
            return
        self.users[claim.volume].discard(claim.key)
        if not self.users[claim.volume]:
            del self.users[claim.volume]

    # ── what follows from them ───────────────────────────────────────────────────────────────

    def available(self, storage_class: str) -> Available:
        """The volumes of a class; where more can be made, without those that are bound for good."""
        found = self._available.get(storage_class)
        if found is None:
            volumes = self._volumes_of(storage_class).values()
            found = self._available[storage_class] = Available(volumes)
        return found

    def has_volumes(self, storage_class: str) -> bool:
        """Whether any volume of that class is available, in that sense."""
        return bool(self._volumes_of(storage_class))

    def _volumes_of(self, storage_class: str) -> Mapping[str, PersistentVolume]:
        tables = self._unsettled if self._makes(storage_class) else self._in_class
        return tables.get(storage_class, {})

    def segments(self, storage_class: str) -> Segments | None:
        """What storage is left of a class; None = nobody says, and any amount can be had."""
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
        """What a node attaches for a claim; None = nothing that counts.

        One that is not bound counts under a handle of its own. Where a CSI driver serves an old
        kind of disk, only nodes with a CSINode count it; the others have no limits.

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
        """Whether an unbound claim is bound where its pod goes.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go
        GetPodVolumeClaims.
        """
        known = self.classes.get(claim.storage_class)
        return known is not None and known.waits and not claim.volume

    def sort_of_claim(self, claim: PersistentVolumeClaim) -> int:
        """A number that is equal for claims that want alike volumes."""
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
        """A number that is equal for volumes that the same nodes reach in the same way."""
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
            # Never a number twice, even after forgetting: a decision may still use the old ones.
            known = self._sort_of[key] = self._sorts.setdefault(describe(), next(self._count))
        return known

    def told_apart(self, volume: PersistentVolume) -> bool:
        """Whether its name matters: it is attached somewhere, or counts with another.

        Another volume is the same disk, or several claims name it.
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
        """bool[N]: where conditions on the labels of nodes hold; not to be written to."""
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


def _count(
    table: defaultdict[str, dict[str, Any]], group: str, fact: VolumeFact, sign: int
) -> None:
    if sign > 0:
        table[group][fact.key] = fact
    else:
        table[group].pop(fact.key, None)
        if not table[group]:
            del table[group]
