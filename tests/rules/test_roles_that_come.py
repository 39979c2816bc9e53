# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Roles that come and go while a gang runs (semantics §2.5)."""

from collections.abc import Callable

import msgspec
import pytest

from enbloc.model.groups import OnIncomplete
from enbloc.model.pods import Owner
from tests.rules.fabrics import HOST, fabric
from tests.rules.test_topology_choices_rules import part
from tests.rules.world import ONE_A_NODE, World
from tests.world.builders import spec

CLUSTER = Owner("RayCluster", "ray", "ray-uid", "ray.io/v1")
AT_FIRST = (("head", 1), ("a", 1))
WITH_B = (*AT_FIRST, ("b", 2))
NOWHERE = spec(cpu=1, node_selector=(("pool", "x"),))


@pytest.fixture
def world() -> World:
    """A cluster of a head and a worker that runs, and three nodes with room for one each."""
    return running()


def running(**of: object) -> World:
    """The same, with more of its PodGroup."""
    world = World()
    world.nodes("n0 n1 n2 n3 n4", cpu=4)
    roles = [("head", 1), ("a", 1)]
    world.group("ray", 2, roles=roles, timeout=60, owner="RayCluster/ray-uid", **of)
    for role in ("head", "a"):
        world.member(f"ray-{role}", "ray", role=role, owner=CLUSTER)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    assert world.started("ray") is not None
    return world


def came(world: World, *members: str) -> None:
    """Role b came, and these members of it."""
    world.alter("ray", min_member=4, roles=WITH_B)
    for name in members:
        world.member(name, "ray", role="b", owner=CLUSTER)
    world.settle()


def said_of(world: World, name: str) -> str:
    """What a pod waits for."""
    return world.pod_conditions(name)[-1][1]


def full(world: World, *but: str) -> None:
    """Others take every node but these."""
    for node in {"n0", "n1", "n2", "n3", "n4"} - {*but, *world.where().values()}:
        world.pod(f"other-{node}", node=node, spec=ONE_A_NODE)
    world.settle()


def test_a_role_that_comes_is_placed_whole_beside_those_that_run(world: World) -> None:
    came(world, "b0", "b1")
    assert set(world.where("b")) == {"b0", "b1"}
    assert world.condition("ray")[:2] == (True, "Scheduled")


def test_it_is_not_placed_in_part_and_the_gang_that_runs_is_not_below_its_minimum(
    world: World,
) -> None:
    full(world, "n4")
    came(world, "b0", "b1")
    assert world.where("b") == {}
    assert world.condition("ray")[:2] == (True, "Scheduled")
    assert world.condition("ray", "Satisfied")[0] is True
    assert not world.events("GangBelowMinimum")
    assert world.pod_conditions("b0")[-1][0] == "Unschedulable"
    gone = next(name for name in world.where("other-"))
    world.delete(gone)
    world.settle()
    assert set(world.where("b")) == {"b0", "b1"}


def test_it_waits_until_enough_of_its_members_exist(world: World) -> None:
    came(world, "b0")
    assert world.where("b") == {}
    world.member("b1", "ray", role="b", owner=CLUSTER)
    world.settle()
    assert set(world.where("b")) == {"b0", "b1"}


def test_members_of_roles_that_run_are_added_while_it_waits(world: World) -> None:
    came(world, "b0")
    world.member("ray-a2", "ray", role="a", owner=CLUSTER)
    world.settle()
    assert "ray-a2" in world.where()
    assert world.where("b") == {}


def test_once_it_is_placed_its_minimum_is_a_part_of_the_floor(world: World) -> None:
    came(world, "b0", "b1")
    world.run_pods(["b0", "b1"])
    world.settle()
    world.delete("b0")
    world.settle()
    assert world.condition("ray")[:2] == (False, "BelowMinimum")


@pytest.mark.parametrize("restart", [False, True])
def test_one_that_lost_its_place_in_a_crash_is_completed(world: World, restart: bool) -> None:
    world.alter("ray", min_member=4, roles=WITH_B)
    world.answer = lambda bind: "ok" if bind.target.pod.name == "b0" else "hold"
    for name in ("b0", "b1"):
        world.member(name, "ray", role="b", owner=CLUSTER)
    world.settle()
    assert set(world.where("b")) == {"b0"}
    if restart:
        world = world.restarted()
    else:
        world.answer = lambda _: "ok"
        world.delete("b1")
        world.member("b1.again", "ray", role="b", owner=CLUSTER)
    world.settle()
    assert len(world.where("b")) == 2


@pytest.mark.parametrize("process", [World.restarted, World.taken_over])
def test_one_that_lost_its_place_in_a_crash_is_not_completed_in_part(
    world: World, process: Callable[[World], World]
) -> None:
    """Semantics §2.1, §2.5: one of three is bound, and there is room for one more."""
    world.alter("ray", min_member=5, roles=(*AT_FIRST, ("b", 3)))
    world.answer = lambda bind: "ok" if bind.target.pod.name == "b0" else "hold"
    for name in ("b0", "b1", "b2"):
        world.member(name, "ray", role="b", owner=CLUSTER)
    world.settle()
    assert set(world.where("b")) == {"b0"}
    world = process(world)
    free = sorted({"n0", "n1", "n2", "n3", "n4"} - set(world.where().values()))
    world.pod("other", node=free[0], spec=ONE_A_NODE)
    world.settle()
    assert set(world.where("b")) == {"b0"}
    world.delete("other")
    world.settle()
    assert set(world.where("b")) == {"b0", "b1", "b2"}


def test_members_of_a_role_that_a_workload_gained_wait_until_its_podgroup_lists_it() -> None:
    """Its pods may be created before the PodGroup that is kept for the workload has changed."""
    world = running(derived=True)
    full(world, "n4")
    for name in ("b0", "b1"):
        world.member(name, "ray", role="b", owner=CLUSTER)
    world.settle(seconds=1)
    assert world.where("b") == {}
    came(world)
    world.settle(seconds=5)
    assert world.where("b") == {}, "there is room for one of the two that b needs"


def test_those_of_a_role_that_its_podgroup_never_lists_do_not_wait_for_long() -> None:
    world = running(derived=True)
    world.member("b0", "ray", role="b", owner=CLUSTER)
    world.settle()
    assert world.where("b") == {}
    world.settle(seconds=2.5)
    assert set(world.where("b")) == {"b0"}


def test_a_member_that_is_missing_does_not_wait_for_those() -> None:
    world = running(derived=True)
    world.member("b0", "ray", role="b", owner=CLUSTER)
    world.delete("ray-a")
    world.member("ray-a.again", "ray", role="a", owner=CLUSTER)
    world.settle()
    assert "ray-a.again" in world.where()


def test_a_role_that_goes_is_forgotten_without_a_warning(world: World) -> None:
    came(world, "b0", "b1")
    world.run_pods(["b0", "b1"])
    world.settle()
    world.alter("ray", min_member=2, roles=AT_FIRST)
    world.settle()
    world.delete("b0")
    world.delete("b1")
    world.settle()
    assert world.condition("ray")[:2] == (True, "Scheduled")
    assert not world.events("GangBelowMinimum")
    came(world, "b2")
    assert world.where("b") == {}, "it comes anew"


def test_a_role_of_which_the_minimum_was_lowered_to_zero_comes_anew(world: World) -> None:
    came(world, "b0", "b1")
    world.run_pods(["b0", "b1"])
    world.settle()
    world.alter("ray", min_member=2, roles=(*AT_FIRST, ("b", 0)))
    world.settle()
    world.delete("b0")
    world.delete("b1")
    world.settle()
    full(world, "n4")
    came(world, "b2", "b3")
    assert world.where("b") == {}


def test_several_come_and_one_that_does_not_fit_keeps_no_other_from_being_placed(
    world: World,
) -> None:
    full(world, "n4")
    world.alter("ray", min_member=5, roles=(*WITH_B, ("c", 1)))
    for name, role in (("b0", "b"), ("b1", "b"), ("c0", "c")):
        world.member(name, "ray", role=role, owner=CLUSTER)
    world.settle()
    assert "c0" in world.where()
    assert world.where("b") == {}


@pytest.mark.parametrize("role", ["a", "c"])
def test_a_role_that_waits_is_woken_whatever_other_members_wait_for(role: str) -> None:
    """Semantics §2.5, §9.2: one of a role that runs, or of another role that comes."""
    world = World()
    world.node("n0", 12)
    world.pod("other", node="n0", spec=spec(cpu=4))
    world.group("g", 1, roles=[("a", 1)], timeout=60)
    world.member("g-a", "g", role="a")
    world.settle()
    world.run_pods(["g-a"])
    world.settle()
    world.alter("g", min_member=4, roles=(("a", 1), ("b", 2), ("c", 1)))
    world.member("nowhere", "g", role=role, spec=NOWHERE)
    for name in ("b0", "b1"):
        world.member(name, "g", role="b")
    world.settle()
    assert world.where("b") == {}
    assert "b1 does not fit: 0/1 nodes are available: 1 Insufficient cpu" in said_of(world, "b0")
    world.delete("other")
    world.settle()
    assert set(world.where("b")) == {"b0", "b1"}


def test_a_role_is_searched_for_whatever_other_members_and_groups_wait_for() -> None:
    """Semantics §2.5, §9.7: while others wait for a first attempt, a long search is put off."""
    world = World()
    world.nodes("n0 n1", cpu=10)
    world.node("own", 2, labels=(("pool", "own"),))
    world.group("g", 1, roles=[("a", 1)], timeout=60)
    world.member("g-a", "g", role="a", spec=spec(cpu=2, node_selector=(("pool", "own"),)))
    world.settle()
    world.run_pods(["g-a"])
    world.settle()
    world.alter("g", min_member=6, roles=(("a", 1), ("b", 5)))
    world.member("nowhere", "g", role="a", spec=NOWHERE)
    for index, cpu in enumerate((4, 3, 3, 4, 6)):  # these two nodes, full, but not in this order
        world.member(f"b{index}", "g", role="b", spec=spec(cpu=cpu))
    for index in range(2):
        world.job(f"z{index}", 1, pod=NOWHERE)
    world.settle()
    assert len(world.where("b")) == 5


def test_what_is_said_of_the_group_names_the_role_and_how_many_exist(world: World) -> None:
    came(world, "b0")
    said = world.condition("ray")
    assert said[:2] == (True, "Scheduled")
    assert said[2].endswith("1 of 2 members of role b exist, which are scheduled together")


def test_who_waits_for_others_of_its_role_is_not_said_to_lack_capacity(world: World) -> None:
    full(world)
    came(world, "b0")
    world.member("ray-a2", "ray", role="a", owner=CLUSTER)
    world.settle()
    assert "Unschedulable" not in [why for why, _ in world.pod_conditions("b0")]
    assert world.pod_conditions("ray-a2")[-1][0] == "Unschedulable"


def test_a_role_whose_members_counted_before_does_not_raise_the_floor_beyond_what_runs() -> None:
    """They named a role that the PodGroup did not list; with Restart all would be evicted."""
    world = World()
    world.nodes("n0 n1 n2 n3 n4 n5", cpu=4)
    policy = OnIncomplete.RESTART
    world.group("g", 4, roles=[("head", 1)], timeout=60, on_incomplete=policy)
    world.member("g-h", "g", role="head", owner=CLUSTER)
    for index in range(3):
        world.member(f"g-b{index}", "g", role="b", owner=CLUSTER)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    world.alter("g", min_member=6, roles=(("head", 1), ("b", 2)))
    world.settle()
    assert world.condition("g")[:2] == (True, "Scheduled")
    for node in ("n4", "n5"):
        world.drop_node(node)
    for index in (3, 4):
        world.member(f"g-b{index}", "g", role="b", owner=CLUSTER)
    world.settle(seconds=100)
    assert not world.evictions


def test_a_minimum_of_zero_that_was_written_of_it_before_is_not_believed(world: World) -> None:
    """An older scheduler wrote it of a role that came, and placed its members one by one."""
    world.alter("ray", min_member=4, roles=WITH_B)
    world.settle()
    status = world.status["ray"]
    run = msgspec.structs.replace(
        status.runs[-1], minimums=(("", 2), ("a", 1), ("b", 0), ("head", 1))
    )
    world.status["ray"] = msgspec.structs.replace(status, runs=(*status.runs[:-1], run))
    world = world.restarted()
    full(world, "n4")
    came(world, "b0", "b1")
    assert world.where("b") == {}


# ── roles of members that run ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "roles",
    [
        pytest.param([("b", 3)], id="all of them"),
        pytest.param([("b", 5)], id="more than there are"),
        pytest.param([("b", 1), ("c", 2)], id="and another"),
    ],
)
def test_a_gang_that_runs_gets_roles_and_is_what_it_was(roles: list[tuple[str, int]]) -> None:
    """Its members named a role that the PodGroup did not list."""
    world = running_without_roles()
    since = world.started("g")
    world.alter("g", minimum=5, roles=roles)
    world.settle(seconds=100)
    assert world.started("g") == since
    assert world.condition("g")[:2] == (True, "Scheduled")
    assert not world.evictions
    assert not world.events("GangBelowMinimum")


def test_a_role_that_is_listed_late_is_needed_with_what_it_has() -> None:
    """Its members were placed as additions, and with it they are all that the PodGroup asks for."""
    world = running(derived=True)
    for name in ("b0", "b1"):
        world.member(name, "ray", role="b", owner=CLUSTER)
    world.settle(seconds=11)
    world.run_pods(sorted(world.where()))
    came(world)
    assert world.condition("ray")[2] == "4 of 4 required members are scheduled"
    world.delete("b0")
    world.settle()
    assert world.condition("ray")[:2] == (False, "BelowMinimum")


def test_a_success_counts_once_for_a_role_that_comes() -> None:
    """The floor never rises beyond what is held."""
    world = running_without_roles()
    world.finish("g-0")
    world.settle()
    world.alter("g", minimum=4, roles=[("b", 1)])
    world.settle()
    assert world.condition("g")[:2] == (True, "Scheduled")


@pytest.mark.parametrize("more", [0, 2])
@pytest.mark.parametrize("restart", [False, True])
def test_a_lost_member_is_replaced_though_its_role_asks_for_more_than_there_were(
    *, more: int, restart: bool
) -> None:
    """The role needs no more than were there, and members that the gang lacks do not wait."""
    world = running_without_roles()
    full(world)
    world.alter("g", minimum=5, roles=[("b", 5)])
    for index in range(more):
        world.member(f"g-more-{index}", "g", role="b", owner=CLUSTER)
    world.settle()
    assert len(world.where("g-")) == 3
    world.delete("g-0")
    world.member("g-again", "g", role="b", owner=CLUSTER)
    world.settle()
    if restart:
        world = world.restarted()
        world.settle()
    assert len(world.where("g-")) == 3
    assert world.condition("g")[:2] == (True, "Scheduled")


def running_without_roles() -> World:
    """A gang of three that runs, of a role that its PodGroup does not list."""
    world = World()
    world.nodes("n0 n1 n2 n3 n4", cpu=4)
    world.group("g", 3, timeout=60)
    for index in range(3):
        world.member(f"g-{index}", "g", role="b", owner=CLUSTER)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    return world


# ── children and roles that only a search places ─────────────────────────────────────────────────


def searched_for(*others: str) -> World:
    """A tree of which `a` runs; its child j, after others that fit nowhere, fits by a search."""
    world = World()
    world.nodes("n0 n1", cpu=10)
    world.node("own", 2, labels=(("pool", "own"),))
    roles = [("a", 1), *((name, 2) for name in others), ("j", 5)]
    world.group("g", 1, roles=roles, min_group_count=1, timeout=60)
    world.member("g-a", "g", role="a", spec=spec(cpu=2, node_selector=(("pool", "own"),)))
    world.settle()
    world.run_pods(["g-a"])
    world.settle()
    for name in others:
        for index in range(2):
            world.member(f"{name}-{index}", "g", role=name, spec=spec(cpu=20))
    for index, cpu in enumerate((4, 3, 3, 4, 6)):
        world.member(f"j{index}", "g", role="j", spec=spec(cpu=cpu))
    return world


def test_a_child_is_searched_for_whatever_other_groups_wait_for() -> None:
    """Semantics §2.8, §9.7: a hurried search is put off, not final."""
    world = searched_for()
    for index in range(2):
        world.job(f"z{index}", 1, pod=NOWHERE)
    world.settle()
    assert len(world.where("j")) == 5


def test_a_ninth_child_is_searched_for_too() -> None:
    """Semantics §2.8."""
    world = searched_for(*(f"r{index}" for index in range(8)))
    world.settle()
    assert len(world.where("j")) == 5


def test_a_role_is_searched_for_in_each_rack_whatever_others_wait_for() -> None:
    """Semantics §2.5, §9.7, §11.7."""
    w = fabric("l1=z/b/l:1 p1=z/b/r1:9 p2=z/b/r1:9 q1=z/b/r2:10 q2=z/b/r2:10")
    w.group("g", 1, roles=[("a", 1)], timeout=60)
    w.member("g-a-0", "g", role="a", spec=spec(cpu=1, node_selector=((HOST, "l1"),)))
    w.settle()
    w.run_pods(["g-a-0"])
    w.settle()
    w.alter("g", min_member=6, roles=(("a", 1), ("b", 5)), topology_parts=(part("b", "rack"),))
    for index, cpu in enumerate((4, 3, 3, 4, 6)):
        w.member(f"g-b-{index}", "g", role="b", spec=spec(cpu=cpu))
    for index in range(2):
        w.job(f"z{index}", 1, pod=NOWHERE)
    w.settle()
    assert len(w.where("g-b-")) == 5
