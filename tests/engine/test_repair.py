# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs that are bound in part: what is held for them, and who gives way (gangs.md §4)."""

from dataclasses import replace

import pytest

from enbloc.engine.effects import Evict
from enbloc.engine.events import GroupSeen, SlotsFree
from enbloc.model.groups import OnIncomplete
from enbloc.model.pods import Owner, Phase
from tests.engine.cluster import Cluster, spec

JOB = Owner("Job", "job", "job-uid")


def in_part(cluster: Cluster, name: str, bound: str, *, of: int, **more: object) -> None:
    """A gang with members on these nodes, and the others waiting."""
    cluster.group(name, of, timeout=60, **more)
    placed = bound.split()
    for index in range(of):
        node = placed[index] if index < len(placed) else ""
        cluster.pod(
            f"{name}-{index}",
            name,
            node=node,
            scheduled_at=cluster.now if node else None,
            owner=JOB,
            spec=spec(cpu=4),
        )


def started(cluster: Cluster, name: str, members: int, **more: object) -> None:
    """A gang whose members all run."""
    cluster.group(name, members, timeout=60, **more)
    for index in range(members):
        cluster.pod(f"{name}-{index}", name, owner=JOB, spec=spec(cpu=4))
    cluster.settle()
    cluster.run_pods([f"{name}-{index}" for index in range(members)])
    cluster.settle()


def evicted(cluster: Cluster) -> list[str]:
    return [effect.pod.name for effect in cluster.evicted]


def test_4_3_before_it_has_started_a_gang_gives_its_room_back_at_the_deadline() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    in_part(cluster, "g", "n1", of=2)
    cluster.settle(seconds=59)
    assert evicted(cluster) == []
    cluster.settle(seconds=2)
    assert evicted(cluster) == ["g-0"]
    assert cluster.events("GangTimedOut")


def test_4_3_a_younger_gang_that_fits_takes_the_room_that_was_given_back() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    in_part(cluster, "g", "n1", of=2)
    cluster.now += 1
    cluster.gang("young", 1, spec=spec(cpu=4))
    cluster.settle(seconds=30)
    assert cluster.where("young") == {}
    cluster.settle(seconds=60)
    assert cluster.where("young") == {"young-0": "n1"}


def test_4_3_a_gang_that_has_started_is_never_evicted_and_is_completed_when_room_returns() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    started(cluster, "g", 2)
    cluster.drop_node("n2")
    [lost] = [name for name, node in cluster.where("g").items() if node == "n2"]
    cluster.delete(lost)
    cluster.pod("g-new", "g", owner=JOB, spec=spec(cpu=4))
    cluster.settle(seconds=3 * 3600)
    assert evicted(cluster) == []
    assert cluster.condition("g")[1] == "BelowMinimum"
    assert cluster.condition("g", "Satisfied")[:2] == (False, "BelowMinimum")
    assert cluster.engine.below_minimum() == 1
    cluster.node("n3", cpu=4)
    cluster.settle()
    assert cluster.where("g-new") == {"g-new": "n3"}
    cluster.run_pods(["g-new"])
    cluster.settle()
    assert cluster.condition("g", "Satisfied")[0] is True
    assert cluster.events("GangRepaired")


def test_4_3_restart_evicts_a_started_gang_once_its_replacements_could_not_be_placed() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    started(cluster, "g", 2, on_incomplete=OnIncomplete.RESTART)
    cluster.drop_node("n2")
    [lost] = [name for name, node in cluster.where("g").items() if node == "n2"]
    cluster.delete(lost)
    cluster.settle(seconds=600)
    assert evicted(cluster) == [], "the replacement does not exist yet"
    cluster.pod("g-new", "g", owner=JOB, spec=spec(cpu=4))
    cluster.settle(seconds=59)
    assert evicted(cluster) == []
    cluster.settle(seconds=2)
    assert evicted(cluster) == sorted({"g-0", "g-1"} - {lost})


def test_4_3_keep_evicts_nobody() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    in_part(cluster, "g", "n1", of=2, on_incomplete=OnIncomplete.KEEP)
    cluster.settle(seconds=3600)
    assert evicted(cluster) == []
    assert "onIncomplete is Keep" in cluster.condition("g")[2]


def test_4_5_a_gang_with_a_bare_bound_member_is_never_evicted_and_says_so() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    in_part(cluster, "g", "n1", of=3)
    cluster.pod("g-bare", "g", node="n2", scheduled_at=cluster.now, spec=spec(cpu=4))
    cluster.settle(seconds=3600)
    assert evicted(cluster) == []
    assert "nobody would create a bare pod again" in cluster.condition("g")[2]


def test_4_4_of_two_gangs_that_need_each_other_s_room_the_later_yields_at_once() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    in_part(cluster, "early", "n1", of=2)
    cluster.now += 1
    in_part(cluster, "late", "n2", of=2)
    cluster.settle(seconds=5)
    assert evicted(cluster) == ["late-0"]
    assert sorted(cluster.where("early")) == ["early-0", "early-1"]


def test_4_4_two_deadlines_never_fire_in_one_step_and_the_other_is_planned_again_first() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    in_part(cluster, "early", "n1", of=3)
    in_part(cluster, "late", "n2", of=3)
    cluster.evict_answer = lambda _: "slow"
    cluster.settle(seconds=70)
    assert evicted(cluster) == ["late-0"]
    cluster.delete("late-0")
    cluster.settle(seconds=1)
    assert evicted(cluster) == ["late-0", "early-0"]


def test_4_4_where_neither_may_be_evicted_both_wait_and_say_so() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    for name, node in (("a", "n1"), ("b", "n2")):
        in_part(cluster, name, node, of=2, on_incomplete=OnIncomplete.KEEP)
    cluster.settle(seconds=600)
    assert evicted(cluster) == []
    assert "ns/b holds room it needs, and neither may be evicted" in cluster.condition("a")[2]


def test_4_5_a_disruption_budget_is_asked_again_when_it_says_so() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    in_part(cluster, "g", "n1", of=2)
    cluster.evict_answer = lambda _: "budget"
    cluster.settle(seconds=65)
    assert evicted(cluster) == ["g-0"]
    cluster.evict_answer = lambda _: "ok"
    cluster.settle(seconds=10)
    assert evicted(cluster) == ["g-0", "g-0"]


def test_4_1_the_room_of_a_lost_member_is_held_for_its_replacement() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    started(cluster, "g", 2)
    cluster.gang("young", 1, spec=spec(cpu=4))
    cluster.settle()
    cluster.delete("g-1")
    cluster.settle(seconds=30)
    assert cluster.where("young") == {}
    cluster.pod("g-new", "g", owner=JOB, spec=spec(cpu=4))
    cluster.settle()
    assert sorted(cluster.where()) == ["g-0", "g-new"]


def test_4_1_after_the_deadline_the_room_is_anybody_s() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    started(cluster, "g", 2)
    cluster.gang("young", 1, spec=spec(cpu=4))
    cluster.settle()
    cluster.delete("g-1")
    cluster.settle(seconds=61)
    assert len(cluster.where("young")) == 1


def test_4_1_a_group_ordered_earlier_need_not_respect_what_is_held() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    started(cluster, "g", 2)
    cluster.delete("g-1")
    cluster.gang("urgent", 1, spec=spec(cpu=4), priority=100)
    cluster.settle()
    assert len(cluster.where("urgent")) == 1


def test_4_2_a_new_process_does_not_begin_the_deadline_anew() -> None:
    cluster = Cluster(sync=False)
    cluster.nodes("n1", cpu=4)
    in_part(cluster, "g", "n1", of=2)
    cluster.now += 60
    cluster.sync()
    cluster.settle()
    assert evicted(cluster) == ["g-0"], "it failed to plan the rest, and the time was over before"


def test_4_2_without_a_failed_plan_of_its_own_a_process_evicts_nobody() -> None:
    cluster = Cluster(sync=False)
    cluster.nodes("n1 n2", cpu=4)
    in_part(cluster, "g", "n1", of=2)
    cluster.now += 3600
    cluster.sync()
    cluster.settle()
    assert evicted(cluster) == []
    assert len(cluster.where("g")) == 2


def test_2_5_raising_the_minimum_of_a_started_gang_does_not_make_it_incomplete() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2 n3 n4", cpu=4)
    started(cluster, "g", 2)
    cluster.tell(GroupSeen(replace(cluster.groups["g"], min_member=4)))
    cluster.settle()
    assert cluster.condition("g")[:2] == (True, "Scheduled")
    assert cluster.condition("g", "Satisfied")[0] is True


@pytest.mark.parametrize("phase", [Phase.FAILED, Phase.SUCCEEDED])
def test_a_member_that_succeeds_is_no_loss_and_one_that_fails_is(phase: Phase) -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    started(cluster, "g", 2)
    cluster.finish("g-1", phase)
    cluster.gang("young", 1, spec=spec(cpu=4))
    cluster.settle()
    assert bool(cluster.where("young")) == (phase is Phase.SUCCEEDED)


def test_only_bound_members_are_evicted_and_all_of_them_at_once() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    in_part(cluster, "g", "n1 n2", of=3)
    cluster.settle(seconds=61)
    [step] = [s for s in [[e for e in cluster.effects if isinstance(e, Evict)]] if s]
    assert [effect.pod.name for effect in step] == ["g-0", "g-1"]


def test_3_3_a_lost_member_s_replacement_may_have_the_room_of_additions_not_sent() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=4)
    cluster.answer = lambda bind: "hold" if bind.target.pod.name == "g-more" else "ok"
    started(cluster, "g", 2)
    cluster.step()
    cluster.tell(SlotsFree(-100))  # nothing can be sent for now
    cluster.pod("g-more", "g", owner=JOB, spec=spec(cpu=4))
    cluster.settle()
    cluster.drop_node("n2")
    cluster.change("g-1", phase=Phase.FAILED)
    cluster.tell(SlotsFree(100))
    cluster.pod("g-new", "g", owner=JOB, spec=spec(cpu=4), created=cluster.now - 100)
    cluster.settle()
    assert "g-new" in cluster.where("g")
