# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An election in its own thread, so that a long step of the work does not lose the Lease.

::

    the caller's loop                      the thread's loop, with its own connection
    run(work) ─────────────starts────────► Elector.run(stand-in)
    work begins ◄──────────leads────────── the stand-in waits for its end, the elector renews
    work is cancelled ◄────lost, or────────
    run raises ◄───────────ended──────────
"""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Final

from enbloc.client.client import Client
from enbloc.client.lease import Elector, LeaseTiming, OtherHolder, identity_of
from enbloc.client.rivals import Rivals
from enbloc.process.options import Options

#: How long a start waits for the first attempt to take the Lease (seconds).
FIRST_TRY: Final = 2.0

Work = Callable[[], Awaitable[None]]
Report = Callable[[str | None], None]


class Election:
    """One candidate for one Lease, renewed even while the event loop of the work is busy.

    Args:
        client: the API, not fenced; the election has its own connection.
        namespace: of the Lease; must exist.
        name: of the Lease.
        identity: the holder's name; None = a generated one.
        timing: see LeaseTiming.
        report: the `report` of Elector, called in the loop of `run`.
        serves: the schedulerNames of a scheduler; each may have only one scheduler. Empty = do not
            look for rivals with another Lease.
        conflict: the `report` of Rivals, called in the loop of `run`.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        identity: str | None = None,
        timing: LeaseTiming | None = None,
        report: Report = lambda _: None,
        serves: Collection[str] = (),
        conflict: Report = lambda _: None,
    ) -> None:
        self.namespace = namespace
        self.name = name
        timing = timing or LeaseTiming()
        #: The client for all writes of the work: each takes effect before anybody else may lead.
        self.writer: Final = client.fenced(self._may_write, timing.write_seconds)
        self._closed = False
        self._client = client.again()
        rivals = Rivals(
            self._client,
            namespace=namespace,
            name=name,
            serves=serves,
            duration=timing.duration,
            report=partial(self._tell, conflict),
            clock=client.clock.local,
        )
        self._elector = Elector(
            self._client,
            namespace=namespace,
            name=name,
            identity=identity or identity_of(socket.gethostname()),
            timing=timing,
            clock=client.clock.local,
            report=partial(self._tell, report),
            rivals=rivals if serves else None,
        )
        self._elector.tried = self._have_tried
        #: Set in the loop of `run` once the first attempt to take the Lease has ended.
        self.tried = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def _tell(self, report: Report, text: str | None) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody listens
                self._loop.call_soon_threadsafe(report, text)

    def _have_tried(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # as above
                self._loop.call_soon_threadsafe(self.tried.set)

    def remember(self, other: OtherHolder) -> None:
        """Begin with what earlier terms have seen of another holder; to be called before `run`."""
        self._elector.other = other

    async def first_try(self) -> None:
        """Wait for the first attempt to take the Lease, FIRST_TRY seconds at most.

        If it succeeds, what is listed after it is newer than the term, and needs no confirmation.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_TRY):
                await self.tried.wait()

    @property
    def since(self) -> float:
        """When the Lease became ours, in seconds of the client's `clock.local`; for any thread."""
        return self._elector.since

    @property
    def epoch(self) -> int:
        """The number of this term of leadership, unique per term."""
        return self._elector.epoch

    @property
    def unbroken(self) -> bool:
        """Whether nobody else has held the Lease since the first read; for any thread."""
        return self._elector.unbroken

    def holds(self) -> bool:
        """Whether a write sent now takes effect before anybody else may lead; for any thread."""
        return self._elector.holds()

    async def landed(self) -> None:
        """Write no more, and keep the Lease until nothing that was sent can take effect.

        The next leader reads as soon as it has the Lease.
        """
        self._closed = True
        await asyncio.sleep(self.writer.landing())

    def _may_write(self) -> bool:
        return not self._closed and self.holds()

    def healthy(self) -> bool:
        """False if this still leads long after its Lease expired; for any thread."""
        return self._elector.healthy()

    async def run(self, work: Work) -> None:
        """Wait for the Lease, do the work in this loop while holding it, release it.

        Raises:
            LeaseLost: as Elector.run.
            ConfigError: as Elector.run, or a certificate cannot be used.
        """
        self._loop = asyncio.get_running_loop()

        async def begin() -> None:
            self.tried.set()
            await work()

        term = _Term(self._elector, self._client, begin)
        thread = threading.Thread(target=term.hold, name="lease", daemon=True)
        thread.start()
        try:
            await asyncio.shield(term.ended)
        except asyncio.CancelledError:
            if not term.ended.done():
                term.cancel()
                await asyncio.wait({term.ended})
            raise
        finally:
            if term.ended.done():
                thread.join()


class _Term:
    """One run of the election: its state, and the calls between the two loops."""

    def __init__(self, elector: Elector, client: Client, work: Work) -> None:
        self._elector, self._client, self._work = elector, client, work
        self._loop = asyncio.get_running_loop()
        self._runner = asyncio.Runner(loop_factory=client.clock.new_loop)
        self._runner.get_loop()  # before the thread, for what checks that all loops are idle
        self._threads: asyncio.AbstractEventLoop | None = None
        self._running: asyncio.Task[None] | None = None
        self._task: asyncio.Future[None] | None = None
        self._cancelled = False
        #: Done when the thread has ended; its outcome is the outcome of the run.
        self.ended: asyncio.Future[None] = self._loop.create_future()

    # ── in the thread ────────────────────────────────────────────────────────────────────────

    def hold(self) -> None:
        """Run the election; the target of the thread."""
        error: BaseException | None = None
        try:
            self._runner.run(self._campaign())
        except BaseException as raised:  # noqa: BLE001  # the caller raises it
            error = raised
        with self._runner, suppress(RuntimeError):  # the caller's loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._end, error)

    async def _campaign(self) -> None:
        self._threads = asyncio.get_running_loop()
        self._running = asyncio.current_task()
        if self._cancelled:
            return
        try:
            async with self._client:
                await self._elector.run(self._stand_in)
        finally:  # here, because closing the runner would block the caller's loop in a join
            await self._threads.shutdown_default_executor()

    async def _stand_in(self) -> None:
        """Stand in for the work in the elector's loop: ends with the work, with its outcome."""
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def begin() -> None:
            self._task = asyncio.ensure_future(self._work())
            self._task.add_done_callback(tell)

        def tell(_: object) -> None:
            with suppress(RuntimeError):  # the Lease was lost, and the work stopped late
                loop.call_soon_threadsafe(ended.set)

        self._loop.call_soon_threadsafe(begin)
        try:
            await ended.wait()
        except asyncio.CancelledError:
            self._loop.call_soon_threadsafe(self._cancel_work)
            await ended.wait()
            raise
        assert self._task is not None, "it has ended"
        self._task.result()

    # ── in the caller's loop ─────────────────────────────────────────────────────────────────

    def cancel(self) -> None:
        """End the work, release the Lease, end the thread."""
        self._cancelled = True
        if self._threads is not None and self._running is not None:
            with suppress(RuntimeError):  # the thread has just ended
                self._threads.call_soon_threadsafe(self._running.cancel)

    def _cancel_work(self) -> None:
        assert self._task is not None, "it was begun before"
        self._task.cancel()

    def _end(self, error: BaseException | None) -> None:
        if self.ended.done():
            return
        if error is None or isinstance(error, asyncio.CancelledError):
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)


def candidate(
    client: Client,
    options: Options,
    name: str,
    report: Report,
    timing: LeaseTiming | None = None,
    serves: Collection[str] = (),
    conflict: Report = lambda _: None,
) -> Election | None:
    """The candidate of this process by its options; None = it takes no Lease.

    Args:
        client: see Election.
        options: what the flags say.
        name: of the Lease.
        report: see Election.
        timing: see Election.
        serves: see Election.
        conflict: see Election.
    """
    if not options.leader_elect:
        return None
    namespace = options.lease_namespace or client.cluster.namespace
    election = Election(
        client,
        namespace=namespace,
        name=name,
        identity=options.identity,
        timing=timing,
        report=report,
        serves=serves,
        conflict=conflict,
    )
    election.remember(options.other_holders.setdefault((namespace, name), OtherHolder()))
    return election
