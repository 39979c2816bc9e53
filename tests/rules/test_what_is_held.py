# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §2.1 to §2.2: the deficit, and what success is worth."""

from collections.abc import Callable

import pytest

from enbloc.model.groups import GroupMemory
from enbloc.model.pods import Phase
from tests.rules.world import NEXT_JOB, World

# ── no stored flag; the deficit, whole (semantics §2.1) ──────────────────────────────────────────


def test_conditions_never_feed_a_decision() -> None:
    """Semantics §2.1."""
    world = World(sync=False)
    world.nodes("n1", cpu=4)
    memory = GroupMemory("job-1", attempts=3, initially_scheduled=True)
    world.group("g", 2, memory=memory)
    world.member("g-0", "g")
    world.sync()
    world.settle()
    assert world.where("g") == {}, "that it was scheduled once says nothing of the present"
    world.member("g-1", "g", unschedulable=True)
    world.nodes("n2", cpu=4)
    world.settle()
    assert len(world.where("g")) == 2, "that it could not be once does not either"


def test_each_plan_places_the_deficit_whole_or_nothing_of_it() -> None:
    """Semantics §2.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1", of=3)
    world.settle()
    assert set(world.where("g")) == {"g-0"}, "room for one of the two that are missing"
    world.node("n3", cpu=4)
    world.settle()
    assert len(world.where("g")) == 3
    assert len(world.plans()) == 1, "both on one snapshot"


def test_with_nothing_missing_members_are_scheduled_as_they_come() -> None:
    """Semantics §2.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 2)
    world.settle()
    for index in (2, 3):
        world.member(f"g-{index}", "g")
    world.settle()
    assert len(world.where("g")) == 3, "one more fits, and does not wait for the other"


def test_an_addition_that_is_always_refused_holds_up_none_behind_it() -> None:
    """Semantics §2.1."""
    world = World(slots=1)
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 1)
    world.settle()
    world.answer = lambda bind: "SCHEDULER_ERROR" if bind.target.pod.name == "g-refused" else "ok"
    world.member("g-refused", "g")
    world.now += 1
    world.member("g-behind", "g")
    world.settle()
    assert "g-behind" in world.where(), "each is for itself"


def _cut_by_a_crash(world: World) -> None:
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1 n2", of=4)


def _replacements(world: World) -> None:
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 4)
    for name in ("n3", "n4"):
        world.lose_node(name)
    for index in (4, 5):
        world.member(f"g-{index}", "g")


def _a_raised_minimum(world: World) -> None:
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    world.alter("g", minimum=4)
    for index in (2, 3):
        world.member(f"g-{index}", "g")


def _a_restarted_job(world: World) -> None:
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    for name in ("n1", "n2"):
        world.lose_node(name)
    for index in (4, 5):
        world.member(f"g-{index}", "g", owner=NEXT_JOB)


@pytest.mark.parametrize(
    "cut", [_cut_by_a_crash, _replacements, _a_raised_minimum, _a_restarted_job]
)
def test_a_cut_burst_a_replacement_a_raised_minimum_and_a_restarted_job_are_one_case(
    cut: Callable[[World], None],
) -> None:
    """Semantics §2.1."""
    world = World()
    cut(world)
    world.settle()
    held = set(world.where("g"))
    world.node("n8", cpu=4)
    world.settle()
    assert set(world.where("g")) == held, "room for one of the two that are missing"
    world.node("n9", cpu=4)
    world.settle()
    assert len(world.where("g")) == len(held) + 2
    assert len({world.pods[name].binding_record for name in set(world.where("g")) - held}) == 1


# ── success counts (semantics §2.2) ──────────────────────────────────────────────────────────────


def test_a_job_whose_first_pods_finish_does_not_fall_below_its_minimum() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    for name in ("g-0", "g-1"):
        world.finish(name)
    world.settle(seconds=1000)
    assert world.condition("g")[:2] == (True, "Scheduled")
    assert world.condition("g", "Satisfied")[0] is True
    assert world.evictions == []


def test_a_recreated_pod_of_a_job_whose_others_succeeded_is_placed() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    for name in ("g-0", "g-1"):
        world.finish(name)
    world.delete("g-2")
    world.member("g-3", "g")
    world.settle(seconds=2)
    assert "g-3" in world.where("g")


def test_the_count_outlives_the_pods_and_the_process() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    for name in ("g-0", "g-1"):
        world.finish(name)
        world.settle()
        world.delete(name)
    world.delete("g-2")
    world.settle()
    assert world.status["g"].succeeded == 2
    world.member("g-3", "g")
    again = world.restarted()
    again.settle(seconds=2)
    assert "g-3" in again.where("g")
    assert again.status["g"].succeeded == 2


def test_the_count_is_kept_for_each_role() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 3, roles=[("launcher", 1), ("worker", 2)])
    for name, role in (("l", "launcher"), ("w-0", "worker"), ("w-1", "worker")):
        world.member(name, "g", role=role)
    world.settle()
    world.finish("w-0")
    world.settle()
    world.delete("w-0")
    world.settle()
    status = world.status["g"]
    assert [(role.name, role.succeeded) for role in status.roles] == [
        ("launcher", 0),
        ("worker", 1),
    ]
    again = world.restarted()
    again.delete("w-1")
    again.member("w-2", "g", role="worker")
    again.settle()
    assert "w-2" in again.where(), "one worker succeeded, so one more is enough"


def test_the_count_never_goes_back_within_a_run() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    counts = []
    for name in ("g-0", "g-1", "g-2"):
        world.finish(name)
        world.settle()
        counts.append(world.status["g"].succeeded)
        world.delete(name)
        world.settle()
        counts.append(world.status["g"].succeeded)
        world.alter("g", memory=GroupMemory("job-1", succeeded=0))
        world.settle()
        counts.append(world.status["g"].succeeded)
    assert counts == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_the_scheduler_writes_run_start_and_successes() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    assert world.status["g"].run_name == "job-1"
    world.now += 7
    world.run_pods(["g-0"])
    world.settle()
    assert world.started("g") is None, "one of two"
    world.finish("g-1")
    world.settle()
    assert world.started("g") == world.now, "Running or Succeeded, at the same time"
    assert world.status["g"].succeeded == 1


def test_a_group_has_not_started_while_a_role_is_below_its_minimum() -> None:
    """Semantics §1: the floor is the minimum of the group, and of each of its roles."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 3, roles=(("lead", 1),))
    for name, role in (("l", "lead"), ("w-0", "work"), ("w-1", "work"), ("w-2", "work")):
        world.member(name, "g", role=role)
    world.settle()
    world.run_pods(["w-0", "w-1", "w-2"])
    world.settle()
    assert world.started("g") is None
    world.run_pods(["l"])
    world.settle()
    assert world.started("g") == world.now


def test_without_a_status_a_group_counts_as_started_if_whom_others_bound_runs() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.lose_node("n2")
    [left] = world.where("g")
    world.change(left, binding_record="")
    again = world.restarted(status=False)
    again.settle(seconds=1000)
    assert again.evictions == [], "a gang that has started is never evicted"
    assert again.condition("g")[1] == "BelowMinimum"


def test_without_a_status_one_member_of_a_burst_that_was_cut_proves_no_start() -> None:
    """Semantics §2.2: else two halves of gangs would keep each other's room for ever."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.lose_node("n2")
    again = world.restarted(status=False)
    again.settle(seconds=1000)
    assert len(again.evictions) == 1


def test_without_a_status_what_is_still_listed_as_succeeded_counts() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    world.finish("g-0")
    world.finish("g-1")
    world.delete("g-2")
    again = world.restarted(status=False)
    again.member("g-3", "g")
    again.settle()
    assert "g-3" in again.where("g")
    assert again.status["g"].succeeded == 2


def test_failed_members_are_not_held() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.finish("g-1", Phase.FAILED)
    world.settle()
    assert world.condition("g")[:2] == (False, "BelowMinimum")
    assert world.status["g"].succeeded == 0


@pytest.mark.parametrize("restart", [False, True])
def test_a_member_that_is_deleted_is_lost_although_it_ends_with_success(restart: bool) -> None:
    """Semantics §2.2: it saved its work on SIGTERM, and a finalizer keeps it."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.change("g-1", deleting=True)
    world.settle()
    world.finish("g-1")
    if restart:
        world = world.restarted()
    world.settle()
    assert world.condition("g")[:2] == (False, "BelowMinimum")
    assert world.status["g"].succeeded == 0
    world.member("g-2", "g")
    world.settle()
    assert "g-2" in world.where("g")


@pytest.mark.parametrize("restart", [False, True])
def test_a_member_that_succeeded_before_it_was_deleted_is_held(restart: bool) -> None:
    """Semantics §2.2: a finalizer keeps it, and status counts it."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.finish("g-1")
    world.settle()
    world.change("g-1", deleting=True)
    if restart:
        world = world.restarted()
    world.settle()
    assert world.condition("g", "Satisfied")[0] is True
    assert world.status["g"].succeeded == 1


def test_a_finished_bare_pod_of_an_older_run_is_not_counted_in_the_new_one() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1", cpu=8)
    world.gang("g", 2)
    world.settle()
    for index in range(2):
        world.finish(f"g-{index}")
    world.settle()
    world.pod("new-0", "g")
    world.settle()
    assert world.status["g"].succeeded == 0
    world.change("g-0", deleting=True)
    world.settle()
    assert world.status["g"].succeeded == 0
    assert world.where("new") == {}


def test_an_old_bare_pod_that_ends_well_after_a_new_run_began_does_not_count() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1", cpu=8)
    world.gang("g", 2)
    world.settle()
    for index in range(2):
        world.change(f"g-{index}", deleting=True)
    world.pod("new-0", "g")
    world.settle()
    world.finish("g-0")
    world.settle()
    assert world.status["g"].succeeded == 0
    assert world.where("new") == {}


def test_bare_pods_that_succeeded_in_an_older_run_do_not_count_after_a_restart() -> None:
    """Semantics §2.2."""
    world = World()
    world.nodes("n1", cpu=8)
    world.gang("g", 2)
    world.settle()
    for index in range(2):
        world.finish(f"g-{index}")
    world.settle()
    world.pod("new-0", "g")
    world.settle()
    again = world.restarted()
    again.settle()
    assert again.status["g"].succeeded == 0
    assert again.where("new") == {}
