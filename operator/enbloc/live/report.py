# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What operators are told: one log line and the metrics of each decision, the queue's lengths."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from enbloc.engine import Place
from enbloc.engine.effects import Decided, Emit
from enbloc.model.names import EventReason
from enbloc.telemetry import metrics

logger = logging.getLogger(__name__)

_SAID: Final = {
    "scheduled": "Placed pod group",
    "unschedulable": "Pod group does not fit",
    "infeasible": "Pod group does not fit even on empty nodes",
    "waiting": "Pod group is waiting with reserved capacity",
    "error": "Failed to schedule pod group",
}


#: Outcomes of partially bound gangs, as the metric labels them.
_ENDS: Final[Mapping[str, str]] = {
    EventReason.GANG_REPAIRED: "repaired",
    EventReason.GANG_TIMED_OUT: "evicted",
}


class Counted(Protocol):
    """What an engine tells of the groups that it knows."""

    def queue_counts(self) -> Mapping[Place, int]:
        """How many groups are in each place of the queue."""
        ...

    def below_minimum(self) -> int:
        """How many groups have started and do not run whole now."""
        ...

    def in_part(self) -> int:
        """How many gangs are partially bound now, with no Bindings in flight."""
        ...


class GroupCounts:
    """Keeps the metrics of groups.

    Args:
        engine: asked; never while it decides, for both are of one loop.
        infeasible: how many PodGroups say that no change of load could ever place them.
        leads: whether this process decides; the groups of another are not counted twice.
    """

    def __init__(
        self, engine: Counted, infeasible: Callable[[], int], leads: Callable[[], bool]
    ) -> None:
        self._engine = engine
        self._infeasible = infeasible
        self._leads = leads
        self._counted: float | None = None

    async def run(self) -> None:
        """Count once a second, until cancelled."""
        try:
            while True:
                self.count(time.monotonic())
                await asyncio.sleep(1)
        finally:  # a standby says nothing of what it did as the leader
            metrics.PARTIAL_BINDS.set(0)
            metrics.INFEASIBLE_POD_GROUPS.set(0)

    def count(self, now: float) -> None:
        """Count the groups in each state, and the time that they were below their minimum.

        Args:
            now: seconds of a monotonic clock.
        """
        for place, count in self._engine.queue_counts().items():
            metrics.POD_GROUPS.labels(place.value).set(count)
        if not self._leads():
            return
        since = now - self._counted if self._counted is not None else 0.0
        self._counted = now
        metrics.BELOW_MINIMUM_SECONDS.inc(self._engine.below_minimum() * since)
        metrics.PARTIAL_BINDS.set(self._engine.in_part())
        metrics.INFEASIBLE_POD_GROUPS.set(self._infeasible())


def count_end(effect: Emit) -> None:
    """Count how a partially bound gang ended, if that is what an event says."""
    if effect.reason in _ENDS:
        metrics.PARTIAL_BINDS_ENDED.labels(_ENDS[effect.reason]).inc()


class DecisionLog:
    """Counts decisions, and tells of each."""

    def __init__(self) -> None:
        self._cycle = 0

    def decided(self, effect: Decided, seconds: float) -> None:
        """Log one decision.

        Args:
            effect: what was decided.
            seconds: how long it took.
        """
        self._cycle += 1
        metrics.SCHEDULE_ATTEMPTS.labels(effect.result, effect.profile).inc()
        metrics.PLAN_DURATION.labels(effect.result).observe(seconds)
        searched = {"search": effect.search, "steps": effect.steps} if effect.steps else {}
        if searched:
            metrics.SEARCH_STEPS.labels(effect.search).inc(effect.steps)
        logger.log(
            logging.ERROR if effect.result == "error" else logging.INFO,
            _SAID[effect.result],
            extra={
                "podGroup": str(effect.group),
                "profile": effect.profile,
                "cycle": self._cycle,
                "attempts": effect.attempts,
                "result": effect.result,
                "duration": round(seconds, 6),
                "placed": effect.placed,
                "plan": effect.plan,
                "reason": effect.message,
                **searched,
            },
        )
