# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption: what it takes to choose victims, and what it costs those who need none."""

import gc
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from benchmarks.engine import Figure
from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.effects import Bind, Effect, Evict, SetPodCondition
from enbloc.engine.events import (
    BudgetSeen,
    GroupSeen,
    NodeSeen,
    PodGone,
    PodSeen,
    SlotsFree,
    Stream,
    Synced,
)
from enbloc.framework.profile import Profile
from enbloc.model.budgets import Budget
from enbloc.model.groups import Group, GroupKey
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.plugins import IN_TREE

#: GPUs of a node.
_GPUS: Final = 8
_ROUNDS: Final = 5
_NOW: Final = 100_000.0


def _cluster(nodes: int, gpus: int, profiles: Mapping[str, Profile] | None = None) -> Engine:
    """An engine that has synced, with nodes of so many GPUs."""
    engine = Engine(profiles or default_profiles(), Settings(log=1))
    for index in range(nodes):
        labels = (("kubernetes.io/hostname", f"n{index}"), ("zone", f"z{index % 3}"))
        offered = (("nvidia.com/gpu", gpus), ("pods", 110))
        engine.apply(NodeSeen(Node(f"n{index}", str(index), labels, allocatable=offered)))
    for stream in Stream:
        engine.apply(Synced(stream))
    engine.apply(SlotsFree(100_000))
    return engine


def _pods(name: str, count: int, gpus: int, group: GroupKey | None, priority: int) -> list[Pod]:
    spec = PodSpec(requests=(("nvidia.com/gpu", gpus), ("pods", 1)))
    keys = [PodKey("b", f"{name}-{index}") for index in range(count)]
    return [
        Pod(key, PodUID(key.name), spec, "enbloc", group=group, priority=priority) for key in keys
    ]


def _gang(engine: Engine, name: str, size: int, gpus: int, priority: int) -> list[Pod]:
    """A gang whose members are pending."""
    key = GroupKey("b", name)
    engine.apply(GroupSeen(Group(key, name, min_member=size)))
    pods = _pods(name, size, gpus, key, priority)
    for pod in pods:
        engine.apply(PodSeen(pod))
    return pods


def _fill(engine: Engine, nodes: int, a_node: int, size: int) -> None:
    """Pods of one GPU run, so many on each node, in gangs of a size (1 = alone)."""
    for first in range(0, nodes * a_node, size):
        name = f"low-{first}"
        group = GroupKey("b", name) if size > 1 else None
        if group is not None:
            engine.apply(GroupSeen(Group(group, name, min_member=size)))
        started = _NOW - 50_000.0 + first
        for index, pod in enumerate(_pods(name, size, 1, group, 0), first):
            running = replace(pod, node=f"n{index // a_node}", phase=Phase.RUNNING)
            engine.apply(PodSeen(replace(running, created=started, started=started)))
    _rest(engine, _NOW)


def _rest(engine: Engine, now: float) -> None:
    """Let it decide until only time or an event could change anything."""
    while (at := engine.wakeup()) is not None and at <= now:
        engine.step(now)


def _timed(engine: Engine, now: float) -> tuple[float, Sequence[Effect]]:
    """CPU seconds of a step, and what it led to."""
    started = time.process_time()
    effects = engine.step(now)
    return time.process_time() - started, effects


def _decided(engine: Engine, size: int, gpus: int) -> float:
    """CPU seconds of the step in which victims are chosen for a gang."""
    times: list[float] = []
    gc.collect()
    gc.freeze()  # as the scheduler does once it has synced
    for number in range(_ROUNDS):
        now = _NOW + 1000.0 * number
        pods = _gang(engine, f"high-{number}", size, gpus, 10)
        took, effects = _timed(engine, now)
        nominated = [e for e in effects if isinstance(e, SetPodCondition) and e.nominated]
        assert len(nominated) == size, f"only {len(nominated)} of {size} have a node"
        assert any(isinstance(effect, Evict) for effect in effects)
        times.append(took)
        for pod in pods:
            engine.apply(PodGone(pod.key, pod.uid))
        _rest(engine, now + 1)
    gc.unfreeze()
    return statistics.median(times)


def preemption() -> Iterator[Figure]:
    """Gangs of whole nodes on clusters that are full of pods, and of gangs, of lower priority."""
    for nodes, a_node, size, of, figure in (
        (100, 10, 100, 1, "gang-of-100-evicts-1000-pods"),
        (5000, 8, 512, 8, "gang-of-512-on-5000-nodes-of-gangs-of-8"),
        (5000, 8, 512, 16, "gang-of-512-on-5000-nodes-of-gangs-of-16"),
    ):
        engine = _cluster(nodes, a_node)
        _fill(engine, nodes, a_node, of)
        yield f"preemption/{figure}", _decided(engine, size, a_node) * 1e3
    yield "preemption/gang-of-4-beside-300-budgets", _beside_budgets() * 1e3
    yield "preemption/longest-step-for-10000-pods", _longest() * 1e3
    yield "preemption/those-who-need-none", _paired()


def _beside_budgets() -> float:
    """A gang of 4, 1200 pods in one namespace, and 300 budgets of which each covers all of them."""
    engine = _cluster(150, _GPUS)
    _fill(engine, 150, _GPUS, 1)
    selector = Selector((Requirement("none", Operator.DOES_NOT_EXIST),))
    for number in range(300):
        engine.apply(BudgetSeen(Budget(f"b/{number}", "b", selector, 1000)))
    return _decided(engine, 4, _GPUS)


def _longest() -> float:
    """The longest step of gangs and pods that fit nowhere, whoever of 10 000 pods is gone."""
    engine = _cluster(1250, _GPUS)
    _fill(engine, 1250, _GPUS, 1)
    gc.collect()
    gc.freeze()
    for number in range(10):
        _gang(engine, f"high-{number}", 4 + number, _GPUS + 1, 10)
        for pod in _pods(f"lone-{number}", 4, _GPUS + 1, None, 10):
            engine.apply(PodSeen(pod))
    times, now = [0.0], _NOW
    while (at := engine.wakeup()) is not None and at <= _NOW + 10:
        now = max(now, at)
        times.append(_timed(engine, now)[0])
    gc.unfreeze()
    return max(times)


def _paired() -> float:
    """What pods and gangs for which there is room cost, of what they cost without preemption."""
    engines = []
    for without in ((), ("DefaultPreemption",)):
        plugins = tuple(make() for name, make in IN_TREE.items() if name not in without)
        engine = _cluster(1000, 64, {"enbloc": Profile("enbloc", plugins, {})})
        _fill(engine, 1000, _GPUS, 1)
        engines.append(engine)
    gc.collect()
    gc.freeze()
    times: tuple[list[float], list[float]] = [], []
    for number in range(400):
        size = 8 if number % 2 else 1
        for engine, mine in zip(engines, times, strict=True):
            _gang(engine, f"high-{number}", size, 1, 10)
            took, effects = _timed(engine, _NOW + 1 + number)
            assert sum(isinstance(effect, Bind) for effect in effects) == size
            mine.append(took)
    gc.unfreeze()
    ratios = [one / other for one, other in zip(*times, strict=True)]
    return statistics.median(ratios)
