# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption for pods without a group: what of it is kube-scheduler's, to the arguments."""

from enbloc.engine.effects import SetPodCondition
from enbloc.engine.events import BudgetSeen
from enbloc.framework.profile import Profile
from enbloc.plugins.default_preemption import DefaultPreemption
from tests.rules.preempting import evicted, full
from tests.world.builders import budget
from tests.world.cluster import plugins_but


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
