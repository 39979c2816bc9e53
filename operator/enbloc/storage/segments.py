# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Segments: how much storage of one class is left where, by CSIStorageCapacity objects."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.model.labels import Mask
from enbloc.model.nodes import Nodes
from enbloc.model.reach import Matrix, NodesSeen, matrix_of, seen
from enbloc.storage.facts import CSIStorageCapacity
from enbloc.storage.topologies import of_selector

#: int64[K]: bytes of each segment that are promised, but not yet seen as used.
Charged = npt.NDArray[np.int64]

_UNKNOWN: Final = 2**63 - 1


class Segments:
    """The segments of one class, in name order; immutable, except for its caches.

    Attributes:
        facts: the CSIStorageCapacity objects.
        capacity: int64[K]: bytes; the largest int64 if unknown.
    """

    __slots__ = ("_limit", "_matrix", "_seen", "capacity", "facts", "places")

    def __init__(self, facts: Iterable[CSIStorageCapacity]) -> None:
        known = sorted(facts, key=lambda each: each.key)
        self.facts: Sequence[CSIStorageCapacity] = known
        self.places = {each.key: place for place, each in enumerate(known)}
        self._limit = np.array(
            [-1 if each.limit is None else each.limit for each in known], np.int64
        )
        self.capacity = np.array(
            [_UNKNOWN if each.capacity is None else each.capacity for each in known], np.int64
        )
        self._seen: NodesSeen | None = None
        self._matrix: Matrix = np.zeros((0, 0), np.bool_)

    def none(self) -> Charged:
        """A Charged of zeros: nothing is promised."""
        return np.zeros(len(self.facts), np.int64)

    def left(self, charged: Charged) -> npt.NDArray[np.int64]:
        """int64[K]: the bytes left of each segment; the largest int64 if unknown."""
        return np.where(self.capacity == _UNKNOWN, _UNKNOWN, self.capacity - charged)

    def known(self) -> Mask:
        """bool[K]: whether each segment's total capacity is known."""
        return self.capacity != _UNKNOWN

    def enough(self, size: int, charged: Charged) -> Mask:
        """bool[K]: whether a volume of that size can be provisioned in each segment.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go
        capacitySufficient; what was promised to others is subtracted.
        """
        size = min(size, _UNKNOWN)
        fits: Mask = (self._limit >= size) & ((charged == 0) | (self.left(charged) >= size))
        return fits

    def largest(self, charged: Charged) -> npt.NDArray[np.int64]:
        """int64[K]: the largest volume in each segment, in bytes, by `enough`; below 0 = none."""
        return np.where(charged == 0, self._limit, np.minimum(self._limit, self.left(charged)))

    def reach(self, nodes: Nodes) -> Matrix:
        """bool[K, N]: the nodes that have access to each segment."""
        if self._seen is None or not self._seen.same(nodes):
            self._matrix = matrix_of([of_selector(each.topology) for each in self.facts], nodes)
            self._seen = seen(nodes)
        return self._matrix

    def chosen(self, size: int, charged: Charged, reached: Mask) -> int | None:
        """The place of the segment that a new volume uses: the fullest with enough left."""
        places = np.flatnonzero(self.enough(size, charged) & reached)
        if not len(places):
            return None
        return int(places[np.argmin(self.left(charged)[places])])
