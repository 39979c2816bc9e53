# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §5.1: capacity reserved for what an admitted group may still take."""

from collections import Counter
from collections.abc import Callable

import pytest

from enbloc.engine.events import SlotsFree
from enbloc.engine.policies.families import Families
from enbloc.engine.state import Run
from enbloc.model.pods import Owner, Phase
from tests.rules.applications import application, executor
from tests.rules.world import JOB, ONE_A_NODE, World
from tests.world.builders import spec

APP = "spark-app"


def test_min_resources_are_held_and_not_just_checked() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app")
    world.settle()
    world.now += 1
    world.job("young", 1)
    world.settle()
    assert world.where("young") == {}
    assert "reserved for ns/app" in world.condition("young")[2]


def test_nothing_starts_without_the_capacity_that_it_asks_for() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.pod("x", node="n3", spec=ONE_A_NODE)
    application(world, "app")
    world.settle()
    assert world.where("app") == {}
    world.delete("x")
    world.settle()
    assert len(world.where("app")) == 1


def test_a_plan_of_which_nothing_was_sent_is_made_again_when_more_is_to_be_free() -> None:
    """Semantics §3.5, §5.1."""
    world = World(slots=0)
    world.nodes("n1 n2 n3", cpu=4)
    world.pod("x", node="n3", spec=ONE_A_NODE)
    world.job("g", 2, min_resources=(("cpu", 8_000),))
    world.settle()
    world.alter("g", min_resources=(("cpu", 12_000),))
    world.tell(SlotsFree(8))
    world.settle()
    assert world.where("g-") == {}
    assert "minResources needs 12 cpu free" in world.condition("g")[2]


def test_of_five_drivers_only_as_many_start_as_can_get_their_executors() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3 n4 n5 n6", cpu=4)
    for index in range(5):
        application(world, f"app{index}")
        world.now += 1
    world.settle()
    assert sorted(world.where()) == ["app0-driver", "app1-driver"]


def test_what_the_group_s_own_members_request_is_taken_off_the_reservation() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app")
    world.settle()
    for index in range(2):
        executor(world, "app", index)
    world.settle()
    assert len(world.where("app")) == 3
    world.node("n4", cpu=4)
    world.job("young", 1)
    world.settle()
    assert len(world.where("young")) == 1, "it is filled, so the rest is anybody's"


def test_a_succeeded_member_uses_up_a_reservation_for_good() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2, min_resources=(("cpu", 8_000),))
    world.settle()
    world.finish("g-0")
    world.settle()
    world.delete("g-0")
    world.job("young", 1)
    world.settle()
    assert len(world.where("young")) == 1


def test_a_group_that_has_finished_reserves_nothing() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app")
    world.settle()
    world.job("young", 3)
    world.finish("app-driver")
    world.settle()
    assert len(world.where("young")) == 3


def test_a_group_whose_podgroup_was_deleted_reserves_nothing() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app", timeout=600)
    world.settle()
    world.job("young", 2)
    world.settle()
    assert world.where("young") == {}
    world.drop_group("app")
    world.settle()
    assert len(world.where("young")) == 2


def test_a_started_gang_is_completed_though_not_all_of_its_min_resources_are_there() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3, minimum=2, min_resources=(("cpu", 12_000),))
    for name in ("n1", "n2"):
        world.lose_node(name)
    world.member("g-9", "g")
    world.settle()
    assert world.where("g-9") == {}
    world.node("n4", cpu=4)
    world.settle()
    assert world.where("g-9") == {"g-9": "n4"}, "it was admitted once; 8 of 12 are there now"


def cordon(world: World, node: str) -> None:
    world.node(node, cpu=4, unschedulable=True)


def not_ready(world: World, node: str) -> None:
    world.node(node, cpu=4, ready=False)


def test_what_is_held_for_a_lost_member_is_not_reserved_a_second_time() -> None:
    """Semantics §5.1: three nodes have members or are held for one, and a fourth is reserved."""
    world = World()
    world.nodes("n1 n2 n3 n4 n5", cpu=4)
    world.running_job("g", 3, min_resources=(("cpu", 16_000),))
    world.delete("g-0")
    world.now += 1
    world.job("young", 1)
    world.job("younger", 1)
    world.settle()
    assert len(world.where("young-")) == 1
    assert world.where("younger") == {}

    world.member("g-3", "g")
    world.settle()
    assert len(world.where("g-")) == 3
    assert world.where("younger") == {}, "the rest is still reserved"


@pytest.mark.parametrize("goes", [World.drop_node, cordon, not_ready])
@pytest.mark.parametrize("first", [False, True])
def test_what_a_lost_member_requested_is_reserved_elsewhere_if_its_node_takes_no_pods(
    goes: Callable[[World, str], None], *, first: bool
) -> None:
    """Semantics §5.1: what is held there helps no replacement, as when the node is drained."""
    world = World()
    world.nodes("n1 n2 n3 n4 n5", cpu=4)
    world.running_job("g", 3, min_resources=(("cpu", 16_000),))
    node = world.where("g-0")["g-0"]
    if first:
        goes(world, node)
    world.delete("g-0")
    world.settle()
    if not first:
        goes(world, node)
    world.now += 1
    world.job("young", 1)
    world.settle()
    assert world.where("young") == {}


def test_a_started_gang_that_lost_all_its_members_is_asked_for_its_min_resources_again() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 2, min_resources=(("cpu", 12_000),))
    for name in sorted(set(world.where().values())):
        world.lose_node(name)
    world.node("n4", cpu=4)
    world.member("g-8", "g")
    world.member("g-9", "g")
    world.settle()
    assert world.where("g") == {}, "8 of 12 are there"
    world.node("n5", cpu=4)
    world.settle()
    assert len(world.where("g")) == 2


def test_a_gang_that_holds_nothing_any_more_has_nothing_reserved() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app", owner=APP)
    world.settle()
    world.job("young", 1)
    world.settle()
    assert world.where("young") == {}
    world.delete("app-driver")
    world.settle()
    assert len(world.where("young")) == 1


def test_without_progress_a_reservation_expires_with_an_event_and_a_reason() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app")
    world.settle()
    world.run_pods(["app-driver"])
    world.job("young", 2)
    world.settle(seconds=59)
    assert world.where("young") == {}
    world.settle(seconds=2)
    assert len(world.where("young")) == 2
    assert len(world.events("ReservationExpired")) == 1
    assert world.condition("app")[:2] == (True, "ReservationExpired")


@pytest.mark.parametrize("restart", [False, True])
def test_while_a_held_member_starts_a_reservation_ends_only_with_its_whole_time(
    restart: bool,
) -> None:
    """Semantics §5.1: who waits for a leader that pulls its image cannot be there yet."""
    world = World(reservation_seconds=900)
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app")
    world.settle()
    world.job("young", 2)
    world.settle(seconds=600)
    if restart:
        world = world.restarted()
        world.settle()
    assert world.where("young") == {}
    world.change("app-driver", phase=Phase.RUNNING, unready=True)
    world.settle(seconds=100)
    assert world.where("young") == {}, "it runs, and is not ready"
    world.change("app-driver", unready=False, ready_at=world.now)
    world.settle(seconds=59)
    assert world.where("young") == {}, "from then on the timeout counts"
    world.settle(seconds=2)
    assert len(world.where("young")) == 2


def test_one_that_never_starts_keeps_it_no_longer_than_the_administrator_allows() -> None:
    """Semantics §5.1: reservationSeconds."""
    world = World(reservation_seconds=900)
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app")
    world.settle()
    world.job("young", 2)
    world.settle(seconds=899)
    assert world.where("young") == {}
    world.settle(seconds=2)
    assert len(world.where("young")) == 2


def test_progress_prolongs_a_reservation() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app")
    world.settle()
    world.run_pods(["app-driver"])
    world.settle(seconds=50)
    executor(world, "app")
    world.settle()
    world.run_pods(["app-executor-0"])
    world.job("young", 1)
    world.settle(seconds=50)
    assert world.where("young") == {}
    world.settle(seconds=11)
    assert len(world.where("young")) == 1


def test_a_restart_neither_forgets_nor_prolongs_a_reservation() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app")
    world.settle()
    world.run_pods(["app-driver"])
    world.settle(seconds=40)
    world.job("young", 1)
    again = world.restarted()
    again.settle(seconds=19)
    assert again.where("young") == {}
    again.settle(seconds=2)
    assert len(again.where("young")) == 1


def test_a_group_ordered_earlier_takes_the_capacity_and_the_last_reservation_shrinks() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3 n4 n5 n6", cpu=4)
    application(world, "first")
    world.now += 1
    application(world, "second")
    world.settle()
    world.job("urgent", 1, priority=5)
    world.settle()
    assert len(world.where("urgent")) == 1
    [event] = world.events("ReservationExpired")
    assert event.group is not None
    assert event.group.name == "second"
    world.job("young", 1)
    world.settle()
    assert world.where("young") == {}, "what is left stays reserved"


def test_groups_of_one_owner_use_a_reservation_and_are_not_held_back_by_it() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app", owner=APP)
    world.settle()
    world.now += 1
    world.job("stranger", 1)
    world.now += 1
    world.job("executors", 2, owner=Owner("SparkApplication", "app", APP))
    world.alter("executors", owner=APP)
    world.settle()
    assert len(world.where("executors")) == 2
    assert world.where("stranger") == {}


def test_groups_of_other_owners_are_held_back_by_a_reservation() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app", owner=APP)
    world.settle()
    world.now += 1
    world.job("others", 1)
    world.alter("others", owner="another")
    world.settle()
    assert world.where("others") == {}


def test_groups_of_another_namespace_are_of_another_owner_whatever_they_name() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app", owner=APP)
    world.settle()
    world.now += 1
    world.their_group("thief", 2, owner=APP)
    world.theirs("thief-0", "thief", node="n3")
    world.theirs("thief-1", "thief")
    world.settle()
    assert world.where("thief") == {"thief-0": "n3"}
    assert "reserved for ns/app" in world.condition("thief")[2]
    [reservation] = world.engine._state.reservations.amounts()
    assert reservation.amount == (("cpu", 8_000),), "nor did they use it up"


def test_groups_of_one_owner_have_each_the_min_resources_that_it_asks_for() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    for name in ("one", "two"):
        application(world, name, owner=APP)
        world.now += 1
    world.settle()
    assert sorted(world.where()) == ["one-driver"], "8 of 12 CPUs are free, and those are reserved"


def _replicas(world: World, count: int) -> None:
    """LeaderWorkerSet's groups: one owner, each with a leader now and two workers to come."""
    for index in range(count):
        application(world, f"lws-{index}", owner="lws", timeout=600)
        world.now += 1
    world.settle()


def test_of_ten_groups_of_one_owner_only_as_many_start_as_get_their_workers() -> None:
    """Semantics §5.1: none is exempt from the reservation of another one of its owner."""
    world = World()
    world.nodes(" ".join(f"n{index}" for index in range(8)), cpu=4)
    _replicas(world, 10)
    assert sorted(world.where()) == ["lws-0-driver", "lws-1-driver"]
    assert "reserved for ns/lws-0, ns/lws-1" in world.condition("lws-2")[2]
    for index in range(2):
        world.member(f"lws-1-worker-{index}", "lws-1")
    world.settle()
    assert len(world.where("lws-1")) == 3
    assert len(world.where()) == 4, "two nodes are left, and both are reserved for the first"


def test_a_group_with_min_resources_fills_no_reservation_but_its_own() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3 n4 n5 n6 n7 n8", cpu=4)
    _replicas(world, 2)
    for index in range(2):
        world.member(f"lws-1-worker-{index}", "lws-1")
    world.settle()
    [reservation] = world.engine._state.reservations.amounts()
    assert (reservation.holder and reservation.holder.name, reservation.amount) == (
        "lws-0",
        (("cpu", 8_000),),
    )


def test_where_a_foreign_pod_took_the_capacity_nothing_ordered_later_is_admitted() -> None:
    """Semantics §5.1: until all of it is there again."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    application(world, "app", timeout=600)
    world.settle()
    free = [n for n in ("n1", "n2", "n3", "n4") if n not in world.where().values()]
    for index in range(2):
        world.pod(f"foreign-{index}", node=free[index], scheduler="other", spec=ONE_A_NODE)
    world.now += 1
    world.job("young", 1)
    world.settle()
    world.delete("foreign-0")
    world.settle()
    assert world.where("young") == {}, "two nodes are free, and both are reserved"
    world.delete("foreign-1")
    world.settle()
    assert len(world.where("young")) == 1


def test_what_the_groups_of_an_owner_hold_is_added_up_once_for_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1", cpu=4000)
    for index in range(20):
        application(world, f"app{index}", owner=APP, timeout=600)
        world.job(f"more{index}", 1, owner=Owner("SparkApplication", "app", APP))
        world.alter(f"more{index}", owner=APP)
    world.settle()
    assert len(world.where()) == 40
    asked: list[Run] = []
    held = Families.taken

    def counted(families: Families, run: Run) -> Counter[str]:
        asked.append(run)
        return held(families, run)

    monkeypatch.setattr(Families, "taken", counted)
    world.change("more7-0", labels=(("a", "b"),))
    world.step()
    assert [run.key.name for run in asked] == ["more7"]


def test_pods_without_a_group_are_held_back_by_a_reservation_too() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app")
    world.settle()
    world.run_pods(["app-driver"])
    world.now += 1
    world.pod("solo", spec=ONE_A_NODE)
    world.settle()
    assert world.where("solo") == {}
    world.settle(seconds=61)
    assert len(world.where("solo")) == 1


def test_what_is_reserved_for_nobody_is_anybody_s() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.node("n4", cpu=4, gpu=1)
    application(world, "app")
    world.settle()
    world.job("young", 1)
    world.pod("gpu-only", spec=spec(cpu=0, gpu=1))
    world.settle()
    assert len(world.where("young")) == 1
    assert len(world.where("gpu-only")) == 1


def test_where_a_node_was_lost_nothing_ordered_later_is_admitted_until_it_holds_again() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    application(world, "app", timeout=6000)
    world.settle()
    free = next(n for n in ("n1", "n2", "n3", "n4") if n not in world.where().values())
    world.drop_node(free)
    world.now += 1
    world.job("young", 1)
    world.settle()
    assert world.where("young") == {}
    world.nodes("n5", cpu=4)
    world.settle()
    assert len(world.where("young")) == 1


def test_lowering_min_resources_gives_the_difference_back_at_once() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    application(world, "app", timeout=6000)
    world.settle()
    world.job("young", 1)
    world.settle()
    assert world.where("young") == {}
    world.alter("app", min_resources=(("cpu", 8_000),))
    world.settle()
    assert len(world.where("young")) == 1


def test_a_group_that_is_evicted_gives_its_reservation_back() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1", of=3, min_resources=(("cpu", 12_000),))
    world.job("young", 2)
    world.settle(seconds=30)
    assert world.where("young") == {}
    world.settle(seconds=31)
    assert world.evictions == ["g-0"]
    assert len(world.where("young")) == 2


def test_a_replacement_claims_again_what_its_loss_left() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2, min_resources=(("cpu", 8_000),))
    world.job("young", 1)
    world.delete("g-1")
    world.settle(seconds=30)
    assert world.where("young") == {}
    world.member("g-9", "g", owner=JOB)
    world.settle()
    assert len(world.where("g")) == 2


@pytest.mark.parametrize("before", [{"unschedulable": True}, {"ready": False}])
def test_a_node_that_takes_pods_again_lets_a_group_have_its_min_resources(
    before: dict[str, bool],
) -> None:
    """Semantics §5.1."""
    world = World()
    world.node("n1", cpu=8)
    world.node("n2", cpu=8, **before)
    world.group("g", 1, min_resources=(("cpu", 12_000),))
    world.pod("g-0", "g")
    world.settle()
    assert world.where() == {}
    world.node("n2", cpu=8)
    world.settle()
    assert list(world.where()) == ["g-0"]
