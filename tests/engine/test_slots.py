# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Slots are the same kept while pods come and go as counted anew; and so are rows that are told."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.packing import plain_requests
from enbloc.engine.trial import Slots, Trial
from tests.effort import examples
from tests.engine.searching import Kind, cluster, machine, members, trying

NODES = 9
#: The rack of each node, from 1 on; the last node is in none.
RACKS = np.array([1, 1, 1, 2, 2, 2, 3, 3, 0], np.int64)


def fleet() -> Trial:
    return trying(cluster(*(machine(f"n{i}", i % 4, gpu=2, pods=4) for i in range(NODES))))


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, NODES - 1)), max_size=12))
@examples(60)
def test_slots_and_their_sums_follow_pods_that_come(come: list[tuple[int, int]]) -> None:
    [pod, *others] = members(Kind(cpu=1, gpu=1), *(Kind(cpu=cpu) for cpu, _ in come))
    trial = fleet()
    requests = plain_requests(pod, trial)
    assert requests is not None
    kept = trial.ranking(pod).slots(trial.nodes, requests)
    assert kept is not None
    kept.sums(RACKS, 3)
    for other, (_, row) in zip(others, come, strict=True):
        trial.add(other, row)
        ranking = trial.ranking(pod)
        again = ranking.slots(trial.nodes, requests)
        assert again is kept, "a pod that comes asks no other row"
        anew = Slots(requests, trial.nodes, ranking.narrowed())
        assert kept.values.tolist() == anew.values.tolist()
        assert kept.sums(RACKS, 3).tolist() == anew.sums(RACKS, 3).tolist()
        assert kept.sums(RACKS, 3).sum() == kept.values[:-1].sum()


@given(st.integers(1, 8), st.sets(st.integers(0, NODES - 1), min_size=1))
@examples(60)
def test_rows_that_are_told_are_those_that_pods_get_where_no_others_are(
    count: int, among: set[int]
) -> None:
    pods = members(*[Kind(cpu=1)] * count)
    trial = fleet()
    rows = np.array(sorted(among), np.intp)
    told = trial.rows_among(pods, trial.key(pods[0]), rows)
    assert set(told) <= among
    few = trying(cluster(*(machine(f"n{i}", i % 4, gpu=2, pods=4) for i in sorted(among))))
    placed = [row for pod in pods if (row := few.place(pod)) is not None]
    assert told == [int(rows[row]) for row in placed][: len(told)]
    assert len(told) == len(placed)


def test_a_class_that_is_more_than_its_requests_has_no_slots() -> None:
    apart = Kind(apart=frozenset({("kubernetes.io/hostname", "a")}))
    port = Kind(port=80)
    trial = fleet()
    for pod in (*members(apart), *members(port)):
        assert plain_requests(pod, trial) is None
