# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""SchedulingGates: a pod with scheduling gates waits until they are removed."""

from dataclasses import dataclass
from typing import ClassVar

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hinting import is_own
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.status import SUCCESS, Status, refuse_for_good
from enbloc.model.groups import Group


@dataclass(frozen=True)
class SchedulingGates:
    """Keep a pod with scheduling gates out of the queue.

    A gated member of a gang does not keep the gang out; it just does not count.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go
    PreEnqueue.
    """

    name: ClassVar[str] = "SchedulingGates"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.POD, Action.UPDATE_GATES),)

    def pre_enqueue(self, group: Group | None, facts: GroupFacts) -> Status:
        """Refuse a pod without a group while it has gates, naming them."""
        del group
        if not (facts.solo and facts.gates):
            return SUCCESS
        return refuse_for_good(f"waiting for scheduling gates: [{' '.join(facts.gates)}]")

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if the gates were removed from one of the group's own pods."""
        return Hint.QUEUE if is_own(event, facts) else Hint.SKIP
