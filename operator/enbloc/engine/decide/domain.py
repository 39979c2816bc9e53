# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Domain: a group whose members lie in one domain of a topology, or in few.

::

    group   ──► its domains, the best first ──► the first that takes the deficit
    parts         each part: the same, within that domain, after those placed before it
    others          who is left, anywhere in it; then who else fits, near their own
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Final

from enbloc.engine.choices import of_choice
from enbloc.engine.decide.floor import PlacedFloor, note_unplaced, place_others
from enbloc.engine.decide.slices import MOST_ROWS, PlaceFloor, Rows, place_slices, slice_region
from enbloc.engine.packing import packing_now
from enbloc.engine.plan import GANG_PLUGIN
from enbloc.engine.ranks import ranks_of
from enbloc.engine.topology import (
    Candidate,
    Candidates,
    along_the_tree,
    chain_of,
    domains_of,
    find_candidates,
    held_rows,
    inside,
    most_tried,
    no_domain,
    region_of,
    too_near,
)
from enbloc.engine.trial import Outcome, Trial
from enbloc.framework.facts import Floor, GroupFacts, Locality
from enbloc.framework.status import Diagnosis
from enbloc.model.nodes import Mask
from enbloc.model.pods import Pod

#: Steps that adding up the room of domains may cost, whether or not searches may.
_COUNTING: Final = 20_000


#: So many tries each part of a group is sure to have, however large the cluster is.
_OF_A_PART: Final = 2


def place_in_domain(
    facts: GroupFacts, locality: Locality, trial: Trial, place: PlaceFloor, steps: int
) -> PlacedFloor:
    """Place the deficit in the best domain that holds it; what else fits goes near it.

    Args:
        facts: the group as it is.
        locality: where its members are to lie.
        trial: the cluster as it is, and stays.
        place: places a deficit.
        steps: how much searches may cost in all.
    """
    if (locality.parts or locality.levels.slices) and facts.choice is not None:
        # Parts and slices are those of the children chosen first.
        facts = of_choice(facts, {floor.role for floor in facts.roles})
    sure = _OF_A_PART * _parts(locality)
    search = _Search(place, steps, max(most_tried(len(trial.snapshot.nodes)), sure), sure)
    floor = search.floor(facts, locality, trial)
    floor.outcome.steps = steps - search.steps
    return floor._replace(beside=partial(_near, locality, trial))


def _parts(locality: Locality) -> int:
    """How many parts there are, itself included."""
    return 1 + sum(map(_parts, locality.parts))


class _Search:
    """Places deficits in domains, whole groups and parts of them.

    Args:
        place: places a deficit wherever a trial lets it.
        steps: how much searches may cost.
        tries: in so many domains something is tried, in all.
        sure: in so many of them however many rows that looks at.

    Attributes:
        steps: so much of it is left.
    """

    def __init__(self, place: PlaceFloor, steps: int, tries: int, sure: int) -> None:
        self._place, self.steps, self._tries = place, steps, tries
        self._least = tries - sure
        self._rows = Rows(MOST_ROWS)

    def floor(self, facts: GroupFacts, locality: Locality, trial: Trial) -> PlacedFloor:
        """Place the deficit in the best domain that holds it, and each part in one of its own."""
        nodes, levels = trial.snapshot.nodes, locality.levels
        if not facts.deficit:
            region = region_of((locality,), (), nodes)
            within = inside(trial, region.mask, near=region.near)
            return self._within(facts, locality, within, self.steps)
        needed = _counted(facts)
        candidates = find_candidates(
            domains_of(nodes, levels.labels),
            levels,
            packing_now(needed, trial, _COUNTING),
            max(1, needed.lacking),
            len(nodes),
            held_rows(locality, nodes),
            too_near(trial),
        )
        kinds = len(set(trial.keys(facts.pending)))
        first: PlacedFloor | None = None
        tried = 0
        for candidate in candidates:
            dear = self._rows.left < 0 and self._tries <= self._least
            if self._tries <= 0 or dear:
                break
            self._tries -= 1
            self._rows.take(kinds * len(nodes))
            tried += 1
            floor = self._in_candidate(facts, locality, candidates, candidate, trial)
            if not floor.outcome.failed:
                if locality.parts or levels.slices:
                    return floor
                return _in_rank_order(floor, candidates, trial)
            first = first or floor
        floor = first or self._in_vain(facts, locality, candidates, trial)
        outcome = floor.outcome
        why = no_domain(
            candidates, tried, nodes, everywhere=self._tries > 0 and self._rows.left >= 0
        )
        outcome.lacks = "; ".join(filter(None, (why, outcome.lacks)))
        if any(pod.spec.holds for pod in facts.pending):
            outcome.also_rejected_by |= trial.profile.reads_claims
        return PlacedFloor(facts, outcome, trial)

    def _within(
        self, facts: GroupFacts, locality: Locality, trial: Trial, steps: int
    ) -> PlacedFloor:
        """Place the deficit where a trial lets it, and each part in a domain there."""
        if locality.parts:
            return self._parts_first(facts, locality.parts, trial)
        floor = self._place(facts, trial, steps)
        self.steps -= floor.outcome.steps
        return floor

    def _in_candidate(
        self,
        facts: GroupFacts,
        locality: Locality,
        candidates: Candidates,
        candidate: Candidate,
        trial: Trial,
    ) -> PlacedFloor:
        """Place the deficit in a domain: on as few of its parts as may do, else anywhere in it."""
        *parts, whole = candidate.masks
        if locality.levels.slices:
            for mask in parts:
                floor = self._sliced(facts, locality, candidates, trial, mask)
                if not floor.outcome.failed:
                    return floor
            return self._sliced(facts, locality, candidates, trial, whole)
        reason = _outside(candidates, candidate.level, candidate.domain, trial)
        for mask in parts:
            floor = self._within(facts, locality, inside(trial, mask, reason), 0)
            if not floor.outcome.failed:
                return floor
        within = trial if whole.all() else inside(trial, whole, reason)
        return self._within(facts, locality, within, self.steps // 2)

    def _sliced(
        self,
        facts: GroupFacts,
        locality: Locality,
        candidates: Candidates,
        trial: Trial,
        mask: Mask,
    ) -> PlacedFloor:
        """Place the deficit slice by slice on some rows (bool[N])."""
        place, rows = self._place, self._rows
        return place_slices(facts, locality, candidates, trial, mask, place, rows)

    def _in_vain(
        self, facts: GroupFacts, locality: Locality, candidates: Candidates, trial: Trial
    ) -> PlacedFloor:
        """What the domain that comes nearest lacks, where none is large enough."""
        required = candidates.levels.required
        if required is None:
            return self._within(facts, locality, trial, 0)
        best = candidates.best()
        if best is not None:
            mask = candidates.domains.levels[required].mask(best[0])
            reason = _outside(candidates, required, best[0], trial)
            floor = self._within(facts, locality, inside(trial, mask, reason), 0)
            if floor.outcome.failed:
                return floor
        outcome = Outcome()
        outcome.failed = True
        why = Diagnosis(nodes=len(trial.snapshot.nodes), plugins=frozenset({GANG_PLUGIN}))
        outcome.note(why, facts.pending[0])
        return PlacedFloor(facts, outcome, trial)

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _parts_first(
        self, facts: GroupFacts, parts: Sequence[Locality], trial: Trial
    ) -> PlacedFloor:
        """Place the deficit of each part in a domain of its own, then what else is lacking.

        Args:
            facts: the group, or one part of it.
            parts: of these.
            trial: on which it may lie.
        """
        if facts.coming:
            if not facts.without_coming.deficit:
                found = self._coming(facts, parts, trial)
                if found is not None:
                    return found
            facts = facts.without_coming
        placed: list[tuple[Pod, int]] = []
        tried = trial
        owned = [(part, own) for part in parts if (own := _own(facts, part)).lacking]
        for part, own in sorted(owned, key=lambda each: -each[1].lacking):
            floor = self.floor(own, part, tried)
            if floor.outcome.failed:
                floor.outcome.lacks = f"{part.field}: {floor.outcome.lacks}"
                return PlacedFloor(facts, floor.outcome, trial)
            placed += floor.outcome.needed
            tried = trial.fork()  # without what holds for that part alone
            tried.add_all(placed)
        rest = _less(facts, placed)
        if rest.lacking:
            floor = self._place(rest, tried, self.steps // 2)
            self.steps -= floor.outcome.steps
            if floor.outcome.failed:
                return PlacedFloor(facts, floor.outcome, trial)
            placed += floor.outcome.needed
            tried = floor.trial
        outcome = Outcome()
        outcome.needed = placed
        if facts.held_in_part:
            return PlacedFloor(facts, outcome, tried)
        there = {pod.uid for pod, _ in placed}
        others = [pod for pod in facts.pending if pod.uid not in there]
        return PlacedFloor(facts, outcome, tried, others)

    def _coming(
        self, facts: GroupFacts, parts: Sequence[Locality], trial: Trial
    ) -> PlacedFloor | None:
        """Place one role that came since the group started, whole; None = none fits."""
        for each in facts.coming:
            if not each.quorum:
                continue
            own = facts.part({each.role}, (each,))
            part = next((part for part in parts if part.about(each.role)), None)
            if part is not None:
                floor = self.floor(own, part, trial)
            else:
                floor = self._place(own, trial, self.steps // 2)
                self.steps -= floor.outcome.steps
            if not floor.outcome.failed:
                return floor
        return None


def _counted(facts: GroupFacts) -> GroupFacts:
    """The group as its room is added up: of a tree, whichever children it may have."""
    if facts.choice is None:
        return facts
    total = replace(facts.total, minimum=facts.choice.minimum)
    return replace(facts, roles=(), choice=None, total=total)


def _in_rank_order(floor: PlacedFloor, candidates: Candidates, trial: Trial) -> PlacedFloor:
    """Neighbours in rank lie near each other; who has volumes or devices stays with them."""
    needed = floor.outcome.needed
    keys = trial.keys([pod for pod, _ in needed])
    alike = [None if key.holds is not None else key for key in keys]
    floor.outcome.needed = along_the_tree(needed, alike, candidates.domains)
    tried = trial.fork()
    tried.add_all(floor.outcome.needed)
    return floor._replace(trial=tried)


def _outside(candidates: Candidates, level: int, domain: int, trial: Trial) -> str:
    """Why members may not lie on a node."""
    if level < 0:
        return "node(s) were not chosen"
    name = candidates.levels.levels[level].name
    path = candidates.domains.path(trial.snapshot.nodes, level, domain)
    return f"node(s) were outside of {name} {path}"


def _own(facts: GroupFacts, part: Locality) -> GroupFacts:
    """What the roles of a part lack."""
    roles = part.roles or frozenset()
    return facts.part(roles, (floor for floor in facts.roles if floor.role in roles))


def _less(facts: GroupFacts, placed: Sequence[tuple[Pod, int]]) -> GroupFacts:
    """The group as if these members were held."""
    count = Counter(pod.role for pod, _ in placed)
    there = {pod.uid for pod, _ in placed}

    def held(floor: Floor, more: int) -> Floor:
        return replace(floor, bound=floor.bound + more, pending=floor.pending - more)

    return replace(
        facts,
        pending=tuple(pod for pod in facts.pending if pod.uid not in there),
        total=held(facts.total, len(placed)),
        roles=tuple(held(floor, count[floor.role]) for floor in facts.roles),
    )


# ── who is not needed ────────────────────────────────────────────────────────────────────────────


def _near(locality: Locality, trial: Trial, floor: PlacedFloor, others: Sequence[Pod]) -> Trial:
    """Place what else fits, each where the others of its part are, and near them first."""
    outcome, tried = floor.outcome, floor.trial
    if locality.levels.slices and locality.levels.slices[-1][0] > 1:
        return _in_slices(locality, trial, floor, others)
    by_chain: dict[tuple[str, ...], list[Pod]] = {}
    for pod in others:
        fields = tuple(each.field for each in chain_of(locality, pod.role))
        by_chain.setdefault(fields, []).append(pod)
    for pods in by_chain.values():
        tried, pinned = _near_its_own(pods[0], outcome, locality, trial)
        before = len(outcome.surplus)
        place_others(pods if pinned else pods[:1], tried, outcome)
        if not pinned and len(outcome.surplus) > before:  # where the first goes, others follow
            tried, _ = _near_its_own(pods[0], outcome, locality, trial)
            place_others(pods[1:], tried, outcome)
        note_unplaced(pods, tried, outcome)
    return tried


def _in_slices(
    locality: Locality, trial: Trial, floor: PlacedFloor, others: Sequence[Pod]
) -> Trial:
    """Place what else fits, each with the others of its slice."""
    outcome, tried, nodes = floor.outcome, floor.trial, trial.snapshot.nodes
    needed = {pod.uid for pod, _ in outcome.needed}
    ranks = ranks_of(floor.facts, floor.facts.pending, needed)
    size = locality.levels.slices[-1][0]
    in_turn = sorted(others, key=lambda pod: ranks[pod.uid])
    for _, each in groupby(in_turn, lambda pod: ranks[pod.uid] // size):
        left = list(each)
        while left:
            placed = [*outcome.needed, *outcome.surplus]
            mask, pinned = slice_region(ranks[left[0].uid], ranks, placed, locality, nodes)
            region = region_of(chain_of(locality, left[0].role), placed, nodes)
            tried = inside(trial, mask & region.mask, near=region.near).fork()
            tried.add_all(placed)
            these, left = (left, []) if pinned else (left[:1], left[1:])
            place_others(these, tried, outcome)
            note_unplaced(these, tried, outcome)
    return tried


def _near_its_own(
    pod: Pod, outcome: Outcome, locality: Locality, trial: Trial
) -> tuple[Trial, bool]:
    """The trial with all that are placed, on which a member may lie; and whether others pin it."""
    placed = [*outcome.needed, *outcome.surplus]
    region = region_of(chain_of(locality, pod.role), placed, trial.snapshot.nodes)
    tried = inside(trial, region.mask, near=region.near).fork()
    tried.add_all(placed)
    return tried, region.pinned
