# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Slices: members with neighbouring ranks, so many of them in one domain.

::

    ranks      0 1 2 3 │ 4 5 6 7 │ 8 9            size 4, in one rack: two slices and a short one
    racks      r1: 9 slots        │ r2: 3          r1 holds two of them, r2 the short one

Slices within slices are cut from each of these anew. A slice of which members are held stays where
they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from enbloc.engine.decide.floor import PlacedFloor
from enbloc.engine.ranks import ranks_of
from enbloc.engine.topology import Candidates, domains_of, inside
from enbloc.engine.trial import Outcome, Trial
from enbloc.framework.facts import Floor, GroupFacts, Lacking, Locality
from enbloc.model.member_index import member_index
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod, PodUID

#: A slice of members that differ is tried in so many domains.
_MOST_DOMAINS: Final = 8
#: So often is a slice of members that differ tried in a domain, in one decision.
_MOST_TRIES: Final = 96

Numbers = npt.NDArray[np.int64]
#: A size, and the place of a level.
Spec = tuple[int, int]


class PlaceFloor(Protocol):
    """Places the deficit of a group, whole, wherever a trial lets it."""

    def __call__(self, facts: GroupFacts, trial: Trial, steps: int) -> PlacedFloor:
        """What came of it."""
        ...


def ranks_by_need(facts: GroupFacts) -> Mapping[PodUID, int]:
    """The ranks of pending members, of those first that meet the deficit."""
    lacking = Lacking(facts.floors)
    in_turn = sorted(facts.pending, key=lambda pod: (member_index(pod), pod.seniority))
    needed = {pod.uid for pod in in_turn if lacking.take(pod.role)}
    return ranks_of(facts, facts.pending, needed)


def place_slices(
    facts: GroupFacts,
    locality: Locality,
    candidates: Candidates,
    trial: Trial,
    mask: Mask,
    place: PlaceFloor,
) -> PlacedFloor:
    """Place the deficit slice by slice, in rank order.

    Args:
        facts: the group as it is.
        locality: says how the slices are cut.
        candidates: with the room of each row.
        trial: the cluster as it is, and stays.
        mask: bool[N]: where members may lie.
        place: places the members of one slice.
    """
    ranks = ranks_by_need(facts)
    pods = sorted(facts.pending, key=lambda pod: ranks[pod.uid])[: facts.lacking]
    placing = _Placing(facts, locality, candidates, trial, place, ranks)
    outcome = placing.placed(pods, mask)
    if outcome.failed:
        return PlacedFloor(facts, outcome, trial)
    there = {pod.uid for pod, _ in outcome.needed}
    others = [pod for pod in facts.pending if pod.uid not in there]
    return PlacedFloor(facts, outcome, placing.trial, None if facts.held_in_part else others)


class _Placing:
    """The members that were placed so far.

    Attributes:
        trial: with these members on it.
    """

    def __init__(
        self,
        facts: GroupFacts,
        locality: Locality,
        candidates: Candidates,
        trial: Trial,
        place: PlaceFloor,
        ranks: Mapping[PodUID, int],
    ) -> None:
        self._facts, self._locality, self._candidates = facts, locality, candidates
        self._origin = self.trial = trial
        self._place, self._ranks = place, ranks
        self._slots: Numbers = candidates.room.slots
        self._rows: list[tuple[Pod, int]] = []
        self._alike = True
        #: How often members that differ were placed on a trial.
        self._tries = 0

    def placed(self, pods: Sequence[Pod], mask: Mask) -> Outcome:
        """Place these members, in rank order, on some rows (bool[N])."""
        self._slots = np.where(mask, self._slots, 0)
        keys = set(self.trial.keys(pods))
        self._alike = len(keys) == 1 and next(iter(keys)).holds is None
        outcome = Outcome()
        if not self._cut(pods, self._locality.levels.slices, outcome):
            outcome.failed = True
            if self._tries > _MOST_TRIES:
                outcome.lacks = f"members differ, and {_MOST_TRIES} domains were tried for slices"
        elif self._alike and not self._accepted(mask):
            outcome.failed = True
            outcome.note(self.trial.diagnosis(pods[0]), pods[0])
        outcome.needed = self._rows
        return outcome

    def _cut(self, pods: Sequence[Pod], specs: Sequence[Spec], outcome: Outcome) -> bool:
        """Place members whose ranks follow each other, slice by slice; whether all fit."""
        (size, level), *inner = specs
        codes = self._candidates.domains.levels[level].codes
        slices = [list(each) for _, each in groupby(pods, lambda pod: self._ranks[pod.uid] // size)]
        left, last = len(pods), -1
        for members in slices:
            held = self._held(self._ranks[members[0].uid] // size, size, codes)
            for domain in self._in_turn(len(members), left, last, held, level, inner):
                if self._in_domain(members, codes == domain, inner, outcome):
                    last = domain
                    break
            else:
                self._lacks(outcome, members, level)
                return False
            left -= len(members)
        return True

    def _in_domain(
        self, members: Sequence[Pod], rows: Mask, inner: Sequence[Spec], outcome: Outcome
    ) -> bool:
        """Place one slice in a domain; whether it fits there."""
        before, placed = self._slots, len(self._rows)
        if inner:
            self._slots = np.where(rows, before, 0)
            fits = self._cut(members, inner, outcome)
            self._slots = np.where(rows, self._slots, before) if fits else before
        elif self._alike:
            fits = self._fill(members, rows)
        else:
            fits = self._tried(members, rows, outcome)
        if not fits:
            del self._rows[placed:]
        return fits

    def _fill(self, members: Sequence[Pod], rows: Mask) -> bool:
        """Alike members fill the rows with most room first, by adding up."""
        where = np.flatnonzero(rows & (self._slots > 0))
        where = where[np.argsort(-self._slots[where], kind="stable")]
        seats = np.repeat(where, self._slots[where])[: len(members)]
        if len(seats) < len(members):
            return False
        self._slots = self._slots.copy()
        np.subtract.at(self._slots, seats, 1)
        self._rows += zip(members, np.sort(seats).tolist(), strict=True)
        return True

    def _tried(self, members: Sequence[Pod], rows: Mask, outcome: Outcome) -> bool:
        """Members that differ are placed on the trial."""
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
        self._tries += 1
        if self._tries > _MOST_TRIES:
            return False
        floor = self._place(part, inside(self.trial, region), 0)
        if floor.outcome.failed:
            for diagnosis, pod in floor.outcome.diagnoses.items():
                outcome.note(diagnosis, pod)
            return False
        self._rows += floor.outcome.needed
        self.trial = self._origin.fork()
        self.trial.add_all(self._rows)
        return True

    def _accepted(self, mask: Mask) -> bool:
        """Whether plugins let all members go where adding up has put them."""
        tried = inside(self._origin, mask).fork()
        for pod, row in self._rows:
            if not tried.ranking(pod).feasible(row):
                self.trial = tried
                return False
            tried.add(pod, row)
        self.trial = tried
        return True

    # ── which domain ─────────────────────────────────────────────────────────────────────────

    def _in_turn(
        self,
        members: int,
        left: int,
        last: int,
        held: npt.NDArray[np.int64],
        level: int,
        inner: Sequence[Spec],
    ) -> Iterator[int]:
        """The domains that may hold a slice, the best first.

        The one that holds some of it; the last one; the smallest that holds all that is left; else
        the largest.
        """
        room = self._room(level, inner, members)
        able = np.flatnonzero(room >= members)
        if len(held):
            able = able[np.isin(able, held)]
        enough = room[able] >= left
        size = np.where(enough, room[able], -room[able])
        order = np.lexsort((able, size, ~enough, able != last))
        most = len(order) if self._alike else _MOST_DOMAINS
        yield from able[order][:most].tolist()

    def _room(self, level: int, inner: Sequence[Spec], members: int) -> Numbers:
        """int64[D]: how many members the domains of a level can take, in slices within them."""
        own = self._candidates.domains.levels[level]
        if not inner:
            return own.sums(self._slots)
        (size, further), *rest = inner
        within = self._room(further, rest, size)
        part = self._candidates.domains.levels[further]
        parents = own.codes[part.first]
        whole = np.bincount(parents, within // size * size, own.count).astype(np.int64)
        short = members % size
        if short:  # one of the domains within may hold the short slice beside whole ones
            spare = np.zeros(own.count, np.int64)
            np.maximum.at(spare, parents, within % size)
            whole += np.where(spare >= short, short, 0)
        return whole

    def _held(self, number: int, size: int, codes: Numbers) -> Numbers:
        """int64[H]: the domains where members of a slice are held."""
        nodes = self._origin.snapshot.nodes
        rows = [
            row
            for node, rank in zip(self._locality.held, self._locality.ranks, strict=True)
            if rank is not None and rank // size == number and (row := nodes.row(node)) is not None
        ]
        found = np.unique(codes[np.array(rows, np.int64)])
        return found[found >= 0]

    def _lacks(self, outcome: Outcome, members: Sequence[Pod], level: int) -> None:
        """Say which slice finds no domain; what is further in says it before."""
        name = self._locality.levels.levels[level].name
        first, last = self._ranks[members[0].uid], self._ranks[members[-1].uid]
        text = f"no domain of {name} has room for ranks {first} to {last}"
        outcome.lacks = outcome.lacks or text
        if not outcome.diagnoses:
            reason = f"node(s) were in no {name} with room for the slice"
            trial = inside(self._origin, np.zeros(len(self._slots), np.bool_), reason)
            outcome.note(trial.diagnosis(members[0]), members[0])


def slice_region(
    rank: int,
    ranks: Mapping[PodUID, int],
    placed: Sequence[tuple[Pod, int]],
    locality: Locality,
    nodes: Nodes,
) -> tuple[Mask, bool]:
    """Where a member of a rank may lie: bool[N], and whether others of its slice say so.

    Args:
        rank: of the member.
        ranks: of members that a plan has placed.
        placed: these, with their rows.
        locality: says how the slices are cut.
        nodes: the node table.
    """
    levels = domains_of(nodes, locality.levels.labels).levels
    known = [(ranks[pod.uid], row) for pod, row in placed if pod.uid in ranks]
    known += [
        (held, row)
        for node, held in zip(locality.held, locality.ranks, strict=True)
        if held is not None and (row := nodes.row(node)) is not None
    ]
    mask, pinned = np.ones(len(nodes), np.bool_), False
    for size, place in locality.levels.slices:
        codes = levels[place].codes
        rows = [row for other, row in known if other // size == rank // size]
        mask &= np.isin(codes, codes[np.array(rows, np.int64)]) if rows else codes >= 0
        pinned = bool(rows)
    return mask, pinned
