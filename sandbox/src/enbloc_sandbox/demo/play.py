# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The demo: the same two jobs, first pod by pod, then as gangs.

Three processes, joined by HTTP only: a sandbox, `enbloc run`, and this one, which submits and
watches and knows nothing but what the API server says.
"""

import asyncio
import csv
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from enbloc.client import cluster_access
from enbloc.client.client import Client
from enbloc.client.paths import POD_GROUPS, PODS
from enbloc.model import names
from enbloc_sandbox.demo.judge import judge_alone, judge_gangs
from enbloc_sandbox.demo.processes import Child, DemoError, running
from enbloc_sandbox.demo.scenario import GANGS, Scenario, demo_shapes, scenario
from enbloc_sandbox.demo.screen import Screen
from enbloc_sandbox.demo.stage import Stage
from enbloc_sandbox.nodes import Shape, read_trace

#: Bounds of the waits: for processes to be up, for a decision on pods, for a gang to end (seconds).
UP_SECONDS: Final = 60.0
DECIDE_SECONDS: Final = 20.0
END_SECONDS: Final = 60.0
#: Act one submits this share of the cluster's room at a time, one pod of each job at least.
_SHARE: Final = 32
#: What happens within this time is told together, for a few pods and for many (seconds).
_TELL_SECONDS: Final = (0.1, 1.0)
_FEW_PODS: Final = 64
#: After each turn of act one, if there are few: who watches should see the turns (seconds).
_TURN_SECONDS: Final = 0.15


@dataclass(frozen=True, slots=True)
class Settings:
    """How the demo is played.

    Attributes:
        trace: the nodes, as a CSV; None = four nodes of common shapes.
        keep: leave everything running at the end, until interrupted.
        colour: whether to colour them.
    """

    trace: Path | None
    keep: bool
    colour: bool


async def play(settings: Settings) -> int:
    """Play both acts.

    Returns:
        0 if the outcome was right, 1 if it was not.

    Raises:
        EnblocError: the demo could not be played to its end.
    """
    began = time.monotonic()
    screen = Screen(_print, settings.colour, lambda: time.monotonic() - began)
    shapes = demo_shapes() if settings.trace is None else read_trace(settings.trace)
    planned = scenario(shapes)
    folder = Path(tempfile.mkdtemp(prefix="enbloc-demo-"))
    try:
        async with _theatre(folder, shapes, planned, screen) as stage:
            problems = await _one_by_one(stage, screen, shapes, planned)
            problems += await _as_gangs(stage, screen, shapes, planned)
            _say_outcome(screen, problems)
            await _look_around(screen, folder, keep=settings.keep)
    except asyncio.CancelledError:  # nobody will read these logs
        shutil.rmtree(folder)
        raise
    if problems:
        screen.plain(f"The logs are in {folder}.")
        return 1
    shutil.rmtree(folder)
    return 0


def _print(line: str) -> None:
    print(line, flush=True)


@asynccontextmanager
async def _theatre(
    folder: Path, shapes: Sequence[Shape], planned: Scenario, screen: Screen
) -> AsyncGenerator[Stage]:
    """A sandbox with these nodes, scheduler and controller, and the watches on it."""
    nodes, kubeconfig = folder / "nodes.csv", folder / "kubeconfig"
    _write_nodes(nodes, shapes)
    every = _TELL_SECONDS[planned.size > _FEW_PODS]
    screen.title(f"Starting a sandbox with {len(shapes)} nodes, and enbloc beside it")
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(
            running(
                "the sandbox",
                ["sandbox", "--trace", str(nodes), "--write-kubeconfig", str(kubeconfig)],
                folder / "sandbox.log",
            )
        )
        await _file(kubeconfig, sandbox)
        enbloc = await stack.enter_async_context(
            running(
                "enbloc run",
                ["run", "--kubeconfig", str(kubeconfig), "--secure-port", "0"],
                folder / "enbloc.log",
            )
        )
        cluster = await cluster_access.load(kubeconfig)
        client = await stack.enter_async_context(Client(cluster, component="demo"))
        stage = Stage(client, screen, (sandbox, enbloc))
        tasks = [
            asyncio.create_task(work)
            for work in (stage.watch_pods(), stage.watch_groups(), stage.narrate(every))
        ]
        for task in tasks:
            stack.callback(task.cancel)
        await stage.nodes_ready(len(shapes), UP_SECONDS)
        screen.happened(f"{len(shapes)} nodes are ready")
        yield stage


def _write_nodes(path: Path, shapes: Sequence[Shape]) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("sn", "cpu_milli", "memory_mib", "gpu", "model"))
        for shape in shapes:
            rows.writerow((shape.name, shape.cpu, shape.memory // 2**20, shape.gpus, shape.model))


async def _file(path: Path, writer: Child) -> None:
    """Wait for a file that a process writes once it is up."""
    end = time.monotonic() + UP_SECONDS
    while not path.exists():
        writer.check()
        if time.monotonic() > end:
            raise DemoError(
                f"{writer.name} wrote no {path} in {UP_SECONDS:.0f} s; see {writer.log}"
            )
        await asyncio.sleep(0.02)


async def _one_by_one(
    stage: Stage, screen: Screen, shapes: Sequence[Shape], planned: Scenario
) -> list[str]:
    """Act one: pods without their annotation are groups of one."""
    screen.title(f"Act one: two jobs of {planned.size} pods, placed one by one")
    screen.plain(_room(planned) + " Their pods come by turns, and name no PodGroup.")
    step = max(1, planned.slots // _SHARE)
    for first in range(0, planned.size, step):
        numbers = range(first, min(first + step, planned.size))
        await stage.create(
            PODS, (planned.pod(gang, i, grouped=False) for i in numbers for gang in GANGS)
        )
        await stage.decided([f"{gang}-{i}" for i in numbers for gang in GANGS], DECIDE_SECONDS)
        await asyncio.sleep(_TURN_SECONDS if step == 1 else 0)
    pods = await stage.listed_pods()
    problems = judge_alone(pods, planned)
    stage.forget()
    screen.table(shapes, pods, planned.gpus)
    if not problems:
        screen.happened(
            "both jobs hold GPUs, and neither can start: each waits for what the other has", "bad"
        )
    screen.happened("deleting these pods")
    await stage.delete_pods(END_SECONDS)
    return problems


async def _as_gangs(
    stage: Stage, screen: Screen, shapes: Sequence[Shape], planned: Scenario
) -> list[str]:
    """Act two: the same pods, each with the name of its PodGroup."""
    screen.title(f"Act two: the same two jobs, as gangs of {planned.size}")
    screen.plain(f"A PodGroup for each; a pod now runs for {planned.run_seconds} s.")
    stage.forget()
    await stage.create(POD_GROUPS, (planned.group(gang) for gang in GANGS))
    pods = [planned.pod(gang, i, grouped=True) for i in range(planned.size) for gang in GANGS]
    await stage.create(PODS, pods)
    shown: set[str] = set()
    try:
        for _ in GANGS:
            await stage.until(
                END_SECONDS, "a gang to be placed", lambda: bool(_whole(stage, planned) - shown)
            )
            gang = min(_whole(stage, planned) - shown)
            shown.add(gang)
            stage.tell()
            screen.happened(f"gang {gang} is placed, all {planned.size} pods of it", "good")
            screen.table(shapes, stage.pods.values(), planned.gpus)
        await stage.until(
            END_SECONDS,
            "both PodGroups to have succeeded",
            lambda: all(_ended(stage, gang) for gang in GANGS),
        )
    except DemoError as error:
        return [str(error), *judge_gangs(stage.log, planned)]
    stage.tell()
    return judge_gangs(stage.log, planned)


def _whole(stage: Stage, planned: Scenario) -> set[str]:
    """The gangs all of whose pods sit on nodes or have succeeded."""
    return {gang for gang, count in stage.held().items() if count == planned.size}


def _ended(stage: Stage, gang: str) -> bool:
    group = stage.groups.get(gang)
    return group is not None and group.shown in (names.Reason.SUCCEEDED, names.Reason.FAILED)


def _room(planned: Scenario) -> str:
    return (
        f"Each pod takes {planned.gpus} GPUs; the cluster has capacity for {planned.slots} such "
        "pods: "
        f"one job fits, two do not."
    )


def _say_outcome(screen: Screen, problems: Sequence[str]) -> None:
    screen.title("Outcome")
    for problem in problems:
        screen.plain(screen.paint(f"wrong: {problem}", "bad"))
    if not problems:
        screen.plain(
            screen.paint(
                "OK: one by one, both jobs got stuck; as gangs, one ran while the other waited, "
                "and both finished.",
                "good",
            )
        )


async def _look_around(screen: Screen, folder: Path, *, keep: bool) -> None:
    """How to go on with kubectl; with `keep` everything runs on until interrupted."""
    screen.plain()
    if not keep:
        screen.plain(
            "To look around: enbloc demo --keep (make demo ARGS=--keep) leaves it running."
        )
        return
    screen.plain("It all still runs; in another terminal:")
    for line in (
        f"export KUBECONFIG={folder / 'kubeconfig'}",
        "kubectl get nodes",
        "kubectl get podgroups.enbloc.dev,pods -o wide",
        "kubectl describe podgroups.enbloc.dev b",
        "kubectl get events",
    ):
        screen.plain(f"  {line}")
    screen.plain("Ctrl-C ends it.")
    asked = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    await asked.wait()
