# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""List and watch one resource: a stream of its changes, without losses or duplicates.

::

              ┌───────────────── 410: resourceVersion too old ────────────────┐
              ▼                                                               │
    ──► LIST, paged ──► WATCH ──► ended, broken or stalled: WATCH again from the last version
          ▲  │            ▲  │
          └──┘            └──┘  error: wait (jittered, growing), then the same step again

If a watch does not show what a consistent read does (`probe`), it is closed, and LIST is next.

A list is compared with the known rows, and the differences are emitted. A row holds only UID and
resourceVersion: a consumer that needs the objects keeps them.
"""

import asyncio
import logging
import math
import random
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, suppress
from typing import Any, Final, Generic, NamedTuple

import msgspec

from enbloc.client.backoff import Backoff
from enbloc.client.client import PAGE_SIZE, Client, Paging, Query
from enbloc.client.errors import (
    APIError,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    TooLong,
    TooManyRequests,
    Unreachable,
    from_status,
    readable,
)
from enbloc.client.items import (
    Deleted,
    Item,
    Malformed,
    Meta,
    Page,
    Row,
    Seen,
    Synced,
    T,
    Timing,
    Wire,
)
from enbloc.client.paths import Resource
from enbloc.client.probe import Probe, restored
from enbloc.client.transport import Stream
from enbloc.model.text import quoted
from enbloc.telemetry import metrics

#: The length of a watch for `confirm` (seconds): the server sends a bookmark before it ends.
CONFIRM_SECONDS: Final = 3.0
#: The types of watch events that carry a change.
CHANGES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})
#: The first wait before the list that follows a watch that lost its place (seconds).
EXPIRED_SECONDS: Final = 0.1
#: After this many objects of a page other tasks get a turn, such as the one that reads the next.
TURN: Final = 50

logger = logging.getLogger(__name__)


class _Error(msgspec.Struct):
    """An ERROR event of a watch: its object is a Status."""

    object: dict[str, Any]


_ERROR: Final = msgspec.json.Decoder(_Error).decode


class _Waiter(NamedTuple):
    """A call of `confirm` that waits.

    Attributes:
        since: a consistent list that is requested from then on ends it (seconds).
        wanted: so does anything of this resourceVersion, while the watch is not stale.
        passed: done when it ends.
    """

    since: float
    wanted: int
    passed: asyncio.Future[None]


class Reflector(Generic[T]):
    """List + watch of one resource; iterate ``stream()`` in one task.

    Args:
        client: the API.
        resource: what to watch.
        shape: the msgspec type of the objects; its ``metadata`` is a Meta or similar.
        namespace: None for all.
        query: label and field selectors.
        timing: the waits.
        report: called with each new problem, and with None when it is over.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        shape: type[T],
        *,
        namespace: str | None = None,
        query: Query | None = None,
        timing: Timing | None = None,
        report: Callable[[str | None], None] = lambda _: None,
    ) -> None:
        self.resource = resource
        #: Whether a list has completed since the start.
        self.synced = False
        #: Everything up to this resourceVersion is emitted and taken; 0 before the first list.
        self.version = 0
        self._client = client
        self._namespace = namespace
        self._query = dict(query or {})
        self._timing = timing or Timing()
        #: May be set until the stream begins.
        self.report = report
        self._wire = Wire(shape)
        self._rows: dict[tuple[str, str], Row] = {}
        self._probe = Probe(
            client,
            resource,
            self._shown,
            self._known,
            lambda: self.version,
            lambda: self._open is not None,
            namespace=namespace,
            query=query,
        )
        #: Why requests fail; `_doubt` is what is wrong with the watch although none fails.
        self._failure: str | None = None
        self._doubt: str | None = None
        self._problem: str | None = None
        self._unknown = ""
        #: Whether the latest request got a 403, or a 404 for the whole resource.
        self.refused = False
        #: Whether the latest failure says nothing of this resource: the server is away.
        self.away = False
        #: The least resourceVersion of the next list; 0 = a consistent list is next or under way.
        self._list_from = 0
        #: When the latest completed list that is a consistent read was requested.
        self._read_at = -math.inf
        #: When the watch was last found to lack something.
        self._distrusted_at = -math.inf
        self._waiting: list[_Waiter] = []
        self._open: Stream | None = None
        self._sooner: asyncio.Event | None = None
        metrics.WATCH_FAILING.labels(resource.known_as).set(0)

    def serve(self, resource: Resource) -> None:
        """Use the resource in this version from the next request on."""
        self.resource = self._probe.resource = resource

    def forget(self) -> list[Deleted[T]]:
        """Go back to the start, with no object known, and list again; returns what was known."""
        known = [Deleted[T](row.meta(*key), None) for key, row in self._rows.items()]
        self._rows = {}
        self.synced, self._read_at = False, -math.inf
        self._relist()
        return known

    async def stream(self) -> AsyncGenerator[Item[T], None]:
        """Yield changes forever; errors are reported, and the requests retried.

        An item counts as taken when the consumer asks for the next one.
        """
        probing = asyncio.create_task(self._keep_probing(), name=f"probe {self.resource.label()}")
        least, most = self._timing.retry
        retry, refused = Backoff(least, most), Backoff(*self._timing.refused)
        expired = Backoff(min(least, EXPIRED_SECONDS), most)
        listed = False
        try:
            while True:
                before, began = self.version, self._client.clock.local()
                wait, asked, hurried = 0.0, False, listed and bool(self._waiting)
                try:
                    async with aclosing(self._watch() if listed else self.list_once()) as items:
                        async for item in items:
                            yield item
                    if not listed:
                        listed = self._list_from > 0
                        continue
                except APIError as error:
                    lost = self._lost_its_place(error)
                    listed = listed and not lost
                    self._failed(error)
                    lacking = isinstance(error, Forbidden | NotFound)
                    if lacking and not listed:
                        self._refuse(error)
                    wait = (refused if lacking else expired if lost else retry).after(error)
                    asked = isinstance(error, TooManyRequests)
                # Only a consistent list shows what a stale watch has missed, and how far this
                # stream is if no bookmark came.
                if self._waiting and (hurried or not listed):
                    self._list_from = 0
                listed = listed and self._list_from > 0
                lasted = self._client.clock.local() - began
                if self.version > before or lasted > 1:  # it worked for a while
                    for backoff in (retry, refused, expired):
                        backoff.reset()
                elif not wait:  # do not hammer a server that hangs up at once
                    wait = retry.next()
                await (asyncio.sleep(wait) if asked else self._rest(wait))
        finally:
            probing.cancel()

    def hurry(self) -> None:
        """End the wait after an error, because the server answers again.

        A wait that the server asked for goes on.
        """
        if self._sooner is not None:
            self._sooner.set()

    async def _rest(self, seconds: float) -> None:
        self._sooner = asyncio.Event()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._sooner.wait()
        finally:
            self._sooner = None

    async def confirm(self, since: float = math.inf) -> None:
        """Return once the stream has passed a consistent read made after `since`.

        That read may be the last list; otherwise it is made now.

        To hurry, the stream watches anew for CONFIRM_SECONDS, because the server sends a bookmark
        before a watch ends, but only once a minute on a quiet stream. If no bookmark comes, the
        stream lists again.

        Args:
            since: a time of the client's `clock.local`, seconds; inf = now.

        Raises:
            APIError: the read failed, or the list that was to follow was refused.
        """
        if self._read_at >= since:
            return
        since, reached = min(since, self._client.clock.local()), self.version
        raw = await self._client.page(self.resource, self._namespace, query=self._query, limit=1)
        wanted = self._page(raw).version
        self.hurry()
        if wanted < reached:
            self._distrust(restored(wanted, reached))
            since = self._distrusted_at  # a list of before may have what was undone
        waiter = _Waiter(since, wanted, asyncio.get_running_loop().create_future())
        if self._confirms(waiter, self.version):
            return
        if not self._waiting:  # else the watch is a short one, or closed
            self._hang_up()
        self._waiting.append(waiter)
        try:
            await waiter.passed
        finally:
            self._waiting.remove(waiter)

    def _confirms(self, waiter: _Waiter, version: int) -> bool:
        """Whether a stream that has passed this version has passed what is waited for."""
        reached = version >= waiter.wanted and not self._stale
        return reached or self._read_at >= waiter.since

    def _refuse(self, error: APIError) -> None:
        """End the waits for a list that may never come."""
        for waiter in self._waiting:
            if not waiter.passed.done():
                waiter.passed.set_exception(error)

    async def _keep_probing(self) -> None:
        """Probe regularly whether the watch shows what the server has."""
        while True:
            pause = self._timing.probe * random.uniform(0.7, 1.0)  # noqa: S311
            await asyncio.sleep(pause / 3 if self._doubt else pause)
            if not self.synced or not self._list_from:
                continue  # a consistent list shows everything
            read_at = self._read_at
            try:
                lacking = await self._probe.look()
            except APIError as error:
                self._doubt = error.advice
            except Exception:  # a bug here must not stop the stream
                logger.exception("Failed to probe the watch of %s", self.resource.label())
            else:
                if not self._list_from or self._read_at != read_at:
                    continue  # so does one of meanwhile
                self._doubt = None
                if lacking:
                    self._distrust(lacking)
            self._say()

    def _distrust(self, lacking: str) -> None:
        """Close the watch, and list everything again by a consistent read."""
        metrics.STALE_WATCHES.labels(self.resource.known_as).inc()
        self._doubt = (
            f"the watch of {self.resource.label()} is stale: a list has {lacking}, "
            "which the watch has not shown; relisting"
        )
        self._relist()

    def _relist(self) -> None:
        """Close the watch; a consistent list is next."""
        self._distrusted_at, self._list_from = self._client.clock.local(), 0
        self._hang_up()

    @property
    def _stale(self) -> bool:
        """Whether no consistent list that was requested since the last distrust has completed."""
        return self._read_at < self._distrusted_at

    def _hang_up(self) -> None:
        """Close the watch, which is no failure."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _shown(self, key: tuple[str, str]) -> int:
        row = self._rows.get(key)
        return 0 if row is None else row.version

    def _known(self) -> int:
        return len(self._rows)

    def has_passed(self, namespace: str, name: str, version: int) -> bool:
        """Whether the stream has shown a later version of an object, or its deletion."""
        row = self._rows.get((namespace, name))
        if row is None:
            return self.synced and self.version >= version
        return row.version > version

    # ── the two steps ────────────────────────────────────────────────────────────────────────
    async def list_once(self) -> AsyncGenerator[Item[T], None]:
        """Yield the differences between one list and the known rows, then Synced.

        Raises:
            APIError: the list cannot be read; this method does not retry.
        """
        seen: set[tuple[str, str]] = set()
        version, unnamed, consistent, rows = 0, False, not self._list_from, self._rows
        read_at = self._client.clock.local() if consistent else -math.inf
        async with aclosing(self._pages()) as pages:
            async for first, page in pages:
                if first:
                    seen.clear()
                version = page.version
                if version < self.version:
                    self._went_back()
                for count, (meta, found, problem) in enumerate(page.objects, start=1):
                    if not count % TURN:
                        await asyncio.sleep(0)
                    if self._rows is not rows:
                        return  # what was known was forgotten meanwhile
                    unnamed = unnamed or not meta.name
                    self._believe(meta, version if consistent else 0)
                    seen.add((meta.namespace, meta.name))
                    for difference in self._differences("MODIFIED", meta, found, problem):
                        yield difference
        # An object that could not be identified may be any of the rows.
        for deleted in () if unnamed else self._others(seen):
            yield deleted
        if self._rows is not rows:
            return
        self._worked()
        self.synced = True
        yield Synced()
        self._read_at = max(self._read_at, read_at)
        self._passed(version)

    async def _pages(self) -> AsyncGenerator[tuple[bool, Page[T]], None]:
        """The pages of one list, each with whether the list begins with it.

        The next page is requested before the current one is processed.

        The first list is a consistent read; later ones are at least as new as what was seen. A
        list that outlives its snapshot starts over, with everything in one page.
        """
        limit = PAGE_SIZE
        query: dict[str, str | int] = dict(self._query)
        if self._list_from:
            query |= {"resourceVersion": self._list_from, "resourceVersionMatch": "NotOlderThan"}
        paging = Paging(self.resource.label())
        coming = self._ask(query, limit)
        try:
            while True:
                try:
                    page = self._page(await coming)
                except TooLong:
                    if limit == 1:
                        raise
                    limit = max(1, (limit or PAGE_SIZE) // 10)
                except Gone:
                    if "continue" not in query:
                        raise
                    limit, query = 0, dict(self._query)
                else:
                    first = "continue" not in query
                    if not page.more:
                        yield first, page
                        return
                    query = {**self._query, **paging.next(page.more)}
                    coming = self._ask(query, limit)
                    yield first, page
                    continue
                coming = self._ask(query, limit)
        finally:
            coming.cancel()

    def _ask(self, query: Query, limit: int) -> asyncio.Task[bytes]:
        """Request a page now; its caller may await it later."""
        page = self._client.page(self.resource, self._namespace, query=query, limit=limit)
        asked = asyncio.create_task(page, name=f"list {self.resource.label()}")
        asked.add_done_callback(
            lambda done: done.cancelled() or done.exception()
        )  # retrieved here, because nobody may await it
        return asked

    async def _watch(self) -> AsyncGenerator[Item[T], None]:
        seconds = CONFIRM_SECONDS if self._waiting else random.uniform(*self._timing.watch)  # noqa: S311
        query: Query = {
            **self._query,
            "resourceVersion": self.version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": max(1, round(seconds)),
        }
        silence = seconds + self._timing.grace
        hurried = bool(self._waiting)
        async with self._client.watch(
            self.resource, self._namespace, query=query, silence=silence
        ) as stream:
            self._worked()
            if not self._list_from or (self._waiting and not hurried):  # while it was opening
                return
            self._open, rows = stream, self._rows
            loop = asyncio.get_running_loop()
            # `confirm` does not wait for a server that ignores how short the watch is to be.
            end = loop.call_later(silence, self._hang_up) if hurried else None
            try:
                async for lines in stream.lines():
                    for line in lines:
                        if self._rows is not rows:
                            return  # likewise
                        for item in self._changes(line):
                            yield item
            except Unreachable:
                if self._open is stream:
                    raise
            finally:
                self._open = None
                if end is not None:
                    end.cancel()

    def _changes(self, line: bytes) -> Iterator[Item[T]]:
        label = self.resource.label()
        kind, meta, found, problem = readable(self._wire.line, line, "watch", label)
        if kind == "ERROR":
            status = readable(_ERROR, line, "watch", label).object
            code = status.get("code")
            raise from_status("watch", label, code if isinstance(code, int) else 500, status)
        if kind in CHANGES:
            if self._is_replayed(meta):
                return
            yield from self._differences(kind, meta, found, problem)
        elif kind != "BOOKMARK":
            self._say_unknown(kind)
            return
        self._passed(meta.version)

    def _is_replayed(self, meta: Meta) -> bool:
        """Whether an event is about an object whose deletion has already passed."""
        known = (meta.namespace, meta.name) in self._rows
        return not known and 0 < meta.version <= self.version

    def _say_unknown(self, kind: str) -> None:
        """Log an event of an unknown type, once per type; the next probe finds what it hides."""
        if kind != self._unknown:
            self._unknown = kind
            logger.warning(
                "Ignored a watch event of the unknown type %s of %s",
                quoted(kind),
                self.resource.label(),
            )

    # ── rows ─────────────────────────────────────────────────────────────────────────────────
    def _differences(
        self, kind: str, meta: Meta, found: T | None, problem: str
    ) -> Iterator[Item[T]]:
        """The items for a state of an object, given its row."""
        if not meta.name:
            yield Malformed(meta, problem)
            return
        key = (meta.namespace, meta.name)
        row, version = self._rows.get(key), meta.version
        if row is not None and version <= row.version:
            return  # not newer than what was emitted
        if kind == "DELETED":
            if row is not None:
                del self._rows[key]
                self._probe.saw(key, version)
                yield Deleted(row.meta(*key), found)
            return
        if row is not None and row.uid != meta.uid:  # deleted and created again, unseen
            yield Deleted(row.meta(*key), None)
        self._rows[key] = Row(meta.uid, version)
        self._probe.saw(key, version)
        if found is None:
            yield Malformed(meta, problem)
        else:
            yield Seen(meta, found)

    def _others(self, seen: set[tuple[str, str]]) -> Iterator[Deleted[T]]:
        """Delete the rows that a list did not show."""
        for key in self._rows.keys() - seen:
            if (row := self._rows.pop(key, None)) is not None:  # else forgotten meanwhile
                yield Deleted(row.meta(*key), None)

    def _went_back(self) -> None:
        """Accept that the server is older than what was seen, as after a restore from a backup."""
        for row in self._rows.values():
            row.version = 0
        self.version = 0
        self._failed(
            ServerError("list", self.resource.label(), "the resourceVersion went back in time")
        )

    def _believe(self, meta: Meta, read_at: int) -> None:
        """Accept an older state of an object that was read later than the known newer one.

        It shows that the server was restored from a backup and has caught up.

        Args:
            meta: the state that was read.
            read_at: the resourceVersion of the consistent read; 0 = it was none.
        """
        row = self._rows.get((meta.namespace, meta.name))
        if row is not None and 0 < meta.version < row.version <= read_at:
            row.version = 0

    def _passed(self, version: int) -> None:
        self.version = max(self.version, version)
        if not self._stale:
            self._list_from = self.version
        for waiter in self._waiting:
            if self._confirms(waiter, version) and not waiter.passed.done():
                waiter.passed.set_result(None)

    # ── requests that fail ───────────────────────────────────────────────────────────────────
    def _page(self, raw: bytes) -> Page[T]:
        return readable(self._wire.page, raw, "list", self.resource.label())

    def _lost_its_place(self, error: APIError) -> bool:
        """Whether a watch cannot go on from where it was."""
        if error.has_cause("ResourceVersionTooLarge"):
            self._list_from = 0  # the server is behind what was seen: list what it has
            return True
        if isinstance(error, Invalid):
            self._list_from = 0  # this server may never have given that version
        return isinstance(error, Gone | Invalid)

    # ── status ───────────────────────────────────────────────────────────────────────────────
    def _failed(self, error: APIError) -> None:
        metrics.WATCH_RESTARTS.labels(self.resource.known_as).inc()
        self._failure = error.advice
        self.refused = isinstance(error, Forbidden | NotFound)
        self.away = error.server_away
        self._say()

    def _worked(self) -> None:
        self._failure = None
        self.refused = False
        self._say()

    def _say(self) -> None:
        problem = self._failure or self._doubt
        if problem != self._problem:
            self._problem = problem
            metrics.WATCH_FAILING.labels(self.resource.known_as).set(problem is not None)
            self.report(problem)
