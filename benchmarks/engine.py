# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The engine alone: planning gangs on clusters in memory, in CPU time of this process."""

import gc
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace

from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.effects import Bind
from enbloc.engine.events import (
    Bound,
    GroupSeen,
    NodeSeen,
    PodGone,
    PodSeen,
    SlotsFree,
    Stream,
    Synced,
    WorkloadSeen,
)
from enbloc.model.groups import Group, GroupKey
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import (
    PodAffinity,
    PodAffinityTerm,
    Selector,
    SpreadConstraint,
)
from enbloc.model.taints import Effect, Taint
from enbloc.model.workloads import WorkloadKey

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
        started = time.process_time()
        effects = engine.step(1000.0 + number)
        times.append(time.process_time() - started)
        binds = [effect for effect in effects if isinstance(effect, Bind)]
        assert len(binds) == size, f"only {len(binds)} of {size} were planned"
        for pod in pods:
            engine.apply(PodGone(pod.key, pod.uid))
        engine.step(1000.5 + number)
    median = statistics.median(times)
    yield f"engine/gang-{size}-on-{nodes}-nodes", median * 1e3
    yield f"engine/further-pod-on-{nodes}-nodes", median / size * 1e6


def ranked_gang(nodes: int = 3000, size: int = 512) -> Iterator[Figure]:
    """A gang whose members have ranks, without and with a Service that selects rank 0."""
    for name, values in (("without", ()), ("with", ("0",))):
        engine = cluster(nodes)
        selector = Selector((Requirement("job-completion-index", Operator.IN, values),))
        engine.apply(WorkloadSeen(WorkloadKey("Service", "b", "rank-0"), selector))
        times = []
        for number in range(7):
            key = GroupKey("b", f"g{number}")
            engine.apply(GroupSeen(Group(key, key.name, min_member=size)))
            pods = [
                replace(pod, labels=(("job-completion-index", str(rank)),))
                for rank, pod in enumerate(gang(key.name, size))
            ]
            for pod in pods:
                engine.apply(PodSeen(pod))
            started = time.process_time()
            effects = engine.step(1000.0 + number)
            times.append(time.process_time() - started)
            assert sum(isinstance(effect, Bind) for effect in effects) == size
            for pod in pods:
                engine.apply(PodGone(pod.key, pod.uid))
            engine.step(1000.5 + number)
        yield f"engine/ranked-gang-{name}-service", statistics.median(times) * 1e3


def _rest(engine: Engine, now: float) -> None:
    """Let it decide until only time or an event could change anything."""
    while (at := engine.wakeup()) is not None and at <= now:
        assert not any(isinstance(effect, Bind) for effect in engine.step(now))


def waiting(nodes: int = 5000, gangs: int = 300, rounds: int = 21) -> Iterator[Figure]:
    """A pod ends whose room suffices for one member of many gangs of 8: until all wait again."""
    engine = cluster(nodes)
    whole = next(gang("load", 1)).spec
    whole = replace(whole, requests=(("nvidia.com/gpu", 8), ("pods", 1)))
    loads = [
        Pod(PodKey("b", f"load-{row}"), PodUID(f"load-{row}"), whole, "else", node=f"n{row}")
        for row in range(2, nodes, 3)  # those with 8 GPUs
    ]
    for pod in loads:
        engine.apply(PodSeen(pod))
    for number in range(gangs):
        name = f"g{number}"
        engine.apply(GroupSeen(Group(GroupKey("b", name), name, min_member=8)))
        for pod in gang(name, 8):
            engine.apply(PodSeen(replace(pod, spec=whole)))
    _rest(engine, 1000.0)
    times = []
    for number, pod in enumerate(loads[:rounds]):
        engine.apply(PodGone(pod.key, pod.uid))
        started = time.process_time()
        _rest(engine, 1001.0 + number)
        times.append(time.process_time() - started)
        engine.apply(PodSeen(pod))
    yield f"engine/event-for-{gangs}-waiting-gangs", statistics.median(times) * 1e3


def crowds(events: int = 5000) -> Iterator[Figure]:
    """Thousands of gangs of 8 wait, and thousands of pods end in one batch: the longest step."""
    for gangs in (5000, 10_000):
        engine = cluster(2000)
        small = replace(next(gang("small", 1)).spec, requests=(("nvidia.com/gpu", 1), ("pods", 1)))
        large = replace(small, requests=(("nvidia.com/gpu", 8), ("pods", 1)))
        loads = [
            Pod(PodKey("b", f"load-{n}"), PodUID(f"load-{n}"), small, "else", node=f"n{row}")
            for n, row in enumerate(row for row in range(2000) for _ in range(SHAPES[row % 3][0]))
        ]
        for pod in loads:
            engine.apply(PodSeen(pod))
        for number in range(gangs):
            name = f"g{number}"
            # Every tenth is like no other.
            spec = large if number % 10 else replace(large, nonzero_cpu=number)
            engine.apply(GroupSeen(Group(GroupKey("b", name), name, min_member=8)))
            for pod in gang(name, 8):
                engine.apply(PodSeen(replace(pod, spec=spec)))
        _rest(engine, 1000.0)
        gc.collect()
        gc.freeze()  # as the scheduler does once it has synced
        for pod in loads[:events]:
            engine.apply(PodGone(pod.key, pod.uid))
        times = []
        while (at := engine.wakeup()) is not None and at <= 1000.5:
            started = time.process_time()
            engine.step(1000.5)
            times.append(time.process_time() - started)
        gc.unfreeze()
        yield f"engine/longest-step-with-{gangs}-waiting-gangs", max(times) * 1e3
        yield f"engine/all-steps-with-{gangs}-waiting-gangs", sum(times) * 1e3


def open_plans(nodes: int = 1000, pods: int = 300) -> Iterator[Figure]:
    """A pod of its own beside few and many plans whose Bindings are under way: one step each."""
    small = PodSpec(requests=(("cpu", 100), ("pods", 1)), nonzero_cpu=100)
    for plans in (10, 1000):
        engine = cluster(nodes)
        engine.apply(SlotsFree(100_000))  # a namespace leaves a third of what it has sent
        for number in range(plans):
            name = f"g{number}"
            engine.apply(GroupSeen(Group(GroupKey("b", name), name, min_member=8)))
            for pod in gang(name, 8):
                engine.apply(PodSeen(replace(pod, spec=small)))
            engine.step(1000.0)
        times = []
        for number, pod in enumerate(gang("lone", pods)):
            engine.apply(PodSeen(replace(pod, spec=small, group=None)))
            started = time.process_time()
            effects = engine.step(1001.0 + number)
            times.append(time.process_time() - started)
            assert any(isinstance(effect, Bind) for effect in effects)
        yield f"engine/pod-beside-{plans}-open-plans", statistics.median(times) * 1e6


def finished_members(rounds: int = 200) -> Iterator[Figure]:
    """The event of one live member beside few and many that have finished: one step each."""
    for finished in (10, 30_000):
        engine = cluster(10)
        engine.apply(GroupSeen(Group(GroupKey("b", "g"), "g", min_member=9)))
        for number, pod in enumerate(gang("g", finished)):
            phase = Phase.SUCCEEDED if number % 2 else Phase.FAILED
            engine.apply(PodSeen(replace(pod, node="n1", phase=phase)))
        live = next(gang("live", 1))
        live = replace(live, group=GroupKey("b", "g"))
        times = []
        for number in range(rounds):
            engine.apply(PodSeen(replace(live, labels=(("round", str(number)),))))
            started = time.process_time()
            engine.step(1001.0 + number)
            times.append(time.process_time() - started)
        yield f"engine/member-beside-{finished}-finished", statistics.median(times) * 1e6


# ── one pod after the other, through the whole default profile ───────────────────────────────────

_WEB = Selector((Requirement("app", Operator.IN, ("web",)),))
_ZONE, _HOST = "zone", "kubernetes.io/hostname"
_PLAIN = PodSpec(
    requests=(("cpu", 500), ("memory", GiB), ("pods", 1)), nonzero_cpu=500, nonzero_memory=GiB
)
KINDS: dict[str, PodSpec] = {
    "plain": _PLAIN,
    "spread": replace(
        _PLAIN,
        spread=(
            SpreadConstraint(_ZONE, max_skew=1, selector=_WEB),
            SpreadConstraint(_HOST, max_skew=5, hard=False, selector=_WEB),
        ),
    ),
    "affinity": replace(
        _PLAIN,
        pod_affinity=PodAffinity(preferred=((10, PodAffinityTerm(_ZONE, _WEB)),)),
        pod_anti_affinity=PodAffinity(required=(PodAffinityTerm(_HOST, _WEB),)),
    ),
}


def populated(nodes: int, pods_per_node: int = 8) -> Engine:
    """A cluster on which pods of others run, a few of them with the label that is looked for."""
    engine = cluster(nodes)
    for index in range(nodes * pods_per_node):
        app = "web" if index % 200 == 0 else f"app-{index % 50}"
        engine.apply(
            PodSeen(
                Pod(
                    PodKey("b", f"other-{index}"),
                    PodUID(f"other-{index}"),
                    _PLAIN,
                    node=f"n{index % nodes}",
                    labels=(("app", app), ("index", str(index))),
                )
            )
        )
    engine.step(999.0)
    gc.collect()
    gc.freeze()  # as the scheduler does once it has synced
    return engine


def stream(kind: str, nodes: int, pods: int = 300) -> Iterator[Figure]:
    """Pods of one class, each a group of its own: from the pod's event to its Bind, one step."""
    engine = populated(nodes)
    times = []
    for index in range(pods):
        pod = Pod(
            PodKey("b", f"{kind}-{index}"),
            PodUID(f"{kind}-{index}"),
            KINDS[kind],
            "enbloc",
            created=float(index),
            labels=(("app", "web"), ("index", f"{kind}-{index}")),
        )
        engine.apply(PodSeen(pod))
        started = time.process_time()
        effects = engine.step(1000.0)
        times.append(time.process_time() - started)
        (bind,) = (effect for effect in effects if isinstance(effect, Bind))
        engine.apply(Bound(bind.target.plan, bind.target.uid))
        engine.apply(SlotsFree(1))
        engine.apply(PodSeen(replace(pod, node=bind.target.node)))
    gc.unfreeze()
    yield f"engine/first-{kind}-pod-on-{nodes}-nodes", times[0] * 1e3
    yield f"engine/further-{kind}-pod-on-{nodes}-nodes", statistics.median(times[1:]) * 1e6


def group_of(kind: str, nodes: int, size: int = 256) -> Iterator[Figure]:
    """One group of alike pods through the same profile: what each of its members costs."""
    engine = populated(nodes)
    key = GroupKey("b", kind)
    engine.apply(GroupSeen(Group(key, kind, min_member=size)))
    for index in range(size):
        labels = (("app", "web"), ("index", f"{kind}-{index}"))
        name = f"{kind}-{index}"
        pod = Pod(PodKey("b", name), PodUID(name), KINDS[kind], "enbloc", group=key, labels=labels)
        engine.apply(PodSeen(pod))
    started = time.process_time()
    effects = engine.step(1000.0)
    took = time.process_time() - started
    assert sum(isinstance(effect, Bind) for effect in effects) == size
    gc.unfreeze()
    yield f"engine/member-of-{kind}-group-on-{nodes}-nodes", took / size * 1e6


def streams() -> Iterator[Figure]:
    """Every kind of pod on a middling and on a large cluster, one by one and as a group."""
    for nodes in (1000, 5000):
        for kind in KINDS:
            yield from stream(kind, nodes)
            yield from group_of(kind, nodes)
