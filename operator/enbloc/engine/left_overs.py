# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""LeftOvers: volumes and devices that members got in attempts that led to nothing.

A gang that is not placed should hold nothing that others could use, and any of it may be what keeps
it from being placed. So it is taken back when a group is refused or may not be tried.

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
PostFilter, which takes one claim of one pod.
"""

from typing import Final

from enbloc.engine.deadlines import Deadlines
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
        #: From when a group that may not be tried may be checked again.
        self._again: dict[GroupKey, float] = {}
        #: When those are checked even without any event of their own.
        self._due: Deadlines[GroupKey] = Deadlines()

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
        """Take it back from a group that may not be tried, at most once in PAUSE seconds.

        It is checked once more after these, as requests of an earlier attempt may have been under
        way; then for as long as something is left.
        """
        if not any(map(ledgers_of(self._state.nodes).concerns, facts.pending)):
            return
        due = self._again.get(facts.key)
        if due is None or due <= turn.now:
            found = self.take_back(turn, facts, profile)
            last = due is not None and not found
            due = self._again[facts.key] = turn.now + PAUSE
            if last:
                return
        self._due.put(facts.key, due)

    def tried(self, key: GroupKey) -> None:
        """Forget a group that may be tried again, or is gone."""
        self._again.pop(key, None)
        self._due.drop(key)

    def expire(self, turn: Turn) -> None:
        """Mark the groups that are to be checked for review."""
        for key in self._due.due(turn.now):
            turn.change(key)

    def deadline(self) -> float:
        """Return when the next one is due; infinity = none is."""
        return self._due.first()
