# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A plugin that sleeps for longer than the Lease lasts delays a decision, and loses nothing."""

import asyncio
import datetime as dt
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import numpy as np
import pytest

from enbloc import Mask, Nodes, Pod, Reads, Scores
from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.client.paths import LEASES
from enbloc.config import Configuration, LeaderElection, default_profiles
from enbloc.live.scheduler import Scheduler
from enbloc.model.names import SCHEDULER_LEASE, SCHEDULER_NAME
from enbloc.process.options import Options
from enbloc.telemetry import Health
from tests.e2e.replicas import elected, leads
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("a plugin sleeps for several times the duration of a Lease")

SIZE = 4
#: A renewal may come so late as a busy machine makes it.
LEASE: Final = LeaderElection(lease_duration=10.0, renew_deadline=8.0, retry_period=0.5)
#: How much newer the last renewal is when the plugin wakes: as 30 seconds are to a Lease of default
#: duration (seconds).
SLEEP: Final = 2 * LEASE.lease_duration


@dataclass(frozen=True)
class Sleepy:
    """Sleeps at its first decision, whichever thread asks it, until it is woken."""

    name: ClassVar[str] = "Sleepy"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) were asleep"
    asleep: threading.Event = field(default_factory=threading.Event)
    awake: threading.Event = field(default_factory=threading.Event)

    def sleep(self) -> None:
        if not self.asleep.is_set():
            self.asleep.set()
            assert self.awake.wait(3 * SLEEP), "nobody has woken it"


class SleepyFilter(Sleepy):
    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        self.sleep()
        return np.ones(len(nodes), dtype=np.bool_)


class SleepyScore(Sleepy):
    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        del pod
        self.sleep()
        return np.zeros(len(nodes), dtype=np.int64)


@asynccontextmanager
async def scheduler(world: World, plugin: Sleepy) -> AsyncGenerator[None]:
    """A scheduler with this plugin, in a thread and with a loop of its own, as in a process."""
    [given] = default_profiles().values()
    profile = replace(given, plugins=(*given.plugins, plugin), points={})
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> int:
        stop = asyncio.Event()
        loops.append((asyncio.get_running_loop(), stop))
        options = Options(
            lease_namespace=world.lease_namespace,
            health=Health(),
            stop=stop,
            configuration=Configuration({SCHEDULER_NAME: profile}, leader_election=LEASE),
        )
        cluster = await load(world.target.kubeconfig_of("scheduler"))
        async with Client(cluster, component="scheduler") as client:
            return await Scheduler(client, options).run()

    running = asyncio.create_task(asyncio.to_thread(asyncio.run, run()))
    try:
        yield
    finally:
        plugin.awake.set()
        for loop, stop in loops:
            loop.call_soon_threadsafe(stop.set)
        code = await running
    assert code == 0


async def lease(world: World) -> dict[str, Any]:
    found = await world.client.get(LEASES, SCHEDULER_LEASE, world.lease_namespace)
    spec: dict[str, Any] = found["spec"]
    return spec


def moment(spec: dict[str, Any]) -> dt.datetime:
    """When a Lease was last renewed."""
    return dt.datetime.fromisoformat(spec["renewTime"])


@pytest.mark.parametrize("kind", [SleepyFilter, SleepyScore])
async def test_a_plugin_that_sleeps_longer_than_the_lease_lasts_keeps_the_lease(
    world: World, kind: type[Sleepy]
) -> None:
    await world.nodes(2, cpu=SIZE)
    world.scheduler.kill()
    plugin = kind()
    async with scheduler(world, plugin):
        await world.gang("train", SIZE)
        await world.until(plugin.asleep.is_set, "the plugin sleeps")
        before = await lease(world)
        standby = await elected(world)

        async def renewed() -> bool:
            gained = moment(await lease(world)) - moment(before)
            return gained >= dt.timedelta(seconds=SLEEP)

        await world.eventually(renewed, lambda: "the Lease is renewed all the time")
        after = await lease(world)
        plugin.awake.set()
        for kept in ("holderIdentity", "leaseTransitions", "acquireTime"):
            assert after[kept] == before[kept]
        await world.bound("train", SIZE)
        assert not leads(standby)
    await world.until(lambda: leads(standby), "the standby leads once the Lease is given back")
