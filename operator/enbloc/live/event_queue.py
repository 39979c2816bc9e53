# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The event queue: where everything that happened waits for the one task that owns the engine."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from enbloc.engine.events import Event

#: Taken at once at most, so that a first list of many thousands does not hold the loop.
BATCH: Final = 2048


class _Newest:
    """An event that a newer one of the same name may take the place of; None = one has."""

    __slots__ = ("event", "name")

    def __init__(self, name: str, event: Event) -> None:
        self.name = name
        self.event: Event | None = event


class EventQueue:
    """Events in order of arrival; any task of the loop puts, one takes."""

    def __init__(self) -> None:
        #: Those that were not taken, the oldest first.
        self._events: deque[Event | _Newest] = deque()
        #: Those of them of which only the newest of a name is taken, by that.
        self._newest: dict[str, _Newest] = {}
        #: Set by whatever ends a wait, and cleared by the wait.
        self._awake = asyncio.Event()
        #: How many were ever put.
        self._put = 0

    def put(self, event: Event) -> None:
        """Add an event, and wake who waits."""
        self._events.append(event)
        self._put += 1
        self._awake.set()

    def put_newest(self, name: str, event: Event) -> None:
        """Add an event that makes an earlier one of this name, if nobody has taken it, needless."""
        if name in self._newest:
            self._newest[name].event = None
        self._newest[name] = newest = _Newest(name, event)
        self._events.append(newest)
        self._put += 1
        self._awake.set()

    def wake(self) -> None:
        """End a wait though nothing happened: something else that matters has changed."""
        self._awake.set()

    async def caught_up(self) -> None:
        """Return once all that is in here now was taken."""
        goal = self._put
        while self._put - len(self._events) < goal:  # noqa: ASYNC110  # once in a process' life
            await asyncio.sleep(0.001)

    async def wait(self, seconds: float | None) -> None:
        """Return when there is something to take, when woken, or after so many seconds.

        Args:
            seconds: the longest wait; 0 or less does not wait, None waits for as long as it takes.
        """
        if not self._events and (seconds is None or seconds > 0):
            try:
                async with asyncio.timeout(seconds):
                    await self._awake.wait()
            except TimeoutError:
                pass
        self._awake.clear()

    def take(self, limit: int = BATCH) -> Sequence[Event]:
        """The oldest events, at most so many."""
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
