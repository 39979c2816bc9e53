# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A semaphore that serves parties in turn: one with many waiters does not starve the others."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager


class FairSlots:
    """A fixed number of slots that waiting parties get in turn.

    Args:
        count: the number of slots.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def slot(self, party: Hashable) -> AsyncGenerator[None]:
        """Hold a slot for as long as the context lasts.

        Args:
            party: the one whose turn it takes; within a party, first come, first served.
        """
        if self._free:
            self._free -= 1
        else:
            await self._turn(party)
        try:
            yield
        finally:
            self._pass_on()

    async def _turn(self, party: Hashable) -> None:
        mine = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(party, deque()).append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._pass_on()  # the slot came just as the wait was cancelled
            raise

    def _pass_on(self) -> None:
        """Give the slot to the party whose turn it is; free it if none waits."""
        while self._waiting:
            party = next(iter(self._waiting))
            waiting = self._waiting.pop(party)
            first = waiting.popleft()
            if waiting:
                self._waiting[party] = waiting  # behind the others
            if not first.done():
                first.set_result(None)
                return
        self._free += 1
