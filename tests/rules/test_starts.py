# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §2.2: when a gang has started, and what the next process believes of it."""

from dataclasses import replace

import pytest

from enbloc.model.groups import GroupMemory, RunMemory
from tests.rules.world import World


def test_a_started_gang_is_not_evicted_because_its_status_tells_of_an_earlier_run() -> None:
    """Semantics §2.2: the last write of the status was lost."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    [first, _] = sorted(world.where())
    world.delete(first)
    for name in world.where():
        world.change(name, binding_record="")
    stale = GroupMemory("job-0", started=5.0, runs=(RunMemory("job-0", ("job-0",), started=5.0),))
    world.put_group(replace(world.groups["g"], memory=stale))
    again = world.restarted(status=False)
    again.settle(seconds=3600)
    assert again.evictions == []


def test_a_start_that_nobody_who_is_bound_can_have_seen_is_not_believed() -> None:
    """Semantics §2.2: all were lost and relaunched, and the status was never written again."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    memory = RunMemory("job-1", ("job-1",), (("", 2),), scheduled=5.0, started=6.0)
    later = World(sync=False)
    later.nodes("n1 n2", cpu=4)
    later.group("g", 2, timeout=60, memory=GroupMemory("job-1", started=6.0, runs=(memory,)))
    later.member("g-0", "g", node="n1", scheduled_at=later.now)
    later.sync()
    later.settle(seconds=120)
    assert later.evictions == ["g-0"], "it has not started, and gives its room back"


@pytest.mark.parametrize(("ahead", "noted"), [(1.0, 1.0), (3600.0, 2.0)])
def test_a_gang_does_not_start_before_the_bindings_of_its_members(
    ahead: float, noted: float
) -> None:
    """Semantics §2.2: the server says when they were bound, the scheduler's clock lags a little.

    Whoever reads the status would not believe it otherwise. A condition of a pod can say anything,
    so no more than the clock can be wrong by is made good.
    """
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    for name in sorted(world.where()):
        world.change(name, scheduled_at=world.now + ahead)
    world.run_pods(sorted(world.where()))
    world.settle()
    assert world.started("g") == world.now + noted


def test_a_gang_that_ran_within_the_second_of_its_bindings_is_not_evicted() -> None:
    """Semantics §4.3, after a restart of the scheduler and the loss of a node."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    for name in sorted(world.where()):
        world.change(name, scheduled_at=world.now + 1.0)
    world.run_pods(sorted(world.where()))
    world.settle()
    world.lose_node("n1")
    world.member("g-2", "g")
    again = world.restarted()
    again.settle(seconds=3600)
    assert again.evictions == []


def test_a_member_that_was_bound_when_its_gang_had_started_says_so() -> None:
    """Semantics §2.2: by its binding record."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 2)
    world.now += 5
    world.delete("g-0")
    world.member("g-2", "g")
    world.settle()
    world.run_pods(["g-2"])
    world.settle(seconds=61)
    world.delete("g-1")
    world.settle()
    again = world.restarted()
    again.settle(seconds=600)
    assert again.evictions == []
    assert again.started("g") == 1000.0
