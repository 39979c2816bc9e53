# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Volumes: the table of volumes, the users of claims, and the decisions for claims.

The states of a claim in this table::

    undecided ──place──► held: a volume, or one to be made for a node ──put: bound──► a fact
        ▲                  │  keep: the same, as a plan decided it
        └──── remove ──────┘

The API server takes precedence: a claim that it shows as bound is no longer held.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import ClassVar, Final, NamedTuple, get_args

from enbloc.model.groups import GroupKey
from enbloc.model.layered import Layered, LayeredGroups
from enbloc.model.ledger import ByName, Ledger
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodUID
from enbloc.storage import in_tree
from enbloc.storage.available import Bits, VolumeChoice
from enbloc.storage.decisions import VolumeClaimDecision, VolumeDecision, VolumeRef
from enbloc.storage.disks import DiskKey, disk_key
from enbloc.storage.facts import (
    Attachable,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeFact,
)
from enbloc.storage.holdings import Common, HeldVolume, Holdings
from enbloc.storage.known import KnownObjects
from enbloc.storage.matching import exchanged, smallest_fit
from enbloc.storage.roaming import Roaming, common_of
from enbloc.storage.topologies import of_topologies
from enbloc.storage.wanted import (
    ClaimStanding,
    WantedVolume,
    delayed_of,
    inline_volumes,
    names_of,
    wanted_by,
)

_KINDS: Final = frozenset(each.kind for each in get_args(VolumeFact))


class ClaimUser(NamedTuple):
    """A pod that uses a claim on a node.

    Attributes:
        node: the pod's node.
        group: the pod's gang.
        made: the claim was made for the pod.
    """

    node: str
    group: GroupKey | None
    made: bool = False


class VolumeSeat(NamedTuple):
    """A pod with volumes that is on a node."""

    pod: Pod
    node: str


class Attached(NamedTuple):
    """What a node attaches.

    Attributes: volumes: the volumes of its pods. counts: how many volumes by driver, including
    those of VolumeAttachments.
    """

    volumes: frozenset[Attachable]
    counts: Mapping[str, int]


_NOTHING_ATTACHED: Final = Attached(frozenset(), {})


class Volumes(Ledger[VolumeFact, VolumeDecision, VolumeSeat]):
    """The table of volumes.

    Attributes:
        touched: the log of nodes whose attached volumes or limits changed; None = a fork, which has
            no log.
        known: the storage objects.
    """

    kinds: ClassVar[frozenset[str]] = _KINDS
    own = ("_seats", "_holdings", "_sitting", "_users", "_attached", "_disks", "_gone")

    def __init__(self) -> None:
        super().__init__()
        self.known = KnownObjects()
        self._holdings = Holdings(self.known)
        self._sitting: Layered[str, frozenset[PodUID]] = Layered()
        self._users: LayeredGroups[str, PodUID, ClaimUser] = LayeredGroups()
        self._attached: Layered[str, Attached] = Layered()
        self._disks: LayeredGroups[DiskKey, PodUID, VolumeSeat] = LayeredGroups()
        #: On a fork: bound pods that have left a node.
        self._gone: LayeredGroups[str, PodUID, Pod] = LayeredGroups()

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    def fact(self, kind: str, key: str) -> VolumeFact | None:
        """The object of that kind and key."""
        return self.known.fact(kind, key)

    def put(self, fact: VolumeFact) -> VolumeFact | None:
        """Add or update an object; returns the previous one."""
        old = self.known.change(fact.kind, fact.key, fact)
        if old != fact:
            self.version += 1
            self._follow(old, fact)
        return old

    def drop(self, kind: str, key: str) -> VolumeFact | None:
        """Remove an object; returns it."""
        old = self.known.change(kind, key, None)
        if old is not None:
            self.version += 1
            self._follow(old, None)
        return old

    def _follow(self, old: VolumeFact | None, new: VolumeFact | None) -> None:
        """Update what is held and attached after an object changed."""
        fact = new if new is not None else old
        self._forget_attached(node for each in (old, new) for node in self._nodes_with(each))
        match fact:
            case PersistentVolumeClaim(key=key):
                self._absorb(key)
            case PersistentVolume(name=name):
                holder = self._holdings.volumes.get(name)
                if holder is not None:
                    self._absorb(holder)
            case _:
                pass

    def _nodes_with(self, fact: VolumeFact | None) -> Iterator[str]:
        """The nodes whose attached volumes an object affects."""
        claims: Iterable[str] = ()
        match fact:
            case PersistentVolumeClaim(key=key):
                claims = (key,)
            case PersistentVolume(name=name):
                claims = tuple(self.known.users.get(name, ()))
                attachments = self.known.attachments_of.get(name, {}).values()
                yield from (each.node for each in attachments)
            case StorageClass(name=name):
                known = self.known.claims.values()
                claims = [each.key for each in known if each.storage_class == name]
            case VolumeAttachment(node=node):
                yield node
            case CSINode(name=name):
                yield name
            case _:
                pass
        for key in claims:
            yield from (user.node for _, user in self.users(key))

    def _absorb(self, key: str) -> None:
        """Stop holding a claim that is bound, or that another one of its name replaced.

        A bound claim keeps its volume until the volume object shows the claim, too. From then on
        the driver counts what a new volume uses of its segment: it may never publish a lower
        capacity, for example if storage is allocated only as it is written.
        """
        held, claim = self._holdings.claims.get(key), self.known.claims.get(key)
        if held is None:
            return
        if claim is None or claim.uid != held.uid:
            self._holdings.drop(key)
        elif claim.bound:
            volume = self.known.volumes.get(held.volume)
            if claim.volume != held.volume or volume is None or volume.claim is not None:
                self._holdings.drop(key)

    # ── who there is ─────────────────────────────────────────────────────────────────────────

    def named(self, pod: Pod) -> list[str]:
        """The keys of the claims that a pod names, each once."""
        return [f"{pod.key.namespace}/{name}" for name in dict.fromkeys(pod.claims)]

    def users(self, key: str) -> Iterator[tuple[PodUID, ClaimUser]]:
        """The pods with a node that use a claim."""
        return self._users.items(key)

    def disk_users(self, key: DiskKey) -> Iterator[tuple[PodUID, VolumeSeat]]:
        """The pods with a node that have an inline volume of that disk."""
        return self._disks.items(key)

    def pods_on(self, node: str) -> list[Pod]:
        """The pods on a node that have volumes."""
        seats = (self._seats.get(uid) for uid in self._sitting.get(node) or ())
        return [seat.pod for seat in seats if seat is not None]

    def shared(self, pod: Pod, key: str) -> bool:
        """Whether another pod also names, uses or holds the claim."""
        named = self._names.pods(key)
        if len(named) > 1 or (named and pod.uid not in named):
            return True
        held = self._holdings.claims.get(key)
        return any(uid != pod.uid for uid, _ in self.users(key)) or (
            held is not None and any(uid != pod.uid for uid in held.pods)
        )

    def alike(self, pod: Pod) -> tuple[Hashable, ...] | None:
        """A value that is equal for pods which this table, as it is now, does not distinguish."""
        if not pod.spec.volumes:
            return None
        return tuple(self._alike(pod, each) for each in wanted_by(pod, self.known))

    def _alike(self, pod: Pod, wanted: WantedVolume) -> Hashable:
        claim, standing = wanted.claim, wanted.standing
        if claim is None or standing not in (ClaimStanding.BOUND, ClaimStanding.DELAYED):
            return standing.value
        if self.shared(pod, wanted.key):
            return ByName(claim.key)
        if standing is ClaimStanding.BOUND:
            volume = self.known.volumes.get(claim.volume)
            if volume is None:
                return standing.value, claim.storage_class
            if self.known.told_apart(volume):
                return ByName(claim.key)
            return standing.value, self.known.sort_of_volume(volume), claim.access_modes
        if self.known.available(claim.storage_class).names_claim(claim.key):
            return ByName(claim.key)
        return standing.value, self.known.sort_of_claim(claim), claim.selected_node

    # ── what is held ─────────────────────────────────────────────────────────────────────────

    def held(self, key: str) -> HeldVolume | None:
        """The decision for a claim that is not bound yet; None = there is none."""
        return self._holdings.claims.get(key)

    @property
    def holdings(self) -> Holdings:
        """All decisions, read-only."""
        return self._holdings

    def attached(self, node: str) -> Attached:
        """What a node attaches."""
        found = self._attached.get(node)
        if found is None:
            found = self._added_up(node)
            if self._sitting.differs(node):
                self._attached.set(node, found)
            elif found is not _NOTHING_ATTACHED:  # a node may be gone for good
                self._attached.remember(node, found)
        return found

    def _added_up(self, node: str) -> Attached:
        volumes = {volume for pod in self.pods_on(node) for volume in self.attachable(pod)}
        counts: dict[str, int] = {}
        for volume in volumes | self._shown(node, volumes):
            counts[volume.driver] = counts.get(volume.driver, 0) + 1
        if not counts:
            return _NOTHING_ATTACHED
        return Attached(frozenset(volumes), counts)

    def _shown(self, node: str, used: Collection[Attachable]) -> set[Attachable]:
        """What VolumeAttachments show as attached, and will stay attached with this use.

        When a pod is gone, its volumes that nobody else uses on the node are detached.
        """
        shown = self._by_attachments(node)
        if not shown:
            return shown
        left = {each for _, pod in self._gone.items(node) for each in self.attachable(pod)}
        return shown.difference(left.difference(used))

    def lingers(self, node: str, volume: Attachable) -> bool:
        """Whether a volume that no pod uses on a node is still attached to it."""
        return volume in self._by_attachments(node).difference(self.attached(node).volumes)

    def _by_attachments(self, node: str) -> set[Attachable]:
        """What VolumeAttachments show as attached to a node.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/nodevolumelimits/csi.go
        getNodeVolumeAttachmentInfo.
        """
        found: set[Attachable] = set()
        for each in self.known.attached.get(node, {}).values():
            volume = self.known.volumes.get(each.volume)
            if each.attacher and volume is not None and volume.csi is not None:
                found.add(Attachable(each.attacher, volume.csi.handle))
        return found

    def attachable(self, pod: Pod) -> set[Attachable]:
        """What a node attaches for a pod, without volumes that cannot be translated."""
        found: set[Attachable] = set()
        for name, _ in names_of(pod):
            claim = self.known.claims.get(f"{pod.key.namespace}/{name}")
            volume = None if claim is None else self.known.attachable(claim)
            if volume is not None:
                found.add(volume)
        for each in inline_volumes(pod):
            try:
                inline = in_tree.inline(each)
            except ValueError:
                continue
            if inline is not None:
                found.add(inline)
        return found

    def _forget_attached(self, nodes: Iterable[str]) -> None:
        found = tuple(nodes)
        for node in found:
            self._attached.set(node, None)
        if self.touched is not None:
            self.touched.note(found)

    # ── pods that come and go ────────────────────────────────────────────────────────────────

    def place(self, pod: Pod, node: str, nodes: Nodes) -> None:
        """Put a pod on a node, and decide what its claims get there."""
        self._sit(pod, node)
        if pod.node:
            return
        by_class: dict[str, list[PersistentVolumeClaim]] = {}
        selected: list[tuple[PersistentVolumeClaim, str, int | None, str]] = []
        for claim in delayed_of(wanted_by(pod, self.known)):
            if claim.key in self._holdings.claims:
                self._share(pod, claim, node, nodes)
            elif claim.selected_node is not None:
                at = nodes.row(claim.selected_node)
                segment = "" if at is None else self._segment(claim, at, nodes) or ""
                selected.append((claim, claim.selected_node, at, segment))
            else:
                by_class.setdefault(claim.storage_class, []).append(claim)
        row = nodes.row(node)
        if row is not None:
            for storage_class, claims in by_class.items():
                self._decide(pod, storage_class, claims, (node, row, nodes))
        # Held last: as upstream, no claim of a pod takes storage from another one of it.
        for claim, chosen, at, segment in selected:
            common: Common | None = None
            if at is not None and self.roams(pod, claim):  # it is provisioned, never matched
                common = common_of(self.known, claim, at, nodes)._replace(volumes=0)
            self._hold(pod, claim, chosen, segment=segment, common=common)

    def _decide(
        self,
        pod: Pod,
        storage_class: str,
        claims: list[PersistentVolumeClaim],
        where: tuple[str, int, Nodes],
    ) -> None:
        """Decide what claims of one class get on a row, the smallest claim first."""
        node, row, nodes = where
        available = self.known.available(storage_class)
        signature = int(available.signatures(nodes).codes[row])
        reached, taken = available.reached(signature), self._holdings.taken(storage_class)
        choices = [available.choice(claim, self.known.sort_of_claim(claim)) for claim in claims]
        free = available.everything & ~taken
        found, _ = smallest_fit(choices, reached, free)
        if None in found and not self._makes(storage_class, row, nodes):
            found = self._exchange(storage_class, choices, reached, free) or found
        # As upstream, the claims of one pod are not summed: the filter checked each by itself.
        made = [
            self._segment(claim, row, nodes) if place is None else None
            for claim, place in zip(claims, found, strict=True)
        ]
        for claim, choice, place, segment in zip(claims, choices, found, made, strict=True):
            roams = self.roams(pod, claim)
            common = common_of(self.known, claim, row, nodes) if roams else None
            if place is None:
                if segment is not None:
                    self._hold(pod, claim, node, segment=segment, common=common)
                continue
            volume = available.volumes[place].name
            candidates = 0 if choice.reserved else choice.fitting & reached
            self._hold(pod, claim, node, volume=volume, candidates=candidates, common=common)

    def roams(self, pod: Pod, claim: PersistentVolumeClaim) -> bool:
        """Whether members of the pod's gang may share a claim on several nodes."""
        return pod.group is not None and claim.of_many_nodes and self.shared(pod, claim.key)

    def roaming(self, claim: PersistentVolumeClaim, nodes: Nodes) -> Roaming | None:
        """What a claim could get that all its users reach; None = that is settled, or undecided."""
        held = self._holdings.claims.get(claim.key)
        if held is None or held.common is None:
            return None
        return Roaming(self.known, self._holdings, claim, held.common, nodes)

    def _share(self, pod: Pod, claim: PersistentVolumeClaim, node: str, nodes: Nodes) -> None:
        """Have another pod use a claim that is held; what it gets is revised if that is open."""
        key, row = claim.key, nodes.row(node)
        self._holdings.share(key, pod.uid)
        common = self._holdings.claims[key].common
        if common is None:
            return
        if row is None or not self.roams(pod, claim):
            self._holdings.narrow(key, None)
            return
        common = common.also(common_of(self.known, claim, row, nodes))
        self._holdings.narrow(key, common)
        found = Roaming(self.known, self._holdings, claim, common, nodes).chosen()
        if found is not None:
            volumes = self.known.available(claim.storage_class).volumes
            volume = volumes[found.volume].name if found.volume is not None else ""
            self._holdings.revise(key, volume, found.segment, found.candidates)

    def _exchange(
        self, storage_class: str, choices: list[VolumeChoice], reached: Bits, free: Bits
    ) -> list[int | None] | None:
        """Choose volumes with other claims of the same trial moving; None = impossible."""
        movable = self._holdings.movable(storage_class)
        result = exchanged(choices, reached, free, movable) if movable else None
        if result is None:
            return None
        found, moved = result
        volumes = self.known.available(storage_class).volumes
        for key, place in moved.items():
            self._holdings.move(key, volumes[place].name)
        return list(found)

    def _makes(self, storage_class: str, row: int, nodes: Nodes) -> bool:
        """Whether volumes of the class can be provisioned for a row."""
        known = self.known.classes.get(storage_class)
        if known is None or not known.provisions:
            return False
        return bool(self.known.mask(of_topologies(known.topologies), nodes)[row])

    def _segment(self, claim: PersistentVolumeClaim, row: int, nodes: Nodes) -> str | None:
        """The segment for a new volume; "" = none that is counted, None = none has enough left."""
        if not self._makes(claim.storage_class, row, nodes):
            return None
        segments = self.known.segments(claim.storage_class)
        if segments is None or claim.request is None:
            return ""
        charged = self._holdings.charged(claim.storage_class, segments)
        place = segments.chosen(claim.size, charged, segments.reach(nodes)[:, row])
        return None if place is None else segments.facts[place].key

    def _hold(  # one for each field
        self,
        pod: Pod,
        claim: PersistentVolumeClaim,
        node: str,
        *,
        volume: str = "",
        segment: str = "",
        candidates: Bits = 0,
        common: Common | None = None,
    ) -> None:
        held = HeldVolume(
            claim.key, claim.uid, claim.storage_class, claim.size, node, volume, segment,
            frozenset((pod.uid,)), common,
        )  # fmt: skip
        self._holdings.hold(held, candidates)

    def keep(self, pod: Pod, node: str, decision: VolumeDecision) -> None:
        """Put a pod on a node, with what a plan decided."""
        self._sit(pod, node)
        named = self.named(pod)
        for each in decision.claims:
            claim = self.known.claims.get(each.claim) if each.claim in named else None
            if claim is None or claim.uid != each.uid or claim.bound:
                continue
            if each.claim in self._holdings.claims:
                self._holdings.share(each.claim, pod.uid)
            else:
                volume = each.volume.name if each.volume else ""
                self._hold(pod, claim, each.node or node, volume=volume, segment=each.segment)

    def remove(self, pod: Pod) -> None:
        """Take a pod off its node, and free what it held."""
        seat = self._seats.get(pod.uid)
        if seat is None:
            return
        self.version += 1
        self._seats.set(pod.uid, None)
        sitting = (self._sitting.get(seat.node) or frozenset()) - {pod.uid}
        self._sitting.set(seat.node, sitting or None)
        self._attached.set(seat.node, None)
        if pod.node and self.touched is None:
            self._gone.set(seat.node, pod.uid, seat.pod)
        for key in self.named(seat.pod):
            self._users.set(key, pod.uid, None)
            self._holdings.leave(key, pod.uid)
        for disk in _disks_of(seat.pod):
            self._disks.set(disk, pod.uid, None)

    def _sit(self, pod: Pod, node: str) -> None:
        if self._seats.get(pod.uid) is not None:
            self.remove(pod)
        self.version += 1
        before = self._attached.get(node)
        if self._gone.get(node, pod.uid) is not None:
            self._gone.set(node, pod.uid, None)
            before = None
        self._seats.set(pod.uid, VolumeSeat(pod, node))
        self._sitting.set(node, (self._sitting.get(node) or frozenset()) | {pod.uid})
        for name, ephemeral in names_of(pod):
            key = f"{pod.key.namespace}/{name}"
            self._users.set(key, pod.uid, ClaimUser(node, pod.group, ephemeral))
        for disk in _disks_of(pod):
            self._disks.set(disk, pod.uid, VolumeSeat(pod, node))
        self._attached.set(node, None if before is None else self._with(before, pod, node))

    def _with(self, before: Attached, pod: Pod, node: str) -> Attached:
        """What a node attaches once a pod is added."""
        new = self.attachable(pod) - before.volumes
        if not new:
            return before
        counts = dict(before.counts)
        for volume in new - self._shown(node, before.volumes):
            counts[volume.driver] = counts.get(volume.driver, 0) + 1
        return Attached(before.volumes | new, counts)

    # ── what is to be done ───────────────────────────────────────────────────────────────────

    def decision(self, uid: PodUID) -> VolumeDecision | None:
        """What must be written for a pod's claims; None = nothing."""
        seat = self._seats.get(uid)
        if seat is None:
            return None
        found: dict[VolumeClaimDecision, None] = {}
        for key in self.named(seat.pod):
            held = self._holdings.claims.get(key)
            if held is not None and uid in held.pods:
                volume = self.known.volumes.get(held.volume)
                uid_of = volume.uid if volume is not None else ""
                chosen = VolumeRef(held.volume, uid_of) if held.volume else None
                other = held.node if chosen is None and held.node != seat.node else ""
                found[VolumeClaimDecision(key, held.uid, chosen, held.segment, other)] = None
        return VolumeDecision(tuple(found)) if found else None

    def left_over(self, pod: Pod, members: frozenset[PodUID]) -> tuple[str, VolumeDecision] | None:
        """The node that an earlier attempt selected for claims of a pod, and these claims.

        Claims that have a volume, or that pods other than these members name, are left out.
        """
        found: dict[str, list[VolumeClaimDecision]] = {}
        for claim in delayed_of(wanted_by(pod, self.known)) if pod.claims else ():
            if claim.selected_node and members.issuperset(self._names.pods(claim.key)):
                decision = VolumeClaimDecision(claim.key, claim.uid)
                found.setdefault(claim.selected_node, []).append(decision)
        for node, claims in found.items():  # of another node: the next time
            return node, VolumeDecision(tuple(claims))
        return None

    def stands(self, uid: PodUID, *, written: VolumeDecision | None = None) -> bool:
        """Whether the decision for a pod is still possible, with the objects as they are now.

        Args:
            uid: the pod's uid.
            written: what PreBind has written for it; None = nothing yet.
        """
        seat = self._seats.get(uid)
        if seat is None:
            return True
        claims = written.claims if written is not None else ()
        return all(map(self._is, claims)) and all(
            self._stands(key, seat.node) for key in self.named(seat.pod)
        )

    def _is(self, decision: VolumeClaimDecision) -> bool:
        """Whether a claim is the one that was decided about, not another of its name."""
        claim = self.known.claims.get(decision.claim)
        return claim is not None and claim.uid == decision.uid

    def _stands(self, key: str, node: str) -> bool:
        claim, held = self.known.claims.get(key), self._holdings.claims.get(key)
        if claim is None or claim.deleting or claim.lost:
            return False
        if claim.bound or held is None:
            return claim.bound
        if claim.selected_node not in (None, held.node):
            return False
        if not held.volume:
            return held.node == node or claim.of_many_nodes
        volume = self.known.volumes.get(held.volume)
        if volume is None or volume.deleting:
            return False
        return volume.holds(claim) or (volume.claim is None and volume.available)


def _disks_of(pod: Pod) -> set[DiskKey]:
    """A pod's inline disks of kinds that pods on a node must not share."""
    return {key for each in inline_volumes(pod) if (key := disk_key(each)) is not None}
