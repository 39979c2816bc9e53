# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §3.5 to §3.7: what may go wrong until a gang is bound, and whose fault it is."""

import pytest

from enbloc.engine.events import (
    SlotsFree,
)
from enbloc.model.pods import Phase
from tests.rules.world import NEXT_JOB, World
from tests.world.builders import spec


def _held(world: World) -> None:
    """Let every Binding stay without an answer."""
    world.answer = lambda _: "hold"


# ── losing the minimum (semantics §3.5) ──────────────────────────────────────────────────────────


def _member_gone(world: World) -> None:
    world.delete("g-1")


def _member_gated(world: World) -> None:
    world.change("g-1", gates=("hold",))


def _member_terminating(world: World) -> None:
    world.change("g-1", deleting=True)


def _group_gone(world: World) -> None:
    world.drop_group("g")


def _group_raised(world: World) -> None:
    world.alter("g", minimum=3)


def _group_replaced_by_a_larger_one(world: World) -> None:
    world.drop_group("g")
    world.group("g", 3, uid="another")


@pytest.mark.parametrize(
    "loss",
    [
        _member_gone,
        _member_gated,
        _member_terminating,
        _group_gone,
        _group_raised,
        _group_replaced_by_a_larger_one,
    ],
)
def test_losing_the_minimum_before_the_first_send_forgets_the_plan(loss: object) -> None:
    """Semantics §3.5."""
    world = World(slots=0)
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    loss(world)  # type: ignore[operator]
    world.job("rival", 2)
    world.tell(SlotsFree(32))
    world.settle()
    assert world.where("g") == {}
    assert len(world.where("rival")) == 2, "its room is free again"


def test_after_the_first_send_the_captured_floor_stands_and_repair_takes_over() -> None:
    """Semantics §3.5."""
    world = World(slots=1)
    world.nodes("n1 n2 n3", cpu=4)
    _held(world)
    world.job("g", 3)
    world.settle()
    world.delete("g-2")
    world.answer = lambda _: "ok"
    world.confirm(world.sent[0])
    world.settle()
    assert set(world.where("g")) == {"g-0", "g-1"}, "the burst goes on"
    world.member("g-9", "g")
    world.settle()
    assert len(world.where("g")) == 3


def test_a_minimum_raised_in_mid_burst_lets_the_burst_be_completed() -> None:
    """Semantics §3.5."""
    world = World(slots=1)
    world.nodes("n1 n2 n3", cpu=4)
    _held(world)
    world.job("g", 2)
    world.settle()
    world.alter("g", minimum=3)
    world.answer = lambda _: "ok"
    world.confirm(world.sent[0])
    world.settle()
    assert len(world.where("g")) == 2
    world.member("g-2", "g")
    world.settle()
    assert len(world.where("g")) == 3


def test_a_podgroup_deleted_in_mid_burst_completes_it_and_an_event_says_so() -> None:
    """Semantics §3.5."""
    world = World(slots=1)
    world.nodes("n1 n2 n3", cpu=4)
    _held(world)
    world.job("g", 3)
    world.settle()
    world.drop_group("g")
    world.answer = lambda _: "ok"
    world.confirm(world.sent[0])
    world.settle(seconds=3600)
    assert len(world.where("g")) == 3
    assert world.evictions == [], "its members keep running"
    assert len(world.events("PodGroupDeleted")) == 1


def test_a_podgroup_recreated_under_another_uid_in_mid_burst_is_simply_the_group() -> None:
    """Semantics §3.5."""
    world = World(slots=1)
    world.nodes("n1 n2 n3", cpu=4)
    _held(world)
    world.job("g", 3)
    world.settle()
    world.drop_group("g")
    world.group("g", 3, uid="another")
    world.answer = lambda _: "ok"
    world.confirm(world.sent[0])
    world.settle()
    assert len(world.where("g")) == 3
    assert world.status["g"].uid == "another"
    assert world.condition("g")[:2] == (True, "Scheduled")


def test_a_role_that_loses_its_minimum_before_the_first_send_forgets_the_plan() -> None:
    """Semantics §3.5."""
    world = World(slots=0)
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2, roles=[("launcher", 1), ("worker", 1)])
    world.member("l", "g", role="launcher")
    world.member("w", "g", role="worker")
    world.settle()
    world.change("l", role="worker")
    world.tell(SlotsFree(32))
    world.settle()
    assert world.where() == {}


def test_a_group_that_becomes_invalid_before_the_first_send_forgets_the_plan() -> None:
    """Semantics §3.5."""
    world = World(slots=0)
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    world.alter("g", priority_class="nobody-made-it")
    world.tell(SlotsFree(32))
    world.settle()
    assert world.where() == {}
    assert world.condition("g")[1] == "InvalidSpec"


# ── blame (semantics §3.6) ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reason", ["OutOfcpu", "NodeAffinity", "UnexpectedAdmissionError"])
def test_a_kubelet_s_refusal_keeps_the_group_off_that_node(reason: str) -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 1)
    world.settle()
    node = world.where()["g-0"]
    world.change("g-0", phase=Phase.FAILED, rejected=reason)
    world.member("g-1", "g")
    world.settle()
    assert world.where("g-1") == {"g-1": {"n1": "n2", "n2": "n1"}[node]}


@pytest.mark.parametrize("record", ["", '{"plan": "0-1"}'])
def test_a_member_that_no_binding_of_ours_placed_blames_no_node(record: str) -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    for group in "xy":
        world.their_group(group)
        for node in ("n1", "n2"):
            name = f"{group}-{node}"
            world.theirs(name, group, node=node, binding_record=record)
            world.step()
            world.change(name, phase=Phase.FAILED, rejected="UnexpectedAdmissionError")
            world.step()
    world.job("g", 2)
    world.settle()
    assert len(world.where("g")) == 2


def test_after_a_restart_nobody_can_tell_who_placed_a_member() -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    again = world.restarted()
    again.settle()
    [name] = (pod for pod, node in again.where().items() if node == "n1")
    again.change(name, phase=Phase.FAILED, rejected="UnexpectedAdmissionError")
    again.member("g-9", "g")
    again.settle()
    assert again.where("g-9") == {"g-9": "n1"}


def test_a_node_that_is_not_ready_is_blamed() -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1 n2", cpu=8)
    world.running_job("g", 1)
    node = world.where()["g-0"]
    world.node(node, cpu=8, ready=False)
    world.member("g-1", "g")
    world.settle()
    assert world.where("g-1") == {"g-1": {"n1": "n2", "n2": "n1"}[node]}


@pytest.mark.parametrize("cause", ["MEMBER_CHANGED", "SCHEDULER_ERROR"])
def test_a_refusal_of_the_server_blames_no_node_and_no_other_is_tried(cause: str) -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.answer = lambda _: cause
    world.job("g", 1)
    world.step()
    world.answer = lambda _: "ok"
    world.settle(seconds=30)
    first, second = world.sent
    assert first.target.node == second.target.node
    assert world.events("NodeQuarantined") == []


def test_a_member_that_fails_for_its_own_reasons_blames_no_node() -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1", cpu=4)
    world.running_job("g", 1)
    world.finish("g-0", Phase.FAILED)
    world.member("g-1", "g")
    world.settle()
    assert world.where("g-1") == {"g-1": "n1"}


def test_a_terminating_namespace_drops_the_group_quietly() -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.answer = lambda _: "NAMESPACE_TERMINATING"
    world.job("g", 2)
    world.settle(seconds=1e6)
    assert len(world.sent) <= 2
    assert world.events("GangBindFailed") == []
    assert world.pod_conditions("g-0") == []


def test_another_403_a_422_or_a_webhook_is_a_scheduler_error_that_is_said() -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.answer = lambda _: "SCHEDULER_ERROR"
    world.job("g", 2)
    world.settle()
    assert world.condition("g")[:2] == (False, "SchedulerError")
    assert len(world.events("GangBindFailed")) == 1


def test_a_quarantined_node_is_free_for_other_groups() -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job("g", 1)
    world.settle()
    world.change("g-0", phase=Phase.FAILED, rejected="OutOfcpu")
    world.job("other", 1)
    world.settle()
    assert world.where("other") == {"other-0": "n1"}


def test_a_node_blamed_by_two_groups_within_ten_minutes_is_quarantined_for_all() -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1", cpu=4)
    for name in ("a", "b"):
        world.job(name, 1)
        world.settle()
        world.change(f"{name}-0", phase=Phase.FAILED, rejected="OutOfcpu")
        world.settle(seconds=10)
    world.job("c", 1)
    world.pod("solo", spec=spec(cpu=1))
    world.settle()
    [event] = world.events("NodeQuarantined")
    assert event.node == "n1"
    assert world.where("c") == {}
    assert world.where("solo") == {"solo": "n1"}, "pods without a group know no quarantine"


def test_a_node_blamed_by_two_groups_further_apart_is_not_quarantined_for_all() -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1", cpu=4)
    for name in ("a", "b"):
        world.job(name, 1)
        world.settle()
        world.change(f"{name}-0", phase=Phase.FAILED, rejected="OutOfcpu")
        world.settle(seconds=601)
    world.job("c", 1)
    world.settle()
    assert world.events("NodeQuarantined") == []
    assert world.where("c") == {"c-0": "n1"}


def test_a_quarantine_always_expires_with_an_event_and_wakes_who_waited() -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1", cpu=4)
    for name in ("a", "b"):
        world.job(name, 1)
        world.settle()
        world.change(f"{name}-0", phase=Phase.FAILED, rejected="OutOfcpu")
        world.settle()
    world.job("c", 1)
    world.settle()
    assert world.condition("c")[1] == "Unschedulable"
    world.settle(seconds=1800)
    assert len(world.events("NodeReleased")) == 1
    assert world.where("c") == {"c-0": "n1"}


def test_a_gang_all_of_whose_nodes_are_quarantined_is_not_infeasible_and_comes_back() -> None:
    """Semantics §3.6."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    for index in range(2):
        world.change(f"g-{index}", phase=Phase.FAILED, rejected="OutOfcpu")
    for index in (2, 3):
        world.member(f"g-{index}", "g")
    world.settle()
    assert world.where("g-2") == {}
    assert world.condition("g")[1] == "Unschedulable"
    world.settle(seconds=1800)
    assert len(world.where("g-2")) == 1


def two_runs_and_a_rejection(*, last: bool) -> World:
    """Of a run bound in part, and a whole one of which a kubelet rejects a member on n3.

    Args:
        last: the first run ends before that, not after it.
    """
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2, timeout=6000)
    world.member("first-0", "g", node="n1", scheduled_at=world.now)
    world.settle()
    world.node("n3", cpu=8)
    for name in ("g-0", "g-1"):
        world.member(name, "g", owner=NEXT_JOB)
    world.settle()
    assert world.where("g") == {"g-0": "n3", "g-1": "n3"}
    if last:
        world.delete("first-0")
        world.settle(seconds=1)
    world.change("g-1", phase=Phase.FAILED, rejected="OutOfcpu")
    world.settle()
    if not last:
        world.delete("first-0")
        world.settle(seconds=1)
    for name in ("n1", "n2"):
        world.drop_node(name)
    return world


def test_a_quarantine_does_not_end_with_another_run_of_the_group() -> None:
    """Semantics §3.6."""
    world = two_runs_and_a_rejection(last=False)
    world.member("g-2", "g", owner=NEXT_JOB)
    world.settle()
    assert world.where("g-2") == {}
    assert "node(s) in quarantine (OutOfcpu)" in world.condition("g")[2]


def test_a_quarantine_ends_with_the_last_run_of_a_group_that_is_gone() -> None:
    """Semantics §3.6: one that is made later has none."""
    world = two_runs_and_a_rejection(last=True)
    for name in ("g-0", "g-1"):
        world.delete(name)
    world.drop_group("g")
    world.settle()
    world.job("g", 2, uid="pg-g-again")
    world.settle()
    assert len(world.where("g")) == 2


# ── Scheduled (semantics §3.7) ───────────────────────────────────────────────────────────────────


def test_scheduled_is_true_only_when_the_watch_shows_the_floor_bound() -> None:
    """Semantics §3.7."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    _held(world)
    world.job("g", 2)
    world.settle()
    assert world.condition("g")[0] is False
    world.confirm(world.sent[0])
    world.settle()
    assert world.condition("g")[:2] == (False, "Binding")
    world.confirm(world.sent[1])
    world.settle()
    assert world.condition("g")[:2] == (True, "Scheduled")
