# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §9: what a turn costs, however much waits, is open or happens at once."""

import sys
from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.events import PodSeen, WorkloadSeen
from enbloc.model.pods import PodKey
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.model.workloads import WorkloadKey
from tests.world.builders import pod, spec
from tests.world.cluster import Cluster


def calls_of(cluster: Cluster) -> int:
    """How many functions one step calls."""
    calls = 0

    def count(_: object, event: str, __: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        cluster.step()
    finally:
        sys.setprofile(None)
    return calls


def crowd(waiting: int) -> Cluster:
    """So many pods wait, each of a size of its own, on a full node."""
    cluster = Cluster(log=1, validate=False)
    cluster.nodes("n1", cpu=100)
    for number in range(100):
        cluster.pod(f"load-{number}", scheduler="other", node="n1", spec=spec(cpu=1))
    for number in range(waiting):
        cluster.pod(f"p{number}", spec=spec(cpu=101, memory=number + 1))
    while cluster.engine.wakeup() == 0.0:
        cluster.step()
    return cluster


def longest(cluster: Cluster) -> int:
    """The calls of the longest step until nothing is left to be done now."""
    most = 0
    while (at := cluster.engine.wakeup()) is not None and at <= cluster.now:
        most = max(most, calls_of(cluster))
    return most


def test_a_turn_costs_the_same_however_many_groups_wait() -> None:
    """Semantics §9.1."""
    costs: list[int] = []
    for waiting in (600, 1200):
        cluster = crowd(waiting)
        for number in range(50):
            cluster.delete(f"load-{number}")
        costs.append(longest(cluster))
    assert costs[1] <= 1.05 * costs[0]


def test_a_turn_costs_the_same_however_many_groups_change() -> None:
    """Semantics §9.1."""
    costs: list[int] = []
    for changed in (600, 1200):
        cluster = crowd(0)
        for number in range(changed):
            cluster.gang(f"g{number}", 1, minimum=2)
        costs.append(longest(cluster))
    assert costs[1] <= 1.05 * costs[0]


def test_nobody_is_decided_before_all_were_looked_at() -> None:
    """Semantics §9.1: the last of many that wait has the highest priority, and is not overtaken."""
    cluster = crowd(600)
    cluster.pod("urgent", spec=spec(cpu=50), priority=9)
    while cluster.engine.wakeup() == 0.0:
        cluster.step()
    for number in range(50):
        cluster.delete(f"load-{number}")
    cluster.pod("late", spec=spec(cpu=50))
    cluster.settle()
    assert cluster.bound_order == ["urgent"]


def test_a_service_for_one_rank_does_not_make_a_gang_cost_more() -> None:
    """Semantics §9.3."""
    costs: list[int] = []
    for selected in ((), (("job-completion-index", "0"),)):
        cluster = Cluster(log=1, validate=False, slots=512)
        cluster.nodes("n1 n2", cpu=300, pods=300)
        named = tuple(Requirement(key, Operator.IN, (value,)) for key, value in selected)
        service = Selector(named) if named else None
        cluster.tell(WorkloadSeen(WorkloadKey("Service", "ns", "rank-0"), service))
        cluster.group("g", 512)
        for rank in range(512):
            cluster.pod(f"g-{rank}", "g", labels=(("job-completion-index", str(rank)),))
        costs.append(longest(cluster))
        assert len(cluster.where("g-")) == 512
    assert costs[1] <= 1.1 * costs[0]


@pytest.mark.parametrize("ended", [10, 60])
def test_what_happens_at_once_costs_a_group_one_attempt(ended: int) -> None:
    """Semantics §9.2: so many pods end in one batch, and each could help."""
    cluster = crowd(0)
    cluster.gang("g", 61, spec=spec(cpu=1))
    cluster.settle()
    attempts = cluster.status["g"].attempts
    for number in range(ended):
        cluster.delete(f"load-{number}")
    cluster.settle()
    assert cluster.status["g"].attempts - attempts <= 1
    cluster.delete("load-99")
    cluster.settle()
    assert bool(cluster.where("g-")) is (ended == 60)


def test_bindings_that_hang_leave_slots_for_other_namespaces() -> None:
    """Semantics §9.6."""
    cluster = Cluster(slots=32)
    cluster.nodes("n1", cpu=200, pods=200)
    cluster.answer = lambda _: "hold"
    cluster.gang("g", 64)
    cluster.settle()
    hanging = len(cluster.sent)
    assert 16 < hanging < 32
    for namespace in ("a", "b", "c"):
        new = pod(spec(cpu=1), namespace, scheduler="enbloc")
        cluster.tell(PodSeen(replace(new, key=PodKey(namespace, "p"))))
        cluster.settle()
    assert [bind.target.pod.namespace for bind in cluster.sent[hanging:]] == ["a", "b", "c"]
    for bind in list(cluster.sent[:hanging]):
        cluster.confirm(bind)
    cluster.settle()
    assert len(cluster.sent) > hanging + 3 + 16
