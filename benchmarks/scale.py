# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The engine alone on clusters of many sizes: what a pod costs, what an event costs, and memory.

CPU time of this process, so that what else the machine does is not in it.
"""

import gc
import resource
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import msgspec

from benchmarks import objects
from benchmarks.engine import KINDS, Figure, populated
from enbloc.client.decoding import decoded
from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.effects import Bind
from enbloc.engine.events import (
    Bound,
    Event,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    SlotsFree,
    Stream,
    Synced,
)
from enbloc.model.groups import Group, GroupKey
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.wire import codec
from enbloc.wire.objects import NodeObject, PodObject

SIZES: Final = (1000, 5000, 15_000)
GANGS: Final = (1, 8, 64, 512)
#: So many pods wait when it is measured what one costs.
PODS: Final = 2048
#: More Bindings than any benchmark has under way.
SLOTS: Final = 100_000
NOW: Final = 1000.0
_POD: Final = msgspec.json.Decoder(PodObject)
_NODE: Final = msgspec.json.Decoder(NodeObject)


def waiting(size: int, count: int, spec_of: Callable[[int], PodSpec]) -> dict[PodUID, Pod]:
    """Pods in gangs of this size; 1: each on its own."""
    pods: dict[PodUID, Pod] = {}
    for index in range(count):
        name = f"w-{index}"
        pods[PodUID(name)] = Pod(
            PodKey("b", name),
            PodUID(name),
            spec_of(index),
            "enbloc",
            group=GroupKey("b", f"g{index // size}") if size > 1 else None,
            created=float(index),
        )
    return pods


def arrive(engine: Engine, pods: dict[PodUID, Pod], size: int) -> None:
    """Tell of gangs and of their pods."""
    for key in dict.fromkeys(pod.group for pod in pods.values() if pod.group):
        engine.apply(GroupSeen(Group(key, key.name, min_member=size)))
    for pod in pods.values():
        engine.apply(PodSeen(pod))


def placed(engine: Engine, pods: dict[PodUID, Pod]) -> tuple[float, float]:
    """Step until all pods are bound, every Binding answered at once.

    Returns:
        CPU seconds: until the first Binding, and in all.
    """
    spent, first, left = 0.0, 0.0, len(pods)
    while left:
        began = time.process_time()
        effects = engine.step(NOW)
        spent += time.process_time() - began
        binds = [effect.target for effect in effects if isinstance(effect, Bind)]
        if not binds:
            assert engine.wakeup() is not None, f"{left} pods are left without a place"
            continue
        first = first or spent
        left -= len(binds)
        events: list[Event] = [SlotsFree(len(binds))]
        for bind in binds:
            events.append(Bound(bind.plan, bind.uid))
            events.append(PodSeen(replace(pods[bind.uid], node=bind.node)))
        began = time.process_time()
        for event in events:
            engine.apply(event)
        spent += time.process_time() - began
    return first, spent


def pod_cost(nodes: int, size: int, *, alike: bool = True, count: int = PODS) -> float:
    """CPU seconds that a pod costs, from its event to its being seen with its node."""
    engine = populated(nodes, pods_per_node=2)
    engine.apply(SlotsFree(SLOTS))
    plain = KINDS["plain"]
    pods = waiting(size, count, lambda n: plain if alike else replace(plain, nonzero_cpu=n + 1))
    began = time.process_time()
    arrive(engine, pods, size)
    took = time.process_time() - began
    cost = (took + placed(engine, pods)[1]) / count
    gc.unfreeze()
    return cost


def decisions() -> Iterator[Figure]:
    """What a pod costs by the size of cluster and gang, and how that grows."""
    costs = {(nodes, size): pod_cost(nodes, size) for nodes in SIZES for size in GANGS}
    for (nodes, size), cost in costs.items():
        yield f"scale/pod-in-gang-of-{size}-on-{nodes}-nodes", 1e6 * cost
        yield f"scale/decisions-of-gang-of-{size}-on-{nodes}-nodes", 1 / (cost * size)
    for nodes in SIZES[:2]:
        cost = pod_cost(nodes, 8, alike=False, count=256)
        yield f"scale/unlike-pod-in-gang-of-8-on-{nodes}-nodes", 1e6 * cost


def growth() -> Iterator[Figure]:
    """What a pod costs on 15 000 nodes, of what it costs on 1 000; the worst of two kinds."""
    for size in (1, 8):
        small, large = (min(pod_cost(nodes, size) for _ in range(3)) for nodes in (1000, 15_000))
        yield f"scale/growth-of-gang-of-{size}", large / small


# ── events ───────────────────────────────────────────────────────────────────────────────────


def _cost(engine: Engine, event_of: Callable[[int], Event], rounds: int = 200) -> float:
    """The median of CPU seconds of one event and what it has the engine do."""
    times: list[float] = []
    for number in range(rounds):
        event = event_of(number)
        began = time.process_time()
        engine.apply(event)
        engine.step(NOW)
        times.append(time.process_time() - began)
    return statistics.median(times)


def event_costs(nodes: int = 5000) -> Iterator[Figure]:
    """One event of each kind on a cluster with pods, on which nobody waits."""
    engine = populated(nodes)
    plain, size = KINDS["plain"], 8

    def node(number: int, **changed: tuple[tuple[str, str], ...]) -> Node:
        labels = (("kubernetes.io/hostname", f"n{number}"), ("zone", "z0"), *changed.values())
        room = (("cpu", 64_000), ("memory", 2**38), ("pods", 110))
        return Node(f"n{number}", str(number), tuple(sorted(labels)), (), allocatable=room)  # type: ignore[arg-type]

    def other(number: int, text: str = "") -> Pod:
        name = f"event-{number}"
        labels = (("app", "event"), ("text", text))
        return Pod(PodKey("b", name), PodUID(name), plain, node=f"n{number}", labels=labels)

    def group(number: int) -> Group:
        return Group(GroupKey("b", f"event-{number}"), f"event-{number}", min_member=size)

    kinds: dict[str, Callable[[int], Event]] = {
        "node-heartbeat": lambda n: NodeSeen(node(n % 2)),
        "node-added": lambda n: NodeSeen(node(nodes + n)),
        "node-gone": lambda n: NodeGone(f"n{nodes + n}"),
        "pod-bound-by-others": lambda n: PodSeen(other(n)),
        "pod-relabelled": lambda n: PodSeen(other(n, "again")),
        "pod-gone": lambda n: PodGone(other(n).key, other(n).uid),
        "group-added": lambda n: GroupSeen(group(n)),
        "group-gone": lambda n: GroupGone(group(n).key, group(n).uid),
    }
    for name, event_of in kinds.items():
        yield f"scale/event-{name}", 1e6 * _cost(engine, event_of)
    gc.unfreeze()


# ── memory ───────────────────────────────────────────────────────────────────────────────────


def _node(index: int) -> NodeSeen:
    return NodeSeen(codec.node(decoded(_NODE.decode, objects.raw(objects.node(index)))))


def _pod(name: str, on: str) -> PodSeen:
    return PodSeen(codec.pod(decoded(_POD.decode, objects.raw(objects.pod(name, on=on)))))


def _synced() -> Engine:
    engine = Engine(default_profiles(), Settings(log=1))
    for stream in Stream:
        engine.apply(Synced(stream))
    engine.apply(SlotsFree(SLOTS))
    return engine


def memory(nodes: int = 1000, pods: int = 5000) -> Iterator[Figure]:
    """What the engine keeps of nodes and running pods, decoded from what a server sends."""
    engine = _synced()
    gc.collect()
    tracemalloc.start()
    for index in range(nodes):
        engine.apply(_node(index))
    engine.step(NOW)
    gc.collect()
    of_nodes = tracemalloc.get_traced_memory()[0]
    for index in range(pods):
        engine.apply(_pod(f"app-{index % 100}-{index}", f"n{index % nodes}"))
    engine.step(NOW)
    gc.collect()
    of_pods = tracemalloc.get_traced_memory()[0] - of_nodes
    tracemalloc.stop()
    yield "scale/memory-of-a-node", of_nodes / nodes / 1024
    yield "scale/memory-of-a-pod", of_pods / pods / 1024


# ── as large as clusters get ─────────────────────────────────────────────────────────────────


def _largest(nodes: int = 130_000, pods: int = 10_000, size: int = 8) -> Iterator[Figure]:
    """Decode the nodes, then place gangs that all wait; in a process of its own."""
    spent = 0.0
    engine = _synced()
    for index in range(nodes):
        raw = objects.raw(objects.node(index))
        began = time.process_time()
        engine.apply(NodeSeen(codec.node(decoded(_NODE.decode, raw))))
        spent += time.process_time() - began
    began = time.process_time()
    gc.collect()
    gc.freeze()  # as the scheduler does once it has synced
    alike = waiting(size, pods // size * size, lambda _: KINDS["plain"])
    arrive(engine, alike, size)
    spent += time.process_time() - began
    first, whole = placed(engine, alike)
    yield "scale/first-decision-on-130000-nodes", spent + first
    yield "scale/decisions-on-130000-nodes", len(alike) / size / (whole - first)
    yield "scale/pods-on-130000-nodes", len(alike) / (whole - first)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield "scale/memory-with-130000-nodes", peak / 1024**2


def largest() -> Iterator[Figure]:
    """The same; memory in GiB."""
    command = [sys.executable, "-m", "benchmarks.scale"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    for line in done.stdout.splitlines():
        name, value = line.split()
        yield name, float(value)


if __name__ == "__main__":
    for figure in _largest():
        print(*figure)
