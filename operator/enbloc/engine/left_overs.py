# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""LeftOvers: volumes and devices that members got in attempts that led to nothing.

A gang that is not placed should hold nothing that others could use, and any of it may be what keeps
it from being placed. So it is taken back when a group is refused or may not be tried.

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
PostFilter, which takes one claim of one pod.
"""

import math
from typing import Final

from enbloc.engine.effects import Unreserve
from enbloc.engine.state import ClusterState
from enbloc.engine.turn import Turn
from enbloc.framework.act import Target
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.ledgers import ledgers_of
from enbloc.model.groups import GroupKey

#: Seconds after which a group that may not be tried is checked again: Unreserve may fail.
PAUSE: Final = 30.0


class LeftOvers:
    """Takes back what members hold that are not placed.

    Args:
        state: the cluster as it is.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        #: When a group that may not be tried is checked again, and whether even without any event.
        self._again: dict[GroupKey, tuple[float, bool]] = {}

    def take_back(self, turn: Turn, facts: GroupFacts, profile: Profile, plan: str = "") -> bool:
        """Take back all that is left of a group's pending members; return whether anything was.

        Args:
            turn: receives what to do.
            facts: of the group.
            profile: its plugins.
            plan: the refused attempt; "" = none.
        """
        if not profile.pre_bind:
            return False
        ledgers, found = ledgers_of(self._state.nodes), False
        pending = frozenset(pod.uid for pod in facts.pending)
        for pod in facts.pending:
            left = ledgers.left_over(pod, pending)
            if left is not None:
                target = Target(plan, pod.key, pod.uid, left.node, (), left.decided)
                turn.effects.append(Unreserve(profile.name, target))
                found = True
        return found

    def parked(self, turn: Turn, facts: GroupFacts, profile: Profile) -> None:
        """Take it back from a group that may not be tried, at most once in PAUSE seconds."""
        due, _ = self._again.get(facts.key, (turn.now, False))
        if facts.pending and due <= turn.now:
            found = self.take_back(turn, facts, profile)
            self._again[facts.key] = turn.now + PAUSE, found

    def tried(self, key: GroupKey) -> None:
        """Forget a group that may be tried again, or is gone."""
        self._again.pop(key, None)

    def expire(self, turn: Turn) -> None:
        """Mark the groups with left-overs for review."""
        for key, (due, left) in self._again.items():
            if left and due <= turn.now:
                self._again[key] = due, False
                turn.change(key)

    def deadline(self) -> float:
        """Return when the next one is due; infinity = none is."""
        return min((due for due, left in self._again.values() if left), default=math.inf)
