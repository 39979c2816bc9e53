# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §4.4 to §4.5: who gives its room back, and how."""

import math
from collections.abc import Sequence

import pytest

from enbloc.engine.decide.attempts import Planner
from enbloc.engine.effects import Evict, StopEvict
from enbloc.engine.events import Evicted, EvictRefused
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey, OnIncomplete
from enbloc.model.pods import Phase, Pod
from tests.rules.world import JOB, NEXT_JOB, ONE_A_NODE, World
from tests.world.builders import spec

KEEP, REPAIR, RESTART = OnIncomplete.KEEP, OnIncomplete.REPAIR, OnIncomplete.RESTART


# ── two repairs (semantics §4.4) ─────────────────────────────────────────────────────────────────


def test_of_two_that_need_each_other_s_room_the_later_by_order_yields_at_once() -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("b-early", "n1", of=2)
    world.now += 1
    world.job_in_part("a-late", "n2", of=2)
    world.settle(seconds=1)
    assert world.evictions == ["a-late-0"]
    assert len(world.where("b-early")) == 2


def test_priority_decides_before_age() -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("old", "n1", of=2)
    world.now += 1
    world.job_in_part("urgent", "n2", of=2)
    for index in range(2):
        world.change(f"urgent-{index}", priority=5)
    world.settle(seconds=1)
    assert world.evictions == ["old-0"]
    assert len(world.where("urgent")) == 2


def test_only_one_that_may_be_evicted_yields_even_if_it_is_the_earlier() -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("late", 2, on_incomplete=KEEP)
    world.settle()
    world.lose_node("n2")
    world.nodes("n3", cpu=4)
    world.job_in_part("early", "n3", of=2)
    for index in range(2):
        world.change(f"early-{index}", priority=5, preempts=False)
    world.member("late-9", "late")
    world.settle(seconds=1)
    assert world.evictions == ["early-0"]
    assert len(world.where("late")) == 2


def test_one_that_bound_itself_makes_none_yield_that_is_ordered_before_it() -> None:
    """Semantics §4.4: it waits for the deadline, though it may not be evicted itself."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("early", "n1", of=2)
    world.now += 1
    world.job_in_part("late", "n2", of=2, on_incomplete=KEEP)
    world.settle(seconds=50)
    assert world.evictions == []
    world.settle(seconds=20)
    assert world.evictions == ["early-0"]


def test_a_started_gang_of_repair_does_not_yield_to_anyone() -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("old", 2)
    world.now += 1
    world.job_in_part("part", "n3", of=2)
    [node] = [node for name, node in world.where().items() if name == "old-1"]
    world.drop_node(node)
    world.delete("old-1")
    world.member("old-9", "old")
    world.settle(seconds=1)
    assert world.evictions == ["part-0"], "the one that has not started"
    assert len(world.where("old")) == 2


def test_two_that_do_not_help_each_other_wait_for_their_deadlines() -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("a", "n1", of=3)
    world.now += 1
    world.job_in_part("b", "n2", of=3)
    world.settle(seconds=50)
    assert world.evictions == []


def test_the_others_are_planned_again_before_the_next_one_fires() -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.job_in_part("a", "n1", of=2)
    world.now += 1
    world.job_in_part("b", "n2 n3", of=4)
    world.settle(seconds=1000)
    assert world.evictions == ["b-0", "b-1"]
    assert len(world.where("a")) == 2


def test_the_next_one_fires_once_the_room_of_the_first_is_there_and_did_not_help() -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("early", "n1", of=2)
    world.job_in_part("late", "n2", of=3)
    world.evict_answer = lambda _: "slow"
    world.settle(seconds=59)
    assert world.evictions == ["late-0"], "with its room the other can be completed"
    world.pod("x", node="n2", spec=ONE_A_NODE)
    world.delete("late-0")
    world.settle(seconds=2)
    assert world.evictions == ["late-0", "early-0"]


@pytest.mark.parametrize("timeout", [60, 86400])
def test_members_that_terminate_for_ever_hold_up_nobody_whom_their_room_does_not_help(
    timeout: int,
) -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.evict_answer = lambda evict: "slow" if evict.pod.namespace == "tenant" else "ok"
    for group, node in (("a", "n3"), ("b", "n4")):
        world.their_group(group, 2, timeout=timeout)
        world.theirs(f"{group}-0", group, node=node)
        world.theirs(f"{group}-1", group)
    world.job_in_part("train", "n1 n2", of=4, timeout=60)
    world.settle(seconds=59)
    assert world.evictions == ["b-0"]
    world.settle(seconds=2)
    assert {"train-0", "train-1"} <= set(world.evictions)


def test_members_that_terminate_for_ever_are_waited_for_no_longer_than_who_waits_may() -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.evict_answer = lambda evict: "slow" if evict.pod.namespace == "tenant" else "ok"
    world.job_in_part("train", "n1 n2", of=3, timeout=60)
    world.now += 1
    world.their_group("a", 2, timeout=86400)
    world.theirs("a-0", "a", node="n3")
    world.theirs("a-1", "a")
    world.pod("x", node="n4", spec=ONE_A_NODE)
    world.settle(seconds=58)
    assert world.evictions == ["a-0"]
    world.settle(seconds=5)
    assert {"train-0", "train-1"} <= set(world.evictions)


def test_where_neither_may_both_wait_and_say_so() -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("a", "n1", of=2, on_incomplete=KEEP)
    world.job_in_part("b", "n2", of=2, on_incomplete=KEEP)
    world.settle(seconds=86400)
    assert world.evictions == []
    for name, other in (("a", "b"), ("b", "a")):
        expected = f"ns/{other} holds capacity it needs, and neither may be evicted"
        assert expected in world.condition(name)[2]


def test_two_deadlines_never_fire_in_one_step() -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    for index, name in enumerate(("a", "b", "c")):
        world.job_in_part(name, f"n{index + 1}", of=4)
    world.settle()
    world.now += 61
    fired = []
    for _ in range(200):
        groups = {e.group.name for e in world.step() if isinstance(e, Evict)}
        if groups:
            fired.append(groups)
        wakeup = world.engine.wakeup()
        if wakeup is None:
            break
        world.now = max(world.now, wakeup)
    assert fired == [{"c"}, {"b"}, {"a"}], "the last by order first, each by itself"


def test_a_deadline_never_evicts_a_gang_whose_deficit_was_not_tried() -> None:
    """Semantics §4.2: it shares its namespace with plans whose Bindings hang."""
    world = World()
    world.node("big", cpu=90)
    world.answer = lambda _: "hold"
    for number in range(120):
        world.their_group(f"s{number}")
        world.theirs(f"s{number}-0", f"s{number}", spec=spec(cpu=1))
    world.settle()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("tried", "n1", of=2)
    world.their_group("later", 2, timeout=60)
    world.theirs("later-0", "later", node="n2", scheduled_at=world.now)
    world.theirs("later-1", "later")
    world.settle(seconds=61)
    assert (world.attempts("tried"), world.attempts("later")) == (1, 0)
    assert world.evictions == ["tried-0"]


def test_in_one_step_no_more_than_one_gang_is_tried_in_the_room_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Semantics §4.4."""
    tried: list[GroupFacts] = []

    def completes(_: Planner, __: float, waiting: GroupFacts, without: Sequence[Pod]) -> bool:
        if not without:
            return False
        tried.append(waiting)
        return len(tried) == 30

    monkeypatch.setattr(Planner, "completes", completes)
    world = World()
    world.nodes(" ".join(f"n{index}" for index in range(9)), cpu=4)
    for index in range(9):
        world.job_in_part(f"g{index}", f"n{index}", of=9)
    while not world.evictions:
        before = len(tried)
        world.step()
        assert len(tried) <= before + 1
        assert world.engine.wakeup() == 0, "the others are compared at once"
    assert len(tried) == 30
    assert world.evictions[0] != f"{tried[-1].key.name}-0"


def test_after_a_restart_too_the_earlier_gang_has_the_room_of_the_later_one() -> None:
    """Semantics §4.4."""
    world = World(sync=False)
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("a", "n1", of=2)
    world.job_in_part("b", "n2", of=2)
    world.now += 61
    world.sync()
    world.settle()
    assert world.evictions == ["b-0"]
    assert len(world.where("a")) == 2


def test_nobody_yields_to_one_that_holds_no_room_itself() -> None:
    """Semantics §4.4."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("early", 2, timeout=600)
    world.member("early-0", "early", node="n1", phase=Phase.SUCCEEDED)
    world.member("early-1", "early", spec=spec(cpu=4, node_selector=(("only", "n2"),)))
    world.node("n2", cpu=4, labels=(("only", "n2"),))
    world.now += 1
    world.job_in_part("late", "n2", of=3, timeout=600)
    world.settle(seconds=500)
    assert world.evictions == []
    assert world.engine.in_part() == 1


# ── evicting is not unbinding (semantics §4.5) ───────────────────────────────────────────────────


def test_one_bare_bound_member_makes_the_group_keep_and_its_condition_says_so() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1", of=3, owner="MPIJob/mpi")
    world.member("g-bare", "g", owner=None, node="n2", scheduled_at=world.now)
    world.settle(seconds=86400)
    assert world.evictions == []
    assert "one has no controller that would recreate it" in world.condition("g")[2]
    world.delete("g-bare")
    world.settle(seconds=61)
    assert world.evictions == ["g-0"]


def test_a_bare_member_that_is_not_bound_does_not_make_the_group_keep() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.member("g-bare", "g", owner=None)
    world.settle(seconds=61)
    assert world.evictions == ["g-0"]


def test_a_disruption_budget_is_respected_and_asked_again_when_it_says_so() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.evict_answer = lambda _: "budget"
    world.settle(seconds=61)
    assert len(world.evictions) == 1
    world.settle(seconds=8)
    assert len(world.evictions) == 1
    world.settle(seconds=3)
    assert len(world.evictions) == 2


def test_while_a_budget_forbids_it_the_gang_is_completed_if_room_appears() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.evict_answer = lambda _: "budget"
    world.settle(seconds=65)
    world.node("n2", cpu=4)
    world.evict_answer = lambda _: "ok"
    world.settle(seconds=1000)
    assert len(world.where("g")) == 2
    assert len(world.evictions) == 1


def test_a_member_that_can_never_be_evicted_does_not_keep_the_scheduler_busy() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.evict_answer = lambda _: "hold"
    world.settle(seconds=61)
    world.tell(EvictRefused(world.evicted[0].uid, "namespace is terminating", math.inf))
    world.settle(seconds=50)
    assert len(world.evictions) == 1


def test_a_member_that_can_never_be_evicted_is_asked_again_after_its_group_s_own_timeout() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2, timeout=90)
    world.evict_answer = lambda _: "hold"
    world.settle(seconds=91)
    world.tell(EvictRefused(world.evicted[0].uid, "namespace is terminating", math.inf))
    world.settle(seconds=89)
    assert len(world.evictions) == 1
    world.settle(seconds=2)
    assert len(world.evictions) == 2


def test_nobody_is_planned_into_the_group_while_its_members_leave() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.evict_answer = lambda _: "hold"
    world.settle(seconds=61)
    assert world.evictions == ["g-0"]
    assert world.condition("g")[:2] == (False, "TimedOut")
    world.node("n2", cpu=4)
    world.settle(seconds=10)
    assert set(world.where("g")) == {"g-0"}


def test_members_that_do_not_leave_are_not_waited_for_for_ever() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("a", "n1", of=2)
    world.job_in_part("b", "n2", of=3)
    world.evict_answer = lambda evict: "slow" if evict.group.name == "b" else "ok"
    world.settle(seconds=59)
    assert world.evictions == ["b-0"], "its room would complete the other"
    world.settle(seconds=120)
    assert "a-0" in world.evictions, "its node may be gone"


def test_what_the_server_has_not_answered_is_let_be_once_the_gang_may_be_completed() -> None:
    """Semantics §4.4: an eviction that is sent late would break a gang that runs by then."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("a", "n1", of=2)
    world.evict_answer = lambda _: "hold"
    world.settle(seconds=61)
    assert world.evictions == ["a-0"]
    world.settle(seconds=60)
    world.nodes("n2", cpu=4)
    world.settle()

    stopped = [effect.uids for effect in world.effects if isinstance(effect, StopEvict)]
    assert stopped == [{world.pods["a-0"].uid}]
    assert len(world.where("a")) == 2


def test_succeeded_members_are_not_evicted_and_stay_counted() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.job_in_part("g", "n1 n2", of=3)
    world.drop_node("n3")
    world.finish("g-0", Phase.SUCCEEDED)
    world.pod("x", node="n1", scheduler="other", spec=ONE_A_NODE)
    world.settle(seconds=61)
    assert world.evictions == ["g-1"]
    assert world.status["g"].succeeded == 1


def test_evicted_members_that_come_back_as_another_job_are_a_new_run() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.settle(seconds=61)
    world.delete("g-1")
    for index in range(2):
        world.member(f"new-{index}", "g", owner=NEXT_JOB)
    world.node("n2", cpu=4)
    world.settle()
    assert world.status["g"].run_name == "job-2"
    assert len(world.where("new")) == 2


def test_the_eviction_names_whose_room_it_is_and_why() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("g", "n1", of=2)
    world.pod("small", spec=spec(cpu=1), node="n1")
    world.settle(seconds=61)
    [evict] = world.evicted
    assert (evict.group.name, evict.reason) == ("g", "BelowMinimum")
    assert evict.message.startswith("1 of 2 members were placed")


def test_a_member_that_another_scheduler_placed_is_not_ours_to_evict() -> None:
    """Semantics §4.5: it names the group, and stays where it is."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1", of=3)
    world.pod("theirs", "g", scheduler="other", node="n2", owner=JOB, scheduled_at=world.now)
    world.settle(seconds=200)
    assert set(world.evictions) == {"g-0"}


def test_a_gang_of_which_others_placed_all_is_left_alone() -> None:
    """Semantics §4.5."""
    world = World()
    world.nodes("n1", cpu=4)
    world.group("g", 2, timeout=60)
    world.pod("theirs", "g", scheduler="other", node="n1", owner=JOB, scheduled_at=world.now)
    world.member("g-0", "g")
    world.settle(seconds=200)
    assert world.evictions == []


def test_gangs_that_are_tried_all_the_time_keep_nobody_s_deadline_from_taking_effect() -> None:
    """Semantics §4.4: two others change faster than they are tried."""
    world = World(sync=False)
    world.nodes("n1 n2 n3", cpu=4)
    for name, node in (("one", "n1"), ("two", "n2"), ("late", "n3")):
        policy = REPAIR if name == "late" else KEEP
        world.job_in_part(name, node, of=2, timeout=20, on_incomplete=policy)
        world.change(f"{name}-1", spec=spec(cpu=100))
    world.sync()
    world.settle(seconds=19)
    for turn in range(400):
        world.now += 0.05
        for name in ("one-1", "two-1"):
            world.change(name, labels=(("turn", str(turn)),))
        world.step()
    assert world.evictions == ["late-0"]


def test_a_gang_waits_beyond_its_deadline_for_those_whom_it_preempted() -> None:
    """Semantics §4.4 and §10.4: until thirty seconds after the grace period."""
    world = World(sync=False)
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1", of=2, timeout=60)
    world.pod("slow", node="n2", spec=ONE_A_NODE, priority=-1, grace=600.0, owner=NEXT_JOB)
    world.evict_answer = lambda _: "slow"
    world.sync()
    world.settle(seconds=629)
    assert world.evictions == ["slow"]
    world.settle(seconds=2)
    assert world.evictions == ["slow", "g-0"], "it does not leave"


@pytest.mark.parametrize("answer", ["gone", "refused"])
def test_a_gang_whose_only_bound_member_is_evicted_for_another_waits_for_that(answer: str) -> None:
    """Semantics §4.5: it named another group while its eviction was asked for."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job_in_part("a", "n1", of=2)
    world.evict_answer = lambda _: "hold"
    world.settle(seconds=61)
    [asked] = world.evicted
    world.job("b", 1, minimum=3)
    world.change("a-0", group=GroupKey("ns", "b"))
    for _ in range(100):
        world.step()
    wakeup = world.engine.wakeup()
    assert wakeup is not None
    assert wakeup > world.now, "it comes to rest"
    assert world.evicted == [asked]
    if answer == "gone":
        world.tell(Evicted(asked.uid))
        world.delete("a-0")
        world.settle(seconds=30)
        assert not world.where("a-")
    else:
        world.tell(EvictRefused(asked.uid, "a budget", world.now + 10))
        world.settle(seconds=30)
        assert [each.group.name for each in world.evicted] == ["a", "b"]
