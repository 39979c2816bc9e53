# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What if these nodes go: whether what sits there would fit on the others."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from enbloc.engine.choices import chosen_again
from enbloc.engine.core import Core
from enbloc.engine.decide import Room, schedule_group
from enbloc.engine.events import FactSeen, NodeGone
from enbloc.engine.packing import infeasible
from enbloc.engine.plan import Plan, PlanResult, Refutation
from enbloc.engine.policies import MinResources
from enbloc.engine.state import (
    Arrays,
    Checkpoint,
    Members,
    Seat,
    SeatLeft,
    adjust,
    pinned_to,
    solo_key,
)
from enbloc.engine.trial import Trial
from enbloc.errors import UsageError
from enbloc.framework.facts import Floor, GroupFacts
from enbloc.ledgers import made_again
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodKey


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What would become of one group, or of a pod without one.

    Attributes:
        group: its key; that of the implied group for a pod without one.
        lost: its members on the nodes that go.
        facts: the group afterwards, with a pending replacement for each lost member that a
            controller owns: nobody would create a bare pod again.
        plan: where the replacements would go, or why they would not.
    """

    group: GroupKey
    lost: tuple[PodKey, ...]
    facts: GroupFacts
    plan: Plan

    @property
    def whole(self) -> bool:
        """Its minimum would be held still, or again."""
        return not self.facts.deficit or self.plan.verdict is PlanResult.PLACED


class WhatIf:
    """Plans again on a copy of the present: nothing changes, and no Permit plugin is asked.

    Groups that lose no member are taken to wait, or to stay, as they are.

    Args:
        core: the present.
        min_resources: says what groups want reserved.
        now: the engine's clock.
    """

    def __init__(self, core: Core, min_resources: MinResources, now: float) -> None:
        self._core = core
        self._min_resources = min_resources
        self._now = now
        self._order = core.order.fork()

    def gone(self, names: Collection[str]) -> Sequence[Aftermath]:
        """What would become of those who lose members if these nodes went.

        They are placed in the order of the queue, each on what those before it
        left. Pods that belong to their node, as those of a DaemonSet, go with it.

        Raises:
            UsageError: there is no such node.
            PluginError: a plugin failed.
        """
        gone = frozenset(names)
        nodes = self._core.state.nodes
        if unknown := sorted(name for name in gone if nodes.row(name) is None):
            raise UsageError(f"node {', '.join(unknown)} not found")
        tables = self._core.state.log.present()
        on = [seat for seat in tables.seats.values() if seat.node in gone]
        for seat in on:
            tables.apply(SeatLeft(seat.pod.uid))
        for name in sorted(gone):
            tables.apply(NodeGone(name))
        _make_claims_again(tables, [seat.pod for seat in on])
        sitting = [replace(seat.pod, node=seat.node) for seat in on]
        arrays = Arrays(tables)
        losers = [
            (members, _afterwards(self._core.groups.facts(members), lost), lost)
            for members, lost in self._losers(sitting)
        ]
        for _, facts, _ in losers:
            self._order.note(facts)
        by_key = {loser[1].key: loser for loser in losers}
        found: list[Aftermath] = []
        for key in self._order.first_to_last(by_key):
            members, facts, lost = by_key[key]
            plan = self._plan(members, facts, lost, arrays)
            for assignment in plan.assignments:
                arrays.sit(Seat(assignment.node, assignment.pod, assignment.decided))
            found.append(Aftermath(members.key, tuple(pod.key for pod in lost), facts, plan))
        return found

    def _losers(self, sitting: Sequence[Pod]) -> list[tuple[Members, list[Pod]]]:
        groups = self._core.groups
        lost: dict[GroupKey, tuple[Members, list[Pod]]] = {}
        for pod in sitting:
            if not (pod.live and groups.ours(pod)) or pinned_to(pod.spec):
                continue
            key = groups.key_of(pod.uid)
            members = groups.get(key) if key else None
            if members is None:  # a pod without a group is forgotten once it is bound
                members = Members(solo_key(pod), solo=True)
                members.put(pod)
            lost.setdefault(members.key, (members, []))[1].append(members.pods[pod.uid])
        return list(lost.values())

    def _plan(
        self, members: Members, facts: GroupFacts, lost: Sequence[Pod], arrays: Arrays
    ) -> Plan:
        core = self._core
        plan_id = f"what-if/{facts.key}"
        if not (facts.pending and facts.quorum):
            text = "" if not facts.deficit else facts.missing()
            return Plan(plan_id, facts.key, PlanResult.UNSCHEDULABLE, message=text)
        profile = core.groups.profile(facts)
        snapshot = arrays.snapshot(core.plans.ledgers(profile))
        opinions = core.observations.opinions(profile, facts, snapshot.nodes, self._now)
        trial = Trial(profile, snapshot, opinions=opinions)
        adjust(trial, facts, core.state.claims, self._order)
        wanted = self._min_resources.wanted(members, facts)
        room = None
        if wanted is not None:
            order = self._order.of(facts.key) or wanted.order
            due = _without(wanted.due, members, lost)
            room = Room(self._min_resources.capacity(), wanted._replace(order=order, due=due))
        away = {pod.uid for pod in lost}
        held = [pod for pod in members.bound if pod.uid not in away]

        def never(trial: Trial, steps: int) -> Refutation:
            return Refutation(infeasible(facts, held, trial, steps))

        return schedule_group(plan_id, facts, trial, room, never, core.settings.search_steps)


def _make_claims_again(tables: Checkpoint, pods: Sequence[Pod]) -> None:
    """Claims that were made for pods that go are made again for those that replace them."""
    going = {pod.uid for pod in pods if pod.spec.holds}
    for fact in list(tables.facts.values()) if going else ():
        anew = made_again(fact, going)
        if anew is not None:
            tables.apply(FactSeen(anew))


def _without(due: Counter[str], members: Members, lost: Sequence[Pod]) -> Counter[str]:
    """What a group may still take once these members hold nothing; never beyond minResources."""
    more = Counter(due)
    for pod in lost:
        more.update(dict(pod.spec.requests))
    return more & Counter(dict(members.group.min_resources if members.group else ()))


def _afterwards(facts: GroupFacts, lost: Sequence[Pod]) -> GroupFacts:
    """The group without these members, a replacement pending for each that has an owner."""
    anew = [replace(pod, node="", rank=None) for pod in lost if pod.owner is not None]
    pending = sorted((*facts.pending, *anew), key=lambda pod: pod.seniority)
    every = tuple(
        _floor(
            floor,
            [pod for pod in lost if pod.role == floor.role],
            [pod for pod in anew if pod.role == floor.role],
        )
        for floor in (*facts.roles, *facts.others)
    )
    total = _floor(facts.total, lost, anew)
    after = replace(
        facts,
        pending=tuple(pending),
        total=total,
        roles=every,
        members=facts.members - len(lost) + len(anew),
    )
    if facts.choice is None:
        return after
    return chosen_again(after, every, replace(total, pending=len(pending)))


def _floor(floor: Floor, lost: Sequence[Pod], anew: Sequence[Pod]) -> Floor:
    """A member with a reservation counts neither as pending nor as bound before."""
    bound = sum(bool(pod.node) for pod in lost)
    return replace(floor, pending=floor.pending + len(anew), bound=floor.bound - bound)
