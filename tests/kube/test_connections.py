# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Connections that carry writes: which are kept, and what becomes of a write on one that breaks.

What odd answers mean is in `test_hostile_answers.py`, for reads and writes alike.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop
from aiohttp import web

from enbloc.kube import connections, errors
from enbloc.kube.client import Client
from enbloc.kube.config import Cluster
from enbloc.kube.paths import NODES, PODS
from tests.kube.certificates import Authority
from tests.kube.fake import answer, says, serving

WHOLE = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"


class Peer:
    """A server that replies to the n-th request on any connection as it is told to.

    Attributes:
        replies: what is written, and whether the connection is closed after it.
        requests: what came.
        connections: how many were made.
    """

    def __init__(self, *replies: tuple[bytes, bool]) -> None:
        self._replies: Iterator[tuple[bytes, bool]] = iter(replies)
        self.requests: list[bytes] = []
        self.connections = 0
        self.heard = asyncio.Event()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                self.heard.set()
                reply, closes = next(self._replies, (WHOLE, False))
                writer.write(reply)
                await writer.drain()
                if closes:
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        writer.transport.abort()


@asynccontextmanager
async def client_of(peer: Peer) -> AsyncGenerator[Client]:
    talks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(peer.talk(reader, writer))
        talks.add(task)
        await task

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        async with Client(Cluster(f"http://127.0.0.1:{port}"), component="test") as client:
            yield client
    finally:
        server.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        await asyncio.sleep(0.01)


async def post(client: Client) -> Any:
    return await client.create(PODS, {}, "default")


async def put(client: Client) -> Any:
    return await client.replace(NODES, "n", {})


async def test_a_connection_is_used_again_after_a_whole_answer() -> None:
    peer = Peer()
    async with client_of(peer) as client:
        for _ in range(3):
            assert await post(client) == {}
    assert peer.connections == 1


async def test_a_post_that_an_idle_connection_loses_is_not_sent_again() -> None:
    """It may have been processed: only who asked knows what to do about that."""
    peer = Peer((WHOLE, False), (b"", True))
    async with client_of(peer) as client:
        await post(client)
        with pytest.raises(errors.Unreachable) as caught:
            await post(client)
    assert caught.value.outcome_unknown
    assert len(peer.requests) == 2


async def test_a_put_that_an_idle_connection_loses_is_sent_again_once() -> None:
    peer = Peer((WHOLE, False), (b"", True), (b"", True))
    async with client_of(peer) as client:
        await put(client)
        with pytest.raises(errors.Unreachable):
            await put(client)
        assert len(peer.requests) == 3
        assert await put(client) == {}


async def test_a_put_that_a_new_connection_loses_is_not_sent_again() -> None:
    peer = Peer((b"", True))
    async with client_of(peer) as client:
        with pytest.raises(errors.Unreachable):
            await put(client)
    assert len(peer.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(b"HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
                     id="that says it is closed"),
        pytest.param(b"HTTP/1.0 201 Created\r\nContent-Length: 2\r\n\r\n{}", id="of HTTP/1.0"),
        pytest.param(WHOLE + WHOLE, id="with another one after it"),
        pytest.param(WHOLE + b"x", id="with more after it"),
    ],
)  # fmt: skip
async def test_after_an_answer_like_this_another_connection_is_made(reply: bytes) -> None:
    peer = Peer((reply, False))
    async with client_of(peer) as client:
        assert await post(client) == {}
        assert await post(client) == {}
    assert peer.connections == 2


async def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next() -> None:
    """As of a server that gives up an idle connection with a 408."""
    late = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"
    told, spoken = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n{}")
        writer.write(WHOLE)
        await told.wait()
        told.clear()
        writer.write(late)
        spoken.set()
        await reader.read()
        writer.transport.abort()

    peer = Peer()
    peer.talk = talk  # type: ignore[method-assign]  # it speaks out of turn
    async with client_of(peer) as client:
        for _ in range(2):
            assert await post(client) == {}
            told.set()
            await spoken.wait()
            spoken.clear()
            await asyncio.sleep(0.05)


async def test_the_connection_of_a_write_that_was_given_up_is_not_used_again() -> None:
    peer = Peer((b"HTTP/1.1 201 Created\r\n", False))
    async with client_of(peer) as client:
        task = asyncio.create_task(post(client))
        await peer.heard.wait()
        task.cancel()
        await asyncio.wait([task])
        assert await post(client) == {}
    assert peer.connections == 2


async def test_what_has_been_idle_for_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.05)
    peer = Peer()
    async with client_of(peer) as client:
        await asyncio.gather(*(post(client) for _ in range(4)))
        await asyncio.sleep(0.2)
        assert client._transport._direct is not None
        assert not client._transport._direct._idle
        await post(client)
    assert peer.connections == 5


async def test_no_more_connections_than_allowed_are_made() -> None:
    peer = Peer()
    async with client_of(peer) as client:
        small = Client(client.cluster, component="test", connections=2)
        async with small:
            await asyncio.gather(*(post(small) for _ in range(10)))
    assert len(peer.requests) == 10
    assert peer.connections <= 2


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_write_goes_over_tls_on_either_loop(
    loop: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    seen: list[web.BaseRequest] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request)
        return answer({"path": str(request.rel_url)})

    async def write(tls: ssl.SSLContext) -> list[Any]:
        async with serving(handler, tls) as url:
            cluster = Cluster(
                url + "/k8s/one",
                ca_file=authority.ca,
                client_cert=authority.issue("client"),
                server_name="api.only",
            )
            async with Client(cluster, component="test") as client:
                return [await post(client) for _ in range(3)]

    with asyncio.Runner(loop_factory=loop) as runner:
        answers = runner.run(write(authority.server_context("api.only", ask_client=True)))
    path = "/k8s/one/api/v1/namespaces/default/pods?timeout=5s"
    assert answers == [{"path": path}] * 3
    assert seen[0].headers["Host"].startswith("127.0.0.1:")
    assert seen[0].content_type == "application/json"


@pytest.mark.parametrize("given", ["user:word@", "user@"])
async def test_a_url_with_credentials_is_left_to_the_general_client(given: str) -> None:
    said: list[str] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        said.append(request.headers.get("Authorization", ""))
        return answer({})

    async with serving(handler) as url:
        cluster = Cluster(url.replace("://", f"://{given}"))
        async with Client(cluster, component="test") as client:
            assert await post(client) == {}
    assert said[0].startswith("Basic ")


async def test_a_write_goes_through_the_proxy_that_is_named() -> None:
    asked: list[str] = []

    async def proxy(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(str(request.url))
        return answer({})

    async with serving(proxy) as url:
        cluster = Cluster("http://nowhere.example", proxy=url)
        async with Client(cluster, component="test") as client:
            assert await post(client) == {}
    assert asked[0].startswith("http://nowhere.example/api/v1/")


async def test_a_refusal_is_told_of_by_its_beginning() -> None:
    shown = says(lambda: web.Response(status=403, text="you may not " * 100_000))
    async with serving(shown) as url, Client(Cluster(url), component="test") as client:
        with pytest.raises(errors.Forbidden, match="you may not you may not"):
            await post(client)


async def test_a_success_that_is_too_long_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enbloc.kube.client.ANSWER_BYTES", 1000)
    shown = says(lambda: web.Response(text="x" * 100_000))
    async with serving(shown) as url, Client(Cluster(url), component="test") as client:
        with pytest.raises(errors.TooLong, match="longer than 1000 bytes") as caught:
            await post(client)
    assert caught.value.outcome_unknown


@pytest.mark.parametrize("server", ["http://127.0.0.1:9", "https://127.0.0.1:9"])
async def test_without_a_connection_nothing_was_sent(server: str) -> None:
    """And reads and writes say it in the same words, so that it is one problem."""
    said = set[str]()
    async with Client(Cluster(server), component="test") as client:
        for ask in (post(client), client.get(PODS, "p", "default")):
            with pytest.raises(errors.Unreachable) as caught:
                await ask
            assert not caught.value.outcome_unknown
            said.add(caught.value.message)
    assert len(said) == 1
