# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Beat: shows the health server's thread that the event loop gives every task its turn."""

import asyncio
import time
from typing import Final

#: A loop whose beat is older than this is stuck (seconds).
OLDEST_BEAT: Final = 30.0


class Beat:
    """Made in one thread, asked in another."""

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
