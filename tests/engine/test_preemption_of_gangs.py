# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which units give way to a gang, held against every set of units there is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from random import Random

import pytest

from enbloc.engine.decide.assign import place_group
from enbloc.engine.preemption import Preemption, Unit, cost, preempt_for_gang
from enbloc.engine.trial import Outcome, Trial
from enbloc.framework.facts import GroupFacts
from enbloc.model.budgets import Budgets
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodKey, PodUID
from enbloc.model.snapshot import Snapshot
from tests.effort import times
from tests.engine.searching import HOST, Kind, cluster, group, machine, members, trying
from tests.world.builders import budget

STEPS = 2000
CASES = times(100)


def place(facts: GroupFacts, trial: Trial, part: int) -> tuple[Outcome, Trial]:
    return place_group(facts, trial, STEPS // part)


@dataclass(frozen=True)
class World:
    snapshot: Snapshot
    units: tuple[Unit, ...]
    budgets: Budgets
    facts: GroupFacts

    def found(self) -> Preemption:
        return preempt_for_gang(
            self.facts, trying(self.snapshot), self.units, self.budgets, place, STEPS
        )

    def suffices(self, victims: Sequence[Unit]) -> bool:
        trial = trying(self.snapshot)
        for unit in victims:
            for pod in unit.pods:
                trial.remove_from(pod, pod.node)
        outcome, _ = place_group(self.facts, trial, 20_000)
        return not outcome.failed


def random_world(seed: str, most: int = 8) -> World:
    dice = Random(seed)
    machines = [
        machine(f"n{number}", cpu=dice.choice((4, 8)), zone=dice.choice("ab"))
        for number in range(dice.randint(2, 4))
    ]
    free = {each.name: dict(each.allocatable)["cpu"] // 1000 for each in machines}
    units = [random_unit(dice, number, free) for number in range(dice.randint(2, most))]
    units = [unit for unit in units if unit.pods]
    return World(
        cluster(*machines, seated=[(pod, pod.node) for unit in units for pod in unit.pods]),
        tuple(units),
        Budgets(budget(app, dice.choice((0, 1))) for app in "xyz" if dice.random() < 0.2),
        replace(group(random_members(dice)), priority=20),
    )


def random_unit(dice: Random, number: int, free: dict[str, int]) -> Unit:
    """A pod, or a gang, on nodes that have room for it (CPUs, which it takes)."""
    size, priority = dice.choice((1, 1, 1, 2, 3)), dice.choice((0, 0, 5, 10))
    started, app = float(dice.randint(1, 50)), dice.choice("xyz")
    pods: list[Pod] = []
    for index in range(size):
        cpu = dice.choice((1, 2, 4))
        able = [name for name, left in free.items() if left >= cpu]
        if not able:
            continue
        node = dice.choice(able)
        free[node] -= cpu
        name = f"u{number}-{index}"
        pod = Pod(PodKey("ns", name), PodUID(name), Kind(cpu=cpu).spec(), priority=priority)
        pods.append(replace(pod, node=node, started=started, labels=(("app", app),)))
    work = dice.choice((0.0, 1.0, 5.0, 20.0)) * len(pods)
    return Unit(GroupKey("ns", f"u{number}"), tuple(pods), priority, work, gang=len(pods) > 1)


def random_members(dice: Random) -> Sequence[Pod]:
    apart = frozenset({(HOST, "a")}) if dice.random() < 0.2 else frozenset[tuple[str, str]]()
    kinds = [
        Kind(cpu=dice.choice((2, 4)), zone=dice.choice(("", "", "a")), apart=apart)
        for _ in range(dice.choice((1, 1, 2)))
    ]
    return members(*(dice.choice(kinds) for _ in range(dice.randint(1, 4))))


def best(world: World) -> tuple[Unit, ...] | None:
    """The first that suffices of all sets of units, in the order of what they cost."""
    every = [
        some for size in range(len(world.units) + 1) for some in combinations(world.units, size)
    ]
    every.sort(key=lambda some: cost(some, world.budgets))
    return next((some for some in every if world.suffices(some)), None)


@pytest.mark.parametrize("units", [8, 12])
def test_victims_are_close_to_the_best_there_are(
    units: int, capsys: pytest.CaptureFixture[str]
) -> None:
    ratios, cases = list[float](), 0
    for number in range(CASES // 4 * (2 if units < 12 else 1)):
        world = random_world(f"preemption {number}", units)
        if world.suffices(()):
            assert not world.found().victims, f"victims where none is needed: {number}"
            continue
        found, wanted = world.found(), best(world)
        if wanted is None:
            assert not found.victims, number
            assert found.message.startswith("preemption: 0/"), number
            continue
        assert world.suffices(found.victims), number
        mine, its = (cost(some, world.budgets) for some in (found.victims, wanted))
        assert mine >= its, number
        cases += 1
        if mine[:2] == its[:2]:  # as few beyond a budget, and of no higher priority
            ratios.append((mine[2] + mine[3]) / (its[2] + its[3]))
    mean = sum(ratios) / len(ratios)
    with capsys.disabled():
        print(
            f"\nvictims of gangs, of at most {units} units: {cases} cases, {len(ratios)} of the "
            f"best budgets and priorities, {mean:.3f} times the least cost in the mean"
        )
    assert cases > 0.2 * CASES / 4
    assert len(ratios) >= 0.98 * cases
    assert mean <= 1.05


def test_what_some_units_cost_does_not_depend_on_their_order() -> None:
    """Sets of units have none of their own: a replay would take another one of equal ones."""
    units = [
        replace(random_unit(Random(number), number, {"n": 64}), work=number / 10)
        for number in range(4)
    ]
    assert len({cost(some, Budgets(())) for some in permutations(units)}) == 1


def test_nobody_gives_way_without_need() -> None:
    for number in range(CASES):
        world = random_world(f"need {number}")
        victims = [] if world.suffices(()) else world.found().victims
        for unit in victims:
            assert not world.suffices([each for each in victims if each is not unit]), number


def test_nobody_is_touched_for_a_gang_that_would_not_fit_anyway() -> None:
    world = random_world("preemption 0")
    large = members(*[Kind(cpu=9)] * 2)
    found = replace(world, facts=group(large)).found()

    assert not found.victims
    assert "Insufficient cpu" in found.message


def test_what_a_search_takes_is_bounded_whatever_there_is() -> None:
    """Many classes of pods and members, and as many budgets that each cover all of them."""
    dice = Random("bounded")
    machines = [machine(f"n{number}", cpu=64) for number in range(20)]
    free = {each.name: 64 for each in machines}
    units = [random_unit(dice, number, free) for number in range(400)]
    units = [unit for unit in units if unit.pods]
    seats = [(pod, pod.node) for unit in units for pod in unit.pods]
    world = World(
        cluster(*machines, seated=seats),
        tuple(units),
        Budgets(budget(app, 0)._replace(key=str(n)) for n in range(100) for app in "xyz"),
        replace(group(members(*[Kind(cpu=48)] * 20)), priority=20),
    )

    assert world.suffices(world.found().victims)
    assert world.found().steps <= 20 * STEPS
