# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs that contend for too little room on a real API server: all finish, none waits in part.

400 gangs of 8 on 100 nodes that have room for 25 of them at a time. An observer that only watches
pods keeps count (tests/e2e/census.py). A gang counts as bound from its last Binding to the first
end of a member, so what utilisation lacks is: telling the scheduler that eight pods have ended,
its decision, and eight Bindings. It is taken from the moment when room is full for the first time
to the one when no gang waits any more. API server, kubelets, observer and scheduler share the
machine's cores, so of each turnover a part is theirs.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.engine import Figure
from benchmarks.server import ROOT, all_at_once
from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.client.errors import NotFound
from enbloc.client.paths import CRDS, POD_GROUPS, PODS
from enbloc_sandbox.nodes import Kubelet, Shape
from tests.controlplane import ControlPlane
from tests.e2e import manifests
from tests.e2e.bare import bare_control_plane
from tests.e2e.census import Census
from tests.e2e.processes import Server

NAMESPACE: Final = "default"
SIZE: Final = 8
CPU: Final = 2
#: The shortest and the longest life of a gang, in seconds.
LIFE: Final = (8.0, 12.0)


@dataclass(frozen=True)
class Outcome:
    """What one run came to; times in seconds.

    Attributes:
        finished: gangs that have run to their end.
        share: of the room that whole gangs could have, 0 to 1.
        burst: the longest that a gang was in part.
        overcommitted: how often a node had to hold more than it can.
        seconds: from the first Binding to the last end.
        attempts: decisions for each gang, the one that placed it included.
        overtaken: the most places by which a gang came later than it should; all are equals.
    """

    finished: int
    share: float
    burst: float
    overcommitted: int
    seconds: float
    attempts: float
    overtaken: int


@asynccontextmanager
async def watched(
    client: Client, nodes: int, minimums: Mapping[str, int]
) -> AsyncGenerator[Census]:
    """Nodes with a kubelet, and an observer."""
    shapes = [Shape(f"n{index}", CPU * 1000, 2**36, 0) for index in range(nodes)]
    room = {shape.name: CPU * 1000 for shape in shapes}
    census = Census(client, NAMESPACE, room, minimums)
    tasks = [asyncio.create_task(work) for work in (Kubelet(client, shapes).run(), census.run())]
    try:
        yield census
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def install(client: Client) -> None:
    """The CRD, and wait until its resource is served."""
    crd = (ROOT / "crds/podgroups.enbloc.dev.yaml").read_text(encoding="utf-8")
    await client.create(CRDS, yaml.safe_load(crd))
    async with asyncio.timeout(30):
        while True:
            with suppress(NotFound):
                await client.page(POD_GROUPS)
                return
            await asyncio.sleep(0.1)


async def create(client: Client, minimums: Mapping[str, int]) -> None:
    """All gangs, each with a life of its own."""
    rng = random.Random(25)
    lives = {name: rng.uniform(*LIFE) for name in minimums}
    for name, size in minimums.items():
        await client.create(POD_GROUPS, manifests.group(name, size), NAMESPACE)
    pods = [
        manifests.pod(f"{name}-{index}", name, run_seconds=lives[name])
        for name, size in minimums.items()
        for index in range(size)
    ]

    async def pod(index: int) -> None:
        await client.create(PODS, pods[index], NAMESPACE)

    await all_at_once(len(pods), pod)


async def until(census: Census, holds: Any, scheduler: Server, seconds: float) -> float:
    """Wait until something holds of the census; when that was."""
    async with asyncio.timeout(seconds):
        while not holds():
            scheduler.must_run()
            async with census.changed:
                with suppress(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await census.changed.wait()
    return time.monotonic()


def decisions(log: Path) -> tuple[float, int]:
    """Attempts for each gang, and the most places by which one was overtaken, by what it logged."""
    lines = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    made = [line for line in lines if "attempts" in line]
    placed = [line["podGroup"] for line in made if line["result"] == "scheduled"]
    due = {name: place for place, name in enumerate(sorted(placed))}
    return len(made) / len(placed), max(place - due[name] for place, name in enumerate(placed))


async def contend(running: ControlPlane, gangs: int, nodes: int, log: Path) -> Outcome:
    """One run."""
    at_a_time = nodes * CPU // SIZE
    minimums = {f"g{index:03}": SIZE for index in range(gangs)}
    limit = 60 + 3 * LIFE[1] * gangs / at_a_time
    scheduler = Server(
        "scheduler",
        [f"--kubeconfig={running.kubeconfig}", "--no-leader-elect", "--secure-port=0"],
        log,
    )
    async with Client(await load(running.kubeconfig), component="benchmark") as client:
        await install(client)
        async with watched(client, nodes, minimums) as census:
            await create(client, minimums)
            scheduler.start()
            try:
                began = await until(census, lambda: census.binds > 0, scheduler, limit)
                full = await until(census, lambda: census.running() == at_a_time, scheduler, limit)
                before = census.gang_seconds()
                served = await until(census, lambda: census.whole() == gangs, scheduler, limit)
                used = census.gang_seconds() - before
                ended = await until(census, lambda: census.finished() == gangs, scheduler, limit)
                await scheduler.end()  # and all that it has to say is written
            finally:
                scheduler.stop(0)
            attempts, overtaken = decisions(log)
            return Outcome(
                census.finished(),
                used / at_a_time / (served - full),
                census.burst(),
                len(census.overcommitted),
                ended - began,
                attempts,
                overtaken,
            )


def deadlock(gangs: int = 400, nodes: int = 100) -> Iterator[Figure]:
    """What became of all gangs."""
    with tempfile.TemporaryDirectory() as directory, bare_control_plane() as running:
        outcome = asyncio.run(contend(running, gangs, nodes, Path(directory) / "scheduler.log"))
    yield "deadlock/gangs-finished", outcome.finished
    yield "deadlock/utilisation", 100 * outcome.share
    yield "deadlock/longest-burst", 1000 * outcome.burst
    yield "deadlock/overcommitted", outcome.overcommitted
    yield "deadlock/attempts-per-gang", outcome.attempts
    yield "deadlock/most-overtaken", outcome.overtaken
    yield "deadlock/whole-run", outcome.seconds


if __name__ == "__main__":
    for figure in deadlock(*map(int, sys.argv[1:])):
        print(*figure)
