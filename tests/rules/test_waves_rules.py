# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §5.2: owners that create their pods in waves (all sentences: tests/controller)."""

from dataclasses import replace

import pytest

from enbloc.controller.creators import JOB as JOB_KIND
from enbloc.controller.creators import STATEFUL_SET, Creator
from enbloc.model.groups import Group
from enbloc.model.pods import Owner
from tests.controller.statuses import KEY, PAIR, Watcher, bound, pending, pods, running
from tests.rules.world import World

OWNER = "mpi-1"


def _group(minimum: int) -> Group:
    return replace(PAIR, min_member=minimum)


def _wave(world: World, name: str, minimum: int, nodes_of_all: int = 0) -> None:
    """The PodGroup of one wave; the first one has the minResources of all."""
    room = (("cpu", 4000 * nodes_of_all),) if nodes_of_all else ()
    world.group(name, minimum, owner=OWNER, min_resources=room, timeout=600)


def _pods(world: World, name: str, count: int) -> None:
    for index in range(count):
        world.member(f"{name}-{index}", name, owner=Owner("MPIJob", "mpi", OWNER))


def test_the_first_wave_holds_the_room_of_all_until_the_next_ones_come() -> None:
    """Semantics §5.2."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    _wave(world, "workers", 2, nodes_of_all=3)
    _wave(world, "launcher", 1)
    _pods(world, "workers", 2)
    world.settle()
    assert len(world.where("workers")) == 2, "the launcher need not exist for that"
    world.now += 1
    world.job("rival", 1)
    world.settle()
    assert world.where("rival") == {}
    world.run_pods(["workers-0", "workers-1"])
    _pods(world, "launcher", 1)
    world.settle()
    assert len(world.where("launcher")) == 1


def test_no_wave_starts_where_not_all_of_them_have_room() -> None:
    """Semantics §5.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    _wave(world, "workers", 2, nodes_of_all=3)
    _pods(world, "workers", 2)
    world.settle()
    assert world.where() == {}
    world.node("n3", cpu=4)
    world.settle()
    assert len(world.where("workers")) == 2


def test_two_owners_of_two_waves_do_not_stop_each_other_half_way() -> None:
    """Semantics §5.2."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    for name in ("a", "b"):
        world.group(f"{name}1", 1, owner=name, min_resources=(("cpu", 8000),), timeout=600)
        world.group(f"{name}2", 1, owner=name, timeout=600)
        world.member(f"{name}1-0", f"{name}1", owner=Owner("JobSet", name, name))
        world.settle()
        world.now += 1
    assert set(world.where()) == {"a1-0"}, "two first waves would leave each second one out"
    world.member("a2-0", "a2", owner=Owner("JobSet", "a", "a"))
    world.settle()
    for name in ("a1-0", "a2-0"):
        world.finish(name)
    world.settle()
    assert "b1-0" in world.where()


def test_a_minimum_that_counts_members_of_a_later_wave_is_told_of() -> None:
    """Semantics §5.2."""
    created_one_by_one = Creator(STATEFUL_SET, "db", "s", group=KEY, pods=3, ordered=True)
    watcher = Watcher(_group(3), {})
    members = pods(pending, controller="s", owner_key="s")
    watcher.looks(members, {"s": created_one_by_one})
    reason, message = watcher.ready()
    assert reason == "MembersCannotExist"
    assert "StatefulSet db" in message, "the owner"
    assert "spec.podManagementPolicy" in message, "the field"


def test_pods_that_wait_for_each_other_come_one_by_one_with_minimum_one_and_a_reservation() -> None:
    """Semantics §5.2."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    _wave(world, "db", 1, nodes_of_all=3)
    for index in range(3):
        world.member(f"db-{index}", "db", owner=Owner("StatefulSet", "db", OWNER))
        world.settle()
        assert f"db-{index}" in world.where(), "though the rival waits for room, too"
        world.run_pods([f"db-{index}"])
        world.now += 1
        world.pod(f"rival-{index}", spec=world.pods["db-0"].spec)
        world.settle()
    assert set(world.where()) == {"db-0", "db-1", "db-2"}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        pytest.param({"pods": 2}, "spec.parallelism is 2; raise it to 3", id="parallelism"),
        pytest.param({"completions": 2}, "spec.completions is 2", id="completions"),
        pytest.param({"completions": None, "succeeded": 1}, "one of its pods", id="work queue"),
    ],
)
def test_an_owner_that_can_create_no_further_pod_is_named_with_the_field(
    changed: dict[str, int | None], named: str
) -> None:
    """Semantics §5.2."""
    enough = Creator(JOB_KIND, "train", "j", group=KEY, pods=3, completions=3)
    short = replace(enough, **changed)  # type: ignore[arg-type]
    watcher = Watcher(_group(3), {})
    members = pods(pending, pending, controller="j", owner_key="j")[: 1 + (not short.succeeded)]
    watcher.looks(members, {"j": enough})
    assert watcher.ready()[0] == "WaitingForMembers"
    watcher.looks(members, {"j": short})
    reason, message = watcher.ready()
    assert reason == "MembersCannotExist"
    assert "Job train" in message
    assert named in message


def test_what_cannot_exist_is_no_concern_of_a_group_that_has_its_minimum() -> None:
    """Semantics §5.2."""
    small = Creator(JOB_KIND, "train", "j", group=KEY, pods=2, completions=2)
    watcher = Watcher(_group(2), {})
    watcher.looks(pods(running, bound, controller="j", owner_key="j"), {"j": small})
    assert watcher.ready()[0] != "MembersCannotExist"
