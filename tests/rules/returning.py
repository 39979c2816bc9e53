# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs of a StatefulSet that lose their members, and get them again."""

from collections.abc import Iterable

from enbloc.model.pods import Owner
from tests.rules.world import ONE_A_NODE, World

SET = Owner("StatefulSet", "st", "st-uid", "apps/v1")


def running(members: int, *, minimum: int | None = None, nodes: int = 4, **of: object) -> World:
    """A gang that runs on nodes with room for one member each."""
    world = World()
    world.nodes(" ".join(f"n{index}" for index in range(nodes)), cpu=4)
    world.running_job("st", members, minimum, owner=SET, **of)
    assert world.started("st") is not None
    return world


def gone(world: World, names: Iterable[str] | None = None) -> None:
    """These members are deleted, or all."""
    for name in list(names) if names is not None else sorted(world.where("st-")):
        world.delete(name)
    world.settle()


def back(world: World, members: int) -> None:
    """The owner makes so many members anew."""
    for index in range(members):
        world.member(f"st-{index}.again", "st", owner=SET)
    world.settle()


def occupied(world: World, *nodes: str) -> None:
    """Somebody else's pods take these nodes."""
    for node in nodes:
        world.pod(f"other-{node}", node=node, spec=ONE_A_NODE)
    world.settle()
