# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever stands between a client and its API server: each answer ends, in time and in memory."""

import asyncio
import functools
import gzip
import resource as limits
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from email.utils import formatdate
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web

from enbloc.client import client as clients
from enbloc.client import errors, transport
from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.items import Timing
from enbloc.client.paths import PODS
from enbloc.client.reflector import Reflector
from tests.client.certificates import Authority
from tests.client.fake import (
    Pod,
    Script,
    answer,
    pod,
    pods,
    refusal,
    says,
    serving,
    stream,
    talking_to,
)

MIB = 2**20
#: How much the process may grow by an answer of any size (KiB).
ROOM = 300 * 1024
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

Raw = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw(reply: Raw) -> AsyncGenerator[Client]:
    """A client of a server that reads the head of a request and replies with any bytes."""
    talks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            await reply(writer)
        writer.transport.abort()
        await asyncio.sleep(0)  # or the socket outlives the loop

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


def sends(data: bytes) -> Raw:
    """Send this and hang up."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return reply


def for_ever(head: bytes, piece: bytes, pause: float = 0.0) -> Raw:
    """Send a piece again and again."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return reply


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines of a fraction of a second."""
    quick = aiohttp.ClientTimeout(total=0.3)
    monkeypatch.setattr(clients, "READ_TIMEOUT", quick)
    monkeypatch.setattr(clients, "WRITE_TIMEOUT", quick)
    monkeypatch.setattr(transport, "READ_SECONDS", 0.3)


async def read(client: Client) -> object:
    return await client.get(PODS, "p", "default")


async def listed(client: Client) -> object:
    return await client.page(PODS)


async def written(client: Client) -> object:
    return await client.create(PODS, {}, "default")


async def watched(client: Client) -> object:
    async with client.watch(PODS, query={}, silence=600):
        return None


VERBS = [read, listed, written, watched]


@pytest.mark.parametrize("ask", VERBS)
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(for_ever(b"HTTP/1.1 200 OK\r\nX: ", b"a", 0.05), id="a head, slowly"),
        pytest.param(for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.01), id="100 for ever"),
        pytest.param(for_ever(b"", b"HTTP/1.1 103 Early\r\nLink: <x>\r\n\r\n", 0.01), id="103"),
        pytest.param(for_ever(b"", b"", 1.0), id="nothing"),
    ],
)
@pytest.mark.usefixtures("brief")
async def test_an_answer_that_does_not_begin_is_given_up(
    ask: Callable[[Client], Awaitable[object]], reply: Raw
) -> None:
    async with raw(reply) as client, asyncio.timeout(20):
        with pytest.raises(errors.Unreachable, match="timed out") as caught:
            await ask(client)
    assert caught.value.outcome_unknown


@pytest.mark.parametrize("ask", [read, listed, written])
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(for_ever(OK + b"Content-Length: 999\r\n\r\n", b"1", 0.05), id="by length"),
        pytest.param(
            for_ever(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n1\r\n", 0.05), id="chunked"
        ),
        pytest.param(for_ever(OK + b"\r\n", b"1", 0.05), id="until it is closed"),
        pytest.param(
            for_ever(b"HTTP/1.1 500 No\r\nContent-Length: 999\r\n\r\n", b"1", 0.05), id="refusal"
        ),
    ],
)
@pytest.mark.usefixtures("brief")
async def test_a_body_that_comes_a_byte_at_a_time_is_given_up(
    ask: Callable[[Client], Awaitable[object]], reply: Raw
) -> None:
    async with raw(reply) as client, asyncio.timeout(20):
        with pytest.raises(errors.Unreachable, match="timed out"):
            await ask(client)


@pytest.mark.usefixtures("brief")
async def test_the_refusal_of_a_watch_that_does_not_end_is_given_up() -> None:
    reply = for_ever(b"HTTP/1.1 500 No\r\nContent-Length: 999\r\n\r\n", b"1", 0.05)
    async with raw(reply) as client, asyncio.timeout(20):
        with pytest.raises(errors.Unreachable, match="timed out"):
            await watched(client)


@pytest.mark.parametrize("ask", VERBS)
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 4 * MIB, id="one header of megabytes"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * MIB, id="a million headers"),
        pytest.param(b"HTTP/1.1 " + b"2" * 4 * MIB, id="a status line of megabytes"),
        pytest.param(b"<html>", id="no HTTP"),
        pytest.param(b"HTTP/1.1 abc OK\r\n\r\n", id="no code"),
        pytest.param(b"HTTP/9.9 200 OK\r\nContent-Length: -1\r\n\r\n", id="a negative length"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                     id="two lengths"),
        pytest.param(b"", id="nothing at all"),
    ],
)  # fmt: skip
async def test_a_head_that_is_none_is_no_answer(
    ask: Callable[[Client], Awaitable[object]], data: bytes
) -> None:
    before = limits.getrusage(limits.RUSAGE_SELF).ru_maxrss
    async with raw(sends(data)) as client, asyncio.timeout(60):
        with pytest.raises(errors.Unreachable):
            await ask(client)
    assert limits.getrusage(limits.RUSAGE_SELF).ru_maxrss - before < ROOM


@pytest.mark.parametrize("ask", [read, written])
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(sends(OK + b"Content-Length: 9\r\n\r\n{}"), id="longer than it is"),
        pytest.param(sends(OK + b"Content-Length: 1\r\n\r\n{}"), id="shorter than it is"),
        pytest.param(sends(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"), id="no size"),
        pytest.param(sends(OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}"), id="no last chunk"),
        pytest.param(sends(OK + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}"), id="negative"),
        pytest.param(
            sends(OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n{}"), id="huge"
        ),
        pytest.param(sends(OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"),
                     id="no gzip"),
        pytest.param(sends(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
                           b"Connection: upgrade\r\n\r\n{}"), id="another protocol"),
    ],
)  # fmt: skip
async def test_of_a_body_that_lies_about_itself_no_outcome_is_known(
    ask: Callable[[Client], Awaitable[object]], reply: Raw
) -> None:
    async with raw(reply) as client, asyncio.timeout(60):
        with pytest.raises(errors.APIError) as caught:
            await ask(client)
    assert isinstance(caught.value, errors.Unreachable) or type(caught.value) is errors.APIError


async def test_an_answer_that_is_cut_at_any_byte_is_whole_or_none() -> None:
    body = msgspec.json.encode(pod("p", 7))
    whole = OK + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    cut = 0

    async def reply(writer: asyncio.StreamWriter) -> None:
        await sends(whole[:cut])(writer)

    async with raw(reply) as client:
        for cut in range(len(whole)):  # noqa: B007  # reply reads it
            with pytest.raises(errors.Unreachable) as caught:
                await written(client)
            assert caught.value.outcome_unknown
        cut = len(whole)
        assert await written(client) == pod("p", 7)


@pytest.mark.parametrize("limit", ["ANSWER_BYTES", "LIST_BYTES"])
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(for_ever(OK + b"\r\n", b" " * MIB), id="until it is closed"),
        pytest.param(
            for_ever(OK + b"Transfer-Encoding: chunked\r\n\r\n",
                     b"100000\r\n" + b" " * MIB + b"\r\n"), id="chunked",
        ),
        pytest.param(
            for_ever(OK + b"Content-Length: 9999999999999\r\n\r\n", b" " * MIB), id="by length"
        ),
    ],
)  # fmt: skip
async def test_an_answer_without_end_is_cut_off(
    limit: str, reply: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, limit, 8 * MIB)
    ask = listed if limit == "LIST_BYTES" else read
    before = limits.getrusage(limits.RUSAGE_SELF).ru_maxrss
    async with raw(reply) as client, asyncio.timeout(60):
        with pytest.raises(errors.TooLong, match="is longer than 8388608 bytes"):
            await ask(client)
    assert limits.getrusage(limits.RUSAGE_SELF).ru_maxrss - before < ROOM


@functools.cache
def bomb(mebibytes: int) -> bytes:
    """So much, packed; after a full flush each piece is packed alike. Its checksum is missing."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    first, further = (
        packer.compress(b" " * MIB) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2)
    )
    return first + further * (mebibytes - 1)


@pytest.mark.parametrize("code", [b"200 OK", b"500 No"])
async def test_what_unpacks_to_a_gigabyte_is_cut_off(code: bytes) -> None:
    packed = bomb(1024)
    head = b"HTTP/1.1 " + code + b"\r\nContent-Encoding: gzip\r\n"
    data = head + f"Content-Length: {len(packed)}\r\n\r\n".encode() + packed
    before = limits.getrusage(limits.RUSAGE_SELF).ru_maxrss
    async with raw(sends(data)) as client, asyncio.timeout(60):
        with pytest.raises(errors.TooLong if code.startswith(b"2") else errors.ServerError):
            await read(client)
    assert limits.getrusage(limits.RUSAGE_SELF).ru_maxrss - before < ROOM


async def test_a_packed_answer_is_read() -> None:
    packed = gzip.compress(msgspec.json.encode(pod("p", 7)))
    head = OK + f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
    async with raw(sends(head + packed)) as client:
        assert await read(client) == pod("p", 7)


async def test_of_a_refusal_without_end_the_beginning_is_shown() -> None:
    reply = for_ever(b"HTTP/1.1 403 No\r\n\r\n", b"you may not " * 10_000)
    async with raw(reply) as client, asyncio.timeout(20):
        with pytest.raises(errors.Forbidden, match="you may not you may not") as caught:
            await read(client)
    assert len(str(caught.value)) < 10_000


async def test_a_watch_whose_line_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enbloc.client.transport.ANSWER_BYTES", 8 * MIB)
    problems: asyncio.Queue[str | None] = asyncio.Queue()
    body = msgspec.json.encode({"metadata": {"resourceVersion": "4"}, "items": []})

    async def reply(writer: asyncio.StreamWriter) -> None:
        if problems.empty() and not asked:
            asked.append(True)
            await sends(OK + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)(writer)
        else:
            await for_ever(OK + b"\r\n", b" " * MIB)(writer)

    asked: list[bool] = []
    before = limits.getrusage(limits.RUSAGE_SELF).ru_maxrss
    async with raw(reply) as client, asyncio.timeout(60):
        reflector = Reflector(client, PODS, Pod, report=problems.put_nowait)

        async def follow() -> None:
            async with aclosing(reflector.stream()) as items:
                async for _ in items:
                    pass

        following = asyncio.create_task(follow())
        problem = await problems.get()
        following.cancel()
        await asyncio.wait({following})
    assert problem is not None
    assert "a line is longer than 8388608 bytes" in problem
    assert limits.getrusage(limits.RUSAGE_SELF).ru_maxrss - before < ROOM


async def test_a_page_that_is_too_long_is_asked_for_in_smaller_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever may create large objects in one namespace must not keep all from being listed."""
    monkeypatch.setattr(clients, "LIST_BYTES", 20_000)
    big = [pod(f"p{index:02}", 1 + index, pad="x" * 3000) for index in range(20)]

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" in request.query:
            return refusal(500, "No")
        start, limit = int(request.query.get("continue", 0)), int(request.query["limit"])
        limits_asked.append(limit)
        more = str(start + limit) if start + limit < len(big) else ""
        return pods(99, *big[start : start + limit], more=more)

    limits_asked: list[int] = []
    async with talking_to(server) as client:
        reflector = Reflector(client, PODS, Pod, timing=Timing(retry=(0.001, 0.01)))
        async with aclosing(reflector.stream()) as items, asyncio.timeout(20):
            found = [await anext(items) for _ in range(len(big) + 1)]
    assert len(found) == len(big) + 1
    assert limits_asked[:4] == [500, 50, 5, 5]


async def test_a_page_that_takes_too_long_is_asked_for_in_smaller_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over a slow line, a list must end all the same."""
    monkeypatch.setattr(clients, "READ_TIMEOUT", aiohttp.ClientTimeout(total=0.2))
    some = [pod(f"p{index}", 1 + index) for index in range(3)]
    limits_asked: list[int] = []

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" in request.query:
            return refusal(500, "No")
        limits_asked.append(int(request.query["limit"]))
        if limits_asked[-1] < 500:
            return pods(99, *some)
        return await stream(request, [b'{"metadata"'], "hang")

    async with talking_to(server) as client:
        reflector = Reflector(client, PODS, Pod, timing=Timing(retry=(0.001, 0.01)))
        async with aclosing(reflector.stream()) as items, asyncio.timeout(20):
            found = [await anext(items) for _ in range(len(some) + 1)]
    assert len(found) == len(some) + 1
    assert limits_asked == [500, 50]


async def test_a_redirect_is_not_followed() -> None:
    elsewhere = Script(says(lambda: answer({"taken": True})))
    async with serving(elsewhere) as there:

        def away() -> web.Response:
            return web.Response(status=307, headers={"Location": there})

        async with talking_to(says(away)) as client:
            for ask in VERBS:
                with pytest.raises(errors.APIError, match="307"):
                    await ask(client)
    assert elsewhere.seen == []


async def test_a_certificate_of_another_authority_is_not_believed(tmp_path: Path) -> None:
    for folder in ("ours", "theirs"):
        (tmp_path / folder).mkdir()
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    server = Script(says(lambda: answer({"taken": True})))
    async with serving(server, theirs.server_context("127.0.0.1")) as url:
        cluster = Cluster(url, ca_file=ours.ca)
        async with Client(cluster, component="test") as client:
            for ask in VERBS:
                with pytest.raises(errors.Unreachable, match=r"(?i)certificate") as caught:
                    await ask(client)
                assert not caught.value.sent
    assert server.seen == []


@pytest.mark.parametrize(
    ("header", "asked"),
    [
        ("7", 7),
        ("0", 1),
        ("-5", 1),
        ("nan", 1),
        ("soon", 1),
        ("", 1),
        ("3600", 3600),
        ("inf", errors.LONGEST_ASKED),
        ("9" * 5000, errors.LONGEST_ASKED),
        ("1e300", errors.LONGEST_ASKED),
        (formatdate(1_000_000_060, usegmt=True), 60),
        (formatdate(999_999_999, usegmt=True), 1),
        ("Mon, 99 Foo 99999 99:99:99 GMT", 1),
    ],
)
async def test_what_a_retry_after_asks_for_is_a_number_of_seconds(
    header: str, asked: float
) -> None:
    date = formatdate(1_000_000_000, usegmt=True)
    busy = says(lambda: answer({}, 429, **{"Retry-After": header, "Date": date}))
    async with talking_to(busy) as client:
        with pytest.raises(errors.TooManyRequests) as caught:
            await client.create(PODS, {}, "default", tries=1)
    assert caught.value.retry_after == asked


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        (3600, 3600),
        (-1, 1),
        (0, 1),
        (10**400, errors.LONGEST_ASKED),
        (float("inf"), errors.LONGEST_ASKED),
        (float("nan"), 1),
        ("soon", 1),
        (None, 1),
        ([7], 1),
    ],
)
def test_what_a_status_asks_for_is_a_number_of_seconds(said: object, asked: float) -> None:
    status = {"details": {"retryAfterSeconds": said}}
    error = errors.from_status("create", "pods", 429, status)
    assert isinstance(error, errors.TooManyRequests)
    assert error.retry_after == asked
