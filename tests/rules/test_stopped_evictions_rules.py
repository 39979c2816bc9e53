# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Victims that were told to leave stay if nobody needs that, and nothing was sent to delete them.

Semantics §10.3.
"""

import pytest

from enbloc.engine.effects import StopEvict
from enbloc.engine.events import Evicted, EvictRefused, EvictStopped, PriorityClassSeen
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.model.pods import PodUID
from tests.rules.preempting import evicted, full
from tests.world.builders import spec
from tests.world.cluster import Cluster


def stops(cluster: Cluster) -> list[frozenset[PodUID]]:
    """Whom the shell was asked to let stay, as often as it was."""
    return [effect.uids for effect in cluster.effects if isinstance(effect, StopEvict)]


def gang_told(*, stopped: bool = True) -> Cluster:
    """A gang of two that was told to leave for a pod; the shell stops that, or does not."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2)
    cluster.settle()
    cluster.evict_answer, cluster.stops = lambda _: "hold", stopped
    cluster.pod("high", priority=10)
    cluster.settle()
    assert [(effect.whole, effect.rest) for effect in cluster.evicted] == [(True, False)] * 2
    return cluster


def test_victims_stay_if_their_preemptor_is_deleted() -> None:
    cluster = gang_told()
    cluster.delete("high")
    cluster.settle()

    assert stops(cluster) == [{effect.uid for effect in cluster.evicted}]
    assert not cluster.engine._victims
    assert not cluster.events(EventReason.PREEMPTED)


def test_victims_stay_if_another_pod_has_the_name_of_their_preemptor() -> None:
    """It was deleted and made again before anybody looked, and needs another node."""
    cluster = gang_told()
    cluster.node("other", cpu=1, labels=(("pool", "b"),))
    cluster.pod("busy", node="other", priority=10)
    cluster.delete("high")
    cluster.pod("high", priority=10, spec=spec(cpu=1, node_selector=(("pool", "b"),)))
    cluster.settle()

    assert stops(cluster) == [{effect.uid for effect in cluster.evicted}]
    assert not cluster.engine._victims


def test_victims_stay_if_their_preemptor_is_placed_elsewhere() -> None:
    cluster = gang_told()
    cluster.node("n3", cpu=1)
    cluster.settle()

    assert cluster.where("high") == {"high": "n3"}
    assert stops(cluster) == [{effect.uid for effect in cluster.evicted}]


def test_victims_are_stopped_in_the_order_in_which_they_were_told() -> None:
    """So that the same events have the same effects."""
    cluster = full(" ".join(f"n{number}" for number in range(8)))
    cluster.evict_answer, cluster.stops = lambda _: "hold", True
    cluster.gang("high", 8, priority=10)
    cluster.settle()
    for number in range(8):
        cluster.delete(f"high-{number}")
    cluster.settle()

    assert len(cluster.evicted) == 8
    assert stops(cluster) == [{effect.uid} for effect in cluster.evicted]


def test_victims_that_stay_may_be_told_again() -> None:
    cluster = gang_told()
    cluster.delete("high")
    cluster.settle()
    cluster.evict_answer = lambda _: "ok"
    cluster.pod("higher", priority=20)
    cluster.settle()

    assert set(cluster.where()) == {"higher"}


def test_victims_of_which_nothing_is_heard_stay_once_others_are_told() -> None:
    """Semantics §10.4."""
    cluster = full("n1 n2", n2=5)
    cluster.evict_answer = lambda each: "hold" if each.pod.name == "low-n1" else "ok"
    cluster.pod("high", priority=10)
    cluster.settle(seconds=320)

    assert cluster.where() == {"low-n1": "n1", "high": "n2"}
    assert stops(cluster) == [{cluster.pods["low-n1"].uid}]


def test_a_gang_of_which_one_leaves_is_not_stopped() -> None:
    cluster = gang_told()
    first, second = cluster.evicted
    cluster.tell(Evicted(first.uid))
    cluster.delete("high")
    cluster.settle()

    assert stops(cluster) == []

    cluster.tell(EvictRefused(second.uid, "denied by a policy", cluster.now + 10))
    cluster.evict_answer = lambda _: "ok"
    cluster.delete(first.pod.name)
    cluster.settle(seconds=30)

    assert cluster.where() == {}
    assert [(each.uid, each.rest) for each in cluster.evicted[2:]] == [(second.uid, True)]


def test_what_cannot_be_stopped_is_waited_for_and_told_of() -> None:
    """Something was sent: the pods go, and are the victims of who needed it."""
    cluster = gang_told(stopped=False)
    cluster.delete("high")
    cluster.settle(seconds=5)
    for effect in tuple(cluster.evicted):
        cluster.tell(Evicted(effect.uid))
        cluster.delete(effect.pod.name)
    cluster.settle()

    assert len(stops(cluster)) == 1
    assert len([e for e in cluster.events(EventReason.PREEMPTED) if e.pod is not None]) == 2


def test_what_others_count_on_is_not_stopped() -> None:
    """A bigger one needs both nodes, of which one is being left already."""
    cluster = gang_told(stopped=False)
    cluster.gang("big", 2, priority=20)
    cluster.settle()
    cluster.delete("high")
    cluster.settle()
    for effect in tuple(cluster.evicted):
        cluster.tell(Evicted(effect.uid))
        cluster.delete(effect.pod.name)
    cluster.settle()

    assert set(cluster.where()) == {"big-0", "big-1"}


@pytest.mark.parametrize("priority", [-5, 0, 5])
def test_victims_stay_if_their_preemptor_is_not_above_them_any_more(priority: int) -> None:
    """Semantics §10.1: its PodGroup names another class."""
    cluster = full("n1")
    cluster.tell(PriorityClassSeen("other", priority))
    cluster.evict_answer = lambda _: "hold"
    cluster.gang("high", 1, priority=10)
    cluster.settle()
    assert evicted(cluster) == {"low-n1"}
    cluster.alter("high", priority_class="other")
    cluster.settle()

    assert bool(stops(cluster)) is (priority <= 0)
    assert len(cluster.evicted) == 1


def test_victims_stay_once_the_last_who_counts_on_them_is_deleted() -> None:
    """It was another one for which they were told."""
    cluster = gang_told()
    cluster.gang("big", 2, priority=20)
    cluster.settle()
    cluster.delete("high")
    cluster.settle()
    assert stops(cluster) == []
    for name in ("big-0", "big-1"):
        cluster.delete(name)
    cluster.settle()

    assert stops(cluster) == [{effect.uid for effect in cluster.evicted}]
    assert not cluster.engine._victims


def test_victims_stay_if_all_who_count_on_them_are_placed_elsewhere() -> None:
    cluster = gang_told()
    cluster.pod("too", priority=10)
    cluster.settle()
    cluster.nodes("n3 n4", cpu=1)
    cluster.settle()

    assert set(cluster.where().values()) == {"n1", "n2", "n3", "n4"}
    assert stops(cluster) == [{effect.uid for effect in cluster.evicted}]


def test_who_is_counted_on_as_a_member_of_another_group_is_not_stopped() -> None:
    """A pod that is told to leave names a PodGroup meanwhile."""
    cluster = full("n1")
    cluster.evict_answer = lambda _: "hold"
    cluster.pod("high", priority=10)
    cluster.settle()
    cluster.group("late")
    cluster.change("low-n1", group=GroupKey("ns", "late"))
    cluster.pod("higher", priority=20)
    cluster.settle()
    cluster.delete("high")
    cluster.settle()

    assert stops(cluster) == []


def test_an_answer_of_an_earlier_eviction_changes_nothing_of_a_later_one() -> None:
    cluster = gang_told(stopped=False)
    cluster.settle(seconds=400)
    first, second = cluster.evicted[:2]
    assert [effect.uid for effect in cluster.evicted[2:]] == [first.uid, second.uid]
    for effect in (first, second):
        cluster.tell(EvictStopped(effect.uid))
    cluster.settle()

    assert len(stops(cluster)) == 1
    assert cluster.engine._victims


def test_who_is_not_bound_elsewhere_waits_for_nobody_who_stays() -> None:
    """Its victims were let stay when it was planned; they are told once more."""
    cluster = gang_told()
    cluster.answer = lambda bind: "SCHEDULER_ERROR" if bind.target.node == "n3" else "ok"
    cluster.node("n3", cpu=1)
    cluster.settle()
    cluster.drop_node("n3")
    cluster.evict_answer = lambda _: "ok"
    cluster.settle(seconds=100)

    assert set(cluster.where()) == {"high"}
