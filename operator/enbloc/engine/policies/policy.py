# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Policy: what the stages of a turn call on everything that reserves capacity or evicts."""

import math
from collections.abc import Mapping

from enbloc.engine.policies.pauses import Pause
from enbloc.engine.report import ReasonAndMessage
from enbloc.engine.state import Run
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodUID


class Policy:
    """A policy that does nothing; each policy overrides what concerns it.

    It enters and ends reservations, and chooses victims. What that changes for others it leaves to
    the turn.
    """

    def expire(self, turn: Turn) -> None:
        """Process what time has ended, and answers since the last turn."""

    def burst(self, turn: Turn, run: Run) -> None:
        """Review a changed group while the Bindings of its minimum are under way."""

    def review(self, turn: Turn, run: Run, facts: GroupFacts) -> None:
        """Review a changed group while the Bindings of its minimum are not under way."""

    def failed(self, group: GroupKey, why: ReasonAndMessage) -> None:
        """Learn why the deficit of a group was not placed, or that its members do not exist."""

    def planned(self, turn: Turn, run: Run, facts: GroupFacts) -> None:
        """Learn that a plan of a group's deficit is open."""

    def pause(self, facts: GroupFacts, now: float) -> Pause | None:
        """Return until when nothing of a group may be bound; None = no pause."""
        del facts, now
        return None

    def choose(self, turn: Turn) -> None:
        """Choose victims if pods are to be evicted."""

    def remark(self, run: Run, facts: GroupFacts) -> str:
        """Return what people should know about a group beyond why it waits; "" = nothing."""
        del run, facts
        return ""

    def nominated(self, group: GroupKey) -> Mapping[PodUID, str]:
        """Return the nodes where capacity of victims is reserved for pending pods of a group."""
        del group
        return {}

    def deadline(self) -> float:
        """Return when a turn is needed for this policy, engine clock; infinity = never by time."""
        return math.inf

    def forget(self, turn: Turn, run: Run) -> None:
        """Forget a group that is gone."""
