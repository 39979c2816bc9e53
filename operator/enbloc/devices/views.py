# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Views: which pools a node sees, and what of them matters to some claims.

Nodes with the same view have the same answer, which is computed once.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import is_
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.devices.demand import Demand
from enbloc.devices.facts import MOST_RESULTS
from enbloc.devices.lens import Lens
from enbloc.devices.needs import Terms
from enbloc.devices.pools import Bits, Pool, Reach, positions
from enbloc.devices.search import PoolOnNode
from enbloc.model.node_selection import terms_match
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.reach import Matrix, matrix_of, seen, signatures

Rows = npt.NDArray[np.int64]


class Spread:
    """The pools whose use matters to several nodes, as the nodes of a table see them.

    Nodes that satisfy the same selectors of pools see the same; that is computed once for all.

    Args:
        pools: the pools.
        nodes: the table; parts of it may be asked about later.
    """

    def __init__(self, pools: Sequence[Pool], nodes: Nodes) -> None:
        self._nodes = seen(nodes)
        self._pools = pools
        #: By the terms of node selectors, what these show: `(place of the pool, reach)`.
        lines: dict[Terms, list[tuple[int, Reach]]] = {}
        for at, pool in enumerate(pools):
            for terms, reach in pool.chosen:
                lines.setdefault(terms, []).append((at, reach))
        self._lines = [*lines.values()]
        self._everywhere = {at: p.everywhere for at, p in enumerate(pools) if p.everywhere}
        found = signatures(_matrix(list(lines), nodes))
        self._holds = found.matrix
        self._codes = dict(zip(nodes.names, found.codes.tolist(), strict=True))
        self._named: dict[str, list[int]] = {}
        for at, pool in enumerate(pools):
            for name in pool.by_node:
                self._named.setdefault(name, []).append(at)
        self._reaches: dict[int, Mapping[int, Reach]] = {}

    def of(self, pools: Sequence[Pool], nodes: Nodes) -> bool:
        """Whether it is of these pools, and of these nodes or more."""
        if nodes.version != self._nodes.version or len(pools) != len(self._pools):
            return False
        if not all(map(is_, pools, self._pools)):
            return False
        return nodes.names is self._nodes.names or all(each in self._codes for each in nodes.names)

    def seen(self, name: str) -> list[tuple[Pool, Reach]]:
        """What a node sees of these pools."""
        reaches = self._common(self._codes[name])
        named = self._named.get(name)
        if named is not None:
            reaches = dict(reaches)
            for at in named:
                reaches[at] = self._pools[at].by_node[name] | reaches.get(at, Reach())
        return [(self._pools[at], reaches[at]) for at in sorted(reaches)]

    def selections(self, names: Sequence[str]) -> Iterator[tuple[Pool, Reach, Mask]]:
        """Yield what several nodes see of a pool, and bool[N]: which nodes these are.

        Args:
            names: the rows' names.
        """
        codes = np.array([self._codes[name] for name in names], np.intp)
        for holds, shown in zip(self._holds, self._lines, strict=True):
            rows = holds[codes]
            for at, reach in shown:
                yield self._pools[at], reach, rows
        for at, reach in self._everywhere.items():
            yield self._pools[at], reach, np.ones(len(names), np.bool_)

    def code(self, name: str) -> Hashable:
        """A value that is equal for nodes which see the same of these pools."""
        own = ((at, self._pools[at].by_node[name]) for at in self._named.get(name, ()))
        return self._codes[name], *own

    def _common(self, code: int) -> Mapping[int, Reach]:
        """What nodes with this code see, which satisfy the same selectors, by place of the pool."""
        known = self._reaches.get(code)
        if known is None:
            found = dict(self._everywhere)
            for line in np.flatnonzero(self._holds[:, code]).tolist():
                for at, reach in self._lines[line]:
                    found[at] = found.get(at, Reach()) | reach
            known = self._reaches[code] = found
        return known

    def groups(self, names: Sequence[str], own: Callable[[str], bool]) -> list[Rows]:
        """Groups of rows that see the same; a node with pools of its own is alone.

        Args:
            names: the rows' names.
            own: whether a node has pools that no other sees.
        """
        alone: list[Rows] = []
        together: dict[int, list[int]] = {}
        for row, name in enumerate(names):
            if name in self._named or own(name):
                alone.append(np.array([row]))
            else:
                together.setdefault(self._codes[name], []).append(row)
        return [*alone, *(np.array(rows) for _, rows in sorted(together.items()))]


def _matrix(lines: Sequence[Terms], nodes: Nodes) -> Matrix:
    """bool[K, N]: where each of these node selectors holds."""
    plain = [not any(term.fields for term in terms) for terms in lines]
    conditions = [
        tuple(term.expressions for term in terms if term.expressions) if simple else ()
        for terms, simple in zip(lines, plain, strict=True)
    ]
    matrix = matrix_of(conditions, nodes)
    for line, (terms, simple) in enumerate(zip(lines, plain, strict=True)):
        if not simple:
            matrix[line] = terms_match(terms, nodes)
    return matrix


def signature(demands: Sequence[Demand], places: Sequence[PoolOnNode]) -> Hashable:
    """What of these pools matters to whether claims with these demands can be served."""
    most = MOST_RESULTS * len(demands) + 1
    said = [_said(demands, place, most) for place in places]
    return tuple([each for each in said if each != NOTHING])


#: How many entries `Pool.said` caches per pool.
_MOST_SAID: Final = 8

#: The entry of a pool that does not matter.
NOTHING: Final = ()


def _said(demands: Sequence[Demand], place: PoolOnNode, most: int) -> Hashable:
    """What of one pool matters to these demands."""
    pool, reach, use = place
    if not pool.complete:
        return pool.key if any(each.all for each in demands) else NOTHING
    asked = *demands, reach, most
    known = pool.said.get(asked)
    if known is not None and known[0] is use:
        before: Hashable = known[1]
        return before
    lenses = [demand.lens(pool) for demand in dict.fromkeys(demands)]
    if place.broken:
        said: Hashable = "broken", pool.key if any(each.all for each in demands) else ""
    elif any(lens.mixed for lens in lenses):
        said = _exactly(lenses, place)
    elif all(lens.idle for lens in lenses):
        said = NOTHING
    else:
        said = _kinds(demands, lenses, place, most)
    if not any(lens.unseen for lens in lenses):
        if len(pool.said) >= _MOST_SAID:
            pool.said.clear()
        pool.said[asked] = use, said
    return said


def _exactly(lenses: Sequence[Lens], place: PoolOnNode) -> Hashable:
    """The whole pool, if its devices differ too much for another pool to be alike."""
    pool, reach, use = place
    shares = tuple(sorted(use.shares.items()))
    faults = tuple(lens.faults for lens in lenses)
    return pool.number, reach, use.taken, shares, use.counted, faults


def _kinds(
    demands: Sequence[Demand], lenses: Sequence[Lens], place: PoolOnNode, most: int
) -> Hashable:
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
    """Sets of devices that are equivalent for each of the demands, without unusable ones."""
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
