# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The clock of every process: server time, advanced by a local clock that no one sets."""

import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


def boot_clock() -> float:
    """Seconds on a clock that no one sets and that goes on while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)  # Linux; elsewhere monotonic goes on asleep
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class ServerClock:
    """Seconds of server time since the epoch, once the server's time is known.

    The offset is taken once: a clock that is set anew would move deadlines (semantics §4.2).
    Nobody asks before the first answer of the server, for there is nothing to decide either. Where
    a proxy spoils the Date of its answers, the local wall clock at the first call has to do.

    Args:
        offset: server time minus the local clock, None while unknown: `server_offset` of the
            client, which has it from the Date header.
        monotonic: the local clock, in seconds.
        wall: the local wall clock, in seconds since the epoch.
    """

    def __init__(
        self,
        offset: Callable[[], float | None],
        monotonic: Callable[[], float] = boot_clock,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._read_offset = offset
        self._monotonic = monotonic
        self._wall = wall
        self._offset: float | None = None

    def now(self) -> float:
        """The time."""
        if self._offset is None:
            self._offset = self._read_offset()
        if self._offset is None:
            logger.warning("The API server sends no readable Date header: using the local clock")
            self._offset = self._wall() - self._monotonic()
        return self._offset + self._monotonic()
