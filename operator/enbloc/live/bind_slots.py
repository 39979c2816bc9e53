# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How many Bindings may be in flight: more where that binds more pods a second, fewer in trouble.

A server at the other end of a slow network answers many requests in the time of one; one whose CPU
is used up answers no more a second however many wait. What a request takes does not tell the two
apart, so the number is tried out: now and then some more are let in, and they stay if the rate
grows with them; now and then some fewer, and it stays at that if nothing is lost. Where Bindings
take more than a second, whether the server is overloaded, asks for patience or is not there, half
as many are let in.

While a burst of them is under way, what is written beside them had better wait.
"""

import math
import statistics
from collections import deque
from typing import Final

#: So many to begin with, and the fewest of a server that is well.
START: Final = 32
#: The fewest and the most.
LEAST: Final = 8
MOST: Final = 128
#: Most Bindings take more than this: the server is in trouble (seconds).
SLOW_SECONDS: Final = 1.0
#: By how much the number is changed to try.
STEP: Final = 1.25
#: More are kept if the rate grows by this share of what it could; fewer if it keeps this share.
GAIN: Final = 0.5
KEPT: Final = 0.97
#: A round is of use if so many of the slots were taken, on average.
TAKEN: Final = 0.75
#: Rounds between two trials.
ROUNDS: Final = 8
#: A burst is under way while so many are in flight, and as many have ended in so many seconds: some
#: that hang are none. It lasts for so many seconds more.
BURST: Final = 8
BURST_ENDS_SECONDS: Final = 2.0
BURST_SECONDS: Final = 0.5


class BindSlots:
    """Decides how many Bindings may be in flight by how fast they end.

    A round is as many outcomes as there are slots. Rounds in which too few slots were taken to
    tell anything change nothing.
    """

    def __init__(self) -> None:
        #: Bindings that may be in flight.
        self.limit = START
        #: When the round under way began, and when the last one ended; clock of `ended`.
        self._began = self._ended = 0.0
        #: How long each Binding of this round took (seconds); fewer than `limit`.
        self._times: list[float] = []
        #: The sum of what was in flight at each of their ends.
        self._taken = 0
        #: Rounds since the last trial.
        self._rounds = 0
        #: The limit and the rate before the trial under way; None = there is none.
        self._before: tuple[int, float] | None = None
        #: The next trial is one with fewer.
        self._fewer_next = False
        #: When a burst was last seen; and when the latest Bindings ended, the oldest first.
        self._burst = -math.inf
        self._ends: deque[float] = deque([-math.inf], maxlen=BURST)

    def bursting(self, now: float) -> bool:
        """Whether many Bindings end, and others are in flight, or did just now; clock: `ended`."""
        return now - self._burst < BURST_SECONDS

    def ended(self, now: float, seconds: float, in_flight: int) -> None:
        """Take note of an outcome, whatever it was.

        Args:
            now: a monotonic clock, seconds.
            seconds: how long the Binding took.
            in_flight: how many there were, itself included.
        """
        self._ends.append(now)
        if in_flight >= BURST and now - self._ends[0] < BURST_ENDS_SECONDS:
            self._burst = now
        if not self._times:
            self._began = max(self._ended, now - seconds)
        self._times.append(seconds)
        self._taken += in_flight
        if len(self._times) >= self.limit:
            self._end_round(now)

    def _end_round(self, now: float) -> None:
        count, began = len(self._times), self._began
        median = statistics.median(self._times)
        full = self._taken >= TAKEN * count * self.limit
        self._times.clear()
        self._taken, self._ended = 0, now
        if median > SLOW_SECONDS:
            self._before = None
            self._set(self.limit // 2)
        elif full and now > began:
            self._compare(count / (now - began))

    def _compare(self, rate: float) -> None:
        """Begin a trial, or end one by the rate that it came to."""
        if self._before is None:
            self._rounds += 1
            if self.limit < START:
                self._set(self.limit * STEP)  # the trouble is over
            elif self._rounds >= ROUNDS:
                self._before = self.limit, rate
                fewer = self.limit >= MOST or (self._fewer_next and self.limit > START)
                self._set(max(START, self.limit / STEP) if fewer else self.limit * STEP)
            return
        (limit, before), self._before = self._before, None
        grown = self.limit / limit
        needed = 1 + GAIN * (grown - 1) if grown > 1 else KEPT
        if rate < before * needed:
            self._set(limit)
            self._fewer_next = not self._fewer_next
        elif grown > 1:
            self._rounds = ROUNDS  # and more at once

    def _set(self, limit: float) -> None:
        self._rounds = 0
        self.limit = max(LEAST, min(MOST, math.ceil(limit)))
