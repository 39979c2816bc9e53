# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What if these nodes go: whether their pods would fit on the others, and which are evicted."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from enbloc.engine.choices import chosen_again
from enbloc.engine.core import Core
from enbloc.engine.decide import AllowedCapacity, Placer, schedule_group
from enbloc.engine.events import FactGone, FactSeen, NodeGone
from enbloc.engine.packing import infeasible
from enbloc.engine.plan import Plan, PlanResult, Refutation
from enbloc.engine.policies import MinResources, Preemptions
from enbloc.engine.preemption import (
    EVERYWHERE,
    LookedAt,
    Unit,
    VictimCandidates,
    preempting,
    search,
)
from enbloc.engine.state import (
    Arrays,
    Checkpoint,
    Run,
    Seat,
    SeatLeft,
    adjust,
    pinned_to,
    solo_key,
)
from enbloc.engine.trial import Trial
from enbloc.errors import EnblocError, UsageError
from enbloc.framework.facts import Floor, GroupFacts
from enbloc.ledgers import detached, made_again
from enbloc.model.groups import GroupKey
from enbloc.model.near_words import near
from enbloc.model.pods import Pod, PodKey, PodUID

#: The most sets of victims for one group: after the second that is not enough, it pauses.
_MOST_SETS: Final = 2
#: The most groups that are tried before one that evicts others, as in the queue (semantics §9.7).
_MOST_BEFORE: Final = 64


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What would happen to one group, or to a pod without a group.

    Attributes:
        group: its key; that of the implied group for a pod without one.
        lost: its members on the nodes that go, and those that would be evicted for others.
        facts: the group afterwards, with a pending replacement for each lost member that a
            controller owns: a bare pod is not recreated.
        plan: where the replacements would go, or why they would not.
        victims: pods of lower priority that would be evicted for it.
        preempted_by: the preemptor for which it would be evicted; None = none.
    """

    group: GroupKey
    lost: tuple[PodKey, ...]
    facts: GroupFacts
    plan: Plan
    victims: tuple[PodKey, ...] = ()
    preempted_by: GroupKey | None = None

    @property
    def whole(self) -> bool:
        """Whether its minimum would still, or again, be held."""
        return not self.facts.deficit or self.plan.verdict is PlanResult.PLACED


@dataclass(slots=True)
class _Loser:
    """A group that loses members, and the preemptor for which it was last evicted."""

    run: Run
    lost: list[Pod]
    preempted_by: GroupKey | None = None


class WhatIf:
    """Plans on a copy of the present state: nothing changes, and no Permit plugin is asked.

    Groups that lose no member are assumed to wait, or to stay, as they are.

    Args:
        core: the present state.
        min_resources: tells what groups want reserved.
        preemptions: tells which pods may be evicted for which group.
        now: the engine's clock.
    """

    def __init__(
        self, core: Core, min_resources: MinResources, preemptions: Preemptions, now: float
    ) -> None:
        self._core = core
        self._min_resources = min_resources
        self._preemptions = preemptions
        self._now = now
        self._order = core.order.fork()
        self._losers: dict[GroupKey, _Loser] = {}
        self._done: set[GroupKey] = set()
        #: Pods that have lost their node.
        self._away: set[PodUID] = set()

    def gone(
        self, names: Collection[str], timely: Callable[[], bool] = lambda: True
    ) -> Sequence[Aftermath]:
        """Return what would happen to groups that lose members if these nodes went away.

        They are placed in the order of the queue, each on what those before it left. Victims of one
        of them lose members too, and what they leave goes to those before it first. Pods that
        belong to their node, as those of a DaemonSet, go with it.

        Args:
            names: of the nodes.
            timely: called before each group: whether there is time left.

        Raises:
            UsageError: there is no such node.
            PluginError: a plugin failed.
            EnblocError: there was no time left.
        """
        gone = frozenset(names)
        nodes = self._core.state.nodes
        if unknown := sorted(name for name in gone if nodes.row(name) is None):
            hint = near(unknown[0], nodes.names) if len(unknown) == 1 else ""
            raise UsageError(f"node {', '.join(unknown)} not found{hint}")
        tables = self._core.state.log.present()
        on = [seat for seat in tables.seats.values() if seat.node in gone]
        for seat in on:
            tables.apply(SeatLeft(seat.pod.uid))
        for name in sorted(gone):
            tables.apply(NodeGone(name))
        _make_claims_again(tables, [seat.pod for seat in on])
        self._lose([replace(seat.pod, node=seat.node) for seat in on])
        arrays = Arrays(tables)
        found: list[Aftermath] = []
        while left := self._order.first_to_last(self._losers.keys() - self._done):
            if not timely():  # a part would be wrong: what later groups evict can help earlier ones
                raise EnblocError(
                    f"there is no answer: within the time limit, {len(found)} of at least "
                    f"{len(self._losers)} groups and pods were planned"
                )
            loser = self._losers[left[0]]
            self._done.add(left[0])
            facts = self._facts(loser)
            plan = self._seated(loser, facts, arrays, tables)
            victims: list[Pod] = []
            for _ in range(_MOST_SETS):
                more = self._victims(loser, facts, plan, arrays)
                if not more:
                    break
                victims += more
                for pod in more:
                    tables.apply(SeatLeft(pod.uid))
                _make_claims_again(tables, more)
                self._lose(more, by=facts.key)
                arrays = Arrays(tables)
                self._again(found, arrays, tables)
                plan = self._seated(loser, facts, arrays, tables)
            lost = tuple(pod.key for pod in loser.lost)
            gave_way = tuple(pod.key for pod in victims)
            found.append(Aftermath(left[0], lost, facts, plan, gave_way, loser.preempted_by))
        return found

    def _again(self, found: list[Aftermath], arrays: Arrays, tables: Checkpoint) -> None:
        """Plan groups that got nothing again: they come before the one that evicts others now."""
        nowhere = (at for at, after in enumerate(found) if not after.plan.assignments)
        for at in islice(nowhere, _MOST_BEFORE):
            after = found[at]
            plan = self._seated(self._losers[after.group], after.facts, arrays, tables)
            found[at] = replace(after, plan=plan)

    def _seated(self, loser: _Loser, facts: GroupFacts, arrays: Arrays, tables: Checkpoint) -> Plan:
        """Plan a group, and have what it gets taken."""
        plan = self._plan(loser, facts, arrays)
        for each in plan.assignments:
            seat = Seat(each.node, each.pod, each.decided)
            tables.seats.pop(each.pod.uid, None)
            tables.apply(seat)
            arrays.add(seat)
        return plan

    def _lose(self, pods: Sequence[Pod], *, by: GroupKey | None = None) -> None:
        """Remove these pods; plan this scheduler's again, unless they belong to their node."""
        groups = self._core.groups
        changed: dict[GroupKey, _Loser] = {}
        self._away.update(pod.uid for pod in pods)
        for pod in pods:
            if not (pod.live and groups.ours(pod)) or pinned_to(pod.spec):
                continue
            key = groups.key_of(pod.uid)
            run = groups.get(key) if key else None
            if run is None:  # the engine forgets a pod without a group once it is bound
                run = Run(solo_key(pod), solo=True)
                run.put(pod)
            loser = self._losers.setdefault(run.key, _Loser(run, []))
            loser.lost.append(run.pods[pod.uid])
            loser.preempted_by = by or loser.preempted_by
            changed[run.key] = loser
        for loser in changed.values():
            self._order.note(self._facts(loser))

    def _facts(self, loser: _Loser) -> GroupFacts:
        """Return a group without the lost members, which hold no domain either."""
        groups, run = self._core.groups, loser.run
        facts = _afterwards(groups.facts(run), loser.lost)
        return groups.located(facts, _left(run, loser.lost))

    def _victims(
        self, loser: _Loser, facts: GroupFacts, plan: Plan, arrays: Arrays
    ) -> Sequence[Pod]:
        """Return the victims for a group that fits nowhere; no group planned before is one."""
        if plan.verdict is not PlanResult.UNSCHEDULABLE or not (facts.deficit and facts.quorum):
            return ()
        profile = self._core.groups.profile(facts)
        plugin = preempting(profile)
        if plugin is None or not all(pod.preempts for pod in facts.pending):
            return ()
        trial = self._trial(facts, arrays)
        place = Placer(self._allowed(loser, facts), self._core.settings.search_steps)
        candidates = self._preemptions.candidates(facts, self._now)
        if facts.group is not None and place.lacks(facts, trial.nodes):
            candidates.filling = facts.group.family
        units = LookedAt(None, trial.nodes, self._units(candidates))
        found = search(facts, plugin, trial, units, self._core.state.budgets, place)
        return [pod for unit in found.victims for pod in unit.pods]

    def _units(self, candidates: VictimCandidates) -> Mapping[str, Sequence[Unit]]:
        """Return the remaining units of lower priority, by node, and everywhere."""
        found: dict[str, list[Unit]] = {EVERYWHERE: []}
        candidates.away = self._away
        for unit in candidates.everywhere():
            if unit.group not in self._done:
                for node in (EVERYWHERE, *dict.fromkeys(pod.node for pod in unit.pods)):
                    found.setdefault(node, []).append(unit)
        return found

    def _plan(self, loser: _Loser, facts: GroupFacts, arrays: Arrays) -> Plan:
        plan_id = f"what-if/{facts.key}"
        if not (facts.pending and facts.quorum):
            text = "" if not facts.deficit else facts.missing()
            return Plan(plan_id, facts.key, PlanResult.UNSCHEDULABLE, message=text)
        held = _left(loser.run, loser.lost)

        def never(trial: Trial, steps: int) -> Refutation:
            return Refutation(infeasible(facts, held, trial, steps))

        steps = self._core.settings.search_steps
        trial, allowed = self._trial(facts, arrays), self._allowed(loser, facts)
        return schedule_group(plan_id, facts, trial, allowed, never, steps)

    def _trial(self, facts: GroupFacts, arrays: Arrays) -> Trial:
        core = self._core
        profile = core.groups.profile(facts)
        snapshot = arrays.snapshot(core.plans.ledgers(profile))
        opinions = core.observations.opinions(profile, facts, snapshot.nodes, self._now)
        trial = Trial(profile, snapshot, opinions=opinions)
        adjust(trial, facts, core.state.reservations, self._order)
        return trial

    def _allowed(self, loser: _Loser, facts: GroupFacts) -> AllowedCapacity | None:
        wanted = self._min_resources.wanted(loser.run, facts)
        if wanted is None:
            return None
        order = self._order.of(facts.key) or wanted.order
        due = _without(wanted.due, self._min_resources.whole(loser.run), loser.lost)
        return AllowedCapacity(
            self._min_resources.capacity(), wanted._replace(order=order, due=due)
        )


def _left(run: Run, lost: Sequence[Pod]) -> Sequence[Pod]:
    """Return the bound members of a run without these."""
    away = {pod.uid for pod in lost}
    return [pod for pod in run.bound if pod.uid not in away]


def _make_claims_again(tables: Checkpoint, pods: Sequence[Pod]) -> None:
    """Recreate claims that were made for pods that go, and detach what they used.

    Args:
        tables: without these pods.
        pods: each with its former node.
    """
    holding = [pod for pod in pods if pod.spec.holds]
    if not holding:
        return
    staying = (replace(seat.pod, node=seat.node) for seat in tables.seats.values())
    for attachment in detached(holding, staying, tables.facts):
        tables.apply(FactGone(attachment.kind, attachment.key))
    uids = {pod.uid for pod in holding}
    for fact in list(tables.facts.values()):
        anew = made_again(fact, uids)
        if anew is not None:
            tables.apply(FactSeen(anew))


def _without(due: Counter[str], most: Counter[str], lost: Sequence[Pod]) -> Counter[str]:
    """Return what a group may still take, at most `most`, once these members hold nothing."""
    more = Counter(due)
    for pod in lost:
        more.update(dict(pod.spec.requests))
    return more & most


def _afterwards(facts: GroupFacts, lost: Sequence[Pod]) -> GroupFacts:
    """Return the group without these members, with a pending replacement for each owned one."""
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
    """Return a floor after a loss; a reserved member counted neither as pending nor as bound."""
    bound = sum(bool(pod.node) for pod in lost)
    return replace(floor, pending=floor.pending + len(anew), bound=floor.bound - bound)
