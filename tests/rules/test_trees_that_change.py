# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §2.5, §2.8: trees that change while a gang runs, or of which the start is unknown."""

import pytest

from enbloc.model.groups import SubGroup
from enbloc.model.pods import Phase
from tests.rules.test_tree_rules import children, placed, world
from tests.rules.world import World
from tests.wire.test_codec_objects import read_group

X_AND_Y = (SubGroup("x"), SubGroup("y"))
ROLES = (("a", 1, "x"), ("b", 1, "x"), ("c", 1, "y"), ("d", 1, "y"))
Z = (SubGroup("z"), ("e", 1, "z"), ("f", 1, "z"))


def one_of_two() -> World:
    """Six nodes, and a group that needs sub-group x or y, of two roles each."""
    made = world(6)
    made.group("g", 1, roles=ROLES, sub_groups=X_AND_Y, min_group_count=1, timeout=60)
    return made


def running(roles: str) -> World:
    """The same, of which the members of these roles run."""
    made = one_of_two()
    children(made, roles, 1)
    made.settle()
    made.run_pods(sorted(made.where()))
    made.settle()
    assert placed(made) == roles
    return made


def grown(of: World) -> None:
    """Sub-group z comes, of roles e and f."""
    inner, *roles = Z
    of.alter("g", roles=(*ROLES, *roles), sub_groups=(*X_AND_Y, inner))


def scheduled(of: World) -> tuple[bool | None, str]:
    """Status and reason of the group's condition Scheduled."""
    return of.condition("g")[:2]


# ── a sub-group that comes ───────────────────────────────────────────────────────────────────────


def test_a_sub_group_that_comes_while_a_gang_runs_is_placed_whole_and_replaces_no_other() -> None:
    """Semantics §2.8."""
    w = running("ab")
    grown(w)
    children(w, "e", 1)
    w.settle()
    assert placed(w) == "ab", "one of two members of z is no child"
    w.delete("g-a0")
    w.settle()
    assert scheduled(w) == (False, "BelowMinimum")
    children(w, "f", 1)
    w.settle()
    assert placed(w) == "bef"
    assert scheduled(w) == (True, "Scheduled")


# ── a start that is not recorded ─────────────────────────────────────────────────────────────────


def test_half_a_sub_group_that_another_scheduler_bound_replaces_no_other() -> None:
    """Semantics §2.8."""
    w = one_of_two()
    for index, role in enumerate("abc"):
        children(w, role, 1, node=f"n{index}", phase=Phase.RUNNING, scheduled_at=w.now)
    w = w.restarted(status=False)
    w.settle()
    assert scheduled(w) == (True, "Scheduled")
    w.delete("g-b0")
    w.settle()
    assert scheduled(w) == (False, "BelowMinimum")


def test_of_a_tree_that_another_scheduler_bound_no_half_sub_group_is_placed() -> None:
    """Semantics §2.8."""
    w = one_of_two()
    for index, role in enumerate("ab"):
        children(w, role, 1, node=f"n{index}", phase=Phase.RUNNING, scheduled_at=w.now)
    w = w.restarted(status=False)
    w.settle()
    children(w, "c", 1)
    w.settle()
    assert placed(w) == "ab"
    children(w, "d", 1)
    w.settle()
    assert placed(w) == "abcd"


# ── a tree that comes to need every child ────────────────────────────────────────────────────────


def reduced(of: World, names: str, needed: int) -> None:
    """Its spec lists these sub-groups alone, of which so many are needed, as the codec reads it."""
    roles = [
        {"name": name, "minMember": least, "parent": parent}
        for name, least, parent in ROLES
        if parent in names
    ]
    inner = [{"name": name} for name in names]
    read = read_group({"minGroupCount": needed, "subGroups": inner, "roles": roles})
    assert not read.problem
    of.alter(
        "g",
        min_member=read.min_member,
        roles=[(role.name, role.min_member, role.parent) for role in read.roles],
        sub_groups=read.sub_groups,
        min_group_count=read.min_group_count,
    )
    of.settle()


@pytest.mark.parametrize("restart", [False, True])
def test_a_tree_that_loses_a_sub_group_needs_the_whole_other_one(restart: bool) -> None:
    """Semantics §2.8."""
    w = running("abcd")
    w.delete("g-c0")
    w.delete("g-d0")
    reduced(w, "x", 1)
    if restart:
        w = w.restarted()
        w.settle()
    assert w.condition("g") == (True, "Scheduled", "2 of 2 required members are scheduled")
    w.delete("g-b0")
    w.settle()
    assert scheduled(w) == (False, "BelowMinimum")
    assert w.condition("g", "Satisfied")[0] is False
    assert w.condition("g")[2].startswith("1 of 2 members are left")


@pytest.mark.parametrize("restart", [False, True])
def test_a_started_tree_that_needs_every_child_from_now_on_keeps_its_choice(restart: bool) -> None:
    """Semantics §2.5, §2.8: one whole sub-group is enough for the gang that runs."""
    w = running("abcd")
    reduced(w, "xy", 2)
    if restart:
        w = w.restarted()
        w.settle()
    w.delete("g-b0")
    w.settle()
    status, reason, message = w.condition("g")
    assert (status, reason) == (True, "Scheduled")
    assert "minMember 4 and minGroupCount 2 apply from the next run of the gang on" in message
    w.delete("g-c0")
    w.settle()
    assert scheduled(w) == (False, "BelowMinimum"), "a and d are halves of two sub-groups"


def test_a_sub_group_that_comes_back_is_placed_whole() -> None:
    """Semantics §2.8."""
    w = running("ab")
    reduced(w, "x", 1)
    reduced(w, "xy", 2)
    children(w, "c", 1)
    w.settle()
    assert placed(w) == "ab"
    children(w, "d", 1)
    w.settle()
    assert placed(w) == "abcd"
