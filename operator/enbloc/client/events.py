# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes Events (events.k8s.io/v1), repeated ones as a series, as client-go writes them.

The first event of a series is created; the second turns it into a series at once; later ones are
only counted, and the count is written every 30 minutes and after 6 minutes without another one.

The events of one namespace are written one after another, in parallel with other namespaces: a
namespace that refuses or hangs, for example behind a webhook, delays only its own events.

Events about success are written at a bounded rate, and at a trickle while many Bindings are in
flight, because those come first. Of events about single pods, few wait and the rest are dropped.
"""

import asyncio
import enum
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cachetools import LRUCache

from enbloc.client.client import Client, PatchType
from enbloc.client.errors import (
    AlreadyExists,
    APIError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from enbloc.client.paced_queue import PacedQueue
from enbloc.client.paths import EVENTS, Resource
from enbloc.model.text import printable
from enbloc.model.times import micro_time_text
from enbloc.telemetry import metrics

#: The most events that wait or are being written, in all namespaces.
QUEUE_LENGTH: Final = 1000
#: The most requests in flight.
PARALLEL: Final = 8
SERIES: Final = 4096
#: The namespace of events about objects without a namespace.
DEFAULT: Final = "default"
FINISH_SECONDS: Final = 360.0
REFRESH_SECONDS: Final = 1800.0
SWEEP_SECONDS: Final = 60.0
TRIES: Final = 12
RETRY_SECONDS: Final = 10.0
_WORD: Final = 128  # the server's limit on reason, action, instance (characters)
_NOTE: Final = 1024  # the server's limit on the note (bytes)

logger = logging.getLogger(__name__)


class Pace(NamedTuple):
    """How fast events are written that may be late.

    Attributes:
        burst: the most at once.
        rate: events a second after a burst.
        trickle: events a second, in place of both, while something else matters more.
        length: the most that wait.
    """

    burst: int
    rate: float
    trickle: float
    length: int


class Urgency(enum.Enum):
    """How soon an event must be written."""

    NEWS = "at once"
    GROUP = "what went well, of one group"
    POD = "the same, of each of many pods"


PACES: Final = {
    Urgency.GROUP: Pace(burst=100, rate=25.0, trickle=5.0, length=QUEUE_LENGTH),
    Urgency.POD: Pace(burst=50, rate=10.0, trickle=1.0, length=200),
}


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The object that an event is about.

    Attributes:
        resource: its type.
        namespace: "" for cluster-scoped objects; their events go to "default".
        name: its name.
        uid: its UID.
    """

    resource: Resource
    namespace: str
    name: str
    uid: str

    def reference(self) -> Mapping[str, str]:
        """The ObjectReference as the API spells it."""
        wanted = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        }
        return {key: value for key, value in wanted.items() if value}


@dataclass(frozen=True, slots=True)
class Notice:
    """What an event says; two that differ only in the note belong to one series.

    Attributes:
        type: "Normal" or "Warning".
        reason: why, in CamelCase.
        action: what was being done, in CamelCase.
        note: for people; escaped, and cut at 1024 bytes.
        reporter: the reportingController.
        regarding: what it is about.
        related: a second object, if any.
        urgency: whether it may be late.
        single: write a separate event each time, because its note matters.
    """

    type: str
    reason: str
    action: str
    note: str
    reporter: str
    regarding: ObjectReference
    related: ObjectReference | None = None
    urgency: Urgency = Urgency.NEWS
    single: bool = False

    def key(self) -> tuple[object, ...]:
        """The identity of its series."""
        return (
            self.type,
            self.reason,
            self.action,
            self.reporter,
            self.regarding,
            self.related,
        )


@dataclass(slots=True)
class _Series:
    """An event that was written, and how often it occurred.

    Attributes:
        body: the event as created; its name changes if it had to be created again.
        count: how often it occurred.
        last: when it last occurred, as MicroTime.
        written: the count that the server has.
        came_at: when it last occurred, on the loop's clock.
        written_at: when the count was written, on the loop's clock.
    """

    body: dict[str, Any]
    count: int
    last: str
    written: int
    came_at: float
    written_at: float


class _Said(NamedTuple):
    """A notice and its time (seconds since the epoch), because it may be written much later."""

    notice: Notice
    at: float


class Recorder:
    """Writes events in the background: ``emit`` never waits and never fails.

    Args:
        client: the API.
        instance: the reportingInstance, the name of enbloc's pod.
        busy: whether the API server has more important work now; None = never.
    """

    def __init__(
        self, client: Client, instance: str, busy: Callable[[], bool] | None = None
    ) -> None:
        self._client = client
        self._instance = instance[:_WORD]
        self._queues: dict[str, deque[_Said | _Series]] = {}
        #: How many are queued or being written; `_written` is set while there are none.
        self._waiting = 0
        self._written = asyncio.Event()
        self._late = {
            urgency: PacedQueue[_Said](
                self._put,
                metrics.EVENTS_DROPPED.inc,
                rate=pace.rate,
                burst=pace.burst,
                length=pace.length,
                busy=busy,
                trickle=pace.trickle,
            )
            for urgency, pace in PACES.items()
        }
        self._slots = asyncio.Semaphore(PARALLEL)
        self._running: asyncio.Task[None] | None = None
        self._writers: asyncio.TaskGroup | None = None
        self._busy: set[str] = set()
        # Bounded: a forgotten series starts anew, for example when many pods are placed at once.
        self._series: LRUCache[tuple[object, ...], _Series] = LRUCache(SERIES)

    def emit(self, notice: Notice) -> None:
        """Queue an event; if 1000 wait, drop and count the oldest of the longest queue."""
        late = self._late.get(notice.urgency)
        put = self._put if late is None else late.put
        put(notice.regarding.namespace or DEFAULT, _Said(notice, time.time()))

    async def run(self) -> None:
        """Write queued events, until `flush`."""
        self._running = asyncio.current_task()
        async with asyncio.TaskGroup() as writers:
            self._writers = writers
            for urgency, late in self._late.items():
                writers.create_task(late.run(), name=f"events: {urgency.value}")
            try:
                for namespace in list(self._queues):
                    self._start(namespace)
                while True:
                    await asyncio.sleep(SWEEP_SECONDS)
                    self._sweep(finish=False)
            finally:
                self._writers = None
                self._busy.clear()

    async def flush(self, timeout: float) -> None:
        """End ``run``; write the queued events and all series' counts within `timeout` seconds."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        await self.written(timeout)
        metrics.EVENTS_DROPPED.inc(self._waiting)

    async def written(self, timeout: float) -> None:
        """Write the same, whether ``run`` has ended or goes on."""
        for late in self._late.values():  # urgent events keep their places
            late.drain(QUEUE_LENGTH - self._waiting)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._drain()
                self._sweep(finish=True)
                await self._drain()

    def _put(self, namespace: str, what: "_Said | _Series") -> None:
        if self._waiting >= QUEUE_LENGTH:
            metrics.EVENTS_DROPPED.inc()
            if not self._queues:  # all of them are being written, one per namespace
                return
            longest = max(self._queues, key=lambda each: len(self._queues[each]))
            self._take(longest)
            self._waiting -= 1
        self._queues.setdefault(namespace, deque()).append(what)
        self._waiting += 1
        self._start(namespace)

    def _take(self, namespace: str) -> "_Said | _Series":
        queue = self._queues[namespace]
        taken = queue.popleft()
        if not queue:
            del self._queues[namespace]
        return taken

    def _start(self, namespace: str) -> None:
        if self._writers is not None and namespace not in self._busy:
            self._busy.add(namespace)
            self._writers.create_task(self._write(namespace), name=f"events of {namespace}")

    async def _write(self, namespace: str) -> None:
        """Write the queued events of a namespace, one after another."""
        while namespace in self._queues:
            taken = self._take(namespace)
            try:
                if isinstance(taken, _Said):
                    await self._record(*taken)
                else:
                    await self._update(taken)
            finally:
                self._waiting -= 1
                if not self._waiting:
                    self._written.set()
        self._busy.discard(namespace)

    async def _drain(self) -> None:
        if self._writers is not None:  # `run` writes them
            while self._waiting:
                self._written.clear()
                await self._written.wait()
            return
        async with asyncio.TaskGroup() as writers:
            for namespace in list(self._queues):
                writers.create_task(self._write(namespace))

    async def _record(self, notice: Notice, at: float) -> None:
        said = micro_time_text(at)
        series = None if notice.single else self._series.get(notice.key())
        if series is None:
            series = _Series(self._body(notice, said), 1, said, 0, _now(), 0.0)
            if await self._create(series) and not notice.single:
                self._series[notice.key()] = series
            return
        series.count += 1
        series.last = said
        series.came_at = _now()
        if series.count == 2:
            await self._update(series)

    def _sweep(self, *, finish: bool) -> None:
        """Queue the counts that are due; forget the series that have ended."""
        for key, series in list(self._series.items()):
            ended = finish or _now() - series.came_at >= FINISH_SECONDS
            due = ended or _now() - series.written_at >= REFRESH_SECONDS
            if due and series.count > series.written:
                self._put(series.body["metadata"]["namespace"], series)
            if ended:
                del self._series[key]

    async def _create(self, series: _Series) -> bool:
        metadata = series.body["metadata"]
        about = series.body["regarding"]["name"][:230]
        metadata["name"] = f"{about}.{time.time_ns():x}"
        return await self._send(series, "create")

    async def _update(self, series: _Series) -> None:
        if not await self._send(series, "patch"):
            await self._create(series)

    async def _send(self, series: _Series, verb: str) -> bool:
        """Write a series until it succeeds or cannot; False if the event has to be created anew."""
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(RETRY_SECONDS)
            try:
                async with self._slots:
                    await self._request(verb, series)
            except (Unreachable, ServerError, TooManyRequests, Unauthorized):
                continue
            except NotFound:
                if verb == "patch":
                    return False  # events live for an hour
                break
            except AlreadyExists:
                pass  # an earlier try whose answer was lost
            except APIError:
                break  # refused: a terminating namespace, a missing permission
            except Exception:  # a bug must not keep other events from being written
                logger.exception("Failed to write the event %s", series.body["reason"])
                break
            series.written, series.written_at = series.count, _now()
            return True
        metrics.EVENTS_DROPPED.inc()
        return verb == "patch"

    async def _request(self, verb: str, series: _Series) -> None:
        metadata = series.body["metadata"]
        count = {"count": series.count, "lastObservedTime": series.last}
        if verb == "create":
            body = {**series.body, "series": count} if series.count > 1 else series.body
            await self._client.create(EVENTS, body, metadata["namespace"], tries=1)
        else:
            await self._client.patch(
                EVENTS,
                metadata["name"],
                {"series": count},
                metadata["namespace"],
                kind=PatchType.MERGE,
            )

    def _body(self, notice: Notice, now: str) -> dict[str, Any]:
        body: dict[str, Any] = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"namespace": notice.regarding.namespace or DEFAULT},
            "eventTime": now,
            "type": notice.type,
            "reason": notice.reason[:_WORD],
            "action": notice.action[:_WORD],
            "note": printable(notice.note).encode()[:_NOTE].decode(errors="ignore"),
            "reportingController": notice.reporter,
            "reportingInstance": self._instance,
            "regarding": notice.regarding.reference(),
        }
        if notice.related is not None:
            body["related"] = notice.related.reference()
        return body


def _now() -> float:
    return asyncio.get_running_loop().time()
