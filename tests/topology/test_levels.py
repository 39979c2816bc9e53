# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Levels of a Topology from the labels that nodes have."""

from collections.abc import Mapping, Sequence
from typing import Final

import pytest

from enbloc.model.topology import MOST_LEVELS, Level
from enbloc.topology import HOST, chosen, guessed

PLACE: Final = "topology.kubernetes.io/"
EKS: Final = "topology.k8s.aws/network-node-layer-"
GKE: Final = "cloud.google.com/gce-topology-"
OKE: Final = "oci.oraclecloud.com/rdma."
COREWEAVE: Final = "backend.coreweave.cloud/"
TOPOGRAPH: Final = "fabric.topograph.run/tier-"
OLD_TOPOGRAPH: Final = "network.topology.nvidia.com/"
SAMPLE: Final = "cloud.provider.com/topology-"
CLIQUE: Final = "nvidia.com/gpu.clique"
HOSTNAME: Final = "kubernetes.io/hostname"

Columns = Mapping[str, str]


def nodes(columns: Columns) -> list[dict[str, str]]:
    """The labels of nodes: by key, the value of each; "-" = it lacks it."""
    rows = zip(*(column.split() for column in columns.values()), strict=True)
    return [
        {key: value for key, value in zip(columns, row, strict=True) if value != "-"}
        for row in rows
    ]


@pytest.mark.parametrize(
    ("columns", "levels"),
    [
        pytest.param(
            {f"{PLACE}zone": "a a b", f"{PLACE}region": "r r r"},
            "region zone",
            id="region and zone, in the order of what is around",
        ),
        pytest.param(
            {
                f"{PLACE}zone": "a a a a",
                f"{EKS}3": "n1 n2 n3 n4",
                f"{EKS}2": "m1 m1 m2 m2",
                f"{EKS}1": "l1 l1 l1 l1",
            },
            "zone layer-1 layer-2 layer-3",
            id="layer 1 of EKS is the outermost",
        ),
        pytest.param(
            {
                f"{GKE}block": "b1 b1 b1 b1",
                f"{GKE}subblock": "s1 s1 s2 s2",
                f"{GKE}host": "h1 h2 h3 h4",
                CLIQUE: "u.1 u.1 u.2 u.2",
            },
            "block subblock accelerator physical-host",
            id="a clique of several hosts lies around these",
        ),
        pytest.param(
            {
                f"{OKE}hpc_island_id": "i i",
                f"{OKE}network_block_id": "n n",
                f"{OKE}local_block_id": "l m",
            },
            "island network-block local-block",
            id="islands and blocks of OKE",
        ),
        pytest.param(
            {
                f"{COREWEAVE}fabric": "f1 f1 f2 f2",
                f"{COREWEAVE}leafgroup": "1 2 1 2",
            },
            "fabric leafgroup",
            id="numbers of leafgroups begin anew in each fabric",
        ),
        pytest.param(
            {f"{TOPOGRAPH}0": "a b c d", f"{TOPOGRAPH}1": "s s t t", f"{TOPOGRAPH}2": "c c c c"},
            "tier-2 tier-1 tier-0",
            id="tier 0 of Topograph is the innermost",
        ),
        pytest.param(
            {
                f"{OLD_TOPOGRAPH}block": "b1 b2",
                f"{OLD_TOPOGRAPH}spine": "s s",
                f"{OLD_TOPOGRAPH}datacenter": "d d",
                f"{OLD_TOPOGRAPH}accelerator": "n1 n2",
            },
            "datacenter spine block accelerator",
            id="as Topograph wrote them at first",
        ),
        pytest.param(
            {f"{SAMPLE}block": "b1 b1 b2", f"{SAMPLE}rack": "r1 r2 r1"},
            "block rack",
            id="racks of one name in two blocks are two racks",
        ),
        pytest.param({f"{PLACE}zone": "a - b -"}, "zone", id="half of the nodes is enough"),
        pytest.param({f"{PLACE}zone": "a - - -"}, "", id="less than half is not"),
        pytest.param(
            {f"{PLACE}zone": "a a b b", f"{EKS}1": "x y x y"},
            "zone",
            id="what spans two domains is no level within them",
        ),
        pytest.param(
            {f"{PLACE}zone": "a a - -", f"{EKS}1": "- - x y"},
            "zone",
            id="who lacks the label around does not count",
        ),
        pytest.param(
            {
                f"{EKS}1": "a a",
                f"{TOPOGRAPH}1": "s s",
                f"{TOPOGRAPH}0": "t u",
            },
            "tier-1 tier-0",
            id="of two that describe a network, the one with more levels",
        ),
        pytest.param({CLIQUE: "u.1 u.1 u.2"}, "accelerator", id="a clique alone"),
        pytest.param({HOSTNAME: "a b c", "example.com/rack": "r s t"}, "", id="none that is known"),
    ],
)
def test_known_labels_make_levels(columns: Columns, levels: str) -> None:
    assert [level.name for level in guessed(nodes(columns)).levels] == levels.split()


def test_no_nodes_make_no_levels() -> None:
    assert guessed([]).levels == ()


def test_each_level_has_the_label_that_makes_it() -> None:
    found = guessed(nodes({f"{PLACE}zone": "a b", f"{SAMPLE}rack": "r r"}))
    assert found.levels == (Level("zone", f"{PLACE}zone"), Level("rack", f"{SAMPLE}rack"))
    assert found.notes == ()


def test_the_host_is_the_innermost_level_if_it_is_asked_for() -> None:
    columns = {f"{PLACE}zone": "a b", HOSTNAME: "n1 n2"}
    assert guessed(nodes(columns), host=True).levels[-1] == Level("host", HOSTNAME)


def test_a_topology_has_at_most_as_many_levels_as_the_api_takes() -> None:
    columns = {
        **{f"{PLACE}{each}": "a a" for each in ("region", "zone")},
        **{f"{EKS}{layer}": "a a" for layer in range(1, 5)},
        **{f"{TOPOGRAPH}{tier}": "a a" for tier in range(4)},
        CLIQUE: "u u",
        HOSTNAME: "n1 n2",
    }
    assert len(guessed(nodes(columns), host=True).levels) == MOST_LEVELS


@pytest.mark.parametrize(
    ("columns", "note"),
    [
        pytest.param(
            {CLIQUE: "u.1 - -"},
            f"{CLIQUE}: left out: only 1 of 3 nodes have it",
            id="few nodes have it",
        ),
        pytest.param(
            {f"{PLACE}zone": "a a b b", f"{EKS}1": "x y x y"},
            f"{EKS}1: left out: x lies in a and in b, which {PLACE}zone tells apart",
            id="it spans two domains",
        ),
        pytest.param(
            {f"{PLACE}zone": "a a - -", f"{EKS}1": "- - x y"},
            f"{EKS}1: left out: only 0 of 4 nodes have it together with {PLACE}zone",
            id="others have it than have the label around",
        ),
        pytest.param(
            {f"{EKS}1": "a a", f"{TOPOGRAPH}1": "s s", f"{TOPOGRAPH}0": "t u"},
            f"{EKS}1: left out: {TOPOGRAPH}0 describes the same network",
            id="another describes more of it",
        ),
    ],
)
def test_what_is_left_out_is_said(columns: Columns, note: str) -> None:
    assert guessed(nodes(columns)).notes == (note,)


@pytest.mark.parametrize(
    ("column", "notes"),
    [
        pytest.param("r1 r2 r3", [], id="on all nodes"),
        pytest.param(
            "r1 - r3",
            ["example.com/rack: 2 of 3 nodes have it; the others are in no domain of rack"],
            id="on some",
        ),
        pytest.param(
            "- - -",
            ["example.com/rack: 0 of 3 nodes have it; the others are in no domain of rack"],
            id="on none",
        ),
    ],
)
def test_levels_that_are_chosen_stay_whatever_nodes_have(column: str, notes: Sequence[str]) -> None:
    levels = (Level("rack", "example.com/rack"), HOST)
    found = chosen(nodes({"example.com/rack": column, HOSTNAME: "n1 n2 n3"}), levels)
    assert found.levels == levels
    assert list(found.notes) == notes


@pytest.mark.parametrize(
    ("racks", "warns"),
    [
        ("r1 r2 r3 r4", True),
        pytest.param("r1 r2 r1 r2", False, id="names that repeat in each block"),
        pytest.param("r1 r1 r2 r2", False, id="one rack for each block"),
    ],
)
def test_levels_that_are_chosen_from_the_inside_out_are_told_of(racks: str, warns: bool) -> None:
    block, rack = Level("block", "example.com/block"), Level("rack", "example.com/rack")
    labels = nodes({block.label: "b1 b1 b2 b2", rack.label: racks})
    assert chosen(labels, (block, rack)).notes == ()
    found = chosen(labels, (rack, block))
    assert found.levels == (rack, block)
    assert bool(found.notes) == warns
    for note in found.notes:
        assert note == (
            "example.com/block: each rack is of one block only, as if block were around it; the "
            "outermost level comes first"
        )
