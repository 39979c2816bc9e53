# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The event queue: everything that happened waits here for the one task that owns the engine."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from enbloc.engine.events import Event

#: The most events taken at once, so that a first list of many thousands does not block the loop.
BATCH: Final = 2048


class _Newest:
    """An event that a newer one of the same name may replace; None = it was replaced."""

    __slots__ = ("event", "name")

    def __init__(self, name: str, event: Event) -> None:
        self.name = name
        self.event: Event | None = event


class EventQueue:
    """Events in order of arrival; any task of the loop puts, one takes."""

    def __init__(self) -> None:
        #: Events not yet taken, oldest first.
        self._events: deque[Event | _Newest] = deque()
        #: Events put by `put_newest` and not yet taken, by name.
        self._newest: dict[str, _Newest] = {}
        #: Set to end a wait; the wait clears it.
        self._awake = asyncio.Event()
        #: How many events were ever put.
        self._put = 0

    def put(self, event: Event) -> None:
        """Add an event, and wake the waiting task."""
        self._events.append(event)
        self._put += 1
        self._awake.set()

    def put_newest(self, name: str, event: Event) -> None:
        """Add an event that replaces an earlier one of this name that is not taken yet."""
        if name in self._newest:
            self._newest[name].event = None
        self._newest[name] = newest = _Newest(name, event)
        self._events.append(newest)
        self._put += 1
        self._awake.set()

    def wake(self) -> None:
        """End a wait without an event, because something else that matters has changed."""
        self._awake.set()

    async def caught_up(self) -> None:
        """Return once every event that is now in the queue has been taken."""
        goal = self._put
        while self._put - len(self._events) < goal:  # noqa: ASYNC110  # once per process
            await asyncio.sleep(0.001)

    async def wait(self, seconds: float | None) -> None:
        """Return when there is an event to take, when woken, or when the time is over.

        Args:
            seconds: the longest wait; 0 or less does not wait, None sets no limit.
        """
        if not self._events and (seconds is None or seconds > 0):
            try:
                async with asyncio.timeout(seconds):
                    await self._awake.wait()
            except TimeoutError:
                pass
        self._awake.clear()

    def take(self, limit: int = BATCH) -> Sequence[Event]:
        """Take the oldest events, at most `limit`."""
        found: list[Event] = []
        while self._events and len(found) < limit:
            event: Event | _Newest | None = self._events.popleft()
            if isinstance(event, _Newest):
                if event.event is not None:
                    del self._newest[event.name]
                event = event.event
            if event is not None:
                found.append(event)
        return found
