# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which changes of pods and nodes count for or against a node."""

from dataclasses import replace
from itertools import pairwise

import pytest

from enbloc.framework.observations import NodeChanged, NodeNote, Observation, PodChanged
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.model.node import Node
from enbloc.model.pods import Owner, Phase, Pod
from enbloc.plugins.node_avoidance.quarantine import NodeQuarantine
from enbloc.plugins.node_avoidance.refusals import NODE_GONE, NODE_NOT_READY
from enbloc.plugins.node_avoidance.reliability import NodeReliability
from tests.world.builders import node, pod, waiting
from tests.world.tables import nodes

A, B, C = (GroupKey("ns", name) for name in "abc")
NOW = 1000.0
LATELY = 300.0
TABLE = nodes(node("n1"))
WAITING = pod(group=A)
BOUND = replace(WAITING, node="n1", scheduled_at=NOW - 10)
RUNNING = replace(BOUND, phase=Phase.RUNNING)
REFUSED = replace(BOUND, phase=Phase.FAILED, rejected="OutOfcpu")


class Memories:
    """What both plugins learned."""

    def __init__(self) -> None:
        self.quarantine = NodeQuarantine().new_memory()
        self.reliability = NodeReliability().new_memory()

    def observe(self, observation: Observation) -> list[NodeNote]:
        """Tell both."""
        self.reliability.observe(observation, NOW)
        return self.quarantine.observe(observation, NOW)

    def score(self, name: str = "n1") -> int:
        """0 to 100."""
        return self.reliability.scores(waiting(pod()), TABLE, NOW).get(name, 100)


def shown(*pods: Pod | None, ours: bool = True) -> Memories:
    """What is thought after a pod was shown as each of these, each time on a node."""
    memories = Memories()
    for old, new in pairwise(pods):
        assert new is not None
        memories.observe(PodChanged(old, new, ours))
    return memories


def test_a_refused_member_costs_its_node_points_and_bars_it_for_its_gang() -> None:
    memories = shown(BOUND, REFUSED)
    assert memories.score() == 80
    assert memories.quarantine.barred(A, NOW) == {"n1": "OutOfcpu"}


def test_a_refused_pod_without_a_group_costs_points_and_bars_nothing() -> None:
    memories = shown(replace(BOUND, group=None), replace(REFUSED, group=None))
    assert memories.score() == 80
    assert memories.quarantine.deadline() is None


def test_a_refusal_that_depends_on_the_member_costs_no_points() -> None:
    memories = shown(BOUND, replace(REFUSED, rejected="AppArmor"))
    assert memories.score() == 100
    assert memories.quarantine.barred(A, NOW) == {"n1": "AppArmor"}


def test_a_refusal_of_another_scheduler_s_pod_is_none_of_ours() -> None:
    memories = shown(BOUND, REFUSED, ours=False)
    assert memories.score() == 100
    assert memories.quarantine.barred(A, NOW) == {}


def test_a_member_that_runs_tells_how_long_that_took() -> None:
    memories = shown(BOUND, RUNNING)
    for name in ("n2", "n2", "n3", "n3"):
        memories.reliability.count_start(name, 1.0, NOW)
    memories.observe(PodChanged(BOUND, RUNNING, ours=True))
    assert memories.score() == 90, "10 s, and 5 s would be usual: 20 · (1 - 5 / 10) less"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(None, RUNNING, id="running when first seen"),
        pytest.param(RUNNING, replace(RUNNING, deleting=True), id="running before"),
        pytest.param(WAITING, replace(RUNNING, scheduled_at=None), id="bound nobody knows when"),
        pytest.param(WAITING, BOUND, id="bound, and no more"),
        pytest.param(None, REFUSED, id="refused when first seen"),
    ],
)
def test_other_changes_of_our_pods_tell_nothing(old: Pod | None, new: Pod) -> None:
    assert len(shown(old, new).reliability) == 0


@pytest.mark.parametrize("old", [None, pod()], ids=["unknown before", "pending before"])
def test_another_scheduler_s_pod_that_comes_to_a_node_makes_it_contested(old: Pod | None) -> None:
    memories = shown(old, pod(node="n1", scheduled_at=NOW), ours=False)
    assert memories.score() == 90


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(pod(node="n1", scheduled_at=NOW - LATELY), id="bound long ago"),
        pytest.param(pod(node="n1", created=NOW - LATELY), id="made long ago"),
        pytest.param(pod(node="n1", created=NOW, phase=Phase.FAILED), id="finished"),
        pytest.param(
            pod(node="n1", created=NOW, owner=Owner("DaemonSet", "d", "d")), id="of every node"
        ),
        pytest.param(pod(node="n1", created=NOW, owner=Owner("Node", "n1", "n")), id="a mirror"),
    ],
)
def test_other_pods_of_other_schedulers_do_not(new: Pod) -> None:
    assert len(shown(None, new, ours=False).reliability) == 0


def test_another_scheduler_s_pod_counts_once() -> None:
    there = pod(node="n1", created=NOW)
    assert shown(None, there, replace(there, phase=Phase.RUNNING), ours=False).score() == 90


@pytest.mark.parametrize(
    ("new", "why"), [(None, NODE_GONE), (replace(node("n1"), ready=False), NODE_NOT_READY)]
)
def test_a_node_that_is_lost_is_blamed_by_every_gang_it_holds(new: Node | None, why: str) -> None:
    memories = Memories()
    [note] = memories.observe(NodeChanged("n1", node("n1"), new, (A, B)))
    assert note.reason == EventReason.NODE_QUARANTINED
    assert memories.quarantine.barred(C, NOW) == {"n1": why}


def test_a_node_that_is_cordoned_or_added_is_blamed_by_nobody() -> None:
    memories, cordoned = Memories(), replace(node("n1"), unschedulable=True)
    assert memories.observe(NodeChanged("n1", None, cordoned, (A, B))) == []
    assert memories.observe(NodeChanged("n1", node("n1"), cordoned, (A, B))) == []
    assert memories.quarantine.deadline() is None


def test_a_node_that_is_gone_leaves_no_record_of_how_it_treated_members() -> None:
    memories = shown(BOUND, REFUSED)
    memories.observe(NodeChanged("n1", node("n1"), None))
    assert len(memories.reliability) == 0
