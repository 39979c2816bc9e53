# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Shape: the piecewise linear function that maps utilisation to a score."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from enbloc.model.nodes import Amounts


@lru_cache(maxsize=64)
def broken_line(points: tuple[tuple[int, int], ...]) -> Amounts:
    """int64[101]: the score at each whole percent of utilisation.

    Args:
        points: `(utilisation, score)`, at least one, utilisations from 0 to 100 and rising.

    Between two points the score is interpolated, the step from the left one truncated towards zero;
    outside it is that of the nearest point. Source: kube-scheduler v1.36
    pkg/scheduler/framework/plugins/helper/shape_score.go BuildBrokenLinearFunction.
    """
    scores = np.array([_at(points, percent) for percent in range(101)], np.int64)
    scores.flags.writeable = False
    return scores


def _at(points: Sequence[tuple[int, int]], percent: int) -> int:
    if percent <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in pairwise(points):
        if percent <= right:
            rise = (high - low) * (percent - left)
            return low + (rise // (right - left) if rise >= 0 else -(-rise // (right - left)))
    return points[-1][1]
