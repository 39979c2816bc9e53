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

#: After a step that took longer (seconds), the other tasks have so many turns before the next:
#: to send a request and to read its answer takes several, each of which would wait for a step.
LONG_STEP: Final = 0.005
TURNS: Final = 4
#: The taking in of one event in so many is measured, and of the first in every batch.
MEASURED: Final = 16


class Deciding(Protocol):
    """What the loop needs of an Engine."""

    def apply(self, event: Event) -> None:
        """Take note of what happened."""
        ...

    def step(self, now: float) -> Sequence[Effect]:
        """Decide."""
        ...

    def stand_by(self) -> None:
        """Decide nothing, and keep nothing that only a decision would need."""
        ...

    def wakeup(self) -> float | None:
        """When to step again if nothing happens."""
        ...


class Loop:
    """Drives one engine until told to stop.

    Args:
        engine: what decides; nobody else touches it while this runs.
        queue: where events come from.
        start: takes effects to be carried out, and the seconds that the decision took.
        now: the engine's clock, asked only while stepping is allowed.
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
        #: Nothing more is decided; it never changes back.
        self._stopping = False
        #: Monotonic time at which the present apply or step began; None between two.
        self.busy_since: float | None = None

    def stop(self) -> None:
        """Decide nothing more; `run` returns when the step under way is done."""
        self._stopping = True
        self._queue.wake()

    async def run(self) -> None:
        """Apply and step until stopped; other tasks get their turns after every step."""
        while True:
            took = 0.0
            await self._queue.wait(self._pause())
            if self._stopping:
                return
            self.busy_since = time.monotonic()
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
            self.busy_since = None
            for _ in range(TURNS if took > LONG_STEP else 1):
                await asyncio.sleep(0)

    def _pause(self) -> float | None:
        """Seconds until the engine wants to be asked again; None for as long as it takes."""
        when = self._engine.wakeup() if self._may_step() else None
        return None if when is None else when - self._now()
