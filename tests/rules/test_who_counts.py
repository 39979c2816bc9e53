# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §2.3 to §2.5: who makes a quorum, in which run and of which minimum."""

import pytest

from enbloc.model.groups import GroupKey
from enbloc.model.pods import Phase, PodKey
from tests.rules.world import NEXT_JOB, World

# ── quorum (semantics §2.3) ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "third",
    [
        pytest.param({"gates": ("hold",)}, id="gated"),
        pytest.param({"scheduler": "default-scheduler"}, id="of another scheduler"),
        pytest.param({"deleting": True}, id="terminating"),
        pytest.param({"phase": Phase.FAILED}, id="failed"),
    ],
)
def test_only_live_members_of_ours_without_gates_make_a_quorum(
    third: dict[str, object],
) -> None:
    """Semantics §2.3."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 3)
    world.member("g-0", "g")
    world.member("g-1", "g")
    world.member("g-2", "g", **third)
    world.settle()
    assert world.where("g") == {}
    assert world.condition("g")[:2] == (False, "WaitingForMembers")
    world.member("g-3", "g")
    world.settle()
    assert len(world.where("g")) == 3


def test_what_is_held_counts_towards_the_quorum_whoever_bound_it() -> None:
    """Semantics §2.3."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 3)
    world.member("g-0", "g", scheduler="default-scheduler", node="n1")
    world.member("g-1", "g", phase=Phase.SUCCEEDED, node="n2")
    world.member("g-2", "g")
    world.settle()
    assert "g-2" in world.where("g")


def test_every_role_needs_its_own_quorum() -> None:
    """Semantics §2.3."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 2, roles=[("launcher", 1), ("worker", 1)])
    for index in range(3):
        world.member(f"w-{index}", "g", role="worker")
    world.settle()
    assert world.where() == {}
    world.member("l", "g", role="launcher")
    world.settle()
    assert {"l"} < set(world.where())


def test_the_total_is_needed_beyond_the_roles() -> None:
    """Semantics §2.3."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 4, roles=[("launcher", 1), ("worker", 1)])
    world.member("l", "g", role="launcher")
    world.member("w", "g", role="worker")
    world.member("x", "g")
    world.settle()
    assert world.where() == {}
    assert world.condition("g")[2] == "3 of 4 members exist"


def test_members_are_counted_per_namespace() -> None:
    """Semantics §2.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    world.member("g-0", "g")
    world.pod("g-1", key=PodKey("elsewhere", "g-1"), group=None)
    world.change("g-1", group=GroupKey("elsewhere", "g"))
    world.settle()
    assert world.where() == {}
    assert world.condition("g")[2] == "1 of 2 members exist"


def test_members_are_counted_per_run() -> None:
    """Semantics §2.3."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 2)
    for index in range(2):
        world.change(f"g-{index}", deleting=True)
    world.member("new-0", "g", owner=NEXT_JOB)
    world.settle()
    assert world.where("new") == {}
    world.member("new-1", "g", owner=NEXT_JOB)
    world.settle()
    assert len(world.where("new")) == 2


# ── a restarted job (semantics §2.4) ─────────────────────────────────────────────────────────────


def test_a_restarted_job_is_a_new_run_and_needs_its_whole_floor_again() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 2)
    for index in range(2):
        world.finish(f"g-{index}")
    world.settle()
    world.now += 50
    world.member("new-0", "g", owner=NEXT_JOB)
    world.settle()
    status = world.status["g"]
    assert (status.run_name, status.started, status.succeeded) == ("job-2", None, 0)
    assert world.where("new") == {}


def test_a_jobset_that_is_recreated_is_told_by_its_labels() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    world.member("a", "g", restart="set/0")
    world.member("b", "g", restart="set/0", owner=NEXT_JOB)
    world.settle()
    assert len(world.where()) == 2, "child Jobs of one JobSet differ in UID"
    for name in ("a", "b"):
        world.finish(name)
    world.settle()
    assert world.status["g"].succeeded == 2
    world.member("c", "g", restart="set/1")
    world.settle()
    assert world.condition("g")[2] == "1 of 2 members exist"
    assert (world.status["g"].run_name, world.status["g"].succeeded) == ("set/1", 0)


def test_old_members_still_terminating_hold_their_room() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    for index in range(2):
        world.change(f"g-{index}", deleting=True)
    for index in range(2):
        world.member(f"new-{index}", "g", owner=NEXT_JOB)
    world.settle()
    assert world.where("new") == {}
    for index in range(2):
        world.delete(f"g-{index}")
    world.settle()
    assert len(world.where("new")) == 2


def test_old_members_still_terminating_count_for_nothing_else() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 2, priority=-5)
    for index in range(2):
        world.change(f"g-{index}", deleting=True)
    world.now += 100
    for index in range(2):
        world.member(f"new-{index}", "g", owner=NEXT_JOB, priority=3)
    world.step()
    [members] = world.engine._groups
    facts = world.engine._groups.facts(members)
    assert (facts.priority, facts.queue_time, facts.members) == (3, world.now, 2)


# ── raising and lowering the minimum (semantics §2.5) ────────────────────────────────────────────


def test_raising_the_minimum_never_makes_the_running_run_incomplete() -> None:
    """Semantics §2.5."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.alter("g", minimum=4)
    world.settle(seconds=1000)
    assert world.condition("g")[:2] == (True, "Scheduled")
    assert world.condition("g", "Satisfied")[0] is True
    assert world.status["g"].generation == 2
    again = world.restarted()
    again.settle(seconds=1000)
    assert again.condition("g")[:2] == (True, "Scheduled")
    assert again.evictions == []


def test_raising_the_minimum_holds_for_the_next_run() -> None:
    """Semantics §2.5."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 2)
    world.alter("g", minimum=3)
    for index in range(2):
        world.finish(f"g-{index}")
    for index in range(2):
        world.member(f"new-{index}", "g", owner=NEXT_JOB)
    world.settle()
    assert world.where("new") == {}
    world.member("new-2", "g", owner=NEXT_JOB)
    world.settle()
    assert len(world.where("new")) == 3


def test_a_started_group_still_grows_one_by_one_when_its_minimum_is_raised() -> None:
    """Semantics §2.5."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 2)
    world.alter("g", minimum=4)
    world.member("g-2", "g")
    world.settle()
    assert "g-2" in world.where("g")


def test_before_the_start_a_raised_minimum_counts() -> None:
    """Semantics §2.5."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 2)
    world.settle()
    world.alter("g", minimum=3)
    world.settle()
    assert world.condition("g")[:2] == (False, "WaitingForMembers")


def test_lowering_works_at_once() -> None:
    """Semantics §2.5."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 3)
    world.settle()
    assert world.where("g") == {}
    world.alter("g", minimum=2)
    world.settle()
    assert len(world.where("g")) == 2


def test_lowering_ends_a_repair_at_once() -> None:
    """Semantics §2.5."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    world.lose_node("n3")
    world.settle()
    assert world.condition("g")[1] == "BelowMinimum"
    world.alter("g", minimum=2)
    world.settle()
    assert world.condition("g")[:2] == (True, "Scheduled")
    assert world.condition("g", "Satisfied")[0] is True


@pytest.mark.parametrize(
    "roles",
    [
        pytest.param([("a", 2), ("b", 1)], id="a role's minimum is raised"),
        pytest.param([("a", 1), ("b", 1), ("c", 1)], id="a role is added"),
    ],
)
def test_raising_a_role_never_makes_the_running_run_incomplete(
    roles: list[tuple[str, int]],
) -> None:
    """Semantics §2.5."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2, roles=[("a", 1), ("b", 1)])
    world.member("a", "g", role="a")
    world.member("b", "g", role="b")
    world.settle()
    world.run_pods(["a", "b"])
    world.settle()
    world.alter("g", minimum=3, roles=roles)
    world.settle()
    assert world.condition("g")[:2] == (True, "Scheduled")
    again = world.restarted()
    again.settle()
    assert again.condition("g")[:2] == (True, "Scheduled")


def test_a_role_alone_that_was_raised_leaves_the_running_gang_whole_after_a_restart() -> None:
    """Semantics §2.5."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 3, roles=[("worker", 2)])
    for name, role in (("l", "launcher"), ("w-0", "worker"), ("w-1", "worker")):
        world.member(name, "g", role=role)
    world.settle()
    world.run_pods(["l", "w-0", "w-1"])
    world.settle()
    world.alter("g", roles=[("worker", 3)])
    world.settle()
    assert world.condition("g")[:2] == (True, "Scheduled")
    again = world.restarted()
    again.settle()
    assert again.condition("g")[:2] == (True, "Scheduled")
