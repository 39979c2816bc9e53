# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeVolumeLimits: how many volumes a node can attach."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.volume_claims import (
    UNLIMITED,
    claim_not_found,
    named_claims,
    names_claim,
    not_made_for,
    volumes_of,
)
from enbloc.storage import in_tree
from enbloc.storage.facts import Attachable, CSINode, VolumeAttachment
from enbloc.storage.table import Volumes
from enbloc.storage.wanted import inline_volumes, wanted_by

TOO_MANY: Final = "node(s) exceed max volume count"


@dataclass(frozen=True)
class NodeVolumeLimits:
    """Refuses nodes that cannot attach another volume of a CSI driver.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/nodevolumelimits/csi.go.
    """

    name: ClassVar[str] = "NodeVolumeLimits"
    same_on_any_host: ClassVar[bool] = True
    reads_claims: ClassVar[bool] = True
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.CSI_NODE, Action.ADD | Action.UPDATE),
        ClusterEvent(Resource.POD, Action.DELETE),
        ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD),
        ClusterEvent(Resource.VOLUME_ATTACHMENT, Action.DELETE),
    )

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> "LimitsFilter | None":
        """Count what a node would attach for the pod; skip one without volumes."""
        if not _attaches(pod):
            return None
        volumes = volumes_of(snapshot.nodes)
        own: Counter[str] = Counter()
        shared, untranslated = _inline(pod)
        for each in {each.key: each for each in wanted_by(pod, volumes.known)}.values():
            if each.claim is None:
                key = f"{pod.key.namespace}/{each.name}"
                return LimitsFilter(wrong=f"looking up PVC {key}: {claim_not_found(each.name)}")
            if each.ephemeral and not each.is_made_for(pod):
                return LimitsFilter(wrong=not_made_for(pod, each.name))
            volume = volumes.known.attachable(each.claim)
            if volume is not None:
                if _told_apart(volumes, pod, each.key):
                    shared.add(volume)
                else:
                    own[volume.driver] += 1
        if not (own or shared or untranslated):
            return None
        return LimitsFilter(
            tuple(sorted(own.items())), frozenset(shared), untranslated=untranslated
        )

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if a node may attach more volumes, or has fewer attached."""
        new, old = event.fact, event.old_fact
        helps = True
        if isinstance(new, CSINode) and isinstance(old, CSINode):
            helps = _grew(old, new)
        elif isinstance(new, VolumeAttachment):
            helps = any(_could_wait_for(pod, new) for pod in facts.pending)
        elif event.resource is Resource.PERSISTENT_VOLUME_CLAIM:
            helps = names_claim(event, facts)
        elif event.resource is Resource.POD and event.pod is not None:
            helps = _attaches(event.pod)
        return Hint.QUEUE if helps else Hint.SKIP


@dataclass(frozen=True)
class LimitsFilter:
    """Filters by the volumes that nodes attach already, and their limits.

    Attributes:
        own: `(driver, count)` of volumes that no other pod has.
        shared: volumes that other pods may have too; they count once per node.
        wrong: why no node is feasible; "" = some may be.
        untranslated: why nodes with CSI drivers are not feasible; "" = they may be.
    """

    own: tuple[tuple[str, int], ...] = ()
    shared: frozenset[Attachable] = frozenset()
    wrong: str = ""
    untranslated: str = ""

    reads: ClassVar[Reads] = Reads.NODE
    reason: ClassVar[str] = TOO_MANY

    @property
    def narrows(self) -> bool:
        """True: a shared volume that an added pod attaches counts there instead of here."""
        return True

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """True where the attached volumes and the pod's are within the limits of each driver."""
        del pod
        if self.wrong:
            return np.zeros(len(nodes), np.bool_)
        mask: Mask = np.ones(len(nodes), np.bool_)
        volumes = volumes_of(nodes)
        for row, name, limits in _limited(volumes, nodes):
            if self.untranslated or not self._fits(volumes, name, limits):
                mask[row] = False
        return mask

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """All refused nodes count under one reason."""
        del pod, nodes
        reason = self.wrong or self.untranslated or TOO_MANY
        return Counter({reason: int(refused.sum())})

    def most(self, pod: Pod, nodes: Nodes, *, ever: bool) -> npt.NDArray[np.int64]:
        """int64[N]: how many such pods each node could attach the own volumes of."""
        del pod
        most = np.full(len(nodes), UNLIMITED, np.int64)
        volumes = volumes_of(nodes)
        for row, name, limits in _limited(volumes, nodes) if self.own else ():
            counts = {} if ever else volumes.attached(name).counts
            for driver, count in self.own:
                if driver in limits:
                    left = max(0, limits[driver] - counts.get(driver, 0))
                    most[row] = min(int(most[row]), left // count)
        return most

    def _fits(self, volumes: Volumes, node: str, limits: Mapping[str, int]) -> bool:
        attached = volumes.attached(node)
        new = dict(self.own)
        for volume in self.shared - attached.volumes:
            new[volume.driver] = new.get(volume.driver, 0) + 1
        return all(
            attached.counts.get(driver, 0) + count <= limits[driver]
            for driver, count in new.items()
            if driver in limits
        )


def _limited(volumes: Volumes, nodes: Nodes) -> Iterator[tuple[int, str, Mapping[str, int]]]:
    """The rows where a CSI driver runs, with its limits."""
    known = volumes.known.nodes
    if not known:
        return
    for row, name in enumerate(nodes.names):
        found = known.get(name)
        if found is not None:
            yield row, name, dict(found.limits)


def _inline(pod: Pod) -> tuple[set[Attachable], str]:
    """What a node attaches for the pod's inline volumes, and why one cannot be translated."""
    found: set[Attachable] = set()
    for disk in inline_volumes(pod):
        try:
            volume = in_tree.inline(disk)
        except ValueError as error:
            return found, f"converting volume({disk.name}) from inline to csi: {error}"
        if volume is not None:
            found.add(volume)
    return found, ""


def _told_apart(volumes: Volumes, pod: Pod, key: str) -> bool:
    """Whether the claim's volume may be attached for another pod too."""
    if volumes.shared(pod, key):
        return True
    volume = volumes.known.volumes.get(volumes.known.claims[key].volume)
    return volume is not None and volumes.known.told_apart(volume)


def _attaches(pod: Pod) -> bool:
    """Whether the pod has volumes that may count."""
    inline = inline_volumes(pod)
    return len(inline) < len(pod.spec.volumes) or any(map(in_tree.migratable, inline))


def _grew(old: CSINode, new: CSINode) -> bool:
    before = dict(old.limits)
    return any(count > before.get(driver, 0) for driver, count in new.limits)


def _could_wait_for(pod: Pod, gone: VolumeAttachment) -> bool:
    """Whether a pod may fit on the node where a volume was detached."""
    if named_claims(pod):
        return True
    inline, untranslated = _inline(pod)
    return bool(untranslated) or any(each.driver == gone.attacher for each in inline)
