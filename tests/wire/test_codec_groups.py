# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of groups as the API server sends them, and what is wrong with some."""

from collections import Counter
from typing import Any

import pytest

from enbloc.model.groups import Group, Role, SubGroup
from enbloc.model.trees import Tree
from enbloc.wire import codec_groups
from tests.wire.test_codec_objects import read_group


def read(**spec: Any) -> Group:
    return read_group(spec)


def role(name: str, minimum: int = 2, parent: str = "") -> dict[str, Any]:
    return {"name": name, "minMember": minimum, **({"parent": parent} if parent else {})}


def inner(name: str, count: int = 0, parent: str = "") -> dict[str, Any]:
    return {
        "name": name,
        **({"minGroupCount": count} if count else {}),
        **({"parent": parent} if parent else {}),
    }


def test_a_tree_is_read_with_its_sub_groups_and_roles() -> None:
    found = read(
        subGroups=[inner("slices", 1), inner("one", parent="slices")],
        roles=[role("launcher", 1), role("a", parent="one"), role("b", 3, "slices")],
    )
    assert found.problem == ""
    assert found.sub_groups == (SubGroup("slices", 1), SubGroup("one", 0, "slices"))
    assert found.roles[2] == Role("b", 3, "slices")
    one = Tree("one", 1, ("a",))
    assert found.tree == Tree("", 2, ("launcher", Tree("slices", 1, ("b", one))))
    assert found.least == 3


def test_a_role_keeps_the_podgroup_whose_pods_it_has() -> None:
    body = {
        "roles": [{**role("a", parent="all"), "podGroupName": "left"}],
        "subGroups": [inner("all")],
    }
    assert read(minMember=2, **body).roles == (Role("a", 2, "all", "left"),)
    assert codec_groups.adoptions({"spec": body}) == {"left": "a"}
    assert codec_groups.adoptions({"spec": {"roles": [{"podGroupName": 1}]}}) == {}
    assert codec_groups.adoptions({"spec": 1}) == {}


def test_a_tree_of_which_every_child_is_needed_offers_no_choice_and_is_kept() -> None:
    found = read(
        minMember=5,
        subGroups=[inner("all"), inner("both", 2, "all")],
        roles=[role("a", parent="both"), role("b", 3, "both")],
    )
    assert (found.problem, found.tree, found.min_member) == ("", None, 5)
    assert (found.minimums(), found.least) == ((("a", 2), ("b", 3)), 5)
    both = Tree("both", 2, ("a", "b"))
    assert found.structure == Tree("", 1, (Tree("all", 1, (both,)),))


def test_where_all_groups_are_counted_their_sum_is_the_minimum() -> None:
    found = read(minGroupCount=2, roles=[role("a"), role("b", 3)])
    assert (found.problem, found.tree, found.min_member) == ("", None, 5)


@pytest.mark.parametrize(
    ("counts", "reached"),
    [
        ({"a": 2, "b": 2}, True),
        ({"a": 2, "c": 2, "": 1}, True),
        ({"a": 2, "b": 1, "c": 1}, False),
        ({"a": 4}, False),
        ({}, False),
    ],
)
def test_some_whole_children_reach_the_minimum(counts: dict[str, int], reached: bool) -> None:
    found = read(minGroupCount=2, roles=[role("a"), role("b"), role("c")])
    assert found.reached(Counter(counts)) is reached


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            {"roles": [role("a", parent="none")]},
            "spec.roles[a].parent: none is not in spec.subGroups; list it, or name another",
            id="a role's parent",
        ),
        pytest.param(
            {"subGroups": [inner("one", 1, "none")], "roles": [role("a", parent="one")]},
            "spec.subGroups[one].parent: none is not in spec.subGroups; list it, or name another",
            id="a sub-group's parent",
        ),
        pytest.param(
            {"subGroups": [inner("one", 1, "two"), inner("two", 1, "one")]},
            "spec.subGroups[one].parent: two leads back to itself; a tree has no cycle",
            id="a cycle",
        ),
        pytest.param(
            {"subGroups": [inner("one", 1, "one")], "roles": [role("a", parent="one")]},
            "spec.subGroups[one].parent: one leads back to itself; a tree has no cycle",
            id="a cycle of one",
        ),
        pytest.param(
            {
                "subGroups": [inner("x", 1), inner("y", 1, "x"), inner("z", 1, "y")],
                "roles": [role("a", parent="z")],
            },
            "spec.subGroups[z].parent: role, sub-groups and PodGroup are 5 levels; a tree has at "
            "most 4",
            id="five levels",
        ),
        pytest.param(
            {"subGroups": [inner("one", 1)], "roles": [role("a")]},
            "spec.subGroups[one]: it has no children; give a role or sub-group this parent",
            id="no children",
        ),
        pytest.param(
            {"minGroupCount": 3, "roles": [role("a"), role("b")]},
            "spec.minGroupCount: 3 is more than its 2 children; lower it to 2",
            id="too many needed of the PodGroup",
        ),
        pytest.param(
            {"subGroups": [inner("one", 2)], "roles": [role("a", parent="one")]},
            "spec.subGroups[one].minGroupCount: 2 is more than its 1 children; lower it to 1",
            id="too many needed of a sub-group",
        ),
        pytest.param(
            {"minGroupCount": -1, "roles": [role("a")]},
            "spec.minGroupCount: -1 is below 1; leave it out for all",
            id="a negative count",
        ),
        pytest.param(
            {
                "minGroupCount": 1,
                "subGroups": [inner("one")],
                "roles": [role("a"), role("b", 0, "one")],
            },
            "spec.minGroupCount: one needs no member, and so would always count; give it a "
            "minMember of 1 or more",
            id="a child that needs nobody",
        ),
        pytest.param(
            {"minGroupCount": 1, "roles": [role(f"r{index}") for index in range(17)]},
            "spec.roles: 17 items; a tree has at most 16 of them",
            id="seventeen roles",
        ),
        pytest.param(
            {"subGroups": [inner(f"g{index}", 1) for index in range(17)]},
            "spec.subGroups: 17 items; a tree has at most 16 of them",
            id="seventeen sub-groups",
        ),
        pytest.param(
            {"subGroups": [inner("one"), inner("one")], "roles": [role("a", 1, "one")]},
            'spec.subGroups[1].name: "one" is empty or a duplicate; give each its own',
            id="a name twice",
        ),
        pytest.param(
            {"subGroups": [inner("all")], "roles": [role("a", parent="all")]},
            "spec.roles: their minimums sum to 2; raise spec.minMember from 1",
            id="a sum above the minimum",
        ),
    ],
)
def test_a_tree_that_cannot_be_is_named_with_its_field_and_the_fix(
    spec: dict[str, Any], problem: str
) -> None:
    found = read(**spec)
    assert problem in found.problem
    assert found.tree is None
