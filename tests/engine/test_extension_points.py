# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the engine does with plugins: order, waits, refusals, ledgers and broken contracts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from enbloc.engine.effects import CancelPlan, PreBind
from enbloc.engine.events import PreBindFailed, PreBound
from enbloc.framework import (
    SUCCESS,
    Action,
    ClusterEvent,
    Diagnosis,
    Happening,
    Hint,
    Profile,
    Reads,
    Resource,
    Status,
    refuse,
    wait,
)
from enbloc.framework.act import Api, Target
from enbloc.framework.decide import Proposal
from enbloc.framework.facts import GroupFacts
from enbloc.framework.status import Code
from enbloc.model.groups import Group
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from enbloc.plugins import IN_TREE
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with


@dataclass(frozen=True)
class Approval:
    """Holds every gang until it is told otherwise."""

    verdict: Callable[[], Status]
    name: ClassVar[str] = "Approval"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.UPDATE_LABEL),)

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        assert len(plan.nodes) == facts.total.minimum
        return self.verdict()


def test_a_group_waits_at_permit_with_its_room_held_and_is_asked_again_by_its_event() -> None:
    answers = [wait(30), SUCCESS]
    cluster = cluster_with(Approval(lambda: answers[0]))
    cluster.gang("g", 12)
    cluster.settle()
    assert cluster.where() == {}
    assert cluster.condition("g")[1] == "WaitingOnPermit"
    cluster.gang("late", 8)
    cluster.settle()
    assert cluster.condition("late")[1] == "Unschedulable", "the room is held"
    answers.pop(0)
    cluster.settle()
    assert cluster.where() == {}, "nothing it named has happened"
    cluster.node("n2", cpu=8, labels=(("approved", "yes"),))
    cluster.settle()
    assert len(cluster.where("g")) == 12


def test_a_wait_at_permit_ends_with_its_timeout_and_the_whole_group_gives_its_room_back() -> None:
    cluster = cluster_with(Approval(lambda: wait(30)))
    cluster.gang("g", 12)
    cluster.settle(seconds=31)
    assert cluster.condition("g")[1:] == (
        "WaitingOnPermit",
        "rejected due to timeout after waiting 30s at plugin Approval",
    )
    assert (cluster.engine._state.nodes.free("cpu") == 8000).all()


def test_a_refusal_at_permit_gives_the_room_back_and_waits_for_the_plugins_event() -> None:
    answers = [refuse("not today"), SUCCESS]
    cluster = cluster_with(Approval(lambda: answers[0]))
    cluster.gang("g", 4)
    cluster.settle(seconds=100)
    assert cluster.condition("g")[1:] == ("WaitingOnPermit", "not today")
    answers.pop(0)
    cluster.node("n1", cpu=8, labels=(("approved", "yes"),))
    cluster.settle()
    assert len(cluster.where()) == 4


@dataclass(frozen=True)
class Signed:
    """Holds a gang until its PodGroup's annotation says yes, and refuses it when that says no."""

    name: ClassVar[str] = "Signed"
    annotations: ClassVar[tuple[str, ...]] = ("example.com/",)
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.POD_GROUP, Action.UPDATE_ANNOTATION),
    )

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan
        assert facts.group is not None
        signed = dict(facts.group.annotations).get("example.com/signed")
        return {"yes": SUCCESS, "no": refuse("not signed")}.get(signed or "", wait(30))


def test_an_annotation_of_the_podgroup_lets_it_pass_permit_and_another_minimum_does_not() -> None:
    cluster = cluster_with(Signed())
    cluster.gang("g", 4)
    cluster.settle()
    assert cluster.condition("g")[1] == "WaitingOnPermit"
    cluster.group("g", 3)
    cluster.settle()
    assert cluster.condition("g")[1] == "WaitingOnPermit"
    assert cluster.where() == {}
    cluster.group("g", 3, annotations=(("example.com/signed", "yes"),))
    cluster.settle()
    assert len(cluster.where("g")) == 4


def test_a_group_that_its_annotation_refused_is_tried_again_when_that_changes() -> None:
    cluster = cluster_with(Signed())
    cluster.gang("g", 4)
    cluster.group("g", 4, annotations=(("example.com/signed", "no"),))
    cluster.settle(seconds=100)
    assert cluster.condition("g")[1:] == ("WaitingOnPermit", "not signed")
    cluster.group("g", 4, annotations=(("example.com/signed", "yes"),))
    cluster.settle()
    assert len(cluster.where("g")) == 4


def test_an_error_at_permit_is_tried_again_after_a_pause() -> None:
    answers = [Status(Code.ERROR, "the database is down"), SUCCESS]
    cluster = cluster_with(Approval(lambda: answers[0]))
    cluster.gang("g", 4)
    cluster.settle()
    text = 'plugin "Approval" failed at Permit: the database is down'
    assert cluster.condition("g")[1:] == ("SchedulerError", text)
    answers.pop(0)
    cluster.settle(seconds=2)
    assert len(cluster.where()) == 4


def test_a_waiting_group_that_loses_a_member_gives_its_room_back() -> None:
    cluster = cluster_with(Approval(wait))
    cluster.gang("g", 4)
    cluster.settle()
    cluster.delete("g-0")
    cluster.settle()
    assert cluster.condition("g")[1] == "WaitingForMembers"
    assert (cluster.engine._state.nodes.free("cpu") == 8000).all()


@dataclass(frozen=True)
class Prepared:
    """Prepares nodes for pods."""

    name: ClassVar[str] = "Prepared"

    async def pre_bind(self, target: Target, api: Api) -> Status:
        del target, api
        return SUCCESS


def _prepares(cluster: Cluster) -> list[PreBind]:
    return [effect for effect in cluster.effects if isinstance(effect, PreBind)]


def test_all_prebinds_of_a_group_finish_before_its_first_bind() -> None:
    """Semantics §3.8."""
    cluster = cluster_with(Prepared())
    cluster.gang("g", 3)
    cluster.settle()
    first, second, third = _prepares(cluster)
    for effect in (first, second):
        cluster.tell(PreBound(effect.target.plan, effect.target.uid))
        cluster.settle()
    assert cluster.sent == []
    cluster.tell(PreBound(third.target.plan, third.target.uid))
    cluster.settle()
    assert len(cluster.where()) == 3


def test_a_failed_prebind_cancels_the_plan_and_is_tried_again_after_a_pause() -> None:
    """Semantics §3.8."""
    cluster = cluster_with(Prepared())
    cluster.gang("g", 3)
    cluster.settle()
    target = _prepares(cluster)[0].target
    cluster.tell(PreBindFailed(target.plan, target.uid, "no volume"))
    cluster.settle()
    assert CancelPlan(target.plan) in cluster.effects
    assert cluster.condition("g")[1:] == ("SchedulerError", "no volume")
    cluster.tell(PreBound(target.plan, target.uid))  # an old story
    cluster.settle(seconds=2)
    assert len(_prepares(cluster)) == 6


@dataclass(frozen=True)
class License:
    """Two licences in all, counted over reserved plans."""

    name: ClassVar[str] = "License"

    def reserve(self, plan: Proposal, ledger: object) -> object:
        assert isinstance(ledger, int | None)
        return (ledger or 0) + len(plan.nodes)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Any:
        del pod
        used = snapshot.ledgers["License"]
        assert isinstance(used, int | None)
        return refuse("no licence is free") if (used or 0) >= 2 else None


def test_a_plugin_keeps_its_own_ledger_over_reserved_plans() -> None:
    cluster = cluster_with(License())
    cluster.answer = lambda _: "hold"
    cluster.gang("a", 2)
    cluster.gang("b", 2)
    cluster.settle()
    assert len(cluster.sent) == 2
    assert cluster.condition("b")[2] == (
        "None of the 2 required members fits: 0/2 nodes are available: no licence is free."
    )
    cluster.answer = lambda _: "ok"
    for bind in list(cluster.sent):
        cluster.confirm(bind)
    cluster.node("n3", cpu=1)
    cluster.settle()
    assert len(cluster.where("b")) == 2


@dataclass(frozen=True)
class MakeRoom:
    """Says what it did about it."""

    status: Status
    name: ClassVar[str] = "MakeRoom"

    def post_filter(self, facts: GroupFacts, snapshot: Snapshot, diagnosis: Diagnosis) -> Status:
        assert facts.pending
        assert len(snapshot.nodes) == diagnosis.nodes
        return self.status


@pytest.mark.parametrize("status", [SUCCESS, refuse("no victims")])
def test_post_filter_is_asked_when_nothing_fits_and_its_words_are_added(status: Status) -> None:
    cluster = cluster_with(MakeRoom(status))
    cluster.pod("filler", node="n1", spec=spec(cpu=8))
    cluster.gang("g", 16)
    cluster.settle()
    assert cluster.condition("g")[2].endswith(
        f"2 Insufficient cpu.{' ' * bool(status.message)}{status.message}"
    )


@dataclass(frozen=True)
class Sorting:
    """Sorts by whatever it is made with."""

    key: Callable[[GroupFacts], tuple[Any, ...]]
    name: ClassVar[str] = "Sorting"

    def sort_key(self, group: Group, facts: GroupFacts) -> tuple[Any, ...]:
        del group
        return self.key(facts)


def test_a_queue_sort_that_raises_is_named_and_parks_the_group() -> None:
    others = [factory() for name, factory in IN_TREE.items() if name != "PrioritySort"]
    cluster = Cluster(profiles={"enbloc": Profile("enbloc", (*others, Sorting(lambda _: 1 // 0)))})  # type: ignore[arg-type,return-value]
    cluster.gang("g", 1)
    cluster.settle()
    assert "ZeroDivisionError" in cluster.condition("g")[2]


@dataclass(frozen=True)
class Gate:
    """Keeps groups out of the queue."""

    answer: Callable[[], Status]
    name: ClassVar[str] = "Gate"

    def pre_enqueue(self, group: Group | None, facts: GroupFacts) -> Status:
        assert group is not None
        assert facts.pending
        return self.answer()


def test_pre_enqueue_keeps_a_group_out_with_its_own_words() -> None:
    cluster = cluster_with(Gate(lambda: refuse("the night shift only")))
    cluster.gang("g", 2)
    cluster.settle()
    assert cluster.condition("g")[2] == "the night shift only"
    assert cluster.decisions() == []


def test_a_pre_enqueue_that_raises_is_named() -> None:
    cluster = cluster_with(Gate(lambda: 1 // 0))  # type: ignore[arg-type,return-value]
    cluster.gang("g", 2)
    cluster.settle()
    assert 'plugin "Gate" failed at PreEnqueue' in cluster.condition("g")[2]


@dataclass(frozen=True)
class Picky:
    """Refuses everything, and hints at what could help."""

    hints: list[Happening] = field(default_factory=list)
    name: ClassVar[str] = "Picky"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) were not picked"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.ADD),)

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        return np.zeros(len(nodes), bool)

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        assert facts.pending
        self.hints.append(event)
        if event.node is not None and event.node.name == "broken":
            raise ValueError("a hint that fails counts as one that helps")
        good = event.node is not None and event.node.name == "good"
        return Hint.QUEUE if good else Hint.SKIP


def test_a_hint_decides_whether_an_event_is_worth_an_attempt() -> None:
    cluster = cluster_with(Picky())
    cluster.gang("g", 2)
    cluster.settle()
    assert cluster.status["g"].attempts == 1
    for name, attempts in (("bad", 1), ("good", 2), ("broken", 3)):
        cluster.node(name)
        cluster.settle()
        assert cluster.status["g"].attempts == attempts, name
