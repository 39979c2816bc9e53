# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller says of a group, as sentences and as laws."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from enbloc.api import PodGroupStatus
from enbloc.controller.members import Member
from enbloc.controller.reconcile import StatusPatch, reconcile
from enbloc.model.groups import Group, GroupKey, Memory, Role
from enbloc.model.names import Condition, Reason
from enbloc.model.pods import Phase, PodUID
from enbloc.model.text import MESSAGE_LIMIT

NOW = 1_700_000_000.0
KEY = GroupKey("team-a", "train")
PAIR = Group(KEY, uid="g", min_member=2, generation=1)
STAMP = {"observedGeneration": 1, "lastTransitionTime": "2023-11-14T22:00:00Z"}

pending = Member(PodUID("pending"), created=NOW)
bound = replace(pending, bound=True)
running = replace(bound, phase=Phase.RUNNING, ready=True)
succeeded = replace(pending, phase=Phase.SUCCEEDED, live=False)
failed = replace(succeeded, phase=Phase.FAILED)
terminating = replace(running, live=False, bound=False, ready=False)


def pods(*members: Member, **changes: Any) -> list[Member]:
    """These members, each a pod of its own, with these changes."""
    return [replace(m, uid=PodUID(f"pod-{i}"), **changes) for i, m in enumerate(members)]


def says(*conditions: tuple[str, str, str, str], **fields: Any) -> dict[str, Any]:
    """A status with these conditions: type, status, reason, message."""
    keys = ("type", "status", "reason", "message")
    items = [dict(zip(keys, c, strict=True)) | STAMP for c in conditions]
    return {"conditions": items, **fields}


def scheduled(status: str, reason: str, message: str = "by the scheduler") -> dict[str, Any]:
    return says(("Scheduled", status, reason, message))


def condition(status: Mapping[str, Any] | None, type_: str) -> dict[str, Any]:
    assert status is not None
    return next(c for c in status["conditions"] if c["type"] == type_)


def applied(status: Mapping[str, Any], patch: StatusPatch | None) -> dict[str, Any]:
    """The status after server-side apply of the controller's part, if there is one to apply."""
    if patch is None:
        return dict(status)
    ours = {Condition.READY, Condition.FINISHED}
    theirs = [c for c in status.get("conditions", ()) if c["type"] not in ours]
    roles = {role["name"]: dict(role) for role in status.get("roles", ())}
    for role in patch.get("roles", ()):
        roles[role["name"]] = roles.get(role["name"], {}) | role
    merged = {**status, **patch, "conditions": theirs + patch["conditions"]}
    return merged | ({"roles": list(roles.values())} if roles else {})


STARTED = replace(PAIR, memory=Memory(incarnation="pod-0", started=NOW))


@pytest.mark.parametrize(
    ("group", "members", "status", "jobs", "expected"),
    [
        pytest.param(
            PAIR,
            pods(pending),
            {},
            {},
            ("False", Reason.WAITING_FOR_MEMBERS, "1 of 2 members exist"),
            id="a group with a member missing waits for members",
        ),
        pytest.param(
            PAIR,
            pods(pending, terminating),
            {},
            {},
            ("False", Reason.WAITING_FOR_MEMBERS, "1 of 2 members exist"),
            id="a terminating pod is no member",
        ),
        pytest.param(
            replace(PAIR, roles=(Role("worker", 2),)),
            pods(pending, pending, role="launcher"),
            {},
            {},
            ("False", Reason.WAITING_FOR_MEMBERS, "role worker: 0 of 2 members exist"),
            id="a role with a member missing waits for members",
        ),
        pytest.param(
            PAIR,
            pods(pending, pending),
            {},
            {},
            ("Unknown", Reason.PENDING, "the scheduler has not looked at this group yet"),
            id="a whole group of which the scheduler said nothing is pending",
        ),
        pytest.param(
            PAIR,
            pods(pending, pending),
            scheduled("Unknown", "Pending"),
            {},
            ("Unknown", Reason.PENDING, "the scheduler has not looked at this group yet"),
            id="a whole group of which the scheduler knows nothing is pending",
        ),
        pytest.param(
            PAIR,
            pods(pending),
            scheduled("False", "WaitingForMembers", "3 of 2 members exist"),
            {},
            ("False", Reason.WAITING_FOR_MEMBERS, "1 of 2 members exist"),
            id="what is missing is counted now, not when the scheduler looked",
        ),
        pytest.param(
            PAIR,
            pods(pending, pending),
            scheduled("False", "WaitingForMembers", "1 is gated"),
            {},
            ("False", Reason.WAITING_FOR_MEMBERS, "1 is gated"),
            id="when all exist, the scheduler knows what it waits for",
        ),
        *(
            pytest.param(
                PAIR,
                pods(pending, pending),
                scheduled("False", reason),
                {},
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
            )
        ),
        pytest.param(
            PAIR,
            pods(bound, running),
            scheduled("True", "Scheduled"),
            {},
            ("False", Reason.STARTING, "1 of 2 members run"),
            id="a scheduled group of which not all run is starting",
        ),
        pytest.param(
            replace(PAIR, roles=(Role("worker", 2),)),
            [*pods(running, role="worker"), *pods(bound, running, running)[1:]],
            scheduled("True", "Scheduled"),
            {},
            ("False", Reason.STARTING, "3 of 2 members run"),
            id="a group is starting until the minimum of each role runs",
        ),
        pytest.param(
            PAIR,
            pods(running, running),
            scheduled("True", "Scheduled"),
            {},
            ("True", Reason.RUNNING, "2 of 2 members run"),
            id="a scheduled group of which the minimum runs is running",
        ),
        pytest.param(
            STARTED,
            pods(running, bound),
            scheduled("True", "Scheduled"),
            {},
            ("True", Reason.RUNNING, "1 of 2 members run"),
            id="a started group is running while its minimum is held",
        ),
        pytest.param(
            PAIR,
            pods(running, succeeded),
            scheduled("True", "Scheduled"),
            {},
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
            {},
            ("False", Reason.BELOW_MINIMUM, "1 of 2 members hold"),
            id="a started group that lost a member is below its minimum",
        ),
        pytest.param(
            PAIR,
            pods(bound, pending),
            says(
                ("Scheduled", "False", "Unschedulable", "0/1 nodes are available"),
                ("Satisfied", "False", "BelowMinimum", "1 of 2 members hold"),
            ),
            {},
            ("False", Reason.UNSCHEDULABLE, "0/1 nodes are available"),
            id="a group that has not started shows why it does not",
        ),
        pytest.param(
            replace(PAIR, problem="spec.minResources.cpu: no quantity"),
            pods(running, running),
            scheduled("True", "Scheduled"),
            {},
            ("False", Reason.INVALID_SPEC, "spec.minResources.cpu: no quantity"),
            id="a spec that makes no sense comes first",
        ),
    ],
)
def test_the_summary(
    group: Group,
    members: list[Member],
    status: dict[str, Any],
    jobs: dict[str, bool],
    expected: tuple[str, str, str],
) -> None:
    ready = condition(reconcile(group, status, members, jobs, NOW), "Ready")

    assert (ready["status"], ready["reason"], ready["message"]) == expected


RUN = scheduled("True", "Scheduled")


@pytest.mark.parametrize(
    ("members", "jobs", "expected"),
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
            pods(succeeded, succeeded, incarnation="j", job="j"),
            {},
            None,
            id="the pods of a Job succeeded but the Job goes on",
        ),
        pytest.param(
            pods(succeeded, failed, incarnation="j", job="j"),
            {"j": True},
            ("Succeeded", "1 members succeeded, 1 failed"),
            id="the Job is complete, whatever its pods did",
        ),
        pytest.param(
            pods(succeeded, succeeded, incarnation="j", job="j"),
            {"j": False},
            ("Failed", "2 members succeeded, 0 failed"),
            id="the Job failed, whatever its pods did",
        ),
        pytest.param(
            pods(running, failed, incarnation="j", job="j"),
            {"j": False},
            ("Failed", "0 members succeeded, 1 failed"),
            id="the Job failed and its last pods are about to go",
        ),
        pytest.param(
            [*pods(succeeded, incarnation="j", job="j"), *pods(succeeded, succeeded)[1:]],
            {"j": True},
            ("Succeeded", "2 members succeeded, 0 failed"),
            id="a Job and a bare pod are both done",
        ),
        pytest.param(
            [*pods(succeeded, incarnation="j", job="j"), *pods(running, incarnation="i", job="i")],
            {"j": True},
            None,
            id="one of two Jobs goes on",
        ),
        pytest.param(
            pods(succeeded, succeeded, incarnation="statefulset"),
            {},
            None,
            id="the pods of another controller may come back at any time",
        ),
    ],
)
def test_how_a_group_ends(
    members: list[Member], jobs: dict[str, bool], expected: tuple[str, str] | None
) -> None:
    patch = reconcile(PAIR, RUN, members, jobs, NOW)

    assert patch is not None
    ended = [c for c in patch["conditions"] if c["type"] == "Finished"]
    if expected is None:
        assert ended == []
    else:
        assert [(c["status"], c["reason"], c["message"]) for c in ended] == [("True", *expected)]
        ready = condition(patch, "Ready")
        assert (ready["status"], ready["reason"]) == ("False", expected[0])


def test_a_role_below_its_minimum_makes_the_group_fail() -> None:
    group = replace(PAIR, roles=(Role("launcher", 1),))
    members = [
        *pods(failed, role="launcher"),
        *pods(succeeded, succeeded, succeeded, role="worker")[1:],
    ]

    assert condition(reconcile(group, RUN, members, {}, NOW), "Finished")["reason"] == "Failed"


def test_successes_of_pods_that_are_gone_are_remembered_by_the_status() -> None:
    group = replace(PAIR, memory=Memory(incarnation="gone", succeeded=2))

    patch = reconcile(group, RUN, pods(failed), {}, NOW)

    assert condition(patch, "Finished")["reason"] == "Succeeded"


def test_a_finished_group_stays_finished_when_its_pods_are_gone() -> None:
    ended = applied(RUN, reconcile(PAIR, RUN, pods(succeeded, succeeded), {}, NOW))

    later = applied(ended, reconcile(PAIR, ended, [], {}, NOW + 60))

    assert condition(later, "Finished") == condition(ended, "Finished")
    assert condition(later, "Ready") == condition(ended, "Ready")


def test_new_members_begin_a_new_life_of_a_finished_group() -> None:
    ended = applied(RUN, reconcile(PAIR, RUN, pods(succeeded, succeeded), {}, NOW))
    members = [*pods(succeeded, succeeded), replace(pending, uid=PodUID("new"), created=NOW + 9)]

    patch = reconcile(PAIR, ended, members, {}, NOW + 10)

    assert patch is not None
    assert [c["type"] for c in patch["conditions"]] == ["Ready"]
    assert condition(patch, "Ready")["message"] == "1 of 2 members exist"


def test_failures_of_an_earlier_life_are_not_counted() -> None:
    group = replace(PAIR, memory=Memory(incarnation="new"))
    old = pods(failed, failed)
    new = [replace(failed, uid=PodUID("new"), created=NOW + 100)]

    patch = reconcile(group, {}, [*old, *new], {}, NOW + 200)

    assert patch is not None
    assert patch["failed"] == 1


def test_the_counts_are_of_live_members() -> None:
    group = replace(PAIR, roles=(Role("worker", 1), Role("launcher", 1)))
    members = [
        *pods(running, bound, pending, succeeded, failed, terminating, role="worker"),
        replace(running, uid=PodUID("other"), role="launcher"),
    ]

    patch = reconcile(group, {}, members, {}, NOW)

    assert patch is not None
    counts = {key: patch[key] for key in ("members", "scheduled", "ready", "failed")}
    assert counts == {"members": 4, "scheduled": 3, "ready": 2, "failed": 1}
    assert patch["roles"] == [
        {"name": "launcher", "members": 1, "scheduled": 1, "ready": 1},
        {"name": "worker", "members": 3, "scheduled": 2, "ready": 1},
    ]


# ── laws ─────────────────────────────────────────────────────────────────────────────────────

a_phase = st.sampled_from(list(Phase))
a_role = st.sampled_from(["", "worker", "launcher"])
an_owner = st.sampled_from([("", ""), ("j1", "j1"), ("j2", "j2"), ("set", "")])


@st.composite
def a_member(draw: st.DrawFn) -> Member:
    phase = draw(a_phase)
    live = draw(st.booleans()) and phase not in (Phase.SUCCEEDED, Phase.FAILED)
    incarnation, job = draw(an_owner)
    return Member(
        uid=PodUID(draw(st.uuids()).hex),
        role=draw(a_role),
        phase=phase,
        live=live,
        bound=live and draw(st.booleans()),
        ready=live and draw(st.booleans()),
        incarnation=incarnation,
        job=job,
        created=NOW - draw(st.integers(0, 100)),
    )


a_group = st.builds(
    Group,
    key=st.just(KEY),
    uid=st.just("g"),
    min_member=st.integers(1, 4),
    roles=st.sampled_from([(), (Role("worker", 1),), (Role("worker", 2), Role("launcher", 0))]),
    generation=st.integers(1, 5),
    memory=st.builds(
        Memory,
        incarnation=st.sampled_from(["", "j1", "gone"]),
        started=st.none() | st.just(NOW),
        succeeded=st.integers(0, 3),
    ),
    problem=st.sampled_from(["", "spec.minResources: no"]),
)
words = st.text("ab ", max_size=2 * MESSAGE_LIMIT)
a_verdict = st.sampled_from(
    [
        ("True", "Scheduled"),
        ("False", "Unschedulable"),
        ("False", "WaitingForMembers"),
        ("False", "Binding"),
        ("Unknown", "Pending"),
    ]
)


@st.composite
def a_status(draw: st.DrawFn) -> dict[str, Any]:
    conditions = []
    if draw(st.booleans()):
        conditions.append(("Scheduled", *draw(a_verdict), draw(words)))
    if draw(st.booleans()):
        conditions.append(("Satisfied", draw(st.sampled_from(["True", "False"])), "X", "why"))
    if draw(st.booleans()):
        conditions.append(("Finished", "True", draw(st.sampled_from(["Succeeded", "Failed"])), ""))
    fields = draw(st.sampled_from([{}, {"succeeded": 1, "roles": [{"name": "worker"}]}]))
    return says(*conditions, **fields)


worlds = st.tuples(
    a_group,
    a_status(),
    st.lists(a_member(), max_size=6),
    st.dictionaries(an_owner.map(lambda o: o[1]), st.booleans()),
)


@given(worlds)
def test_what_was_written_is_not_written_again(world: Any) -> None:
    group, status, members, jobs = world
    patch = reconcile(group, status, members, jobs, NOW)
    now_stands = applied(status, patch)
    if patch is not None and len(patch["conditions"]) == 1:
        # The end of a life was taken back: from here on the scheduler's words are of the new one.
        now_stands = applied(now_stands, reconcile(group, now_stands, members, jobs, NOW))

    assert reconcile(group, now_stands, members, jobs, NOW + 1000) is None


@given(worlds)
def test_what_is_written_is_a_valid_status(world: Any) -> None:
    group, status, members, jobs = world
    patch = reconcile(group, status, members, jobs, NOW)

    if patch is not None:
        PodGroupStatus.model_validate(patch)
        assert all(len(c) == 6 for c in patch["conditions"])


@given(worlds)
def test_nothing_of_the_schedulers_is_written(world: Any) -> None:
    group, status, members, jobs = world
    patch = reconcile(group, status, members, jobs, NOW)

    assert patch is not None
    ours = {"observedGeneration", "members", "scheduled", "ready", "failed", "roles", "conditions"}
    assert patch.keys() <= ours
    assert {c["type"] for c in patch["conditions"]} <= {"Ready", "Finished"}
    assert all("succeeded" not in role for role in patch.get("roles", ()))


@given(worlds)
def test_a_new_generation_is_stamped_on_every_condition(world: Any) -> None:
    group, status, members, jobs = world
    stands = applied(status, reconcile(group, status, members, jobs, NOW))
    newer = replace(group, generation=group.generation + 1)

    patch = reconcile(newer, stands, members, jobs, NOW)

    assert patch is not None
    assert patch["observedGeneration"] == newer.generation
    assert {c["observedGeneration"] for c in patch["conditions"]} == {newer.generation}


@given(worlds, worlds)
def test_transition_times_move_only_with_the_status(before: Any, after: Any) -> None:
    group, status, members, jobs = before
    stands = applied(status, reconcile(group, status, members, jobs, NOW))
    _, _, members, jobs = after
    patch = reconcile(group, stands, members, jobs, NOW + 50)
    assume(patch is not None)
    assert patch is not None

    old = {c["type"]: c for c in stands["conditions"]}
    for new in patch["conditions"]:
        same_status = old.get(new["type"], {}).get("status") == new["status"]
        same_time = old.get(new["type"], {}).get("lastTransitionTime") == new["lastTransitionTime"]
        assert same_status == same_time


@given(worlds, st.integers(0, 9))
def test_failures_never_go_back(world: Any, failed_before: int) -> None:
    group, status, members, jobs = world
    patch = reconcile(group, status, members, jobs, NOW, failed_before=failed_before)

    assert patch is not None
    assert patch["failed"] >= failed_before
