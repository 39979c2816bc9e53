# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The kopf operator: its handlers, and how it runs.

Of PodGroups only a low-level event handler is registered. For such handlers kopf keeps no state, so
it writes no annotation and no finalizer and never patches; the names that it is given for its own
keys (prefix enbloc.dev) are not used. Status is written elsewhere, by server-side apply.

It needs an event loop in which nothing outlives it: on its way out it cancels every task that was
created after it started. What kopf offers and is not used here, and why:
docs/explanation/decisions.md.
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
    """What runs while kopf does."""

    def start(self) -> None:
        """Begin; kopf has not asked for anything yet."""
        ...

    async def stop(self) -> None:
        """End; kopf tells of nothing any more."""
        ...


async def operate(
    session: Session, work: Work, stop: "asyncio.Future[None]", take_signals: Callable[[], None]
) -> None:
    """Run kopf, until cancelled or told to stop.

    Args:
        session: what kopf asks by.
        work: what runs meanwhile.
        stop: ends it, and is raised from here if it is an exception.
        take_signals: takes SIGINT and SIGTERM over again.
    """
    registry = handlers(session, work, take_signals)
    await kopf.operator(registry=registry, clusterwide=True, standalone=True, stop_flag=stop)


def handlers(
    session: Session, work: Work, take_signals: Callable[[], None]
) -> kopf.OperatorRegistry:
    """All handlers, on a registry where no other operator in the process finds them."""
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
    """What differs from kopf's defaults."""
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
    """A request that failed is tried again, for ever; the session waits before."""

    def __iter__(self) -> Iterator[float]:
        return itertools.repeat(0.0)


class _Nothing(kopf.DiffBaseStorage):
    """What was last handled of an object: no handler asks, and kopf need not copy it to know."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        """Of each object, for each event."""
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> None:
        """There is none."""

    def store(self, **_: Any) -> None:
        """It is not kept."""


class _KopfLogs(logging.Handler):
    """kopf's log lines as lines of ours.

    Of what handlers do, warnings and errors come through. What keeps kopf itself from its work the
    session tells of, or it is raised: what kopf says of that is for who debugs.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record on."""
        shown = record.name == "kopf.objects" and record.levelno >= logging.WARNING
        level = record.levelno if shown else logging.DEBUG
        log.log(level, "kopf: %s", record.getMessage(), exc_info=record.exc_info)
