# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whose run the members belong to, across restarts of the scheduler (semantics §1, §2)."""

import pytest

from enbloc.model.binding_record import binding_record
from enbloc.model.groups import GroupMemory, RunMemory
from enbloc.model.pods import Owner, Phase
from tests.world.builders import remembered, spec
from tests.world.cluster import Cluster

JOB = Owner("Job", "j", "job-1")
OTHER_JOB = Owner("Job", "other", "job-2")


def unlisted() -> Cluster:
    """A cluster whose first lists are still to come."""
    cluster = Cluster(sync=False)
    cluster.nodes("n1", cpu=8)
    return cluster


def test_what_status_remembers_of_this_run_is_believed() -> None:
    cluster = unlisted()
    memory = GroupMemory("job-1", started=5.0, succeeded=3, attempts=7, initially_scheduled=True)
    cluster.group("g", 5, memory=memory)
    cluster.pod("g-2", "g", owner=JOB, node="n1", scheduled_at=4.0)
    cluster.pod("g-3", "g", owner=JOB)
    cluster.sync()
    cluster.settle()
    assert "g-3" in cluster.where()
    status = cluster.status["g"]
    assert (status.succeeded, status.started, status.attempts) == (3, 5.0, 8)
    assert cluster.condition("g", "InitiallyScheduled")[0] is True


def test_with_no_member_left_status_is_all_there_is() -> None:
    cluster = unlisted()
    cluster.group("g", 2, memory=GroupMemory("job-1", succeeded=2))
    cluster.sync()
    cluster.settle()
    assert cluster.status["g"].succeeded == 2
    assert cluster.condition("g")[:2] == (True, "Scheduled")


def test_succeeded_members_that_are_still_listed_count_without_any_status() -> None:
    cluster = unlisted()
    cluster.group("g", 3)
    cluster.pod("g-0", "g", owner=JOB, node="n1", phase=Phase.SUCCEEDED)
    cluster.pod("g-1", "g", owner=JOB, node="n1", phase=Phase.SUCCEEDED)
    cluster.pod("g-2", "g", owner=JOB)
    cluster.sync()
    cluster.settle()
    assert "g-2" in cluster.where()


def test_successes_of_an_older_job_do_not_count_for_the_new_one() -> None:
    cluster = unlisted()
    cluster.group("g", 3)
    for index in range(2):
        cluster.pod(f"old-{index}", "g", owner=Owner("Job", "j", "job-0"), phase=Phase.SUCCEEDED)
    cluster.pod("new", "g", owner=JOB)
    cluster.sync()
    cluster.settle()
    assert cluster.condition("g")[2] == "1 of 3 members exist"


def test_successes_count_beside_a_pod_of_nobody_where_the_podgroup_has_a_controller() -> None:
    """Semantics §2.2, §2.4: whoever owns the PodGroup makes one run, and no status tells of it."""
    cluster = unlisted()
    cluster.group("g", 2, roles=[("leader", 1), ("worker", 1)], owner="MPIJob/m")
    cluster.pod("worker", "g", role="worker", owner=JOB, node="n1", phase=Phase.SUCCEEDED)
    cluster.pod("gated", "g", gates=("hold",))
    cluster.sync()
    cluster.pod("leader", "g", role="leader", owner=JOB)
    cluster.settle()
    assert "leader" in cluster.where()


def test_nor_do_they_where_status_knows_of_another_run() -> None:
    """Semantics §2.2, §2.4."""
    cluster = unlisted()
    memory = RunMemory("job-2", ("job-2",))
    cluster.group("g", 2, owner="MPIJob/m", memory=GroupMemory("job-2", runs=(memory,)))
    cluster.pod("old", "g", owner=JOB, node="n1", phase=Phase.SUCCEEDED)
    cluster.pod("new", "g", owner=OTHER_JOB)
    cluster.sync()
    cluster.settle()
    assert cluster.condition("g")[2] == "1 of 2 members exist"


def test_bare_pods_of_one_gang_are_one_run_and_their_receipts_say_so() -> None:
    cluster = unlisted()
    cluster.group("g", 3, memory=GroupMemory("uid-of-a-pod-that-is-gone", succeeded=1))
    text = binding_record("0-1", "uid-of-a-pod-that-is-gone", 3, 42.0)
    cluster.pod("g-1", "g", node="n1", binding_record=text)
    cluster.pod("g-2", "g")
    cluster.sync()
    cluster.settle()
    assert "g-2" in cluster.where()
    assert cluster.status["g"].run_name == "uid-of-a-pod-that-is-gone"


@pytest.mark.parametrize(
    "memory", [GroupMemory(), GroupMemory("first")], ids=["no status", "status"]
)
@pytest.mark.parametrize("owners", [(None, None), (OTHER_JOB, JOB)], ids=["bare", "two Jobs"])
def test_who_waits_since_the_run_of_those_that_succeeded_belongs_to_it(
    memory: GroupMemory, owners: tuple[Owner | None, Owner | None]
) -> None:
    """Bound before a crash, and finished before the next process has looked."""
    cluster = unlisted()
    cluster.group("g", 3, memory=memory)
    text = binding_record("0-1", "first", 3, cluster.now)
    for name in ("g-0", "g-1"):
        done = {"node": "n1", "phase": Phase.SUCCEEDED, "scheduled_at": cluster.now}
        cluster.pod(name, "g", owner=owners[0], binding_record=text, **done)
    cluster.pod("g-2", "g", owner=owners[1])
    cluster.sync()
    cluster.settle()
    assert "g-2" in cluster.where()
    assert cluster.status["g"].run_name == "first"


def test_an_addition_older_than_a_binding_belongs_to_the_same_run() -> None:
    cluster = unlisted()
    cluster.group("g", 2)
    bound_at, text = cluster.now + 2, binding_record("0-1", "first", 1, cluster.now - 9)
    done = {"node": "n1", "phase": Phase.SUCCEEDED, "scheduled_at": bound_at}
    cluster.pod("g-0", "g", binding_record=text, **done)
    cluster.pod("g-1", "g")
    cluster.sync()
    cluster.settle()
    assert "g-1" in cluster.where()


def test_who_came_after_those_that_succeeded_is_of_another_run() -> None:
    cluster = unlisted()
    cluster.group("g", 3, memory=GroupMemory("first", succeeded=2))
    text = binding_record("0-1", "first", 3, cluster.now)
    for name in ("g-0", "g-1"):
        done = {"node": "n1", "phase": Phase.SUCCEEDED, "scheduled_at": cluster.now}
        cluster.pod(name, "g", binding_record=text, **done)
    cluster.now += 5
    cluster.pod("g-2", "g")
    cluster.sync()
    cluster.settle()
    assert cluster.condition("g")[2] == "1 of 3 members exist"


def test_a_restart_changes_nobodys_place_because_status_has_the_queue_time() -> None:
    cluster = unlisted()
    cluster.group("g", 2, memory=GroupMemory("job-1", runs=(RunMemory("job-1", queue_time=42.0),)))
    cluster.pod("g-1", "g", owner=JOB)
    cluster.sync()
    cluster.step()
    [members] = cluster.engine._groups
    assert members.queue_time == 42.0


def test_a_binding_record_alone_makes_nobody_older_than_the_oldest_member() -> None:
    cluster = unlisted()
    cluster.now += 100
    cluster.group("g", 2)
    cluster.pod("g-0", "g", node="n1", binding_record=binding_record("0-1", "x", 2, 42.0))
    cluster.pod("g-1", "g")
    cluster.sync()
    cluster.step()
    [members] = cluster.engine._groups
    assert members.queue_time == cluster.now


def test_without_any_status_a_running_member_proves_that_the_group_started() -> None:
    cluster = unlisted()
    cluster.group("g", 2)
    cluster.pod("g-0", "g", node="n1", phase=Phase.RUNNING, scheduled_at=77.0)
    cluster.pod("g-1", "g")
    cluster.sync()
    cluster.settle()
    assert cluster.status["g"].started == 77.0


def test_a_status_that_remembers_more_successes_than_we_saw_is_taken_over() -> None:
    cluster = unlisted()
    cluster.sync()
    cluster.gang("g", 2, owner=JOB)
    cluster.settle()
    cluster.group("g", 2, memory=GroupMemory("job-1", succeeded=1, roles=(("worker", 1),)))
    cluster.settle()
    assert cluster.status["g"].succeeded == 1


def test_a_group_that_changes_its_name_on_a_pod_moves_the_pod() -> None:
    cluster = unlisted()
    cluster.sync()
    cluster.group("a", 2)
    cluster.group("b", 1)
    cluster.pod("p", "a")
    cluster.settle()
    cluster.change("p", group=cluster.groups["b"].key)
    cluster.settle()
    assert "p" in cluster.where()
    assert cluster.condition("a")[2] == "0 of 2 members exist"


def test_a_bare_pod_that_succeeded_before_is_not_counted_when_it_is_seen_again() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.gang("g", 2)
    cluster.settle()
    cluster.finish("g-0")
    cluster.finish("g-1")
    cluster.settle()
    cluster.pod("again-0", "g")  # another run begins, of which one member is missing
    cluster.settle()
    assert cluster.condition("g")[2] == "1 of 2 members exist"
    cluster.change("g-0", deleting=True)
    cluster.settle()
    assert cluster.condition("g")[2] == "1 of 2 members exist"
    assert cluster.where("again") == {}


def test_nor_is_one_that_somebody_else_had_bound() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.group("g", 2)
    for name in ("g-0", "g-1"):
        cluster.pod(name, "g", node="n1", scheduled_at=cluster.now, phase=Phase.RUNNING)
    cluster.settle()
    cluster.finish("g-0")
    cluster.finish("g-1")
    cluster.settle()
    cluster.pod("again-0", "g")
    cluster.settle()
    assert cluster.condition("g")[2] == "1 of 2 members exist"
    cluster.change("g-0", deleting=True)
    cluster.settle()
    assert cluster.condition("g")[2] == "1 of 2 members exist"


def test_a_success_in_an_undeclared_role_is_not_counted_again_when_status_is_read_back() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.group("g", 3)
    cluster.pod("g-1", "g", role="worker", gates=("hold",))
    cluster.pod("g-0", "g", role="worker", node="n1", phase=Phase.SUCCEEDED)
    cluster.settle()
    for _ in range(3):  # the watch shows the status that was written
        status = cluster.status["g"]
        cluster.group("g", 3, memory=remembered(status))
        cluster.settle()
    assert cluster.status["g"].succeeded == 1
    assert cluster.condition("g")[2].startswith("1 of 3 members exist")


def test_what_another_job_makes_is_a_run_of_its_own_also_where_a_job_has_the_group() -> None:
    """semantics §2.4: the PodGroup was made for the first Job, whose pods declare it."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=3)
    cluster.group("g", 2, owner="Job/job-1")
    for index in range(2):
        cluster.pod(f"first-{index}", "g", owner=JOB, spec=spec(cpu=1))
    cluster.settle()
    assert len(cluster.where("first-")) == 2
    for index in range(2):
        cluster.pod(f"second-{index}", "g", owner=OTHER_JOB, spec=spec(cpu=1))
    cluster.settle()
    assert not cluster.where("second-"), "there is room for one of the two"
