# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a gang needs that lost all bound members after some had succeeded (semantics §2.4)."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from enbloc.model.pods import Phase
from tests.rules.returning import SET, back, gone, occupied, running
from tests.rules.world import ONE_A_NODE, PROCESSES, World


def alive(world: World) -> list[str]:
    """The members that are bound and not finished."""
    return sorted(n for n, p in world.pods.items() if p.node and p.live and n.startswith("st-"))


def run(world: World) -> None:
    """All bound members run."""
    world.run_pods(alive(world))
    world.settle()


def expected(world: World, members: int, *, seen: bool = True) -> None:
    """Its controllers can run so many at once from now on."""
    memory = next(iter(world.groups.values())).memory
    world.alter("st", memory=replace(memory, expected=members))
    if seen:
        world.settle()


def one_succeeded(*, taken: tuple[str, ...] = ()) -> World:
    """One of four succeeded, and the others are gone; somebody else has these nodes."""
    world = running(4)
    world.finish("st-0")
    world.settle()
    gone(world)
    occupied(world, *taken)
    return world


# ── its floor is fixed once it is planned ─────────────────────────────────────────────────────


@PROCESSES
@pytest.mark.parametrize("runs", [0, 2, 3])
def test_a_member_that_comes_late_is_an_addition(
    process: Callable[[World], World], runs: int
) -> None:
    """Semantics §2.4: nobody is evicted because the last of four is made a moment later."""
    world = one_succeeded(taken=("n0",))
    back(world, 3)
    world.settle(seconds=3)
    assert len(alive(world)) == 3
    world.run_pods(alive(world)[:runs])
    world.settle()
    world = process(world)
    world.member("st-3.again", "st", owner=SET)
    world.settle(seconds=300)
    assert world.evicted == []
    assert len(alive(world)) == 3


@PROCESSES
def test_so_is_one_of_a_role(process: Callable[[World], World]) -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("st", 4, roles=[("leader", 1), ("worker", 3)], timeout=60)
    names = {"leader": "leader", "w0": "worker", "w1": "worker", "w2": "worker"}
    for name, role in names.items():
        world.member(f"st-{name}", "st", role=role, owner=SET)
    world.settle()
    run(world)
    world.finish("st-w0")
    world.settle()
    gone(world)
    occupied(world, "n0")
    for name in ("leader", "w1", "w2"):
        world.member(f"st-{name}.again", "st", role=names[name], owner=SET)
    world.settle(seconds=3)
    assert len(alive(world)) == 3
    world = process(world)
    world.member("st-w0.again", "st", role="worker", owner=SET)
    world.settle(seconds=300)
    assert world.evicted == []


def test_one_that_comes_before_anything_is_sent_is_placed_with_the_others() -> None:
    """Semantics §2.4, §3.1."""
    world = one_succeeded()
    world.answer = lambda _: "hold"
    back(world, 3)
    world.settle(seconds=1)
    world.member("st-3.again", "st", owner=SET)
    world.settle(seconds=3)
    assert {bind.target.pod.name for bind in world.sent[4:]} == {
        f"st-{index}.again" for index in range(4)
    }


@PROCESSES
def test_it_does_not_start_with_those_that_are_left_of_four(
    process: Callable[[World], World],
) -> None:
    """Semantics §1, §2.4: bound members that are lost before it runs are still needed."""
    world = running(4)
    for index in range(3):
        world.finish(f"st-{index}")
    world.settle()
    gone(world)
    back(world, 4)
    world.settle(seconds=3)
    assert len(alive(world)) == 4
    world.run_pods(["st-0.again"])
    world.settle()
    gone(world, ["st-1.again", "st-2.again", "st-3.again"])
    world = process(world)
    world.settle()
    assert world.started("st") is None
    assert world.condition("st")[0] is False


@PROCESSES
def test_what_its_controllers_no_longer_run_is_not_needed(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.4: an index that has failed for good before all ran together."""
    world = running(4)
    for index in range(4):
        world.finish(f"st-{index}")
    world.settle()
    expected(world, 4)
    back(world, 4)
    assert len(alive(world)) == 4
    world.finish("st-0.again")
    world.delete("st-1.again")
    world.settle()
    world = process(world)
    expected(world, 2)
    assert world.condition("st")[:2] == (True, "Scheduled")


# ── what succeeded before it is not held ──────────────────────────────────────────────────────


@PROCESSES
@pytest.mark.parametrize("keeps", [False, True])
def test_what_succeeded_before_does_not_replace_a_member(
    process: Callable[[World], World], *, keeps: bool
) -> None:
    """Semantics §2.4: whether its pods are still there or not."""
    world = running(4)
    world.finish("st-0")
    world.settle()
    gone(world, [name for name in sorted(world.where("st-")) if not (keeps and name == "st-0")])
    back(world, 4)
    world.settle(seconds=3)
    run(world)
    assert world.started("st") is not None
    world = process(world)
    gone(world, ["st-1.again"])
    assert world.condition("st", "Satisfied")[:2] == (False, "BelowMinimum")
    assert world.status["st"].succeeded == 1


@PROCESSES
def test_nor_does_it_in_a_role(process: Callable[[World], World]) -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("st", 4, roles=[("leader", 1), ("worker", 3)], timeout=60)
    names = {"leader": "leader", "w0": "worker", "w1": "worker", "w2": "worker"}

    def make(wave: str) -> None:
        for name, role in names.items():
            world.member(f"st-{name}{wave}", "st", role=role, owner=SET)
        world.settle(seconds=3)
        run(world)

    make("")
    world.finish("st-w0")
    world.finish("st-w1")
    world.settle()
    gone(world)
    make(".again")
    assert len(alive(world)) == 4
    world = process(world)
    gone(world, ["st-w0.again", "st-w1.again"])
    assert world.condition("st", "Satisfied")[0] is False


@PROCESSES
def test_nor_does_the_wave_before(process: Callable[[World], World]) -> None:
    """Semantics §2.4: of 16 completions eight are done, and eight run."""
    world = running(8, nodes=8)
    for index in range(8):
        world.finish(f"st-{index}")
    world.settle()
    expected(world, 8)
    back(world, 8)
    run(world)
    world = process(world)
    expected(world, 8)
    gone(world, [f"st-{index}.again" for index in range(5)])
    assert world.condition("st", "Satisfied")[0] is False


@PROCESSES
def test_a_success_of_a_wave_that_never_ran_whole_counts_once(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.4: it is not held, and its controller does not run it any more."""
    world = running(8, nodes=8)
    for index in range(8):
        world.finish(f"st-{index}")
    world.settle()
    expected(world, 8)
    back(world, 8)
    for index in range(3):
        world.finish(f"st-{index}.again")
    world.settle()
    assert world.started("st") is None
    expected(world, 5)
    gone(world, [f"st-{index}.again" for index in range(3, 8)])
    world = process(world)
    expected(world, 5)
    occupied(world, "n0", "n1", "n2", "n3", "n4", "n5")
    for index in range(5):
        world.member(f"st-{index}.third", "st", owner=SET)
    world.settle(seconds=5)
    assert alive(world) == []


def test_successes_of_a_gang_that_never_ran_whole_are_not_held_when_the_others_are_lost() -> None:
    """Semantics §2.4: who makes all four anew needs all four."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.job("st", 4, owner=SET)
    world.settle()
    world.finish("st-0")
    world.finish("st-1")
    world.settle()
    assert world.started("st") is None
    gone(world)
    occupied(world, "n0", "n1")
    back(world, 4)
    world.settle(seconds=5)
    assert alive(world) == []


# ── what it needs is what its first start needed ──────────────────────────────────────────────


@PROCESSES
def test_a_minimum_that_is_lowered_while_nothing_exists_has_no_lasting_effect(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.5."""
    world = one_succeeded(taken=("n0",))
    world.alter("st", min_member=2)
    world.settle()
    world = process(world)
    world.alter("st", min_member=4)
    back(world, 4)
    world.settle(seconds=15)
    assert alive(world) == []


@PROCESSES
def test_what_it_needs_does_not_grow_with_each_relaunch(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.4: it was lowered to two while the gang ran, and one of these succeeded."""
    world = running(4)
    world.alter("st", min_member=2)
    world.settle()
    world.alter("st", min_member=4)
    world.settle()
    world.finish("st-0")
    world.settle()
    gone(world)
    for wave in range(3):
        for index in range(4):
            world.member(f"st-{wave}-{index}", "st", owner=SET)
        world.settle(seconds=3)
        run(world)
        gone(world, alive(world))
        world = process(world)
    occupied(world, "n0", "n1")
    for index in range(2):
        world.member(f"st-last-{index}", "st", owner=SET)
    world.settle()
    assert len(alive(world)) == 2


# ── who is made anew is waited for ────────────────────────────────────────────────────────────


def test_a_member_that_waited_before_does_not_end_the_wait_for_those_made_anew() -> None:
    """Semantics §2.4: it had no room beside the gang, and would be placed alone."""
    world = running(4)
    world.member("st-old", "st", owner=SET)
    world.settle(seconds=100)
    where = world.where("st-")
    for index in range(3):
        world.pod(f"other-{index}", node=where[f"st-{index}"], spec=ONE_A_NODE)
        world.finish(f"st-{index}")
    world.settle()
    world.pod("other-3", node=where["st-3"], spec=ONE_A_NODE)
    gone(world, ["st-3"])
    for index in (1, 2):
        world.delete(f"other-{index}")
    for index in range(4):
        world.member(f"st-{index}.again", "st", owner=SET)
        world.settle(seconds=0.3)
        assert alive(world) == []
    world.delete("other-0")
    world.delete("other-3")
    world.settle(seconds=3)
    assert len(alive(world)) == 4


@PROCESSES
def test_successes_in_roles_that_its_podgroup_does_not_list_count_once(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.4: counted twice, one of two would be enough."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("st", 4, timeout=60)
    for index in range(4):
        world.member(f"st-{index}", "st", role="worker", owner=SET)
    world.settle()
    run(world)
    world.finish("st-0")
    world.finish("st-1")
    world.settle()
    gone(world, ["st-2", "st-3"])
    world = process(world)
    occupied(world, "n0", "n1", "n2")
    assert world.status["st"].succeeded == 2
    world.member("st-2.again", "st", role="worker", owner=SET)
    world.settle(seconds=15)
    assert alive(world) == []


# ── what its controllers can still run ────────────────────────────────────────────────────────


def test_members_that_succeed_while_they_are_terminated_do_not_start_it_in_part() -> None:
    """Semantics §2.2, §2.4: a suspended Job counts them with `podReplacementPolicy: Failed`."""
    world = running(8, nodes=8)
    world.finish("st-0")
    for index in range(1, 8):
        world.change(f"st-{index}", deleting=True)
    world.settle()
    for index in range(1, 4):
        world.change(f"st-{index}", deleting=False, phase=Phase.SUCCEEDED)
    for index in range(4, 8):
        world.delete(f"st-{index}")
    expected(world, 4)
    occupied(world, "n0", "n1", "n2", "n3", "n4")
    back(world, 4)
    world.settle(seconds=5)
    assert alive(world) == []


@PROCESSES
def test_it_starts_with_as_many_as_its_controllers_can_run_when_a_process_takes_over(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.4: an index failed for good, and the leader had died before."""
    world = running(4)
    for index in range(4):
        world.finish(f"st-{index}")
    world.settle()
    expected(world, 4)
    back(world, 4)
    world.delete("st-3.again")
    expected(world, 3, seen=False)
    world = process(world)
    run(world)
    assert world.condition("st")[:2] == (True, "Scheduled")
    assert world.started("st") is not None


def test_controllers_that_can_run_fewer_only_for_a_moment_do_not_lower_it() -> None:
    """Semantics §2.4: one of two Jobs has no live pod until it makes the lost one anew."""
    world = running(4)
    for index in range(4):
        world.finish(f"st-{index}")
    world.settle()
    expected(world, 4)
    back(world, 4)
    world.delete("st-3.again")
    expected(world, 3)
    expected(world, 4)
    run(world)
    assert world.started("st") is None
    assert world.condition("st")[0] is False
