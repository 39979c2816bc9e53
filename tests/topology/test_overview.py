# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The domains of a topology, and what is free in each."""

from typing import Any, Final

from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.topology import Level, Topology
from enbloc.topology import Overview, overview
from enbloc.topology.overview import MOST
from tests.world.builders import node, spec
from tests.world.tables import nodes

ZONE, RACK = "example.com/zone", "example.com/rack"
FABRIC: Final = Topology("default", (Level("zone", ZONE), Level("rack", RACK)))


def at(path: str, name: str, **of: Any) -> Node:
    """A node in this zone and rack; "" = it lacks the label."""
    pairs = zip((ZONE, RACK), path.split("/"), strict=True)
    labels = sorted((key, value) for key, value in pairs if value)
    return node(name, labels=tuple(labels), **{"cpu": 8, "memory": "64Gi", **of})


def paths(found: Overview) -> list[str]:
    return [domain.path for domain in found.domains]


def free(found: Overview, path: str) -> dict[str, int]:
    [domain] = [each for each in found.domains if each.path == path]
    return dict(domain.free)


def placed(table: Nodes, name: str, **requests: Any) -> None:
    row = table.row(name)
    assert row is not None
    table.place(row, spec(**requests))


def test_domains_come_with_those_within_them_by_the_values_of_labels() -> None:
    table = nodes(at("z2/r1", "a"), at("z1/r2", "b"), at("z1/r1", "c"), at("z1/r2", "d"))
    found = overview(table, FABRIC)
    assert paths(found) == ["z1", "z1/r1", "z1/r2", "z2", "z2/r1"]
    assert [domain.depth for domain in found.domains] == [0, 1, 1, 0, 1]
    assert [domain.nodes for domain in found.domains] == [3, 1, 2, 1, 1]
    assert found.nodes == 4


def test_free_is_what_nodes_offer_less_what_placed_pods_request() -> None:
    table = nodes(at("z/r1", "a", gpu=4), at("z/r1", "b"), at("z/r2", "c"))
    placed(table, "a", cpu=3, memory="4Gi", gpu=1)
    found = overview(table, FABRIC)
    gib = 2**30
    assert free(found, "z/r1") == {"cpu": 13_000, "memory": 124 * gib, "nvidia.com/gpu": 3}
    assert free(found, "z/r2") == {"cpu": 8_000, "memory": 64 * gib, "nvidia.com/gpu": 0}
    assert free(found, "z") == {"cpu": 21_000, "memory": 188 * gib, "nvidia.com/gpu": 3}


def test_nodes_that_are_cordoned_or_not_ready_have_nothing_free() -> None:
    table = nodes(
        at("z/r1", "a"), at("z/r1", "b", unschedulable=True), at("z/r1", "c", ready=False)
    )
    [_, rack] = overview(table, FABRIC).domains
    assert (rack.nodes, rack.ready, rack.free["cpu"]) == (3, 1, 8_000)


def test_a_node_that_is_overcommitted_takes_nothing_from_the_others() -> None:
    table = nodes(at("z/r1", "a"), at("z/r1", "b"))
    placed(table, "a", cpu=12)
    assert free(overview(table, FABRIC), "z/r1")["cpu"] == 8_000


def test_memory_of_a_large_cluster_is_exact() -> None:
    table = nodes(*(at("z/r", f"n{index}", memory=2**55 + 1) for index in range(9)))
    assert free(overview(table, FABRIC), "z")["memory"] == 9 * (2**55 + 1)


def test_nodes_outside_count_for_the_first_label_that_they_lack() -> None:
    table = nodes(at("z/r", "a"), at("z/", "b"), at("/r", "c"), at("/", "d"))
    found = overview(table, FABRIC)
    assert found.outside == {ZONE: 2, RACK: 1}
    assert paths(found) == ["z", "z/r"]


def test_levels_that_are_not_shown_leave_nobody_outside() -> None:
    found = overview(nodes(at("z/r", "a"), at("z/", "b")), FABRIC, 1)
    assert paths(found) == ["z"]
    assert found.outside == {}
    assert [level.name for level in found.levels] == ["zone"]


def test_of_more_domains_than_are_shown_the_others_are_counted() -> None:
    table = nodes(*(at(f"z{index % 2}/r{index}", f"n{index}") for index in range(MOST + 20)))
    found = overview(table, FABRIC)
    assert len(found.domains) == MOST
    assert found.more == {"rack": 22}


def test_without_nodes_there_are_no_domains() -> None:
    found = overview(nodes(), FABRIC)
    assert (paths(found), found.more, found.outside) == ([], {}, {})
