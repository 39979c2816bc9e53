# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Permit and what comes after it: waiters, their times, refusals."""

from typing import ClassVar

import pytest

from enbloc.engine.effects import PreBind
from enbloc.engine.events import PreBindFailed, PreBound
from enbloc.framework.act import Api, Target
from enbloc.framework.decide import Proposal
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.framework.status import SUCCESS, Code, Status, pending, refuse, wait
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with


class Answers:
    """Answers as it is told, one after the other; the last word stays."""

    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.UPDATE_LABEL),)

    def __init__(self, *answers: Status) -> None:
        self._answers = list(answers)
        self.asked = 0

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan, facts
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


class First(Answers):
    name: ClassVar[str] = "First"


class Second(Answers):
    name: ClassVar[str] = "Second"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.ADD),)


def _relabel(cluster: Cluster, value: str = "yes") -> None:
    cluster.node("n1", cpu=8, labels=(("label", value),))
    cluster.settle()


def _waiting(*plugins: Answers, timeout: int = 0) -> Cluster:
    cluster = cluster_with(*plugins)
    cluster.gang("g", 2)
    cluster.group("g", 2, timeout=timeout or None)
    cluster.settle()
    return cluster


def test_the_plugin_whose_time_is_over_first_ends_the_wait_of_all() -> None:
    cluster = _waiting(First(wait(60)), Second(wait(20)))
    assert cluster.condition("g")[1:] == (
        "WaitingOnPermit",
        "capacity is reserved; First asked to wait, Second asked to wait",
    )
    cluster.settle(seconds=19)
    assert cluster.condition("g")[1] == "WaitingOnPermit"
    cluster.settle(seconds=1)
    assert cluster.condition("g")[1:] == (
        "WaitingOnPermit",
        "rejected due to timeout after waiting 20s at plugin Second",
    )


def test_every_waiter_must_let_go() -> None:
    cluster = _waiting(First(wait(60), SUCCESS), Second(wait(60), wait(60), SUCCESS))
    _relabel(cluster)
    assert cluster.where() == {}, "the other one waits still"
    cluster.node("n3")
    cluster.settle()
    assert len(cluster.where()) == 2


@pytest.mark.parametrize(
    "node", [pytest.param("n1", id="as planned"), pytest.param("n2", id="on another node")]
)
def test_a_member_that_another_scheduler_binds_during_a_wait_is_not_bound_again(node: str) -> None:
    cluster = _waiting(First(wait(60), SUCCESS))
    cluster.change("g-0", node=node)
    cluster.settle()
    _relabel(cluster)
    assert [bind.target.pod.name for bind in cluster.sent] == ["g-1"]
    assert cluster.condition("g")[1] == "Scheduled"
    cluster.pod("g-2", "g")
    cluster.settle()
    assert "g-2" in cluster.where(), "its plan is closed"


def test_being_asked_again_gives_a_plugin_no_new_time() -> None:
    cluster = _waiting(First(wait(30)))
    for value in ("a", "b", "c"):
        cluster.settle(seconds=9)
        _relabel(cluster, value)
    assert cluster.condition("g")[1] == "WaitingOnPermit"
    cluster.settle(seconds=4)
    [event] = cluster.events("GangUnschedulable")
    assert event.note == "rejected due to timeout after waiting 30s at plugin First"


@pytest.mark.parametrize(
    ("asked_for", "own", "seconds"),
    [
        pytest.param(0, 40, 40, id="the group's own time where the plugin names none"),
        pytest.param(100, 40, 40, id="never longer than the group's own"),
        pytest.param(20, 40, 20, id="the plugin's where that is less"),
        pytest.param(90_000, 90_000, 900, id="never longer than a quarter of an hour"),
    ],
)
def test_a_wait_lasts_as_long_as_the_least_of_what_is_named(
    asked_for: int, own: int, seconds: int
) -> None:
    cluster = _waiting(First(wait(asked_for)), timeout=own)
    cluster.settle(seconds=seconds - 1)
    assert cluster.condition("g")[1] == "WaitingOnPermit"
    cluster.settle(seconds=1)
    assert f"after waiting {seconds}s" in cluster.condition("g")[2]


def test_the_first_refusal_ends_it_and_later_plugins_are_not_asked() -> None:
    second = Second(SUCCESS)
    cluster = _waiting(First(refuse("no")), second)
    assert cluster.condition("g")[1:] == ("WaitingOnPermit", "no")
    assert second.asked == 0


def test_a_wait_does_not_keep_the_later_plugins_from_refusing() -> None:
    cluster = _waiting(First(wait(30)), Second(refuse("no"), SUCCESS))
    assert cluster.condition("g")[1:] == ("WaitingOnPermit", "no")
    _relabel(cluster)  # First's event; Second refused
    assert len(cluster.decisions()) == 1
    cluster.node("n3")
    cluster.settle()
    assert len(cluster.decisions()) == 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(refuse("no"), "WaitingOnPermit", id="refusal"),
        pytest.param(pending("no"), "WaitingOnPermit", id="pending"),
        pytest.param(Status(Code.ERROR, "no"), "SchedulerError", id="error"),
        pytest.param(Status(Code.SKIP, "no"), "SchedulerError", id="skip is no answer"),
    ],
)
def test_a_plugin_may_change_its_mind_after_waiting(answer: Status, reason: str) -> None:
    cluster = _waiting(First(wait(30), answer, SUCCESS))
    _relabel(cluster)
    if reason == "WaitingOnPermit":  # the event came while the plan was open, so it counts
        assert len(cluster.where()) == 2
        return
    assert cluster.condition("g")[1:] == (reason, 'plugin "First" failed at Permit: no')
    cluster.settle(seconds=2)
    assert len(cluster.where()) == 2


def test_a_plugin_that_waits_is_not_asked_about_events_it_did_not_name() -> None:
    first = First(wait(30))
    cluster = _waiting(first)
    cluster.node("n3")
    cluster.pod("other", node="n1", scheduler="other")
    cluster.settle()
    assert first.asked == 1


class Prepares:
    """Prepares nodes, and waits for new ones."""

    name: ClassVar[str] = "Prepares"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.ADD),)

    async def pre_bind(self, target: Target, api: Api) -> Status:
        del target, api
        return SUCCESS


def _prepared(cluster: Cluster) -> list[Target]:
    return [effect.target for effect in cluster.effects if isinstance(effect, PreBind)]


def test_a_prebind_that_refuses_waits_for_its_plugin_s_events() -> None:
    cluster = cluster_with(Prepares())
    cluster.gang("g", 2)
    cluster.settle()
    target = _prepared(cluster)[0]
    cluster.tell(PreBound(target.plan, target.uid))
    other = _prepared(cluster)[1]
    cluster.tell(PreBindFailed(other.plan, other.uid, "no such volume", "Prepares"))
    cluster.settle(seconds=100)
    assert cluster.condition("g")[1:] == ("WaitingOnPermit", "no such volume")
    assert len(_prepared(cluster)) == 2
    cluster.node("n3")
    cluster.settle()
    assert len(_prepared(cluster)) == 4


def test_a_prebind_that_fails_waits_for_the_time_only() -> None:
    cluster = cluster_with(Prepares())
    cluster.gang("g", 2)
    cluster.settle()
    target = _prepared(cluster)[0]
    cluster.tell(PreBindFailed(target.plan, target.uid, "it broke"))
    cluster.node("n3")
    cluster.settle()
    assert cluster.condition("g")[1:] == ("SchedulerError", "it broke")
    assert len(_prepared(cluster)) == 2
    cluster.settle(seconds=2)
    assert len(_prepared(cluster)) == 4


def test_what_a_plugin_waits_for_is_told_and_told_anew_when_another_lets_go() -> None:
    cluster = _waiting(First(wait(60, "a licence")), Second(wait(60), SUCCESS))
    note = cluster.condition("g")[2]
    assert note == "capacity is reserved; First asked to wait (a licence), Second asked to wait"
    cluster.node("n9", cpu=1)
    cluster.settle()
    assert cluster.condition("g")[2] == "capacity is reserved; First asked to wait (a licence)"


def test_no_sequence_of_waits_holds_room_for_more_than_fifteen_minutes() -> None:
    cluster = _waiting(First(wait(900), SUCCESS, wait(900)), Second(wait(900)), timeout=3600)
    for number, second in enumerate((400, 800)):
        cluster.settle(seconds=400)
        _relabel(cluster, str(second + number))
    cluster.settle(seconds=99)
    assert cluster.condition("g")[1] == "WaitingOnPermit"
    cluster.settle(seconds=2)
    assert "rejected due to timeout" in cluster.condition("g")[2]


class Counting(Answers):
    name: ClassVar[str] = "Counting"

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        assert len(facts.pending) == len(plan.nodes)
        return super().permit(plan, facts)


def test_a_plugin_that_is_asked_again_sees_the_members_that_it_is_asked_about() -> None:
    cluster = _waiting(Counting(wait(60), SUCCESS))
    _relabel(cluster)
    assert len(cluster.where()) == 2


@pytest.mark.parametrize("timeout", [None, float("nan"), "60"])
def test_a_timeout_that_is_no_number_costs_one_pause(timeout: object) -> None:
    cluster = _waiting(First(Status(Code.WAIT, "", timeout)))  # type: ignore[arg-type]
    assert cluster.condition("g")[1] == "SchedulerError"
    assert 'plugin "First" failed at Permit' in cluster.condition("g")[2]


def test_events_during_a_wait_do_not_give_the_room_back_to_whom_held_it_in_vain() -> None:
    cluster = cluster_with(First(wait(20)))
    cluster.gang("high", 2, priority=9, spec=spec(cpu=8))
    cluster.settle()
    cluster.gang("low", 2, spec=spec(cpu=8), scheduler="enbloc")
    cluster.settle()
    _relabel(cluster)
    cluster.settle(seconds=20)
    assert cluster.condition("low")[1] == "WaitingOnPermit", "the other had its turn"


def test_a_prebind_that_does_not_end_holds_room_no_longer_than_the_group_s_timeout() -> None:
    cluster = cluster_with(Prepares())
    cluster.group("g", 2, timeout=30)
    for index in range(2):
        cluster.pod(f"g-{index}", "g", spec=spec(cpu=8))
    cluster.now += 1
    cluster.pod("late", spec=spec(cpu=8))
    cluster.settle()
    late = [target for target in _prepared(cluster) if target.pod.name == "late"]
    assert late == []
    cluster.settle(seconds=31)
    assert cluster.events("GangBindFailed")
    late = [target for target in _prepared(cluster) if target.pod.name == "late"]
    assert len(late) == 1
