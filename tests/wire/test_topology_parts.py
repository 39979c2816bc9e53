# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a PodGroup asks of a topology beyond one level, as it is read from JSON."""

import json
from typing import Any

import msgspec
import pytest

from enbloc.model.topology import KeepApart, Slice, TopologyPart, TopologyRequest
from enbloc.wire import codec
from enbloc.wire.objects import PodGroupObject

LABELS = {"model": "llama", "app": "x"}


def group(**spec: Any) -> Any:
    """A PodGroup with this spec, read as the API server sends it."""
    body = {
        "metadata": {"name": "g", "namespace": "ns", "uid": "u", "labels": LABELS},
        "spec": spec,
    }
    return codec.group(msgspec.json.decode(json.dumps(body), type=PodGroupObject))


def test_slices_and_rules_of_being_apart_are_read() -> None:
    found = group(
        topology={
            "required": "block",
            "slices": [{"size": 32, "required": "block"}, {"size": 4, "required": "rack"}],
            "apart": [
                {"level": "zone", "from": {"matchLabels": LABELS}},
                {"level": "rack", "from": {"matchLabels": LABELS}, "max": 2, "mode": "Preferred"},
            ],
        }
    )
    labels = (("app", "x"), ("model", "llama"))
    assert found.topology == TopologyRequest(
        "",
        "block",
        "",
        (Slice(32, "block"), Slice(4, "rack")),
        (KeepApart("zone", labels), KeepApart("rack", labels, 2, required=False)),
    )
    assert found.labels == labels
    assert not found.problem


def test_roles_and_sub_groups_say_where_their_own_members_lie() -> None:
    found = group(
        minMember=3,
        subGroups=[
            {"name": "island", "topology": {"required": "block"}},
            {"name": "quiet"},
        ],
        roles=[
            {"name": "a", "parent": "island", "topology": {"required": "rack"}},
            {"name": "b", "parent": "island"},
            {"name": "c", "topology": {"preferred": "rack"}},
            {"name": "d", "minMember": 0, "parent": "quiet"},
        ],
    )
    inner = TopologyPart("spec.roles[a]", frozenset("a"), TopologyRequest("", "rack"))
    assert found.topology_parts == (
        TopologyPart("spec.roles[c]", frozenset("c"), TopologyRequest("", "", "rack")),
        TopologyPart(
            "spec.subGroups[island]", frozenset("ab"), TopologyRequest("", "block"), (inner,)
        ),
    )
    assert not found.problem


def test_a_circle_of_sub_groups_ends() -> None:
    found = group(
        subGroups=[
            {"name": "x", "parent": "y", "topology": {"required": "rack"}},
            {"name": "y", "parent": "x"},
        ],
        roles=[{"name": "a", "parent": "x", "minMember": 0}],
    )
    assert "leads back to itself" in found.problem


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        ({"slices": [{"size": 4}]}, "spec.topology.slices[0].required: it names no level"),
        ({"slices": [{"size": 4, "required": "a b"}]}, "spec.topology.slices[0].required: a level"),
        ({"apart": [{"from": {"matchLabels": LABELS}}]}, "apart[0].level: it names no level"),
        ({"apart": [{"level": "zone"}]}, "apart[0].from.matchLabels: it selects nothing"),
        (
            {"apart": [{"level": "zone", "from": {"matchLabels": LABELS}, "max": 0}]},
            "apart[0].max: 0 is below 1; leave it out for 1",
        ),
        (
            {"apart": [{"level": "zone", "from": {"matchLabels": LABELS}, "mode": "Soft"}]},
            'apart[0].mode: "Soft" is unknown; use Required or Preferred',
        ),
    ],
)
def test_what_cannot_be_read_is_named(topology: dict[str, Any], said: str) -> None:
    found = group(topology=topology)
    assert said in found.problem
    assert found.topology is None


def test_a_part_with_a_level_that_is_none_is_named() -> None:
    found = group(roles=[{"name": "a", "topology": {"required": "no level"}}])
    assert "spec.roles[a].topology.required: a level or node label" in found.problem


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            {"roles": [{"name": "a", "topology": {"required": "rack"}}]},
            "spec.topology.slices: roles or sub-groups have a topology of their own",
        ),
        (
            {"roles": [{"name": "a"}, {"name": "b"}], "minGroupCount": 1},
            "spec.topology.slices: with minGroupCount some children are enough",
        ),
    ],
)
def test_slices_cut_a_whole_group_and_no_part_of_it(more: dict[str, Any], problem: str) -> None:
    slices = [{"size": 2, "required": "rack"}]
    assert problem in group(minMember=2, topology={"slices": slices}, **more).problem
