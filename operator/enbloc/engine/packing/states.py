# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""States: what a row can still take, tabulated once for all identical rows."""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.engine.packing.model import Packing
from enbloc.model.nodes import Amounts

_PLENTY: Final = 2**62

#: The most numbers tabulated at once, so that a large cluster does not take all memory.
_CHUNK: Final = 2**20

_Bits = npt.NDArray[np.bool_]


class States:
    """The possible states of a row, each with its meaning for every kind.

    A state is the room that is left, the kinds that may still come, and which kinds would exclude
    which.

    Attributes:
        count: S, the number of states so far.
        first: int64[M]: the initial state of each row.
        places: int64[S, C]: how many members of a kind could go there.
        loss: float64[S, C, C]: how many places of each kind (last) one member of a kind takes,
            not counting its own.
        size: float64[S]: how much room is left, in thousandths of a place at most.

    Args:
        packing: the problem with these rows.
        charge: called before any but the first states is tabulated.
    """

    def __init__(self, packing: Packing, charge: Callable[[], None]) -> None:
        self._charge = charge
        self._requests = packing.requests
        self._counts = np.array(packing.counts, np.int64)
        self._one = np.minimum(1, self._counts)
        self._own = np.eye(len(self._counts))
        self._free = self._requests == 0
        self._divisors = np.maximum(1, self._requests)
        kinds, resources = self._requests.shape
        # More room than all members together could take does not distinguish rows.
        room = np.minimum(packing.room, packing.places.T @ self._requests)
        self._scale = 1e-3 / np.maximum(1, room.max(axis=0, initial=0)) / max(1, resources)
        self.count = 0
        self._ids: dict[tuple[bytes, bytes, int], int] = {}
        self._room = np.zeros((0, resources), np.int64)
        self._open = np.zeros((0, kinds), np.bool_)
        self._rule = np.zeros(0, np.int64)
        self.places = np.zeros((0, kinds), np.int64)
        self.loss = np.zeros((0, kinds, kinds))
        self.size = np.zeros(0)
        clashes = np.zeros((len(packing.rows), kinds, kinds), np.bool_)
        for _, domains, pairs in packing.apart:
            clashes |= (domains != 0)[:, None, None] & pairs
        self._clashes, rule = _numbered(clashes, packing.likeness)
        self.first = self._numbers(room, packing.places.T > 0, rule)

    def after(self, state: int, kind: int) -> int:
        """Return the state once one member of a kind is there."""
        rule = self._rule[state]
        stays = self._open[state] & ~self._clashes[rule, kind]
        return self._number(self._room[state] - self._requests[kind], stays, int(rule))

    def barred(self, state: int, kinds: _Bits) -> int:
        """Return the state when these kinds (bool[C]) may not come any more."""
        return self._number(self._room[state], self._open[state] & ~kinds, int(self._rule[state]))

    def _number(self, room: Amounts, kinds: _Bits, rule: int) -> int:
        known = self._ids.get((room.tobytes(), kinds.tobytes(), rule))
        if known is not None:
            return known
        self._charge()
        return int(self._numbers(room[None], kinds[None], np.array([rule]))[0])

    def _numbers(
        self, room: Amounts, kinds: _Bits, rule: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the numbers of several states; tabulate new ones, all at once."""
        fresh: list[int] = []
        found: list[int] = []
        for index, number in enumerate(rule.tolist()):
            key = room[index].tobytes(), kinds[index].tobytes(), number
            if key not in self._ids:
                self._ids[key] = len(self._ids)
                fresh.append(index)
            found.append(self._ids[key])
        at_once = max(1, _CHUNK // self._requests.size // len(self._requests))
        for start in range(0, len(fresh), at_once):
            part = fresh[start : start + at_once]
            self._tabulate(room[part], kinds[part], rule[part])
        return np.array(found, np.int64)

    def _tabulate(self, room: Amounts, kinds: _Bits, rule: npt.NDArray[np.int64]) -> None:
        first, end = self.count, self.count + len(rule)
        self.count = end
        if end > len(self.size):
            self._grow(max(end, 2 * len(self.size)))
        new = slice(first, end)
        clashes = self._clashes[rule]
        alone = clashes.diagonal(axis1=1, axis2=2)
        # [U, 1 + C, …]: the present state, and after one member of each kind.
        rooms = np.concatenate((room[:, None], room[:, None] - self._requests), axis=1)
        open_ = np.concatenate((kinds[:, None], kinds[:, None] & ~clashes), axis=1)
        fit = rooms[:, :, None] // self._divisors
        fit[..., self._free] = _PLENTY
        most = np.where(alone, self._one, self._counts)[:, None]
        places = np.minimum(fit.min(axis=3, initial=_PLENTY), most).clip(min=0) * open_
        self._room[new], self._open[new], self._rule[new] = room, kinds, rule
        self.places[new], self.size[new] = places[:, 0], room @ self._scale
        self.loss[new] = places[:, :1] - places[:, 1:] - self._own

    def _grow(self, size: int) -> None:
        for name in ("_room", "_open", "_rule", "places", "loss", "size"):
            old = getattr(self, name)
            new = np.zeros((size, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)


def _numbered(
    clashes: _Bits, likeness: npt.NDArray[np.int64] | None
) -> tuple[_Bits, npt.NDArray[np.int64]]:
    """Return each distinct rule once, bool[L, C, C], and its number for each row.

    Rows that plugins distinguish have different ones.
    """
    numbers: dict[tuple[bytes, int], int] = {}
    different: list[_Bits] = []
    found: list[int] = []
    alike = np.zeros(len(clashes), np.int64) if likeness is None else likeness
    for rule, kind in zip(clashes, alike.tolist(), strict=True):
        number = numbers.setdefault((rule.tobytes(), kind), len(different))
        if number == len(different):
            different.append(rule)
        found.append(number)
    return np.array(different).reshape(-1, *clashes.shape[1:]), np.array(found, np.int64)
