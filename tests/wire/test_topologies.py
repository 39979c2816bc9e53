# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topologies as the API server sends them, and what PodGroups ask of them."""

from typing import Any

import msgspec
import pytest

from enbloc.model.topology import Level, Topology, TopologyRequest
from enbloc.wire.topologies import TopologyObject, topology
from tests.wire.test_codec_objects import read_group

ZONE = {"name": "zone", "nodeLabel": "topology.kubernetes.io/zone"}
RACK = {"name": "rack", "nodeLabel": "example.com/rack"}


def read(spec: Any) -> Topology:
    raw = msgspec.json.encode({"metadata": {"name": "default"}, "spec": spec})
    return topology(msgspec.json.decode(raw, type=TopologyObject))


def test_a_topology_is_read_with_its_levels_outermost_first() -> None:
    assert read({"levels": [ZONE, RACK], "later": 1}) == Topology(
        "default",
        (Level("zone", "topology.kubernetes.io/zone"), Level("rack", "example.com/rack")),
    )


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(None, "spec.levels: it lists no level; list 1 to 8", id="no spec"),
        pytest.param({}, "spec.levels: it lists no level; list 1 to 8", id="no levels"),
        pytest.param({"levels": []}, "spec.levels: it lists no level", id="an empty list"),
        pytest.param({"levels": [RACK] * 9}, "it lists 9 levels; list at most 8", id="nine"),
        pytest.param("x", "spec.levels: Expected `object`", id="a spec that is a text"),
        pytest.param(
            {"levels": "rack"},
            "spec.levels: Expected `array`, got `str` - at `$.levels`; write a list of objects",
            id="a text",
        ),
        pytest.param({"levels": [None]}, "spec.levels: Expected `object`", id="a null"),
        pytest.param({"levels": [RACK | {"name": 1}]}, "spec.levels: Expected `str`", id="a 1"),
        pytest.param(
            {"levels": [{"nodeLabel": "rack"}]},
            'spec.levels[0].name: "" is not a name of at most 63 small letters',
            id="no name",
        ),
        pytest.param(
            {"levels": [ZONE, RACK | {"name": "Rack"}]},
            'spec.levels[1].name: "Rack" is not a name of at most 63 small letters',
            id="a name in upper case",
        ),
        pytest.param(
            {"levels": [RACK | {"nodeLabel": "a b"}]},
            'spec.levels[0].nodeLabel: a node label must be a name such as "example.com/name"',
            id="a label that is none",
        ),
        pytest.param(
            {"levels": [{"name": "rack"}]},
            "spec.levels[0].nodeLabel: a node label must be a name",
            id="no label",
        ),
        pytest.param(
            {"levels": [RACK, ZONE | {"name": "rack"}]},
            'spec.levels[1].name: "rack" is a duplicate; give each level its own',
            id="two of one name",
        ),
        pytest.param(
            {"levels": [RACK, RACK | {"name": "host"}]},
            'spec.levels[1].nodeLabel: "example.com/rack" is a duplicate; give each level its own',
            id="two of one label",
        ),
    ],
)
def test_a_malformed_topology_has_no_levels_and_says_what_is_wrong(spec: Any, problem: str) -> None:
    found = read(spec)

    assert found.levels == ()
    assert problem in found.problem


def test_what_is_wrong_with_many_levels_is_said_in_a_message_that_the_api_takes() -> None:
    long = {"name": "N" * 4096, "nodeLabel": "x y" * 4096}

    assert len(read({"levels": [long] * 8}).problem) <= 1024


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param({"required": "rack"}, TopologyRequest("", "rack"), id="a level"),
        pytest.param(
            {"name": "default", "required": "zone", "preferred": "rack"},
            TopologyRequest("default", "zone", "rack"),
            id="two levels of a Topology",
        ),
        pytest.param(
            {"preferred": "topology.kubernetes.io/zone", "required": None},
            TopologyRequest("", "", "topology.kubernetes.io/zone"),
            id="a node label",
        ),
    ],
)
def test_a_podgroup_says_where_its_members_lie(given: Any, wanted: TopologyRequest) -> None:
    found = read_group({"topology": given})

    assert (found.topology, found.problem) == (wanted, "")


def test_a_podgroup_that_does_not_say_it_asks_for_no_topology() -> None:
    assert read_group({}).topology is None
    assert read_group({"topology": None}).topology is None


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        pytest.param({}, "spec.topology: it names no level; set required", id="nothing"),
        pytest.param(
            {"name": "default"}, "spec.topology: it names no level; set required", id="no level"
        ),
        pytest.param(
            {"required": "", "preferred": ""}, "spec.topology: it names no level", id="two empty"
        ),
        pytest.param(
            {"required": "a b"},
            "spec.topology.required: a level or node label must be a name such as",
            id="no label key",
        ),
        pytest.param(
            {"name": "My Topology", "preferred": "rack"},
            'spec.topology.name: "My Topology" is not the name of an object',
            id="no name of an object",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_a_problem_of_the_podgroup(given: Any, problem: str) -> None:
    found = read_group({"topology": given})

    assert found.topology is None
    assert problem in found.problem
