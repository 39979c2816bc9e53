# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""GangScheduling: the messages of a group that is not complete yet."""

from dataclasses import dataclass
from typing import ClassVar

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.framework.status import SUCCESS, Status, refuse_for_good
from enbloc.model.groups import Group


@dataclass(frozen=True)
class GangScheduling:
    """Says what a group waits for at PreEnqueue.

    The engine itself enforces quorum, minResources and all-or-nothing, even without this plugin.
    The plugin provides the messages, and the events after which minResources and topology are
    checked again.
    """

    name: ClassVar[str] = "GangScheduling"
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.POD, Action.DELETE),
        # Only capacity of ready nodes that are not cordoned can be reserved.
        ClusterEvent(
            Resource.NODE,
            Action.ADD
            | Action.UPDATE_ALLOCATABLE
            | Action.UPDATE_LABEL  # it may be in another domain
            | Action.UPDATE_TAINT
            | Action.UPDATE_CONDITION,
        ),
        ClusterEvent(
            Resource.POD_GROUP,
            Action.ADD
            | Action.UPDATE_MINIMUM
            | Action.UPDATE_LABEL  # others may keep away from it no longer
            | Action.DELETE,
        ),
        # What devices serve is no part of minResources.
        ClusterEvent(Resource.DEVICE_CLASS, Action.ADD | Action.UPDATE),
    )

    def pre_enqueue(self, group: Group | None, facts: GroupFacts) -> Status:
        """Refuse a group that does not exist or lacks members, naming what is missing."""
        del group
        return SUCCESS if facts.quorum else refuse_for_good(facts.missing())
