# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The table of members, and which groups a change touches."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.controller.creators import JOB, Creator
from enbloc.controller.members import KEPT, Member, Members
from enbloc.model.adoptions import Adoptions
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Owner, Phase, Pod, PodKey, PodSpec, PodUID
from enbloc.model.runs import BARE, owner_of

TRAIN = GroupKey("team-a", "train")
OTHER = GroupKey("team-a", "other")


def pod(name: str = "p", group: GroupKey | None = TRAIN) -> Pod:
    return Pod(PodKey("team-a", name), PodUID(name), PodSpec(), group=group)


def test_a_new_member_touches_its_group() -> None:
    members = Members()

    assert members.put(pod(), ready=False) == {TRAIN}
    assert [member.uid for member in members.of(TRAIN)] == ["p"]


def test_a_change_that_no_count_shows_touches_nothing() -> None:
    members = Members()
    members.put(pod(), ready=False)

    assert members.put(replace(pod(), resource_version=9, priority=3), ready=False) == set()


def test_readiness_is_a_change() -> None:
    members = Members()
    members.put(pod(), ready=False)

    assert members.put(pod(), ready=True) == {TRAIN}


def test_a_terminating_pod_is_not_ready() -> None:
    assert not Member.of(replace(pod(), deleting=True), ready=True).ready


@pytest.mark.parametrize(
    ("before", "phase"), [(Phase.RUNNING, Phase.FAILED), (Phase.SUCCEEDED, Phase.SUCCEEDED)]
)
def test_who_is_deleted_before_the_end_has_not_succeeded(before: Phase, phase: Phase) -> None:
    """Semantics §2.2."""
    members = Members()
    members.put(replace(pod(), phase=before, deleting=before is Phase.RUNNING), ready=False)
    ended = replace(pod(), phase=Phase.SUCCEEDED, deleting=True)
    for version in (1, 2):
        members.put(replace(ended, resource_version=version), ready=False)
    [member] = members.of(TRAIN)
    assert member.phase is phase


def test_who_succeeded_before_it_was_deleted_has_succeeded_in_another_group_too() -> None:
    """Semantics §2.2."""
    members = Members()
    ended = replace(pod(), phase=Phase.SUCCEEDED)
    members.put(ended, ready=False)
    members.put(replace(ended, deleting=True, group=OTHER), ready=False)
    [member] = members.of(OTHER)
    assert member.phase is Phase.SUCCEEDED
    assert not members.of(TRAIN)


def test_a_pod_that_changes_its_group_touches_both() -> None:
    members = Members()
    members.put(pod(), ready=False)

    assert members.put(pod(group=OTHER), ready=False) == {TRAIN, OTHER}
    assert list(members.of(TRAIN)) == []


def test_a_pod_that_leaves_its_group_touches_it() -> None:
    members = Members()
    members.put(pod(), ready=False)

    assert members.put(pod(group=None), ready=False) == {TRAIN}
    assert members.put(pod(group=None), ready=False) == set()


def test_a_deleted_pod_touches_its_group_once() -> None:
    members = Members()
    members.put(pod(), ready=False)

    assert members.remove(PodUID("p")) == {TRAIN}
    assert members.remove(PodUID("p")) == set()


def test_same_named_groups_of_two_namespaces_are_two() -> None:
    members = Members()
    members.put(pod("a"), ready=False)
    members.put(pod("b", GroupKey("team-b", "train")), ready=False)

    assert [member.uid for member in members.of(TRAIN)] == ["a"]


JOB_OWNER = Owner("Job", "j", "uid-j")
A_JOB = Creator(JOB, "j", "uid-j")
NAMING = replace(A_JOB, group=TRAIN)


def test_the_end_of_a_job_touches_the_groups_of_its_pods_once() -> None:
    members = Members()
    members.put(replace(pod(), owner=JOB_OWNER), ready=False)
    members.put(replace(pod("q", OTHER), owner=Owner("ReplicaSet", "r", "uid-r")), ready=False)

    assert members.put_creator(A_JOB) == set(), "neither names a group nor has ended"
    assert members.creators(TRAIN) == {}
    assert members.put_creator(replace(A_JOB, ended=True)) == {TRAIN}
    assert members.put_creator(replace(A_JOB, ended=True)) == set()
    assert members.put_creator(replace(A_JOB, uid="another", ended=True)) == set()
    assert members.creators(TRAIN) == {"uid-j": replace(A_JOB, ended=True)}
    assert members.creators(OTHER) == {}
    members.remove(PodUID("p"))
    assert members.creators(TRAIN) == {}


def test_the_end_of_what_once_controlled_members_is_known_although_they_are_gone() -> None:
    """Semantics §7.2."""
    members = Members()

    members.put_creator(NAMING)
    assert members.creators(OTHER, ["uid-j", "unknown"]) == {}, "it goes on"
    ended = replace(NAMING, ended=False)
    members.put_creator(ended)
    assert members.creators(OTHER, ["uid-j", "unknown"]) == {"uid-j": ended}


def test_a_job_of_a_later_part_is_a_creator_of_that_part_alone_once_it_has_a_podgroup() -> None:
    """Semantics §6.6, §7.2."""
    exist = set[GroupKey]()
    members = Members(groups=exist)
    first = replace(NAMING, uid="first", restart="set/0")
    later = replace(NAMING, wave=OTHER, restart="set/0")
    assert members.put_creator(first) == {TRAIN}
    assert members.put_creator(later) == {TRAIN}
    assert members.regroup(OTHER) == set()
    both = {"first": first, "uid-j": later}
    assert members.creators(TRAIN) == both, "there is no PodGroup of the part"
    exist.add(OTHER)
    assert members.regroup(OTHER) == {TRAIN, OTHER}
    assert members.regroup(OTHER) == set()
    ended = replace(later, ended=False)
    assert members.put_creator(ended) == {OTHER}
    seen = members.creators(TRAIN, ["uid-j"])
    assert seen == {"first": first}, "though its pods were once seen there"
    moved = {"uid-j": replace(ended, group=OTHER)}
    assert members.creators(OTHER) == moved
    members.remove_creator("uid-j")
    assert members.creators(OTHER) == moved


def test_a_job_of_a_later_part_stays_in_its_podgroup_when_that_is_deleted() -> None:
    """Semantics §6.6."""
    exist = {OTHER}
    members = Members(groups=exist)
    later = replace(NAMING, wave=OTHER)
    assert members.put_creator(later) == {OTHER}
    exist.clear()
    assert members.put_creator(later) == set()
    assert members.put_creator(replace(later, succeeded=1)) == {OTHER}
    assert members.creators(TRAIN) == {}
    assert members.remove_creator("uid-j") == {OTHER}
    exist.add(OTHER)
    assert members.regroup(OTHER) == set(), "nothing is kept of a Job that is gone"
    assert members.creators(OTHER) == {}


def test_a_pod_that_a_job_adopts_counts_as_its_pod() -> None:
    members = Members()
    members.put(pod(), ready=False)
    members.put(replace(pod(), owner=JOB_OWNER), ready=False)

    assert members.put_creator(replace(A_JOB, ended=True)) == {TRAIN}


def test_what_names_a_group_touches_it_before_it_has_pods() -> None:
    members = Members()

    assert members.put_creator(NAMING) == {TRAIN}
    assert members.put_creator(replace(NAMING, pods=3)) == {TRAIN}
    assert members.put_creator(replace(NAMING, group=OTHER)) == {TRAIN, OTHER}
    assert members.creators(TRAIN) == {}
    assert members.creators(OTHER) == {"uid-j": replace(NAMING, group=OTHER)}
    assert members.put_creator(A_JOB) == {OTHER}
    assert members.creators(OTHER) == {}


def test_what_is_deleted_creates_no_members() -> None:
    members = Members()
    members.put_creator(NAMING)

    assert members.remove_creator("uid-j") == {TRAIN}
    assert members.remove_creator("uid-j") == set()
    assert members.creators(TRAIN) == {}


def test_how_a_job_ended_is_known_for_a_while_after_it_was_deleted() -> None:
    members = Members()
    ended = replace(NAMING, ended=True)
    members.put_creator(ended)
    members.remove_creator("uid-j")
    assert members.creators(TRAIN) == {"uid-j": ended}

    for i in range(KEPT):
        members.put_creator(replace(ended, uid=str(i)))
        members.remove_creator(str(i))
    assert "uid-j" not in members.creators(TRAIN)
    assert len(members.creators(TRAIN)) == KEPT


def test_a_pod_with_a_controller_is_not_bare() -> None:
    owned = Member.of(replace(pod(), owner=Owner("StatefulSet", "s", "uid-s")), ready=False)

    assert (owned.controller, owner_of(owned), owned.bare) == ("uid-s", "uid-s", False)
    assert Member.of(pod(), ready=False).bare
    assert owner_of(Member.of(pod(), ready=False)) == BARE


steps = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from([TRAIN, OTHER, None]),
        st.sampled_from(list(Phase)),
        st.sampled_from(["enbloc", "default-scheduler"]),
        st.booleans(),
    ),
    max_size=30,
)


@given(steps)
def test_the_table_holds_each_pods_last_state_and_names_every_group_that_changed(
    log: list[tuple[str, GroupKey | None, Phase, str, bool]],
) -> None:
    members = Members()
    expected: dict[str, tuple[GroupKey, Member]] = {}
    for name, group, phase, scheduler, deleted in log:
        before = {key: set(members.of(key)) for key in (TRAIN, OTHER)}
        seen = replace(pod(name, group), phase=phase, scheduler=scheduler)
        touched = (
            members.remove(seen.uid) if deleted else members.put(seen, ready=phase is Phase.RUNNING)
        )
        if deleted or group is None:
            expected.pop(name, None)
        else:
            expected[name] = (group, Member.of(seen, ready=phase is Phase.RUNNING))
        for key in (TRAIN, OTHER):
            now = set(members.of(key))
            assert now == {member for of, member in expected.values() if of == key}
            assert (key in touched) == (now != before[key])
            assert set(members.schedulers(key)) == {member.scheduler for member in now}


def test_what_makes_pods_of_a_podgroup_that_another_group_has_makes_members_of_that() -> None:
    claims = Adoptions()
    members = Members(claims)
    claims.put(TRAIN, {"other": "worker"})
    named = Creator(JOB, "job", "u", OTHER, by_field=True)
    assert members.put_creator(named) == {TRAIN}
    assert members.creators(TRAIN) == {"u": replace(named, group=TRAIN, role="worker")}
    by_label = replace(named, by_field=False)
    assert members.put_creator(by_label) == {TRAIN, OTHER}
    assert members.creators(OTHER) == {"u": by_label}
