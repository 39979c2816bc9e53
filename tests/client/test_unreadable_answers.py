# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever a tenant stores, or something on the way answers, is read around or named."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from aiohttp import web

from enbloc.client import errors
from enbloc.client.binding import Binding, Bound, Refused, Unknown, bind, settle
from enbloc.client.clock import ServerClock, TimeSource
from enbloc.client.decoding import DEPTH, UNREADABLE, decoded, shallow
from enbloc.client.extender import ExtenderClient, ExtenderFailed, ExtenderRequest
from enbloc.client.items import Identified, Malformed, Wire
from enbloc.client.lease import Elector
from enbloc.client.paths import LEASES, PODS
from enbloc.client.reflector import Reflector
from enbloc.client.rivals import Rivals
from enbloc.client.transport import _timestamp
from enbloc.framework.extenders import Extender
from enbloc.model.credentials import URL
from enbloc.model.names import COMPONENT_KEY, SCHEDULER_NAMES_KEY
from enbloc.model.versions import version_of
from enbloc.wire.objects import PodObject
from tests.client.fake import (
    Pod,
    Script,
    answer,
    event,
    pod,
    pods,
    refusal,
    says,
    serving,
    stream,
    talking_to,
)
from tests.client.test_reflector import QUICK, Server, lists, take, watches

#: More than the server stores, and than Python and msgspec nest.
DEEP = 9000


def nested(depth: int = DEEP) -> msgspec.Raw:
    """What `fieldsV1` may hold, as the API server takes it."""
    return msgspec.Raw(b'{"f:a":' * depth + b"{}" + b"}" * depth)


def managed(thing: dict[str, Any], depth: int = DEEP) -> dict[str, Any]:
    """The same object with a manager whose fields are nested."""
    fields = [{"manager": "x", "operation": "Update", "fieldsV1": nested(depth)}]
    return {**thing, "metadata": {**thing["metadata"], "managedFields": fields}}


# ── what is nested deep ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("depth", [1200, DEEP])
async def test_deep_managed_fields_hide_neither_their_object_nor_the_others(depth: int) -> None:
    def encoded(*objects: object) -> web.StreamResponse:
        body = {"metadata": {"resourceVersion": "4"}, "items": objects}
        return web.Response(body=msgspec.json.encode(body))

    first = says(lambda: encoded(pod("a", 1), managed(pod("b", 2), depth)))
    server = Server([first], [watches(event("ADDED", managed(pod("c", 5), depth)))])
    async with talking_to(server) as client:
        reflector = Reflector(client, PODS, PodObject, timing=QUICK)
        items = reflector.stream()
        found = [await anext(items) for _ in range(4)]
        await items.aclose()
    assert not any(isinstance(item, Malformed) for item in found)


async def test_the_reply_to_a_write_is_read_whatever_its_managed_fields() -> None:
    body = msgspec.json.encode(managed(pod("p", 7)))
    async with talking_to(says(lambda: web.Response(body=body))) as client:
        found = await client.get(PODS, "p", "default", shape=Identified)
    assert found.metadata.version == 7


async def test_a_binding_of_a_pod_with_deep_managed_fields_is_settled() -> None:
    shown = managed({"metadata": {"uid": "u1", "name": "p"}, "spec": {"nodeName": "node-1"}})
    conflict = says(lambda: refusal(409, "Conflict"))
    server = Script(conflict, says(lambda: web.Response(body=msgspec.json.encode(shown))))
    async with talking_to(server) as client, asyncio.timeout(5):
        assert await settle(client, Binding("default", "p", "u1", "node-1")) == Bound()


def test_what_is_cut_is_only_what_is_deep() -> None:
    inner = b'{"a":[' * DEPTH + b"1" + b"]}" * DEPTH
    raw = b'{"x":' + inner + b',"y":"}]\\"[{","z":{"k":[{}]}}'
    found: Any = msgspec.json.decode(shallow(raw))
    assert found["y"] == '}]"[{'
    assert found["z"] == {"k": [{}]}
    assert msgspec.json.decode(shallow(b'{"a":{"b":[1,{}]}}')) == {"a": {"b": [1, {}]}}


def test_what_is_no_json_stays_none() -> None:
    for raw in (b"", b"[" * 5000, b"]" * 5000, b'"' + b"\\" * 5000, b"\xff" * 5000):
        with pytest.raises(UNREADABLE):
            decoded(msgspec.json.Decoder().decode, raw)


# ── what is no UTF-8, no number, no object ───────────────────────────────────────────────────


def odd(name: str, text: bytes, version: int = 5) -> bytes:
    """An object whose field `spec.x` holds these bytes."""
    raw = msgspec.json.encode(pod(name, version, x="ODD"))
    return raw.replace(b'"ODD"', text)


ODD = [
    pytest.param(b'"\xff"', id="no UTF-8"),
    pytest.param(b'"\xed\xa0\x80"', id="a surrogate in UTF-8"),
    pytest.param(b'"\\ud800"', id="the first half of a surrogate"),
    pytest.param(b'"\\\\\\uDFFF\\ud83d\\ude00"', id="the second half, behind a backslash"),
    pytest.param(b"1" * 5000, id="5000 digits"),
    pytest.param(b"1e999", id="beyond a float"),
]


@pytest.mark.parametrize("text", ODD)
async def test_an_object_of_odd_bytes_is_malformed_and_no_more(text: bytes) -> None:
    page = b'{"metadata":{"resourceVersion":"5"},"items":[' + odd("bad", text) + b"]}"
    line = b'{"type":"ADDED","object":' + odd("worse", text, 6) + b"}\n"
    server = Server(
        [says(lambda: web.Response(body=page))], [watches(line, event("ADDED", pod("b", 7)))]
    )
    async with talking_to(server) as client:
        items = Reflector(client, PODS, Pod, timing=QUICK).stream()
        assert await take(items, 3) == ["?bad5", "synced", "?worse6"]
        assert await take(items, 1) == ["+b7"]
        await items.aclose()


@pytest.mark.parametrize(
    ("shape", "first"),
    [
        pytest.param(Pod, "?bad5", id="in a text that is read"),
        pytest.param(PodObject, "+bad5", id="in a text that nobody reads"),
    ],
)
async def test_half_a_surrogate_hides_no_other_object_of_its_list(shape: Any, first: str) -> None:
    whole = b'"\\ud83d\\ude00 \\\\ud800"'
    things = [odd("bad", b'"\\ud800"'), odd("good", whole), msgspec.json.encode(pod("c", 3))]
    page = b'{"metadata":{"resourceVersion":"5"},"items":[' + b",".join(things) + b"]}"
    server = Server([says(lambda: web.Response(body=page))], [])
    async with talking_to(server) as client:
        items = Reflector(client, PODS, shape, timing=QUICK).stream()
        assert await take(items, 4) == [first, "+good5", "+c3", "synced"]
        await items.aclose()


async def test_a_watch_event_of_an_unknown_type_changes_nothing_and_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = [
        event("SYNCED", pod("a", 9)),
        event("SYNCED", pod("a", 10)),
        event("\x1b[2J" + "x" * 5000, pod("a", 11)),
        event("ADDED", pod("b", 6)),
        event("MODIFIED", pod("a", 7)),
    ]
    server = Server([lists(pod("a", 4), version=5)], [watches(*lines)])
    async with talking_to(server) as client:
        reflector = Reflector(client, PODS, Pod, timing=QUICK)
        items = reflector.stream()
        assert await take(items, 4) == ["+a4", "synced", "+b6", "+a7"]
        assert reflector.version < 9, "an event that means nothing shows no progress"
        await items.aclose()
    first, second = caplog.messages
    assert first == 'Ignored a watch event of the unknown type "SYNCED" of pods'
    assert len(second) < 500
    assert "\x1b" not in second


async def test_an_object_without_a_name_is_named_as_such() -> None:
    thing = pod("", 5)
    server = Server([lists(thing, version=6)], [])
    async with talking_to(server) as client:
        items = Reflector(client, PODS, PodObject, timing=QUICK).stream()
        found = await anext(items)
        await items.aclose()
    assert isinstance(found, Malformed)
    assert "metadata.name" in found.problem


def test_a_resource_version_is_a_uint64() -> None:
    assert version_of(str(2**64 - 1)) == 2**64 - 1
    for text in (str(2**64), "9" * 20, "9" * 5000, "x", "", "-1", "1.5", "١٢", None):
        assert version_of(text) == 0


async def test_a_version_that_the_server_does_not_take_is_listed_without() -> None:
    asked: list[str | None] = []

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.query.get("resourceVersion"))
        if len(asked[-1] or "") > 19:
            return refusal(400, "BadRequest")
        if "watch" in request.query:
            return await stream(request, [event("ADDED", pod("a", 2**64 - 1))])
        return pods(4)

    async with talking_to(server) as client:
        items = Reflector(client, PODS, Pod, timing=QUICK).stream()
        async with asyncio.timeout(5):  # neither a watch nor a list can go on from there
            told = await take(items, 5)
        words = [word.rstrip("0123456789") for word in told]
        assert words == ["synced", "+a", "-a", "synced", "+a"]
        await items.aclose()


# ── Bindings ─────────────────────────────────────────────────────────────────────────────────

BINDING = Binding("default", "p", "u1", "node-1")
CREATED = says(lambda: answer({"kind": "Status", "status": "Success"}, 201))
GARBAGE = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"<html>", id="HTML"),
    pytest.param(b"[]", id="a list"),
    pytest.param(b"{}", id="no Status"),
    pytest.param(b'{"kind":"Status","status":"Failure"}', id="a failure"),
    pytest.param(b'{"status":{"a":1}}', id="another object"),
]


@pytest.mark.parametrize("body", GARBAGE)
async def test_a_garbage_201_leaves_a_binding_unknown(body: bytes) -> None:
    async with talking_to(says(lambda: web.Response(body=body, status=201))) as client:
        fenced = client.fenced(lambda: True)
        assert isinstance(await bind(fenced, BINDING), Unknown)
        assert fenced.landing() > 0.0, "it may still take effect"


@pytest.mark.parametrize("body", [
    *GARBAGE,
    pytest.param(b'{"metadata":{"uid":""},"spec":{}}', id="no uid"),
    pytest.param(b'{"metadata":{"uid":"u2","name":"q"},"spec":{}}', id="another pod"),
    pytest.param(b'{"kind":"Status","metadata":{"uid":"u1"},"spec":{}}', id="no pod"),
])  # fmt: skip
async def test_a_garbage_get_settles_no_binding(body: bytes) -> None:
    conflict = says(lambda: refusal(409, "Conflict"))
    server = Script(conflict, says(lambda: web.Response(body=body)), CREATED)
    async with talking_to(server) as client:
        assert await settle(client, BINDING) == Bound()
    assert len(server.seen) == 3


async def test_a_404_of_a_proxy_refuses_no_binding() -> None:
    def nowhere() -> web.StreamResponse:
        return web.Response(status=404, text="404 page not found")

    async with talking_to(says(nowhere)) as client:
        assert isinstance(await bind(client, BINDING), Unknown)
    conflict = says(lambda: refusal(409, "Conflict"))
    server = Script(conflict, says(nowhere), says(nowhere), CREATED)
    async with talking_to(server) as client:
        assert await settle(client, BINDING) == Bound()


async def test_a_404_of_the_api_server_settles_a_binding() -> None:
    gone = says(lambda: refusal(404, "NotFound", name="p", kind="pods"))
    async with talking_to(gone) as client:
        assert isinstance(await bind(client, BINDING), Refused)


# ── Leases ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("metadata", [
    {"labels": "x"}, {"annotations": [1]}, {"labels": {"a": 1}}, {"resourceVersion": 5},
    {"name": {}},
])  # fmt: skip
async def test_an_odd_lease_ends_no_election(metadata: dict[str, Any]) -> None:
    body = {"metadata": {"name": "l", **metadata}, "spec": {"leaseTransitions": 1}}
    async with talking_to(says(lambda: answer(body))) as client:
        rivals = Rivals(client, namespace="n", name="l", serves=["s"], duration=15.0)
        elector = Elector(client, namespace="n", name="l", identity="i", rivals=rivals)
        assert not await elector._try()
        assert isinstance(elector.last_error, errors.Unreachable)


@pytest.mark.parametrize("body", [
    {}, {"metadata": 1, "items": []}, {"metadata": {"continue": 5}}, {"items": {}},
    {"metadata": {}, "items": [None]}, {"metadata": {}, "items": [{"metadata": 1}]},
    {"metadata": {}, "items": [{"metadata": {"name": "x"}, "spec": 1}]},
    {"metadata": {}, "items": [{"metadata": {"annotations": {SCHEDULER_NAMES_KEY: 1}}}]},
])  # fmt: skip
async def test_an_odd_list_of_leases_is_an_error_of_the_api_or_none(body: dict[str, Any]) -> None:
    async with talking_to(says(lambda: answer(body))) as client:
        rivals = Rivals(client, namespace="n", name="l", serves=["s"], duration=15.0)
        with suppress(errors.Unreachable):
            assert not await rivals.lead()


async def test_a_tenants_deep_lease_keeps_nobody_from_leading() -> None:
    labels = {COMPONENT_KEY: "scheduler"}
    thing = {"metadata": {"name": "x", "namespace": "t", "labels": labels}, "spec": {}}
    body = msgspec.json.encode({"metadata": {}, "items": [managed(thing)]})
    async with talking_to(says(lambda: web.Response(body=body))) as client:
        rivals = Rivals(client, namespace="n", name="l", serves=["s"], duration=15.0)
        assert not await rivals.lead()


async def test_a_lease_is_written_without_the_fields_of_its_managers() -> None:
    metadata = {"name": "l", "namespace": "n", "resourceVersion": "5"}
    stored = managed({"metadata": metadata, "spec": {"holderIdentity": ""}})
    encoded = msgspec.json.encode(stored)
    server = Script(says(lambda: web.Response(body=encoded)))
    async with talking_to(server) as client:
        elector = Elector(client, namespace="n", name="l", identity="i")
        assert await elector._try()
    assert server.seen[1].method == "PUT"
    assert server.seen[1].path == LEASES.path("n", "l")
    assert "managedFields" not in server.bodies[1]["metadata"]
    assert server.bodies[1]["metadata"]["resourceVersion"] == "5"


# ── the clock ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("date", [
    "", " ", ",", "soon", "Fri, 99 Foo 99999 99:99:99 GMT", "Sat, 01 Jan 0000 00:00:00 GMT",
    "Sat, 01 Jan 9999 23:59:59 -9999", "1 Jan 1 0:0:0 +0000", "9" * 5000, "\x80\xff",
    "Mon, 16 Nov 2009 13:32:02 +99999999999999999999",
])  # fmt: skip
async def test_an_odd_date_is_no_date(date: str) -> None:
    assert _timestamp(date) is None or isinstance(_timestamp(date), float)
    clock = ServerClock(lambda: _timestamp(date), TimeSource(lambda: 5.0, lambda: 100.0))
    assert isinstance(clock.now(), float)


# ── errors ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("code", [400, 403, 404, 409, 410, 429, 500, 599])
@pytest.mark.parametrize("status", [
    {"message": {"a": 1}, "reason": ["x"], "details": "x"},
    {"message": "m" * 10**6, "details": {"causes": [5, {"reason": {}}, {"message": None}]}},
    {"details": {"retryAfterSeconds": "soon", "name": 5, "kind": []}},
    {"details": {"retryAfterSeconds": True, "causes": {"a": "b"}}},
    {"code": "x", "kind": None, "status": 3},
])  # fmt: skip
async def test_an_odd_status_is_an_error_all_the_same(code: int, status: dict[str, Any]) -> None:
    async with talking_to(says(lambda: answer(status, code))) as client:
        with pytest.raises(errors.APIError) as caught:
            await client.request("get", PODS, "p", "n", tries=1)
    error = caught.value
    assert error.code == code
    assert len(str(error)) < 4096
    assert not error.has_cause("DisruptionBudget")
    assert error.advice
    if isinstance(error, errors.TooManyRequests):
        assert 0 <= error.retry_after <= errors.LONGEST_ASKED


# ── extenders ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("body", [
    b"", b"<html>", b'{"NodeNames":' + b"[" * 5000, b"[" * 5000 + b"]" * 5000,
    b'{"nodenames":["\xff"]}', b'{"\xff":1}', b'{"Error":"\\ud800"}', b'{"NodeNames":[1]}', b"7",
    b'[{"Host":"n1","Score":' + b"9" * 5000 + b"}]", b'[{"Host":["n1"]}]',
    b'[{"Host":"n1","Score":NaN}]',
])  # fmt: skip
async def test_an_odd_answer_of_an_extender_is_its_failure(body: bytes) -> None:
    async def handler(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=body)

    question = ExtenderRequest(msgspec.Raw(b"{}"), ["n1"])
    async with serving(handler) as url:
        extender = Extender(
            URL(url), filter_verb="f", prioritize_verb="p", bind_verb="b", weight=1, timeout=5.0
        )
        async with ExtenderClient(extender) as client:
            asks = client.filter(question), client.prioritize(question), client.bind(BINDING)
            answers = await asyncio.gather(*asks, return_exceptions=True)
    failures = [each for each in answers if isinstance(each, BaseException)]
    assert failures
    assert all(isinstance(each, ExtenderFailed) and len(str(each)) < 4096 for each in failures)


def test_a_deep_answer_is_read_where_the_depth_says_nothing() -> None:
    raw = b'{"metadata":{"name":"a","uid":"u"},"x":' + bytes(nested()) + b"}"
    meta, found, problem = Wire(PodObject).object(msgspec.Raw(raw))
    assert (meta.name, problem) == ("a", "")
    assert found is not None
