# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Amounts: arrays of resource amounts of nodes, and their exact sums."""

from typing import Final

import numpy as np
import numpy.typing as npt

Amounts = npt.NDArray[np.int64]

#: Amounts from 2^40 (a TiB) on are summed separately; four million smaller ones fit in a cell.
HUGE: Final = 2**40
#: The most that huge amounts add to a cell: above any node's offer, below int64's limit.
_MOST_TAKEN: Final = 2**60


def sums(amounts: Amounts) -> list[int]:
    """The exact sum of each line of int64[R, N], which may exceed int64."""
    high, low = (amounts >> 32).sum(axis=1), (amounts & 0xFFFF_FFFF).sum(axis=1)
    return [(h << 32) + each for h, each in zip(high.tolist(), low.tolist(), strict=True)]


def held(amount: int) -> int:
    """A sum of huge amounts, clamped to what a cell holds of it."""
    return min(max(amount, -_MOST_TAKEN), _MOST_TAKEN)
