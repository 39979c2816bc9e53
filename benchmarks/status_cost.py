# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller costs while the pods of many groups change, and how soon it says so.

10 000 bound pods in 1 000 groups become Running, one after another within a minute and in no order,
on a real API server. Each group's status is right when it says that all of them are ready.
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from benchmarks.engine import Figure
from benchmarks.gang_cost import START_SECONDS, cpu
from benchmarks.server import NAMESPACE, all_at_once, enbloc, pod_group, prepare
from enbloc.client.client import Client, PatchType
from enbloc.client.cluster_access import load
from enbloc.client.items import Seen
from enbloc.client.paths import POD_GROUPS, PODS
from enbloc.client.reflector import Reflector
from enbloc.wire.objects import PodGroupObject
from tests.controlplane import ControlPlane

GROUPS: Final = 1000
SIZE: Final = 10
SECONDS: Final = 60.0
#: How long the last statuses are waited for (seconds).
PATIENCE: Final = 60.0


class Shown(PodGroupObject):
    """A PodGroup with what the controller counts."""

    status: dict[str, Any] | None = None  # type: ignore[assignment]


async def _create(client: Client) -> None:
    async def one(index: int) -> None:
        group = f"g{index // SIZE}"
        if index % SIZE == 0:
            await client.create(POD_GROUPS, pod_group(group, SIZE), NAMESPACE)
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{index}", "annotations": {"enbloc.dev/pod-group": group}},
            "spec": {
                "schedulerName": "enbloc",
                "nodeName": f"n{index % 100}",
                "containers": [{"name": "c", "image": "i:1"}],
            },
        }
        await client.create(PODS, pod, NAMESPACE)

    await all_at_once(GROUPS * SIZE, one)


class Watcher:
    """When the status of each group changed, and when it was right."""

    def __init__(self) -> None:
        self.right: dict[str, float] = {}
        self.counted, self.ready = asyncio.Event(), asyncio.Event()
        self.changes: defaultdict[str, list[float]] = defaultdict(list)
        self._counted: set[str] = set()

    async def run(self, client: Client) -> None:
        async for item in Reflector(client, POD_GROUPS, Shown).stream():
            if isinstance(item, Seen):
                self._see(item.object.metadata.name, item.object.status or {})

    def _see(self, name: str, status: dict[str, Any]) -> None:
        now = time.monotonic()
        self.changes[name].append(now)
        if status.get("members") == SIZE:
            self._counted.add(name)
        if status.get("ready") == SIZE:
            self.right.setdefault(name, now)
        if len(self._counted) == GROUPS:
            self.counted.set()
        if len(self.right) == GROUPS:
            self.ready.set()


async def _measure(running: ControlPlane) -> tuple[float, list[float], float, float]:
    cluster = await load(running.kubeconfig, None)
    async with Client(cluster, component="benchmark") as client:
        await prepare(client)
        await _create(client)
        async with enbloc("controller", running.kubeconfig) as process:
            watcher = Watcher()
            watching = asyncio.create_task(watcher.run(client))
            async with asyncio.timeout(5 * PATIENCE):
                await watcher.counted.wait()
            await asyncio.sleep(START_SECONDS)
            watcher.changes.clear()
            changed: dict[str, float] = {}
            ready = [{"type": "Ready", "status": "True"}]
            order = random.Random(1).sample(range(GROUPS * SIZE), GROUPS * SIZE)
            began, used = time.monotonic(), cpu(process.pid)

            async def run(number: int) -> None:
                due = began + SECONDS * number / len(order)
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                index = order[number]
                status = {"status": {"phase": "Running", "conditions": ready}}
                await client.patch(
                    PODS, f"p{index}", status, NAMESPACE, kind=PatchType.MERGE, subresource="status"
                )
                changed[f"g{index // SIZE}"] = time.monotonic()

            await all_at_once(len(order), run)
            took = time.monotonic() - began
            share = (cpu(process.pid) - used) / took
            async with asyncio.timeout(PATIENCE):
                await watcher.ready.wait()
            watching.cancel()
    lags = sorted(watcher.right[name] - at for name, at in changed.items())
    writes = sum(len(times) for times in watcher.changes.values())
    return share, lags, writes / GROUPS / took, took


def status_cost() -> Iterator[Figure]:
    """CPU of the controller, and how soon a group's status is right."""
    with ControlPlane(controller_manager=False) as running:
        share, lags, rate, took = asyncio.run(_measure(running))
    yield "status-cost/controller-cpu", 100 * share
    yield "status-cost/lag-median", 1000 * lags[len(lags) // 2]
    yield "status-cost/lag-worst", 1000 * lags[-1]
    yield "status-cost/writes-per-group-and-second", rate
    yield "status-cost/seconds", took
