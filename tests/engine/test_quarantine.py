# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Quarantine: who is blamed, for whom a node is barred, for how long, and what is said of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.consulting import Verdict
from enbloc.engine.effects import EventType
from enbloc.engine.quarantine import (
    FIRST_BAR,
    FORGIVEN,
    LONGEST_BAR,
    NODE_GONE,
    NODE_NOT_READY,
    QUARANTINE,
    TOGETHER,
    Lifted,
    Quarantine,
    blames,
    lost,
    of_the_node,
)
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.model.pods import Phase, Pod
from tests.worlds import node, nodes, pod, waiting

A, B, C = (GroupKey("ns", name) for name in "abc")
NOW = 1000.0
REFUSED = "OutOfcpu"

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
        pytest.param(pod(), refused(node=""), "", id="a pod that is on no node"),
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
    assert blames(old, new) == why


def test_a_node_that_is_gone_replaced_or_not_ready_any_more_is_lost() -> None:
    here = replace(node("n1"), uid="1")
    down = replace(here, ready=False)
    assert lost(here, None) == NODE_GONE
    assert lost(here, replace(here, uid="2")) == NODE_GONE
    assert lost(here, down) == NODE_NOT_READY


def test_a_node_that_is_new_as_before_or_back_is_not_lost() -> None:
    here = replace(node("n1"), uid="1")
    down = replace(here, ready=False)
    assert {lost(None, down), lost(here, here), lost(down, down), lost(down, here)} == {""}


@pytest.mark.parametrize("why", ["OutOfnvidia.com/gpu", "UnexpectedAdmissionError", NODE_GONE])
def test_what_any_pod_would_meet_speaks_of_the_node(why: str) -> None:
    assert of_the_node(why)


@pytest.mark.parametrize("why", ["SysctlForbidden", "AppArmor", "SMTAlignmentError", "New"])
def test_what_depends_on_the_pod_or_is_not_known_does_not(why: str) -> None:
    assert not of_the_node(why)


# ── for whom ─────────────────────────────────────────────────────────────────────────────────


def test_a_blamed_node_is_barred_for_the_group_that_blamed_it() -> None:
    quarantine = Quarantine()
    assert quarantine.blame(A, "n1", REFUSED, NOW) == []
    assert quarantine.barred(A, NOW) == {"n1": REFUSED}
    assert quarantine.barred(B, NOW) == {}


def test_a_node_blamed_by_two_groups_within_ten_minutes_is_barred_for_all() -> None:
    quarantine = Quarantine()
    quarantine.blame(A, "n1", REFUSED, NOW)
    [event] = quarantine.blame(B, "n1", NODE_NOT_READY, NOW + TOGETHER)
    assert quarantine.barred(C, NOW + TOGETHER) == {"n1": NODE_NOT_READY}
    assert (event.type, event.reason) == (EventType.WARNING, EventReason.NODE_QUARANTINED)
    assert (event.node, event.uid, event.action) == ("n1", "n1", "Binding")
    assert event.note == (
        "No gang is placed here for the next 60s: within ten minutes it let down "
        "members of ns/a (OutOfcpu) and ns/b (NodeNotReady)"
    )


def test_a_node_blamed_by_two_groups_at_longer_intervals_is_barred_for_each_alone() -> None:
    quarantine = Quarantine()
    quarantine.blame(A, "n1", REFUSED, NOW)
    assert quarantine.blame(B, "n1", REFUSED, NOW + TOGETHER + 1) == []
    assert quarantine.barred(C, NOW + TOGETHER + 1) == {}


def test_one_group_s_many_members_bar_a_node_for_nobody_else() -> None:
    quarantine = Quarantine()
    for second in range(600):
        assert quarantine.blame(A, "n1", REFUSED, NOW + second) == []
    assert quarantine.barred(B, NOW + 600) == {}


def test_groups_that_no_kubelet_would_take_bar_a_node_for_nobody_else() -> None:
    quarantine = Quarantine()
    for group in (A, B):
        assert quarantine.blame(group, "n1", "SysctlForbidden", NOW) == []
    assert quarantine.barred(B, NOW) == {"n1": "SysctlForbidden"}
    assert quarantine.barred(C, NOW) == {}


def test_a_third_group_within_ten_minutes_of_the_second_bars_it_again() -> None:
    quarantine = Quarantine()
    for group, at in ((A, 0.0), (B, 300.0), (C, 890.0)):
        quarantine.expire(NOW + at)
        last = quarantine.blame(group, "n1", REFUSED, NOW + at)
    [event] = last
    assert "ns/b (OutOfcpu) and ns/c (OutOfcpu)" in event.note
    assert "120s" in event.note


def test_the_blame_of_a_group_that_is_gone_still_counts_beside_another_s() -> None:
    quarantine = Quarantine()
    quarantine.blame(A, "n1", REFUSED, NOW)
    quarantine.forget_group(A)
    assert quarantine.barred(A, NOW) == {}
    assert quarantine.deadline() is None
    assert len(quarantine.blame(B, "n1", REFUSED, NOW)) == 1


# ── for how long ─────────────────────────────────────────────────────────────────────────────


def test_a_bar_ends_and_the_group_may_be_woken() -> None:
    quarantine = Quarantine()
    quarantine.blame(A, "n1", REFUSED, NOW)
    assert quarantine.deadline() == NOW + FIRST_BAR
    assert quarantine.expire(NOW + FIRST_BAR - 1) == ([], [])
    assert quarantine.expire(NOW + FIRST_BAR) == ([Lifted("n1", A)], [])
    assert quarantine.barred(A, NOW + FIRST_BAR) == {}
    assert quarantine.deadline() is None
    assert quarantine.expire(NOW + 2 * FIRST_BAR) == ([], [])


def test_the_end_of_a_bar_for_all_is_told_on_the_node() -> None:
    quarantine = Quarantine()
    for group in (A, B):
        quarantine.blame(group, "n1", REFUSED, NOW)
    ended, [event] = quarantine.expire(NOW + FIRST_BAR)
    assert set(ended) == {Lifted("n1", A), Lifted("n1", B), Lifted("n1", None)}
    assert (event.type, event.reason) == (EventType.NORMAL, EventReason.NODE_RELEASED)
    assert (event.node, event.uid) == ("n1", "n1")


def test_the_members_of_one_burst_count_once() -> None:
    quarantine = Quarantine()
    for moment in range(10):
        quarantine.blame(A, "n1", REFUSED, NOW + moment)
    assert quarantine.deadline() == NOW + FIRST_BAR


def test_each_new_blame_doubles_the_bar_up_to_half_an_hour() -> None:
    quarantine, now, lengths = Quarantine(), NOW, []
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
    quarantine = Quarantine()
    quarantine.blame(A, "n1", REFUSED, NOW)
    quarantine.expire(NOW + 60)
    quarantine.blame(A, "n1", REFUSED, NOW + 60)
    quarantine.expire(NOW + 180)
    quarantine.blame(A, "n1", REFUSED, NOW + 180 + pause)
    assert quarantine.deadline() == NOW + 180 + pause + length


# ── a decision ───────────────────────────────────────────────────────────────────────────────


def test_a_gang_s_decision_leaves_out_what_is_barred_and_says_why() -> None:
    quarantine, table = Quarantine(), nodes(*map(node, ("n1", "n2", "n3")))
    facts = waiting(pod())
    quarantine.blame(facts.key, "n1", REFUSED, NOW)
    quarantine.blame(facts.key, "n3", NODE_NOT_READY, NOW)
    quarantine.blame(facts.key, "gone", NODE_GONE, NOW)
    [(name, verdict, _)] = quarantine.opinions(facts, table, NOW)
    assert isinstance(verdict, Verdict)
    feasible = verdict.filter(pod(), table)
    assert name == QUARANTINE
    assert feasible.tolist() == [False, True, False]
    assert verdict.explain(pod(), table, ~feasible) == {
        "node(s) in quarantine (OutOfcpu)": 1,
        "node(s) in quarantine (NodeNotReady)": 1,
    }
    assert not verdict.score(pod(), table).any()


def test_a_pod_without_a_group_knows_no_quarantine() -> None:
    quarantine, table = Quarantine(), nodes(node("n1"))
    for group in (A, B):
        quarantine.blame(group, "n1", REFUSED, NOW)
    assert quarantine.opinions(replace(waiting(pod()), solo=True), table, NOW) == []
    assert len(quarantine.opinions(waiting(pod()), table, NOW)) == 1


def test_nothing_is_asked_where_nothing_is_barred_for_the_group() -> None:
    quarantine, table = Quarantine(), nodes(node("n1"))
    facts = waiting(pod())
    assert quarantine.opinions(facts, table, NOW) == []
    quarantine.blame(A, "n1", REFUSED, NOW)
    quarantine.blame(facts.key, "elsewhere", REFUSED, NOW)
    assert quarantine.opinions(facts, table, NOW) == []


# ── laws ─────────────────────────────────────────────────────────────────────────────────────


@given(BLAMES)
def test_every_bar_ends_within_half_an_hour_of_the_last_blame(blamed: Blamed) -> None:
    quarantine = Quarantine()
    for at, group, name, why in blamed:
        quarantine.blame(group, name, why, at)
        end = at + LONGEST_BAR
        deadline = quarantine.deadline()
        assert deadline is not None
        assert deadline <= end
        assert all(quarantine.barred(key, end) == {} for key in (A, B, C))


@given(BLAMES)
def test_no_bar_stands_longer_than_half_an_hour_whoever_goes_on_blaming(blamed: Blamed) -> None:
    quarantine = Quarantine()
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
    quarantine, past = Quarantine(), [blame for blame in blamed if blame[0] <= now]
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
    quarantine, said = Quarantine(), []
    for at, group, name, why in blamed:
        said += quarantine.expire(at)[1]
        said += quarantine.blame(group, name, why, at)
    said += quarantine.expire(100_000.0)[1]
    for name in ("n1", "n2"):
        reasons = [event.reason for event in said if event.node == name]
        pairs = len(reasons) // 2
        assert reasons == [EventReason.NODE_QUARANTINED, EventReason.NODE_RELEASED] * pairs


@given(BLAMES, st.lists(MOMENTS, min_size=2, max_size=2).map(sorted))
def test_without_new_blame_fewer_nodes_are_barred_as_time_goes_on(
    blamed: Blamed,
    times: list[float],
) -> None:
    quarantine = Quarantine()
    for at, group, name, why in blamed:
        quarantine.blame(group, name, why, at)
    last = blamed[-1][0] if blamed else 0.0
    sooner, later = (last + moment for moment in times)
    for group in (A, B, C):
        assert quarantine.barred(group, later).items() <= quarantine.barred(group, sooner).items()


@given(BLAMES)
def test_the_same_blame_gives_the_same_bars(blamed: Blamed) -> None:
    one, two = Quarantine(), Quarantine()
    for at, group, name, why in blamed:
        two.barred(group, at)
        assert one.blame(group, name, why, at) == two.blame(group, name, why, at)
        assert one.expire(at) == two.expire(at)
        assert one.barred(group, at) == two.barred(group, at)
        assert one.deadline() == two.deadline()


def test_old_records_are_forgotten() -> None:
    quarantine = Quarantine()
    for number in range(5000):
        now = NOW + 100.0 * number
        quarantine.expire(now)
        quarantine.blame(GroupKey("ns", f"g{number}"), f"n{number}", REFUSED, now)
        assert quarantine.records < 250
