# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §9.1: what preemptions cost a turn that changes nothing for them."""

import pytest

from enbloc.engine.preemption import PreemptionLimits
from enbloc.model.pods import Pod, PodUID
from tests.calls import calls_of
from tests.world.cluster import Cluster


def preempting(count: int, answer: str, limits: PreemptionLimits) -> Cluster:
    """So many preemptors of a victim each, whose eviction is answered so."""
    cluster = Cluster(log=1, validate=False, preemption=limits)
    for number in range(count):
        cluster.node(f"n{number}", cpu=1)
        cluster.pod(f"low-{number}", node=f"n{number}", started=cluster.now - 10, grace=3000.0)
    cluster.evict_answer = lambda _: answer
    for number in range(count):
        cluster.pod(f"high-{number}", priority=10)
    cluster.settle(seconds=60)
    return cluster


@pytest.mark.parametrize("answer", ["slow", "a webhook"])
@pytest.mark.parametrize(
    "limits",
    [PreemptionLimits(), PreemptionLimits(delay=1e6), PreemptionLimits(min_runtime=1e6)],
    ids=["none", "a delay", "a minimum runtime"],
)
def test_an_idle_turn_costs_the_same_however_many_preempt(
    answer: str, limits: PreemptionLimits
) -> None:
    """Semantics §9.1: victims terminate, or none leaves, or it is too early to choose any."""
    costs: list[int] = []
    for count in (10, 40):
        cluster = preempting(count, answer, limits)
        assert bool(cluster.evicted) is (limits == PreemptionLimits())
        costs.append(calls_of(cluster.step) + calls_of(cluster.engine.wakeup))
    assert costs[0] == costs[1]


class Known(dict[PodUID, Pod]):
    """Pods by UID, and how often it was asked whether one is there."""

    asked = 0

    def __contains__(self, uid: object) -> bool:
        self.asked += 1
        return super().__contains__(uid)


def test_a_pod_that_preempts_nobody_costs_the_same_however_many_did() -> None:
    """Semantics §9.1: those who were placed by a preemption run on."""
    costs: list[int] = []
    for count in (10, 40):
        cluster = preempting(count, "ok", PreemptionLimits())
        assert len(cluster.where("high-")) == count
        cluster.node("more", cpu=2)
        cluster.pod("plain-0")
        cluster.settle()
        known = cluster.engine._state.pods = Known(cluster.engine._state.pods)
        cluster.pod("plain-1")
        cluster.settle()
        assert len(cluster.where("plain-")) == 2
        costs.append(known.asked)
    assert costs[0] == costs[1]
