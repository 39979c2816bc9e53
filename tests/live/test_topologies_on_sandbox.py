# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topologies on an API server: what a scheduler knows of them when it decides."""

from typing import Any

import pytest

from enbloc.client.client import Client, PatchType
from enbloc.client.paths import (
    CRDS,
    HYPER_NODES,
    KAI_TOPOLOGIES,
    KOORDINATOR_TOPOLOGIES,
    KUEUE_TOPOLOGIES,
    NODES,
    POD_GROUPS,
    TOPOLOGIES,
    Resource,
)
from enbloc.client.permissions import SIMULATION
from enbloc.config import Configuration, default_profiles
from enbloc.engine import Settings
from enbloc.engine.effects import SetGroupStatus
from enbloc.live.read_once import read_once
from enbloc.model.names import Reason
from enbloc_sandbox import Sandbox
from tests.foreign_crds import crd
from tests.live.world import NAMESPACE, World

RACK = "example.com/rack"
ZONE = "example.com/zone"


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


async def kind(world: World, resource: Resource, name: str, spec: dict[str, Any]) -> None:
    """An object of another project's cluster-scoped kind, and the kind if it is not there yet."""
    if not await world.client.serves(resource):
        await world.client.create(CRDS, crd(resource))
        await world.until(lambda: world.client.serves(resource))
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    await world.client.create(resource, body)


LEVELS = {"levels": [{"nodeLabel": ZONE}, {"nodeLabel": RACK}]}
LAYERS = {
    "networkTopologySpec": [
        {"topologyLayer": "zone", "labelKey": [ZONE]},
        {"topologyLayer": "rack", "parentTopologyLayer": "zone", "labelKey": [RACK]},
    ]
}


@pytest.mark.parametrize(
    ("resource", "spec", "level"),
    [
        (KUEUE_TOPOLOGIES, LEVELS, RACK),
        (KAI_TOPOLOGIES, LEVELS, RACK),
        (KOORDINATOR_TOPOLOGIES, LAYERS, "rack"),
    ],
    ids=["Kueue", "KAI", "Koordinator"],
)
async def test_racks_of_one_name_in_two_zones_are_two_by_a_topology_of_another_project(
    world: World, resource: Resource, spec: dict[str, Any], level: str
) -> None:
    """The label alone would make one rack of two nodes of them."""
    await kind(world, resource, "default", spec)
    for node, zone in (("a1", "z1"), ("b1", "z2"), ("b2", "z2")):
        await rack(world, "r1", node)
        labels = {"metadata": {"labels": {ZONE: zone}}}
        await world.client.patch(NODES, node, labels, kind=PatchType.MERGE)
    await gang_in(world, "train", 2, name=f"{resource.group}/default", required=level)

    async with world.scheduler():
        await world.until_bound("train-", 2)

    assert set((await world.bound("train-")).values()) == {"b1", "b2"}


async def test_tiers_of_hyper_nodes_are_levels_and_change_with_them(world: World) -> None:
    await world.nodes("n1 n2 n3", cpu=2)
    member = [{"type": "Node", "selector": {"regexMatch": {"pattern": "^n[12]$"}}}]
    await kind(world, HYPER_NODES, "s0", {"tier": 1, "members": member})
    near = {"name": "topology.volcano.sh/hypernodes", "required": "tier-1"}
    await gang_in(world, "train", 2, **near)
    await gang_in(world, "wide", 1, **near)

    async with world.scheduler():
        await world.until_bound("train-", 2)
        assert set((await world.bound("train-")).values()) == {"n1", "n2"}
        more = [*member, {"type": "Node", "selector": {"exactMatch": {"name": "n3"}}}]
        change = {"spec": {"members": more}}
        await world.client.patch(HYPER_NODES, "s0", change, kind=PatchType.MERGE)
        await world.until_bound("wide-", 1)

    labels = (await world.client.get(NODES, "n3"))["metadata"].get("labels", {})
    assert not [key for key in labels if "tier" in key], "nothing is written to nodes"


async def told(world: World) -> bool:
    return bool(await world.events("MalformedObject"))


async def test_a_hyper_node_that_cannot_be_read_in_full_hears_of_it(world: World) -> None:
    wrong = [{"type": "Node", "selector": {"regexMatch": {"pattern": "("}}}]
    await kind(world, HYPER_NODES, "s0", {"tier": 1, "members": wrong})

    async with world.scheduler():
        await world.until(lambda: told(world))

    [event] = await world.events("MalformedObject")
    assert "is no regular expression of RE2" in event["note"]


async def test_one_reading_of_a_cluster_knows_its_topologies(world: World) -> None:
    await rack(world, "r1", "a1 a2")
    await topology(world)
    await topology(world, "other", "example.com/other")
    await gang_in(world, "train", 2, name="default", required="rack")
    await gang_in(world, "lost", 2, name="none", required="rack")
    configuration = Configuration(default_profiles(), Settings())
    async with Client(world.cluster, component="drain-check", rules=SIMULATION) as client:
        reading = await read_once(client, configuration)

    effects = reading.present.engine().step(reading.present.now)

    invalid = {
        each.group.name
        for each in effects
        if isinstance(each, SetGroupStatus)
        for condition in each.conditions
        if condition.reason == Reason.INVALID_SPEC
    }
    assert invalid == {"lost"}


@pytest.mark.parametrize("fault", [{"status": 403}, {"status": 500}, {"hang": True}])
async def test_who_takes_over_goes_on_without_a_kind_that_cannot_be_read_by_now(
    world: World, sandbox: Sandbox, fault: dict[str, Any]
) -> None:
    theirs = KOORDINATOR_TOPOLOGIES
    await kind(world, theirs, "default", LAYERS)
    await rack(world, "r1", "a1 b1 b2 c1")
    for node, zone in (("a1", "z1"), ("b1", "z2"), ("b2", "z2"), ("c1", "z3")):
        labels = {"metadata": {"labels": {ZONE: zone}}}
        await world.client.patch(NODES, node, labels, kind=PatchType.MERGE)
    async with world.scheduler(leader_elect=True, ends_with=None) as first:
        await gang_in(world, "first", 1, name=f"{theirs.group}/default", required="rack")
        await world.until_bound("first-", 1)
        async with world.scheduler(leader_elect=True) as second:

            async def ready() -> bool:
                return not second.health.failed("readyz")

            await world.until(ready)
            for verb in ("list", "watch"):
                sandbox.faults.add(verb=verb, resource=theirs.plural, **fault)
            sandbox.faults.end_watches()
            assert await first.end() == 0
            await gang_in(world, "near", 2, name=f"{theirs.group}/*", required="rack")
            await world.pod("alone", cpu=2)
            await world.until_bound("alone", 1, seconds=60.0)
            await world.until(lambda: invalid(world, "near"))
            assert not await world.bound("near-")
            await world.delete("alone")
            sandbox.faults.clear()
            await world.until_bound("near-", 2, seconds=60.0)
    assert set((await world.bound("near-")).values()) == {"b1", "b2"}


async def test_one_reading_goes_without_topologies_of_another_project_that_cannot_be_read(
    world: World, sandbox: Sandbox
) -> None:
    theirs = KOORDINATOR_TOPOLOGIES
    await kind(world, theirs, "default", LAYERS)
    await rack(world, "r1", "a1 a2")
    await gang_in(world, "near", 2, name=f"{theirs.group}/*", required="rack")
    sandbox.faults.add(verb="list", resource=theirs.plural, status=500)
    configuration = Configuration(default_profiles(), Settings())
    async with Client(world.cluster, component="drain-check", rules=SIMULATION) as client:
        reading = await read_once(client, configuration)

    [problem] = reading.problems
    assert problem.startswith(f"cannot list {theirs.label()}: 500")
    effects = reading.present.engine().step(reading.present.now)
    [status] = [each for each in effects if isinstance(each, SetGroupStatus)]
    assert f"the scheduler cannot read {theirs.label()}" in status.conditions[0].message
