# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §2.6 to §2.7: which of two groups goes first."""

import pytest

from enbloc.config import default_profiles
from enbloc.engine.engine import MOST_REVIEWS
from enbloc.engine.events import PriorityClassSeen
from enbloc.model.binding_record import binding_record, read_binding_record
from enbloc.model.groups import GroupMemory, RunMemory
from enbloc.model.pods import Phase
from tests.rules.world import JOB, World
from tests.world.builders import spec
from tests.world.cluster import Cluster

# ── priority (semantics §2.6) ────────────────────────────────────────────────────────────────────

#: On a member that a Binding of ours placed.
OURS = binding_record("p-1", "job-1", 3, 1000.0)


def test_the_priority_of_a_group_is_the_lowest_of_its_live_members() -> None:
    """Semantics §2.6."""
    world = World()
    world.group("mixed", 2)
    world.member("mixed-0", "mixed", priority=100)
    world.member("mixed-1", "mixed", priority=1)
    world.job("even", 2, priority=5)
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == "even"


def test_a_member_that_is_not_live_does_not_lower_the_priority_of_its_group() -> None:
    """Semantics §2.6."""
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
def test_a_priority_class_lowers_and_raises_only_where_allowed(
    value: int, raises: bool, winner: str
) -> None:
    """Semantics §2.6."""
    world = World(priority_class_raises=raises)
    world.tell(PriorityClassSeen("chosen", value))
    world.job("classed", 2, priority=5, priority_class="chosen")
    world.now -= 10
    world.job("other", 2, priority=6)
    world.now += 10
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == winner


def test_members_of_two_profiles_of_ours_are_listed_and_none_is_scheduled() -> None:
    """Semantics §2.6."""
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


def test_members_of_foreign_schedulers_are_counted_and_named() -> None:
    """Semantics §2.6."""
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
        "1 of 3 members exist (2 more with another schedulerName: default-scheduler, volcano)",
    )


# ── order (semantics §2.7) ───────────────────────────────────────────────────────────────────────


def test_priority_goes_before_age() -> None:
    """Semantics §2.7."""
    world = World()
    world.job("old", 2)
    world.now += 10
    world.job("urgent", 2, priority=1)
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == "urgent"


def test_among_equals_a_group_held_in_part_goes_before_an_older_one() -> None:
    """Semantics §2.7."""
    world = _one_of_three_is_bound("p-1")
    world.nodes("n2 n3", cpu=4)
    world.settle()
    assert len(world.where("part")) == 3
    assert world.where("old") == {}


def test_a_binding_record_of_which_status_knows_nothing_lets_nobody_go_first() -> None:
    """Semantics §2.7: anybody can write one."""
    world = _one_of_three_is_bound("")
    world.nodes("n2 n3", cpu=4)
    world.settle()
    assert len(world.where("old")) == 2


def _one_of_three_is_bound(plan: str) -> World:
    """What a new process finds; `plan` is what status knows of, "" = of none."""
    world = World(sync=False)
    world.job("old", 2)
    world.now += 10
    world.nodes("n1", cpu=4)
    world.group("part", 3, memory=GroupMemory("job-1", runs=(RunMemory("job-1", plan=plan),)))
    world.member("part-0", "part", node="n1", binding_record=OURS)
    for index in (1, 2):
        world.member(f"part-{index}", "part")
    world.sync()
    world.settle()
    return world


def test_a_member_that_somebody_else_bound_does_not_let_its_group_go_first() -> None:
    """Semantics §2.7."""
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
    assert len(world.where("old")) == 2


def _all_reserved_for_an_application() -> World:
    """One member of "app" runs, and what else there is, is reserved for it."""
    world = World()
    world.nodes("n1", cpu=6)
    world.group("app", 1, min_resources=(("cpu", 6000),))
    world.member("app-0", "app", spec=spec(cpu=1))
    world.settle()
    world.now += 10
    return world


def test_a_member_that_somebody_else_bound_does_not_take_reserved_capacity() -> None:
    """Semantics §5.1: what minResources reserves is kept from those ordered later."""
    world = _all_reserved_for_an_application()
    world.group("late", 2)
    world.member("late-0", "late", spec=spec(cpu=1), node="n1")
    world.member("late-1", "late", spec=spec(cpu=1))
    world.settle()
    assert list(world.where("late")) == ["late-0"]


def test_a_podgroup_that_wants_nothing_reserved_any_more_gives_it_up_at_once() -> None:
    """Semantics §5.1: a reservation is what is left of minResources."""
    world = _all_reserved_for_an_application()
    world.group("late", 1)
    world.member("late-0", "late", spec=spec(cpu=1))
    world.settle()
    assert world.where("late") == {}
    world.alter("app", min_resources=())
    world.settle()
    assert list(world.where("late")) == ["late-0"]


def test_a_group_held_in_part_does_not_go_before_one_of_higher_priority() -> None:
    """Semantics §2.7."""
    world = World()
    world.job("urgent", 2, priority=1)
    world.nodes("n1", cpu=4)
    world.group("part", 3)
    world.member("part-0", "part", node="n1", binding_record=OURS)
    for index in (1, 2):
        world.member(f"part-{index}", "part")
    world.settle()
    world.nodes("n2 n3", cpu=4)
    world.settle()
    assert len(world.where("urgent")) == 2


def test_after_priority_the_older_group_goes_first_then_the_name() -> None:
    """Semantics §2.7."""
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


def test_queue_time_is_that_of_the_member_that_completes_the_floor() -> None:
    """Semantics §2.7."""
    world = World()
    world.group("late", 2)
    world.member("late-0", "late", created=10.0)
    world.member("late-1", "late", created=30.0)
    world.group("early", 2)
    for index in range(2):
        world.member(f"early-{index}", "early", created=20.0)
    world.nodes("n1 n2", cpu=4)
    assert world.winner() == "early"


def test_of_a_group_with_successes_fewer_members_complete_it() -> None:
    """Semantics §2.7."""
    world = World()
    world.group("g", 3)
    for index in range(2):
        world.member(f"done-{index}", "g", phase=Phase.SUCCEEDED, created=1.0)
    world.member("g-0", "g", created=50.0)
    world.member("g-1", "g", created=90.0)
    world.step()
    [members] = world.engine._groups
    assert world.engine._groups.facts(members).queue_time == 50.0, "k = 3 - 2"


def test_queue_time_counts_one_member_at_least() -> None:
    """Semantics §2.7."""
    world = World()
    world.group("g", 1)
    world.member("done", "g", phase=Phase.SUCCEEDED, created=1.0)
    world.member("g-0", "g", created=50.0)
    world.step()
    [members] = world.engine._groups
    assert world.engine._groups.facts(members).queue_time == 50.0


def test_queue_time_is_never_the_time_at_which_this_process_saw_a_pod() -> None:
    """Semantics §2.7."""
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


def test_queue_time_once_known_is_kept_for_the_run() -> None:
    """Semantics §2.7."""
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


def test_a_restart_changes_nobody_s_place() -> None:
    """Semantics §2.7."""
    world = World()
    world.nodes("n1", cpu=4)
    world.node("n2", cpu=4)
    world.job("g", 2)
    world.settle()
    known = {read_binding_record(world.pods[f"g-{i}"].binding_record) for i in range(2)}
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
    assert times["g"] == 1000.0, "by the binding record of the member that is left"


@pytest.mark.parametrize("text", ["", "no json", '{"plan": 3}', "[]", '{"plan": "p"', "x" * 5000])
def test_a_binding_record_that_is_missing_or_cannot_be_read_costs_nothing_else(text: str) -> None:
    """Semantics §2.7."""
    world = World(sync=False)
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2, memory=GroupMemory("job-1"))
    world.member("g-0", "g", node="n1", binding_record=text, created=40.0)
    world.member("g-1", "g", created=60.0)
    world.sync()
    world.settle()
    assert len(world.where("g")) == 2
    [members] = world.engine._groups
    assert members.queue_time == 60.0, "as good as it can be told from the members"
    assert JOB.uid == world.status["g"].run_name


def test_a_binding_record_is_trusted_on_a_bound_member_only() -> None:
    """Semantics §2.7."""
    world = World(sync=False)
    world.nodes("n1 n2", cpu=4)
    world.group("honest", 2)
    world.group("cheat", 2)
    forged = binding_record("x", "y", 2, 0.0)
    for index in range(2):
        world.member(f"honest-{index}", "honest", created=50.0)
        world.member(f"cheat-{index}", "cheat", created=90.0, binding_record=forged)
    world.sync()
    assert world.winner() == "honest"


# ── pauses (semantics §2.7) ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("alike", [0, 200])
def test_a_pause_lets_nobody_take_capacity_who_is_ordered_later(alike: int) -> None:
    """Semantics §2.7: a pod that backs off goes before a younger gang of a lower priority."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    for number in range(4):
        cluster.pod(f"load-{number}", scheduler="other", node="n1", spec=spec(cpu=1), priority=5000)
    for number in range(alike):  # none of them ever fits, and they are refused as one
        cluster.pod(f"large-{number}", spec=spec(cpu=5), priority=2000)
    cluster.pod("urgent", spec=spec(cpu=4), priority=1000)
    cluster.gang("g", 4)
    for number in range(4):
        cluster.settle()
        cluster.now += 0.1
        cluster.delete(f"load-{number}")
    cluster.settle()
    assert cluster.bound_order == ["urgent"]


def test_who_waits_out_an_error_is_overtaken() -> None:
    """Semantics §2.7: only pauses for lack of capacity are cut short."""
    cluster = Cluster()
    cluster.answer = lambda bind: "SCHEDULER_ERROR" if bind.target.pod.name == "denied" else "ok"
    cluster.nodes("n1", cpu=2)
    cluster.pod("denied", priority=1000)
    cluster.settle()
    sent = len(cluster.sent)
    cluster.gang("g", 2)
    cluster.settle()
    assert [bind.target.pod.name for bind in cluster.sent[sent:]] == ["g-0", "g-1"]


def test_of_more_gangs_than_one_turn_looks_at_the_first_in_order_is_decided_first() -> None:
    """Semantics §9.1."""
    world = World()
    world.nodes("n1", cpu=4)
    for number in range(MOST_REVIEWS + 20):
        world.job(f"g{number}", 1, priority=number)
    world.settle()
    assert [*world.where()] == [f"g{MOST_REVIEWS + 19}-0"]
    assert world.evictions == []
