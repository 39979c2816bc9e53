# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller says of a group, as sentences."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.controller.members import Member
from enbloc.controller.reconcile import reconcile
from enbloc.model.groups import Group, GroupMemory, Role
from enbloc.model.names import Reason
from enbloc.model.pods import PodUID
from enbloc.model.times import time_text
from tests.controller.statuses import (
    NOW,
    PAIR,
    applied,
    bound,
    condition,
    failed,
    jobs,
    pending,
    pods,
    running,
    says,
    scheduled,
    succeeded,
    terminating,
)

STARTED = replace(PAIR, memory=GroupMemory(run_name="pod-0", started=NOW))


@pytest.mark.parametrize(
    ("group", "members", "status", "expected"),
    [
        pytest.param(
            PAIR,
            pods(pending),
            {},
            ("False", Reason.WAITING_FOR_MEMBERS, "1 of 2 members exist"),
            id="a group with a member missing waits for members",
        ),
        pytest.param(
            PAIR,
            pods(pending, terminating),
            {},
            ("False", Reason.WAITING_FOR_MEMBERS, "1 of 2 members exist"),
            id="a terminating pod is no member",
        ),
        pytest.param(
            replace(PAIR, roles=(Role("worker", 2),)),
            pods(pending, pending, role="launcher"),
            {},
            ("False", Reason.WAITING_FOR_MEMBERS, "0 of 2 members of role worker exist"),
            id="a role with a member missing waits for members",
        ),
        pytest.param(
            PAIR,
            pods(pending, pending),
            {},
            ("Unknown", Reason.PENDING, "waiting for the scheduler"),
            id="a whole group of which the scheduler said nothing is pending",
        ),
        pytest.param(
            PAIR,
            pods(pending, pending),
            scheduled("Unknown", "Pending"),
            ("Unknown", Reason.PENDING, "waiting for the scheduler"),
            id="a whole group of which the scheduler knows nothing is pending",
        ),
        pytest.param(
            PAIR,
            pods(pending),
            scheduled("False", "WaitingForMembers", "1 of 2 members exist (1 more held)"),
            ("False", Reason.WAITING_FOR_MEMBERS, "1 of 2 members exist (1 more held)"),
            id="the scheduler knows who else is there",
        ),
        pytest.param(
            PAIR,
            pods(pending),
            scheduled("False", "WaitingForMembers", "3 of 2 members exist"),
            ("False", Reason.WAITING_FOR_MEMBERS, "1 of 2 members exist"),
            id="what is missing is counted now, not when the scheduler looked",
        ),
        pytest.param(
            PAIR,
            pods(pending, pending),
            scheduled("False", "WaitingForMembers", "1 is gated"),
            ("False", Reason.WAITING_FOR_MEMBERS, "1 is gated"),
            id="when all exist, the scheduler knows what it waits for",
        ),
        *(
            pytest.param(
                PAIR,
                pods(pending, pending),
                scheduled("False", reason),
                ("False", reason, "by the scheduler"),
                id=f"{reason} is what the scheduler says",
            )
            for reason in (
                Reason.UNSCHEDULABLE,
                Reason.INFEASIBLE,
                Reason.BINDING,
                Reason.WAITING_ON_PERMIT,
                Reason.SCHEDULER_ERROR,
                Reason.INVALID_SPEC,
                Reason.TIMED_OUT,
                Reason.PREEMPTED,
                Reason.RESERVATION_EXPIRED,
            )
        ),
        pytest.param(
            PAIR,
            pods(bound, running),
            scheduled("True", "Scheduled"),
            ("False", Reason.STARTING, "1 of 2 members run"),
            id="a scheduled group of which not all run is starting",
        ),
        pytest.param(
            replace(PAIR, roles=(Role("worker", 2),)),
            [*pods(running, role="worker"), *pods(bound, running, running)[1:]],
            scheduled("True", "Scheduled"),
            ("False", Reason.STARTING, "3 of 2 members run"),
            id="a group is starting until the minimum of each role runs",
        ),
        pytest.param(
            PAIR,
            pods(running, running),
            scheduled("True", "Scheduled"),
            ("True", Reason.RUNNING, "2 of 2 members run"),
            id="a scheduled group of which the minimum runs is running",
        ),
        pytest.param(
            STARTED,
            pods(running, bound),
            scheduled("True", "Scheduled"),
            ("True", Reason.RUNNING, "1 of 2 members run"),
            id="a started group is running while its minimum is held",
        ),
        pytest.param(
            PAIR,
            pods(running, succeeded),
            scheduled("True", "Scheduled"),
            ("True", Reason.RUNNING, "1 of 2 members run, 1 succeeded"),
            id="a member that succeeded counts for the minimum",
        ),
        pytest.param(
            STARTED,
            pods(running, pending),
            says(
                ("Scheduled", "False", "Unschedulable", "0/1 nodes are available"),
                ("Satisfied", "False", "BelowMinimum", "1 of 2 members hold"),
            ),
            ("False", Reason.BELOW_MINIMUM, "1 of 2 members hold"),
            id="a started group that lost a member is below its minimum",
        ),
        pytest.param(
            STARTED,
            pods(running, pending),
            says(
                ("Scheduled", "False", "TopologyDomainFull", "1 of 2 members are left: rack r1 is"),
                ("Satisfied", "False", "BelowMinimum", "1 of 2 members hold"),
            ),
            ("False", Reason.TOPOLOGY_DOMAIN_FULL, "1 of 2 members are left: rack r1 is"),
            id="a started group whose domain is full says so",
        ),
        pytest.param(
            STARTED,
            pods(running, pending),
            says(
                ("Scheduled", "False", "InvalidSpec", "spec.topology.required: no such level"),
                ("Satisfied", "False", "BelowMinimum", "1 of 2 members hold"),
            ),
            (
                "False",
                Reason.BELOW_MINIMUM,
                "1 of 2 members hold; spec.topology.required: no such level",
            ),
            id="a started group that lost a member says as well why none can be placed",
        ),
        pytest.param(
            STARTED,
            pods(running, pending),
            says(
                ("Scheduled", "False", "TimedOut", "evicting 2 members to release capacity"),
                ("Satisfied", "False", "BelowMinimum", "1 of 2 members hold"),
            ),
            ("False", Reason.TIMED_OUT, "evicting 2 members to release capacity"),
            id="7 a started group that is evicted says so rather than what it lacks",
        ),
        pytest.param(
            STARTED,
            pods(running),
            says(
                ("Scheduled", "False", "Preempted", "preempted by pod ns/high"),
                ("Satisfied", "False", "BelowMinimum", "1 of 2 members hold"),
            ),
            ("False", Reason.PREEMPTED, "preempted by pod ns/high"),
            id="a started group that is preempted says so rather than what it lacks",
        ),
        pytest.param(
            STARTED,
            pods(running, running),
            says(
                ("Scheduled", "False", "BelowMinimum", "1 of 2 members are left"),
                ("Satisfied", "True", "Satisfied", "2 of 2 members hold"),
            ),
            ("False", Reason.BELOW_MINIMUM, "1 of 2 members are left"),
            id="7 a group that the scheduler is to complete says so",
        ),
        pytest.param(
            PAIR,
            pods(bound, running),
            scheduled("True", "ReservationExpired"),
            ("False", Reason.STARTING, "1 of 2 members run"),
            id="7 a group whose reservation expired is starting like any other",
        ),
        pytest.param(
            PAIR,
            pods(running, running),
            scheduled("True", "ReservationExpired"),
            ("True", Reason.RUNNING, "2 of 2 members run"),
            id="7 a group whose reservation expired runs like any other",
        ),
        pytest.param(
            PAIR,
            pods(bound, pending),
            says(
                ("Scheduled", "False", "Unschedulable", "0/1 nodes are available"),
                ("Satisfied", "False", "BelowMinimum", "1 of 2 members hold"),
            ),
            ("False", Reason.UNSCHEDULABLE, "0/1 nodes are available"),
            id="a group that has not started shows why it does not",
        ),
        pytest.param(
            replace(PAIR, problem="spec.minResources.cpu: no quantity"),
            pods(running, running),
            scheduled("True", "Scheduled"),
            ("False", Reason.INVALID_SPEC, "spec.minResources.cpu: no quantity"),
            id="a spec that makes no sense comes first",
        ),
    ],
)
def test_the_summary(
    group: Group,
    members: list[Member],
    status: dict[str, Any],
    expected: tuple[str, str, str],
) -> None:
    ready = condition(reconcile(group, status, members, {}, NOW).patch, "Ready")

    assert (ready["status"], ready["reason"], ready["message"]) == expected


RUN = scheduled("True", "Scheduled")


@pytest.mark.parametrize(
    ("members", "ends", "expected"),
    [
        pytest.param(
            pods(succeeded, succeeded),
            {},
            ("Succeeded", "2 members succeeded, 0 failed"),
            id="bare pods that all succeeded",
        ),
        pytest.param(
            pods(succeeded, succeeded, failed),
            {},
            ("Succeeded", "2 members succeeded, 1 failed"),
            id="a failure beyond the minimum does no harm",
        ),
        pytest.param(
            pods(succeeded, failed),
            {},
            ("Failed", "1 members succeeded, 1 failed"),
            id="bare pods of which fewer than the minimum succeeded",
        ),
        pytest.param(pods(succeeded, running), {}, None, id="a bare pod still runs"),
        pytest.param(pods(succeeded, succeeded, terminating), {}, None, id="one is terminating"),
        pytest.param([], {}, None, id="there never was a member"),
        pytest.param(
            pods(succeeded, succeeded, owner_key="j", controller="j"),
            {},
            None,
            id="the pods of a Job succeeded but the Job goes on",
        ),
        pytest.param(
            pods(succeeded, failed, owner_key="j", controller="j"),
            {"j": True},
            ("Succeeded", "1 members succeeded, 1 failed"),
            id="the Job is complete, whatever its pods did",
        ),
        pytest.param(
            pods(succeeded, succeeded, owner_key="j", controller="j"),
            {"j": False},
            ("Failed", "2 members succeeded, 0 failed"),
            id="the Job failed, whatever its pods did",
        ),
        pytest.param(
            pods(terminating, failed, owner_key="j", controller="j"),
            {"j": False},
            ("Failed", "0 members succeeded, 1 failed"),
            id="the Job failed and its last pods are about to go",
        ),
        pytest.param(
            pods(running, failed, owner_key="j", controller="j"),
            {"j": False},
            None,
            id="the Job failed, but one of its pods still runs",
        ),
        pytest.param(
            [*pods(succeeded, owner_key="j", controller="j"), *pods(succeeded, succeeded)[1:]],
            {"j": True},
            ("Succeeded", "2 members succeeded, 0 failed"),
            id="a Job and a bare pod are both done",
        ),
        pytest.param(
            [
                *pods(succeeded, owner_key="j", controller="j"),
                *pods(running, owner_key="i", controller="i"),
            ],
            {"j": True},
            None,
            id="one of two Jobs goes on",
        ),
        pytest.param(
            pods(succeeded, succeeded, owner_key="set", controller="set"),
            {},
            None,
            id="the pods of another controller may come back at any time",
        ),
    ],
)
def test_how_a_group_ends(
    members: list[Member], ends: dict[str, bool | None], expected: tuple[str, str] | None
) -> None:
    patch = reconcile(PAIR, RUN, members, jobs(**ends), NOW).patch

    assert patch is not None
    ended = [c for c in patch["conditions"] if c["type"] == "Finished"]
    if expected is None:
        assert ended == []
    else:
        assert [(c["status"], c["reason"], c["message"]) for c in ended] == [("True", *expected)]
        ready = condition(patch, "Ready")
        assert (ready["status"], ready["reason"]) == ("False", expected[0])


@pytest.mark.parametrize(
    ("phase", "reason"),
    [
        pytest.param(succeeded, "Succeeded", id="a whole child"),
        pytest.param(failed, "Failed", id="no whole child"),
    ],
)
def test_enough_whole_children_make_a_group_succeed(phase: Member, reason: str) -> None:
    """Semantics §2.8."""
    roles = (Role("a", 2), Role("b", 2))
    group = replace(PAIR, min_member=1, roles=roles, min_group_count=1)
    members = [*pods(succeeded, phase, role="a"), *pods(failed, failed, failed, role="b")[2:]]

    finished = condition(reconcile(group, RUN, members, {}, NOW).patch, "Finished")
    assert finished["reason"] == reason


def test_a_role_below_its_minimum_makes_the_group_fail() -> None:
    group = replace(PAIR, roles=(Role("launcher", 1),))
    members = [
        *pods(failed, role="launcher"),
        *pods(succeeded, succeeded, succeeded, role="worker")[1:],
    ]

    assert (
        condition(reconcile(group, RUN, members, {}, NOW).patch, "Finished")["reason"] == "Failed"
    )


def test_successes_of_pods_that_are_gone_are_remembered_by_the_status() -> None:
    group = replace(PAIR, memory=GroupMemory(run_name="gone", succeeded=2))

    patch = reconcile(group, RUN, pods(failed), {}, NOW).patch

    assert condition(patch, "Finished")["reason"] == "Succeeded"


def test_a_finished_group_stays_finished_when_its_pods_are_gone() -> None:
    ended = applied(RUN, reconcile(PAIR, RUN, pods(succeeded, succeeded), {}, NOW).patch)

    later = applied(ended, reconcile(PAIR, ended, [], {}, NOW + 60).patch)

    assert condition(later, "Finished") == condition(ended, "Finished")
    assert condition(later, "Ready") == condition(ended, "Ready")


def test_new_members_begin_a_new_run_of_a_finished_group() -> None:
    ended = applied(RUN, reconcile(PAIR, RUN, pods(succeeded, succeeded), {}, NOW).patch)
    members = [*pods(succeeded, succeeded), replace(pending, uid=PodUID("new"), created=NOW + 9)]

    patch = reconcile(PAIR, ended, members, {}, NOW + 10).patch

    assert patch is not None
    assert [c["type"] for c in patch["conditions"]] == ["Ready"]
    assert condition(patch, "Ready")["message"] == "1 of 2 members exist"


def test_failures_of_an_earlier_run_are_not_counted() -> None:
    group = replace(PAIR, memory=GroupMemory(run_name="new"))
    old = pods(failed, failed)
    new = [replace(failed, uid=PodUID("new"), created=NOW + 100)]

    patch = reconcile(group, {}, [*old, *new], {}, NOW + 200).patch

    assert patch is not None
    assert patch["failed"] == 1


def test_the_counts_are_of_live_members() -> None:
    group = replace(PAIR, roles=(Role("worker", 1), Role("launcher", 1)))
    members = [
        *pods(running, bound, pending, succeeded, failed, terminating, role="worker"),
        replace(running, uid=PodUID("other"), role="launcher"),
    ]

    patch = reconcile(group, {}, members, {}, NOW).patch

    assert patch is not None
    counts = {key: patch[key] for key in ("members", "scheduled", "ready", "failed")}
    assert counts == {"members": 4, "scheduled": 3, "ready": 2, "failed": 1}
    assert patch["roles"] == [
        {"name": "launcher", "members": 1, "scheduled": 1, "ready": 1},
        {"name": "worker", "members": 3, "scheduled": 2, "ready": 1},
    ]


def test_no_time_lies_before_the_object() -> None:
    """Semantics §7.3."""
    late = replace(PAIR, created=NOW + 3)
    patch = reconcile(late, {}, pods(succeeded, succeeded, created=NOW), {}, NOW).patch
    for kind in ("Ready", "Finished"):
        assert condition(patch, kind)["lastTransitionTime"] == time_text(NOW + 3)


def test_a_running_gang_counts_by_the_minimum_that_it_started_with() -> None:
    """Semantics §2.5."""
    raised = replace(STARTED, min_member=10)
    said = "2 of 2 members run; minMember 10 applies from the next run of the gang on"
    status = says(
        ("Scheduled", "True", "Scheduled", "by the scheduler"),
        ("Satisfied", "True", "Satisfied", said),
        run_name="pod-0",
    )
    patch = reconcile(raised, status, pods(running, running), {}, NOW).patch
    assert condition(patch, "Ready")["message"] == said
