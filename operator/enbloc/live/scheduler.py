# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The scheduler process: connects streams, engine and executor, from start to stop."""

import asyncio
import dataclasses
import gc
import logging
import os
import socket
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from enbloc.client import cluster_access
from enbloc.client.client import Client
from enbloc.client.events import ObjectReference, Recorder
from enbloc.client.items import Item, Timing
from enbloc.client.lease import LeaseLost, LeaseTiming
from enbloc.client.paths import LEASES
from enbloc.config import LeaderElection, default_configuration
from enbloc.engine import Engine, Settings
from enbloc.engine.events import Stream, Synced
from enbloc.errors import ConfigError
from enbloc.live.bind_slots import BindSlots
from enbloc.live.configz import configz
from enbloc.live.dump import Dumper
from enbloc.live.event_queue import EventQueue
from enbloc.live.executor import Executor
from enbloc.live.extenders import Extenders
from enbloc.live.informers import Informers
from enbloc.live.lease_conflict import LeaseConflict, unseen_by_kube_scheduler
from enbloc.live.loop import Loop
from enbloc.live.malformed import MalformedObjects
from enbloc.live.notices import lease_conflict, malformed
from enbloc.live.object_watches import ObjectWatches
from enbloc.live.plugin_times import PluginTimes
from enbloc.live.report import GroupCounts
from enbloc.live.statuses import GroupStatuses, PodConditions
from enbloc.live.traces import from_environment
from enbloc.model.field_managers import field_manager
from enbloc.process.election import candidate
from enbloc.process.options import Options, served_health
from enbloc.process.terms import run_terms
from enbloc.telemetry import ActiveProblems, Health, Heartbeat
from enbloc.wire.objects import PodObject

#: How long a stop waits for Bindings under way (seconds).
GRACE: Final = 20.0
#: How long a stop waits for events that are not yet written (seconds).
FLUSH_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


async def run_scheduler(options: Options) -> int:
    """Run the scheduler until it is told to stop; without the Lease it stands by.

    Args:
        options: what the flags say.

    Returns:
        0 after a requested stop; 1 after a failure.

    Raises:
        ConfigError: the kubeconfig, the Lease's namespace or a certificate for an extender is
            wrong.
    """
    async with connected(options) as client:
        return await run_terms(options, lambda shared: Scheduler(client, shared).run())


@asynccontextmanager
async def connected(options: Options) -> AsyncGenerator[Client, None]:
    """The client of a scheduler that is about to start.

    Raises:
        ConfigError: the kubeconfig is wrong.
    """
    for warning in options.configuration.warnings if options.configuration else ():
        logger.warning("Configuration: %s", warning)
    cluster = await cluster_access.load(options.kubeconfig, options.context, master=options.master)
    logger.info("Starting the scheduler", extra={"server": cluster.shown, "by": cluster.source})
    async with Client(
        cluster, component="scheduler", rate=options.request_rate, clock=options.clock
    ) as client:
        yield client


class Scheduler:
    """One scheduler on one API server, for one term of leadership at most.

    Args:
        client: the API.
        options: what the flags say.
        settings: of the engine, in place of the configuration's; the identity in them is replaced
            by a unique one.
        timing: how long the reflectors wait.
        pods: gets each item of the stream of pods, after the scheduler has taken it in.
    """

    def __init__(
        self,
        client: Client,
        options: Options,
        *,
        settings: Settings | None = None,
        timing: Timing | None = None,
        pods: Callable[[Item[PodObject]], None] | None = None,
    ) -> None:
        self._options = options
        self._client = client
        self._problems = ActiveProblems()
        configuration = options.configuration or default_configuration()
        profiles = configuration.profiles
        election = configuration.leader_election.of(profiles)
        self._notices = Recorder(client, socket.gethostname())
        self._conflict = LeaseConflict(self._say_conflict)
        self._elector = candidate(
            client,
            options,
            options.lease_name or election.resource_name,
            partial(self._problems.report, "leader election"),
            options.lease_timing or (_timing(election) if options.leader_elect else None),
            profiles,
            self._conflict.tell,
        )
        if warning := unseen_by_kube_scheduler(profiles, self._lease()):
            logger.warning("%s", warning)
        self._configuration = configuration
        self._stop = options.stop or asyncio.Event()
        #: Whether decisions may be taken; and whether a stop has begun.
        self._leading = False
        self._stopping = False
        fenced = self._elector.writer if self._elector else client
        settings = settings or configuration.settings
        traces = from_environment(os.environ)
        self._engine = Engine(
            profiles,
            dataclasses.replace(settings, identity=uuid.uuid4().hex[:12]),
            stopwatch=PluginTimes(traces),
        )
        self._queue = EventQueue()
        self._heartbeat = Heartbeat()
        clock = client.server_clock()
        self._dumper = Dumper(
            self._engine,
            configuration,
            options.dump_dir,
            options.dump or asyncio.Event(),
            clock.now,
        )
        slots = BindSlots()
        self._recorder = Recorder(
            fenced, socket.gethostname(), lambda: slots.bursting(time.monotonic())
        )
        manager = field_manager(profiles)
        statuses = GroupStatuses(fenced, clock.now, self._problems, manager)
        conditions = PodConditions(fenced, clock.now, self._problems)
        self._extenders = Extenders(fenced, profiles)
        watches = ObjectWatches()
        self._executor = Executor(
            fenced,
            profiles,
            self._queue,
            statuses,
            conditions,
            self._recorder,
            self._extenders,
            clock.now,
            watches=watches,
            places=self._engine.places,
            slots=slots,
            traces=traces,
        )
        self._counts = GroupCounts(self._engine, statuses.infeasible, self._may_step, clock.now)
        self._malformed = MalformedObjects(
            lambda about, note: self._recorder.emit(malformed(about, note))
        )
        informers = Informers(
            client, self._queue, self._malformed, profiles, self._problems, timing
        )
        self._informers = informers.every(
            conditions, statuses, self._extenders.nodes, pods, watches
        )
        self._loop = Loop(
            self._engine, self._queue, self._executor.start, clock.now, self._may_step
        )

    async def run(self) -> int:
        """Run until stopped, and return the exit code.

        Raises:
            LeaseLost: no more decisions are taken; requests already sent may still take effect.
        """
        with served_health(self._options) as health:
            self._register(health)
            return await self._run()

    async def _run(self) -> int:
        async with self._extenders:
            working = [asyncio.create_task(self._inform())]
            for each in (
                self._heartbeat,
                self._loop,
                self._executor,
                self._recorder,
                self._notices,
                self._dumper,
                self._counts,
            ):
                working.append(asyncio.create_task(each.run()))
            leading = asyncio.create_task(self._lead())
            stopping = asyncio.create_task(self._stop.wait())
            everything = [*working, leading, stopping]
            try:
                await asyncio.wait(everything, return_when=asyncio.FIRST_COMPLETED)
                if stopping.done():
                    await self._finish(leading)
                    return 0
                if any(task.done() for task in working):
                    await self._dumper.write()
                code = _why_ended([*working, leading])
                await self._give_up(working)
                return code
            finally:
                self._executor.close()
                for task in everything:
                    task.cancel()
                await asyncio.wait(everything)
                recorders = (self._recorder, self._notices)
                await asyncio.gather(*(each.flush(FLUSH_SECONDS) for each in recorders))

    async def _inform(self) -> None:
        """Fill the queue until cancelled."""
        if self._elector is not None:
            await self._elector.first_try()
        async with asyncio.TaskGroup() as informing:
            for informer in self._informers:
                informing.create_task(informer.run())

    async def confirm_pods(self, since: float) -> None:
        """Return once `pods` has got everything that happened before `since`.

        Args:
            since: seconds of the client's `clock.local`.
        """
        pods, *_ = self._informers
        await pods.confirm(since)

    async def _lead(self) -> None:
        """Wait for the Lease, if there is one, and decide while holding it."""
        if self._elector is None:
            await self._run_leading()
        else:
            logger.info("Waiting for the Lease", extra={"lease": self._lease()})
            await self._elector.run(self._run_leading)

    def _lease(self) -> str:
        """Namespace and name of the Lease that this process acquires; "" = none."""
        elector = self._elector
        return f"{elector.namespace}/{elector.name}" if elector is not None else ""

    async def _run_leading(self) -> None:
        """Allow decisions, until cancelled, once everything that happened before is known."""
        for informer in self._informers:
            informer.reflector.hurry()  # the server answers: it granted the Lease, if any
        for informer in self._informers:
            await informer.synced.wait()
        gc.freeze()  # the objects of the first lists stay; the collector need not walk them
        extra: dict[str, Any] = {}
        if self._elector is not None:
            if not self._elector.unbroken:  # else no other leader has written
                since = self._elector.since
                await asyncio.gather(*(informer.confirm(since) for informer in self._informers))
            extra["leaderEpoch"] = self._elector.epoch
        await self._queue.caught_up()  # what a group names must be known before it is judged
        self._queue.put(Synced(Stream.LEASE))
        self._leading = True
        self._malformed.tell()
        for name in self._engine.unknown_classes():
            logger.warning(
                "minRuntimes names a PriorityClass that does not exist",
                extra={"priorityClass": name},
            )
        self._queue.wake()
        logger.info("Started scheduling", extra=extra)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._leading = False

    async def _finish(self, leading: asyncio.Task[None]) -> None:
        """Stop deciding, wait for what was sent to settle, and release the Lease."""
        logger.info("Stopping the scheduler")
        self._stopping = True
        self._loop.stop()
        if self._leading:
            # While still holding the Lease: the next leader waits for it.
            await asyncio.gather(self._executor.finish(GRACE), self._recorder.flush(FLUSH_SECONDS))
            await self._landed()
        leading.cancel()
        await asyncio.wait([leading])

    async def _give_up(self, working: Iterable[asyncio.Task[None]]) -> None:
        """Stop after a fault."""
        self._executor.close()
        for task in working:
            task.cancel()
        if self._leading:
            await asyncio.gather(self._recorder.flush(FLUSH_SECONDS), return_exceptions=True)
            await self._landed()

    async def _landed(self) -> None:
        """Let nothing that was sent take effect after this process has said that it ended."""
        if self._elector is not None:
            await self._elector.landed()
        else:
            await asyncio.sleep(self._client.landing())

    def _say_conflict(self, text: str) -> None:
        """Write an event on our Lease, whoever holds it, that says for whom we stand by."""
        assert self._elector is not None, "who stands by waits for a Lease"
        lease = ObjectReference(LEASES, self._elector.namespace, self._elector.name, "")
        self._notices.emit(lease_conflict(lease, text))

    def _may_step(self) -> bool:
        """Whether decisions may be taken now."""
        return self._leading and self._engine.synced

    def _register(self, health: Health) -> None:
        """Register the health checks of the scheduler."""
        elector = self._elector
        health.register("event-loop", self._heartbeat.recent, "livez", "healthz")
        health.register("engine-step", self._loop.step_ends, "livez", "healthz")
        if elector is not None:
            health.register("scheduler-lease", elector.healthy, "healthz", "readyz")
            health.register("scheduler-lease-conflict", self._conflict.passing, "readyz")
        for informer in self._informers:
            health.register(f"{informer.name}-synced", informer.synced.is_set, "readyz")
            if informer.without:
                name = f"{informer.name}-readable"
                health.register(name, informer.readable, "readyz", counts=False)
        health.pages["configz"] = partial(configz, self._configuration)
        health.register("scheduler-api", lambda: not self._problems.active, "readyz")
        health.register("scheduler-running", lambda: not self._stopping, "readyz")


def _timing(election: LeaderElection) -> LeaseTiming:
    return LeaseTiming(election.lease_duration, election.renew_deadline, election.retry_period)


def _why_ended(tasks: Iterable[asyncio.Task[Any]]) -> int:
    """Log why the scheduler ended without a requested stop, and return the exit code.

    Raises:
        ConfigError: the Lease's namespace does not exist.
        LeaseLost: the Lease was lost.
    """
    for task in tasks:
        if task.done():
            error = task.exception()
            if isinstance(error, ConfigError | LeaseLost):
                raise error
            logger.error("Scheduler failed", exc_info=error)
    return 1
