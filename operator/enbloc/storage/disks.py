# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Disks: inline volumes of old kinds, some of which pods on one node must not share.

Source: kube-scheduler v1.36
pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go isVolumeConflict.
"""

from typing import Final, TypeAlias

from enbloc.model.pods import PodVolume

#: A disk's kind and identifying fields, except the monitors of an RBD image.
DiskKey: TypeAlias = tuple[str, ...]

#: The fields that identify a disk, by kind.
_NAMED_BY: Final = {
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "iscsi": ("iqn",),
    "rbd": ("pool", "image"),
}


def disk_key(volume: PodVolume) -> DiskKey | None:
    """The key of an inline volume's disk; None = its kind may be shared."""
    fields = _NAMED_BY.get(volume.kind)
    if fields is None:
        return None
    disk = dict(volume.disk)
    return (volume.kind, *(disk.get(field, "") for field in fields))


def conflict(one: PodVolume, other: PodVolume) -> bool:
    """Whether two volumes with the same key cannot be used by two pods on one node."""
    if one.kind == "awsElasticBlockStore":
        return True
    if one.kind == "rbd" and _monitors(one).isdisjoint(_monitors(other)):
        return False
    return not (one.read_only and other.read_only)


def _monitors(volume: PodVolume) -> set[str]:
    text = dict(volume.disk).get("monitors", "")
    return set(text.split(",")) if text else set()
