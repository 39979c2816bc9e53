# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The flood over HTTP: the embedded API server and a scheduler, each a process of its own.

All share the machine's cores, and the server is a small one: of each figure a part is the server's
time to take the flood itself in. `benchmarks.flood` has the engine's share alone.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.changes import (
    HOSTILE,
    LOW,
    LOW_CLASS,
    PERIOD,
    PRIORITY,
    PRIORITY_CLASS,
    VICTIM,
    Change,
    Create,
    Delete,
    Patch,
    Trick,
    gang,
    node,
)
from benchmarks.engine import Figure
from benchmarks.server import all_at_once
from benchmarks.tricks import tricks
from enbloc.client.client import Client, PatchType
from enbloc.client.cluster_access import load
from enbloc.client.errors import APIError
from enbloc.client.paths import NAMESPACES, NODES, POD_GROUPS, PODS, PRIORITY_CLASSES, Resource
from tests.e2e.processes import Server
from tests.e2e.targets import SandboxTarget

SIZE: Final = 8
NODE_COUNT: Final = 100
#: An arrival that is not bound by then counts as never bound (seconds).
PATIENCE: Final = 30.0
#: How many objects of a trick the embedded server gets, of what the engine alone is given.
SCALE: Final = 0.2


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Meta(msgspec.Struct):
    name: str
    deletion: str = msgspec.field(default="", name="deletionTimestamp")


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec


class _Change(msgspec.Struct):
    type: str
    object: _Pod


class Flood:
    """One tenant's objects, which go on changing, and another's gangs.

    Args:
        client: the administrator's.
        trick: what the tenant does.
    """

    def __init__(self, client: Client, trick: Trick) -> None:
        self._client = client
        self._trick = trick
        self._bound: set[str] = set()
        self._changed = asyncio.Event()
        self._namespaces = {VICTIM}
        self.refused = Counter[str]()

    async def carry_out(self, changes: Iterable[Change]) -> None:
        """All of these, several at a time; what the server refuses is counted."""
        listed = list(changes)
        await self._have_namespaces(listed)

        async def one(index: int) -> None:
            try:
                await self._change(listed[index])
            except APIError as error:
                self.refused[str(error)[:120]] += 1

        # What happens to one object does in order.
        of = defaultdict[tuple[Resource, str, str], list[int]](list)
        for at, change in enumerate(listed):
            of[_key(change)].append(at)
        objects = list(of.values())

        async def all_of(index: int) -> None:
            for at in objects[index]:
                await one(at)

        await all_at_once(len(objects), all_of)

    async def _have_namespaces(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if isinstance(change, Create):
                name = change.body["metadata"].get("namespace", "")
                if name and name not in self._namespaces:
                    self._namespaces.add(name)
                    await self._client.create(NAMESPACES, {"metadata": {"name": name}})

    async def _change(self, change: Change) -> None:
        if isinstance(change, Create):
            metadata = change.body["metadata"]
            await self._client.create(change.resource, change.body, metadata.get("namespace"))
        elif isinstance(change, Patch):
            await self._client.patch(
                change.resource,
                change.name,
                change.body,
                change.namespace or None,
                kind=PatchType.MERGE,
                subresource=change.subresource,
            )
        else:
            body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
            await self._client.request(
                "delete", change.resource, change.name, change.namespace or None, body=body
            )

    async def rounds(self) -> None:
        """A round of changes every PERIOD, or as soon as the last one is through; for ever."""
        number = 0
        while True:
            began = time.monotonic()
            await self.carry_out(self._trick.round(number))
            number += 1
            await asyncio.sleep(max(began + PERIOD - time.monotonic(), 0.01))

    async def watch(self) -> None:
        """Learn which pods of the gang's namespace are bound; for ever."""
        async for pod in self._pods(VICTIM):
            self._seen(pod)

    async def end_pods(self) -> None:
        """Have the tenant's pods that are told to end do so, as kubelets would; for ever."""
        async for pod in self._pods(HOSTILE):
            if pod.metadata.deletion:
                await self.carry_out([Delete(PODS, HOSTILE, pod.metadata.name)])

    async def _pods(self, namespace: str) -> AsyncGenerator[_Pod]:
        """The pods of a namespace, as they change."""
        query = {"resourceVersion": "0"}
        while True:
            with suppress(APIError):
                async with self._client.watch(PODS, namespace, query=query, silence=600) as stream:
                    left = b""
                    async for chunk in stream:
                        *lines, left = (left + chunk).split(b"\n")
                        for line in lines:
                            change = msgspec.json.decode(line, type=_Change)
                            if change.type != "DELETED":
                                yield change.object

    def _seen(self, pod: _Pod) -> None:
        if pod.spec.node_name:
            self._bound.add(pod.metadata.name)
            self._changed.set()

    async def arrive(self, number: int) -> float:
        """Another tenant's gang comes, is bound, and ends; the seconds until it was."""
        name = f"gang-{number}"
        changes = list(gang(name, SIZE, namespace=VICTIM))
        await self.carry_out(changes)
        began = time.monotonic()
        wanted = {f"{name}-{index}" for index in range(SIZE)}
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while not wanted <= self._bound:
                    self._changed.clear()
                    await self._changed.wait()
        took = time.monotonic() - began
        await self.carry_out(Delete(PODS, VICTIM, each) for each in wanted)
        await self.carry_out([Delete(POD_GROUPS, VICTIM, name)])
        return took


def _key(change: Change) -> tuple[Resource, str, str]:
    if isinstance(change, Create):
        metadata = change.body["metadata"]
        return change.resource, metadata.get("namespace", ""), metadata["name"]
    return change.resource, change.namespace, change.name


@asynccontextmanager
async def flooded(trick: Trick, directory: Path) -> AsyncGenerator[Flood]:
    """A cluster of its own, on which a tenant does what it does."""
    with SandboxTarget(directory) as target:
        async with Client(await load(target.kubeconfig), component="benchmark") as client:
            for index in range(NODE_COUNT):
                await _add_node(client, index)
            for name, value in ((PRIORITY_CLASS, PRIORITY), (LOW_CLASS, LOW)):
                await client.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
            await client.create(NAMESPACES, {"metadata": {"name": VICTIM}})
            flags = [f"--kubeconfig={target.kubeconfig}", "--no-leader-elect", "--secure-port=0"]
            scheduler = Server("scheduler", flags, directory / "scheduler.log")
            scheduler.start()
            flood = Flood(client, trick)
            tasks = [asyncio.create_task(flood.watch())]
            if trick.evicts:
                tasks.append(asyncio.create_task(flood.end_pods()))
            try:
                await flood.carry_out(trick.before())
                tasks.append(asyncio.create_task(flood.rounds()))
                await asyncio.sleep(3)
                yield flood
                scheduler.must_run()
                for task in tasks:
                    if task.done():
                        task.result()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                scheduler.stop(0)


async def _add_node(client: Client, index: int) -> None:
    body = node(index).body
    name = body["metadata"]["name"]
    await client.create(NODES, {**body, "status": {}})
    status = {"status": body["status"]}
    await client.patch(NODES, name, status, kind=PatchType.MERGE, subresource="status")
    await client.patch(NODES, name, {"spec": {"taints": None}}, kind=PatchType.MERGE)


async def _arrivals(trick: Trick, count: int) -> tuple[list[float], Counter[str]]:
    with tempfile.TemporaryDirectory() as directory:
        async with flooded(trick, Path(directory)) as flood:
            came = []
            for number in range(count):
                came.append(await flood.arrive(number))
                await asyncio.sleep(1)
            return came, flood.refused


def flood_served(count: int = 5, wanted: str = "", scale: float = SCALE) -> Iterator[Figure]:
    """Seconds from the last member's creation until all are bound.

    A table of all tricks is printed; the figures are the worst of it.
    """
    worst: list[float] = []
    for trick in tricks(NODE_COUNT, scale):
        if wanted not in trick.name or trick.engine_only:
            continue
        came, refused = asyncio.run(_arrivals(trick, count))
        worst += came
        print(
            f"  {trick.name:55} median {statistics.median(came) * 1e3:6.0f} ms"
            f"  worst {max(came) * 1e3:6.0f} ms"
            + (f"  refused: {dict(refused.most_common(1))}" if refused else ""),
            flush=True,
        )
    yield "flood-served/worst", max(worst) * 1e3
    yield "flood-served/never-bound", sum(each >= PATIENCE for each in worst)


if __name__ == "__main__":
    for figure in flood_served(wanted=" ".join(sys.argv[1:])):
        print(*figure)
