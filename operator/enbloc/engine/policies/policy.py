# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Policy: what the stages of a turn ask of everyone who reserves capacity or evicts."""

from collections.abc import Mapping

from enbloc.engine.policies.pauses import Pause
from enbloc.engine.report import Explanation
from enbloc.engine.state import Members
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodUID


class Policy:
    """A policy that does nothing; each overrides what concerns it.

    It enters and ends claims, and chooses victims; what that changes for others it leaves to the
    turn.
    """

    def expire(self, turn: Turn) -> None:
        """Take in what time has ended, and what was answered since the last turn."""

    def burst(self, turn: Turn, members: Members) -> None:
        """A group changed while the Bindings of its minimum are under way."""

    def review(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """A group changed; the Bindings of its minimum are not under way."""

    def failed(self, group: GroupKey, why: Explanation) -> None:
        """What this group lacks could not be placed, or its members do not exist; and why."""

    def planned(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """A plan of what this group lacks is open."""

    def pause(self, facts: GroupFacts, now: float) -> Pause | None:
        """Until when nothing of a group may be bound; None = it may be."""
        del facts, now
        return None

    def choose(self, turn: Turn) -> None:
        """Choose victims, where somebody has to give way."""

    def remark(self, members: Members, facts: GroupFacts) -> str:
        """What people should know of a group beyond why it waits; "" = nothing."""
        del members, facts
        return ""

    def nominated(self, group: GroupKey) -> Mapping[PodUID, str]:
        """On which nodes pending pods of a group have capacity claimed that others are leaving."""
        del group
        return {}

    def deadline(self) -> float | None:
        """When a turn should be taken for this policy, engine clock; None = never by time."""
        return None

    def forget(self, turn: Turn, members: Members) -> None:
        """A group is gone."""
