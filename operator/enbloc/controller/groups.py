# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The watch of PodGroups: kopf, started when they are served, and restarted when it fails."""

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
from enbloc.telemetry import Problems

log = logging.getLogger(__name__)

_LISTING: Final = "listing podgroups"
_WATCHING: Final = "watching podgroups"


@dataclass(frozen=True, slots=True)
class WatchTiming:
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
        problems: told what stands in the way.
        begins: called before all PodGroups are listed again.
        seen: called with every PodGroup.
        timing: how long to wait for what.
    """

    def __init__(
        self,
        client: Client,
        problems: Problems,
        begins: Callable[[], None],
        seen: Seen,
        timing: WatchTiming = WatchTiming(),
    ) -> None:
        self._client = client
        self._problems = problems
        self._begins = begins
        self._seen = seen
        self._timing = timing
        self._backoff = Backoff()
        self._problem: str | None = None

    async def follow(self) -> None:
        """Tell of PodGroups until cancelled."""
        while True:
            await self._until_listable()
            self._begins()
            loop = asyncio.get_running_loop()
            proven = loop.call_later(self._timing.proven, self._proven)
            try:
                await Watch(Login(self._client.cluster), self._seen, self._timing.retries).run()
            except NotServedYet as error:
                log.debug("Restarting the watch: %s", error)
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
                self._problems.report(_LISTING, error.advice)
                await asyncio.sleep(self._timing.probe)
            else:
                self._problems.report(_LISTING, None)
                return

    def _failed(self, problem: str) -> None:
        # Once is nothing to tell of: a server that restarts, a kind that is applied anew.
        if self._problem is not None:
            self._problems.report(_WATCHING, problem)
        else:
            log.info("Restarting the watch: %s", problem)
        self._problem = problem

    def _proven(self) -> None:
        """Kopf works."""
        self._problem = None
        self._problems.report(_WATCHING, None)
        self._backoff.reset()
