# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §4.6: a gang that releases its capacity for the same cause again waits longer."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from enbloc.engine.effects import Bind, Evict
from enbloc.model.pods import Owner, Phase
from enbloc.model.topology import TopologyRequest
from tests.rules.world import JOB, NEXT_JOB, ONE_A_NODE, World
from tests.world.builders import spec


class Recreated(World):
    """Owners create every member again that is deleted, as another pod, at once.

    Attributes:
        denied: members whose names begin so are denied by a webhook; "" = none.
        evicted_at: when each gang was evicted.
        owner: of those that are created again.
        template: their spec.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.denied = ""
        self.evicted_at: list[float] = []
        self.owner: Owner = JOB
        self.template = ONE_A_NODE
        self.answer = self._admit

    def _admit(self, bind: Bind) -> str:
        denied = self.denied and bind.target.pod.name.startswith(self.denied)
        return "SCHEDULER_ERROR" if denied else "ok"

    def step(self) -> list[Any]:
        effects = super().step()
        if any(isinstance(effect, Evict) for effect in effects):
            self.evicted_at.append(self.now)
        return effects

    def delete(self, name: str) -> None:
        pod = self.pods[name]
        super().delete(name)
        if pod.group is not None:
            self.member(name, pod.group.name, owner=self.owner, spec=self.template)

    def recreate(self, name: str, **of: Any) -> None:
        """Somebody deletes a member, and its owner makes another."""
        pod = self.pods[name]
        World.delete(self, name)
        assert pod.group is not None
        self.member(name, pod.group.name, **of)


def denied_job(members: int = 8, **settings: Any) -> Recreated:
    """A webhook denies the last member of a gang, always; there is room for all."""
    world = Recreated(**settings)
    world.nodes(" ".join(f"n{index}" for index in range(members)), cpu=4)
    world.denied = f"g-{members - 1}"
    world.job("g", members)
    return world


def rejected_job() -> Recreated:
    """The gang is cut at its second member, again and again: each time its node goes."""
    world = Recreated()
    world.node("n1", cpu=4)
    world.job("g", 2)
    return world


def cut(world: Recreated) -> None:
    """Room for the second member appears and, once it is bound there, is gone."""
    node = f"gone-{world.now}"  # a node that blamed itself before would be avoided
    world.node(node, cpu=4)
    world.settle()
    world.drop_node(node)
    [lost] = [name for name, where in world.where("g").items() if where == node]
    world.delete(lost)
    world.settle()


# ── how long (semantics §4.6) ────────────────────────────────────────────────────────────────────


def test_a_member_that_a_webhook_always_denies_does_not_kill_its_siblings_every_minute() -> None:
    """Semantics §4.6."""
    world = denied_job()
    world.settle(seconds=3600)
    assert len(world.evictions) <= 7 * 6
    world.settle(seconds=86400)
    assert len(world.evictions) <= 7 * (6 + 25)


def test_each_pause_is_twice_as_long_as_the_one_before_up_to_an_hour() -> None:
    """Semantics §4.6: the first time the group queues again at once."""
    world = denied_job(2)
    world.settle(seconds=30_000)
    waits = [round(later - sooner - 60, -1) for sooner, later in pairwise(world.evicted_at)]
    assert waits[:8] == [0, 120, 240, 480, 960, 1920, 3600, 3600]


def test_no_sibling_is_bound_during_the_pause() -> None:
    """Semantics §4.6: they would only be bound to be evicted."""
    world = denied_job()
    world.settle(seconds=125)
    assert len(world.evicted_at) == 2
    sent = len(world.sent)
    world.settle(seconds=110)
    assert len(world.sent) == sent
    assert world.where("g") == {}
    world.settle(seconds=20)
    assert len(world.where("g")) == 7


def test_the_condition_says_why_and_until_when() -> None:
    """Semantics §4.6."""
    world = denied_job()
    world.settle(seconds=130)
    status, reason, message = world.condition("g")
    assert (status, reason) == (False, "SchedulerError")
    assert message.startswith("evicted at the deadline 2 times in a row")
    assert message.endswith("binding rejected: scheduler_error")
    assert world.status["g"].next_attempt == pytest.approx(world.evicted_at[-1] + 120)


def test_once_nothing_is_denied_any_more_the_gang_is_bound_after_the_pause() -> None:
    """Semantics §4.6."""
    world = denied_job()
    world.settle(seconds=130)
    world.denied = ""
    world.settle(seconds=120)
    assert len(world.where("g")) == 8


# ── when it ends early (semantics §4.6) ──────────────────────────────────────────────────────────


def test_a_change_of_the_podgroup_s_spec_ends_the_pause() -> None:
    """Semantics §4.6."""
    world = denied_job()
    world.settle(seconds=130)
    world.denied = ""
    world.settle()
    assert world.where("g") == {}
    world.alter("g", minimum=7)
    world.settle()
    assert len(world.where("g")) == 8


def test_a_member_with_another_spec_ends_the_pause() -> None:
    """Semantics §4.6."""
    world = denied_job()
    world.settle(seconds=130)
    world.denied = ""
    world.recreate("g-7", spec=spec(cpu=3))
    world.settle()
    assert len(world.where("g")) == 8


@pytest.mark.parametrize("owner", ["job-1", "job-2"])
def test_members_that_are_created_again_as_they_were_do_not_end_it(owner: str) -> None:
    """Semantics §4.6: an eviction may make the owner begin another run of the group."""
    world = denied_job()
    world.settle(seconds=130)
    for index in range(8):
        world.recreate(f"g-{index}", owner=replace(JOB, uid=owner))
    world.settle(seconds=60)
    assert world.where("g") == {}


def test_a_group_that_has_run_begins_anew() -> None:
    """Semantics §4.6."""
    world = denied_job(2)
    world.settle(seconds=130)
    world.denied = ""
    world.settle(seconds=120)
    world.run_pods(["g-0", "g-1"])
    world.settle()
    for name in ("g-0", "g-1"):
        World.delete(world, name)
    world.denied = "g-1"
    world.owner = NEXT_JOB
    for name in ("g-0", "g-1"):
        world.member(name, "g", owner=NEXT_JOB)
    world.settle(seconds=130)
    assert len(world.evicted_at) == 4, "the first of this run, and one at once after it"


def test_a_podgroup_that_was_deleted_is_forgotten() -> None:
    """Semantics §4.6."""
    world = denied_job(2)
    world.settle(seconds=130)
    world.drop_group("g")
    for name in ("g-0", "g-1"):
        World.delete(world, name)
    world.settle()
    world.job("g", 2)
    world.settle()
    assert len(world.where("g")) == 1


@pytest.mark.parametrize("seen", [True, False])
def test_a_podgroup_that_was_made_again_before_its_pods_were_gone_begins_anew(
    *, seen: bool
) -> None:
    """Semantics §4.6: whether or not anything was decided in between."""
    world = denied_job(2)
    world.settle(seconds=130)
    world.denied = ""
    world.drop_group("g")
    if seen:
        world.settle()
    world.group("g", 2, timeout=60, uid="pg-g-again")
    world.settle()
    for name in ("g-0", "g-1"):
        World.delete(world, name)
    world.settle()
    for name in ("g-0", "g-1"):
        world.member(name, "g", owner=NEXT_JOB)
    world.settle(seconds=5)
    assert len(world.where("g")) == 2


def test_another_cause_begins_anew() -> None:
    """Semantics §4.6: lack of capacity is not what a webhook denies."""
    world = denied_job(2)
    world.settle(seconds=250)  # two releases, and a pause that is over
    assert len(world.where("g")) == 1
    [free] = {"n0", "n1"} - set(world.where("g").values())
    world.pod("x", node=free, spec=ONE_A_NODE)
    world.settle(seconds=70)
    assert len(world.evicted_at) == 3
    World.delete(world, "x")
    world.settle(seconds=1)
    assert len(world.where("g")) == 1, "it is tried as soon as there is room"


def test_another_scheduler_process_begins_anew() -> None:
    """Semantics §4.6."""
    world = denied_job(2)
    world.settle(seconds=130)
    again = world.restarted()
    again.settle()
    assert len(again.sent) > 0


def test_a_budget_that_delays_an_eviction_does_not_count_it_twice() -> None:
    """Semantics §4.6."""
    world = denied_job(2)
    world.evict_answer = lambda _: "budget"
    world.settle(seconds=105)
    assert len(world.evicted_at) > 2
    world.evict_answer = lambda _: "ok"
    world.settle(seconds=15)
    assert len(world.where("g")) == 1, "it was released once, and queues again at once"


# ── lack of capacity, and the order (semantics §4.6, §2.7) ───────────────────────────────────────


def lacking() -> Recreated:
    """A gang was evicted at its deadline twice, for lack of capacity; now there is room."""
    world = rejected_job()
    for _ in range(2):
        cut(world)
        world.settle(seconds=65)
    assert len(world.evicted_at) == 2
    assert world.where("g") == {}
    return world


def test_the_first_time_it_is_placed_as_soon_as_there_is_room() -> None:
    """Semantics §4.3, §4.6."""
    world = rejected_job()
    cut(world)
    world.settle(seconds=65)
    world.node("n2", cpu=4)
    world.settle()
    assert len(world.where("g")) == 2


def test_the_second_time_it_waits_although_there_is_room() -> None:
    """Semantics §4.6."""
    world = lacking()
    world.node("n2", cpu=4)
    world.settle()
    assert world.where("g") == {}
    assert world.condition("g")[:2] == (False, "TimedOut")
    assert world.status["g"].next_attempt == pytest.approx(world.evicted_at[-1] + 120)
    world.settle(seconds=120)
    assert len(world.where("g")) == 2


def test_a_change_of_the_spec_that_no_plan_depends_on_ends_it_as_well() -> None:
    """Semantics §4.6."""
    world = lacking()
    world.node("n2", cpu=4)
    world.settle()
    assert world.where("g") == {}
    world.alter("g", timeout=61)
    world.settle()
    assert len(world.where("g")) == 2


def test_a_podgroup_that_was_made_again_has_the_room_that_its_pods_waited_for() -> None:
    """Semantics §4.6."""
    world = lacking()
    world.node("n2", cpu=4)
    world.settle()
    assert world.where("g") == {}
    world.drop_group("g")
    world.group("g", 2, timeout=60, uid="pg-g-again")
    world.settle()
    assert len(world.where("g")) == 2


def test_a_change_of_the_topology_ends_it_as_well() -> None:
    """Semantics §4.6."""
    world = lacking()
    world.node("n2", cpu=4)
    world.settle()
    assert world.where("g") == {}
    world.alter("g", topology=TopologyRequest(preferred="example.com/rack"))
    world.settle()
    assert len(world.where("g")) == 2


@pytest.mark.parametrize("grouped", [True, False])
def test_nobody_who_is_ordered_later_overtakes_it_meanwhile(grouped: bool) -> None:
    """Semantics §2.7: a pause for lack of capacity never inverts the order."""
    world = lacking()
    world.node("n2", cpu=4)
    world.settle()
    if grouped:
        world.job("young", 1)
    else:
        world.pod("young", spec=ONE_A_NODE)
    world.settle()
    assert len(world.where("g")) == 2
    assert world.where("young") == {}


def test_who_is_ordered_later_takes_what_does_not_help_it() -> None:
    """Semantics §2.7."""
    world = lacking()
    world.job("young", 1)
    world.settle()
    assert len(world.where("young")) == 1


def test_while_it_lacks_capacity_its_pods_say_unschedulable_although_it_waits() -> None:
    """Semantics §6.2: an autoscaler is not kept waiting by a pause."""
    world = lacking()
    assert world.condition("g")[1] in ("Unschedulable", "Infeasible")
    assert world.pod_conditions("g-0")[-1][0] == "Unschedulable"


def test_what_a_webhook_denied_is_overtaken() -> None:
    """Semantics §2.7: it waits for its time, and nobody waits for it."""
    world = denied_job(2)
    world.settle(seconds=130)
    world.job("young", 2)
    world.settle()
    assert len(world.where("young")) == 2


def test_one_that_is_bound_in_part_is_completed_although_it_was_released_before() -> None:
    """Semantics §4.5, §4.6: a budget kept a member, and capacity appears."""
    world = rejected_job()
    cut(world)
    world.settle(seconds=65)
    world.evict_answer = lambda _: "budget"
    cut(world)
    world.settle(seconds=65)
    assert len(world.where("g")) == 1
    world.node("n2", cpu=4)
    world.settle()
    assert len(world.where("g")) == 2


def test_members_that_run_are_no_proof_that_the_gang_has() -> None:
    """Semantics §4.6: only a floor that runs together ends a row of releases."""
    world = denied_job(2)
    for _ in range(12):
        world.settle(seconds=30)
        world.run_pods(name for name in world.where("g") if world.pods[name].phase is Phase.PENDING)
    assert len(world.evicted_at) == 3
