# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What an engine counts for the metrics."""

from typing import ClassVar

from enbloc.engine.effects import Attempt, Decided
from enbloc.engine.tally import MOST_KEPT
from enbloc.framework.decide import Proposal
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.framework.status import SUCCESS, Status, wait
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with


def incoming(cluster: Cluster) -> dict[tuple[str, str], int]:
    return dict(cluster.engine.tally.incoming)


def test_pods_are_counted_as_they_come_to_a_queue_with_what_brought_them() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.gang("g", 2, spec=spec(cpu=4))
    cluster.settle()
    assert incoming(cluster) == {
        ("active", "UnscheduledPodAdd"): 2,
        ("unschedulable", "ScheduleAttemptFailure"): 2,
    }
    cluster.nodes("n2", cpu=4)
    cluster.settle()
    assert incoming(cluster)["active", "NodeAdd"] == 2
    assert len(cluster.where("g")) == 2


def test_an_attempt_is_timed_from_when_the_pod_could_first_be_tried() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.gang("g", 2, spec=spec(cpu=4))
    begun = cluster.now
    cluster.settle(seconds=7)
    cluster.nodes("n2", cpu=4)
    cluster.settle()
    assert [bind.attempt for bind in cluster.sent] == [Attempt(2, begun, begun + 7)] * 2


def test_who_joins_later_has_an_attempt_of_its_own() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.gang("g", 2, minimum=2)
    cluster.settle(seconds=100)
    cluster.gang("g", 3, minimum=2)
    cluster.settle()
    last = cluster.sent[-1].attempt
    assert last == Attempt(1, cluster.now, cluster.now)


def test_who_comes_after_all_others_are_gone_is_timed_from_when_it_came() -> None:
    cluster = Cluster()
    cluster.node("n1", cpu=1)
    cluster.gang("g", 2)
    cluster.settle(seconds=5000)
    for name in list(cluster.pods):
        cluster.delete(name)
    cluster.settle()
    cluster.gang("g", 2)
    cluster.settle()
    begun = cluster.now
    assert cluster.engine.census().oldest == begun
    cluster.now += 7
    cluster.node("n2", cpu=1)
    cluster.settle()
    assert [bind.attempt for bind in cluster.sent] == [Attempt(2, begun, begun + 7)] * 2


def test_a_decision_says_how_many_members_it_was_about() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=1)
    cluster.gang("g", 3, spec=spec(cpu=4))
    cluster.pod("alone")
    cluster.settle()
    told = {effect.group.name: effect for effect in cluster.effects if isinstance(effect, Decided)}
    assert (told["g"].pods, told["g"].solo) == (3, False)
    assert (told["/alone"].pods, told["/alone"].solo) == (1, True)


def test_the_wait_of_a_gang_is_counted_once_from_when_its_minimum_was_there() -> None:
    cluster = Cluster()
    cluster.gang("g", 2)
    cluster.settle(seconds=30)
    cluster.nodes("n1", cpu=8)
    cluster.settle(seconds=10)
    [waited] = cluster.engine.tally.group_waits
    created = max(pod.created for pod in cluster.pods.values())
    assert waited == cluster.now - 10 - created
    successor = cluster.restarted()
    successor.settle(seconds=10)
    assert not successor.engine.tally.group_waits


class Doorkeeper:
    """Waits until a node is added; then lets go, unless it is told to wait longer."""

    name: ClassVar[str] = "Doorkeeper"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.ADD),)

    def __init__(self) -> None:
        self.answer = wait(60)

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan, facts
        return self.answer


def test_a_wait_at_permit_is_counted_by_how_it_ended() -> None:
    door = Doorkeeper()
    cluster = cluster_with(door)
    cluster.gang("g", 2)
    cluster.settle(seconds=5)
    door.answer = SUCCESS
    cluster.nodes("n3", cpu=8)
    cluster.settle()
    door.answer = wait(20)
    cluster.gang("late", 2)
    cluster.settle(seconds=30)
    waits = cluster.engine.tally.permit_waits
    assert list(waits["Success"]) == [5.0]
    assert list(waits["Unschedulable"])[:1] == [20.0]


def test_durations_that_nobody_takes_are_not_kept_for_ever() -> None:
    cluster = Cluster()
    for _ in range(MOST_KEPT + 10):
        cluster.engine.tally.waited_at_permit("Success", 1.0)
    assert len(cluster.engine.tally.permit_waits["Success"]) == MOST_KEPT
