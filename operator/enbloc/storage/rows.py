# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Rows: on which nodes the claims of one class of pods find storage, updated incrementally."""

from collections.abc import Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from enbloc.model.labels import Mask
from enbloc.model.nodes import Nodes
from enbloc.model.reach import Matrix, NodesSeen, Signatures, seen
from enbloc.storage.available import Available, Bits, VolumeChoice, each_bit
from enbloc.storage.matching import smallest_fit
from enbloc.storage.segments import Charged, Segments


class MatchedRows:
    """Which of a pod's claims of one class find a volume, on each node.

    When volumes are taken or freed, only nodes that reach one of them are checked again.

    Args:
        available: the volumes of the class.
        choices: which volumes each claim may get, the smallest claim first.
    """

    __slots__ = ("_free", "_masks", "_matched", "_seen", "_witness", "available", "choices")

    def __init__(self, available: Available, choices: Sequence[VolumeChoice]) -> None:
        self.available = available
        self.choices = choices
        self._seen: NodesSeen | None = None
        self._free: Bits = 0
        self._matched: Matrix = np.zeros((len(choices), 0), np.bool_)
        self._masks: Matrix = self._matched
        self._witness: list[Bits] = []

    def masks(self, nodes: Nodes, free: Bits) -> Matrix:
        """bool[J, N]: the nodes where each claim finds a free volume; read-only."""
        found = self.available.signatures(nodes)
        if self._seen is None or not self._seen.same(nodes):
            count = found.matrix.shape[1]
            self._seen, self._free = seen(nodes), free
            self._matched = np.zeros((len(self.choices), count), np.bool_)
            self._witness = [0] * count
            self._ask(range(count))
        elif free == self._free:
            return self._masks
        else:
            self._follow(free, found)
        self._masks = self._matched[:, found.codes]
        return self._masks

    def fork(self) -> "MatchedRows":
        """A copy that follows changes of its own."""
        made: MatchedRows = copy(self)
        made._matched, made._witness = self._matched.copy(), self._witness.copy()
        return made

    def _follow(self, free: Bits, found: Signatures) -> None:
        changed, gone = free ^ self._free, self._free & ~free
        self._free = free
        again: set[int] = set()
        for place in each_bit(changed):
            bit = 1 << place
            for signature in np.flatnonzero(found.matrix[self.available.group_of(place)]).tolist():
                if not gone & bit or self._witness[signature] & bit:
                    again.add(signature)
        self._ask(sorted(again))

    def _ask(self, signatures: Sequence[int]) -> None:
        """Check nodes of some signatures; only a change of what they would take matters to them."""
        choices, free = self.choices, self._free
        alone = choices[0] if len(choices) == 1 else None
        for signature in signatures:
            reached = self.available.reached(signature)
            if alone is not None:
                # Any volume proves that there is one; the largest is taken last.
                bits = alone.at(reached, free)
                self._matched[0, signature] = bits != 0
                self._witness[signature] = 1 << bits.bit_length() >> 1
            else:
                places, taken = smallest_fit(choices, reached, free)
                self._matched[:, signature] = [place is not None for place in places]
                self._witness[signature] = taken


class SegmentRows:
    """On which nodes a new volume of one class and size can be provisioned.

    Args:
        segments: the segments of the class.
        size: the volume's size in bytes.
    """

    __slots__ = ("_charged", "_count", "_enough", "_mask", "_seen", "_size", "segments")

    def __init__(self, segments: Segments, size: int) -> None:
        self.segments = segments
        self._size = size
        self._seen: NodesSeen | None = None
        self._charged: Charged | None = None
        self._enough: Mask = np.zeros(0, np.bool_)
        self._count: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._mask: Mask = self._enough

    def mask(self, nodes: Nodes, charged: Charged) -> Mask:
        """bool[N]: the nodes where any segment has enough left; read-only."""
        reach = self.segments.reach(nodes)
        same = self._seen is not None and self._seen.same(nodes)
        if same and charged is self._charged:
            return self._mask
        enough = self.segments.enough(self._size, charged)
        if same:
            for place in np.flatnonzero(enough != self._enough).tolist():
                # A new array each time: forks count in their own.
                self._count = self._count + np.where(reach[place], 1 if enough[place] else -1, 0)
        else:
            self._seen = seen(nodes)
            self._count = reach[enough].sum(axis=0, dtype=np.int64)
        self._charged, self._enough, self._mask = charged, enough, self._count > 0
        return self._mask

    def fork(self) -> "SegmentRows":
        """A copy that follows changes of its own."""
        return copy(self)
