# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods of a stream go where they would go if each was decided on its own."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enbloc.config import default_profiles
from enbloc.engine.replay.replay import replayed
from enbloc.engine.trial.lookahead import AHEAD, MOST_BYTES, Lookahead
from enbloc.engine.trial.parts import PlacedChange
from enbloc.framework.decide import Scores
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodKey, PodUID
from tests.effort import examples
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with

POD = Pod(PodKey("ns", "p"), PodUID("p"), spec(cpu=1))
OTHER = Pod(PodKey("ns", "q"), PodUID("q"), spec(cpu=1))


def told(rows: list[int], position: int = 0) -> Lookahead:
    """A lookahead of which the first row is taken by POD."""
    ahead = Lookahead()
    assert ahead.tell(rows, [POD], position) == rows[:1]
    return ahead


def test_the_next_row_is_known_once_the_pods_before_have_come() -> None:
    ahead = told([7, 2, 7, 4])
    assert ahead.next([OTHER], []) is None, "POD has not come"
    assert ahead.next([OTHER], [PlacedChange(POD, 7)]) == [2]
    assert ahead.next([POD, POD], [PlacedChange(POD, 7), PlacedChange(OTHER, 2)]) == [7, 4]


@pytest.mark.parametrize(
    "came",
    [
        pytest.param(None, id="the journal does not reach back"),
        pytest.param([PlacedChange(POD, 6)], id="on another row"),
        pytest.param([PlacedChange(OTHER, 7)], id="another pod"),
        pytest.param(
            [PlacedChange(POD, 7), PlacedChange(OTHER, 1)], id="somebody else came as well"
        ),
        pytest.param(
            [PlacedChange(POD, 7), PlacedChange(POD, 7, left=True)], id="it has left again"
        ),
    ],
)
def test_nothing_is_known_where_something_else_happened(came: list[PlacedChange] | None) -> None:
    assert told([7, 2]).next([OTHER], came) is None


def test_nothing_is_known_of_more_pods_than_rows_were_told() -> None:
    assert told([7, 2]).next([POD, OTHER], [PlacedChange(POD, 7)]) is None


def test_what_the_journal_cannot_have_is_not_asked_of_it() -> None:
    ahead = told([7, 2, 4], position=5)
    assert ahead.has(2, end=6)
    assert not ahead.has(3, end=6), "so many rows are not left"
    assert not ahead.has(1, end=7), "somebody else came as well"


def test_pods_are_kept_neither_beyond_the_last_row_nor_beyond_the_bytes() -> None:
    large = dataclasses.replace(POD, own_size=MOST_BYTES // 2)
    few, many = Lookahead(), Lookahead()
    few.tell([7, 2], [large, large], 0)
    many.tell([7, 2, 4, 7], [large, large, large], 0)
    for ahead in (few, many):
        assert not ahead._came
        assert not ahead.has(1, end=0)


def test_where_others_always_come_between_looking_ahead_is_tried_less_and_less() -> None:
    ahead, tried = Lookahead(), []
    for decision in range(300):
        if ahead.wanted():
            tried.append(decision)
            ahead.tell([1] * AHEAD, [POD], 0)
    assert len(tried) < 10
    assert tried[:3] == [0, 2, 6]


def test_where_most_is_used_it_is_done_each_time() -> None:
    ahead = Lookahead()
    for _ in range(5):
        assert ahead.wanted()
        ahead.tell([1] * AHEAD, [POD] * AHEAD, 0)


class Asked:
    """Scores all nodes alike, and counts how often it was asked."""

    name = "Asked"
    reads = Reads.NODE

    def __init__(self) -> None:
        self.times = 0

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        del pod
        self.times += 1
        return np.zeros(len(nodes), np.int64)


def test_a_stream_of_alike_pods_asks_about_the_nodes_once_for_many() -> None:
    asked = Asked()
    cluster = cluster_with(asked, weights={"Asked": 1}, validate=False)
    cluster.nodes(" ".join(f"n{number}" for number in range(8)), cpu=64)
    for number in range(4 * AHEAD):
        cluster.pod(f"p{number:03}")
    cluster.settle()
    assert len(cluster.sent) == 4 * AHEAD
    assert asked.times <= 16


# ── beside others ────────────────────────────────────────────────────────────────────────────


def a_few_pods(cluster: Cluster, number: int) -> None:
    for each in range(3):
        cluster.pod(f"p{number}-{each}")


def a_large_pod(cluster: Cluster, number: int) -> None:
    cluster.pod(f"large{number}", spec=spec(cpu=3))


def a_gang(cluster: Cluster, number: int) -> None:
    cluster.gang(f"g{number}", 3)


def a_gang_of_two_sizes(cluster: Cluster, number: int) -> None:
    cluster.gang(f"h{number}", 2, minimum=3)
    cluster.pod(f"h{number}-large", f"h{number}", spec=spec(cpu=2))


def a_pod_of_another_scheduler(cluster: Cluster, number: int) -> None:
    cluster.pod(f"o{number}", scheduler="other", node=f"n{number % 5}")


def one_is_deleted(cluster: Cluster, number: int) -> None:
    if cluster.pods:
        cluster.delete(sorted(cluster.pods)[number % len(cluster.pods)])


def one_more_node(cluster: Cluster, number: int) -> None:
    cluster.node(f"more{number}", cpu=4)


def a_node_is_cordoned(cluster: Cluster, number: int) -> None:
    cluster.node("n1", cpu=7, unschedulable=number % 2 == 0)


STEPS = (
    a_few_pods,
    a_large_pod,
    a_gang,
    a_gang_of_two_sizes,
    a_pod_of_another_scheduler,
    one_is_deleted,
    one_more_node,
    a_node_is_cordoned,
)


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.booleans()), max_size=25))
@example([(a_few_pods, False), (a_gang, False), (a_pod_of_another_scheduler, False)])
@examples(60)
def test_each_decision_of_a_stream_is_what_it_would_be_without_those_before(
    steps: list[tuple[Callable[[Cluster, int], None], bool]],
) -> None:
    cluster = Cluster(log=10_000)
    for number in range(5):
        cluster.node(f"n{number}", cpu=5 + number)
    for number, (step, settles) in enumerate(steps):
        step(cluster, number)
        if settles:
            cluster.settle()
    cluster.settle()
    dump = cluster.engine.dump()
    for decision, tables in dump.forwards():
        again = replayed(decision, tables, default_profiles(), dump.search_steps)
        assert not again.differences
