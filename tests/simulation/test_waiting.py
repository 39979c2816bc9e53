# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who waits, in which order, and what becomes of each."""

from enbloc.model.names import Reason
from tests.simulation.present import outlook, run
from tests.world.builders import spec
from tests.world.cluster import Cluster


def test_who_waits_is_listed_in_the_order_in_which_the_scheduler_decides() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.gang("low", 2)
    cluster.gang("high", 2, priority=10)
    cluster.pod("lone", priority=5)
    assert [row.short_name for row in outlook(cluster).rows] == ["high", "pod/lone", "low"]


def test_the_first_take_the_room_and_the_next_learn_that_it_is_gone() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    cluster.gang("first", 2, spec=spec(cpu=3))
    cluster.gang("second", 2, spec=spec(cpu=3))
    first, second = outlook(cluster).rows
    assert first.starts
    assert sorted(first.placed.values()) == ["n1", "n2"]
    assert (second.starts, second.reason) == (False, Reason.UNSCHEDULABLE)
    assert "2 Insufficient cpu" in second.message


def test_nothing_is_changed_by_asking() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.gang("train", 2)
    before = dict(cluster.pods)
    assert outlook(cluster).rows[0].starts
    assert cluster.pods == before
    assert not cluster.sent


def test_a_gang_that_lacks_members_comes_last_and_was_not_tried() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.group("few", 3)
    cluster.pod("few-0", "few", priority=100)
    cluster.gang("whole", 2)
    whole, few = outlook(cluster).rows
    assert (whole.short_name, whole.decided) == ("whole", True)
    assert (few.short_name, few.decided, few.reason) == ("few", False, Reason.WAITING_FOR_MEMBERS)


def test_a_pod_with_scheduling_gates_says_which() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.pod("held", gates=("example.com/quota",))
    [row] = outlook(cluster).rows
    assert row.message == "scheduling gates keep it from being tried: example.com/quota"


def test_pods_of_other_schedulers_are_not_listed() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.pod("theirs", scheduler="default-scheduler")
    assert outlook(cluster).rows == ()


def test_members_beyond_the_minimum_of_a_running_gang_say_what_they_lack() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.gang("train", 2, 2, spec=spec(cpu=2))
    run(cluster, "train")
    cluster.pod("train-2", "train", spec=spec(cpu=2))
    [row] = outlook(cluster).rows
    assert (row.members, row.minimum, len(row.pending)) == (3, 2, 1)
    assert "1 Insufficient cpu" in row.message


def test_a_gang_of_higher_priority_names_who_gives_way_to_it() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.gang("low", 2, spec=spec(cpu=2))
    run(cluster, "low")
    cluster.gang("high", 2, spec=spec(cpu=2), priority=10)
    [row] = outlook(cluster).rows
    assert row.starts
    assert sorted(pod.name for pod in row.victims) == ["low-0", "low-1"]
