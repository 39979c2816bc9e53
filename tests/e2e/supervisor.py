# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The processes of a soak: killed, stopped, started again, and measured."""

import asyncio
import os
import signal
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.e2e.fault_proxy import FaultProxy
from tests.e2e.processes import Server
from tests.e2e.replicas import elected, leads
from tests.e2e.world import World

#: A process is as large as it gets after so long (seconds).
WARM: Final = 120.0
LOST_LEASE: Final = "Stopped deciding: lost the Lease"
#: What no log of ours may hold.
TRACES: Final = ("Traceback (most recent call last)", "was never retrieved", "Scheduler failed")


@dataclass
class Life:
    """One process, from its start on, and how large it was (bytes) after how long (seconds)."""

    server: Server
    began: float
    sizes: list[tuple[float, int]] = field(default_factory=list)

    def leads(self) -> bool:
        """Whether it decides."""
        return leads(self.server)

    def look(self) -> None:
        """Note how large it is now."""
        with suppress(OSError):
            pages = int(Path(f"/proc/{self.server.pid}/statm").read_text().split()[1])
            age = time.monotonic() - self.began
            self.sizes.append((age, pages * os.sysconf("SC_PAGE_SIZE")))

    def growth(self) -> tuple[int, int] | None:
        """Its size when it was warm, and at its end; None if it never got there."""
        warm = [size for age, size in self.sizes if age >= WARM]
        few = 10
        if len(warm) < 3 * few:
            return None
        return int(statistics.median(warm[:few])), int(statistics.median(warm[-few:]))


class Processes:
    """Two schedulers and a controller, which are started again whenever they end.

    Args:
        world: where.
        schedulers: the proxy of the schedulers.
        controllers: the proxy of the controller.
        did: counts what is done to them.
    """

    def __init__(
        self, world: World, schedulers: FaultProxy, controllers: FaultProxy, did: Counter[str]
    ) -> None:
        self._world = world
        self._proxies = schedulers, controllers
        self._did = did
        self._lives: list[Life] = []
        #: What their logs must not hold, and ends that nobody caused.
        self.problems: list[str] = []
        #: For how many seconds no scheduler decided.
        self.leaderless = 0.0
        #: How many lines each logged at each level.
        self.logged: Counter[str] = Counter()

    async def start(self) -> None:
        """Start them; whatever the world began with ends."""
        for server in self._world.servers:
            server.kill()
        self._world.servers.clear()
        for name in ("scheduler", "scheduler", "controller"):
            await self._start(name)

    async def _start(self, name: str) -> None:
        schedulers, controllers = self._proxies
        if name == "scheduler":
            server = await elected(self._world, kubeconfig=schedulers.through)
        else:
            server = self._world._start("controller", kubeconfig=controllers.through)
        self._lives.append(Life(server, time.monotonic()))

    async def run(self) -> None:
        """Start again what has ended, and note how large each is; until cancelled."""
        while True:
            for life in [*self._lives]:
                code = life.server.ended
                if code is None:
                    life.look()
                    continue
                self.problems.append(f"ended with {code}: {life.server.tail()}")
                await self._again(life)
            before = time.monotonic()
            await asyncio.sleep(1.0)
            if self.leader() is None:
                self.leaderless += time.monotonic() - before

    async def kill(self, life: Life) -> None:
        """End one as a crash does, and start another one."""
        await self._again(life)

    async def _again(self, life: Life) -> None:
        if life not in self._lives:
            return
        self._lives.remove(life)
        self._world.servers.remove(life.server)
        life.server.kill()
        self._read(life.server)
        await self._start(life.server.name)

    async def stop_for(self, life: Life, seconds: float) -> None:
        """Stop one in its tracks (SIGSTOP) for a while."""
        pid = life.server.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            if life.server.pid == pid:
                os.kill(pid, signal.SIGCONT)

    def leader(self) -> Life | None:
        """The scheduler that decides."""
        return next((life for life in self._of("scheduler") if life.leads()), None)

    def standby(self) -> Life | None:
        """A scheduler that does not."""
        return next((life for life in self._of("scheduler") if not life.leads()), None)

    def controller(self) -> Life | None:
        """The controller."""
        return next(iter(self._of("controller")), None)

    def _of(self, name: str) -> list[Life]:
        return [life for life in self._lives if life.server.name == name and life.server.pid]

    async def end(self) -> None:
        """Ask all to end, and see that they do so well."""
        for life in self._lives:
            if life.server.ended is None and (code := await life.server.end()) != 0:
                self.problems.append(f"asked to end, ended with {code}: {life.server.tail()}")
            self._read(life.server)

    def _read(self, server: Server) -> None:
        text = server.text()
        lines = text.splitlines()
        self._did["Lease lost"] += text.count(LOST_LEASE)
        for number, line in enumerate(lines):
            if any(each in line for each in TRACES):
                first = max(0, number - 3)
                self.problems.append(f"{server.log}:\n" + "\n".join(lines[first : number + 40]))
                break
        for level in ("WARNING", "ERROR"):
            self.logged[f"{server.name} {level}"] += text.count(f" {level} ")

    def sizes(self) -> Iterator[tuple[str, tuple[int, int] | None, int]]:
        """Of each: what it is, its growth since it was warm, its size at the end (bytes)."""
        leader = self.leader()
        for life in self._lives:
            name = "leader" if life is leader else life.server.name
            yield name, life.growth(), life.sizes[-1][1] if life.sizes else 0
