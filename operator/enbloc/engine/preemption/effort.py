# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Effort: how much of the engine's time searches for victims may take."""

from typing import Final

#: Steps of searches per second: about a fifth of the time at 10 µs a step,
STEPS_PER_SECOND: Final = 20_000
#: and the most at once.
MOST_STEPS: Final = 40_000


class StepAccount:
    """An account of steps that fills up with time; a search may overdraw it.

    So a thousand groups that preemption cannot help take no more of a second than one.
    """

    def __init__(self) -> None:
        #: Steps that were left at `_at`; negative after a large search.
        self._steps = float(MOST_STEPS)
        #: Engine clock of the last call.
        self._at = 0.0

    def left(self, now: float) -> bool:
        """Whether a search may begin."""
        gained = max(0.0, now - self._at) * STEPS_PER_SECOND
        self._steps, self._at = min(self._steps + gained, MOST_STEPS), max(now, self._at)
        return self._steps > 0

    def take(self, steps: int) -> None:
        """Subtract the steps that a search took."""
        self._steps -= steps

    def ready(self) -> float:
        """Return when a search may begin, engine clock; past = now."""
        return self._at + max(0.0, 1 - self._steps) / STEPS_PER_SECOND
