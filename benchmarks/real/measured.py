# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One scheduler on one case: what it reaches and costs, beside the bare client."""

import asyncio
import tempfile
import time
import urllib.request
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, nullcontext
from itertools import cycle, islice
from pathlib import Path
from typing import Final

import yaml

from benchmarks.engine import Figure
from benchmarks.gang_cost import cpu, writes
from benchmarks.real import measures
from benchmarks.real.cases import ASKED, Case
from benchmarks.real.findings import Findings, Load, Raw, Start, figures
from benchmarks.real.requests import (
    RACK,
    Request,
    Unit,
    binding,
    churn,
    create,
    deletion,
    node,
    pod,
)
from benchmarks.real.stage import ROOT, Stage, Used, control_plane, settled
from benchmarks.real.subjects import Subject
from enbloc.client.paths import CRDS, NAMESPACES, NODES, PODS
from tests.e2e import manifests
from tests.hack.processes import Process, free_port

#: So many pods the bare client binds, before and after the scheduler; and to warm the server up.
RAW, WARM = 1000, 300
#: How fast pods come when it is measured how long each waits: at this share of the ceiling, and at
#: that of what the scheduler reaches at most, or it would be measured how a backlog grows.
OF_CEILING, OF_REACHED = 0.25, 0.5
PACED: Final = 1000
#: Rounds of churn per second, and for how long at most (seconds).
CHURN_RATE, CHURN_SECONDS = 20, 300
#: So long after the last Binding, what is still written has begun to be (seconds).
LAST_SECONDS: Final = 3.0
BEFORE, AFTER, WARM_UP, PROBE, LOAD, STEADY, BARE = (
    "before",
    "after",
    "warm-up",
    "probe",
    "load",
    "steady",
    "bare",
)


class Run:
    """One scheduler, one case, one control plane.

    Args:
        stage: the control plane.
        subject: the scheduler.
        case: what it is given.
    """

    def __init__(self, stage: Stage, subject: Subject, case: Case) -> None:
        self._stage, self._subject, self._case = stage, subject, case
        self._port = free_port()

    async def measure(self) -> Findings:
        """Everything, the bare client first and last."""
        await self._prepare()
        before = await self._raw(BEFORE)
        start = await self._start()
        load, pace, steady = await self._load(before.rate)
        after = await self._raw(AFTER)
        bare = await self._raw_delays(pace)
        return Findings(self._case, before, after, start, load, pace, steady, bare)

    async def _prepare(self) -> None:
        """Kinds, namespaces, nodes."""
        if self._subject.crd:
            crd = yaml.safe_load((ROOT / "crds" / self._subject.crd).read_text(encoding="utf-8"))
            await self._stage.all_of([create(CRDS, crd)])
            self._stage.running.established(crd["metadata"]["name"])
        names = (BEFORE, AFTER, WARM_UP, PROBE, LOAD, STEADY, BARE, "churn")
        await self._stage.all_of([create(NAMESPACES, manifests.namespace(one)) for one in names])
        nodes = [
            create(NODES, node(f"n{index}", room, f"z{index % 3}", self._rack(index)))
            for index, room in enumerate(self._case.nodes)
        ]
        await self._stage.all_of(nodes)
        await self._raw(WARM_UP, WARM)

    # ── the bare client ──────────────────────────────────────────────────────────────────────

    def _rack(self, index: int) -> str:
        return f"r{index // self._case.rack}" if self._case.rack else ""

    def _on(self, index: int) -> str:
        return f"n{index % len(self._case.nodes)}"

    async def _raw(self, namespace: str, count: int = RAW) -> Raw:
        """How many Bindings a client gets through that sends nothing else."""
        asked = list(islice(cycle(self._case.pods), count))
        bodies = [pod(f"p{index}", "nobody", one) for index, one in enumerate(asked)]
        await self._stage.all_of([create(PODS, body, namespace) for body in bodies])
        bindings = [binding(namespace, f"p{index}", self._on(index)) for index in range(len(asked))]
        idle = await self._stage.idle()
        async with self._churning(namespace), self._stage.watching(namespace, len(asked)) as watch:
            before, began = self._stage.used(), time.monotonic()
            sent = await self._stage.all_of(bindings)
            assert await watch.until("all"), "not all Bindings were seen"
            await asyncio.sleep(LAST_SECONDS)
            used = self._stage.used().since(before)
            took = time.monotonic() - began
        await self._stage.all_of([deletion(namespace, f"p{n}") for n in range(len(asked))])
        return Raw(
            len(asked),
            len(asked) / sent.seconds,
            1000 * sent.cpu / len(asked),
            Used({name: cpu - took * idle[name] for name, cpu in used.items()}),
        )

    async def _raw_delays(self, rate: float) -> list[float]:
        """The same for time: each pod is bound as soon as its creation is answered."""
        count = min(PACED, len(self._case.pods))
        units = [
            [
                create(PODS, pod(f"p{index}", "nobody", ASKED), BARE),
                binding(BARE, f"p{index}", self._on(index)),
            ]
            for index in range(count)
        ]
        async with self._churning(BARE), self._stage.watching(BARE, count) as watch:
            await self._stage.send(units, rate=rate)
            await watch.until("all")
            return measures.delays(await watch.times(), {})

    @asynccontextmanager
    async def _churning(self, prefix: str) -> AsyncGenerator[None]:
        """The case's churn, if it has any, goes on meanwhile."""
        units = churn(CHURN_RATE * CHURN_SECONDS, prefix, len(self._case.nodes))
        churning = self._stage.sending(units, rate=CHURN_RATE, connections=4)
        async with churning if self._case.churn else nullcontext():
            yield

    # ── the scheduler ────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def _scheduling(self) -> AsyncGenerator[Process]:
        process = self._subject.start(self._stage.running, self._stage.folder, self._port)
        process.start()
        try:
            yield process
            process.check()
        finally:
            await asyncio.to_thread(process.stop, 30)

    async def _start(self) -> Start:
        """What it takes until the first pod is bound, with the nodes there and nothing else."""
        body = pod("p0", self._subject.scheduler_name, ASKED)
        async with self._stage.watching(PROBE, 1) as watch:
            await self._stage.all_of([create(PODS, body, PROBE)])
            idle = await self._stage.idle()
            before, began = self._stage.used(), time.monotonic()
            async with self._scheduling() as process:
                assert await watch.until("all"), f"no pod is bound\n{process.tail()}"
                mine, used = cpu(process.pid), self._stage.used().since(before)
                took = time.monotonic() - began
            times = await watch.times()
        await self._stage.all_of([deletion(PROBE, "p0")])
        used = Used({name: cpu - took * idle[name] for name, cpu in used.items()})
        return Start(times.bound["p0"] - began, mine, used)

    def _pods(self, namespace: str, count: int) -> tuple[list[Request], list[Unit], dict[str, str]]:
        """PodGroups, the pods of each gang, and which gang each pod is of."""
        size, subject = self._case.gang, self._subject
        groups: list[Request] = []
        units: list[Unit] = []
        member_of: dict[str, str] = {}
        for index, asked in enumerate(self._case.pods[:count]):
            name, gang = f"p{index}", f"g{index // size}"
            if index % size == 0:
                units.append([])
                if size > 1:
                    body = subject.pod_group(gang, size, near=RACK if self._case.rack else "")
                    groups.append(create(subject.group, body, namespace))
            made = pod(
                name,
                subject.scheduler_name,
                asked,
                labels={subject.label: gang} if size > 1 and subject.label else {},
                annotations={subject.annotation: gang} if size > 1 and subject.annotation else {},
            )
            units[-1].append(create(PODS, made, namespace))
            member_of[name] = gang
        return groups, units, member_of

    async def _load(self, ceiling: float) -> tuple[Load, float, list[float]]:
        """All pods are there when it starts; when they are gone, some come at a steady pace.

        Returns:
            What became of the first; how many of the second came per second, and how long each
            waited.
        """
        stage, count = self._stage, len(self._case.pods)
        groups, units, _ = self._pods(LOAD, count)
        await stage.all_of(groups)
        await stage.all_of([request for unit in units for request in unit])
        idle = await stage.idle()
        asked = writes(stage.running)
        async with self._churning(LOAD), stage.watching(LOAD, count) as watch:
            before, began = stage.used(), time.monotonic()
            async with self._scheduling() as process:
                await watch.until("all")
                await asyncio.sleep(LAST_SECONDS)
                await settled(process.pid)
                mine, used = cpu(process.pid), stage.used().since(before)
                took = time.monotonic() - began
                load = Load(
                    await watch.times(),
                    mine,
                    Used({name: cpu - took * idle[name] for name, cpu in used.items()}),
                    measures.memory(process.pid),
                    writes(stage.running) - asked,
                    self._dropped(),
                )
                assert len(load.times.bound) > 1, f"hardly a pod is bound\n{process.tail()}"
                pace = min(OF_CEILING * ceiling, OF_REACHED * measures.rate(load.times))
                # The trace fills the cluster: what comes next would find no room.
                await stage.all_of([deletion(LOAD, f"p{index}") for index in range(count)])
                await settled(process.pid)
                return load, pace, await self._steady(pace)

    def _dropped(self) -> float:
        if not self._subject.metrics:
            return 0.0
        # Not through a proxy of the environment.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self._port}/metrics", timeout=30) as answer:
            return measures.counter(answer.read().decode(), "enbloc_events_dropped_total")

    async def _steady(self, rate: float) -> list[float]:
        """Seconds from creation to Binding when pods come at a steady rate."""
        count = min(PACED, len(self._case.pods))
        groups, units, member_of = self._pods(STEADY, count)
        await self._stage.all_of(groups)
        async with self._stage.watching(STEADY, count) as watch:
            await self._stage.send(units, rate=rate / self._case.gang)
            await watch.until("all")
            return measures.delays(await watch.times(), member_of)


def measured(subject: Subject, case: Case) -> Iterator[Figure]:
    """What the scheduler comes to on a fresh control plane."""
    with tempfile.TemporaryDirectory(prefix="enbloc-benchmark-") as folder, control_plane() as cp:
        found = asyncio.run(Run(Stage(cp, Path(folder)), subject, case).measure())
    for name, value in figures(found):
        yield f"real/{case.name}/{subject.name}/{name}", value
