# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""VolumeRestrictions: disks and claims that only one pod may use."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.reads import Reads
from enbloc.framework.status import SUCCESS, Status, refuse_for_good
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod, PodVolume
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.volume_claims import (
    claim_not_found,
    named_claims,
    names_claim,
    volumes_of,
)
from enbloc.storage.disks import conflict, disk_key
from enbloc.storage.wanted import inline_volumes

DISK_CONFLICT: Final = "node(s) had no available disk"
ONE_POD_ONLY: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod"
)
#: How many claims of one pod are examined for a message.
_MOST_CLAIMS: Final = 16
#: How many members, or claims, a message names.
_MOST_NAMED: Final = 3


@dataclass(frozen=True)
class VolumeRestrictions:
    """Refuses nodes with a pod that uses the same disk; all nodes for a single-pod claim in use.

    Source: kube-scheduler v1.36
    pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go.
    """

    name: ClassVar[str] = "VolumeRestrictions"
    same_on_any_host: ClassVar[bool] = True
    reads_claims: ClassVar[bool] = True
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.POD, Action.DELETE),
        ClusterEvent(Resource.NODE, Action.ADD),
        ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD),
    )

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> "RestrictionsFilter | Status | None":
        """Find the disks, and the claims that only one pod may use; refuse a missing claim."""
        names = named_claims(pod)
        disks = [each for each in inline_volumes(pod) if disk_key(each) is not None]
        if not names and not disks:
            return None
        volumes, alone = volumes_of(snapshot.nodes), list[str]()
        for name in names:
            key = f"{pod.key.namespace}/{name}"
            claim = volumes.known.claims.get(key)
            if claim is None:
                return refuse_for_good(claim_not_found(name))
            # A claim that no other pod names is not in use by another.
            if claim.once_per_pod and volumes.shared(pod, key):
                alone.append(key)
        if not alone and not disks:
            return None
        return RestrictionsFilter(tuple(disks), tuple(dict.fromkeys(alone)))

    def detail(self, pod: Pod, nodes: Nodes) -> str:
        """Which single-pod claim is in use, and where."""
        volumes = volumes_of(nodes)
        said: list[str] = []
        for name in list(dict.fromkeys(named_claims(pod)))[:_MOST_CLAIMS]:
            key = f"{pod.key.namespace}/{name}"
            claim = volumes.known.claims.get(key)
            user = next((user for _, user in volumes.users(key) if not user.made), None)
            if claim is not None and claim.once_per_pod and user is not None:
                said.append(
                    f"PersistentVolumeClaim {name} is in use by a pod on node {user.node}, and its "
                    "access mode is ReadWriteOncePod."
                )
        return " ".join(said[:_MOST_NAMED])

    def pre_filter_group(self, facts: GroupFacts, snapshot: Snapshot) -> Status:
        """Refuse a group whose members share a single-pod claim: they can never run together."""
        users: dict[str, list[str]] = {}
        known = volumes_of(snapshot.nodes).known
        for pod in facts.pending:
            for name in dict.fromkeys(named_claims(pod)):
                claim = known.claims.get(f"{pod.key.namespace}/{name}")
                if claim is not None and claim.once_per_pod:
                    users.setdefault(name, []).append(pod.key.name)
        for name, members in users.items():
            spare = len(facts.pending) - facts.lacking
            # Members above the minimum may wait until the others have ended.
            if len(members) > 1 and len(members) - 1 > spare:
                named = ", ".join(members[:_MOST_NAMED])
                more = ", …" if len(members) > _MOST_NAMED else ""
                return refuse_for_good(
                    f'persistentvolumeclaim "{name}" has access mode ReadWriteOncePod, and '
                    f"{len(members)} members use it: {named}{more}"
                )
        return SUCCESS

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if a pod that used the same disk or claim goes, or a claim comes."""
        helps = True
        if event.resource is Resource.PERSISTENT_VOLUME_CLAIM:
            helps = names_claim(event, facts, ephemeral=False)
        elif event.resource is Resource.POD and event.pod is not None:
            gone = event.pod
            helps = any(_clash(pod, gone) for pod in facts.pending)
        return Hint.QUEUE if helps else Hint.SKIP


@dataclass(frozen=True)
class RestrictionsFilter:
    """Filters by the disks on a node, and by the users of claims anywhere.

    Attributes:
        disks: the inline volumes that pods on one node must not share.
        alone: the claims that only one pod may use, `namespace/name`.
    """

    disks: tuple[PodVolume, ...]
    alone: tuple[str, ...]

    reason: ClassVar[str] = DISK_CONFLICT

    @property
    def reads(self) -> Reads:
        """CLUSTER with single-pod claims, which may be in use anywhere, else NODE."""
        return Reads.CLUSTER if self.alone else Reads.NODE

    @property
    def narrows(self) -> bool:
        """True: added pods only take disks and claims."""
        return True

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """True where no pod has the same disk; False everywhere if a single-pod claim is in use."""
        del pod
        return self._free_disks(nodes) & ~self._in_use(nodes)

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """Disks come first, as upstream."""
        del pod
        disks = refused & ~self._free_disks(nodes)
        reasons = Counter({DISK_CONFLICT: int(disks.sum())})
        if self._in_use(nodes):
            reasons[ONE_POD_ONLY] = int((refused & ~disks).sum())
        return +reasons

    def _in_use(self, nodes: Nodes) -> np.bool_:
        volumes = volumes_of(nodes)
        users = (user for key in self.alone for _, user in volumes.users(key))
        return np.bool_(any(not user.made for user in users))

    def _free_disks(self, nodes: Nodes) -> Mask:
        mask: Mask = np.ones(len(nodes), np.bool_)
        volumes = volumes_of(nodes)
        if len(nodes) == 1:  # any number of pods elsewhere may have the disk
            pods = volumes.pods_on(nodes.names[0]) if self.disks else ()
            mask[0] = not any(
                _conflicts(disk, inline_volumes(other)) for disk in self.disks for other in pods
            )
            return mask
        for disk in self.disks:
            key = disk_key(disk)
            assert key is not None
            for _, (other, node) in volumes.disk_users(key):
                row = nodes.row(node)
                if row is not None and mask[row] and _conflicts(disk, inline_volumes(other)):
                    mask[row] = False
        return mask


def _conflicts(disk: PodVolume, others: Sequence[PodVolume]) -> bool:
    key = disk_key(disk)
    return any(disk_key(other) == key and conflict(disk, other) for other in others)


def _clash(pod: Pod, gone: Pod) -> bool:
    """Whether a pod may have waited for a disk or claim of a pod that is gone."""
    same = pod.key.namespace == gone.key.namespace
    if same and not set(named_claims(pod)).isdisjoint(named_claims(gone)):
        return True
    disks = [each for each in inline_volumes(pod) if disk_key(each) is not None]
    return any(_conflicts(disk, inline_volumes(gone)) for disk in disks)
