# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The history of a group: how it is shown, how often it is read, and what odd answers become."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.permissions import VIEWING
from enbloc.model.groups import GroupKey
from enbloc.ui.attempts import MOST, GroupHistory, HistoryEntry, history_section
from enbloc.ui.history import KEPT_SECONDS, READ_SECONDS, Histories
from enbloc.ui.pages import document
from tests.client.fake import Handler, answer, serving
from tests.ui.dom import Element, lines, parsed
from tests.ui.world import NOW
from tests.world.virtual_time import time_source

TRAIN = GroupKey("team", "train")


def section(history: GroupHistory) -> Element:
    return parsed(document("Group", "/", history_section(history, NOW)))


@dataclass
class Server:
    """An API server that lists these events for every selector."""

    events: list[Any]
    seconds: float = 0.0
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append((request.path, request.query.get("fieldSelector", "")))
        await asyncio.sleep(self.seconds)
        items = self.events if request.path.endswith("/events") else []
        return answer({"metadata": {}, "items": items})


@asynccontextmanager
async def histories(server: Server | Handler) -> AsyncGenerator[Histories]:
    async with (
        serving(server.handle if isinstance(server, Server) else server) as url,
        Client(Cluster(url), component="test", rules=VIEWING, clock=time_source()) as client,
    ):
        yield Histories(client)


def event(name: str, about: str = "train-0", **of: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "name": about},
        "reportingComponent": "enbloc.dev/scheduler",
        "eventTime": "2023-11-14T22:00:00.000000Z",
        "reason": "FailedScheduling",
        "message": "no room",
        **of,
    }


def test_what_was_said_is_a_table_the_latest_first() -> None:
    found = section(
        GroupHistory([
            HistoryEntry(NOW - 600.0, "Scheduled=False", "Unschedulable", "0/3 nodes"),
            HistoryEntry(NOW - 60.0, "Pod train-0", "FailedScheduling", "no room", 4),
            HistoryEntry(None, "Pod train-1", "FailedScheduling", "of no time"),
        ])
    )  # fmt: skip
    assert [row[1:] for row in lines(found)[1:]] == [
        ["60s", "Pod train-0", "FailedScheduling", "no room (4 times)"],
        ["10m", "Scheduled=False", "Unschedulable", "0/3 nodes"],
        ["–", "Pod train-1", "FailedScheduling", "of no time"],
    ]


def test_a_long_history_is_cut_and_so_is_a_long_text() -> None:
    evil = "<script>evil()</script>" * 5000
    of = GroupHistory([HistoryEntry(NOW, evil, evil, evil) for _ in range(MOST + 7)], evil)
    page = history_section(of, NOW)
    assert len(page.encode()) < 150_000
    assert "And 7 more." in page
    assert "<script" not in page


def test_where_nothing_was_said_the_page_says_so() -> None:
    assert "Nothing was said of it yet." in section(GroupHistory()).text


async def test_it_is_read_once_within_some_seconds() -> None:
    server = Server([event("a")])
    async with histories(server) as kept:
        first = await kept.of(TRAIN, ["train-0"])
        assert await kept.of(TRAIN, ["train-0"]) is first
        assert [each.text for each in first.entries] == ["no room"]
        assert sorted(server.asked) == [
            ("/api/v1/namespaces/team/events", "involvedObject.name=train"),
            ("/api/v1/namespaces/team/events", "reportingComponent=enbloc.dev/scheduler"),
            ("/apis/enbloc.dev/v1alpha1/namespaces/team/podgroups", "metadata.name=train"),
        ]
        await asyncio.sleep(KEPT_SECONDS + 1.0)
        await kept.of(TRAIN, ["train-0"])
    assert len(server.asked) == 6


async def test_events_of_others_and_such_that_cannot_be_read_are_left_out() -> None:
    odd = [
        {},
        {"metadata": None},
        event("b", involvedObject=None),
        event("c", series={"count": "many"}),
        event("d", about="other-0"),
        event("e", reportingComponent="example.com/other"),
        event("f", series={"count": 3, "lastObservedTime": "2023-11-14T22:01:00.000000Z"}),
    ]
    async with histories(Server(odd)) as kept:
        found = await kept.of(TRAIN, ["train-0"])
    assert [(each.count, each.about) for each in found.entries] == [(3, "Pod train-0")]


@pytest.mark.parametrize(
    "garbage",
    [b'{"items": [{"metadata": {"name": "\xff"}}]}', b'{"items": [{"x": ' + b"[" * 100_000],
    ids=["no-text", "deep"],
)
async def test_an_api_server_that_lists_garbage_keeps_no_page_from_being_shown(
    garbage: bytes,
) -> None:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        del request
        return web.Response(body=garbage, content_type="application/json")

    async with histories(handle) as kept:
        assert (await kept.of(TRAIN, ["train-0"])).entries == []


async def test_a_page_does_not_wait_for_an_api_server_that_is_slow() -> None:
    loop = asyncio.get_running_loop()
    async with histories(Server([], seconds=60.0)) as kept:
        began = loop.time()
        found = await kept.of(TRAIN, [])
        assert loop.time() - began < READ_SECONDS + 0.5
    assert found.problem == "The API server takes too long to list what was said of it."
