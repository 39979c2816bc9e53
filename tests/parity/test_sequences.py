# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Answers kept up to date while pods come and go are those of the reference, asked anew."""

from collections import Counter
from dataclasses import replace
from functools import partial
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enbloc.engine.trial import Trial
from enbloc.engine.trial.ranking_cache import Rankings
from enbloc.framework import decide
from enbloc.framework.status import Status
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod, PodKey, PodUID
from tests.effort import times
from tests.parity import asking, reference
from tests.parity.cases import Case, cases
from tests.parity.chance import Aspect
from tests.parity.hosts import Hosts
from tests.parity.settings import Settings

#: Hypothesis runs inside of these tests, which it does not know.
pytestmark = pytest.mark.hypothesis
WORLDS = times(200)
#: Pods placed one after the other in one world.
STEPS = 8
checked = settings(max_examples=WORLDS, derandomize=True, database=None)


def _copies(pods: tuple[Pod, ...], numbers: list[int]) -> list[Pod]:
    """Pods of these classes, under names of their own."""
    return [
        replace(pods[number], key=PodKey(pods[number].key.namespace, f"copy-{at}"),
                uid=PodUID(f"copy-{at}"))
        for at, number in enumerate(numbers)
    ]  # fmt: skip


def _classes(case: Case) -> tuple[Pod, ...]:
    """The incoming pods, and some that share the first one's spec and little else."""
    first, second, third, *_ = case.incoming
    return (*case.incoming, replace(second, spec=first.spec), replace(third, spec=first.spec))


def _rankings(case: Case) -> Rankings:
    rankings = Rankings()
    for pod in (*_classes(case), *(pod for host in case.world.hosts for pod in host.pods)):
        rankings.selected.notice(pod.spec, pod.key.namespace)
    for key, selector in case.world.workloads:
        rankings.selected.select(selector, key.namespace)
    return rankings


@pytest.mark.parametrize("kinds", [1, 6], ids=["of one kind", "of several kinds"])
@pytest.mark.parametrize("leaving", [0.0, 0.3], ids=["", "while others leave"])
def test_pods_placed_one_after_the_other_go_where_the_reference_sends_each(
    kinds: int, leaving: float
) -> None:
    seen = Counter[str]()
    standard = asking.profile_of(Settings())

    @checked
    @given(cases(), st.lists(st.integers(0, kinds - 1), min_size=STEPS, max_size=STEPS))
    def holds(case: Case, order: list[int]) -> None:
        usual = case.settings == Settings()
        profile = standard if usual else asking.profile_of(case.settings)
        trial = Trial(profile, case.world.snapshot(), _rankings(case))
        world, dice = case.world, Random(str(order))
        for pod in _copies(_classes(case), order):
            if dice.random() < leaving:
                world = _one_leaves(trial, world, dice)
            totals = reference.totals(pod, world, case.settings)
            seen["steps"] += 1
            tell = partial(world.about, pod, case.settings)
            row = trial.place(pod)
            if row is None:
                assert not totals, tell()
                sentence = reference.fit_error(pod, world, case.settings)
                assert trial.diagnosis(pod).text() == sentence, tell()
                continue
            seen["placed"] += 1
            assert totals.get(row, -1) == max(totals.values(), default=0), tell()
            world = world.placed(pod, row)

    holds()
    assert seen["steps"] == WORLDS * STEPS
    assert 0.3 * seen["steps"] < seen["placed"] < 0.9 * seen["steps"]


def _one_leaves(trial: Trial, world: Hosts, dice: Random) -> Hosts:
    seats = [(pod, row) for row, host in enumerate(world.hosts) for pod in host.pods]
    if not seats:
        return world
    pod, row = dice.choice(seats)
    trial.remove(pod, row)
    return world.removed(pod, row)


CLUSTER_WIDE = {
    "NodePorts": (Aspect.PORTS,),
    "PodTopologySpread": (Aspect.HARD_SPREAD, Aspect.SOFT_SPREAD),
    "InterPodAffinity": (Aspect.HARD_AFFINITY, Aspect.SOFT_AFFINITY),
}


@pytest.mark.parametrize("name", CLUSTER_WIDE)
def test_an_evaluator_told_of_comings_and_goings_says_what_a_new_one_would(name: str) -> None:
    seen = Counter[str]()

    @checked
    @given(cases(*CLUSTER_WIDE[name]), st.integers(0, 2**20))
    def holds(case: Case, seed: int) -> None:
        pod, *others = case.incoming
        if not case.world.hosts:
            return
        walk = _Walk(name, case, pod)
        dice = Random(seed)
        for other in _copies(tuple(others), [0, 1, 2, 0, 1, 2]):
            walk.step(other, dice)
            seen["steps"] += 1
            seen["changed"] += walk.check()

    holds()
    assert seen["steps"] > 4 * WORLDS
    assert seen["changed"] > 0.04 * seen["steps"]


class _Walk:
    """One evaluator and one scorer while pods come to the world and leave it."""

    def __init__(self, name: str, case: Case, pod: Pod) -> None:
        self.name, self.pod, self.settings = name, pod, case.settings
        self.world: Hosts = case.world
        snapshot = case.world.snapshot()
        self.nodes: Nodes = snapshot.nodes.fork()
        self.plugin = asking.plugin_of(name, case.settings)
        self.evaluator = asking.filter_of(self.plugin, pod, snapshot)
        self.scorer = (
            self.plugin.pre_score(pod, snapshot)
            if decide.implements(self.plugin, decide.PreScore)
            else None
        )
        self.last = self._expected()

    def step(self, other: Pod, dice: Random) -> None:
        """A pod comes; or one of those that sit leaves."""
        row = dice.randrange(len(self.world.hosts))
        sitting = self.world.hosts[row].pods
        leaves = bool(sitting) and dice.random() < 0.4
        changed = dice.choice(sitting) if leaves else other
        self.world = (self.world.removed if leaves else self.world.placed)(changed, row)
        self.nodes.place(row, changed.spec, -1 if leaves else 1)
        for evaluator in {id(each): each for each in (self.evaluator, self.scorer)}.values():
            if evaluator is None or isinstance(evaluator, Status):
                continue
            assert decide.implements(evaluator, decide.TracksPods)
            (evaluator.removed if leaves else evaluator.placed)(changed, row)

    def check(self) -> bool:
        """Compare; True = the reference's answer has changed."""
        expected = self._expected()
        changed, self.last = expected != self.last, expected
        refusals, finals = expected
        mask = self._mask()
        tell = partial(self.world.about, self.pod, self.settings)
        assert mask.tolist() == [not reasons for reasons in refusals], tell()
        if self.scorer is not None:
            assert self._finals() == finals, tell()
        elif self.name in reference.WEIGHTS:
            assert not any(finals), tell()
        return changed

    def _rows(self) -> list[int]:
        return list(range(len(self.world.hosts)))

    def _expected(self) -> tuple[reference.Refusals, list[int]]:
        refusals = reference.FILTERS[self.name](self.pod, self.world, self.settings)
        if self.name not in reference.WEIGHTS:
            return refusals, []
        rows = self._rows()
        return refusals, list(
            reference.final_scores(self.name, self.pod, self.world, self.settings, rows).values()
        )

    def _mask(self) -> Mask:
        if self.evaluator is None:
            return np.ones(len(self.nodes), np.bool_)
        assert not isinstance(self.evaluator, Status)
        return self.evaluator.filter(self.pod, self.nodes)

    def _finals(self) -> list[int]:
        every = np.ones(len(self.nodes), np.bool_)
        scores = asking.scored(self.plugin, self.scorer, self.pod, self.nodes, every)
        return scores[1].astype(int).tolist()
