# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of a Job that share PodGroup "g"."""

from typing import Final

from enbloc.model.pods import Owner
from tests.rules.world import JOB, NEXT_JOB, World

THIRD_JOB: Final = Owner("Job", "job", "job-3")


def add_members(
    world: World, owner: Owner | None, count: int, first: int = 0, **more: object
) -> None:
    """Members of group "g", named for their owner."""
    name = owner.uid if owner is not None else "bare"
    for index in range(first, first + count):
        world.member(f"{name}-{index}", "g", owner=owner, **more)


def ran(*, nodes: int, members: int, left: int, minimum: int | None = None) -> World:
    """A Job that ran, of which only so many are live when its next run comes."""
    world = World()
    world.nodes(" ".join(f"n{index}" for index in range(nodes)), cpu=4)
    world.group("g", members if minimum is None else minimum, timeout=60)
    add_members(world, JOB, members)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    for index in range(left, members):
        world.delete(f"job-1-{index}")
    world.settle()
    return world


def with_a_launcher() -> World:
    """Two workers that are placed, and a launcher of another Job that does not count."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 2)
    add_members(world, JOB, 2)
    add_members(world, NEXT_JOB, 1)
    world.settle()
    return world


def workers_end(world: World) -> None:
    """Both workers run, and succeed."""
    world.run_pods(["job-1-0", "job-1-1"])
    world.settle()
    for index in range(2):
        world.finish(f"job-1-{index}")
