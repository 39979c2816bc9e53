# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Schedulers of several installs in one cluster that do nothing but lead, for virtual time."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from enbloc.client.errors import ServerError
from enbloc.client.lease import Elector, LeaseLost, LeaseTiming, OtherHolder
from enbloc.client.rivals import Rivals
from enbloc.client.transport import WRITE_SECONDS
from tests.client.memory import MemoryClient, Store


class Install:
    """A scheduler of an install, with a Lease named after its namespace, unless told otherwise."""

    def __init__(
        self,
        store: Store,
        namespace: str,
        serves: Sequence[str] = ("enbloc",),
        *,
        lease: str = "",
        replica: str = "0",
        client: MemoryClient | None = None,
    ) -> None:
        self.client = client or MemoryClient(store)
        self.namespace = namespace
        self.lease = lease or f"{namespace}-lease"
        self.conflicts: list[str | None] = []
        self.problems: list[str | None] = []
        self.lost: list[str] = []
        self._serves = serves
        self._identity = f"{namespace}-{replica}"
        self.leading = False
        self.task: asyncio.Task[None] | None = None
        self._other = OtherHolder()
        self._begin()

    def _begin(self) -> None:
        """Begin a term, which knows nothing of the one before but who else held the Lease."""
        timing, clock = LeaseTiming(), asyncio.get_running_loop().time
        self.rivals = Rivals(
            self.client,
            namespace=self.namespace,
            name=self.lease,
            serves=self._serves,
            duration=timing.duration,
            report=self.conflicts.append,
            clock=clock,
        )
        self.elector = Elector(
            self.client,
            namespace=self.namespace,
            name=self.lease,
            identity=self._identity,
            timing=timing,
            clock=clock,
            report=self.problems.append,
            rivals=self.rivals,
        )
        self.elector.other = self._other

    def start(self, *, again: bool = False) -> "Install":
        """Begin to wait for the Lease; `again`: and once more after each term that was lost."""
        self.task = asyncio.create_task(self._run(again=again))
        return self

    async def _run(self, *, again: bool) -> None:
        while True:
            try:
                return await self.elector.run(self._work)
            except LeaseLost as error:
                self.lost.append(str(error))
                if not again:
                    raise
            await asyncio.sleep(WRITE_SECONDS)  # as `process.terms` does
            self._begin()

    async def _work(self) -> None:
        self.leading = True
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.leading = False

    async def stop(self) -> None:
        """As SIGTERM: the Lease is given back."""
        assert self.task is not None
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task

    async def crash(self) -> None:
        """As SIGKILL: nothing more is sent."""

        def dead(_: str) -> None:
            raise ServerError("get", "leases", "the process is dead")

        self.client.before = dead
        await self.stop()


def leads(*installs: Install) -> list[bool]:
    return [install.leading for install in installs]


def binding(*namespaces: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "enbloc", "labels": {"app.kubernetes.io/part-of": "enbloc"}},
        "subjects": [{"kind": "ServiceAccount", "namespace": each} for each in namespaces],
    }
