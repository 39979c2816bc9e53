# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Amounts: arrays of what nodes have of resources, and their exact sums."""

from typing import Final

import numpy as np
import numpy.typing as npt

Amounts = npt.NDArray[np.int64]

#: Amounts from here on (2^40: a TiB) are added up apart: four million smaller ones fit in a cell.
HUGE: Final = 2**40
#: What the huge ones take of a cell at most: more than any node offers, with room below it.
_MOST_TAKEN: Final = 2**60


def sums(amounts: Amounts) -> list[int]:
    """Of int64[R, N], the sum of each line, exact: that of many nodes may not fit in int64."""
    high, low = (amounts >> 32).sum(axis=1), (amounts & 0xFFFF_FFFF).sum(axis=1)
    return [(h << 32) + each for h, each in zip(high.tolist(), low.tolist(), strict=True)]


def held(amount: int) -> int:
    """What a cell tells of a sum of huge amounts."""
    return min(max(amount, -_MOST_TAKEN), _MOST_TAKEN)
