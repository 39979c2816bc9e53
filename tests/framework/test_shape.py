# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The broken line from utilisation to score."""

import numpy as np
import pytest

from enbloc.framework.shape import broken_line


@pytest.mark.parametrize(
    ("points", "percent", "score"),
    [
        pytest.param(((0, 0), (100, 100)), 25, 25, id="on the way up"),
        pytest.param(((0, 100), (100, 0)), 25, 75, id="on the way down"),
        pytest.param(((0, 0), (30, 100)), 1, 3, id="cut towards zero on the way up"),
        pytest.param(((0, 100), (30, 0)), 1, 97, id="cut towards zero on the way down as well"),
        pytest.param(((20, 10), (80, 70)), 0, 10, id="before the first point"),
        pytest.param(((20, 10), (80, 70)), 20, 10, id="on the first point"),
        pytest.param(((20, 10), (80, 70)), 80, 70, id="on the last point"),
        pytest.param(((20, 10), (80, 70)), 100, 70, id="behind the last point"),
        pytest.param(((0, 0), (50, 100), (100, 20)), 75, 60, id="the second of two lines"),
        pytest.param(((40, 30),), 99, 30, id="a single point"),
    ],
)
def test_the_score_at_a_utilisation(
    points: tuple[tuple[int, int], ...], percent: int, score: int
) -> None:
    assert broken_line(points)[percent] == score


def test_the_line_is_shared_and_so_read_only() -> None:
    line = broken_line(((0, 0), (100, 10)))

    assert line.shape == (101,)
    assert line is broken_line(((0, 0), (100, 10)))
    with pytest.raises(ValueError, match="read-only"):
        line += np.int64(1)
