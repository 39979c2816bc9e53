# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The proxy does to requests and watches what it is told to, and nothing else."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.client.errors import Conflict, Gone, TooManyRequests, Unreachable
from enbloc.client.paths import PODS
from tests.e2e.fault_proxy import HOST, Asked, Fault, FaultProxy, WatchFault

NAMESPACE = "default"
EVENTS = 4
BINDING = {"target": {"name": "n0"}}


class Upstream:
    """An API server that counts: each list is newer than the last, each POST is kept."""

    def __init__(self) -> None:
        self.version = 0
        self.posts: list[str] = []
        self.posted = asyncio.Event()
        self.tokens: list[str] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.tokens.append(request.headers.get("Authorization", ""))
        if request.query.get("watch"):
            stream = web.StreamResponse()
            await stream.prepare(request)
            for version in range(1, EVENTS + 1):
                pod = {"metadata": {"name": "p", "resourceVersion": str(version)}}
                await stream.write(json.dumps({"type": "ADDED", "object": pod}).encode() + b"\n")
            return stream
        if request.method == "POST":
            self.posts.append(request.path)
            self.posted.set()
            return web.json_response({"status": "Success"}, status=201)
        self.version += 1
        return web.json_response({"metadata": {"resourceVersion": str(self.version)}, "items": []})


@pytest.fixture
def upstream() -> Upstream:
    return Upstream()


@pytest.fixture
async def proxy(upstream: Upstream, tmp_path: Path) -> AsyncGenerator[FaultProxy]:
    runner = web.ServerRunner(web.Server(upstream))
    await runner.setup()
    await web.TCPSite(runner, HOST, 0).start()
    direct = tmp_path / "direct.kubeconfig"
    cluster = {"server": f"http://{HOST}:{runner.addresses[0][1]}"}
    document = {
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": {"token": "secret"}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
    direct.write_text(json.dumps(document))
    async with FaultProxy(direct, tmp_path / "through.kubeconfig") as proxy:
        yield proxy
    await runner.cleanup()


@pytest.fixture
async def client(proxy: FaultProxy) -> AsyncGenerator[Client]:
    async with Client(await load(proxy.through), component="test") as client:
        yield client


async def bind(client: Client) -> Any:
    return await client.create(PODS, BINDING, NAMESPACE, name="p", subresource="binding", tries=1)


async def version(client: Client, at_least: int | None = None) -> int:
    """The resourceVersion of a list."""
    query = {"resourceVersion": at_least} if at_least is not None else {}
    page = json.loads(await client.page(PODS, query=query))
    return int(page["metadata"]["resourceVersion"])


async def watched(client: Client) -> AsyncIterator[bytes]:
    async with client.watch(PODS, query={}, silence=10) as stream:
        async for piece in stream:
            yield piece


async def lines(client: Client) -> list[bytes]:
    return b"".join([piece async for piece in watched(client)]).splitlines()


async def test_what_suffers_nothing_passes_with_its_token(
    proxy: FaultProxy, upstream: Upstream, client: Client
) -> None:
    assert await bind(client) == {"status": "Success"}
    assert len(await lines(client)) == EVENTS
    assert set(upstream.tokens) == {"Bearer secret"}
    assert [(one.method, one.status) for one in proxy.asked] == [("POST", 201), ("GET", 200)]


async def test_a_request_is_lost_before_it_arrives(
    proxy: FaultProxy, upstream: Upstream, client: Client
) -> None:
    proxy.policy = lambda *_: Fault(sends=0, drop=True, name="lost")
    with pytest.raises(Unreachable):
        await bind(client)
    assert upstream.posts == []
    assert proxy.happened == {"lost": 1}
    assert proxy.asked == [Asked("POST", f"/api/v1/namespaces/{NAMESPACE}/pods/p/binding", 0)]


async def test_an_answer_is_lost_after_the_write(
    proxy: FaultProxy, upstream: Upstream, client: Client
) -> None:
    proxy.policy = lambda *_: Fault(drop=True)
    with pytest.raises(Unreachable):
        await bind(client)
    assert len(upstream.posts) == 1


async def test_a_request_arrives_twice(
    proxy: FaultProxy, upstream: Upstream, client: Client
) -> None:
    proxy.policy = lambda *_: Fault(sends=2)
    await bind(client)
    assert len(upstream.posts) == 2


async def test_a_request_arrives_after_its_client_has_given_up(
    proxy: FaultProxy, upstream: Upstream, client: Client
) -> None:
    proxy.policy = lambda *_: Fault(sends=0, drop=True, late=0.0)
    with pytest.raises(Unreachable):
        await bind(client)
    await upstream.posted.wait()


@pytest.mark.parametrize(("status", "error"), [(409, Conflict), (410, Gone)])
async def test_a_status_is_made_up_although_the_write_happened(
    proxy: FaultProxy, upstream: Upstream, client: Client, status: int, error: type[Exception]
) -> None:
    proxy.policy = lambda *_: Fault(forge=status)
    with pytest.raises(error, match="made this up"):
        await bind(client)
    assert len(upstream.posts) == 1


async def test_a_429_says_when_to_come_back(
    proxy: FaultProxy, upstream: Upstream, client: Client
) -> None:
    proxy.policy = lambda *_: Fault(sends=0, forge=429, retry_after="7")
    with pytest.raises(TooManyRequests) as caught:
        await bind(client)
    assert caught.value.retry_after == 7
    assert upstream.posts == []


async def test_a_body_is_cut_short(proxy: FaultProxy, client: Client) -> None:
    proxy.policy = lambda *_: Fault(cut=0.5)
    with pytest.raises(Unreachable):
        await version(client)


async def test_a_body_is_replaced_by_garbage(
    proxy: FaultProxy, upstream: Upstream, client: Client
) -> None:
    proxy.policy = lambda *_: Fault(body=b"<html>")
    with pytest.raises(Unreachable, match="unreadable"):
        await bind(client)
    assert len(upstream.posts) == 1


async def test_an_earlier_answer_is_repeated_unless_a_newer_one_is_asked_for(
    proxy: FaultProxy, client: Client
) -> None:
    proxy.policy = lambda *_: Fault(stale=True, name="stale")
    assert await version(client) == 1, "there is none yet"
    assert await version(client) == 1
    assert await version(client, at_least=1) == 1
    assert await version(client, at_least=2) == 2
    assert proxy.happened == {"stale": 2}


async def test_held_answers_are_lost_when_all_lines_are_cut(
    proxy: FaultProxy, upstream: Upstream, client: Client
) -> None:
    proxy.hold_answers()
    asking = asyncio.create_task(bind(client))
    await upstream.posted.wait()
    proxy.cut()
    with pytest.raises(Unreachable):
        await asking
    await bind(client)


async def test_a_server_that_is_gone_looks_like_one_that_is_gone(
    proxy: FaultProxy, client: Client
) -> None:
    proxy._server = f"http://{HOST}:1"
    with pytest.raises(Unreachable):
        await bind(client)


# ── watches ──────────────────────────────────────────────────────────────────────────────────


async def test_a_watch_is_refused(proxy: FaultProxy, client: Client) -> None:
    proxy.watch_policy = lambda _: WatchFault(refuse=410, name="410")
    with pytest.raises(Gone):
        await lines(client)
    assert proxy.happened == {"410": 1}


async def test_events_of_a_watch_come_twice(proxy: FaultProxy, client: Client) -> None:
    proxy.watch_policy = lambda _: WatchFault(doubled=2)
    found = await lines(client)
    assert len(found) == 2 * EVENTS
    assert found[0] == found[1] != found[2]


async def test_a_watch_ends_with_410_after_some_events(proxy: FaultProxy, client: Client) -> None:
    proxy.watch_policy = lambda _: WatchFault(lines=2, end="gone")
    *good, last = await lines(client)
    assert len(good) == 2
    assert json.loads(last)["type"] == "ERROR"
    assert json.loads(last)["object"]["code"] == 410


async def test_a_watch_ends_with_garbage(proxy: FaultProxy, client: Client) -> None:
    proxy.watch_policy = lambda _: WatchFault(lines=1, end="garbage")
    *good, last = await lines(client)
    assert len(good) == 1
    with pytest.raises(UnicodeDecodeError):
        last.decode()


@pytest.mark.parametrize("end", ["reset", "cut", "silence"])
async def test_a_watch_is_reset_after_some_events(
    proxy: FaultProxy, client: Client, end: Any
) -> None:
    proxy.watch_policy = lambda _: WatchFault(lines=2, end=end, name="ended")
    with pytest.raises(Unreachable):
        await lines(client)
    assert proxy.happened == {"ended": 1}


async def test_a_client_of_another_authority_does_not_trust_the_proxy(proxy: FaultProxy) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get(proxy.url)


# ── what is held ─────────────────────────────────────────────────────────────────────────────


async def held(proxy: FaultProxy, count: int) -> None:
    """Wait until so many requests are held."""
    for _ in range(1000):
        if proxy.held == count:
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"{proxy.held} requests are held, not {count}")


async def test_bindings_after_the_first_ones_wait_until_they_are_released(
    proxy: FaultProxy, upstream: Upstream, client: Client
) -> None:
    proxy.hold(after=2)
    binds = [asyncio.create_task(bind(client)) for _ in range(5)]
    await held(proxy, 3)
    assert await version(client) == 1  # what is no Binding passes
    assert len(upstream.posts) == 2
    proxy.release()
    await asyncio.gather(*binds)
    assert len(upstream.posts) == 5
    await bind(client)


async def test_what_is_held_when_the_line_is_cut_is_never_sent(
    proxy: FaultProxy, upstream: Upstream, client: Client
) -> None:
    proxy.hold(after=0)
    first = asyncio.create_task(bind(client))
    await held(proxy, 1)
    proxy.cut()
    with pytest.raises(Unreachable):
        await first
    second = asyncio.create_task(bind(client))
    await held(proxy, 1)
    assert upstream.posts == []
    proxy.release()
    await second
    assert len(upstream.posts) == 1


async def test_what_is_held_when_its_client_goes_is_never_sent(
    proxy: FaultProxy, upstream: Upstream
) -> None:
    proxy.hold(after=0)
    async with Client(await load(proxy.through), component="test") as gone:
        lost = asyncio.create_task(bind(gone))
        await held(proxy, 1)
        lost.cancel()
    async with Client(await load(proxy.through), component="test") as client:
        await version(client)  # by now the proxy has heard of the end of the other connection
        proxy.release()
        await bind(client)
    assert len(upstream.posts) == 1
