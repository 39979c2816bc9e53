# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §2.4: what attempts, replacements and waves of controllers are to a run."""

import pytest

from enbloc.engine.state.gathering import COMPANION_SECONDS
from enbloc.model.pods import Owner
from tests.rules.runs import THIRD_JOB, add_members, ran, with_a_launcher, workers_end
from tests.rules.world import JOB, NEXT_JOB, ONE_A_NODE, World
from tests.world.builders import spec

# ── what a controller's attempts, replacements and waves are ─────────────────────────────────────


def test_members_that_somebody_else_binds_make_no_further_runs() -> None:
    """Semantics §2.4: each is of a Job of its own, and is bound before the next one comes."""
    world = World()
    world.node("n0", cpu=100)
    world.group("g", 4)
    for index in range(20):
        owner = Owner("Job", f"job-{index}", f"job-{index}")
        world.member(f"m-{index}", "g", owner=owner, scheduler="other", spec=spec(cpu=1))
        world.change(f"m-{index}", node="n0")
    world.settle()
    assert len(world.status["g"].runs) == 8
    other = world.restarted()
    other.settle()
    assert len(other.status["g"].runs) == 8


def test_binding_records_that_are_forged_make_no_further_runs() -> None:
    """Semantics §2.4: each names a run of its own, and another process finds them."""
    world = World(sync=False)
    world.node("n0", cpu=100)
    world.group("g", 4)
    for index in range(40):
        owner = Owner("Job", f"forged-{index}", f"forged-{index}")
        record = f'{{"plan":"p","run":"i{index}","floor":1,"queueTime":1}}'
        world.member(f"m-{index}", "g", owner=owner, node="n0", binding_record=record)
    world.sync()
    world.settle()
    add_members(world, JOB, 4)
    world.settle()
    assert len(world.status["g"].runs) <= 16, "the schema allows no more"
    assert world.where("job-1") == {}
    assert "waiting for one to end" in world.condition("g")[2]


def test_an_attempt_that_a_newer_one_follows_holds_no_capacity_from_then_on() -> None:
    """Semantics §2.4: another group takes at once what was held for its lost member."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2, timeout=3600)
    for index in range(2):
        world.member(f"old-{index}", "g", restart="js/0")
    world.settle()
    world.run_pods(["old-0", "old-1"])
    world.settle()
    world.delete("old-1")
    world.settle()
    world.pod("later", spec=ONE_A_NODE)
    world.settle()
    assert world.where("later") == {}
    world.member("new-0", "g", restart="js/1")
    world.settle()
    assert world.where("later") != {}


def test_an_attempt_of_a_jobset_that_a_newer_one_follows_is_not_completed() -> None:
    """Semantics §2.4: no hold, no precedence, no plan."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 2, timeout=60)
    add_members(world, JOB, 2, restart="set/0")
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    world.delete("job-1-1")
    add_members(world, JOB, 1, first=5, restart="set/0")
    add_members(world, NEXT_JOB, 2, restart="set/1")
    world.settle()
    assert sorted(world.where()) == ["job-1-0", "job-2-0", "job-2-1"]
    world.node("n4", cpu=4)
    world.settle(seconds=100)
    assert "job-1-5" not in world.where()


def test_an_attempt_does_not_take_the_place_of_the_one_before_beside_another_job() -> None:
    """Semantics §2.4: a Job that was made again would."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    add_members(world, JOB, 1)
    add_members(world, NEXT_JOB, 1, restart="set/0")
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    world.delete("job-2-0")
    world.now += 5
    add_members(world, NEXT_JOB, 1, first=1, restart="set/1")
    world.settle(seconds=3600)
    assert sorted(world.where()) == ["job-1-0"]


def test_two_attempts_of_one_jobset_never_gather() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 3)
    add_members(world, JOB, 2, restart="set/0")
    add_members(world, NEXT_JOB, 1, restart="set/1")
    world.settle(seconds=3600)
    assert world.where() == {}


def test_the_newest_attempt_gathers_with_others_though_an_older_one_is_there() -> None:
    """Semantics §2.4: of three owners none has the quorum alone."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 2)
    add_members(world, JOB, 1)
    add_members(world, NEXT_JOB, 1, restart="set/0")
    add_members(world, NEXT_JOB, 1, first=1, restart="set/1")
    world.settle()
    assert sorted(world.where()) == ["job-1-0", "job-2-1"]


def test_an_owner_that_lacks_a_role_gathers_with_who_has_it() -> None:
    """Semantics §2.4: the workers are as many as the minimum, but it takes a launcher too."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 3, roles=(("worker", 2), ("launcher", 1)))
    add_members(world, JOB, 3, role="worker")
    add_members(world, NEXT_JOB, 1, role="launcher")
    world.settle()
    assert len(world.where()) == 4


def test_nobody_takes_the_place_of_a_job_that_succeeded() -> None:
    """Semantics §2.4: who comes after it is the next run."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    for owner in (JOB, NEXT_JOB):
        add_members(world, owner, 1)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    world.finish("job-2-0")
    world.delete("job-2-0")
    world.now += 5
    add_members(world, THIRD_JOB, 1)
    world.settle(seconds=3600)
    assert sorted(world.where()) == ["job-1-0"]


def test_a_launcher_after_its_workers_joins_them_where_one_controller_owns_the_podgroup() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 2, owner="MPIJob/mpi")
    add_members(world, JOB, 2)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    add_members(world, NEXT_JOB, 1)
    world.settle()
    assert "job-2-0" in world.where()
    assert len(world.status["g"].runs) == 1


def test_a_cronjob_that_owns_the_podgroup_makes_one_run_after_the_other() -> None:
    """Semantics §2.4."""
    world = ran(nodes=3, members=2, left=2)
    world.alter("g", owner="CronJob/cron")
    add_members(world, NEXT_JOB, 2)
    world.settle(seconds=60)
    assert world.where("job-2") == {}


def test_who_was_there_when_the_floor_was_held_and_is_no_run_of_its_own_is_placed() -> None:
    """Semantics §2.4: a launcher that the minimum does not count."""
    world = with_a_launcher()
    assert sorted(world.where()) == ["job-1-0", "job-1-1"]
    world.settle(seconds=11)
    assert "job-2-0" in world.where()


def test_who_waited_with_a_gang_for_long_is_placed_after_it() -> None:
    """Semantics §2.4: no pod of its owner has come for ten seconds when the gang finds room."""
    world = World()
    world.node("n1", cpu=4)
    world.group("g", 2)
    add_members(world, JOB, 2)
    add_members(world, NEXT_JOB, 1)
    world.settle(seconds=60)
    world.nodes("n2 n3", cpu=4)
    world.settle()
    assert "job-2-0" in world.where()


def test_one_job_of_two_that_is_made_again_takes_its_place() -> None:
    """Semantics §2.4."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    world.group("g", 4)
    add_members(world, JOB, 2)
    add_members(world, NEXT_JOB, 2)
    world.settle()
    assert len(world.where()) == 4
    world.run_pods(sorted(world.where()))
    world.settle()
    for index in range(2):
        world.delete(f"job-2-{index}")
    add_members(world, THIRD_JOB, 2)
    world.settle(seconds=11)
    assert len(world.where("job-3")) == 2


def test_executors_are_of_the_run_of_the_pod_that_owns_them() -> None:
    """Semantics §1: also where they are seen before it."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 3)
    driver = Owner("Pod", "driver", "driver-uid")
    world.member("executor-0", "g", owner=driver)
    world.settle()
    world.member("driver", "g", owner=Owner("SparkApplication", "app", "app"), uid="driver-uid")
    world.member("executor-1", "g", owner=driver)
    world.settle()
    assert len(world.where()) == 3
    assert [run.owners for run in world.status["g"].runs] == [("app",)]


def test_owners_that_are_forged_into_a_circle_are_no_harm() -> None:
    """Semantics §1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.group("g", 2)
    world.member("a", "g", uid="a", owner=Owner("Pod", "b", "b"))
    world.member("b", "g", uid="b", owner=Owner("Pod", "a", "a"))
    world.settle()
    assert len(world.where()) == 2


def test_a_rollout_of_a_deployment_is_no_new_run() -> None:
    """Semantics §1."""
    world = World()
    world.nodes("n1 n2 n3", cpu=4)
    world.group("g", 2)
    for revision in ("5d4f", "77c9"):
        owner = Owner("ReplicaSet", f"web-{revision}", f"rs-{revision}")
        add_members(world, owner, 2, labels=(("pod-template-hash", revision),))
        world.settle()
    assert len(world.where()) == 3, "one by one, as there is room"
    assert [run.owners for run in world.status["g"].runs] == [("Deployment:web",)]


def test_who_was_there_is_placed_though_the_others_have_ended_meanwhile() -> None:
    """Semantics §2.4: the workers succeed before it is known that no more launchers come."""
    world = with_a_launcher()
    workers_end(world)
    world.settle(seconds=11)
    assert "job-2-0" in world.where()


def test_another_process_knows_whom_a_companion_waits_for_though_they_have_ended() -> None:
    """Semantics §2.2, §2.4."""
    world = with_a_launcher()
    workers_end(world)
    world.settle()
    again = world.restarted()
    again.settle(seconds=11)
    assert "job-2-0" in again.where()


def test_a_job_that_is_added_with_its_role_before_the_start_completes_the_gang() -> None:
    """Semantics §2.4: it has no quorum alone, and the gang has none without it."""
    world = World()
    world.nodes("n0 n1 n2", cpu=4)
    world.group("g", 2, roles=[("a", 2)], timeout=60)
    add_members(world, JOB, 2, role="a")
    world.settle()
    world.alter("g", min_member=3, roles=(("a", 2), ("b", 1)))
    add_members(world, NEXT_JOB, 1, role="b")
    world.settle(seconds=COMPANION_SECONDS)
    assert len(world.where()) == 3
    assert world.condition("g")[:2] == (True, "Scheduled")


def test_a_job_that_is_added_with_its_role_to_a_gang_that_runs_joins_it() -> None:
    """Semantics §2.4, §2.5: the role is placed whole beside the members that run."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("g", 2, roles=[("a", 2)], timeout=60)
    add_members(world, JOB, 2, role="a")
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    world.alter("g", min_member=4, roles=(("a", 2), ("b", 2)))
    add_members(world, NEXT_JOB, 1, role="b")
    world.settle(seconds=COMPANION_SECONDS)
    assert len(world.where()) == 2
    add_members(world, NEXT_JOB, 1, first=1, role="b")
    world.settle()
    assert len(world.where()) == 4


@pytest.mark.parametrize("restart", [False, True])
def test_a_job_that_is_added_while_a_gang_is_suspended_gathers_with_the_others(
    *, restart: bool
) -> None:
    """Semantics §2.4: whichever of them makes its pods first, they start together."""
    world = World()
    world.nodes("n0 n1 n2 n3", cpu=4)
    world.group("g", 2, timeout=60)
    add_members(world, JOB, 1)
    add_members(world, NEXT_JOB, 1)
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    for name in sorted(world.where()):
        world.delete(name)
    world.settle()
    world.alter("g", min_member=4)
    if restart:
        world = world.restarted()
    add_members(world, JOB, 1, first=1)
    add_members(world, NEXT_JOB, 1, first=1)
    world.settle()
    for uid in ("job-3", "job-4"):
        add_members(world, Owner("Job", "job", uid), 1)
        world.settle()
    assert world.where() == {}
    world.settle(seconds=COMPANION_SECONDS)
    assert len(world.where()) == 4


def test_who_has_the_role_of_a_job_that_succeeded_is_of_the_next_run() -> None:
    """Semantics §2.4: though nothing of that Job is left."""
    world = World()
    world.nodes("n0 n1 n2", cpu=4)
    world.group("g", 2, roles=[("a", 1), ("b", 1)], timeout=60)
    add_members(world, JOB, 1, role="a")
    add_members(world, NEXT_JOB, 1, role="b")
    world.settle()
    world.run_pods(sorted(world.where()))
    world.settle()
    world.finish("job-2-0")
    world.settle()
    world.delete("job-2-0")
    world.settle(seconds=5)
    add_members(world, THIRD_JOB, 1, role="b")
    world.settle(seconds=5 * COMPANION_SECONDS)
    assert sorted(world.where()) == ["job-1-0"]


def test_a_part_of_the_next_run_is_not_taken_into_a_gang_that_lacks_a_member() -> None:
    """Semantics §2.4: the gang has a member of that role, whose Job replaces the other."""
    world = ran(nodes=4, members=3, left=2)
    add_members(world, NEXT_JOB, 1)
    world.settle(seconds=5 * COMPANION_SECONDS)
    assert sorted(world.where()) == ["job-1-0", "job-1-1"]
