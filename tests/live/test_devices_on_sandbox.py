# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs whose members have devices, from the pods to their nodes, with a scheduler that may die."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import (
    CRDS,
    NATIVE_POD_GROUPS,
    POD_GROUPS,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from enbloc.model import names
from enbloc_sandbox import Sandbox
from enbloc_sandbox.nodes import DEVICE_DRIVER, DeviceDriver, Shape
from enbloc_sandbox.nodes.claims.devices import RESOURCE_CLAIM_TEMPLATES
from sandbox.tests.nodes.claims import asking
from tests.foreign_crds import crd
from tests.live.world import NAMESPACE, World

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


@pytest.mark.parametrize("seed", [1, 3, 4])
async def test_plans_that_are_withdrawn_in_mid_prebind_give_no_device_twice(
    world: World, sandbox: Sandbox, seed: int
) -> None:
    """What an earlier plan writes lands while the next one is made, and another gang waits."""
    chance = random.Random(seed)
    sandbox.faults.add(verb="patch", resource="resourceclaims/status", delay=0.3)
    names_of_gangs, twice = ("g", "h"), list[list[tuple[str, str]]]()

    async def judge() -> None:
        while True:
            got = devices_of(await claims(world))
            if len(set(got)) < len(got):
                twice.append(got)
            await asyncio.sleep(0.02)

    async with working(world, "n1", "n2"), world.scheduler():
        judging = asyncio.create_task(judge())
        await asyncio.gather(*(gang(world, name, 8) for name in names_of_gangs))
        for edit in range(30):
            await asyncio.sleep(chance.uniform(0.02, 0.5))
            body = {"spec": {"minMember": 7 + edit % 2}}
            name = chance.choice(names_of_gangs)
            await world.client.patch(POD_GROUPS, name, body, NAMESPACE, kind=PatchType.MERGE)

        async def one_has_all() -> bool:
            return max([len(await world.bound(name)) for name in names_of_gangs]) == 8

        await world.until(one_has_all)
        judging.cancel()
    assert not twice
    assert sorted([len(await world.bound(name)) for name in names_of_gangs]) == [0, 8]


# ── claims of a PodGroup of Kubernetes ───────────────────────────────────────────────────────

MANY = 300
NATIVE = NATIVE_POD_GROUPS[-1]
LISTED = {"name": "fabric", "resourceClaimTemplateName": "t"}


@asynccontextmanager
async def with_fabric(world: World) -> AsyncGenerator[None]:
    """Nodes that all reach one device, and PodGroups of Kubernetes."""
    await world.client.create(CRDS, crd(NATIVE))
    async with working(world, "n1", "n2", "n3", "n4", devices=0):
        spec = {
            "driver": DEVICE_DRIVER,
            "pool": {"name": "fabric", "generation": 1, "resourceSliceCount": 1},
            "allNodes": True,
            "devices": [{"name": "link"}],
        }
        await world.client.create(RESOURCE_SLICES, {"metadata": {"name": "f"}, "spec": spec})
        yield


async def native_gang(world: World, name: str, size: int, claim: Json = LISTED) -> None:
    """A gang of a PodGroup of Kubernetes that lists the claim of its members."""
    spec = {"schedulingPolicy": {"gang": {"minCount": size}}, "resourceClaims": [claim]}
    await world.client.create(NATIVE, {"metadata": {"name": name}, "spec": spec}, NAMESPACE)
    await world.group(name, size)  # as the controller makes it
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": claim["name"]}]}}
    pod = {
        "schedulerName": "enbloc",
        "containers": [container],
        "schedulingGroup": {"podGroupName": name},
        "resourceClaims": [claim],
    }
    made = ({"metadata": {"name": f"{name}-{index}"}, "spec": pod} for index in range(size))
    await asyncio.gather(*(world.client.create(PODS, each, NAMESPACE) for each in made))


async def consumers(world: World) -> list[tuple[str, str]]:
    """For whom the one claim is reserved."""
    [found] = await claims(world)
    reserved = found["status"].get("reservedFor", [])
    return [(each["resource"], each["name"]) for each in reserved]


@pytest.mark.parametrize("named", [True, False], ids=["named", "template"])
async def test_a_gang_of_300_shares_a_claim_that_its_pod_group_lists(
    world: World, *, named: bool
) -> None:
    """Semantics §2.10: the PodGroup is one consumer, and has the claim until it is gone."""
    claim = {"name": "fabric", "resourceClaimName": "shared"} if named else LISTED
    async with with_fabric(world), world.scheduler():
        if named:
            body = {"metadata": {"name": "shared"}, "spec": asking()}
            await world.client.create(RESOURCE_CLAIMS, body, NAMESPACE)
        await native_gang(world, "g", MANY, claim)
        await world.until_bound("g", MANY)
        assert await consumers(world) == [("podgroups", "g")]
        assert devices_of(await claims(world)) == [("fabric", "link")]


async def test_a_claim_of_a_pod_group_is_found_again_by_the_next_scheduler(
    world: World, sandbox: Sandbox
) -> None:
    async with with_fabric(world):
        sandbox.faults.add(verb="create", resource="pods/binding", delay=0.5)
        async with world.scheduler(ends_with=None) as first:
            await native_gang(world, "g", 8)

            async def reserved() -> bool:
                return bool(await claims(world)) and bool(await consumers(world))

            await world.until(reserved)
            await first.kill()
        async with world.scheduler():
            await world.until_bound("g", 8)
    assert await consumers(world) == [("podgroups", "g")]


async def test_a_gang_that_is_not_bound_gives_back_what_is_reserved_for_its_pod_group(
    world: World, sandbox: Sandbox
) -> None:
    """Semantics §3.8: the next gang gets the device, and then keeps it."""
    sandbox.faults.add(verb="get", resource="resourceclaims", delay=0.2)
    async with with_fabric(world), world.scheduler():
        await native_gang(world, "g", 8)

        async def reserved() -> bool:
            return bool(await claims(world)) and bool(await consumers(world))

        await world.until(reserved)
        await world.client.delete(PODS, "g-7", NAMESPACE)

        async def free() -> bool:
            return not devices_of(await claims(world))

        await world.until(free)
        assert await world.bound("g") == {}
        await native_gang(world, "h", 4)
        await world.until_bound("h", 4)
