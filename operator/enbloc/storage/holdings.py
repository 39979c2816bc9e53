# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Holdings: decisions for claims that are not bound yet.

They are no more than the work in progress, so a fork copies them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from enbloc.model.nodes import Mask
from enbloc.model.pods import PodUID
from enbloc.storage.available import Available, Bits
from enbloc.storage.known import KnownObjects
from enbloc.storage.matching import Movable
from enbloc.storage.segments import Charged, Segments

_NONE: Final[Mapping[str, Movable]] = {}
#: The most bytes charged per claim, a PiB, so that thousands of claims fit in int64.
MOST_CHARGED: Final = 2**50


class Common(NamedTuple):
    """What all users of a claim reach.

    Attributes:
        volumes: the volumes of its class.
        made: volumes of its class may be provisioned for all of their nodes.
        segments: bool[K]: the segments of its class; None = none are published.
    """

    volumes: Bits
    made: bool
    segments: Mask | None

    def also(self, other: "Common") -> "Common":
        """What both reach."""
        if self.segments is None or other.segments is None:
            segments = None
        else:
            segments = self.segments & other.segments
        return Common(self.volumes & other.volumes, self.made and other.made, segments)


@dataclass(frozen=True, slots=True)
class HeldVolume:
    """The decision for one claim.

    Attributes:
        key: the claim's key.
        uid: the claim's uid.
        storage_class: the claim's class.
        size: the requested bytes.
        node: the node of the pod for which it was decided; a new volume is provisioned for it.
        volume: the name of the volume that it gets; "" = one is provisioned for it.
        segment: the key of the segment that a new volume uses; "" = none that is counted.
        pods: the pods for which it is held.
        common: what it gets may be revised, for what all its users reach; None = it is settled.
    """

    key: str
    uid: str
    storage_class: str
    size: int
    node: str
    volume: str = ""
    segment: str = ""
    pods: frozenset[PodUID] = frozenset()
    common: Common | None = None


class Charge(NamedTuple):
    """What a volume that is being provisioned uses of a segment.

    Attributes:
        size: bytes.
    """

    storage_class: str
    segment: str
    size: int


class Holdings:
    """What is held, by claim, by volume and by segment.

    Attributes:
        claims: the decisions, by the key of the claim.
        charges: what is used of segments, by the key of the claim.
        volumes: the key of the claim that gets each volume, by the volume's name.
    """

    __slots__ = ("_charged", "_known", "_movable", "_taken", "charges", "claims", "volumes")

    def __init__(self, known: KnownObjects) -> None:
        self._known = known
        self.claims: dict[str, HeldVolume] = {}
        self.charges: dict[str, Charge] = {}
        self.volumes: dict[str, str] = {}
        self._taken: dict[str, tuple[Available, Bits]] = {}
        self._charged: dict[str, tuple[Segments, Charged]] = {}
        self._movable: dict[str, dict[str, Movable]] = {}

    def fork(self) -> "Holdings":
        """An independent copy."""
        made = Holdings(self._known)
        made.claims, made.volumes = self.claims.copy(), self.volumes.copy()
        made.charges = self.charges.copy()
        made._taken, made._charged = self._taken.copy(), self._charged.copy()
        made._movable = {name: each.copy() for name, each in self._movable.items()}
        return made

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def taken(self, storage_class: str) -> Bits:
        """The volumes of a class that claims get."""
        available = self._known.available(storage_class)
        cached = self._taken.get(storage_class)
        if cached is None or cached[0] is not available:
            bits = 0
            for name in self.volumes:
                place = available.places.get(name)
                if place is not None:
                    bits |= 1 << place
            cached = self._taken[storage_class] = available, bits
        return cached[1]

    def charged(self, storage_class: str, segments: Segments) -> Charged:
        """int64[K]: the bytes that claims use of each segment of a class; read-only."""
        cached = self._charged.get(storage_class)
        if cached is None or cached[0] is not segments:
            charged = segments.none()
            for charge in self.charges.values():
                place = segments.places.get(charge.segment)
                if place is not None:
                    charged[place] += charge.size
            cached = self._charged[storage_class] = segments, charged
        return cached[1]

    def movable(self, storage_class: str) -> Mapping[str, Movable]:
        """The claims of a class that could get another volume, by key."""
        return self._movable.get(storage_class, _NONE)

    def kept(self, storage_class: str) -> Bits:
        """The volumes of a class that are taken for good: by claims that cannot move."""
        bits = self.taken(storage_class)
        for each in self.movable(storage_class).values():
            bits &= ~each.own
        return bits

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def hold(self, held: HeldVolume, candidates: Bits = 0) -> None:
        """Keep the decision for a claim; `candidates` = the volumes it could get there."""
        self.claims[held.key] = held
        if held.volume:
            self._take(held.storage_class, held.volume, held.key, candidates)
        if held.segment:
            self.uncharge(held.key)
            size = min(held.size, MOST_CHARGED)
            charge = self.charges[held.key] = Charge(held.storage_class, held.segment, size)
            self._charge(charge, 1)

    def move(self, key: str, volume: str) -> None:
        """Give a movable claim another volume of its class."""
        held = self.claims[key]
        candidates = self._movable[held.storage_class][key].candidates
        self._untake(held)
        self.claims[key] = held = replace(held, volume=volume)
        self._take(held.storage_class, volume, key, candidates)

    def revise(self, key: str, volume: str, segment: str, candidates: Bits) -> None:
        """Change what a claim gets; `candidates` = the volumes that it could get instead."""
        held = self.claims[key]
        self.drop(key)
        self.hold(replace(held, volume=volume, segment=segment), candidates)

    def share(self, key: str, pod: PodUID) -> None:
        """Record that another pod uses a claim, which then cannot move."""
        held = self.claims[key]
        self.claims[key] = replace(held, pods=held.pods | {pod})
        self._movable.get(held.storage_class, {}).pop(key, None)

    def narrow(self, key: str, common: Common | None) -> None:
        """Record what all users of a claim reach; None = it keeps what it gets."""
        self.claims[key] = replace(self.claims[key], common=common)

    def leave(self, key: str, pod: PodUID) -> None:
        """Record that a pod no longer uses a claim; unused claims are released."""
        held = self.claims.get(key)
        if held is None or pod not in held.pods:
            return
        left = held.pods - {pod}
        if left:
            self.claims[key] = replace(held, pods=left)
        else:
            self.drop(key)

    def drop(self, key: str) -> None:
        """Drop the decision for a claim."""
        held = self.claims.pop(key, None)
        if held is not None and held.volume:
            self._untake(held)
        self.uncharge(key)

    def uncharge(self, key: str) -> None:
        """Free what is used of a segment for a claim."""
        charge = self.charges.pop(key, None)
        if charge is not None:
            self._charge(charge, -1)

    def _take(self, storage_class: str, volume: str, key: str, candidates: Bits) -> None:
        taken = self.taken(storage_class)
        available = self._taken[storage_class][0]
        self.volumes[volume] = key
        place = available.places.get(volume)
        if place is None:
            return
        own = 1 << place
        self._taken[storage_class] = available, taken | own
        if candidates & ~own:
            self._movable.setdefault(storage_class, {})[key] = Movable(place, own, candidates)

    def _untake(self, held: HeldVolume) -> None:
        if self.volumes.get(held.volume) == held.key:
            taken = self.taken(held.storage_class)
            available = self._taken[held.storage_class][0]
            del self.volumes[held.volume]
            place = available.places.get(held.volume)
            if place is not None:
                self._taken[held.storage_class] = available, taken & ~(1 << place)
        self._movable.get(held.storage_class, {}).pop(held.key, None)

    def _charge(self, charge: Charge, sign: int) -> None:
        cached = self._charged.get(charge.storage_class)
        if cached is None:
            return  # it is added up when it is asked for
        segments, charged = cached
        place = segments.places.get(charge.segment)
        if place is not None:
            charged = charged.copy()
            charged[place] += sign * charge.size
            self._charged[charge.storage_class] = segments, charged
