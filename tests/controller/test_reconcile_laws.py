# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller says of a group, as laws."""

from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from enbloc.api import PodGroupStatus
from enbloc.controller.creators import JOB, REPLICA_SET, STATEFUL_SET, Creator
from enbloc.controller.members import Member
from enbloc.controller.reconcile import Conclusion, reconcile
from enbloc.controller.runs import FIRST_LOOK, RunHistory
from enbloc.model.field_ownership import CONTROLLER_FIELDS
from enbloc.model.groups import Group, GroupMemory, Role, RunMemory
from enbloc.model.pods import Phase, PodUID
from enbloc.model.runs import BARE
from enbloc.model.text import MESSAGE_LIMIT
from tests.controller.statuses import KEY, NOW, Watcher, condition, says

a_phase = st.sampled_from(list(Phase))
a_role = st.sampled_from(["", "worker", "launcher"])
an_owner = st.sampled_from(["", "j1", "j2", "set", "unknown"])


@st.composite
def a_member(draw: st.DrawFn) -> Member:
    phase = draw(a_phase)
    live = draw(st.booleans()) and phase not in (Phase.SUCCEEDED, Phase.FAILED)
    owner = draw(an_owner)
    return Member(
        uid=PodUID(draw(st.uuids()).hex),
        role=draw(a_role),
        phase=phase,
        live=live,
        bound=live and draw(st.booleans()),
        ready=live and draw(st.booleans()),
        owner_key=owner,
        controller=owner,
        created=NOW - draw(st.integers(0, 100)),
    )


a_run = st.builds(
    RunMemory,
    name=st.sampled_from(["j1", "gone"]),
    owners=st.lists(st.sampled_from(["j1", "j2", "set", "gone", BARE]), unique=True).map(tuple),
)


@st.composite
def a_memory(draw: st.DrawFn) -> GroupMemory:
    """What status stores of a group; its top level repeats the newest run."""
    runs = tuple(draw(st.lists(a_run, max_size=3, unique_by=lambda run: run.name)))
    return GroupMemory(
        run_name=runs[-1].name if runs else draw(st.sampled_from(["", "j1", "gone"])),
        started=draw(st.none() | st.just(NOW)),
        succeeded=draw(st.integers(0, 3)),
        runs=runs,
    )


a_group = st.builds(
    Group,
    key=st.just(KEY),
    uid=st.just("g"),
    min_member=st.integers(1, 4),
    roles=st.sampled_from([(), (Role("worker", 1),), (Role("worker", 2), Role("launcher", 0))]),
    generation=st.integers(1, 5),
    memory=a_memory(),
    problem=st.sampled_from(["", "spec.minResources: no"]),
)
a_creator = st.builds(
    Creator,
    kind=st.sampled_from([JOB, REPLICA_SET, STATEFUL_SET]),
    name=st.just("x"),
    uid=st.sampled_from(["j1", "j2", "set"]),
    group=st.sampled_from([None, KEY]),
    role=a_role,
    above_kind=st.sampled_from(["", "", "", "JobSet"]),
    pods=st.integers(0, 4),
    completions=st.none() | st.integers(1, 6),
    succeeded=st.integers(0, 2),
    ended=st.sampled_from([None, None, True, False]),
    suspended=st.booleans(),
    ordered=st.booleans(),
    backoff_limit=st.none() | st.integers(0, 6),
)
creators = st.lists(a_creator, max_size=3).map(lambda all_: {c.uid: c for c in all_})
a_recall = st.builds(
    RunHistory,
    run_name=st.sampled_from(["", "j1", "gone"]),
    failed=st.integers(0, 3),
    controllers=st.frozensets(st.sampled_from(["j1", "j2"])),
    over=st.none() | st.frozensets(st.sampled_from(["j1", "j2", "set", "gone"])),
)
words = st.text("ab ", max_size=2 * MESSAGE_LIMIT)
a_verdict = st.sampled_from(
    [
        ("True", "Scheduled"),
        ("False", "Unschedulable"),
        ("False", "WaitingForMembers"),
        ("False", "Binding"),
        ("False", "TimedOut"),
        ("False", "Preempted"),
        ("False", "BelowMinimum"),
        ("True", "ReservationExpired"),
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


lists = st.lists(a_member(), max_size=6)
worlds = st.tuples(a_group, a_status(), lists, creators)
World = tuple[Group, dict[str, Any], list[Member], dict[str, Creator]]


@st.composite
def an_ended_world(draw: st.DrawFn) -> World:
    """A group whose present run is over, which may have been said."""
    group, status, members, _ = draw(worlds)
    job = Creator(JOB, "x", "j1", ended=draw(st.booleans()))
    over = [
        replace(m, live=False, phase=draw(st.sampled_from([Phase.SUCCEEDED, Phase.FAILED])))
        for m in [*members, draw(a_member())]
        if m.controller in ("", "j1")
    ]
    runs = [run for run in group.memory.runs if run.name != "j1"]
    if draw(st.booleans()) or runs:
        runs.append(RunMemory("j1", ("j1", *draw(st.sampled_from([(), ("j2",), ("gone",)])))))
    memory = replace(group.memory, run_name="j1", runs=tuple(runs))
    last = Member(PodUID("last"), phase=Phase.FAILED, live=False, owner_key="j1", controller="j1")
    last = replace(last, created=NOW - 200)
    return replace(group, memory=memory), status, [*over, last], {"j1": job}


@st.composite
def a_short_world(draw: st.DrawFn) -> World:
    """A group whose members wait, most of them for others of owners that are known."""
    group, _, _, made_by = draw(worlds)
    some = st.lists(st.sampled_from(["j1", "j2", "set", "", "unknown"][: draw(st.integers(1, 5))]))
    members = [
        Member(PodUID(f"p{i}"), draw(a_role), owner_key=owner, controller=owner, created=NOW)
        for i, owner in enumerate(draw(some)[:3])
    ]
    made_by["j1"] = replace(draw(a_creator), uid="j1", ended=None, above_kind="")
    group = replace(group, min_member=4, memory=GroupMemory(), problem="")
    return group, says(("Scheduled", "False", "WaitingForMembers", "why")), members, made_by


def concluded(world: World, history: RunHistory = FIRST_LOOK) -> Conclusion:
    group, status, members, made_by = world
    return reconcile(group, status, members, made_by, NOW, history)


@given(worlds, a_recall)
def test_what_was_written_is_not_written_again(world: World, history: RunHistory) -> None:
    group, status, members, made_by = world
    watcher = Watcher(group, status, history)
    watcher.looks(members, made_by)
    # When a run begins, its scheduler's words may only be heard once the last verdict is gone.
    watcher.looks(members, made_by)

    assert watcher.looks(members, made_by, NOW + 1000) is None


@given(an_ended_world())
def test_a_new_process_does_not_change_a_verdict_that_stands(world: World) -> None:
    group, status, members, made_by = world
    watcher = Watcher(group, status)
    watcher.looks(members, made_by)
    end = watcher.end()
    assert end is not None

    again = Watcher(group, watcher.status)
    again.looks(members, made_by, NOW + 1000)

    assert again.end() == end


@given(worlds, a_recall)
def test_what_is_written_is_a_valid_status(world: World, history: RunHistory) -> None:
    patch = concluded(world, history).patch

    if patch is not None:
        PodGroupStatus.model_validate(patch)
        assert all(len(c) == 6 for c in patch["conditions"])


@given(worlds)
def test_nothing_of_the_schedulers_is_written(world: World) -> None:
    patch = concluded(world).patch

    assert patch is not None
    assert patch.keys() <= {*CONTROLLER_FIELDS.fields, "roles", "conditions"}
    assert {c["type"] for c in patch["conditions"]} <= {"Ready", "Finished"}
    assert all("succeeded" not in role for role in patch.get("roles", ()))


@given(worlds)
def test_a_new_generation_is_stamped_on_every_condition(world: World) -> None:
    """Semantics §7.1."""
    group, status, members, made_by = world
    watcher = Watcher(group, status)
    watcher.looks(members, made_by)
    watcher.group = newer = replace(group, generation=group.generation + 1)

    patch = watcher.looks(members, made_by)

    assert patch is not None
    assert patch["observedGeneration"] == newer.generation
    assert {c["observedGeneration"] for c in patch["conditions"]} == {newer.generation}


@given(worlds, worlds)
def test_transition_times_move_only_with_the_status_or_the_run(before: World, after: World) -> None:
    group, status, members, made_by = before
    watcher = Watcher(group, status)
    watcher.looks(members, made_by)
    old = {c["type"]: c for c in watcher.status["conditions"]}
    _, _, members, made_by = after
    found = reconcile(group, watcher.status, members, made_by, NOW + 500, watcher.history)
    assume(found.patch is not None)
    assert found.patch is not None

    for new in found.patch["conditions"]:
        same_status = old.get(new["type"], {}).get("status") == new["status"]
        same_time = old.get(new["type"], {}).get("lastTransitionTime") == new["lastTransitionTime"]
        anew = found.ended and new["type"] == "Finished"
        assert same_time == (same_status and not anew)


@given(worlds, st.lists(st.tuples(lists, creators), max_size=4), st.integers(0, 9))
def test_failures_never_go_back_within_a_run(
    world: World, later: list[tuple[list[Member], dict[str, Creator]]], failed: int
) -> None:
    """Semantics §7.3."""
    group, status, members, made_by = world
    # Without a verdict that stands, one run goes on for as long as the scheduler says so.
    status["conditions"] = [c for c in status["conditions"] if c["type"] != "Finished"]
    watcher = Watcher(group, status, RunHistory(group.memory.run_name, failed))
    for list_, made in [(members, made_by), *later]:
        if watcher.status.get("conditions") and watcher.end() is not None:
            return
        watcher.looks(list_, made)
        assert watcher.status["failed"] >= failed
        failed = watcher.status["failed"]


@given(worlds, a_recall)
def test_a_group_that_ended_has_no_live_member(world: World, history: RunHistory) -> None:
    """Semantics §7.2."""
    found = concluded(world, history)

    if found.patch is not None and any(c["type"] == "Finished" for c in found.patch["conditions"]):
        group, _, members, _ = world
        over, runs = set(history.over or ()), group.memory.runs
        if runs:
            earlier = {owner for run in runs[:-1] for owner in run.owners}
            over |= earlier - set(runs[-1].owners)
        assert not any(m.live for m in members if (m.owner_key or m.uid) not in over)
        assert {(m.owner_key or m.uid) for m in members} <= (found.history.over or frozenset())


@given(an_ended_world())
def test_whoever_comes_after_an_end_is_judged_anew(world: World) -> None:
    """Semantics §7.2."""
    group, status, members, made_by = world
    watcher = Watcher(group, status)
    watcher.looks(members, made_by)
    assert watcher.end() is not None
    late = Member(
        PodUID("late"), phase=Phase.FAILED, live=False, owner_key="late", controller="late"
    )
    job = Creator(JOB, "late", "late", ended=False)

    watcher.looks([*members, late], made_by | {"late": job}, NOW + 1.5)

    end = watcher.end()
    assert end is not None
    assert (end[0], watcher.status["failed"]) == ("Failed", 1)


@given(a_short_world())
def test_members_cannot_exist_only_where_all_that_make_them_are_known(world: World) -> None:
    """Semantics §5.2."""
    _, _, members, made_by = world
    ready = condition(concluded(world).patch, "Ready")

    if ready["reason"] == "MembersCannotExist":
        assert all(member.controller in made_by for member in members)
        assert all(creator.understood for creator in made_by.values() if creator.ended is None)
    else:
        assert ready["reason"] == "WaitingForMembers"


@given(a_short_world())
def test_what_cannot_exist_by_the_fields_is_said(world: World) -> None:
    """Semantics §5.2."""
    group, status, members, made_by = world
    job = replace(made_by["j1"], kind=JOB, pods=3, suspended=False)
    members = [replace(member, controller="j1", owner_key="j1") for member in members]
    job = replace(job, succeeded=0, completions=None, ordered=False)

    patch = reconcile(group, status, members, {"j1": job}, NOW).patch

    assert condition(patch, "Ready")["reason"] == "MembersCannotExist"
    assert "spec.parallelism is 3" in condition(patch, "Ready")["message"]


@given(worlds)
def test_an_owner_with_room_enough_lets_members_exist(world: World) -> None:
    """Semantics §5.2."""
    group, status, members, made_by = world
    roles = {"", *(role.name for role in group.roles if role.min_member)}
    roomy = {
        role: Creator(REPLICA_SET, "x", f"roomy-{role}", group=KEY, role=role, pods=99)
        for role in roles
    }
    patch = reconcile(
        group, status, members, made_by | {c.uid: c for c in roomy.values()}, NOW
    ).patch

    assert condition(patch, "Ready")["reason"] != "MembersCannotExist"
