# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Room of lost members whose replacements are planned, and not bound after all."""

import pytest

from tests.rules.world import World
from tests.world.builders import spec


@pytest.mark.parametrize("ends", ["deleted", "refused"])
def test_room_of_a_lost_member_is_held_again_if_its_replacement_is_not_bound(ends: str) -> None:
    """Semantics §4.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2, timeout=600)
    world.now += 5
    world.job("young", 1)
    world.delete("g-1")
    world.settle(seconds=30)
    assert world.where("young") == {}
    answer = "hold" if ends == "deleted" else "MEMBER_CHANGED"
    world.answer = lambda bind: "ok" if bind.target.pod.name == "young-0" else answer
    world.member("g-9", "g")
    world.settle(seconds=0.5)
    if ends == "deleted":
        world.delete("g-9")
    world.settle(seconds=30)
    assert world.where("young") == {}
    world.answer = lambda _: "ok"
    world.member("g-10", "g")
    world.settle(seconds=1)
    assert len(world.where("g")) == 2


def _three_unlike(world: World) -> None:
    """A gang of three on as many nodes that it fills, and one that waits for its largest one."""
    for name, cpu in (("n1", 2), ("n2", 4), ("n3", 8)):
        world.node(name, cpu=cpu)
    world.group("g", 3, timeout=600)
    for name, cpu in (("small", 1), ("mid", 4), ("large", 8)):
        world.member(name, "g", spec=spec(cpu=cpu))
        world.settle(seconds=0)
    world.settle()
    world.run_pods(["small", "mid", "large"])
    world.settle()
    assert world.where() == {"small": "n1", "mid": "n2", "large": "n3"}
    world.now += 5
    world.job("young", 1, pod=spec(cpu=8))


def test_what_is_lost_now_is_held_before_what_was_replaced() -> None:
    """Semantics §4.1: while a plan is open that has bound the smaller of two replacements."""
    world = World()
    _three_unlike(world)
    world.delete("small")
    world.delete("mid")
    world.settle(seconds=5)
    world.answer = lambda bind: "hold" if bind.target.pod.name == "mid-2" else "ok"
    world.member("small-2", "g", spec=spec(cpu=1))
    world.member("mid-2", "g", spec=spec(cpu=4))
    world.settle(seconds=0.5)
    assert "small-2" in world.where()
    world.delete("large")
    world.settle(seconds=20)
    assert world.where("young") == {}


def test_of_two_replacements_the_room_of_the_one_that_is_not_bound_is_held() -> None:
    """Semantics §4.1."""
    world = World()
    _three_unlike(world)
    world.delete("small")
    world.delete("large")
    world.settle(seconds=5)
    world.answer = lambda bind: "MEMBER_CHANGED" if bind.target.pod.name == "large-2" else "ok"
    world.member("small-2", "g", spec=spec(cpu=1))
    world.member("large-2", "g", spec=spec(cpu=8))
    world.settle(seconds=20)
    assert "small-2" in world.where()
    assert world.where("young") == {}


def test_what_is_held_while_a_plan_is_open_is_held_until_the_deadline_alone() -> None:
    """Semantics §4.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3, timeout=60)
    world.delete("g-1")
    world.settle(seconds=1)
    world.answer = lambda bind: "ok" if bind.target.pod.name == "young-0" else "hold"
    world.member("g-9", "g")
    world.settle(seconds=1)
    world.delete("g-2")
    world.settle(seconds=65)
    world.change("g-0", labels=(("x", "y"),))
    world.settle(seconds=1)
    world.job("young", 1)
    world.settle(seconds=20)
    assert len(world.where("young")) == 1
