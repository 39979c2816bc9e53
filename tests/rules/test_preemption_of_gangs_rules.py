# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs give way whole, to gangs and pods of higher priority, and say so."""

import pytest

from enbloc.framework import refuse
from enbloc.framework.profile import Profile
from enbloc.model.names import EventReason, Reason
from enbloc.model.pods import Owner
from tests.engine.test_shared_resources import Together
from tests.rules.preempting import evicted, full
from tests.rules.world import NEXT_JOB, World
from tests.world.builders import amounts, spec
from tests.world.cluster import Cluster, plugins_but

JOB = Owner("Job", "job", "job-1")


def test_a_whole_gang_gives_way_where_its_minimum_would_be_broken() -> None:
    """Semantics §10.1."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2)
    cluster.settle()
    cluster.pod("high", priority=10)
    cluster.settle()

    assert evicted(cluster) == {"low-0", "low-1"}
    assert len(cluster.where("high")) == 1
    (event,) = [e for e in cluster.events(EventReason.PREEMPTED) if e.group is not None]
    assert event.note == "preempted by pod ns/high: 2 of its members are evicted"


def test_an_event_has_its_preemptor_as_an_object_of_its_own() -> None:
    """Semantics §10.3: who reads it finds the preemptor, and a second one is no repetition."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2)
    cluster.settle()
    cluster.gang("high", 2, priority=10)
    cluster.settle()

    high = cluster.groups["high"]
    victims = cluster.events(EventReason.PREEMPTED)
    assert len(victims) == 3
    for event in victims:
        assert event.related is not None
        assert (event.related.group, event.related.uid) == (high.key, high.uid)
    (event,) = cluster.events(EventReason.PREEMPTING)
    assert event.related is not None
    assert event.related.pod is not None
    assert event.related.pod.name in {"low-0", "low-1"}


def test_a_pod_that_preempts_is_in_the_event_with_its_uid() -> None:
    """Semantics §10.3."""
    cluster = Cluster()
    cluster.node("n1", cpu=1)
    cluster.pod("low")
    cluster.settle()
    high = cluster.pod("high", priority=10)
    cluster.settle()

    (event,) = cluster.events(EventReason.PREEMPTED)
    assert event.related is not None
    assert (event.related.pod, event.related.uid) == (high.key, high.uid)


def test_one_of_several_members_that_gives_way_is_told_of_in_the_singular() -> None:
    """Semantics §10.3."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2, minimum=1)
    cluster.settle()
    cluster.pod("high", priority=10)
    cluster.settle()

    (event,) = [e for e in cluster.events(EventReason.PREEMPTED) if e.group is not None]
    assert event.note == "preempted by pod ns/high: 1 of its members is evicted"


def test_a_preempted_gang_says_by_whom_until_it_starts_again() -> None:
    """Semantics §10.3: over a restart as well."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2, owner=JOB)
    cluster.settle()
    cluster.run_pods(["low-0", "low-1"])
    cluster.settle()
    cluster.pod("high", priority=10)
    cluster.settle()

    whom = "preempted by pod ns/high: 2 of its members are evicted"
    assert cluster.condition("low") == (False, Reason.PREEMPTED, f"{whom}; 0 of 2 members exist")
    assert cluster.condition("low", "DisruptionTarget") == (
        True,
        Reason.PREEMPTION_BY_SCHEDULER,
        whom,
    )

    cluster.pod("low-2", "low", owner=JOB)
    cluster.pod("low-3", "low", owner=JOB)
    other = cluster.restarted()
    other.settle()

    status, reason, message = other.condition("low")
    assert (status, reason) == (False, Reason.PREEMPTED)
    assert message.startswith(f"{whom}; 1 of the 2 required members fit")

    other.node("n3", cpu=1)
    other.settle()

    assert other.condition("low")[:2] == (True, Reason.SCHEDULED)
    assert {each.type for each in other.status["low"].conditions} >= {"Scheduled"}
    assert "DisruptionTarget" not in {each.type for each in other.status["low"].conditions}


def test_of_an_elastic_gang_only_the_surplus_gives_way() -> None:
    """Semantics §10.1."""
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=1)
    cluster.gang("low", 3, minimum=2)
    cluster.settle()
    cluster.pod("high", priority=10)
    cluster.settle()

    assert len(evicted(cluster)) == 1
    assert len(cluster.where("low")) == 2
    assert len(cluster.where("high")) == 1


def test_with_the_minimum_of_a_gang_goes_the_rest_of_it_wherever_that_is() -> None:
    """Semantics §10.1."""
    pool = (("pool", "a"),)
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1, labels=pool)
    cluster.gang("low", 3, minimum=2)
    cluster.settle()
    cluster.node("n3", cpu=1)
    cluster.settle()
    cluster.pod("high", priority=10, spec=spec(cpu=1, node_selector=pool))
    cluster.settle()

    assert evicted(cluster) == {"low-0", "low-1", "low-2"}


def test_a_minimum_that_a_budget_keeps_stays_though_the_rest_of_its_gang_is_gone() -> None:
    """Semantics §10.3: it is no part of a minimum."""
    pool = (("pool", "a"),)
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1, labels=pool)
    cluster.gang("low", 3, minimum=2)
    cluster.settle()
    cluster.node("n3", cpu=1)
    cluster.settle()
    cluster.evict_answer = lambda each: "ok" if each.pod.name == "low-2" else "a budget"
    cluster.pod("high", priority=10, spec=spec(cpu=1, node_selector=pool))
    cluster.settle(seconds=20)

    assert not any(each.regardless for each in cluster.evicted)
    assert len(cluster.where("low")) == 2


def test_a_gang_whose_surplus_terminates_is_asked_for_its_minimum() -> None:
    """Semantics §10.1: a pod made for the surplus is not left alone."""
    pool = (("pool", "a"),)
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=1, labels=pool)
    cluster.gang("low", 3, minimum=2)
    cluster.settle()
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("first", priority=10, spec=spec(cpu=1, node_selector=pool))
    cluster.settle()
    (surplus,) = evicted(cluster)
    cluster.pod("second", priority=10, spec=spec(cpu=1, node_selector=pool))
    cluster.settle(seconds=5)
    cluster.pod("low-3", "low")  # made in the place of the one that leaves
    cluster.node("n4", cpu=1)
    cluster.settle(seconds=5)

    assert evicted(cluster) == {"low-0", "low-1", "low-2"}

    cluster.delete(surplus)
    cluster.settle(seconds=5)
    for name in evicted(cluster) - {surplus}:
        cluster.delete(name)
    cluster.settle(seconds=20)

    assert set(cluster.where()) == {"first", "second"}


@pytest.mark.parametrize("preempts", [True, False])
def test_pods_of_negative_priority_hold_room_for_gangs_that_may_preempt(preempts: bool) -> None:
    """Semantics §10.1: as few of them leave as are needed, and those that are made again wait."""
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=1)
    for number in range(3):
        cluster.pod(f"spare-{number}", priority=-10, preempts=False, owner=JOB)
    cluster.settle()
    cluster.gang("gang", 2, preempts=preempts)
    cluster.settle()
    for number in range(len(cluster.evicted)):
        cluster.pod(f"spare-{3 + number}", priority=-10, preempts=False, owner=JOB)
    cluster.settle(seconds=60)

    assert len(cluster.where("gang")) == (2 if preempts else 0)
    assert len(cluster.where("spare")) == (1 if preempts else 3)
    assert len(cluster.evicted) == (2 if preempts else 0)


@pytest.mark.parametrize(("grace", "victims"), [(60.0, set[str]()), (3600.0, {"low-n2"})])
def test_who_leaves_already_is_waited_for_only_if_that_is_over_soon(
    grace: float, victims: set[str]
) -> None:
    """Semantics §10.2: pods that a tenant deletes, and that take an hour, keep nobody waiting."""
    cluster = full("n1 n2")
    cluster.change("low-n1", deleting=True, grace=grace)
    cluster.gang("high", 1, priority=10)
    cluster.settle()

    assert evicted(cluster) == victims


@pytest.mark.parametrize("why", ["not now", ""])
def test_nobody_is_evicted_for_a_gang_that_a_plugin_refuses_as_a_whole(why: str) -> None:
    """Semantics §10.2: it is not known whether that would help."""
    plugins = (*plugins_but(), Together(refuse(why)))
    cluster = full("n1 n2", Profile("enbloc", plugins, {}))
    cluster.gang("high", 2, priority=10)
    cluster.settle(seconds=60)

    assert not cluster.evicted
    assert cluster.condition("high")[2] == why


def test_who_fills_the_reservation_of_a_group_does_not_give_way_to_it() -> None:
    """Semantics §10.1: what such a pod frees, the group would want as well."""
    cluster = full("n2 n3")
    cluster.nodes("n1", cpu=1)
    cluster.group("workers", 1, owner="app")
    cluster.pod("workers-0", "workers", node="n1", priority=-1)
    cluster.group("driver", 1, owner="app", min_resources=amounts(cpu=3))
    cluster.pod("driver-0", "driver", priority=10)
    cluster.settle(seconds=20)
    assert evicted(cluster) == {"low-n2", "low-n3"}
    assert set(cluster.where()) == {"workers-0", "driver-0"}


def test_what_becomes_free_for_one_run_is_not_the_next_ones() -> None:
    """Semantics §10.3: each is a gang."""
    cluster = full("n1 n2")
    cluster.evict_answer = lambda _: "slow"
    cluster.group("g", 2)
    for index in range(2):
        cluster.pod(f"g-{index}", "g", owner=JOB, priority=10)
    cluster.settle(seconds=1)
    for index in range(2):
        cluster.pod(f"h-{index}", "g", owner=NEXT_JOB, priority=10)
    cluster.settle(seconds=1)
    cluster.delete("g-1")
    for name in evicted(cluster):
        cluster.delete(name)
    cluster.settle(seconds=5)
    assert not cluster.where("h")
    cluster.pod("g-again", "g", owner=JOB, priority=10)
    cluster.settle(seconds=20)
    assert cluster.where("g").keys() == {"g-0", "g-again"}


def test_who_fills_a_reservation_gives_way_where_only_a_node_is_lacking() -> None:
    """Semantics §10.1."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=2)
    for number in (1, 2):
        cluster.group(f"w{number}", 1, owner="app")
        cluster.pod(f"w{number}-0", f"w{number}", node=f"n{number}", priority=-1)
    cluster.group("driver", 1, owner="app", min_resources=amounts(cpu=3))
    cluster.pod("driver-0", "driver", priority=10, spec=spec(cpu=2))
    cluster.settle(seconds=20)
    assert len(cluster.evicted) == 1
    assert cluster.where("driver")


def test_what_is_held_for_others_later_in_order_is_not_lacking() -> None:
    """Semantics §10.1, §4.1."""
    pool = (("pool", "a"),)
    world = World()
    world.nodes("n1 n2", cpu=2, labels=pool)
    for n in (1, 2):
        world.group(f"w{n}", 1, owner="app")
        world.pod(f"w{n}-0", f"w{n}", node=f"n{n}", priority=-1, spec=spec(cpu=2))
    world.nodes("n3 n4", cpu=2)
    world.group("low", 2, timeout=600)
    for n in (3, 4):
        name = f"low-{n}"
        world.pod(name, "low", node=f"n{n}", owner=JOB, spec=spec(cpu=2), scheduled_at=world.now)
    world.settle()
    world.run_pods(["low-3", "low-4"])
    world.settle()
    world.delete("low-3")
    world.group("driver", 1, owner="app", min_resources=amounts(cpu=6))
    world.pod("driver-0", "driver", priority=10, spec=spec(cpu=2, node_selector=pool))
    world.settle(seconds=20)
    assert len(world.evicted) == 1
    assert world.where("driver")


def test_what_victims_of_its_family_leave_is_kept_with_the_rest_of_min_resources() -> None:
    """Semantics §10.3."""
    pool = (("pool", "a"),)
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=2, labels=pool)
    for n in (1, 2):
        cluster.group(f"w{n}", 1, owner="app")
        cluster.pod(f"w{n}-0", f"w{n}", node=f"n{n}", priority=-1, spec=spec(cpu=2), grace=20.0)
    cluster.node("n3", cpu=2)
    cluster.evict_answer = lambda _: "slow"
    cluster.group("driver", 1, owner="app", min_resources=amounts(cpu=6))
    cluster.pod("driver-0", "driver", priority=10, spec=spec(cpu=2, node_selector=pool))
    cluster.settle(seconds=2)
    (worker,) = evicted(cluster)
    cluster.pod("later", priority=-1, spec=spec(cpu=2))
    cluster.settle(seconds=2)
    assert not cluster.where("later")
    cluster.delete(worker)
    cluster.settle(seconds=10)
    assert cluster.where("driver")
    assert evicted(cluster) == {worker}


def test_what_is_kept_for_a_preemptor_stays_kept_while_its_family_leaves() -> None:
    """Semantics §10.3: whatever is looked at first, the preemptor or its victim."""
    pool = (("pool", "a"),)
    cluster = Cluster()
    cluster.node("n1", cpu=2, labels=pool)
    cluster.group("worker", 1, owner="app")
    cluster.pod("worker-0", "worker", node="n1", priority=-1, spec=spec(cpu=2))
    cluster.node("n2", cpu=2)
    cluster.evict_answer = lambda _: "hold"
    cluster.group("driver", 1, owner="app", min_resources=amounts(cpu=4))
    cluster.pod("driver-0", "driver", priority=10, spec=spec(cpu=2, node_selector=pool))
    cluster.settle(seconds=2)
    assert evicted(cluster) == {"worker-0"}
    cluster.pod("later", priority=-1, spec=spec(cpu=2))
    cluster.change("driver-0", labels=(("looked", "at"),))
    cluster.settle(seconds=2)
    assert not cluster.where("later")
    cluster.change("driver-0", labels=(("looked", "again"),))
    cluster.change("worker-0", deleting=True)
    cluster.settle(seconds=2)
    assert not cluster.where("later")
    cluster.delete("worker-0")
    cluster.settle(seconds=10)
    assert cluster.where("driver")
    assert not cluster.where("later")
