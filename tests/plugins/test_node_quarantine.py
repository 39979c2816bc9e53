# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeQuarantine: who is blamed, for whom a node is barred, how long, and what is said of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.framework.observations import Expired, GroupGone, NodeChanged, NodeNote, PodChanged
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.model.pods import Phase, Pod
from enbloc.plugins.node_avoidance.quarantine import NodeQuarantine, Quarantine
from enbloc.plugins.node_avoidance.refusals import (
    NODE_GONE,
    NODE_NOT_READY,
    lost,
    of_the_node,
    refusal,
)
from tests.world.builders import node, pod, waiting
from tests.world.tables import nodes

A, B, C = (GroupKey("ns", name) for name in "abc")
NOW = 1000.0
FIRST_BAR, LONGEST_BAR, TOGETHER, FORGIVEN = 60.0, 1800.0, 600.0, 600.0
REFUSED = "OutOfcpu"

TABLE = nodes(*map(node, ("n1", "n2", "n3")))

Blamed = list[tuple[float, GroupKey, str, str]]

MOMENTS = st.floats(0, 20_000, allow_nan=False)
BLAMES = st.lists(
    st.tuples(
        MOMENTS,
        st.sampled_from((A, B, C)),
        st.sampled_from(("n1", "n2")),
        st.sampled_from((REFUSED, NODE_NOT_READY, "SysctlForbidden")),
    ),
    max_size=30,
).map(sorted)


def fresh(**arguments: int) -> Quarantine:
    """The memory of the plugin before anything happened."""
    return NodeQuarantine(**arguments).new_memory()


def refused(**facts: object) -> Pod:
    """A pod that its kubelet refused."""
    failed = pod(node="n1", phase=Phase.FAILED, rejected=REFUSED)
    return replace(failed, **facts)  # type: ignore[arg-type]


# ── blame ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        pytest.param(pod(node="n1"), refused(), REFUSED, id="a bound pod that is refused"),
        pytest.param(pod(), refused(), REFUSED, id="bound and refused between two looks"),
        pytest.param(None, refused(), "", id="a refusal of days ago in a first list"),
        pytest.param(refused(), refused(deleting=True), "", id="a refusal that was told before"),
        pytest.param(
            pod(node="n1", phase=Phase.RUNNING),
            pod(node="n1", phase=Phase.FAILED),
            "",
            id="a pod that failed by itself",
        ),
        pytest.param(pod(node="n1"), pod(node="n1", deleting=True), "", id="a pod that is deleted"),
    ],
)
def test_a_pod_blames_its_node_when_its_kubelet_refuses_it(
    old: Pod | None, new: Pod, why: str
) -> None:
    assert refusal(PodChanged(old, new, ours=True)) == why
    assert refusal(PodChanged(old, new, ours=False)) == ""


def test_a_node_that_is_gone_replaced_or_not_ready_any_more_is_lost() -> None:
    here = replace(node("n1"), uid="1")
    down = replace(here, ready=False)
    assert lost(NodeChanged("n1", here, None)) == NODE_GONE
    assert lost(NodeChanged("n1", here, replace(here, uid="2"))) == NODE_GONE
    assert lost(NodeChanged("n1", here, down)) == NODE_NOT_READY


def test_a_node_that_is_new_as_before_or_back_is_not_lost() -> None:
    here = replace(node("n1"), uid="1")
    down = replace(here, ready=False)
    pairs = [(None, down), (here, here), (down, down), (down, here)]
    assert {lost(NodeChanged("n1", old, new)) for old, new in pairs} == {""}


@pytest.mark.parametrize("why", ["OutOfnvidia.com/gpu", "UnexpectedAdmissionError", NODE_GONE])
def test_what_any_pod_would_meet_speaks_of_the_node(why: str) -> None:
    assert of_the_node(why)


@pytest.mark.parametrize("why", ["SysctlForbidden", "AppArmor", "SMTAlignmentError", "New"])
def test_what_depends_on_the_pod_or_is_not_known_does_not(why: str) -> None:
    assert not of_the_node(why)


# ── for whom ─────────────────────────────────────────────────────────────────────────────────


def test_a_blamed_node_is_barred_for_the_group_that_blamed_it() -> None:
    quarantine = fresh()
    assert quarantine.blame(A, "n1", REFUSED, NOW) == []
    assert quarantine.barred(A, NOW) == {"n1": REFUSED}
    assert quarantine.barred(B, NOW) == {}


def test_a_node_blamed_by_two_groups_within_ten_minutes_is_barred_for_all() -> None:
    quarantine = fresh()
    quarantine.blame(A, "n1", REFUSED, NOW)
    [event] = quarantine.blame(B, "n1", NODE_NOT_READY, NOW + TOGETHER)
    assert quarantine.barred(C, NOW + TOGETHER) == {"n1": NODE_NOT_READY}
    said = (
        "Quarantined for gangs for 60s: within 600s it rejected or lost "
        "members of ns/a (OutOfcpu) and ns/b (NodeNotReady)"
    )
    assert event == NodeNote("n1", EventReason.NODE_QUARANTINED, said, warning=True)


def test_a_node_blamed_by_two_groups_at_longer_intervals_is_barred_for_each_alone() -> None:
    quarantine = fresh()
    quarantine.blame(A, "n1", REFUSED, NOW)
    assert quarantine.blame(B, "n1", REFUSED, NOW + TOGETHER + 1) == []
    assert quarantine.barred(C, NOW + TOGETHER + 1) == {}


def test_one_group_s_many_members_bar_a_node_for_nobody_else() -> None:
    quarantine = fresh()
    for second in range(600):
        assert quarantine.blame(A, "n1", REFUSED, NOW + second) == []
    assert quarantine.barred(B, NOW + 600) == {}


def test_groups_that_no_kubelet_would_take_bar_a_node_for_nobody_else() -> None:
    quarantine = fresh()
    for group in (A, B):
        assert quarantine.blame(group, "n1", "SysctlForbidden", NOW) == []
    assert quarantine.barred(B, NOW) == {"n1": "SysctlForbidden"}
    assert quarantine.barred(C, NOW) == {}


def test_a_third_group_within_ten_minutes_of_the_second_bars_it_again() -> None:
    quarantine = fresh()
    for group, at in ((A, 0.0), (B, 300.0), (C, 890.0)):
        quarantine.expire(NOW + at)
        last = quarantine.blame(group, "n1", REFUSED, NOW + at)
    [event] = last
    assert "ns/b (OutOfcpu) and ns/c (OutOfcpu)" in event.note
    assert "120s" in event.note


def test_the_blame_of_a_group_that_is_gone_still_counts_beside_another_s() -> None:
    quarantine = fresh()
    quarantine.blame(A, "n1", REFUSED, NOW)
    quarantine.observe(GroupGone(A), NOW)
    assert quarantine.barred(A, NOW) == {}
    assert quarantine.deadline() is None
    assert len(quarantine.blame(B, "n1", REFUSED, NOW)) == 1


# ── for how long ─────────────────────────────────────────────────────────────────────────────


def test_a_bar_ends_and_the_group_may_be_woken() -> None:
    quarantine = fresh()
    quarantine.blame(A, "n1", REFUSED, NOW)
    assert quarantine.deadline() == NOW + FIRST_BAR
    assert quarantine.expire(NOW + FIRST_BAR - 1) == Expired()
    assert quarantine.expire(NOW + FIRST_BAR) == Expired((A,))
    assert quarantine.barred(A, NOW + FIRST_BAR) == {}
    assert quarantine.deadline() is None
    assert quarantine.expire(NOW + 2 * FIRST_BAR) == Expired()


def test_the_end_of_a_bar_for_all_is_told_on_the_node() -> None:
    quarantine = fresh()
    for group in (A, B):
        quarantine.blame(group, "n1", REFUSED, NOW)
    expired = quarantine.expire(NOW + FIRST_BAR)
    assert set(expired.groups) == {A, B, None}
    assert expired.notes == (
        NodeNote(
            "n1", EventReason.NODE_RELEASED, "Quarantine ended: gangs may be placed here again"
        ),
    )


def test_the_members_of_one_burst_count_once() -> None:
    quarantine = fresh()
    for moment in range(10):
        quarantine.blame(A, "n1", REFUSED, NOW + moment)
    assert quarantine.deadline() == NOW + FIRST_BAR


def test_each_new_blame_doubles_the_bar_up_to_half_an_hour() -> None:
    quarantine, now, lengths = fresh(), NOW, []
    for _ in range(8):
        quarantine.blame(A, "n1", REFUSED, now)
        until = quarantine.deadline()
        assert until is not None
        lengths.append(until - now)
        now = until
        quarantine.expire(now)
    assert lengths == [60, 120, 240, 480, 960, 1800, 1800, 1800]


@pytest.mark.parametrize(
    ("pause", "length"),
    [(0.0, 240.0), (FORGIVEN - 1, 240.0), (FORGIVEN, 120.0), (2 * FORGIVEN, 60.0)],
)
def test_time_without_blame_forgives(pause: float, length: float) -> None:
    quarantine = fresh()
    quarantine.blame(A, "n1", REFUSED, NOW)
    quarantine.expire(NOW + 60)
    quarantine.blame(A, "n1", REFUSED, NOW + 60)
    quarantine.expire(NOW + 180)
    quarantine.blame(A, "n1", REFUSED, NOW + 180 + pause)
    assert quarantine.deadline() == NOW + 180 + pause + length


# ── a decision ───────────────────────────────────────────────────────────────────────────────


def test_a_gang_s_decision_leaves_out_what_is_barred_and_says_why() -> None:
    quarantine, facts = fresh(), waiting(pod())
    assert quarantine.refused(facts, TABLE, NOW) == {}
    quarantine.blame(facts.key, "n1", REFUSED, NOW)
    quarantine.blame(A, "n2", REFUSED, NOW)
    quarantine.blame(facts.key, "n3", NODE_NOT_READY, NOW)
    assert quarantine.refused(facts, TABLE, NOW) == {
        "n1": "node(s) in quarantine (OutOfcpu)",
        "n3": "node(s) in quarantine (NodeNotReady)",
    }


# ── arguments ────────────────────────────────────────────────────────────────────────────────


def test_the_first_and_the_longest_time_are_arguments() -> None:
    quarantine, now, lengths = fresh(first_seconds=10, longest_seconds=25), NOW, []
    for _ in range(4):
        quarantine.blame(A, "n1", REFUSED, now)
        until = quarantine.deadline()
        assert until is not None
        lengths.append(until - now)
        now = until
        quarantine.expire(now)
    assert lengths == [10, 20, 25, 25]


def test_how_many_gangs_bar_a_node_for_all_within_which_time_are_arguments() -> None:
    quarantine = fresh(witnesses=3, witness_seconds=100)
    quarantine.blame(A, "n1", REFUSED, NOW)
    quarantine.blame(B, "n1", REFUSED, NOW + 50)
    assert quarantine.blame(C, "n1", REFUSED, NOW + 101) == []
    [note] = quarantine.blame(A, "n1", REFUSED, NOW + 120)
    assert "within 100s it rejected or lost members of ns/b" in note.note


def test_how_soon_a_node_is_forgiven_is_an_argument() -> None:
    quarantine = fresh(forgive_seconds=5)
    for at in (0.0, 60.0, 185.0):
        quarantine.blame(A, "n1", REFUSED, NOW + at)
        quarantine.expire(quarantine.deadline() or 0.0)
    assert quarantine.barred(A, NOW + 304) == {"n1": REFUSED}
    assert quarantine.barred(A, NOW + 305) == {}


# ── laws ─────────────────────────────────────────────────────────────────────────────────────


@given(BLAMES)
def test_every_bar_ends_within_half_an_hour_of_the_last_blame(blamed: Blamed) -> None:
    quarantine = fresh()
    for at, group, name, why in blamed:
        quarantine.blame(group, name, why, at)
        end = at + LONGEST_BAR
        deadline = quarantine.deadline()
        assert deadline is not None
        assert deadline <= end
        assert all(quarantine.barred(key, end) == {} for key in (A, B, C))


@given(BLAMES)
def test_no_bar_stands_longer_than_half_an_hour_whoever_goes_on_blaming(blamed: Blamed) -> None:
    quarantine = fresh()
    for at, group, name, why in blamed:
        quarantine.expire(at)
        quarantine.blame(group, name, why, at)
        moments = [at + second for second in range(0, int(LONGEST_BAR) + 1, 60)]
        assert any(name not in quarantine.barred(group, moment) for moment in moments)


@given(BLAMES, MOMENTS)
def test_only_two_groups_within_ten_minutes_bar_a_node_for_others(
    blamed: Blamed,
    now: float,
) -> None:
    quarantine, past = fresh(), [blame for blame in blamed if blame[0] <= now]
    for at, group, name, why in past:
        quarantine.blame(group, name, why, at)
    other = GroupKey("ns", "other")
    for name in quarantine.barred(other, now):
        times = [(at, group) for at, group, n, why in past if n == name and of_the_node(why)]
        assert any(
            one != two and 0 <= later - earlier <= TOGETHER
            for earlier, one in times
            for later, two in times
        )


@given(BLAMES)
def test_the_events_of_a_node_alternate_and_end_with_its_release(blamed: Blamed) -> None:
    quarantine = fresh()
    said: list[NodeNote] = []
    for at, group, name, why in blamed:
        said += quarantine.expire(at).notes
        said += quarantine.blame(group, name, why, at)
    said += quarantine.expire(100_000.0).notes
    for name in ("n1", "n2"):
        reasons = [event.reason for event in said if event.node == name]
        pairs = len(reasons) // 2
        assert reasons == [EventReason.NODE_QUARANTINED, EventReason.NODE_RELEASED] * pairs


@given(BLAMES, st.lists(MOMENTS, min_size=2, max_size=2).map(sorted))
def test_without_new_blame_fewer_nodes_are_barred_as_time_goes_on(
    blamed: Blamed,
    times: list[float],
) -> None:
    quarantine = fresh()
    for at, group, name, why in blamed:
        quarantine.blame(group, name, why, at)
    last = blamed[-1][0] if blamed else 0.0
    sooner, later = (last + moment for moment in times)
    for group in (A, B, C):
        # For what a node is blamed is another matter: the group's own reason may end first.
        assert quarantine.barred(group, later).keys() <= quarantine.barred(group, sooner).keys()


@given(BLAMES)
def test_the_same_blame_gives_the_same_bars(blamed: Blamed) -> None:
    one, two = fresh(), fresh()
    for at, group, name, why in blamed:
        two.barred(group, at)
        assert one.blame(group, name, why, at) == two.blame(group, name, why, at)
        assert one.expire(at) == two.expire(at)
        assert one.barred(group, at) == two.barred(group, at)
        assert one.deadline() == two.deadline()


def test_old_records_are_forgotten() -> None:
    quarantine = fresh()
    for number in range(5000):
        now = NOW + 100.0 * number
        quarantine.expire(now)
        quarantine.blame(GroupKey("ns", f"g{number}"), f"n{number}", REFUSED, now)
        assert quarantine.records < 250
