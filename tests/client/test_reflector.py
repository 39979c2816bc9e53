# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A reflector loses nothing and doubles nothing, whatever the server does."""

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from enbloc.client import backoff
from enbloc.client.clock import boot_clock
from enbloc.client.items import Deleted, Item, Malformed, Seen, Synced, Timing
from enbloc.client.paths import POD_GROUPS, PODS
from enbloc.client.reflector import Reflector
from tests.client.fake import (
    HTML,
    TOMORROW,
    Handler,
    Pod,
    answer,
    bookmark,
    event,
    hangs,
    pod,
    pods,
    refusal,
    says,
    stream,
    talking_to,
)

QUICK = Timing(watch=(60, 60), grace=1, retry=(0.001, 0.01), refused=(0.001, 0.01))


class Server:
    """Answers lists and watches by two scripts; the last watch hangs."""

    def __init__(self, lists: list[Handler], watches: list[Handler]) -> None:
        self.lists = lists
        self.watches = watches
        self.queries: list[dict[str, str]] = []
        self._more = asyncio.Event()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        query = dict(request.query)
        self.queries.append(query)
        self._more.set()
        script = self.watches if "watch" in query else self.lists
        return await (script.pop(0) if script else hangs)(request)

    async def asked(self, count: int) -> None:
        """Return once there have been so many requests."""
        async with asyncio.timeout(5):
            while len(self.queries) < count:
                self._more.clear()
                await self._more.wait()


def lists(*objects: object, version: int, more: str = "") -> Handler:
    return says(lambda: pods(version, *objects, more=more))


def watches(*lines: bytes, then: str = "end") -> Handler:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        return await stream(request, lines, then)

    return handler


def told(item: Item[Pod]) -> str:
    """An item as a word: +seen -deleted ?malformed, with name and version."""
    match item:
        case Synced():
            return "synced"
        case Malformed():
            sign = "?"
        case Seen():
            sign = "+"
        case Deleted():
            sign = "-"
    return f"{sign}{item.meta.name}{item.meta.resource_version}"


async def take(items: AsyncIterator[Item[Pod]], count: int) -> list[str]:
    async with asyncio.timeout(5):
        return [told(await anext(items)) for _ in range(count)]


@asynccontextmanager
async def reflecting(
    server: Handler, timing: Timing = QUICK
) -> AsyncGenerator[tuple[Reflector[Pod], AsyncIterator[Item[Pod]]], None]:
    async with talking_to(server) as client:
        reflector = Reflector(client, PODS, Pod, timing=timing)
        async with aclosing(reflector.stream()) as items:
            yield reflector, items


async def test_the_first_list_is_a_consistent_read_in_pages() -> None:
    """Semantics §6.3: first lists are consistent reads."""
    server = Server([lists(pod("a", 1), version=9, more="next"), lists(pod("b", 2), version=9)], [])
    async with reflecting(server) as (reflector, items):
        assert await take(items, 3) == ["+a1", "+b2", "synced"]
        assert reflector.synced
    assert server.queries[:2] == [{"limit": "500"}, {"limit": "500", "continue": "next"}]


async def test_the_next_page_is_asked_for_while_one_is_taken_in() -> None:
    server = Server([lists(pod("a", 1), pod("b", 2), version=9, more="next")], [])
    async with reflecting(server) as (_, items):
        assert await take(items, 1) == ["+a1"]
        await server.asked(2)
        assert server.queries[1] == {"limit": "500", "continue": "next"}
        assert await take(items, 1) == ["+b2"]


async def test_a_watch_that_ends_goes_on_where_it_was() -> None:
    server = Server(
        [lists(version=4)],
        [
            watches(event("ADDED", pod("a", 5)), b'{"type":"ADDED","obj'),
            watches(bookmark(20)),
            watches(event("ADDED", pod("b", 21)), then="reset"),
            watches(event("MODIFIED", pod("a", 22))),
        ],
    )
    async with reflecting(server) as (_, items):
        assert await take(items, 4) == ["synced", "+a5", "+b21", "+a22"]
    versions = [query["resourceVersion"] for query in server.queries if "watch" in query]
    assert versions[:4] == ["4", "5", "20", "21"]


async def test_what_is_sent_twice_is_emitted_once() -> None:
    """Semantics §6.3: an event older than its row is dropped."""
    server = Server(
        [lists(pod("a", 3), version=4)],
        [
            watches(event("ADDED", pod("a", 3)), event("MODIFIED", pod("a", 7))),
            watches(event("MODIFIED", pod("a", 6)), event("DELETED", pod("a", 8))),
            watches(event("DELETED", pod("a", 8)), event("ADDED", pod("a", 9, uid="second"))),
        ],
    )
    async with reflecting(server) as (_, items):
        assert await take(items, 5) == ["+a3", "synced", "+a7", "-a7", "+a9"]


async def test_after_an_expired_watch_the_difference_to_a_new_list_is_emitted() -> None:
    """Semantics §6.3: a relist is not older than what was seen, differences are keyed by UID."""
    expired = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    server = Server(
        [
            lists(pod("same", 1), pod("changed", 2), pod("gone", 3), pod("again", 4), version=5),
            lists(
                pod("same", 1), pod("changed", 8), pod("again", 9, uid="new"), pod("new", 9),
                version=10,
            ),
        ],
        [watches(event("ERROR", expired)), watches(event("MODIFIED", pod("new", 11)))],
    )  # fmt: skip
    async with reflecting(server) as (_, items):
        await take(items, 5)
        difference = ["+changed8", "-again4", "+again9", "+new9", "-gone3", "synced", "+new11"]
        assert await take(items, 7) == difference
    relist = [query for query in server.queries if "watch" not in query][1]
    assert relist["resourceVersion"] == "5"
    assert relist["resourceVersionMatch"] == "NotOlderThan"


BEHIND = {"causes": [{"reason": "ResourceVersionTooLarge"}]}


@pytest.mark.parametrize(
    "refusing",
    [
        pytest.param(says(lambda: refusal(410, "Expired")), id="410"),
        pytest.param(says(lambda: refusal(400, "BadRequest", "invalid version")), id="400"),
        pytest.param(says(lambda: refusal(504, "Timeout", "Too large", **BEHIND)), id="504"),
    ],
)
async def test_a_watch_that_cannot_go_on_from_its_version_lists_again(refusing: Handler) -> None:
    server = Server(
        [lists(version=5), lists(pod("a", 6), version=7)], [watches(bookmark(10**18)), refusing]
    )
    async with reflecting(server) as (_, items):
        assert await take(items, 3) == ["synced", "+a6", "synced"]


async def test_a_list_that_outlives_its_snapshot_starts_over_in_one_page() -> None:
    server = Server(
        [
            lists(pod("a", 1), pod("gone", 1), version=5, more="next"),
            says(lambda: refusal(410, "Expired")),
            lists(pod("a", 1), pod("b", 6), version=7),
        ],
        [],
    )
    async with reflecting(server) as (_, items):
        assert await take(items, 5) == ["+a1", "+gone1", "+b6", "-gone1", "synced"]
    assert server.queries[2] == {}


async def test_what_a_new_list_shows_older_than_its_row_is_dropped() -> None:
    """Semantics §6.3: an event older than its row is dropped, that of a list too."""
    server = Server(
        [lists(pod("a", 3), version=4), lists(pod("a", 3), pod("b", 8), version=9)],
        [
            watches(event("MODIFIED", pod("a", 7)), then="reset"),
            says(lambda: refusal(410, "Expired")),
            watches(event("MODIFIED", pod("a", 10))),
        ],
    )
    async with reflecting(server) as (_, items):
        assert await take(items, 6) == ["+a3", "synced", "+a7", "+b8", "synced", "+a10"]


async def test_a_server_restored_from_a_backup_is_believed() -> None:
    server = Server(
        [
            lists(pod("a", 90), pod("b", 91), version=100),
            says(lambda: refusal(504, "Timeout", "Too large resource version", **BEHIND)),
            lists(pod("a", 40), version=50),
        ],
        [says(lambda: refusal(410, "Expired")), watches(event("MODIFIED", pod("a", 51)))],
    )
    async with reflecting(server) as (reflector, items):
        assert await take(items, 3) == ["+a90", "+b91", "synced"]
        assert await take(items, 4) == ["+a40", "-b0", "synced", "+a51"]
        assert reflector.version == 50
    assert server.queries[3] == {"limit": "500"}


async def test_an_object_that_cannot_be_decoded_does_not_stop_the_stream() -> None:
    broken = {**pod("bad", 2), "spec": 3}
    server = Server(
        [lists(broken, pod("a", 1), version=4)],
        [watches(event("ADDED", {**pod("worse", 5), "spec": "no"}), event("ADDED", pod("b", 6)))],
    )
    async with reflecting(server) as (_, items):
        async with asyncio.timeout(5):
            first = await anext(items)
        assert isinstance(first, Malformed)
        assert "$.spec" in first.problem
        assert await take(items, 4) == ["+a1", "synced", "?worse5", "+b6"]


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(None, id="null"),
        pytest.param({"metadata": {"name": 1}}, id="name"),
        pytest.param({"metadata": {"name": "", "resourceVersion": "9" * 5000}}, id="version"),
    ],
)
async def test_an_object_that_cannot_be_identified_stops_nothing_and_deletes_nothing(
    odd: object,
) -> None:
    server = Server(
        [lists(pod("a", 1), version=4), lists(odd, pod("b", 5), version=6)],
        [
            says(lambda: refusal(410, "Expired")),
            watches(event("MODIFIED", odd), event("MODIFIED", pod("a", 7))),
        ],
    )
    async with reflecting(server) as (_, items):
        words = [word.rstrip("9") for word in await take(items, 7)]
    assert [word for word in words if word != "?"] == ["+a1", "synced", "+b5", "synced", "+a7"]


@pytest.mark.parametrize("version", ["", "x", "9" * 5000])
async def test_a_list_of_no_version_is_listed_again(version: str) -> None:
    odd = says(lambda: answer({"metadata": {"resourceVersion": version}, "items": []}))
    server = Server([HTML, odd, lists(pod("a", 1), version=4)], [])
    async with reflecting(server) as (_, items):
        assert await take(items, 2) == ["+a1", "synced"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"<html>\n", id="no JSON"),
        pytest.param(b'{"type":"ADD\xff","object":{"metadata":{"name":"a"}}}\n', id="no UTF-8"),
        pytest.param(event("ERROR", None), id="no Status"),
        pytest.param(event("ERROR", {"code": "x"}), id="no code"),
    ],
)
async def test_a_line_that_cannot_be_read_restarts_the_watch(line: bytes) -> None:
    server = Server([lists(version=4)], [watches(line), watches(event("ADDED", pod("a", 5)))])
    async with reflecting(server) as (_, items):
        assert await take(items, 2) == ["synced", "+a5"]


async def test_a_silent_watch_counts_as_stalled() -> None:
    timing = Timing(watch=(0.1, 0.1), grace=0.1, retry=(0.001, 0.01))
    server = Server(
        [lists(version=4)],
        [watches(bookmark(6), then="hang"), watches(event("ADDED", pod("a", 7)))],
    )
    async with reflecting(server, timing) as (_, items):
        assert await take(items, 2) == ["synced", "+a7"]
    assert server.queries[2]["resourceVersion"] == "6"


async def test_trouble_is_reported_once_and_forgotten_when_over() -> None:
    def forbidden() -> web.StreamResponse:
        return refusal(403, "Forbidden", "pods is forbidden")

    server = Server(
        [says(forbidden), says(forbidden), says(lambda: refusal(500, "")), lists(version=4)],
        [],
    )
    problems: list[str | None] = []
    failing: list[float | None] = []

    def report(problem: str | None) -> None:
        problems.append(problem)
        failing.append(REGISTRY.get_sample_value("enbloc_watch_failing", {"resource": "pods"}))

    async with talking_to(server) as client:
        reflector = Reflector(client, PODS, Pod, timing=QUICK, report=report)
        async with aclosing(reflector.stream()) as items:
            assert await take(items, 1) == ["synced"]
    assert len(problems) == 3
    assert failing == [1, 1, 0]
    assert problems[0] is not None
    assert 'grant the verb "list" on pods' in problems[0]
    assert problems[2] is None


async def test_a_missing_resource_is_awaited() -> None:
    def missing() -> web.StreamResponse:
        return web.Response(status=404, text="404 page not found\n")

    server = Server([says(missing), says(missing), lists(version=4)], [])
    problems: list[str | None] = []
    async with talking_to(server) as client:
        reflector = Reflector(client, POD_GROUPS, Pod, timing=QUICK, report=problems.append)
        async with aclosing(reflector.stream()) as items:
            assert await take(items, 1) == ["synced"]
    assert problems[0] is not None
    assert "kubectl apply -f crds/" in problems[0]


async def test_a_server_that_asks_for_patience_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "LONGEST_WAIT", 0.01)
    server = Server(
        [lists(version=4)],
        [
            TOMORROW,
            watches(event("ERROR", {"code": 500, "message": "etcd is sad"})),
            watches(event("ADDED", pod("a", 5))),
        ],
    )
    async with reflecting(server) as (_, items):
        assert await take(items, 2) == ["synced", "+a5"]


async def broken(_: web.BaseRequest) -> web.StreamResponse:
    return refusal(500, "InternalError", "etcd is sad")


async def test_who_knows_that_the_server_is_back_ends_the_wait() -> None:
    """The leader in an outage is the last who may wait for half a minute after it."""
    patient = dataclasses.replace(QUICK, retry=(60, 60))
    server = Server([broken, lists(version=4), lists(version=4)], [broken, watches(bookmark(5))])
    async with reflecting(server, patient) as (reflector, items):
        listing = asyncio.create_task(take(items, 1))
        await server.asked(1)
        await asyncio.sleep(0.05)
        reflector.hurry()
        assert await listing == ["synced"]
        watching = asyncio.create_task(take(items, 1))
        await server.asked(3)
        await asyncio.sleep(0.05)
        await reflector.confirm()  # a read that succeeds is such knowledge
        await server.asked(5)
        watching.cancel()
        await asyncio.wait({watching})


async def test_a_wait_that_the_server_asked_for_is_not_ended() -> None:
    patience = says(lambda: answer({}, 429, **{"Retry-After": "60"}))
    server = Server([patience, lists(version=4)], [])
    async with reflecting(server) as (reflector, items):
        listing = asyncio.create_task(take(items, 1))
        await server.asked(1)
        for _ in range(5):
            reflector.hurry()
            await asyncio.sleep(0.02)
        assert len(server.queries) == 1
        listing.cancel()
        await asyncio.wait({listing})


async def test_confirm_waits_until_the_stream_has_passed_a_consistent_read() -> None:
    """Semantics §6.3: a read of limit=1, then a watch of three seconds from the last version."""
    server = Server(
        [lists(version=4), lists(version=9), lists(version=9)],
        [watches(then="hang"), watches(event("ADDED", pod("a", 7)), bookmark(9), then="hang")],
    )
    async with reflecting(server) as (reflector, items):
        taken: list[str] = []
        listed = asyncio.Event()

        async def consume() -> None:
            async for item in items:
                taken.append(told(item))
                listed.set()

        consumer = asyncio.create_task(consume())
        async with asyncio.timeout(5):
            await listed.wait()
            await reflector.confirm()
            assert taken == ["synced", "+a7"]
            await reflector.confirm()  # nothing has happened since: at once
        consumer.cancel()
        await asyncio.wait({consumer})
    short = [query for query in server.queries if query.get("timeoutSeconds") == "3"]
    assert [query["resourceVersion"] for query in short] == ["4"]
    assert server.queries.count({"limit": "1"}) == 2


async def test_a_list_that_was_asked_for_since_then_confirms_by_itself() -> None:
    server = Server([lists(pod("a", 4), version=4)], [watches(then="hang")])
    before = boot_clock()
    async with reflecting(server) as (reflector, items):
        assert await take(items, 2) == ["+a4", "synced"]
        following = asyncio.create_task(take(items, 1))
        await asyncio.sleep(0)  # the next one is asked for, so these are taken
        await reflector.confirm(before)
        following.cancel()
        await asyncio.wait({following})
    assert {"limit": "1"} not in server.queries


async def test_a_list_that_was_asked_for_earlier_does_not() -> None:
    server = Server(
        [lists(version=4), lists(version=9)],
        [watches(then="hang"), watches(bookmark(9), then="hang")],
    )
    async with reflecting(server) as (reflector, items):
        assert await take(items, 1) == ["synced"]
        following = asyncio.create_task(take(items, 1))
        async with asyncio.timeout(5):
            await reflector.confirm(boot_clock())
        following.cancel()
        await asyncio.wait({following})
    assert {"limit": "1"} in server.queries


async def test_a_stream_without_bookmarks_is_confirmed_by_a_list() -> None:
    """Semantics §6.3: a new leader does not wait for ever."""
    server = Server(
        [lists(version=4), lists(version=9), lists(pod("a", 7), version=9)],
        [watches(then="hang"), watches()],
    )
    async with reflecting(server) as (reflector, items):
        assert await take(items, 1) == ["synced"]
        following = asyncio.create_task(take(items, 3))
        async with asyncio.timeout(5):
            await reflector.confirm()
        following.cancel()
        await asyncio.wait({following})
    assert server.queries[-2] == {"limit": "500"}


async def test_a_stream_ahead_of_a_restored_server_is_confirmed_by_a_list() -> None:
    """Semantics §6.3: what it has shown was undone, and its watch is silent."""
    server = Server(
        [lists(pod("a", 90), version=100), lists(version=80), lists(pod("a", 50), version=80)],
        [watches(then="hang")],
    )
    async with reflecting(server) as (reflector, items):
        assert await take(items, 2) == ["+a90", "synced"]
        following = asyncio.create_task(take(items, 3))
        await asyncio.sleep(0)  # the next one is asked for, so these are taken
        async with asyncio.timeout(5):
            await reflector.confirm()
        assert reflector.version == 80
        following.cancel()
        await asyncio.wait({following})
    assert server.queries.count({"limit": "500"}) == 2


async def test_what_a_watch_showed_before_a_restore_confirms_nothing() -> None:
    """Semantics §6.3: changes that wait to be taken in may be undone on the server."""
    changes = b"".join(event("ADDED", pod(name, 101 + n)) for n, name in enumerate("ab"))
    server = Server(
        [lists(version=100), lists(version=80), lists(version=80)],
        [watches(changes, then="hang")],
    )
    async with reflecting(server) as (reflector, items):
        assert await take(items, 2) == ["synced", "+a101"]
        confirming = asyncio.create_task(reflector.confirm())
        async with asyncio.timeout(5):
            while not reflector._waiting:  # noqa: ASYNC110  # no event tells of it
                await asyncio.sleep(0)
        assert sorted(await take(items, 4)) == ["+b102", "-a0", "-b0", "synced"]
        assert not confirming.done()
        following = asyncio.create_task(take(items, 1))
        async with asyncio.timeout(5):
            await confirming
        following.cancel()
        await asyncio.wait({following})


async def test_a_burst_cut_at_any_byte_arrives_whole() -> None:
    count = 200
    whole = b"".join(event("ADDED", pod(f"p{index}", 10 + index)) for index in range(count))
    cuts = iter(range(7, len(whole), 4321))

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" not in request.query:
            return pods(9)
        since = int(request.query["resourceVersion"])
        rest = b"".join(whole.splitlines(keepends=True)[max(0, since - 9) :])
        cut = next(cuts, None)
        if cut is None:
            return await stream(request, [rest], "hang")
        return await stream(request, [rest[: cut % 9000]], "reset" if cut % 2 else "end")

    async with reflecting(handler) as (_, items):
        names = [word.split("p")[1] for word in (await take(items, count + 1))[1:]]
    assert names == [f"{index}{10 + index}" for index in range(count)]
