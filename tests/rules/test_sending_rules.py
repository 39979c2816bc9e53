# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §3.1 to §3.4: how the Bindings of a plan are sent, and what their outcomes mean."""

from dataclasses import replace
from typing import ClassVar

from enbloc.engine.effects import Bind, CancelPlan, PreBind
from enbloc.engine.events import (
    BindRefused,
    BindUnknown,
    PreBound,
    SlotsFree,
)
from enbloc.framework.act import Api, Target
from enbloc.framework.decide import Proposal
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import ClusterEvent
from enbloc.framework.status import SUCCESS, Status, wait
from enbloc.model.binding import RefusalCause
from enbloc.model.pods import Phase
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector
from enbloc.model.taints import Effect, Taint
from tests.rules.world import World
from tests.world.builders import spec
from tests.world.cluster import cluster_with

TAINT = Taint("k", "v", Effect.NO_SCHEDULE)


class Holds:
    """Holds every group for half a minute at Permit."""

    name: ClassVar[str] = "Holds"
    events: ClassVar[tuple[ClusterEvent, ...]] = ()

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan, facts
        return wait(30)


class Prepares:
    """Prepares nodes at PreBind."""

    name: ClassVar[str] = "Prepares"

    async def pre_bind(self, target: Target, api: Api) -> Status:
        del target, api
        return SUCCESS


def _held(world: World) -> None:
    """Let every Binding stay without an answer."""
    world.answer = lambda _: "hold"


def _sent(world: World) -> list[str]:
    return [bind.target.pod.name for bind in world.sent]


def _refuse(world: World, bind: Bind, cause: RefusalCause = RefusalCause.MEMBER_CHANGED) -> None:
    world.tell(BindRefused(bind.target.plan, bind.target.uid, cause, "refused"))
    world.tell(SlotsFree(1))


# ── the last look (semantics §3.1) ───────────────────────────────────────────────────────────────


def test_before_the_first_bind_any_misfit_forgets_the_whole_plan_and_nothing_is_sent() -> None:
    """Semantics §3.1."""
    world = World(slots=0)
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 3)
    world.settle()
    world.node("n2", cpu=4, taints=(TAINT,))
    world.tell(SlotsFree(32))
    world.settle()
    assert world.sent == []
    assert world.condition("g")[1] in ("Unschedulable", "Infeasible")


def test_the_last_look_is_at_the_rows_of_the_plan_only() -> None:
    """Semantics §3.1."""
    world = World(slots=0)
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    world.node("n3", cpu=4, taints=(TAINT,))
    world.tell(SlotsFree(32))
    world.settle()
    assert len(world.where("g")) == 2
    assert world.attempts("g") == 1


def test_a_member_that_is_resized_before_its_bind_is_planned_again_as_it_is_now() -> None:
    """Semantics §3.1: `pods/resize` may change what a pod requests while it has no node."""
    world = World(slots=0)
    world.nodes("n1 n2 n3", cpu=4)
    world.job("g", 2)
    world.settle()
    world.change("g-1", spec=spec(cpu=8))
    world.tell(SlotsFree(32))
    world.settle()
    assert world.where() == {}
    world.node("n9", cpu=8)
    world.settle()
    assert world.where()["g-1"] == "n9"
    assert len(world.where()) == 2


def test_a_member_that_is_resized_after_its_bind_was_sent_keeps_its_place() -> None:
    """Semantics §3.1, §3.4: it is decided, and counts as what it is once the watch shows it."""
    world = World()
    world.nodes("n1", cpu=4)
    world.answer = lambda _: "hold"
    world.job("g", 1, pod=spec(cpu=1))
    world.settle()
    world.change("g-0", spec=spec(cpu=3))
    world.settle()
    world.answer = lambda _: "ok"
    world.confirm(world.sent[0])
    world.job("h", 1, pod=spec(cpu=2))
    world.settle()
    assert world.where() == {"g-0": "n1"}
    assert len(world.sent) == 1


def test_the_last_look_is_at_members_with_the_labels_that_they_have_now() -> None:
    """Semantics §3.1: a pod there keeps away from the label that the member has got."""
    world = World(slots=0)
    world.node("n1", cpu=4, labels=(("host", "n1"),))
    term = PodAffinityTerm("host", Selector((Requirement("app", Operator.IN, ("new",)),)))
    shy = replace(spec(cpu=1), pod_anti_affinity=PodAffinity(required=(term,)))
    world.pod("shy", spec=shy, node="n1", scheduler="other")
    world.job("g", 1, pod=spec(cpu=1))
    world.settle()
    world.change("g-0", labels=(("app", "new"),))
    world.tell(SlotsFree(32))
    world.settle()
    assert world.where("g") == {}
    world.delete("shy")
    world.settle()
    assert world.where("g") == {"g-0": "n1"}


def test_the_last_look_leaves_out_what_the_plan_itself_has_assumed() -> None:
    """Semantics §3.1."""
    world = World(slots=0)
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    world.node("n1", cpu=4, labels=(("new", "label"),))
    world.tell(SlotsFree(32))
    world.settle()
    assert len(world.where("g")) == 2, "the nodes are full of nobody but itself"
    assert world.attempts("g") == 1


def test_the_last_look_is_taken_after_permit_took_its_time() -> None:
    """Semantics §3.1."""
    cluster = cluster_with(Holds())
    cluster.gang("g", 2, spec=spec(cpu=8))
    cluster.settle()
    cluster.node("n2", cpu=8, unschedulable=True)
    cluster.settle(seconds=31)
    assert cluster.where("g") == {}


def test_the_last_look_is_taken_after_prebind_took_its_time_and_the_rest_is_cancelled() -> None:
    """Semantics §3.1."""
    cluster = cluster_with(Prepares())
    cluster.gang("g", 2, spec=spec(cpu=8))
    cluster.settle()
    targets = [effect.target for effect in cluster.effects if isinstance(effect, PreBind)]
    assert len(targets) == 2
    cluster.node("n2", cpu=8, unschedulable=True)
    for target in targets:
        cluster.tell(PreBound(target.plan, target.uid))
    cluster.settle()
    assert cluster.sent == []


def test_after_the_first_bind_the_last_look_precedes_each_window() -> None:
    """Semantics §3.1."""
    world = World(slots=1)
    world.nodes("n1 n2 n3", cpu=4)
    _held(world)
    world.job("g", 3)
    world.settle()
    [first] = world.sent
    free = [name for name in ("n1", "n2", "n3") if name != first.target.node]
    world.node(free[0], cpu=4, taints=(TAINT,))
    world.tell(SlotsFree(32))
    world.settle()
    assert {bind.target.node for bind in world.sent} == {first.target.node, free[1]}


# ── windows (semantics §3.2) ─────────────────────────────────────────────────────────────────────


def test_binds_are_handed_out_as_the_executor_has_free_slots() -> None:
    """Semantics §3.2."""
    world = World(slots=2)
    world.nodes("n1 n2 n3 n4 n5", cpu=4)
    _held(world)
    world.job("g", 5)
    seen = []
    for _ in range(4):
        world.settle()
        seen.append(len(world.sent))
        world.tell(SlotsFree(1))
    assert seen == [2, 3, 4, 5]


def test_each_bind_names_its_plan_and_the_uid_of_its_pod() -> None:
    """Semantics §3.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.settle()
    assert len(world.plans()) == 1
    assert [b.target.uid for b in world.sent] == [world.pods[f"g-{i}"].uid for i in range(2)]


def test_a_plan_that_is_given_up_is_cancelled_by_its_id() -> None:
    """Semantics §3.2."""
    cluster = cluster_with(Prepares())
    cluster.gang("g", 2)
    cluster.settle()
    [plan] = {e.target.plan for e in cluster.effects if isinstance(e, PreBind)}
    cluster.delete("g-1")
    cluster.settle()
    assert {e.plan for e in cluster.effects if isinstance(e, CancelPlan)} == {plan}
    assert cluster.sent == []


def test_planning_again_waits_until_every_sent_bind_is_resolved() -> None:
    """Semantics §3.2."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    _held(world)
    world.job("g", 3)
    world.settle()
    first, second, third = world.sent
    world.confirm(first)
    _refuse(world, second)
    world.settle(seconds=30)
    assert len(world.sent) == 3, "the third has no answer yet"
    world.answer = lambda _: "ok"
    world.confirm(third)
    world.settle(seconds=30)
    assert len(world.where("g")) == 3


def test_after_a_refusal_no_more_is_sent_until_what_was_sent_is_resolved() -> None:
    """Semantics §3.2."""
    world = World(slots=2)
    world.nodes("n1 n2 n3", cpu=4)
    _held(world)
    world.job("g", 3)
    world.settle()
    first, second = world.sent
    _refuse(world, first)
    world.settle()
    assert world.sent == [first, second]
    _refuse(world, second)
    world.step()
    world.job("rival", 3, priority=1)
    world.answer = lambda _: "ok"
    world.settle()
    assert len(world.where("rival")) == 3, "nothing of it is bound, so nothing of it is held"
    assert world.where("g") == {}


def test_evicting_waits_until_every_sent_bind_is_resolved() -> None:
    """Semantics §3.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    _held(world)
    world.job("g", 2)
    world.settle()
    first, second = world.sent
    world.confirm(first)
    world.settle(seconds=1000)
    assert world.evictions == [], "the other may be bound any moment"
    world.drop_node(second.target.node)
    _refuse(world, second)
    world.settle(seconds=1000)
    assert world.evictions == [first.target.pod.name]


# ── minimum first (semantics §3.3) ───────────────────────────────────────────────────────────────


def test_surplus_waits_until_the_watch_shows_the_floor_bound() -> None:
    """Semantics §3.3."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    _held(world)
    world.job("g", 3, minimum=2)
    world.settle()
    assert _sent(world) == ["g-0", "g-1"]
    world.confirm(world.sent[0])
    world.settle()
    assert _sent(world) == ["g-0", "g-1"]
    world.confirm(world.sent[1])
    world.settle()
    assert _sent(world) == ["g-0", "g-1", "g-2"]


def test_a_surplus_member_takes_the_place_of_a_refused_one() -> None:
    """Semantics §3.3."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    _held(world)
    world.job("g", 3, minimum=2)
    world.settle()
    gone, kept = world.sent
    world.confirm(kept)
    world.answer = lambda _: "ok"
    world.delete(gone.target.pod.name)
    _refuse(world, gone)
    world.settle()
    assert sorted(world.where("g")) == sorted({"g-0", "g-1", "g-2"} - {gone.target.pod.name})
    assert world.condition("g")[:2] == (True, "Scheduled")


def test_a_surplus_member_of_another_role_does_not_take_the_place_of_a_refused_one() -> None:
    """Semantics §3.3."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    _held(world)
    world.group("g", 2, roles=[("launcher", 1), ("worker", 1)])
    for name, role in (("l", "launcher"), ("w-0", "worker"), ("w-1", "worker")):
        world.member(name, "g", role=role)
    world.settle()
    launcher = next(bind for bind in world.sent if bind.target.pod.name == "l")
    worker = next(bind for bind in world.sent if bind.target.pod.name != "l")
    world.confirm(worker)
    world.delete("l")
    _refuse(world, launcher)
    world.settle()
    assert set(world.where()) == {worker.target.pod.name}
    assert world.condition("g")[2].startswith("0 of 1 members of role launcher exist")


def test_surplus_reservations_are_the_first_source_of_room_for_repair() -> None:
    """Semantics §3.3."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    _held(world)
    world.job("g", 3, minimum=2)
    world.settle()
    gone, kept = world.sent
    world.confirm(kept)
    world.drop_node(gone.target.node)
    world.answer = lambda _: "ok"
    _refuse(world, gone)
    world.settle(seconds=30)
    assert len(world.where("g")) == 2, "on the node that was reserved for the surplus"
    assert gone.target.pod.name in world.where("g")


def test_a_lost_member_s_replacement_may_have_the_room_of_additions_not_sent() -> None:
    """Semantics §3.3."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.running_job("g", 2)
    world.tell(SlotsFree(-100))  # nothing can be sent for now
    world.member("g-more", "g")
    world.settle()
    world.drop_node("n2")
    world.finish("g-1", Phase.FAILED)
    world.tell(SlotsFree(100))
    world.member("g-new", "g", created=world.now - 100)
    world.settle()
    assert "g-new" in world.where("g")


def test_no_addition_is_planned_while_a_repair_is_open() -> None:
    """Semantics §3.3."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.running_job("g", 2)
    world.lose_node("n2")
    for index in range(3, 6):
        world.member(f"g-{index}", "g")
    world.nodes("n3 n4 n5", cpu=4)
    _held(world)
    world.settle()
    assert len(world.sent) == 3, "the one that is missing"
    world.answer = lambda _: "ok"
    world.confirm(world.sent[-1])
    world.settle()
    assert len(world.where("g")) == 4, "then the others as they come"


# ── three outcomes (semantics §3.4) ──────────────────────────────────────────────────────────────


def test_while_unknown_a_member_is_not_planned_elsewhere_nor_its_room_reused() -> None:
    """Semantics §3.4."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    _held(world)
    world.job("g", 1)
    world.settle()
    [bind] = world.sent
    world.tell(BindUnknown(bind.target.plan, bind.target.uid))
    world.answer = lambda _: "ok"
    world.job("rival", 2)
    world.settle(seconds=3600)
    assert world.where("rival") == {}
    assert _sent(world) == ["g-0"]
    world.confirm(bind)
    world.finish("g-0")
    world.settle()
    assert len(world.where("rival")) == 2


def _regrouped_while_unknown() -> tuple[World, Bind]:
    """A member of g that names h while nobody knows whether it is bound to the only node."""
    world = World()
    world.nodes("n1", cpu=4)
    _held(world)
    world.job("g", 1)
    world.group("h", 1)
    world.settle()
    [bind] = world.sent
    world.tell(BindUnknown(bind.target.plan, bind.target.uid))
    world.answer = lambda _: "ok"
    world.change("g-0", group=world.groups["h"].key)
    world.node("n2", cpu=4, labels=(("a", "b"),))
    world.settle(seconds=600)
    assert _sent(world) == ["g-0"]
    return world, bind


def test_while_unknown_a_member_that_changes_its_group_is_not_planned_elsewhere() -> None:
    """Semantics §3.4."""
    world, bind = _regrouped_while_unknown()
    world.job("rival", 2)
    world.settle(seconds=600)
    assert world.where("rival") == {}, "its room is taken"
    world.confirm(bind)
    world.settle()
    assert world.condition("h")[:2] == (True, "Scheduled"), "where it is, it counts for the new one"
    assert world.condition("g")[:2] == (False, "WaitingForMembers")


def test_a_member_that_changed_its_group_belongs_to_the_new_one_once_its_binding_was_refused() -> (
    None
):
    """Semantics §3.4."""
    world, bind = _regrouped_while_unknown()
    _refuse(world, bind)
    world.settle()
    assert len(world.where("g-0")) == 1
    assert world.condition("h")[:2] == (True, "Scheduled")
    assert world.condition("g")[:2] == (False, "WaitingForMembers")


def test_a_group_that_was_left_and_joined_again_meanwhile_keeps_its_member() -> None:
    """Semantics §3.4."""
    world, bind = _regrouped_while_unknown()
    world.change("g-0", group=world.groups["g"].key)
    _refuse(world, bind)
    world.settle(seconds=10)
    assert world.condition("g")[:2] == (True, "Scheduled")


def test_an_unknown_that_turns_out_refused_frees_its_room() -> None:
    """Semantics §3.4."""
    world = World()
    world.nodes("n1", cpu=4)
    _held(world)
    world.job("g", 1)
    world.settle()
    [bind] = world.sent
    world.tell(BindUnknown(bind.target.plan, bind.target.uid))
    world.delete("g-0")
    _refuse(world, bind)
    world.answer = lambda _: "ok"
    world.job("rival", 1)
    world.settle()
    assert len(world.where("rival")) == 1
