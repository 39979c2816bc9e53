# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A replica that stood by and takes over knows of gangs what status records (semantics §2.2)."""

from collections.abc import Callable

from enbloc.model.pods import Phase
from tests.rules.returning import back, gone, running
from tests.rules.world import ONE_A_NODE, PROCESSES, World


@PROCESSES
def test_a_gang_that_runs_and_lost_a_member_is_not_evicted(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.2, §4.3: as when one node takes a member and the leader with it."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.running_job("job", 4)
    world.delete("job-3")
    world.pod("other", node="n3", spec=ONE_A_NODE)
    world = process(world)
    world.settle(seconds=300)
    assert world.started("job") is not None
    assert world.condition("job")[1] == "BelowMinimum"
    assert world.evicted == []


@PROCESSES
def test_its_minimum_does_not_rise(process: Callable[[World], World]) -> None:
    """Semantics §2.2, §2.5."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.running_job("job", 3)
    world.alter("job", min_member=4)
    world.settle()
    world.delete("job-2")
    world.settle()
    world = process(world)
    world.member("job-3", "job")
    world.settle()
    assert len(world.where("job-")) == 3


@PROCESSES
def test_members_that_succeeded_and_are_gone_count(process: Callable[[World], World]) -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n0 n1 n2", cpu=4)
    world.running_job("job", 3)
    world.finish("job-0")
    world.settle()
    world.delete("job-0")
    world.settle()
    world.finish("job-1", Phase.FAILED)
    world.settle()
    world = process(world)
    world.delete("job-1")
    world.member("job-1.again", "job")
    world.settle()
    assert world.status["job"].succeeded == 1
    assert world.condition("job")[0] is True


def test_a_success_before_a_relaunch_does_not_make_half_of_a_gang_a_started_one() -> None:
    """Semantics §2.2: the leader died in the burst, before status recorded the relaunch."""
    world = running(4)
    world.finish("st-0")
    world.settle(seconds=10)
    before = dict(world.status)
    gone(world, ["st-1", "st-2", "st-3"])
    world.answer = lambda bind: "ok" if bind.target.pod.name < "st-2" else "hold"
    back(world, 4)
    world.settle(seconds=3)
    taken = {pod.node for pod in world.pods.values() if pod.bound}
    assert len(taken) == 2
    for node in sorted(world.hosts.keys() - taken):
        world.pod(f"other-{node}", node=node, spec=ONE_A_NODE)
    world.status = before
    world = world.restarted()
    world.settle()
    assert world.started("st") is None
    world.settle(seconds=300)
    assert sorted(world.evictions) == ["st-0.again", "st-1.again"]
