# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Views: which pools a node sees, and what matters of them for some claims.

Two nodes of which the same matters have the same answer: it is found once.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from enbloc.model.devices.demand import Demand
from enbloc.model.devices.facts import MOST_RESULTS
from enbloc.model.devices.lens import Lens
from enbloc.model.devices.pools import Bits, Pool, Reach, positions
from enbloc.model.devices.search import Place
from enbloc.model.labels import Mask
from enbloc.model.node_selection import terms_match

if TYPE_CHECKING:
    from enbloc.model.nodes import Nodes


Rows = npt.NDArray[np.int64]


class Spread:
    """The pools that more nodes see than those that they name, for the rows of a node table."""

    def __init__(self, pools: Sequence[Pool], nodes: "Nodes") -> None:
        self._pools: list[tuple[Pool, Reach | None, list[tuple[Mask, Reach]]]] = []
        self._seen: dict[int, list[tuple[Pool, Reach]]] = {}
        known: dict[Hashable, Mask] = {}
        for pool in pools:
            chosen: list[tuple[Mask, Reach]] = []
            for terms, reach in pool.chosen:
                mask = known.get(terms)
                if mask is None:
                    mask = known[terms] = terms_match(terms, nodes)
                chosen.append((mask, reach))
            self._pools.append((pool, pool.everywhere, chosen))

    def seen(self, row: int, name: str) -> list[tuple[Pool, Reach]]:
        """What of these pools a row sees."""
        known = self._seen.get(row)
        if known is not None:
            return known
        found: list[tuple[Pool, Reach]] = []
        for pool, everywhere, chosen in self._pools:
            reach = pool.by_node.get(name)
            for other in (everywhere, *(each for mask, each in chosen if mask[row])):
                if other is not None:
                    reach = other if reach is None else reach | other
            if reach is not None:
                found.append((pool, reach))
        self._seen[row] = found
        return found

    def groups(self, names: Sequence[str], own: Callable[[str], bool]) -> list[Rows]:
        """Rows that see the same; a node that has anything of its own is alone.

        Args:
            names: of the rows.
            own: whether a node has pools that no other sees.
        """
        if len(names) == 1:
            return [np.zeros(1, np.int64)]
        alone: set[int] = {row for row, name in enumerate(names) if own(name)}
        keys = np.zeros(len(names), np.int64)
        for pool, _, chosen in self._pools:
            alone.update(row for row, name in enumerate(names) if name in pool.by_node)
            for mask, _ in chosen:
                keys = np.unique(2 * keys + mask, return_inverse=True)[1]
        together = np.ones(len(names), np.bool_)
        together[list(alone)] = False
        found = [np.array([row]) for row in sorted(alone)]
        for key in np.unique(keys[together]).tolist():
            found.append(np.flatnonzero(together & (keys == key)))
        return found


def signature(demands: Sequence[Demand], places: Sequence[Place]) -> Hashable:
    """What matters of these pools for whether claims with these demands can be served."""
    most = MOST_RESULTS * len(demands) + 1
    said = [_said(demands, place, most) for place in places]
    return tuple([each for each in said if each != NOTHING])


#: Said of a pool that does not matter.
NOTHING: Final = ()


def _said(demands: Sequence[Demand], place: Place, most: int) -> Hashable:
    """The same for one pool."""
    pool, reach, use = place
    if not pool.complete:
        return pool.key if any(each.all for each in demands) else NOTHING
    lenses = [demand.lens(pool) for demand in dict.fromkeys(demands)]
    memory = lenses[0].memory
    asked = *demands, reach, most
    if memory and memory[0] is use and memory[1] == asked:
        known: Hashable = memory[2]
        return known
    if place.broken:
        said: Hashable = "broken", pool.key if any(each.all for each in demands) else ""
    elif any(lens.mixed for lens in lenses):
        said = _exactly(lenses, place)
    elif all(lens.idle for lens in lenses):
        said = NOTHING
    else:
        said = _kinds(demands, lenses, place, most)
    memory[:] = (use, asked, said)
    return said


def _exactly(lenses: Sequence[Lens], place: Place) -> Hashable:
    """All of it, where the devices differ too much for anything else to be like it."""
    pool, reach, use = place
    shares = tuple(sorted(use.shares.items()))
    faults = tuple(lens.faults for lens in lenses)
    return pool.number, reach, use.taken, shares, use.counted, faults


def _kinds(demands: Sequence[Demand], lenses: Sequence[Lens], place: Place, most: int) -> Hashable:
    pool, use, seen = place.pool, place.use, place.reach.devices
    sharing = sum(1 << position for position in use.shares)
    free = seen & ~use.taken & ~sharing
    counts = tuple(
        (kind, min((bits & free).bit_count(), most), min((bits & use.taken).bit_count(), most))
        for kind, bits in _parts(lenses, seen)
    )
    shares = tuple(
        (_kind(lenses, position), share.consumed)
        for position, share in sorted(use.shares.items())
        if seen >> position & 1
    )
    left: tuple[int, ...] = ()
    if any(lens.consuming for lens in lenses):
        used = use.counted or (0,) * len(pool.counters)
        left = tuple(total - each for total, each in zip(pool.counters, used, strict=True))
    graded = any(each.graded for each in demands)
    order = tuple(_kind(lenses, each) for each in positions(free)) if graded else ()
    faults = tuple(
        (text, bits & seen, bits & use.taken)
        for lens in lenses
        for each in lens.faults
        for text, bits in each
    )
    return counts, shares, left, order, faults


def _kind(lenses: Sequence[Lens], position: int) -> tuple[int, ...]:
    return tuple(lens.kind_of(position) for lens in lenses)


def _parts(lenses: Sequence[Lens], seen: Bits) -> list[tuple[tuple[int, ...], Bits]]:
    """The devices that are all the same to each of the demands; those of no use are left out."""
    parts: list[tuple[tuple[int, ...], Bits]] = [((), seen)]
    for lens in lenses:
        finer: list[tuple[tuple[int, ...], Bits]] = []
        for key, rest in parts:
            for kind, bits in lens.kinds:
                if bits & rest:
                    finer.append(((*key, kind), bits & rest))
                    rest &= ~bits  # noqa: PLW2901  # what is left of the part
            if rest:
                finer.append(((*key, -1), rest))
        parts = finer
    return [(key, bits) for key, bits in parts if max(key) >= 0]
