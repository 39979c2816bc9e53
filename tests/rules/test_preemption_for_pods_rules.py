# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption for pods without a group: what of it is kube-scheduler's, to the arguments."""

from dataclasses import replace

import pytest

from enbloc.engine.effects import SetPodCondition
from enbloc.engine.events import BudgetSeen
from enbloc.engine.preemption.effort import StepAccount
from enbloc.framework.profile import Profile
from enbloc.model.pins import HOSTNAME
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector
from enbloc.plugins.default_preemption import DefaultPreemption
from tests.rules.preempting import evicted, full
from tests.world.builders import budget, spec
from tests.world.cluster import Cluster, plugins_but


def enough(absolute: int, percentage: int = 0) -> Profile:
    """A profile whose DefaultPreemption has these arguments."""
    plugin = DefaultPreemption(percentage, absolute)
    return Profile("enbloc", (*plugins_but("DefaultPreemption"), plugin))


def test_nobody_gives_way_where_preemption_is_disabled() -> None:
    """Semantics §10.1."""
    cluster = full(profile=Profile("enbloc", (*plugins_but("DefaultPreemption"),)))
    cluster.pod("high", priority=10)
    cluster.gang("gang", 2, priority=10)
    cluster.settle(seconds=20)

    assert not cluster.evicted
    assert cluster.pod_conditions("high")[-1][1] == "0/2 nodes are available: 2 Insufficient cpu."


def test_after_as_many_candidates_as_are_enough_no_more_are_looked_for() -> None:
    """Semantics §10.2: minCandidateNodesAbsolute."""
    cluster = full("n1 n2 n3", profile=enough(2), n1=7, n2=5)
    cluster.pod("high", priority=10)
    cluster.settle()

    assert evicted(cluster) == {"low-n2"}


def test_more_are_looked_for_while_each_would_break_a_budget() -> None:
    """Semantics §10.2."""
    cluster = full("n1 n2 n3", profile=enough(1), n2=5)
    cluster.change("low-n1", labels=(("app", "kept"),))
    cluster.tell(BudgetSeen(budget("kept", 0)))
    cluster.pod("high", priority=10)
    cluster.settle()

    assert evicted(cluster) == {"low-n2"}


def test_the_share_that_is_enough_is_of_nodes_that_could_do() -> None:
    """Semantics §10.2: minCandidateNodesPercentage."""
    profile = enough(0, percentage=50)
    cluster = full("n1 n2 n3 n4", profile=profile, n1=7, n2=5)
    for number in range(8):
        cluster.node(f"small{number}", cpu=0)
    cluster.pod("high", priority=10)
    cluster.settle()

    assert evicted(cluster) == {"low-n2"}


def test_a_pod_without_a_group_that_nobody_can_help_is_nominated_no_more() -> None:
    """Semantics §10.3: whoever has nominated it; kube-scheduler clears that as well."""
    cluster = full("n1", n1=50)
    cluster.pod("high", priority=10, nominated="n1")
    cluster.settle()

    told = [each for each in cluster.effects if isinstance(each, SetPodCondition)]
    assert all("No preemption victims found" in each.message for each in told)
    assert {each.nominated for each in told} == {""}


def test_a_pod_that_waits_for_those_who_leave_for_it_stays_nominated() -> None:
    """Semantics §10.3."""
    cluster = full("n1")
    cluster.change("low-n1", deleting=True, preempted=True)
    cluster.pod("high", priority=10, nominated="n1")
    cluster.settle()

    told = [each for each in cluster.effects if isinstance(each, SetPodCondition)]
    assert all("preemption: waiting for pod ns/low-n1 to leave" in each.message for each in told)
    assert {each.nominated for each in told} == {"n1"}


def test_a_pod_that_could_not_go_to_its_node_even_then_waits_for_nobody_there() -> None:
    """Semantics §10.3: the node was cordoned after others had been told to leave it."""
    cluster = full()
    cluster.node("n1", cpu=1, unschedulable=True)
    cluster.change("low-n1", deleting=True, preempted=True)
    cluster.pod("high", priority=10, nominated="n1")
    cluster.settle()

    assert evicted(cluster) == {"low-n2"}
    assert cluster.where("high") == {"high": "n2"}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Steps of each search."""
    found = list[int]()
    monkeypatch.setattr(StepAccount, "take", lambda _, steps: found.append(steps))
    return found


def elastic(nodes: int, each: int) -> Cluster:
    """Nodes full of a gang that can run with one of its members, so many of them on each."""
    cluster = Cluster()
    names = [f"n{number}" for number in range(nodes)]
    for name in names:
        cluster.node(name, cpu=each, labels=((HOSTNAME, name),))
    cluster.group("gang", 1)
    for number in range(nodes * each):
        node, started = names[number // each], float(number)
        cluster.pod(f"gang-{number}", "gang", node=node, created=started, started=started)
    return cluster


def test_members_of_a_gang_elsewhere_are_not_tried_on_each_node(taken: list[int]) -> None:
    """Semantics §10.5: one on each node is looked at, and one question asked for it."""
    cluster = elastic(nodes=20, each=20)
    cluster.pod("high", priority=10)
    cluster.settle()

    assert evicted(cluster) == {"gang-399"}
    assert 0 < sum(taken) <= 3 * 400


def kept_away(others: int) -> Cluster:
    """Three nodes, each full of so many others and of one that "high" cannot be beside."""
    cluster = Cluster()
    keeper = Selector((Requirement("app", Operator.IN, ("keeper",)),))
    apart = PodAffinity(required=(PodAffinityTerm(HOSTNAME, keeper),))
    for node in ("n1", "n2", "n3"):
        cluster.node(node, cpu=1 + others, pods=1 + others, labels=((HOSTNAME, node),))
        cluster.pod(f"keeper-{node}", node=node, priority=10, labels=(("app", "keeper"),))
        for number in range(others):
            cluster.pod(f"low-{node}-{number}", node=node, started=1.0)
    cluster.pod("high", priority=10, spec=spec(cpu=90, pod_anti_affinity=apart))
    return cluster


def test_pods_that_are_moved_in_vain_are_charged(taken: list[int]) -> None:
    """Semantics §10.5: who keeps the pod away stays, and everybody else is looked at."""
    few, many = kept_away(100), kept_away(400)
    few.settle()
    many.settle()

    assert not few.evicted
    assert not many.evicted
    assert taken[1] - taken[0] >= 900 + 300, "each who is found, and a third of those who are moved"


def test_members_of_a_gang_elsewhere_use_nothing_of_a_budget() -> None:
    """Semantics §10.2: as kube-scheduler counts the pods of one node."""
    cluster = elastic(nodes=3, each=1)
    for number in range(3):
        cluster.change(f"gang-{number}", labels=(("app", "kept"),))
    cluster.tell(BudgetSeen(budget("kept", 1)))
    cluster.pod("high", priority=10)
    cluster.settle()

    (eviction,) = cluster.evicted
    assert eviction.pod.name == "gang-2"
    assert not eviction.regardless


def test_what_goes_with_a_minimum_uses_the_budget_too() -> None:
    """Semantics §10.2."""
    cluster = elastic(nodes=3, each=1)
    for number in range(3):
        cluster.change(f"gang-{number}", labels=(("app", "kept"),))
    cluster.tell(BudgetSeen(budget("kept", 2)))
    cluster.pod("high", priority=10, spec=spec(cpu=1, node_selector=((HOSTNAME, "n0"),)))
    cluster.settle()

    assert {each.pod.name: each.regardless for each in cluster.evicted} == {
        f"gang-{number}": True for number in range(3)
    }


def test_a_question_about_many_terms_is_charged_for_each(taken: list[int]) -> None:
    """Semantics §10.5."""
    cluster = full()
    for terms in (1, 64):
        selector = Selector((Requirement("app", Operator.IN, ("nobody",)),))
        some = tuple(PodAffinityTerm(f"key-{number}", selector) for number in range(terms))
        wanted = replace(spec(cpu=1), pod_anti_affinity=PodAffinity(some))
        cluster.pod(f"high-{terms}", priority=10, spec=wanted)
        cluster.settle()
    few, many = taken
    assert many >= few + 300
