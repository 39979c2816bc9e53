# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Setbacks: preemptions for one preemptor that did not let it be placed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from enbloc.engine.policies.preemptions.leavers import terminates
from enbloc.engine.state import ClusterState
from enbloc.model.pods import Pod, PodUID
from enbloc.model.times import time_text

#: After the second preemption in vain the preemptor pauses (seconds), doubling
FIRST_PAUSE: Final = 60.0
#: up to this.
LONGEST_PAUSE: Final = 3600.0

_IN_VAIN: Final = "earlier ones did not let it be placed"


@dataclass(slots=True)
class Setbacks:
    """Preemptions for one preemptor that were in vain since it was last whole.

    Attributes:
        spared: victims that did not leave; they are not chosen for it.
        count: how many preemptions were in vain.
        until: when it may preempt again, engine clock.
        again: when spared pods that do not terminate may be chosen again, engine clock.
        why: what kept it from being placed.
    """

    spared: set[PodUID] = field(default_factory=set[PodUID])
    count: int = 0
    until: float = -math.inf
    again: float = math.inf
    why: str = _IN_VAIN

    def add(self, now: float, stuck: Sequence[Pod] = ()) -> None:
        """Record one more in vain; from the second on the next has to wait, longer each time.

        Args:
            now: engine clock.
            stuck: victims that did not leave.
        """
        self.count += 1
        self.why = _IN_VAIN
        if self.count > 1:
            pause = min(FIRST_PAUSE * 2 ** min(self.count - 2, 16), LONGEST_PAUSE)
            self.until = now + pause
        if stuck:
            self.spared.update(pod.uid for pod in stuck)
            self.again = now + FIRST_PAUSE * self.count
            more = f", nor did {len(stuck) - 1} more" if len(stuck) > 1 else ""
            self.why = f"pod {stuck[0].key} on node {stuck[0].node} did not leave{more}"

    def pause(self, now: float) -> str:
        """Return why it may not preempt now; "" = it may."""
        if self.until <= now:
            return ""
        return f"preemption: paused until {time_text(self.until)}: {self.why}"

    def expire(self, now: float, state: ClusterState) -> bool:
        """Whether a pause has ended, or spared pods may be chosen again."""
        forgiven, over = self.again <= now, -math.inf < self.until <= now
        if forgiven:
            self.again = math.inf
            self.spared = {uid for uid in self.spared if terminates(uid, state)}
        if over:
            self.until = -math.inf
        return forgiven or over

    def deadlines(self) -> list[float]:
        """Return when to call `expire`, engine clock."""
        return [time for time in (self.until, self.again) if -math.inf < time < math.inf]
