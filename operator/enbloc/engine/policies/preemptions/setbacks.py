# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Setbacks: preemptions for one preemptor that did not let it be placed.

They belong to its PodGroup, not to the members, which may be created again after each. Nor do they
belong to the name: a PodGroup may be created again while pods of the former one terminate.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from enbloc.engine.deadlines import Deadlines
from enbloc.engine.policies.preemptions.leavers import terminates
from enbloc.engine.state import ClusterState, Groups
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
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
        podgroup: the UID of its PodGroup; None = it has none.
        spared: victims that did not leave; they are not chosen for it.
        count: how many preemptions were in vain.
        until: when it may preempt again, engine clock.
        again: when spared pods that do not terminate may be chosen again, engine clock.
        why: what kept it from being placed; "" = nothing did yet.
    """

    podgroup: str | None = None
    spared: set[PodUID] = field(default_factory=set[PodUID])
    count: int = 0
    until: float = -math.inf
    again: float = math.inf
    why: str = ""

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

    def deadline(self) -> float:
        """Return when to call `expire`, engine clock; infinity = not by time."""
        return min(time for time in (self.until, self.again, math.inf) if time > -math.inf)


_NONE: Final = Setbacks()


class AllSetbacks:
    """By preemptor, its setbacks until its minimum is bound, or its PodGroup is another.

    Args:
        groups: the preemptors.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._of: dict[GroupKey, Setbacks] = {}
        self._due: Deadlines[GroupKey] = Deadlines()

    def add(self, group: GroupKey, now: float, stuck: Sequence[Pod] = ()) -> None:
        """Record that a preemption was in vain, with the victims that did not leave."""
        setbacks = self._of.get(group)
        if setbacks is None:
            setbacks = self._of[group] = Setbacks(self._podgroup(group))
        setbacks.add(now, stuck)
        self._due.put(group, setbacks.deadline())

    def review(self, facts: GroupFacts) -> None:
        """Forget those of a group that is whole, or whose PodGroup was deleted or created again."""
        setbacks = self._of.get(facts.key)
        if setbacks is None:
            return
        if not facts.deficit or setbacks.podgroup != self._podgroup(facts.key):
            self.end(facts.key)

    def end(self, group: GroupKey) -> None:
        """Forget those of a group."""
        self._of.pop(group, None)
        self._due.drop(group)

    def expire(self, now: float, state: ClusterState) -> Sequence[GroupKey]:
        """Return the groups whose pause has ended, or that may choose spared pods again."""
        due = self._due.due(now)
        found = [group for group in due if self._of[group].expire(now, state)]
        for group in due:
            self._due.put(group, self._of[group].deadline())
        return found

    def pause(self, group: GroupKey, now: float) -> str:
        """Return why a group may not preempt now; "" = it may."""
        return self._of.get(group, _NONE).pause(now)

    def why(self, group: GroupKey) -> str:
        """Return what kept a group from being placed; "" = nothing."""
        return self._of.get(group, _NONE).why

    def spared(self, group: GroupKey) -> Collection[PodUID]:
        """Return the victims that are not chosen for a group."""
        return self._of.get(group, _NONE).spared

    def deadline(self) -> float:
        """Return when to call `expire`, engine clock; infinity = not by time."""
        return self._due.first()

    def _podgroup(self, group: GroupKey) -> str | None:
        run = self._groups.get(group)
        return run.group.uid if run is not None and run.group is not None else None
