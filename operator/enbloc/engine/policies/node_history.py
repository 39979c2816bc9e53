# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Node history: tells plugins that learn what nodes and kubelets did."""

from enbloc.engine.observations import Observations
from enbloc.engine.policies.policy import Policy
from enbloc.engine.state import Groups, Run
from enbloc.engine.turn import Turn


class NodeHistory(Policy):
    """Tells plugins, and wakes groups that they no longer refuse.

    Args:
        observations: what plugins learned.
        groups: tells which runs of a PodGroup are left.
    """

    def __init__(self, observations: Observations, groups: Groups) -> None:
        self._observations, self._groups = observations, groups

    def expire(self, turn: Turn) -> None:
        """Pass on what was observed, and what time has ended."""
        observed, turn.observed = turn.observed, []
        events, expired = self._observations.take_in(observed, turn.now)
        turn.effects += events
        turn.happened += expired

    def deadline(self) -> float:
        """Return when a plugin has something to end."""
        return self._observations.deadline()

    def forget(self, turn: Turn, run: Run) -> None:
        """Forget a PodGroup with its last run; nothing is known of a pod without a group."""
        if not (run.solo or self._groups.runs(run.key)):
            turn.effects += self._observations.forget_group(run.key.podgroup)
