# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The page of a cluster that changes; nothing is written to it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import aiohttp
import pytest

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.group_status import apply_group_status
from enbloc.client.paths import EVENTS, LEASES, NODES, POD_GROUPS, PODS
from enbloc.client.permissions import VIEWING
from enbloc.config import default_configuration
from enbloc.model.groups import GroupKey
from enbloc.process.forks import ForkedWorker
from enbloc.process.workers import ThreadWorker, TooMuchAskedError, Worker, WorkerEndedError
from enbloc.ui import Address, questions, serve_ui
from enbloc.ui.facts import Facts
from enbloc.ui.state import LEAST_SECONDS, Keeper, Latest
from enbloc.ui.view import View
from enbloc_sandbox import Sandbox
from tests.live.world import FAST, World
from tests.patience import PATIENCE
from tests.ui.dom import Element, lines, parsed
from tests.ui.world import view
from tests.world.virtual_time import time_source

T = TypeVar("T")


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(clock=time_source().wall) as server:
        yield server


@pytest.fixture
async def world(sandbox: Sandbox) -> AsyncIterator[World]:
    async with World(Cluster(sandbox.url)) as opened:
        yield opened


class Page:
    """What a browser sees."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session, self.url = session, url

    async def read(self, path: str = "/") -> Element:
        async with self.session.get(self.url + path) as response:
            return parsed(await response.text())

    async def rows(self) -> list[list[str]]:
        page = await self.read()
        return lines(page)[1:] if list(page.every("table")) else []


@asynccontextmanager
async def shown(sandbox: Sandbox, by: Worker[Facts] | None = None) -> AsyncGenerator[Page]:
    worker = by or ThreadWorker(Facts())
    stop, urls = asyncio.Event(), asyncio.Queue[str]()
    serving = asyncio.create_task(
        serve_ui(
            Cluster(sandbox.url),
            default_configuration(),
            Address(port=0),
            stop,
            worker,
            serving=urls.put_nowait,
            clock=time_source(),
            timing=FAST,
        )
    )
    try:
        async with aiohttp.ClientSession() as session:
            yield Page(session, await urls.get())
    finally:
        stop.set()
        async with asyncio.timeout(PATIENCE):
            assert await serving == 0
        worker.close()


@asynccontextmanager
async def following(
    sandbox: Sandbox, by: Worker[Facts] | None = None
) -> AsyncGenerator[tuple[Keeper, asyncio.Task[None]]]:
    async with Client(
        Cluster(sandbox.url), component="test", rules=VIEWING, clock=time_source()
    ) as client:
        worker = by or ThreadWorker(Facts())
        keeper = Keeper(client, default_configuration(), worker, FAST)
        running = asyncio.create_task(keeper.run())
        try:
            yield keeper, running
        finally:
            running.cancel()
            await asyncio.wait([running])
            worker.close()


@pytest.mark.parametrize("forks", [False, pytest.param(True, marks=pytest.mark.processes)])
async def test_the_page_follows_the_cluster(sandbox: Sandbox, world: World, forks: bool) -> None:
    worker = ForkedWorker.start(Facts()) if forks else ThreadWorker(Facts())
    await world.nodes("n1 n2", cpu=4)
    await world.gang("train", 3, cpu=4)
    async with shown(sandbox, worker) as page:

        async def says(*cells: str) -> bool:
            return [row[2:3] + row[8:9] for row in await page.rows()] == [[*cells]]

        await world.until(lambda: says("train", "–"))

        async def explained() -> bool:
            shown = await page.read("/groups/default/train/explanation")
            return "1 more node like n1" in shown.text

        await world.until(explained)
        async with page.session.get(page.url + "/events") as news:
            first = await news.content.readuntil(b"\n\n")
            await world.nodes("n3", cpu=4)
            await world.until(lambda: says("train", "now"))
            assert await news.content.readuntil(b"\n\n") != first
        for pod, node in (("train-0", "n1"), ("train-1", "n2"), ("train-2", "n3")):
            await world.bind(pod, node)

        async def over() -> bool:
            return await page.rows() == []

        await world.until(over)
        assert "It does not wait." in (await page.read("/groups/default/train")).text
        assert lines(await page.read("/nodes"))[1][-1].startswith("12 of 12 cpu")


async def test_nothing_is_written(sandbox: Sandbox, world: World) -> None:
    await world.nodes("n1", cpu=4)
    await world.gang("train", 2, cpu=4)
    kinds = (NODES, PODS, POD_GROUPS, LEASES, EVENTS)

    async def versions() -> dict[str, str]:
        return {
            item["metadata"]["uid"]: item["metadata"]["resourceVersion"]
            for kind in kinds
            async for item in world.client.list(kind)
        }

    before = await versions()
    async with shown(sandbox) as page:

        async def listed() -> bool:
            return len(await page.rows()) == 1

        await world.until(listed)
        group = "/groups/default/train"
        for path in ("/", "/nodes", "/time", group, f"{group}/explanation"):
            await page.read(path)
    assert await versions() == before
    assert {verb for rule in VIEWING for verb in rule.verbs} == {"list", "watch"}


async def test_what_was_said_of_a_group_and_its_members_is_its_history(
    sandbox: Sandbox, world: World
) -> None:
    await world.nodes("n1", cpu=4)
    await world.gang("train", 2, cpu=4)
    await world.gang("other", 2, cpu=4)
    for group in ("train", "other"):
        await apply_group_status(
            world.client,
            GroupKey("default", group),
            (await world.client.get(POD_GROUPS, group, "default"))["metadata"]["uid"],
            {"conditions": [condition(f"why {group} waits")]},
            "enbloc-scheduler",
        )
    await world.client.create(
        EVENTS, event("first", POD_GROUPS.kind, "train", "no room yet"), "default"
    )
    await world.client.create(
        EVENTS, event("second", "Pod", "train-1", "a member lacks cpu"), "default"
    )
    await world.client.create(
        EVENTS, event("third", "Pod", "other-1", "of somebody else"), "default"
    )
    forged = event("fourth", POD_GROUPS.kind, "train", "of another") | {
        "reportingController": "example.com/other"
    }
    await world.client.create(EVENTS, forged, "default")
    async with shown(sandbox) as page:

        async def told() -> bool:
            return "History" in (await page.read("/groups/default/train")).text

        await world.until(told)
        found = await page.read("/groups/default/train")
        history = found.one("div", id="history")
        assert [row[2:] for row in lines(history)[1:]] == [
            ["PodGroup train", "FailedScheduling", "no room yet"],
            ["Pod train-1", "FailedScheduling", "a member lacks cpu"],
            ["Scheduled=False", "Unschedulable", "why train waits"],
        ]
    sandbox.faults.add(verb="list", resource="events", status=403)
    async with shown(sandbox) as page:
        await world.until(told)
        found = await page.read("/groups/default/train")
        assert "Its events cannot be shown: the account of this page may not list" in found.text
        assert "why train waits" in found.text


def condition(message: str) -> dict[str, Any]:
    return {
        "type": "Scheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": "2023-01-01T00:00:00Z",
        "observedGeneration": 1,
    }


def event(name: str, kind: str, about: str, note: str) -> dict[str, Any]:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "eventTime": f"2023-02-0{1 if kind == 'Pod' else 2}T00:00:00.000000Z",
        "reportingController": "enbloc.dev/scheduler",
        "reportingInstance": "enbloc-scheduler-0",
        "action": "Scheduling",
        "type": "Warning",
        "reason": "FailedScheduling",
        "note": note,
        "regarding": {"apiVersion": "v1", "kind": kind, "name": about, "namespace": "default"},
    }


async def test_what_cannot_be_read_is_said_on_the_page(sandbox: Sandbox, world: World) -> None:
    sandbox.faults.add(verb="list", resource="nodes", status=403)
    async with shown(sandbox) as page:

        async def said() -> bool:
            return "nodes" in (await page.read()).one("main").text

        await world.until(said)


class Ended(ThreadWorker[View]):
    """A worker that is no more."""

    async def ask(self, work: Callable[[View], T]) -> T:
        del work
        raise WorkerEndedError("the process was ended")


async def test_a_view_that_is_lost_is_made_anew_though_making_it_takes_long(
    sandbox: Sandbox, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("enbloc.ui.state.SHARE", 1e9)
    await world.nodes("n1", cpu=4)
    async with following(sandbox) as (keeper, _):
        first = await keeper.newer(0)
        assert keeper.view is not None
        gone = keeper.view = Latest(keeper.view.head, Ended(view()))
        with pytest.raises(WorkerEndedError):
            await gone.read(questions.head)
        keeper.make_anew()
        async with asyncio.timeout(PATIENCE):
            assert await keeper.newer(first) > first
        assert await keeper.view.read(questions.head) == keeper.view.head


@pytest.mark.processes
async def test_where_what_was_known_is_lost_all_ends_though_nothing_happens(
    sandbox: Sandbox, world: World
) -> None:
    await world.nodes("n1", cpu=4)
    worker = ForkedWorker.start(Facts())
    async with following(sandbox, worker) as (keeper, running):
        await keeper.newer(0)
        worker.close()
        keeper.make_anew()
        with pytest.raises(ExceptionGroup) as ended:
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(running)
    assert ended.group_contains(WorkerEndedError)


class Refusing(ThreadWorker[Facts]):
    """A worker that takes nothing at first."""

    refusals = 2

    async def ask(self, work: Callable[[Facts], T]) -> T:
        if self.refusals:
            self.refusals -= 1
            raise TooMuchAskedError("too much is asked at once; try again")
        return await super().ask(work)


async def test_what_a_worker_does_not_take_at_once_is_handed_over_later(
    sandbox: Sandbox, world: World
) -> None:
    await world.nodes("n1", cpu=4)
    await world.gang("train", 3, cpu=4)
    async with shown(sandbox, Refusing(Facts())) as page:

        async def said() -> bool:
            return [row[2] for row in await page.rows()] == ["train"]

        await world.until(said)
        assert "It may be outdated" not in (await page.read()).text


async def test_views_are_made_when_something_changed_and_not_too_often(
    sandbox: Sandbox, world: World
) -> None:
    await world.nodes("n1", cpu=4)
    loop = asyncio.get_running_loop()
    async with following(sandbox) as (keeper, _):
        first = await keeper.newer(0)
        began = loop.time()
        await world.nodes("n2 n3", cpu=4)
        second = await keeper.newer(first)
        assert second == first + 1
        assert loop.time() - began >= LEAST_SECONDS * 0.9
