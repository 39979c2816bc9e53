# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Coalesced writes: of all values put under one key, only the newest is written."""

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
from enbloc.client.errors import APIError, Conflict, Fenced, NotFound
from enbloc.client.fair_slots import FairSlots
from enbloc.telemetry import ActiveProblems, metrics

#: The wait before a value is written again whose write raised or was rejected (seconds).
BUG_SECONDS: Final = 30.0
#: A newer value replaces such a one after at most this (seconds), because it may be valid.
NEWER_SECONDS: Final = 1.0
#: A value that keeps changing is written after this (seconds).
LATEST_SECONDS: Final = 4.0
#: If more values than this wait at once, they settle for longer, in proportion to their number: in
#: a burst, the API server's time is for the work that the values report.
CROWD: Final = 50
#: The longest time that a value settles in a crowd, by default (seconds).
CROWD_SETTLED_SECONDS: Final = 10.0
#: In a crowd, a value that keeps changing is written after this (seconds), or after its patience
#: if that is longer.
CROWD_LATEST_SECONDS: Final = 20.0
#: Shorter waits are skipped (seconds): a clock may not tell them from 0.
CLOCK_SECONDS: Final = 0.001

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Waiting(Generic[V]):
    """A value that is not written yet.

    Attributes:
        since: when the first value that it replaces came, or itself; seconds of the loop's clock.
        changed: when it came itself; -inf = it has settled.
    """

    value: V
    since: float
    changed: float


class CoalescingWriter(Generic[K, V]):
    """Writes the newest value of each key; one write is in flight per key.

    Namespaces write in turn: one with thousands of objects does not delay the others.

    A value whose object is gone is dropped. After any other failure the newest value is written
    again: with growing pauses, or every BUG_SECONDS if enbloc or the server must change first. A
    newer value does not wait that long.

    Args:
        what: the thing written, for messages: "PodGroup status".
        queue: the name of the work queue in the metrics.
        write: writes one value; raises APIError.
        problems: receives what keeps values from being written.
        parallel: the most writes in flight.
        interval: the least time between the starts of two writes of one key, seconds.
        settles: a value is written once no newer one of its key has come for this long (seconds),
            but at most LATEST_SECONDS after the first that waits. Both grow when more than CROWD
            values wait.
        patience: the longest time that a crowd makes a value settle, seconds; 0 = a crowd does not
            delay it.
        rejected: called once per rejection with the key of the value that the server rejects, and
            why; the rejection is also logged.
    """

    def __init__(  # noqa: PLR0913  # how it paces, and whom it tells
        self,
        what: str,
        write: Callable[[K, V], Awaitable[None]],
        problems: ActiveProblems,
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
        self._settling: dict[K, tuple[float, asyncio.Event]] = {}  # the end, and what ends it early
        self._name = queue
        self._began: dict[K, float] = {}
        metrics.WORKQUEUE_DEPTH.labels(self._name).set_function(lambda: len(self._newest))
        metrics.WORKQUEUE_UNFINISHED.labels(self._name).set_function(lambda: sum(self._running()))
        metrics.WORKQUEUE_LONGEST.labels(self._name).set_function(
            lambda: max(self._running(), default=0.0)
        )

    def _running(self) -> list[float]:
        """How long each write in flight has taken so far, in seconds; any thread may call this."""
        now = time.monotonic()
        return [now - began for began in list(self._began.values())]

    def put(self, key: K, value: V) -> None:
        """Write this value when its key's turn comes; it replaces a waiting one."""
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

    def waits(self, key: K) -> bool:
        """Whether a value of this key waits, other than one that is being written."""
        return key in self._newest

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
        """Accept no more values, write what waits for this many seconds, and drop the rest."""
        self._closing.set()
        for _, sooner in self._settling.values():
            sooner.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.settled()
        self.close()

    def close(self) -> None:
        """Accept no more values, and drop what is not written."""
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
        """Wait while newer values may come, unless this is closing."""
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
        """When to write the waiting value if no newer one comes, on the loop's clock."""
        waiting = self._newest[key]
        patience = self._patience(waiting.value)
        crowd = self._crowd(key) if patience else 1.0
        least = self._settles(waiting.value)
        settled = waiting.changed + max(least, min(least * crowd, patience))
        longest = max(CROWD_LATEST_SECONDS, patience)
        return min(settled, waiting.since + min(LATEST_SECONDS * crowd, longest))

    def _crowd(self, key: K) -> float:
        """The factor by which a value settles longer; at least 1.

        Namespaces share the writes: one with thousands of values delays only its own.
        """
        share = CROWD / len(self._waiting)
        return max(1.0, self._waiting[_namespace(key)] / share)

    async def _rest(self, seconds: float) -> None:
        """Wait for the interval of a key, unless this is closing."""
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._closing.wait()

    async def _until_newer(self, key: K, seconds: float, least: float) -> None:
        """Wait `seconds`, or until the key has a newer value; at least `least`, NEWER_SECONDS."""
        newer = self._newer[key] = asyncio.Event()
        try:
            await asyncio.sleep(max(least, NEWER_SECONDS))
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds - NEWER_SECONDS):
                    await newer.wait()
        finally:
            del self._newer[key]

    async def _measured(self, key: K, waiting: _Waiting[V], backoff: Backoff) -> float | None:
        """`_attempt`, with the metrics of a work queue."""
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
        """Write a value; seconds to wait before writing it again, None = done with it."""
        try:
            await self._write(key, value)
        except APIError as error:
            pointless = _is_pointless(error)
            if (pointless or error.of_one_object) and not isinstance(error, Fenced):
                self._works()  # the server answers, and what it says is about this object alone
            if pointless:
                logger.debug("Dropped %s update of %s: %s", self._what, key, error)
                return None
            self._again(key, value)
            if error.of_one_object:
                self._say_rejected(key, error)
                return BUG_SECONDS
            # Not reported: the object changed, and its watch soon shows how; or its
            # CustomResourceDefinition is being deleted, which is reported elsewhere.
            if not isinstance(error, Conflict) and not error.kind_terminating:
                self._problems.report(f"{self._what} update", error.advice)
            logger.debug("Retrying %s update of %s: %s", self._what, key, error)
            pause = backoff.after(error)
            if error.server_away:
                await asyncio.sleep(pause)  # keeping its slot: no other key can be written either
                return 0.0
            return pause
        except Exception:  # a bug must not keep other objects from being written
            logger.exception("Failed %s update of %s", self._what, key)
            self._again(key, value)
            return BUG_SECONDS
        else:
            self._works()
        backoff.reset()
        return None

    def _works(self) -> None:
        """Report that what kept values from being written is over."""
        self._problems.report(f"{self._what} update", None)

    def _again(self, key: K, value: V) -> None:
        """Keep a value that was not written, unless there is a newer one."""
        if key not in self._newest:
            now = asyncio.get_running_loop().time()
            self._keep(key, _Waiting(value, now, -math.inf))

    def _say_rejected(self, key: K, error: APIError) -> None:
        """Log and report a rejection, once while it lasts."""
        why = str(error)
        if self._rejected.get(key) != why:
            self._rejected[key] = why
            logger.error("API server rejected the %s update of %s: %s", self._what, key, why)
            self._tell(key, error.message)


def _namespace(key: Hashable) -> str:
    """The namespace whose turn a write of this key takes; "" for keys without one."""
    return getattr(key, "namespace", "")


def _is_pointless(error: APIError) -> bool:
    """Whether the object is gone or being deleted, or this process may no longer write.

    A 404 that names no object does not count: the kind is not served now, or a proxy answered. Nor
    does what a webhook denies: it may pass on what it got for another object.
    """
    if error.denied:
        return False
    if isinstance(error, NotFound):
        return not error.resource_missing
    return isinstance(error, Fenced) or error.namespace_terminating
