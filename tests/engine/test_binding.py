# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""From plan to bound: windows, outcomes, last looks and what a crash leaves (semantics §3)."""

from enbloc.engine.binding.plans import MOST_AHEAD
from enbloc.engine.effects import Decided
from enbloc.engine.engine import MOST_PLACED
from enbloc.engine.events import BindUnknown, Bound, SlotsFree
from enbloc.model.names import PLAN_KEY
from enbloc.model.taints import Effect, Taint
from tests.world.builders import spec
from tests.world.cluster import Cluster


def test_binds_of_the_minimum_go_first_and_surplus_waits_for_the_watch() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.answer = lambda _: "hold"
    cluster.gang("g", 4, minimum=2)
    cluster.settle()
    first = [bind.target.pod.name for bind in cluster.sent]
    assert first == ["g-0", "g-1"]
    for bind in list(cluster.sent):
        cluster.tell(Bound(bind.target.plan, bind.target.uid))
        cluster.tell(SlotsFree(1))
    cluster.settle()
    assert len(cluster.sent) == 2, "the answers are not the watch"
    for bind in list(cluster.sent):
        cluster.change(bind.target.pod.name, node=bind.target.node)
    cluster.settle()
    assert len(cluster.sent) == 4


def test_binds_are_handed_out_as_slots_are_free() -> None:
    cluster = Cluster(slots=3)
    cluster.nodes("n1", cpu=8)
    cluster.answer = lambda _: "hold"
    cluster.gang("g", 8)
    cluster.settle()
    assert len(cluster.sent) == 3
    cluster.confirm(cluster.sent[0])
    cluster.settle()
    assert len(cluster.sent) == 4


def test_no_further_group_is_decided_while_many_plans_wait_for_slots() -> None:
    cluster = Cluster(slots=1)
    cluster.nodes("n1", cpu=200)
    cluster.answer = lambda _: "hold"
    for number in range(MOST_AHEAD + 10):
        cluster.pod(f"p{number}")
    cluster.settle()
    assert cluster.engine.census().pods["active"] == 9
    cluster.confirm(cluster.sent[0])
    cluster.settle()
    assert cluster.engine.census().pods["active"] == 8
    while len(cluster.sent) < MOST_AHEAD + 10:
        cluster.confirm(cluster.sent[-1])
        cluster.settle()


def test_several_are_decided_in_a_turn_while_each_is_placed() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=3 * MOST_PLACED)
    for number in range(2 * MOST_PLACED + 1):
        cluster.pod(f"p{number:02}")
    decided = [turn_of(cluster) for _ in range(3)]
    first, second, third = decided
    assert first == ["/p00"], "its ranking had to be made"
    assert second == [f"/p{number:02}" for number in range(1, MOST_PLACED + 1)]
    assert len(third) == MOST_PLACED


def test_nobody_is_decided_in_a_turn_after_one_that_is_not_placed() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    for number in range(4):
        cluster.pod(f"p{number}")
    turn_of(cluster)
    cluster.pod("large", spec=spec(cpu=9), priority=5)
    for number in range(4, 8):
        cluster.pod(f"p{number}", priority=3)
    assert turn_of(cluster) == ["/large"]


def turn_of(cluster: Cluster) -> list[str]:
    """The groups that one step decides, in order."""
    cluster.now += 1
    effects = cluster.engine.step(cluster.now)
    return [effect.group.name for effect in effects if isinstance(effect, Decided)]


def test_each_bind_carries_the_binding_record_of_its_plan() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.gang("g", 2)
    cluster.settle()
    records = {dict(bind.target.annotations)[PLAN_KEY] for bind in cluster.sent}
    assert len(records) == 1


def test_the_binding_record_is_left_out_when_the_annotations_would_grow_too_large() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.pod("p", annotations_size=262_140)
    cluster.settle()
    assert cluster.sent[0].target.annotations == ()


def test_room_of_an_unknown_bind_is_not_given_to_anyone() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=2)
    cluster.answer = lambda _: "hold"
    cluster.gang("a", 2)
    cluster.settle()
    for bind in cluster.sent:
        cluster.tell(BindUnknown(bind.target.plan, bind.target.uid))
    cluster.answer = lambda _: "ok"
    cluster.gang("b", 2)
    cluster.settle(seconds=100)
    assert cluster.where("b") == {}
    assert len(cluster.sent) == 2, "no second plan while an outcome is open"


def test_a_refused_first_bind_of_a_gang_stops_the_others() -> None:
    cluster = Cluster(slots=1)
    cluster.nodes("n1", cpu=8)
    cluster.answer = lambda _: "SCHEDULER_ERROR"
    cluster.gang("g", 4)
    cluster.settle()
    assert len(cluster.sent) == 1
    assert cluster.condition("g")[1] == "SchedulerError"
    cluster.answer = lambda _: "ok"
    cluster.settle(seconds=2)
    assert len(cluster.where()) == 4


def test_each_refusal_of_bindings_doubles_the_pause_until_a_plan_is_carried_out() -> None:
    cluster = Cluster(slots=1)
    cluster.nodes("n1", cpu=8)
    cluster.answer = lambda _: "SCHEDULER_ERROR"
    cluster.gang("g", 2)
    tries = []
    for _ in range(16):
        cluster.settle(seconds=1)
        tries.append(len(cluster.sent))
    assert tries == [1, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4], "1, 2, 4 s and a window"
    cluster.answer = lambda _: "ok"
    cluster.settle(seconds=10)
    assert len(cluster.where()) == 2


def test_a_refusal_after_others_were_bound_is_completed_with_a_new_plan() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.answer = lambda bind: (
        "SCHEDULER_ERROR" if bind.target.pod.name == "g-2" and len(cluster.sent) < 5 else "ok"
    )
    cluster.gang("g", 4)
    cluster.settle(seconds=20)
    assert len(cluster.where()) == 4
    assert len({bind.target.plan for bind in cluster.sent}) == 2


def test_a_terminating_namespace_drops_the_group_quietly() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.answer = lambda _: "NAMESPACE_TERMINATING"
    cluster.gang("g", 2)
    cluster.settle(seconds=1000)
    assert len(cluster.sent) <= 2
    assert cluster.events("GangBindFailed") == []


def test_a_member_deleted_before_anything_was_sent_forgets_the_whole_plan() -> None:
    cluster = Cluster(slots=0)
    cluster.nodes("n1", cpu=2)
    cluster.gang("a", 2)
    cluster.settle()
    cluster.delete("a-1")
    cluster.gang("b", 2)
    cluster.tell(SlotsFree(32))
    cluster.settle()
    assert cluster.where("a") == {}
    assert len(cluster.where("b")) == 2


def test_a_podgroup_deleted_in_mid_burst_is_completed_and_an_event_says_so() -> None:
    cluster = Cluster(slots=1)
    cluster.nodes("n1", cpu=8)
    cluster.answer = lambda _: "hold"
    cluster.gang("g", 3)
    cluster.settle()
    cluster.drop_group("g")
    cluster.answer = lambda _: "ok"
    cluster.confirm(cluster.sent[0])
    cluster.settle()
    assert len(cluster.where()) == 3
    assert len(cluster.events("PodGroupDeleted")) == 1


def test_a_podgroup_deleted_while_waiting_binds_nothing() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=1)
    cluster.gang("g", 3)
    cluster.settle()
    cluster.drop_group("g")
    cluster.nodes("n2 n3", cpu=4)
    cluster.settle(seconds=600)
    assert cluster.where() == {}


def test_the_last_look_forgets_a_plan_whose_node_was_taken_before_the_first_send() -> None:
    cluster = Cluster(slots=0)
    cluster.nodes("n1", cpu=4)
    cluster.gang("g", 4)
    cluster.settle()
    cluster.pod("foreign", scheduler="default-scheduler", node="n1")
    cluster.tell(SlotsFree(32))
    cluster.settle()
    assert cluster.where("g") == {}
    assert cluster.condition("g")[1] == "Unschedulable"


def test_the_last_look_passes_a_plan_that_the_change_does_not_concern() -> None:
    cluster = Cluster(slots=0)
    cluster.nodes("n1 n2", cpu=4)
    cluster.gang("g", 4)
    cluster.settle()
    cluster.node("n3", cpu=1)
    cluster.tell(SlotsFree(32))
    cluster.settle()
    assert len(cluster.where("g")) == 4


def test_a_node_that_vanishes_in_mid_burst_loses_only_its_members_and_these_go_elsewhere() -> None:
    cluster = Cluster(slots=1)
    cluster.nodes("n1 n2", cpu=2)
    cluster.gang("g", 4)
    cluster.answer = lambda _: "hold"
    cluster.settle()
    kept = cluster.sent[0].target.node
    lost = "n2" if kept == "n1" else "n1"
    cluster.drop_node(lost)
    cluster.answer = lambda _: "ok"
    cluster.confirm(cluster.sent[0])
    cluster.settle()
    assert set(cluster.where().values()) == {kept}
    cluster.node("n3", cpu=2)
    cluster.settle()
    assert len(cluster.where()) == 4


def test_a_taint_added_before_the_first_send_forgets_the_plan() -> None:
    cluster = Cluster(slots=0)
    cluster.nodes("n1", cpu=4)
    cluster.gang("g", 4)
    cluster.settle()
    cluster.node("n1", cpu=4, taints=(Taint("k", "v", Effect.NO_SCHEDULE),))
    cluster.tell(SlotsFree(32))
    cluster.settle()
    assert cluster.where() == {}


def test_a_gang_cut_short_by_a_restart_is_completed() -> None:
    cluster = Cluster(sync=False)
    cluster.nodes("n1", cpu=4)
    cluster.group("g", 4)
    cluster.pod("g-0", "g", node="n1")
    cluster.pod("g-1", "g", node="n1")
    cluster.pod("g-2", "g")
    cluster.pod("g-3", "g")
    cluster.settle()
    assert cluster.sent == [], "nothing before every stream has synced"
    cluster.sync()
    cluster.settle()
    assert len(cluster.where()) == 4


def test_a_member_that_somebody_else_bound_to_another_node_was_not_placed_by_its_plan() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=8)
    cluster.answer = lambda _: "hold"
    cluster.gang("g", 2)
    cluster.settle()
    planned = cluster.sent[0].target
    other = "n2" if planned.node == "n1" else "n1"
    cluster.change(planned.pod.name, node=other)
    cluster.settle()
    assert not [e for e in cluster.events("Scheduled") if e.uid == planned.uid]
