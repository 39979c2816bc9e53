# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The heartbeat of an event loop, by which the health server's thread sees that tasks run."""

import asyncio
import time
from typing import Final

#: A loop whose heartbeat is older than this is stuck (seconds).
OLDEST_HEARTBEAT: Final = 30.0


class Heartbeat:
    """Renewed in one thread, checked in another."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    async def run(self) -> None:
        """Renew once a second, until cancelled."""
        while True:
            self._last = time.monotonic()
            await asyncio.sleep(1)

    def recent(self) -> bool:
        """Whether the last heartbeat is recent."""
        return time.monotonic() - self._last < OLDEST_HEARTBEAT
