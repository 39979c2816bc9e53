# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §4.1 to §4.3: what becomes of a gang that is bound below its minimum."""

import pytest

from enbloc.engine.effects import Evict
from enbloc.engine.events import PriorityClassGone, PriorityClassSeen
from enbloc.model.groups import OnIncomplete
from enbloc.model.pods import Phase
from tests.rules.world import World
from tests.world.builders import spec

KEEP, REPAIR, RESTART = OnIncomplete.KEEP, OnIncomplete.REPAIR, OnIncomplete.RESTART


# ── room of a lost member (semantics §4.1) ───────────────────────────────────────────────────────


@pytest.mark.parametrize("running", [True, False])
def test_room_of_a_lost_member_is_held_for_its_replacement(running: bool) -> None:
    """Semantics §4.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    if running:
        world.run_pods(["g-0", "g-1"])
    world.now += 5
    world.job("young", 1)
    world.settle()
    world.delete("g-1")
    world.settle(seconds=30)
    assert world.where("young") == {}
    world.member("g-9", "g")
    world.settle()
    assert len(world.where("g")) == 2


def test_at_the_deadline_the_room_of_a_lost_member_is_given_back_and_others_are_woken() -> None:
    """Semantics §4.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.job("young", 1)
    world.settle()
    world.delete("g-1")
    world.settle(seconds=59)
    assert world.where("young") == {}
    world.settle(seconds=2)
    assert len(world.where("young")) == 1


def test_the_room_is_given_back_as_soon_as_it_is_not_needed_any_more() -> None:
    """Semantics §4.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.job("young", 1)
    world.delete("g-1")
    world.settle()
    assert world.where("young") == {}
    world.alter("g", minimum=1)
    world.settle()
    assert len(world.where("young")) == 1


def test_as_much_of_the_held_capacity_is_given_back_as_is_not_needed_any_more() -> None:
    """Semantics §4.1."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 4, timeout=600)
    for index in range(2):
        world.job(f"young{index}", 1)
        world.delete(f"g-{index}")
    world.settle()
    assert world.where("young") == {}
    world.alter("g", minimum=3)
    world.settle()
    assert len(world.where("young")) == 1, "the other room is held on"


def test_of_those_lost_together_the_room_of_the_role_that_lacks_members_is_held() -> None:
    """Semantics §4.1."""
    world = World()
    world.node("small", cpu=4)
    world.node("large", cpu=8)
    world.group("g", 2, roles=[("worker", 1)], timeout=600)
    world.member("g-worker", "g", role="worker", spec=spec(cpu=8))
    world.member("g-a", "g")
    world.member("g-b", "g", spec=spec(cpu=0))
    world.settle()
    world.run_pods(["g-worker", "g-a", "g-b"])
    world.settle()
    for size in (4, 8):
        world.job(f"young{size}", 1, pod=spec(cpu=size))
    world.delete("g-a")
    world.delete("g-worker")
    world.settle()
    assert set(world.where("young")) == {"young4-0"}


def test_the_room_of_surplus_is_not_held() -> None:
    """Semantics §4.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3, minimum=2)
    world.job("young", 1)
    world.delete("g-2")
    world.settle()
    assert len(world.where("young")) == 1


def test_the_room_of_a_member_lost_in_mid_burst_is_held_as_well() -> None:
    """Semantics §4.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.answer = lambda bind: "hold" if bind.target.pod.name.startswith("g") else "ok"
    world.job("g", 3)
    world.settle()
    world.now += 1
    world.job("young", 1)
    world.confirm(world.sent[0])
    world.settle()
    world.delete(world.sent[0].target.pod.name)
    world.settle()
    assert world.where("young") == {}
    world.answer = lambda _: "ok"
    for bind in world.sent[1:3]:
        world.confirm(bind)
    world.member("g-9", "g")
    world.settle()
    assert len(world.where("g")) == 3


def test_the_room_of_a_member_lost_while_an_addition_is_being_bound_is_held_as_well() -> None:
    """Semantics §4.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.answer = lambda bind: "hold" if bind.target.pod.name == "g-2" else "ok"
    world.job("g", 3, minimum=2)
    world.settle()
    world.now += 1
    world.job("young", 1)
    world.settle()
    world.delete("g-0")
    world.settle()
    assert world.where("young") == {}


def test_once_no_member_is_bound_nothing_is_held_and_what_is_left_starts_anew() -> None:
    """Semantics §4.1, §1: two have succeeded, so one is left to be placed."""
    world = World()
    world.nodes("n1", cpu=12)
    world.running_job("g", 3)
    for name in ("g-0", "g-1"):
        world.finish(name)
    world.pod("x", node="n1", spec=spec(cpu=8))
    world.now += 1
    world.job("young", 1)
    world.delete("g-2")
    world.settle()
    assert len(world.where("young")) == 1
    assert world.started("g") is None
    world.member("g-3", "g")
    world.settle(seconds=2)
    assert world.where("g-3") == {}
    world.delete("young-0")
    world.settle()
    assert world.where("g-3") == {"g-3": "n1"}
    world.run_pods(["g-3"])
    world.settle()
    assert world.started("g") == world.now


def test_a_group_ordered_earlier_need_not_respect_what_is_held_for_a_lost_member() -> None:
    """Semantics §4.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.delete("g-1")
    world.job("urgent", 1, priority=1)
    world.settle()
    assert len(world.where("urgent")) == 1


@pytest.mark.parametrize("phase", [Phase.FAILED, Phase.SUCCEEDED])
def test_a_member_that_fails_is_lost_and_one_that_succeeds_is_not(phase: Phase) -> None:
    """Semantics §4.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.finish("g-1", phase)
    world.job("young", 1)
    world.settle()
    assert bool(world.where("young")) == (phase is Phase.SUCCEEDED)


# ── the deadline (semantics §4.2) ────────────────────────────────────────────────────────────────


def test_before_the_start_the_deadline_counts_from_the_last_member_that_was_scheduled() -> None:
    """Semantics §4.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1 n2", of=3)
    world.change("g-1", scheduled_at=world.now + 20)
    world.settle(seconds=79)
    assert world.evictions == []
    world.settle(seconds=2)
    assert world.evictions == ["g-0", "g-1"]


def test_without_a_podscheduled_condition_the_deadline_counts_from_the_creation() -> None:
    """Semantics §4.2."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.change("g-0", scheduled_at=None, created=world.now - 30)
    world.settle(seconds=29)
    assert world.evictions == []
    world.settle(seconds=2)
    assert world.evictions == ["g-0"]


def test_after_the_start_the_deadline_counts_from_the_oldest_member_that_the_deficit_needs() -> (
    None
):
    """Semantics §4.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2, on_incomplete=RESTART)
    world.lose_node("n2")
    world.settle(seconds=500)
    world.member("g-8", "g")
    world.settle(seconds=30)
    world.member("g-9", "g")  # a second one that could fill the deficit
    world.settle(seconds=29)
    assert world.evictions == []
    world.settle(seconds=2)
    assert world.evictions == ["g-0"]


def test_with_no_pending_member_the_deadline_counts_from_when_the_loss_was_seen() -> None:
    """Semantics §4.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.settle(seconds=5000)
    world.job("young", 1)
    world.delete("g-1")
    world.settle(seconds=59)
    assert world.where("young") == {}
    world.settle(seconds=2)
    assert len(world.where("young")) == 1


def test_the_group_s_own_timeout_counts() -> None:
    """Semantics §4.2."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2, timeout=7)
    world.settle(seconds=6)
    assert world.evictions == []
    world.settle(seconds=2)
    assert world.evictions == ["g-0"]


def test_the_configured_timeout_counts_where_the_group_has_none() -> None:
    """Semantics §4.2."""
    world = World(schedule_timeout=13.0)
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2, timeout=0)
    world.settle(seconds=12)
    assert world.evictions == []
    world.settle(seconds=2)
    assert world.evictions == ["g-0"]


def test_the_deadline_fires_only_after_a_plan_of_this_process_has_failed() -> None:
    """Semantics §4.2."""
    world = World(sync=False)
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.now += 9999
    world.sync()
    world.settle()
    assert world.evictions == []
    assert len(world.where("g")) == 2


def test_the_deadline_does_not_fire_while_the_group_s_turn_is_yet_to_come() -> None:
    """Semantics §4.2."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.settle(seconds=59)
    world.now += 2
    world.node("n2", cpu=4)
    world.pod("urgent", spec=spec(cpu=0), priority=100)
    world.settle()
    assert world.evictions == []
    assert len(world.where("g")) == 2


def test_a_new_leader_does_not_restart_the_deadline() -> None:
    """Semantics §4.2."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.settle(seconds=50)
    again = world.restarted()
    again.settle(seconds=9)
    assert again.evictions == []
    again.settle(seconds=2)
    assert again.evictions == ["g-0"]


def test_a_new_leader_that_comes_after_it_fires_once_its_own_plan_has_failed() -> None:
    """Semantics §4.2."""
    world = World(sync=False)
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.now += 60
    world.sync()
    world.settle()
    assert world.evictions == ["g-0"]


def test_a_podgroup_recreated_under_another_uid_does_not_restart_the_deadline() -> None:
    """Semantics §4.2."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.settle(seconds=50)
    world.drop_group("g")
    world.settle(seconds=5)
    world.group("g", 2, uid="another", timeout=60)
    world.settle(seconds=4)
    assert world.evictions == []
    world.settle(seconds=2)
    assert world.evictions == ["g-0"]


def test_members_that_do_not_exist_at_the_deadline_are_a_failure_like_any_other() -> None:
    """Semantics §4.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.delete("g-1")
    world.settle(seconds=59)
    assert world.evictions == []
    world.settle(seconds=2)
    assert world.evictions == ["g-0"]


def test_an_invalid_spec_at_the_deadline_is_a_failure_like_any_other() -> None:
    """Semantics §4.2."""
    world = World()
    world.nodes("n1", cpu=4)
    world.tell(PriorityClassSeen("chosen", 5))
    world.job_in_part("g", "n1", of=2, priority_class="chosen")
    world.settle(seconds=10)
    world.tell(PriorityClassGone("chosen"))
    world.settle(seconds=49)
    assert world.condition("g")[1] == "InvalidSpec"
    assert world.evictions == []
    world.settle(seconds=2)
    assert world.evictions == ["g-0"]


# ── onIncomplete (semantics §4.3) ────────────────────────────────────────────────────────────────


def test_repair_plans_the_missing_members_again_as_soon_as_room_appears() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.settle(seconds=40)
    world.node("n2", cpu=4)
    world.settle(seconds=1000)
    assert len(world.where("g")) == 2
    assert world.evictions == []


def test_repair_before_the_start_gives_the_room_back_at_the_deadline_and_queues_again() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.settle(seconds=61)
    assert world.evictions == ["g-0"]
    assert len(world.events("GangTimedOut")) == 1
    world.member("g-9", "g")
    world.node("n2", cpu=4)
    world.settle()
    assert sorted(world.where("g")) == ["g-1", "g-9"]


def test_repair_before_the_start_evicts_every_bound_member_in_one_step() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1 n2", of=3)
    world.settle(seconds=59)
    world.now += 2
    steps = [world.step() for _ in range(3)]
    evicted = [[e.pod.name for e in step if isinstance(e, Evict)] for step in steps]
    assert [names for names in evicted if names] == [["g-0", "g-1"]]


def test_the_room_that_repair_gives_back_is_taken_by_a_younger_gang_that_fits() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.now += 1
    world.job("young", 1)
    world.settle(seconds=30)
    assert world.where("young") == {}
    world.settle(seconds=60)
    assert world.where("young") == {"young-0": "n1"}


def test_repair_after_the_start_says_when_the_gang_is_whole_again() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.lose_node("n2")
    world.member("g-9", "g")
    world.settle()
    assert world.condition("g", "Satisfied")[:2] == (False, "BelowMinimum")
    assert world.engine.below_minimum() == 1
    world.node("n3", cpu=4)
    world.settle()
    world.run_pods(["g-9"])
    world.settle()
    assert world.condition("g", "Satisfied")[0] is True
    assert world.engine.below_minimum() == 0
    assert len(world.events("GangRepaired")) == 1


def test_repair_after_the_start_never_evicts_and_says_below_minimum() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.lose_node("n2")
    world.member("g-9", "g")
    world.settle(seconds=3 * 86400)
    assert world.evictions == []
    assert world.condition("g")[:2] == (False, "BelowMinimum")
    assert len(world.events("GangBelowMinimum")) == 1
    again = world.restarted()
    again.settle(seconds=3 * 86400)
    assert again.evictions == []
    again.node("n3", cpu=4)
    again.settle()
    assert again.where("g-9") == {"g-9": "n3"}, "planned for as long as it takes"


def test_below_minimum_says_how_many_are_left() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    world.delete("g-2")
    world.settle()
    assert world.condition("g") == (
        False,
        "BelowMinimum",
        "2 of 3 members are left: 2 of 3 members exist",
    )
    assert world.condition("g", "InitiallyScheduled")[0] is True


@pytest.mark.parametrize("running", [True, False])
def test_keep_never_evicts_before_or_after_the_start(running: bool) -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    if running:
        world.running_job("g", 2, on_incomplete=KEEP)
        world.lose_node("n2")
        world.member("g-9", "g")
    else:
        world.nodes("n1", cpu=4)
        world.job_in_part("g", "n1", of=3, on_incomplete=KEEP)
    world.settle(seconds=86400)
    assert world.evictions == []
    if not running:
        assert "onIncomplete is Keep" in world.condition("g")[2]
    world.nodes("n3 n4", cpu=4)
    world.settle()
    assert world.condition("g")[:2] == (True, "Scheduled")


def test_restart_after_the_start_evicts_every_member_at_once() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3, on_incomplete=RESTART)
    lost = world.lose_node("n3")
    world.member("g-9", "g")
    world.settle(seconds=59)
    assert world.evictions == []
    world.now += 2
    step = [effect.pod.name for effect in world.step() if isinstance(effect, Evict)]
    assert step == sorted({"g-0", "g-1", "g-2"} - {lost})


def test_restart_waits_for_the_replacements_to_exist() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2, on_incomplete=RESTART)
    world.lose_node("n2")
    world.settle(seconds=86400)
    assert world.evictions == []


def test_restart_completes_the_gang_instead_where_a_replacement_can_be_placed() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2, on_incomplete=RESTART)
    world.lose_node("n2")
    world.member("g-9", "g")
    world.settle(seconds=30)
    world.node("n3", cpu=4)
    world.settle(seconds=86400)
    assert world.evictions == []
    assert len(world.where("g")) == 2


def test_restart_before_the_start_is_as_repair() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2, on_incomplete=RESTART)
    world.settle(seconds=61)
    assert world.evictions == ["g-0"]


def test_a_change_of_the_field_counts_at_once() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2, on_incomplete=KEEP)
    world.settle(seconds=600)
    assert world.evictions == []
    world.alter("g", on_incomplete=REPAIR)
    world.settle()
    assert world.evictions == ["g-0"]


def test_a_gang_that_is_whole_or_has_not_begun_is_none_to_repair() -> None:
    """Semantics §4.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("whole", 2, on_incomplete=RESTART)
    world.job("waiting", 2, on_incomplete=RESTART)
    world.settle(seconds=86400)
    assert world.evictions == []
    assert world.engine.in_part() == 0
