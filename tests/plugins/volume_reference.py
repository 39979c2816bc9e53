# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What kube-scheduler's plugins of volumes say of one pod and one node, written out plainly.

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding;
pkg/scheduler/framework/plugins/volumerestrictions;
pkg/scheduler/framework/plugins/volumezone; pkg/scheduler/framework/plugins/nodevolumelimits;
kubernetes v1.36 staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from enbloc.model.node import Node
from enbloc.model.pods import Pod
from enbloc.storage.facts import (
    Affinity,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeFact,
)

GA = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
ZONE_LABELS = (*GA, *GA.values())


@dataclass
class Cluster:
    """The objects of a cluster, and the pods on each node."""

    facts: Sequence[VolumeFact]
    nodes: Sequence[Node]
    seats: Sequence[tuple[Pod, str]] = ()

    def find(self, kind: type, key: str) -> VolumeFact | None:
        return next((f for f in self.facts if isinstance(f, kind) and f.key == key), None)

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        found = self.find(PersistentVolumeClaim, key)
        return found if isinstance(found, PersistentVolumeClaim) else None

    def volume(self, name: str) -> PersistentVolume | None:
        found = self.find(PersistentVolume, name)
        return found if isinstance(found, PersistentVolume) else None

    def storage_class(self, name: str) -> StorageClass | None:
        found = self.find(StorageClass, name)
        return found if isinstance(found, StorageClass) else None

    def csi_node(self, name: str) -> CSINode | None:
        found = self.find(CSINode, name)
        return found if isinstance(found, CSINode) else None


def claims_of(pod: Pod) -> list[tuple[str, bool]]:
    kinds = [v.kind for v in pod.spec.volumes if v.kind in ("claim", "ephemeral")]
    return [(name, kind == "ephemeral") for name, kind in zip(pod.claims, kinds, strict=True)]


def reaches(affinity: Affinity, node: Node) -> bool:
    if affinity is None:
        return True
    labels = dict(node.labels)
    return any(
        all(each.matches(labels.get(each.key)) for each in term.expressions)
        for term in affinity
        if term.expressions or term.fields
    )


# ── VolumeBinding ────────────────────────────────────────────────────────────────────────────


def binding_refuses_pod(pod: Pod, cluster: Cluster) -> str:
    """PreFilter's message; "" = it lets the pod through."""
    namespace = pod.key.namespace
    for name, ephemeral in claims_of(pod):
        claim = cluster.claim(f"{namespace}/{name}")
        if claim is None:
            if ephemeral:
                return (
                    "waiting for ephemeral volume controller to create the "
                    f'persistentvolumeclaim "{name}"'
                )
            return f'persistentvolumeclaim "{name}" not found'
        if claim.lost:
            return (
                f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume '
                f'"{claim.volume}"'
            )
        if claim.deleting:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if ephemeral and claim.owner != pod.uid:
            return (
                f"PVC {namespace}/{name} was not created for pod {namespace}/{pod.key.name} "
                "(pod is not owner)"
            )
    if any(kind == "immediate" for kind, _ in sorted_claims(pod, cluster)):
        return "pod has unbound immediate PersistentVolumeClaims"
    return ""


def sorted_claims(pod: Pod, cluster: Cluster) -> list[tuple[str, PersistentVolumeClaim]]:
    found = []
    for name, _ in claims_of(pod):
        claim = cluster.claim(f"{pod.key.namespace}/{name}")
        assert claim is not None
        known = cluster.storage_class(claim.storage_class)
        if claim.volume and claim.bind_completed:
            found.append(("bound", claim))
        elif known is not None and known.waits and not claim.volume:
            found.append(("delayed", claim))
        else:
            found.append(("immediate", claim))
    return found


def binding_reasons(pod: Pod, node: Node, cluster: Cluster) -> list[str]:
    """Filter's reasons for one node, in upstream's order."""
    kinds = sorted_claims(pod, cluster)
    reasons = []
    bound_ok, found_ok = check_bound([c for kind, c in kinds if kind == "bound"], node, cluster)
    match_ok, space_ok = True, True
    delayed = [claim for kind, claim in kinds if kind == "delayed"]
    if any(c.selected_node is not None and c.selected_node != node.name for c in delayed):
        match_ok = False
    else:
        to_make = [c for c in delayed if c.selected_node is not None]
        to_match = sorted((c for c in delayed if c.selected_node is None), key=lambda c: c.size)
        taken: set[str] = set()
        for claim in to_match:
            volume = smallest(claim, node, cluster, taken)
            if volume is None:
                to_make.append(claim)
            else:
                taken.add(volume.name)
        match_ok, space_ok = can_make(to_make, node, cluster)
    if not bound_ok:
        reasons.append("node(s) didn't match PersistentVolume's node affinity")
    if not match_ok:
        reasons.append("node(s) didn't find available persistent volumes to bind")
    if not space_ok:
        reasons.append("node(s) did not have enough free storage")
    if not found_ok:
        reasons.append("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
    return reasons


def check_bound(
    claims: Sequence[PersistentVolumeClaim], node: Node, cluster: Cluster
) -> tuple[bool, bool]:
    csi_node = cluster.csi_node(node.name)
    for claim in claims:
        volume = cluster.volume(claim.volume)
        if volume is None:
            return True, False
        affinity = volume.affinity
        if volume.plugin and csi_node is not None and volume.plugin in csi_node.migrated:
            affinity = volume.migrated_affinity
        if not reaches(affinity, node):
            return False, True
    return True, True


def smallest(  # noqa: C901  # as upstream has it
    claim: PersistentVolumeClaim, node: Node, cluster: Cluster, taken: set[str]
) -> PersistentVolume | None:
    best: PersistentVolume | None = None
    for volume in cluster.facts:
        if not isinstance(volume, PersistentVolume) or volume.name in taken:
            continue
        if volume.storage_class != claim.storage_class or volume.deleting:
            continue
        mine = False
        if volume.claim is not None:
            mine = volume.claim.key == claim.key and volume.claim.uid in ("", claim.uid)
            if not mine:
                continue
        if volume.capacity < claim.size or volume.mode != claim.mode:
            continue
        if volume.attributes_class != claim.attributes_class:
            continue
        if mine:
            return volume if reaches(volume.affinity, node) else None
        if not volume.available or not reaches(volume.affinity, node):
            continue
        if claim.selector is not None and not claim.selector.matches(dict(volume.labels)):
            continue
        if not set(claim.access_modes) <= volume.access_modes:
            continue
        order = (volume.capacity, volume.created, volume.name)
        if best is None or order < (best.capacity, best.created, best.name):
            best = volume
    return best


def can_make(
    claims: Sequence[PersistentVolumeClaim], node: Node, cluster: Cluster
) -> tuple[bool, bool]:
    labels = dict(node.labels)
    for claim in claims:
        known = cluster.storage_class(claim.storage_class)
        assert known is not None
        if known.provisioner in ("", "kubernetes.io/no-provisioner"):
            return False, True
        if known.topologies and not any(
            term and all(labels.get(key) in values for key, values in term)
            for term in known.topologies
        ):
            return False, True
        driver = cluster.find(CSIDriver, known.provisioner)
        if claim.request is None or not isinstance(driver, CSIDriver):
            continue
        if driver.storage_capacity and not any(
            isinstance(each, CSIStorageCapacity)
            and each.storage_class == known.name
            and each.limit is not None
            and each.limit >= claim.request
            and each.topology is not None
            and each.topology.matches(labels)
            for each in cluster.facts
        ):
            return True, False
    return True, True


# ── VolumeZone ───────────────────────────────────────────────────────────────────────────────


def zones(  # noqa: C901  # as upstream has it
    pod: Pod, cluster: Cluster
) -> str | list[tuple[str, set[str]]]:
    """What PreFilter finds: a message, or the zones of the volumes."""
    found: list[tuple[str, set[str]]] = []
    for name, ephemeral in claims_of(pod):
        if ephemeral:
            continue
        claim = cluster.claim(f"{pod.key.namespace}/{name}")
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if not claim.volume:
            if not claim.storage_class:
                return "PersistentVolumeClaim had no pv name and storageClass name"
            known = cluster.storage_class(claim.storage_class)
            if known is None:
                return f'storageclass.storage.k8s.io "{claim.storage_class}" not found'
            if known.waits:
                continue
            return "PersistentVolume had no name"
        volume = cluster.volume(claim.volume)
        if volume is None:
            return f'persistentvolume "{claim.volume}" not found'
        for key, value in volume.labels:
            parts = {part.strip() for part in value.split("__")}
            if key in ZONE_LABELS and "" not in parts:
                found.append((key, parts))
    return found


def zone_allows(found: Sequence[tuple[str, set[str]]], node: Node) -> bool:
    labels = dict(node.labels)
    if not any(label in labels for label in ZONE_LABELS):
        return True
    return all(labels.get(key, labels.get(GA.get(key, key))) in values for key, values in found)


# ── NodeVolumeLimits ─────────────────────────────────────────────────────────────────────────


def attachables(pod: Pod, cluster: Cluster) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for name, _ in claims_of(pod):
        claim = cluster.claim(f"{pod.key.namespace}/{name}")
        if claim is None:
            continue
        volume = cluster.volume(claim.volume) if claim.volume else None
        if volume is not None:
            if volume.csi is not None:
                found[(volume.csi.driver, volume.csi.handle)] = volume.csi.driver
            continue
        known = cluster.storage_class(claim.storage_class)
        if known is not None and known.provisioner:
            found[(known.provisioner, f"unbound {claim.key}")] = known.provisioner
    return found


def within_limits(pod: Pod, node: Node, cluster: Cluster) -> bool:
    csi_node = cluster.csi_node(node.name)
    limits: Mapping[str, int] = dict(csi_node.limits) if csi_node else {}
    new = attachables(pod, cluster)
    attached: dict[tuple[str, str], str] = {}
    for other, name in cluster.seats:
        if name == node.name:
            attached |= attachables(other, cluster)
    for key in attached:
        new.pop(key, None)
    for each in cluster.facts:
        if isinstance(each, VolumeAttachment) and each.node == node.name and each.attacher:
            volume = cluster.volume(each.volume)
            if volume is not None and volume.csi is not None:
                attached.setdefault((each.attacher, volume.csi.handle), each.attacher)
    for driver in set(new.values()) & set(limits):
        count = sum(each == driver for each in new.values())
        if count + sum(each == driver for each in attached.values()) > limits[driver]:
            return False
    return True


# ── VolumeRestrictions ───────────────────────────────────────────────────────────────────────


def in_use_by_another(pod: Pod, cluster: Cluster) -> bool:
    for name, ephemeral in claims_of(pod):
        claim = cluster.claim(f"{pod.key.namespace}/{name}")
        if ephemeral or claim is None or "ReadWriteOncePod" not in claim.access_modes:
            continue
        for other, _ in cluster.seats:
            if other.key.namespace == pod.key.namespace and (name, False) in claims_of(other):
                return True
    return False
