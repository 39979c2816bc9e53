# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Plans of lower priority give way before anything of them is bound (semantics §10.1)."""

from typing import ClassVar

import pytest

from enbloc.framework.decide import Proposal
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import ClusterEvent
from enbloc.framework.profile import Profile
from enbloc.framework.status import SUCCESS, Status, wait
from enbloc.model.names import EventReason
from tests.engine.claims_world import Claiming
from tests.rules.test_what_victims_hold import with_device
from tests.world.cluster import Cluster, plugins_but


class Holding:
    """Lets nobody of priority 0 through, and everybody else."""

    name: ClassVar[str] = "Holding"
    events: ClassVar[tuple[ClusterEvent, ...]] = ()

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan
        return SUCCESS if facts.priority else wait(600)


def holding() -> Cluster:
    profile = Profile("enbloc", (*plugins_but(), Holding()), {})
    cluster = Cluster(profiles={"enbloc": profile})
    cluster.nodes("n1 n2", cpu=1)
    return cluster


def test_a_gang_that_waits_at_permit_gives_way_and_nobody_is_evicted() -> None:
    """Semantics §10.1."""
    cluster = holding()
    cluster.gang("low", 2)
    cluster.settle()
    cluster.gang("high", 2, priority=10)
    cluster.settle(seconds=20)

    assert len(cluster.where("high")) == 2
    assert not cluster.evicted
    (event,) = cluster.events(EventReason.PREEMPTED)
    assert event.note == "plan was given up for PodGroup ns/high: nothing of it was bound"
    assert cluster.pod_conditions("high-0")[0][1].endswith(
        " preemption: plans of lower priority were given up, of which nothing was bound"
    )


def test_a_pod_that_waits_at_permit_gives_way_to_a_pod() -> None:
    """Semantics §10.1."""
    cluster = holding()
    cluster.pod("low-1")
    cluster.pod("low-2")
    cluster.settle()
    cluster.pod("high", priority=10)
    cluster.settle(seconds=20)

    assert len(cluster.where("high")) == 1
    assert not cluster.evicted
    assert len(cluster.events(EventReason.PREEMPTED)) == 1


def test_a_plan_that_waits_for_slots_gives_way() -> None:
    """Semantics §10.1."""
    cluster = Cluster(slots=0)
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2)
    cluster.settle()
    cluster.pod("high", priority=10)
    cluster.settle(seconds=20)
    assert not cluster.sent

    cluster.sync(slots=8)
    cluster.settle(seconds=20)

    assert set(cluster.where()) == {"high"}
    assert not cluster.evicted


def test_a_plan_gives_way_whole() -> None:
    """Semantics §10.1: a pod needs one node, and no half of a gang is bound on the other."""
    cluster = holding()
    cluster.gang("low", 2)
    cluster.settle()
    cluster.pod("high", priority=10)
    cluster.settle(seconds=20)

    assert set(cluster.where()) == {"high"}
    assert cluster.condition("low")[1] == "Preempted"


def preparing(cpu: int) -> Claiming:
    """A device is in use on n2, and on n1 the other one is written for a plan, slowly."""
    world = Claiming()
    world.machines("n2", cpu=cpu, gpus=1)
    with_device(world, "mid", priority=5)
    world.run_pods(["mid"])
    world.settle()
    world.machines("n1", cpu=cpu, gpus=1)
    world.slow = True
    with_device(world, "low")
    return world


@pytest.mark.parametrize("cpu", [8, 1])
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("gang", [False, True])
def test_a_plan_whose_devices_are_being_written_gives_way_and_nobody_is_evicted(
    cpu: int, written: bool, gang: bool
) -> None:
    """Semantics §10.1."""
    world = preparing(cpu)
    if written:
        assert not world.write("low")
        world.settle()
    if gang:
        world.gang("high", 1, cpu=1)
        world.change("high-0", priority=10)
    else:
        with_device(world, "high", priority=10)
    world.settle(seconds=3)
    assert not world.where("high"), "the device of the plan is to be deallocated"

    world.slow = False
    world.end()
    world.settle(seconds=20)

    assert not world.evicted
    assert [*world.where("high").values()] == ["n1"]


def test_the_devices_of_a_plan_that_gave_way_are_not_waited_for_for_ever() -> None:
    """Semantics §10.1."""
    world = preparing(1)
    with_device(world, "high", priority=10)
    world.settle(seconds=25)
    assert not world.evicted
    waits = world.pod_conditions("high")[-1][1]

    world.settle(seconds=25)

    assert waits.endswith(
        "preemption: plans of lower priority were given up, of which nothing was bound"
    )
    assert [each.pod.name for each in world.evicted] == ["mid"]


def test_a_new_leader_has_nobody_evicted_for_a_device_that_a_plan_gives_back() -> None:
    """Semantics §10.1, §10.3."""
    world = preparing(1)
    assert not world.write("low")
    world.settle()
    with_device(world, "high", priority=10)
    world.settle(seconds=3)
    world.change("high", nominated="n1")
    world.slow = False
    world = world.restarted()
    world.settle(seconds=30)

    assert world.where("high") == {"high": "n1"}
    assert not world.evicted


def test_a_gang_that_is_being_bound_gives_way_once_it_is_bound() -> None:
    """Semantics §10.1: what was sent is settled before anybody is evicted."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.answer = lambda _: "hold"
    cluster.gang("low", 2)
    cluster.settle()
    cluster.gang("high", 2, priority=10)
    cluster.settle(seconds=5)
    assert not cluster.evicted

    cluster.answer = lambda _: "ok"
    for bind in list(cluster.sent):
        cluster.confirm(bind)
    cluster.settle(seconds=20)

    assert {each.pod.name for each in cluster.evicted} == {"low-0", "low-1"}
    assert len(cluster.where("high")) == 2


def test_a_running_pod_of_lower_priority_goes_before_a_plan_does() -> None:
    """Semantics §10.2: the lower priority first, whatever it costs."""
    cluster = holding()
    cluster.pod("lowest", node="n1", priority=-5, started=10.0)
    cluster.pod("low")
    cluster.settle()
    cluster.pod("high", priority=10)
    cluster.settle(seconds=20)

    assert [each.pod.name for each in cluster.evicted] == ["lowest"]
