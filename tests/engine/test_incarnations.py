# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whose life the members belong to, across restarts of the scheduler (gangs.md §1, §2)."""

import pytest

from enbloc.model.groups import Memory
from enbloc.model.pods import Owner, Phase
from enbloc.model.receipts import receipt
from tests.engine.cluster import Cluster

JOB = Owner("Job", "j", "job-1")
OTHER_JOB = Owner("Job", "other", "job-2")


def restarted() -> Cluster:
    """A cluster whose first lists are still to come."""
    cluster = Cluster(sync=False)
    cluster.nodes("n1", cpu=8)
    return cluster


def test_what_status_remembers_of_this_life_is_believed() -> None:
    cluster = restarted()
    memory = Memory("job-1", started=5.0, succeeded=3, attempts=7, initially_scheduled=True)
    cluster.group("g", 4, memory=memory)
    cluster.pod("g-3", "g", owner=JOB)
    cluster.sync()
    cluster.settle()
    assert "g-3" in cluster.where()
    status = cluster.status["g"]
    assert (status.succeeded, status.started, status.attempts) == (3, 5.0, 8)
    assert cluster.condition("g", "InitiallyScheduled")[0] is True


def test_what_status_remembers_of_another_life_is_not() -> None:
    cluster = restarted()
    cluster.group("g", 4, memory=Memory("job-0", started=5.0, succeeded=3))
    cluster.pod("g-3", "g", owner=JOB)
    cluster.sync()
    cluster.settle()
    assert cluster.where() == {}
    assert cluster.condition("g")[2] == "1 of 4 members exist"
    assert (cluster.status["g"].incarnation, cluster.status["g"].succeeded) == ("job-1", 0)


def test_with_no_member_left_status_is_all_there_is() -> None:
    cluster = restarted()
    cluster.group("g", 2, memory=Memory("job-1", succeeded=2))
    cluster.sync()
    cluster.settle()
    assert cluster.status["g"].succeeded == 2
    assert cluster.condition("g")[:2] == (True, "Scheduled")


def test_when_a_life_without_a_name_started_is_remembered_too() -> None:
    cluster = restarted()
    cluster.group("g", 1, memory=Memory("", started=5.0, succeeded=1))
    cluster.pod("g-0", "g", owner=JOB, node="n1", phase=Phase.SUCCEEDED)
    cluster.sync()
    cluster.settle()
    assert (cluster.status["g"].started, cluster.status["g"].succeeded) == (5.0, 1)


def test_succeeded_members_that_are_still_listed_count_without_any_status() -> None:
    cluster = restarted()
    cluster.group("g", 3)
    cluster.pod("g-0", "g", owner=JOB, node="n1", phase=Phase.SUCCEEDED)
    cluster.pod("g-1", "g", owner=JOB, node="n1", phase=Phase.SUCCEEDED)
    cluster.pod("g-2", "g", owner=JOB)
    cluster.sync()
    cluster.settle()
    assert "g-2" in cluster.where()


def test_successes_of_an_older_job_do_not_count_for_the_new_one() -> None:
    cluster = restarted()
    cluster.group("g", 3)
    for index in range(2):
        cluster.pod(f"old-{index}", "g", owner=Owner("Job", "j", "job-0"), phase=Phase.SUCCEEDED)
    cluster.pod("new", "g", owner=JOB)
    cluster.sync()
    cluster.settle()
    assert cluster.condition("g")[2] == "1 of 3 members exist"


def test_bare_pods_of_one_gang_are_one_life_and_their_receipts_say_so() -> None:
    cluster = restarted()
    cluster.group("g", 3, memory=Memory("uid-of-a-pod-that-is-gone", succeeded=1))
    text = receipt("0-1", "uid-of-a-pod-that-is-gone", 3, 42.0)
    cluster.pod("g-1", "g", node="n1", receipt=text)
    cluster.pod("g-2", "g")
    cluster.sync()
    cluster.settle()
    assert "g-2" in cluster.where()
    assert cluster.status["g"].incarnation == "uid-of-a-pod-that-is-gone"


@pytest.mark.parametrize("memory", [Memory(), Memory("first")], ids=["no status", "status"])
@pytest.mark.parametrize("owners", [(None, None), (OTHER_JOB, JOB)], ids=["bare", "two Jobs"])
def test_who_waits_since_the_life_of_those_that_succeeded_belongs_to_it(
    memory: Memory, owners: tuple[Owner | None, Owner | None]
) -> None:
    """Bound before a crash, and finished before the next process has looked."""
    cluster = restarted()
    cluster.group("g", 3, memory=memory)
    text = receipt("0-1", "first", 3, cluster.now)
    for name in ("g-0", "g-1"):
        done = {"node": "n1", "phase": Phase.SUCCEEDED, "scheduled_at": cluster.now}
        cluster.pod(name, "g", owner=owners[0], receipt=text, **done)
    cluster.pod("g-2", "g", owner=owners[1])
    cluster.sync()
    cluster.settle()
    assert "g-2" in cluster.where()
    assert cluster.status["g"].incarnation == "first"


def test_an_addition_older_than_a_binding_belongs_to_the_same_life() -> None:
    cluster = restarted()
    cluster.group("g", 2)
    bound_at, text = cluster.now + 2, receipt("0-1", "first", 1, cluster.now - 9)
    done = {"node": "n1", "phase": Phase.SUCCEEDED, "scheduled_at": bound_at}
    cluster.pod("g-0", "g", receipt=text, **done)
    cluster.pod("g-1", "g")
    cluster.sync()
    cluster.settle()
    assert "g-1" in cluster.where()


def test_who_came_after_those_that_succeeded_is_of_another_life() -> None:
    cluster = restarted()
    cluster.group("g", 3, memory=Memory("first", succeeded=2))
    text = receipt("0-1", "first", 3, cluster.now)
    for name in ("g-0", "g-1"):
        done = {"node": "n1", "phase": Phase.SUCCEEDED, "scheduled_at": cluster.now}
        cluster.pod(name, "g", receipt=text, **done)
    cluster.now += 5
    cluster.pod("g-2", "g")
    cluster.sync()
    cluster.settle()
    assert cluster.condition("g")[2] == "1 of 3 members exist"


def test_a_restart_changes_nobodys_place_because_the_receipt_has_the_queue_time() -> None:
    cluster = restarted()
    cluster.now += 100
    cluster.group("g", 2)
    cluster.pod("g-0", "g", node="n1", receipt=receipt("0-1", "x", 2, 42.0))
    cluster.pod("g-1", "g")
    cluster.sync()
    cluster.step()
    [members] = cluster.engine._groups
    assert members.queue_time == 42.0


def test_without_any_status_a_running_member_proves_that_the_group_started() -> None:
    cluster = restarted()
    cluster.group("g", 2)
    cluster.pod("g-0", "g", node="n1", phase=Phase.RUNNING, scheduled_at=77.0)
    cluster.pod("g-1", "g")
    cluster.sync()
    cluster.settle()
    assert cluster.status["g"].started == 77.0


def test_a_jobset_restart_is_a_new_life_even_of_the_same_owner() -> None:
    cluster = restarted()
    cluster.sync()
    cluster.group("g", 1)
    cluster.pod("g-0", "g", owner=JOB, restart="set/0")
    cluster.settle()
    cluster.finish("g-0")
    cluster.settle()
    assert cluster.status["g"].succeeded == 1
    cluster.pod("g-1", "g", owner=JOB, restart="set/1")
    cluster.settle()
    assert (cluster.status["g"].incarnation, cluster.status["g"].succeeded) == ("set/1", 0)


def test_a_started_group_that_lost_members_is_below_its_minimum() -> None:
    cluster = restarted()
    cluster.sync()
    cluster.gang("g", 3, owner=JOB)
    cluster.settle()
    cluster.run_pods(["g-0", "g-1", "g-2"])
    cluster.settle()
    cluster.delete("g-2")
    cluster.settle()
    status, reason, message = cluster.condition("g")
    assert (status, reason) == (False, "BelowMinimum")
    assert message == "2 of 3 members are left: 2 of 3 members exist"
    assert cluster.condition("g", "InitiallyScheduled")[0] is True


def test_a_status_that_remembers_more_successes_than_we_saw_is_taken_over() -> None:
    cluster = restarted()
    cluster.sync()
    cluster.gang("g", 2, owner=JOB)
    cluster.settle()
    cluster.group("g", 2, memory=Memory("job-1", succeeded=1, roles=(("worker", 1),)))
    cluster.settle()
    assert cluster.status["g"].succeeded == 1


def test_a_group_that_changes_its_name_on_a_pod_moves_the_pod() -> None:
    cluster = restarted()
    cluster.sync()
    cluster.group("a", 2)
    cluster.group("b", 1)
    cluster.pod("p", "a")
    cluster.settle()
    cluster.change("p", group=cluster.groups["b"].key)
    cluster.settle()
    assert "p" in cluster.where()
    assert cluster.condition("a")[2] == "0 of 2 members exist"
