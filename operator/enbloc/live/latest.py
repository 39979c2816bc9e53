# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""LatestWriter: per key the newest value is written, the ones it overtook never are."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from enbloc.kube.backoff import Backoff
from enbloc.kube.errors import APIError, Conflict, Fenced, Forbidden, Invalid, NotFound
from enbloc.telemetry import Troubles

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

logger = logging.getLogger(__name__)


class LatestWriter(Generic[K, V]):
    """Writes until it succeeds or is pointless; one write in flight per key.

    A value that the server finds wrong, or whose object is gone or another one, is dropped; where
    a permission or the server is missing, the newest value is sent again until it is there.

    Args:
        name: what is written, for messages ("the status of PodGroups").
        write: sends one value; raises APIError.
        troubles: told of missing permissions.
        slots: the most writes in flight.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[K, V], Awaitable[None]],
        troubles: Troubles,
        slots: int = 8,
    ) -> None:
        self._name = name
        self._write = write
        self._slots = asyncio.Semaphore(slots)
        self._troubles = troubles
        self._newest: dict[K, V] = {}
        self._tasks: dict[K, asyncio.Task[None]] = {}

    def put(self, key: K, value: V) -> None:
        """Write this value, now or after the one in flight; it replaces one that waits."""
        self._newest[key] = value
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._run(key), name=f"write {key}")

    def close(self) -> None:
        """Give up what was not written."""
        for task in self._tasks.values():
            task.cancel()

    async def settled(self) -> None:
        """Return when nothing is left to write."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def _run(self, key: K) -> None:
        backoff = Backoff()
        try:
            while key in self._newest:
                value = self._newest.pop(key)
                if not await self._once(key, value):
                    self._newest.setdefault(key, value)
                    await asyncio.sleep(backoff.next())
        finally:
            del self._tasks[key]

    async def _once(self, key: K, value: V) -> bool:
        """Send a value; False if it is worth sending again."""
        try:
            async with self._slots:
                await self._write(key, value)
        except (NotFound, Conflict, Fenced) as error:
            logger.debug("Dropped what was to be said of %s: %s", key, error)
        except Invalid:
            logger.exception("The API server finds what was to be said of %s invalid", key)
        except Forbidden as error:
            if error.namespace_terminating:
                return True
            self._troubles.say(self._name, error.advice)
            return False
        except APIError as error:
            logger.debug("Will say it of %s again: %s", key, error)
            return False
        except Exception:  # a bug of ours costs what was to be said, not the scheduler
            logger.exception("Failed to say it of %s", key)
        else:
            self._troubles.say(self._name, None)
        return True
