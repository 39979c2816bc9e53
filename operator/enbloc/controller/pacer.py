# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""When to reconcile which group: at once while it is quiet, then at most once per interval."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from enbloc.model.groups import GroupKey

#: The least time between two reconciliations of one group (seconds).
INTERVAL: Final = 1.0
#: How many groups are reconciled, and so written, at the same time.
PARALLEL: Final = 32
#: A group whose reconciliation raised is tried again after this (seconds).
BUG_SECONDS: Final = 30.0

log = logging.getLogger(__name__)


class Pacer:
    """Calls `act` for the groups that were asked for.

    Args:
        act: reconciles one group; returns after how many seconds it wants to be called again
            whatever happens, or None.
        interval: the least time between two calls for one group, seconds.
        parallel: how many calls run at the same time.
    """

    def __init__(
        self,
        act: Callable[[GroupKey], Awaitable[float | None]],
        *,
        interval: float = INTERVAL,
        parallel: int = PARALLEL,
    ) -> None:
        self._act = act
        self._interval = interval
        self._slots = asyncio.Semaphore(parallel)
        # When each is due is kept beside it: a handle of uvloop's may not know.
        self._timers: dict[GroupKey, tuple[float, asyncio.Handle]] = {}
        self._tasks: dict[GroupKey, asyncio.Task[None]] = {}
        self._again: set[GroupKey] = set()
        self._not_before: dict[GroupKey, float] = {}
        self._closed = False

    def ask(self, key: GroupKey, *, delay: float = 0.0) -> None:
        """This group changed, or should be looked at after a delay (seconds)."""
        if self._closed:
            return
        if key in self._tasks:
            self._again.add(key)
            return
        loop = asyncio.get_running_loop()
        due = max(loop.time() + delay, self._not_before.get(key, 0.0))
        if key in self._timers:
            earlier, timer = self._timers[key]
            if earlier <= due:
                return
            timer.cancel()
        self._timers[key] = (due, loop.call_at(due, self._start, key))

    def forget(self, key: GroupKey) -> None:
        """This group is gone."""
        self._not_before.pop(key, None)
        self._again.discard(key)
        if key in self._timers:
            self._timers.pop(key)[1].cancel()

    async def close(self) -> None:
        """Start nothing more, and wait for what runs."""
        self._closed = True
        for _, timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    def _start(self, key: GroupKey) -> None:
        del self._timers[key]
        self._tasks[key] = asyncio.create_task(self._run(key), name=f"reconcile {key}")

    async def _run(self, key: GroupKey) -> None:
        loop = asyncio.get_running_loop()
        async with self._slots:
            self._not_before[key] = loop.time() + self._interval
            try:
                wants = await self._act(key)
            except Exception:  # a bug must not keep the other groups from being served
                log.exception("Could not reconcile the PodGroup", extra={"podGroup": str(key)})
                wants = BUG_SECONDS
        del self._tasks[key]
        if key in self._again:
            self._again.discard(key)
            self.ask(key)
        elif wants is not None:
            self.ask(key, delay=wants)
