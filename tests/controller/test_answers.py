# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""kopf sees the PodGroups that can be read, whatever else an answer holds."""

import json
from email.utils import formatdate
from typing import Any

import msgspec
import pytest
from aiohttp import web

from enbloc.client.errors import Unreachable
from enbloc.controller.answers import Answers, readable_refusal
from enbloc.controller.login import Connection, opened
from tests.client.fake import serving
from tests.controller.conftest import eventually
from tests.controller.fake import ROOT, PodGroupServer, group
from tests.controller.test_watch import following

#: What it tells of is not looked at.
ANSWERS = Answers(lambda _: None, lambda: None)
EMPTY = b'{"metadata":{"resourceVersion":"1"},"items":[]}'
DEEP = msgspec.Raw(b'{"f:a":' * 9000 + b"{}" + b"}" * 9000)


def managed(name: str, version: int = 1) -> dict[str, Any]:
    made = group(name, version)
    made["metadata"]["managedFields"] = [{"manager": "x", "fieldsV1": DEEP}]
    return made


#: Each is of another kind, and none of them is a PodGroup.
BROKEN: list[Any] = [
    None, 5, [], {}, {"metadata": None}, {"metadata": {"name": "x"}}, {**group("x"), "spec": 7},
    {**group("x"), "status": {"conditions": [5]}}, {**group("x"), "spec": {"minMember": "many"}},
    {**group("x"), "metadata": {**group("x")["metadata"], "labels": {"a": 5}}},
    {**group("x"), "spec": {"minMember": msgspec.Raw(b"9" * 5000)}},
    {**group("x"), "spec": {"other": msgspec.Raw(b'"\xff"')}},
    {**group("x"), "spec": DEEP, "metadata": DEEP},
]  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_group_hides_no_other_and_is_named(
    broken: Any, caplog: pytest.LogCaptureFixture
) -> None:
    page = {"metadata": {"resourceVersion": "9"}, "items": [group("a"), broken, managed("b")]}
    found = json.loads(ANSWERS.page(msgspec.json.encode(page), first=True))
    assert [each["metadata"]["name"] for each in found["items"]] == ["a", "b"]
    assert found["items"][0] == group("a")
    assert found["metadata"] == {"resourceVersion": "9", "continue": ""}
    assert ANSWERS.line(msgspec.json.encode({"type": "ADDED", "object": broken})) == b""
    first, second = (record.getMessage() for record in caplog.records)
    assert first == second
    assert first.startswith("Ignored a malformed PodGroup ")


@pytest.mark.parametrize("raw", [b"", b"<html>", b"[]", b"{}", b"\xff", b"[" * 5000, b'{"type":1}'])
def test_what_is_no_answer_of_an_api_server_is_unreadable(raw: bytes) -> None:
    with pytest.raises(Unreachable, match="unreadable answer"):
        ANSWERS.page(raw, first=True)
    with pytest.raises(Unreachable, match="unreadable answer"):
        ANSWERS.line(raw)
    assert json.loads(readable_refusal(raw))["code"] == 500


def event(kind: str, shown: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": kind, "object": shown})


def test_what_changes_but_for_the_spec_is_told_at_once_and_to_kopf_a_bookmark() -> None:
    told: list[Any] = []
    answers = Answers(told.append, lambda: None)
    answers.page(
        msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": [group("a")]}),
        first=True,
    )
    assert json.loads(answers.line(event("ADDED", group("b", 2))))["object"] == group("b", 2)
    for version, name in enumerate(("a", "b", "a"), 3):
        changed = group(name, version, status={"members": version})
        assert json.loads(answers.line(event("MODIFIED", changed))) == {
            "type": "BOOKMARK",
            "object": {"metadata": {"resourceVersion": str(version)}},
        }
        assert told.pop() == changed
    assert told == []


def test_what_kopf_does_not_know_in_this_generation_it_is_given() -> None:
    told: list[Any] = []
    answers = Answers(told.append, lambda: None)

    def given(kind: str, version: int, generation: int) -> str:
        shown = group("a", version)
        shown["metadata"]["generation"] = generation
        return str(json.loads(answers.line(event(kind, shown)))["type"])

    assert given("MODIFIED", 1, 1) == "MODIFIED"
    assert given("MODIFIED", 2, 2) == "MODIFIED"
    assert given("MODIFIED", 3, 2) == "BOOKMARK"
    assert given("DELETED", 4, 2) == "DELETED"
    assert given("MODIFIED", 5, 2) == "MODIFIED"
    answers.page(EMPTY, first=False)
    assert given("MODIFIED", 6, 2) == "BOOKMARK"
    answers.page(EMPTY, first=True)
    assert given("MODIFIED", 7, 2) == "MODIFIED"
    assert len(told) == 2


@pytest.mark.parametrize("kind", ["", "added", "SYNC", "x" * 10_000, "\x1b[2J"])
def test_a_watch_event_of_an_unknown_type_is_ignored_and_named(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert ANSWERS.line(msgspec.json.encode({"type": kind, "object": group("a")})) == b""
    [message] = caplog.messages
    assert message.startswith("Ignored a watch event of the unknown type")
    assert len(message) < 500
    assert "\x1b" not in message


@pytest.mark.parametrize(
    ("header", "given"),
    [
        pytest.param("3600", "30", id="an hour"),
        pytest.param("6.2", "7", id="seconds"),
        pytest.param(formatdate(4_000_000_000, usegmt=True), "30", id="a date"),
        pytest.param("inf", "30", id="for ever"),
        pytest.param("nan", None, id="no number"),
        pytest.param("-5", None, id="a negative number"),
        pytest.param("soon", None, id="words"),
    ],
)
async def test_kopf_is_told_to_wait_no_longer_than_half_a_minute(
    header: str, given: str | None
) -> None:
    """Semantics §3.4: it does what a number says, and breaks by anything else."""
    server = PodGroupServer(group("a"))
    busy = {"kind": "Status", "code": 429, "message": "busy"}
    server.spoil = lambda *_: web.json_response(busy, status=429, headers={"Retry-After": header})
    async with serving(server) as url:
        session = opened(Connection(server=url, tls=None), ANSWERS).aiohttp_session
        async with session, session.get(f"{url}{ROOT}/podgroups") as response:
            assert response.headers.get("Retry-After") == given
            assert response.headers["Content-Type"].startswith("application/json")


@pytest.mark.parametrize("status", [{"code": "x"}, {"code": 410}, None, [], {"message": 5}, DEEP])
def test_an_error_of_a_watch_has_a_number(status: Any) -> None:
    found = json.loads(ANSWERS.line(msgspec.json.encode({"type": "ERROR", "object": status})))
    assert found["object"]["code"] == (410 if status == {"code": 410} else 500)


async def test_groups_that_nest_deep_are_listed_and_watched(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def spoil(verb: str, _: str) -> web.Response | None:
        body = {"metadata": {"resourceVersion": "9"}, "items": [managed("a"), *BROKEN]}
        return _json(body) if verb == "list" else None

    server = PodGroupServer()
    server.spoil = spoil
    async with following(server) as (log, problems):
        await log.until(("begins", ""), (None, "a"))
        await eventually(lambda: any(verb == "watch" for verb, _ in server.asked))
        server.tell("ADDED", {"metadata": 5})
        server.tell("MODIFIED", group("a", 2))
        await log.until(("begins", ""), (None, "a"), ("MODIFIED", "a"))
        assert not problems.active
    assert all(record.exc_info is None for record in caplog.records)


async def test_answers_of_a_proxy_are_said_and_end_nothing() -> None:
    server = PodGroupServer(group("a"))
    texts = [b"<html>", b"[" * 5000, b"\xff"]
    asked = {"list": 0, "watch": 0}

    def spoil(verb: str, _: str) -> web.Response | None:
        if verb not in asked:
            return None
        asked[verb] += 1
        number = asked[verb] - 1
        body = texts[number % len(texts)]
        spoilt = web.Response(body=body + b"\n", content_type="application/json")
        return spoilt if number < len(texts) else None

    server.spoil = spoil
    async with following(server) as (log, _):
        await eventually(lambda: asked["watch"] > len(texts))
        await eventually(lambda: log.lines[-1] == (None, "a"))


def _json(body: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), content_type="application/json")


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
