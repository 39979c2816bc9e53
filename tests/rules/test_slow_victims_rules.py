# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Victims that take an hour to end keep nobody else of their group from being evicted."""

from dataclasses import replace

from enbloc.engine.events import Evicted
from enbloc.model.pods import Owner
from enbloc.model.times import time_text
from tests.rules.preempting import evicted
from tests.rules.world import JOB, NEXT_JOB, ONE_A_NODE, World

HOUR = 3600.0


def next_run(owner: Owner = NEXT_JOB) -> World:
    """A gang of two whose former pods were preempted, and take an hour to end.

    Args:
        owner: of its present pods.
    """
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("low", 2, timeout=60)
    for name in ("low-0", "low-1"):
        world.change(name, grace=HOUR)
    world.evict_answer = lambda _: "slow"
    world.pod("high", spec=ONE_A_NODE, priority=10)
    world.settle(seconds=5)
    world.nodes("n3", cpu=4)
    world.settle(seconds=1)
    world.nodes("n4 n5", cpu=4)
    for index in range(2):
        world.member(f"new-{index}", "low", owner=owner)
    world.settle(seconds=2)
    assert world.where("new").keys() == {"new-0", "new-1"}
    assert evicted(world) == {"low-0", "low-1"}
    return world


def test_a_run_is_evicted_at_its_deadline_while_the_one_before_ends() -> None:
    """Semantics §4.3: the capacity of the former run does not help, as its nodes are cordoned."""
    world = next_run()
    for name in ("n1", "n2"):
        world.put_node(replace(world.hosts[name], unschedulable=True))
    lost = world.lose_node("n5")
    world.settle(seconds=1)
    world.member("new-again", "low", owner=NEXT_JOB)
    world.settle(seconds=50)
    assert evicted(world) == {"low-0", "low-1"}
    world.settle(seconds=20)
    assert evicted(world) == {"low-0", "low-1", "new-0", "new-1"} - {lost}


def test_a_run_gives_way_while_the_one_before_ends() -> None:
    """Semantics §10.3: its preemptors say until when they wait for it, not for the former one."""
    world = next_run()
    begin = world.now
    for name in ("n1", "n2"):
        world.drop_node(name)
    for index in range(2):
        world.pod(f"more-{index}", spec=ONE_A_NODE, priority=5)
    world.settle(seconds=1)
    assert evicted(world) == {"low-0", "low-1", "new-0", "new-1"}
    end = time_text(begin + 60.0)
    for index in range(2):
        assert f"until {end}" in world.pod_conditions(f"more-{index}")[-1][1]


def test_who_waits_for_pods_that_a_repair_has_told_waits_no_longer_than_for_its_own() -> None:
    """Semantics §10.4: from when they terminate, whichever ends first."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("low", "n1", of=2, timeout=600)
    world.pod("mid", node="n2", spec=ONE_A_NODE, priority=5)
    world.evict_answer = lambda _: "hold"
    world.settle(seconds=605)
    [first] = world.evicted
    world.pod("high", spec=ONE_A_NODE, priority=10)
    world.settle()
    world.tell(Evicted(first.uid))
    world.settle()
    assert world.pod_conditions("high")[-1][1].endswith("waiting for pod ns/low-0 to leave")
    world.settle(seconds=20)
    world.change("low-0", deleting=True)
    world.settle()
    end = time_text(world.now + 60.0)
    assert world.pod_conditions("high")[-1][1].endswith(f"until {end} at the latest")
    world.settle(seconds=55)
    assert world.evicted == [first]
    world.settle(seconds=10)
    assert evicted(world) == {"low-0", "mid"}


def test_a_run_that_is_whole_was_not_preempted_though_the_one_before_ends() -> None:
    """Semantics §10.3: its minimum is bound again."""
    world = next_run()
    assert world.condition("low")[0]
    assert "DisruptionTarget" not in {str(each.type) for each in world.status["low"].conditions}


def test_a_gang_gives_way_so_often_in_an_hour_though_its_former_runs_end_slowly() -> None:
    """Semantics §10.6."""
    world = World()
    world.nodes("a0 a1", cpu=4)
    world.running_job("low", 2)
    world.evict_answer = lambda _: "slow"
    world.group("high", 2)
    for number in range(4):
        for name in world.where("low"):
            if not world.pods[name].deleting:
                world.change(name, grace=HOUR)
        for index in range(2):
            owner = Owner("Job", "high", f"high-{number}")
            world.member(f"high-{number}-{index}", "high", owner=owner, priority=10)
        world.settle(seconds=1)
        world.nodes(f"h{number}0 h{number}1", cpu=4)
        world.settle(seconds=1)
        world.nodes(f"l{number}0 l{number}1", cpu=4)
        for index in range(2):
            owner = Owner("Job", "low", f"low-{number}")
            world.member(f"low-{number}-{index}", "low", owner=owner)
        world.settle(seconds=2)
        for index in range(2):  # its nodes are lost, and its Job is made again
            world.lose_node(f"h{number}{index}")
    assert len(world.evicted) == 4
    assert len([each for each in world.events("Preempted") if each.group is not None]) == 2


def test_members_that_their_job_makes_again_give_way_while_the_former_ones_end() -> None:
    """Semantics §4.5: they are of the same run."""
    world = next_run(JOB)
    for name in ("n1", "n2"):
        world.drop_node(name)
    for index in range(2):
        world.pod(f"more-{index}", spec=ONE_A_NODE, priority=5)
    world.settle(seconds=1)
    assert evicted(world) == {"low-0", "low-1", "new-0", "new-1"}


def test_the_rest_of_a_gang_leaves_as_soon_as_the_others_certainly_do() -> None:
    """Semantics §10.3: else the gang would be whole again, and lose a part."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("low", 2)
    for name in ("low-0", "low-1"):
        world.change(name, grace=600.0)
    world.evict_answer = lambda each: (
        "slow" if each.pod.name == "low-0" or each.regardless else "a budget"
    )
    world.group("high", 2)
    for index in range(2):
        world.member(f"high-{index}", "high", priority=10)
    world.settle(seconds=5)
    assert [each.regardless for each in world.evicted] == [False, False, True]
    world.member("low-0-again", "low")
    world.nodes("n3", cpu=4)
    world.settle(seconds=5)
    assert not world.where("low-0-again")


def test_who_leaves_is_counted_on_though_another_of_its_gang_cannot_be_evicted() -> None:
    """Semantics §10.2, §10.4."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("low", 4, minimum=2)
    for name in world.where("low"):
        world.change(name, grace=50.0)
    world.nodes("n5 n6", cpu=4)
    for node in ("n5", "n6"):
        world.pod(f"other-{node}", node=node, priority=1, started=10.0, spec=ONE_A_NODE)
    world.evict_answer = lambda each: "a policy" if each.pod.name == "low-3" else "slow"
    world.group("high", 2)
    for index in range(2):
        world.member(f"high-{index}", "high", priority=10)
    world.settle(seconds=20)
    assert len(evicted(world)) == 3, "one of them does not leave"
    assert "low-2" not in world.pod_conditions("high-0")[-1][1].rpartition("; ")[2]
