# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs whose members have volumes, from the pods to their nodes, with a scheduler that may die."""

import asyncio
from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
)
from enbloc.model import names
from enbloc_sandbox import Sandbox
from enbloc_sandbox.nodes import DISK_DRIVER, Provisioner
from sandbox.tests.nodes.claims import claim, mounting, on_node, volume
from tests.live.world import NAMESPACE, World

Json = dict[str, Any]
SELECTED = "volume.kubernetes.io/selected-node"


async def nodes(world: World, *found: str, provisioner: str = DISK_DRIVER) -> None:
    """Nodes that are known by their host names, and a class whose volumes wait for a pod."""
    for name in found:
        await world.nodes(name, cpu=4)
        labels = {"metadata": {"labels": {"kubernetes.io/hostname": name}}}
        await world.client.patch(NODES, name, labels, kind=PatchType.MERGE)
    local = {
        "metadata": {"name": "local"},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    await world.client.create(STORAGE_CLASSES, local)


async def gang(world: World, name: str, size: int, refused: str = "") -> None:
    """A gang of which each member has a claim of its name; the provisioner refuses one."""
    await world.group(name, size)
    for index in range(size):
        member = f"{name}-{index}"
        why = {names.REFUSE_KEY: "no space"} if member == refused else {}
        body = claim(member, "local", annotations=why)
        await world.client.create(PERSISTENT_VOLUME_CLAIMS, body, NAMESPACE)
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        body = {
            "metadata": {"name": member, "annotations": {names.POD_GROUP_KEY: name}},
            "spec": {
                "schedulerName": "enbloc",
                "containers": [container],
                "volumes": mounting(member),
            },
        }
        await world.client.create(PODS, body, NAMESPACE)


async def claims(world: World) -> dict[str, Json]:
    found = [each async for each in world.client.list(PERSISTENT_VOLUME_CLAIMS, NAMESPACE)]
    return {each["metadata"]["name"]: each for each in found}


async def refuse(world: World, name: str, why: str | None) -> None:
    """Have the provisioner refuse a claim; None = not any more."""
    body = {"metadata": {"annotations": {names.REFUSE_KEY: why}}}
    await world.client.patch(PERSISTENT_VOLUME_CLAIMS, name, body, NAMESPACE, kind=PatchType.MERGE)


async def test_a_gang_gets_a_volume_for_each_member_and_is_bound(world: World) -> None:
    await nodes(world, "n1", "n2")
    async with world.controllers(Provisioner(world.client).run()), world.scheduler():
        await gang(world, "g", 8)
        await world.until_bound("g", 8)
    found = await claims(world)
    where = await world.bound("g")
    assert {
        name: each["metadata"]["annotations"][SELECTED] for name, each in found.items()
    } == where
    assert {each["status"]["phase"] for each in found.values()} == {"Bound"}


async def test_local_volumes_say_where_members_go(world: World) -> None:
    await nodes(world, "n1", "n2")
    for name in ("n1", "n2"):
        body = volume(f"disk-{name}", "local", nodeAffinity=on_node(name))
        await world.client.create(PERSISTENT_VOLUMES, body)

    async def available() -> bool:
        found = [each async for each in world.client.list(PERSISTENT_VOLUMES)]
        return all(each.get("status", {}).get("phase") == "Available" for each in found)

    async with world.controllers(Provisioner(world.client).run()), world.scheduler():
        await world.until(available)
        await gang(world, "g", 2)
        await world.until_bound("g", 2)
    assert sorted((await world.bound("g")).values()) == ["n1", "n2"]
    found = [each async for each in world.client.list(PERSISTENT_VOLUMES)]
    assert len(found) == 2, "none was made"


async def test_while_one_claim_of_eight_is_refused_no_member_is_bound(world: World) -> None:
    await nodes(world, "n1", "n2")
    async with world.controllers(Provisioner(world.client).run()), world.scheduler():
        await gang(world, "g", 8, refused="g-3")
        failed = 'provisioning failed for PVC "g-3"'

        async def told() -> bool:
            found = await world.client.get(PODS, "g-3", NAMESPACE)
            conditions = found["status"].get("conditions", [])
            return any(failed in each.get("message", "") for each in conditions)

        await world.until(told)
        assert await world.bound("g") == {}
        await refuse(world, "g-3", None)
        await world.until_bound("g", 8)


@pytest.mark.parametrize("after", [0.02, 0.1, 0.3])
async def test_a_scheduler_that_dies_in_the_middle_of_prebind_is_followed_by_one_that_ends_it(
    world: World, sandbox: Sandbox, after: float
) -> None:
    await nodes(world, "n1", "n2")
    sandbox.faults.add(verb="patch", resource="persistentvolumeclaims", delay=0.05)
    async with world.controllers(Provisioner(world.client).run()):
        async with world.scheduler(ends_with=None) as first:
            await gang(world, "g", 8)
            await asyncio.sleep(after)
            await first.kill()
        async with world.scheduler():
            await world.until_bound("g", 8)
    found = await claims(world)
    where = await world.bound("g")
    assert {
        name: each["metadata"]["annotations"][SELECTED] for name, each in found.items()
    } == where
    volumes = [each async for each in world.client.list(PERSISTENT_VOLUMES)]
    assert len(volumes) == 8


async def test_a_node_that_is_selected_and_fills_up_after_a_crash_is_selected_no_more(
    world: World,
) -> None:
    await nodes(world, "n1", "n2", "n3")

    async def selected() -> set[str]:
        found = (await claims(world)).values()
        return {each["metadata"].get("annotations", {}).get(SELECTED, "") for each in found}

    async def all_selected() -> bool:
        return "" not in await selected()

    async with world.scheduler(ends_with=None) as first:
        await gang(world, "g", 2)
        await world.until(all_selected)
        await first.kill()
    full = await selected()
    for name in full:
        await world.pod(f"stranger-{name}", cpu=4, scheduler="other")
        await world.bind(f"stranger-{name}", name)

    async def others_selected() -> bool:
        return full.isdisjoint(await selected()) and await all_selected()

    async with world.scheduler():
        await world.until(others_selected)


async def test_of_two_gangs_that_want_the_same_volumes_one_gets_all_and_one_none(
    world: World,
) -> None:
    await nodes(world, "n1", "n2", provisioner="kubernetes.io/no-provisioner")
    for node in ("n1", "n2"):
        for index in range(2):
            body = volume(f"disk-{node}-{index}", "local", nodeAffinity=on_node(node))
            await world.client.create(PERSISTENT_VOLUMES, body)
    async with world.controllers(Provisioner(world.client).run()), world.scheduler():
        await asyncio.gather(gang(world, "a", 3), gang(world, "b", 3))

        async def one_has_all() -> bool:
            return max(len(await world.bound("a")), len(await world.bound("b"))) == 3

        await world.until(one_has_all)
        await asyncio.sleep(0.5)
    assert sorted([len(await world.bound("a")), len(await world.bound("b"))]) == [0, 3]
    [loser] = [name for name in "ab" if not await world.bound(name)]
    found = await claims(world)
    assert not any(each["spec"].get("volumeName") for name, each in found.items() if loser in name)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"status": 500, "times": 5}, id="the server fails"),
        pytest.param({"after_commit": True, "times": 5}, id="the connection is cut"),
        pytest.param({"status": 409, "times": 5}, id="conflicts"),
    ],
)
async def test_faults_in_the_middle_of_prebind_cost_a_gang_time_and_nothing_else(
    world: World, sandbox: Sandbox, fault: Json
) -> None:
    await nodes(world, "n1", "n2")
    sandbox.faults.add(verb="patch", resource="persistentvolumeclaims", **fault)
    async with world.controllers(Provisioner(world.client).run()), world.scheduler():
        await gang(world, "g", 8)
        await world.until_bound("g", 8)
    assert len([each async for each in world.client.list(PERSISTENT_VOLUMES)]) == 8
