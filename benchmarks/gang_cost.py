# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a gang of 8 costs the API server beyond its Bindings, from creation to Running.

The same gangs are created, bound and marked Running by the same clients twice on one server: once
bound by a bare client, once by enbloc. What the server's CPU time differs by, less what it uses
when idle, is what enbloc asks of it beside the Bindings: watches, statuses, events.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from benchmarks.engine import Figure
from benchmarks.server import NAMESPACE, NODE_COUNT, all_at_once, enbloc, pod, pod_group, prepare
from enbloc.client.client import Client, PatchType
from enbloc.client.cluster_access import load
from enbloc.client.items import Seen
from enbloc.client.paths import POD_GROUPS, PODS
from enbloc.client.reflector import Reflector
from enbloc.wire.objects import PodObject
from tests.controlplane import API_SERVER, ControlPlane

GANG: Final = 8
GANGS: Final = 200
#: For so long the idle processes are measured.
IDLE_SECONDS: Final = 10.0
#: So long is waited for what is written last, and for a process to start.
LAST_SECONDS: Final = 4.0
START_SECONDS: Final = 6.0
_WRITES: Final = ("POST", "PUT", "PATCH", "APPLY", "DELETE")


class Cost(NamedTuple):
    """What a run cost.

    Attributes:
        server: CPU seconds of kube-apiserver, without what it uses when idle.
        mine: CPU seconds of the process that bound the pods; 0 = the benchmark itself.
        writes: how often each kind of write was asked of the server.
        seconds: from the first creation to the last pod Running.
    """

    server: float
    mine: float
    writes: Counter[str]
    seconds: float


def cpu(pid: int) -> float:
    """CPU time that a process has used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def writes(running: ControlPlane) -> Counter[str]:
    """How often each kind of write was asked of the API server until now."""
    text = running.kubectl("get", "--raw", "/metrics").stdout
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        if family.name == "apiserver_request":
            for sample in family.samples:
                labels = sample.labels
                if sample.name.endswith("_total") and labels["verb"] in _WRITES:
                    what = "/".join(filter(None, (labels["resource"], labels["subresource"])))
                    found[f"{labels['verb']} {what}"] += int(sample.value)
    return found


async def create(client: Client, prefix: str, scheduler: str, gangs: int) -> None:
    """Gangs of GANG pods each, and their PodGroups."""

    async def one(index: int) -> None:
        name = f"{prefix}-{index // GANG}"
        if index % GANG == 0:
            await client.create(POD_GROUPS, pod_group(name, GANG), NAMESPACE)
        await client.create(PODS, pod(f"{prefix}-{index}", scheduler, name), NAMESPACE)

    await all_at_once(gangs * GANG, one)


async def run_pods(client: Client, prefix: str, count: int) -> None:
    """Mark pods Running and ready as soon as they are bound, as their kubelets would."""
    ready = [{"type": "Ready", "status": "True"}]
    begun: set[str] = set()
    patches: set[asyncio.Task[object]] = set()
    slots = asyncio.Semaphore(16)

    async def start(name: str) -> None:
        status = {"status": {"phase": "Running", "conditions": ready}}
        async with slots:
            await client.patch(
                PODS, name, status, NAMESPACE, kind=PatchType.STRATEGIC, subresource="status"
            )

    bound = Reflector(client, PODS, PodObject, query={"fieldSelector": "spec.nodeName!="})
    async for item in bound.stream():
        if isinstance(item, Seen):
            name = item.object.metadata.name
            if name.startswith(prefix) and name not in begun:
                begun.add(name)
                patches.add(asyncio.create_task(start(name)))
        if len(begun) == count:
            break
    await asyncio.gather(*patches)


async def bind_bare(client: Client, prefix: str, count: int) -> None:
    """Bind pods as they are created, by a client that does nothing else."""
    waiting: asyncio.Queue[str] = asyncio.Queue()
    known: set[str] = set()

    async def watch() -> None:
        query = {"fieldSelector": "spec.nodeName="}
        async for item in Reflector(client, PODS, PodObject, query=query).stream():
            if not isinstance(item, Seen):
                continue
            name = item.object.metadata.name
            if name.startswith(prefix) and name not in known:
                known.add(name)
                waiting.put_nowait(name)

    watching = asyncio.create_task(watch())

    async def bind(index: int) -> None:
        name = await waiting.get()
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": f"n{index % NODE_COUNT}"},
        }
        await client.request("create", PODS, name, NAMESPACE, subresource="binding", body=body)

    await all_at_once(count, bind)
    watching.cancel()


async def _measured(
    running: ControlPlane, pid: int | None, work: Callable[[], Awaitable[None]]
) -> Cost:
    """What some work costs, beyond what the same processes use when there is none."""
    server = running.pids[API_SERVER]

    def used() -> tuple[float, float]:
        return cpu(server), cpu(pid) if pid else 0.0

    before = used()
    await asyncio.sleep(IDLE_SECONDS)
    rates = [(after - each) / IDLE_SECONDS for each, after in zip(before, used(), strict=True)]
    asked, before, began = writes(running), used(), time.perf_counter()
    await work()
    seconds = time.perf_counter() - began
    await asyncio.sleep(LAST_SECONDS)
    took = time.perf_counter() - began
    ours, mine = (
        after - each - took * rate for each, after, rate in zip(before, used(), rates, strict=True)
    )
    return Cost(ours, mine, writes(running) - asked, seconds)


async def measure(running: ControlPlane, modes: tuple[str, ...], gangs: int) -> dict[str, Cost]:
    """The cost of the same gangs: bound by a bare client, and in each mode of enbloc."""
    cluster = await load(running.kubeconfig, None)
    found: dict[str, Cost] = {}
    async with Client(cluster, component="benchmark") as client:
        await prepare(client)

        async def gangs_of(prefix: str, scheduler: str) -> None:
            await asyncio.gather(
                create(client, prefix, scheduler, gangs),
                run_pods(client, prefix, gangs * GANG),
                *([bind_bare(client, prefix, gangs * GANG)] if scheduler == "nobody" else []),
            )

        await gangs_of("warm", "nobody")
        found["bare"] = await _measured(running, None, partial(gangs_of, "bare", "nobody"))
        for mode in modes:
            async with enbloc(mode, running.kubeconfig) as process:
                await asyncio.sleep(START_SECONDS)  # it has started, and knows what there is
                found[mode] = await _measured(
                    running, process.pid, partial(gangs_of, mode, "enbloc")
                )
    return found


def gang_cost(gangs: int = GANGS) -> Iterator[Figure]:
    """CPU of the API server beyond creation, Bindings and Running, in ms a gang."""
    with ControlPlane(controller_manager=False) as running:
        costs = asyncio.run(measure(running, ("scheduler", "run"), gangs))
    bare = costs.pop("bare")
    yield "gang-cost/bare-apiserver", 1000 * bare.server / gangs
    for mode, cost in costs.items():
        yield f"gang-cost/{mode}-apiserver", 1000 * (cost.server - bare.server) / gangs
        yield f"gang-cost/{mode}-seconds", cost.seconds
        yield f"gang-cost/{mode}-process", 1000 * cost.mine / gangs
        for kind, count in sorted((cost.writes - bare.writes).items()):
            yield f"gang-cost/{mode}-{kind.replace(' ', '-')}", count / gangs
