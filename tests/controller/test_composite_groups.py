# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' CompositePodGroups, on a sandbox: one PodGroup of ours for each tree."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.client.errors import NotFound
from enbloc.client.paths import (
    CRDS,
    EVENTS,
    NAMESPACES,
    NATIVE_POD_GROUPS,
    POD_GROUPS,
    PODS,
    Resource,
)
from enbloc.controller.sources.native import COMPOSITES
from enbloc.model import names
from enbloc.wire.auto_groups import group_name
from enbloc_sandbox import Sandbox
from tests.controller.conftest import World, condition, controller, eventually
from tests.controller.native_kinds import crd
from tests.world.virtual_time import time_source

GROUPS, TREES = NATIVE_POD_GROUPS[2], COMPOSITES[2]
OURS = group_name("CompositePodGroup", "root")
KIND, TREE_KIND = "PodGroupInitiallyScheduled", "CompositePodGroupInitiallyScheduled"


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with Sandbox(clock=time_source().wall) as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        async with Client(await load(tmp_path / "kubeconfig"), component="test") as client:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
            await client.create(NAMESPACES, body)
            await client.create(CRDS, crd(GROUPS))
            await client.create(CRDS, crd(TREES))
            yield World(client, tmp_path / "kubeconfig", "ns", server.faults)


async def tree(world: World, name: str, count: int, parent: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minGroupCount": count}}}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    return await world.create(TREES, metadata={"name": name}, spec=spec)


async def group(world: World, name: str, count: int, parent: str) -> dict[str, Any]:
    spec = {
        "parentCompositePodGroupName": parent,
        "schedulingPolicy": {"gang": {"minCount": count}},
    }
    return await world.create(GROUPS, metadata={"name": name}, spec=spec)


async def member(world: World, name: str, of: str) -> None:
    await world.create(
        PODS,
        metadata={"name": name},
        spec={
            "schedulerName": names.SCHEDULER_NAME,
            "automountServiceAccountToken": False,
            "schedulingGroup": {"podGroupName": of},
            "containers": [{"name": "main", "image": "none"}],
        },
    )


async def made(world: World) -> dict[str, Any] | None:
    try:
        return await world.get(POD_GROUPS, OURS)
    except NotFound:
        return None


async def told(world: World, kind: Resource, name: str, status: str, reason: str) -> str:
    """The message of its condition, once that has this status and reason."""
    wanted = TREE_KIND if kind is TREES else KIND

    async def probe() -> list[str]:
        found = condition((await world.get(kind, name)).get("status") or {}, wanted)
        same = (found.get("status"), found.get("reason")) == (status, reason)
        return [found["message"]] if same else []

    [message] = await eventually(probe)
    assert isinstance(message, str)
    return message


async def event(world: World, kind: str, name: str, text: str) -> None:
    async def said() -> bool:
        events = [one async for one in world.client.list(EVENTS, world.namespace)]
        return any(
            (one["reason"], one["regarding"]["kind"], one["regarding"]["name"])
            == ("InvalidSpec", kind, name)
            and text in one["note"]
            for one in events
        )

    await eventually(said)


async def counted(world: World, role: str, members: int) -> None:
    """Wait until the PodGroup of ours has so many members in a role."""

    async def probe() -> bool:
        status = (await made(world) or {}).get("status") or {}
        return any(
            (one["name"], one.get("members")) == (role, members) for one in status.get("roles", ())
        )

    await eventually(probe)


async def test_a_tree_is_one_podgroup_with_the_pods_of_all_and_goes_with_its_root(
    world: World,
) -> None:
    async with controller(world):
        root = await tree(world, "root", 1)
        await group(world, "left", 2, "root")
        await member(world, "a", "left")
        ours = await eventually(lambda: made(world))
        assert ours["spec"]["roles"] == [{"name": "left", "minMember": 2, "podGroupName": "left"}]
        assert ours["spec"]["minGroupCount"] == 1
        [owner] = ours["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (root["metadata"]["uid"], True)
        await counted(world, "left", 1)

        await group(world, "right", 1, "root")
        await member(world, "b", "right")
        await counted(world, "right", 1)

        await world.client.delete(TREES, "root", world.namespace)

        async def gone() -> bool:
            return await made(world) is None

        await eventually(gone)
        await member(world, "c", "left")
        await event(world, "PodGroup", "left", "CompositePodGroup root not found; create it")


async def test_a_part_is_told_that_its_tree_is_gone_though_no_member_comes(world: World) -> None:
    """Its members stay with the whole, and those that come before that is known join them."""
    async with controller(world):
        await tree(world, "root", 1)
        await group(world, "left", 1, "root")
        await member(world, "a", "left")
        await counted(world, "left", 1)
        await world.client.delete(TREES, "root", world.namespace)
        await event(world, "PodGroup", "left", "CompositePodGroup root not found; create it")


async def test_each_is_told_once_its_own_part_is_scheduled(world: World) -> None:
    async with controller(world):
        await tree(world, "root", 1)
        await tree(world, "inner", 1, "root")
        await group(world, "left", 1, "inner")
        await group(world, "right", 1, "root")
        await member(world, "a", "left")
        await member(world, "b", "right")
        await counted(world, "left", 1)
        await world.scheduler_says("False", "Unschedulable", OURS)
        for kind, name in ((TREES, "root"), (TREES, "inner"), (GROUPS, "left"), (GROUPS, "right")):
            said = await told(world, kind, name, "False", "Unschedulable")
            assert said == "says the scheduler"

        await world.bind("a")
        await world.scheduler_says("True", "Scheduled", OURS)
        for kind, name in ((TREES, "root"), (TREES, "inner"), (GROUPS, "left")):
            await told(world, kind, name, "True", "Scheduled")
        assert await told(world, GROUPS, "right", "False", "Unschedulable")

        await world.bind("b")
        await told(world, GROUPS, "right", "True", "Scheduled")


async def test_a_tree_that_lacks_children_says_so_and_starts_once_they_come(world: World) -> None:
    async with controller(world):
        await tree(world, "root", 2)
        await group(world, "left", 1, "root")
        await member(world, "a", "left")
        text = "spec.schedulingPolicy.gang.minGroupCount: 2 children are needed, and 1 exist"
        assert text in await told(world, TREES, "root", "False", "Invalid")
        await event(world, "CompositePodGroup", "root", text)
        await event(world, "PodGroup", "left", f"CompositePodGroup root cannot start: {text}")
        assert await made(world) is None

        await group(world, "right", 1, "root")
        await eventually(lambda: made(world))
        await counted(world, "left", 1)
        await world.scheduler_says("False", "Unschedulable", OURS)
        await told(world, TREES, "root", "False", "Unschedulable")


async def test_a_tree_that_loses_a_child_that_it_needs_keeps_what_was_made(world: World) -> None:
    async with controller(world):
        await tree(world, "root", 2)
        await group(world, "left", 1, "root")
        await group(world, "right", 1, "root")
        await member(world, "a", "left")
        before = await eventually(lambda: made(world))
        await world.client.delete(GROUPS, "right", world.namespace)
        await told(world, TREES, "root", "False", "Invalid")
        assert await made(world) is not None
        await counted(world, "left", 1)
        await group(world, "right", 2, "root")

        async def followed() -> bool:
            roles = ((await made(world)) or {})["spec"]["roles"]
            return {role["name"]: role["minMember"] for role in roles}["right"] == 2

        await eventually(followed)
        after = await made(world)
        assert after is not None
        assert after["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.parametrize("late", ["podgroups", "compositepodgroups"])
async def test_a_controller_that_starts_anew_changes_nothing_before_it_knows_all(
    world: World, late: str
) -> None:
    """Whichever of the two it can list last; else half a tree would be taken for all of it."""
    async with controller(world):
        await tree(world, "root", 1)
        for index in range(8):
            await group(world, f"g{index}", 1, "root")
        await member(world, "a", "g7")
        await counted(world, "g7", 1)
        before = await made(world)
    assert world.faults is not None
    world.faults.add(verb="list", resource=late, delay=2.0)
    async with controller(world):
        await group(world, "late", 1, "root")

        async def followed() -> dict[str, Any] | None:
            found = await made(world)
            return found if found and len(found["spec"]["roles"]) == 9 else None

        after = await eventually(followed)
    assert before is not None
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    events = [one async for one in world.client.list(EVENTS, world.namespace)]
    assert not [one["note"] for one in events if one["reason"] == "InvalidSpec"]


async def test_a_cycle_of_parents_is_said_on_each(world: World) -> None:
    async with controller(world):
        await tree(world, "one", 1, "two")
        await tree(world, "two", 1, "one")
        await group(world, "left", 1, "one")
        await member(world, "a", "left")
        text = "leads back to itself; a tree has no cycle"
        for name in ("one", "two"):
            assert text in await told(world, TREES, name, "False", "Invalid")
        await event(world, "PodGroup", "left", text)


async def test_trees_of_other_schedulers_are_left_alone(world: World) -> None:
    async with controller(world):
        await tree(world, "other", 2)
        await group(world, "theirs", 1, "other")
        await tree(world, "root", 1)
        await group(world, "left", 1, "root")
        await member(world, "a", "left")
        await eventually(lambda: made(world))
        await world.scheduler_says("True", "Scheduled", OURS)
        await world.bind("a")
        await told(world, GROUPS, "left", "True", "Scheduled")
        for kind, name in ((TREES, "other"), (GROUPS, "theirs")):
            assert not (await world.get(kind, name)).get("status")
