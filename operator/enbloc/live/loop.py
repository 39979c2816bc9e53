# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The run loop: events to the engine, effects to the executor; one task owns the engine."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from enbloc.engine.effects import Effect
from enbloc.engine.events import Event
from enbloc.live.event_queue import EventQueue
from enbloc.telemetry import metrics

#: No step of the engine may take longer (seconds).
LONGEST_STEP: Final = 60.0
#: After a step that took longer than LONG_STEP (seconds), other tasks get TURNS turns before the
#: next: a request and its answer take several turns, and each would wait for a step.
LONG_STEP: Final = 0.005
TURNS: Final = 4
#: The first event of every batch, and one in this many after it, is timed.
MEASURED: Final = 16


class Deciding(Protocol):
    """The part of an Engine that the loop uses."""

    def apply(self, event: Event) -> None:
        """Take in an event."""
        ...

    def step(self, now: float) -> Sequence[Effect]:
        """Decide, and return the effects."""
        ...

    def stand_by(self) -> None:
        """Decide nothing, and drop what only a decision would need."""
        ...

    def wakeup(self) -> float | None:
        """When to step again if nothing happens; None = not before an event."""
        ...


class Loop:
    """Drives one engine until told to stop.

    Args:
        engine: decides; nothing else touches it while this runs.
        queue: where events come from.
        start: carries out the effects; also gets the seconds that the step took.
        now: the engine's clock, read only while stepping is allowed.
        may_step: whether decisions may be taken now; when that becomes true, wake the queue.
    """

    def __init__(
        self,
        engine: Deciding,
        queue: EventQueue,
        start: Callable[[Sequence[Effect], float], None],
        now: Callable[[], float],
        may_step: Callable[[], bool],
    ) -> None:
        self._engine = engine
        self._queue = queue
        self._start = start
        self._now = now
        self._may_step = may_step
        #: No further decisions; never reset.
        self._stopping = False
        #: Monotonic time when the current batch and its step began; None between two.
        self._busy_since: float | None = None

    def step_ends(self) -> bool:
        """Whether the engine is not stuck in a step; for any thread."""
        since = self._busy_since
        return since is None or time.monotonic() - since < LONGEST_STEP

    def stop(self) -> None:
        """Take no further decisions; `run` returns when the current step is done."""
        self._stopping = True
        self._queue.wake()

    async def run(self) -> None:
        """Apply events and step until stopped; other tasks get turns after every step."""
        while True:
            took = 0.0
            await self._queue.wait(self._pause())
            if self._stopping:
                return
            self._busy_since = time.monotonic()
            for number, event in enumerate(self._queue.take()):
                began = time.perf_counter()
                self._engine.apply(event)
                if not number % MEASURED:
                    seconds = time.perf_counter() - began
                    metrics.series(metrics.EVENT_HANDLING, type(event).__name__).observe(seconds)
            if self._may_step():
                decided = time.monotonic()
                effects = self._engine.step(self._now())
                took = time.monotonic() - decided
                self._start(effects, took)
            else:
                self._engine.stand_by()
            self._busy_since = None
            for _ in range(TURNS if took > LONG_STEP else 1):
                await asyncio.sleep(0)

    def _pause(self) -> float | None:
        """Seconds until the engine's next wakeup; None = wait for an event."""
        when = self._engine.wakeup() if self._may_step() else None
        return None if when is None else when - self._now()
