# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The controller process: pods and PodGroups in, status out.

::

    pods, namespaces, Jobs, StatefulSets, … ─reflectors─► Members ──┐ which groups changed
                                                                    ▼
    PodGroups ──kopf───────────────────────────────────────► StatusWriter
        ▲                                                           │
        │                           server-side apply of status ◄───┤
        │                                                events ◄───┘
    Sources ◄──reflectors── other projects' PodGroups, and workloads

A standby follows pods, namespaces and creators. kopf (`operator.py`) and everything else run only
while this process holds the Lease.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.client.events import Recorder
from enbloc.client.items import Item
from enbloc.client.lease import LeaseLost
from enbloc.client.paths import JOBS, NAMESPACES, PODS, REPLICA_SETS, STATEFUL_SETS, Resource
from enbloc.client.reflector import Reflector
from enbloc.controller.creator_objects import (
    JobObject,
    SetObject,
    job,
    replica_set,
    stateful_set,
)
from enbloc.controller.informers import (
    Confirm,
    confirm,
    follow_creators,
    follow_namespaces,
    follow_pods,
    regrouped,
)
from enbloc.controller.members import Members
from enbloc.controller.operator import operate
from enbloc.controller.session import Session, key_of
from enbloc.controller.sources import SOURCES
from enbloc.controller.sources.follow import Sources
from enbloc.controller.status_writer import StatusWriter
from enbloc.errors import ConfigError
from enbloc.model import names
from enbloc.model.groups import GroupKey
from enbloc.process.election import candidate
from enbloc.process.options import Options
from enbloc.process.terms import run_terms
from enbloc.telemetry import ActiveProblems, Health, Heartbeat
from enbloc.wire import codec_groups
from enbloc.wire.auto_groups import AutoGroups
from enbloc.wire.objects import NamespaceObject, PodObject

log = logging.getLogger(__name__)

#: How long a stop waits for statuses to be written (seconds).
STATUS_SECONDS: Final = 2.0
#: How long it then waits for events to be written (seconds).
FLUSH_SECONDS: Final = 2.0


class Controller:
    """Keeps the controller's part of every PodGroup's status, for one term of leadership at most.

    Args:
        client: the API.
        options: what the flags say.
        health: where its checks are registered.
        pods: the stream of all pods, and its Confirm; None = the controller reads them itself.
    """

    def __init__(
        self,
        client: Client,
        options: Options,
        health: Health,
        pods: tuple[AsyncIterator[Item[PodObject]], Confirm] | None = None,
    ) -> None:
        self._client = client
        self._options = options
        self._problems = ActiveProblems()
        self._auto = AutoGroups(unknown=False)
        self._members = Members(self._auto.adoptions, self._auto.groups)
        self._elector = candidate(
            client,
            options,
            options.lease_name or names.CONTROLLER_LEASE,
            partial(self._problems.report, "leader election"),
            options.lease_timing,
        )
        writer = self._elector.writer if self._elector else client
        self._recorder = Recorder(writer, socket.gethostname())
        clock = client.server_clock()
        self._statuses = StatusWriter(
            writer, self._members, self._problems, self._recorder, clock.now
        )
        self._sources = Sources(
            client,
            writer,
            SOURCES,
            members=self._members,
            ask=self._ask,
            problems=self._problems,
            recorder=self._recorder,
            now=clock.now,
            scheduler_names=_scheduler_names(options),
        )
        self._namespaces = Reflector(
            client, NAMESPACES, NamespaceObject, report=self._says(NAMESPACES)
        )
        self._jobs = Reflector(client, JOBS, JobObject, report=self._says(JOBS))
        self._stateful_sets = Reflector(
            client, STATEFUL_SETS, SetObject, report=self._says(STATEFUL_SETS)
        )
        self._replica_sets = Reflector(
            client, REPLICA_SETS, SetObject, report=self._says(REPLICA_SETS)
        )
        #: The streams that this process reads itself.
        self._streams: list[Reflector[Any]] = [
            self._namespaces,
            self._jobs,
            self._stateful_sets,
            self._replica_sets,
        ]
        self._confirms: list[Confirm] = []
        if pods is not None:
            self._pods, confirm_pods = pods
            self._confirms.append(confirm_pods)
        else:
            own_pods = Reflector(client, PODS, PodObject, report=self._says(PODS))
            self._pods = own_pods.stream()
            self._streams.append(own_pods)
        self._confirms += [partial(confirm, stream) for stream in self._streams]
        watched = (PODS, NAMESPACES, JOBS, STATEFUL_SETS, REPLICA_SETS)
        self._synced = {resource: asyncio.Event() for resource in watched}
        self._session = Session(client, self._problems, self)
        #: The tasks that run while kopf does; a failure of one is raised there.
        self._followed: list[asyncio.Task[None]] = []
        self._broken: asyncio.Future[None]
        self._stop = options.stop or asyncio.Event()
        self._stopping = False
        self._heartbeat = Heartbeat()
        health.register("controller-loop", self._heartbeat.recent, "livez", "healthz")
        health.register("controller-api", lambda: not self._problems.active, "readyz")
        health.register("controller-running", lambda: not self._stopping, "readyz")
        if self._elector is not None:
            health.register("controller-lease", self._elector.healthy, "healthz", "readyz")
        for resource, synced in self._synced.items():
            health.register(f"controller-{resource.plural}-synced", synced.is_set, "readyz")

    async def run(self) -> int:
        """Run until `options.stop` is set.

        Returns:
            0 after a requested stop; 1 after a failure.

        Raises:
            ConfigError: the Lease's namespace does not exist.
            LeaseLost: nothing more is written; requests already sent may still take effect.
        """
        lead = self._serve() if self._elector is None else self._elector.run(self._serve)
        works = (
            lead,
            self._inform(),
            self._recorder.run(),
            self._heartbeat.run(),
            self._admit(),
            self._stop.wait(),
        )
        tasks = [asyncio.ensure_future(work) for work in works]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except (ConfigError, LeaseLost):
            raise
        except Exception:  # the other tasks are useless without this one
            log.exception("Controller failed")
            return 1
        finally:
            log.info("Stopping the controller")
            self._stopping = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._recorder.flush(FLUSH_SECONDS)
        return 0

    async def _inform(self) -> None:
        """Keep the members in step with the cluster, until cancelled."""
        if self._elector is not None:
            await self._elector.first_try()
        members, ask, synced = self._members, self._ask, self._synced
        works = (
            follow_pods(
                self._pods, members, self._auto, self._sources.declaring, ask, synced[PODS]
            ),
            follow_namespaces(
                self._namespaces.stream(), members, self._auto, ask, synced[NAMESPACES]
            ),
            follow_creators(self._jobs.stream(), job, members, ask, synced[JOBS]),
            follow_creators(
                self._stateful_sets.stream(), stateful_set, members, ask, synced[STATEFUL_SETS]
            ),
            follow_creators(
                self._replica_sets.stream(), replica_set, members, ask, synced[REPLICA_SETS]
            ),
        )
        async with asyncio.TaskGroup() as informing:
            for work in works:
                informing.create_task(work)

    async def _admit(self) -> None:
        """Serve admission webhooks if enabled, on a standby too."""
        webhooks = self._options.webhooks
        if webhooks is None:
            await self._stop.wait()
            return
        # Imported here, as its models are not needed without webhooks.
        from enbloc.controller.admission import serve_webhooks  # noqa: PLC0415

        async with serve_webhooks(webhooks, _scheduler_names(self._options)):
            await self._stop.wait()

    async def _serve(self) -> None:
        """Do what only the holder of the Lease does."""
        for stream in self._streams:
            stream.hurry()  # the server answers: it granted the Lease, if any
        for synced in self._synced.values():
            await synced.wait()  # or groups would seem to have no members
        if self._elector is not None and not self._elector.unbroken:
            since = self._elector.since
            await asyncio.gather(*(confirmed(since) for confirmed in self._confirms))
        log.info("Started reconciling PodGroups")
        self._broken = asyncio.get_running_loop().create_future()
        await operate(self._session, self, self._broken, self._options.take_signals)

    # ── while kopf runs ──────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Start the tasks that only the holder of the Lease runs."""
        for work in (self._sources.run(), self._session.compare()):
            task = asyncio.ensure_future(work)
            task.add_done_callback(self._has_ended)
            self._followed.append(task)

    def _has_ended(self, task: asyncio.Task[None]) -> None:
        """Stop everything when a task ends: the others are useless without it."""
        if not task.cancelled() and not self._broken.done():
            self._broken.set_exception(task.exception() or RuntimeError("a task has ended"))

    async def stop(self) -> None:
        """Stop those tasks, and write what is waiting, events too; then the Lease is released."""
        for task in self._followed:
            task.cancel()
        await asyncio.gather(*self._followed, return_exceptions=True)
        await asyncio.gather(
            self._statuses.writer.finish(STATUS_SECONDS), self._sources.finish(STATUS_SECONDS)
        )
        await self._recorder.written(FLUSH_SECONDS)
        if self._elector is not None:
            await self._elector.landed()

    # ── events ───────────────────────────────────────────────────────────────────────────────

    def _ask(self, group: GroupKey) -> None:
        """Look at a group again, as its members or their creators changed."""
        self._statuses.reconcile(group)
        self._sources.touched(group)

    def listed(self, found: Mapping[tuple[str, str], Mapping[str, Any]], version: int) -> None:
        """Take in all PodGroups that existed at this resourceVersion."""
        self._sources.listed({GroupKey(*key): each for key, each in found.items()}, version)

    def seen(self, kind: str | None, found: Mapping[str, Any]) -> None:
        """Take in a PodGroup that was listed, added, changed or deleted."""
        exists = kind != "DELETED"
        if exists:
            self._statuses.seen(found)
            self._sources.group_seen(found)
        else:
            self._statuses.gone(found)
            self._sources.group_gone(found)
        key = GroupKey(*key_of(found))
        if exists:
            pods = self._auto.group(key, codec_groups.adoptions(found))
        else:
            pods = self._auto.group_gone(key)
        moved = regrouped(pods, self._members, self._auto)
        for group in (*self._members.regroup(key), *moved):
            self._ask(group)

    def _says(self, resource: Resource) -> Callable[[str | None], None]:
        return partial(self._problems.report, f"watching {resource.label()}")


def _scheduler_names(options: Options) -> Collection[str]:
    """The schedulerNames whose pods the controller works for."""
    if options.scheduler_names:
        return options.scheduler_names
    profiles = options.configuration.profiles if options.configuration else None
    return profiles or (names.SCHEDULER_NAME,)


async def run_controller(options: Options) -> int:
    """Run the controller until `options.stop` is set or it fails; without the Lease it stands by.

    Nothing else may run in the event loop: it is kopf's (`operator.py`), or `embedded`.

    Args:
        options: what the flags say.

    Returns:
        The exit code: 0 after a requested stop, 1 after a failure.

    Raises:
        ConfigError: the cluster cannot be found, a port is taken, or the Lease's
            namespace does not exist.
    """
    async with connected(options) as client:

        async def term(shared: Options) -> int:
            assert shared.health is not None, "it is served"
            return await Controller(client, shared, shared.health).run()

        return await run_terms(options, term)


@asynccontextmanager
async def connected(options: Options) -> AsyncGenerator[Client, None]:
    """The client of a controller that is about to start.

    Raises:
        ConfigError: the cluster cannot be found.
    """
    cluster = await load(options.kubeconfig, options.context, master=options.master)
    log.info("Starting the controller", extra={"server": cluster.shown, "by": cluster.source})
    async with Client(
        cluster, component="controller", rate=options.request_rate, clock=options.clock
    ) as client:
        yield client
