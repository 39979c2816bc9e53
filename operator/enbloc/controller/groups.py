# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The watch of PodGroups: kopf, started when they are served, and restarted when it fails.

It is restarted as well when it does not show what a consistent read does (`client/probe.py`).
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from enbloc.client.backoff import Backoff
from enbloc.client.client import Client
from enbloc.client.errors import APIError
from enbloc.client.paths import POD_GROUPS
from enbloc.client.probe import Key, Probe
from enbloc.controller.login import Login
from enbloc.controller.watch import NotServedYet, Seen, Watch, WatchFailed
from enbloc.errors import ConfigError
from enbloc.model.versions import version_of
from enbloc.telemetry import Problems, metrics

log = logging.getLogger(__name__)

_LISTING: Final = "listing podgroups"
_WATCHING: Final = "watching podgroups"
_COMPARING: Final = "comparing podgroups"


@dataclass(frozen=True, slots=True)
class WatchTiming:
    """How long to wait for what (seconds).

    Attributes:
        probe: between two looks whether PodGroups can be listed.
        retries: kopf repeats a request that failed after each of these, and then gives up; few,
            so that what is wrong is said soon.
        proven: kopf works if it has not given up by then; above the sum of `retries`.
        compare: the longest time between two looks whether kopf shows what the server has.
    """

    probe: float = 2.0
    retries: Sequence[float] = (0.5, 1.0, 2.0)
    proven: float = 8.0
    compare: float = 30.0


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
        self._shown: dict[Key, int] = {}
        self._probe = Probe(
            client, POD_GROUPS, lambda key: self._shown.get(key, 0), lambda: len(self._shown)
        )
        self._problem: str | None = None

    async def follow(self) -> None:
        """Tell of PodGroups until cancelled."""
        while True:
            await self._until_listable()
            self._shown.clear()
            self._begins()
            loop = asyncio.get_running_loop()
            proven = loop.call_later(self._timing.proven, self._proven)
            try:
                await self._watch()
            except NotServedYet as error:
                log.debug("Restarting the watch: %s", error)
            except (WatchFailed, ConfigError) as error:
                self._failed(str(error))
            finally:
                proven.cancel()
            await asyncio.sleep(self._backoff.next())

    async def _watch(self) -> None:
        """Run kopf until it fails, or is found not to show what the server has.

        Raises:
            WatchFailed: always.
            ConfigError: there are no credentials.
        """
        watch = Watch(
            Login(self._client.cluster),
            self._tell,
            self._timing.retries,
            self._client.clock.new_loop,
        )
        tasks = [asyncio.ensure_future(work) for work in (watch.run(), self._until_stale())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _tell(self, kind: str | None, found: Mapping[str, Any]) -> None:
        metadata = found["metadata"]
        key = (metadata.get("namespace") or "", metadata.get("name") or "")
        version = version_of(metadata.get("resourceVersion"))
        newest = self._shown.get(key, 0)
        if 0 < version < newest:
            return  # kopf tells of it after a change, maybe of a namesake, that did not pass kopf
        if kind == "DELETED":
            self._shown.pop(key, None)
        elif key[1]:
            self._shown[key] = version
        self._probe.saw(key, version)
        self._seen(kind, found)

    async def _until_stale(self) -> None:
        """Compare what kopf shows with what the server has, again and again.

        Raises:
            WatchFailed: it lacks something.
        """
        while True:
            await asyncio.sleep(self._timing.compare * random.uniform(0.7, 1.0))  # noqa: S311
            try:
                lacking = await self._probe.look()
            except APIError as error:
                self._problems.report(_COMPARING, error.advice)
                continue
            if lacking:
                problem = (
                    f"the watch of {POD_GROUPS.label()} is stale: a list has {lacking}, "
                    "which the watch has not shown; relisting"
                )
                metrics.STALE_WATCHES.labels(POD_GROUPS.plural).inc()
                self._problems.report(_COMPARING, problem)
                raise WatchFailed(problem)
            self._problems.report(_COMPARING, None)

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
