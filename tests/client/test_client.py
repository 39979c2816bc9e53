# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the client sends, and what it makes of every answer."""

import asyncio
import ssl
from email.utils import formatdate
from functools import partial

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import REGISTRY

import enbloc
from enbloc.client import errors
from enbloc.client.client import Client, PatchType
from enbloc.client.clock import boot_clock
from enbloc.client.config import Cluster, FixedAuth
from enbloc.client.paths import EVENTS, NODES, POD_GROUPS, PODS
from enbloc.client.permissions import ROLES, allowed
from enbloc.client.transport import DATES, WRITE_SECONDS, Call, host_of
from enbloc.model.request_rate import RequestRate
from tests.client.fake import (
    HTML,
    SELDOM,
    TOMORROW,
    Handler,
    Script,
    answer,
    bookmark,
    hangs,
    pods,
    refusal,
    resets,
    says,
    serving,
    stream,
    talking_to,
    waits,
)
from tests.world.virtual_time import time_source

APPLIED = "?fieldManager=m&force=true&timeout=5s"


async def test_each_verb_is_sent_as_the_server_expects_it() -> None:
    server = Script(says(lambda: answer({"kind": "Any"})))
    async with talking_to(server) as client:
        await client.get(PODS, "a b", "default")
        await client.create(EVENTS, {"x": 1}, "default")
        await client.create(PODS, {}, "default", name="p", subresource="binding")
        await client.replace(NODES, "n", {"metadata": {}})
        await client.patch(
            POD_GROUPS,
            "g",
            {"status": {}},
            "default",
            kind=PatchType.APPLY,
            subresource="status",
            query={"fieldManager": "m", "force": "true"},
        )
        await client.delete(PODS, "p", "default", uid="u", resource_version="7")
    assert [f"{request.method} {request.rel_url}" for request in server.seen] == [
        "GET /api/v1/namespaces/default/pods/a%20b",
        "POST /apis/events.k8s.io/v1/namespaces/default/events?timeout=5s",
        "POST /api/v1/namespaces/default/pods/p/binding?timeout=5s",
        "PUT /api/v1/nodes/n?timeout=5s",
        "PATCH /apis/enbloc.dev/v1alpha1/namespaces/default/podgroups/g/status" + APPLIED,
        "DELETE /api/v1/namespaces/default/pods/p?timeout=5s",
    ]
    assert server.seen[0].headers["User-Agent"] == f"enbloc-test/{enbloc.__version__}"
    assert "Authorization" not in server.seen[0].headers
    assert server.seen[4].content_type == "application/apply-patch+yaml"
    assert server.bodies[1] == {"x": 1}
    assert server.bodies[5]["preconditions"] == {"uid": "u", "resourceVersion": "7"}


async def test_a_list_is_read_page_by_page() -> None:
    server = Script(says(lambda: pods(9, {"n": 1}, more="t")), says(lambda: pods(9, {"n": 2})))
    async with talking_to(server) as client:
        found = [item async for item in client.list(PODS, query={"labelSelector": "a=b"})]
    assert found == [{"n": 1}, {"n": 2}]
    assert dict(server.seen[1].query) == {
        "labelSelector": "a=b",
        "continue": "t",
        "limit": "500",
    }


@pytest.mark.parametrize(
    ("code", "reason", "kind", "unknown"),
    [
        (400, "BadRequest", errors.Invalid, False),
        (401, "Unauthorized", errors.Unauthorized, False),
        (403, "Forbidden", errors.Forbidden, False),
        (404, "NotFound", errors.NotFound, False),
        (409, "Conflict", errors.Conflict, False),
        (409, "AlreadyExists", errors.AlreadyExists, False),
        (410, "Expired", errors.Gone, False),
        (422, "Invalid", errors.Invalid, False),
        (500, "InternalError", errors.ServerError, True),
        (504, "Timeout", errors.ServerError, True),
        (418, "Teapot", errors.APIError, False),
        (302, "Found", errors.APIError, False),
    ],
)
async def test_each_code_has_its_error(
    code: int, reason: str, kind: type[errors.APIError], unknown: bool
) -> None:
    server = says(lambda: refusal(code, reason, "because", name="p", kind="pods"))
    async with talking_to(server) as client:
        with pytest.raises(errors.APIError) as caught:
            await client.create(PODS, {}, "default", name="p", subresource="binding")
    error = caught.value
    assert type(error) is kind
    assert error.outcome_unknown is unknown
    assert str(error) == f"cannot create pods/binding: {code} {reason}: because"
    assert (error.code, error.reason, error.details["name"]) == (code, reason, "p")


async def test_an_answer_of_something_else_than_the_api_server_is_quoted() -> None:
    server = says(lambda: web.Response(status=502, text="<html>bad gateway</html>"))
    async with talking_to(server) as client:
        with pytest.raises(errors.ServerError, match="bad gateway"):
            await client.get(PODS, "p", "default")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html>", id="html"),
        pytest.param(b"", id="empty"),
        pytest.param(b'{"metadata": {"uid": "u1', id="cut short"),
        pytest.param(b'{"metadata": "\xff"}', id="no UTF-8"),
        pytest.param(b"null", id="no object"),
        pytest.param(b'{"a":' * 100_000, id="deep"),
    ],
)
async def test_of_an_answer_that_cannot_be_read_no_outcome_is_known(body: bytes) -> None:
    async with talking_to(says(lambda: web.Response(body=body))) as client:
        with pytest.raises(errors.Unreachable, match="unreadable answer") as caught:
            await client.create(PODS, {}, "default")
    assert caught.value.outcome_unknown


async def test_a_refusal_that_cannot_be_read_is_one_all_the_same() -> None:
    body = b'{"a":' * 100_000
    async with talking_to(says(lambda: web.Response(body=body, status=400))) as client:
        with pytest.raises(errors.Invalid):
            await client.create(PODS, {}, "default")


def test_a_patch_of_an_object_that_was_replaced_is_a_conflict() -> None:
    """The server finds the UID invalid; nothing is wrong with what was sent."""
    causes = [{"reason": "FieldValueInvalid", "field": "metadata.uid"}]
    error = errors.from_status("patch", "pods", 422, {"details": {"causes": causes}})
    assert type(error) is errors.Conflict
    causes = [{"reason": "FieldValueInvalid", "field": "spec.minMember"}]
    error = errors.from_status("patch", "pods", 422, {"details": {"causes": causes}})
    assert type(error) is errors.Invalid


@pytest.mark.parametrize(
    "details",
    [["x"], {"causes": "x"}, {"causes": [None]}, {"causes": {}}, {"retryAfterSeconds": "x"}],
)
def test_a_status_with_odd_details_is_an_error_without_them(details: object) -> None:
    error = errors.from_status("create", "pods", 429, {"details": details})
    assert not error.has_cause("DisruptionBudget")
    assert isinstance(error, errors.TooManyRequests)
    assert error.retry_after == 1.0


async def test_a_missing_resource_differs_from_a_missing_object() -> None:
    server = Script(
        says(lambda: web.Response(status=404, text="404 page not found")),
        says(lambda: refusal(404, "NotFound", name="p", kind="pods")),
    )
    async with talking_to(server) as client:
        with pytest.raises(errors.NotFound) as resource:
            await client.get(PODS, "p", "default")
        with pytest.raises(errors.NotFound) as thing:
            await client.get(PODS, "p", "default")
    assert resource.value.resource_missing
    assert not thing.value.resource_missing


async def test_a_refused_connection_was_not_sent() -> None:
    async with Client(Cluster("http://127.0.0.1:1"), component="test") as client:
        with pytest.raises(errors.Unreachable) as caught:
            await client.create(PODS, {}, "default")
    assert not caught.value.sent
    assert not caught.value.outcome_unknown


async def test_a_reset_connection_may_have_been_sent() -> None:
    async with talking_to(resets) as client:
        with pytest.raises(errors.Unreachable) as caught:
            await client.create(PODS, {}, "default")
    assert caught.value.outcome_unknown


async def test_a_hanging_server_is_given_up() -> None:
    call = Call("create", "pods", "/x", timeout=aiohttp.ClientTimeout(total=0.05))
    async with talking_to(hangs) as client:
        with pytest.raises(errors.Unreachable, match="timed out") as caught:
            await client._transport.exchange(call)
    assert caught.value.outcome_unknown


async def test_a_429_that_asks_for_more_than_a_moment_is_for_the_caller_to_wait_out() -> None:
    server = Script(TOMORROW, says(lambda: answer({"ok": True})))
    async with talking_to(server) as client:
        with pytest.raises(errors.TooManyRequests) as caught:
            await client.get(PODS, "p", "default")
    assert caught.value.retry_after == 86400
    assert len(server.seen) == 1


async def test_a_429_is_waited_out_as_long_as_the_server_asks() -> None:
    busy = web.Response(status=429, headers={"Retry-After": "0"})
    server = Script(says(lambda: busy), says(lambda: answer({"ok": True})))
    async with talking_to(server) as client:
        assert await client.get(PODS, "p", "default") == {"ok": True}


async def test_a_429_is_raised_when_its_tries_are_used_up() -> None:
    server = Script(says(lambda: refusal(429, "TooManyRequests", retryAfterSeconds=7)))
    async with talking_to(server) as client:
        with pytest.raises(errors.TooManyRequests) as caught:
            await client.create(PODS, {}, "default", tries=1)
    assert caught.value.retry_after == 7
    assert len(server.seen) == 1


async def test_a_429_of_a_webhook_that_denies_is_raised_at_once() -> None:
    """It is no server that is busy: the same request is denied again."""
    denied = 'admission webhook "policy.test" denied the request: not here'
    server = Script(says(lambda: refusal(429, "", denied, retryAfterSeconds=0.01)))
    async with talking_to(server) as client:
        with pytest.raises(errors.TooManyRequests) as caught:
            await client.create(PODS, {}, "default")
    assert caught.value.denied
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ('pods is forbidden: User "u" cannot create resource "pods"', '(grant the verb "create"'),
        ("ValidatingAdmissionPolicy 'v' with binding 'b' denied request: no", "request: no"),
        ("ValidatingAdmissionPolicy 'v' denied request: no", "request: no"),
    ],
)
def test_a_verb_is_to_be_granted_only_if_rbac_lacks_it(message: str, advice: str) -> None:
    error = errors.from_status("create", "pods", 403, {"message": message, "reason": "Forbidden"})
    assert advice in error.advice
    assert ("grant" in error.advice) is not error.of_one_object


async def test_a_fenced_client_reads_but_does_not_write() -> None:
    server = Script(says(lambda: answer({})))
    leading = True
    async with talking_to(server) as client:
        fenced = client.fenced(lambda: leading)
        await fenced.create(PODS, {}, "default")
        leading = False
        with pytest.raises(errors.Fenced):
            await fenced.create(PODS, {}, "default")
        await fenced.get(PODS, "p", "default")
        await client.create(PODS, {}, "default")
    assert len(server.seen) == 3


async def test_a_fenced_write_that_hangs_is_given_up_when_it_may_no_longer_land() -> None:
    async with talking_to(hangs) as client, asyncio.timeout(WRITE_SECONDS - 1):
        with pytest.raises(errors.Unreachable, match="timed out") as caught:
            await client.fenced(lambda: True, 0.05).create(PODS, {}, "default")
    assert caught.value.outcome_unknown


async def test_it_tells_how_long_a_write_that_was_given_up_may_still_take_effect() -> None:
    async with talking_to(hangs, clock=time_source()) as client:
        fenced = client.fenced(lambda: True, 3.0)
        write = asyncio.create_task(fenced.create(PODS, {}, "default"))
        await asyncio.sleep(1.0)
        assert fenced.landing() == pytest.approx(2.0, abs=0.1), "under way"
        write.cancel()
        await asyncio.sleep(1.0)
        assert fenced.landing() == pytest.approx(1.0, abs=0.1)
        await asyncio.sleep(1.5)
        assert fenced.landing() == 0.0


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(says(lambda: refusal(504, "Timeout")), id="timed out"),
        pytest.param(resets, id="reset"),
        pytest.param(says(lambda: web.Response(status=404, text="not found")), id="a proxy's 404"),
        pytest.param(says(lambda: web.Response(status=408, text="timeout")), id="a proxy's 408"),
        pytest.param(HTML, id="a proxy's page"),
        pytest.param(
            says(lambda: answer({"kind": "Status", "status": "Failure"})),
            id="a success that says it is a failure",
        ),
        pytest.param(says(lambda: web.Response(text='{"kind": "Pod"')), id="half an object"),
    ],
)
async def test_a_write_without_a_certain_outcome_may_still_take_effect(end: Handler) -> None:
    async with talking_to(end, clock=time_source()) as client:
        fenced = client.fenced(lambda: True, 3.0)
        with pytest.raises(errors.APIError):
            await fenced.create(PODS, {}, "default")
        assert fenced.landing() == pytest.approx(3.0, abs=0.2)


async def test_a_write_that_took_as_long_as_it_may_cannot_take_effect_any_more() -> None:
    async with talking_to(hangs, clock=time_source()) as client:
        fenced = client.fenced(lambda: True, 3.0)
        with pytest.raises(errors.Unreachable):
            await fenced.create(PODS, {}, "default")
        assert fenced.landing() == pytest.approx(0.0, abs=0.1)


async def test_a_write_that_has_ended_an_event_and_a_read_are_not_waited_for() -> None:
    async with talking_to(Script(says(lambda: answer({})))) as client:
        fenced = client.fenced(lambda: True)
        await fenced.create(PODS, {}, "default")
        assert fenced.landing() == 0.0
    async with talking_to(hangs) as client:
        fenced = client.fenced(lambda: True)
        read = asyncio.create_task(fenced.get(PODS, "p", "default"))
        event = asyncio.create_task(fenced.create(EVENTS, {}, "default"))
        await asyncio.sleep(0.1)
        assert fenced.landing() == 0.0, "nobody decides by an event"
        read.cancel()
        event.cancel()


async def test_a_fenced_write_is_not_sent_where_the_lease_went_while_credentials_were_renewed() -> (
    None
):
    leading = True

    class Slow(FixedAuth):
        async def header(self, tls: ssl.SSLContext | None) -> str | None:
            nonlocal leading
            leading = False
            return await super().header(tls)

    server = Script(says(lambda: answer({})))
    async with (
        serving(server) as url,
        Client(Cluster(url, auth=Slow()), component="test") as client,
    ):
        with pytest.raises(errors.Fenced):
            await client.fenced(lambda: leading).create(PODS, {}, "default")
    assert not server.seen


async def test_without_a_limit_no_request_waits() -> None:
    server = Script(says(lambda: answer({})))
    async with talking_to(server, rate=RequestRate()) as client:
        await asyncio.gather(*(client.get(PODS, "p", "default") for _ in range(300)))
    assert len(server.seen) == 300


async def test_reads_writes_and_pages_share_a_limit_and_events_have_their_own() -> None:
    server = Script(says(lambda: pods(9, {}, more="t")), says(lambda: answer({})))
    async with talking_to(server, rate=SELDOM) as client:
        pages = client.list(PODS)
        await anext(pages)
        assert await waits(anext(pages))  # for the second page
        assert await waits(client.create(PODS, {}, "default"))
        assert await waits(client.version())
        await client.create(EVENTS, {}, "default")
        assert await waits(client.create(EVENTS, {}, "default"))
    assert len(server.seen) == 2


async def test_a_watch_counts_once_when_it_begins() -> None:
    async def watch(client: Client) -> bytes:
        async with client.watch(PODS, query={}, silence=1) as stream:
            return b"".join([chunk async for chunk in stream])

    lines = [bookmark(version) for version in range(3)]
    server = Script(lambda request: stream(request, lines))
    async with talking_to(server, rate=SELDOM) as client:
        assert await watch(client) == b"".join(lines)
        assert await waits(watch(client))
    assert len(server.seen) == 1


async def test_what_is_sent_again_after_a_429_counts_again() -> None:
    busy = web.Response(status=429, headers={"Retry-After": "0"})
    server = Script(says(lambda: busy), says(lambda: answer({"ok": True})))
    async with talking_to(server, rate=RequestRate(0.001, 2)) as client:
        assert await client.get(PODS, "p", "default") == {"ok": True}
        assert await waits(client.get(PODS, "p", "default"))
    assert len(server.seen) == 2


async def test_the_client_of_the_lease_is_not_limited() -> None:
    server = Script(says(lambda: answer({})))
    async with talking_to(server, rate=SELDOM) as client, client.again() as other:
        await client.get(PODS, "p", "default")
        for _ in range(3):
            await other.get(PODS, "p", "default")
        assert await waits(client.fenced(lambda: True).get(PODS, "p", "default"))
    assert len(server.seen) == 4


async def test_a_write_is_not_sent_where_the_lease_went_while_it_waited_for_its_turn() -> None:
    server = Script(says(lambda: answer({})))
    leading = True
    async with talking_to(server, rate=RequestRate(1.0, 1)) as client:
        await client.get(PODS, "p", "default")
        write = client.fenced(lambda: leading).create(PODS, {}, "default")
        waiting = asyncio.create_task(write)
        await asyncio.sleep(0)
        leading = False
        with pytest.raises(errors.Fenced):
            await waiting
    assert len(server.seen) == 1


async def test_the_wait_for_its_turn_takes_nothing_of_a_requests_time() -> None:
    call = Call("create", "pods", "/x", b"{}", timeout=aiohttp.ClientTimeout(total=1.0))
    server = Script(says(lambda: answer({})))
    async with talking_to(server, rate=RequestRate(0.8, 1)) as client:
        await client._transport.exchange(call)
        await client._transport.exchange(call)
    assert len(server.seen) == 2


async def test_a_request_outside_the_role_fails_before_it_is_sent() -> None:
    server = Script(says(lambda: answer({})))
    async with talking_to(server, rules=ROLES["scheduler"]) as client:
        await client.get(PODS, "p", "default")
        with pytest.raises(AssertionError, match="delete nodes is not in"):
            await client.delete(NODES, "n1")
        with pytest.raises(AssertionError, match="watch events"):
            client.watch(EVENTS, query={}, silence=1)
    assert len(server.seen) == 1


def test_a_rule_for_names_covers_those_only() -> None:
    rules = ROLES["scheduler"]
    assert allowed(rules, "coordination.k8s.io", "leases", "update", "enbloc-scheduler")
    assert not allowed(rules, "coordination.k8s.io", "leases", "update", "kube-scheduler")


async def test_the_servers_clock_is_what_most_answers_say() -> None:
    """semantics §7.3: neither a skewed one at the start nor several later ones mislead."""
    now, skewed = 2_000_000_000.0, 2_000_000_000.0 - 3 * 3600
    script = [skewed, now, now, now, skewed, now, now, skewed, now, now, skewed]
    server = Script(*(says(partial(answer, {}, Date=formatdate(one, usegmt=True)))
                      for one in script))  # fmt: skip
    told = list[float | None]()
    async with talking_to(server) as client:
        assert client.server_offset is None
        for _ in script:
            await client.get(PODS, "p", "default")
            told.append(client.server_offset)
    assert all(one is not None and abs(one + boot_clock() - now) < 60 for one in told[2:])


async def test_a_burst_of_answers_counts_as_one_when_enough_are_known() -> None:
    right, wrong = formatdate(2_000_000_000, usegmt=True), formatdate(1, usegmt=True)
    answers = [right] * DATES + [wrong] * 3 * DATES
    server = Script(*(says(partial(answer, {}, Date=one)) for one in answers))
    async with talking_to(server) as client:
        for _ in answers[:DATES]:
            await client.get(PODS, "p", "default")
        now = boot_clock()
        await asyncio.gather(*(client.get(PODS, "p", "default") for _ in answers[DATES:]))
        took = boot_clock() - now
        offset = client.server_offset
    assert offset is not None
    if took < DATES / 2:  # else they are no burst
        assert abs(offset + now - 2_000_000_000) < 60


async def test_connections_are_kept_and_shared() -> None:
    peers = set[object]()

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return answer({})

    async with talking_to(server) as client:
        for _ in range(3):
            await asyncio.gather(*(client.get(PODS, "p", "default") for _ in range(4)))
    assert len(peers) <= 4


async def test_a_date_that_cannot_be_read_tells_no_time() -> None:
    async with talking_to(says(lambda: answer({}, Date="yesterday"))) as client:
        await client.get(PODS, "p", "default")
        assert client.server_offset is None


async def test_requests_are_counted_by_answer_method_and_host() -> None:
    host = ""

    def value(name: str, **labels: str) -> float:
        found = {**labels, "host": host}
        return REGISTRY.get_sample_value(f"rest_client_{name}", found) or 0.0

    def counted() -> list[float]:
        return [
            value("requests_total", code="200", method="GET"),
            value("requests_total", code="7xx", method="POST"),
            value("requests_total", code="<error>", method="POST"),
            value("request_duration_seconds_count", verb="POST"),
        ]

    server = Script(
        *[says(lambda: answer({"kind": "Pod"}))] * 2, says(lambda: answer({}, 799)), resets
    )
    async with talking_to(server) as client:
        await client.get(PODS, "p", "default")
        host = server.seen[0].host
        before = counted()  # an earlier server may have had this port
        await client.get(PODS, "p", "default")
        for _ in range(2):
            with pytest.raises(errors.APIError):
                await client.create(PODS, {}, "default")
        assert [now - then for now, then in zip(counted(), before, strict=True)] == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("server", "host"),
    [
        ("https://10.0.0.1:6443", "10.0.0.1:6443"),
        ("https://user:secret@api.example:443/k8s/c-1", "api.example:443"),
        ("https://[fd00::1]:6443", "[fd00::1]:6443"),
        ("https://[broken", ""),
    ],
)
def test_the_metrics_name_the_host_of_a_server_and_no_more(server: str, host: str) -> None:
    assert host_of(server) == host
