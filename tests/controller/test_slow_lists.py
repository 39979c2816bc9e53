# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups are listed once, and then watched, however slow the server and odd a PodGroup is."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast
from urllib.parse import urlencode

import msgspec
import pytest

from enbloc.client.client import Query
from enbloc.client.clock import TimeSource
from enbloc.client.probe import Key
from enbloc.client.transport import JSON, Stream
from enbloc.controller.session import Session
from enbloc.telemetry import ActiveProblems
from tests.client.memory import MemoryClient, Store
from tests.controller.fake import ROOT, group


def now() -> float:
    return asyncio.get_running_loop().time()


class Changes:
    """An open watch: it shows the PodGroup each second, until its place is lost or it is closed."""

    def __init__(self, server: "SlowServer") -> None:
        self._server = server
        self._ended = asyncio.Event()

    def close(self) -> None:
        self._ended.set()

    async def lines(self) -> AsyncIterator[list[bytes]]:
        while not self._ended.is_set():
            await asyncio.sleep(1)
            if self._server.forgets:
                self._server.forgets -= 1
                yield [msgspec.json.encode({"type": "ERROR", "object": {"code": 410}})]
            yield [msgspec.json.encode({"type": "MODIFIED", "object": self._server.group()})]


class SlowServer(MemoryClient):
    """Has one PodGroup, whose status changes every second.

    Attributes:
        seconds: that a list takes, in two pages.
        opening: seconds until a watch begins.
        forgets: how often the place of a watch is lost from now on.
        others: the PodGroups that do not change.
        lists: how many lists have begun.
        looks: how often it was asked for metadata alone.
    """

    def __init__(self) -> None:
        super().__init__(Store(), clock=TimeSource(local=asyncio.get_running_loop().time))
        self.seconds, self.opening = 0.0, 0.0
        self.forgets = self.lists = self.looks = 0
        self.others: list[dict[str, Any]] = []

    def group(self) -> dict[str, Any]:
        return group("a", 1000 + int(now()))

    async def request(
        self, *_: Any, query: Query | None = None, accept: str = JSON, **__: Any
    ) -> bytes:
        found = self.group()
        listed: dict[str, Any] = {"metadata": found["metadata"], "items": [found, *self.others]}
        if accept != JSON:
            self.looks += 1
        elif "continue" in (query or {}):
            await asyncio.sleep(self.seconds / 2)
            listed["items"] = []
        else:
            self.lists += 1
            await asyncio.sleep(self.seconds / 2)
            listed["metadata"] = {**found["metadata"], "continue": "more"}
        return msgspec.json.encode(listed)

    def watch(self, *_: Any, **__: Any) -> AbstractAsyncContextManager[Stream]:
        return self._watching()

    @asynccontextmanager
    async def _watching(self) -> AsyncGenerator[Stream]:
        await asyncio.sleep(self.opening)
        yield cast("Stream", Changes(self))


class Nobody:
    """Takes in PodGroups, and keeps none."""

    def seen(self, kind: str | None, found: Mapping[str, Any]) -> None: ...

    def listed(self, found: Mapping[Key, Mapping[str, Any]], version: int) -> None: ...


async def follow(session: Session) -> None:
    """List, and watch until the place is lost, over and over again, as kopf does."""
    url = f"{ROOT}/podgroups?"
    while True:
        query = {"limit": "500"}
        while query.get("continue") != "":
            page: Any = await (await session.request("get", url + urlencode(query))).json()
            query["continue"] = page["metadata"]["continue"]
        kind = ""
        while kind != "ERROR":
            async with await session.request("get", f"{url}watch=true") as watch:
                async for line in watch.content.iter_chunked(1):
                    kind = msgspec.json.decode(line)["type"]


@asynccontextmanager
async def following(server: SlowServer) -> AsyncGenerator[ActiveProblems]:
    """A session that has listed the PodGroups of a server, and compares them."""
    problems = ActiveProblems()
    session = Session(server, problems, Nobody())
    running = [asyncio.create_task(follow(session)), asyncio.create_task(session.compare())]
    await asyncio.sleep(5)
    yield problems
    for task in running:
        task.cancel()
    await asyncio.wait(running)


@pytest.mark.parametrize("seconds", [20, 40, 200])
async def test_a_list_that_takes_long_makes_no_watch_stale(seconds: float) -> None:
    """Semantics §6.3"""
    server = SlowServer()
    async with following(server) as problems:
        server.seconds, server.forgets = seconds, 1
        for _ in range(60):
            await asyncio.sleep(60)
            assert not problems.active
        assert server.lists == 2
        assert server.looks > 60


async def test_a_watch_that_is_found_stale_while_it_opens_is_not_gone_on_with() -> None:
    """Nothing would close it later, because nothing is compared before the list."""
    server = SlowServer()
    async with following(server):
        server.opening, server.forgets = 500, 1
        await asyncio.sleep(100)
        server.opening = 0
        await asyncio.sleep(500)
        assert server.lists == 3, "at first, when the place was lost, and afterwards"


async def test_a_watch_that_begins_late_is_not_stale_for_it() -> None:
    server = SlowServer()
    async with following(server) as problems:
        server.opening = 24
        for number in range(2, 20):
            server.forgets = 1
            await asyncio.sleep(100)
            assert server.lists == number
            assert not problems.active


async def test_a_podgroup_that_cannot_be_read_makes_no_watch_stale() -> None:
    """But the first time, since the watch does not show that it is there."""
    server, broken = SlowServer(), {**group("b", 2), "spec": 7}
    async with following(server) as problems:
        for others in ([broken], [], [broken, {**broken, "metadata": 5}], [group("b", 3)]):
            server.others = others
            await asyncio.sleep(120)
            lists = server.lists
            await asyncio.sleep(1800)
            assert server.lists == lists
            assert not problems.active
        assert server.lists <= 5
