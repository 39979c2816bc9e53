# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""gangs.md §2: what decides whether, when and in which order a gang is placed."""

from collections.abc import Callable

import pytest

from enbloc.config import default_profiles
from enbloc.engine.events import PriorityClassSeen
from enbloc.model.groups import GroupKey, Memory
from enbloc.model.pods import Phase, PodKey
from enbloc.model.receipts import read_receipt, receipt
from tests.engine.cluster import Cluster
from tests.rules.world import JOB, NEXT_JOB, World

# ── 2.1 no stored flag; the deficit, whole ───────────────────────────────────────────────────


def test_2_1_conditions_never_feed_a_decision() -> None:
    world = World(sync=False)
    world.nodes("n1", cpu=4)
    memory = Memory("job-1", attempts=3, initially_scheduled=True)
    world.group("g", 2, memory=memory)
    world.member("g-0", "g")
    world.sync()
    world.settle()
    assert world.where("g") == {}, "that it was scheduled once says nothing of the present"
    world.member("g-1", "g", unschedulable=True)
    world.nodes("n2", cpu=4)
    world.settle()
    assert len(world.where("g")) == 2, "that it could not be once does not either"


def test_2_1_each_plan_places_the_deficit_whole_or_nothing_of_it() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1", of=3)
    world.settle()
    assert set(world.where("g")) == {"g-0"}, "room for one of the two that are missing"
    world.node("n3", cpu=4)
    world.settle()
    assert len(world.where("g")) == 3
    assert len(world.plans()) == 1, "both on one snapshot"


def test_2_1_with_nothing_missing_members_are_scheduled_as_they_come() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 2)
    world.settle()
    for index in (2, 3):
        world.member(f"g-{index}", "g")
    world.settle()
    assert len(world.where("g")) == 3, "one more fits, and does not wait for the other"


def _cut_by_a_crash(world: World) -> None:
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1 n2", of=4)


def _replacements(world: World) -> None:
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 4)
    for name in ("n3", "n4"):
        world.lose_node(name)
    for index in (4, 5):
        world.member(f"g-{index}", "g")


def _a_raised_minimum(world: World) -> None:
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    world.alter("g", minimum=4)
    for index in (2, 3):
        world.member(f"g-{index}", "g")


def _a_restarted_job(world: World) -> None:
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    for name in ("n1", "n2"):
        world.lose_node(name)
    for index in (4, 5):
        world.member(f"g-{index}", "g", owner=NEXT_JOB)


@pytest.mark.parametrize(
    "cut", [_cut_by_a_crash, _replacements, _a_raised_minimum, _a_restarted_job]
)
def test_2_1_a_cut_burst_a_replacement_a_raised_minimum_and_a_restarted_job_are_one_case(
    cut: Callable[[World], None],
) -> None:
    world = World()
    cut(world)
    world.settle()
    held = set(world.where("g"))
    world.node("n8", cpu=4)
    world.settle()
    assert set(world.where("g")) == held, "room for one of the two that are missing"
    world.node("n9", cpu=4)
    world.settle()
    assert len(world.where("g")) == len(held) + 2
    assert len({world.pods[name].receipt for name in set(world.where("g")) - held}) == 1


# ── 2.2 success counts ───────────────────────────────────────────────────────────────────────


def test_2_2_a_job_whose_first_pods_finish_does_not_fall_below_its_minimum() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    for name in ("g-0", "g-1"):
        world.finish(name)
    world.settle(seconds=1000)
    assert world.condition("g")[:2] == (True, "Scheduled")
    assert world.condition("g", "Satisfied")[0] is True
    assert world.evictions == []


def test_2_2_a_recreated_pod_of_a_job_whose_others_succeeded_is_placed() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    for name in ("g-0", "g-1"):
        world.finish(name)
    world.delete("g-2")
    world.member("g-3", "g")
    world.settle()
    assert "g-3" in world.where("g")


def test_2_2_the_count_outlives_the_pods_and_the_process() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    for name in ("g-0", "g-1"):
        world.finish(name)
        world.settle()
        world.delete(name)
    world.delete("g-2")
    world.settle()
    assert world.status["g"].succeeded == 2
    world.member("g-3", "g")
    again = world.restarted()
    again.settle()
    assert "g-3" in again.where("g")
    assert again.status["g"].succeeded == 2


def test_2_2_the_count_is_kept_for_each_role() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 3, roles=[("launcher", 1), ("worker", 2)])
    for name, role in (("l", "launcher"), ("w-0", "worker"), ("w-1", "worker")):
        world.member(name, "g", role=role)
    world.settle()
    world.finish("w-0")
    world.settle()
    world.delete("w-0")
    world.settle()
    status = world.status["g"]
    assert [(role.name, role.succeeded) for role in status.roles] == [
        ("launcher", 0),
        ("worker", 1),
    ]
    again = world.restarted()
    again.delete("w-1")
    again.member("w-2", "g", role="worker")
    again.settle()
    assert "w-2" in again.where(), "one worker succeeded, so one more is enough"


def test_2_2_the_count_never_goes_back_within_an_incarnation() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    counts = []
    for name in ("g-0", "g-1", "g-2"):
        world.finish(name)
        world.settle()
        counts.append(world.status["g"].succeeded)
        world.delete(name)
        world.settle()
        counts.append(world.status["g"].succeeded)
        world.alter("g", memory=Memory("job-1", succeeded=0))
        world.settle()
        counts.append(world.status["g"].succeeded)
    assert counts == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_2_2_the_scheduler_writes_incarnation_start_and_successes() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    assert world.status["g"].incarnation == "job-1"
    world.now += 7
    world.run_pods(["g-0"])
    world.settle()
    assert world.started("g") is None, "one of two"
    world.finish("g-1")
    world.settle()
    assert world.started("g") == world.now, "Running or Succeeded, at the same time"
    assert world.status["g"].succeeded == 1


def test_2_2_without_a_status_a_group_counts_as_started_once_a_bound_member_runs() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.lose_node("n2")
    again = world.restarted(status=False)
    again.settle(seconds=1000)
    assert again.evictions == [], "a gang that has started is never evicted"
    assert again.condition("g")[1] == "BelowMinimum"


def test_2_2_without_a_status_what_is_still_listed_as_succeeded_counts() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    world.finish("g-0")
    world.finish("g-1")
    world.delete("g-2")
    again = world.restarted(status=False)
    again.member("g-3", "g")
    again.settle()
    assert "g-3" in again.where("g")
    assert again.status["g"].succeeded == 2


def test_2_2_failed_members_are_not_held() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.finish("g-1", Phase.FAILED)
    world.settle()
    assert world.condition("g")[:2] == (False, "BelowMinimum")
    assert world.status["g"].succeeded == 0


def test_2_2_a_finished_bare_pod_of_an_older_life_is_not_counted_in_the_new_one() -> None:
    world = World()
    world.nodes("n1", cpu=8)
    world.gang("g", 2)
    world.settle()
    for index in range(2):
        world.finish(f"g-{index}")
    world.settle()
    world.pod("new-0", "g")
    world.settle()
    assert world.status["g"].succeeded == 0
    world.change("g-0", deleting=True)
    world.settle()
    assert world.status["g"].succeeded == 0
    assert world.where("new") == {}


def test_2_2_an_old_bare_pod_that_ends_well_after_a_new_life_began_does_not_count() -> None:
    world = World()
    world.nodes("n1", cpu=8)
    world.gang("g", 2)
    world.settle()
    for index in range(2):
        world.change(f"g-{index}", deleting=True)
    world.pod("new-0", "g")
    world.settle()
    world.finish("g-0")
    world.settle()
    assert world.status["g"].succeeded == 0
    assert world.where("new") == {}


# ── 2.3 quorum ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "third",
    [
        pytest.param({"gates": ("hold",)}, id="gated"),
        pytest.param({"scheduler": "default-scheduler"}, id="of another scheduler"),
        pytest.param({"deleting": True}, id="terminating"),
        pytest.param({"phase": Phase.FAILED}, id="failed"),
    ],
)
def test_2_3_only_live_members_of_ours_without_gates_make_a_quorum(
    third: dict[str, object],
) -> None:
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 3)
    world.member("g-0", "g")
    world.member("g-1", "g")
    world.member("g-2", "g", **third)
    world.settle()
    assert world.where("g") == {}
    assert world.condition("g")[:2] == (False, "WaitingForMembers")
    world.member("g-3", "g")
    world.settle()
    assert len(world.where("g")) == 3


def test_2_3_what_is_held_counts_towards_the_quorum_whoever_bound_it() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 3)
    world.member("g-0", "g", scheduler="default-scheduler", node="n1")
    world.member("g-1", "g", phase=Phase.SUCCEEDED, node="n2")
    world.member("g-2", "g")
    world.settle()
    assert "g-2" in world.where("g")


def test_2_3_every_role_needs_its_own_quorum() -> None:
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 2, roles=[("launcher", 1), ("worker", 1)])
    for index in range(3):
        world.member(f"w-{index}", "g", role="worker")
    world.settle()
    assert world.where() == {}
    world.member("l", "g", role="launcher")
    world.settle()
    assert {"l"} < set(world.where())


def test_2_3_the_total_is_needed_beyond_the_roles() -> None:
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 4, roles=[("launcher", 1), ("worker", 1)])
    world.member("l", "g", role="launcher")
    world.member("w", "g", role="worker")
    world.member("x", "g")
    world.settle()
    assert world.where() == {}
    assert world.condition("g")[2] == "3 of 4 members exist"


def test_2_3_members_are_counted_per_namespace() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    world.member("g-0", "g")
    world.pod("g-1", key=PodKey("elsewhere", "g-1"), group=None)
    world.change("g-1", group=GroupKey("elsewhere", "g"))
    world.settle()
    assert world.where() == {}
    assert world.condition("g")[2] == "1 of 2 members exist"


def test_2_3_members_are_counted_per_incarnation() -> None:
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 2)
    for index in range(2):
        world.change(f"g-{index}", deleting=True)
    world.member("new-0", "g", owner=NEXT_JOB)
    world.settle()
    assert world.where("new") == {}
    world.member("new-1", "g", owner=NEXT_JOB)
    world.settle()
    assert len(world.where("new")) == 2


# ── 2.4 a restarted job ──────────────────────────────────────────────────────────────────────


def test_2_4_a_restarted_job_is_a_new_incarnation_and_needs_its_whole_floor_again() -> None:
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 2)
    for index in range(2):
        world.finish(f"g-{index}")
    world.settle()
    world.now += 50
    world.member("new-0", "g", owner=NEXT_JOB)
    world.settle()
    status = world.status["g"]
    assert (status.incarnation, status.started, status.succeeded) == ("job-2", None, 0)
    assert world.where("new") == {}


def test_2_4_a_jobset_that_is_recreated_is_told_by_its_labels() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    world.member("a", "g", restart="set/0")
    world.member("b", "g", restart="set/0", owner=NEXT_JOB)
    world.settle()
    assert len(world.where()) == 2, "child Jobs of one JobSet differ in UID"
    for name in ("a", "b"):
        world.finish(name)
    world.settle()
    world.member("c", "g", restart="set/1")
    world.settle()
    assert world.condition("g")[2] == "1 of 2 members exist"


def test_2_4_old_members_still_terminating_hold_their_room() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    for index in range(2):
        world.change(f"g-{index}", deleting=True)
    for index in range(2):
        world.member(f"new-{index}", "g", owner=NEXT_JOB)
    world.settle()
    assert world.where("new") == {}
    for index in range(2):
        world.delete(f"g-{index}")
    world.settle()
    assert len(world.where("new")) == 2


def test_2_4_old_members_still_terminating_count_for_nothing_else() -> None:
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.running_job("g", 2, priority=-5)
    for index in range(2):
        world.change(f"g-{index}", deleting=True)
    world.now += 100
    for index in range(2):
        world.member(f"new-{index}", "g", owner=NEXT_JOB, priority=3)
    world.step()
    [members] = world.engine._groups
    facts = world.engine._groups.facts(members)
    assert (facts.priority, facts.queue_time, facts.members) == (3, world.now, 2)


# ── 2.5 raising and lowering the minimum ─────────────────────────────────────────────────────


def test_2_5_raising_the_minimum_never_makes_the_running_incarnation_incomplete() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.alter("g", minimum=4)
    world.settle(seconds=1000)
    assert world.condition("g")[:2] == (True, "Scheduled")
    assert world.condition("g", "Satisfied")[0] is True
    assert world.status["g"].generation == 2
    again = world.restarted()
    again.settle(seconds=1000)
    assert again.condition("g")[:2] == (True, "Scheduled")
    assert again.evictions == []


def test_2_5_raising_the_minimum_holds_for_the_next_incarnation() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 2)
    world.alter("g", minimum=3)
    for index in range(2):
        world.finish(f"g-{index}")
    for index in range(2):
        world.member(f"new-{index}", "g", owner=NEXT_JOB)
    world.settle()
    assert world.where("new") == {}
    world.member("new-2", "g", owner=NEXT_JOB)
    world.settle()
    assert len(world.where("new")) == 3


def test_2_5_a_started_group_still_grows_one_by_one_when_its_minimum_is_raised() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 2)
    world.alter("g", minimum=4)
    world.member("g-2", "g")
    world.settle()
    assert "g-2" in world.where("g")


def test_2_5_before_the_start_a_raised_minimum_counts() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 2)
    world.settle()
    world.alter("g", minimum=3)
    world.settle()
    assert world.condition("g")[:2] == (False, "WaitingForMembers")


def test_2_5_lowering_works_at_once() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 3)
    world.settle()
    assert world.where("g") == {}
    world.alter("g", minimum=2)
    world.settle()
    assert len(world.where("g")) == 2


def test_2_5_lowering_ends_a_repair_at_once() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    world.lose_node("n3")
    world.settle()
    assert world.condition("g")[1] == "BelowMinimum"
    world.alter("g", minimum=2)
    world.settle()
    assert world.condition("g")[:2] == (True, "Scheduled")
    assert world.condition("g", "Satisfied")[0] is True


# ── 2.6 priority ─────────────────────────────────────────────────────────────────────────────


def test_2_6_the_priority_of_a_group_is_the_lowest_of_its_live_members() -> None:
    world = World()
    world.group("mixed", 2)
    world.member("mixed-0", "mixed", priority=100)
    world.member("mixed-1", "mixed", priority=1)
    world.job("even", 2, priority=5)
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == "even"


def test_2_6_a_member_that_is_not_live_does_not_lower_it() -> None:
    world = World()
    world.group("mixed", 2)
    world.member("mixed-0", "mixed", priority=100)
    world.member("mixed-1", "mixed", priority=100)
    world.member("mixed-2", "mixed", priority=1, deleting=True)
    world.job("even", 2, priority=5)
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == "mixed"


@pytest.mark.parametrize(
    ("value", "raises", "winner"),
    [
        pytest.param(1, False, "other", id="a class lowers it"),
        pytest.param(100, False, "other", id="a class does not raise it"),
        pytest.param(100, True, "classed", id="unless the administrator allows"),
        pytest.param(1, True, "other", id="and then it lowers it as well"),
    ],
)
def test_2_6_a_priority_class_lowers_and_raises_only_where_allowed(
    value: int, raises: bool, winner: str
) -> None:
    world = World(priority_class_raises=raises)
    world.tell(PriorityClassSeen("chosen", value))
    world.job("classed", 2, priority=5, priority_class="chosen")
    world.now -= 10
    world.job("other", 2, priority=6)
    world.now += 10
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == winner


def test_2_6_members_of_two_profiles_of_ours_are_listed_and_none_is_scheduled() -> None:
    profile = next(iter(default_profiles().values()))
    cluster = Cluster(profiles={"enbloc": profile, "second": profile})
    cluster.nodes("n1 n2", cpu=4)
    cluster.group("g", 1)
    cluster.pod("g-0", "g")
    cluster.pod("g-1", "g", scheduler="second")
    cluster.settle(seconds=1000)
    assert cluster.where() == {}
    reason, message = cluster.condition("g")[1:]
    assert reason == "InvalidSpec"
    assert "enbloc, second" in message


def test_2_6_members_of_foreign_schedulers_are_counted_and_named() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 3)
    world.member("g-0", "g")
    world.member("g-1", "g", scheduler="volcano")
    world.member("g-2", "g", scheduler="default-scheduler")
    world.settle()
    assert world.condition("g") == (
        False,
        "WaitingForMembers",
        "1 of 3 members exist (2 more named another schedulerName: default-scheduler, volcano)",
    )


# ── 2.7 order ────────────────────────────────────────────────────────────────────────────────


def test_2_7_priority_goes_before_age() -> None:
    world = World()
    world.job("old", 2)
    world.now += 10
    world.job("urgent", 2, priority=1)
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == "urgent"


def test_2_7_among_equals_a_group_held_in_part_goes_before_an_older_one() -> None:
    world = World()
    world.job("old", 2)
    world.now += 10
    world.nodes("n1", cpu=4)
    world.group("part", 3)
    world.member("part-0", "part", node="n1")
    for index in (1, 2):
        world.member(f"part-{index}", "part")
    world.settle()
    world.nodes("n2 n3", cpu=4)
    world.settle()
    assert len(world.where("part")) == 3
    assert world.where("old") == {}


def test_2_7_but_not_before_one_of_higher_priority() -> None:
    world = World()
    world.job("urgent", 2, priority=1)
    world.nodes("n1", cpu=4)
    world.group("part", 3)
    world.member("part-0", "part", node="n1")
    for index in (1, 2):
        world.member(f"part-{index}", "part")
    world.settle()
    world.nodes("n2 n3", cpu=4)
    world.settle()
    assert len(world.where("urgent")) == 2


def test_2_7_then_the_older_group_then_the_name() -> None:
    world = World()
    world.job("b", 2)
    world.job("a", 2)
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == "a"
    world = World()
    world.job("b", 2)
    world.now += 1
    world.job("a", 2)
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == "b"


def test_2_7_queue_time_is_that_of_the_member_that_completes_the_floor() -> None:
    world = World()
    world.group("late", 2)
    world.member("late-0", "late", created=10.0)
    world.member("late-1", "late", created=30.0)
    world.group("early", 2)
    for index in range(2):
        world.member(f"early-{index}", "early", created=20.0)
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == "early"


def test_2_7_of_a_group_with_successes_fewer_members_complete_it() -> None:
    world = World()
    world.group("g", 3)
    for index in range(2):
        world.member(f"done-{index}", "g", phase=Phase.SUCCEEDED, created=1.0)
    world.member("g-0", "g", created=50.0)
    world.member("g-1", "g", created=90.0)
    world.step()
    [members] = world.engine._groups
    assert world.engine._groups.facts(members).queue_time == 50.0, "k = 3 - 2"


def test_2_7_k_is_at_least_one() -> None:
    world = World()
    world.group("g", 1)
    world.member("done", "g", phase=Phase.SUCCEEDED, created=1.0)
    world.member("g-0", "g", created=50.0)
    world.step()
    [members] = world.engine._groups
    assert world.engine._groups.facts(members).queue_time == 50.0


def test_2_7_it_is_never_the_time_at_which_this_process_saw_it() -> None:
    world = World()
    world.now = 5000.0
    world.group("seen-first", 2)
    for index in range(2):
        world.member(f"first-{index}", "seen-first", created=200.0)
    world.settle()
    world.group("seen-last", 2)
    for index in range(2):
        world.member(f"last-{index}", "seen-last", created=100.0)
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == "last"


def test_2_7_once_known_it_is_kept_for_the_incarnation() -> None:
    world = World()
    world.job("a", 2)
    world.now += 10
    world.job("b", 2)
    world.settle()
    world.now += 10
    world.delete("a-0")
    world.delete("a-1")
    world.group("keeper", 99)
    world.settle()
    world.job("c", 2)
    world.now += 10
    world.delete("b-0")
    world.member("b-9", "b")
    world.settle()
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == "b", "its new member is younger than c, its place is not"


def test_2_7_a_restart_changes_nobody_s_place() -> None:
    world = World()
    world.nodes("n1", cpu=4)
    world.node("n2", cpu=4)
    world.job("g", 2)
    world.settle()
    known = {read_receipt(world.pods[f"g-{i}"].receipt) for i in range(2)}
    assert {each.queue_time for each in known if each} == {1000.0}
    world.now += 500
    world.lose_node("n2")
    world.member("g-9", "g")
    world.now -= 300
    world.job_in_part("rival", "", of=2)
    world.now += 300
    again = world.restarted()
    again.step()
    times = {m.key.name: again.engine._groups.facts(m).queue_time for m in again.engine._groups}
    assert times["g"] == 1000.0, "by the receipt of the member that is left"


@pytest.mark.parametrize("text", ["", "no json", '{"plan": 3}', "[]", '{"plan": "p"', "x" * 5000])
def test_2_7_a_receipt_that_is_missing_or_cannot_be_read_costs_nothing_else(text: str) -> None:
    world = World(sync=False)
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2, memory=Memory("job-1"))
    world.member("g-0", "g", node="n1", receipt=text, created=40.0)
    world.member("g-1", "g", created=60.0)
    world.sync()
    world.settle()
    assert len(world.where("g")) == 2
    [members] = world.engine._groups
    assert members.queue_time == 60.0, "as good as it can be told from the members"
    assert JOB.uid == world.status["g"].incarnation


def test_2_2_bare_pods_that_succeeded_in_an_older_life_do_not_count_after_a_restart() -> None:
    world = World()
    world.nodes("n1", cpu=8)
    world.gang("g", 2)
    world.settle()
    for index in range(2):
        world.finish(f"g-{index}")
    world.settle()
    world.pod("new-0", "g")
    world.settle()
    again = world.restarted()
    again.settle()
    assert again.status["g"].succeeded == 0
    assert again.where("new") == {}


@pytest.mark.parametrize(
    "roles",
    [
        pytest.param([("a", 2), ("b", 1)], id="a role's minimum is raised"),
        pytest.param([("a", 1), ("b", 1), ("c", 1)], id="a role is added"),
    ],
)
def test_2_5_raising_a_role_never_makes_the_running_incarnation_incomplete(
    roles: list[tuple[str, int]],
) -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2, roles=[("a", 1), ("b", 1)])
    world.member("a", "g", role="a")
    world.member("b", "g", role="b")
    world.settle()
    world.run_pods(["a", "b"])
    world.settle()
    world.alter("g", minimum=3, roles=roles)
    world.settle()
    assert world.condition("g")[:2] == (True, "Scheduled")
    again = world.restarted()
    again.settle()
    assert again.condition("g")[:2] == (True, "Scheduled")


def test_2_5_a_role_alone_that_was_raised_leaves_the_running_gang_whole_after_a_restart() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 3, roles=[("worker", 2)])
    for name, role in (("l", "launcher"), ("w-0", "worker"), ("w-1", "worker")):
        world.member(name, "g", role=role)
    world.settle()
    world.run_pods(["l", "w-0", "w-1"])
    world.settle()
    world.alter("g", roles=[("worker", 3)])
    world.settle()
    assert world.condition("g")[:2] == (True, "Scheduled")
    again = world.restarted()
    again.settle()
    assert again.condition("g")[:2] == (True, "Scheduled")


def test_2_7_a_receipt_is_trusted_on_a_bound_member_only() -> None:
    world = World(sync=False)
    world.nodes("n1 n2", cpu=4)
    world.group("honest", 2)
    world.group("cheat", 2)
    forged = receipt("x", "y", 2, 0.0)
    for index in range(2):
        world.member(f"honest-{index}", "honest", created=50.0)
        world.member(f"cheat-{index}", "cheat", created=90.0, receipt=forged)
    world.sync()
    assert world.winner() == "honest"
