# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A bounded queue that lets a burst through, and after it so many items a second.

While somebody else is busy with what matters more, items trickle.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")


class PacedQueue(Generic[T]):
    """Passes items on at a bounded rate, in turn over their keys.

    When it is full, the oldest item of the key that has most waiting is dropped.

    Args:
        take: is given each item, with its key.
        drop: is called for each item that is dropped.
        rate: items a second.
        burst: so many pass at once after a time without any.
        length: the most that wait.
        busy: whether something else matters more at present; None = nothing ever does.
        trickle: items a second while it does, in place of rate and burst.
    """

    def __init__(
        self,
        take: Callable[[str, T], None],
        drop: Callable[[], None],
        *,
        rate: float,
        burst: int,
        length: int,
        busy: Callable[[], bool] | None = None,
        trickle: float = 1.0,
    ) -> None:
        self._take = take
        self._drop = drop
        self._rate = rate
        self._burst: Final = float(burst)
        self._length = length
        self._busy = busy or _never
        self._trickle = trickle
        self._queues: dict[str, deque[T]] = {}
        self._waiting = 0
        self._some = asyncio.Event()
        self._tokens = float(burst)
        self._filled = 0.0
        self._passed = -math.inf

    def put(self, key: str, item: T) -> None:
        """Pass an item on, now or later."""
        if not self._waiting and self._token():
            self._take(key, item)
            return
        if self._waiting >= self._length:
            self._next(max(self._queues, key=lambda each: len(self._queues[each])))
            self._drop()
        self._queues.setdefault(key, deque()).append(item)
        self._waiting += 1
        self._some.set()

    async def run(self) -> None:
        """Pass on what waits, for ever."""
        while True:
            self._some.clear()
            if not self._waiting:
                await self._some.wait()
            if self._token():
                self._pass_next()
            else:
                await asyncio.sleep(1 / max(self._rate, self._trickle))

    def drain(self, most: int) -> None:
        """Pass on what waits, now, and drop what is more than so many items."""
        for _ in range(min(most, self._waiting)):
            self._pass_next()
        for _ in range(self._waiting):
            self._next(next(iter(self._queues)))
            self._drop()

    def _token(self) -> bool:
        """Take the allowance for one item, if there is one."""
        now = asyncio.get_running_loop().time()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
        self._filled = now
        if self._tokens < 1 or (self._busy() and now - self._passed < 1 / self._trickle):
            return False
        self._tokens -= 1
        self._passed = now
        return True

    def _pass_next(self) -> None:
        key = next(iter(self._queues))
        item = self._next(key)
        if key in self._queues:  # the others come first now
            self._queues[key] = self._queues.pop(key)
        self._take(key, item)

    def _next(self, key: str) -> T:
        queue = self._queues[key]
        item = queue.popleft()
        self._waiting -= 1
        if not queue:
            del self._queues[key]
        return item


def _never() -> bool:
    return False
