# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Where a gang lies on random fabrics, beside the best that there is."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any, Final

import pytest

from enbloc.engine.decide.assign import place_group
from enbloc.engine.packing import highs
from enbloc.framework.facts import GroupFacts, Locality
from enbloc.model.node import Node
from enbloc.model.topology import Level, TopologyLevels
from tests.engine.searching import Kind, cluster, group, members, trying
from tests.world import builders

highspy: Any = import_module("highspy") if highs.available() else None

#: How many domains of each level, of the fewest preferred one inwards.
Span = tuple[int, ...]

STEPS: Final = 20_000


@dataclass(frozen=True)
class Fabric:
    """Hosts with so much room, each with its path of domains.

    Attributes:
        depth: how many levels there are.
        hosts: the path of each host and how many members it has room for.
    """

    depth: int
    hosts: tuple[tuple[tuple[str, ...], int], ...]

    def nodes(self) -> tuple[Node, ...]:
        found: list[Node] = []
        for index, (path, room) in enumerate(self.hosts):
            labels = tuple((f"l{level}", name) for level, name in enumerate(path))
            found.append(builders.node(f"n{index:03}", cpu=room, labels=labels))
        return tuple(found)

    def levels(self, required: int | None, preferred: int) -> TopologyLevels:
        named = tuple(Level(f"l{level}", f"l{level}") for level in range(self.depth))
        return TopologyLevels(named, required, preferred)


def fabrics(seed: int, most_hosts: int) -> Fabric:
    """A random one of two to four levels."""
    draw = random.Random(seed)
    depth = draw.randint(2, 4)
    hosts: list[tuple[tuple[str, ...], int]] = []

    def grow(path: tuple[str, ...]) -> None:
        for index in range(draw.randint(1, 4)):
            if len(hosts) >= most_hosts:
                return
            # The same names again at each level: what counts is the path.
            below = (*path, f"d{index}")
            if len(below) < depth:
                grow(below)
            else:
                hosts.extend((below, draw.randint(0, 4)) for _ in range(draw.randint(1, 4)))

    grow(())
    return Fabric(depth, tuple(hosts[:most_hosts]))


# ── the best that there is ───────────────────────────────────────────────────────────────────────


def best_span(  # noqa: C901 - the functions within it are its own
    fabric: Fabric, count: int, required: int | None, preferred: int
) -> Span | None:
    """The level of the one domain, counted from the inside, then how many of each level inwards.

    None = no domain of the required level holds them. By dynamic programming over the tree: of
    what a domain does with so many members, only the least span matters, since spans add up.
    """
    room: Mapping[tuple[str, ...], int] = _room(fabric)
    children: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for path in room:
        if path:
            children.setdefault(path[:-1], []).append(path)

    @cache
    def least(path: tuple[str, ...], members_: int) -> Span | None:
        """How many domains at each level within this one; None = they do not fit."""
        nothing = (0,) * (fabric.depth - len(path))
        if members_ > room[path]:
            return None
        if len(path) == fabric.depth or not members_:
            return nothing
        found: dict[int, Span] = {0: nothing}
        for child in children[path]:
            found = widened(found, child, members_)
        return found.get(members_)

    def widened(
        found: Mapping[int, Span], child: tuple[str, ...], members_: int
    ) -> dict[int, Span]:
        """The least span of each number of members, with one more child to put them into."""
        wider = dict(found)
        for more in range(1, min(members_, room[child]) + 1):
            within = least(child, more)
            assert within is not None
            for before, span in found.items():
                if before + more <= members_:
                    added = _added(span, (1, *within))
                    wider[before + more] = min(wider.get(before + more, added), added)
        return wider

    for level in range(preferred, -2 if required is None else required - 1, -1):
        paths = (path for path in room if len(path) == level + 1)
        spans = [span for path in paths if (span := least(path, count)) is not None]
        if spans:
            skipped = max(0, preferred - level - 1)
            return (preferred - level, *min(span[skipped:] for span in spans))
    return None


def _room(fabric: Fabric) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    for path, room in fabric.hosts:
        for level in range(fabric.depth + 1):
            found[path[:level]] = found.get(path[:level], 0) + room
    return found


def _added(one: Span, other: Span) -> Span:
    return tuple(a + b for a, b in zip(one, other, strict=True))


# ── what is done ─────────────────────────────────────────────────────────────────────────────────


def lain(
    fabric: Fabric, facts: GroupFacts, required: int | None, preferred: int
) -> list[tuple[str, ...]] | None:
    """The path of each member; None = they wait."""
    facts = replace(facts, locality=Locality(fabric.levels(required, preferred)))
    trial = trying(cluster(*fabric.nodes()))
    outcome, _ = place_group(facts, trial, STEPS)
    if outcome.failed or not outcome.needed:
        return None
    return [fabric.hosts[row][0] for _, row in outcome.needed]


def span_of(paths: Sequence[tuple[str, ...]], preferred: int) -> Span:
    """The same as `best_span` of what was done."""
    depth = len(paths[0])
    counts = [len({path[:level] for path in paths}) for level in range(1, depth + 1)]
    level = max((place for place in range(preferred + 1) if counts[place] == 1), default=-1)
    return (preferred - level, *counts[max(level + 1, preferred) :])


def cases(count: int, most_hosts: int) -> Iterator[tuple[Fabric, int, int | None, int]]:
    for seed in range(count):
        fabric = fabrics(seed, most_hosts)
        draw = random.Random(-seed - 1)
        required = draw.choice([None, *range(fabric.depth)])
        preferred = draw.randint(required or 0, fabric.depth - 1)
        yield fabric, draw.randint(1, 14), required, preferred


def share_of_the_best(count: int, most_hosts: int) -> float:
    """In what share of cases a gang lies as well as it could; it never lies where it may not."""
    best = 0
    for fabric, members_, required, preferred in cases(count, most_hosts):
        facts = group(members(*[Kind(cpu=1)] * members_))
        paths = lain(fabric, facts, required, preferred)
        wanted = best_span(fabric, members_, required, preferred)
        assert (paths is None) == (wanted is None), (fabric, members_, required, preferred)
        if paths is None or wanted is None:
            best += 1
            continue
        if required is not None:
            assert len({path[: required + 1] for path in paths}) == 1
        best += span_of(paths, preferred) == wanted
    return best / count


def test_alike_members_lie_as_well_as_they_can_on_small_fabrics() -> None:
    assert share_of_the_best(150, 24) >= 0.99


@pytest.mark.slow
def test_alike_members_lie_as_well_as_they_can_on_large_fabrics() -> None:
    assert share_of_the_best(300, 300) >= 0.99


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────

Change = Callable[[Fabric, random.Random], Fabric]


def renamed(fabric: Fabric, draw: random.Random) -> Fabric:
    """Every domain has another name."""
    names = {f"d{index}": f"x{draw.random()}" for index in range(8)}
    hosts = [(tuple(names[each] for each in path), room) for path, room in fabric.hosts]
    return replace(fabric, hosts=tuple(hosts))


def shuffled(fabric: Fabric, draw: random.Random) -> Fabric:
    """The nodes are listed in another order."""
    hosts = list(fabric.hosts)
    draw.shuffle(hosts)
    return replace(fabric, hosts=tuple(hosts))


def with_a_full_rack(fabric: Fabric, draw: random.Random) -> Fabric:
    """There is another rack, without any room."""
    del draw
    path = (*fabric.hosts[0][0][:-1], "another")
    return replace(fabric, hosts=(*fabric.hosts, (path, 0)))


@pytest.mark.parametrize("change", [renamed, shuffled, with_a_full_rack])
def test_a_change_that_means_nothing_changes_no_span(change: Change) -> None:
    for number, (fabric, members_, required, preferred) in enumerate(cases(60, 24)):
        facts = group(members(*[Kind(cpu=1)] * members_))
        other = change(fabric, random.Random(number))
        spans = []
        for each in (fabric, other):
            paths = lain(each, facts, required, preferred)
            spans.append(None if paths is None else span_of(paths, preferred))
        assert spans[0] == spans[1], (fabric, members_, required, preferred)


def test_a_rack_that_is_split_never_lets_a_gang_lie_better() -> None:
    for fabric, members_, required, preferred in cases(60, 24):
        facts = group(members(*[Kind(cpu=1)] * members_))
        hosts = tuple(
            ((*path[:-1], f"{path[-1]}-{number % 2}"), room)
            for number, (path, room) in enumerate(fabric.hosts)
        )
        before = lain(fabric, facts, required, preferred)
        after = lain(replace(fabric, hosts=hosts), facts, required, preferred)
        if after is not None:
            assert before is not None
            assert span_of(before, preferred) <= span_of(after, preferred)


# ── roles ────────────────────────────────────────────────────────────────────────────────────────


def test_a_gang_of_roles_never_leaves_what_is_required_and_fits_where_it_can() -> None:
    """A rack is found for leader and workers wherever one rack could hold both."""
    for fabric, workers, required, preferred in cases(80, 24):
        if required is None:
            continue
        kinds = [Kind(cpu=2, role="leader"), *[Kind(cpu=1, role="worker")] * workers]
        facts = group(members(*kinds), leader=1, worker=workers)
        paths = lain(fabric, facts, required, preferred)
        fits = _some_domain_holds(fabric, required, workers)
        assert (paths is not None) == fits, (fabric, workers, required)
        if paths is not None:
            assert len({path[: required + 1] for path in paths}) == 1


def _some_domain_holds(fabric: Fabric, required: int, workers: int) -> bool:
    """Whether a domain holds workers of one and a leader of two: one of its hosts has two."""
    held: dict[tuple[str, ...], list[int]] = {}
    for path, room in fabric.hosts:
        held.setdefault(path[: required + 1], []).append(room)
    return any(sum(rooms) >= workers + 2 and max(rooms) >= 2 for rooms in held.values())


@dataclass(frozen=True)
class Wanted:
    """A role of so many members of so many CPUs, in one domain of a level."""

    role: str
    cpu: int
    count: int
    level: int


@pytest.mark.skipif(not highs.available(), reason="the extra `exact` is not installed")
def test_roles_find_domains_of_their_own_wherever_the_solver_does() -> None:
    fits = found = 0
    for number, (fabric, _, required, preferred) in enumerate(cases(100, 24)):
        draw = random.Random(f"roles {number}")
        wanted = [
            Wanted(role, cpu, draw.randint(1, most), draw.randint(required or 0, fabric.depth - 1))
            for role, cpu, most in (("a", 1, 6), ("b", 2, 3), ("c", 1, 3))
        ]
        kinds = [Kind(cpu=each.cpu, role=each.role) for each in wanted for _ in range(each.count)]
        facts = group(members(*kinds), **{each.role: each.count for each in wanted})
        parts = tuple(
            Locality(fabric.levels(each.level, fabric.depth - 1), roles=frozenset({each.role}))
            for each in wanted
        )
        locality = Locality(fabric.levels(required, preferred), parts=parts)
        trial = trying(cluster(*fabric.nodes()))
        outcome, _ = place_group(replace(facts, locality=locality), trial, STEPS)
        possible = _roles_fit(fabric, required, wanted)
        assert outcome.failed or possible, (fabric, wanted, required)
        fits += possible
        found += not outcome.failed
        for each in wanted if not outcome.failed else ():
            paths = [fabric.hosts[row][0] for pod, row in outcome.needed if pod.role == each.role]
            assert len({path[: each.level + 1] for path in paths}) == 1
    assert fits > 20, "the cases are no question"
    assert found >= 0.99 * fits


def _roles_fit(fabric: Fabric, required: int | None, wanted: Sequence[Wanted]) -> bool:
    """Whether there is a placement, by the solver: integers, and one domain for each role."""
    outer = sorted({path[: 0 if required is None else required + 1] for path, _ in fabric.hosts})
    return any(_fit_within(fabric, around, wanted) for around in outer)


def _fit_within(fabric: Fabric, around: tuple[str, ...], wanted: Sequence[Wanted]) -> bool:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    hosts = [(path, room) for path, room in fabric.hosts if path[: len(around)] == around]
    used: list[Any] = [0] * len(hosts)
    for each in wanted:
        chosen = {path[: each.level + 1]: solver.addBinary() for path, _ in hosts}
        solver.addConstr(sum(chosen.values()) == 1)
        placed = [solver.addIntegral(lb=0, ub=each.count) for _ in hosts]
        solver.addConstr(sum(placed) == each.count)
        for index, (path, _) in enumerate(hosts):
            solver.addConstr(placed[index] <= each.count * chosen[path[: each.level + 1]])
            used[index] += each.cpu * placed[index]
    for index, (_, room) in enumerate(hosts):
        solver.addConstr(used[index] <= room)
    solver.solve()
    return bool(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal)


# ── slices ───────────────────────────────────────────────────────────────────────────────────────


def test_slices_lie_in_their_domains_and_fit_wherever_they_can() -> None:
    """One level of slices, of alike members: whole slices are what each domain can hold of them."""
    for number, (fabric, members_, required, preferred) in enumerate(cases(120, 24)):
        draw = random.Random(f"slices {number}")
        level, size = draw.randint(required or 0, fabric.depth - 1), draw.randint(2, 4)
        facts = group(members(*[Kind(cpu=1)] * members_))
        levels = replace(fabric.levels(required, preferred), slices=((size, level),))
        facts = replace(facts, locality=Locality(levels))
        outcome, _ = place_group(facts, trying(cluster(*fabric.nodes())), STEPS)
        fits = _slices_fit(fabric, members_, required, level, size)
        assert (not outcome.failed) == fits, (fabric, members_, required, level, size)
        if fits:
            where = {pod.key.name: fabric.hosts[row][0] for pod, row in outcome.needed}
            if required is not None:
                assert len({path[: required + 1] for path in where.values()}) == 1
            # Bare members have no numbers but those of their names: m0, m1, …
            in_turn = [where[f"m{index}"] for index in range(members_)]
            for first in range(0, members_, size):
                assert len({path[: level + 1] for path in in_turn[first : first + size]}) == 1


def _slices_fit(fabric: Fabric, count: int, required: int | None, level: int, size: int) -> bool:
    domains: dict[tuple[str, ...], int] = {}
    for path, room in fabric.hosts:
        domains[path[: level + 1]] = domains.get(path[: level + 1], 0) + room
    around: dict[tuple[str, ...], list[int]] = {}
    for path, room in domains.items():
        around.setdefault(path[: 0 if required is None else required + 1], []).append(room)
    whole, short = divmod(count, size)

    def fits(rooms: Sequence[int]) -> bool:
        slices = sum(room // size for room in rooms)
        return slices > whole or (
            slices == whole and (not short or any(room % size >= short for room in rooms))
        )

    return any(map(fits, around.values()))
