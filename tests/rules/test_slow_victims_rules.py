# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Victims that take an hour to end keep nobody else of their group from being evicted."""

from dataclasses import replace

from enbloc.engine.events import Evicted
from enbloc.model.times import time_text
from tests.rules.preempting import evicted
from tests.rules.world import NEXT_JOB, ONE_A_NODE, World

HOUR = 3600.0


def next_run() -> World:
    """A gang of two of which the former run was preempted, and takes an hour to end."""
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
        world.member(f"new-{index}", "low", owner=NEXT_JOB)
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
