# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topologies of other projects as the API server sends them."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from enbloc.model.topology import Level, Topology
from enbloc.wire.foreign_topologies import kais, koordinators, kueues
from enbloc.wire.topologies import TopologyObject

Read = Callable[[TopologyObject], Topology]
BLOCK, RACK = "example.com/block", "example.com/rack"


def read(reader: Read, spec: Any) -> Topology:
    raw = msgspec.json.encode({"metadata": {"name": "default"}, "spec": spec})
    return reader(msgspec.json.decode(raw, type=TopologyObject))


def labels(*keys: Any) -> Any:
    return {"levels": [{"nodeLabel": key} for key in keys]}


@pytest.mark.parametrize(
    ("reader", "name"), [(kueues, "kueue.x-k8s.io/default"), (kais, "kai.scheduler/default")]
)
def test_levels_of_kueue_and_kai_are_called_as_their_labels(reader: Read, name: str) -> None:
    levels = (Level(BLOCK, BLOCK), Level(RACK, RACK))
    assert read(reader, labels(BLOCK, RACK)) == Topology(name, levels)


def layers(*given: tuple[str, str, list[str]]) -> Any:
    listed = [
        {"topologyLayer": layer, "parentTopologyLayer": parent, "labelKey": keys}
        for layer, parent, keys in given
    ]
    return {"networkTopologySpec": listed}


def test_layers_of_koordinator_are_levels_from_the_cluster_inwards() -> None:
    """They may be listed in any order; what is within no layer of the cluster is left out."""
    spec = layers(
        ("NodeTopologyLayer", "Block", []),
        ("Block", "Spine", [BLOCK]),
        ("Spine", "ClusterTopologyLayer", ["example.com/spine"]),
        ("Stray", "Nothing", [RACK]),
    )
    assert read(koordinators, spec) == Topology(
        "scheduling.koordinator.sh/default",
        (
            Level("Spine", "example.com/spine"),
            Level("Block", BLOCK),
            Level("NodeTopologyLayer", "kubernetes.io/hostname"),
        ),
    )
    assert read(koordinators, layers(("Spine", "", [BLOCK]))).levels == (Level("Spine", BLOCK),)


@pytest.mark.parametrize(
    ("reader", "spec", "problem"),
    [
        pytest.param(kueues, None, "spec.levels: Expected `object`", id="no spec"),
        pytest.param(kueues, {}, "it has 0 levels; 1 to 16 are read", id="no levels"),
        pytest.param(kais, {"levels": "x"}, "spec.levels: Expected `array`", id="a text"),
        pytest.param(kais, labels(7), "spec.levels: Expected `str`", id="a number"),
        pytest.param(kais, labels("a b"), "the node label of a level must be", id="no label"),
        pytest.param(kais, labels(RACK, RACK), "two levels have the same node label", id="twice"),
        pytest.param(
            kueues, labels(*(f"l{n}" for n in range(17))), "it has 17 levels", id="seventeen"
        ),
        pytest.param(koordinators, None, "spec.networkTopologySpec: Expected", id="no layers"),
        pytest.param(koordinators, layers(), "it has 0 levels; 1 to 16", id="none of layers"),
        pytest.param(
            koordinators,
            layers(("A", "", [BLOCK, RACK])),
            'layer "A" has 2 labelKeys; one is read',
            id="two keys",
        ),
        pytest.param(
            koordinators,
            layers(("A", "", [BLOCK]), ("B", "ClusterTopologyLayer", [RACK])),
            "two layers have the same parentTopologyLayer; only a chain is read",
            id="two roots",
        ),
        pytest.param(
            koordinators,
            layers(("A", "B", [BLOCK]), ("B", "A", [RACK])),
            "it has 0 levels; 1 to 16 are read",
            id="a circle",
        ),
        pytest.param(
            koordinators,
            layers(*((f"L{n}", f"L{n - 1}", [f"x/{n}"]) for n in range(17))),
            "it has 17 layers; 16 are read",
            id="seventeen layers",
        ),
        pytest.param(
            koordinators,
            layers(("A", "", [BLOCK]), ("A", "A", [RACK])),
            "two levels have the same name",
            id="a layer within itself",
        ),
        pytest.param(
            koordinators,
            layers(("a layer", "", [BLOCK])),
            "the name of a level must be",
            id="a name with a space",
        ),
    ],
)
def test_what_cannot_be_read_leaves_no_level_and_is_named(
    reader: Read, spec: Any, problem: str
) -> None:
    found = read(reader, spec)
    assert not found.levels
    assert problem in found.problem
