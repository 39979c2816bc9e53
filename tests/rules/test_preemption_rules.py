# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption: who gives way, what is told, and what becomes of it when things go otherwise."""

from typing import Any

import pytest

from enbloc.engine.effects import SetPodCondition
from enbloc.engine.events import BudgetSeen, PriorityClassSeen
from enbloc.engine.preemption.effort import MOST_STEPS, STEPS_PER_SECOND, StepAccount
from enbloc.model.budgets import Budget
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason, Reason
from enbloc.model.pins import HOSTNAME
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector
from tests.rules.preempting import evicted, full
from tests.world.builders import amounts, budget, spec
from tests.world.cluster import Cluster


def test_a_pod_of_lower_priority_gives_way_to_one_that_fits_nowhere() -> None:
    """Semantics §10.1."""
    cluster = full(n1=5)
    cluster.pod("high", priority=10)
    cluster.settle()

    assert evicted(cluster) == {"low-n2"}
    assert cluster.where("high") == {"high": "n2"}
    (eviction,) = cluster.evicted
    assert (eviction.reason, eviction.bare) == (Reason.PREEMPTION_BY_SCHEDULER, True)
    assert eviction.message == "enbloc: preempting to accommodate a higher priority pod"
    (event,) = cluster.events(EventReason.PREEMPTED)
    assert event.note == "Preempted by pod ns/high on node n2"


def test_the_preemptor_is_nominated_and_says_for_whom_it_waits_and_until_when() -> None:
    """Semantics §10.3: once that is certain, and not each second anew."""
    cluster = full(n1=20)
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("high", priority=10)
    cluster.settle(seconds=50)

    first, told = (each for each in cluster.effects if isinstance(each, SetPodCondition))
    assert first.nominated == told.nominated == "n2"
    assert told.message == f"{first.message}, until 1970-01-01T00:17:40Z at the latest"
    assert first.message == (
        "0/2 nodes are available: 2 Insufficient cpu. "
        "preemption: waiting for pod ns/low-n2 to leave"
    )


@pytest.mark.parametrize(
    ("of", "text"),
    [
        pytest.param(
            {"priority": 10, "preempts": False},
            "preemption: not eligible due to preemptionPolicy=Never.",
            id="that may not preempt",
        ),
        pytest.param(
            {"priority": 0},
            "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.",
            id="of equal priority",
        ),
        pytest.param(
            {"priority": 10, "spec": spec(cpu=2)},
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
            id="that is larger than any node",
        ),
    ],
)
def test_nobody_gives_way_to_a_pod(of: dict[str, Any], text: str) -> None:
    """Semantics §10.1."""
    cluster = full()
    cluster.pod("high", **of)
    cluster.settle()

    assert not cluster.evicted
    assert cluster.pod_conditions("high")[-1][1].endswith(text)


def test_a_gang_gets_room_for_its_whole_minimum_or_nobody_is_touched() -> None:
    """Semantics §10.2."""
    cluster = full("n1 n2 n3", n3=50)
    cluster.gang("three", 3, priority=10)
    cluster.settle()

    assert not cluster.evicted

    cluster.gang("two", 2, priority=20)
    cluster.settle()

    assert evicted(cluster) == {"low-n1", "low-n2"}
    assert len(cluster.where("two")) == 2


def test_who_had_nobody_below_it_is_tried_again_once_others_give_way() -> None:
    """Semantics §10.1: what is free would not do."""
    cluster = Cluster(longest_wait=1e9)
    cluster.nodes("n1 n2", cpu=2)
    cluster.pod("equal", node="n1", priority=10)
    cluster.gang("high", 2, priority=10, spec=spec(cpu=2))
    cluster.settle(seconds=20)
    cluster.pod("low-1", node="n1")
    cluster.pod("low-2", node="n2")
    cluster.settle(seconds=20)
    assert not cluster.evicted

    cluster.delete("equal")
    cluster.settle(seconds=20)

    assert len(cluster.where("high")) == 2


def test_what_becomes_free_is_nobody_elses() -> None:
    """Semantics §10.3."""
    cluster = full("n1 n2")
    cluster.evict_answer = lambda _: "slow"
    cluster.gang("high", 2, priority=10)
    cluster.settle()
    cluster.delete("low-n1")
    cluster.pod("again", priority=0)  # the first victim's controller is quick
    cluster.settle(seconds=5)

    assert not cluster.where("again")

    cluster.delete("low-n2")
    cluster.settle(seconds=20)

    assert len(cluster.where("high")) == 2


def test_what_becomes_free_for_what_a_gang_reserves_is_nobody_elses() -> None:
    """Semantics §10.3."""
    cluster = full("n1 n2 n3")
    cluster.evict_answer = lambda _: "slow"
    cluster.group("g", 1, min_resources=amounts(cpu=3))
    cluster.pod("g-0", "g", priority=10)
    cluster.settle()
    for name in ("n1", "n2", "n3"):
        cluster.delete(f"low-{name}")
        cluster.pod(f"again-{name}")  # its controller is quick
        cluster.settle(seconds=1)
    cluster.settle(seconds=20)

    assert set(cluster.where()) == {"g-0"}
    assert len(cluster.evicted) == 3


def test_what_a_preemptor_reserves_is_named_to_others_and_theirs_once_it_is_gone() -> None:
    """Semantics §10.3."""
    cluster = full("n1 n2 n3")
    cluster.evict_answer = lambda _: "slow"
    cluster.group("g", 1, min_resources=amounts(cpu=3))
    cluster.pod("g-0", "g", priority=10)
    cluster.settle()
    for name in ("n2", "n3"):
        cluster.delete(f"low-{name}")
    cluster.pod("other")
    cluster.settle(seconds=5)
    waits, lacks = cluster.condition("g"), cluster.pod_conditions("other")[-1][1]
    cluster.delete("g-0")
    cluster.settle(seconds=5)

    assert waits[2].startswith(
        "minResources needs 3 cpu free in the cluster; 2 is free. preemption: waiting for "
    )
    assert lacks.startswith(
        "1 cpu requested, 2 free in the cluster, 2 reserved for ns/g. preemption: "
    )
    assert cluster.where("other")


@pytest.mark.parametrize(("cpu", "others"), [(6, 0), (5, 0), (2, 1), (1, 2)])
def test_what_a_preemptor_no_longer_wants_reserved_is_theirs_at_once(cpu: int, others: int) -> None:
    """Semantics §5.1, §10.3."""
    cluster = full("n1 n2 n3")
    cluster.node("n4", cpu=2)
    cluster.node("n1", cpu=1, labels=((HOSTNAME, "n1"),))
    cluster.evict_answer = lambda _: "slow"
    cluster.group("g", 1, min_resources=amounts(cpu=5))
    cluster.pod("g-0", "g", priority=10, spec=spec(cpu=1, node_selector=((HOSTNAME, "n1"),)))
    cluster.pod("other-0")
    cluster.pod("other-1")
    cluster.settle()
    assert len(cluster.evicted) == 3
    assert not cluster.where("other")

    cluster.alter("g", min_resources=amounts(cpu=cpu))
    cluster.settle(seconds=1)

    assert len(cluster.where("other")) == others


def test_groups_of_one_controller_use_what_their_preemptor_reserves() -> None:
    """Semantics §5.1, §10.3: nobody else is evicted for the second wave of a job."""
    cluster = full("n1 n2 n3")
    cluster.node("n4", cpu=1)
    cluster.evict_answer = lambda _: "slow"
    cluster.group("g", 1, min_resources=amounts(cpu=3), owner="mpi")
    cluster.pod("g-0", "g", priority=10)
    cluster.settle()
    cluster.now += 1
    cluster.group("h", 1, owner="mpi")
    cluster.pod("h-0", "h", priority=10)
    cluster.settle(seconds=1)
    for name in evicted(cluster):
        cluster.delete(name)
    cluster.settle(seconds=20)

    assert {"g-0", "h-0"} <= set(cluster.where())
    assert len(cluster.evicted) == 2


def test_nobody_is_told_twice() -> None:
    """Semantics §10.3."""
    cluster = full()
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("high", priority=10)
    cluster.settle(seconds=25)

    assert len(cluster.evicted) == 1


def test_who_was_not_told_stays_when_capacity_appears_elsewhere() -> None:
    """Semantics §10.3."""
    cluster = full()
    cluster.evict_answer = lambda _: "hold"
    cluster.gang("other", 1, priority=5)
    cluster.pod("high", priority=10)
    cluster.settle()
    told = len(cluster.evicted)
    cluster.node("n3", cpu=1)
    cluster.settle(seconds=20)

    assert len(cluster.where("high")) == 1
    assert len(cluster.evicted) == told


def test_a_budget_is_kept_where_another_victim_does() -> None:
    """Semantics §10.2."""
    cluster = full()
    cluster.change("low-n1", labels=(("app", "kept"),))
    cluster.tell(BudgetSeen(budget("kept", 0)))
    cluster.pod("high", priority=10)
    cluster.settle()

    assert evicted(cluster) == {"low-n2"}


def test_a_budget_is_broken_where_nothing_else_does() -> None:
    """Semantics §10.2."""
    cluster = full()
    for name in ("low-n1", "low-n2"):
        cluster.change(name, labels=(("app", "kept"),))
    cluster.tell(BudgetSeen(budget("kept", 0)))
    cluster.pod("high", priority=10)
    cluster.settle()

    (eviction,) = cluster.evicted
    assert eviction.regardless


def test_another_set_is_chosen_when_a_victim_hangs() -> None:
    """Semantics §10.4."""
    cluster = full()
    cluster.evict_answer = lambda _: "slow" if len(cluster.evicted) == 1 else "ok"
    cluster.pod("high", priority=10)
    cluster.settle(seconds=120)

    assert evicted(cluster) == {"low-n1", "low-n2"}
    assert len(cluster.where("high")) == 1


def test_a_new_leader_waits_for_those_who_were_told() -> None:
    """Semantics §10.3."""
    cluster = full()
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("high", priority=10)
    cluster.settle()
    (eviction,) = cluster.evicted
    cluster.change("high", nominated=cluster.pods[eviction.pod.name].node)
    cluster.change(eviction.pod.name, preempted=True)
    other = cluster.restarted()
    other.settle()

    assert not other.evicted

    other.delete(eviction.pod.name)
    other.settle(seconds=20)

    assert len(other.where("high")) == 1


def test_a_group_raises_nobody_elses_priority() -> None:
    """Semantics §10.1: a PodGroup's class counts for nobody by default, but may lower it."""
    cluster = full()
    cluster.tell(PriorityClassSeen("top", 1000))
    cluster.group("g", 1, priority_class="top")
    cluster.pod("g-0", "g")
    cluster.settle()

    assert not cluster.evicted


def test_the_rest_of_a_gang_is_deleted_when_a_budget_refuses_in_mid_way() -> None:
    """Semantics §10.3."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2)
    cluster.settle()
    answers = iter(("ok", "a budget", "ok"))
    cluster.evict_answer = lambda _: next(answers)
    cluster.pod("high", priority=10)
    cluster.settle(seconds=30)

    assert [each.regardless for each in cluster.evicted] == [False, False, True]
    assert not cluster.where("low")
    assert len(cluster.where("high")) == 1


def test_nobody_of_a_gang_goes_when_the_first_eviction_is_refused() -> None:
    """Semantics §10.4."""
    cluster = full("n1 n2", n2=5)
    cluster.evict_answer = lambda each: "refused" if each.pod.name == "low-n1" else "ok"
    cluster.pod("high", priority=10)
    cluster.settle(seconds=30)

    assert set(cluster.where("low")) == {"low-n1"}
    assert cluster.where("high") == {"high": "n2"}


def test_a_gang_that_reserves_gets_room_for_all_that_it_reserves() -> None:
    """Semantics §10.2."""
    cluster = full("n1 n2 n3")
    cluster.group("g", 1, min_resources=amounts(cpu=3))
    cluster.pod("g-0", "g", priority=10)
    cluster.settle(seconds=30)

    assert evicted(cluster) == {"low-n1", "low-n2", "low-n3"}
    assert len(cluster.where("g")) == 1


def test_a_preemption_ends_with_its_preemptor() -> None:
    """Semantics §10.3: what was reserved is anybody's again."""
    cluster = full("n1")
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("high", priority=10)
    cluster.settle()
    cluster.delete("high")
    cluster.delete("low-n1")
    cluster.pod("next")
    cluster.settle(seconds=20)

    assert cluster.where("next") == {"next": "n1"}


def test_searches_take_no_more_steps_than_a_second_has_for_them() -> None:
    """Semantics §10.5: a thousand groups that preemption cannot help cost no more than one."""
    effort, now, taken = StepAccount(), 1000.0, 0
    for _ in range(10_000):
        if effort.left(now):
            effort.take(500)
            taken += 500
        else:
            assert effort.ready() > now
            now = effort.ready()

    assert taken <= MOST_STEPS + (now - 1000.0) * STEPS_PER_SECOND + 500


def test_a_search_that_was_put_off_comes_later() -> None:
    """Semantics §10.5."""
    cluster = full()
    effort = cluster.engine._preemptions._effort
    assert effort.left(cluster.now)
    effort.take(2 * MOST_STEPS)  # for others
    cluster.pod("high", priority=10)
    cluster.settle()
    assert not cluster.evicted

    cluster.settle(seconds=5)
    assert len(cluster.where("high")) == 1


def test_what_was_claimed_is_free_again_when_it_was_not_enough() -> None:
    """Semantics §10.3: somebody whom nothing keeps out took the rest of the node."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=2)
    cluster.pod("low", node="n1", spec=spec(cpu=2))
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("high", spec=spec(cpu=2), priority=10)
    cluster.settle()
    cluster.pod("theirs", scheduler="other", node="n1", priority=20)
    cluster.delete("low")
    cluster.pod("small")
    cluster.settle(seconds=120)

    assert set(cluster.where()) == {"theirs", "small"}


def test_no_search_ends_in_anything_but_an_answer() -> None:
    """Semantics §10.2: where so many hosts are named that nothing but the order is tried."""
    cluster = Cluster(validate=False)
    for name in (*(f"p{number:03}" for number in range(65)), "small"):
        cluster.node(name, cpu=1, labels=((HOSTNAME, name),))
    cluster.node("big", cpu=4, labels=((HOSTNAME, "big"),))
    cluster.pod("low", node="big", spec=spec(cpu=4))
    cluster.group("high", 67)
    for number in range(65):
        pinned = spec(cpu=1, node_selector=((HOSTNAME, f"p{number:03}"),))
        cluster.pod(f"high-{number:03}", "high", priority=10, spec=pinned)
    cluster.pod("high-small", "high", priority=10)
    cluster.now += 1
    cluster.pod("high-xlarge", "high", priority=10, spec=spec(cpu=4))
    cluster.settle()

    assert not cluster.evicted


def test_nothing_stays_claimed_for_a_gang_that_can_be_tried_no_more() -> None:
    """Semantics §10.3."""
    cluster = full("n1 n2")
    cluster.evict_answer = lambda _: "slow"
    cluster.gang("high", 2, priority=10)
    cluster.settle()
    cluster.delete("high-1")
    cluster.delete("low-n1")
    cluster.delete("low-n2")
    cluster.pod("later")
    cluster.settle(seconds=120)

    assert len(cluster.where("later")) == 1


def test_a_victim_that_walks_back_in_is_evicted_less_and_less() -> None:
    """Semantics §10.4: the preemptor keeps its like away, and the victim is made again at once."""
    cluster = Cluster()
    cluster.node("n1", cpu=8, labels=((HOSTNAME, "n1"),))
    low = (("app", "low"),)
    cluster.pod("low-0", node="n1", labels=low)
    cluster.settle()
    cluster.evict_answer = lambda _: "slow"
    selector = Selector((Requirement("app", Operator.IN, ("low",)),))
    apart = PodAffinity(required=(PodAffinityTerm(HOSTNAME, selector),))
    cluster.pod("high", priority=10, spec=spec(cpu=1, pod_anti_affinity=apart))
    for number in range(100):
        told = len(cluster.evicted)
        cluster.settle(seconds=1)
        for effect in cluster.evicted[told:]:
            cluster.pod(f"low-{number + 1}", labels=low)
            cluster.settle(seconds=29)
            cluster.delete(effect.pod.name)

    assert len(cluster.evicted) <= 10


def test_a_budget_of_all_pods_makes_them_immune_to_nothing() -> None:
    """Semantics §10.3: without requirements kube-scheduler reads none, and the Eviction API all."""
    cluster = full("n1")
    cluster.change("low-n1", labels=(("app", "kept"),))
    cluster.tell(BudgetSeen(Budget("ns/all", "ns", Selector(), 0)))
    cluster.evict_answer = lambda each: "ok" if each.regardless else "no disruption is allowed"
    cluster.pod("high", priority=10)
    cluster.settle(seconds=20)

    assert cluster.where("high") == {"high": "n1"}


def test_two_budgets_on_one_pod_make_it_immune_to_nothing() -> None:
    """Semantics §10.3: the Eviction API refuses such a pod whatever they allow."""
    cluster = full("n1")
    cluster.change("low-n1", labels=(("app", "kept"),))
    for name in ("a", "b"):
        cluster.tell(BudgetSeen(budget("kept", 100)._replace(key=f"ns/{name}")))
    cluster.evict_answer = lambda each: "ok" if each.regardless else "more than one budget"
    cluster.pod("high", priority=10)
    cluster.settle(seconds=20)

    assert cluster.where("high") == {"high": "n1"}


def test_a_victim_that_names_another_group_meanwhile_is_told_once() -> None:
    """Semantics §10.3."""
    cluster = full("n1 n2")
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("high", priority=10)
    cluster.settle()
    (eviction,) = cluster.evicted
    cluster.change(eviction.pod.name, group=GroupKey("ns", "other"))
    cluster.pod("higher", priority=20)
    cluster.settle(seconds=200)

    uids = [each.uid for each in cluster.evicted]
    assert len(uids) == len(set(uids))
