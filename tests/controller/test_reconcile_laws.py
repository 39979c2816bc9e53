# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller says of a group, as laws."""

from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from enbloc.api import PodGroupStatus
from enbloc.controller.members import Member
from enbloc.controller.reconcile import reconcile
from enbloc.model.groups import Group, Memory, Role
from enbloc.model.pods import Phase, PodUID
from enbloc.model.text import MESSAGE_LIMIT
from tests.controller.statuses import KEY, NOW, applied, says

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
