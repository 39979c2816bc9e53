# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trust: what lowers a node's score, how that fades, and what it means for a decision."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.config import default_profiles
from enbloc.engine.ranking import Ranking
from enbloc.engine.trust import REFUSALS_HALVE, STRANGERS_HALVE, TRUST, WEIGHT, Trust
from enbloc.model.pods import NodeSelectorTerm, Pod
from enbloc.model.requirements import Operator, Requirement
from tests.worlds import node, nodes, pod, snapshot, spec, waiting

NOW = 1000.0
NAMES = ("n1", "n2", "n3")
SOLO = replace(waiting(pod()), solo=True)

Happenings = list[tuple[float, str, str, float]]
HAPPENINGS = st.lists(
    st.tuples(
        st.floats(0, 10_000),
        st.sampled_from(("refused", "ran", "taken")),
        st.sampled_from(NAMES),
        st.floats(-1, 300),
    ),
    max_size=40,
).map(sorted)


def tell(trust: Trust, happening: tuple[float, str, str, float]) -> None:
    now, what, name, seconds = happening
    if what == "ran":
        trust.ran(name, seconds, now)
    else:
        (trust.refused if what == "refused" else trust.taken)(name, now)


def told(happenings: Happenings) -> Trust:
    """What trust is after all that."""
    trust = Trust()
    for happening in happenings:
        tell(trust, happening)
    return trust


def started(trust: Trust, name: str, *seconds: float) -> None:
    for each in seconds:
        trust.ran(name, each, NOW)


def scores(trust: Trust, now: float = NOW) -> list[int]:
    """Of n1, n2 and n3 for a gang."""
    table = nodes(*map(node, NAMES))
    [(_, verdict, _)] = trust.opinions(waiting(pod()), table, now)
    assert verdict.filter(pod(), table).all()
    return [int(score) for score in verdict.score(pod(), table)]


# ── what lowers a score ──────────────────────────────────────────────────────────────────────


def test_a_node_of_which_nothing_is_known_is_trusted() -> None:
    assert (Trust().score("n1", NOW), Trust().explain("n1", NOW)) == (100, "")


@pytest.mark.parametrize(
    ("refused", "ran", "score"), [(0, 9, 100), (1, 0, 80), (1, 28, 99), (8, 0, 52), (2, 28, 97)]
)
def test_refusals_count_by_their_share_and_one_alone_is_no_verdict(
    refused: int, ran: int, score: int
) -> None:
    trust = Trust()
    started(trust, "n1", *[1.0] * ran)
    for _ in range(refused):
        trust.refused("n1", NOW)
    assert trust.score("n1", NOW) == score


@pytest.mark.parametrize(
    ("seconds", "score"), [(3.0, 100), (6.0, 100), (12.0, 90), (60.0, 82), (1e9, 81)]
)
def test_a_node_that_starts_pods_slower_than_twice_the_others_is_trusted_less(
    seconds: float, score: int
) -> None:
    trust = Trust()
    for name in ("n2", "n3", "n4"):
        started(trust, name, 3.0, 3.0)
    started(trust, "n1", seconds, seconds)
    assert trust.score("n1", NOW) == score
    assert trust.score("n2", NOW) == 100


def test_differences_of_less_than_five_seconds_are_none() -> None:
    trust = Trust()
    started(trust, "n1", 5.0, 5.0)
    started(trust, "n2", 0.1, 0.1)
    assert trust.score("n1", NOW) == 100


def test_one_slow_start_is_no_verdict_and_the_next_ones_outweigh_it() -> None:
    trust = Trust()
    started(trust, "n2", 3.0, 3.0)
    started(trust, "n1", 40.0)
    assert trust.score("n1", NOW) == 100
    started(trust, "n1", 3.0)
    slow = trust.score("n1", NOW)
    started(trust, "n1", *[3.0] * 8)
    assert slow < 100
    assert trust.score("n1", NOW) == 100


def test_where_all_nodes_are_slow_none_is() -> None:
    trust = Trust()
    for name in NAMES:
        started(trust, name, 90.0, 90.0)
    assert {trust.score(name, NOW) for name in NAMES} == {100}


@pytest.mark.parametrize(("pods", "score"), [(1, 90), (3, 85), (100, 81)])
def test_a_node_that_others_use_lately_is_trusted_less(pods: int, score: int) -> None:
    trust = Trust()
    for _ in range(pods):
        trust.taken("n1", NOW)
    assert trust.score("n1", NOW) == score


def test_the_reasons_are_told_with_their_numbers() -> None:
    trust = Trust()
    for name in ("n2", "n3"):
        started(trust, name, 3.0, 3.0)
    started(trust, "n1", *[40.0] * 28)
    for _ in range(2):
        trust.refused("n1", NOW)
    assert trust.explain("n1", NOW) == (
        "n1: refused 2 of the last 30 members, takes 40s to start one against 3s elsewhere"
    )
    trust.taken("n2", NOW)
    assert trust.explain("n2", NOW) == "n2: other schedulers put 1 pods there lately"
    assert trust.explain("n3", NOW) == ""


# ── time, and what is remembered ─────────────────────────────────────────────────────────────


def test_refusals_and_strangers_fade_each_at_its_own_pace() -> None:
    trust = Trust()
    for name in ("n1", "n2"):
        trust.refused("n1", NOW)
        trust.taken(name, NOW)
    assert [trust.score("n2", NOW + STRANGERS_HALVE * n) for n in range(6)] == [
        90, 94, 96, 98, 99, 100,
    ]  # fmt: skip
    later = [trust.score("n1", NOW + REFUSALS_HALVE * n) for n in range(8)]
    assert later == [60, 80, 88, 94, 97, 99, 100, 100]
    assert trust.score("n1", NOW + 1e9) == 100


def test_new_evidence_is_added_to_what_is_left_of_the_old() -> None:
    trust = Trust()
    for _ in range(4):
        trust.refused("n1", NOW)
    later = NOW + REFUSALS_HALVE
    for _ in range(2):
        trust.ran("n1", 1.0, later)
    assert trust.explain("n1", later) == "n1: refused 2 of the last 4 members"


def test_a_node_that_is_gone_is_forgotten_and_the_others_are_not_mixed_up() -> None:
    trust = Trust()
    trust.refused("n1", NOW)
    trust.taken("n2", NOW)
    started(trust, "n3", 1.0)
    for name in ("n1", "n1", "unknown"):
        trust.forget(name)
    assert len(trust) == 2
    assert [trust.score(name, NOW) for name in NAMES] == [100, 90, 100]
    trust.forget("n2")
    assert len(trust) == 1


def test_evidence_that_has_faded_makes_room_for_new() -> None:
    trust = Trust()
    for number in range(1000):
        trust.taken(f"n{number}", NOW + 100.0 * number)
        assert len(trust) <= 64
    for number in range(100):
        trust.refused(f"m{number}", NOW + 200_000)
    assert len(trust) == 100
    assert {trust.score(f"m{number}", NOW + 200_000) for number in range(100)} == {80}


def test_a_clock_that_goes_back_halves_nothing() -> None:
    trust = Trust()
    trust.taken("n1", NOW)
    trust.taken("n1", NOW - 5000)
    assert trust.score("n1", NOW - 5000) == 87


# ── a decision ───────────────────────────────────────────────────────────────────────────────


def test_a_gang_is_given_the_scores_of_all_nodes() -> None:
    trust = Trust()
    trust.taken("n2", NOW)
    trust.refused("elsewhere", NOW)
    assert scores(trust) == [100, 90, 100]


def test_a_pod_without_a_group_is_given_none() -> None:
    trust = Trust()
    trust.taken("n2", NOW)
    table = nodes(*map(node, NAMES))
    assert trust.opinions(SOLO, table, NOW) == []


def test_what_does_not_tell_nodes_apart_is_not_said() -> None:
    trust, table = Trust(), nodes(*map(node, NAMES))
    assert trust.opinions(waiting(pod()), table, NOW) == []
    for name in NAMES:
        started(trust, name, 1.0, 1.0)
    assert trust.opinions(waiting(pod()), table, NOW) == []
    for name in NAMES:
        trust.taken(name, NOW)
    assert trust.opinions(waiting(pod()), table, NOW) == []
    trust.taken("n1", NOW)
    assert len(trust.opinions(waiting(pod()), table, NOW)) == 1


def test_an_opinion_stays_as_it_was_given() -> None:
    trust, table = Trust(), nodes(*map(node, NAMES))
    trust.taken("n2", NOW)
    [(name, verdict, weight)] = trust.opinions(waiting(pod()), table, NOW)
    trust.taken("n1", NOW)
    assert (name, weight) == (TRUST, WEIGHT)
    assert list(verdict.score(pod(), table)) == [100, 90, 100]


def chosen(trust: Trust, member: Pod) -> str:
    """Which of two empty nodes a member of a gang gets from the default plugins and trust."""
    room = {"cpu": 8, "memory": "64Gi"}
    table = nodes(*(replace(node(n, **room), labels=(("disk", n),)) for n in ("n1", "n2")))
    ranking = Ranking(member, default_profiles()["enbloc"], snapshot(table))
    ranking.consult(trust.opinions(waiting(member), table, NOW), table)
    row = ranking.best()
    assert row is not None
    return table.names[row]


def test_among_equals_the_trusted_node_is_chosen() -> None:
    trust = Trust()
    assert chosen(trust, pod(spec(cpu=1))) == "n1"
    trust.refused("n1", NOW - 4 * REFUSALS_HALVE)
    assert trust.score("n1", NOW) == 99
    assert chosen(trust, pod(spec(cpu=1))) == "n2"


def test_the_worst_record_does_not_outweigh_a_preferred_node() -> None:
    trust = Trust()
    for _ in range(100):
        trust.refused("n1", NOW)
        trust.taken("n1", NOW)
    assert trust.score("n1", NOW) < 25
    on_n1 = NodeSelectorTerm((Requirement("disk", Operator.IN, ("n1",)),))
    assert chosen(trust, pod(spec(cpu=1))) == "n2"
    wanted = replace(spec(cpu=1), preferred_node_affinity=((1, on_n1),))
    assert chosen(trust, pod(wanted)) == "n1"


# ── laws ─────────────────────────────────────────────────────────────────────────────────────


@given(HAPPENINGS, st.floats(0, 20_000))
def test_scores_lie_between_0_and_100_and_are_explained_where_they_are_less(
    happenings: Happenings, now: float
) -> None:
    trust = told(happenings)
    for name in NAMES:
        score = trust.score(name, now)
        assert 0 <= score <= 100
        assert bool(trust.explain(name, now)) == (score < 100)


@given(HAPPENINGS, st.floats(0, 50_000), st.floats(0, 50_000))
def test_time_alone_never_lowers_a_score(happenings: Happenings, now: float, pause: float) -> None:
    trust = told(happenings)
    for name in NAMES:
        assert trust.score(name, now) <= trust.score(name, now + pause)


@given(HAPPENINGS)
def test_in_the_end_everything_is_forgiven(happenings: Happenings) -> None:
    trust = told(happenings)
    assert trust.opinions(waiting(pod()), nodes(*map(node, NAMES)), 1e6) == []


@given(HAPPENINGS, st.floats(0, 20_000))
def test_asking_changes_nothing_and_what_is_said_is_what_each_node_has(
    happenings: Happenings, now: float
) -> None:
    table, facts = nodes(*map(node, NAMES)), waiting(pod())
    asked, silent = Trust(), told(happenings)
    for happening in happenings:
        tell(asked, happening)
        asked.opinions(facts, table, happening[0])
        asked.explain("n1", now)
    each = [silent.score(name, now) for name in NAMES]
    assert each == [asked.score(name, now) for name in NAMES]
    said = silent.opinions(facts, table, now)
    assert bool(said) == (len(set(each)) > 1)
    for _, verdict, _ in said:
        assert list(verdict.score(pod(), table)) == each


@given(HAPPENINGS, st.floats(0, 20_000), st.sampled_from(NAMES))
def test_a_refusal_or_a_stranger_never_raises_a_score(
    happenings: Happenings, now: float, name: str
) -> None:
    last = max([now, *(at for at, *_ in happenings)])
    before = told(happenings).score(name, last)
    assert told([*happenings, (last, "taken", name, 0.0)]).score(name, last) <= before
    assert told([*happenings, (last, "refused", name, 0.0)]).score(name, last) <= before


@given(HAPPENINGS, st.floats(0, 20_000))
def test_pods_without_a_group_are_never_affected(happenings: Happenings, now: float) -> None:
    assert told(happenings).opinions(SOLO, nodes(*map(node, NAMES)), now) == []
