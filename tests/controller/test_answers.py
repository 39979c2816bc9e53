# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""kopf sees the PodGroups that can be read, whatever else an answer holds."""

from typing import Any

import msgspec
import pytest
from aiohttp import web

from enbloc.client.errors import APIError, Gone, NotFound, Unreachable
from enbloc.controller.answers import ROOT, discovered, listed, watched
from tests.controller.conftest import eventually
from tests.controller.fake import PodGroupServer, group
from tests.controller.test_session import following

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


def event(kind: str, shown: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "object": shown})


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_group_hides_no_other_and_is_named(
    broken: Any, caplog: pytest.LogCaptureFixture
) -> None:
    page = {"metadata": {"resourceVersion": "9"}, "items": [group("a"), broken, managed("b")]}
    found = listed(msgspec.json.encode(page))
    assert [each["metadata"]["name"] for each in found.groups] == ["a", "b"]
    assert found.groups[0] == group("a")
    assert found.as_json()["metadata"] == {"resourceVersion": "9", "continue": ""}
    assert watched(event("ADDED", broken)) == ("ADDED", None)
    first, second = (record.getMessage() for record in caplog.records)
    assert first == second
    assert first.startswith("Ignored a malformed PodGroup ")


@pytest.mark.parametrize("raw", [b"", b"<html>", b"[]", b"{}", b"\xff", b"[" * 5000, b'{"type":1}'])
def test_what_is_no_answer_of_an_api_server_is_unreadable(raw: bytes) -> None:
    for read in (listed, watched):
        with pytest.raises(Unreachable, match="unreadable answer"):
            read(raw)
    with pytest.raises((Unreachable, NotFound)):
        discovered(ROOT, raw)


@pytest.mark.parametrize("kind", ["", "added", "SYNC", "x" * 10_000, "\x1b[2J"])
def test_a_watch_event_of_an_unknown_type_is_ignored_and_named(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert watched(event(kind, group("a"))) == (kind, None)
    [message] = caplog.messages
    assert message.startswith("Ignored a watch event of the unknown type")
    assert len(message) < 500
    assert "\x1b" not in message


@pytest.mark.parametrize("status", [{"code": "x"}, {"code": 410}, None, [], {"message": 5}, DEEP])
def test_an_error_of_a_watch_has_a_number(status: Any) -> None:
    with pytest.raises(APIError) as raised:
        watched(event("ERROR", status))
    assert raised.value.code == (410 if status == {"code": 410} else 500)
    assert isinstance(raised.value, Gone) == (status == {"code": 410})


async def test_groups_that_nest_deep_are_listed_and_watched(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def spoil(verb: str, _: str) -> web.Response | None:
        page = {"metadata": {"resourceVersion": "9"}, "items": [managed("a"), *BROKEN]}
        body = msgspec.json.encode(page)
        answer = web.Response(body=body, content_type="application/json")
        return answer if verb == "list" else None

    server = PodGroupServer()
    server.spoil = spoil
    async with following(server) as (log, problems):
        await log.until((None, "a"))
        await eventually(lambda: any(verb == "watch" for verb, _ in server.asked))
        server.tell("ADDED", {"metadata": 5})
        server.tell("MODIFIED", group("a", 2))
        await log.until((None, "a"), ("MODIFIED", "a"))
        assert not problems.active
    assert all(record.exc_info is None for record in caplog.records)
