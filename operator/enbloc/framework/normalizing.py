# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Normalizing: functions that map raw scores of the feasible nodes to 0 to 100."""

import numpy as np

from enbloc.framework.decide import MAX_NODE_SCORE, Scores


def default_normalize(scores: Scores) -> Scores:
    """Scale so that the highest raw score becomes 100, in integers rounded down.

    All zero stays zero. Source: kube-scheduler v1.36
    pkg/scheduler/framework/plugins/helper/normalize_score.go DefaultNormalizeScore.
    """
    top = scores.max(initial=0)
    return scores if top == 0 else scores * MAX_NODE_SCORE // top


def default_normalize_reversed(scores: Scores) -> Scores:
    """As `default_normalize`, then 100 minus that: the lowest raw score is best."""
    top = scores.max(initial=0)
    if top == 0:
        return np.full_like(scores, MAX_NODE_SCORE)
    return MAX_NODE_SCORE - scores * MAX_NODE_SCORE // top
