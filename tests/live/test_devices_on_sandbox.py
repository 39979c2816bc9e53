# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs whose members have devices, from the pods to their nodes, with a scheduler that may die."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from enbloc.kube.client import PatchType
from enbloc.kube.paths import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from enbloc.model import names
from enbloc.sandbox import Sandbox
from enbloc.sandbox.nodes import DeviceDriver, Shape
from enbloc.sandbox.nodes.claims.devices import RESOURCE_CLAIM_TEMPLATES
from tests.live.world import NAMESPACE, World
from tests.sandbox.nodes.claims import asking

Json = dict[str, Any]


@asynccontextmanager
async def working(world: World, *nodes: str, devices: int = 4) -> AsyncGenerator[None]:
    """Nodes with so many devices each, their driver, controllers, and a template of claims."""
    await world.nodes(" ".join(nodes), cpu=16)
    shapes = [Shape(name, 16_000, 64 * 2**30) for name in nodes]
    driver = DeviceDriver(world.client, shapes, devices)
    async with world.controllers(driver.run()):
        async with asyncio.timeout(10):
            await driver.published.wait()
        body = {"metadata": {"name": "t"}, "spec": {"spec": asking()}}
        await world.client.create(RESOURCE_CLAIM_TEMPLATES, body, NAMESPACE)
        yield


async def gang(world: World, name: str, size: int, **source: str) -> None:
    """A gang of which each member has a claim: of its own, or one that is named."""
    await world.group(name, size)
    claim = {"name": "gpu", **(source or {"resourceClaimTemplateName": "t"})}
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": {"cpu": "1"}, "claims": [{"name": "gpu"}]},
    }
    for index in range(size):
        annotations = {names.POD_GROUP_KEY: name}
        body = {
            "metadata": {"name": f"{name}-{index}", "annotations": annotations},
            "spec": {
                "schedulerName": "enbloc",
                "containers": [container],
                "resourceClaims": [claim],
            },
        }
        await world.client.create(PODS, body, NAMESPACE)


async def claims(world: World) -> list[Json]:
    return [each async for each in world.client.list(RESOURCE_CLAIMS, NAMESPACE)]


def devices_of(found: list[Json]) -> list[tuple[str, str]]:
    """Pool and name of all devices that claims have got."""
    results = [
        result
        for claim in found
        for result in claim["status"].get("allocation", {"devices": {"results": []}})["devices"][
            "results"
        ]
    ]
    return [(each["pool"], each["device"]) for each in results]


async def test_a_gang_gets_a_device_for_each_member_and_no_device_twice(world: World) -> None:
    async with working(world, "n1", "n2"), world.scheduler():
        await gang(world, "g", 8)
        await world.until_bound("g", 8)
    found = await claims(world)
    got = devices_of(found)
    assert len(set(got)) == len(got) == 8
    where = await world.bound("g")
    for claim in found:
        [consumer] = claim["status"]["reservedFor"]
        assert where[consumer["name"]] == devices_of([claim])[0][0]


async def test_a_claim_that_members_share_puts_them_on_one_node(world: World) -> None:
    async with working(world, "n1", "n2"), world.scheduler():
        body = {"metadata": {"name": "shared"}, "spec": asking()}
        await world.client.create(RESOURCE_CLAIMS, body, NAMESPACE)
        await gang(world, "g", 6, resourceClaimName="shared")
        await world.until_bound("g", 6)
    [found] = await claims(world)
    assert len(found["status"]["reservedFor"]) == 6
    assert len(set((await world.bound("g")).values())) == 1


async def test_of_two_gangs_that_want_the_same_devices_one_gets_all_and_one_none(
    world: World,
) -> None:
    async with working(world, "n1", "n2"), world.scheduler():
        await asyncio.gather(gang(world, "a", 6), gang(world, "b", 6))

        async def one_has_all() -> bool:
            return max(len(await world.bound("a")), len(await world.bound("b"))) == 6

        await world.until(one_has_all)
        await asyncio.sleep(0.5)
    assert sorted([len(await world.bound("a")), len(await world.bound("b"))]) == [0, 6]
    assert len(devices_of(await claims(world))) == 6


@pytest.mark.parametrize("after", [0.02, 0.1, 0.3])
async def test_a_scheduler_that_dies_in_the_middle_of_prebind_is_followed_by_one_that_ends_it(
    world: World, sandbox: Sandbox, after: float
) -> None:
    sandbox.faults.add(verb="patch", resource="resourceclaims/status", delay=0.05)
    async with working(world, "n1", "n2"):
        async with world.scheduler(ends_with=None) as first:
            await gang(world, "g", 8)
            await asyncio.sleep(after)
            await first.kill()
        async with world.scheduler():
            await world.until_bound("g", 8)
    got = devices_of(await claims(world))
    assert len(set(got)) == len(got) == 8


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"status": 500, "times": 8}, id="the server fails"),
        pytest.param({"after_commit": True, "times": 8}, id="the connection is cut"),
        pytest.param({"status": 409, "times": 8}, id="conflicts"),
        pytest.param({"status": 403, "times": 3}, id="a right is missing for a while"),
    ],
)
async def test_faults_in_the_middle_of_prebind_cost_a_gang_time_and_nothing_else(
    world: World, sandbox: Sandbox, fault: Json
) -> None:
    sandbox.faults.add(verb="patch", resource="resourceclaims/status", **fault)
    async with working(world, "n1", "n2"), world.scheduler():
        await gang(world, "g", 8)
        await world.until_bound("g", 8)
    found = await claims(world)
    got = devices_of(found)
    assert len(set(got)) == len(got) == 8
    assert all(len(each["status"]["reservedFor"]) == 1 for each in found)


async def test_slices_published_anew_in_mid_burst_give_no_device_twice(
    world: World, sandbox: Sandbox
) -> None:
    sandbox.faults.add(verb="patch", resource="resourceclaims/status", delay=0.05)
    async with working(world, "n1", "n2"), world.scheduler():
        await gang(world, "g", 8)
        for _ in range(5):
            await asyncio.sleep(0.05)
            for each in [each async for each in world.client.list(RESOURCE_SLICES)]:
                generation = each["spec"]["pool"]["generation"] + 1
                body = {"spec": {"pool": {"generation": generation}}}
                name = each["metadata"]["name"]
                await world.client.patch(RESOURCE_SLICES, name, body, kind=PatchType.MERGE)
        await world.until_bound("g", 8)
    got = devices_of(await claims(world))
    assert len(set(got)) == len(got) == 8
