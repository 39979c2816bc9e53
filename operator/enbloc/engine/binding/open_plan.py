# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""OpenPlan: a plan from the moment its capacity is reserved until every member is settled.

Each member::

    RESERVED ──permitted──► PREPARING ──PreBound──► READY ──a slot──► SENT ──201──► BOUND
        └──permitted, no work for PreBind─────────────▲                │             │ watch
                                                                       └──watch──► CONFIRMED
    any ──gone, refused, last look failed──► LOST
    PREPARING ──PreBind failed, of surplus──► LOST

The members of the deficit are sent first; surplus waits until the watch shows them all bound
(semantics §3.3). The plan is closed when every member is CONFIRMED or LOST.
"""

import enum
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from enbloc.engine.choices import meets
from enbloc.engine.effects import Attempt
from enbloc.engine.member_ranks import ranks_of
from enbloc.engine.plan import Assignment, Plan
from enbloc.engine.topology import PlannedMember, misplaced
from enbloc.engine.turn import Refusal
from enbloc.framework.act import Target
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.binding_record import binding_record
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodUID


class MemberStage(enum.StrEnum):
    """The stage of one member."""

    RESERVED = "reserved"
    PREPARING = "preparing"
    READY = "ready"
    SENT = "sent"
    BOUND = "bound"
    CONFIRMED = "confirmed"
    LOST = "lost"


#: The stages before the Binding is handed out.
UNSENT: Final = (MemberStage.RESERVED, MemberStage.PREPARING, MemberStage.READY)


class Wait(NamedTuple):
    """A Permit plugin's request to wait.

    Attributes:
        deadline: when the wait ends, engine clock.
        message: what it waits for, in the plugin's words; "" = it did not say.
    """

    deadline: float
    message: str


class Basis(NamedTuple):
    """The versions of the state that a plan relies on.

    Attributes:
        foreign: the state's `foreign_version`.
        facts: its `facts_version`; 0 = no member has volumes or devices.
    """

    foreign: int
    facts: int


#: In place of `facts`: what was written for members must be checked, whatever has changed.
NOT_SEEN: Final = -1


class OpenPlan:
    """One reserved plan.

    Members are counted by stage as they move, so that no query walks over a large gang.

    Attributes:
        facts: the group when the plan was made: the captured floor.
        seen: the versions of the state that the plan, or the last check of it, relied on.
        pre_bind_seconds: the longest time that a plugin which prepares any of them asks for.
        targets: members on their way, as far as they were requested.
        pre_bound: members whose PreBind was at least begun, and not undone.
        permitted: Permit has released the group.
        attempt: the attempt that made the plan.
        number: how many plans were opened before it.
        waits: the Permit plugins that asked to wait.
        started: a Bind of this plan was handed out; one bound by another scheduler does not count.
        ask_again: an event that a waiting plugin named has happened.
        refusals: what the API server rejected, in order.
        unprepared: surplus members whose PreBind failed.
        holds: some member has volumes or devices.
        record: the binding record of each member; "" = it would be too long.
    """

    def __init__(
        self,
        plan: Plan,
        profile: Profile,
        facts: GroupFacts,
        seen: Basis,
        attempt: Attempt,
        number: int,
    ) -> None:
        self.plan = plan
        self.profile = profile
        self.facts = facts
        self.seen = seen
        self.permitted = False
        self.attempt = attempt
        self.number = number
        self.waits: dict[str, Wait] = {}
        self.started = False
        self.ask_again = False
        self.refusals: list[Refusal] = []
        self.unprepared: list[Refusal] = []
        self._assignments = {a.pod.uid: a for a in plan.assignments}
        #: The stage of each member; the number of members, and of needed members, in each stage.
        self._stages = dict.fromkeys(self._assignments, MemberStage.RESERVED)
        self._all = defaultdict[MemberStage, int](int, {MemberStage.RESERVED: len(self._stages)})
        needed = sum(a.needed for a in plan.assignments)
        self._needed = defaultdict[MemberStage, int](int, {MemberStage.RESERVED: needed})
        self._needed_total = needed
        #: Needed members first; none before `_next` is UNSENT.
        self._order = plan.assignments
        self.pre_bound: set[PodUID] = set()
        self.pre_bind_seconds = 0.0
        self.targets: dict[PodUID, Target] = {}
        self.holds = any(a.pod.spec.holds for a in plan.assignments)
        #: The rank of each member within the group; empty for a pod without a group.
        self._ranks = {} if facts.solo else _ranks(plan, facts)
        self._next = 0
        self.record = binding_record(
            plan.id,
            facts.run_name,
            facts.total.minimum,
            facts.queue_time,
            started=facts.started,
        )

    @property
    def id(self) -> str:
        """The plan's id."""
        return self.plan.id

    @property
    def reserved_at(self) -> float:
        """When its capacity was reserved, engine clock."""
        return self.attempt.decided

    @property
    def size(self) -> int:
        """The number of members that it binds."""
        return len(self._stages)

    def waiting(self) -> str:
        """Return which plugins the group waits for at Permit, and what for."""
        return ", ".join(
            f"{name} asked to wait" + (f" ({wait.message})" if wait.message else "")
            for name, wait in sorted(self.waits.items())
        )

    def assignment(self, uid: PodUID) -> Assignment | None:
        """Return the assignment of a member of this plan."""
        return self._assignments.get(uid)

    def rank(self, uid: PodUID) -> int | None:
        """Return a member's rank within its group; None for a pod without a group."""
        return self._ranks.get(uid)

    def stage(self, uid: PodUID) -> MemberStage | None:
        """Return the stage of a member; None if it does not belong to this plan."""
        return self._stages.get(uid)

    def move(self, uid: PodUID, stage: MemberStage) -> None:
        """Move a member to a stage."""
        before = self._stages[uid]
        self._stages[uid] = stage
        self._all[before] -= 1
        self._all[stage] += 1
        if self._assignments[uid].needed:
            self._needed[before] -= 1
            self._needed[stage] += 1

    def in_preparation(self) -> list[Assignment]:
        """Return the members that PreBind plugins are preparing."""
        return [a for a in self._order if self._stages[a.pod.uid] is MemberStage.PREPARING]

    def still_meets(self, facts: GroupFacts, pods: Mapping[PodUID, Pod]) -> bool:
        """Whether what it binds, with what is held, meets every current minimum.

        With a tree: whether it is a complete choice, and each role that it binds is whole. A role
        that came since the group started must be whole too.
        """
        roles = Counter(pods[uid].role for uid in self._stages if uid in pods)
        if any(0 < roles[floor.role] < floor.deficit for floor in facts.coming):
            return False
        if facts.choice is not None:
            short = {f.role for f in (*facts.roles, *facts.others) if f.deficit > roles[f.role]}
            whole = meets(facts, roles, bound=True) and short.isdisjoint(roles)
            return whole and not facts.problem
        return not facts.problem and all(
            floor.held + (roles[floor.role] if floor.role else roles.total()) >= floor.minimum
            for floor in facts.floors
        )

    @property
    def lost(self) -> int:
        """How many members it does not bind after all."""
        return self._all[MemberStage.LOST]

    def outstanding(self) -> Sequence[Pod]:
        """Return the needed members that it may still bind."""
        settled = (MemberStage.CONFIRMED, MemberStage.LOST)
        return [a.pod for a in self._order if a.needed and self._stages[a.pod.uid] not in settled]

    def unsent(self) -> list[Assignment]:
        """Return the members whose Bind was not handed out, needed ones first."""
        return [a for a in self._order[self._next :] if self._stages[a.pod.uid] in UNSENT]

    def misplaced(self, nodes: Nodes) -> bool:
        """Whether its members are in topology domains where they may no longer be."""
        if self.facts.locality is None:
            return False
        planned = [
            PlannedMember(a.pod, nodes.row(a.node), self.rank(a.pod.uid))
            for a in self._order
            if self._stages[a.pod.uid] is not MemberStage.LOST
        ]
        return misplaced(self.facts.locality, planned, nodes)

    def sent_part(self) -> Plan:
        """Return the plan without the members whose Bind was not handed out."""
        unsent = {a.pod.uid for a in self.unsent()}
        sent = tuple(a for a in self.plan.assignments if a.pod.uid not in unsent)
        return replace(self.plan, assignments=sent)

    @property
    def _sent(self) -> int:
        return (
            self._all[MemberStage.SENT]
            + self._all[MemberStage.BOUND]
            + self._all[MemberStage.CONFIRMED]
        )

    @property
    def preparing(self) -> bool:
        """Whether PreBind plugins are at work."""
        return self._all[MemberStage.PREPARING] > 0

    @property
    def closed(self) -> bool:
        """Whether every member is settled."""
        return self._all[MemberStage.CONFIRMED] + self._all[MemberStage.LOST] == len(self._stages)

    @property
    def doomed(self) -> bool:
        """Whether a Bind was refused, everything sent is settled, and nothing is bound.

        Then the group is as it was, and the rest must not be sent. It does not apply where the
        group has its floor: then each addition stands alone.
        """
        return bool(self.refusals) and self._needed_total > 0 and self._sent == 0

    @property
    def floor_confirmed(self) -> bool:
        """Whether the watch shows every needed member bound."""
        return self._needed[MemberStage.CONFIRMED] == self._needed_total

    @property
    def surplus_is_void(self) -> bool:
        """Whether a needed member is lost for good, so that this plan can never send surplus."""
        lost = self._needed[MemberStage.LOST]
        return lost > 0 and lost + self._needed[MemberStage.CONFIRMED] == self._needed_total

    def sendable(self, limit: int) -> list[Assignment]:
        """Return the members whose Bind may be handed out now, in order, at most `limit`.

        After a refusal nothing more is sent until the outcome of everything sent is known.
        """
        counts = self._all
        if not self.permitted or not counts[MemberStage.READY]:
            return []
        if self._needed[MemberStage.RESERVED] or self._needed[MemberStage.PREPARING]:
            return []
        if self.refusals and (self.doomed or counts[MemberStage.SENT]):
            return []
        found: list[Assignment] = []
        for assignment in self._order[self._next :]:
            if len(found) >= limit or not (assignment.needed or self.floor_confirmed):
                break
            if self._stages[assignment.pod.uid] is MemberStage.READY:
                found.append(assignment)
        return found

    def send(self, assignment: Assignment) -> None:
        """Record that the Bind of a member, the next in order, is handed out."""
        self.started = True
        self.move(assignment.pod.uid, MemberStage.SENT)
        while self._next < len(self._order):
            if self._stages[self._order[self._next].pod.uid] in UNSENT:
                break
            self._next += 1


def _ranks(plan: Plan, facts: GroupFacts) -> dict[PodUID, int]:
    needed = {each.pod.uid for each in plan.assignments if each.needed}
    return ranks_of(facts, [each.pod for each in plan.assignments], needed)
