# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups for ever: kopf, started when they are served, and again when it gives up."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.controller.login import Login
from enbloc.controller.watch import NotServedYet, Seen, Watch, WatchFailed
from enbloc.errors import ConfigError
from enbloc.kube import APIError, Client
from enbloc.kube.backoff import Backoff
from enbloc.kube.paths import POD_GROUPS
from enbloc.telemetry import Troubles

log = logging.getLogger(__name__)

_LISTING: Final = "listing podgroups"
_WATCHING: Final = "watching podgroups"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for what (seconds).

    Attributes:
        probe: between two looks whether PodGroups can be listed.
        retries: kopf repeats a request that failed after each of these, and then gives up; few,
            so that what is wrong is said soon.
        proven: kopf works if it has not given up by then; above the sum of `retries`.
    """

    probe: float = 2.0
    retries: Sequence[float] = (0.5, 1.0, 2.0)
    proven: float = 8.0


class Groups:
    """The stream of PodGroups.

    Args:
        client: the API.
        troubles: told what stands in the way.
        begins: called before all PodGroups are told of anew.
        seen: told of every PodGroup.
        patience: how long to wait for what.
    """

    def __init__(
        self,
        client: Client,
        troubles: Troubles,
        begins: Callable[[], None],
        seen: Seen,
        patience: Patience = Patience(),
    ) -> None:
        self._client = client
        self._troubles = troubles
        self._begins = begins
        self._seen = seen
        self._patience = patience
        self._backoff = Backoff()
        self._problem: str | None = None

    async def follow(self) -> None:
        """Tell of PodGroups until cancelled."""
        while True:
            await self._until_listable()
            self._begins()
            loop = asyncio.get_running_loop()
            proven = loop.call_later(self._patience.proven, self._proven)
            try:
                await Watch(Login(self._client.cluster), self._seen, self._patience.retries).run()
            except NotServedYet as error:
                log.debug("Watching again: %s", error)
            except (WatchFailed, ConfigError) as error:
                self._failed(str(error))
            finally:
                proven.cancel()
            await asyncio.sleep(self._backoff.next())

    async def _until_listable(self) -> None:
        """Return once PodGroups can be listed; until then it is said why they cannot."""
        while True:
            try:
                await self._client.page(POD_GROUPS, limit=1)
            except APIError as error:
                self._troubles.say(_LISTING, error.advice)
                await asyncio.sleep(self._patience.probe)
            else:
                self._troubles.say(_LISTING, None)
                return

    def _failed(self, problem: str) -> None:
        # Once is nothing to tell of: a server that restarts, a kind that is applied anew.
        if self._problem is not None:
            self._troubles.say(_WATCHING, problem)
        else:
            log.info("Watching again: %s", problem)
        self._problem = problem

    def _proven(self) -> None:
        """Kopf works."""
        self._problem = None
        self._troubles.say(_WATCHING, None)
        self._backoff.reset()
