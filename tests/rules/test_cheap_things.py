# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §8: binding records, ranks, trust, GangRunning: what the design makes cheap."""

import pytest

from enbloc.config import default_profiles
from enbloc.engine.effects import SetGangRunning
from enbloc.engine.replay import replay_plan
from enbloc.model.binding_record import read_binding_record
from enbloc.model.names import PLAN_KEY, RANK_KEY, SIZE_KEY
from enbloc.model.pods import Owner, Phase
from tests.rules.world import JOB, NEXT_JOB, World
from tests.world.builders import spec


def _ranks(world: World) -> dict[str, int | None]:
    return {name: pod.rank for name, pod in sorted(world.pods.items())}


# ── binding records (semantics §8.1) ─────────────────────────────────────────────────────────────


def test_each_binding_carries_plan_run_floor_and_queue_time() -> None:
    """Semantics §8.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 3, minimum=2)
    world.settle()
    assert len(world.sent) == 3
    for bind in world.sent:
        record = read_binding_record(dict(bind.target.annotations)[PLAN_KEY])
        assert record is not None
        assert record.plan == bind.target.plan
        assert (record.run, record.floor) == ("job-1", 2)
        assert record.queue_time == 1000.0


def test_a_binding_record_is_short_however_long_what_it_names() -> None:
    """Semantics §8.1."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job("g", 1, owner=Owner("Job", "j", "u" * 2000))
    world.settle()
    assert world.where("g") == {"g-0": "n1"}
    annotations = dict(world.sent[0].target.annotations)
    assert len(annotations[PLAN_KEY]) <= 1024
    assert annotations[RANK_KEY] == "0"


@pytest.mark.parametrize(("size", "written"), [(262_144, False), (1000, True)])
def test_annotations_are_left_out_where_the_pod_s_would_pass_the_limit(
    size: int, written: bool
) -> None:
    """Semantics §8.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 1)
    world.member("g-0", "g", annotations_size=size)
    world.settle()
    assert world.where("g") == {"g-0": "n1"}
    assert bool(world.sent[0].target.annotations) is written
    again = world.restarted()
    again.settle(seconds=1000)
    assert again.condition("g")[:2] == (True, "Scheduled")


# ── rank and size (semantics §8.1) ───────────────────────────────────────────────────────────────


def test_ranks_are_the_numbers_from_zero_and_the_size_is_the_floor() -> None:
    """Semantics §8.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 3)
    world.settle()
    assert _ranks(world) == {"g-0": 0, "g-1": 1, "g-2": 2}
    assert {dict(bind.target.annotations)[SIZE_KEY] for bind in world.sent} == {"3"}


def test_whoever_replaces_a_lost_member_takes_its_rank_also_after_a_restart() -> None:
    """Semantics §8.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    world.delete("g-1")
    world.member("g-9", "g")
    again = world.restarted()
    again.settle()
    assert _ranks(again) == {"g-0": 0, "g-2": 2, "g-9": 1}


def test_a_succeeded_member_keeps_its_rank_within_its_run() -> None:
    """Semantics §8.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    world.finish("g-0")
    world.settle()
    world.delete("g-0")
    world.delete("g-1")
    world.member("g-9", "g")
    world.settle()
    assert _ranks(world) == {"g-2": 2, "g-9": 1}


def test_a_restarted_job_begins_at_zero_again() -> None:
    """Semantics §8.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    for index in range(2):
        world.finish(f"g-{index}")
    for index in range(2):
        world.member(f"h-{index}", "g", owner=NEXT_JOB)
    world.settle()
    assert _ranks(world) == {"g-0": 0, "g-1": 1, "h-0": 0, "h-1": 1}


def test_additions_continue_the_numbers() -> None:
    """Semantics §8.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 2)
    world.settle()
    world.member("g-2", "g")
    world.settle()
    assert _ranks(world) == {"g-0": 0, "g-1": 1, "g-2": 2}


def test_no_two_live_members_ever_have_the_same_rank() -> None:
    """Semantics §8.1."""
    world = World()
    world.nodes("n1 n2 n3 n4 n5", cpu=4)
    world.running_job("g", 4)
    most = 0
    for turn in range(6):
        there = sorted(world.where("g"))
        world.delete(there[turn % len(there)])
        if turn % 2:
            for more in "xyz":
                world.member(f"g-{more}{turn}", "g")
        if turn == 3:
            world = world.restarted()
        world.settle()
        ranks = [pod.rank for pod in world.pods.values() if pod.bound]
        assert None not in ranks
        assert len(set(ranks)) == len(ranks)
        most = max(most, *(rank for rank in ranks if rank is not None))
    assert most == 4, "it never has more than five members at a time"


def test_a_pod_without_a_group_has_neither_record_nor_rank() -> None:
    """Semantics §8.1."""
    world = World()
    world.nodes("n1", cpu=4)
    world.pod("solo")
    world.settle()
    assert set(dict(world.sent[0].target.annotations)) == {PLAN_KEY}


# ── replay (semantics §8.1) ──────────────────────────────────────────────────────────────────────


def test_the_plan_that_a_binding_record_names_is_made_again_from_a_dump() -> None:
    """Semantics §8.1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 2)
    world.settle()
    world.job("other", 1)
    world.settle()
    world.lose_node("n1")
    named = read_binding_record(next(iter(world.pods.values())).binding_record)
    assert named is not None
    again = replay_plan(world.engine.dump(), named.plan, default_profiles())
    assert again is not None
    assert len(again.plan.assignments) > 0
    assert again.differences == []


# ── what if this node goes (semantics §8.2) ──────────────────────────────────────────────────────


@pytest.mark.parametrize("spare", [False, True])
def test_what_becomes_of_a_gang_whose_node_goes_is_told_and_nothing_changes(
    spare: bool,
) -> None:
    """Semantics §8.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    if spare:
        world.node("n3", cpu=4)
    before = dict(world.where())
    [found] = world.engine.without(["n2"], world.now)
    assert (found.group.name, [pod.name for pod in found.lost]) == ("g", ["g-1"])
    assert found.whole is spare
    assert [node for _, node in found.plan.nodes] == ["n3"] * spare
    world.settle()
    assert world.where() == before
    world.lose_node("n2")
    world.member("g-9", "g")
    world.settle()
    assert world.where("g-9") == dict.fromkeys(["g-9"] * spare, "n3"), "and so it comes"


# ── trust (semantics §8.3, §8.4) ─────────────────────────────────────────────────────────────────


def test_a_node_that_refused_members_scores_lower_for_other_gangs() -> None:
    """Semantics §8.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 1)
    world.settle()
    bad = world.where()["g-0"]
    world.change("g-0", phase=Phase.FAILED, rejected="OutOfcpu")
    world.job("other", 1)
    world.settle()
    assert world.where("other")["other-0"] != bad


def test_a_node_where_another_scheduler_bound_lately_scores_lower_for_gangs() -> None:
    """Semantics §8.4."""
    world = World()
    world.nodes("n1 n2", cpu=8)
    world.settle()
    world.pod("x", scheduler="other", spec=spec(cpu=0))
    world.change("x", node="n1", scheduled_at=world.now)
    world.settle()
    world.job("g", 1)
    world.settle()
    assert world.where("g") == {"g-0": "n2"}


# ── GangRunning and Satisfied (semantics §8.5, §8.6) ─────────────────────────────────────────────


def _gates(world: World) -> list[tuple[str, bool]]:
    return [(e.pod.name, e.running) for e in world.effects if isinstance(e, SetGangRunning)]


def test_members_with_the_gate_are_shown_only_while_the_gang_is_whole() -> None:
    """Semantics §8.5."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    for index in range(2):
        world.member(f"g-{index}", "g", gang_gate=True)
    world.settle()
    world.run_pods(["g-0"])
    world.settle()
    assert _gates(world) == []
    world.run_pods(["g-1"])
    world.settle()
    assert sorted(_gates(world)) == [("g-0", True), ("g-1", True)]
    world.finish("g-1", Phase.FAILED)
    world.settle()
    assert _gates(world)[-1] == ("g-0", False)


def test_a_new_process_writes_the_gate_only_where_it_stands_otherwise() -> None:
    """Semantics §8.5."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    for index in range(2):
        world.member(f"g-{index}", "g", gang_gate=True)
    world.settle()
    world.run_pods(["g-0", "g-1"])
    world.settle()
    world.change("g-0", gang_running=True)
    again = world.restarted()
    again.settle()
    assert _gates(again) == [("g-1", True)]


def test_members_without_the_gate_are_left_alone() -> None:
    """Semantics §8.5."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    assert _gates(world) == []


def test_gangs_below_their_minimum_are_counted() -> None:
    """Semantics §8.6."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 2)
    world.job_in_part("part", "n3", of=2)
    world.settle()
    assert (world.engine.below_minimum(), world.engine.in_part()) == (0, 1)
    world.lose_node(world.where()["g-1"])
    world.settle()
    assert (world.engine.below_minimum(), world.engine.in_part()) == (1, 2)
    assert JOB.uid == world.status["g"].run_name


def test_an_older_run_keeps_its_gates_and_is_not_counted_when_it_is_gone() -> None:
    """Semantics §8.5, §8.6, §2.4."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("g", 2, timeout=60)
    for index in range(2):
        world.member(f"g-{index}", "g", gang_gate=True)
    world.settle()
    world.member("h-0", "g", owner=NEXT_JOB)
    world.settle()
    world.run_pods(["g-0", "g-1"])
    world.settle()
    assert sorted(_gates(world)) == [("g-0", True), ("g-1", True)]
    world.delete("g-0")
    world.settle()
    assert _gates(world)[-1] == ("g-1", False)
    assert world.engine.below_minimum() == 1
    world.delete("g-1")
    world.settle()
    assert world.engine.below_minimum() == 0


def test_a_gang_whose_podgroup_was_deleted_has_no_minimum_any_more() -> None:
    """Semantics §8.6."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.lose_node("n2")
    world.settle()
    assert world.engine.below_minimum() == 1
    world.drop_group("g")
    world.settle()
    assert world.engine.below_minimum() == 0


def test_nor_has_an_older_run_of_it() -> None:
    """Semantics §8.6, §2.4."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.running_job("g", 2)
    world.member("h-0", "g", owner=NEXT_JOB)
    world.settle()
    world.delete("g-0")
    world.settle()
    assert world.engine.below_minimum() == 1
    world.drop_group("g")
    world.settle()
    assert world.engine.below_minimum() == 0


# ── exact shortages (semantics §8.7) ─────────────────────────────────────────────────────────────


def test_what_lacks_is_said_with_number_and_shape() -> None:
    """Semantics §8.7."""
    world = World()
    world.nodes("n1 n2", cpu=4, gpu=8)
    world.group("g", 3)
    for index in range(3):
        world.pod(f"g-{index}", "g", spec=spec(cpu=1, gpu=8))
    world.settle()
    text = "needs 3 nodes with 8 nvidia.com/gpu each; the cluster has 2"
    assert world.condition("g")[2].startswith(text)
