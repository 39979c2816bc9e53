# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Segments: what storage of one class is left where, as its CSIStorageCapacity objects say."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.model.labels import Mask
from enbloc.model.nodes import Nodes
from enbloc.model.reach import Matrix, Seen, matrix_of, seen
from enbloc.storage.facts import CSIStorageCapacity
from enbloc.storage.topologies import of_selector

#: int64[K], bytes: what was promised of each segment and is not seen as used.
Charged = npt.NDArray[np.int64]

_UNKNOWN: Final = 2**63 - 1


class Segments:
    """The segments of one class, in name order; it never changes, but for what it remembers.

    Attributes:
        facts: the objects.
        capacity: int64[K], bytes; the largest number where it is unknown.
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
        self._seen: Seen | None = None
        self._matrix: Matrix = np.zeros((0, 0), np.bool_)

    def none(self) -> Charged:
        """Nothing is promised of any."""
        return np.zeros(len(self.facts), np.int64)

    def left(self, charged: Charged) -> npt.NDArray[np.int64]:
        """int64[K], bytes: what is left of each; the largest number where that is unknown."""
        return np.where(self.capacity == _UNKNOWN, _UNKNOWN, self.capacity - charged)

    def known(self) -> Mask:
        """bool[K]: whether it says how much there is in all."""
        return self.capacity != _UNKNOWN

    def enough(self, size: int, charged: Charged) -> Mask:
        """bool[K]: whether a volume of that size can be made there.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go
        capacitySufficient; what was promised to others is taken off.
        """
        size = min(size, _UNKNOWN)
        fits: Mask = (self._limit >= size) & ((charged == 0) | (self.left(charged) >= size))
        return fits

    def largest(self, charged: Charged) -> npt.NDArray[np.int64]:
        """int64[K], bytes: how large one volume can be there, by `enough`; below 0 = none."""
        return np.where(charged == 0, self._limit, np.minimum(self._limit, self.left(charged)))

    def reach(self, nodes: Nodes) -> Matrix:
        """bool[K, N]: which nodes have access to each."""
        if self._seen is None or not self._seen.same(nodes):
            self._matrix = matrix_of([of_selector(each.topology) for each in self.facts], nodes)
            self._seen = seen(nodes)
        return self._matrix

    def chosen(self, size: int, charged: Charged, reached: Mask) -> int | None:
        """The place of the segment that a new volume takes from: the fullest with enough."""
        places = np.flatnonzero(self.enough(size, charged) & reached)
        if not len(places):
            return None
        return int(places[np.argmin(self.left(charged)[places])])
