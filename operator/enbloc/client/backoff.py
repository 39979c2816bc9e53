# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How long to wait before the next try."""

import asyncio
import logging
import random
from dataclasses import dataclass
from typing import Final

from enbloc.client.errors import LONGEST_WAIT, APIError, TooManyRequests
from enbloc.telemetry import metrics

#: The longest wait before the next try while the server accepts no connection (seconds): a try
#: costs it nothing, and work resumes soon after it is back.
DOWN_SECONDS: Final = 2.0
#: A wait that the server asks for is logged from this length on (seconds).
LONG_SECONDS: Final = 5.0

logger = logging.getLogger(__name__)


def asked_for(error: APIError, least: float = 0.0) -> float:
    """The wait that the server asks for, with jitter; counts a 429, and logs a long wait.

    Args:
        error: the server's answer.
        least: the wait in any case, seconds.

    Returns:
        Seconds, up to LONGEST_WAIT; `least` if the server asks for no wait.
    """
    if isinstance(error, TooManyRequests):
        metrics.THROTTLED.labels(error.verb, error.resource).inc()
    elif not error.retry_after:
        return least
    longest = LONGEST_WAIT * random.uniform(0.8, 1.0)  # noqa: S311
    wait = min(longest, max(least, error.retry_after * random.uniform(1.0, 1.2)))  # noqa: S311
    if wait >= LONG_SECONDS:
        logger.warning(
            "API server asks to wait %.0f s; retrying in %.0f s: %s",
            error.retry_after,
            wait,
            error,
        )
    return wait


@dataclass(slots=True)
class Backoff:
    """Exponential waits with full-range jitter: initial · 2^n, capped, times 0.5 to 1.

    Attributes:
        initial: the first wait, seconds.
        cap: the longest wait, seconds.
    """

    initial: float = 0.5
    cap: float = 30.0
    _failures: int = 0

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        wait = min(self.cap, self.initial * 2.0 ** min(self._failures, 60))
        self._failures += 1
        return wait * random.uniform(0.5, 1.0)  # noqa: S311  # spreading load is no secret

    def after(self, error: APIError) -> float:
        """Seconds to wait after this error.

        While the server accepts no connection, at most DOWN_SECONDS. After a 429, what the server
        asks for, up to LONGEST_WAIT; that wait is counted, and logged if long.
        """
        if error.server_away:
            return min(self.cap, DOWN_SECONDS) * random.uniform(0.5, 1.0)  # noqa: S311
        wait = self.next()
        return asked_for(error, wait) if isinstance(error, TooManyRequests) else wait

    async def wait_out(self, error: APIError) -> None:
        """Wait after this error; the metric of waiting requests includes it meanwhile."""
        seconds = self.after(error)
        with metrics.WAITING_REQUESTS.labels(error.verb, error.resource).track_inprogress():
            await asyncio.sleep(seconds)

    def reset(self) -> None:
        """Start over after a success."""
        self._failures = 0
