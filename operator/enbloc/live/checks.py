# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Checks behind /livez, /healthz and /readyz that need a clock; a thread of its own asks them."""

import asyncio
import time
from typing import Final

from enbloc.kube.lease import Elector, LeaseTiming, boot_clock
from enbloc.live.loop import Loop

#: A loop whose beat is older than this is stuck (seconds).
OLDEST_BEAT: Final = 30.0
#: No step of the engine may take longer (seconds).
LONGEST_STEP: Final = 60.0
#: So long after its Lease has surely passed to another, a leader must have noticed (seconds).
SLACK: Final = 20.0


class Beat:
    """Shows that the event loop gives every task its turn."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    async def run(self) -> None:
        """Beat once a second, until cancelled."""
        while True:
            self._last = time.monotonic()
            await asyncio.sleep(1)

    def recent(self) -> bool:
        """The last beat is not old."""
        return time.monotonic() - self._last < OLDEST_BEAT


def step_ends(loop: Loop) -> bool:
    """The engine is not lost in a step."""
    since = loop.busy_since
    return since is None or time.monotonic() - since < LONGEST_STEP


def reigns_rightly(elector: Elector) -> bool:
    """False if this is a leader that should have noticed long ago that it is none any more."""
    timing = LeaseTiming()
    left = timing.duration - timing.renew_deadline
    return elector.valid_until == float("-inf") or boot_clock() < elector.valid_until + left + SLACK
