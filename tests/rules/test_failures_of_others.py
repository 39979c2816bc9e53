# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Failures that other gang schedulers had, each by the name of its issue."""

import pytest

from enbloc.engine.events import GroupSeen, SlotsFree
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Phase, PodKey
from tests.rules.world import NEXT_JOB, ONE_A_NODE, World
from tests.world.builders import group, spec
from tests.world.cluster import Cluster

# ── scheduler-plugins ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("changed", ["g-0", "g-1", "g-2"])
def test_scheduler_plugins_930_no_race_releases_half_a_group(changed: str) -> None:
    world = World(slots=0)
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 3)
    world.settle()
    world.change(changed, gates=("hold",))
    world.tell(SlotsFree(32))
    world.settle()
    assert world.where("g") == {}
    world.change(changed, gates=())
    world.settle()
    assert len(world.where("g")) == 3


def test_scheduler_plugins_397_pods_before_their_podgroup_cost_no_delay() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    for index in range(3):
        world.member(f"g-{index}", "g")
    world.settle(seconds=600)
    assert world.sent == []
    world.group("g", 3)
    world.settle()
    assert len(world.where("g")) == 3, "without any time having passed"


def test_scheduler_plugins_397_nor_do_members_that_trickle_in() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 3)
    for index in range(3):
        world.settle(seconds=100)
        assert world.sent == []
        world.member(f"g-{index}", "g")
    world.settle()
    assert len(world.where("g")) == 3


@pytest.mark.parametrize("order", ["abab", "aabb", "abba"])
def test_scheduler_plugins_713_and_114_interleaved_groups_hold_no_nodes(order: str) -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("a", 2)
    world.group("b", 2)
    for index, name in enumerate(order):
        world.member(f"{name}-{index}", name)
        world.settle()
        world.now += 1
    world.settle()
    sizes = sorted((len(world.where("a")), len(world.where("b"))))
    assert sizes == [0, 2], "one runs, the other holds nothing"
    world.pod("small", spec=ONE_A_NODE)
    world.settle()
    assert len(world.where("small")) == 1, "what the waiting one cannot use is anybody's"


def test_scheduler_plugins_682_a_stream_of_events_does_not_keep_a_hopeless_gang_busy() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.pod("x", node="n2", spec=ONE_A_NODE)
    for index in range(30):
        world.pod(f"e-{index}", node="n1", scheduler="other", spec=spec(cpu=0))
    world.job("g", 2)
    world.settle()
    attempts = world.attempts("g")
    for index in range(30):
        world.delete(f"e-{index}")
        world.pod(f"busy-{index}", spec=spec(cpu=0))
        world.pod(f"busier-{index}", spec=spec(cpu=0))
        world.step()
    assert world.attempts("g") - attempts <= 3, "three hints, then the pause"
    world.settle(seconds=30)
    world.delete("x")
    world.settle()
    assert len(world.where("g")) == 2


def test_scheduler_plugins_874_a_gang_that_waits_blocks_nobody_behind_it() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("large", 3)
    world.settle()
    world.now += 1
    world.job("small", 2)
    world.settle()
    assert len(world.where("small")) == 2


# ── Volcano ──────────────────────────────────────────────────────────────────────────────────


def test_volcano_5022_nobody_is_evicted_for_a_gang_that_cannot_be_placed_anyway() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("late", "n2", of=2)
    world.now -= 10
    world.job_in_part("early", "n1", of=4)
    world.now += 10
    world.settle(seconds=5)
    assert world.evictions == [], "with the other's room it would still lack a node"


def test_volcano_5022_higher_priority_evicts_a_gang_whole_or_not_at_all() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("low", 2)
    world.running_job("other", 1)
    world.job("urgent", 1, priority=1000)
    world.settle(seconds=60)
    assert world.evictions == ["other-0"]
    assert len(world.where("low")) == 2


def test_volcano_5131_a_gang_stuck_at_all_but_one_gives_up_or_is_completed() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.job_in_part("a", "n1", of=2)
    world.job_in_part("b", "n2", of=2)
    world.pod("x", node="n3", spec=ONE_A_NODE)
    world.settle(seconds=61)
    assert len(world.where("a")) == 2
    assert world.where("b") == {}


def test_volcano_5131_one_missing_member_alone_is_enough_to_hold_everything_back() -> None:
    world = World()
    world.nodes(" ".join(f"n{index}" for index in range(7)), cpu=4)
    world.job("g", 8)
    world.settle(seconds=3600)
    assert world.where("g") == {}
    world.node("n7", cpu=4)
    world.settle()
    assert len(world.where("g")) == 8


def test_volcano_5805_a_gang_below_its_minimum_heals() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 3)
    world.finish("g-1", Phase.FAILED)
    world.settle()
    assert world.condition("g")[1] == "BelowMinimum"
    world.member("g-3", "g")
    world.settle()
    world.run_pods(["g-3"])
    world.settle()
    assert world.condition("g", "Satisfied")[0] is True


def test_volcano_4802_a_role_that_is_removed_is_not_required_any_more() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2, roles=[("launcher", 1), ("worker", 1)])
    for index in range(2):
        world.member(f"w-{index}", "g", role="worker")
    world.settle()
    assert world.where() == {}
    world.alter("g", roles=[("worker", 1)])
    world.settle()
    assert len(world.where()) == 2


def test_volcano_2633_a_finished_gang_holds_no_min_resources() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 1, min_resources=(("cpu", 8000),), timeout=6000)
    world.settle()
    world.job("next", 2)
    world.settle()
    assert world.where("next") == {}
    world.finish("g-0")
    world.settle()
    assert len(world.where("next")) == 2


# ── Koordinator, KAI ─────────────────────────────────────────────────────────────────────────


def test_koordinator_872_groups_that_come_in_turns_do_not_deadlock() -> None:
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    for name in "abcd":
        world.group(name, 2)
    for member, name in enumerate("acbdacbd"):
        world.member(f"{name}-{member}", name)
        world.settle()
    for done in (0, 4):
        running = [name for name, pod in world.pods.items() if pod.bound]
        assert len(world.where()) == done + 4
        assert len(running) == 4
        for name in running:
            world.finish(name)
        world.settle()
    assert all(pod.finished for pod in world.pods.values())


def test_kai_2075_a_doomed_bind_does_not_win_every_cycle() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.answer = lambda bind: (
        "SCHEDULER_ERROR" if bind.target.pod.name.startswith("doomed") else "ok"
    )
    world.job("doomed", 1, priority=100)
    world.now += 1
    for index in range(2):
        world.job(f"good{index}", 1)
    world.settle()
    assert len(world.where("good")) == 2
    world.settle(seconds=600)
    assert len(world.sent) < 80, "it pauses longer each time"


@pytest.mark.parametrize("answer", ["MEMBER_CHANGED", "SCHEDULER_ERROR"])
def test_kai_2075_a_bind_that_is_always_refused_floods_nobody(answer: str) -> None:
    world = World()
    world.nodes("n1", cpu=8)
    world.answer = lambda _: answer
    world.gang("g", 2)
    world.settle(seconds=60)
    assert len(world.sent) <= 40


def test_kai_2075_a_member_that_changed_is_planned_again_once_the_watch_shows_it() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.answer = lambda _: "MEMBER_CHANGED"
    world.job("g", 2)
    world.settle()
    world.answer = lambda _: "ok"
    for index in range(2):
        world.delete(f"g-{index}")
        world.member(f"h-{index}", "g")
    world.settle()
    assert len(world.where("h")) == 2, "at once"


# ── seen in several ──────────────────────────────────────────────────────────────────────────


def _elsewhere(world: World, name: str, group: GroupKey) -> None:
    world.pod(name, group=None, key=PodKey("elsewhere", name), spec=ONE_A_NODE)
    world.change(name, group=group)


def test_same_named_groups_in_two_namespaces_are_two_groups() -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    other = GroupKey("elsewhere", "g")
    world.group("g", 2)
    world.tell(GroupSeen(group("g", 2, key=other, uid="another")))
    world.member("here", "g")
    _elsewhere(world, "there-0", other)
    world.settle()
    assert world.where() == {}, "one member each"
    _elsewhere(world, "there-1", other)
    world.settle()
    assert sorted(world.where()) == ["there-0", "there-1"]


@pytest.mark.parametrize(
    "dead",
    [
        pytest.param({"phase": Phase.FAILED, "node": "n1"}, id="failed"),
        pytest.param({"deleting": True}, id="terminating"),
        pytest.param({"deleting": True, "node": "n1"}, id="terminating on its node"),
    ],
)
def test_failed_or_terminating_pods_do_not_count_for_quorum(dead: dict[str, object]) -> None:
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 2)
    world.member("dead", "g", **dead)
    world.member("g-0", "g")
    world.settle()
    assert world.where("g-") == {}
    assert world.condition("g")[2] == "1 of 2 members exist"


def test_a_late_podgroup_is_seen_at_once() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    for index in range(2):
        world.member(f"g-{index}", "g")
    world.settle(seconds=60)
    assert len(world.events("PodGroupNotFound")) == 2
    world.group("g", 2)
    world.settle()
    assert len(world.where("g")) == 2


def test_the_minimum_lowered_in_mid_cycle_counts_at_once() -> None:
    world = World(slots=0)
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 3)
    world.settle()
    world.drop_node("n3")
    world.alter("g", minimum=2)
    world.tell(SlotsFree(32))
    world.settle()
    assert len(world.where("g")) == 2


def test_the_minimum_lowered_while_a_group_is_being_bound_completes_it() -> None:
    world = World(slots=1)
    world.nodes("n1 n2 n3", cpu=4)
    world.answer = lambda _: "hold"
    world.job("g", 3)
    world.settle()
    world.alter("g", minimum=1)
    world.answer = lambda _: "ok"
    world.confirm(world.sent[0])
    world.settle()
    assert len(world.where("g")) == 3
    assert world.condition("g")[:2] == (True, "Scheduled")
    assert world.status["g"].generation == 2


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_a_restart_while_a_group_is_being_bound_completes_it(bound: int) -> None:
    world = World(slots=bound)
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.answer = lambda _: "hold"
    world.job("g", 4)
    world.settle()
    for bind in world.sent[:bound]:
        world.confirm(bind)
    again = world.restarted()
    again.job("rival", 4, priority=0)
    again.settle()
    assert len(again.where("g")) == 4
    assert again.where("rival") == {}
    assert {pod: again.pods[pod].uid for pod in again.where("g")} == {
        pod: world.pods[pod].uid for pod in world.where("g") | again.where("g")
    }


def test_a_restart_while_a_gang_gives_its_room_back_loses_nothing() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("g", "n1 n2", of=3)
    world.evict_answer = lambda evict: "slow" if evict.pod.name == "g-0" else "hold"
    world.settle(seconds=61)
    assert world.evictions == ["g-0", "g-1"]
    again = world.restarted()
    again.settle()
    assert again.evictions == ["g-1"], "the one that does not leave yet"


def test_a_job_that_is_restarted_while_the_scheduler_is_down_is_a_new_run() -> None:
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.finish("g-0")
    world.settle()
    for name in ("g-0", "g-1"):
        world.delete(name)
    world.member("h-0", "g", owner=NEXT_JOB)
    again = world.restarted()
    again.settle()
    assert again.where() == {}
    assert again.condition("g")[2] == "1 of 2 members exist"


def test_a_group_is_never_bound_twice_by_two_processes() -> None:
    cluster = Cluster(slots=1)
    cluster.nodes("n1", cpu=4)
    cluster.answer = lambda _: "hold"
    cluster.gang("g", 2)
    cluster.settle()
    [bind] = cluster.sent
    cluster.change(bind.target.pod.name, node="n1")
    cluster.settle()
    assert [b.target.pod.name for b in cluster.sent].count(bind.target.pod.name) == 1
