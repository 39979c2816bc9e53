# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What each answer of a plugin does to the waiting of its group."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pytest

from enbloc.engine import Backoff
from enbloc.engine.events import NamespaceSeen
from enbloc.engine.queue.scheduling_queue import MOST_REMEMBERED
from enbloc.framework.decide import Proposal
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.framework.reads import Reads
from enbloc.framework.status import SUCCESS, Status, pending, refuse, wait
from enbloc.model.groups import Group
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from tests.world.cluster import cluster_with


def test_only_time_ends_the_pause_after_an_error_however_idle_the_scheduler_is() -> None:
    cluster = cluster_with(Failing())
    cluster.pod("p")
    cluster.settle()
    cluster.node("n3")
    cluster.settle()
    assert len(cluster.decisions()) == 1
    cluster.settle(seconds=2)
    assert len(cluster.decisions()) == 2


@dataclass(frozen=True)
class Failing:
    """A filter that always raises."""

    name: ClassVar[str] = "Failing"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "never"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        raise RuntimeError(f"{pod.key} {len(nodes)}")


@dataclass(frozen=True)
class Outside:
    """A filter that waits for a label of a node, or for somebody outside."""

    refusal: Status
    name: ClassVar[str] = "Outside"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.UPDATE_LABEL),)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Status | None:
        del pod
        ready = snapshot.nodes.label("ready", "yes").any()
        return None if ready else self.refusal


@pytest.mark.parametrize(
    ("refusal", "order"),
    [
        pytest.param(refuse("not yet"), ["busy", "single"], id="unschedulable waits its pause"),
        pytest.param(pending("not yet"), ["single", "busy"], id="pending does not"),
    ],
)
def test_an_event_for_a_pending_plugin_bypasses_the_backoff(
    refusal: Status, order: list[str]
) -> None:
    cluster = cluster_with(Outside(refusal))
    cluster.pod("single", priority=1)
    cluster.settle()
    assert cluster.where() == {}
    cluster.node("n1", labels=(("ready", "yes"),))
    cluster.pod("busy")
    cluster.step()
    cluster.step()
    assert list(cluster.bound_order) == order


def test_a_gang_that_events_let_try_in_vain_three_times_leaves_the_next_turn_to_others() -> None:
    cluster = cluster_with(Outside(refuse("not yet")))
    cluster.gang("g", 2, priority=1)
    cluster.settle()
    first: list[str] = []
    for number in range(4):
        before = len(cluster.decisions())
        cluster.node("n1", labels=(("round", str(number)),))
        cluster.pod("busy")
        cluster.settle()
        first.append(cluster.decisions()[before].group.name)
        cluster.delete("busy")
        cluster.settle()
    assert first == ["g", "g", "g", "/busy"]


@pytest.mark.parametrize("others", [0, MOST_REMEMBERED])
def test_an_event_while_a_plan_is_open_is_not_lost_when_the_plan_fails(others: int) -> None:
    answer = [wait(60.0), refuse("no licence")]
    cluster = cluster_with(Licence(lambda: answer[0]))
    cluster.gang("g", 2)
    cluster.settle()
    assert cluster.condition("g")[1] == "WaitingOnPermit"
    cluster.node("n1", labels=(("licence", "yes"),))
    for number in range(others):
        cluster.pod(f"p{number}", scheduler="other", node="n1")
    answer.pop(0)  # asked again, it refuses; but it had heard
    cluster.settle()
    assert [decision.attempts for decision in cluster.decisions()] == [1, 2]


def test_the_room_that_a_refused_group_gives_back_does_not_wake_it() -> None:
    cluster = cluster_with(Licence(lambda: refuse("no licence"), Resource.POD, Action.DELETE))
    cluster.gang("g", 2)
    cluster.settle()
    assert len(cluster.decisions()) == 1
    cluster.pod("other", node="n1", scheduler="other")
    cluster.delete("other")
    cluster.settle()
    assert len(cluster.decisions()) == 2


class Licence:
    """A permit plugin that answers as it is told."""

    name: ClassVar[str] = "Licence"

    def __init__(
        self,
        answer: Callable[[], Status],
        resource: Resource = Resource.NODE,
        action: Action = Action.UPDATE_LABEL,
    ) -> None:
        self._answer = answer
        self.events = (ClusterEvent(resource, action),)

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan, facts
        return self._answer()


@dataclass(frozen=True)
class Holiday:
    """Keeps every group out until a node says that the holiday is over."""

    over: list[bool]
    name: ClassVar[str] = "Holiday"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.UPDATE_LABEL),)

    def pre_enqueue(self, group: Group | None, facts: GroupFacts) -> Status:
        del group, facts
        return SUCCESS if self.over else refuse("it is a holiday")


def test_a_plugin_at_preenqueue_is_asked_again_after_the_events_that_it_named() -> None:
    over: list[bool] = []
    cluster = cluster_with(Holiday(over))
    cluster.gang("g", 2)
    cluster.settle()
    assert cluster.condition("g")[1:] == ("WaitingForMembers", "it is a holiday")
    over.append(True)
    cluster.node("n3")
    cluster.settle()
    assert cluster.where() == {}, "a new node is not what it waits for"
    cluster.node("n3", labels=(("holiday", "over"),))
    cluster.settle()
    assert len(cluster.where()) == 2


@dataclass(frozen=True)
class Patient(Outside):
    """Waits for no event at all."""

    name: ClassVar[str] = "Patient"
    events: ClassVar[tuple[ClusterEvent, ...]] = ()


def test_a_plugin_that_names_no_event_is_asked_again_by_the_flush_only() -> None:
    cluster = cluster_with(Patient(refuse("not yet")))
    cluster.gang("g", 2)
    cluster.settle()
    cluster.node("n3", labels=(("ready", "yes"),))
    cluster.pod("other", node="n1", scheduler="other")
    cluster.delete("other")
    cluster.settle(seconds=299)
    assert len(cluster.decisions()) == 1
    cluster.settle(seconds=1)
    assert len(cluster.where()) == 2


class Curious:
    """Waits for it knows not what."""

    name: ClassVar[str] = "Curious"

    def __init__(self) -> None:
        self.asked = 0

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Status:
        del pod, snapshot
        self.asked += 1
        return refuse("no")


def test_a_plugin_without_events_is_asked_again_after_every_event() -> None:
    cluster = cluster_with(curious := Curious(), validate=False)
    cluster.gang("g", 2)
    cluster.settle()
    happenings: list[Callable[[], object]] = [
        lambda: cluster.node("n3"),
        lambda: cluster.pod("other", node="n1", scheduler="other"),
        lambda: cluster.tell(NamespaceSeen("ns", ())),
        lambda: cluster.drop_node("n3"),
    ]
    for times, happen in enumerate(happenings, start=2):
        happen()
        cluster.settle()
        assert curious.asked == times


def test_single_pods_back_off_twice_as_long_each_time_up_to_the_maximum() -> None:
    cluster = cluster_with(Failing(), backoff=Backoff(1.0, 10.0))
    cluster.pod("p")
    times: list[float] = []
    cluster.settle()
    while cluster.now < 1060:
        wakeup = cluster.engine.wakeup()
        assert wakeup is not None
        times.append(wakeup - cluster.now)
        cluster.now = wakeup
        cluster.settle()
    assert times[:6] == [2.0, 3.0, 5.0, 9.0, 11.0, 11.0], "each to the end of its second"


def test_a_maximum_of_nothing_is_no_backoff() -> None:
    assert Backoff(1.0, 0.0).ends(1000.0, 7) == 1000.0
    cluster = cluster_with(Outside(refuse("no")), backoff=Backoff(1.0, 0.0))
    cluster.pod("single", priority=1)
    cluster.settle()
    cluster.node("n1", labels=(("ready", "yes"),))
    cluster.pod("busy")
    cluster.settle()
    assert cluster.bound_order == ["single", "busy"]


def test_pods_that_back_off_until_one_second_are_tried_in_their_order_even_early() -> None:
    cluster = cluster_with(Outside(refuse("no")))
    cluster.pod("low")
    cluster.pod("high", priority=9)
    cluster.settle()
    cluster.now += 0.5
    cluster.node("n1", labels=(("ready", "yes"),))
    cluster.settle()
    assert cluster.bound_order == ["high", "low"]
