# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Holdings: what was decided for claims that are not bound yet.

Nothing here is larger than what is under way, so a fork copies it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from enbloc.model.pods import PodUID
from enbloc.storage.available import Available, Bits
from enbloc.storage.known import Known
from enbloc.storage.matching import Movable
from enbloc.storage.segments import Charged, Segments

_NONE: Final[Mapping[str, Movable]] = {}
#: Bytes: a PiB each, so that thousands of claims are not beyond int64.
MOST_CHARGED: Final = 2**50


@dataclass(frozen=True, slots=True)
class HeldVolume:
    """What was decided for one claim.

    Attributes:
        key: of the claim.
        uid: of the claim.
        storage_class: of the claim.
        size: bytes that it asks for.
        node: where the pods go that use it.
        volume: the name of the volume that it gets; "" = one is made for it.
        segment: the key of what a new volume takes from; "" = of nothing that is counted.
        pods: that are there because of it.
    """

    key: str
    uid: str
    storage_class: str
    size: int
    node: str
    volume: str = ""
    segment: str = ""
    pods: frozenset[PodUID] = frozenset()


class Charge(NamedTuple):
    """What a volume that is being made takes of a segment.

    Attributes:
        size: bytes.
    """

    storage_class: str
    segment: str
    size: int


class Holdings:
    """What is held, by claim, by volume and by segment.

    Attributes:
        claims: what was decided, by the key of the claim.
        charges: what is taken of segments, by the key of the claim.
        volumes: the key of the claim that gets a volume, by the name of the volume.
    """

    __slots__ = ("_charged", "_known", "_movable", "_taken", "charges", "claims", "volumes")

    def __init__(self, known: Known) -> None:
        self._known = known
        self.claims: dict[str, HeldVolume] = {}
        self.charges: dict[str, Charge] = {}
        self.volumes: dict[str, str] = {}
        self._taken: dict[str, tuple[Available, Bits]] = {}
        self._charged: dict[str, tuple[Segments, Charged]] = {}
        self._movable: dict[str, dict[str, Movable]] = {}

    def fork(self) -> "Holdings":
        """A copy of its own."""
        made = Holdings(self._known)
        made.claims, made.volumes = self.claims.copy(), self.volumes.copy()
        made.charges = self.charges.copy()
        made._taken, made._charged = self._taken.copy(), self._charged.copy()
        made._movable = {name: each.copy() for name, each in self._movable.items()}
        return made

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def taken(self, storage_class: str) -> Bits:
        """Of the volumes of a class, those that claims get."""
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
        """int64[K], bytes: what claims take of each segment of a class; not to be written to."""
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
        """The claims of a class that could get another volume, by their keys."""
        return self._movable.get(storage_class, _NONE)

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def hold(self, held: HeldVolume, candidates: Bits = 0) -> None:
        """Keep what was decided for a claim; `candidates` = what else it could get there."""
        self.claims[held.key] = held
        if held.volume:
            self._take(held.storage_class, held.volume, held.key, candidates)
        if held.segment:
            self.uncharge(held.key)
            size = min(held.size, MOST_CHARGED)
            charge = self.charges[held.key] = Charge(held.storage_class, held.segment, size)
            self._charge(charge, 1)

    def move(self, key: str, volume: str) -> None:
        """A movable claim gets another volume of its class instead."""
        held = self.claims[key]
        candidates = self._movable[held.storage_class][key].candidates
        self._untake(held)
        self.claims[key] = held = replace(held, volume=volume)
        self._take(held.storage_class, volume, key, candidates)

    def share(self, key: str, pod: PodUID) -> None:
        """One more pod uses a claim; it stays where it is."""
        held = self.claims[key]
        self.claims[key] = replace(held, pods=held.pods | {pod})
        self._movable.get(held.storage_class, {}).pop(key, None)

    def leave(self, key: str, pod: PodUID) -> None:
        """A pod uses a claim no more; what nobody uses is given back."""
        held = self.claims.get(key)
        if held is None or pod not in held.pods:
            return
        left = held.pods - {pod}
        if left:
            self.claims[key] = replace(held, pods=left)
        else:
            self.drop(key)

    def drop(self, key: str) -> None:
        """Nothing is decided for a claim any more."""
        held = self.claims.pop(key, None)
        if held is not None and held.volume:
            self._untake(held)
        self.uncharge(key)

    def uncharge(self, key: str) -> None:
        """What is taken of a segment for a claim is free again."""
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
