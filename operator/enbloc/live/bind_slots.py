# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How many Bindings may be in flight: more if that binds more pods a second, fewer in trouble.

A server behind a slow network answers many requests in the time of one; a server whose CPU is
used up answers no more a second, however many requests wait. The latency of a request does not
tell the two apart, so the limit is found by trials: it is raised from time to time, and stays
raised if the rate grows with it; it is lowered from time to time, and stays lowered if the rate
does not drop. When Bindings take more than a second, because the server is overloaded, throttles
requests or is unreachable, the limit is halved.

During a burst of Bindings, other writes should wait.
"""

import math
import statistics
from collections import deque
from typing import Final

#: The limit at the start, and the lowest one while the server is healthy.
START: Final = 32
#: The lowest and the highest limit.
LEAST: Final = 8
MOST: Final = 128
#: The server is in trouble if the median Binding takes longer than this (seconds).
SLOW_SECONDS: Final = 1.0
#: The factor by which a trial changes the limit.
STEP: Final = 1.25
#: A higher limit is kept if the rate grows by at least this share of the limit's growth; a lower
#: limit, if at least this share of the rate remains.
GAIN: Final = 0.5
KEPT: Final = 0.97
#: A round counts if at least this share of the slots was taken, on average.
TAKEN: Final = 0.75
#: Rounds between two trials.
ROUNDS: Final = 8
#: A burst is under way while at least BURST Bindings are in flight and BURST have ended within
#: BURST_ENDS_SECONDS: a few that hang are no burst. It lasts BURST_SECONDS longer.
BURST: Final = 8
BURST_ENDS_SECONDS: Final = 2.0
BURST_SECONDS: Final = 0.5


class BindSlots:
    """Decides how many Bindings may be in flight by how fast they end.

    A round is as many outcomes as there are slots. A round in which too few slots were taken to
    tell anything leaves the limit unchanged, unless its Bindings were slow.
    """

    def __init__(self) -> None:
        #: Bindings that may be in flight.
        self.limit = START
        #: When the current round began, and when the last one ended; clock of `ended`.
        self._began = self._ended = 0.0
        #: How long each Binding of this round took (seconds); fewer than `limit`.
        self._times: list[float] = []
        #: The sum of how many were in flight when each of them ended.
        self._taken = 0
        #: Rounds since the last trial.
        self._rounds = 0
        #: The limit and the rate before the current trial; None = no trial is under way.
        self._before: tuple[int, float] | None = None
        #: The next trial lowers the limit.
        self._fewer_next = False
        #: When a burst was last seen; and when the latest Bindings ended, oldest first.
        self._burst = -math.inf
        self._ends: deque[float] = deque([-math.inf], maxlen=BURST)

    def bursting(self, now: float) -> bool:
        """Whether a burst is under way, or was less than BURST_SECONDS ago; clock of `ended`."""
        return now - self._burst < BURST_SECONDS

    def ended(self, now: float, seconds: float, in_flight: int) -> None:
        """Record that a Binding ended, with whatever outcome.

        Args:
            now: a monotonic clock, seconds.
            seconds: how long the Binding took.
            in_flight: how many Bindings were in flight, this one included.
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
        """Begin a trial, or end the current one and judge it by its rate."""
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
            self._rounds = ROUNDS  # try a higher limit at once

    def _set(self, limit: float) -> None:
        self._rounds = 0
        self.limit = max(LEAST, min(MOST, math.ceil(limit)))
