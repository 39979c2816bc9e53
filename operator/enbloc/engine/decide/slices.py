# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Slices: a fixed number of members with neighbouring ranks, in one domain.

::

    ranks      0 1 2 3 │ 4 5 6 7 │ 8 9            size 4, in one rack: two slices and a short one
    racks      r1: 9 slots        │ r2: 3          r1 holds two of them, r2 the short one

Slices within slices are cut anew from each of these. A slice with held members stays where they
are.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from enbloc.engine.decide.floor import PlacedFloor
from enbloc.engine.member_ranks import ranks_of
from enbloc.engine.topology import (
    DomainCandidates,
    along_the_tree,
    domains_of,
    held_ranks,
    inside,
    rows_around,
)
from enbloc.engine.trial import ClassKey, Outcome, Trial
from enbloc.framework.facts import Floor, GroupFacts, Lacking, Locality
from enbloc.model.member_index import member_index
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod, PodUID

#: How many further domains a slice of unlike members tries besides that of the slice before it.
_MOST_DOMAINS: Final = 8
#: Of how many kinds of members it is looked at where they may be, and whether others affect that.
_MOST_KINDS: Final = 16
#: The most rows that one decision reads, and as many again for alike members of which plugins must
#: place each slice: for each kind of members whenever a domain is tried, once for each slice that
#: is cut again, and for unlike members several times for each kind in a slice, whenever it is tried
#: in a domain. A slice itself, and a member that is placed by itself, each count as a fixed number
#: of rows.
MOST_ROWS: Final = 10_000_000
_OF_A_KIND: Final = 16
_OF_A_SLICE: Final = 1000
OF_A_MEMBER: Final = 1000
#: Into how many parts the steps of searches are divided; a slice in a domain has one.
_SEARCHES: Final = 8
#: Why a member may not be where the others of its slice are not.
OUTSIDE: Final = "node(s) were outside of the domain of their slice"


class ReadBudget:
    """How many rows a decision may still read.

    Attributes:
        left: the number; below 0 it was exceeded.
        closer: the same where alike members are placed slice by slice, so that domains that come
            later can be tried by sums; None = it is not kept apart.
    """

    def __init__(self, left: int, closer: "ReadBudget | None" = None) -> None:
        self._all = self.left = left
        self.closer = closer

    @property
    def taken(self) -> int:
        """The number of rows that were taken in all."""
        return self._all - self.left + (self.closer.taken if self.closer is not None else 0)

    def take(self, rows: int) -> bool:
        """Take this many rows; return whether they are within the limit."""
        self.left -= rows
        return self.left >= 0


Numbers = npt.NDArray[np.int64]
Classes = frozenset[tuple[ClassKey, int]]
#: A size, and the index of a level.
Spec = tuple[int, int]


class PlaceFloor(Protocol):
    """Places the deficit of a group, all or nothing, wherever a trial allows it."""

    def __call__(self, facts: GroupFacts, trial: Trial, steps: int) -> PlacedFloor:
        """Return the result."""
        ...


def ranks_by_need(facts: GroupFacts) -> Mapping[PodUID, int]:
    """Return the ranks of pending members; those that meet the deficit come first."""
    lacking = Lacking(facts.floors)
    in_turn = sorted(facts.pending, key=lambda pod: (member_index(pod), pod.seniority))
    needed = {pod.uid for pod in in_turn if lacking.take(pod.role)}
    return ranks_of(facts, facts.pending, needed)


def place_slices(
    facts: GroupFacts,
    locality: Locality,
    candidates: DomainCandidates,
    trial: Trial,
    mask: Mask,
    place: PlaceFloor,
    budget: ReadBudget,
    steps: int = 0,
) -> PlacedFloor:
    """Place the deficit slice by slice, in rank order.

    Args:
        facts: the group as it is.
        locality: tells how the slices are cut.
        candidates: with the room of each row.
        trial: the cluster as it is; unchanged.
        mask: bool[N]: where members may be.
        place: places the members of one slice.
        budget: what the decision may still cost.
        steps: how much searches may cost for slices of unlike members.
    """
    ranks = ranks_by_need(facts)
    pods = sorted(facts.pending, key=lambda pod: ranks[pod.uid])[: facts.lacking]
    placing = _Placing(facts, locality, candidates, trial, place, ranks, budget, steps)
    outcome = placing.placed(pods, mask)
    if outcome.failed:
        return PlacedFloor(facts, outcome, trial)
    floor = PlacedFloor(facts, outcome, placing.trial)
    return floor if facts.held_in_part else floor.with_rest()


class _Placing:
    """The members that are placed so far.

    Attributes:
        trial: holds these members.
    """

    def __init__(
        self,
        facts: GroupFacts,
        locality: Locality,
        candidates: DomainCandidates,
        trial: Trial,
        place: PlaceFloor,
        ranks: Mapping[PodUID, int],
        budget: ReadBudget,
        steps: int,
    ) -> None:
        self._steps, self._share = steps, steps // _SEARCHES
        self._facts, self._locality, self._candidates = facts, locality, candidates
        self._origin = self.trial = trial
        self._place, self._ranks, self._budget = place, ranks, budget
        self._slots: Numbers = candidates.room.slots
        self._rows: list[tuple[Pod, int]] = []
        self._alike = True
        #: By size, the rows with held members of each slice, by slice number.
        self._held_rows: dict[int, dict[int, list[int]]] = {}
        #: By level, the rows sorted by domain, and where each domain begins.
        self._sorted: dict[int, tuple[Numbers, Numbers]] = {}
        #: By level and members (by class), the domains that were tried for them in vain.
        self._refused: dict[tuple[int, Classes], frozenset[int]] = {}
        #: The same before members were placed that may have changed it: these are tried last.
        self._doubtful: dict[tuple[int, Classes], frozenset[int]] = {}
        #: One member of each class.
        self._kinds: dict[ClassKey, Pod] = {}

    def placed(self, pods: Sequence[Pod], mask: Mask) -> Outcome:
        """Place these members, in rank order, on some rows (bool[N])."""
        keys = self.trial.keys(pods)
        self._kinds = dict(zip(keys, pods, strict=True))
        self._alike = len(self._kinds) == 1 and keys[0].holds is None
        ranking = self._origin.ranking(pods[0]) if self._alike else None
        refused = ranking is not None and ranking.refused is not None
        if ranking is not None and not refused and ranking.independent(pods[:1]):
            mask = mask & ranking.mask  # which members change on their own rows only
        slots = np.where(mask, self._slots, 0)
        outcome = self._laid_out(pods, slots)
        if self._alike and not outcome.failed and not self._accepted(mask):
            if refused:
                outcome.failed = True
                outcome.note(self.trial.diagnosis(pods[0]), pods[0])
            else:  # sums know nothing of affinity or spread: ask plugins slice by slice
                self._alike, self._rows, self.trial = False, [], self._origin
                self._budget = self._budget.closer or self._budget
                outcome = self._laid_out(pods, slots)
        outcome.needed = self._rows
        return outcome

    def _laid_out(self, pods: Sequence[Pod], slots: Numbers) -> Outcome:
        """Place the slices where there is room for so many members (int64[N])."""
        self._slots = slots.copy()
        outcome = Outcome()
        if not self._cut(pods, self._locality.levels.slices, outcome):
            outcome.failed = True
            if self._budget.left < 0:
                outcome.lacks = "slices are too many for one decision; use larger ones"
                reason = "node(s) were not tried for every slice"
                self._note(outcome, pods[0], self._origin, reason)
        return outcome

    def _cut(self, pods: Sequence[Pod], specs: Sequence[Spec], outcome: Outcome) -> bool:
        """Place members with consecutive ranks, slice by slice; return whether all fit."""
        (size, level), *inner = specs
        own = self._candidates.domains.levels[level]
        slices = [list(each) for _, each in groupby(pods, lambda pod: self._ranks[pod.uid] // size)]
        left, last, fills, at = len(pods), -1, self._alike and not inner, 0
        room = own.sums(self._slots)
        while at < len(slices):
            members, many = slices[at], 1
            count = len(members)
            held = self._held(self._ranks[members[0].uid] // size, size, own.codes)
            if not self._budget.take(_OF_A_SLICE + own.count):
                return False
            if not fills:  # the trial decides where a domain that holds others takes the rest
                room = own.sums(self._slots) if len(held) else self._room(level, inner, count)
            skipped, late = self._vain(members, level)
            for domain in self._in_turn(room, count, left, last, held, skipped, late):
                if fills:
                    if not len(held):
                        many = self._in_a_row(slices, at, int(room[domain]), size)
                        members = list(chain.from_iterable(slices[at : at + many]))
                    self._fill(members, self._rows_of(level, domain))
                    room[domain] -= len(members)
                elif not self._in_domain(members, level, domain, inner, outcome):
                    continue
                last = domain
                break
            else:
                self._lacks(outcome, members, level, room, held)
                return False
            left, at = left - len(members), at + many
        return True

    def _in_a_row(self, slices: Sequence[Sequence[Pod]], at: int, room: int, size: int) -> int:
        """Return how many slices, from one on, a domain takes before one that is partially held."""
        many = 0
        for members in slices[at:]:
            room -= len(members)
            held = many and self._held_rows.get(size, {}).get(self._ranks[members[0].uid] // size)
            if room < 0 or held:
                break
            many += 1
        return many

    def _in_domain(
        self,
        members: Sequence[Pod],
        level: int,
        domain: int,
        inner: Sequence[Spec],
        outcome: Outcome,
    ) -> bool:
        """Place one slice in a domain; return whether it fits there."""
        before, placed, refused = self._slots, len(self._rows), self._refused.copy()
        cost = len(self._slots)
        if not self._alike:
            cost *= _OF_A_KIND * len(self._classes(members))
            cost = cost if inner else max(cost, OF_A_MEMBER * len(members))
        if not self._budget.take(cost):
            return False
        rows = self._candidates.domains.levels[level].codes == domain
        if inner:
            self._slots = np.where(rows, before, 0)
            fits = self._cut(members, inner, outcome)
            self._slots = np.where(rows, self._slots, before) if fits else before
        else:
            fits = self._tried(members, rows, outcome)
        if not fits:
            del self._rows[placed:]
            if not self._alike:  # undo what was placed for the slice
                self.trial = self._origin.fork()
                self.trial.add_all(self._rows)
                question = level, self._classes(members)
                refused[question] = refused.get(question, frozenset()) | {domain}
            self._refused = refused
        elif self._refused and self._may_matter(members):  # they may be what was lacking there
            for question, domains in self._refused.items():
                self._doubtful[question] = self._doubtful.get(question, frozenset()) | domains
            self._refused = {}
        return fits

    def _may_matter(self, members: Sequence[Pod]) -> bool:
        """Whether plugins may answer otherwise about those who were refused, beside these."""
        kinds = [self._kinds[key] for key in dict.fromkeys(self.trial.keys(members))]
        named = {key for _, classes in self._refused for key, _ in classes}
        refused = [key for key in self._kinds if key in named]
        return max(len(kinds), len(refused)) > _MOST_KINDS or not all(
            self.trial.ranking(self._kinds[key], key).independent(kinds) for key in refused
        )

    def _vain(self, members: Sequence[Pod], level: int) -> tuple[Collection[int], Collection[int]]:
        """Return the domains that cannot hold a slice, and those that could not before others came.

        Where no row is feasible for any of the members there is none for the first of them.
        """
        if self._alike:
            return (), ()
        classes = self._classes(members)
        refused = self._refused.get((level, classes), frozenset())
        late = self._doubtful.get((level, classes), frozenset())
        keys = list(dict.fromkeys(self.trial.keys(members)))
        if len(keys) <= _MOST_KINDS and all(key.holds is None and not key.host for key in keys):
            masks = [self.trial.ranking(self._kinds[key], key).mask for key in keys]
            able = self._candidates.domains.levels[level].sums(np.any(masks, axis=0))
            refused = refused.union(np.flatnonzero(able == 0).tolist())
        return refused, late

    def _classes(self, members: Sequence[Pod]) -> Classes:
        return frozenset(Counter(self.trial.keys(members)).items())

    def _rows_of(self, level: int, domain: int) -> Numbers:
        """Return the rows of a domain."""
        if level not in self._sorted:
            bins = self._candidates.domains.levels[level].bins
            order = np.argsort(bins, kind="stable")
            count = self._candidates.domains.levels[level].count
            self._sorted[level] = order, np.searchsorted(bins[order], np.arange(1, count + 2))
        order, starts = self._sorted[level]
        return order[starts[domain] : starts[domain + 1]]

    def _fill(self, members: Sequence[Pod], rows: Numbers) -> None:
        """Fill rows with identical members, those with most room first; there is enough room."""
        self._budget.take(len(rows))
        slots = np.minimum(self._slots[rows], len(members))
        in_turn = np.argsort(-slots, kind="stable")
        seats = np.repeat(rows[in_turn], slots[in_turn])[: len(members)]
        np.subtract.at(self._slots, seats, 1)
        self._lay(list(zip(members, np.sort(seats).tolist(), strict=True)), [0] * len(members))

    def _lay(self, placed: Sequence[tuple[Pod, int]], alike: Sequence[Hashable]) -> None:
        """Note members and their rows; of those that are alike, neighbours lie near each other."""
        self._rows += along_the_tree(placed, alike, self._candidates.domains)

    def _tried(self, members: Sequence[Pod], rows: Mask, outcome: Outcome) -> bool:
        """Place unlike members on the trial; return whether they fit."""
        count = len(members)
        part = replace(
            self._facts,
            pending=tuple(members),
            total=Floor("", count, count, 0, 0),
            roles=(),
            choice=None,
            coming=(),
        )
        region = rows & (self._slots > 0)
        within = inside(self.trial, region, OUTSIDE)
        floor = self._place(part, within, min(self._share, self._steps))
        self._steps -= floor.outcome.steps
        outcome.steps += floor.outcome.steps
        if floor.outcome.failed:
            for diagnosis, pod in floor.outcome.diagnoses.items():
                outcome.note(diagnosis, pod)
            return False
        keys = self.trial.keys([pod for pod, _ in floor.outcome.needed])
        alike = [None if key.holds is not None else key for key in keys]
        self._lay(floor.outcome.needed, alike)
        seats = np.array([row for _, row in floor.outcome.needed], np.int64)
        np.subtract.at(self._slots, seats, 1)  # a lower bound of what they take
        np.maximum(self._slots, 0, out=self._slots)
        self.trial = self._origin.fork()
        self.trial.add_all(self._rows)
        return True

    def _accepted(self, mask: Mask) -> bool:
        """Whether plugins accept all members where the sums have put them."""
        reason = "node(s) were outside of the domain of their gang"
        tried = self.trial = inside(self._origin, mask, reason).fork()
        ranking = tried.ranking(self._rows[0][0])
        if ranking.row_by_row() and tried.nodes.countable(self._rows[0][0].spec):
            rows, counts = np.unique([row for _, row in self._rows], return_counts=True)
            able = ranking.mask[rows]
            several = counts > 1  # the last of them must fit beside the others
            if several.any():
                more = ranking.with_more(tried.nodes, rows[several], counts[several] - 1)
                able[several] &= more >= 0
            tried.add_all(self._rows)
            return bool(able.all())
        for pod, row in self._rows:
            if not tried.ranking(pod).feasible(row):
                return False
            tried.add(pod, row)
        return True

    # ── which domain ─────────────────────────────────────────────────────────────────────────

    def _in_turn(
        self,
        room: Numbers,
        members: int,
        left: int,
        last: int,
        held: Numbers,
        skipped: Collection[int],
        late: Collection[int],
    ) -> Iterator[int]:
        """Yield the domains that may hold a slice, best first.

        Order: the domain that holds some of it; the last one; the smallest that holds all that is
        left; else the largest.

        Args:
            room: int64[D], the number of members for which each has room.
            members: of the slice.
            left: members of this slice and of those that follow.
            last: the domain of the slice before; -1 = there is none.
            held: int64[H], the domains that hold some of the slice.
            skipped: domains that cannot hold it.
            late: domains to try after all others.
        """
        tried = set(skipped)
        joins = not len(held) or last in held
        vain = last in tried or last in late
        if last >= 0 and room[last] >= members and joins and not vain:
            tried.add(last)
            yield last
        if self._alike and not len(held) and (room >= members).any():
            enough = room >= left  # finds the first of those that are sorted below
            least = np.where(enough, room, room.max() + 1).argmin()
            best = int(least if enough.any() else room.argmax())
            if best not in tried:
                tried.add(best)
                yield best
        able = np.flatnonzero(room >= members)
        if len(held):
            able = able[np.isin(able, held)]
        if tried:
            able = able[~np.isin(able, list(tried))]
        enough = room[able] >= left
        size = np.where(enough, room[able], -room[able])
        order = np.lexsort((able, size, ~enough, np.isin(able, list(late))))
        most = len(order) if self._alike else _MOST_DOMAINS
        yield from able[order][:most].tolist()

    def _room(self, level: int, inner: Sequence[Spec], members: int) -> Numbers:
        """Return int64[D]: how many members each domain of a level can take, in inner slices."""
        own = self._candidates.domains.levels[level]
        if not inner:
            return own.sums(self._slots)
        (size, further), *rest = inner
        within = self._room(further, rest, size)
        part = self._candidates.domains.levels[further]
        parents = own.codes[part.first]  # there may be levels in between
        whole = np.bincount(parents, within // size * size, own.count).astype(np.int64)
        short = members % size
        if short:  # one of the inner domains may hold the short slice beside whole ones
            spare = np.zeros(own.count, np.int64)
            np.maximum.at(spare, parents, within % size)
            whole += np.where(spare >= short, short, 0)
        return whole

    def _held(self, number: int, size: int, codes: Numbers) -> Numbers:
        """Return int64[H]: the domains that hold members of a slice."""
        if size not in self._held_rows:
            by_slice = self._held_rows[size] = {}
            for rank, row in held_ranks(self._locality, self._origin.snapshot.nodes):
                by_slice.setdefault(rank // size, []).append(row)
        found = np.unique(codes[np.array(self._held_rows[size].get(number, ()), np.int64)])
        return found[found >= 0]

    def _lacks(
        self, outcome: Outcome, members: Sequence[Pod], level: int, room: Numbers, held: Numbers
    ) -> None:
        """Note which slice finds no domain; an inner slice is noted first.

        Args:
            outcome: receives it.
            members: of the slice.
            level: of the domains.
            room: int64[D], the number of members for which each has room.
            held: int64[H], the domains that hold some of the slice.
        """
        name = self._locality.levels.levels[level].name
        first, last = self._ranks[members[0].uid], self._ranks[members[-1].uid]
        whom = f"ranks {first} to {last}" if first < last else f"rank {first}"
        text, where = f"no domain of {name} has room for {whom}", f"in no {name}"
        if len(held):
            domain = int(held[room[held].argmax()])
            nodes = self._origin.snapshot.nodes
            path = self._candidates.domains.path(nodes, level, domain)
            where = f"not in {name} {path}"
            enough = room[domain] >= len(members)
            text = f"{name} {path}, which holds others of the slice, "
            text += f"does not take {whom}" if enough else f"has no room for {whom}"
            own = self._candidates.domains.levels[level]
            full = own.sums(self._candidates.room.slots)[domain] < len(members)
            outcome.domain_full |= bool(full) and not outcome.lacks
        outcome.lacks = outcome.lacks or text
        reason = f"node(s) were {where} with room for the slice"
        self._note(outcome, members[0], self.trial, reason)

    def _note(self, outcome: Outcome, pod: Pod, trial: Trial, reason: str) -> None:
        """Note why no node of a trial suits a member, unless another one's reason was noted."""
        if not outcome.diagnoses:
            nowhere = inside(trial, np.zeros(len(self._slots), np.bool_), reason)
            outcome.note(nowhere.diagnosis(pod), pod)


def slice_region(
    rank: int,
    ranks: Mapping[PodUID, int],
    placed: Sequence[tuple[Pod, int]],
    locality: Locality,
    nodes: Nodes,
) -> tuple[Mask, bool]:
    """Return where a member of a rank may be (bool[N]), and whether its slice pins it there.

    Args:
        rank: of the member.
        ranks: of members that a plan has placed.
        placed: these members, with their rows.
        locality: tells how the slices are cut.
        nodes: the node table.
    """
    levels = domains_of(nodes, locality.levels.labels).levels
    known = [(ranks[pod.uid], row) for pod, row in placed if pod.uid in ranks]
    known += held_ranks(locality, nodes)
    mask, pinned = np.ones(len(nodes), np.bool_), False
    for size, place in locality.levels.slices:
        codes = levels[place].codes
        rows = [row for other, row in known if other // size == rank // size]
        own = rows_around(codes, np.array(rows, np.int64))
        mask &= codes >= 0 if own is None else own
        pinned = own is not None
    return mask, pinned
