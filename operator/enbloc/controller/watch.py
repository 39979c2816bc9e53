# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups, watched by kopf.

Only a low-level event handler is registered, on a registry of our own. For such handlers kopf
keeps no state, so it writes no annotation and no finalizer and never patches; the names that it
is given for its own keys (prefix enbloc.dev) are not used. Status is written elsewhere, by
server-side apply. What changes of a PodGroup without a change of its spec does not pass through
kopf's queues: it is told as it is read (`answers.py`), in order with what kopf tells or before it.

kopf runs in a thread with an event loop of its own, because in a loop that it shares it takes over
SIGINT and SIGTERM, and on its way out cancels every task that was created after it started: the
scheduler's too, in `enbloc run`. Here it ends by its stop flag alone. Its watch for new kinds is
off, because that reads every CustomResourceDefinition of the cluster: who runs this finds out
when ours appears, and runs it again.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from enbloc.client.paths import POD_GROUPS
from enbloc.controller.answers import Answers
from enbloc.controller.kopf_logging import KopfLogHandler
from enbloc.controller.lean_kopf import kopf
from enbloc.controller.login import Connection, Session, opened
from enbloc.errors import ConfigError, EnblocError
from enbloc.model import names

REQUEST_SECONDS: Final = 30.0
CONNECT_SECONDS: Final = 5.0
#: TLS connections take a moment to close after kopf has closed them; its loop waits for that.
FAREWELL_SECONDS: Final = 0.2
_WENT_BACK: Final = (
    f"the resourceVersion of {POD_GROUPS.label()} went back in time: the server was restored"
)
FINALIZER: Final = f"{names.API_GROUP}/cleanup"

log = logging.getLogger(__name__)

Seen = Callable[[str | None, Mapping[str, Any]], None]
"""Told of a PodGroup: ADDED, MODIFIED, DELETED, or None for one that was listed; the object."""


class WatchFailed(EnblocError):  # noqa: N818  # what happened, not a fault
    """kopf gave up; the message says why, in one line."""


class NotServedYet(WatchFailed):
    """The server's discovery does not show PodGroups, though they can be listed: soon it will."""


class Watch:
    """One run of kopf.

    Args:
        login: gives the connection to use; called in the loop that runs `run`.
        seen: told of every PodGroup; called in that loop as well.
        retries: after how long kopf repeats a request that failed, each time (seconds).
        new_loop: makes kopf's event loop.
    """

    def __init__(
        self,
        login: Callable[[], Awaitable[Connection]],
        seen: Seen,
        retries: Sequence[float],
        new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
    ) -> None:
        self._login = login
        self._seen = seen
        self._retries = retries
        self._new_loop = new_loop

    async def run(self) -> None:
        """Watch until cancelled.

        Raises:
            WatchFailed: kopf stopped unexpectedly.
            ConfigError: there are no credentials.
        """
        home = asyncio.get_running_loop()
        ended: asyncio.Future[None] = home.create_future()
        runner = asyncio.Runner(loop_factory=self._new_loop)
        loop, stop = runner.get_loop(), asyncio.Event()
        # What fails in it ends the run, and is said by whoever called this.
        loop.set_exception_handler(lambda _, context: log.debug("kopf: %s", context["message"]))
        problems: list[BaseException] = []

        def fail(error: BaseException) -> None:
            problems.append(error)
            loop.call_soon_threadsafe(stop.set)

        async def operate() -> None:
            try:
                await self._operate(home, stop, fail)
            finally:  # not as the runner is closed: the caller's loop would be held up by the join
                await loop.shutdown_default_executor()

        def work() -> None:
            with runner:
                try:
                    with KopfLogHandler(lambda: fail(NotServedYet("PodGroups are not served yet"))):
                        runner.run(operate())
                except Exception as error:  # noqa: BLE001  # told to whoever waits, in their loop
                    problems.append(error)
                home.call_soon_threadsafe(_set, ended)

        thread = threading.Thread(target=work, name="kopf", daemon=True)
        thread.start()
        try:
            await asyncio.shield(ended)
        finally:
            with contextlib.suppress(RuntimeError):  # its loop is closed: it has ended
                loop.call_soon_threadsafe(stop.set)
            await ended
            thread.join()
        raise _explained(problems[0] if problems else None)

    def _tell(self, kind: str | None, found: Mapping[str, Any]) -> None:
        try:
            self._seen(kind, found)
        except Exception:  # a bug must not keep other PodGroups from being seen
            metadata = found["metadata"]
            log.exception(
                "Failed to process PodGroup %s/%s", metadata["namespace"], metadata["name"]
            )

    async def _operate(
        self,
        home: asyncio.AbstractEventLoop,
        stop: asyncio.Event,
        fail: Callable[[BaseException], None],
    ) -> None:
        """Run kopf, as `kopf.operator()` does; in its thread."""
        registry = kopf.OperatorRegistry()
        sessions: list[Session] = []
        answers = Answers(
            lambda found: home.call_soon_threadsafe(self._tell, "MODIFIED", found),
            lambda: fail(WatchFailed(_WENT_BACK)),
        )

        @kopf.on.login(registry=registry, errors=kopf.ErrorsMode.PERMANENT)
        async def login(**_: Any) -> Session:
            async def ask() -> Connection:
                return await self._login()

            try:
                asked = asyncio.run_coroutine_threadsafe(ask(), home)
                session = opened(await asyncio.wrap_future(asked), answers)
            except Exception as error:
                fail(error)  # kopf itself would wait for other credentials, for ever
                raise
            sessions[:] = [each for each in sessions if not each.aiohttp_session.closed]
            sessions.append(session)
            return session

        @kopf.on.event(
            names.API_GROUP, names.API_VERSION, names.POD_GROUP_PLURAL, registry=registry
        )
        async def seen(event: kopf.RawEvent, **_: Any) -> None:
            home.call_soon_threadsafe(self._tell, event["type"], event["object"])

        others = asyncio.all_tasks()
        tasks = await kopf.spawn_tasks(
            registry=registry,
            settings=_settings(self._retries),
            clusterwide=True,
            standalone=True,
            stop_flag=stop,
        )
        for task in tasks:  # or it would, having failed, wait 5 s for its own watch of the flag
            task.add_done_callback(lambda _: stop.set())
        try:
            await kopf.run_tasks(tasks, ignored=others)
        finally:
            for session in sessions:  # kopf closes those that it has used
                await session.aiohttp_session.close()
        await asyncio.sleep(FAREWELL_SECONDS)


class _Nothing(kopf.DiffBaseStorage):
    """What was last handled of an object: no handler asks, and kopf need not copy it to know."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        """Of each object, for each event."""
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> None:
        """There is none."""

    def store(self, **_: Any) -> None:
        """It is not kept."""


def _settings(retries: Sequence[float]) -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.peering.standalone = True
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.process.ultimate_exiting_timeout = None  # would end the process by SIGKILL
    settings.networking.error_backoffs = retries
    settings.networking.request_timeout = REQUEST_SECONDS
    settings.networking.connect_timeout = CONNECT_SECONDS
    settings.watching.chunk_size = 500
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=names.API_GROUP)
    settings.persistence.diffbase_storage = _Nothing()
    return settings


def _set(ended: asyncio.Future[None]) -> None:
    if not ended.done():  # who waited may have been cancelled twice
        ended.set_result(None)


def _explained(error: BaseException | None) -> Exception:
    """What kopf died of, as an error whose text is one line for people."""
    if isinstance(error, WatchFailed | ConfigError):
        return error
    if isinstance(error, kopf.LoginError):
        what = "the API server rejected the credentials"
    elif error is None:
        what = "kopf stopped unexpectedly"
    else:
        what = getattr(error, "message", None) or str(error) or type(error).__name__
    return WatchFailed(f"cannot watch {POD_GROUPS.label()}: {what}")
