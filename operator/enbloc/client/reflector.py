# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One resource, listed and watched: a stream of what changed, without loss and without doubling.

::

              ┌───────────────── 410: resourceVersion too old ────────────────┐
              ▼                                                               │
    ──► LIST, paged ──► WATCH ──► ended, broken or stalled: WATCH again from the last version
          ▲  │            ▲  │
          └──┘            └──┘  error: wait (jittered, growing), then the same step again

A watch that does not show what a consistent read does (`probe`) is closed, and LIST is next.

A list is compared with the rows seen before, and the difference is emitted. A row holds UID and
resourceVersion only: who needs the objects keeps them.
"""

import asyncio
import logging
import math
import random
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, suppress
from typing import Any, Final, Generic

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
from enbloc.client.probe import Probe
from enbloc.client.transport import Stream
from enbloc.model.text import quoted
from enbloc.telemetry import metrics

#: A watch that is to confirm is this short: the server sends a bookmark before it ends (seconds).
CONFIRM_SECONDS: Final = 3.0
#: The types of a watch's events that change something.
CHANGES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})
#: After a watch that lost its place comes a list, at first at once (seconds).
EXPIRED_SECONDS: Final = 0.1
#: After so many objects of a page other tasks have a turn, among them that which reads the next.
TURN: Final = 50

logger = logging.getLogger(__name__)


class _Error(msgspec.Struct):
    """An ERROR event of a watch: its object is a Status."""

    object: dict[str, Any]


_ERROR: Final = msgspec.json.Decoder(_Error).decode


class Reflector(Generic[T]):
    """List + watch of one resource; iterate ``stream()`` in one task.

    Args:
        client: the API.
        resource: what to watch.
        shape: the msgspec type of the objects; its ``metadata`` is a Meta or alike.
        namespace: None for all.
        query: label and field selectors.
        timing: how long to wait for what.
        report: called with the problem when there is a new one, and with None when it is over.
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
        #: Everything up to this resourceVersion was emitted and taken; 0 before the first list.
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
            client, resource, self._shown, self._known, namespace=namespace, query=query
        )
        #: What is wrong with requests, and what with the watch although none failed.
        self._failure: str | None = None
        self._doubt: str | None = None
        self._stale = False
        self._problem: str | None = None
        self._unknown = ""
        #: Whether the latest request was answered by 403, or by 404 of the whole resource.
        self.refused = False
        self._list_from = 0
        #: When the latest list that was a consistent read was asked for, of those taken.
        self._read_at = -math.inf
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._open: Stream | None = None
        self._sooner: asyncio.Event | None = None
        metrics.WATCH_FAILING.labels(resource.known_as).set(0)

    def serve(self, resource: Resource) -> None:
        """Ask for the resource in this version from the next request on."""
        self.resource = self._probe.resource = resource

    async def stream(self) -> AsyncGenerator[Item[T], None]:
        """What changes, for ever; every error is reported, and retried.

        An item counts as taken when the next one is asked for.
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
                    if listed:
                        async with aclosing(self._watch()) as changes:
                            async for change in changes:
                                yield change
                    else:
                        async with aclosing(self.list_once()) as differences:
                            async for difference in differences:
                                yield difference
                        listed = True
                        continue
                except APIError as error:
                    lost = self._lost_its_place(error)
                    listed = listed and not lost
                    self._failed(error)
                    lacking = isinstance(error, Forbidden | NotFound)
                    wait = (refused if lacking else expired if lost else retry).after(error)
                    asked = isinstance(error, TooManyRequests)
                # Only a list tells what a stale watch has not shown; and how far this is if no
                # bookmark came.
                if self._stale or (hurried and self._waiting):
                    listed, self._list_from, self._stale = False, 0, False
                lasted = self._client.clock.local() - began
                if self.version > before or lasted > 1:  # it worked for a while
                    for backoff in (retry, refused, expired):
                        backoff.reset()
                elif not wait:  # a server that hangs up at once is not to be hammered
                    wait = retry.next()
                await (asyncio.sleep(wait) if asked else self._rest(wait))
        finally:
            probing.cancel()

    def hurry(self) -> None:
        """End a wait after an error, since the server answers; not one that it asked for."""
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
        """Return once the stream has passed a consistent read made since then.

        Such a read may have been the last list; else one is made now.

        The stream is told to hurry: it watches again for CONFIRM_SECONDS, because the server sends
        a bookmark before a watch ends, and on a quiet stream once a minute otherwise. Of a server
        that sends none it lists again.

        Args:
            since: seconds of the client's `clock.local`; inf = now.

        Raises:
            APIError: the read failed.
        """
        if self._read_at >= since:
            return
        raw = await self._client.page(self.resource, self._namespace, query=self._query, limit=1)
        wanted = self._page(raw).version
        self.hurry()
        if self.synced and self.version >= wanted:
            return
        passed = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, passed))
        if self._open is not None:
            self._open.close()
        try:
            await passed
        finally:
            self._waiting.remove((wanted, passed))

    async def _keep_probing(self) -> None:
        """Look again and again whether the watch shows what the server has."""
        while True:
            pause = self._timing.probe * random.uniform(0.7, 1.0)  # noqa: S311
            await asyncio.sleep(pause / 3 if self._doubt else pause)
            if not self.synced:
                continue
            try:
                lacking = await self._probe.look()
            except APIError as error:
                self._doubt = error.advice
            except Exception:  # a bug here must not stop the stream
                logger.exception("Failed to probe the watch of %s", self.resource.label())
            else:
                self._doubt = None
                if lacking:
                    self._distrust(lacking)
            self._say()

    def _distrust(self, lacking: str) -> None:
        """Have the watch closed, and all listed anew by a consistent read."""
        metrics.STALE_WATCHES.labels(self.resource.known_as).inc()
        self._doubt = (
            f"the watch of {self.resource.label()} is stale: a list has {lacking}, "
            "which the watch has not shown; relisting"
        )
        self._stale = True
        if self._open is not None:
            self._open.close()

    def _shown(self, key: tuple[str, str]) -> int:
        row = self._rows.get(key)
        return 0 if row is None else row.version

    def _known(self) -> int:
        return len(self._rows)

    def has_passed(self, namespace: str, name: str, version: int) -> bool:
        """Whether it has shown a later version of an object, or that it is gone."""
        row = self._rows.get((namespace, name))
        if row is None:
            return self.synced and self.version >= version
        return row.version > version

    # ── the two steps ────────────────────────────────────────────────────────────────────────
    async def list_once(self) -> AsyncGenerator[Item[T], None]:
        """What one list differs by from what was seen before, then Synced.

        Raises:
            APIError: it cannot be read; nothing is tried again.
        """
        seen: set[tuple[str, str]] = set()
        version, unnamed, consistent = 0, False, not self._list_from
        began = self._client.clock.local()
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
                    unnamed = unnamed or not meta.name
                    if consistent:
                        self._believe(meta, version)
                    seen.add((meta.namespace, meta.name))
                    for difference in self._differences("MODIFIED", meta, found, problem):
                        yield difference
        # What could not be identified may be any of the rows.
        for key in () if unnamed else self._rows.keys() - seen:
            yield Deleted(self._rows.pop(key).meta(*key), None)
        self._worked()
        self.synced = True
        yield Synced()
        self._passed(version)
        if consistent:
            self._read_at = began

    async def _pages(self) -> AsyncGenerator[tuple[bool, Page[T]], None]:
        """The pages of one list, and whether it begins with this page.

        While one is taken in, the server is at work on the next.

        The first list is a consistent read, later ones are as new as what was seen. One that
        outlives its snapshot begins again, with all of it in one page.
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
        """Ask for a page now, whenever it is waited for."""
        page = self._client.page(self.resource, self._namespace, query=query, limit=limit)
        asked = asyncio.create_task(page, name=f"list {self.resource.label()}")
        asked.add_done_callback(
            lambda done: done.cancelled() or done.exception()
        )  # may be nobody's
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
            self._open = stream
            if self._closed(hurried=hurried):  # while it was opening
                return
            try:
                async for lines in stream.lines():
                    for line in lines:
                        for item in self._changes(line):
                            yield item
            except Unreachable:
                if not self._closed(hurried=hurried):
                    raise
            finally:
                self._open = None

    def _closed(self, *, hurried: bool) -> bool:
        """Whether it was ourselves who closed a watch."""
        return self._stale or (bool(self._waiting) and not hurried)

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
        """Whether an event is of an object that was gone by what has passed already."""
        known = (meta.namespace, meta.name) in self._rows
        return not known and 0 < meta.version <= self.version

    def _say_unknown(self, kind: str) -> None:
        """Log it, once for many: what such an event keeps back, the next probe finds."""
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
        """What a state of an object means, given what was seen of it."""
        if not meta.name:
            yield Malformed(meta, problem)
            return
        key = (meta.namespace, meta.name)
        row, version = self._rows.get(key), meta.version
        if row is not None and version <= row.version:
            return  # older than what was emitted
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

    def _went_back(self) -> None:
        """The server is older than what was seen (restored from a backup): believe it."""
        for row in self._rows.values():
            row.version = 0
        self.version = 0
        self._failed(
            ServerError("list", self.resource.label(), "the resourceVersion went back in time")
        )

    def _believe(self, meta: Meta, read_at: int) -> None:
        """Take a state that was read later than the newer one that is known of an object.

        There is none in one history: the server was restored from a backup, and has caught up.
        """
        row = self._rows.get((meta.namespace, meta.name))
        if row is not None and 0 < meta.version < row.version <= read_at:
            row.version = 0

    def _passed(self, version: int) -> None:
        self.version = self._list_from = max(self.version, version)
        for wanted, passed in self._waiting:
            if version >= wanted and not passed.done():
                passed.set_result(None)

    # ── requests that fail ───────────────────────────────────────────────────────────────────
    def _page(self, raw: bytes) -> Page[T]:
        return readable(self._wire.page, raw, "list", self.resource.label())

    def _lost_its_place(self, error: APIError) -> bool:
        """Whether a watch cannot go on from where it was."""
        if error.has_cause("ResourceVersionTooLarge"):
            self._list_from = 0  # the server is behind what we saw: ask what it has
            return True
        if isinstance(error, Invalid):
            self._list_from = 0  # it may be no version that this server could have given
        return isinstance(error, Gone | Invalid)

    # ── status ───────────────────────────────────────────────────────────────────────────────
    def _failed(self, error: APIError) -> None:
        metrics.WATCH_RESTARTS.labels(self.resource.known_as).inc()
        self._failure = error.advice
        self.refused = isinstance(error, Forbidden | NotFound)
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
