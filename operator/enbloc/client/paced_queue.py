# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A bounded queue that passes a burst at once, and then a fixed number of items a second.

While something else matters more, it passes items at a lower rate.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")


class PacedQueue(Generic[T]):
    """Passes items on at a bounded rate, in turn over their keys.

    When it is full, it drops the oldest item of the key with the most waiting items.

    Args:
        take: called with each item and its key.
        drop: called for each item that is dropped.
        rate: items a second.
        burst: the most items that pass at once after a quiet time.
        length: the most items that wait.
        busy: whether something else matters more now; None = never.
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
        """Pass waiting items on, forever."""
        while True:
            self._some.clear()
            if not self._waiting:
                await self._some.wait()
            if self._token():
                self._pass_next()
            else:
                await asyncio.sleep(1 / max(self._rate, self._trickle))

    def drain(self, most: int) -> None:
        """Pass at most `most` waiting items on now, and drop the rest."""
        for _ in range(min(most, self._waiting)):
            self._pass_next()
        for _ in range(self._waiting):
            self._next(next(iter(self._queues)))
            self._drop()

    def _token(self) -> bool:
        """Take the token for one item; False if there is none yet."""
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
        if key in self._queues:  # behind the other keys
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
