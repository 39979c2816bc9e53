# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Confirming a stream ends, and means what it says, however slow or stale the server is."""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

import msgspec
import pytest
from prometheus_client import REGISTRY

from enbloc.client.client import Query
from enbloc.client.clock import TimeSource
from enbloc.client.errors import (
    APIError,
    Forbidden,
    Gone,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from enbloc.client.items import Timing
from enbloc.client.paths import PODS
from enbloc.client.reflector import Reflector
from enbloc.client.transport import JSON, Stream
from tests.client.fake import Pod, bookmark, event, pod
from tests.client.memory import MemoryClient, Store
from tests.client.test_reflector import told

LIST, CACHED, CONFIRM, LOOK, WATCH = "list", "cached list", "confirm", "look", "watch"
EXPIRED = Gone("list", "pods", "too old", code=410)
BUSY = TooManyRequests("list", "pods", "busy", code=429, retry_after=20)
FAILED = ServerError("list", "pods", "etcd is sad", code=500)


def now() -> float:
    return asyncio.get_running_loop().time()


class Watch:
    """An open watch that shows what it is told to."""

    def __init__(self, seconds: float) -> None:
        self.shown: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.ends = asyncio.get_running_loop().call_later(seconds, self.shown.put_nowait, None)
        self.closed = False

    def close(self) -> None:
        self.closed = True
        self.shown.put_nowait(None)

    async def lines(self) -> AsyncIterator[list[bytes]]:
        while (line := await self.shown.get()) is not None:
            yield line.splitlines()
        self.ends.cancel()
        if self.closed:
            raise Unreachable("watch", "pods", "closed", sent=True)


class Slow(MemoryClient):
    """A server whose resourceVersion grows every second; its watches are silent.

    Attributes:
        seconds: that a list takes.
        opening: seconds until a watch begins.
        longer: seconds that a watch lasts beyond what was asked for.
        start: the resourceVersion at time 0.
        pods: what it has; by default one pod that changes every second.
        fails: what the next lists fail with, half-way.
        cache_fails: what each list that is not consistent fails with.
        latest: the latest watch.
        asked: what was asked for, in this order.
    """

    def __init__(self) -> None:
        super().__init__(Store(), clock=TimeSource(local=asyncio.get_running_loop().time))
        self.seconds = 1.0
        self.opening = self.longer = 0.0
        self.start = 1000
        self.pods: Callable[[], list[dict[str, Any]]] = lambda: [pod("p", self.reached)]
        self.fails: list[APIError] = []
        self.cache_fails: APIError | None = None
        self.asked: list[str] = []

    @property
    def reached(self) -> int:
        return self.start + int(now())

    async def request(
        self, *_: Any, query: Query | None = None, accept: str = JSON, **__: Any
    ) -> bytes:
        asked = CACHED if "resourceVersion" in (query or {}) else LIST
        if (query or {}).get("limit") == 1:
            asked = CONFIRM
        if accept != JSON:
            asked = LOOK
        self.asked.append(asked)
        version, items = self.reached, self.pods()
        if asked in (LIST, CACHED):
            await asyncio.sleep(self.seconds / 2)
            if asked == CACHED and self.cache_fails is not None:
                raise self.cache_fails
            if self.fails:
                raise self.fails.pop(0)
            await asyncio.sleep(self.seconds / 2)
        listed = {"metadata": {"resourceVersion": str(version)}, "items": items}
        return msgspec.json.encode(listed)

    def watch(self, *_: Any, query: Query, **__: Any) -> AbstractAsyncContextManager[Stream]:
        return self._watching(float(query["timeoutSeconds"]))

    @asynccontextmanager
    async def _watching(self, seconds: float) -> AsyncGenerator[Stream]:
        self.asked.append(WATCH)
        await asyncio.sleep(self.opening)
        self.latest = Watch(seconds + self.longer)
        yield cast("Stream", self.latest)


class Followed:
    """A stream and all that it has shown.

    Attributes:
        reflector: of it.
        shown: its items, as words.
        problems: what it reported.
    """

    def __init__(self, client: Slow) -> None:
        self.client = client
        self.problems: list[str | None] = []
        timing = Timing(watch=(600, 600))
        self.reflector = Reflector(client, PODS, Pod, timing=timing, report=self.problems.append)
        self.shown: list[str] = []
        self._before = self._counted()

    async def run(self) -> None:
        async for item in self.reflector.stream():
            self.shown.append(told(item))

    async def confirmed(self, since: float = math.inf) -> float:
        """The seconds that a confirmation takes, and at most an hour."""
        began = now()
        async with asyncio.timeout(3600):
            await self.reflector.confirm(since)
        return now() - began

    def _counted(self) -> float:
        return REGISTRY.get_sample_value("enbloc_stale_watches_total", {"resource": "pods"}) or 0

    @property
    def found_stale(self) -> int:
        """How often the watch was found to be stale."""
        return int(self._counted() - self._before)

    async def asked(self, what: str, count: int = 1) -> None:
        """Return once this was asked for so often."""
        async with asyncio.timeout(600):
            while self.client.asked.count(what) < count:  # noqa: ASYNC110  # nothing tells of it
                await asyncio.sleep(0.01)


@asynccontextmanager
async def following(client: Slow) -> AsyncGenerator[Followed]:
    """A stream of the server's pods, synced and taken."""
    followed = Followed(client)
    running = asyncio.create_task(followed.run())
    await asyncio.sleep(2)
    assert followed.shown[-1] == "synced"
    yield followed
    running.cancel()
    await asyncio.wait({running})


# ── it ends ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seconds", [1, 10, 20, 28, 40])
async def test_a_stream_that_is_found_stale_again_and_again_is_confirmed_each_time(
    seconds: float,
) -> None:
    """Semantics §6.3: everything is listed each time, and no list is begun in vain."""
    client = Slow()
    async with following(client) as followed:
        client.seconds = seconds
        for _ in range(20):
            since, before = now(), client.reached
            assert await followed.confirmed(since) <= 2 * seconds + 10
            version = int(followed.shown[-2].removeprefix("+p"))
            assert version >= before
            await asyncio.sleep(60)
        found, elapsed = followed.found_stale, now()
        assert 10 < found < elapsed / (seconds + 10)
        assert client.asked.count(LIST) - found <= 21, "the first one, and one each"


async def test_a_list_that_takes_long_makes_no_watch_stale() -> None:
    """Semantics §6.3: no look while everything is listed by a consistent read."""
    client = Slow()
    async with following(client) as followed:
        client.seconds = 100
        assert await followed.confirmed() < 110
        assert LOOK not in client.asked
        assert client.asked.count(LIST) == 2
        await asyncio.sleep(30)
        assert followed.found_stale == 1, "by a look afterwards"


async def test_what_a_look_found_before_a_list_is_not_held_against_the_watch_after_it() -> None:
    client = Slow()
    client.pods = lambda: [
        pod(f"p{n}", 1) for n in range(client.reached, 1100)
    ]  # one goes a second
    async with following(client) as followed:
        await followed.asked(LOOK)
        assert await followed.confirmed() < 5  # while the watch has time to show what was read
        await asyncio.sleep(5)
        assert followed.found_stale == 0


async def test_a_watch_that_begins_late_is_not_stale_for_it() -> None:
    """Semantics §6.3: as on a server that is busy, which lists would only make busier."""
    client = Slow()

    async def show() -> None:
        while True:
            await asyncio.sleep(1)
            shown = pod("p", client.reached)
            client.latest.shown.put_nowait(event("MODIFIED", shown))

    async with following(client) as followed:
        client.opening = 15
        followed.reflector._distrust("something")
        showing = asyncio.create_task(show())
        await asyncio.sleep(3600)
        assert followed.found_stale == 1, "at first"
        assert client.asked.count(LIST) == 2
        assert client.asked.count(LOOK) > 120
        showing.cancel()
        await asyncio.wait({showing})


@pytest.mark.parametrize("stale", [False, True])
async def test_a_list_from_a_cache_that_always_fails_is_not_asked_for_for_ever(stale: bool) -> None:
    """As by a cache that is stuck behind a proxy that hides why."""
    client = Slow()
    async with following(client) as followed:
        client.cache_fails = FAILED
        client.latest.shown.put_nowait(event("ERROR", {"code": 410, "reason": "Expired"}))
        await followed.asked(CACHED)
        if stale:
            followed.reflector._distrust("something")
        assert await followed.confirmed() < 10


@pytest.mark.parametrize("failures", [[EXPIRED], [BUSY, BUSY], [FAILED, EXPIRED, BUSY, FAILED]])
async def test_a_list_that_fails_midway_confirms_when_it_succeeds(failures: list[APIError]) -> None:
    client = Slow()
    async with following(client) as followed:
        client.seconds, client.fails = 20, list(failures)
        before = client.reached
        assert await followed.confirmed() < 170
        assert int(followed.shown[-2].removeprefix("+p")) >= before
        assert not client.fails


async def test_a_short_watch_that_the_server_does_not_end_is_given_up() -> None:
    """It sends something all the time, but never what is waited for."""
    client = Slow()
    client.pods = list  # other objects change

    async def chatter() -> None:
        while True:
            client.latest.shown.put_nowait(bookmark(1000))
            await asyncio.sleep(5)

    async with following(client) as followed:
        client.longer = 10_000
        chatting = asyncio.create_task(chatter())
        assert await followed.confirmed() < 25
        assert followed.problems == []
        chatting.cancel()
        await asyncio.wait({chatting})


@pytest.mark.parametrize("kind", [Forbidden, NotFound])
async def test_a_list_that_is_refused_fails_the_confirmation(kind: type[APIError]) -> None:
    """Or whoever may do without these objects would wait for them for ever."""
    client = Slow()
    async with following(client) as followed:
        client.fails = [kind("list", "pods", "gone meanwhile")]
        with pytest.raises(kind):
            await followed.confirmed()
        assert await followed.confirmed() < 10


async def test_a_confirmation_that_is_cancelled_leaves_the_others_alone() -> None:
    client = Slow()
    async with following(client) as followed:
        client.seconds = 20
        first, second, third = (asyncio.create_task(followed.confirmed()) for _ in range(3))
        await asyncio.sleep(1)
        first.cancel()
        await asyncio.sleep(10)
        second.cancel()
        assert await third < 25
        assert not followed.reflector._waiting
        assert client.asked.count(LIST) == 2
        assert followed.problems == []


async def test_whoever_joins_a_confirmation_does_not_break_its_watch() -> None:
    client = Slow()
    async with following(client) as followed:
        first = asyncio.create_task(followed.confirmed())
        await followed.asked(WATCH, 2)
        second = asyncio.create_task(followed.confirmed())
        await followed.asked(CONFIRM, 2)
        await asyncio.sleep(1)
        client.latest.shown.put_nowait(bookmark(client.reached))
        await asyncio.wait({first, second}, timeout=0.1)
        assert first.done()
        assert second.done()
        assert client.asked == [LIST, WATCH, CONFIRM, WATCH, CONFIRM]
        assert followed.problems == []


# ── it means what it says ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("pause", [0, 0.5, 2, 3.3, 4])
async def test_a_read_that_a_restore_has_undone_is_not_waited_for(pause: float) -> None:
    """Semantics §6.3: the server reaches its version an hour later, and a list shows it now."""
    client = Slow()
    async with following(client) as followed:
        await asyncio.sleep(5)
        confirming = asyncio.create_task(followed.confirmed())
        await asyncio.sleep(pause)
        assert CONFIRM in client.asked or not pause
        client.start -= 500
        assert await confirming < 10


async def test_a_stream_that_is_known_to_be_stale_is_not_confirmed_by_its_version() -> None:
    """Semantics §6.3: nor while it is listed again because of that."""
    client = Slow()
    async with following(client) as followed:
        client.seconds = 10
        client.start -= int(now()) + 1  # nothing but the pod has changed
        followed.reflector.version = client.reached
        followed.reflector._distrust("p of resourceVersion 999")
        since, asked = now(), len(client.asked)
        first = asyncio.create_task(followed.confirmed(since))
        await followed.asked(LIST, 2)
        await asyncio.sleep(1)
        second = asyncio.create_task(followed.confirmed(since))
        await asyncio.sleep(1)
        assert not first.done()
        assert not second.done()
        await asyncio.gather(first, second)
        assert client.asked[asked:].count(LIST) == 1


async def test_a_list_from_before_a_restore_confirms_nothing() -> None:
    """Semantics §6.3: it was under way when the read showed that the server was restored."""
    client = Slow()
    async with following(client) as followed:
        since = now()
        client.seconds = 10
        followed.reflector._distrust("something")
        await followed.asked(LIST, 2)
        await asyncio.sleep(1)
        client.start -= 500
        await followed.confirmed(since)
        assert client.asked.count(LIST) == 3
        assert followed.shown[-2] == f"+p{client.start + 12}"


async def test_a_list_in_whose_midst_everything_is_forgotten_syncs_nothing() -> None:
    """What its first pages had is forgotten, too."""
    client = Slow()
    async with following(client) as followed:
        client.seconds = 10
        followed.reflector._distrust("something")
        since = now()
        await followed.asked(LIST, 2)
        await asyncio.sleep(1)
        confirming = asyncio.create_task(followed.confirmed(since))
        await asyncio.sleep(1)
        shown = list(followed.shown)
        assert [told(each)[:2] for each in followed.reflector.forget()] == ["-p"]
        await followed.asked(LIST, 3)
        assert not confirming.done()
        assert not followed.reflector.synced
        assert followed.shown == shown
        before = followed.shown.count("synced")
        await confirming
        assert followed.shown.count("synced") == before + 1


async def test_of_a_watch_in_whose_midst_everything_is_forgotten_no_more_is_shown() -> None:
    """What has arrived of it may be of objects that may not be read any more."""
    client = Slow()
    client.pods = list
    reflector = Reflector(client, PODS, Pod)
    stream = reflector.stream()
    assert told(await anext(stream)) == "synced"
    following = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(1)
    lines = event("ADDED", pod("p", 2001)) + event("ADDED", pod("q", 2002))
    client.latest.shown.put_nowait(lines)
    client.start = 2002
    assert told(await following) == "+p2001"
    assert len(reflector.forget()) == 1
    assert told(await anext(stream)) == "synced"
    await stream.aclose()
