# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""In-tree kinds of disks, translated for the CSI drivers that now serve them.

Source: kubernetes v1.36 staging/src/k8s.io/csi-translation-lib/plugins;
pkg/scheduler/framework/plugins/nodevolumelimits/utils.go isCSIMigrationOn.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from enbloc.model.pods import NodeSelectorTerm, PodVolume
from enbloc.model.requirements import Operator, Requirement
from enbloc.storage.facts import Affinity, Attachable

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
OLD_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION: Final = "failure-domain.beta.kubernetes.io/region"
#: Separates the zones of a volume that several zones reach.
ZONE_SEPARATOR: Final = "__"

#: A disk's fields as text, by name.
Disk = Mapping[str, str]


class _Plugin(NamedTuple):
    """An in-tree plugin whose disks a CSI driver serves.

    Attributes:
        topology: the driver's own label for zones; "" = zone labels stay as they are.
        handle: makes a disk's handle from its fields and the labels of its volume.
    """

    name: str
    driver: str
    topology: str
    handle: Callable[[Disk, Disk], str]


def plugin_name(kind: str) -> str:
    """The in-tree plugin of an inline volume's kind; "" = no CSI driver serves it now."""
    plugin = _PLUGINS.get(kind)
    return plugin.name if plugin else ""


def driver_of(plugin: str) -> str | None:
    """The CSI driver that serves an in-tree provisioner's volumes; None = it is not in-tree."""
    found = _BY_NAME.get(plugin)
    return found.driver if found else None


def is_old_provisioner(name: str) -> bool:
    """Whether a provisioner is an in-tree plugin that can be served by a CSI driver."""
    return name in _BY_NAME or name in _NEVER


def migratable(volume: PodVolume) -> bool:
    """Whether a CSI driver could serve an inline volume; the scheduler migrates only some kinds."""
    return volume.kind in _PLUGINS or volume.kind in ("azureFile", "vsphereVolume")


def inline(volume: PodVolume) -> Attachable | None:
    """The CSI volume that a node attaches for an inline volume; None = nothing that counts.

    Raises:
        ValueError: the volume cannot be understood; the message says why.
    """
    plugin = _PLUGINS.get(volume.kind)
    if plugin is None:
        return None
    return Attachable(plugin.driver, plugin.handle(dict(volume.disk), {}))


def translated(kind: str, disk: Disk, labels: Disk) -> Attachable:
    """The CSI volume that a node attaches for a PersistentVolume of an old kind.

    Raises:
        ValueError: the volume cannot be understood; the message says why.
    """
    plugin = _PLUGINS[kind]
    return Attachable(plugin.driver, plugin.handle(disk, labels))


def translated_affinity(kind: str, affinity: Affinity, labels: Disk) -> Affinity:
    """The node affinity of a PersistentVolume of an old kind that a CSI driver serves."""
    topology = _PLUGINS[kind].topology
    if not topology:
        return affinity
    zone, region = _labels_of(affinity, labels)
    if _values(affinity, zone):
        affinity = _renamed(affinity, zone, topology)
    elif zone in labels:
        affinity = _added(affinity, topology, labels[zone].split(ZONE_SEPARATOR))
    if region == OLD_REGION and _values(affinity, region):
        affinity = _renamed(affinity, region, REGION)
    return affinity


def _labels_of(affinity: Affinity, labels: Disk) -> tuple[str, str]:
    """The labels for zone and region that a volume uses: the current or the deprecated ones."""
    if _has(affinity, ZONE):
        return ZONE, REGION
    if _has(affinity, OLD_ZONE) or (ZONE not in labels and OLD_ZONE in labels):
        return OLD_ZONE, OLD_REGION
    return ZONE, REGION


def _has(affinity: Affinity, key: str) -> bool:
    return any(each.key == key for term in affinity or () for each in term.expressions)


def _values(affinity: Affinity, key: str) -> list[str]:
    expressions = (each for term in affinity or () for each in term.expressions)
    return [value for each in expressions if each.key == key for value in each.values]


def _renamed(affinity: Affinity, old: str, new: str) -> Affinity:
    return tuple(
        replace(
            term,
            expressions=tuple(
                replace(each, key=new) if each.key == old else each for each in term.expressions
            ),
        )
        for term in affinity or ()
    )


def _added(affinity: Affinity, key: str, zones: Iterable[str]) -> Affinity:
    kept = tuple(sorted({zone.strip() for zone in zones} - {""}))
    if not kept:
        return affinity
    wanted = Requirement(key, Operator.IN, kept)
    terms = affinity or (NodeSelectorTerm(),)
    return tuple(replace(term, expressions=(*term.expressions, wanted)) for term in terms)


# ── handles ──────────────────────────────────────────────────────────────────────────────────


def _ebs(disk: Disk, labels: Disk) -> str:
    del labels
    given = disk.get("volumeID", "")
    if not given.startswith("aws://"):
        return given
    found = urlsplit(given).path.strip("/")
    if not re.fullmatch(r"vol-[^/]*", found):
        raise ValueError(f"Invalid format for AWS volume ({given})")
    return found


def _gce(disk: Disk, labels: Disk) -> str:
    name = disk.get("pdName", "")
    zones = (labels.get(OLD_ZONE) or labels.get(ZONE, "")).split(ZONE_SEPARATOR)
    if len(zones) == 1:
        return f"projects/UNSPECIFIED/zones/{zones[0] or 'UNSPECIFIED'}/disks/{name}"
    parts = [zone.split("-") for zone in zones]
    regions = {"-".join(part[:2]) for part in parts}
    if any(len(part) != len(("locale", "region", "zone")) for part in parts) or len(regions) != 1:
        raise ValueError(f"failed to get region from zones: {', '.join(zones)}")
    return f"projects/UNSPECIFIED/regions/{regions.pop()}/disks/{name}"


def _azure(disk: Disk, labels: Disk) -> str:
    del labels
    kind = disk.get("kind", "Managed")
    if kind.lower() != "managed":
        raise ValueError(f"kind({kind}) is not supported in csi migration")
    return disk.get("diskURI", "")


def _named_by_id(disk: Disk, labels: Disk) -> str:
    del labels
    return disk.get("volumeID", "")


_PLUGINS: Final[Mapping[str, _Plugin]] = {
    "awsElasticBlockStore": _Plugin(
        "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone", _ebs
    ),
    "gcePersistentDisk": _Plugin(
        "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone", _gce
    ),
    "azureDisk": _Plugin("kubernetes.io/azure-disk", "disk.csi.azure.com", "", _azure),
    "cinder": _Plugin(
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        "topology.cinder.csi.openstack.org/zone",
        _named_by_id,
    ),
    "portworxVolume": _Plugin(
        "kubernetes.io/portworx-volume", "pxd.portworx.com", "", _named_by_id
    ),
}
_BY_NAME: Final = {plugin.name: plugin for plugin in _PLUGINS.values()}
#: In-tree plugins that can be translated, but whose migration the scheduler never treats as on.
_NEVER: Final = frozenset({"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"})
