# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §1, §4.3: being started protects work that exists, not what came in its place."""

import pytest

from enbloc.engine.state.runs import Runs
from enbloc.model.pods import Owner
from tests.rules.world import JOB, ONE_A_NODE, World

GROUPS = ("one", "two")
SET = Owner("StatefulSet", "st", "st-uid", "apps/v1")
SET_AGAIN = Owner("StatefulSet", "st", "st-uid-again", "apps/v1")


def owner(group: str) -> Owner:
    """The LeaderWorkerSet of a group."""
    return Owner("LeaderWorkerSet", group, f"{group}-uid")


def two_that_run() -> World:
    """Two groups of a leader and two workers on six nodes."""
    world = World()
    world.nodes("n0 n1 n2 n3 n4 n5", cpu=4)
    for group in GROUPS:
        world.group(group, 3, timeout=60, owner=f"LeaderWorkerSet/{group}-uid")
        for name in ("leader", "worker-1", "worker-2"):
            world.member(f"{group}-{name}", group, owner=owner(group))
        world.settle()
        world.now += 1
    world.run_pods(sorted(world.where()))
    world.settle()
    return world


def leaders_are_remade(world: World, *, run: bool) -> None:
    """Both leaders are deleted and made anew while the old workers live."""
    for group in GROUPS:
        world.delete(f"{group}-leader")
    world.settle()
    for group in GROUPS:
        world.member(f"{group}-leader.again", group, owner=owner(group))
    world.settle()
    if run:
        world.run_pods(f"{group}-leader.again" for group in GROUPS)
        world.settle(seconds=5)


def workers_are_remade(world: World, *, cordoned: int) -> None:
    """The nodes of some workers are cordoned, and all workers are replaced."""
    old = sorted(name for name in world.where() if "worker" in name)
    for name in old[:cordoned]:
        world.node(world.where()[name], cpu=4, unschedulable=True)
    for name in old:
        world.delete(name)
    for group in GROUPS:
        for index in (1, 2):
            world.member(f"{group}-worker-{index}.again", group, owner=owner(group))
    world.settle()


@pytest.mark.parametrize("leaders_run", [False, True])
def test_of_two_gangs_that_were_remade_one_is_whole_and_the_other_yields(
    leaders_run: bool,
) -> None:
    world = two_that_run()
    leaders_are_remade(world, run=leaders_run)
    workers_are_remade(world, cordoned=3)
    world.settle(seconds=5)
    bound = sorted(len(world.where(f"{group}-")) for group in GROUPS)
    assert bound == [0, 3], world.where()
    assert [name.split("-")[0] for name in world.evictions] == ["two"]


def test_a_gang_of_which_one_ran_at_the_floor_is_left_is_not_evicted() -> None:
    """Semantics §4.3."""
    world = two_that_run()
    workers_are_remade(world, cordoned=3)
    world.settle(seconds=3600)
    assert not world.evictions


def test_who_was_replaced_while_the_floor_ran_on_is_as_good_as_the_first() -> None:
    """Each of three was replaced, one after the other; then a node is lost."""
    world = two_that_run()
    for name in ("leader", "worker-1", "worker-2"):
        world.delete(f"one-{name}")
        world.settle()
        world.member(f"one-{name}.again", "one", owner=owner("one"))
        world.settle()
        world.run_pods([f"one-{name}.again"])
        world.settle(seconds=61)
    started = world.started("one")
    world.lose_node(world.where()["one-leader.again"])
    world.settle(seconds=3600)
    assert world.started("one") == started
    assert not world.evictions


def test_a_gang_with_a_member_that_succeeded_goes_on() -> None:
    world = two_that_run()
    world.finish("one-worker-1")
    world.delete("one-leader")
    world.settle()
    world.member("one-leader.again", "one", owner=owner("one"))
    world.settle()
    world.delete("one-worker-2")
    world.settle()
    assert world.started("one") is not None


def test_a_rolling_restart_that_never_broke_the_floor_leaves_a_gang_that_runs() -> None:
    """Each pod has run with the floor for a minute and more when two nodes are lost."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("g", 3, timeout=60)
    for index in range(4):
        world.member(f"g-{index}", "g", owner=owner("g"))
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle(seconds=3600)
    for index in range(4):
        world.delete(f"g-{index}")
        world.member(f"g-{index}.again", "g", owner=owner("g"))
        world.settle()
        world.run_pods([f"g-{index}.again"])
        world.settle(seconds=50)
    started = world.started("g")
    for index in (2, 3):
        world.lose_node(world.where()[f"g-{index}.again"])
    world.settle()
    world.member("g-x", "g", owner=owner("g"))
    world.settle(seconds=100)
    assert (world.started("g"), world.evictions) == (started, [])


def test_who_joined_an_elastic_gang_long_ago_is_a_part_of_what_runs() -> None:
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("g", 2, timeout=60, owner="RayCluster/g-uid")
    for names in ("ab", "cd"):
        for name in names:
            world.member(f"g-{name}", "g", owner=owner("g"))
        world.settle()
        world.run_pods(f"g-{name}" for name in names)
        world.settle(seconds=36_000)
    for name in "abc":
        world.lose_node(world.where()[f"g-{name}"])
    world.settle()
    world.member("g-e", "g", owner=owner("g"))
    world.settle(seconds=200)
    assert not world.evictions


def test_time_in_which_the_floor_did_not_run_makes_nobody_a_part_of_it() -> None:
    world = two_that_run()
    leaders_are_remade(world, run=True)
    world.delete("one-worker-1")
    world.settle(seconds=120)
    world.delete("one-worker-2")
    world.settle()
    assert world.started("one") is None


def test_who_succeeded_before_a_relaunch_is_no_part_of_what_runs_since() -> None:
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("g", 3, timeout=60)
    for index in range(4):
        world.member(f"g-{index}", "g", owner=owner("g"))
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    world.finish("g-0")
    for index in (1, 2, 3):
        world.delete(f"g-{index}")
    world.settle()
    for index in range(3):
        world.member(f"g-{index}.again", "g", owner=owner("g"))
    world.settle()
    world.run_pods(f"g-{index}.again" for index in range(3))
    world.settle()
    world.delete("g-0.again")
    world.member("g-0.third", "g", owner=owner("g"))
    world.settle()
    for index in (1, 2):
        world.delete(f"g-{index}.again")
    world.settle()
    assert world.started("g") is None


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("former", [SET, None])
def test_what_a_set_makes_that_adopted_a_running_gang_is_of_the_same_run(
    former: Owner | None, *, restart: bool, released: bool
) -> None:
    """Semantics §2.4: a StatefulSet deleted with --cascade=orphan and made again replaces a pod."""
    world = World()
    world.nodes("n0 n1 n2", cpu=4)
    world.running_job("st", 3, owner=former)
    for name in sorted(world.where()) if released else ():
        world.change(name, owner=None)
    world.settle()
    for name in sorted(world.where()):
        world.change(name, owner=SET_AGAIN)
        world.settle()
    if restart:
        world = world.restarted()
        world.settle()
    world.delete("st-2")
    world.now += 1
    world.member("st-2.again", "st", owner=SET_AGAIN)
    world.settle()
    assert len(world.where()) == 3
    assert world.condition("st")[:2] == (True, "Scheduled")


def test_a_gang_that_is_adopted_while_it_waits_keeps_its_place_in_the_queue() -> None:
    """Semantics §2.4, §2.7."""
    world = World()
    world.nodes("n0 n1 n2", cpu=4)
    world.pod("other", node="n2", spec=ONE_A_NODE)
    world.job("st", 3, owner=SET)
    world.settle()
    world.now += 1
    world.job("later", 3, owner=JOB)
    for index in range(3):
        world.change(f"st-{index}", owner=SET_AGAIN)
        world.settle()
        assert world.where("st-") == {}
    world.delete("st-2")
    world.now += 1
    world.member("st-2.again", "st", owner=SET_AGAIN)
    world.delete("other")
    world.settle()
    assert sorted(world.where()) == ["st-0", "st-1", "st-2.again"]


def test_a_waiting_pod_that_another_run_adopts_is_an_addition_to_that_run() -> None:
    """Semantics §2.4: it was the first of a run of its own."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.running_job("st", 3, owner=SET)
    world.now += 1
    world.member("st-3", "st", owner=SET_AGAIN)
    world.settle()
    assert "st-3" not in world.where()
    world.change("st-3", owner=SET)
    world.settle()
    assert "st-3" in world.where()


def test_a_pod_that_is_adopted_again_and_again_fills_no_memory() -> None:
    """Semantics §2.4: whoever may change a pod could do that."""
    world = World()
    world.group("st", 2)
    world.member("st-0", "st", owner=SET, node="n0")
    runs = Runs(world.groups["st"].key)
    runs.settle()
    for number in range(1000):
        adopter = Owner("StatefulSet", "st", f"uid-{number}", "apps/v1")
        runs.put(world.change("st-0", owner=adopter))
    assert len(runs.newest.owners) < 200
