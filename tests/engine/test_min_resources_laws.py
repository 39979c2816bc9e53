# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of reservations, against a naive model, whatever happens to a cluster (semantics §5.1)."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from enbloc.engine.plan import Assignment
from enbloc.model.groups import GroupKey
from enbloc.model.node import Node
from enbloc.model.pods import PodSpec
from tests.effort import examples
from tests.engine.reserving import MinResourcesLedger, Reservation
from tests.world.builders import node, pod, spec
from tests.world.tables import nodes

CPU, GPU = "cpu", "nvidia.com/gpu"
RESOURCES = (CPU, GPU)
TIMEOUT = 10.0
LONGEST = 27.0

Ask = tuple[int, int]
asks = st.tuples(st.integers(0, 4), st.integers(0, 2))


def amounts(ask: Ask) -> Counter[str]:
    return Counter({CPU: ask[0] * 1000, GPU: ask[1]})


def of(ask: Ask) -> PodSpec:
    return spec(cpu=ask[0], nvidia_com__gpu=ask[1])


@dataclass(eq=False)
class Member:
    ask: Ask
    node: str
    since: float
    succeeded: bool = False


@dataclass(eq=False)
class Group:
    """A group; the last five fields are what the model makes of its reservation.

    Attributes:
        used: for how long anything was reserved, until `last` was set.
        last: when its reservation was looked at last; None = nothing is known of it yet.
    """

    name: str
    place: int
    owner: str
    wanted: Ask
    admitted: bool = False
    members: list[Member] = field(default_factory=list)
    least: Counter[str] | None = None
    progress_at: float = 0.0
    over: bool = False
    used: float = 0.0
    last: float | None = None

    @property
    def key(self) -> GroupKey:
        return GroupKey("ns", self.name)

    def fills(self, other: "Group") -> bool:
        """Whether what this group gets is taken off what the other was promised."""
        shares = self.owner != "" and self.owner == other.owner and self.wanted == (0, 0)
        return self is other or shares


class Ledger(RuleBasedStateMachine):
    """A cluster in which groups are admitted, grow, shrink and end, and other things happen."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = MinResourcesLedger(LONGEST)
        self.table = nodes()
        self.offered: dict[str, tuple[int, int]] = {}
        self.cordoned: set[str] = set()
        self.groups: list[Group] = []
        self.foreign: list[Member] = []
        self.now = 0.0
        self.names = 0

    # ── the model ────────────────────────────────────────────────────────────────────────────

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def sitting(self) -> list[Member]:
        members = [member for group in self.groups for member in group.members]
        return [m for m in (*members, *self.foreign) if not m.succeeded and m.node]

    def free(self, resource: str) -> int:
        """What can be reserved: as free_capacity says it, node by node."""
        free = 0
        for name, offer in self.offered.items():
            here = sum(amounts(m.ask)[resource] for m in self.sitting() if m.node == name)
            free += 0 if name in self.cordoned else max(0, amounts(offer)[resource] - here)
        return free

    def held(self, promised: Group) -> Counter[str]:
        total: Counter[str] = Counter()
        for group in self.groups:
            for member in group.members:
                if group.fills(promised):
                    total.update(amounts(member.ask))
        return total

    def due(self, group: Group) -> Counter[str]:
        held = self.held(group)
        return Counter({r: max(0, n - held[r]) for r, n in amounts(group.wanted).items()})

    def holders(self) -> list[Group]:
        """Who has a reservation that is open, the earliest first."""
        found = [g for g in self.groups if g.least is not None and not g.over]
        return sorted(found, key=lambda group: group.place)

    def owed(self, actor: Group, place: int, resource: str) -> int:
        """What others ordered before are due."""
        others = [g for g in self.holders() if g.place < place and not actor.fills(g)]
        return sum(self.due(group)[resource] for group in others)

    def room(self, actor: Group, resource: str) -> int:
        free = self.free(resource)
        choices = [free - self.owed(actor, actor.place, resource)]
        for group in self.holders():
            if actor.fills(group) and group.place < actor.place:
                first = free - self.owed(actor, group.place, resource)
                choices.append(min(self.due(group)[resource], first))
        return max(choices)

    def expected(self, actor: Group, plan: Sequence[Assignment], asked: Sequence[Ask]) -> list[str]:
        """Which members of a plan may stay."""
        reserved = [r for r in RESOURCES if self.owed(actor, actor.place, r) > 0]
        room = {r: self.room(actor, r) for r in reserved}
        needed: Counter[str] = Counter()
        for each, ask in zip(plan, asked, strict=True):
            if each.needed:
                needed.update(amounts(ask))
        if any(needed[r] > 0 and needed[r] > room[r] for r in reserved):
            return []
        stay: list[str] = []
        for each, ask in zip(plan, asked, strict=True):
            wants = Counter() if each.needed else amounts(ask)
            if all(not wants[r] or wants[r] + needed[r] <= room[r] for r in reserved):
                stay.append(each.pod.key.name)
                needed.update(wants)
        return stay

    # ── what the engine does ─────────────────────────────────────────────────────────────────

    def claim(self, group: Group) -> Reservation:
        bound = [m.since for g in self.groups if g.fills(group) for m in g.members]
        return Reservation(
            group.key,
            group.owner,
            (group.place,),
            tuple(sorted(amounts(group.wanted).items())),
            self.held(group),
            max(bound, default=self.now),
            TIMEOUT,
            since=min((m.since for m in group.members), default=self.now),
        )

    def review(self, *, restarted: bool = False) -> None:
        """Every group is looked at again, by the ledger and by the model."""
        for group in self.groups:
            self.spend(group)
            if not group.admitted:
                self.ledger.drop(group.key)
                group.least = None
                continue
            self.ledger.review(self.claim(group), self.now)
            due = self.due(group)
            if not +due:
                group.least = None
            elif group.least is None:
                group.least, group.progress_at = due, self.claim(group).progress_at
                group.over = self.now >= group.progress_at + TIMEOUT
            elif any(due[r] < group.least[r] for r in RESOURCES):
                group.progress_at, group.over = self.now, False
            if group.least is not None:
                group.least = Counter({r: min(group.least[r], due[r]) for r in RESOURCES})
            if group.last is None and group.least is not None and not group.over:
                group.used = self.now - self.claim(group).since
            group.last = self.now
            group.over = group.over or group.used >= LONGEST
        if not restarted:
            told = self.ledger.expire(self.now)
            over = [g for g in self.holders() if self.now >= self.end(g)]
            assert told == [group.key for group in over]
            for group in over:
                group.over = True
        times = [self.end(g) for g in self.holders()]
        assert self.ledger.deadline() == min(times, default=math.inf)
        self.ledger.check(self.table)
        self.serve()

    def spend(self, group: Group) -> None:
        """What was reserved until now is used up of the time that a run has in all."""
        if group.last is not None and group.least is not None and not group.over:
            group.used += self.now - group.last
        group.last = self.now if group.last is not None else None

    def end(self, group: Group) -> float:
        """When the reservation of a holder expires unless there is progress."""
        return min(group.progress_at + TIMEOUT, self.now + LONGEST - group.used)

    def serve(self) -> None:
        """What stands is served in order; no less than can be, and no more."""
        standing = self.ledger.standing(self.table)
        assert list(standing) == [group.key for group in self.holders()]
        for resource in RESOURCES:
            left = max(0, self.free(resource))
            for group in self.holders():
                served = min(left, self.due(group)[resource])
                left -= served
                assert standing[group.key][resource] == served

    def seats(self, asked: Sequence[Ask]) -> list[str] | None:
        """A node for each, first fit; None if one finds none. Where it fits, not where it may."""
        left = {
            name: [amounts(offer)[r] for r in RESOURCES]
            for name, offer in self.offered.items()
            if name not in self.cordoned
        }
        for member in self.sitting():
            for index, resource in enumerate(RESOURCES):
                if member.node in left:
                    left[member.node][index] -= amounts(member.ask)[resource]
        found: list[str] = []
        for ask in asked:
            wants = [amounts(ask)[r] for r in RESOURCES]
            name = next(
                (
                    n
                    for n, room in left.items()
                    if all(not w or w <= r for w, r in zip(wants, room, strict=True))
                ),
                None,
            )
            if name is None:
                return None
            left[name] = [r - w for r, w in zip(left[name], wants, strict=True)]
            found.append(name)
        return found

    def act(self, group: Group, asked: Sequence[Ask], needed: int) -> None:
        """Decide about a group as a cycle does, and hold every law to what came of it."""
        claim = self.claim(group)
        admission = not group.admitted
        if admission:
            short = any(n > 0 and n > self.room(group, r) for r, n in self.due(group).items())
            assert bool(self.ledger.admits(claim, self.table)) == short
            if short:
                return
        seats = self.seats(asked)
        if seats is None:
            return
        plan = [
            Assignment(pod(of(ask), f"m{i}"), seat, needed=i < needed)
            for i, (ask, seat) in enumerate(zip(asked, seats, strict=True))
        ]
        stay, why = self.ledger.kept(claim, plan, self.table)
        kept = [each.pod.key.name for each in stay]
        assert kept == self.expected(group, plan, asked)
        assert bool(why) == (len(kept) < len(plan))
        if all(group.fills(h) or h.place > group.place for h in self.holders()):
            assert kept == [each.pod.key.name for each in plan]
        if not kept:
            return
        before = self.ledger.standing(self.table)
        earlier = [h.key for h in self.holders() if not group.fills(h) and h.place < group.place]
        for each, ask in zip(plan, asked, strict=True):
            if each.pod.key.name in kept:
                self.sit(Member(ask, each.node, self.now), group.members)
        group.admitted = True
        self.review()
        after = self.ledger.standing(self.table)
        for key in earlier:  # what was reserved for others before, nothing of ours takes
            assert before[key] <= after.get(key, Counter()), f"{group.name} took from {key}"
        if admission and group in self.holders():
            assert after[group.key] == +self.due(group), "it was admitted without its room"

    def sit(self, member: Member, among: list[Member]) -> None:
        self.stay(member)
        among.append(member)

    def stay(self, member: Member) -> None:
        row = self.table.row(member.node)
        assert row is not None
        self.table.place(row, of(member.ask))

    def leave(self, member: Member) -> None:
        row = self.table.row(member.node)
        if row is not None and not member.succeeded:
            self.table.place(row, of(member.ask), -1)

    # ── what happens ─────────────────────────────────────────────────────────────────────────

    @initialize(offers=st.lists(st.tuples(st.integers(2, 8), st.integers(0, 4)), min_size=2))
    def some_nodes(self, offers: list[Ask]) -> None:
        for offer in offers[:4]:
            self.a_node_is_added(offer)

    @rule(offer=st.tuples(st.integers(1, 8), st.integers(0, 4)))
    def a_node_is_added(self, offer: Ask) -> None:
        name = self.name("n")
        self.offered[name] = offer
        added = self.as_node(name)
        # As ClusterState does: a request for a resource that no node offered was not counted.
        sitting = self.sitting() if self.table.new_resources(added) else []
        for member in sitting:
            self.leave(member)
        self.table.put(added)
        for member in sitting:
            self.stay(member)
        self.review()

    def as_node(self, name: str) -> Node:
        cpu, gpu = self.offered[name]
        fact = node(name, cpu=cpu, nvidia_com__gpu=gpu)
        return replace(fact, unschedulable=name in self.cordoned)

    @precondition(lambda self: self.offered)
    @rule(data=st.data())
    def a_node_is_lost_with_its_pods(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.offered)))
        del self.offered[name]
        self.cordoned.discard(name)
        self.table.drop(name)
        for group in self.groups:
            group.members = [m for m in group.members if m.node != name or m.succeeded]
            group.admitted = group.admitted and bool(group.members)
        self.foreign = [m for m in self.foreign if m.node != name]
        self.review()

    @precondition(lambda self: self.offered)
    @rule(data=st.data())
    def a_node_is_cordoned_or_uncordoned(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.offered)))
        self.cordoned ^= {name}
        self.table.put(self.as_node(name))
        self.review()

    @precondition(lambda self: self.offered)
    @rule(data=st.data(), ask=asks)
    def a_foreign_pod_takes_room(self, data: st.DataObject, ask: Ask) -> None:
        name = data.draw(st.sampled_from(sorted(self.offered)))
        self.sit(Member(ask, name, self.now), self.foreign)
        self.review()

    @precondition(lambda self: self.foreign)
    @rule()
    def a_foreign_pod_leaves(self) -> None:
        self.leave(self.foreign.pop())
        self.review()

    @rule(
        place=st.integers(0, 999),
        owner=st.sampled_from(["a", "b", ""]),
        wanted=st.just((0, 0)) | st.tuples(st.integers(0, 12), st.integers(0, 4)),
        asked=st.lists(asks, min_size=1, max_size=3),
        surplus=st.integers(0, 2),
    )
    def a_group_is_tried(
        self, place: int, owner: str, wanted: Ask, asked: list[Ask], surplus: int
    ) -> None:
        name = self.name("g")
        group = Group(name, place * 1000 + self.names, owner, wanted)
        self.groups.append(group)
        self.act(group, asked, max(1, len(asked) - surplus))

    @precondition(lambda self: any(not group.admitted for group in self.groups))
    @rule(data=st.data(), asked=st.lists(asks, min_size=1, max_size=3))
    def a_group_is_tried_again(self, data: st.DataObject, asked: list[Ask]) -> None:
        waiting = [group for group in self.groups if not group.admitted]
        self.act(data.draw(st.sampled_from(waiting)), asked, len(asked))

    @precondition(lambda self: any(group.admitted for group in self.groups))
    @rule(data=st.data(), asked=st.lists(asks, min_size=1, max_size=3))
    def more_members_come(self, data: st.DataObject, asked: list[Ask]) -> None:
        running = [group for group in self.groups if group.admitted]
        self.act(data.draw(st.sampled_from(running)), asked, 0)

    @precondition(lambda self: any(group.members for group in self.groups))
    @rule(data=st.data(), succeeded=st.booleans())
    def a_member_ends(self, data: st.DataObject, succeeded: bool) -> None:
        group = data.draw(st.sampled_from([group for group in self.groups if group.members]))
        member = data.draw(st.sampled_from(group.members))
        self.leave(member)
        member.succeeded = member.succeeded or succeeded
        if not member.succeeded:
            group.members.remove(member)
            group.admitted = bool(group.members)
        self.review()

    @precondition(lambda self: self.groups)
    @rule(data=st.data())
    def a_group_ends(self, data: st.DataObject) -> None:
        group = data.draw(st.sampled_from(self.groups))
        self.groups.remove(group)
        for member in group.members:
            self.leave(member)
        self.ledger.drop(group.key)
        self.review()

    @precondition(lambda self: self.groups)
    @rule(data=st.data(), place=st.integers(0, 999))
    def a_group_changes_its_place(self, data: st.DataObject, place: int) -> None:
        self.names += 1
        data.draw(st.sampled_from(self.groups)).place = place * 1000 + self.names
        self.review()

    @rule(seconds=st.sampled_from([1.0, 4.0, 10.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.review()

    @rule()
    def the_process_is_replaced(self) -> None:
        """Every group is reviewed before anything is decided; clocks come from the API server."""
        self.ledger = MinResourcesLedger(LONGEST)
        for group in self.groups:
            group.least, group.over, group.used, group.last = None, False, 0.0, None
        self.review(restarted=True)


Ledger.TestCase.settings = examples(150, stateful_step_count=30)
TestLedger = Ledger.TestCase
