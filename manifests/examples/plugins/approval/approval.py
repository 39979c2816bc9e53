# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Approval: let a gang start when somebody has approved it."""

from dataclasses import dataclass
from typing import ClassVar

from enbloc import (
    SUCCESS,
    Action,
    ClusterEvent,
    GroupFacts,
    Happening,
    Hint,
    Proposal,
    Resource,
    Status,
    refuse,
    wait,
)


@dataclass(frozen=True)
class Approval:
    """Wait for the annotation example.com/approved on the PodGroup: "true" or "false".

    Attributes:
        timeout_seconds: how long the capacity is held; afterwards the gang queues for it again.
    """

    name: ClassVar[str] = "Approval"
    annotations: ClassVar[tuple[str, ...]] = ("example.com/approved",)
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.POD_GROUP, Action.UPDATE_ANNOTATION),
    )
    timeout_seconds: float = 600

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        """A pod without a group needs nobody's approval."""
        if facts.group is None or facts.solo:
            return SUCCESS
        match dict(facts.group.annotations).get("example.com/approved"):
            case "true":
                return SUCCESS
            case "false":
                return refuse("somebody said no (annotation example.com/approved)")
            case _:
                return wait(self.timeout_seconds)

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """The approval of another gang helps nobody."""
        return Hint.QUEUE if event.group == facts.key.podgroup else Hint.SKIP
