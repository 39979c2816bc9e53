# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Candidates for one Lease, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from enbloc.client.errors import Unreachable
from enbloc.client.lease import Elector
from tests.client.memory import MemoryClient, Store


class Candidate:
    """One process: an elector, and work that runs until it is told to stop."""

    def __init__(self, store: Store, name: str, client: MemoryClient | None = None) -> None:
        self.client = client or MemoryClient(store)
        self.offset = 0.0
        self.problems: list[str | None] = []
        loop = asyncio.get_running_loop()
        self.elector = Elector(
            self.client,
            namespace="enbloc-system",
            name="enbloc-scheduler",
            identity=name,
            clock=lambda: loop.time() + self.offset,
            report=self.problems.append,
        )
        self.leading = asyncio.Event()
        self.stopped_at: float | None = None
        self.finish = asyncio.Event()
        self.run: asyncio.Task[None] | None = None

    def start(self, work: Callable[[], Awaitable[None]] | None = None) -> "Candidate":
        self.run = asyncio.create_task(self.elector.run(work or self.work))
        return self

    async def work(self) -> None:
        self.leading.set()
        try:
            await self.finish.wait()
        finally:
            self.stopped_at = now()

    async def end(self) -> BaseException | None:
        assert self.run is not None
        await asyncio.wait({self.run})
        return None if self.run.cancelled() else self.run.exception()

    async def stop(self) -> None:
        assert self.run is not None
        self.run.cancel()
        await self.end()


def now() -> float:
    return asyncio.get_running_loop().time()


def lease(store: Store) -> Any:
    return store.objects["leases", "enbloc-scheduler"]["spec"]


def fails(error: Exception) -> Callable[[str], None]:
    def hook(_: str) -> None:
        raise error

    return hook


def reset() -> Unreachable:
    return Unreachable("update", "leases", "connection reset", sent=True)
