# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The best rows are found by blocks, and are those that a look at every row finds."""

from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.trial.totals import Totals
from tests.effort import examples


def in_order(values: npt.NDArray[np.int64], count: int) -> list[int]:
    rows = [row for row, total in enumerate(values.tolist()) if total >= 0]
    return sorted(rows, key=lambda row: (-values[row], row))[:count]


@given(
    size=st.integers(0, 1500),
    highest=st.integers(-1, 3),
    counts=st.lists(st.integers(1, 6), max_size=6),
    random=st.randoms(use_true_random=False),
)
@examples(150)
def test_the_best_rows_are_found_whatever_rows_have_changed(
    size: int, highest: int, counts: list[int], random: Random
) -> None:
    def some(amount: int) -> npt.NDArray[np.int64]:
        return np.array([random.randint(-1, highest) for _ in range(amount)], np.int64)

    totals = Totals(some(size))
    for count in counts:
        assert totals.first(count).tolist() == in_order(totals.values, count)
        assert totals.best() == next(iter(in_order(totals.values, 1)), None)
        touched = sorted({random.randrange(size) for _ in range(3)}) if size else []
        totals.put(np.array(touched, np.int64), some(len(touched)))
        if touched:
            totals.put(slice(touched[0], touched[0] + 1), some(1))


@pytest.mark.parametrize("count", [1, 7, 2000])
def test_of_equal_rows_the_first_are_the_best(count: int) -> None:
    assert Totals(np.full(1300, 5)).first(count).tolist() == list(range(min(count, 1300)))


def test_a_fork_and_its_origin_change_each_on_its_own() -> None:
    totals = Totals(np.zeros(1000, np.int64))
    totals.first(1)
    totals.put(slice(600, 601), np.array([1]))
    fork = totals.fork()
    fork.put(slice(900, 901), np.array([2]))
    assert totals.first(2).tolist() == [600, 0]
    assert fork.first(2).tolist() == [900, 600]
