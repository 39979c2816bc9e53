# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A control plane, and the processes that ask it for something and watch it."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.gang_cost import cpu
from benchmarks.real.client import Job, Result
from benchmarks.real.requests import Request, Unit, each
from benchmarks.real.watcher import Times
from benchmarks.reference import slowness
from tests.controlplane import API_SERVER, ControlPlane
from tests.e2e.bare import FLAGS

ROOT: Final = Path(__file__).parents[2]
#: No pod is bound for so long: no more will be (seconds).
STALLED: Final = 60.0
#: How long a job of the client may take at most (seconds).
PATIENCE: Final = 600.0
SERVERS: Final = ("etcd", API_SERVER)


def control_plane() -> ControlPlane:
    """etcd and an API server that takes pods at once, and writes no audit log."""
    silent = ["--audit-log-path=", "--audit-policy-file="]
    return ControlPlane(controller_manager=False, flags={API_SERVER: [*FLAGS[API_SERVER], *silent]})


class Used(dict[str, float]):
    """CPU seconds by the process's name."""

    def since(self, earlier: "Used") -> "Used":
        """What was used between."""
        return Used({name: used - earlier.get(name, 0.0) for name, used in self.items()})


class Watch:
    """What the watcher has to say of the pods of a namespace.

    Args:
        process: the watcher's.
        path: where it leaves the times.
    """

    def __init__(self, process: asyncio.subprocess.Process, path: Path) -> None:
        assert process.stdout
        assert process.stdin
        self._process, self._path = process, path
        self._said, self._asked = process.stdout, process.stdin

    async def until(self, *words: str) -> bool:
        """Wait until it says a line that begins so; False when it says nothing new for long."""
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(STALLED):
                    line = await self._said.readline()
                if not line:
                    raise ConnectionError("the watcher ended: see what it wrote to stderr")
                if line.decode().startswith(words):
                    return True
        return False

    async def times(self) -> Times:
        """End it; all that it has noted."""
        self._asked.close()
        async with asyncio.timeout(60):
            await self._process.communicate()
        return msgspec.json.decode(self._path.read_bytes(), type=Times)


class Stage:
    """Where a case is run.

    Args:
        running: the control plane.
        folder: for files.
    """

    def __init__(self, running: ControlPlane, folder: Path) -> None:
        self.running = running
        self.folder = folder
        self._files = count()

    def used(self, **others: int) -> Used:
        """The CPU time so far of both servers, and of these processes by their ids."""
        pids = {name: self.running.pids[name] for name in SERVERS} | others
        return Used({name: cpu(pid) for name, pid in pids.items()})

    async def idle(self, seconds: float = 2.0) -> Used:
        """What both servers use in a second when nobody asks for anything."""
        before = self.used()
        await asyncio.sleep(seconds)
        return Used({name: used / seconds for name, used in self.used().since(before).items()})

    @asynccontextmanager
    async def sending(
        self, units: Iterable[Unit], *, rate: float = 0.0, connections: int = 32
    ) -> AsyncGenerator[asyncio.Task[Result]]:
        """The client sends these; it is ended with the context, done or not."""
        job, result = (self.folder / f"{next(self._files)}.json" for _ in range(2))
        made = Job(str(self.running.kubeconfig), list(units), connections, rate)
        job.write_bytes(msgspec.json.encode(made))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.real.client", str(job), str(result)), cwd=ROOT
        )

        async def done() -> Result:
            async with asyncio.timeout(PATIENCE):
                code = await process.wait()
            if code:
                raise ConnectionError(f"the client ended with code {code}")
            return msgspec.json.decode(result.read_bytes(), type=Result)

        task = asyncio.create_task(done())
        try:
            yield task
        finally:
            task.cancel()
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def send(self, units: Iterable[Unit], *, rate: float = 0.0) -> Result:
        """Have the client send all of these, and none refused."""
        async with self.sending(units, rate=rate) as sending:
            result = await sending
        assert not result.refused, list(result.refused.items())[:3]
        return result

    async def all_of(self, requests: Sequence[Request]) -> Result:
        """The same, of requests that do not wait for each other."""
        return await self.send(each(requests))

    @asynccontextmanager
    async def watching(self, namespace: str, expected: int) -> AsyncGenerator[Watch]:
        """The watcher follows the pods of a namespace."""
        path = self.folder / f"{next(self._files)}.json"
        arguments = (str(self.running.kubeconfig), namespace, str(expected), str(path))
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.real.watcher", *arguments),
            cwd=ROOT,
            stdin=pipe,
            stdout=pipe,
        )
        try:
            watch = Watch(process, path)
            assert await watch.until("open"), "the watch does not open"
            yield watch
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def settled(pid: int, seconds: float = 60.0) -> None:
    """Wait until a process has next to nothing left to do.

    It is looked at for so long at a time that events, which after a burst are written 25 a second,
    are not taken for nothing. What an idle process does takes longer on a slower machine.
    """
    next_to_nothing = 0.05 * max(1.0, slowness())
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        before = cpu(pid)
        await asyncio.sleep(5.0)
        if cpu(pid) - before < next_to_nothing:
            return
