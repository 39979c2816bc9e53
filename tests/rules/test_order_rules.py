# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""gangs.md §2.6–2.7: which of two groups goes first."""

import pytest

from enbloc.config import default_profiles
from enbloc.engine.events import PriorityClassSeen
from enbloc.model.groups import Memory
from enbloc.model.pods import Phase
from enbloc.model.receipts import read_receipt, receipt
from tests.engine.cluster import Cluster
from tests.rules.world import JOB, World

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
