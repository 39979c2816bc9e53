# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §1, §2.4: runs of one PodGroup that overlap, as controllers make them."""

from dataclasses import replace

import pytest

from enbloc.engine.events import BindRefused, SlotsFree, Stream, Synced
from enbloc.model.binding import RefusalCause
from enbloc.model.binding_record import binding_record
from enbloc.model.pods import Owner, Phase
from tests.rules.runs import THIRD_JOB, add_members, ran, with_a_launcher
from tests.rules.world import JOB, NEXT_JOB, World
from tests.world.builders import remembered

# ── a run that overlaps with the one before ──────────────────────────────────────────────────────


def test_a_rerun_that_overlaps_is_placed_whole_or_not_at_all() -> None:
    """Semantics §2.4: one old pod is live, and six of the new eight would fit."""
    world = ran(nodes=7, members=8 - 1, left=1)
    world.alter("g", minimum=8)
    add_members(world, NEXT_JOB, 8)
    world.settle(seconds=3600)
    assert world.where("job-2") == {}
    assert world.started("g") is None, "the status tells of the new run"
    assert "not counting 1 member of earlier runs" in world.condition("g")[2]
    assert len(world.events("OverlappingRuns")) == 1
    world.delete("job-1-0")
    world.node("n8", cpu=4)
    world.settle()
    assert len(world.where("job-2")) == 8


def test_old_and_new_members_are_never_bound_as_one_gang() -> None:
    """Semantics §2.4: five old ones run, and three new ones came so far."""
    world = ran(nodes=8, members=8, left=5)
    add_members(world, NEXT_JOB, 3)
    world.settle(seconds=3600)
    assert world.where("job-2") == {}
    add_members(world, NEXT_JOB, 5, first=3)
    for index in range(5):
        world.delete(f"job-1-{index}")
    world.settle()
    assert len(world.where("job-2")) == 8


def test_neither_are_members_of_a_burst_that_was_cut() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes(" ".join(f"n{index}" for index in range(8)), cpu=4)
    world.group("g", 8, timeout=60)
    add_members(world, JOB, 3, node="n0", scheduled_at=world.now)
    add_members(world, NEXT_JOB, 5)
    world.settle(seconds=3600)
    assert world.where("job-2") == {}


def test_of_two_runs_that_wait_each_is_planned_by_itself_the_older_first() -> None:
    """Semantics §2.4."""
    world = World()
    world.group("g", 2)
    add_members(world, JOB, 2)
    world.now += 5
    add_members(world, NEXT_JOB, 2)
    world.nodes("n1 n2 n3", cpu=4)
    world.settle(seconds=3600)
    assert sorted(world.where()) == ["job-1-0", "job-1-1"]
    world.nodes("n4", cpu=4)
    world.settle()
    assert len(world.where("job-2")) == 2


@pytest.mark.parametrize("stream", list(Stream))
def test_a_list_that_is_made_again_finds_a_group_whose_first_run_is_forgotten(
    stream: Stream,
) -> None:
    """Semantics §2.4, §6.3: a watch that is too old ends in a list, at any time."""
    world = World()
    world.group("g", 2)
    add_members(world, JOB, 2)
    world.settle()
    add_members(world, NEXT_JOB, 2)
    world.settle()
    for index in range(2):
        world.delete(f"job-1-{index}")
    world.settle()
    world.tell(Synced(stream))
    world.nodes("n1 n2", cpu=4)
    world.settle(seconds=3600)
    assert len(world.where("job-2")) == 2


def test_a_run_that_comes_while_the_one_before_is_being_bound_is_not_taken_for_part_of_it() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 2)
    add_members(world, JOB, 2)
    world.answer = lambda _: "hold"
    world.settle()
    add_members(world, NEXT_JOB, 1)
    world.settle()
    for bind in list(world.sent):
        world.confirm(bind)
    world.answer = lambda _: "ok"
    world.settle()
    assert world.where("job-2") == {}
    add_members(world, NEXT_JOB, 1, first=1)
    world.settle()
    assert len(world.where("job-2")) == 2


def test_who_comes_while_jobs_of_one_gang_are_being_bound_is_not_of_that_gang() -> None:
    """Semantics §2.4: no Job has the quorum alone, and a plan of the first two is open."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 2)
    world.answer = lambda _: "hold"
    for owner in (JOB, NEXT_JOB):
        add_members(world, owner, 1)
    world.settle()
    add_members(world, THIRD_JOB, 1)
    world.settle()
    for bind in list(world.sent):
        world.confirm(bind)
    world.answer = lambda _: "ok"
    world.settle(seconds=3600)
    assert sorted(world.where()) == ["job-1-0", "job-2-0"]


def test_who_gathered_and_has_no_part_in_the_plan_may_be_the_next_run() -> None:
    """Semantics §2.4: of three Jobs one does not fit; its second pod gives it the quorum alone."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    for owner in (JOB, NEXT_JOB, THIRD_JOB):
        add_members(world, owner, 1)
        world.now += 1
    world.settle()
    assert sorted(world.where()) == ["job-1-0", "job-2-0"]
    add_members(world, THIRD_JOB, 1, first=1)
    world.node("n3", cpu=4)
    world.settle(seconds=3600)
    assert world.where("job-3") == {}
    world.node("n4", cpu=4)
    world.settle()
    assert len(world.where("job-3")) == 2


def test_a_launcher_that_nobody_owns_and_that_comes_later_is_another_run() -> None:
    """Semantics §2.4: what tells it from the next run is the controller of the PodGroup alone."""
    world = ran(nodes=3, members=2, left=2)
    world.now += 60
    add_members(world, NEXT_JOB, 1)
    world.settle(seconds=3600)
    assert world.where("job-2") == {}
    assert world.condition("g")[1] == "WaitingForMembers"


def test_the_older_of_two_runs_goes_on_as_a_gang_of_its_own() -> None:
    """Semantics §2.4: its lost member is replaced, and its success counts for it alone."""
    world = ran(nodes=4, members=3, left=3)
    add_members(world, NEXT_JOB, 2)
    world.finish("job-1-0")
    world.delete("job-1-1")
    world.settle()
    add_members(world, JOB, 1, first=7)
    world.settle()
    assert "job-1-7" in world.where()
    assert world.condition("g")[2].startswith("2 of 3 members exist")
    assert world.status["g"].succeeded == 0
    assert [run.succeeded for run in world.status["g"].runs] == [1, 0]


def test_what_an_older_run_lost_does_not_hold_up_the_next_one() -> None:
    """Semantics §2.4, §4.1."""
    world = ran(nodes=4, members=4, left=4)
    for index in (2, 3):
        world.delete(f"job-1-{index}")
    world.alter("g", minimum=2)
    world.now += 1
    add_members(world, NEXT_JOB, 2)
    world.settle()
    assert len(world.where("job-2")) == 2


def test_when_the_older_run_has_ended_the_next_one_is_all_there_is() -> None:
    """Semantics §2.4."""
    world = ran(nodes=4, members=2, left=1)
    add_members(world, NEXT_JOB, 2)
    world.settle()
    world.run_pods(world.where("job-2"))
    world.finish("job-1-0")
    world.settle()
    assert [run.name for run in world.status["g"].runs] == ["job-2"]
    for index in range(2):
        world.finish(f"job-2-{index}")
    world.settle()
    add_members(world, THIRD_JOB, 2)
    world.settle()
    assert len(world.where("job-3")) == 2
    assert world.status["g"].succeeded == 0


def test_nothing_is_left_of_runs_that_came_and_went() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 1)
    for run in range(50):
        owner = Owner("Job", "job", f"run-{run}")
        add_members(world, owner, 1)
        world.settle()
        if run:
            world.delete(f"run-{run - 1}-0")
            world.settle()
    assert len(list(world.engine._groups)) <= 10
    world.delete("run-49-0")
    world.drop_group("g")
    world.settle()
    assert list(world.engine._groups) == []


def test_more_than_eight_runs_wait_until_one_ends() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes(" ".join(f"n{index}" for index in range(12)), cpu=4)
    world.group("g", 1)
    for run in range(10):
        add_members(world, Owner("Job", "job", f"run-{run}"), 1)
        world.settle()
    assert len(world.where()) == 8
    assert "8 runs of this PodGroup are live" in world.condition("g")[2]
    for run in range(2):
        world.delete(f"run-{run}-0")
    world.settle()
    assert {"run-8-0", "run-9-0"} <= set(world.where())


# ── started, and what is relaunched ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("leader", ["stays", "is another"])
def test_a_gang_that_is_suspended_and_resumed_starts_whole_again(leader: str) -> None:
    """Semantics §1: two gangs that hold two of four each must not do so for ever."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 4)
    for name in list(world.where()):
        world.delete(name)
    world.settle()
    assert world.started("g") is None
    if leader == "is another":
        world = world.restarted()
        world.settle()
    world.drop_node("n4")
    for index in range(4, 8):
        world.member(f"g-{index}", "g")
    world.settle(seconds=3600)
    assert world.where() == {}
    world.node("n4", cpu=4)
    world.settle()
    assert len(world.where("g")) == 4


def test_a_wave_that_comes_when_the_one_before_has_ended_is_placed_whole() -> None:
    """Semantics §1: as much as its Job runs at once, which the controller tells."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 4)
    for index in range(4):
        world.finish(f"g-{index}")
    world.settle()
    assert world.condition("g")[1] == "Scheduled"
    group = world.groups["g"]
    world.put_group(replace(group, memory=replace(remembered(world.status["g"]), expected=3)))
    world.drop_node("n4")
    world.drop_node("n3")
    for index in range(4, 7):
        world.member(f"g-{index}", "g")
    world.settle(seconds=60)
    assert world.where("g-4") == {}
    world.node("n3", cpu=4)
    world.settle()
    assert {"g-4", "g-5", "g-6"} <= set(world.where())
    world.run_pods(["g-4", "g-5", "g-6"])
    world.settle()
    assert world.condition("g", "Satisfied")[0] is True
    assert world.status["g"].succeeded == 4


def test_what_the_newest_run_can_still_have_is_no_floor_of_an_older_one() -> None:
    """Semantics §2.4: `status.expected` is about the newest run."""
    w = World()
    w.nodes(" ".join(f"n{index}" for index in range(8)), cpu=4)
    w.running_job("g", 4)
    add_members(w, NEXT_JOB, 4)
    w.settle()
    w.run_pods(sorted(w.where("job-2")))
    w.settle()
    where = w.where()
    w.finish("g-0")
    for index in (1, 2, 3):
        w.drop_node(where[f"g-{index}"])
        w.delete(f"g-{index}")
    w.settle()
    for index in range(4):
        w.member(f"again-{index}", "g")
    w.settle(seconds=5)
    memory = replace(remembered(w.status["g"]), expected=1)
    w.put_group(replace(w.groups["g"], memory=memory))
    w.settle()
    assert len(w.where("job-2")) == 4, "the newest run has its last members"
    assert w.where("again-") == {}, "one node is free, and four are needed"
    w.nodes("m0 m1 m2", cpu=4)
    w.settle()
    assert len(w.where("again-")) == 4


def test_the_captured_floor_outlives_a_suspension_with_what_succeeded_before() -> None:
    """Semantics §2.4, §2.5: a member of four has succeeded, and nobody knows its owner."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 4)
    world.alter("g", minimum=8)
    world.finish("g-0")
    for name in list(world.where()):
        world.delete(name)
    world.settle()
    add_members(world, JOB, 3, first=8)
    world.settle(seconds=2)
    assert len(world.where("job-1")) == 3


# ── after a restart ──────────────────────────────────────────────────────────────────────────────


def test_a_minimum_that_was_raised_counts_for_the_next_run() -> None:
    """Semantics §2.5: when nothing is left of the run before."""
    world = ran(nodes=3, members=2, left=2)
    world.alter("g", minimum=3)
    world.settle()
    for index in range(2):
        world.delete(f"job-1-{index}")
    add_members(world, NEXT_JOB, 2)
    world.settle(seconds=3600)
    assert world.where() == {}
    add_members(world, NEXT_JOB, 1, first=2)
    world.settle()
    assert len(world.where()) == 3


def test_roles_that_come_and_go_are_not_captured_for_ever() -> None:
    """Semantics §2.5: a role that is listed no more has no minimum any more."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2, roles=(("a", 1),))
    add_members(world, JOB, 2, role="a")
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    for number in range(20):
        world.alter("g", roles=((f"r{number}", 1),))
        world.settle()
    [run] = world.status["g"].runs
    assert run.minimums == (("", 2),)


def test_another_process_knows_both_runs() -> None:
    """Semantics §2.2."""
    world = ran(nodes=3, members=3, left=3)
    add_members(world, NEXT_JOB, 3)
    world.settle()
    world.finish("job-1-0")
    world.delete("job-1-1")
    world.settle()
    again = world.restarted()
    again.settle()
    assert again.where("job-2") == {}
    assert again.status["g"].runs == world.status["g"].runs
    again.delete("job-1-2")
    again.settle()
    assert len(again.where("job-2")) == 3


def test_bare_pods_that_are_made_again_while_an_old_one_is_live_are_of_its_run() -> None:
    """Semantics §1: nothing tells them apart."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    add_members(world, None, 2)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    world.delete("bare-0")
    add_members(world, None, 1, first=2)
    world.settle()
    assert "bare-2" in world.where()


def test_bare_pods_that_are_made_again_when_none_is_live_are_another_run() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    add_members(world, None, 2)
    world.settle()
    world.run_pods(sorted(world.where()))
    for index in range(2):
        world.finish(f"bare-{index}", Phase.FAILED)
    world.settle()
    add_members(world, None, 1, first=2)
    world.settle(seconds=60)
    assert "bare-2" not in world.where()


def test_a_group_without_members_has_no_run() -> None:
    """Semantics §2.2: the API server would refuse one without a name."""
    world = World()
    world.group("g", 2)
    world.settle()
    assert world.status["g"].runs == ()


@pytest.mark.parametrize("runs_again", ["as another attempt", "as another Job"])
def test_a_run_whose_status_was_written_before_its_members_came_ends_like_any_other(
    runs_again: str,
) -> None:
    """Semantics §2.2, §2.4: a status without members names no run."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2, timeout=60)
    world.settle()
    world = world.restarted()
    restart = "set/" if runs_again == "as another attempt" else ""
    add_members(world, JOB, 2, restart=restart and restart + "0")
    world = world.restarted()
    world.settle()
    for name in sorted(world.where()):
        world.delete(name)
    world.settle()
    add_members(world, NEXT_JOB, 1, restart=restart and restart + "1")
    world.settle(seconds=60)
    assert world.where() == {}
    add_members(world, NEXT_JOB, 1, first=1, restart=restart and restart + "1")
    world.settle()
    assert len(world.where("job-2")) == 2


def test_a_run_that_comes_while_bindings_hang_is_no_part_of_the_one_that_they_bind() -> None:
    """Semantics §2.4: it was not there when the plan was made, however slow its Job is."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 2)
    add_members(world, JOB, 2)
    world.answer = lambda _: "hold"
    world.settle()
    world.now += 20
    add_members(world, NEXT_JOB, 1)
    world.settle(seconds=20)
    for bind in list(world.sent):
        world.confirm(bind)
    world.answer = lambda _: "ok"
    world.settle(seconds=3600)
    assert world.where("job-2") == {}


def test_a_launcher_of_the_same_second_as_its_workers_is_placed_by_another_leader() -> None:
    """Semantics §2.4: the one before died within ten seconds of the start."""
    world = with_a_launcher()
    assert world.where("job-2") == {}
    world = world.restarted()
    world.settle(seconds=11)
    assert "job-2-0" in world.where()


def test_the_next_run_is_whole_though_it_came_in_the_second_of_the_start_of_the_one_before() -> (
    None
):
    """Semantics §2.4: who has the quorum alone is a run by itself, and inherits no success."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 3, timeout=60)
    add_members(world, JOB, 3)
    world.settle()
    world.finish("job-1-0")
    for name in ("job-1-1", "job-1-2"):
        world.change(name, deleting=True)
    add_members(world, NEXT_JOB, 3)
    world = world.restarted()
    world.settle()
    assert world.where("job-2") == {}, "two nodes are free of the run before"
    for name in ("job-1-1", "job-1-2"):
        world.delete(name)
    world.settle()
    assert len(world.where("job-2")) == 3


def test_a_burst_of_two_jobs_that_a_crash_cut_is_completed_without_a_status() -> None:
    """Semantics §2.1, §2.2: who was planned together is told by binding records."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 3, timeout=60)
    add_members(world, JOB, 1)
    add_members(world, NEXT_JOB, 2)
    world.answer = lambda bind: "ok" if bind.target.pod.name == "job-1-0" else "hold"
    world.settle()
    assert sorted(world.where()) == ["job-1-0"]
    world = world.restarted(status=False)
    world.settle()
    assert len(world.where()) == 3


def test_a_member_that_a_former_leader_binds_does_not_bind_the_next_run_with_it() -> None:
    """Semantics §2.4: its Binding lands after both runs were seen to wait."""
    world = World()
    world.group("g", 3)
    add_members(world, JOB, 3)
    world.now += 5
    add_members(world, NEXT_JOB, 2)
    world.change("job-1-1", node="gone", scheduled_at=world.now)
    world.delete("job-1-0")
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.settle()
    assert sorted(world.where()) == ["job-1-1"]


def test_members_that_a_former_leader_planned_together_stay_together() -> None:
    """Semantics §2.4: the binding record of the one that it bound tells."""
    world = World()
    world.group("g", 3, timeout=60)
    add_members(world, JOB, 1)
    add_members(world, NEXT_JOB, 2)
    world.settle()
    record = binding_record("0-1", "job-1", 3, world.now)
    world.nodes("n1 n2 n3", cpu=4)
    world.change("job-1-0", node="n1", scheduled_at=world.now, binding_record=record)
    world.settle()
    assert len(world.where()) == 3


def test_a_launcher_that_a_former_leader_binds_is_of_the_run_that_its_binding_record_names() -> (
    None
):
    """Semantics §2.2: it is no half of a gang that is evicted at the deadline."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 2, timeout=5)
    add_members(world, JOB, 2)
    add_members(world, NEXT_JOB, 1)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    record = binding_record("0-2", "job-1", 2, world.now, started=True)
    world.change("job-2-0", node="n3", scheduled_at=world.now, binding_record=record)
    world.settle(seconds=600)
    assert world.evictions == []
    assert len(world.status["g"].runs) == 1


@pytest.mark.parametrize("order", [["job-1-0", "job-2-0"], ["job-2-0", "job-1-0"]])
def test_who_a_former_leader_binds_with_a_planned_run_is_of_that_run(order: list[str]) -> None:
    """Semantics §2.2, §2.4: it had planned a launcher with the first worker; then another came."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 2, timeout=5)
    add_members(world, JOB, 1)
    add_members(world, NEXT_JOB, 2)
    world.answer = lambda _: "hold"
    world.settle()
    assert {bind.target.pod.name for bind in world.sent} == {"job-2-0", "job-2-1"}
    record = binding_record("0-1", "job-1", 2, world.now)
    for name in order:
        world.change(name, node="n3", scheduled_at=world.now, binding_record=record)
    for bind in list(world.sent):
        if bind.target.pod.name == "job-2-0":
            world.tell(
                BindRefused(bind.target.plan, bind.target.uid, RefusalCause.MEMBER_CHANGED, "")
            )
            world.tell(SlotsFree(1))
        else:
            world.confirm(bind)
    world.answer = lambda _: "ok"
    world.settle(seconds=600)
    assert world.evictions == []
    assert len(world.status["g"].runs) == 1
