# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Coalesced writes: of all values put under one key, the newest is written."""

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from enbloc.client.backoff import Backoff
from enbloc.client.errors import APIError, Conflict, Fenced, NotFound, Unreachable
from enbloc.client.fair_slots import FairSlots
from enbloc.telemetry import Problems, metrics

#: A value whose write raised, or that the server rejected, is written again after this (seconds).
BUG_SECONDS: Final = 30.0
#: A newer one is written instead after no more than this (seconds): it may be valid.
NEWER_SECONDS: Final = 1.0
#: A value that goes on changing is written after this (seconds).
LATEST_SECONDS: Final = 4.0
#: More values than this that wait at once settle for longer, in proportion to their number: in a
#: burst, the server's time is for what the values tell of.
CROWD: Final = 50
#: But for no longer than this (seconds), as a rule,
CROWD_SETTLED_SECONDS: Final = 10.0
#: and one that goes on changing is written after this (seconds), or what patience there is for it.
CROWD_LATEST_SECONDS: Final = 20.0
#: Less than this is not waited (seconds): a clock may not tell it from nothing.
CLOCK_SECONDS: Final = 0.001

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Waiting(Generic[V]):
    """A value that is not written.

    Attributes:
        since: when the first came that it replaces, else itself; seconds of the loop's clock.
        changed: when it came itself; -inf = it is known to have settled.
    """

    value: V
    since: float
    changed: float


class CoalescingWriter(Generic[K, V]):
    """Writes the newest value of each key; one write is in flight per key.

    Namespaces write in turn: one with thousands of objects does not keep the others' waiting.

    A value whose object is gone is dropped. After any other failure the newest value is written
    again: with growing pauses, or every BUG_SECONDS where we or the server must change first. A
    newer value that replaces such a one does not wait for that.

    Args:
        what: is written, for messages: "PodGroup status".
        queue: its name in the metrics, as of a work queue.
        write: writes one value; raises APIError.
        problems: told what keeps values from being written.
        parallel: the most writes in flight.
        interval: the least time between the beginnings of two writes of one key, seconds.
        settles: for how long no newer value of its key must have come before this one is written,
            in seconds, but never longer than LATEST_SECONDS after the first that waits. Both grow
            when more than CROWD values wait.
        patience: for how long at most a crowd makes a value settle, in seconds; 0 = no crowd delays
            it at all.
        rejected: told, once while it stands, which value the server does not take, and why; it is
            logged in any case.
    """

    def __init__(  # noqa: PLR0913  # how it paces, and whom it tells
        self,
        what: str,
        write: Callable[[K, V], Awaitable[None]],
        problems: Problems,
        *,
        queue: str,
        parallel: int = 8,
        interval: float = 0.0,
        settles: Callable[[V], float] = lambda _: 0.0,
        patience: Callable[[V], float] = lambda _: CROWD_SETTLED_SECONDS,
        rejected: Callable[[K, str], None] = lambda _key, _why: None,
    ) -> None:
        self._what = what
        self._write = write
        self._problems = problems
        self._slots = FairSlots(parallel)
        self._interval = interval
        self._settles = settles
        self._patience = patience
        self._tell = rejected
        self._newest: dict[K, _Waiting[V]] = {}
        self._waiting: Counter[str] = Counter()  # by namespace; none is zero
        self._tasks: dict[K, asyncio.Task[None]] = {}
        self._rejected: dict[K, str] = {}
        self._newer: dict[K, asyncio.Event] = {}
        self._closing = asyncio.Event()
        self._settling: dict[K, tuple[float, asyncio.Event]] = {}  # until when, and what ends it
        self._name = queue
        self._began: dict[K, float] = {}
        metrics.WORKQUEUE_DEPTH.labels(self._name).set_function(lambda: len(self._newest))
        metrics.WORKQUEUE_UNFINISHED.labels(self._name).set_function(lambda: sum(self._running()))
        metrics.WORKQUEUE_LONGEST.labels(self._name).set_function(
            lambda: max(self._running(), default=0.0)
        )

    def _running(self) -> list[float]:
        """For how long each write under way has been; any thread may ask."""
        now = time.monotonic()
        return [now - began for began in list(self._began.values())]

    def put(self, key: K, value: V) -> None:
        """Write this value as soon as the key's turn comes; it replaces one that waits."""
        if self._closing.is_set():
            return
        self._wait(key, value)
        metrics.series(metrics.WORKQUEUE_ADDS, self._name).inc()
        if key in self._newer:
            self._newer[key].set()
        if key in self._settling:
            until, sooner = self._settling[key]
            if self._due(key) < until:
                sooner.set()
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._run(key), name=f"write {key}")

    def _wait(self, key: K, value: V) -> None:
        now = asyncio.get_running_loop().time()
        before = self._newest.get(key)
        self._keep(key, _Waiting(value, before.since if before else now, now))

    def _keep(self, key: K, waiting: _Waiting[V]) -> None:
        if key not in self._newest:
            self._waiting[_namespace(key)] += 1
        self._newest[key] = waiting

    def _take(self, key: K) -> _Waiting[V]:
        namespace = _namespace(key)
        self._waiting[namespace] -= 1
        if not self._waiting[namespace]:
            del self._waiting[namespace]
        return self._newest.pop(key)

    async def settled(self) -> None:
        """Return when nothing is left to write."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def finish(self, seconds: float) -> None:
        """Take nothing more, write what waits in so many seconds, and give up the rest."""
        self._closing.set()
        for _, sooner in self._settling.values():
            sooner.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.settled()
        self.close()

    def close(self) -> None:
        """Take nothing more, and give up what was not written."""
        self._closing.set()
        for task in self._tasks.values():
            task.cancel()

    async def _run(self, key: K) -> None:
        now = asyncio.get_running_loop().time
        backoff = Backoff()
        try:
            while key in self._newest:
                await self._settle(key)
                async with self._slots.slot(_namespace(key)):
                    next_turn = now() + self._interval
                    retry_after = await self._measured(key, self._take(key), backoff)
                if retry_after is None:
                    await self._rest(next_turn - now())
                elif retry_after == BUG_SECONDS:
                    await self._until_newer(key, retry_after, next_turn - now())
                else:
                    await asyncio.sleep(max(retry_after, next_turn - now()))
        finally:
            del self._tasks[key]
            self._rejected.pop(key, None)

    async def _settle(self, key: K) -> None:
        """Wait while newer values may come; not when this is closing."""
        now = asyncio.get_running_loop().time
        while not self._closing.is_set():
            due = self._due(key)
            if due - now() < CLOCK_SECONDS:
                return
            _, sooner = self._settling[key] = due, asyncio.Event()
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(due):
                        await sooner.wait()
            finally:
                del self._settling[key]

    def _due(self, key: K) -> float:
        """When to write the value that waits, if no newer one comes (of the loop's clock)."""
        waiting = self._newest[key]
        patience = self._patience(waiting.value)
        crowd = self._crowd(key) if patience else 1.0
        least = self._settles(waiting.value)
        settled = waiting.changed + max(least, min(least * crowd, patience))
        longest = max(CROWD_LATEST_SECONDS, patience)
        return min(settled, waiting.since + min(LATEST_SECONDS * crowd, longest))

    def _crowd(self, key: K) -> float:
        """How many times as long a value settles; at least 1.

        Namespaces share what is written: one with thousands of values delays its own.
        """
        share = CROWD / len(self._waiting)
        return max(1.0, self._waiting[_namespace(key)] / share)

    async def _rest(self, seconds: float) -> None:
        """Let the interval of a key pass, unless this is closing."""
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._closing.wait()

    async def _until_newer(self, key: K, seconds: float, least: float) -> None:
        """Wait so long, or until there is a newer value of the key."""
        newer = self._newer[key] = asyncio.Event()
        try:
            await asyncio.sleep(max(least, NEWER_SECONDS))
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds - NEWER_SECONDS):
                    await newer.wait()
        finally:
            del self._newer[key]

    async def _measured(self, key: K, waiting: _Waiting[V], backoff: Backoff) -> float | None:
        """As `_attempt`, with what the metrics tell of a work queue."""
        self._began[key] = time.monotonic()
        waited = asyncio.get_running_loop().time() - waiting.since
        metrics.series(metrics.WORKQUEUE_QUEUE_DURATION, self._name).observe(waited)
        try:
            retry_after = await self._attempt(key, waiting.value, backoff)
        finally:
            seconds = time.monotonic() - self._began.pop(key)
            metrics.series(metrics.WORKQUEUE_WORK_DURATION, self._name).observe(seconds)
        if retry_after is not None:
            metrics.series(metrics.WORKQUEUE_RETRIES, self._name).inc()
        return retry_after

    async def _attempt(self, key: K, value: V, backoff: Backoff) -> float | None:
        """Write a value; the seconds to wait before it is written again, None = it need not be."""
        try:
            await self._write(key, value)
        except APIError as error:
            if _is_pointless(error):
                logger.debug("Dropped %s update of %s: %s", self._what, key, error)
                return None
            self._again(key, value)
            if error.of_one_object:
                self._say_rejected(key, error)
                return BUG_SECONDS
            # The object changed, and its watch soon shows how; or its kind goes, which is told of.
            if not isinstance(error, Conflict) and not error.kind_terminating:
                self._problems.report(f"{self._what} update", error.advice)
            logger.debug("Retrying %s update of %s: %s", self._what, key, error)
            pause = backoff.after(error)
            if isinstance(error, Unreachable) and not error.sent:
                await asyncio.sleep(pause)  # with its slot: no other key fares better now
                return 0.0
            return pause
        except Exception:  # a bug must not keep other objects from being written
            logger.exception("Failed %s update of %s", self._what, key)
            self._again(key, value)
            return BUG_SECONDS
        else:
            self._problems.report(f"{self._what} update", None)
        backoff.reset()
        return None

    def _again(self, key: K, value: V) -> None:
        """Keep a value that was not written, unless there is a newer one."""
        if key not in self._newest:
            now = asyncio.get_running_loop().time()
            self._keep(key, _Waiting(value, now, -math.inf))

    def _say_rejected(self, key: K, error: APIError) -> None:
        """Log and tell it, once while it stands."""
        why = str(error)
        if self._rejected.get(key) != why:
            self._rejected[key] = why
            logger.error("API server rejected the %s update of %s: %s", self._what, key, why)
            self._tell(key, error.message)


def _namespace(key: Hashable) -> str:
    """Whose turn it is when a key is written; "" for keys that have no namespace."""
    return getattr(key, "namespace", "")


def _is_pointless(error: APIError) -> bool:
    """Whether the object is gone or going, or this process may no longer write.

    A 404 that names no object tells neither: the kind is not served now, or a proxy has answered.
    """
    if isinstance(error, NotFound):
        return not error.resource_missing
    return isinstance(error, Fenced) or error.namespace_terminating
