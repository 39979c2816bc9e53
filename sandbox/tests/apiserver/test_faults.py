# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Faults on order, by the hook and by HTTP."""

import asyncio
from typing import Any

import aiohttp
import pytest

from enbloc_sandbox import Faults, Sandbox

from .conftest import PODS, Client, pod

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("status", "reason"),
    [(403, "Forbidden"), (429, "TooManyRequests"), (500, "InternalError"), (504, "Timeout")],
)
async def test_a_verb_on_a_resource_is_refused(
    sandbox: Sandbox, api: Client, status: int, reason: str
) -> None:
    sandbox.faults.add(verb="list", resource="pods", status=status, retry_after=3)
    found, body = await api.ask("GET", PODS)
    assert (found, body["reason"]) == (status, reason)
    assert api.headers["Retry-After"] == "3"
    await api.get(MAPS)
    await api.create(PODS, pod("a"))


async def test_a_fault_strikes_as_often_as_it_is_told(sandbox: Sandbox, api: Client) -> None:
    sandbox.faults.add(verb="*", resource="*", status=500, times=2)
    statuses = [(await api.ask("GET", PODS))[0] for _ in range(4)]
    assert statuses == [500, 500, 200, 200]


async def test_faults_are_cleared(sandbox: Sandbox, api: Client) -> None:
    sandbox.faults.add(verb="list", resource="pods", status=500)
    sandbox.faults.clear()
    await api.get(PODS)


async def test_the_write_may_happen_before_the_error(sandbox: Sandbox, api: Client) -> None:
    sandbox.faults.add(verb="create", resource="pods", status=504, after_commit=True, times=1)
    assert (await api.ask("POST", PODS, pod("a")))[0] == 504
    await api.get(f"{PODS}/a")


async def test_the_connection_may_be_cut_after_the_write(sandbox: Sandbox, api: Client) -> None:
    await api.create(PODS, pod("a"))
    sandbox.faults.add(verb="create", resource="pods/binding", after_commit=True, times=1)
    body = {"metadata": {"name": "a"}, "target": {"name": "n1"}}
    with pytest.raises(aiohttp.ClientConnectionError):
        await api.ask("POST", f"{PODS}/a/binding", body)
    assert (await api.get(f"{PODS}/a"))["spec"]["nodeName"] == "n1"


async def test_a_request_may_hang_or_be_late(sandbox: Sandbox, api: Client) -> None:
    sandbox.faults.add(verb="get", resource="pods", hang=True, times=1)
    sandbox.faults.add(verb="list", resource="pods", delay=0.01)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await api.get(f"{PODS}/a")
    await api.get(PODS)


async def test_watches_end_without_a_word(sandbox: Sandbox, api: Client) -> None:
    async with api.watch(f"{PODS}?watch=1&resourceVersion=1") as events:
        sandbox.faults.end_watches()
        assert [event async for event in events] == []
    async with api.watch(f"{PODS}?watch=1&resourceVersion=1") as events:
        await api.create(PODS, pod("a"))
        assert (await anext(events))["type"] == "ADDED"


async def test_watches_expire_with_an_error(sandbox: Sandbox, api: Client) -> None:
    async with api.watch(f"{PODS}?watch=1&resourceVersion=1") as events:
        sandbox.faults.expire_watches()
        event = await anext(events)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_a_restart_drops_connections_and_keeps_objects(sandbox: Sandbox, api: Client) -> None:
    await api.create(PODS, pod("a"))
    async with api.watch(f"{PODS}?watch=1&resourceVersion=1") as events:
        sandbox.faults.refuse(1.0)
        with pytest.raises(aiohttp.ClientError):
            async for _ in events:
                pass
    with pytest.raises(aiohttp.ClientConnectionError):
        await api.get(PODS)
    while True:
        try:
            await api.get(f"{PODS}/a")
            break
        except aiohttp.ClientConnectionError:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"verb": "zap", "resource": "*", "status": 500}, "does not exist", id="verb"),
        pytest.param({"verb": "get", "resource": "*"}, "needs a status", id="nothing goes wrong"),
        pytest.param({"verb": "get", "resource": "*", "status": 200}, "from 400 to", id="status"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Faults().add(**arguments)


async def test_faults_are_ordered_by_http(api: Client) -> None:
    order = {"do": "add", "verb": "list", "resource": "pods", "status": 500, "times": 1}
    status, body = await api.ask("POST", "/sandbox/faults", order)
    assert (status, body["status"]) == (200, "Success")
    assert (await api.ask("GET", PODS))[0] == 500
    for wrong in ({"do": "dance"}, {"do": "add", "speed": 1}, {"do": "add", **order, "verb": "x"}):
        status, body = await api.ask("POST", "/sandbox/faults", wrong)
        assert (status, body["reason"]) == (400, "BadRequest")
    assert (await api.ask("POST", "/sandbox/faults", {"do": "clear"}))[0] == 200


async def test_without_leave_faults_cannot_be_ordered() -> None:
    async with Sandbox(crds=[]) as plain, aiohttp.ClientSession() as session:
        status, _ = await Client(plain.url, session).ask("POST", "/sandbox/faults", {"do": "clear"})
        assert status in {404, 405}
