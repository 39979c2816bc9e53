# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What operators are told: one log line and the metrics of each decision, the queue's lengths."""

import asyncio
import logging
from typing import Final

from enbloc.engine import Engine
from enbloc.engine.effects import Decided
from enbloc.telemetry import metrics

logger = logging.getLogger(__name__)

_SAID: Final = {
    "scheduled": "Placed pod group",
    "unschedulable": "Pod group does not fit",
    "waiting": "Pod group waits with its room reserved",
    "error": "Failed to decide on pod group",
}


async def count_groups(engine: Engine) -> None:
    """Keep the metric of groups by their place in the queue, until cancelled."""
    while True:
        for place, count in engine.queue_counts().items():
            metrics.POD_GROUPS.labels(place.value).set(count)
        await asyncio.sleep(1)


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
            },
        )
