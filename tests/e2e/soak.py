# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A soak: a cluster in use, while requests, processes, servers and machines fail at random.

    python -m tests.e2e.soak --minutes=30 --seed=7

All that happens is drawn from a seed, which is printed. What must hold is judged by what a watch
of the API server shows, and by the processes themselves: no gang is bound in part for longer than
IN_PART, no pod moves, no node is overcommitted, nobody gives way to nobody, every workload ends
once nothing fails any more, no process ends by itself, none writes a traceback, and memory is flat.
"""

import argparse
import asyncio
import logging
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final

from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from tests.controlplane import API_SERVER, ControlPlane
from tests.e2e.auditor import Auditor
from tests.e2e.churn import Machines, Tenant, described, priorities
from tests.e2e.fault_proxy import FaultProxy
from tests.e2e.replicas import LEASE_SECONDS
from tests.e2e.storm import Storm
from tests.e2e.supervisor import Life, Processes
from tests.e2e.targets import ControlPlaneTarget, Target
from tests.e2e.world import World

#: How long all workloads may take to end after the last fault (seconds).
FINISH: Final = 150.0
#: What a process may grow by after it was warm: a share, and bytes.
MORE_SHARE, MORE_BYTES = 0.1, 16 * 2**20
#: For so large a share of the time processes are killed; then their memory is watched.
KILLS_SHARE: Final = 0.5
NODES_COUNT, TENANTS = 5, 8
MIB: Final = 2**20


class Soak:
    """One run.

    Args:
        world: where; nothing but what it begins with runs in it.
        seconds: how long things fail.
        seed: of all that happens.
    """

    def __init__(self, world: World, seconds: float, seed: int) -> None:
        self._world = world
        self._seconds = seconds
        self._seed = seed
        self._rng = random.Random(f"{seed} kills")
        self._began = time.monotonic()
        self._last = asyncio.Event()
        #: How often each thing was done.
        self.did: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._auditor = Auditor(world)
        self.problems: list[str] = []
        self._figures: dict[str, object] = {}

    async def run(self) -> None:
        """Run to the end; `problems` then tells what must not have happened."""
        print(f"soak of {self._seconds:.0f} s, seed {self._seed}", flush=True)
        world = self._world
        async with AsyncExitStack() as stack:
            storms: list[Storm] = []
            proxies: list[FaultProxy] = []
            for component in ("scheduler", "controller"):
                storm = Storm(f"{self._seed} {component}")
                kubeconfig = world.target.kubeconfig_of(component)
                proxy = FaultProxy(kubeconfig, world.path / f"{component}-proxy.kubeconfig")
                proxy.policy, proxy.watch_policy = storm.request, storm.watch
                storms.append(storm)
                proxies.append(await stack.enter_async_context(proxy))
            self._processes = Processes(world, proxies[0], proxies[1], self.did)
            await self._prepare()
            try:
                await self._fail(storms)
                await self._finish()
                self._judge(proxies)
                await self._end()
            finally:
                for life in self._processes._lives:
                    with suppress(ProcessLookupError):
                        if life.server.pid:
                            os.kill(life.server.pid, signal.SIGCONT)

    async def _prepare(self) -> None:
        world = self._world
        await priorities(world)
        self._auditor.start()
        self._machines = Machines(world, NODES_COUNT, f"{self._seed} nodes", self.did)
        await self._machines.start()
        await self._processes.start()
        world.keep("supervisor", self._processes.run())

    async def _fail(self, storms: Sequence[Storm]) -> None:
        """Tenants come and go, and everything fails, until the time is up."""
        self._tenants = [
            Tenant(self._world, f"t{number}", f"{self._seed} {number}", self._last, self._ended)
            for number in range(TENANTS)
        ]
        self._work = [asyncio.create_task(tenant.run()) for tenant in self._tenants]
        hurry = min(1.0, self._seconds / 300)  # a short one has to see everything as well
        self._work.append(asyncio.create_task(self._machines.run(4.0 + 6.0 * hurry, self._last)))
        kills = asyncio.create_task(self._disturb(3.0 + 12.0 * hurry))
        try:
            deadline = self._began + self._seconds
            while time.monotonic() < deadline and not kills.done():
                for storm in storms:
                    storm.turn()
                await asyncio.sleep(self._rng.uniform(2.0, 8.0))
                self._well()
        finally:
            self._last.set()
            await kills  # a server that is down comes back first
            for storm in storms:
                storm.calm()

    def _well(self) -> None:
        """Raise what ended a tenant or anything else of the test."""
        for task in self._work:
            if task.done():
                task.result()
        for name, task in self._world._tasks.items():
            if task.done():
                raise AssertionError(f"the {name} of the test ended") from task.exception()

    async def _disturb(self, pause: float) -> None:
        """Kill, stop or restart something every so many seconds on average."""
        kills = (self._kill_leader, self._kill_standby, self._kill_controller)
        others = (
            self._stop_leader,
            self._stop_leader,
            self._stop_leader,
            self._stop_controller,
            self._stop_controller,
            self._restart_server,
            self._crash_server,
            self._crash_store,
        )
        while (now := time.monotonic() - self._began) < self._seconds:
            wait = min(self._rng.uniform(0.5, 2 * pause), self._seconds - now)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._last.wait()
            if self._last.is_set():
                return
            killing = time.monotonic() - self._began < self._seconds * KILLS_SHARE
            await self._rng.choice((*kills, *kills, *others) if killing else others)()

    async def _kill_leader(self) -> None:
        await self._kill(self._processes.leader(), "leader killed")

    async def _kill_standby(self) -> None:
        await self._kill(self._processes.standby(), "standby killed")

    async def _kill_controller(self) -> None:
        await self._kill(self._processes.controller(), "controller killed")

    async def _kill(self, life: Life | None, what: str) -> None:
        if life is not None:
            self._say(what)
            await self._processes.kill(life)

    async def _stop_leader(self) -> None:
        await self._stop(self._processes.leader(), "leader stopped", 2.5 * LEASE_SECONDS)

    async def _stop_controller(self) -> None:
        await self._stop(self._processes.controller(), "controller stopped", 10.0)

    async def _stop(self, life: Life | None, what: str, most: float) -> None:
        if life is not None:
            seconds = self._rng.uniform(1.0, most)
            self._say(what, f"for {seconds:.1f} s")
            await self._processes.stop_for(life, seconds)

    async def _restart_server(self) -> None:
        self._say("API server restarted")
        await self._world.target.restart_server(self._rng.uniform(0.0, 3.0))

    async def _crash_server(self) -> None:
        self._say("API server killed")
        await self._world.target.restart_server(self._rng.uniform(0.0, 3.0), crash=True)

    async def _crash_store(self) -> None:
        self._say("etcd and API server killed")
        await self._world.target.crash(self._rng.uniform(0.0, 3.0))

    def _say(self, what: str, more: str = "") -> None:
        self.did[what] += 1
        print(f"{time.monotonic() - self._began:7.1f} s  {what} {more}".rstrip(), flush=True)

    async def _finish(self) -> None:
        """Nothing fails any more: every workload has to end."""
        print(f"{time.monotonic() - self._began:7.1f} s  calm", flush=True)
        calm = time.monotonic()
        done, late = await asyncio.wait(self._work, timeout=FINISH)
        for task in done:
            task.result()
        self._figures["seconds until all had ended"] = round(time.monotonic() - calm, 1)
        for tenant, task in zip(self._tenants, self._work, strict=False):
            if task in late:
                said = await described(self._world, tenant.waits_for.split()[1].partition("-r")[0])
                self.problems.append(
                    f"{FINISH:.0f} s after the last fault: {tenant.waits_for}: {said}"
                )
                task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    def _judge(self, proxies: Sequence[FaultProxy]) -> None:
        census = self._auditor.census
        self.problems += self._auditor.problems()
        self.problems += self._world.observer._problems
        for name, growth, size in self._processes.sizes():
            text = f"{size / MIB:.0f} MiB"
            if growth is not None:
                warm, end = growth
                text += f", from {warm / MIB:.0f} MiB when it was warm"
                if end > warm * (1 + MORE_SHARE) + MORE_BYTES:
                    self.problems.append(f"the {name} grew: {text}")
            self._figures[f"RSS of the {name}"] = text
        self._figures["pods bound"] = census.binds
        self._figures["pods preempted"] = census.preempted
        self._figures["seconds without a leader"] = round(self._processes.leaderless)
        bursts = sorted([*census.bursts, 0.0])
        self._figures["longest time a gang was bound in part (s)"] = round(census.burst(), 1)
        self._figures["… the 99th percentile"] = round(bursts[int(0.99 * (len(bursts) - 1))], 1)
        for proxy, name in zip(proxies, ("scheduler", "controller"), strict=True):
            self._figures[f"requests of the {name}"] = len(proxy.asked)
            self._figures[f"faults of the {name}"] = proxy.happened.total()
        faults: Counter[str] = Counter()
        for proxy in proxies:
            faults += proxy.happened
        self._figures["faults by kind"] = _told(faults)

    async def _end(self) -> None:
        """Ask the processes to end, and print the figures."""
        supervisor = self._world._tasks.pop("supervisor")
        supervisor.cancel()
        await self._processes.end()
        self.problems += self._processes.problems
        self._figures["workloads ended"] = _told(self._ended)
        self._figures["done to processes, servers and nodes"] = _told(self.did)
        self._figures["lines logged"] = _told(self._processes.logged)
        if not self.problems:
            self._world.servers.clear()  # nobody wants the ends of their logs
        for name, figure in self._figures.items():
            print(f"{name}: {figure}")
        print(f"seed {self._seed}: {len(self.problems)} problems", flush=True)


def _told(counts: Counter[str]) -> str:
    return f"{counts.total()}: " + ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))


async def soaked(target: Target, path: Path, seconds: float, seed: int) -> list[str]:
    """Run a soak on an API server.

    Args:
        target: the API server.
        path: where logs go.
        seconds: how long things fail.
        seed: of all that happens.

    Returns:
        What must not have happened.
    """
    async with Client(await load(target.kubeconfig), component="soak") as client:
        world = World(target, client, path)
        try:
            await world.open()
            soak = Soak(world, seconds, seed)
            await soak.run()
        except BaseException:
            traceback.print_exc()  # what follows may fail for the same reason, and hide it
            raise
        finally:
            await world.close(judge=False)
    return soak.problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a soak on a real control plane of its own."""
    parser = argparse.ArgumentParser(prog="make soak", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0, help="how long things fail")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--logs", type=Path, help="where to leave the logs; else they are deleted")
    options = parser.parse_args(arguments)
    logging.getLogger("enbloc_sandbox").setLevel(logging.ERROR)  # heartbeats that were missed
    # What the server is asked for is a gigabyte of log in half an hour, and nobody reads it.
    quiet = {API_SERVER: ["--audit-log-path="]}
    with tempfile.TemporaryDirectory() as temporary, ControlPlane(flags=quiet) as cp:
        path = options.logs or Path(temporary)
        path.mkdir(parents=True, exist_ok=True)
        target = ControlPlaneTarget(cp)
        problems = asyncio.run(soaked(target, path, options.minutes * 60, options.seed))
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
