# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extenders and the whole scheduler, over HTTP on both sides."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from enbloc.client.config import Cluster
from enbloc.client.paths import PODS
from enbloc_sandbox import Sandbox
from tests.client.extenders import FakeExtender
from tests.live.world import NAMESPACE, World
from tests.world.virtual_time import time_source


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with Sandbox(clock=time_source().wall) as sandbox, World(Cluster(sandbox.url)) as opened:
        await opened.nodes("n1 n2 n3", cpu=8)
        yield opened


async def test_a_gang_goes_where_an_extender_lets_it_and_likes_it_best(world: World) -> None:
    async def leave(arguments: Any) -> web.StreamResponse:
        left = [n for n in arguments["Nodes"]["items"] if n["metadata"]["name"] != "n1"]
        return web.json_response({"Nodes": {"items": left}, "FailedNodes": {"n1": "too old"}})

    scores = [{"Host": "n3", "Score": 10}, {"Host": "n2", "Score": 0}]
    fake = FakeExtender(filter=leave, prioritize=scores)
    async with fake.serving(), world.scheduler(fake.extender(weight=5)):
        await world.gang("g", 4)
        await world.until_bound("g-", 4)
        assert set((await world.bound("g-")).values()) == {"n3"}
    verb, arguments = fake.asked[0]
    assert verb == "filter"
    assert arguments["Pod"]["metadata"]["name"].startswith("g-")
    nodes = {node["metadata"]["name"]: node for node in arguments["Nodes"]["items"]}
    assert set(nodes) == {"n1", "n2", "n3"}
    assert nodes["n2"]["status"]["allocatable"]["cpu"] == "8"
    assert "managedFields" not in nodes["n2"]["metadata"]


async def test_what_an_extender_refuses_is_said_on_the_gang(world: World) -> None:
    refused = {"NodeNames": [], "FailedNodes": dict.fromkeys(("n1", "n2", "n3"), "no licence")}
    fake = FakeExtender(filter=refused)
    async with fake.serving(), world.scheduler(fake.extender(node_cache_capable=True)):
        await world.gang("g", 2)

        async def says() -> bool:
            said = await world.events("GangUnschedulable")
            return any("no licence" in event["note"] for event in said)

        await world.until(says)
    assert await world.bound("g-") == {}


@pytest.mark.parametrize("ignorable", [False, True])
async def test_an_extender_that_fails_holds_a_gang_up_unless_it_may_be_ignored(
    world: World,
    ignorable: bool,
) -> None:
    fake = FakeExtender(filter={"Error": "out of order"})
    async with (
        fake.serving(),
        world.scheduler(fake.extender(node_cache_capable=True, ignorable=ignorable)),
    ):
        await world.gang("g", 2)
        if not ignorable:

            async def failed() -> bool:
                return await world.condition("g") == ("False", "SchedulerError")

            await world.until(failed)
            assert await world.bound("g-") == {}
            fake.answers["filter"] = {"NodeNames": ["n2"]}
        await world.until_bound("g-", 2)


async def test_an_extender_may_bind_a_gang(world: World) -> None:
    async def bind(arguments: Any) -> web.StreamResponse:
        name, node = arguments["PodName"], arguments["Node"]
        metadata = {"name": name, "uid": arguments["PodUID"]}
        target = {"kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        await world.client.create(
            PODS, body, arguments["PodNamespace"], name=name, subresource="binding"
        )
        return web.json_response({"Error": ""})

    fake = FakeExtender(bind=bind)
    async with fake.serving(), world.scheduler(fake.extender()):
        await world.gang("g", 4)
        await world.until_bound("g-", 4)

        async def scheduled() -> bool:
            return await world.condition("g") == ("True", "Scheduled")

        await world.until(scheduled)
    assert sorted(arguments["PodName"] for _, arguments in fake.asked) == [
        f"g-{index}" for index in range(4)
    ]
    assert {arguments["PodNamespace"] for _, arguments in fake.asked} == {NAMESPACE}
