# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Members that cannot exist, and Jobs that a repair could make fail (semantics §4.5, §5.2)."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from enbloc.controller.creators import JOB, REPLICA_SET, STATEFUL_SET, Creator
from enbloc.controller.existence import at_once, cannot_exist, fragile
from enbloc.controller.members import Member
from enbloc.model.groups import Group, GroupMemory, OnIncomplete, Role
from enbloc.model.pods import PodUID
from tests.controller.statuses import (
    KEY,
    NOW,
    Watcher,
    failed,
    pending,
    running,
    says,
    scheduled,
)

EIGHT = Group(KEY, uid="g", min_member=8, generation=1)
TRAIN = Creator(JOB, "train", "j", group=KEY, pods=8, completions=8)
WEB = Creator(
    REPLICA_SET, "web-1", "r", group=KEY, pods=8, above_kind="Deployment", above_name="web"
)
DB = Creator(STATEFUL_SET, "db", "s", group=KEY, pods=8)


def of(owner: Creator, member: Member, count: int, **changes: Any) -> list[Member]:
    """So many pods of this owner."""
    return [
        replace(
            member, uid=PodUID(f"{owner.uid}{i}"), owner_key="x", controller=owner.uid, **changes
        )
        for i in range(count)
    ]


def said(members: list[Member], *creators: Creator, group: Group = EIGHT, done: int = 0) -> str:
    """Why the missing members cannot exist."""
    return cannot_exist(group, members, Counter({"": done} if done else {}), by_uid(*creators))


def by_uid(*creators: Creator) -> dict[str, Creator]:
    return {creator.uid: creator for creator in creators}


@pytest.mark.parametrize(
    ("members", "creators", "expected"),
    [
        pytest.param(
            of(TRAIN, pending, 4),
            [replace(TRAIN, pods=4, completions=4)],
            "4 of 8 members exist, at most 4 can: Job train: spec.parallelism is 4 and "
            "spec.completions is 4; completions is immutable, so recreate it with parallelism 8 "
            "and completions 8, or lower spec.minMember to 4",
            id="5.2 a Job whose parallelism and completions are below the minimum",
        ),
        pytest.param(
            of(TRAIN, pending, 4),
            [replace(TRAIN, pods=4, completions=4, indexed=True)],
            "4 of 8 members exist, at most 4 can: Job train: spec.parallelism is 4 and "
            "spec.completions is 4; set spec.parallelism and spec.completions to 8 in one update, "
            "or lower spec.minMember to 4",
            id="5.2 an Indexed Job, of which both can be changed together",
        ),
        pytest.param(
            of(TRAIN, pending, 3),
            [replace(TRAIN, completions=4, succeeded=1, indexed=True)],
            "4 of 8 members exist, at most 4 can: Job train: spec.completions is 4, of which 1 is "
            "done; set spec.parallelism and spec.completions to 8 in one update, or lower "
            "spec.minMember to 4",
            id="5.2 an Indexed Job of which too few are left",
        ),
        pytest.param(
            of(TRAIN, pending, 6),
            [replace(TRAIN, succeeded=1, failed=1, indexed=True)],
            "7 of 8 members exist, at most 7 can: Job train: spec.completions is 8, of which 1 is "
            "done and 1 failed for good; set spec.parallelism and spec.completions to 9 in one "
            "update, or lower spec.minMember to 7",
            id="5.2 an Indexed Job of which an index failed for good",
        ),
        pytest.param(
            of(TRAIN, pending, 4),
            [replace(TRAIN, pods=4)],
            "4 of 8 members exist, at most 4 can: Job train: spec.parallelism is 4; raise it to 8, "
            "or lower spec.minMember to 4",
            id="5.2 a Job whose parallelism is below the minimum",
        ),
        pytest.param(
            [],
            [replace(TRAIN, pods=4)],
            "0 of 8 members exist, at most 4 can: Job train: spec.parallelism is 4; raise it to 8, "
            "or lower spec.minMember to 4",
            id="5.2 the same before it has created any pod",
        ),
        pytest.param(
            of(TRAIN, pending, 6),
            [replace(TRAIN, completions=6)],
            "6 of 8 members exist, at most 6 can: Job train: spec.completions is 6; completions "
            "is immutable, so recreate it with 8, or lower spec.minMember to 6",
            id="5.2 a Job whose completions are below the minimum",
        ),
        pytest.param(
            of(TRAIN, pending, 2),
            [replace(TRAIN, completions=7, succeeded=5)],
            "7 of 8 members exist, at most 7 can: Job train: spec.completions is 7, of which 5 are "
            "done; completions is immutable, so recreate it with 8, or lower spec.minMember to 7",
            id="5.2 a Job of which too few are left",
        ),
        pytest.param(
            of(TRAIN, pending, 2),
            [replace(TRAIN, completions=None, succeeded=1)],
            "3 of 8 members exist, at most 3 can: Job train: one of its pods succeeded, after "
            "which it creates no more; set spec.completions, or lower spec.minMember to 3",
            id="5.2 a work queue that is done",
        ),
        pytest.param(
            of(DB, pending, 1),
            [replace(DB, ordered=True)],
            "1 of 8 members exist, at most 1 can: StatefulSet db: spec.podManagementPolicy is "
            "OrderedReady, so each pod waits for the one before, which waits for the gang; "
            "recreate it with Parallel, or lower spec.minMember to 1",
            id="5.2 an ordered StatefulSet",
        ),
        pytest.param(
            of(DB, pending, 3),
            [replace(DB, pods=3)],
            "3 of 8 members exist, at most 3 can: StatefulSet db: spec.replicas is 3; raise it to "
            "8, or lower spec.minMember to 3",
            id="5.2 a StatefulSet with too few replicas",
        ),
        pytest.param(
            of(WEB, pending, 3),
            [replace(WEB, pods=3)],
            "3 of 8 members exist, at most 3 can: Deployment web: spec.replicas is 3; raise it to "
            "8, or lower spec.minMember to 3",
            id="5.2 a Deployment with too few replicas",
        ),
        pytest.param(
            [],
            [replace(DB, pods=0)],
            "0 of 8 members exist, at most 0 can: StatefulSet db: spec.replicas is 0; raise it to "
            "8",
            id="5.2 a StatefulSet that is scaled to zero",
        ),
        pytest.param(
            [*of(TRAIN, pending, 4), *of(WEB, pending, 2)],
            [replace(TRAIN, pods=4), replace(WEB, pods=2)],
            "6 of 8 members exist, at most 6 can: Deployment web: spec.replicas is 2; raise it to "
            "4, or Job train: spec.parallelism is 4; raise it to 6, or lower spec.minMember to 6",
            id="5.2 two owners that together have too few",
        ),
        pytest.param(
            [*of(TRAIN, failed, 2), *of(WEB, pending, 4)],
            [replace(TRAIN, ended=False), replace(WEB, pods=4)],
            "4 of 8 members exist, at most 4 can: Deployment web: spec.replicas is 4; raise it to "
            "8, or Job train: it failed; run it again, or lower spec.minMember to 4",
            id="5.2 a Job that failed beside an owner that goes on",
        ),
        pytest.param(of(TRAIN, pending, 4), [TRAIN], "", id="5.2 the Job is about to create more"),
        pytest.param(
            of(TRAIN, pending, 4),
            [replace(TRAIN, pods=4), replace(TRAIN, uid="k", name="more", pods=4)],
            "",
            id="5.2 two Jobs that together have enough",
        ),
        pytest.param(
            of(TRAIN, pending, 8),
            [replace(TRAIN, pods=4)],
            "",
            id="5.2 surplus pods of a Job that was scaled down still exist",
        ),
        pytest.param(
            of(DB, running, 7, ready=True),
            [replace(DB, ordered=True)],
            "",
            id="5.2 an ordered StatefulSet whose earlier pods are Ready",
        ),
        pytest.param(
            of(WEB, pending, 3),
            [replace(WEB, pods=3), replace(WEB, uid="q", name="web-0", pods=0)],
            "3 of 8 members exist, at most 3 can: Deployment web: spec.replicas is 3; raise it to "
            "8, or lower spec.minMember to 3",
            id="5.2 a Deployment with a former ReplicaSet",
        ),
        pytest.param(
            [],
            [replace(WEB, pods=0)],
            "",
            id="5.2 a Deployment whose next ReplicaSet has yet to be scaled up",
        ),
        pytest.param(of(TRAIN, pending, 4), [], "", id="5.2 an owner that is not known"),
        pytest.param([replace(pending, uid=PodUID("p"))], [], "", id="5.2 bare pods"),
        pytest.param(
            [*of(TRAIN, pending, 4), replace(pending, uid=PodUID("p"))],
            [replace(TRAIN, pods=4)],
            "",
            id="5.2 a Job and a bare pod, of which there may be more",
        ),
        pytest.param(
            [*of(TRAIN, pending, 4), *of(replace(TRAIN, uid="other"), pending, 1)],
            [replace(TRAIN, pods=4)],
            "",
            id="5.2 a Job and an owner of an unknown kind",
        ),
        pytest.param(
            of(TRAIN, pending, 4),
            [replace(TRAIN, pods=4, above_kind="JobSet", above_name="js")],
            "",
            id="5.2 a Job of a JobSet, which may create others",
        ),
        pytest.param(
            of(TRAIN, pending, 4),
            [
                replace(TRAIN, pods=4),
                replace(TRAIN, uid="k", above_kind="JobSet", above_name="js", pods=1),
            ],
            "",
            id="5.2 one of two Jobs belongs to an owner of an unknown kind",
        ),
        pytest.param(
            [],
            [replace(TRAIN, ended=True)],
            "",
            id="5.2 a Job of an earlier run says nothing about this one",
        ),
    ],
)
def test_why_members_cannot_exist(
    members: list[Member], creators: list[Creator], expected: str
) -> None:
    done = sum(creator.succeeded for creator in creators)

    assert said(members, *creators, done=done) == expected


def test_successes_that_the_scheduler_has_not_counted_yet_count_by_the_job() -> None:
    """Semantics §5.2."""
    job = replace(TRAIN, completions=16, succeeded=10)

    assert said(of(TRAIN, pending, 2), job, done=1) == ""


def test_a_last_wave_has_no_pods_for_indexes_that_failed() -> None:
    """Semantics §2.4: of ten indexes six succeeded and two failed for good, so two are left."""
    job = replace(TRAIN, completions=10, succeeded=6, failed=2)

    assert at_once(EIGHT, of(TRAIN, pending, 2), by_uid(job), {job.uid}) == 2


def test_a_job_that_has_no_pods_yet_when_it_is_resumed_can_run_them_too() -> None:
    """Semantics §2.4: the pods of two Jobs of a gang come one after the other."""
    job = replace(TRAIN, completions=4, pods=4)
    other = replace(job, uid="other", name="other")
    both = by_uid(job, other)
    watcher = Watcher(EIGHT, {})
    watcher.looks([*of(job, running, 4), *of(other, running, 4)], both, run_name=job.uid)
    watcher.looks([], both)
    watcher.looks(of(job, pending, 4), both)
    assert watcher.status["expected"] == 8


def test_a_roles_minimum_counts_the_owners_of_that_role() -> None:
    """Semantics §5.2."""
    group = replace(EIGHT, min_member=4, roles=(Role("launcher", 1), Role("worker", 3)))
    launcher = replace(TRAIN, uid="l", name="launch", role="launcher", pods=1)
    worker = replace(TRAIN, role="worker", pods=2)
    members = [*of(launcher, pending, 1, role="launcher"), *of(worker, pending, 2, role="worker")]

    assert said(members, launcher, replace(worker, pods=3), group=group) == ""
    assert said(members, replace(launcher, pods=5), worker, group=group) == (
        "role worker: 2 of 3 members exist, at most 2 can: Job train: spec.parallelism is 2; raise "
        "it to 3, or lower the minMember of role worker to 2"
    )


def test_a_child_that_cannot_exist_is_not_missed_where_others_are_enough() -> None:
    """Semantics §2.8 and §5.2."""
    roles = (Role("launcher", 1), Role("worker", 3))
    group = replace(EIGHT, min_member=1, roles=roles, min_group_count=1)
    launcher = replace(TRAIN, uid="l", name="launch", role="launcher", pods=1)
    worker = replace(TRAIN, role="worker", pods=2)

    assert said([], launcher, worker, group=group) == ""
    assert said([], replace(launcher, pods=0), worker, group=group).startswith("role launcher: 0")


OF_A_JOB_SET = replace(EIGHT, derived=True, owner="JobSet/s", roles=(Role("w", 8),))
W_0 = replace(TRAIN, name="set-w-0", role="w", indexed=True, above_kind="JobSet", above_name="set")
HALF = replace(W_0, pods=4, completions=4)
OTHER_HALF = replace(HALF, name="set-w-1", uid="k")


@pytest.mark.parametrize(
    ("members", "creators", "expected"),
    [
        pytest.param(
            of(W_0, pending, 7, role="w"),
            [replace(W_0, failed=1)],
            "7 of 8 members exist, at most 7 can: Job set-w-0 of JobSet set: spec.completions is "
            "8, of which 1 failed for good; create JobSet set again",
            id="5.2 an index failed for good before the JobSet was suspended and resumed",
        ),
        pytest.param(
            [],
            [replace(W_0, failed=1, suspended=True)],
            "0 of 8 members exist, at most 7 can: Job set-w-0 of JobSet set: spec.completions is "
            "8, of which 1 failed for good; create JobSet set again",
            id="5.2 and while it is suspended",
        ),
        pytest.param(
            of(HALF, pending, 4, role="w"),
            [HALF, replace(OTHER_HALF, succeeded=1, failed=2)],
            "5 of 8 members exist, at most 6 can: Job set-w-1 of JobSet set: spec.completions is "
            "4, of which 1 is done and 2 failed for good; create JobSet set again",
            id="5.2 only the Job that can create too few is named",
        ),
        pytest.param(
            of(HALF, pending, 3, role="w"),
            [replace(HALF, failed=1)],
            "",
            id="5.2 the JobSet is about to create another Job",
        ),
        pytest.param(
            of(W_0, failed, 8, role="w"),
            [replace(W_0, ended=False, failed=1)],
            "",
            id="5.2 the JobSet may start a Job that failed again",
        ),
        pytest.param(
            of(W_0, pending, 4, role="w"),
            [replace(W_0, completions=16, failed=1)],
            "",
            id="5.2 enough indexes are left",
        ),
    ],
)
def test_jobs_of_a_job_set_whose_indexes_failed_for_good(
    members: list[Member], creators: list[Creator], expected: str
) -> None:
    done = sum(creator.succeeded for creator in creators)
    counted = Counter({"w": done} if done else {})

    assert cannot_exist(OF_A_JOB_SET, members, counted, by_uid(*creators)) == expected


def test_a_job_set_may_add_members_to_a_group_that_was_not_made_for_it() -> None:
    """Semantics §5.2."""
    lost = replace(W_0, failed=1)

    assert said(of(lost, pending, 7), lost) == ""


SMALL = replace(TRAIN, pods=4)


@pytest.mark.parametrize(
    ("status", "state"),
    [
        pytest.param({}, "MembersCannotExist", id="5.2 before the scheduler said anything"),
        pytest.param(
            scheduled("False", "WaitingForMembers"), "MembersCannotExist", id="5.2 while it waits"
        ),
        pytest.param(
            scheduled("True", "Scheduled"), "Starting", id="5.2 not once the minimum is held"
        ),
        pytest.param(
            scheduled("False", "InvalidSpec"),
            "InvalidSpec",
            id="5.2 not over a fault that is known",
        ),
    ],
)
def test_the_state_of_a_group_whose_members_cannot_exist(
    status: dict[str, Any], state: str
) -> None:
    watcher = Watcher(EIGHT, status)
    watcher.looks(of(SMALL, pending, 4), by_uid(SMALL))

    assert watcher.ready()[0] == state


def test_a_group_that_has_started_is_below_its_minimum_whatever_can_exist() -> None:
    """Semantics §5.2."""
    status = says(
        ("Scheduled", "False", "BelowMinimum", "4 of 8 members are left"),
        ("Satisfied", "False", "BelowMinimum", "4 of 8 members run"),
    )
    watcher = Watcher(replace(EIGHT, memory=GroupMemory("x", NOW)), status)
    watcher.looks(of(SMALL, running, 4), by_uid(SMALL))

    assert watcher.ready() == ("BelowMinimum", "4 of 8 members are left")


def test_a_group_that_says_so_goes_on_when_the_field_is_mended() -> None:
    """Semantics §5.2."""
    watcher = Watcher(EIGHT, {})
    watcher.looks(of(SMALL, pending, 4), by_uid(SMALL))
    watcher.looks(of(SMALL, pending, 4), by_uid(TRAIN), NOW + 5)

    assert watcher.ready() == ("WaitingForMembers", "4 of 8 members exist")


def test_a_suspended_job_can_have_its_members_later() -> None:
    """Semantics §5.2."""
    watcher = Watcher(EIGHT, {})
    watcher.looks([], by_uid(replace(TRAIN, suspended=True)))
    assert watcher.ready() == (
        "WaitingForMembers",
        "0 of 8 members exist; Job train is suspended",
    )

    many = [
        replace(TRAIN, uid=str(i), name=str(i), suspended=True, above_kind="JobSet", above_name="j")
        for i in range(5)
    ]
    watcher.looks([], by_uid(*many))
    assert watcher.ready()[1] == (
        "0 of 8 members exist; Job 0 of JobSet j, Job 1 of JobSet j, Job 2 of JobSet j and 2 more "
        "are suspended"
    )


SIX = replace(TRAIN, backoff_limit=6)


@pytest.mark.parametrize(
    ("group", "job", "warned"),
    [
        pytest.param(EIGHT, SIX, True, id="4.5 fewer failures are allowed than members deleted"),
        pytest.param(EIGHT, replace(TRAIN, backoff_limit=8), False, id="4.5 as many are allowed"),
        pytest.param(EIGHT, TRAIN, False, id="4.5 deletions are not counted"),
        pytest.param(EIGHT, replace(SIX, pods=4), False, id="4.5 the Job has a part of the gang"),
        pytest.param(EIGHT, replace(SIX, ended=True), False, id="4.5 the Job has ended"),
        pytest.param(replace(EIGHT, min_member=1), SIX, False, id="4.5 no gang"),
        pytest.param(
            replace(EIGHT, on_incomplete=OnIncomplete.RESTART), SIX, True, id="4.5 Restart deletes"
        ),
        pytest.param(
            replace(EIGHT, on_incomplete=OnIncomplete.KEEP), SIX, False, id="4.5 Keep never deletes"
        ),
    ],
)
def test_which_jobs_a_repair_could_make_fail(group: Group, job: Creator, warned: bool) -> None:
    notes = [note for _, note in fragile(group, by_uid(job))]

    warning = (
        "Job train: spec.backoffLimit is 6, but a repair of this gang may delete 8 of its pods, "
        "and each counts against it; raise it to 8, or let spec.podFailurePolicy ignore pods with "
        "condition DisruptionTarget"
    )
    assert notes == [warning] * warned


@pytest.mark.parametrize(
    ("limit", "warned"),
    [
        pytest.param(0, True, id="the first failure of an index is its last"),
        pytest.param(1, False, id="an index may fail once"),
        pytest.param(None, False, id="there is no such limit"),
    ],
)
def test_a_repair_could_make_each_index_of_a_job_fail_for_good(
    limit: int | None, warned: bool
) -> None:
    """Semantics §4.5: the API server sets backoffLimit as high as can be then."""
    found = replace(TRAIN, backoff_limit=2**31 - 1, index_limit=limit)

    notes = [note for _, note in fragile(EIGHT, by_uid(found))]

    assert not [*fragile(EIGHT, by_uid(replace(found, pods=0)))], "there is no pod to delete"
    warning = (
        "Job train: spec.backoffLimitPerIndex is 0, but a repair of this gang may delete 8 of its "
        "pods, and the index of each fails for good; recreate it with 1 or more, or let "
        "spec.podFailurePolicy ignore pods with condition DisruptionTarget"
    )
    assert notes == [warning] * warned
