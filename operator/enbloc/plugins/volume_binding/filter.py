# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""BindingFilter: nodes where a pod's claims are reached, or can be bound or provisioned.

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go FindPodVolumes.
Beyond upstream, what was promised to other pods is not available to this one, and claims of the
same plan may exchange volumes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from enbloc.framework.reads import Reads
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.plugins.volume_claims import UNLIMITED, FollowsVolumes, volumes_of
from enbloc.storage.available import Bits, VolumeChoice
from enbloc.storage.facts import PersistentVolume, PersistentVolumeClaim
from enbloc.storage.matching import exchanged, freeable
from enbloc.storage.rows import MatchedRows, SegmentRows
from enbloc.storage.table import Volumes
from enbloc.storage.topologies import of_affinity, of_topologies
from enbloc.storage.wanted import ClaimStanding, WantedVolume, delayed_of

NOT_REACHED: Final = "node(s) didn't match PersistentVolume's node affinity"
NOTHING_TO_BIND: Final = "node(s) didn't find available persistent volumes to bind"
NO_SPACE: Final = "node(s) did not have enough free storage"
NO_VOLUME: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
ELSEWHERE: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOnce access mode already "
    "in-use by another member on another node"
)


class Refusals(NamedTuple):
    """bool[N] each: why nodes are refused; several may hold."""

    not_reached: Mask
    nothing_to_bind: Mask
    no_space: Mask
    no_volume: Mask
    elsewhere: Mask


def _counted(found: Refusals) -> Iterator[tuple[str, Mask]]:
    """The reasons of which several may apply to one node."""
    yield NOT_REACHED, found.not_reached
    yield NOTHING_TO_BIND, found.nothing_to_bind
    yield NO_SPACE, found.no_space
    yield NO_VOLUME, found.no_volume


class _Makeable(NamedTuple):
    """Where a volume could be provisioned for a claim.

    Attributes:
        topology: bool[N]: the class may provision volumes there.
        space: bool[N]: enough storage is left, too; None = none is published.
    """

    topology: Mask
    space: Mask | None


class BindingFilter(FollowsVolumes):
    """Filters nodes for one class of pods.

    Args:
        pod: a pod of the class.
        volumes: the table.
        wanted: the pod's claims: bound, or waiting for its node.
    """

    reason: ClassVar[str] = NOTHING_TO_BIND

    def __init__(self, pod: Pod, volumes: Volumes, wanted: Sequence[WantedVolume]) -> None:
        self._group: GroupKey | None = pod.group
        self._shared = frozenset(each.key for each in wanted if volumes.shared(pod, each.key))
        self._bound = [
            each.claim.volume
            for each in wanted
            if each.standing is ClaimStanding.BOUND and each.claim is not None
        ]
        self._together = [
            each.key
            for each in wanted
            if each.claim is not None and each.claim.once_per_node and each.key in self._shared
        ]
        self._delayed = delayed_of(wanted)
        self._matched: dict[tuple[str, ...], MatchedRows] = {}
        self._segments: dict[tuple[str, int], SegmentRows] = {}
        self.reads = Reads.SPEC
        self._shares = any(claim.key in self._shared for claim in self._delayed)
        if (
            self._shares
            or self._together
            or any(_consumes(volumes, each) for each in self._delayed)
        ):
            self.reads = Reads.CLUSTER

    @property
    def gathers(self) -> bool:
        """Whether a claim of this pod is shared, so that its users' nodes depend on each other."""
        return self._shares or bool(self._together)

    @property
    def narrows(self) -> bool:
        """Whether added pods only take storage: true unless one may decide a claim of this pod."""
        return not self._shares

    # ── answers ──────────────────────────────────────────────────────────────────────────────

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """True where every bound volume is reached, and every other claim can get one."""
        del pod
        found = self.refusals(nodes)
        refused = found.nothing_to_bind | found.no_space
        if self._bound:
            refused |= found.not_reached | found.no_volume
        if self._together:
            refused |= found.elsewhere
        return ~refused

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """A node may be refused for several reasons, and counts under each.

        If members of the gang use a claim elsewhere, only that counts: whatever else the node lacks
        for the claim may follow from it.
        """
        del pod
        found = self.refusals(nodes)
        beside = refused & ~found.elsewhere
        counts = Counter({reason: int((mask & beside).sum()) for reason, mask in _counted(found)})
        counts[ELSEWHERE] = int((refused & found.elsewhere).sum())
        return +counts

    def unresolvable(self, pod: Pod, nodes: Nodes, refused: Mask) -> Mask:
        """All refused nodes: volumes and storage stay taken when a pod is gone."""
        del pod, nodes
        return refused.copy()

    def fork(self) -> "BindingFilter":
        """A copy that follows its own copy of the table."""
        made: BindingFilter = copy(self)
        made._matched = {key: each.fork() for key, each in self._matched.items()}
        made._segments = {key: each.fork() for key, each in self._segments.items()}
        return made

    def most(self, pod: Pod, nodes: Nodes, *, ever: bool) -> npt.NDArray[np.int64]:
        """int64[N]: an upper bound for such pods by the storage for their own claims."""
        del pod
        volumes = volumes_of(nodes)
        most = np.full(len(nodes), UNLIMITED, np.int64)
        for storage_class, claims in self.own().items():
            most = np.minimum(most, _most(volumes, storage_class, claims, nodes, ever=ever))
        return most

    def own(self) -> Mapping[str, list[PersistentVolumeClaim]]:
        """The claims that only this pod uses and that wait for its node, by class."""
        found: dict[str, list[PersistentVolumeClaim]] = {}
        for claim in self._delayed:
            if claim.key not in self._shared and claim.selected_node is None:
                found.setdefault(claim.storage_class, []).append(claim)
        return found

    def undecided(self, volumes: Volumes) -> Iterator[PersistentVolumeClaim]:
        """The claims that pods of a gang share, on several nodes, and that have no volume yet."""
        for claim in self._delayed:
            decided = claim.selected_node is not None or volumes.held(claim.key) is not None
            if self._roams(claim) and not decided:
                yield claim

    def _roams(self, claim: PersistentVolumeClaim) -> bool:
        """Whether members of a gang may share a claim on several nodes."""
        return self._group is not None and claim.key in self._shared and claim.of_many_nodes

    # ── how they come about ──────────────────────────────────────────────────────────────────

    def refusals(self, nodes: Nodes) -> Refusals:
        """Why each node is refused."""
        volumes = volumes_of(nodes)
        not_reached, no_volume = self._bound_elsewhere(volumes, nodes)
        nothing_to_bind, no_space = self._unbound(volumes, nodes)
        elsewhere = ~self._beside_members(volumes, nodes)
        return Refusals(not_reached, nothing_to_bind, no_space, no_volume, elsewhere)

    def _bound_elsewhere(self, volumes: Volumes, nodes: Nodes) -> tuple[Mask, Mask]:
        """Where a bound volume is not reached, and where one is missing; the first counts."""
        left: Mask = np.ones(len(nodes), np.bool_)
        not_reached: Mask = np.zeros(len(nodes), np.bool_)
        for name in self._bound:
            volume = volumes.known.volumes.get(name)
            if volume is None:
                return not_reached, left
            missed = left & ~reached(volume, volumes, nodes)
            not_reached |= missed
            left &= ~missed
        return not_reached, np.zeros(len(nodes), np.bool_)

    def _beside_members(self, volumes: Volumes, nodes: Nodes) -> Mask:
        """Where other members of the gang use claims that only one node at a time may use."""
        mask: Mask = np.ones(len(nodes), np.bool_)
        if self._group is None:
            return mask
        for key in self._together:
            used = self._used_by_members(key, volumes)
            if used:
                mask &= nodes.named(tuple(used))
        return mask

    def _used_by_members(self, key: str, volumes: Volumes) -> set[str]:
        """The nodes where members of the gang use a claim."""
        return {user.node for _, user in volumes.users(key) if user.group == self._group}

    def _unbound(self, volumes: Volumes, nodes: Nodes) -> tuple[Mask, Mask]:
        """Where claims find no volume and none can be provisioned; where storage is short."""
        left: Mask = np.ones(len(nodes), np.bool_)
        no_space: Mask = np.zeros(len(nodes), np.bool_)
        to_match: dict[str, list[PersistentVolumeClaim]] = {}
        to_make: list[tuple[PersistentVolumeClaim, Mask]] = []
        nowhere: Mask = np.zeros(len(nodes), np.bool_)
        for claim in self._delayed:
            held = self._where_held(claim, volumes, nodes)
            if held is not None:
                left &= held
            elif claim.selected_node is not None:
                left &= self._by_selected_node(claim, claim.selected_node, volumes, nodes)
                to_make.append((claim, nowhere))
            else:
                to_match.setdefault(claim.storage_class, []).append(claim)
        matched: dict[str, Mask] = {}
        for storage_class, claims in to_match.items():
            masks = self._found(volumes, nodes, storage_class, claims)
            matched.update(zip((claim.key for claim in claims), masks, strict=True))
        to_make += [(each, matched[each.key]) for each in self._delayed if each.key in matched]
        nothing = ~left
        for claim, found in to_make:
            need = left & ~found
            if not need.any():
                continue
            makeable = self._makeable(volumes, nodes, claim)
            failed = need & ~makeable.topology
            nothing |= failed
            if makeable.space is not None:
                short = need & makeable.topology & ~makeable.space
                no_space |= short
                failed |= short
            left &= ~failed
        return nothing, no_space

    def _where_held(
        self, claim: PersistentVolumeClaim, volumes: Volumes, nodes: Nodes
    ) -> Mask | None:
        """bool[N]: where a claim may be used that is held for other pods; None = it is not."""
        held = volumes.held(claim.key) if claim.key in self._shared else None
        if held is None:
            return None
        roaming = volumes.roaming(claim, nodes) if self._roams(claim) else None
        if roaming is not None:
            return roaming.reach()
        if held.volume:
            volume = volumes.known.volumes.get(held.volume)
            nowhere: Mask = np.zeros(len(nodes), np.bool_)
            return nowhere if volume is None else reached(volume, volumes, nodes)
        return self._beside(claim, held.node, held.segment, volumes, nodes)

    def _by_selected_node(
        self, claim: PersistentVolumeClaim, node: str, volumes: Volumes, nodes: Nodes
    ) -> Mask:
        """bool[N]: where a claim with a selected node may be used that is not held.

        The first member of a gang goes there, then the others beside it: a volume for a node where
        none can be might be where they do not reach it.
        """
        if self._used_by_members(claim.key, volumes):
            return self._beside(claim, node, "", volumes, nodes)
        return nodes.named((node,))

    def _beside(
        self,
        claim: PersistentVolumeClaim,
        node: str,
        segment: str,
        volumes: Volumes,
        nodes: Nodes,
    ) -> Mask:
        """bool[N]: where a claim may be used whose volume is provisioned for a node.

        Members of a gang may be on other nodes if the claim allows several, as far as it is known
        that the volume is reached there: no member is bound before the volume exists.

        Args:
            claim: the claim.
            node: the node.
            segment: the segment that the volume uses; "" = none that is counted.
            volumes: the table.
            nodes: the rows.
        """
        row = nodes.row(node)
        if row is None or not self._roams(claim):
            return nodes.named((node,))
        known = volumes.known
        made_by = known.classes.get(claim.storage_class)
        topologies = made_by.topologies if made_by is not None else ()
        topology = known.mask(of_topologies(topologies), nodes)
        segments = known.segments(claim.storage_class)
        if segments is None or claim.request is None:
            return topology.copy()
        reach, place = segments.reach(nodes), segments.places.get(segment)
        used = reach[:, row] if place is None else [place]
        return reach[used].any(axis=0) & topology

    def _found(
        self,
        volumes: Volumes,
        nodes: Nodes,
        storage_class: str,
        claims: Sequence[PersistentVolumeClaim],
    ) -> Sequence[Mask]:
        """bool[J][N]: where each of some claims of one class finds an existing volume."""
        known = volumes.known
        if not known.has_volumes(storage_class):
            return [np.zeros(len(nodes), np.bool_)] * len(claims)
        available = known.available(storage_class)
        key = tuple(claim.key for claim in claims)  # shared ones are decided once
        rows = self._matched.get(key)
        if rows is None or rows.available is not available:
            rows = self._matched[key] = MatchedRows(
                available, [available.choice(each, known.sort_of_claim(each)) for each in claims]
            )
        free = available.everything & ~volumes.holdings.taken(storage_class)
        found = rows.masks(nodes, free)
        movable = volumes.holdings.movable(storage_class)
        if self._shared:  # what this pod uses as well stays where it is
            movable = {key: each for key, each in movable.items() if key not in self._shared}
        if not movable or found.all():
            return list(found)
        made = self._makeable(volumes, nodes, claims[0]).topology
        missing = ~found.all(axis=0) & ~made
        usable = freeable(free, movable) if missing.any() else free
        if usable == free:
            return list(found)
        found = found.copy()
        signatures = available.signatures(nodes)
        gained = available.groups_of(usable & ~free)
        reached_now = signatures.matrix[gained].any(axis=0).take(signatures.codes)
        for signature in np.unique(signatures.codes[missing & reached_now]).tolist():
            at = available.reached(signature)
            if _would_do(rows.choices, at, usable) and exchanged(rows.choices, at, free, movable):
                found[:, missing & (signatures.codes == signature)] = True
        return list(found)

    def _makeable(self, volumes: Volumes, nodes: Nodes, claim: PersistentVolumeClaim) -> _Makeable:
        """Where a volume could be provisioned for a claim.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go
        checkVolumeProvisions.
        """
        known = volumes.known
        found = known.classes.get(claim.storage_class)
        if found is None or not found.provisions:
            return _Makeable(np.zeros(len(nodes), np.bool_), None)
        topology = known.mask(of_topologies(found.topologies), nodes)
        segments = known.segments(claim.storage_class)
        if segments is None or claim.request is None:
            return _Makeable(topology, None)
        key = claim.storage_class, claim.request
        rows = self._segments.get(key)
        if rows is None or rows.segments is not segments:
            rows = self._segments[key] = SegmentRows(segments, claim.size)
        charged = volumes.holdings.charged(claim.storage_class, segments)
        return _Makeable(topology, rows.mask(nodes, charged))


def reached(volume: PersistentVolume, volumes: Volumes, nodes: Nodes) -> Mask:
    """bool[N]: nodes that reach a volume; disks of old kinds as their CSI driver sees them."""
    known = volumes.known
    mask = known.mask(of_affinity(volume.affinity), nodes)
    if volume.plugin and volume.migrated_affinity != volume.affinity:
        new = known.mask(of_affinity(volume.migrated_affinity), nodes)
        return np.where(known.migrated(volume.plugin, nodes), new, mask)
    return mask


def _would_do(choices: Sequence[VolumeChoice], at: Bits, usable: Bits) -> bool:
    return all(choice.at(at, usable) for choice in choices)


def _consumes(volumes: Volumes, claim: PersistentVolumeClaim) -> bool:
    """Whether another pod may take what a claim could get."""
    known = volumes.known
    return known.has_volumes(claim.storage_class) or known.segments(claim.storage_class) is not None


def _most(
    volumes: Volumes,
    storage_class: str,
    claims: Sequence[PersistentVolumeClaim],
    nodes: Nodes,
    *,
    ever: bool,
) -> npt.NDArray[np.int64]:
    """int64[N]: an upper bound for pods with such claims, by the storage of one class."""
    known = volumes.known
    unlimited = np.full(len(nodes), UNLIMITED, np.int64)
    found = known.classes.get(storage_class)
    fitting = fitting_any(volumes, storage_class, claims, ever=ever)
    if found is not None and found.provisions:
        segments = known.segments(storage_class)
        if segments is None or fitting or ever or any(each.request is None for each in claims):
            return unlimited
        size = min(claim.size for claim in claims)
        left = segments.left(volumes.holdings.charged(storage_class, segments))
        counts = np.minimum(np.maximum(left, 0) // max(size, 1), UNLIMITED)
        counts[~segments.known()] = UNLIMITED
        total = (segments.reach(nodes) * counts[:, None]).sum(axis=0, dtype=np.int64)
        # As upstream, one pod's own claims are not summed.
        return np.maximum(total // len(claims), np.minimum(total, 1))
    available = known.available(storage_class)
    codes = available.signatures(nodes).codes
    count = int(codes.max(initial=-1)) + 1
    each = (fitting & available.reached(signature) for signature in range(count))
    numbers = np.fromiter((bits.bit_count() for bits in each), np.int64, count)
    return (numbers // len(claims))[codes] if count else unlimited


def nodes_of_volumes(
    volumes: Volumes, claim: PersistentVolumeClaim, nodes: Nodes, *, ever: bool
) -> Iterator[Mask]:
    """Yield bool[N]: the nodes that reach a volume which the claim can get, or could be made.

    `ever` = volumes of other claims count, too.
    """
    known, name = volumes.known, claim.storage_class
    if known.has_volumes(name):
        available, fitting = known.available(name), fitting_any(volumes, name, [claim], ever=ever)
        signatures = available.signatures(nodes)
        for group in available.groups_of(fitting):
            yield signatures.matrix[group].take(signatures.codes)
    found, segments = known.classes.get(name), known.segments(name)
    if found is None or not found.provisions:
        return
    topology = known.mask(of_topologies(found.topologies), nodes)
    if segments is None or claim.request is None:
        yield topology
        return
    charged = segments.none() if ever else volumes.holdings.charged(name, segments)
    reach = segments.reach(nodes)
    for place in np.flatnonzero(segments.enough(claim.size, charged)).tolist():
        yield reach[place] & topology


def fitting_any(
    volumes: Volumes,
    storage_class: str,
    claims: Sequence[PersistentVolumeClaim],
    *,
    ever: bool,
) -> Bits:
    """The volumes of a class that any of some claims could get; `ever` = including taken ones.

    Those of members that are placed already count: they may get others.
    """
    if not volumes.known.has_volumes(storage_class):
        return 0
    available = volumes.known.available(storage_class)
    found = 0
    for claim in claims:
        choice = available.choice(claim, volumes.known.sort_of_claim(claim))
        found |= choice.fitting | choice.reserved
        if ever:
            found |= available.ever(claim)
    return found if ever else found & ~volumes.holdings.kept(storage_class)
