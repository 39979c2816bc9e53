# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Servers that contradict themselves, are restored, or re-keyed: said, survived, recovered from."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from enbloc.client import client as clients
from enbloc.client import probe, transport
from enbloc.client.client import Client
from enbloc.client.config import Cluster, TokenFile
from enbloc.client.errors import APIError, Unauthorized, Unreachable
from enbloc.client.items import Timing
from enbloc.client.lease import Elector
from enbloc.client.paths import LEASES, PODS
from enbloc.client.reflector import Reflector
from enbloc.errors import ConfigError
from tests.client.certificates import Authority
from tests.client.fake import (
    Pod,
    Script,
    answer,
    event,
    pod,
    pods,
    says,
    serving,
    stream,
    talking_to,
)
from tests.client.test_hostile_answers import brief, for_ever, raw, sends
from tests.client.test_reflector import QUICK, Server, lists, reflecting, take, watches

__all__ = ["brief"]

FAILURE = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500, "message": "x"}


async def all_of(items: AsyncIterator[object]) -> None:
    async for _ in items:
        pass


# ── what contradicts itself ──────────────────────────────────────────────────────────────────


async def test_a_success_that_is_a_failure_leaves_the_outcome_open() -> None:
    """As of a proxy or an aggregated server that loses the code."""
    async with talking_to(says(lambda: answer(FAILURE, 200))) as client:
        for ask in (
            client.get(PODS, "p", "default"),
            client.create(PODS, {}, "default", name="p", subresource="eviction"),
            client.delete(PODS, "p", "default", uid="u"),
            client.replace(LEASES, "l", {}, "default"),
        ):
            with pytest.raises(Unreachable, match="a success that says it is a failure") as caught:
                await ask
            assert caught.value.outcome_unknown


async def test_a_list_that_is_a_failure_is_asked_for_again() -> None:
    failing = says(lambda: answer({**FAILURE, "metadata": {}}, 200))
    problems: list[str | None] = []
    async with talking_to(Server([failing, lists(pod("a", 1), version=4)], [])) as client:
        reflector = Reflector(client, PODS, Pod, timing=QUICK, report=problems.append)
        async with aclosing(reflector.stream()) as items:
            assert await take(items, 2) == ["+a1", "synced"]
    assert problems[0] is not None
    assert "unreadable answer" in problems[0]
    assert problems[-1] is None


@pytest.mark.parametrize("tokens", [["t"], ["t", "u"], ["t", "u", "v"]])
async def test_a_list_whose_pages_go_round_in_a_circle_is_given_up_and_said(
    tokens: list[str],
) -> None:
    asked: list[str] = []

    async def round_and_round(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.query.get("continue", ""))
        if "watch" in request.query:
            await asyncio.sleep(3600)
        if len(asked) > 20:
            return pods(9, pod("a", 3))
        return pods(9, pod("a", 3), more=tokens[len(asked) % len(tokens)])

    problems: list[str | None] = []
    async with talking_to(round_and_round) as client:
        reflector = Reflector(client, PODS, Pod, timing=QUICK, report=problems.append)
        async with aclosing(reflector.stream()) as items:
            assert await take(items, 2) == ["+a3", "synced"]
        asked.clear()
        with pytest.raises(Unreachable, match="the list has no end"):
            await all_of(client.list(PODS))
    assert problems[0] is not None
    assert "the same continue token came twice" in problems[0]


async def test_a_list_of_ever_new_pages_is_given_up_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients, "LIST_SECONDS", 0.2)
    numbers = iter(range(10**9))
    async with talking_to(says(lambda: pods(9, more=str(next(numbers))))) as client:
        with pytest.raises(Unreachable, match=r"the list has no end after 0 s"):
            await all_of(client.list(PODS))
        with pytest.raises(Unreachable, match=r"the list has no end after 0 s"):
            await all_of(Reflector(client, PODS, Pod).list_once())


async def test_a_watch_that_replays_what_is_over_brings_nobody_back() -> None:
    """As a watch cache does that was rebuilt from an older state."""
    server = Server(
        [lists(pod("a", 3), version=4)],
        [
            watches(
                event("DELETED", pod("a", 7)),
                event("ADDED", pod("a", 3)),
                event("MODIFIED", pod("a", 5)),
                event("ADDED", pod("b", 2)),
                event("ADDED", pod("c", 8)),
                event("DELETED", pod("c", 6)),
                event("ADDED", pod("a", 9, uid="second")),
            )
        ],
    )
    async with reflecting(server) as (_, items):
        assert await take(items, 5) == ["+a3", "synced", "-a3", "+c8", "+a9"]


@pytest.mark.parametrize(
    ("version", "shown", "problem"),
    [
        pytest.param(
            200, ["+a50", "synced"], "default/a of resourceVersion 50", id="and has caught up"
        ),
        pytest.param(
            80,
            ["+a50", "+b60", "synced"],
            "a list has resourceVersion 80 after 100",
            id="and is still behind",
        ),
    ],
)
async def test_a_server_that_was_restored_is_believed(
    version: int, shown: list[str], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Semantics §6.3: its watch is silent until it has reached the version that was asked for.

    Afterwards its newest version is beyond what was seen, and an object is older than what was
    shown.
    """
    monkeypatch.setattr(probe, "TURN_SECONDS", 0.01)
    restored = False

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" in request.query:
            return await stream(request, [], "hang")
        if restored:
            return pods(version, pod("a", 50, node="lost"), pod("b", 60))
        return pods(100, pod("a", 90, node="n1"), pod("b", 60))

    problems: list[str | None] = []
    often = Timing(watch=(60, 60), grace=1, retry=(0.001, 0.01), probe=0.05)
    async with talking_to(server) as client:
        reflector = Reflector(client, PODS, Pod, timing=often, report=problems.append)
        async with aclosing(reflector.stream()) as items:
            assert await take(items, 3) == ["+a90", "+b60", "synced"]
            restored = True
            assert await take(items, len(shown)) == shown
    assert any(told and problem in told for told in problems)


async def test_an_object_of_another_kind_is_read_as_far_as_it_can_be() -> None:
    """And is none of ours: whatever decides by its fields finds none of them."""
    secret = {**pod("s", 5), "kind": "Secret", "apiVersion": "v1", "data": {"a": "b"}}
    del secret["spec"]
    async with reflecting(Server([lists(secret, version=6)], [])) as (_, items):
        assert await take(items, 2) == ["+s5", "synced"]


# ── how it is said ───────────────────────────────────────────────────────────────────────────

BODY = msgspec.json.encode({"metadata": {"resourceVersion": "9"}, "items": []})
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\n" + BODY, id="HTTP/1.0"),
        pytest.param(
            b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
            + HEAD
            + b"Content-Length: %d\r\n\r\n" % len(BODY)
            + BODY,
            id="1xx before it",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-16\r\n"
            + b"Content-Length: %d\r\n\r\n" % len(BODY)
            + BODY,
            id="a content type that is wrong",
        ),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x;ext=1\r\n" % len(BODY) + BODY
            + b"\r\n0\r\nTrailer: x\r\n\r\n",
            id="chunks with extensions and trailers",
        ),
    ],
)  # fmt: skip
async def test_an_unusual_answer_that_is_whole_is_read(reply: bytes) -> None:
    async with raw(sends(reply)) as client:
        assert await client.page(PODS) == BODY


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\n" + BODY[:-3], id="HTTP/1.0, cut"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", id="101"),
        pytest.param(HEAD + b"Content-Encoding: br\r\nContent-Length: 4\r\n\r\nabcd", id="brotli"),
        pytest.param(HEAD + b"Content-Encoding: zstd\r\nContent-Length: 4\r\n\r\nabcd", id="zstd"),
        pytest.param(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd", id="gzip"),
        pytest.param(HEAD + b"Content-Encoding: x\r\nContent-Length: 4\r\n\r\nabcd", id="unknown"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc", id="no chunk"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n-4\r\nabcd\r\n", id="negative"),
        pytest.param(HEAD + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", id="lengths"),
        pytest.param(b"HTTP/2 200 OK\r\n\r\n" + BODY, id="HTTP/2 in plain"),
        pytest.param(b"\x16\x03\x01" * 50, id="TLS in plain"),
    ],
)
@pytest.mark.usefixtures("brief")
async def test_an_answer_that_no_server_gives_is_an_error_of_the_api(reply: bytes) -> None:
    async with raw(sends(reply)) as client:
        with pytest.raises(APIError):
            await client.get(PODS, "p", "default")


@pytest.mark.real_time("a flood leaves no moment in which nothing but time could help")
@pytest.mark.parametrize("piece", [b"HTTP/1.1 100 Continue\r\n\r\n" * 1000])
@pytest.mark.usefixtures("brief")
async def test_a_flood_of_1xx_is_given_up(piece: bytes) -> None:
    async with raw(for_ever(b"", piece)) as client, asyncio.timeout(20):
        with pytest.raises(Unreachable):
            await client.get(PODS, "p", "default")


# ── who it is ────────────────────────────────────────────────────────────────────────────────


async def test_a_new_authority_in_the_file_is_believed_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the kubelet writes it into the pod when the cluster's authority is rotated."""
    monkeypatch.setattr(transport, "TLS_SECONDS", 0.0)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one, two = Authority(tmp_path / "one"), Authority(tmp_path / "two")
    ca = tmp_path / "ca.crt"
    ca.write_bytes(one.ca.read_bytes())
    shown = says(lambda: answer({"metadata": {}}, Connection="close"))
    served = one.server_context("127.0.0.1")
    async with (
        serving(shown, served) as url,
        Client(Cluster(url, ca_file=ca), component="test") as client,
    ):
        await client.get(PODS, "p", "default")
        served.load_cert_chain(*two.issue("127.0.0.1"))
        with pytest.raises(Unreachable, match=r"(?i)certificate"):
            await client.get(PODS, "p", "default")
        ca.write_text("half of a file")
        with pytest.raises(Unreachable, match=r"(?i)certificate"):
            await client.get(PODS, "p", "default")
        ca.write_bytes(two.ca.read_bytes())
        with pytest.raises(Unreachable, match=r"(?i)certificate"):
            await client.get(PODS, "p", "default")  # and reads it
        await client.get(PODS, "p", "default")


async def test_a_server_that_is_away_is_told_of_alike_by_every_client(tmp_path: Path) -> None:
    """Or one outage would be as many problems as there are connections."""
    ca = Authority(tmp_path).ca
    async with Client(Cluster("https://127.0.0.1:9", ca_file=ca), component="test") as client:
        with pytest.raises(Unreachable, match="ssl:default"):
            await client.get(PODS, "p", "default")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\n", id="a line break"),
        pytest.param(b"\xff\xfe\x00", id="no text"),
        pytest.param(b"two words", id="two words"),
        pytest.param(b"a\x1b[2J", id="a control character"),
    ],
)
async def test_a_token_file_that_holds_none_keeps_the_last_and_is_said_where_there_is_none(
    tmp_path: Path, content: bytes
) -> None:
    """The kubelet may be writing it, and an empty token would make us anonymous."""
    seen: list[str | None] = []

    async def notes(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request.headers.get("Authorization"))
        return answer({"metadata": {}})

    path = tmp_path / "token"
    path.write_bytes(content)
    now = 0.0
    async with serving(notes) as url:
        auth = TokenFile(path, lambda: now)
        async with Client(Cluster(url, auth=auth), component="test") as client:
            with pytest.raises(Unauthorized, match="cannot read the token"):
                await client.get(PODS, "p", "default")
            path.write_text("first")
            await client.get(PODS, "p", "default")
            path.write_bytes(content)
            now = 100.0
            await client.get(PODS, "p", "default")
            path.write_text("second\n")
            await client.get(PODS, "p", "default")
    assert seen == ["Bearer first", "Bearer first", "Bearer second"]
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="cannot read the token"):
        await TokenFile(path).header(None)


# ── a Lease without a version ────────────────────────────────────────────────────────────────


async def test_a_lease_without_a_version_is_said_and_never_taken() -> None:
    """Nobody could tell whether another took it meanwhile."""
    shown = {"metadata": {"name": "l", "namespace": "ns"}, "spec": {}}
    problems: list[str | None] = []
    server = Script(says(lambda: answer(shown)))
    async with talking_to(server) as client:
        elector = Elector(client, namespace="ns", name="l", identity="me", report=problems.append)
        assert not await elector._try(first=True)
    assert problems == [elector.last_error.advice if elector.last_error else ""]
    assert "metadata.resourceVersion: missing" in str(problems[0])
    assert [request.method for request in server.seen] == ["GET"]
