# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""VolumeBinding: the plugin for pods with PersistentVolumeClaims."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Final

import numpy as np

from enbloc.framework.act import Api, Target
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.searching import MOST_TOGETHER, OneDomain, SharedCapacity, numberings
from enbloc.framework.status import Code, Status, refuse_for_good
from enbloc.model.nodes import Amounts, Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.volume_binding import act
from enbloc.plugins.volume_binding.details import binding_detail
from enbloc.plugins.volume_binding.filter import BindingFilter, fitting_any, nodes_of_volumes
from enbloc.plugins.volume_binding.score import BindingScore
from enbloc.plugins.volume_claims import (
    claim_not_found,
    names_claim,
    not_made_for,
    volumes_of,
)
from enbloc.storage.facts import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from enbloc.storage.holdings import MOST_CHARGED
from enbloc.storage.known import KnownObjects
from enbloc.storage.segments import Segments
from enbloc.storage.table import Volumes
from enbloc.storage.wanted import ClaimStanding, WantedVolume, wanted_by

#: How many segments of one class are reported as pools.
_MOST_POOLS: Final = 64


@dataclass(frozen=True)
class VolumeBinding:
    """Finds a volume for each claim on the pod's node, or has one provisioned.

    Source: kube-scheduler v1.36
    pkg/scheduler/framework/plugins/volumebinding/volume_binding.go.

    Attributes:
        bind_timeout_seconds: the longest wait until claims are bound.
        shape: `(utilisation, score)` for scores by free capacity; () = no scores.
    """

    bind_timeout_seconds: int = 600
    shape: tuple[tuple[int, int], ...] = ()

    name: ClassVar[str] = "VolumeBinding"
    same_on_any_host: ClassVar[bool] = True
    reads_claims: ClassVar[bool] = True
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.STORAGE_CLASS, Action.ADD | Action.UPDATE),
        ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE | Action.DELETE),
        ClusterEvent(Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE),
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_LABEL),
        ClusterEvent(Resource.CSI_NODE, Action.ADD | Action.UPDATE),
        ClusterEvent(Resource.CSI_DRIVER, Action.UPDATE),
        ClusterEvent(Resource.CSI_STORAGE_CAPACITY, Action.ADD | Action.UPDATE),
    )

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> BindingFilter | Status | None:
        """Refuse claims that cannot be used, or should have been bound already."""
        if not pod.claims:
            return None
        volumes = volumes_of(snapshot.nodes)
        wanted = wanted_by(pod, volumes.known)
        for each in wanted:
            refusal = _unusable(pod, each)
            if refusal:
                return refuse_for_good(refusal)
        if any(each.standing is ClaimStanding.IMMEDIATE for each in wanted):
            return refuse_for_good("pod has unbound immediate PersistentVolumeClaims")
        problem = _untranslatable(wanted, volumes.known)
        if problem:
            return Status(Code.ERROR, problem)
        return BindingFilter(pod, volumes, wanted)

    def detail(self, pod: Pod, nodes: Nodes) -> str:
        """Which claims are not bound or cannot be, and what each lacks."""
        return binding_detail(pod, nodes)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> BindingScore | None:
        """Score by the storage that is left, if a shape is configured."""
        if not self.shape or not pod.claims:
            return None
        volumes = volumes_of(snapshot.nodes)
        return BindingScore(pod, volumes, wanted_by(pod, volumes.known), self.shape)

    def pools(self, pods: Sequence[Pod], nodes: Nodes, *, ever: bool) -> Sequence[SharedCapacity]:
        """The volumes of each class without a provisioner, and the segments of the others."""
        volumes = volumes_of(nodes)
        asks: dict[str, dict[int, list[PersistentVolumeClaim]]] = {}
        for place, pod in enumerate(pods):
            wanted = wanted_by(pod, volumes.known) if pod.claims else ()
            for name, claims in BindingFilter(pod, volumes, wanted).own().items():
                asks.setdefault(name, {})[place] = claims
        found: list[SharedCapacity] = []
        for name, claims_of in asks.items():
            each_claim = [claim for claims in claims_of.values() for claim in claims]
            fitting = fitting_any(volumes, name, each_claim, ever=ever)
            known = volumes.known.classes.get(name)
            segments = volumes.known.segments(name)
            amounts = np.zeros(len(pods), np.int64)
            if known is None or not known.provisions:
                for place, claims in claims_of.items():
                    amounts[place] = len(claims)
                rows = np.ones(len(nodes), np.bool_)
                text = f"of class {name}"
                found.append(SharedCapacity(rows, amounts, fitting.bit_count(), "volumes", text))
            elif segments is not None and not fitting and not ever:
                for place, claims in claims_of.items():
                    # Filters refuse larger amounts, which anybody may request.
                    amounts[place] = min(sum(claim.size for claim in claims), MOST_CHARGED)
                found += _segment_pools(volumes, name, segments, amounts, nodes)
        return found

    def gathers(self, pod: Pod, snapshot: Snapshot) -> Sequence[str]:
        """One node for pods that share a claim, whose volume may be of one node."""
        if not pod.claims:
            return ()
        volumes = volumes_of(snapshot.nodes)
        return ("",) if BindingFilter(pod, volumes, wanted_by(pod, volumes.known)).gathers else ()

    def sets(self, pods: Sequence[Pod], nodes: Nodes, *, ever: bool) -> Sequence[OneDomain]:
        """The nodes that reach one volume, for pods that share a claim which may get it."""
        volumes = volumes_of(nodes)
        users: dict[str, tuple[PersistentVolumeClaim, Mask]] = {}
        for at, pod in enumerate(pods):
            wanted = wanted_by(pod, volumes.known) if pod.claims else ()
            for claim in BindingFilter(pod, volumes, wanted).undecided(volumes):
                _, mask = users.setdefault(claim.key, (claim, np.zeros(len(pods), np.bool_)))
                mask[at] = True
        found: list[OneDomain] = []
        for claim, mask in islice(users.values(), MOST_TOGETHER):
            name = f"nodes that reach one volume for PersistentVolumeClaim {claim.name}"
            reaching = nodes_of_volumes(volumes, claim, nodes, ever=ever)
            domains, complete = numberings(reaching, len(nodes))
            found += (OneDomain(mask, each, name if complete else "") for each in domains)
        return found

    def prepares(self, target: Target) -> bool:
        """Whether a claim of the member must still be bound."""
        return target.decided.volumes is not None

    @property
    def pre_bind_seconds(self) -> float:
        """How many seconds claims may delay the binding of a group."""
        return self.bind_timeout_seconds

    async def pre_bind(self, target: Target, api: Api) -> Status:
        """Bind the member's claims, and wait until they are."""
        decided = target.decided.volumes
        if decided is None:
            return Status(Code.SKIP)
        return await act.pre_bind(decided, target, api, self.pre_bind_seconds)

    async def unreserve(self, target: Target, api: Api) -> Status:
        """Let claims that have no volume yet follow the member to its next node."""
        decided = target.decided.volumes
        if decided is None:
            return Status(Code.SKIP)
        return await act.unreserve(decided, target, api)

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if the pods may wait for this object or node."""
        new, old = event.fact, event.old_fact
        helps = True
        if isinstance(new, PersistentVolumeClaim):
            waits = any(pod.claims for pod in facts.pending)
            helps = (waits and _frees(event)) or names_claim(event, facts)
        elif isinstance(new, StorageClass) and isinstance(old, StorageClass):
            helps = new.topologies != old.topologies
        elif isinstance(new, CSINode) and isinstance(old, CSINode):
            helps = new.migrated != old.migrated
        elif isinstance(new, CSIDriver) and isinstance(old, CSIDriver):
            helps = old.storage_capacity and not new.storage_capacity
        elif isinstance(new, CSIStorageCapacity) and isinstance(old, CSIStorageCapacity):
            helps = _grew(old, new)
        return Hint.QUEUE if helps else Hint.SKIP


def _frees(event: Happening) -> bool:
    """Whether an event of a claim may free what the claim was promised.

    One that is gone, or was made anew, gets nothing any more; of a segment, one whose volume was
    provisioned is charged nothing any more.
    """
    new, old = event.fact, event.old_fact
    if not isinstance(new, PersistentVolumeClaim):
        return False
    if event.action is Action.DELETE:
        return not new.bound
    if not isinstance(old, PersistentVolumeClaim) or old.bound:
        return False
    return new.uid != old.uid or (new.bound and new.selected_node is not None)


def _grew(old: CSIStorageCapacity, new: CSIStorageCapacity) -> bool:
    """Whether a segment may take a larger volume, or more of them."""
    if new.limit is None:
        return False
    if old.limit is None or new.limit > old.limit:
        return True
    return old.capacity is not None and (new.capacity is None or new.capacity > old.capacity)


def _unusable(pod: Pod, wanted: WantedVolume) -> str:
    """Why a claim cannot be used; "" = it can."""
    match wanted.standing:
        case ClaimStanding.MISSING if wanted.ephemeral:
            return (
                "waiting for ephemeral volume controller to create the persistentvolumeclaim "
                f'"{wanted.name}"'
            )
        case ClaimStanding.MISSING:
            return claim_not_found(wanted.name)
        case ClaimStanding.LOST:
            volume = wanted.claim.volume if wanted.claim else ""
            return (
                f'persistentvolumeclaim "{wanted.name}" bound to non-existent persistentvolume '
                f'"{volume}"'
            )
        case ClaimStanding.DELETING:
            return f'persistentvolumeclaim "{wanted.name}" is being deleted'
        case ClaimStanding.FOREIGN:
            return not_made_for(pod, wanted.name)
        case ClaimStanding.UNREADABLE:
            problem = wanted.claim.problem if wanted.claim else ""
            return f'persistentvolumeclaim "{wanted.name}" cannot be read: {problem}'
        case _:
            return ""


def _untranslatable(wanted: Sequence[WantedVolume], known: KnownObjects) -> str:
    """Why a bound volume cannot be translated for its CSI driver; "" = it can, or need not."""
    for each in wanted:
        volume = known.volumes.get(each.claim.volume) if each.claim else None
        if each.standing is not ClaimStanding.BOUND or volume is None or not volume.problem:
            continue
        if any(volume.plugin in node.migrated for node in known.nodes.values()):
            return f"could not translate pv: {volume.problem}"
    return ""


def _segment_pools(
    volumes: Volumes, name: str, segments: Segments, amounts: Amounts, nodes: Nodes
) -> Iterator[SharedCapacity]:
    """The segments of one class that are the only ones for several nodes."""
    reach = segments.reach(nodes)
    alone = reach & (reach.sum(axis=0) == 1)
    left = segments.left(volumes.holdings.charged(name, segments))
    wide = np.flatnonzero(segments.known() & (alone.sum(axis=1) > 1))
    for place in wide[:_MOST_POOLS].tolist():
        where = _where(segments, place)
        text = f"of class {name}{where}"
        yield SharedCapacity(alone[place], amounts, max(0, int(left[place])), "bytes", text)


def _where(segments: Segments, place: int) -> str:
    """The nodes of a segment, for people: " in zone a"."""
    topology = segments.facts[place].topology
    named = [
        f"{each.key.rpartition('/')[2]} {each.values[0]}"
        for each in (topology.requirements if topology else ())
        if len(each.values) == 1
    ]
    return f" in {', '.join(named)}" if named else f" in {segments.facts[place].key}"
