# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Available: the PersistentVolumes of one class, smallest first, and which of them fit a claim.

Sets of volumes are integers: bit i is the volume at place i of the order, so the smallest volume of
a set is its lowest bit.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from enbloc.model.labels import Interned, Mask
from enbloc.model.nodes import Nodes
from enbloc.model.reach import Conditions, NodesSeen, Signatures, matrix_of, seen, signatures
from enbloc.storage.facts import PersistentVolume, PersistentVolumeClaim
from enbloc.storage.topologies import of_affinity

#: A set of volumes of a class.
Bits: TypeAlias = int

H = TypeVar("H", bound=Hashable)

#: For how many sorts of claims the fitting volumes are cached.
_MOST_KEPT: Final = 4096
#: How many labels that claims select by have a column.
_MOST_COLUMNS: Final = 256


class VolumeChoice(NamedTuple):
    """Which volumes of the class fit one claim, regardless of the node.

    Attributes:
        fitting: the volumes that fit.
        reserved: the volumes that name the claim; if there are any, only these are eligible.
    """

    fitting: Bits
    reserved: Bits = 0

    def at(self, reached: Bits, free: Bits) -> Bits:
        """The volumes that the claim may get, given those that are reached and free."""
        reserved = self.reserved & free
        if reserved:
            return (reserved & -reserved) & reached
        return self.fitting & reached & free


class Available:
    """The volumes of one class; immutable, except for its caches.

    Attributes:
        volumes: sorted by size, then age (older first), then name.
        everything: the set of all of them.
    """

    __slots__ = (
        "_capacity", "_columns", "_fits", "_group_of", "_groups", "_labels", "_modes", "_open",
        "_reached", "_reserved", "_seen", "_signatures", "_sorts", "_usable", "everything",
        "places", "volumes",
    )  # fmt: skip

    def __init__(self, volumes: Iterable[PersistentVolume]) -> None:
        ordered = sorted(volumes, key=lambda each: (each.capacity, each.created, each.name))
        self.volumes: Sequence[PersistentVolume] = ordered
        self.places = {each.name: place for place, each in enumerate(ordered)}
        self.everything: Bits = (1 << len(ordered)) - 1
        self._fits: dict[int, Bits] = {}
        self._capacity = np.array([each.capacity for each in ordered], np.int64)
        self._usable = np.array([not each.deleting for each in ordered], np.bool_)
        self._open = np.array(
            [each.available and each.claim is None and not each.deleting for each in ordered],
            np.bool_,
        )
        self._modes = _coded([each.access_modes for each in ordered])
        self._sorts = _coded([(each.mode, each.attributes_class) for each in ordered])
        self._reserved: defaultdict[str, list[int]] = defaultdict(list)
        groups: dict[Conditions, int] = {}
        self._labels: list[dict[str, str]] | None = None
        self._columns: dict[str, Interned[str | None]] = {}
        group_of: list[int] = []
        for place, each in enumerate(ordered):
            if each.claim is not None:
                self._reserved[each.claim.key].append(place)
            group_of.append(groups.setdefault(of_affinity(each.affinity), len(groups)))
        self._groups = tuple(groups)
        self._group_of = np.array(group_of, np.intp)
        self._seen: NodesSeen | None = None
        self._signatures = Signatures(np.zeros(0, np.intp), np.zeros((0, 0), np.bool_))
        self._reached: dict[int, Bits] = {}

    # ── which fit ────────────────────────────────────────────────────────────────────────────

    def choice(self, claim: PersistentVolumeClaim, sort: int) -> VolumeChoice:
        """Which volumes fit a claim; `sort` is equal for claims that are alike.

        Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go
        FindMatchingVolume.
        """
        fitting = self._fits.get(sort)
        if fitting is None:
            if len(self._fits) >= _MOST_KEPT:
                self._fits.clear()
            fitting = self._fits[sort] = bits_of(self._fitting(claim))
        return VolumeChoice(fitting, self._kept_for(claim))

    def _suits(self, claim: PersistentVolumeClaim) -> Mask:
        codes, sorts = self._sorts
        wanted = sorts.get((claim.mode, claim.attributes_class), -1)
        return (self._capacity >= claim.size) & (codes == wanted)

    def _fitting(self, claim: PersistentVolumeClaim, *, ever: bool = False) -> Mask:
        mask = self._suits(claim) & (self._usable if ever else self._open)
        codes, sorts = self._modes
        wanted = frozenset(claim.access_modes)
        allowed = np.array([wanted <= modes for modes in sorts], np.bool_)
        if len(allowed):
            mask &= allowed.take(codes)
        if claim.selector is not None:
            for requirement in claim.selector.requirements:
                rows = np.flatnonzero(mask)
                if not len(rows):
                    break
                mask[rows] = self._column(requirement.key).satisfies(requirement, rows)
        return mask

    def ever(self, claim: PersistentVolumeClaim) -> Bits:
        """Which volumes would fit a claim if none were taken."""
        return bits_of(self._fitting(claim, ever=True))

    def _column(self, key: str) -> Interned[str | None]:
        """The value of a label of each volume; made when the label is first asked about."""
        column = self._columns.get(key)
        if column is None:
            if self._labels is None:
                self._labels = [dict(each.labels) for each in self.volumes]
            if len(self._columns) >= _MOST_COLUMNS:
                self._columns.clear()
            column = self._columns[key] = Interned(None, len(self.volumes))
            column.fill(labels.get(key) for labels in self._labels)
        return column

    def _kept_for(self, claim: PersistentVolumeClaim) -> Bits:
        places = self._reserved.get(claim.key, ())
        kept = 0
        for place in places:
            each = self.volumes[place]
            if each.holds(claim) and bool(self._usable[place]) and self._suits_alone(each, claim):
                kept |= 1 << place
        return kept

    def _suits_alone(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
        same = (volume.mode, volume.attributes_class) == (claim.mode, claim.attributes_class)
        return same and volume.capacity >= claim.size

    def names_claim(self, key: str) -> bool:
        """Whether any volume names this claim."""
        return key in self._reserved

    # ── which are reached ────────────────────────────────────────────────────────────────────

    def signatures(self, nodes: Nodes) -> Signatures:
        """Signatures of nodes by the volumes they reach; a condition per distinct node affinity."""
        if self._seen is None or not self._seen.same(nodes):
            self._signatures = signatures(matrix_of(self._groups, nodes))
            self._reached = {}
            self._seen = seen(nodes)
        return self._signatures

    def group_of(self, place: int) -> int:
        """The line of a volume's node affinity in the matrix of the signatures."""
        return int(self._group_of[place])

    def groups_of(self, bits: Bits) -> list[int]:
        """The lines of some volumes' node affinities, each once."""
        raw = np.frombuffer(bits.to_bytes(len(self.volumes) // 8 + 1, "little"), np.uint8)
        chosen = np.flatnonzero(np.unpackbits(raw, bitorder="little"))
        return np.unique(self._group_of[chosen]).tolist()

    def reached(self, signature: int) -> Bits:
        """The volumes that nodes of a signature reach; numbered by the latest `signatures`."""
        known = self._reached.get(signature)
        if known is None:
            mask = self._signatures.matrix[:, signature].take(self._group_of)
            known = self._reached[signature] = bits_of(mask)
        return known


def _coded(values: Sequence[H]) -> tuple[npt.NDArray[np.intp], dict[H, int]]:
    """A code for each value, and the code of each distinct one."""
    codes: dict[H, int] = {}
    numbers = [codes.setdefault(value, len(codes)) for value in values]
    return np.array(numbers, np.intp), codes


def bits_of(mask: Mask) -> Bits:
    """The set of the places where a mask is True."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def each_bit(bits: Bits) -> Iterator[int]:
    """The places in a set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
