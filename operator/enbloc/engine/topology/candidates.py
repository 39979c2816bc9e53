# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Candidates: the domains in which a deficit may fit, in the order in which they are tried.

The order is that of semantics §11.3: one domain of the preferred level, else of the levels around
it, from the inside outwards. Within a level: first those without rows that others are preferred to,
and those with most held members; then the fewest domains of the preferred level, and of each level
within it; of these the one with the least room; then the fewest nodes; then the first row.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from enbloc.engine.topology.reserved import DueInDomain
from enbloc.engine.topology.room import LevelRoom, RowCapacity, fewest, largest_first
from enbloc.engine.topology.tree import Domains, Numbers
from enbloc.model.nodes import Mask
from enbloc.model.topology import TopologyLevels

#: The most domains that one decision tries; fewer in large clusters, where each try reads many
#: rows.
_MOST_TRIED, _LEAST_TRIED, _MOST_ROWS = 64, 8, 640_000
#: At most this many otherwise equal domains are ordered by their number of nodes.
_MOST_EQUAL: Final = 16


@dataclass(frozen=True, slots=True)
class DomainCandidate:
    """A domain in which the deficit may fit.

    Attributes:
        level: its index among the levels; -1 = it is the whole node table.
        domain: its number there.
        masks: bool[N] each, the rows to try, the fewest first; the last one has all of its rows.
    """

    level: int
    domain: int
    masks: Sequence[Mask]


class DomainCandidates:
    """The domains for a deficit, and the message if none holds it.

    Args:
        domains: of the node table.
        levels: what is required and preferred.
        room: what is needed and free.
        held: the rows of held members.
        worse: bool[N], rows that others are preferred to; None = there are none.
        due: what must be free in a domain besides that room; None = nothing.
    """

    def __init__(
        self,
        domains: Domains,
        levels: TopologyLevels,
        room: RowCapacity,
        held: Iterable[int],
        worse: Mask | None = None,
        due: DueInDomain | None = None,
    ) -> None:
        self.domains, self.levels, self.room = domains, levels, room
        self._due = due
        self._worse = None if worse is None else worse.astype(np.int64)
        #: int64[N]: how many held members each row has; and whether any has one.
        self._held_at = np.zeros(len(room.slots), np.int64)
        at = np.fromiter(held, np.int64)
        np.add.at(self._held_at, at, 1)
        self._held = bool(len(at))
        #: By level.
        self._rooms: dict[int, LevelRoom] = {}

    # ── what is required ─────────────────────────────────────────────────────────────────────

    @cached_property
    def pinned(self) -> frozenset[int]:
        """Return the domains of the required level with held members; all others are excluded."""
        required = self.levels.required
        if required is None:
            return frozenset()
        codes = self.domains.levels[required].codes[self._held_at > 0]
        return frozenset(np.unique(codes[codes >= 0]).tolist())

    def may_hold(self) -> bool:
        """Whether some permitted domain of the required level has enough room."""
        assert self.levels.required is not None
        enough = self._room(self.levels.required).enough
        return bool(enough[sorted(self.pinned)].any() if self.pinned else enough.any())

    def best(self) -> tuple[int, int] | None:
        """Return the required-level domain with the most room, and for how many; None = none.

        Among equals, the one with the largest share of what is due there free.
        """
        required = self.levels.required
        assert required is not None
        usable = self._room(required).usable
        places = np.array(sorted(self.pinned), np.int64) if self.pinned else np.arange(len(usable))
        if not len(places):
            return None
        keys = [-usable[places]]
        if self._due is not None:
            keys.insert(0, -self._due.share(self.levels.labels[: required + 1])[places])
        domain = int(places[np.lexsort(keys)[0]])
        return domain, int(usable[domain])

    # ── in order ─────────────────────────────────────────────────────────────────────────────

    def of_level(self, level: int) -> Iterator[DomainCandidate]:
        """Yield those of one level, best first; expensive facts are computed on demand.

        Args:
            level: one of `levels.outwards`.
        """
        for domain in self._in_order(level) if level >= 0 else self._everywhere():
            yield DomainCandidate(level, domain, self._masks(level, domain))

    def count(self, level: int) -> int:
        """Return how many domains a level has; -1 = the whole cluster."""
        return self.domains.levels[level].count if level >= 0 else 1

    def _everywhere(self) -> Sequence[int]:
        return [0] if self.room.everywhere().enough[0] else []

    def _in_order(self, place: int) -> Iterator[int]:
        """Yield the domains of one level with enough room."""
        level, found = self.domains.levels[place], self._room(place)
        enough = found.enough.copy()
        required = self.levels.required
        if self.pinned and required is not None:
            above = self.domains.levels[required].codes[level.first]
            enough &= np.isin(above, sorted(self.pinned))
        numbers = np.flatnonzero(enough)
        if not len(numbers):
            return
        keys: list[Numbers] = []
        if self._worse is not None:
            keys.append(np.minimum(level.sums(self._worse), 1))
        if self._held:
            keys.append(-level.sums(self._held_at))
        for each in self._inner(place):
            part = self.domains.levels[each]
            sizes, groups = self._room(each).slots, level.codes[part.first]
            keys.append(fewest(self.room.members, sizes, groups, level.count))
        if sum(self.room.counts) > self.room.members:  # surplus members follow
            keys.append(-found.usable)
        keys.append(self.room.beyond_of(level))
        table = np.array(keys)[:, numbers]
        order = np.lexsort((numbers, *table[::-1]))
        table = table[:, order]
        ends = np.flatnonzero((table[:, 1:] != table[:, :-1]).any(axis=0)) + 1
        for equal in np.split(numbers[order], ends):
            yield from self._by_nodes(place, equal[:_MOST_EQUAL].tolist())
            yield from equal[_MOST_EQUAL:].tolist()

    def _by_nodes(self, place: int, tied: list[int]) -> list[int]:
        """Return otherwise equal domains, those that take fewer nodes first."""
        if len(tied) < 2:
            return tied
        level = self.domains.levels[place]
        turn = np.full(level.count, -1, np.int64)
        turn[tied] = np.arange(len(tied))
        groups = np.where(level.codes >= 0, turn[level.codes], -1)
        rows = np.flatnonzero(groups >= 0)
        nodes = fewest(self.room.members, self.room.slots[rows], groups[rows], len(tied))
        return [tied[at] for at in np.argsort(nodes, kind="stable").tolist()]

    def _room(self, level: int) -> LevelRoom:
        if level not in self._rooms:
            found = self.room.of_level(self.domains.levels[level])
            if self.levels.slices and not self._held:
                found = replace(found, enough=found.enough & self._in_slices(level))
            if self._due is not None:
                found = replace(found, enough=found.enough & self._has_due(self._due, level))
            self._rooms[level] = found
        return self._rooms[level]

    def _has_due(self, due: DueInDomain, level: int) -> Mask:
        """Return bool[D]: the domains of a level where what is due is free, there and around."""
        enough, required = due.enough(self.levels.labels[: level + 1]), self.levels.required
        if required is not None and level > required:
            around = self.domains.levels[required].codes[self.domains.levels[level].first]
            enough &= due.enough(self.levels.labels[: required + 1])[around]
        return enough

    def lacking(self, level: int, domain: int) -> str:
        """Return what a domain lacks of what is due there; "" = nothing."""
        if self._due is None:
            return ""
        return self._due.lacking(self.levels.labels[: level + 1], domain)

    def _in_slices(self, level: int) -> Mask:
        """Return bool[D]: the domains of a level that may hold all whole slices, by sums."""
        own, enough = self.domains.levels[level], np.ones(1, np.bool_)
        for size, place in self.levels.slices:
            part = self.domains.levels[max(place, level)]
            whole = part.sums(self.room.slots) // size * size
            groups = own.codes[part.first]
            held = np.bincount(groups, whole, own.count)
            enough = enough & (held >= self.room.members // size * size)
        return enough

    # ── within a domain ──────────────────────────────────────────────────────────────────────

    def _masks(self, level: int, domain: int) -> Sequence[Mask]:
        """Return the domain's rows, and fewer of them level by level, the fewest first.

        For members of several kinds, only the domains that they need are known, not the rows.
        """
        if level < 0:
            whole = np.ones(len(self.room.slots), np.bool_)
        else:
            whole = self.domains.levels[level].mask(domain)
        masks = [whole]
        for place in self._inner(level):
            masks.append(self._fewest(masks[-1], place))
        if self.room.alike and self.levels.preferred is not None:
            masks.append(self._fewest(masks[-1], len(self.domains.levels)))
        narrower = [masks[0]]
        for mask in masks[1:]:
            if np.count_nonzero(mask) < np.count_nonzero(narrower[-1]):
                narrower.append(mask)
        if self.room.alike and len(narrower) > 1:  # masks in between find no more than the whole
            narrower = [narrower[0], narrower[-1]]
        return narrower[::-1]

    def _inner(self, level: int) -> range:
        """Return the levels, within one, of which as few domains as possible are taken."""
        if self.levels.preferred is None:
            return range(0)
        return range(max(level + 1, self.levels.preferred), len(self.domains.levels))

    def _fewest(self, within: Mask, place: int) -> Mask:
        """Return bool[N]: the rows of the fewest parts of some rows that hold the deficit.

        Args:
            within: bool[N], these rows.
            place: the level whose domains are the parts; one beyond the innermost: each row is one.
        """
        rows = np.flatnonzero(within & (self._codes(place) >= 0))
        parts, slots = self._codes(place)[rows], self.room.slots[rows]
        count = int(parts.max(initial=-1)) + 1
        sizes = np.bincount(parts, slots, count).astype(np.int64)
        if int(sizes.sum()) < self.room.members:  # some of its room is in no part
            return within
        near = np.bincount(parts, self._held_at[rows], count).astype(np.int64)

        def cost(members: int) -> list[Numbers]:
            """Return how many domains of each inner level so many members take in each part."""
            found: list[Numbers] = []
            for inner in range(place + 1, len(self.domains.levels) + self.room.alike):
                codes = self._codes(inner)[rows]
                named, first, of = np.unique(codes, return_index=True, return_inverse=True)
                held = np.bincount(of, slots, len(named)).astype(np.int64)
                groups = np.where(named >= 0, parts[first], -1)
                found.append(fewest(members, held, groups, count))
            return found

        chosen = np.zeros(count, np.bool_)
        chosen[largest_first(self.room.members, sizes, near, cost)] = True
        mask = np.zeros_like(within)
        mask[rows[chosen[parts]]] = True
        return mask

    def _codes(self, place: int) -> Numbers:
        """Return int64[N]: the domain of each row at a level; beyond the innermost, the row."""
        if place < len(self.domains.levels):
            return self.domains.levels[place].codes
        return np.arange(len(self.room.slots))


def most_tried(rows: int) -> int:
    """Return how many domains one decision tries on a node table of so many rows."""
    return max(_LEAST_TRIED, min(_MOST_TRIED, _MOST_ROWS // max(1, rows)))
