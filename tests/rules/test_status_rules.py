# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §7: a status that can be waited for (the controller's part: tests/controller)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from enbloc.controller.members import Member
from enbloc.engine.effects import SetGroupStatus
from enbloc.model.groups import GroupMemory
from enbloc.model.pods import Phase, PodUID
from tests.controller.statuses import (
    NOW,
    PAIR,
    Watcher,
    failed,
    jobs,
    pending,
    pods,
    running,
    succeeded,
)
from tests.rules.world import JOB, NEXT_JOB, ONE_A_NODE, PROCESSES, World
from tests.world.builders import remembered

# ── generations (semantics §7.1) ─────────────────────────────────────────────────────────────────


def _waiting_for_members(world: World) -> None:
    world.group("g", 2)


def _unschedulable(world: World) -> None:
    world.job("g", 9)


def _scheduled(world: World) -> None:
    world.job("g", 1)


def _running(world: World) -> None:
    world.running_job("g", 1)


def _below_minimum(world: World) -> None:
    world.running_job("g", 2)
    world.lose_node("n2")


def _being_repaired(world: World) -> None:
    world.job_in_part("g", "n1 n2", of=3)


def _finished(world: World) -> None:
    world.running_job("g", 1)
    world.finish("g-0")


@pytest.mark.parametrize(
    "state",
    [
        _waiting_for_members,
        _unschedulable,
        _scheduled,
        _running,
        _below_minimum,
        _being_repaired,
        _finished,
    ],
)
def test_a_generation_change_is_a_change_in_every_state(state: object) -> None:
    """Semantics §7.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    state(world)  # type: ignore[operator]
    world.settle()
    before = world.status["g"]
    world.alter("g", timeout=61)
    world.settle()
    assert world.status["g"].generation == before.generation + 1
    assert world.status["g"].conditions == before.conditions, "nothing else changed"


def test_a_generation_is_stamped_after_a_burst_at_the_latest() -> None:
    """Semantics §7.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.answer = lambda _: "hold"
    world.job("g", 2)
    world.settle()
    world.alter("g", timeout=61)
    world.settle()
    for bind in list(world.sent):
        world.confirm(bind)
    world.settle()
    assert world.status["g"].generation == 2


def test_an_unchanged_group_is_written_once() -> None:
    """Semantics §7.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    written = [e for e in world.effects if isinstance(e, SetGroupStatus)]
    world.alter("g", generation=1)
    for index in range(2):
        world.change(f"g-{index}", labels=(("a", "b"),))
    world.settle(seconds=86400)
    assert [e for e in world.effects if isinstance(e, SetGroupStatus)] == written


def test_a_podgroup_recreated_under_another_uid_gets_the_whole_status() -> None:
    """Semantics §7.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    before = world.status["g"]
    world.drop_group("g")
    world.settle()
    world.group("g", 2, uid="another", timeout=60)
    world.settle()
    after = world.status["g"]
    assert (after.uid, after.run_name, world.started("g")) == (
        "another",
        "job-1",
        before.started,
    )
    assert after.conditions == before.conditions


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize(
    ("of", "reason"),
    [({}, "GangInfeasible"), ({"priority_class": "nobody-made-it"}, "InvalidSpec")],
)
def test_a_podgroup_recreated_under_another_uid_has_its_own_events(
    of: dict[str, Any], reason: str, *, seen: bool
) -> None:
    """Semantics §7.1: whether or not anything was decided in between."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job("g", 2, **of)
    world.settle()
    world.drop_group("g")
    if seen:
        world.settle()
    world.group("g", 2, uid="another", timeout=60, **of)
    world.settle()
    told = [each.uid for each in world.events(reason) if each.group is not None]
    assert told == ["pg-g", "another"]


# ── what goes with the run (semantics §7.2) ──────────────────────────────────────────────


def test_a_job_of_more_completions_than_members_goes_on_after_its_first_wave() -> None:
    """Semantics §7.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    for wave in range(1, 4):
        for name in list(world.pods):
            world.finish(name)
        for index in range(2):
            world.member(f"w{wave}-{index}", "g")
        world.settle()
        assert len(world.where(f"w{wave}")) == 2
    assert world.status["g"].succeeded == 6
    assert world.status["g"].run_name == "job-1"


def _ends(watcher: Watcher, *, job: bool | None, members: list[Member]) -> str | None:
    """The reason of condition Finished once its Job has come so far; None = not finished."""
    watcher.looks(members, jobs(j=job))
    end = watcher.end()
    return end[0] if end else None


@pytest.mark.parametrize(
    ("job", "verdict"),
    [
        pytest.param(None, None, id="the Job goes on"),
        pytest.param(True, "Succeeded", id="the Job is complete"),
        pytest.param(False, "Failed", id="the Job failed"),
    ],
)
def test_finished_follows_the_owner_s_terminal_condition(
    job: bool | None, verdict: str | None
) -> None:
    """Semantics §7.2."""
    watcher = Watcher(PAIR, {})
    over = pods(succeeded, failed, controller="j", owner_key="j")
    assert _ends(watcher, job=None, members=over) is None
    assert _ends(watcher, job=job, members=over) == verdict


def test_a_job_of_16_at_8_is_not_finished_between_two_waves() -> None:
    """Semantics §7.2."""
    watcher = Watcher(replace(PAIR, min_member=8), {})
    first = pods(*[succeeded] * 8, controller="j", owner_key="j")
    assert _ends(watcher, job=None, members=first) is None
    both = pods(*[succeeded] * 16, controller="j", owner_key="j")
    assert _ends(watcher, job=True, members=both) == "Succeeded"


@pytest.mark.parametrize(
    ("members", "verdict"),
    [
        pytest.param((succeeded, succeeded), "Succeeded", id="as many as the floor"),
        pytest.param((succeeded, failed), "Failed", id="fewer"),
        pytest.param((succeeded, succeeded, failed), "Succeeded", id="one too many that failed"),
        pytest.param((succeeded, succeeded, running), None, id="one is live"),
        pytest.param((), None, id="there was nobody"),
    ],
)
def test_without_an_owner_the_members_decide_once_none_is_live(
    members: tuple[Member, ...], verdict: str | None
) -> None:
    """Semantics §7.2."""
    watcher = Watcher(PAIR, {})
    watcher.looks(pods(*members), {})
    end = watcher.end()
    assert (end and end[0]) == verdict


def test_finished_goes_with_the_run() -> None:
    """Semantics §7.2."""
    watcher = Watcher(PAIR, {})
    over = pods(succeeded, succeeded, controller="j", owner_key="j")
    assert _ends(watcher, job=True, members=over) == "Succeeded"
    fresh = replace(pending, uid=PodUID("new"), controller="k", owner_key="k", created=NOW + 9)
    watcher.looks([*over, fresh], jobs(j=True, k=None), NOW + 9)
    assert watcher.end() is None


# ── times and counters (semantics §7.3) ──────────────────────────────────────────────────────────


def test_times_are_those_of_the_server_that_the_engine_was_given() -> None:
    """Semantics §7.3."""
    world = World()
    world.now = 1_700_000_000.0
    world.nodes("n1", cpu=4)
    world.job("g", 1)
    world.settle()
    assert world.status["g"].last_attempt == 1_700_000_000.0
    world.now += 5
    world.run_pods(["g-0"])
    world.settle()
    assert world.started("g") == 1_700_000_005.0


def test_the_start_is_remembered_over_losses_and_restarts() -> None:
    """Semantics §7.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    start = world.started("g")
    world.now += 100
    world.lose_node("n2")
    world.settle()
    assert world.started("g") == start
    again = world.restarted()
    again.node("n3", cpu=4)
    again.member("g-9", "g")
    again.settle()
    again.run_pods(["g-9"])
    again.settle()
    assert again.started("g") == start


def test_counters_never_go_back_within_a_run() -> None:
    """Semantics §7.3."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    for name in ("g-0", "g-1"):
        world.finish(name)
        world.settle()
        world.delete(name)
    again = world.restarted()
    again.finish("g-2")
    again.settle()
    again.delete("g-2")
    again.settle()
    counts = [e for w in (world, again) for e in w.effects if isinstance(e, SetGroupStatus)]
    succeeded = [status.succeeded for status in counts]
    attempts = [status.attempts for status in counts]
    assert succeeded == sorted(succeeded)
    assert attempts == sorted(attempts)
    assert succeeded[-1] == 3


def test_attempts_go_on_over_a_restart() -> None:
    """Semantics §7.3."""
    world = World()
    world.nodes("n1", cpu=4)
    world.pod("x", node="n1", spec=ONE_A_NODE)
    world.job("g", 1)
    world.settle()
    attempts = world.status["g"].attempts
    again = world.restarted()
    again.settle()
    assert again.status["g"].attempts == attempts + 1


def test_with_a_new_run_times_and_counters_begin_anew() -> None:
    """Semantics §7.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    for index in range(2):
        world.finish(f"g-{index}")
    world.settle()
    world.member("new-0", "g", owner=NEXT_JOB)
    world.settle()
    status = world.status["g"]
    assert (status.succeeded, world.started("g"), status.run_name) == (0, None, "job-2")
    kinds = {str(condition.type) for condition in status.conditions}
    assert kinds == {"Scheduled"}, "neither InitiallyScheduled nor Satisfied is of this run"


@PROCESSES
def test_attempts_and_the_time_of_the_last_one_are_those_of_the_run(
    process: Callable[[World], World],
) -> None:
    """Semantics §7.3."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 2)
    came = world.now
    assert (world.status["g"].attempts, world.status["g"].last_attempt) == (1, came)
    _echoed(world)
    world.now += 50
    world = process(world)
    assert (world.status["g"].attempts, world.status["g"].last_attempt) == (1, came)
    world.member("h-0", "g", owner=NEXT_JOB)
    world.settle()
    assert world.status["g"].run_name == "job-2"
    assert (world.status["g"].attempts, world.status["g"].last_attempt) == (0, None)


@PROCESSES
def test_an_older_run_that_is_the_newest_again_was_scheduled_before(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.4, §7.3."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 2)
    world.member("h-0", "g", owner=NEXT_JOB)
    world.settle()
    _echoed(world)
    assert "InitiallyScheduled" not in _kinds(world), "the new run was not scheduled yet"
    world = process(world)
    world.delete("g-0")
    world.delete("h-0")
    world.settle()
    assert world.status["g"].run_name == "job-1"
    assert _kinds(world) == {"Scheduled", "InitiallyScheduled", "Satisfied"}


@PROCESSES
def test_that_runs_overlap_is_said_once_by_all_processes(
    process: Callable[[World], World],
) -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 2)
    world.member("h-0", "g", owner=NEXT_JOB)
    world.settle()
    assert len(world.events("OverlappingRuns")) == 1
    _echoed(world)
    world.effects.clear()
    world = process(world)
    assert len(world.status["g"].runs) == 2
    assert not world.events("OverlappingRuns")


def _echoed(world: World) -> None:
    """The server tells of the status that was written last."""
    world.put_group(replace(world.groups["g"], memory=remembered(world.status["g"])))
    world.settle()


def _kinds(world: World) -> set[str]:
    """The types of the conditions of group g."""
    return {str(condition.type) for condition in world.status["g"].conditions}


def test_a_status_of_another_run_is_not_believed() -> None:
    """Semantics §7.3."""
    world = World(sync=False)
    world.nodes("n1 n2", cpu=4)
    memory = GroupMemory("job-0", started=5.0, succeeded=1, initially_scheduled=True)
    world.group("g", 2, memory=memory)
    world.member("g-0", "g", owner=JOB)
    world.sync()
    world.settle()
    assert world.condition("g")[2] == "1 of 2 members exist"
    assert (world.status["g"].succeeded, world.started("g")) == (0, None)
    assert world.status["g"].run_name == "job-1"


def test_the_next_attempt_is_named_only_where_time_alone_can_help() -> None:
    """Semantics §7.3."""
    world = World()
    world.nodes("n1", cpu=4)
    world.pod("x", node="n1", spec=ONE_A_NODE)
    world.job("g", 1)
    world.settle()
    lacking = world.status["g"]
    assert lacking.next_attempt is None
    world.delete("x")
    world.answer = lambda _: "SCHEDULER_ERROR"
    world.settle()
    assert world.condition("g")[1] == "SchedulerError"
    refused = world.status["g"]
    assert refused.next_attempt is not None
    assert refused.next_attempt > world.now


def test_satisfied_follows_the_members_that_run() -> None:
    """Semantics §7.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    assert {str(c.type) for c in world.status["g"].conditions} == {
        "Scheduled",
        "InitiallyScheduled",
    }
    world.run_pods(["g-0", "g-1"])
    world.settle()
    assert world.condition("g", "Satisfied")[0] is True
    world.finish("g-1", Phase.FAILED)
    world.settle()
    assert world.condition("g", "Satisfied") == (False, "BelowMinimum", "1 of 2 members run")
