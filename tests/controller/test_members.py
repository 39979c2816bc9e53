# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The table of members, and which groups a change touches."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from enbloc.controller.members import Member, Members
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Owner, Phase, Pod, PodKey, PodSpec, PodUID

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


def test_the_end_of_a_job_touches_the_groups_of_its_pods_once() -> None:
    members = Members()
    members.put(replace(pod(), owner=Owner("Job", "j", "uid-j")), ready=False)
    members.put(replace(pod("q", OTHER), owner=Owner("ReplicaSet", "r", "uid-r")), ready=False)

    assert members.end_job("uid-j", complete=True) == {TRAIN}
    assert members.end_job("uid-j", complete=True) == set()
    assert members.end_job("uid-r", complete=True) == set()
    assert members.end_job("uid-j", complete=False) == {TRAIN}
    assert members.jobs == {"uid-j": False, "uid-r": True}
    members.remove(PodUID("p"))
    assert members.end_job("uid-j", complete=True) == set()
    members.remove_job("uid-j")
    assert members.jobs == {"uid-r": True}


def test_a_pod_that_a_job_adopts_counts_as_its_pod() -> None:
    members = Members()
    members.put(pod(), ready=False)
    members.put(replace(pod(), owner=Owner("Job", "j", "uid-j")), ready=False)

    assert members.end_job("uid-j", complete=True) == {TRAIN}


def test_only_a_job_is_an_owner_that_ends() -> None:
    owned = Member.of(replace(pod(), owner=Owner("StatefulSet", "s", "uid-s")), ready=False)

    assert (owned.job, owned.bare) == ("", False)
    assert Member.of(pod(), ready=False).bare


steps = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from([TRAIN, OTHER, None]),
        st.sampled_from(list(Phase)),
        st.booleans(),
    ),
    max_size=30,
)


@given(steps)
def test_the_table_holds_each_pods_last_state_and_names_every_group_that_changed(
    log: list[tuple[str, GroupKey | None, Phase, bool]],
) -> None:
    members = Members()
    expected: dict[str, tuple[GroupKey, Member]] = {}
    for name, group, phase, deleted in log:
        before = {key: set(members.of(key)) for key in (TRAIN, OTHER)}
        seen = replace(pod(name, group), phase=phase)
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
