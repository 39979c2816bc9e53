# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeReliability: what lowers a node's score, how that fades, and what it does to a decision."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.config import default_profiles
from enbloc.engine.observations import Observations
from enbloc.engine.trial.ranking import Ranking
from enbloc.framework.observations import PodChanged
from enbloc.model.pods import NodeSelectorTerm, Phase, Pod
from enbloc.model.requirements import Operator, Requirement
from enbloc.plugins.node_avoidance.reliability import NodeReliability, Reliability
from tests.world.builders import node, pod, spec, waiting
from tests.world.tables import nodes, snapshot

NOW = 1000.0
NAMES = ("n1", "n2", "n3")
REFUSALS_HALVE, OTHERS_HALVE = 1800.0, 300.0
TABLE = nodes(*map(node, NAMES))

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


def fresh(**arguments: int) -> Reliability:
    """The memory of the plugin before anything happened."""
    return NodeReliability(**arguments).new_memory()


def tell(memory: Reliability, happening: tuple[float, str, str, float]) -> None:
    now, what, name, seconds = happening
    if what == "ran":
        memory.count_start(name, seconds, now)
    else:
        (memory.count_refusal if what == "refused" else memory.count_other_scheduler)(name, now)


def told(happenings: Happenings) -> Reliability:
    """What is remembered after all that."""
    memory = fresh()
    for happening in happenings:
        tell(memory, happening)
    return memory


def started(memory: Reliability, name: str, *seconds: float) -> None:
    for each in seconds:
        memory.count_start(name, each, NOW)


def score_of(memory: Reliability, name: str, now: float) -> int:
    """0 to 100, of one node."""
    return memory.scores(waiting(pod()), TABLE, now).get(name, 100)


# ── what lowers a score ──────────────────────────────────────────────────────────────────────


def test_a_node_of_which_nothing_is_known_has_all_points() -> None:
    assert score_of(fresh(), "n1", NOW) == 100


@pytest.mark.parametrize(
    ("refused", "ran", "score"), [(0, 9, 100), (1, 0, 80), (1, 28, 99), (8, 0, 52), (2, 28, 97)]
)
def test_refusals_count_by_their_share_and_one_alone_is_no_verdict(
    refused: int, ran: int, score: int
) -> None:
    memory = fresh()
    started(memory, "n1", *[1.0] * ran)
    for _ in range(refused):
        memory.count_refusal("n1", NOW)
    assert score_of(memory, "n1", NOW) == score


@pytest.mark.parametrize(
    ("seconds", "score"), [(3.0, 100), (6.0, 100), (12.0, 90), (60.0, 82), (1e9, 81)]
)
def test_a_node_that_starts_pods_slower_than_twice_the_others_scores_lower(
    seconds: float, score: int
) -> None:
    memory = fresh()
    for name in ("n2", "n3", "n4"):
        started(memory, name, 3.0, 3.0)
    started(memory, "n1", seconds, seconds)
    assert score_of(memory, "n1", NOW) == score
    assert score_of(memory, "n2", NOW) == 100


def test_differences_of_less_than_five_seconds_are_none() -> None:
    memory = fresh()
    started(memory, "n1", 5.0, 5.0)
    started(memory, "n2", 0.1, 0.1)
    assert score_of(memory, "n1", NOW) == 100


def test_one_slow_start_is_no_verdict_and_the_next_ones_outweigh_it() -> None:
    memory = fresh()
    started(memory, "n2", 3.0, 3.0)
    started(memory, "n1", 40.0)
    assert score_of(memory, "n1", NOW) == 100
    started(memory, "n1", 3.0)
    slow = score_of(memory, "n1", NOW)
    started(memory, "n1", *[3.0] * 8)
    assert slow < 100
    assert score_of(memory, "n1", NOW) == 100


def test_where_all_nodes_are_slow_none_is() -> None:
    memory = fresh()
    for name in NAMES:
        started(memory, name, 90.0, 90.0)
    assert {score_of(memory, name, NOW) for name in NAMES} == {100}


@pytest.mark.parametrize(("pods", "score"), [(1, 90), (3, 85), (100, 81)])
def test_a_node_that_other_schedulers_use_lately_scores_lower(pods: int, score: int) -> None:
    memory = fresh()
    for _ in range(pods):
        memory.count_other_scheduler("n1", NOW)
    assert score_of(memory, "n1", NOW) == score


def test_all_reasons_add_up() -> None:
    memory = fresh()
    for name in ("n2", "n3"):
        started(memory, name, 3.0, 3.0)
    started(memory, "n1", *[40.0] * 28)
    for _ in range(2):
        memory.count_refusal("n1", NOW)
    alone = score_of(memory, "n1", NOW)
    memory.count_other_scheduler("n1", NOW)
    assert (alone, score_of(memory, "n1", NOW)) == (80, 70)


# ── arguments ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "scores"),
    [
        ({}, (80, 82, 90)),
        ({"refusal_points": 30}, (90, 82, 90)),
        ({"slowness_points": 80}, (80, 27, 90)),
        ({"other_scheduler_points": 0}, (80, 82, 100)),
        ({"refusal_half_life_seconds": 60}, (94, 100, 90)),
        ({"other_scheduler_half_life_seconds": 60}, (80, 82, 96)),
    ],
)
def test_points_and_half_lives_are_arguments(
    arguments: dict[str, int], scores: tuple[int, int, int]
) -> None:
    memory = fresh(**arguments)
    memory.count_refusal("n1", NOW)
    started(memory, "n2", *[60.0] * 2)
    started(memory, "n4", 1.0)
    started(memory, "n5", 1.0)
    memory.count_other_scheduler("n3", NOW)
    assert tuple(score_of(memory, name, NOW + 120) for name in NAMES) == scores


# ── time, and what is remembered ─────────────────────────────────────────────────────────────


def test_refusals_and_pods_of_other_schedulers_fade_each_at_its_own_pace() -> None:
    memory = fresh()
    for name in ("n1", "n2"):
        memory.count_refusal("n1", NOW)
        memory.count_other_scheduler(name, NOW)
    assert [score_of(memory, "n2", NOW + OTHERS_HALVE * n) for n in range(6)] == [
        90, 94, 96, 98, 99, 100,
    ]  # fmt: skip
    later = [score_of(memory, "n1", NOW + REFUSALS_HALVE * n) for n in range(8)]
    assert later == [60, 80, 88, 94, 97, 99, 100, 100]
    assert score_of(memory, "n1", NOW + 1e9) == 100


def test_new_evidence_is_added_to_what_is_left_of_the_old() -> None:
    memory = fresh()
    for _ in range(4):
        memory.count_refusal("n1", NOW)
    later = NOW + REFUSALS_HALVE
    for _ in range(2):
        memory.count_start("n1", 1.0, later)
    assert score_of(memory, "n1", later) == 100 - 60 * 2 // (4 + 2)


def test_a_node_that_is_gone_is_forgotten_and_the_others_are_not_mixed_up() -> None:
    memory = fresh()
    memory.count_refusal("n1", NOW)
    memory.count_other_scheduler("n2", NOW)
    started(memory, "n3", 1.0)
    for name in ("n1", "n1", "unknown"):
        memory.forget(name)
    assert len(memory) == 2
    assert [score_of(memory, name, NOW) for name in NAMES] == [100, 90, 100]
    memory.forget("n2")
    assert len(memory) == 1


def test_evidence_that_has_faded_makes_room_for_new() -> None:
    memory = fresh()
    for number in range(1000):
        memory.count_other_scheduler(f"n{number}", NOW + 100.0 * number)
        assert len(memory) <= 64
    for number in range(100):
        memory.count_refusal(f"m{number}", NOW + 200_000)
    assert len(memory) == 100
    assert {score_of(memory, f"m{number}", NOW + 200_000) for number in range(100)} == {80}


def test_a_clock_that_goes_back_halves_nothing() -> None:
    memory = fresh()
    memory.count_other_scheduler("n1", NOW)
    memory.count_other_scheduler("n1", NOW - 5000)
    assert score_of(memory, "n1", NOW - 5000) == 87


# ── a decision ───────────────────────────────────────────────────────────────────────────────


def chosen(member: Pod, refusals: int = 0, others: int = 0, *, at: float = NOW) -> str:
    """Which of two empty nodes a member of a gang gets from the default plugins.

    Args:
        member: whose place is looked for.
        refusals: so many pods were refused by n1,
        others: and so many put there by other schedulers,
        at: then.
    """
    room = {"cpu": 8, "memory": "64Gi"}
    table = nodes(*(replace(node(n, **room), labels=(("disk", n),)) for n in ("n1", "n2")))
    profile = default_profiles()["enbloc"]
    observations = Observations([profile])
    bound = pod(node="n1", scheduled_at=at)
    refused = replace(bound, phase=Phase.FAILED, rejected="OutOfcpu")
    observed = [PodChanged(bound, refused, ours=True)] * refusals
    observed += [PodChanged(None, bound, ours=False)] * others
    observations.take_in(observed, at)
    ranking = Ranking(member, profile, snapshot(table))
    ranking.consult(observations.opinions(profile, waiting(member), table, NOW), table)
    row = ranking.best()
    assert row is not None
    return table.names[row]


def test_among_equals_the_reliable_node_is_chosen() -> None:
    assert chosen(pod(spec(cpu=1))) == "n1"
    assert chosen(pod(spec(cpu=1)), refusals=1, at=NOW - 4 * REFUSALS_HALVE) == "n2"


def test_the_worst_record_does_not_outweigh_a_preferred_node() -> None:
    on_n1 = NodeSelectorTerm((Requirement("disk", Operator.IN, ("n1",)),))
    assert chosen(pod(spec(cpu=1)), 100, 100) == "n2"
    wanted = replace(spec(cpu=1), preferred_node_affinity=((1, on_n1),))
    assert chosen(pod(wanted), 100, 100) == "n1"


# ── laws ─────────────────────────────────────────────────────────────────────────────────────


@given(HAPPENINGS, st.floats(0, 20_000))
def test_scores_lie_between_0_and_100(happenings: Happenings, now: float) -> None:
    memory = told(happenings)
    assert all(0 <= score_of(memory, name, now) <= 100 for name in NAMES)


@given(HAPPENINGS, st.floats(0, 50_000), st.floats(0, 50_000))
def test_time_alone_never_lowers_a_score(happenings: Happenings, now: float, pause: float) -> None:
    memory = told(happenings)
    for name in NAMES:
        assert score_of(memory, name, now) <= score_of(memory, name, now + pause)


@given(HAPPENINGS)
def test_in_the_end_everything_is_forgiven(happenings: Happenings) -> None:
    assert told(happenings).scores(waiting(pod()), TABLE, 1e6) == {}


@given(HAPPENINGS, st.floats(0, 20_000))
def test_asking_changes_nothing(happenings: Happenings, now: float) -> None:
    facts, asked = waiting(pod()), fresh()
    for happening in happenings:
        tell(asked, happening)
        asked.scores(facts, TABLE, happening[0])
    assert asked.scores(facts, TABLE, now) == told(happenings).scores(facts, TABLE, now)


@given(HAPPENINGS, st.floats(0, 20_000), st.sampled_from(NAMES))
def test_a_refusal_or_another_scheduler_never_raises_a_score(
    happenings: Happenings, now: float, name: str
) -> None:
    last = max([now, *(at for at, *_ in happenings)])
    before = score_of(told(happenings), name, last)
    for what in ("taken", "refused"):
        assert score_of(told([*happenings, (last, what, name, 0.0)]), name, last) <= before
