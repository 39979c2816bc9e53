# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The client-side rate limit: a token bucket as in client-go.

It holds `burst` tokens, starts full, and gets `qps` tokens a second. Each request takes one token:
a watch or a page of a list when it begins, and a request that is sent again one more.

Source: client-go v0.36 util/flowcontrol/throttle.go NewTokenBucketRateLimiter; rest/request.go
Request.tryThrottleWithInfo.
"""

import asyncio
import logging
from collections import deque
from contextlib import suppress
from typing import Final

from enbloc.client.paths import EVENTS
from enbloc.model.request_rate import RequestRate
from enbloc.telemetry import metrics

#: A wait is logged from this length on (seconds), at most once in LOG_SECONDS.
LONG_SECONDS: Final = 1.0
LOG_SECONDS: Final = 10.0
#: The finest timer of event loops (seconds).
_TICK: Final = 0.001
_EVENTS: Final = EVENTS.label()

logger = logging.getLogger(__name__)


class RateLimiter:
    """One token bucket: first come, first served.

    Args:
        qps: tokens a second; above 0.
        burst: the most tokens that are kept; at least 1.
    """

    def __init__(self, qps: float, burst: int) -> None:
        self._qps = qps
        self._burst = float(burst)
        self._tokens = self._burst
        self._filled = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self) -> float:
        """Take a token once there is one; returns the seconds waited.

        A waiter that is cancelled takes no token.
        """
        loop = asyncio.get_running_loop()
        came = self._fill(loop)
        if self._tokens >= 1 and not self._waiting:
            self._tokens -= 1
            return 0.0
        mine = loop.create_future()
        self._waiting.append(mine)
        if self._timer is None:
            self._set_timer(loop)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.cancelled():
                self._fill(loop)
                with suppress(ValueError):  # `_pass_on` has already removed it
                    self._waiting.remove(mine)
            else:  # the token came just as the wait was cancelled
                self._tokens += 1
                self._pass_on(loop)
            raise
        return loop.time() - came

    def _fill(self, loop: asyncio.AbstractEventLoop) -> float:
        """Add the tokens that accrued since the last call; returns the loop's time.

        The bucket grows by one token per waiter, so that waiters lose none while the loop is busy.
        """
        now = loop.time()
        came = self._tokens + (now - self._filled) * self._qps
        self._tokens = min(self._burst + len(self._waiting), came)
        self._filled = now
        return now

    def _pass_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give the available tokens to the waiters."""
        self._fill(loop)
        while self._waiting and self._tokens >= 1:
            first = self._waiting.popleft()
            if not first.done():
                self._tokens -= 1
                first.set_result(None)
        if self._waiting and self._timer is None:
            self._set_timer(loop)

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        seconds = (1 - self._tokens) / self._qps
        self._timer = loop.call_later(max(_TICK, seconds), self._tick, loop)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self._pass_on(loop)


class RateLimits:
    """The limits of one client; events have a separate bucket, so that they delay no Binding.

    Args:
        rate: of each bucket.
        host: of the API server, for the metric.
    """

    def __init__(self, rate: RequestRate, host: str) -> None:
        self._rate = rate
        self._host = host
        self._events = RateLimiter(rate.qps, rate.burst)
        self._others = RateLimiter(rate.qps, rate.burst)
        self._logged = float("-inf")

    @classmethod
    def of(cls, rate: RequestRate, host: str) -> "RateLimits | None":
        """The limits at this rate; None = no limit."""
        rate = rate.completed()
        return cls(rate, host) if rate.qps > 0 else None

    async def wait(self, method: str, resource: str) -> None:
        """Wait until a request may be sent.

        Args:
            method: the HTTP method.
            resource: the resource as RBAC spells it.
        """
        waited = await (self._events if resource == _EVENTS else self._others).wait()
        metrics.series(metrics.RATE_LIMITER_DURATION, method, self._host).observe(waited)
        if waited >= LONG_SECONDS:
            self._log(waited, method, resource)

    def _log(self, waited: float, method: str, resource: str) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._logged >= LOG_SECONDS:
            self._logged = now
            logger.info(
                "Client-side limit delayed %s %s by %.1f s (qps %g, burst %d); raise or remove "
                "clientConnection.qps or --kube-api-qps to send faster",
                method,
                resource,
                waited,
                self._rate.qps,
                self._rate.burst,
            )
