# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §5.1: for how long capacity is reserved, and how much for one namespace."""

from typing import Any

from tests.calls import calls_of
from tests.rules.applications import application
from tests.rules.world import NEXT_JOB, World
from tests.world.builders import spec

APP = "spark-app"
DAY = 86_400.0


def _patient_application(**settings: Any) -> World:
    """One CPU runs, and the other 63 stay reserved for as long as the rules let them."""
    world = World(**settings)
    world.nodes("n1", cpu=64)
    world.group("app", 1, min_resources=(("cpu", 64_000),), timeout=int(DAY))
    world.member("app-0", "app", spec=spec(cpu=1))
    world.settle()
    world.now += 1
    world.group("young", 1, timeout=60)
    world.member("young-0", "young", spec=spec(cpu=50))
    world.settle()
    return world


def test_a_reservation_ends_when_reservation_seconds_pass_in_all() -> None:
    """Semantics §5.1: whatever scheduleTimeoutSeconds its group asks for."""
    world = _patient_application()
    world.settle(seconds=898)
    assert world.where("young") == {}
    world.settle(seconds=2)
    assert len(world.where("young")) == 1
    [event] = world.events("ReservationExpired")
    assert "was not used up within reservationSeconds (900 s)" in event.note
    assert world.condition("app")[:2] == (True, "ReservationExpired")
    assert "reservationSeconds" in world.condition("app")[2]


def test_the_administrator_says_for_how_long_a_reservation_is_kept() -> None:
    """Semantics §5.1."""
    world = _patient_application(reservation_seconds=120.0)
    world.settle(seconds=118)
    assert world.where("young") == {}
    world.settle(seconds=2)
    assert len(world.where("young")) == 1


def test_members_that_come_one_by_one_do_not_prolong_a_reservation_beyond_that() -> None:
    """Semantics §5.1: ten small pods, one every 800 seconds, cannot keep 64 CPUs for hours."""
    world = _patient_application()
    for index in range(1, 4):
        world.settle(seconds=800)
        world.member(f"app-{index}", "app", spec=spec(cpu=1))
    world.settle()
    assert len(world.where("app")) == 4, "a further member is placed, and opens nothing"
    assert len(world.where("young")) == 1
    assert len(world.events("ReservationExpired")) == 1


def test_a_member_that_dies_and_comes_back_does_not_begin_a_reservation_anew() -> None:
    """Semantics §5.1: what one run was reserved is added up, also where nothing was left of it."""
    world = _patient_application()
    for index in range(3):
        world.settle(seconds=400)
        world.delete(f"app-{index}")
        world.member(f"app-{index + 1}", "app", spec=spec(cpu=1))
    world.settle()
    assert len(world.where("young")) == 1


def test_a_new_run_has_a_reservation_of_its_own() -> None:
    """Semantics §5.1."""
    world = _patient_application()
    world.settle(seconds=900)
    world.delete("young-0")
    world.delete("app-0")
    world.settle()
    world.member("app-1", "app", spec=spec(cpu=1), owner=NEXT_JOB)
    world.settle()
    world.now += 1
    world.member("young-1", "young", spec=spec(cpu=50), owner=NEXT_JOB)
    world.settle(seconds=890)
    assert world.where("young") == {}
    world.settle(seconds=10)
    assert len(world.where("young")) == 1


def test_a_new_run_does_not_inherit_that_a_reservation_expired() -> None:
    """Semantics §5.1: also where a member that succeeded was there until the new one came."""
    world = World()
    world.nodes("n1", cpu=64)
    world.group("app", 1, min_resources=(("cpu", 64_000),), timeout=60, owner=APP)
    world.member("app-0", "app", spec=spec(cpu=1))
    world.settle(seconds=61)
    world.finish("app-0")
    world.settle()
    world.member("app-1", "app", spec=spec(cpu=1), owner=NEXT_JOB)
    world.settle()
    world.now += 1
    world.pod("young", spec=spec(cpu=50))
    world.settle()
    assert world.where("young") == {}


def test_a_job_that_was_suspended_has_what_is_left_of_its_reservation_when_it_is_resumed() -> None:
    """Semantics §5.1: time in which nothing is reserved does not count."""
    world = _patient_application()
    world.delete("young-0")
    world.settle(seconds=100)
    world.delete("app-0")
    world.settle(seconds=5000)
    world.member("app-1", "app", spec=spec(cpu=1))
    world.settle()
    world.member("young-1", "young", spec=spec(cpu=50))
    world.settle(seconds=790)
    assert world.where("young") == {}
    world.settle(seconds=10)
    assert len(world.where("young")) == 1


def test_a_restart_knows_when_a_reservation_began() -> None:
    """Semantics §5.1: by the oldest member that is still held."""
    world = _patient_application()
    world.settle(seconds=500)
    world.member("app-1", "app", spec=spec(cpu=1))
    world.settle()
    again = world.restarted()
    again.settle(seconds=390)
    assert again.where("young") == {}
    again.settle(seconds=10)
    assert len(again.where("young")) == 1
    late = again.restarted()
    late.member("app-2", "app", spec=spec(cpu=1))
    late.delete("young-0")
    late.member("young-1", "young", spec=spec(cpu=50))
    late.settle()
    assert len(late.where("young")) == 1, "it is over for this run"


def test_a_restart_knows_of_a_started_group_whose_first_member_was_replaced() -> None:
    """Semantics §5.1."""
    world = _patient_application()
    world.run_pods(["app-0"])
    world.settle(seconds=500)
    world.member("app-1", "app", spec=spec(cpu=1))
    world.settle()
    world.delete("app-0")
    world.settle()
    again = world.restarted()
    again.settle(seconds=401)
    assert len(again.where("young")) == 1


def test_a_limit_bounds_what_the_reservations_of_one_namespace_keep_together() -> None:
    """Semantics §5.1: what is beyond it is admitted as ever, and not reserved."""
    world = World(reservation_limits=(("cpu", 10_000),))
    world.nodes("n1 n2 n3 n4 n5 n6", cpu=4)
    application(world, "first")
    world.now += 1
    application(world, "second")
    world.settle()
    assert sorted(world.where()) == ["first-driver", "second-driver"]
    [event] = world.events("ReservationLimited")
    assert event.group is not None
    assert event.group.name == "second"
    assert event.note == (
        "6 of 8 cpu of minResources are not reserved: the configuration limits the reservations of "
        "namespace ns to 10 cpu (reservationLimits)"
    )
    world.now += 1
    world.job("young", 2)
    world.settle()
    assert world.where("young") == {}, "ten of sixteen free CPUs are reserved"
    world.job("small", 1)
    world.settle()
    assert len(world.where("small")) == 1


def test_the_limit_of_one_namespace_is_not_used_up_by_another_one() -> None:
    """Semantics §5.1."""
    world = World(reservation_limits=(("cpu", 8_000),))
    world.nodes("n1 n2 n3 n4 n5 n6", cpu=4)
    application(world, "app")
    world.now += 1
    world.their_group("theirs", 1, min_resources=(("cpu", 12_000),), timeout=60)
    world.theirs("theirs-0", "theirs")
    world.settle()
    world.now += 1
    world.job("young", 1)
    world.settle()
    assert world.where("young") == {}
    assert world.events("ReservationLimited") == []


def test_what_a_limit_left_out_is_reserved_when_an_earlier_reservation_is_over() -> None:
    """Semantics §5.1."""
    world = World(reservation_limits=(("cpu", 8_000),))
    world.nodes("n1 n2 n3 n4 n5 n6", cpu=4)
    application(world, "first", timeout=600)
    world.now += 1
    application(world, "second", timeout=600)
    world.settle()
    world.finish("first-driver")
    world.settle()
    world.now += 1
    world.job("young", 4)
    world.settle()
    assert world.where("young") == {}, "eight of sixteen free CPUs are reserved for the second"
    assert len(world.events("ReservationLimited")) == 1


def test_a_group_that_fills_a_reservation_costs_no_more_for_each_that_does() -> None:
    """Semantics §5.1 and §9.1: of many groups of one controller, some are placed."""
    costs: list[int] = []
    for count in (50, 200):
        world = World(log=1, validate=False)
        world.nodes("n1", cpu=300, pods=300)
        application(world, "app", owner="app")
        world.settle()
        for number in range(count):
            world.group(f"g{number}", 1, timeout=3600, owner="app")
            world.pod(f"g{number}-0", f"g{number}", spec=spec(cpu="1m"))
        world.settle()
        for number in range(20):
            world.group(f"more{number}", 1, timeout=3600, owner="app")
            world.pod(f"more{number}-0", f"more{number}", spec=spec(cpu="1m"))
        costs.append(calls_of(world.settle))
        assert len(world.where("more")) == 20
    assert costs[1] <= 1.2 * costs[0]


def test_an_attempt_costs_no_more_for_each_reservation_that_is_shared() -> None:
    """Semantics §5.1 and §9.1: one owner has many of them, and another group the first."""
    costs: list[int] = []
    for count in (100, 400):
        world = World(sync=False, log=1, validate=False)
        world.nodes("n1 n2", cpu=300, pods=300)
        for number in range(count):
            owner = "app" if number else "other"
            world.group(f"g{number}", 1, min_resources=(("cpu", 100),), timeout=600, owner=owner)
            node = f"n{1 + number % 2}"
            world.pod(f"g{number}-0", f"g{number}", spec=spec(cpu="1m"), node=node)
        world.sync()
        world.settle()
        world.group("young", 1, owner="app", created=world.now)
        world.pod("young-0", "young", spec=spec(cpu="1m"), created=world.now + 1)
        costs.append(calls_of(world.step))
        assert len(world.sent) == 1
    assert costs[1] <= 5 * costs[0]


def test_reservations_are_reviewed_once_for_all_groups_of_their_owner_that_change() -> None:
    """Semantics §5.1 and §9.1: one owner has many reservations, and loses many other members."""
    costs: list[int] = []
    for count in (25, 100):
        world = World(sync=False, log=1, validate=False)
        world.nodes("n1 n2", cpu=300, pods=300)
        for number in range(count):
            for name, wanted in (("holder", (("cpu", 1000),)), ("other", ())):
                world.group(f"{name}{number}", 1, min_resources=wanted, timeout=600, owner="app")
                pod = f"{name}{number}-0"
                world.pod(pod, f"{name}{number}", spec=spec(cpu="1m"), node=f"n{1 + number % 2}")
        world.sync()
        world.settle()
        for number in range(count):
            world.delete(f"other{number}-0")
        costs.append(calls_of(world.step))
        due = {each.amount for each in world.engine._state.reservations.amounts()}
        assert due == {(("cpu", 999),)}
    assert costs[1] <= 6 * costs[0]
