# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Disks: inline volumes of old kinds, of which pods on one node must not share some.

Source: kube-scheduler v1.36
pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go isVolumeConflict.
"""

from typing import Final, TypeAlias

from enbloc.model.pods import PodVolume

#: The kind of a disk, and what it is the same disk by, but for the monitors of an RBD image.
DiskKey: TypeAlias = tuple[str, ...]

#: By the kind, the fields that say which disk it is.
_NAMED_BY: Final = {
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "iscsi": ("iqn",),
    "rbd": ("pool", "image"),
}


def disk_key(volume: PodVolume) -> DiskKey | None:
    """Which disk an inline volume is; None = of a kind that pods may share."""
    fields = _NAMED_BY.get(volume.kind)
    if fields is None:
        return None
    disk = dict(volume.disk)
    return (volume.kind, *(disk.get(field, "") for field in fields))


def conflict(one: PodVolume, other: PodVolume) -> bool:
    """Whether two pods of one node cannot have these volumes, which have the same key."""
    if one.kind == "awsElasticBlockStore":
        return True
    if one.kind == "rbd" and _monitors(one).isdisjoint(_monitors(other)):
        return False
    return not (one.read_only and other.read_only)


def _monitors(volume: PodVolume) -> set[str]:
    text = dict(volume.disk).get("monitors", "")
    return set(text.split(",")) if text else set()
