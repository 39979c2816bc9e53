# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a gang may expect of one decision and of its binding (semantics §2, §3)."""

from enbloc.config import default_profiles
from enbloc.engine.events import Bound
from enbloc.model.pods import Owner, Phase
from tests.world.builders import spec
from tests.world.cluster import Cluster


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
    cluster.nodes("n1 n2", cpu=4)
    cluster.pod("filler-1", node="n1")
    cluster.pod("filler-2", node="n2")
    cluster.gang("g", 8)
    cluster.settle()
    assert cluster.where("g") == {}
    status, reason, message = cluster.condition("g")
    assert (status, reason) == (False, "Unschedulable")
    assert message == (
        "6 of the 8 required members fit; the next one does not: 0/2 nodes are available: 2 "
        "Insufficient cpu."
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


def test_a_podgroup_that_comes_as_the_wait_for_it_ends_is_not_named_as_missing() -> None:
    cluster = Cluster()
    cluster.pod("p", "late")
    cluster.settle()
    cluster.now += 60
    cluster.group("late")
    cluster.settle()
    assert cluster.events("PodGroupNotFound") == []


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
    cluster.pod("g-1", "g", gates=("hold",))
    cluster.pod("g-2", "g", scheduler="default-scheduler")
    cluster.settle()
    assert cluster.condition("g")[2] == (
        "1 of 3 members exist (1 more held by scheduling gates, "
        "1 more with another schedulerName: default-scheduler)"
    )
    cluster.change("g-1", gates=())
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
    assert (cluster.status["g"].run_name, cluster.status["g"].succeeded) == ("job-2", 0)


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
    profile = next(iter(default_profiles().values()))
    cluster = Cluster(profiles={"enbloc": profile, "other": profile})
    cluster.nodes("n1", cpu=4)
    cluster.group("g", 2)
    cluster.pod("g-0", "g")
    cluster.pod("g-1", "g", scheduler="other")
    cluster.settle()
    assert cluster.condition("g")[1:] == (
        "InvalidSpec",
        "members name different schedulerNames of enbloc: enbloc, other; use one",
    )


def test_min_resources_are_checked_before_any_member_is_placed() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    cluster.pod("filler", node="n2", spec=spec(cpu=4))
    cluster.group("g", 1, min_resources=(("cpu", 6000),))
    cluster.pod("g-0", "g")
    cluster.settle()
    assert cluster.condition("g")[2] == ("minResources needs 6 cpu free in the cluster; 4 is free")
    cluster.delete("filler")
    cluster.settle()
    assert len(cluster.where()) == 1


def test_min_resources_beyond_all_nodes_are_infeasible_with_the_number() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.group("g", 1, min_resources=(("cpu", 6000),))
    cluster.pod("g-0", "g")
    cluster.settle()
    assert cluster.condition("g")[1:] == (
        "Infeasible",
        "minResources needs 6 cpu; all nodes together have 4",
    )
    assert cluster.pod_conditions("g-0")[-1][0] == "Unschedulable"
    cluster.node("n2", cpu=4)
    cluster.settle()
    assert len(cluster.where()) == 1


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
        "the annotation names group train, the label of the same key other; "
        "the annotation counts, so make them the same"
    )
    cluster.delete("p")
    cluster.settle()


def test_members_that_hold_a_reservation_are_not_pending_any_more() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.answer = lambda _: "hold"
    cluster.gang("g", 3, minimum=2)
    cluster.settle()
    groups = cluster.engine._groups
    facts = groups.facts(groups[cluster.groups["g"].key])
    assert [pod.key.name for pod in facts.pending] == ["g-2"]
