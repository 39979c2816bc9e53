# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The kopf operator: its handlers, and how it runs.

PodGroups have only a low-level event handler. kopf keeps no state for such handlers, so it writes
no annotation and no finalizer and never patches; the names configured for its own keys (prefix
enbloc.dev) stay unused. `StatusWriter` writes the status, by server-side apply.

kopf needs an event loop in which nothing outlives it: when it ends, it cancels every task created
after its start. docs/explanation/decisions.md lists which features of kopf are not used, and why.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol, cast

from enbloc.controller.lean_kopf import kopf
from enbloc.controller.session import Session
from enbloc.model import names

FINALIZER: Final = f"{names.API_GROUP}/cleanup"

log = logging.getLogger(__name__)


class Work(Protocol):
    """The work that runs while kopf does."""

    def start(self) -> None:
        """Begin, before kopf sends its first request."""
        ...

    async def stop(self) -> None:
        """End, after kopf's last event."""
        ...


async def operate(
    session: Session, work: Work, stop: "asyncio.Future[None]", take_signals: Callable[[], None]
) -> None:
    """Run kopf, until cancelled or told to stop.

    Args:
        session: sends kopf's requests.
        work: runs meanwhile.
        stop: ends kopf when done; its exception, if any, is raised from here.
        take_signals: takes SIGINT and SIGTERM back from kopf.
    """
    registry = handlers(session, work, take_signals)
    await kopf.operator(registry=registry, clusterwide=True, standalone=True, stop_flag=stop)


def handlers(
    session: Session, work: Work, take_signals: Callable[[], None]
) -> kopf.OperatorRegistry:
    """All handlers, on a registry that no other operator in the process uses."""
    registry = kopf.OperatorRegistry()

    @kopf.on.startup(registry=registry, errors=kopf.ErrorsMode.PERMANENT)
    async def start(settings: kopf.OperatorSettings, **_: Any) -> None:
        configure(settings)
        work.start()
        # kopf takes over SIGINT and SIGTERM in the next turn of the main thread's loop.
        asyncio.get_running_loop().call_soon(take_signals)

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return kopf.AiohttpSession(server="", aiohttp_session=cast("Any", session))

    @kopf.on.event(names.API_GROUP, names.API_VERSION, names.POD_GROUP_PLURAL, registry=registry)
    async def seen(event: kopf.RawEvent, **_: Any) -> None:
        session.seen(event["type"], event["object"])

    @kopf.on.cleanup(registry=registry)
    async def stop(**_: Any) -> None:
        await work.stop()

    return registry


def configure(settings: kopf.OperatorSettings) -> None:
    """Change the settings that differ from kopf's defaults."""
    settings.posting.enabled = False
    settings.scanning.disabled = True  # it reads every CustomResourceDefinition of the cluster
    settings.process.ultimate_exiting_timeout = None  # would end the process by SIGKILL
    settings.networking.error_backoffs = _Forever()
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=names.API_GROUP)
    settings.persistence.diffbase_storage = _Nothing()
    kopfs = logging.getLogger("kopf")
    kopfs.handlers, kopfs.propagate = [_KopfLogs()], False
    kopfs.setLevel(logging.DEBUG if log.isEnabledFor(logging.DEBUG) else logging.WARNING)


class _Forever:
    """Backoffs for kopf: it retries a failed request for ever, as the session does the waiting."""

    def __iter__(self) -> Iterator[float]:
        return itertools.repeat(0.0)


class _Nothing(kopf.DiffBaseStorage):
    """An empty storage: no handler needs the last handled state, so kopf need not copy it."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        """Return an empty essence; called for each event."""
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> None:
        """Return nothing."""

    def store(self, **_: Any) -> None:
        """Store nothing."""


class _KopfLogs(logging.Handler):
    """Turns kopf's log lines into our own.

    Warnings and errors about handlers keep their level. kopf's other lines are for debugging only:
    the session reports what keeps kopf from working, or it is raised.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record on."""
        shown = record.name == "kopf.objects" and record.levelno >= logging.WARNING
        level = record.levelno if shown else logging.DEBUG
        log.log(level, "kopf: %s", record.getMessage(), exc_info=record.exc_info)
