# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What if these nodes go: whether what sits there would find room on the others."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from enbloc.engine.cycle import Room, schedule_group
from enbloc.engine.infeasible import infeasible
from enbloc.engine.intake import Intake
from enbloc.engine.members import Members, solo_key
from enbloc.engine.plan import Plan, Verdict
from enbloc.engine.promises import Claim
from enbloc.engine.promising import Promising
from enbloc.engine.shadows import order_of, pinned_to
from enbloc.engine.tables import Arrays, present
from enbloc.engine.tentative import Tentative
from enbloc.errors import UsageError
from enbloc.framework.facts import Floor, GroupFacts
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
        return not self.facts.deficit or self.plan.verdict is Verdict.PLACED


class WhatIf:
    """Plans again on a copy of the present: nothing changes, and no Permit plugin is asked.

    Groups that lose no member are taken to wait, or to stay, as they are.

    Args:
        intake: the present.
        promising: says what groups may claim.
        now: the engine's clock.
        steps: how much one search may cost.
    """

    def __init__(self, intake: Intake, promising: Promising, now: float, steps: int) -> None:
        self._intake = intake
        self._promising = promising
        self._now = now
        self._steps = steps

    def gone(self, names: Collection[str]) -> Sequence[Aftermath]:
        """What would become of those who lose members if these nodes went.

        They are placed in the order of priority and waiting time, each on what those before it
        left. Pods that belong to their node, as those of a DaemonSet, go with it.

        Raises:
            UsageError: there is no such node.
            PluginError: a Reserve plugin's ledger cannot be made.
        """
        nodes = self._intake.state.nodes
        if unknown := sorted(name for name in names if nodes.row(name) is None):
            raise UsageError(f"there is no node {', '.join(unknown)}")
        tables = present(self._intake.state)
        sitting = [replace(pod, node=node) for pod, node in tables.seats.values() if node in names]
        tables.nodes = [node for node in tables.nodes if node.name not in names]
        for pod in sitting:
            del tables.seats[pod.uid]
        arrays = Arrays(tables)
        losers = [
            (members, _afterwards(self._intake.groups.facts(members), lost), lost)
            for members, lost in self._losers(sitting)
        ]
        losers.sort(key=lambda loser: order_of(loser[1]))
        found: list[Aftermath] = []
        for members, facts, lost in losers:
            plan = self._plan(members, facts, lost, arrays)
            for assignment in plan.assignments:
                arrays.sit(assignment.pod, assignment.node)
            found.append(Aftermath(members.key, tuple(pod.key for pod in lost), facts, plan))
        return found

    def _losers(self, sitting: Sequence[Pod]) -> list[tuple[Members, list[Pod]]]:
        groups = self._intake.groups
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
        intake = self._intake
        plan_id = f"what-if/{facts.key}"
        if not (facts.pending and facts.quorum):
            text = "" if not facts.deficit else facts.missing()
            return Plan(plan_id, facts.key, Verdict.UNSCHEDULABLE, message=text)
        profile = intake.groups.profile(facts)
        snapshot = arrays.snapshot(intake.plans.ledgers(profile))
        opinions = intake.conduct.opinions(facts, snapshot.nodes, self._now)
        tentative = Tentative(profile, snapshot, opinions=opinions)
        for shadow in intake.state.shadows.not_for(facts):
            tentative.lift(shadow.pod, shadow.node)
        claim = self._promising.claim(members, facts, self._now)
        room = Room(intake.promises, _without(claim, lost)) if claim else None
        away = {pod.uid for pod in lost}
        held = [pod for pod in members.bound if pod.uid not in away]
        never = partial(infeasible, facts, held)
        return schedule_group(plan_id, facts, tentative, room, never, self._steps)


def _without(claim: Claim, lost: Sequence[Pod]) -> Claim:
    gone: Counter[str] = Counter()
    for pod in lost:
        gone.update(dict(pod.spec.requests))
    return replace(claim, held=Counter(claim.held) - gone)


def _afterwards(facts: GroupFacts, lost: Sequence[Pod]) -> GroupFacts:
    """The group without these members, a replacement pending for each that has an owner."""
    anew = [replace(pod, node="", rank=None) for pod in lost if pod.owner is not None]
    pending = sorted((*facts.pending, *anew), key=lambda pod: pod.seniority)
    return replace(
        facts,
        pending=tuple(pending),
        total=_floor(facts.total, lost, anew),
        roles=tuple(
            _floor(
                floor,
                [pod for pod in lost if pod.role == floor.role],
                [pod for pod in anew if pod.role == floor.role],
            )
            for floor in facts.roles
        ),
        members=facts.members - len(lost) + len(anew),
    )


def _floor(floor: Floor, lost: Sequence[Pod], anew: Sequence[Pod]) -> Floor:
    """A member with a reservation counts neither as pending nor as bound before."""
    bound = sum(bool(pod.node) for pod in lost)
    return replace(floor, pending=floor.pending + len(anew), bound=floor.bound - bound)
