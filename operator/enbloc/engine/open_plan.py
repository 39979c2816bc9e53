# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""OpenPlan: a plan from the moment its room is reserved until every member is settled.

Each member::

    RESERVED ──permitted──► PREPARING ──PreBound──► READY ──a slot──► SENT ──201──► BOUND
                                                                       │             │ watch
    any ──gone, refused, last look failed──► LOST                      └──watch──► CONFIRMED

The members of the deficit are sent first; surplus waits until the watch shows all of these bound
(gangs.md §3.3). The plan is closed when every member is CONFIRMED or LOST.
"""

import enum

from enbloc.engine.events import Cause
from enbloc.engine.plan import Assignment, Plan
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.pods import PodUID


class Stage(enum.Enum):
    """How far one member has come."""

    RESERVED = "reserved"
    PREPARING = "preparing"
    READY = "ready"
    SENT = "sent"
    BOUND = "bound"
    CONFIRMED = "confirmed"
    LOST = "lost"


_UNSENT = (Stage.RESERVED, Stage.PREPARING, Stage.READY)


class OpenPlan:
    """One reserved plan.

    Attributes:
        facts: the group as it was when the plan was made: the captured floor.
        seen: the state's foreign_version that the last look (or the plan itself) was made on.
        permitted: Permit has released the group.
        waiting_on: the Permit plugins that asked to wait.
        deadline: when a wait at Permit ends, engine clock; None = no wait.
        ask_again: an event that a waiting plugin named has happened.
        refusals: what the API server said no to, in order.
        failure: why PreBind gave the reservation back; "" = it did not.
    """

    def __init__(self, plan: Plan, profile: Profile, facts: GroupFacts, seen: int) -> None:
        self.plan = plan
        self.profile = profile
        self.facts = facts
        self.seen = seen
        self.permitted = False
        self.waiting_on: frozenset[str] = frozenset()
        self.waiting_since = 0.0
        self.deadline: float | None = None
        self.ask_again = False
        self.refusals: list[tuple[Cause, str]] = []
        self.stages: dict[PodUID, Stage] = {a.pod.uid: Stage.RESERVED for a in plan.assignments}
        self._assignments = {a.pod.uid: a for a in plan.assignments}

    @property
    def id(self) -> str:
        """The plan's identity."""
        return self.plan.id

    def assignment(self, uid: PodUID) -> Assignment | None:
        """The assignment of a member of this plan."""
        return self._assignments.get(uid)

    def unsent(self) -> list[Assignment]:
        """Members whose Bind was not handed out, needed ones first."""
        return [a for uid, a in self._assignments.items() if self.stages[uid] in _UNSENT]

    @property
    def started(self) -> bool:
        """A Bind of this plan was handed out."""
        return any(
            stage in (Stage.SENT, Stage.BOUND, Stage.CONFIRMED) for stage in self.stages.values()
        ) or bool(self.refusals)

    @property
    def closed(self) -> bool:
        """Every member is settled."""
        return all(stage in (Stage.CONFIRMED, Stage.LOST) for stage in self.stages.values())

    @property
    def doomed(self) -> bool:
        """Something was refused, everything sent is settled, and nothing is bound.

        Then the group is as it was, and what was not sent must not be.
        """
        settled = (*_UNSENT, Stage.LOST)
        return bool(self.refusals) and all(stage in settled for stage in self.stages.values())

    def sendable(self) -> list[Assignment]:
        """Members whose Bind may be handed out now, in order.

        After a refusal nothing more is sent until the outcome of everything sent is known.
        """
        if not self.permitted:
            return []
        stages = self.stages.values()
        if any(stage in (Stage.RESERVED, Stage.PREPARING) for stage in stages):
            return []
        if self.refusals and (self.doomed or any(stage is Stage.SENT for stage in stages)):
            return []
        ready = [a for uid, a in self._assignments.items() if self.stages[uid] is Stage.READY]
        needed = [a for a in ready if a.needed]
        if needed or self._floor_confirmed():
            return needed or ready
        return []

    def _floor_confirmed(self) -> bool:
        return all(
            self.stages[uid] is Stage.CONFIRMED for uid, a in self._assignments.items() if a.needed
        )

    def surplus_is_void(self) -> bool:
        """A needed member was lost for good, so that surplus can never be sent by this plan."""
        needed = [uid for uid, a in self._assignments.items() if a.needed]
        settled = all(self.stages[uid] in (Stage.CONFIRMED, Stage.LOST) for uid in needed)
        return settled and any(self.stages[uid] is Stage.LOST for uid in needed)
