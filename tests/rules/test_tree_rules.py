# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §2.8: gangs of which some sub-groups are enough."""

from typing import Any

import pytest

from enbloc.config import default_profiles
from enbloc.engine.effects import Decided
from enbloc.engine.events import SlotsFree
from enbloc.engine.replay.file import DumpFile, decoded, encoded
from enbloc.engine.replay.replay import replayed
from enbloc.model.groups import SubGroup
from enbloc.model.names import RANK_KEY, SIZE_KEY, Condition
from enbloc.model.pods import Owner, Phase
from tests.rules.world import World
from tests.world.builders import spec


def world(nodes: int) -> World:
    """So many nodes, each with room for one member."""
    made = World()
    if nodes:
        made.nodes(" ".join(f"n{index}" for index in range(nodes)), cpu=4)
    return made


def children(of: World, names: str, size: int = 2, **member: Any) -> None:
    """So many members of each role."""
    for role in names:
        for index in range(size):
            of.member(f"g-{role}{index}", "g", role=role, **member)


def group(of: World, names: str, needed: int, size: int = 2, **more: Any) -> None:
    """A group of roles of which some are enough, and all of their members."""
    roles = [(role, size) for role in names]
    of.group("g", more.pop("minimum", 1), roles=roles, min_group_count=needed, timeout=60, **more)
    children(of, names, size)


def placed(of: World) -> str:
    """The roles of the members that have a node."""
    return "".join(name.removeprefix("g-")[0] for name in sorted(of.where("g-")))


def condition(of: World, kind: Condition) -> tuple[bool | None, str]:
    """Status and message of a condition of the group."""
    found = next(each for each in of.status["g"].conditions if each.type is kind)
    return found.status, found.message


# ── quorum, plan ─────────────────────────────────────────────────────────────────────────────────


def test_some_children_start_together_when_they_are_enough() -> None:
    """Semantics §2.8."""
    w = world(5)
    group(w, "abc", 2)
    w.settle()
    assert placed(w) == "aabb"
    assert condition(w, Condition.SCHEDULED) == (True, "4 of 4 required members are scheduled")


def test_nothing_starts_where_fewer_children_fit_than_are_needed() -> None:
    """Semantics §2.8."""
    w = world(3)
    group(w, "abc", 2)
    w.settle()
    assert placed(w) == ""


def test_a_group_waits_until_the_members_of_enough_children_exist() -> None:
    """Semantics §2.3."""
    w = world(6)
    w.group("g", 1, roles=[("a", 2), ("b", 2), ("c", 2)], min_group_count=2, timeout=60)
    children(w, "b")
    w.member("g-c0", "g", role="c")
    w.settle()
    assert placed(w) == ""
    assert condition(w, Condition.SCHEDULED) == (False, "1 of 2 members of role c exist")
    w.member("g-c1", "g", role="c")
    w.settle()
    assert placed(w) == "bbcc"


def test_a_child_that_fits_nowhere_is_passed_over() -> None:
    """Semantics §2.8."""
    w = world(4)
    w.group("g", 1, roles=[("a", 2), ("b", 2), ("c", 2)], min_group_count=2, timeout=60)
    children(w, "a", spec=spec(cpu=5))
    children(w, "bc")
    w.settle()
    assert placed(w) == "bbcc"


def test_another_choice_is_searched_for_where_children_in_turn_leave_no_room() -> None:
    """Semantics §2.8."""
    w = World()
    w.node("n", cpu=4)
    w.group("g", 1, roles=[("a", 1), ("b", 1), ("c", 1)], min_group_count=2, timeout=60)
    for role, cpus in (("a", 3), ("b", 2), ("c", 2)):
        w.member(f"g-{role}", "g", role=role, spec=spec(cpu=cpus))
    w.settle()
    assert placed(w) == "bc"


def test_a_child_beyond_those_needed_is_searched_for_as_well() -> None:
    """Semantics §2.8."""
    w = world(1)
    roles = [("a", 1), ("x", 1, "both"), ("y", 1, "both")]
    w.group("g", 1, roles=roles, sub_groups=(SubGroup("both"),), min_group_count=1, timeout=60)
    children(w, "a", 1)
    w.settle()
    w.member("g-x", "g", role="x", spec=spec(cpu=2))
    w.member("g-y", "g", role="y", spec=spec(cpu=4))
    w.nodes("m1", cpu=4)
    w.nodes("m2", cpu=2)
    w.settle()
    assert placed(w) == "axy"


def test_the_minimum_of_the_group_holds_as_well_and_takes_further_children() -> None:
    """Semantics §2.8."""
    w = world(5)
    group(w, "abc", 2, minimum=6)
    w.settle()
    assert placed(w) == ""
    w.nodes("m", cpu=4)
    w.settle()
    assert placed(w) == "aabbcc"


def test_members_of_a_child_that_does_not_start_do_not_count_for_the_minimum_of_the_group() -> None:
    """Semantics §2.8."""
    w = world(5)
    w.group("g", 5, roles=[("a", 2), ("b", 2), ("c", 2)], min_group_count=2, timeout=60)
    children(w, "abc")
    w.settle()
    assert placed(w) == ""
    w.member("g-x", "g")
    w.settle()
    assert len(w.where("g-")) == 5
    assert set(placed(w)) == {"a", "b", "x"}


@pytest.mark.parametrize(("nodes", "start"), [(3, ""), (4, "laab"), (7, "laabccd")])
def test_sub_groups_nest(nodes: int, start: str) -> None:
    """One launcher, and one of two slices: of each slice both roles. Semantics §2.8."""
    w = world(nodes)
    inner = [SubGroup("slices", 1), SubGroup("one", 0, "slices"), SubGroup("two", 0, "slices")]
    roles = [("l", 1), ("a", 2, "one"), ("b", 1, "one"), ("c", 2, "two"), ("d", 1, "two")]
    w.group("g", 1, roles=roles, sub_groups=tuple(inner), timeout=60)
    for role, size, *_ in roles:
        children(w, str(role), int(str(size)))
    w.settle()
    assert sorted(placed(w)) == sorted(start)


def test_of_alike_children_it_is_proven_that_too_few_of_them_fit_even_on_empty_nodes() -> None:
    """Semantics §6.2."""
    w = world(6)
    names = "abcdefghijklmnop"
    group(w, names, 4)
    w.settle()
    found = [effect for effect in w.effects if isinstance(effect, Decided)]
    assert [each.result for each in found] == ["infeasible"]


@pytest.mark.parametrize("names", ["abc", "abcdef"])
def test_a_group_is_not_infeasible_while_a_later_choice_would_fit_on_empty_nodes(
    names: str,
) -> None:
    """Semantics §6.2."""
    w = world(2)
    w.job("other", 2)
    w.settle()
    w.group("g", 1, roles=[(role, 1) for role in names], min_group_count=2, timeout=60)
    for role in names:
        children(w, role, 1, spec=spec(cpu=5 if role in names[:-2] else 4, memory=ord(role)))
    w.settle()
    last = [effect for effect in w.effects if isinstance(effect, Decided)][-1]
    assert (placed(w), last.result) == ("", "unschedulable")
    w.finish("other-0")
    w.finish("other-1")
    w.settle()
    assert placed(w) == names[-2:]


def test_children_that_only_the_minimum_of_the_group_needs_do_not_make_it_infeasible() -> None:
    """Semantics §6.2."""
    w = world(4)
    w.job("other", 4)
    w.settle()
    group(w, "ab", 1, minimum=4)
    w.settle()
    last = [effect for effect in w.effects if isinstance(effect, Decided)][-1]
    assert last.result == "unschedulable"
    for index in range(4):
        w.finish(f"other-{index}")
    w.settle()
    assert placed(w) == "aabb"


def test_a_group_that_waits_is_tried_when_there_is_capacity_for_any_of_its_choices() -> None:
    """Semantics §9.2."""
    w = world(2)
    w.job("other", 2)
    w.settle()
    w.group("g", 1, roles=[("a", 2), ("b", 1)], min_group_count=1, timeout=60)
    children(w, "a", 2)
    children(w, "b", 1)
    w.settle()
    w.finish("other-0")
    w.settle()
    assert placed(w) == "b"


def test_a_group_of_which_every_choice_is_too_large_is_infeasible() -> None:
    """Semantics §6.2."""
    w = world(2)
    w.group("g", 1, roles=[("a", 1), ("b", 1), ("c", 1)], min_group_count=2, timeout=60)
    for role, cpus in (("a", 5), ("b", 6), ("c", 4)):
        children(w, role, 1, spec=spec(cpu=cpus))
    w.settle()
    last = [effect for effect in w.effects if isinstance(effect, Decided)][-1]
    assert last.result == "infeasible"
    assert "2 other choices of sub-groups do not fit either" in last.message


def test_a_decision_about_a_tree_is_the_same_when_it_is_replayed_from_a_file() -> None:
    """Semantics §8.1."""
    w = world(5)
    group(w, "abcd", 2)
    w.settle()
    w.nodes("m", cpu=4)
    w.settle()
    dump = decoded(encoded(DumpFile("2026-11-21T05:00:00Z", "0", [], w.engine.dump()))).dump
    found = [
        replayed(decision, tables, default_profiles(), dump.search_steps)
        for decision, tables in dump.forwards()
    ]
    assert len(found) > 1
    assert not any(each.differences for each in found)
    assert placed(w) == "aabbcc"


def test_what_becomes_of_a_tree_if_a_node_goes_is_another_choice() -> None:
    """Semantics §8.2."""
    w = world(4)
    group(w, "abc", 1)
    w.settle()
    assert placed(w) == "aabb"
    where = w.where("g-")
    [after] = w.engine.without([where["g-a0"]], w.now)
    assert after.whole, "role b is enough"
    [after] = w.engine.without([where["g-a0"], where["g-b0"]], w.now)
    assert not after.whole


def test_the_size_is_that_of_the_children_that_start() -> None:
    """Semantics §8.1."""
    w = world(3)
    w.group("g", 1, roles=[("a", 4), ("b", 2), ("c", 1)], min_group_count=2, timeout=60)
    for role, size in (("a", 4), ("b", 2), ("c", 1)):
        children(w, role, size)
    w.settle()
    assert placed(w) == "bbc"
    notes = [dict(bind.target.annotations) for bind in w.sent]
    assert [note[SIZE_KEY] for note in notes] == ["3"] * 3
    assert sorted(note[RANK_KEY] for note in notes) == ["0", "1", "2"]


def test_children_that_different_jobs_make_are_one_gang_where_the_podgroup_has_a_controller() -> (
    None
):
    """Semantics §2.4."""
    w = world(6)
    w.group(
        "g",
        1,
        roles=[("a", 2), ("b", 2), ("c", 2)],
        min_group_count=1,
        timeout=60,
        owner="LeaderWorkerSet/lws-1",
    )
    for role in "abc":
        children(w, role, owner=Owner("Job", f"job-{role}", f"uid-{role}"))
        w.settle()
    assert placed(w) == "aabbcc"
    assert len(w.status["g"].runs) == 1


# ── what is not chosen ───────────────────────────────────────────────────────────────────────────


def test_a_child_beyond_those_needed_is_placed_whole_or_not_at_all() -> None:
    """Semantics §2.8."""
    w = world(5)
    group(w, "abc", 2)
    w.settle()
    w.nodes("m1", cpu=4)
    w.settle()
    assert placed(w) == "aabbcc"


def test_each_child_beyond_those_needed_is_placed_for_itself() -> None:
    """Semantics §2.8."""
    w = world(7)
    group(w, "abcd", 1)
    w.settle()
    assert placed(w) == "aabbcc"


def test_a_further_member_of_a_child_that_is_whole_is_placed_at_once() -> None:
    """Semantics §2.1."""
    w = world(5)
    group(w, "abc", 2)
    w.settle()
    w.member("g-a9", "g", role="a")
    w.settle()
    assert placed(w) == "aaabb"


def test_a_plan_of_which_a_child_loses_a_member_before_it_is_sent_is_made_again() -> None:
    """Semantics §3.5."""
    w = World(slots=0)
    w.nodes("n0 n1 n2 n3", cpu=4)
    group(w, "abc", 2)
    w.settle()
    w.delete("g-b1")
    w.tell(SlotsFree(32))
    w.settle()
    assert placed(w) == "aacc"


def test_a_plan_is_dropped_before_it_is_sent_where_a_child_that_was_whole_is_lost() -> None:
    """Semantics §3.5."""
    w = World(slots=0)
    w.nodes("n0 n1 n2 n3", cpu=4)
    w.group("g", 1, roles=[("a", 2), ("b", 2), ("c", 2)], min_group_count=2, timeout=60)
    for index in range(2):
        w.member(f"g-a{index}", "g", role="a", node=f"n{index}")
    children(w, "b")
    w.settle()
    w.delete("g-a0")
    w.tell(SlotsFree(32))
    w.settle()
    assert placed(w) == "a"


def test_a_plan_that_is_too_small_before_it_is_sent_is_made_again() -> None:
    """Semantics §3.5."""
    w = World(slots=0)
    w.nodes("n0 n1 n2 n3 n4 n5", cpu=4)
    group(w, "abcd", 2)
    w.settle()
    w.alter("g", min_group_count=3)
    w.tell(SlotsFree(32))
    w.settle()
    assert placed(w) == "aabbcc"
    assert len({bind.target.plan for bind in w.sent}) == 1


# ── repair ───────────────────────────────────────────────────────────────────────────────────────


def test_another_child_takes_the_place_of_one_whose_replacement_fits_nowhere() -> None:
    """Semantics §2.8."""
    w = world(4)
    group(w, "abc", 2)
    w.settle()
    w.nodes("m1 m2", cpu=3)
    w.delete("g-b1")
    w.drop_node("n3")
    w.settle()
    w.member("g-b9", "g", role="b")
    w.settle()
    assert placed(w) == "aab"
    w.nodes("m3 m4", cpu=4)
    w.settle()
    assert placed(w) in {"aabb", "aabbcc"}


def test_a_gang_is_whole_while_enough_of_its_children_are() -> None:
    """Semantics §2.8."""
    w = world(6)
    group(w, "abc", 2)
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    w.delete("g-a0")
    w.settle(seconds=120)
    assert placed(w) == "abbcc"
    assert condition(w, Condition.SATISFIED)[0] is True
    w.delete("g-b0")
    w.settle(seconds=120)
    assert condition(w, Condition.SATISFIED)[0] is False
    w.member("g-b9", "g", role="b")
    w.settle()
    w.run_pods(["g-b9"])
    w.settle()
    assert placed(w) == "abbcc"
    assert condition(w, Condition.SATISFIED)[0] is True


def test_before_the_start_a_gang_with_too_few_whole_children_is_evicted_at_its_deadline() -> None:
    """Semantics §4.3."""
    w = world(4)
    group(w, "abc", 2)
    w.settle()
    w.delete("g-b1")
    w.delete("g-c1")
    w.settle(seconds=61)
    assert placed(w) == ""


def test_what_succeeded_makes_a_child_whole() -> None:
    """Semantics §2.2."""
    w = world(2)
    group(w, "ab", 1)
    w.settle()
    w.run_pods(["g-a0", "g-a1"])
    w.settle()
    w.finish("g-a0", Phase.SUCCEEDED)
    w.finish("g-a1", Phase.SUCCEEDED)
    w.settle(seconds=2)
    assert condition(w, Condition.SCHEDULED)[0] is True
    assert placed(w) == "aabb"


def test_members_of_a_child_that_is_not_needed_take_no_held_capacity() -> None:
    """Semantics §4.1."""
    w = world(6)
    group(w, "abc", 2)
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.now += 5
    w.job("young", 1)
    w.settle()
    w.delete("g-c1")
    w.settle()
    assert len(w.where("young")) == 1, "nothing is held for a child beyond those needed"
    w.delete("g-b1")
    w.job("younger", 1)
    w.settle()
    assert w.where("younger") == {}


def test_capacity_of_a_child_that_the_minimum_of_the_group_needs_is_held() -> None:
    """Semantics §4.1."""
    w = world(6)
    group(w, "abc", 2, minimum=6)
    w.settle()
    w.now += 5
    w.job("young", 1)
    w.delete("g-c1")
    w.settle(seconds=30)
    assert w.where("young") == {}


def test_a_child_that_is_held_in_part_goes_before_those_that_are_listed_before_it() -> None:
    """Semantics §2.8."""
    w = world(3)
    w.group("g", 1, roles=[("a", 2), ("b", 2)], min_group_count=1, timeout=60)
    children(w, "b")
    w.settle()
    w.delete("g-b1")
    children(w, "a")
    w.member("g-b9", "g", role="b")
    w.settle()
    assert placed(w) == "bb"


# ── the captured floor ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("restart", [False, True])
def test_raising_the_number_of_groups_never_makes_a_started_gang_incomplete(restart: bool) -> None:
    """Semantics §2.5."""
    w = world(4)
    group(w, "abc", 2)
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    w.alter("g", min_group_count=3)
    w.settle()
    if restart:
        w = w.restarted()
        w.settle()
    status, message = condition(w, Condition.SCHEDULED)
    assert status is True
    assert "minGroupCount 3 applies from the next run of the gang on" in message


def test_lowering_the_number_of_groups_applies_at_once() -> None:
    """Semantics §2.5."""
    w = world(2)
    group(w, "abc", 2)
    w.settle()
    assert placed(w) == ""
    w.alter("g", min_group_count=1)
    w.settle()
    assert placed(w) == "aa"


def test_another_process_goes_on_with_the_children_that_are_bound() -> None:
    """Semantics §2.8."""
    w = world(6)
    w.group("g", 1, roles=[("a", 2), ("b", 2), ("c", 2)], min_group_count=2, timeout=60)
    children(w, "bc")
    w.settle()
    w = w.restarted()
    children(w, "a")
    w.settle()
    assert placed(w) == "aabbcc"
    assert w.status["g"].attempts > 0
