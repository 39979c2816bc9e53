# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of PodGroups of other projects, and what is said where one is incomplete."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.api.podgroup import PodGroupSpec
from enbloc.controller.sources.forest import Forest
from enbloc.controller.sources.source import Derived, ObjectKey, Part, RefusedGroup, TreeNode, label
from enbloc.wire.codec_groups import MOST_PARTS
from tests.effort import examples


def composite(name: str) -> ObjectKey:
    return ObjectKey("Composite", "ns", name)


def podgroup(name: str) -> ObjectKey:
    return ObjectKey("PodGroup", "ns", name)


class Desk:
    """Objects, put one by one."""

    def __init__(self) -> None:
        self.forest = Forest()

    def composite(self, name: str, minimum: int = 1, parent: str = "", **more: Any) -> ObjectKey:
        node = TreeNode(
            "Composite", parent, True, minimum, f"uid-{name}", group=f"of-{name}", **more
        )
        self.forest.put(composite(name), node)
        return composite(name)

    def podgroup(self, name: str, parent: str, minimum: int = 2, **more: Any) -> ObjectKey:
        self.forest.put(podgroup(name), TreeNode("Composite", parent, False, minimum, **more))
        return podgroup(name)

    def derived(self, root: str = "root") -> Derived:
        found = self.forest.found(composite(root))
        assert isinstance(found, Derived), found
        PodGroupSpec.model_validate(found.spec)
        return found

    def problem(self, key: ObjectKey) -> str:
        found = self.forest.found(key)
        assert isinstance(found, RefusedGroup | Part)
        return found.problem


def test_a_tree_becomes_one_podgroup_whose_roles_have_the_pods_of_its_leaves() -> None:
    desk = Desk()
    desk.podgroup("late", "slices", 3, created="2026-01-02T00:00:00Z")
    desk.podgroup("early", "slices", created="2026-01-01T00:00:00Z")
    desk.podgroup("launcher", "root", 1)
    desk.composite("slices", 1, "root")
    desk.composite("root", 2, spec={"priorityClassName": "high"})
    found = desk.derived()
    assert found.name == "of-root"
    assert found.spec == {
        "minMember": 1,
        "priorityClassName": "high",
        "minGroupCount": 2,
        "roles": [
            {"name": "early", "minMember": 2, "podGroupName": "early", "parent": "slices"},
            {"name": "late", "minMember": 3, "podGroupName": "late", "parent": "slices"},
            {"name": "launcher", "minMember": 1, "podGroupName": "launcher"},
        ],
        "subGroups": [{"name": "slices", "minGroupCount": 1}],
    }
    part = Part("of-root", "late", composite=False, root="uid-root")
    assert desk.forest.found(podgroup("late")) == part
    inner = Part("of-root", "slices", composite=True, root="uid-root")
    assert desk.forest.found(composite("slices")) == inner


def test_each_node_of_a_tree_has_the_topology_that_it_asks_for() -> None:
    desk = Desk()
    topology, near = {"required": "example.com/block"}, {"required": "example.com/rack"}
    desk.composite("root", 1, spec={"topology": topology}, near=topology)
    desk.composite("inner", 1, "root", near=near)
    desk.podgroup("leaf", "inner", near=near)
    found = desk.derived().spec
    assert found["topology"] == topology
    assert [each.get("topology") for each in (*found["subGroups"], *found["roles"])] == [near, near]


def test_a_name_that_no_role_can_have_is_shortened_and_stays_distinct() -> None:
    names = ["a.b", "a-b", "a.c", "x" * 200, "x" * 201, "b." * 60 + "c"]
    labels = [label(name) for name in names]
    assert len(set(labels)) == len(names)
    assert labels[1] == "a-b"
    desk = Desk()
    desk.composite("root")
    for name in names:
        desk.podgroup(name, "root")
    roles = desk.derived().spec["roles"]
    assert {(role["podGroupName"], role["name"]) for role in roles} == set(
        zip(names, labels, strict=True)
    )


def test_a_parent_that_is_missing_is_named_and_helps_once_it_comes() -> None:
    desk = Desk()
    child = desk.podgroup("child", "inner")
    text = "spec.parentCompositePodGroupName: Composite inner not found; create it"
    assert desk.problem(child) == text
    inner = desk.composite("inner", 1, "root")
    text = "spec.parentCompositePodGroupName: Composite inner names it: Composite root not found"
    assert text in desk.problem(child)
    assert "Composite root not found; create it" in desk.problem(inner)
    root = desk.composite("root")
    assert desk.problem(child) == desk.problem(inner) == ""
    assert set(desk.forest.around(child)) == {root, inner, child}


def test_children_that_are_missing_are_counted_on_the_composite_and_told_to_the_others() -> None:
    desk = Desk()
    root, child = desk.composite("root", 2), desk.podgroup("child", "root")
    text = (
        "spec.schedulingPolicy.gang.minGroupCount: 2 children are needed, and 1 exist; create "
        "PodGroups whose spec.parentCompositePodGroupName is root, or lower it"
    )
    assert desk.problem(root) == text
    assert desk.problem(child) == f"Composite root cannot start: {text}"
    found = desk.forest.found(root)
    assert isinstance(found, RefusedGroup)
    assert (found.name, found.keeps) == ("of-root", True)


def test_an_inner_composite_that_lacks_children_is_left_out_and_the_rest_may_do() -> None:
    desk = Desk()
    desk.composite("root")
    inner = desk.composite("inner", 2, "root")
    orphan = desk.podgroup("orphan", "inner")
    desk.podgroup("child", "root")
    assert [role["name"] for role in desk.derived().spec["roles"]] == ["child"]
    assert "2 children are needed, and 1 exist" in desk.problem(inner)
    assert "Composite inner cannot start" in desk.problem(orphan)
    desk.composite("root", 2)
    assert "1 exist, and 1 that are incomplete" in desk.problem(composite("root"))


def test_a_cycle_of_parents_is_named_on_each_and_ends() -> None:
    desk = Desk()
    one, two = desk.composite("one", 1, "two"), desk.composite("two", 1, "one")
    itself, child = desk.composite("me", 1, "me"), desk.podgroup("child", "one")
    for key in (one, two, itself, child):
        assert "leads back to itself; a tree has no cycle" in desk.problem(key)
        assert len(desk.forest.around(key)) <= 2 * MOST_PARTS + 2


def test_a_tree_has_four_levels() -> None:
    desk = Desk()
    desk.composite("root")
    desk.composite("b", 1, "root")
    desk.composite("c", 1, "b")
    desk.podgroup("leaf", "c")
    assert desk.derived().spec["subGroups"][1] == {"name": "c", "minGroupCount": 1, "parent": "b"}
    deep, leaf = desk.composite("d", 1, "c"), desk.podgroup("deep", "d")
    assert "c is at level 3 of its tree; a tree has at most 4 levels" in desk.problem(deep)
    assert "d is at level 4" in desk.problem(leaf)
    for index in range(100):
        desk.composite(f"e{index}", 1, f"e{index - 1}" if index else "d")
    assert "more than 64 are above e98" in desk.problem(composite("e99"))
    assert len(desk.derived().spec["roles"]) == 1


@pytest.mark.parametrize("count", [MOST_PARTS, MOST_PARTS + 1, 10_000])
def test_a_tree_has_sixteen_podgroups(count: int) -> None:
    desk = Desk()
    root = desk.composite("root")
    for index in range(count):
        desk.podgroup(f"g{index}", "root")
    if count <= MOST_PARTS:
        assert len(desk.derived().spec["roles"]) == count
    else:
        text = "more than 16 PodGroups, or 16 composites, are below it; use fewer, larger ones"
        assert desk.problem(root) == text
        assert text in desk.problem(podgroup("g9"))
        assert len(desk.forest.around(root)) <= 2 * MOST_PARTS + 2


def test_what_is_gone_is_in_no_tree() -> None:
    desk = Desk()
    desk.composite("root")
    child = desk.podgroup("child", "root")
    desk.forest.remove(child)
    assert child not in desk.forest
    assert "1 children are needed, and 0 exist" in desk.problem(composite("root"))


NAMES = "abcde"


@given(st.data())
@examples(200)
def test_any_objects_make_trees_that_a_podgroup_can_be_or_say_what_is_wrong(
    data: st.DataObject,
) -> None:
    """Whatever they name, in whatever order they come and go; semantics §2.8."""
    desk, there = Desk(), dict[ObjectKey, str]()
    for _ in range(data.draw(st.integers(1, 20))):
        name = data.draw(st.sampled_from(NAMES))
        parent = data.draw(st.sampled_from([*NAMES, ""]))
        minimum = data.draw(st.integers(1, 3))
        match data.draw(st.sampled_from(["composite", "podgroup", "gone"])):
            case "composite":
                there[desk.composite(name, minimum, parent)] = parent
            case "podgroup" if parent:
                there[desk.podgroup(name, parent, minimum)] = parent
            case _:
                desk.forest.remove(composite(name))
                there.pop(composite(name), None)
    mapped: dict[str, str] = {}
    for key, parent in there.items():
        found = desk.forest.found(key)
        if isinstance(found, Derived):
            assert not parent
            PodGroupSpec.model_validate(found.spec)
            for role in found.spec["roles"]:
                assert role["podGroupName"] not in mapped, "a PodGroup is in one tree alone"
                mapped[role["podGroupName"]] = found.name
        elif isinstance(found, RefusedGroup):
            assert found.problem
    for key in there:
        found = desk.forest.found(key)
        if isinstance(found, Part) and not found.composite:
            assert (mapped.get(key.name) == found.group) != bool(found.problem)
