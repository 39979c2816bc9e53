# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The engine alone: planning gangs on clusters in memory."""

import statistics
import time
from collections.abc import Iterator

from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.effects import Bind
from enbloc.engine.events import GroupSeen, NodeSeen, PodGone, PodSeen, SlotsFree, Stream, Synced
from enbloc.model.groups import Group, GroupKey
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.taints import Effect, Taint

GiB = 1024**3
SHAPES = ((2, 64, 256), (4, 96, 384), (8, 128, 1024))  # GPUs, CPUs, GiB: real clusters' shapes
Figure = tuple[str, float]


def cluster(nodes: int) -> Engine:
    """An engine that has synced, with nodes of three shapes, some of them tainted."""
    engine = Engine(default_profiles(), Settings(log=1))
    for index in range(nodes):
        gpus, cpus, memory = SHAPES[index % 3]
        room = {
            "cpu": cpus * 1000,
            "memory": memory * GiB,
            "nvidia.com/gpu": gpus,
            "pods": 110,
            "ephemeral-storage": 1000 * GiB,
        }
        taints = (Taint("maintenance", "", Effect.NO_SCHEDULE),) if index % 50 == 0 else ()
        labels = (("kubernetes.io/hostname", f"n{index}"), ("zone", f"z{index % 3}"))
        engine.apply(
            NodeSeen(
                Node(
                    f"n{index}", str(index), labels, taints, allocatable=tuple(sorted(room.items()))
                )
            )
        )
    for stream in Stream:
        engine.apply(Synced(stream))
    engine.apply(SlotsFree(10_000))
    return engine


def gang(name: str, size: int) -> Iterator[Pod]:
    spec = PodSpec(
        requests=(("cpu", 8000), ("memory", 32 * GiB), ("nvidia.com/gpu", 1), ("pods", 1)),
        nonzero_cpu=8000,
        nonzero_memory=32 * GiB,
    )
    for index in range(size):
        yield Pod(
            PodKey("b", f"{name}-{index}"),
            PodUID(f"{name}-{index}"),
            spec,
            "enbloc",
            group=GroupKey("b", name),
            created=float(index),
        )


def plan_gang(nodes: int = 5000, size: int = 512, rounds: int = 7) -> Iterator[Figure]:
    """From the last pod's event to the plan's Binds: one step."""
    engine = cluster(nodes)
    times = []
    for number in range(rounds):
        name = f"g{number}"
        pods = list(gang(name, size))
        engine.apply(GroupSeen(Group(GroupKey("b", name), name, min_member=size)))
        for pod in pods:
            engine.apply(PodSeen(pod))
        started = time.perf_counter()
        effects = engine.step(1000.0 + number)
        times.append(time.perf_counter() - started)
        binds = [effect for effect in effects if isinstance(effect, Bind)]
        assert len(binds) == size, f"only {len(binds)} of {size} were planned"
        for pod in pods:
            engine.apply(PodGone(pod.key, pod.uid))
        engine.step(1000.5 + number)
    median = statistics.median(times)
    yield f"engine/gang-{size}-on-{nodes}-nodes", median * 1e3
    yield f"engine/further-pod-on-{nodes}-nodes", median / size * 1e6
