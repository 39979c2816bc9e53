# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""VolumeZone: keeps pods in the zones of their volumes."""

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.reads import Reads
from enbloc.framework.status import Status, refuse_for_good
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Labels
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.volume_claims import (
    claim_not_found,
    named_claims,
    names_claim,
    volumes_of,
)
from enbloc.storage.facts import PersistentVolume, PersistentVolumeClaim, StorageClass
from enbloc.storage.in_tree import OLD_REGION, OLD_ZONE, REGION, ZONE, ZONE_SEPARATOR
from enbloc.storage.known import KnownObjects

_LABELS: Final = (OLD_ZONE, OLD_REGION, ZONE, REGION)
_NEWER: Final = {OLD_ZONE: ZONE, OLD_REGION: REGION}


class _Zones(NamedTuple):
    """The zones, or regions, that a volume may be in, by the value of one label."""

    label: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class VolumeZone:
    """Refuses nodes outside of the zones and regions of the volumes bound to a pod's claims.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumezone/volume_zone.go.
    """

    name: ClassVar[str] = "VolumeZone"
    same_on_any_host: ClassVar[bool] = True
    reads_claims: ClassVar[bool] = True
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.STORAGE_CLASS, Action.ADD),
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_LABEL),
        ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE),
        ClusterEvent(Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE),
    )

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> "ZoneFilter | Status | None":
        """Look up the zones of the volumes; refuse a pod with a claim that cannot be bound."""
        found: list[_Zones] = []
        names = named_claims(pod)
        if not names:
            return None
        known = volumes_of(snapshot.nodes).known
        for name in names:
            claim = known.claims.get(f"{pod.key.namespace}/{name}")
            if claim is None:
                return refuse_for_good(claim_not_found(name))
            if claim.volume:
                volume = known.volumes.get(claim.volume)
                if volume is None:
                    return refuse_for_good(f'persistentvolume "{claim.volume}" not found')
                found += _zones(volume.labels)
            elif refusal := _unbound(claim, known):
                return refuse_for_good(refusal)
        return ZoneFilter(tuple(dict.fromkeys(found))) if found else None

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if the pods may wait for this claim, volume, class or node."""
        new, old = event.fact, event.old_fact
        helps = True
        if isinstance(new, PersistentVolumeClaim):
            helps = names_claim(event, facts, ephemeral=False)
        elif isinstance(new, StorageClass):
            helps = new.waits
        elif isinstance(new, PersistentVolume) and isinstance(old, PersistentVolume):
            helps = _zones(new.labels) != _zones(old.labels)
        return Hint.QUEUE if helps else Hint.SKIP


@dataclass(frozen=True)
class ZoneFilter:
    """Filters by the zones of volumes."""

    zones: tuple[_Zones, ...]

    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) had no available volume zone"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """A node without any label of zones or regions passes, as in a cluster of one zone."""
        del pod
        labelled = np.logical_or.reduce([nodes.has_label(label) for label in _LABELS])
        allowed: Mask = np.ones(len(nodes), np.bool_)
        for label, values in self.zones:
            inside = nodes.matches(Requirement(label, Operator.IN, values))
            if label in _NEWER:
                newer = nodes.matches(Requirement(_NEWER[label], Operator.IN, values))
                inside |= newer & ~nodes.has_label(label)
            allowed &= inside
        return allowed | ~labelled


def _unbound(claim: PersistentVolumeClaim, known: KnownObjects) -> str:
    """Why a pod cannot use an unbound claim; "" = it can, as the claim is bound later."""
    if not claim.storage_class:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    found = known.classes.get(claim.storage_class)
    if found is None:
        return f'storageclass.storage.k8s.io "{claim.storage_class}" not found'
    return "" if found.waits else "PersistentVolume had no name"


def _zones(labels: Labels) -> list[_Zones]:
    """The zones and regions from a volume's labels; a label with an empty zone is ignored."""
    values, found = dict(labels), list[_Zones]()
    for label in _LABELS:
        if label in values:
            zones = sorted({zone.strip() for zone in values[label].split(ZONE_SEPARATOR)})
            if "" not in zones:
                found.append(_Zones(label, tuple(zones)))
    return found
