# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topologies on an API server: what a scheduler knows of them when it decides."""

from typing import Any

from enbloc.client.client import Client, PatchType
from enbloc.client.paths import CRDS, NODES, POD_GROUPS, TOPOLOGIES
from enbloc.client.permissions import DRAIN_CHECK
from enbloc.config import Configuration, default_profiles
from enbloc.engine import Settings
from enbloc.engine.effects import SetGroupStatus
from enbloc.live.read_once import read_once
from enbloc.model.names import Reason
from tests.live.world import NAMESPACE, World

RACK = "example.com/rack"


async def rack(world: World, name: str, nodes: str) -> None:
    """Nodes of one rack, of 2 CPU each."""
    await world.nodes(nodes, cpu=2)
    for node in nodes.split():
        labels = {"metadata": {"labels": {RACK: name}}}
        await world.client.patch(NODES, node, labels, kind=PatchType.MERGE)


async def topology(world: World, name: str = "default", label: str = RACK) -> None:
    body = {
        "apiVersion": TOPOLOGIES.api_version,
        "kind": TOPOLOGIES.kind,
        "metadata": {"name": name},
        "spec": {"levels": [{"name": "rack", "nodeLabel": label}]},
    }
    await world.client.create(TOPOLOGIES, body)


async def gang_in(world: World, group: str, size: int, **near: str) -> None:
    """A gang of pods of 2 CPU."""
    body: dict[str, Any] = {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {"name": group},
        "spec": {"minMember": size, "topology": near},
    }
    await world.client.create(POD_GROUPS, body, NAMESPACE)
    for index in range(size):
        await world.pod(f"{group}-{index}", group, cpu=2)


async def invalid(world: World, group: str) -> bool:
    return (await world.condition(group))[1] == Reason.INVALID_SPEC


async def test_a_gang_is_bound_in_one_rack_of_the_topology_that_was_there_before(
    world: World,
) -> None:
    await rack(world, "r1", "a1 a2")
    await rack(world, "r2", "b1 b2 b3")
    await topology(world)
    await gang_in(world, "train", 3, name="default", required="rack")

    async with world.scheduler():
        await world.until_bound("train-", 3)

    assert set((await world.bound("train-")).values()) == {"b1", "b2", "b3"}
    assert not await world.events("InvalidSpec")


async def test_a_topology_that_comes_late_lets_the_group_that_names_it_begin(world: World) -> None:
    await rack(world, "r1", "a1 a2")
    await gang_in(world, "train", 2, name="default", required="rack")

    async with world.scheduler():
        await world.until(lambda: invalid(world, "train"))
        await topology(world)
        await world.until_bound("train-", 2)


async def test_without_the_kind_a_node_label_is_enough_and_all_else_works(world: World) -> None:
    """An install of an older version has no CRD of Topology."""
    await world.client.delete(CRDS, TOPOLOGIES.label())
    await rack(world, "r1", "a1")
    await rack(world, "r2", "b1 b2 b3")
    await gang_in(world, "near", 2, required=RACK)

    async with world.scheduler():
        await world.until_bound("near-", 2)
        await world.pod("alone", cpu=1)
        await world.until_bound("alone", 1)

    assert set((await world.bound("near-")).values()) < {"b1", "b2", "b3"}


async def test_one_reading_of_a_cluster_knows_its_topologies(world: World) -> None:
    await rack(world, "r1", "a1 a2")
    await topology(world)
    await topology(world, "other", "example.com/other")
    await gang_in(world, "train", 2, name="default", required="rack")
    await gang_in(world, "lost", 2, name="none", required="rack")
    configuration = Configuration(default_profiles(), Settings())
    async with Client(world.cluster, component="drain-check", rules=DRAIN_CHECK) as client:
        reading = await read_once(client, configuration)

    effects = reading.engine.step(reading.now)

    invalid = {
        each.group.name
        for each in effects
        if isinstance(each, SetGroupStatus)
        for condition in each.conditions
        if condition.reason == Reason.INVALID_SPEC
    }
    assert invalid == {"lost"}
