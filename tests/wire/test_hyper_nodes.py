# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""HyperNodes as the API server sends them."""

from typing import Any

import msgspec
import pytest

from enbloc.model.hyper_node import HyperNode
from enbloc.model.selectors import Selector
from enbloc.wire.hyper_nodes import HyperNodeObject, hyper_node


def read(spec: Any) -> HyperNode:
    raw = msgspec.json.encode({"metadata": {"name": "s0"}, "spec": spec})
    return hyper_node(msgspec.json.decode(raw, type=HyperNodeObject))


def member(kind: str, **selector: Any) -> Any:
    return {"type": kind, "selector": selector}


def exact(kind: str, name: str) -> Any:
    return member(kind, exactMatch={"name": name})


def regex(pattern: str) -> Any:
    return member("Node", regexMatch={"pattern": pattern})


def test_members_are_nodes_and_hyper_nodes_by_name() -> None:
    spec = {
        "tier": 2,
        "tierName": "spine",
        "members": [exact("Node", "n0"), exact("HyperNode", "s1"), exact("Node", "n1")],
    }
    assert read(spec) == HyperNode(
        "s0", 2, "spine", frozenset({"n0", "n1"}), children=frozenset({"s1"})
    )


def test_members_are_found_by_a_pattern_anywhere_in_their_name_as_in_go() -> None:
    [pattern] = read({"tier": 1, "members": [regex("node-[0-9]$")]}).patterns
    assert pattern.search("a-node-7")
    assert not pattern.search("node-77")


def test_no_group_of_a_pattern_is_captured() -> None:
    """With 500 groups, each search would take a thousand times as long."""
    nested = "(" * 500 + "a" + ")" * 500
    [pattern] = read({"tier": 1, "members": [regex(nested)]}).patterns
    found: Any = pattern.search("node-a")
    assert found.span() == (5, 6)
    assert found.groups() == ()


def test_patterns_that_repeat_repetitions_are_read_as_far_as_matching_takes_no_minutes() -> None:
    """64 of these would take more than a minute for 5000 nodes."""
    costly = "((([a-z0-9-]{0,9}){0,9}){0,2}){0,4}!"
    found = read({"tier": 1, "members": [regex(costly), regex(costly), regex("^node-[0-9]+$")]})
    assert [pattern.text for pattern in found.patterns] == [costly, "^node-[0-9]+$"]
    assert found.problem == (
        f'spec.members[1].selector.regexMatch.pattern: "{costly}" takes too long to match; '
        "repeat less"
    )


def test_members_are_selected_by_their_labels_and_by_an_empty_selector_not_at_all() -> None:
    found = read(
        {
            "tier": 1,
            "members": [
                member("Node", labelMatch={"matchLabels": {"rack": "r1"}}),
                member("Node", labelMatch={}),
            ],
        }
    )
    [selector] = found.selectors
    assert isinstance(selector, Selector)
    assert selector.matches({"rack": "r1", "zone": "z"})
    assert not selector.matches({"rack": "r2"})
    assert not found.problem


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(None, "spec: Expected `object`", id="no spec"),
        pytest.param({"tier": -1}, "spec: Expected `int` >= 0", id="a negative tier"),
        pytest.param({"tier": 1, "members": 7}, "spec: Expected `array`", id="no list"),
        pytest.param(
            {"tier": 1, "members": [regex("(")]},
            'spec.members[0].selector.regexMatch.pattern: "(" is no regular expression of RE2',
            id="no regular expression",
        ),
        pytest.param(
            {"tier": 1, "members": [regex("a" * 1025)]},
            "it has 1025 characters; 1 to 1024",
            id="long",
        ),
        pytest.param({"tier": 1, "members": [regex("")]}, "it has 0 characters", id="empty"),
        pytest.param(
            {"tier": 1, "members": [member("Node")]},
            "spec.members[0]: it selects nothing; give exactMatch",
            id="nothing",
        ),
        pytest.param(
            {"tier": 1, "members": [exact("Rack", "r")]}, "spec.members[0]: it selects", id="a type"
        ),
        pytest.param(
            {"tier": 1, "members": [member("HyperNode", labelMatch={"matchLabels": {"a": "b"}})]},
            "spec.members[0]: it selects nothing",
            id="HyperNodes by labels",
        ),
        pytest.param(
            {"tier": 1, "tierName": "no name"}, "spec.tierName: must be a name", id="a tier's name"
        ),
        pytest.param(
            {"tier": 1, "members": [regex("a")] * 65},
            "spec.members: 65 of them are regexMatch or labelMatch; 64 are read",
            id="many patterns",
        ),
    ],
)
def test_what_cannot_be_read_counts_as_absent_and_is_named(spec: Any, problem: str) -> None:
    found = read(spec)
    assert problem in found.problem
    assert found.nodes == found.children == frozenset()
    assert not found.selectors
    assert len(found.patterns) in (0, 64)
