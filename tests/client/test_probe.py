# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A watch that shows less than the server has is noticed, and what it lacks is listed."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from enbloc.client import client as clients
from enbloc.client import probe
from enbloc.client.client import Client
from enbloc.client.errors import Invalid
from enbloc.client.items import Deleted, Item, Seen, Timing
from enbloc.client.paths import PODS
from enbloc.client.probe import Probe
from enbloc.client.reflector import Reflector
from tests.client.fake import (
    Handler,
    Pod,
    answer,
    bookmark,
    event,
    pod,
    refusal,
    stream,
    talking_to,
)

OFTEN = Timing(watch=(60, 60), grace=1, retry=(0.001, 0.01), probe=0.05)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "TURN_SECONDS", 0.01)


class Cluster:
    """Pods of a server whose watches show what `watch` says; lists tell the truth, in pages."""

    def __init__(self, *names: str) -> None:
        self.version = 10
        self.pods: dict[str, dict[str, Any]] = {}
        for name in names:
            self.put(name)
        self.lists: list[dict[str, str]] = []
        self.looks: list[dict[str, str]] = []
        self.watch: Handler | None = None

    def put(self, name: str) -> dict[str, Any]:
        self.version += 1
        self.pods[name] = pod(name, self.version)
        return self.pods[name]

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        query = dict(request.query)
        if "watch" in query:
            if self.watch is None:
                return await stream(request, [], "hang")
            return await self.watch(request)
        looks = "PartialObjectMetadata" in request.headers["Accept"]
        (self.looks if looks else self.lists).append(query)
        names = sorted(self.pods)
        start = int(query.get("continue", 0))
        some = names[start : start + int(query["limit"])]
        metadata: dict[str, Any] = {"resourceVersion": str(self.version)}
        if left := len(names) - start - len(some):
            metadata |= {"continue": str(start + len(some)), "remainingItemCount": left}
        return answer({"metadata": metadata, "items": [self.pods[name] for name in some]})


async def until(
    items: AsyncIterator[Item[Pod]], name: str, kind: type[Seen[Pod] | Deleted[Pod]] = Seen
) -> None:
    """Take items up to this one."""
    async with asyncio.timeout(10):
        async for item in items:
            if isinstance(item, kind) and item.meta.name == name:
                return


@asynccontextmanager
async def shown(
    cluster: Cluster, problems: list[str | None]
) -> AsyncGenerator[AsyncIterator[Item[Pod]]]:
    """What a watch of the cluster's pods shows, which adds its problems to these."""
    async with talking_to(cluster) as client:
        watching = Reflector(client, PODS, Pod, timing=OFTEN, report=problems.append)
        async with aclosing(watching.stream()) as items:
            yield items


async def said(client: Client, change: Callable[[], object], back: Callable[[], object]) -> str:
    """The problem that a change makes for a watch of the pod "a"; returns when it is over."""
    told: asyncio.Queue[str | None] = asyncio.Queue()
    watching = Reflector(client, PODS, Pod, timing=OFTEN, report=told.put_nowait)
    async with aclosing(watching.stream()) as items:
        await until(items, "a")
        following = asyncio.create_task(until(items, "never"))
        async with asyncio.timeout(10):
            change()
            problem = await told.get()
            back()
            assert await told.get() is None
        following.cancel()
        await asyncio.wait({following})
    assert told.empty()
    assert problem is not None
    return problem


async def test_a_watch_that_is_silent_while_objects_change_is_reopened_after_a_list() -> None:
    cluster, problems = Cluster("a"), list[str | None]()
    async with shown(cluster, problems) as items:
        await until(items, "a")
        cluster.put("b")
        await until(items, "b")
        del cluster.pods["a"]
        cluster.put("c")
        await until(items, "a", Deleted)
    assert problems[0] is not None
    assert "the watch of pods is stale: a list has default/b of resourceVersion 12" in problems[0]
    assert "resourceVersion" not in cluster.lists[-1], "what is stale is not to be trusted"


async def test_a_watch_that_sends_bookmarks_in_the_place_of_changes_is_noticed() -> None:
    cluster, problems = Cluster("a"), list[str | None]()

    async def swallow(request: web.BaseRequest) -> web.StreamResponse:
        response = await stream(request, [])
        while True:
            await response.write(bookmark(cluster.version))
            await asyncio.sleep(0.005)

    cluster.watch = swallow
    async with shown(cluster, problems) as items:
        await until(items, "a")
        cluster.put("b")
        await until(items, "b")
    assert problems[0] is not None


async def test_the_end_of_an_object_that_was_swallowed_is_noticed_by_their_number() -> None:
    cluster, problems = Cluster("a", "b"), list[str | None]()
    async with shown(cluster, problems) as items:
        await until(items, "b")
        del cluster.pods["a"]
        await until(items, "a", Deleted)
    assert problems[0] is not None
    assert "a list has 1 objects in all, but 2" in problems[0]


async def test_the_problem_is_over_when_the_watch_shows_everything_again() -> None:
    cluster = Cluster("a")
    async with talking_to(cluster) as client:
        problem = await said(client, lambda: cluster.put("b"), lambda: None)
    assert "default/b" in problem


async def test_a_watch_that_is_behind_but_gets_there_is_left_alone() -> None:
    """It is slow, and objects come and go meanwhile: no list, no problem."""
    cluster, problems = Cluster("a"), list[str | None]()
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def late(request: web.BaseRequest) -> web.StreamResponse:
        response = await stream(request, [])
        while True:
            await response.write(await lines.get())
            await asyncio.sleep(0.02)

    cluster.watch = late
    async with shown(cluster, problems) as items:
        await until(items, "a")
        following = asyncio.create_task(until(items, "last"))
        for index in range(30):
            added = cluster.put(f"p{index}")
            lines.put_nowait(event("ADDED", added))
            if index % 3 == 0:
                cluster.version += 1
                gone = cluster.pods.pop(f"p{index}")
                gone["metadata"]["resourceVersion"] = str(cluster.version)
                lines.put_nowait(event("DELETED", gone))
            await asyncio.sleep(0.01)
        lines.put_nowait(event("ADDED", cluster.put("last")))
        await following
    assert problems == []
    assert len(cluster.lists) == 1
    assert len(cluster.looks) > 1


async def test_a_large_collection_is_compared_a_page_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probe, "PROBE_ROWS", 2)
    cluster = Cluster("a", "b", "c", "d", "e")
    known = {("default", name): int(one["metadata"]["resourceVersion"])
             for name, one in cluster.pods.items()}  # fmt: skip
    async with talking_to(cluster) as client:
        looking = Probe(client, PODS, lambda key: known.get(key, 0), lambda: len(known))
        assert [await looking.look() for _ in range(3)] == ["", "", ""]
        known["default", "d"] = 1
        found = [await looking.look() for _ in range(3)]
        assert found == ["", "default/d of resourceVersion 14", ""]
        del known["default", "e"]
        assert await looking.look() == "5 objects in all, but 4"
    assert [query.get("continue") for query in cluster.looks[:3]] == [None, "2", "4"]


async def test_a_page_that_is_too_long_is_compared_in_smaller_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever may create large objects in one namespace must not keep the process from ready."""
    monkeypatch.setattr(clients, "LIST_BYTES", 20_000)
    cluster = Cluster(*(f"p{index:02}" for index in range(30)))
    for name in list(cluster.pods)[:20]:
        cluster.pods[name]["metadata"]["labels"] = {"pad": "x" * 3000}
    known = {("default", name): 99 for name in cluster.pods}
    async with talking_to(cluster) as client:
        looking = Probe(client, PODS, lambda key: known.get(key, 0), lambda: len(known))
        assert [await looking.look() for _ in range(8)] == [""] * 8
        known["default", "p29"] = 1
        found = [await looking.look() for _ in range(16)]
    assert "default/p29 of resourceVersion 40" in found


async def test_a_snapshot_that_is_gone_is_no_fault_of_the_watch() -> None:
    cluster = Cluster("a")

    async def expired(request: web.BaseRequest) -> web.StreamResponse:
        return refusal(410, "Expired") if "continue" in request.query else await cluster(request)

    async with talking_to(expired) as client:
        looking = Probe(client, PODS, lambda _: 99, None)
        looking._more = "1"
        assert await looking.look() == ""
        assert await looking.look() == ""


async def test_a_token_that_the_server_rejects_is_not_sent_again() -> None:
    """As by a server that was upgraded, or restored from a backup, since it gave the token."""
    cluster = Cluster("a")

    async def rejecting(request: web.BaseRequest) -> web.StreamResponse:
        spoilt = "continue" in request.query
        return refusal(400, "BadRequest") if spoilt else await cluster(request)

    async with talking_to(rejecting) as client:
        looking = Probe(client, PODS, lambda _: 99, None)
        looking._more = "1"
        with pytest.raises(Invalid):
            await looking.look()
        assert await looking.look() == ""


@pytest.mark.parametrize("code", [403, 500])
async def test_that_the_server_cannot_be_asked_is_a_problem_while_it_lasts(code: int) -> None:
    cluster = Cluster("a")
    refusing = asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        looks = "PartialObjectMetadata" in request.headers["Accept"]
        return refusal(code, "No") if looks and refusing.is_set() else await cluster(request)

    async with talking_to(handler) as client:
        assert str(code) in await said(client, refusing.set, refusing.clear)
    assert len(cluster.lists) == 1
