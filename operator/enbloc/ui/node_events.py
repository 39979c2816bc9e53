# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Node events: polls the API server for the nodes in quarantine."""

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import Final

from enbloc.client.client import Client
from enbloc.client.events import DEFAULT
from enbloc.client.paths import CORE_EVENTS
from enbloc.errors import EnblocError
from enbloc.model.names import EventReason
from enbloc.ui.quarantine import NodeEvent, quarantined

#: The pause between two reads (seconds).
SECONDS: Final = 15.0
#: The most events that are read.
MOST: Final = 20_000

logger = logging.getLogger(__name__)


class NodeEvents:
    """Knows which nodes are in quarantine.

    Args:
        client: the API; may list events.

    Attributes:
        known: whether the last read succeeded.
    """

    def __init__(self, client: Client) -> None:
        self.known = False
        self._client, self._clock = client, client.server_clock()
        self._until: Mapping[str, float] = {}

    async def run(self) -> None:
        """Read regularly, until cancelled."""
        while True:
            await self.ask()
            await asyncio.sleep(SECONDS)

    async def ask(self) -> None:
        """Read once; a failure makes the quarantine unknown, and pages are still shown."""
        query = {"fieldSelector": f"reason={EventReason.NODE_QUARANTINED}"}
        found: list[NodeEvent] = []
        try:
            async for event in self._client.list(
                CORE_EVENTS, DEFAULT, query=query, shape=NodeEvent
            ):
                found.append(event)
                if len(found) >= MOST:
                    break
        except (EnblocError, OSError, TimeoutError) as error:
            if self.known:
                logger.warning("Cannot read which nodes are in quarantine: %s", error)
            self.known, self._until = False, {}
        else:
            self.known, self._until = True, quarantined(found, self._clock.now())

    def quarantined(self, now: float) -> Collection[str] | None:
        """The nodes that are in quarantine; None = unknown."""
        if not self.known:
            return None
        return frozenset(name for name, until in self._until.items() if now < until)
