# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §4.4: two gangs that need each other's capacity, whatever is seen first."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.effects import Bind
from enbloc.engine.events import BindRefused, SlotsFree
from enbloc.model.binding import RefusalCause
from enbloc.model.groups import OnIncomplete
from enbloc.model.pods import PodKey
from tests.calls import calls_of
from tests.rules.world import JOB, ONE_A_NODE, World
from tests.world.builders import spec

KEEP, RESTART = OnIncomplete.KEEP, OnIncomplete.RESTART

STUCK = "holds capacity it needs, and neither may be evicted"

#: What happens, one after the other; the scheduler comes to rest in between.
Sequence = tuple[str, ...]

ORDERS: dict[str, Sequence] = {
    "cut, loss, replacement": ("cut", "loss", "replacement"),
    "loss, cut, replacement": ("loss", "cut", "replacement"),
    "loss, replacement, cut": ("loss", "replacement", "cut"),
}


def two(
    happens: Sequence, world: World | None = None, *, rest: float = 5.0, **policies: OnIncomplete
) -> World:
    """`old` runs on two nodes, and loses one; `part` was cut short on a third.

    Either could be completed on the nodes that the other has left.
    """
    world = world or World()
    world.nodes("n1 n2", cpu=4)
    policy = policies.get("old", OnIncomplete.REPAIR)
    world.running_job("old", 2, timeout=3600, on_incomplete=policy)

    def cut() -> None:
        world.nodes("n3", cpu=4)
        policy = policies.get("part", OnIncomplete.REPAIR)
        world.job_in_part("part", "n3", of=2, timeout=3600, on_incomplete=policy)

    def loss() -> None:
        world.lose_node(world.where()["old-1"])

    def replacement() -> None:
        world.member("old-9", "old")

    acts: dict[str, Callable[[], None]] = {"cut": cut, "loss": loss, "replacement": replacement}
    for name in happens:
        acts[name]()
        world.settle(seconds=rest)
    return world


@pytest.mark.parametrize("happens", ORDERS.values(), ids=ORDERS.keys())
def test_one_that_may_be_evicted_yields_as_soon_as_the_other_lacks_nothing_but_its_room(
    happens: Sequence,
) -> None:
    """Semantics §4.4."""
    world = two(happens)
    assert world.evictions == ["part-0"]
    assert sorted(world.where("old")) == ["old-0", "old-9"]


@pytest.mark.parametrize("rest", [0.0, 5.0, 500.0])
def test_however_late_its_owner_makes_the_replacement(rest: float) -> None:
    """Semantics §4.4."""
    world = two(("cut", "loss", "replacement"), rest=rest)
    world.settle(seconds=5)
    assert world.evictions == ["part-0"]


@pytest.mark.parametrize("happens", ORDERS.values(), ids=ORDERS.keys())
def test_where_neither_may_be_evicted_each_names_the_other_whatever_was_seen_first(
    happens: Sequence,
) -> None:
    """Semantics §4.4."""
    world = two(happens, part=KEEP)
    world.settle(seconds=86400)
    assert world.evictions == []
    assert f"PodGroup ns/part {STUCK}" in world.condition("old")[2]
    assert f"PodGroup ns/old {STUCK}" in world.condition("part")[2]


def both_wait(**settings: Any) -> World:
    """Neither may be evicted, and each says so."""
    world = two(("cut", "loss", "replacement"), World(**settings), part=KEEP)
    assert all(STUCK in world.condition(name)[2] for name in ("old", "part"))
    return world


def test_it_is_taken_back_when_the_other_is_whole_again() -> None:
    """Semantics §4.4."""
    world = both_wait()
    world.alter("part", minimum=1)
    world.settle()
    assert STUCK not in world.condition("old")[2]


def test_it_is_taken_back_when_the_other_is_gone() -> None:
    """Semantics §4.4."""
    world = both_wait()
    world.node("n4", cpu=1)
    world.pod("x", node="n3", spec=ONE_A_NODE)  # nobody can have the room that it leaves
    for name in ("part-0", "part-1"):
        world.delete(name)
    world.drop_group("part")
    world.settle()
    assert STUCK not in world.condition("old")[2]


def test_it_is_taken_back_when_the_next_attempt_finds_that_the_other_s_room_helps_no_more() -> None:
    """Semantics §4.4."""
    world = both_wait(longest_wait=300.0)
    world.put_node(replace(world.hosts["n3"], allocatable=()))
    world.settle(seconds=301)
    assert STUCK not in world.condition("old")[2]


def test_it_is_taken_back_when_the_replacement_is_deleted() -> None:
    """Semantics §4.4."""
    world = both_wait()
    world.delete("old-9")
    world.settle()
    assert STUCK not in world.condition("old")[2]


def test_when_one_of_them_may_be_evicted_after_all_it_yields_at_once() -> None:
    """Semantics §4.4."""
    world = both_wait()
    world.alter("part", on_incomplete=OnIncomplete.REPAIR)
    world.settle()
    assert world.evictions == ["part-0"]
    assert len(world.where("old")) == 2


def test_one_that_may_be_evicted_once_its_replacements_exist_yields_at_once_then() -> None:
    """Semantics §4.3, §4.4: a started gang with Restart."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("old", 2, timeout=3600, on_incomplete=RESTART)
    world.nodes("n3 n4", cpu=4)
    world.job("part", 2, timeout=3600, on_incomplete=KEEP)
    world.settle()
    for each in ("part", "old"):
        world.lose_node(world.where()[f"{each}-1"])
        world.settle(seconds=5)
    for each in ("part", "old"):
        world.member(f"{each}-9", each)
        world.settle(seconds=5)
    assert world.evictions == ["old-0"]
    assert len(world.where("part")) == 2


def test_a_loss_that_is_seen_while_the_other_is_being_bound_counts_when_that_has_ended() -> None:
    """Semantics §4.4: the burst of the other is cut, and it then has what the first one needs."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("old", 2, timeout=3600)
    world.nodes("n3 n4", cpu=4)
    held: list[Bind] = []

    def answer(bind: Bind) -> str:
        held.append(bind)
        return "hold"

    world.answer = answer
    world.job("part", 2, timeout=3600)
    world.settle()
    world.lose_node(world.where()["old-1"])
    world.member("old-9", "old")
    world.settle(seconds=5)
    first, second = held
    world.confirm(first)
    world.drop_node(second.target.node)
    world.settle(seconds=5)
    world.answer = lambda _: "ok"
    world.tell(
        BindRefused(second.target.plan, second.target.uid, RefusalCause.MEMBER_CHANGED, "gone")
    )
    world.tell(SlotsFree(1))
    world.change(second.target.pod.name, labels=(("changed", "yes"),))
    world.settle(seconds=5)
    assert world.evictions == [first.target.pod.name]
    assert len(world.where("old")) == 2


def test_after_a_restart_of_the_scheduler_the_replacement_may_come_later_as_well() -> None:
    """Semantics §4.4."""
    world = two(("cut", "loss")).restarted()
    world.settle(seconds=30)
    assert world.evictions == []
    world.member("old-9", "old")
    world.settle(seconds=5)
    assert world.evictions == ["part-0"]
    assert len(world.where("old")) == 2


def test_after_a_restart_of_the_scheduler_both_say_again_that_they_wait() -> None:
    """Semantics §4.4."""
    world = both_wait().restarted()
    world.settle(seconds=5)
    assert f"PodGroup ns/part {STUCK}" in world.condition("old")[2]
    assert f"PodGroup ns/old {STUCK}" in world.condition("part")[2]


def test_nobody_yields_to_one_that_was_refused_for_another_reason_than_room() -> None:
    """Semantics §4.4: what a webhook denies, no capacity of others can complete."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.answer = lambda bind: "SCHEDULER_ERROR" if bind.target.pod.name == "early-1" else "ok"
    world.job("early", 2, timeout=3600)
    world.settle()
    world.now += 1
    world.job_in_part("late", "n3", of=3, timeout=3600)
    world.settle(seconds=600)
    assert world.evictions == []


def test_a_budget_that_forbids_it_is_asked_again_although_no_deadline_has_come() -> None:
    """Semantics §4.4, §4.5."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("early", "n1", of=2, timeout=3600)
    world.now += 1
    world.job_in_part("late", "n2", of=2, timeout=3600)
    world.evict_answer = lambda _: "budget"
    world.settle(seconds=5)
    world.evict_answer = lambda _: "ok"
    world.settle(seconds=10)
    assert world.evictions == ["late-0", "late-0"]
    assert len(world.where("early")) == 2


def test_while_a_budget_forbids_it_nobody_else_yields_in_its_place_for_nothing() -> None:
    """Semantics §4.5: an answer that forbids it once more is asked for at its time only."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("early", "n1", of=2, timeout=3600)
    world.now += 1
    world.job_in_part("late", "n2", of=2, timeout=3600)
    world.evict_answer = lambda _: "budget"
    world.settle(seconds=60)
    assert set(world.evictions) == {"late-0"}
    assert len(world.evictions) <= 7


# ── repairs are independent (semantics §4.4) ─────────────────────────────────────────────────────


def two_pairs(answer: str) -> World:
    """Of each pair the later gives way to the earlier, on nodes that only they may use."""
    world = World(schedule_timeout=3600.0)
    world.evict_answer = lambda evict: answer if evict.group.name == "b" else "ok"
    for pair, names in (("red", "ab"), ("blue", "cd")):
        only = replace(ONE_A_NODE, node_selector=(("pair", pair),))
        for name in names:
            world.node(f"n-{name}", cpu=4, labels=(("pair", pair),))
            world.group(name, 2, timeout=3600)
            world.member(f"{name}-0", name, node=f"n-{name}", scheduled_at=world.now, spec=only)
            world.member(f"{name}-1", name, spec=only)
            world.now += 1
    return world


@pytest.mark.parametrize("answer", ["slow", "hold"])
def test_two_that_need_each_other_s_room_wait_for_no_other_eviction(answer: str) -> None:
    """Semantics §4.4: a node is dead, or the API server does not answer."""
    world = two_pairs(answer)
    world.settle(seconds=5)
    assert sorted(world.evictions) == ["b-0", "d-0"]
    assert len(world.where("c")) == 2


@pytest.mark.parametrize("answer", ["slow", "hold"])
def test_a_deadline_waits_for_no_other_eviction(answer: str) -> None:
    """Semantics §4.4."""
    world = World(schedule_timeout=3600.0)
    world.evict_answer = lambda evict: answer if evict.group.name == "b" else "ok"
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("a", "n1", of=5)
    world.job_in_part("b", "n2", of=5)
    world.settle(seconds=65)
    assert world.evictions == ["b-0", "a-0"]


@pytest.mark.parametrize("answer", ["slow", "hold"])
def test_who_waits_for_the_room_of_the_evicted_waits_no_longer_than_their_timeout(
    answer: str,
) -> None:
    """Semantics §4.4: the timeout of the one that yields bounds the wait of the other."""
    world = World(schedule_timeout=3600.0)
    world.evict_answer = lambda evict: answer if evict.group.name == "late" else "ok"
    world.nodes("n1 n2", cpu=4)
    world.job_in_part("early", "n1", of=2, timeout=400)
    world.now += 1
    world.job_in_part("late", "n2", of=2, timeout=90)
    world.settle(seconds=398)
    assert "early-0" not in world.evictions
    world.settle(seconds=92)
    assert "early-0" in world.evictions


@pytest.mark.parametrize("policy", OnIncomplete)
def test_a_failed_attempt_costs_no_more_for_each_pair_of_gangs_in_part(
    policy: OnIncomplete,
) -> None:
    """Semantics §4.4 and §9.1: of many gangs in part, one is tried again."""
    costs: list[int] = []
    for count in (100, 300):
        world = World(log=1, validate=False)
        world.nodes("n1", cpu=5, pods=2 * count)
        for number in range(count):
            world.group(f"g{number}", 2, timeout=3600, on_incomplete=policy)
            world.member(f"held-{number}", f"g{number}", node="n1", spec=spec(cpu="1m"))
            world.member(f"lost-{number}", f"g{number}", spec=spec(cpu=5))
        world.settle()
        world.delete("lost-7")
        world.member("again-7", "g7", spec=spec(cpu=5))
        costs.append(calls_of(world.step))
        assert world.evictions == []
    assert costs[1] <= 3.5 * costs[0]


# ── capacity that others have reserved (semantics §4.4, §5.1) ────────────────────────────────────


def test_nobody_yields_for_capacity_that_is_reserved_for_others() -> None:
    """Semantics §4.4, §5.1: all that is free is reserved for `a`, and `y` holds too little."""
    world = World()
    world.nodes("n1 n4", cpu=4)
    world.group("a", 1, min_resources=(("cpu", 8000),), timeout=6000)
    world.member("a-0", "a", priority=10)
    world.settle()
    world.run_pods(["a-0"])
    world.nodes("n3 n5", cpu=1)
    world.group("y", 2, timeout=6000, on_incomplete=RESTART)
    for at, node in enumerate(("n3", "n5")):
        world.pod(f"y-{at}", "y", node=node, scheduled_at=world.now, owner=JOB, spec=spec(cpu=1))
    world.settle()
    world.run_pods(["y-0", "y-1"])
    world.settle()
    world.nodes("n2", cpu=4)
    world.group("w", 2, timeout=6000)
    world.pod("w-0", "w", node="n2", scheduled_at=world.now, owner=JOB, spec=ONE_A_NODE, priority=1)
    world.member("w-1", "w", priority=1)
    world.settle(seconds=5)
    world.lose_node("n5")
    world.settle(seconds=5)
    world.member("y-9", "y", spec=spec(cpu=1))
    world.settle(seconds=20)
    assert world.evictions == []


def test_what_is_reserved_for_the_one_that_yields_keeps_the_other_out_no_longer() -> None:
    """Semantics §4.4, §5.1: only the earlier of two may be evicted, and it reserves capacity."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("late", 2, timeout=3600)
    world.nodes("n3 n4", cpu=4)
    world.group("early", 2, min_resources=(("cpu", 8000),), timeout=3600)
    for at, node in enumerate(("n3", "")):
        when = world.now if node else None
        world.member(
            f"early-{at}", "early", node=node, scheduled_at=when, priority=5, preempts=False
        )
    world.pod("x", node="n4", spec=ONE_A_NODE, priority=9)
    world.settle(seconds=5)
    world.lose_node(world.where()["late-1"])
    world.member("late-9", "late")
    world.settle(seconds=5)
    assert world.evictions == ["early-0"]
    assert len(world.where("late")) == 2


def test_nobody_yields_to_one_that_needs_the_capacity_of_others_no_longer() -> None:
    """Semantics §4.4: a node came, but Bindings of its namespace have to be answered first."""
    world = World(slots=32, validate=False)
    world.answer = lambda bind: "hold" if bind.target.pod.namespace == "tenant" else "ok"
    world.nodes("n2", cpu=4)
    world.their_group("w", 2, timeout=3600)
    world.theirs("w-0", "w", node="n2", scheduled_at=world.now)
    world.theirs("w-1", "w")
    world.settle()
    world.now += 1
    world.nodes(" ".join(f"s{number}" for number in range(80)), cpu=3)
    for number in range(120):
        world.pod(f"p{number}", key=PodKey("tenant", f"p{number}"))
    world.pod("q")
    world.settle()
    world.nodes("n4 n5", cpu=4)
    world.job_in_part("y", "n5", of=3, timeout=3600)
    world.settle(seconds=1)
    assert world.evictions == []
    world.answer = lambda _: "ok"
    for bind in world.sent:
        if bind.target.pod.namespace == "tenant":
            world.confirm(bind)
    world.settle()
    assert world.where("w") == {"w-0": "n2", "w-1": "n4"}
