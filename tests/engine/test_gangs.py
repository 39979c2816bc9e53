# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a gang may expect of one decision and of its binding (gangs.md §2, §3)."""

from tests.engine.cluster import Cluster, spec

from enbloc.engine import Settings
from enbloc.engine.events import BindUnknown, Bound, SlotsFree
from enbloc.model.names import PLAN_KEY
from enbloc.model.pods import Owner, Phase
from enbloc.model.taints import Effect, Taint


def test_a_gang_that_fits_is_bound_whole() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    cluster.gang("g", 8)
    cluster.settle()
    assert len(cluster.where("g")) == 8
    assert cluster.condition("g")[:2] == (True, "Scheduled")
    assert len(cluster.events("GangScheduled")) == 1


def test_a_gang_that_does_not_fit_whole_binds_nothing_and_says_why() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=3)
    cluster.gang("g", 8)
    cluster.settle()
    assert cluster.where("g") == {}
    status, reason, message = cluster.condition("g")
    assert (status, reason) == (False, "Unschedulable")
    assert message == (
        "6 of the 8 members needed fit, for the next 0/2 nodes are available: 2 Insufficient cpu."
    )
    assert len(cluster.events("GangUnschedulable")) == 1
    assert cluster.pod_conditions("g-7") == [("Unschedulable", message)]


def test_two_gangs_that_exceed_the_room_run_one_after_the_other() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    for name in "ab":
        cluster.group(name, 6)
    for index in range(6):
        for name in "ab":
            cluster.pod(f"{name}-{index}", name)
    cluster.settle()
    assert len(cluster.where("a")) == 6
    assert cluster.where("b") == {}
    for index in range(6):
        cluster.finish(f"a-{index}")
    cluster.settle()
    assert len(cluster.where("b")) == 6


def test_the_same_pods_without_a_group_are_placed_one_by_one() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    for index in range(6):
        for name in "ab":
            cluster.pod(f"{name}-{index}")
            cluster.now += 1
    cluster.settle()
    assert (len(cluster.where("a")), len(cluster.where("b"))) == (4, 4)


def test_pods_may_come_before_their_podgroup() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    for index in range(3):
        cluster.pod(f"g-{index}", "g")
    cluster.settle()
    assert cluster.where() == {}
    cluster.group("g", 3)
    cluster.settle()
    assert len(cluster.where()) == 3


def test_a_podgroup_that_stays_missing_is_named_on_each_member_once() -> None:
    cluster = Cluster()
    cluster.pod("p", "trian")
    cluster.settle(seconds=4)
    assert cluster.events("PodGroupNotFound") == []
    cluster.settle(seconds=60)
    cluster.change("p", priority=3)
    cluster.settle(seconds=60)
    [event] = cluster.events("PodGroupNotFound")
    assert event.note.startswith("PodGroup ns/trian not found")


def test_a_missing_member_is_waited_for_and_its_arrival_starts_the_gang() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.group("g", 3)
    cluster.pod("g-0", "g")
    cluster.pod("g-1", "g")
    cluster.settle()
    assert cluster.condition("g") == (False, "WaitingForMembers", "2 of 3 members exist")
    assert cluster.pod_conditions("g-0") == []
    cluster.pod("g-2", "g")
    cluster.settle()
    assert len(cluster.where()) == 3


def test_gated_and_foreign_members_do_not_make_a_quorum_and_are_counted_aloud() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.group("g", 3)
    cluster.pod("g-0", "g")
    cluster.pod("g-1", "g", gated=True)
    cluster.pod("g-2", "g", scheduler="default-scheduler")
    cluster.settle()
    assert cluster.condition("g")[2] == (
        "1 of 3 members exist (1 more held by scheduling gates, 1 more named another schedulerName)"
    )
    cluster.change("g-1", gated=False)
    cluster.change("g-2", node="n1")
    cluster.settle()
    assert len(cluster.where()) == 3


def test_every_role_has_its_minimum() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.group("g", 3, roles=[("launcher", 1), ("worker", 2)])
    for index in range(4):
        cluster.pod(f"w-{index}", "g", role="worker")
    cluster.settle()
    assert cluster.condition("g")[2] == "0 of 1 members of role launcher exist"
    assert cluster.where() == {}
    cluster.pod("l-0", "g", role="launcher")
    cluster.settle()
    assert len(cluster.where()) == 5


def test_surplus_is_placed_with_the_minimum_when_it_fits_and_left_out_when_not() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=5)
    cluster.gang("g", 7, minimum=3)
    cluster.settle()
    assert len(cluster.where()) == 5
    assert cluster.condition("g")[0] is True


def test_a_member_that_fits_nowhere_is_passed_over_while_others_can_fill_the_floor() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.group("g", 2)
    cluster.pod("g-0", "g", spec=spec(cpu=64))
    cluster.pod("g-1", "g")
    cluster.pod("g-2", "g")
    cluster.settle()
    assert set(cluster.where()) == {"g-1", "g-2"}


def test_with_the_floor_held_members_come_one_by_one() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.gang("g", 2)
    cluster.settle()
    cluster.pod("g-2", "g")
    cluster.pod("g-3", "g")
    cluster.pod("g-4", "g")
    cluster.settle()
    assert len(cluster.where()) == 4
    assert cluster.condition("g")[0] is True


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


def test_each_bind_carries_the_receipt_of_its_plan() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.gang("g", 2)
    cluster.settle()
    receipts = {dict(bind.target.annotations)[PLAN_KEY] for bind in cluster.sent}
    assert len(receipts) == 1


def test_the_receipt_is_left_out_when_the_annotations_would_grow_too_large() -> None:
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
    cluster.settle(seconds=1)
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
    assert tries == [2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5], "pauses of 1, 2, 4, 8 s"
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


def test_succeeded_members_count_so_a_job_does_not_fall_below_its_minimum() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    owner = Owner("Job", "j", "job-1")
    cluster.gang("g", 4, owner=owner)
    cluster.settle()
    cluster.run_pods([f"g-{index}" for index in range(4)])
    cluster.settle()
    assert cluster.status["g"].started == cluster.now
    for index in range(3):
        cluster.finish(f"g-{index}")
        cluster.delete(f"g-{index}")
    cluster.settle()
    assert cluster.status["g"].succeeded == 3
    cluster.pod("g-new", "g", owner=owner)
    cluster.settle()
    assert "g-new" in cluster.where()


def test_failed_members_are_not_held_and_their_replacement_is_placed() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    owner = Owner("Job", "j", "job-1")
    cluster.gang("g", 4, owner=owner)
    cluster.settle()
    cluster.finish("g-0", Phase.FAILED)
    cluster.settle()
    assert cluster.condition("g")[:2] == (False, "WaitingForMembers")
    cluster.pod("g-4", "g", owner=owner)
    cluster.settle()
    assert "g-4" in cluster.where()


def test_a_restarted_job_needs_its_whole_floor_again() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.gang("g", 4, owner=Owner("Job", "j", "job-1"))
    cluster.settle()
    for index in range(4):
        cluster.finish(f"g-{index}")
    cluster.settle()
    assert cluster.status["g"].succeeded == 4
    for index in range(3):
        cluster.pod(f"again-{index}", "g", owner=Owner("Job", "j", "job-2"))
    cluster.settle()
    assert cluster.where("again") == {}
    assert cluster.condition("g")[2] == "3 of 4 members exist"
    assert (cluster.status["g"].incarnation, cluster.status["g"].succeeded) == ("job-2", 0)


def test_lowering_the_minimum_wakes_the_group_at_once() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=3)
    cluster.gang("g", 4)
    cluster.settle()
    assert cluster.where() == {}
    cluster.group("g", 3, generation=2)
    cluster.settle()
    assert len(cluster.where()) == 3
    assert cluster.status["g"].generation == 2


def test_members_that_name_two_of_our_schedulers_are_listed_and_none_is_scheduled() -> None:
    cluster = Cluster()
    profile = next(iter(cluster.engine._profiles.values()))
    cluster = Cluster(profiles={"enbloc": profile, "other": profile})
    cluster.nodes("n1", cpu=4)
    cluster.group("g", 2)
    cluster.pod("g-0", "g")
    cluster.pod("g-1", "g", scheduler="other")
    cluster.settle()
    assert cluster.condition("g")[1:] == (
        "InvalidSpec",
        "members name different schedulers of ours: enbloc, other; choose one",
    )


def test_min_resources_are_checked_before_any_member_is_placed() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.group("g", 1, min_resources=(("cpu", 6000),))
    cluster.pod("g-0", "g")
    cluster.settle()
    assert cluster.condition("g")[2] == ("minResources needs 6 cpu free in the cluster, 4 is")
    cluster.node("n2", cpu=4)
    cluster.settle()
    assert len(cluster.where()) == 1


def test_an_unsupported_constraint_is_named_and_never_ignored() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.pod("p", spec=spec(unhonoured=("spec.topologySpreadConstraints",)))
    cluster.settle(seconds=20)
    assert cluster.where() == {}
    [event] = cluster.events("FailedScheduling")
    assert "spec.topologySpreadConstraints is not supported yet" in event.note


def test_the_engine_remembers_a_bounded_log_of_what_it_was_told() -> None:
    cluster = Cluster(settings=Settings(log=5))
    cluster.nodes("n1 n2 n3 n4 n5 n6")
    assert len(cluster.engine.log) == 5


def test_a_bind_that_the_watch_shows_before_its_answer_is_told_of_once_all_the_same() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.answer = lambda _: "hold"
    cluster.pod("p")
    cluster.settle()
    [sent] = cluster.sent
    cluster.change("p", node="n1")
    cluster.tell(Bound(sent.target.plan, sent.target.uid))
    cluster.settle()
    [event] = cluster.events("Scheduled")
    assert event.note == "Successfully assigned ns/p to n1"


def test_a_label_that_contradicts_the_annotation_is_named_once() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.group("train", 2)
    cluster.pod("p", "train", group_conflict="other")
    cluster.change("p", priority=1)
    cluster.pod("sitting", "train", group_conflict="other", node="n1")
    cluster.settle()
    [event] = cluster.events("PodGroupAmbiguous")
    assert event.note == (
        "the annotation enbloc.dev/pod-group names train, the label other; "
        "the annotation counts, so make them the same"
    )
    cluster.delete("p")
    cluster.settle()
