# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The clock of every process: server time, advanced by a local clock that is never set."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from enbloc.model.times import CLOCK_ERROR

#: The largest correction of the clock, as a share of the elapsed time.
SLEW: Final = 0.1
#: The most elapsed time that counts for one correction (seconds): the last call may be hours ago.
LONGEST_SLEW: Final = 60.0

logger = logging.getLogger(__name__)


def boot_clock() -> float:
    """Seconds on a clock that is never set and that keeps running while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)  # Linux; elsewhere monotonic goes on asleep
    return time.monotonic() if clock is None else time.clock_gettime(clock)


@dataclass(frozen=True, slots=True)
class TimeSource:
    """The clocks of a process.

    Attributes:
        local: a clock that is never set, in seconds.
        wall: the wall clock, in seconds since the epoch.
        new_loop: makes the event loop of another thread.
    """

    local: Callable[[], float] = boot_clock
    wall: Callable[[], float] = time.time
    new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop


#: The machine's own clocks.
MACHINE: Final = TimeSource()


class ServerClock:
    """Seconds of server time since the epoch, once the server's time is known.

    It never jumps and never goes back, because that would move deadlines (semantics §4.2): if it
    differs from the server's time by more than CLOCK_ERROR, it runs slower or faster by SLEW until
    they agree. Nothing reads it before the server's first answers, because there is nothing to
    decide yet. If a proxy spoils the Date of the answers, it starts from the local wall clock at
    the first call.

    Args:
        offset: server time minus the local clock, None while unknown: the client's
            `server_offset`, which comes from the Date header.
        source: the local clocks.
    """

    def __init__(
        self,
        offset: Callable[[], float | None],
        source: TimeSource = MACHINE,
    ) -> None:
        self._read_offset = offset
        self._source = source
        self._offset: float | None = None
        self._asked = 0.0

    def now(self) -> float:
        """Server time now, in seconds since the epoch."""
        local, told = self._source.local(), self._read_offset()
        if self._offset is None:
            if told is None:
                logger.warning("The API server sends no readable Date: using the local clock")
            self._offset = self._source.wall() - local if told is None else told
        elif told is not None and abs(wrong := told - self._offset) > CLOCK_ERROR:
            most = SLEW * min(local - self._asked, LONGEST_SLEW)
            self._offset += max(-most, min(most, wrong))
        self._asked = local
        return self._offset + local
