# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's view of an API server, played by hand: no scheduler runs here."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from enbloc.client.client import Client, PatchType
from enbloc.client.config import Cluster
from enbloc.client.paths import NODES, PODS
from enbloc_sandbox import Sandbox
from enbloc_sandbox.demo.observed import PodSeen
from enbloc_sandbox.demo.processes import Child, DemoError, running
from enbloc_sandbox.demo.scenario import Scenario
from enbloc_sandbox.demo.screen import Screen
from enbloc_sandbox.demo.stage import Stage
from enbloc_sandbox.nodes import Shape
from tests.patience import PATIENCE

SCENARIO = Scenario(gpus=1, cpu=1, memory=1, slots=3, size=2)


class Rehearsal:
    def __init__(self, stage: Stage, client: Client, lines: list[str]) -> None:
        self.stage = stage
        self.client = client
        self.lines = lines

    async def bind(self, name: str) -> None:
        binding: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": "n1"},
        }
        await self.client.create(PODS, binding, "default", name=name, subresource="binding")


@pytest.fixture
async def rehearsal() -> AsyncGenerator[Rehearsal]:
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(Sandbox())
        client = await stack.enter_async_context(
            Client(Cluster(server=sandbox.url), component="test")
        )
        lines: list[str] = []
        stage = Stage(client, Screen(lines.append, colour=False, clock=lambda: 0.0), ())
        for work in (stage.watch_pods(), stage.narrate(0.01)):
            task = asyncio.create_task(work)
            stack.callback(task.cancel)
        yield Rehearsal(stage, client, lines)


async def test_what_happens_to_the_pods_is_seen_and_told(rehearsal: Rehearsal) -> None:
    stage = rehearsal.stage
    await stage.create(PODS, [SCENARIO.pod("a", i, grouped=False) for i in range(2)])
    await rehearsal.bind("a-0")
    await stage.until(PATIENCE, "a-0 to be placed", lambda: stage.held() == {"a": 1, "b": 0})
    said = "  0.00s  job a: a-0 → n1"
    await stage.until(PATIENCE, "it to be told", lambda: said in rehearsal.lines)
    listed = await stage.listed_pods()
    assert {(pod.name, pod.node) for pod in listed} == {("a-0", "n1"), ("a-1", "")}
    names = [seen.name for seen in stage.log if isinstance(seen, PodSeen)]
    assert sorted(set(names)) == ["a-0", "a-1"]
    stage.forget()
    assert stage.log == []


async def test_a_pod_counts_as_decided_when_it_is_placed_or_told_to_wait(
    rehearsal: Rehearsal,
) -> None:
    stage = rehearsal.stage
    await stage.create(PODS, [SCENARIO.pod("a", i, grouped=False) for i in range(2)])
    await rehearsal.bind("a-0")
    with pytest.raises(DemoError, match="the scheduler to decide on a-0 to a-1"):
        await stage.decided(["a-0", "a-1"], 0.3)
    waits = {"type": "PodScheduled", "status": "False", "message": "no room"}
    await rehearsal.client.patch(
        PODS,
        "a-1",
        {"status": {"conditions": [waits]}},
        "default",
        kind=PatchType.STRATEGIC,
        subresource="status",
    )
    await stage.decided(["a-0", "a-1"], PATIENCE)


async def test_deleted_pods_are_waited_for(rehearsal: Rehearsal) -> None:
    stage = rehearsal.stage
    await stage.create(PODS, [SCENARIO.pod("a", i, grouped=False) for i in range(2)])
    await stage.until(PATIENCE, "pods to be seen", lambda: len(stage.pods) == 2)
    await stage.delete_pods(PATIENCE)
    assert await stage.listed_pods() == []


async def test_nodes_count_once_they_are_untainted(rehearsal: Rehearsal) -> None:
    await rehearsal.client.create(NODES, Shape("n1", 1, 1).manifest())
    with pytest.raises(DemoError, match="1 nodes to be ready"):
        await rehearsal.stage.nodes_ready(1, 0.3)
    free = {"spec": {"taints": None}}
    await rehearsal.client.patch(NODES, "n1", free, kind=PatchType.MERGE)
    await rehearsal.stage.nodes_ready(1, PATIENCE)


@pytest.mark.processes
async def test_a_process_that_ends_stops_every_wait_with_its_last_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running("the sandbox", ["sandbox", "--nodes", "many"], log) as child:
        await child.process.wait()
        screen = Screen(lambda _: None, colour=False, clock=lambda: 0.0)
        stage = Stage(Client(Cluster(server="http://127.0.0.1:1"), component="x"), screen, [child])
        with pytest.raises(DemoError, match=r"(?s)the sandbox ended with code 2:.*'many'"):
            await stage.until(PATIENCE, "nothing", lambda: False)


@pytest.mark.processes
async def test_a_process_that_does_not_end_is_killed(tmp_path: Path) -> None:
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('x', flush=True)"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", f"{deaf}; time.sleep(60)", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    child = Child("deaf", process, tmp_path / "log")
    child.check()
    await child.end(0.1)
    assert process.returncode == -9
