# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""kopf's session on a server, or a proxy before it, that answers as no API server does."""

from email.utils import formatdate
from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.controller.conftest import eventually
from tests.controller.fake import ROOT, PodGroupServer, group
from tests.controller.test_session import following
from tests.world.virtual_time import time_source


@pytest.mark.parametrize(
    "header",
    [
        pytest.param("3600", id="an hour"),
        pytest.param("20", id="seconds"),
        pytest.param(formatdate(4_000_000_000, usegmt=True), id="a date"),
        pytest.param("inf", id="for ever"),
        pytest.param("nan", id="no number"),
        pytest.param("-5", id="a negative number"),
        pytest.param("soon", id="words"),
    ],
)
@pytest.mark.parametrize("verb", ["get", "list", "watch"])
async def test_a_busy_server_is_waited_for_as_it_asks_but_no_longer_than_half_a_minute(
    verb: str, header: str
) -> None:
    """Semantics §3.4"""
    server = PodGroupServer(group("a"))
    clock, times = time_source(), list[float]()

    def spoil(asked: str, path: str) -> web.Response | None:
        if asked != verb or (verb == "get" and path != ROOT):
            return None
        times.append(clock.local())
        if len(times) > 1:
            return None
        busy = {"kind": "Status", "code": 429, "message": "busy"}
        return web.json_response(busy, status=429, headers={"Retry-After": header})

    server.spoil = spoil
    async with following(server):
        await eventually(lambda: len(times) > 1)
    waited = times[1] - times[0]
    assert waited <= 31
    if header in ("3600", "20", "inf"):
        assert waited >= 20


LIES: list[Any] = [
    {},
    [],
    None,
    "v1",
    {"groups": None, "versions": None, "resources": None},
    {"groups": "x", "versions": 5, "resources": {"a": 1}},
    {"groups": [None], "versions": [None], "resources": [None]},
    {"groups": [{}], "versions": [{}], "resources": [{}]},
    {"groups": [], "versions": [], "resources": []},
    {
        "groups": [{"name": "enbloc.dev", "versions": [], "preferredVersion": None}],
        "resources": [{"name": "podgroups", "kind": "PodGroup", "verbs": None}],
    },
    {
        "groups": [{"name": "enbloc.dev", "versions": [{"version": "v9"}]}],
        "resources": [{"name": 5, "kind": [], "singularName": {}, "verbs": "list"}],
    },
    {"kind": "Status", "status": "Failure", "code": 500},
]


def _json(body: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), content_type="application/json")


@pytest.mark.parametrize("lie", LIES, ids=range(len(LIES)))
async def test_a_discovery_that_lies_is_survived_and_asked_again(
    lie: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """kopf reads it, and once it tells the truth PodGroups are seen."""
    server = PodGroupServer(group("a"))
    told: list[str] = []

    def spoil(verb: str, path: str) -> web.Response | None:
        if verb != "get" or len(told) >= 6:
            return None
        told.append(path)
        return _json(lie)

    server.spoil = spoil
    async with following(server) as (log, problems):
        await eventually(lambda: log.lines and log.lines[-1] == (None, "a"))
        await eventually(lambda: not problems.active)
    assert told
    assert all(record.exc_info is None for record in caplog.records)


async def test_answers_of_a_proxy_are_said_and_end_nothing() -> None:
    server = PodGroupServer(group("a"))
    texts = [b"<html>", b"[" * 5000, b"\xff"]
    asked = {"get": 0, "list": 0, "watch": 0}

    def spoil(verb: str, _: str) -> web.Response | None:
        asked[verb] += 1
        number = asked[verb] - 1
        body = texts[number % len(texts)]
        spoilt = web.Response(body=body + b"\n", content_type="application/json")
        return spoilt if number < 2 * len(texts) else None

    server.spoil = spoil
    async with following(server) as (log, problems):
        await eventually(lambda: problems.active)
        await eventually(lambda: asked["watch"] > len(texts))
        await eventually(lambda: log.lines[-1] == (None, "a"))
        await eventually(lambda: not problems.active)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Content-Type": "text/html"}, id="HTML"),
        pytest.param({"Content-Type": "application/json; charset=utf-16"}, id="UTF-16"),
        pytest.param({"Content-Type": "application/json; charset=nonsense"}, id="no charset"),
        pytest.param({"Content-Type": "nonsense"}, id="no type"),
        pytest.param({"Content-Type": "application/json", "Content-Encoding": "br"}, id="brotli"),
    ],
)
async def test_a_list_that_is_said_to_be_of_another_type_is_survived(
    headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    server = PodGroupServer(group("a"))
    asked: list[str] = []

    def spoil(verb: str, _: str) -> web.Response | None:
        if verb != "list" or len(asked) >= 4:
            return None
        asked.append(verb)
        body = msgspec.json.encode({"metadata": {"resourceVersion": "9"}, "items": [group("b")]})
        return web.Response(body=body, headers=headers)

    server.spoil = spoil
    async with following(server) as (log, problems):
        await eventually(lambda: log.lines and log.lines[-1][0] is None)
        await eventually(lambda: not problems.active)
    assert all(record.exc_info is None for record in caplog.records)
