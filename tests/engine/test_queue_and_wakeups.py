# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who goes first, who waits for what, and what wakes whom (semantics §2.7)."""

import pytest

from enbloc.engine import Backoff
from enbloc.engine.events import PriorityClassSeen
from enbloc.model.groups import GroupMemory, RunMemory
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator
from tests.world.builders import spec
from tests.world.cluster import Cluster

KEEP_OUT = Taint("k", "v", Effect.NO_SCHEDULE)


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (50, 10), (10_000, 10)],
)
def test_backoff_doubles_up_to_its_maximum(failures: int, seconds: float) -> None:
    assert Backoff().after(failures) == seconds


def test_higher_priority_goes_first_then_the_older_group() -> None:
    cluster = Cluster(sync=False)
    cluster.nodes("n1", cpu=8)
    cluster.gang("young", 2)
    cluster.now -= 100
    cluster.gang("old", 2)
    cluster.gang("high", 2, priority=10)
    cluster.now += 100
    cluster.sync()
    cluster.settle()
    order = [name.split("-")[0] for name in cluster.bound_order]
    assert order == ["high"] * 2 + ["old"] * 2 + ["young"] * 2


def test_a_group_has_the_lowest_priority_of_its_members() -> None:
    cluster = Cluster(sync=False)
    cluster.nodes("n1", cpu=2)
    cluster.group("mixed", 2)
    cluster.pod("mixed-0", "mixed", priority=100)
    cluster.pod("mixed-1", "mixed", priority=0)
    cluster.gang("even", 2, priority=50)
    cluster.sync()
    cluster.settle()
    assert len(cluster.where("even")) == 2


def test_a_gang_held_in_part_goes_before_its_equals() -> None:
    cluster = Cluster(sync=False)
    cluster.nodes("n1", cpu=3)
    cluster.gang("older", 2)
    cluster.now += 50
    cluster.group("part", 2, memory=GroupMemory("p", runs=(RunMemory("p", ("bare",), plan="p"),)))
    cluster.pod("part-0", "part", node="n1", binding_record='{"plan": "p"}')
    cluster.pod("part-1", "part")
    cluster.sync()
    cluster.settle()
    assert len(cluster.where("part")) == 2
    assert cluster.where("older") == {}


def test_a_large_gang_that_waits_does_not_stop_a_small_one_behind_it() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.gang("large", 8)
    cluster.settle()
    cluster.gang("small", 4)
    cluster.settle()
    assert len(cluster.where("small")) == 4


def test_freed_room_wakes_a_waiting_gang_at_once() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.pod("in-the-way", node="n1", scheduler="other")
    cluster.gang("g", 4)
    cluster.settle()
    assert cluster.where("g") == {}
    before = cluster.now
    cluster.delete("in-the-way")
    cluster.settle()
    assert len(cluster.where("g")) == 4
    assert cluster.now == before


def test_a_new_node_wakes_a_waiting_gang() -> None:
    cluster = Cluster()
    cluster.gang("g", 4)
    cluster.settle()
    assert cluster.condition("g")[1] == "Infeasible"
    cluster.node("n1", cpu=4)
    cluster.settle()
    assert len(cluster.where("g")) == 4


def test_a_taint_taken_off_wakes_a_waiting_gang() -> None:
    cluster = Cluster()
    cluster.node("n1", cpu=4, taints=(KEEP_OUT,))
    cluster.gang("g", 4)
    cluster.settle()
    assert "1 node(s) had untolerated taint(s)" in cluster.condition("g")[2]
    cluster.node("n1", cpu=4)
    cluster.settle()
    assert len(cluster.where("g")) == 4


def test_a_node_made_schedulable_again_wakes_a_waiting_gang() -> None:
    cluster = Cluster()
    cluster.node("n1", cpu=4, unschedulable=True)
    cluster.gang("g", 4)
    cluster.settle()
    assert "1 node(s) were unschedulable" in cluster.condition("g")[2]
    cluster.node("n1", cpu=4)
    cluster.settle()
    assert len(cluster.where("g")) == 4


def test_a_label_added_wakes_a_gang_that_selects_it() -> None:
    cluster = Cluster()
    cluster.node("n1", cpu=4)
    cluster.gang("g", 2, spec=spec(node_selector=(("disk", "ssd"),)))
    cluster.settle()
    assert "1 node(s) didn't match Pod's node affinity/selector" in cluster.condition("g")[2]
    cluster.node("n1", cpu=4, labels=(("disk", "ssd"),))
    cluster.settle()
    assert len(cluster.where("g")) == 2


def test_a_toleration_lets_a_gang_onto_a_tainted_node() -> None:
    cluster = Cluster()
    cluster.node("n1", cpu=4, taints=(KEEP_OUT,))
    cluster.gang("g", 2, spec=spec(tolerations=(Toleration("k", TolerationOperator.EXISTS),)))
    cluster.settle()
    assert len(cluster.where("g")) == 2


def test_an_event_that_cannot_help_costs_no_attempt() -> None:
    cluster = Cluster()
    cluster.node("n1", cpu=4)
    cluster.gang("g", 2, spec=spec(node_selector=(("disk", "ssd"),)))
    cluster.settle()
    attempts = cluster.status["g"].attempts
    cluster.pod("other", scheduler="default-scheduler", node="n1")
    cluster.delete("other")
    cluster.settle()
    assert cluster.status["g"].attempts == attempts


def test_a_hinted_single_pod_is_tried_early_only_while_nothing_else_is_to_be_done() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=1)
    cluster.pod("blocker", node="n1", scheduler="other")
    cluster.pod("single")
    cluster.settle()
    cluster.delete("blocker")
    cluster.pod("busy", spec=spec(cpu=9))
    cluster.step()
    assert cluster.where("single") == {}, "another one had its turn first"
    cluster.step()
    assert len(cluster.where("single")) == 1, "idle, so the pause is cut short"


def test_a_status_that_comes_back_by_the_watch_costs_no_attempt() -> None:
    cluster = Cluster()
    cluster.gang("g", 2)
    cluster.settle()
    attempts = cluster.status["g"].attempts
    for _ in range(5):
        cluster.change("g-0", unschedulable=True)
        cluster.settle()
    assert cluster.status["g"].attempts == attempts


def test_a_waiting_gang_is_tried_now_and_then_even_without_an_event() -> None:
    cluster = Cluster()
    cluster.gang("g", 2)
    cluster.settle()
    attempts = cluster.status["g"].attempts
    cluster.settle(seconds=301)
    assert cluster.status["g"].attempts == attempts + 1


def test_a_stale_unschedulable_is_overwritten_when_the_quorum_is_lost() -> None:
    cluster = Cluster()
    cluster.gang("g", 2)
    cluster.settle()
    cluster.delete("g-1")
    cluster.settle()
    assert [reason for reason, _ in cluster.pod_conditions("g-0")] == [
        "Unschedulable",
        "WaitingForMembers",
    ]


def test_a_group_priority_class_lowers_and_never_raises() -> None:
    cluster = Cluster(sync=False)
    cluster.nodes("n1", cpu=2)
    cluster.tell(PriorityClassSeen("low", -10))
    cluster.tell(PriorityClassSeen("high", 1000))
    cluster.gang("lowered", 2)
    cluster.group("lowered", 2, priority_class="low")
    cluster.now += 10
    cluster.gang("plain", 2)
    cluster.now += 10
    cluster.gang("raised", 2)
    cluster.group("raised", 2, priority_class="high")
    cluster.sync()
    cluster.settle()
    assert list(cluster.where()) == ["plain-0", "plain-1"]


def test_an_unknown_priority_class_is_an_invalid_spec_until_it_is_created() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=2)
    cluster.gang("g", 2)
    cluster.gang("h", 2, priority=-5)
    cluster.group("h", 2, priority_class="batch")
    cluster.settle()
    assert cluster.condition("h")[1] == "InvalidSpec"
    for name in ("g-0", "g-1"):
        cluster.finish(name)
    cluster.tell(PriorityClassSeen("batch", -1))
    cluster.settle()
    assert len(cluster.where("h")) == 2


def test_a_group_that_heard_nothing_for_long_is_tried_once_more() -> None:
    cluster = Cluster(longest_wait=300.0)
    cluster.nodes("n1", cpu=4)
    cluster.gang("g", 2, spec=spec(cpu=4))
    cluster.settle(seconds=299)
    before = len(cluster.decisions())
    cluster.settle(seconds=2)
    assert len(cluster.decisions()) == before + 1
