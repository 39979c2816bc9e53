# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Domain: a group whose members must be in one domain of a topology, or in few.

::

    group   ──► its domains, best first ──► the first that takes the deficit
    parts         each part: the same, within that domain, after the parts before it
    others          remaining members, anywhere in it; then surplus, close to its own part
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from enbloc.engine.choices import held_roles, of_choice, of_part, spare
from enbloc.engine.decide.around import around_devices, divided, shares_devices
from enbloc.engine.decide.floor import PlacedFloor
from enbloc.engine.decide.near import place_near
from enbloc.engine.decide.shares import Shares, of_no_part, shares_of, without
from enbloc.engine.decide.slices import (
    MOST_ROWS,
    OF_A_MEMBER,
    PlaceFloor,
    ReadBudget,
    place_slices,
)
from enbloc.engine.decide.tries import MOST_WIDER, OF_A_PART, Tries, at_a_level, at_wider_levels
from enbloc.engine.packing import PLACING_STEPS
from enbloc.engine.plan import GANG_PLUGIN
from enbloc.engine.topology import (
    DomainCandidate,
    DomainCandidates,
    DueInDomain,
    along_the_tree,
    domains_of,
    held_rows,
    inside,
    most_tried,
    no_domain,
    region_of,
    room_now,
    worse_rows,
)
from enbloc.engine.trial import ClassKey, Outcome, Search, Trial
from enbloc.framework.facts import GroupFacts, Locality
from enbloc.framework.status import Diagnosis
from enbloc.model.nodes import Mask
from enbloc.model.pods import Pod

#: Steps that summing up the room of domains may cost, whether or not searches may.
_COUNTING: Final = 20_000
#: The rows that cost as much as one step of a search.
_ROWS_A_STEP: Final = 100
#: How many rows are filtered in one step for members that a claim brings together.
_ROWS_FILTERED: Final = 4


def place_in_domain(
    facts: GroupFacts,
    locality: Locality,
    trial: Trial,
    place: PlaceFloor,
    steps: int,
    due: DueInDomain | None = None,
) -> PlacedFloor:
    """Place the deficit in the best domain that holds it; whatever else fits goes near it.

    Args:
        facts: the group as it is.
        locality: where its members are to be.
        trial: the cluster as it is; unchanged.
        place: places a deficit.
        steps: how much searches may cost in all.
        due: what must be free in the domain besides room for members; None = nothing.
    """
    if locality.parts and facts.choice is not None and facts.deficit:
        # The parts are those of the children chosen first.
        facts = of_choice(facts, {floor.role for floor in facts.roles})
    if facts.coming and facts.deficit:  # roles that came since the start wait for the floor
        facts = facts.without_coming
    wider = min(at_wider_levels((locality,)), MOST_WIDER)
    sure = at_a_level((locality,)) + wider
    tries = max(most_tried(len(trial.snapshot.nodes)) + wider, sure)
    apart = facts.deficit and divided(locality) and shares_devices(facts, trial)
    later = steps // 2 if apart else 0
    search = _Search(place, steps - later, tries, sure)
    floor = search.floor(facts, locality, trial, due)
    search.steps += later
    if apart and floor.outcome.failed:
        floor = search.around(facts, locality, trial, due, floor, tries)
    floor.outcome.steps = steps - search.steps + search.budget.taken // _ROWS_A_STEP
    return floor._replace(beside=partial(place_near, locality, search.budget, trial))


class _Deficit(NamedTuple):
    """What to place in a domain.

    Attributes:
        facts: the group, or one part of it.
        locality: where its members are to be.
        candidates: the domains where they may be.
        trial: without the deficit.
        alike: the class of all members if only their number counts; None = not so.
    """

    facts: GroupFacts
    locality: Locality
    candidates: DomainCandidates
    trial: Trial
    alike: ClassKey | None


class _Search:
    """Places deficits in domains, of whole groups and of parts of them.

    Args:
        place: places a deficit wherever a trial allows it.
        steps: how much searches may cost.
        tries: the number of domains to try in all.
        sure: the number of them to try however many rows that costs.

    Attributes:
        steps: what is left of the steps.
        budget: how many rows may still be considered.
        closer: the part of it for slices of alike members, one after the other.
    """

    def __init__(self, place: PlaceFloor, steps: int, tries: int, sure: int) -> None:
        self._place, self.steps = place, steps
        self._tries, self._sure = Tries(tries), Tries(sure)
        self._sure_of_each = sure
        #: Nobody is told why there is no domain.
        self._untold = False
        self.closer = ReadBudget(MOST_ROWS)
        self.budget = ReadBudget(MOST_ROWS, self.closer)

    def floor(
        self,
        facts: GroupFacts,
        locality: Locality,
        trial: Trial,
        due: DueInDomain | None = None,
    ) -> PlacedFloor:
        """Place the deficit in the best domain that holds it, and each part in one of its own."""
        return next(self._floors(facts, locality, trial, due))

    def around(
        self,
        facts: GroupFacts,
        locality: Locality,
        trial: Trial,
        due: DueInDomain | None,
        failed: PlacedFloor,
        tries: int,
    ) -> PlacedFloor:
        """Place the deficit around one device of a claim that members share, after all else.

        Args:
            facts: the group.
            locality: where its members are to be.
            trial: the cluster as it is.
            due: what must be free in the domain.
            failed: the placement without regard to devices, which failed.
            tries: the number of domains to try in all, each device with a quarter of what is left.
        """
        cost = PLACING_STEPS * facts.lacking + len(trial.snapshot.nodes) // _ROWS_FILTERED
        sure, self._untold = self._sure_of_each, True
        for around in around_devices(facts, trial, _COUNTING):
            failed.outcome.search = failed.outcome.search or Search.SPENT
            if tries <= 0 or self.steps < cost or self.budget.left < 0:
                break
            self.steps -= cost
            self._tries, self._sure = Tries(max(sure, tries // 4)), Tries(sure)
            tries -= self._tries.left
            floor = self.floor(facts, locality, around, due)
            tries += self._tries.left
            if not floor.outcome.failed:
                floor.outcome.search = Search.DOMAIN
                return floor
            tries -= 1
        return failed

    def _floors(
        self,
        facts: GroupFacts,
        locality: Locality,
        trial: Trial,
        due: DueInDomain | None = None,
        later: int = 0,
    ) -> Iterator[PlacedFloor]:
        """Yield placements in one domain after the other; only the failure if there is none.

        Args:
            facts: the group, or one part of it.
            locality: where its members are to be.
            trial: without them.
            due: what must be free in the domain.
            later: the tries to leave to the parts after this one.
        """
        nodes, levels = trial.snapshot.nodes, locality.levels
        if not facts.deficit:
            yield self._beside(facts, locality, trial)
            return
        kinds = frozenset(trial.keys(facts.pending))
        candidates = DomainCandidates(
            domains_of(nodes, levels.labels),
            levels,
            room_now(_counted(facts), kinds, trial, _COUNTING),
            held_rows(locality, nodes),
            worse_rows(trial),
            due,
        )
        deficit = _Deficit(facts, locality, candidates, trial, _alike(facts, locality, kinds))
        first: PlacedFloor | None = None
        tried = found = 0
        for candidate in self._to_try(deficit, later):
            self.budget.take(len(kinds) * len(nodes))
            tried += candidate.level == levels.required
            floor = self._in_candidate(deficit, candidate)
            if not floor.outcome.failed:
                found += 1
                yield floor
            # A placement is expensive if it was searched for anew or if plugins check all rows.
            if not trial.ranking(facts.pending[0]).row_by_row():
                self.budget.take(len(floor.outcome.needed) * max(OF_A_MEMBER, len(nodes)))
            elif len(kinds) > 1 and not levels.slices:
                self.budget.take(len(floor.outcome.needed) * OF_A_MEMBER)
            first = first or floor
            first.outcome.search_too(floor.outcome)
        if found:
            return
        outcome = (first or self._in_vain(deficit)).outcome
        outcome.failed = True
        outcome.domain_full |= bool(candidates.pinned)  # also where that is true of a part
        everywhere = self._tries.free > 0 and min(self.budget.left, self.closer.left) >= 0
        why = no_domain(candidates, tried, nodes, everywhere=everywhere)
        outcome.lacks = "; ".join(filter(None, (why, outcome.lacks)))
        if any(pod.spec.holds for pod in facts.pending):
            outcome.also_rejected_by |= trial.profile.reads_claims
        yield PlacedFloor(facts, outcome, trial)

    def _to_try(self, deficit: _Deficit, later: int) -> Iterator[DomainCandidate]:
        """Yield the domains to try, level by level; each leaves some tries to those around it.

        They have equal shares, but only a few where parts need tries of their own.

        Args:
            deficit: what to place, and where.
            later: the tries to leave to the parts after this one.
        """
        locality, candidates = deficit.locality, deficit.candidates
        least = OF_A_PART + at_a_level(locality.parts, {each.role for each in deficit.facts.roles})
        outer = [*locality.levels.outwards]
        while outer:
            level = outer.pop(0)
            kept = least * len(outer) + (later if outer else 0)
            if not locality.parts and not later:  # one for each, and one to see that these are all
                share = max(least, self._tries.free // (len(outer) + 1))
                kept = sum(min(share, candidates.count(each) + 1) for each in outer)
            own = max(self._tries.free - kept, least + later)
            sure = max(self._sure.free - least * len(outer), least)
            with self._tries.at_most(own), self._sure.at_most(sure):
                for candidate in candidates.of_level(level):
                    spent = self.budget.left < 0 and not self._sure.free
                    if spent or not self._tries.free:
                        break
                    self._tries.take()
                    self._sure.take()
                    yield candidate

    def _beside(self, facts: GroupFacts, locality: Locality, trial: Trial) -> PlacedFloor:
        """Place additions to a held floor, where its members allow them to be."""
        region = region_of((locality,), (), trial.snapshot.nodes)
        within = inside(trial, region.mask, region.outside, region.near)
        if facts.choice is not None and not region.pinned:  # nobody holds a domain
            anew = partial(self.floor, locality=locality, trial=trial)
            return self._addition(facts, locality, within, anew)
        if facts.choice is not None and locality.parts:
            beside = partial(self._parts_first, parts=locality.parts, trial=within)
            return self._addition(facts, locality, within, beside)
        said = Outcome()
        if facts.coming and (locality.levels.slices or not region.pinned):
            coming = self._coming(facts, (locality,), trial, said)
            if coming is not None:
                return coming
            facts = facts.without_coming
        floor = self._within(facts, locality, within, self.steps)
        floor.outcome.learn(said)
        return floor

    def _within(
        self, facts: GroupFacts, locality: Locality, trial: Trial, steps: int
    ) -> PlacedFloor:
        """Place the deficit where a trial allows it, and each part in a domain there."""
        if locality.parts:
            return self._parts_first(facts, locality.parts, trial)
        floor = self._place(facts, trial, steps)
        self.steps -= floor.outcome.steps
        return floor

    def _in_candidate(self, deficit: _Deficit, candidate: DomainCandidate) -> PlacedFloor:
        """Place the deficit in a domain: on as few of its parts as suffice, else anywhere in it."""
        *parts, whole = candidate.masks
        for mask in candidate.masks:
            at_once = _at_once(deficit, mask)
            if at_once is not None:
                return at_once
        for mask in parts:
            floor = self._on_rows(deficit, candidate, mask, 0)
            if not floor.outcome.failed:
                return floor
        return self._on_rows(deficit, candidate, whole, self.steps // 2)

    def _on_rows(
        self, deficit: _Deficit, candidate: DomainCandidate, mask: Mask, steps: int
    ) -> PlacedFloor:
        """Place the deficit on some rows of a domain (bool[N])."""
        facts, locality, candidates, trial, _ = deficit
        if locality.levels.slices:
            place, budget = self._place, self.budget
            floor = place_slices(facts, locality, candidates, trial, mask, place, budget, steps)
            self.steps -= floor.outcome.steps
            return floor
        within = trial
        if not mask.all():
            reason = _outside(candidates, candidate.level, candidate.domain, trial)
            within = inside(trial, mask, reason)
        share = self._tries.free
        if candidate.level >= 0 or mask is not candidate.masks[-1]:  # there may be other rows
            least = at_a_level(locality.parts)
            share = max(OF_A_PART + least, share // 4)
            if mask is not candidate.masks[-1]:  # all rows are tried after these
                share = min(share, self._tries.free - least)
        with self._tries.at_most(share), self._sure.at_most(self._sure.free):
            floor = self._within(facts, locality, within, steps)
        if floor.outcome.failed or locality.parts:
            return floor
        return _in_rank_order(floor, candidates, trial)

    def _in_vain(self, deficit: _Deficit) -> PlacedFloor:
        """Return what the best domain lacks, if none is large enough."""
        facts, locality, candidates, trial, _ = deficit
        if self._untold:
            return PlacedFloor(facts, Outcome(failed=True), trial)
        required, levels = candidates.levels.required, candidates.levels.levels
        if required is None and candidates.levels.slices:
            everywhere = np.ones(len(trial.snapshot.nodes), np.bool_)
            place, budget = self._place, self.budget
            return place_slices(facts, locality, candidates, trial, everywhere, place, budget)
        if required is None:
            return self._within(facts, locality, trial, 0)
        best = candidates.best()
        where = f"no domain of {levels[required].name}"
        if best is not None:
            where = f"{where} with room for all that is lacking"
            mask = candidates.domains.levels[required].mask(best[0])
            reason = _outside(candidates, required, best[0], trial)
            floor = self._within(facts, locality, inside(trial, mask, reason), 0)
            if floor.outcome.failed:
                return floor
        outcome = Outcome(failed=True)
        nodes = len(trial.snapshot.nodes)
        why = ((f"node(s) were in {where}", nodes),)
        outcome.note(Diagnosis(nodes, why, frozenset({GANG_PLUGIN})), facts.pending[0])
        return PlacedFloor(facts, outcome, trial)

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _next_of(
        self, left: int, parts: Sequence[Locality], roles: Collection[str]
    ) -> Generator[None]:
        """Try the next of several, each for an equal share, so that none uses up what others need.

        Args:
            left: how many are still to be tried.
            parts: where they are to be; a few domains of each are tried whatever that costs.
            roles: of the next.
        """
        sure = at_a_level(parts, roles)
        later = self.steps - self.steps // left
        self.steps -= later
        self._tries.left += max(0, sure - self._tries.free)
        self._sure = Tries(sure)
        with self._tries.at_most(max(self._tries.free // left, sure)):
            yield
        self.steps += later

    def _parts_first(
        self, facts: GroupFacts, parts: Sequence[Locality], trial: Trial
    ) -> PlacedFloor:
        """Place the deficit of each part in a domain of its own, then what else is lacking.

        Args:
            facts: the group, or one part of it.
            parts: the parts of that.
            trial: the rows where it may be.
        """
        said = Outcome()
        if facts.coming:
            coming = self._coming(facts, parts, trial, said)
            if coming is not None:
                return coming
            facts = facts.without_coming
        ways = [*shares_of(facts, parts)]

        def with_share(at: int) -> PlacedFloor:
            left, least = len(ways) - at, at_a_level([each for each, _ in ways[at]])
            with self._tries.share(left, least), self._sure.share(left, least):
                return self._each_part(facts, parts, ways[at], (), trial)

        floor = _first(map(with_share, range(len(ways))))
        floor.outcome.learn(said)
        return floor if floor.outcome.failed or facts.held_in_part else floor.with_rest()

    def _each_part(
        self,
        facts: GroupFacts,
        parts: Sequence[Locality],
        shares: Shares,
        placed: Sequence[tuple[Pod, int]],
        trial: Trial,
    ) -> PlacedFloor:
        """Place what parts lack, then members that belong to no part.

        If a part finds no place, the parts before it take other domains.

        Args:
            facts: the group, or the part that `parts` divide.
            parts: all of them.
            shares: the parts that are still to be placed.
            placed: members of the parts before them.
            trial: without these members.
        """
        tried = trial
        if placed:
            tried = trial.fork()
            tried.add_all(placed)
        if not shares:
            return self._rest(facts, parts, placed, tried)
        (part, own), *others = shares

        def with_next(floor: PlacedFloor) -> PlacedFloor:
            if floor.outcome.failed:
                floor.outcome.lacks = f"{part.field}: {floor.outcome.lacks}"
                return PlacedFloor(facts, floor.outcome, trial)
            needed = [*placed, *floor.outcome.needed]
            return self._each_part(facts, parts, others, needed, trial)

        later = at_a_level([each for each, _ in others])
        return _first(map(with_next, self._floors(own, part, tried, later=later)))

    def _rest(
        self,
        facts: GroupFacts,
        parts: Sequence[Locality],
        placed: Sequence[tuple[Pod, int]],
        trial: Trial,
    ) -> PlacedFloor:
        """Place what is lacking besides the parts, anywhere; `placed` are members of the parts."""
        rest = of_no_part(without(facts, placed), parts)
        outcome, tried = Outcome(), trial
        outcome.needed = [*placed]
        if rest.lacking:
            floor = self._place(rest, trial, self.steps // 2)
            self.steps -= floor.outcome.steps
            if floor.outcome.failed:
                return PlacedFloor(facts, floor.outcome, trial)
            outcome.needed += floor.outcome.needed
            tried = floor.trial
        return PlacedFloor(facts, outcome, tried)

    def _addition(
        self,
        facts: GroupFacts,
        locality: Locality,
        trial: Trial,
        place: Callable[[GroupFacts], PlacedFloor],
    ) -> PlacedFloor:
        """Place one more child of a tree whole, the first that fits, where the floor is held.

        Args:
            facts: the group.
            locality: where its members are to be.
            trial: the rows where they may be.
            place: places a child.
        """
        outcome, held = Outcome(), held_roles(facts)
        left = [*spare(facts, held)]
        for at, (_, roles) in enumerate(left):
            with self._next_of(len(left) - at, (locality,), roles):
                floor = place(of_part(facts, roles))
            if not floor.outcome.failed:
                outcome.needed = floor.outcome.needed
                chosen = of_choice(facts, held | roles)
                return PlacedFloor(chosen, outcome, floor.trial).with_rest()
            outcome.learn(floor.outcome)
        return PlacedFloor(of_choice(facts, held), outcome, trial).with_rest()

    def _coming(
        self, facts: GroupFacts, parts: Sequence[Locality], trial: Trial, said: Outcome
    ) -> PlacedFloor | None:
        """Place one role that came since the group started, whole: the first that fits.

        Args:
            facts: the group, whose floor is held.
            parts: where the roles are to be; a role of no part may be anywhere.
            trial: the rows where they may be.
            said: receives what each lacks that does not fit.

        Returns:
            If none fits, the failure; None = there is none, or other members wait too.
        """
        able = [each for each in facts.coming if each.quorum]
        for at, each in enumerate(able):
            own = facts.part({each.role}, (each,))
            part = next((part for part in parts if part.about(each.role)), None)
            with self._next_of(len(able) - at, parts, {each.role}):
                if part is not None:
                    floor = self.floor(own, part, trial)
                else:
                    floor = self._place(own, trial, self.steps)
                    self.steps -= floor.outcome.steps
            if not floor.outcome.failed:
                return floor
            said.failed = True
            said.learn(floor.outcome)
        if facts.without_coming.pending or not said.failed:
            return None
        return PlacedFloor(facts, said, trial)


def _first(floors: Iterable[PlacedFloor]) -> PlacedFloor:
    """Return the first that did not fail, else the first of all; later ones are not tried."""
    failed: PlacedFloor | None = None
    for floor in floors:
        if not floor.outcome.failed:
            return floor
        failed = failed or floor
    assert failed is not None, "there is one at least"
    return failed


def _alike(facts: GroupFacts, locality: Locality, kinds: Collection[ClassKey]) -> ClassKey | None:
    """Return the class of all pending members if only their number counts; None = not so."""
    if facts.roles or facts.choice is not None:
        return None
    if locality.parts or locality.levels.slices or len(kinds) != 1:
        return None
    return next(iter(kinds))


def _at_once(deficit: _Deficit, mask: Mask) -> PlacedFloor | None:
    """Place identical members on some rows (bool[N]) at once; None = each must be checked."""
    facts, _, candidates, trial, key = deficit
    if key is None:
        return None
    needed = facts.pending[: facts.lacking]
    rows = trial.rows_among(needed, key, np.flatnonzero(mask))
    if len(rows) < facts.lacking:
        return None
    outcome, tried = Outcome(), trial.fork()
    seats = list(zip(needed, rows, strict=True))
    outcome.needed = along_the_tree(seats, [key] * len(seats), candidates.domains)
    tried.add_all(outcome.needed)
    others = None if facts.held_in_part else facts.pending[facts.lacking :]
    return PlacedFloor(facts, outcome, tried, others)


def _counted(facts: GroupFacts) -> GroupFacts:
    """Return the group as its room is summed up: for a tree, whichever children it may have."""
    if facts.choice is None:
        return facts
    total = replace(facts.total, minimum=facts.choice.minimum)
    return replace(facts, roles=(), choice=None, total=total)


def _in_rank_order(floor: PlacedFloor, candidates: DomainCandidates, trial: Trial) -> PlacedFloor:
    """Put neighbouring ranks near each other; members with volumes or devices keep those."""
    needed = floor.outcome.needed
    keys = trial.keys([pod for pod, _ in needed])
    alike = [None if key.holds is not None else key for key in keys]
    floor.outcome.needed = along_the_tree(needed, alike, candidates.domains)
    tried = trial.fork()
    tried.add_all(floor.outcome.needed)
    return floor._replace(trial=tried)


def _outside(candidates: DomainCandidates, level: int, domain: int, trial: Trial) -> str:
    """Return why members may not be on a node."""
    if level < 0:
        return "node(s) were not chosen"
    name = candidates.levels.levels[level].name
    path = candidates.domains.path(trial.snapshot.nodes, level, domain)
    return f"node(s) were outside of {name} {path}"
