# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of Topologies that a server loses, denies or cannot show: all else goes on without them."""

import asyncio
import logging
import math

import pytest
from aiohttp import web

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.engine.events import TopologyGone, TopologySeen
from enbloc.live import fact_informers
from enbloc.live.event_queue import EventQueue
from enbloc.live.informers import Informers
from enbloc.live.malformed import MalformedObjects
from enbloc.model.topology import Topology
from enbloc.telemetry import ActiveProblems
from tests.client.fake import refusal
from tests.live.test_fact_informers import SERVED, TOPOLOGIES, Server, layers, world

KUEUES = "topologies.kueue.x-k8s.io"
SERVED_KUEUE = "kueue.x-k8s.io/v1beta2 topologies"
UNREAD = TopologySeen(
    Topology("kueue.x-k8s.io/*", problem=f"the scheduler cannot read {KUEUES}; its log says why")
)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_informers, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr("enbloc.live.informer.OPTIONAL_SECONDS", 1)


def broken_off(server: Server) -> None:
    """End the watch, which has shown nothing of what happens now."""
    server.change(TOPOLOGIES, "ERROR", {"kind": "Status", "code": 410})


async def test_what_a_server_no_longer_has_is_gone_and_is_no_problem(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    server, problems = Server(SERVED), ActiveProblems()
    server.lists[TOPOLOGIES] = [layers("default")]
    async with world(server, TOPOLOGIES, problems=problems) as opened:
        await opened.synced()
        [informer] = opened.informers.values()
        server.has = {"v1 pods"}
        broken_off(server)
        await opened.until(lambda: TopologyGone("default") in opened.events)
        assert not problems.active
        assert informer.readable()
        await asyncio.sleep(0.3)
        assert caplog.text.count("The API server does not serve topologies.enbloc.dev: spec.") == 1
        server.has = {SERVED}
        server.lists[TOPOLOGIES] = [layers("default", 6)]
        await opened.until(lambda: isinstance(opened.events[-1], TopologySeen))
        assert not problems.active
        assert informer.readable()


@pytest.mark.parametrize("how", ["removed", "denied"])
async def test_who_takes_over_does_not_wait_for_optional_objects_that_are_refused_by_now(
    how: str,
) -> None:
    server = Server(SERVED)
    server.lists[TOPOLOGIES] = [layers("default")]
    async with world(server, TOPOLOGIES) as opened:
        await opened.synced()
        [informer] = opened.informers.values()
        if how == "removed":
            server.has = {"v1 pods"}
        else:
            server.forbidden = {TOPOLOGIES}
        broken_off(server)
        async with asyncio.timeout(10):
            await informer.confirm(math.inf)
        await opened.until(lambda: TopologyGone("default") in opened.events)
        server.has, server.forbidden = {SERVED}, set()

        def names() -> list[str]:
            seen = [each for each in opened.events if isinstance(each, TopologySeen)]
            return [each.topology.name for each in seen]

        await opened.until(lambda: names()[1:] != [] and names()[-1] == "default")
        assert informer.readable()
        unread = ["*"] if how == "denied" else []  # none of ours can be read
        assert names() == ["default", *unread, "default"]


class Broken(Server):
    """Answers 500 where it should list or watch, or tell what it serves."""

    def __init__(self, *has: str) -> None:
        super().__init__(*has)
        self.broken = ""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        discovery = not request.path.endswith(TOPOLOGIES)
        if self.broken == ("discovery" if discovery else "objects"):
            return refusal(500, "InternalError", "conversion webhook failed")
        return await super().__call__(request)


@pytest.mark.parametrize("broken", ["discovery", "objects"])
async def test_a_start_does_not_wait_for_long_for_topologies_of_another_project(
    broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server, problems = Broken(SERVED_KUEUE), ActiveProblems()
    server.broken = broken
    server.lists[TOPOLOGIES] = [layers("default")]
    async with world(server, KUEUES, problems=problems) as opened:
        await opened.synced(10.0)
        assert not problems.active
        [informer] = opened.informers.values()
        assert not informer.readable()
        [line] = [each.message for each in caplog.records if each.levelno >= logging.WARNING]
        assert "conversion webhook failed" in line
        assert line.endswith("until then: PodGroups can name none of them")
        assert opened.events == [UNREAD]
        server.broken = ""
        await opened.until(informer.readable)
        await opened.until(lambda: opened.events[-1] == TopologyGone("kueue.x-k8s.io/*"))
        assert [type(each) for each in opened.events] == [TopologySeen, TopologySeen, TopologyGone]
        assert f"Can read {KUEUES} now" in caplog.text


async def test_who_takes_over_does_not_wait_for_long_for_topologies_of_another_project() -> None:
    server = Broken(SERVED_KUEUE)
    server.lists[TOPOLOGIES] = [layers("default")]
    async with world(server, KUEUES) as opened:
        await opened.synced()
        [informer] = opened.informers.values()
        server.broken = "objects"
        broken_off(server)
        async with asyncio.timeout(30):
            await informer.confirm(math.inf)
        await opened.until(lambda: opened.events[-1] == UNREAD)
        assert TopologyGone("kueue.x-k8s.io/default") in opened.events
        server.broken = ""
        await opened.until(lambda: opened.events[-1] == TopologyGone("kueue.x-k8s.io/*"))
        assert isinstance(opened.events[-2], TopologySeen)


class Busy(Server):
    """Answers 429 to lists, and asks to come back in 20 s, until it is free.

    Attributes:
        free: when, seconds of the loop.
        asked: when a list was asked for.
    """

    free = 0.0

    def __init__(self, *has: str) -> None:
        super().__init__(*has)
        self.asked: list[float] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith(TOPOLOGIES.partition(".")[0]) and "watch" not in request.query:
            self.asked.append(asyncio.get_running_loop().time())
            if self.asked[-1] < self.free:
                return refusal(429, "TooManyRequests", retryAfterSeconds=20)
        return await super().__call__(request)


async def test_who_takes_over_asks_a_busy_server_no_sooner_than_it_says() -> None:
    server = Busy(SERVED)
    server.lists[TOPOLOGIES] = [layers("default")]
    async with world(server, TOPOLOGIES) as opened:
        await opened.synced()
        [informer] = opened.informers.values()
        began = asyncio.get_running_loop().time()
        server.free = began + 15
        server.asked.clear()
        await informer.confirm(math.inf)
    refused, answered = server.asked
    assert refused < server.free
    assert answered >= refused + 20


async def test_our_own_topologies_are_waited_for_however_long_they_fail() -> None:
    server = Broken(SERVED)
    server.broken = "objects"
    async with world(server, TOPOLOGIES) as opened:
        with pytest.raises(TimeoutError):
            await opened.synced(20.0)


async def test_a_server_that_is_away_is_waited_for() -> None:
    """Nothing is known of the topologies, and every other stream waits as well."""
    problems = ActiveProblems()
    async with Client(Cluster("http://127.0.0.1:1"), component="test") as client:
        malformed = MalformedObjects(lambda *_: None)
        made = Informers(client, EventQueue(), malformed, {}, problems).topologies()
        [informer] = [each for each in made if each.name == KUEUES]
        running = asyncio.create_task(informer.run())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(20.0):
                await informer.synced.wait()
        assert problems.active
        running.cancel()
        await asyncio.wait([running])
