# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How long to wait before the next try."""

import random
from dataclasses import dataclass


@dataclass(slots=True)
class Backoff:
    """Exponential waits with full-range jitter: initial · 2^n, capped, times 0.5 to 1.

    Attributes:
        initial: the first wait, seconds.
        cap: the longest wait, seconds.
    """

    initial: float = 0.5
    cap: float = 30.0
    _failures: int = 0

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        wait = min(self.cap, self.initial * 2.0 ** min(self._failures, 60))
        self._failures += 1
        return wait * random.uniform(0.5, 1.0)  # noqa: S311  # spreading load is no secret

    def reset(self) -> None:
        """Start over after a success."""
        self._failures = 0
