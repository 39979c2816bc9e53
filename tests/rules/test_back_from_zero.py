# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A gang that lost everything starts whole again (semantics §2.4, §2.5).

Each starts, is scaled to zero or suspended, and comes back where there is less room, whatever its
minimum was meanwhile.
"""

from collections.abc import Callable

import pytest

from enbloc.model.groups import GroupMemory, SubGroup
from enbloc.model.pods import Owner
from tests.rules.returning import SET, back, gone, occupied, running
from tests.rules.world import PROCESSES, World, restarted

OTHER_SET = Owner("StatefulSet", "other", "other-uid", "apps/v1")


@PROCESSES
@pytest.mark.parametrize("meanwhile", [1, 2, 4, 6])
def test_a_set_that_is_scaled_to_zero_and_back_starts_whole_or_not_at_all(
    process: Callable[[World], World], meanwhile: int
) -> None:
    """Semantics §2.5: whatever the minimum was while nothing existed."""
    world = running(4)
    gone(world)
    world.alter("st", min_member=meanwhile)
    world.settle()
    occupied(world, "n0", "n1")
    world = process(world)
    world.alter("st", min_member=4)
    back(world, 4)
    assert world.where("st-") == {}
    assert world.condition("st")[:2] == (False, "Unschedulable")
    world.delete("other-n0")
    world.delete("other-n1")
    world.settle()
    assert len(world.where("st-")) == 4


@PROCESSES
def test_a_job_that_is_suspended_at_two_and_resumed_at_four_starts_with_four(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.5."""
    world = running(2)
    gone(world)
    world = process(world)
    world.alter("st", min_member=4)
    occupied(world, "n0", "n1")
    back(world, 2)
    assert world.where("st-") == {}
    assert world.condition("st")[2] == "2 of 4 members exist"


def test_of_two_gangs_that_come_back_together_one_is_whole_and_one_waits() -> None:
    """Semantics §2.5: as two fresh ones do."""
    world = running(4, nodes=8)
    world.running_job("other", 4, owner=OTHER_SET)
    gone(world, sorted(world.where()))
    for name in ("st", "other"):
        world.alter(name, min_member=1)
    world.settle()
    for node in ("n4", "n5", "n6", "n7"):
        world.drop_node(node)
    for name in ("st", "other"):
        world.alter(name, min_member=4)
    for index in range(4):  # in turn, as two controllers make them
        world.member(f"st-{index}.again", "st", owner=SET)
        world.member(f"other-{index}.again", "other", owner=OTHER_SET)
        world.settle()
    placed = sorted((len(world.where("st-")), len(world.where("other-"))))
    assert placed == [0, 4]


def test_what_succeeded_before_counts_only_as_far_as_its_owner_still_runs_that_run() -> None:
    """Semantics §2.4: of 16 completions 13 are left, and parallelism goes from 8 to 0 and back."""
    world = running(8, nodes=8)
    for index in range(3):
        world.finish(f"st-{index}")
    world.settle()
    gone(world)
    world.alter("st", min_member=1, memory=GroupMemory("st-uid", succeeded=3, expected=13))
    world.settle()
    world.alter("st", min_member=8)
    occupied(world, "n0", "n1")
    back(world, 8)
    assert world.where("st-") == {}


@PROCESSES
def test_members_that_succeeded_and_are_made_anew_are_needed_again(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.4: a training job that is resumed, or restarts, may run all of them anew."""
    world = running(4)
    world.finish("st-0")
    world.settle()
    gone(world)
    occupied(world, "n0")
    world = process(world)
    back(world, 4)
    assert world.where("st-") == {}
    world.delete("other-n0")
    world.settle()
    assert len(world.where("st-")) == 4


@PROCESSES
@pytest.mark.parametrize("role", ["", "workers"])
def test_members_that_are_made_anew_one_after_another_wait_for_each_other(
    process: Callable[[World], World], role: str
) -> None:
    """Semantics §2.4: nobody knows how many come until they are there."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("st", 4, roles=[(role, 4)] if role else (), timeout=60)
    for index in range(4):
        world.member(f"st-{index}", "st", role=role, owner=SET)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    world.finish("st-0")
    world.settle()
    gone(world)
    occupied(world, "n0")
    world = process(world)
    for index in range(4):
        world.member(f"st-{index}.again", "st", role=role, owner=SET)
        world.settle(seconds=0.5)
        assert world.where("st-") == {}
    world.delete("other-n0")
    world.settle()
    assert len(world.where("st-")) == 4


@pytest.mark.parametrize("role", ["", "workers"])
def test_a_late_wave_of_a_job_of_a_jobset_is_placed_whole(role: str) -> None:
    """Semantics §2.4: more of its completions are done than it runs at once."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("st", 4, roles=[(role, 4)] if role else (), timeout=60)
    placed: list[int] = []
    for wave in range(3):
        for index in range(4):
            world.member(f"st-{wave}-{index}", "st", role=role, owner=SET)
        world.settle()
        now = sorted(world.where(f"st-{wave}-"))
        placed.append(len(now))
        world.run_pods(now)
        for name in now:
            world.finish(name)
        world.settle()
        occupied(world, *(["n0", "n1"] if wave else []))
    assert placed == [4, 4, 0]


def test_a_group_that_was_suspended_may_come_back_with_more_roles() -> None:
    """Semantics §2.5: a cluster that gained a group of workers while it was suspended."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("ray", 2, roles=[("head", 1), ("a", 1)], timeout=60)
    for role in ("head", "a"):
        world.member(f"ray-{role}", "ray", role=role, owner=SET)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    for role in ("head", "a"):
        world.delete(f"ray-{role}")
    world.settle()
    world.alter("ray", min_member=4, roles=(("head", 1), ("a", 1), ("b", 2)))
    occupied(world, "n0")
    for name, role in (("head", "head"), ("a", "a"), ("b0", "b"), ("b1", "b")):
        world.member(f"ray-{name}.again", "ray", role=role, owner=SET)
    world.settle()
    assert world.where("ray-") == {}


def test_a_tree_that_was_suspended_needs_as_many_children_as_its_spec_says() -> None:
    """Semantics §2.5, §2.8."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    roles = tuple((name, 1, "all") for name in "abcd")
    tree = (SubGroup("all", 4),)
    world.group("t", 4, roles=roles, sub_groups=tree, timeout=60)
    for role in "abcd":
        world.member(f"t-{role}", "t", role=role, owner=SET)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    assert world.started("t") is not None
    for role in "abcd":
        world.delete(f"t-{role}")
    world.settle()
    world.alter("t", min_member=1, sub_groups=(SubGroup("all", 1),))
    world.settle()
    world.alter("t", min_member=4, sub_groups=tree)
    occupied(world, "n0", "n1")
    for role in "abcd":
        world.member(f"t-{role}.again", "t", role=role, owner=SET)
    world.settle()
    assert world.where("t-") == {}


@PROCESSES
def test_a_group_made_for_a_workload_waits_for_the_minimum_that_comes_with_its_pods(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.5: suspended at two, and resumed at four in the same request."""
    world = running(2, derived=True)
    gone(world)
    world = process(world)
    back(world, 2)
    assert world.where("st-") == {}, "there are to be four, and the controller has yet to say so"
    assert world.condition("st")[1] == "WaitingForMembers"
    world.settle(seconds=1)
    world.alter("st", min_member=4)
    occupied(world, "n0", "n1")
    world.settle(seconds=5)
    assert world.where("st-") == {}
    assert world.condition("st")[2] == "2 of 4 members exist"


@pytest.mark.parametrize(("again", "waits"), [("u-2/0", True), ("u-1/1", False)])
def test_so_does_the_run_of_a_workload_that_was_deleted_and_created_again(
    again: str, *, waits: bool
) -> None:
    """Semantics §2.5: a JobSet of two is replaced by one of four; a restart changes no minimum."""
    world = World()
    world.nodes("n0 n1 n2", cpu=4)
    world.group("js", 2, timeout=60, owner="JobSet/u-1", derived=True)
    for index in range(2):
        world.member(f"js-{index}", "js", restart="u-1/0")
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    gone(world, sorted(world.where()))
    for index in range(2):
        world.member(f"js-{index}.again", "js", restart=again)
        world.settle()
    assert len(world.where()) == (0 if waits else 2)
    world.settle(seconds=2)
    assert len(world.where()) == 2


def test_it_does_not_wait_for_long() -> None:
    """Semantics §2.5."""
    world = running(2, derived=True)
    gone(world)
    back(world, 2)
    world.settle(seconds=2.5)
    assert len(world.where("st-")) == 2


def test_nor_while_pods_of_it_go_on_being_created() -> None:
    """Semantics §2.5: ten seconds at most."""
    world = running(2, derived=True)
    gone(world)
    back(world, 2)
    for index in range(8):
        world.settle(seconds=1.5)
        world.member(f"st-more-{index}", "st", owner=SET)
    world.settle()
    assert len(world.where("st-")) >= 2


def test_a_group_that_never_fitted_waits_for_its_minimum_after_a_restart_as_well() -> None:
    """Semantics §2.5."""
    world = World()
    world.nodes("n0 n1", cpu=4)
    world.job("st", 2, 4, owner=SET, derived=True)
    world.settle()
    gone(world, sorted(world.pods))
    world.alter("st", min_member=2)
    world = restarted(world)
    back(world, 2)
    assert world.where("st-") == {}
