# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Connections that carry writes: which are kept, and what becomes of a write on one that breaks.

What odd answers mean is in `test_hostile_answers.py`, for reads and writes alike.
"""

import asyncio
import select
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop
from aiohttp import web

from enbloc.client import connections, errors
from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.paths import NODES, PODS
from enbloc.errors import ConfigError
from tests.client.certificates import Authority
from tests.client.fake import answer, says, serving

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
    monkeypatch.setattr("enbloc.client.client.ANSWER_BYTES", 1000)
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


@pytest.mark.parametrize("stray", [b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", None])
async def test_what_lies_unread_on_an_idle_connection_is_no_answer(stray: bytes | None) -> None:
    """It came, or the end did, after the loop last looked, and just before the next request."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    async with Client(Cluster(f"http://127.0.0.1:{port}"), component="test") as client:
        task = asyncio.create_task(post(client))
        with await asyncio.to_thread(lambda: listening.accept()[0]) as first:
            await asyncio.to_thread(first.recv, 4096)
            first.sendall(WHOLE)
            assert await task == {}
            # No await until the next request is written: the loop cannot see what comes.
            if stray is None:
                first.shutdown(socket.SHUT_WR)
            else:
                first.sendall(stray)
            again = asyncio.create_task(post(client))
            with await asyncio.to_thread(lambda: listening.accept()[0]) as second:
                await asyncio.to_thread(second.recv, 4096)
                second.sendall(WHOLE)
                assert await again == {}
    listening.close()


async def test_a_connection_that_answered_401_is_not_used_again() -> None:
    """The client certificate, which may be why, belongs to the connection."""
    peer = Peer((b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}", False))
    async with client_of(peer) as client:
        with pytest.raises(errors.Unauthorized):
            await post(client)
        assert await post(client) == {}
    assert peer.connections == 2


async def test_a_write_that_never_got_a_connection_was_not_sent() -> None:
    peer = Peer((b"", False), (b"", False))
    async with client_of(peer) as client:
        small = Client(client.cluster, component="test", connections=1)
        async with small:
            assert small._transport._direct is not None
            ask = small._transport._direct.ask
            request = b"PUT / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
            first = asyncio.create_task(ask(request, limits=(9, 9), repeatable=False, total=0.3))
            await peer.heard.wait()
            with pytest.raises(connections.NotConnected):
                await ask(request, limits=(9, 9), repeatable=False, total=0.05)
            with pytest.raises(TimeoutError):
                await first
    assert len(peer.requests) == 1


async def test_a_closed_pool_makes_no_connection() -> None:
    peer = Peer()
    async with client_of(peer) as client:
        direct = client._transport._direct
        assert direct is not None
        direct.close()
        with pytest.raises(errors.Unreachable) as caught:
            await post(client)
    assert not caught.value.sent
    assert peer.connections == 0


async def test_trailers_without_end_are_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_BYTES", 512)
    head = b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    peer = Peer((head + b"a: b\r\n" * 4096, False))
    async with client_of(peer) as client:
        assert client._transport._direct is not None
        request = b"PUT / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
        with pytest.raises(connections.Broken, match="mostly not its body"):
            await client._transport._direct.ask(request, limits=(64, 64), repeatable=False)


@pytest.mark.parametrize("name", ["a" * 64, "a\0b", ".."])
async def test_a_server_name_that_is_none_is_named(name: str) -> None:
    cluster = Cluster("https://127.0.0.1:1", server_name=name)
    with pytest.raises(ConfigError, match=r"tls-server-name .* is no DNS name"):
        async with Client(cluster, component="test"):
            pass


async def test_a_put_that_cannot_be_sent_again_may_have_been_processed() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    async with Client(Cluster(f"http://127.0.0.1:{port}"), component="test") as client:
        task = asyncio.create_task(put(client))
        with await asyncio.to_thread(lambda: listening.accept()[0]) as peer:
            await asyncio.to_thread(peer.recv, 4096)
            peer.sendall(WHOLE)
            await task
            again = asyncio.create_task(put(client))
            await asyncio.to_thread(peer.recv, 4096)
            listening.close()  # before the answer is lost: nobody takes a connection any more
        with pytest.raises(errors.Unreachable) as caught:
            await again
    assert caught.value.outcome_unknown


async def test_a_write_is_not_sent_where_the_lease_went_while_it_waited_for_another() -> None:
    leading, heard, answers = True, asyncio.Event(), asyncio.Event()
    seen: list[web.BaseRequest] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request)
        heard.set()
        await answers.wait()
        return answer({})

    async with (
        serving(handler) as url,
        Client(Cluster(url), component="test", connections=1) as client,
    ):
        first = asyncio.create_task(post(client))
        await heard.wait()
        second = asyncio.create_task(post(client.fenced(lambda: leading)))
        third = asyncio.create_task(post(client))
        await asyncio.sleep(0)
        leading = False
        answers.set()
        await first
        with pytest.raises(errors.Fenced):
            await second
        assert await third == {}
    assert len(seen) == 2


async def test_a_write_is_not_sent_where_the_lease_went_while_a_connection_was_made(
    tmp_path: Path,
) -> None:
    authority, leading = Authority(tmp_path), True
    tls = authority.server_context("localhost")

    def talk(listening: socket.socket) -> bytes:
        nonlocal leading
        made = listening.accept()[0]
        leading = False
        with tls.wrap_socket(made, server_side=True) as peer:
            try:
                return peer.recv(4096)
            except OSError:  # closed without a word
                return b""

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        cluster = Cluster(
            f"https://127.0.0.1:{port}", ca_file=authority.ca, server_name="localhost"
        )
        async with Client(cluster, component="test") as client:
            talking = asyncio.create_task(asyncio.to_thread(talk, listening))
            with pytest.raises(errors.Fenced):
                await post(client.fenced(lambda: leading))
            assert await talking == b""


async def test_a_system_without_poll_looks_at_idle_connections_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Windows has none."""
    monkeypatch.delattr(select, "poll")
    peer = Peer((WHOLE, False), (WHOLE, True))
    async with client_of(peer) as client:
        for _ in range(3):
            assert await post(client) == {}
    assert peer.connections == 2
