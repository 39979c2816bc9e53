# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who gives way to a pod of higher priority, held against the reference."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enbloc.engine.preemption import Unit, candidates_for_pod, preempt_for_pod
from enbloc.engine.trial import Trial
from enbloc.model.budgets import Budget, Budgets
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from tests.effort import times
from tests.parity import asking, reference, reference_preemption
from tests.parity.cases import Case, cases
from tests.parity.chance import NAMESPACES, POD_LABELS, Aspect
from tests.parity.hosts import Host, Hosts
from tests.parity.settings import Settings

#: Hypothesis runs inside of these tests, which it does not know.
pytestmark = pytest.mark.hypothesis
checked = settings(max_examples=times(500), derandomize=True, database=None)


def test_victims_node_and_message_are_those_of_the_reference() -> None:
    seen = Counter[str]()
    standard = asking.profile_of(Settings())

    @checked
    @given(cases(Aspect.RESOURCES, Aspect.PORTS), st.tuples(*[st.integers(0, 127)] * 3).map(str))
    def holds(case: Case, seed: str) -> None:
        usual = case.settings == Settings()
        profile = standard if usual else asking.profile_of(case.settings)
        dice = Random(seed)
        world = _with_priorities(case.world, dice)
        budgets = [_budget(dice, number) for number in range(dice.choice((0, 1, 2, 3)))]
        for incoming in case.incoming:
            pod = replace(incoming, priority=dice.choice((0, 10, 10, 20)))
            if not world.hosts or reference.feasible(pod, world, case.settings):
                continue
            tried = candidates_for_pod(
                pod,
                Trial(profile, world.snapshot()),
                _units(pod, world),
                Budgets(budgets),
                lambda _: 100,
            )
            wanted, message = reference_preemption.candidates(pod, world, case.settings, budgets)
            about = world.about(pod, case.settings) + f"\n  {budgets}"
            if not wanted:
                assert (tried.nodes, tried.message) == ([], message), about
                seen["helps nobody"] += 1
                continue
            least = min(each.cost() for each in wanted)
            found = preempt_for_pod(pod, tried)
            ((_, node),) = found.nodes
            (chosen,) = (each for each in wanted if world.hosts[each.row].node.name == node)
            victims = {pod.uid for unit in found.victims for pod in unit.pods}
            assert chosen.cost() == least, about
            assert victims == {each.uid for each in chosen.victims}, about
            assert len(found.beyond) == chosen.violations, about
            seen["breaks a budget" if found.beyond else "preempts"] += 1

    holds()
    for kind, share in (("preempts", 0.05), ("helps nobody", 0.1), ("breaks a budget", 0.0)):
        assert seen[kind] > share * seen.total(), (kind, seen)


def _units(pod: Pod, world: Hosts) -> Callable[[int], Sequence[Unit]]:
    by_row = [
        [
            Unit(GroupKey(each.key.namespace, each.key.name), (each,), each.priority)
            for each in host.pods
            if each.priority < pod.priority
        ]
        for host in world.hosts
    ]
    return by_row.__getitem__


def _with_priorities(world: Hosts, dice: Random) -> Hosts:
    def ranked(pod: Pod) -> Pod:
        started = dice.choice((None, 1.0, 2.0, 3.0, 4.0))
        return replace(pod, priority=dice.choice((-10, 0, 0, 5, 5, 10)), started=started)

    hosts = tuple(Host(host.node, tuple(map(ranked, host.pods))) for host in world.hosts)
    return replace(world, hosts=hosts)


def _budget(dice: Random, number: int) -> Budget:
    namespace = dice.choice((*NAMESPACES, "default"))
    key = dice.choice(tuple(POD_LABELS))
    value = dice.choice(POD_LABELS[key])
    selector = dice.choice(
        (
            *(Selector((Requirement(key, Operator.IN, (value,)),)),) * 3,
            *(Selector((Requirement(key, Operator.EXISTS),)),) * 4,
            Selector(),
            None,
        )
    )
    disrupted = frozenset({"seated-1"}) if dice.random() < 0.2 else frozenset[str]()
    return Budget(
        f"{namespace}/{number}", namespace, selector, dice.choice((0, 0, 1, 2)), disrupted
    )
