# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs that lie in one rack: what that costs the engine, and how well they lie in the long run.

python -m benchmarks topology topology_stream
"""

import csv
import gzip
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from benchmarks.engine import Figure, GiB
from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.effects import Bind
from enbloc.engine.events import (
    Bound,
    GroupGone,
    GroupSeen,
    NodeSeen,
    PodGone,
    PodSeen,
    SlotsFree,
    Stream,
    Synced,
    TopologySeen,
)
from enbloc.model.groups import Group, GroupKey
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.topology import Level, Topology, TopologyRequest

#: Sizes of jobs in GPUs, of a cluster of Microsoft; it is not part of the repository.
PHILLY: Final = Path(__file__).parents[2] / "shared/traces/philly/philly.csv.gz"
LABELS: Final = tuple(f"example.com/level-{level}" for level in range(5))
RACK: Final = TopologyRequest(required="rack")


@dataclass(frozen=True)
class Fabric:
    """So many nodes of 8 GPUs, so many in each domain of each level, the outermost first."""

    nodes: int
    sizes: tuple[int, ...]

    def topology(self) -> Topology:
        names = ("region", "zone", "row", "block", "rack")[-len(self.sizes) :]
        return Topology("default", tuple(map(Level, names, LABELS)))

    def path(self, index: int) -> tuple[str, ...]:
        return tuple(f"d{index // size}" for size in self.sizes)

    def node(self, index: int) -> Node:
        room = {
            "cpu": 128_000,
            "memory": 1024 * GiB,
            "nvidia.com/gpu": 8,
            "pods": 110,
            "ephemeral-storage": 1000 * GiB,
        }
        name = f"n{index}"
        labels = (*zip(LABELS, self.path(index), strict=False), ("kubernetes.io/hostname", name))
        return Node(name, name, tuple(sorted(labels)), allocatable=tuple(sorted(room.items())))


#: 50 racks; and 130 000 nodes under five levels.
RACKS: Final = Fabric(5000, (2500, 100))
LARGE: Final = Fabric(130_000, (65_000, 13_000, 2600, 520, 40))
#: 8 blocks of 8 racks of 18 nodes.
PODS_OF_RACKS: Final = Fabric(8 * 8 * 18, (8 * 18, 18))


class Running:
    """An engine on a fabric; what it binds is bound."""

    def __init__(self, fabric: Fabric) -> None:
        self.engine = Engine(default_profiles(), Settings(log=1))
        self.now = 1000.0
        self.where: dict[str, list[tuple[Pod, str]]] = {}
        for index in range(fabric.nodes):
            self.engine.apply(NodeSeen(fabric.node(index)))
        self.engine.apply(TopologySeen(fabric.topology()))
        for stream in Stream:
            self.engine.apply(Synced(stream))
        self.engine.apply(SlotsFree(1_000_000))
        self._version = 0

    def come(self, name: str, size: int, request: TopologyRequest | None, gpus: int = 1) -> None:
        """A gang is there, and not decided yet."""
        key = GroupKey("b", name)
        self.engine.apply(GroupSeen(Group(key, name, min_member=size, topology=request)))
        spec = PodSpec(
            requests=(
                ("cpu", 8000),
                ("memory", 32 * GiB),
                ("nvidia.com/gpu", gpus),
                ("pods", 1),
            ),
            nonzero_cpu=8000,
            nonzero_memory=32 * GiB,
        )
        for index in range(size):
            pod = PodKey("b", f"{name}-{index}")
            uid = PodUID(f"{name}-{index}")
            self.engine.apply(PodSeen(Pod(pod, uid, spec, "enbloc", group=key, created=self.now)))

    def step(self) -> float:
        """One step; what it binds is bound. The CPU seconds that it took."""
        self.now += 0.01
        began = time.process_time()
        effects = self.engine.step(self.now)
        took = time.process_time() - began
        for effect in effects:
            if isinstance(effect, Bind):
                self._bound(effect)
        return took

    def _bound(self, effect: Bind) -> None:
        target = effect.target
        self._version += 1
        self.engine.apply(Bound(target.plan, target.uid))
        pod = self.engine._state.pods[target.uid]
        pod = replace(pod, node=target.node, resource_version=self._version)
        self.engine.apply(PodSeen(pod))
        assert pod.group is not None
        self.where.setdefault(pod.group.name, []).append((pod, target.node))

    def settle(self) -> None:
        """Step until only time or an event could change anything."""
        while (at := self.engine.wakeup()) is not None and at <= self.now + 0.01:
            self.step()

    def go(self, name: str) -> None:
        """A gang ends, or is given up."""
        key = GroupKey("b", name)
        placed = self.where.pop(name, [])
        members = [pod for pod, _ in placed] or [
            pod for pod in self.engine._state.pods.values() if pod.group == key
        ]
        for pod in members:
            self.engine.apply(PodGone(pod.key, pod.uid))
        self.engine.apply(GroupGone(key, name))


def _cost(running: Running, size: int, request: TopologyRequest | None, rounds: int) -> float:
    """CPU ms of the step that decides a gang, the median."""
    times: list[float] = []
    for number in range(rounds):
        name = f"g{size}-{number}"
        running.come(name, size, request)
        times.append(running.step())
        assert len(running.where.get(name, ())) == size, "it is not placed"
        running.settle()
        running.go(name)
        running.settle()
    return 1000 * statistics.median(times[1:])


def topology(rounds: int = 9) -> Iterator[Figure]:
    """What a decision costs in CPU time (ms), the first left out, which makes the tree."""
    running = Running(RACKS)
    yield "topology/gang-of-8-on-5000-nodes", _cost(running, 8, RACK, rounds)
    yield "topology/gang-of-8-without-on-5000-nodes", _cost(running, 8, None, rounds)
    large = TopologyRequest(required="block")
    yield "topology/gang-of-1000-on-5000-nodes", _cost(running, 1000, large, rounds)


def topology_large(rounds: int = 7) -> Iterator[Figure]:
    """The same with 130 000 nodes and five levels."""
    running = Running(LARGE)
    yield "topology/gang-of-8-on-130000-nodes", _cost(running, 8, RACK, rounds)


# ── in the long run ──────────────────────────────────────────────────────────────────────────────


def sizes(count: int) -> list[int]:
    """Jobs of Philly in GPUs, in the order in which they came; else something like it."""
    if not PHILLY.exists():
        print(f"{PHILLY.name} is not there: sizes are drawn", flush=True)
        draw = random.Random(7)
        return draw.choices((1, 2, 4, 8, 16, 32, 64), (50, 8, 12, 20, 6, 3, 1), k=count)
    with gzip.open(PHILLY, "rt", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["timestamp"])
    known = (int(row["num_gpus"]) for row in rows if int(row["num_gpus"]) >= 2)
    return list(islice(known, count))


def _stream(request: TopologyRequest | None, count: int) -> tuple[float, float]:
    """Of gangs that come and go: the share that lies in the smallest domain that can hold it, of
    those that need more than a node; and the share of GPUs in use, both in percent.
    """
    draw = random.Random(11)
    running, fabric = Running(PODS_OF_RACKS), PODS_OF_RACKS
    total = fabric.nodes * 8
    alive: list[tuple[str, int]] = []
    used = best = judged = 0
    shares: list[float] = []
    for number, wanted in enumerate(sizes(count)):
        size, name = min(wanted * 4, 8 * 18 * 8), f"j{number}"
        # Gangs end at random, so that the cluster stays nearly full.
        while used + size > 0.9 * total:
            gone, gpus = alive.pop(draw.randrange(len(alive)))
            running.go(gone)
            used -= gpus
        running.settle()
        running.come(name, size, request)
        running.settle()
        placed = running.where.get(name, [])
        if len(placed) < size:
            running.go(name)
            running.settle()
        else:
            alive.append((name, size))
            used += size
            if size > 8:
                judged += 1
                best += _is_smallest(fabric, [node for _, node in placed], size)
        shares.append(used / total)
    return 100 * best / max(judged, 1), 100 * statistics.mean(shares[count // 4 :])


def _is_smallest(fabric: Fabric, nodes: list[str], size: int) -> bool:
    """Whether a gang lies in one rack, or in one block where no rack is large enough."""
    paths = [fabric.path(int(node[1:])) for node in nodes]
    level = 1 if size <= 18 * 8 else 0
    return len({path[: level + 1] for path in paths}) == 1


def topology_stream(count: int = 1500) -> Iterator[Figure]:
    """Gangs of mixed sizes come and go on 8 blocks of 8 racks of 18 nodes."""
    lie, placed = _stream(TopologyRequest(preferred="rack"), count)
    by_chance, without = _stream(None, count)
    yield "topology/in-their-smallest-domain", lie
    yield "topology/in-their-smallest-domain-without", by_chance
    yield "topology/placed", placed
    yield "topology/placed-less-than-without", without - placed
