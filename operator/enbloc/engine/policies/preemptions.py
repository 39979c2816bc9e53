# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemptions: who gives way to whom, from the choice until the preemptor is placed.

::

    nothing fits ──search──► victims chosen, the capacity claimed ──► victims leave ──► placed
                   │            │ capacity elsewhere: who was not told stays
                   │            └ a victim hangs: the claim ends, and others may be chosen
                   └ nobody helps: said so

Capacity is claimed against everybody ordered later before the first victim is told, so that
nobody else takes what becomes free piece by piece (semantics §10.3).
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from enbloc.engine.core import Core
from enbloc.engine.effects import EventType
from enbloc.engine.events import EvictRefused
from enbloc.engine.eviction import Eviction
from enbloc.engine.policies.policy import Policy
from enbloc.engine.preemption import (
    Candidates,
    Effort,
    Placing,
    Preemption,
    Unit,
    no_victims,
    preempt_for_gang,
    preempt_for_pod,
)
from enbloc.engine.queue import Place
from enbloc.engine.state import PREEMPTION, Against, Claim, Members, stand_in
from enbloc.engine.tally import CALLED_UP
from enbloc.engine.turn import Turn
from enbloc.framework import decide
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.framework.status import Diagnosis
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason, Reason
from enbloc.model.pods import Pod, PodUID

#: Beyond its grace period a victim is waited for no longer than this (seconds).
HANG_SECONDS: Final = 30.0
#: Members placed and pods moved in one search for a gang's victims, beyond the first answer.
SEARCH_LIMIT: Final = 5000
#: After the second set of victims of which one hangs, the preemptor pauses (seconds), doubling
FIRST_PAUSE: Final = 60.0
#: up to this.
LONGEST_PAUSE: Final = 3600.0
#: Whoever nominated a pending pod before this process saw it: the node is claimed for so long.
NOMINATED_SECONDS: Final = 300.0
#: So many victims are named in a message.
_MOST_NAMED: Final = 3

_PAUSED: Final = "preemption: paused, because earlier ones did not let it be placed."
_NEVER: Final = "preemption: not eligible due to preemptionPolicy=Never."
_TERMINATING: Final = "preemption: not eligible due to a terminating pod on the nominated node."


@dataclass(slots=True)
class _Open:
    """One preemption that is under way.

    Attributes:
        nodes: where its pending pods are to go.
        pods: that leave for it.
        told: those of them that did not terminate already, by group.
        until: when they are waited for no more, engine clock.
        refused: groups of which an eviction was refused, and is not settled yet.
        kept: those that cannot be evicted.
        forced: those of which the rest is deleted, as some were gone before that was refused.
        whole: those of which a gang's minimum goes.
        later: those that others have evicted in part; what is left goes when that is over.
    """

    nodes: Mapping[PodUID, str]
    pods: Sequence[Pod]
    told: Mapping[GroupKey, Sequence[Pod]]
    until: float
    refused: set[GroupKey] = field(default_factory=set[GroupKey])
    kept: set[GroupKey] = field(default_factory=set[GroupKey])
    forced: set[GroupKey] = field(default_factory=set[GroupKey])
    whole: frozenset[GroupKey] = frozenset()
    later: set[GroupKey] = field(default_factory=set[GroupKey])


@dataclass(slots=True)
class _Hangs:
    """Preemptions of one preemptor that were in vain.

    Attributes:
        pods: victims that did not leave; none of them is chosen for it again.
        count: how many preemptions ended so, or were followed by another.
        until: when it may preempt again, engine clock.
        again: when those of them that do not terminate may be chosen again, engine clock.
    """

    pods: set[PodUID] = field(default_factory=set[PodUID])
    count: int = 0
    until: float = -math.inf
    again: float = math.inf


class Preemptions(Policy):
    """Lets pods of lower priority give way to groups that fit nowhere.

    Args:
        core: what is known.
    """

    def __init__(self, core: Core) -> None:
        self._core, self._state, self._groups = core, core.state, core.groups
        self._victims, self._reporter, self._tally = core.victims, core.reporter, core.tally
        #: By preemptor; each has claims for its pending pods.
        self._open: dict[GroupKey, _Open] = {}
        #: Of preemptors; until they are placed.
        self._hangs: dict[GroupKey, _Hangs] = {}
        #: By group: who preempted members of it since it was placed last.
        self._preempted: dict[GroupKey, str] = {}
        self._effort = Effort()
        #: Groups of which victims are looked for once there is effort left, the first come first.
        self._put_off: dict[GroupKey, None] = {}
        #: What came of the last search for a group; until it is placed.
        self._said: dict[GroupKey, str] = {}
        #: Pending pods that this process has nominated, or has seen nominated.
        self._known: set[PodUID] = set()

    def nominated(self, group: GroupKey) -> Mapping[PodUID, str]:
        """Where the pending pods of a group are to go once its victims are gone."""
        found = self._open.get(group)
        return found.nodes if found is not None else {}

    def outranks(self, facts: GroupFacts) -> bool:
        """Whether anybody who is placed has a lower priority."""
        return bool((self._state.placed.priority < facts.priority).any())

    def preempted(self, group: GroupKey) -> str:
        """By whom members of a group were preempted; "" = none were since it was placed last."""
        return self._preempted.get(group, "")

    # ── the choice ───────────────────────────────────────────────────────────────────────────

    def tried(
        self,
        turn: Turn,
        facts: GroupFacts,
        profile: Profile,
        diagnosis: Diagnosis,
        place: Placing,
    ) -> str:
        """A group fits nowhere: let others give way, if they may and that helps.

        Args:
            turn: what is to be done goes there.
            facts: the group.
            profile: its own.
            diagnosis: why it, or its first member, finds no node.
            place: tries to place it.

        Returns:
            What is to be added to the reason for which it waits; "" = nothing.

        Raises:
            PluginError: a plugin failed.
        """
        plugin = next(
            (p for p in profile.post_filter if decide.implements(p, decide.Preempts)), None
        )
        if plugin is None or not facts.deficit:
            return ""
        self._tally.preemption_attempts += 1
        waits = self._waits(turn, facts)
        if waits:
            return waits
        hangs = self._hangs.get(facts.key)
        spared = hangs.pods if hangs is not None else frozenset[PodUID]()
        candidates = self._candidates(turn, facts, spared)
        helps = candidates and not diagnosis.message  # else it is refused whoever is there
        if helps and not self._effort.left(turn.now):
            self._put_off[facts.key] = None
            return self._said.get(facts.key, "")
        under_way = self._open.get(facts.key)
        if under_way is not None:  # they are gone, and it is not enough
            self._end(turn, facts.key, under_way)
            if under_way.pods:
                self._pause(turn, facts.key)
                self._put_off[facts.key] = None
                return _PAUSED
        if not helps:
            return no_victims(diagnosis) if facts.solo else ""
        found = self._search(turn, facts, profile, plugin, candidates, place)
        self._effort.take(found.steps)
        self._said[facts.key] = found.message
        if not found.victims:  # nobody helps, or it is short of something else
            return found.message
        self._begin(turn, facts, profile, found)
        return self._waiting(self._open[facts.key])

    def _waits(self, turn: Turn, facts: GroupFacts) -> str:
        """Why nobody is looked for now; "" = nothing keeps it from that."""
        under_way = self._open.get(facts.key)
        if under_way is not None and self._leaving(under_way):
            return self._waiting(under_way)
        if not all(pod.preempts for pod in facts.pending):
            return _NEVER
        if self._awaited(facts):
            return _TERMINATING
        hangs = self._hangs.get(facts.key)
        return _PAUSED if hangs is not None and turn.now < hangs.until else ""

    def _leaving(self, under_way: _Open) -> bool:
        return any(self._stays(pod) for pod in under_way.pods)

    def _candidates(self, turn: Turn, facts: GroupFacts, spared: Collection[PodUID]) -> Candidates:
        plans = self._core.plans
        return Candidates(
            self._state,
            self._groups,
            facts.key,
            facts.priority,
            lambda key: plans.of(key) is not None,
            spared,
            turn.now,
        )

    def _search(
        self,
        turn: Turn,
        facts: GroupFacts,
        profile: Profile,
        plugin: decide.Preempts,
        candidates: Candidates,
        place: Placing,
    ) -> Preemption:
        core = self._core
        ledgers = core.plans.ledgers(profile)
        trial = core.trials.trial(profile, facts, turn.now, ledgers, keep=False)
        budgets = tuple(self._state.budgets.values())
        if facts.solo:
            enough = plugin.candidate_nodes(len(trial.nodes))
            return preempt_for_pod(facts.pending[0], trial, candidates.on, budgets, enough)
        units = candidates.everywhere()
        if not units:
            return Preemption()  # that nobody has a lower priority is plain to see
        return preempt_for_gang(facts, trial, units, budgets, place, SEARCH_LIMIT)

    def _awaited(self, facts: GroupFacts) -> bool:
        """Whether pods that were told to leave for one of these are terminating yet.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/defaultpreemption/
        default_preemption.go PodEligibleToPreemptOthers.
        """
        hangs = self._hangs.get(facts.key)
        spared = hangs.pods if hangs is not None else ()
        return any(
            pod.deleting and pod.preempted and pod.priority < facts.priority
            for node in {pod.nominated for pod in facts.pending if pod.nominated}
            for pod in self._state.on(node)
            if pod.uid not in spared
        )

    # ── what it leads to ─────────────────────────────────────────────────────────────────────

    def _begin(self, turn: Turn, facts: GroupFacts, profile: Profile, found: Preemption) -> None:
        """Claim the capacity, then let the victims go."""
        pods = [pod for unit in found.victims for pod in unit.pods]
        told = _by_group(found.victims)
        until = turn.now + HANG_SECONDS + max((pod.grace for pod in pods), default=0.0)
        nodes = {pod.uid: node for pod, node in found.nodes}
        whole = frozenset(unit.group for unit in found.victims if unit.gang)
        each = self._open[facts.key] = _Open(nodes, pods, told, until, whole=whole)
        self._claim(turn, facts, found.nodes)
        whom = f"pod {facts.pending[0].key}" if facts.solo else f"PodGroup {facts.key}"
        why = f"{profile.name}: preempting to accommodate a higher priority pod"
        for group, some in told.items():
            other = self._victims.of(group)
            if other is None:
                regardless = any(unit.group == group for unit in found.beyond)
                regardless |= any(self._of_several_budgets(pod) for pod in some)
                self._evict(group, some, why, until, facts.key, regardless=regardless)
            else:
                each.until = max(each.until, other.until + until - turn.now)
                each.later.add(group)
            self._tell(turn, group, some, whom)
        self._tally.preemption_victims.append(float(len(pods)))
        if not facts.solo:
            note = f"preempting {_named(pods)} of lower priority"
            self._reporter.group_event(turn, facts, EventType.NORMAL, EventReason.PREEMPTING, note)

    def _of_several_budgets(self, pod: Pod) -> bool:
        """The Eviction API refuses such a pod, whatever its budgets allow."""
        return sum(budget.covers(pod) for budget in self._state.budgets.values()) > 1

    def _claim(
        self,
        turn: Turn,
        facts: GroupFacts,
        nodes: Iterable[tuple[Pod, str]],
        until: float = math.inf,
    ) -> None:
        """Have nobody who is ordered later take what becomes free."""
        for pod, node in nodes:
            self._known.add(pod.uid)
            name = f"{PREEMPTION}/{pod.uid}"
            claim = Claim(
                name,
                PREEMPTION,
                Against.LATER,
                holder=facts.key,
                pod=stand_in(name, pod, node),
                node=node,
                end=until,
            )
            self._state.claim(claim, turn.now, crowded=True)

    def _evict(
        self,
        group: GroupKey,
        pods: Sequence[Pod],
        why: str,
        until: float,
        beneficiary: GroupKey,
        *,
        regardless: bool,
    ) -> None:
        reason = Reason.PREEMPTION_BY_SCHEDULER
        self._victims.choose(
            Eviction(
                group,
                pods,
                reason,
                why,
                beneficiary,
                until,
                preempts=True,
                regardless=regardless,
            )
        )

    def _tell(self, turn: Turn, group: GroupKey, pods: Sequence[Pod], whom: str) -> None:
        """An event on each victim, and on its group."""
        for pod in pods:
            note = f"Preempted by {whom} on node {pod.node}"
            self._reporter.preempted(turn, pod, note)
        members = self._groups.get(group)
        if members is not None and not members.solo:
            facts = self._groups.facts(members)
            note = f"preempted by {whom}: {len(pods)} of its members are evicted"
            self._preempted[group] = note
            kind, reason = EventType.WARNING, EventReason.PREEMPTED
            self._reporter.group_event(turn, facts, kind, reason, note)
            self._tally.preempted_gangs += len(members.bound) > 1
            turn.change(group)

    def _waiting(self, under_way: _Open) -> str:
        return f"preemption: waiting for {_named(under_way.pods)} to leave"

    # ── what becomes of it ───────────────────────────────────────────────────────────────────

    def expire(self, turn: Turn) -> None:
        """Take in that victims are gone, or will not go; search where that was put off."""
        self._try_again(turn)
        for answer in turn.refused_evictions if self._open else ():
            self._refused(answer)
        for key, each in tuple(self._open.items()):
            self._look(turn, key, each)

    def _try_again(self, turn: Turn) -> None:
        """Let one group be tried again of which a search was put off, or that has paused."""
        for key, hangs in self._hangs.items():
            if hangs.again <= turn.now:
                hangs.again = math.inf
                hangs.pods = {uid for uid in hangs.pods if self._terminates(uid)}
                self._put_off[key] = None
            if -math.inf < hangs.until <= turn.now:
                hangs.until = -math.inf
                self._put_off[key] = None
        if self._put_off and self._effort.left(turn.now):
            key = next(iter(self._put_off))
            del self._put_off[key]
            item = self._core.queue.get(key)
            if item is not None and item.place in (Place.WAITING, Place.BACKOFF):
                self._core.queue.activate(item, CALLED_UP)

    def _look(self, turn: Turn, key: GroupKey, each: _Open) -> None:
        """See who is gone, and who will not go."""
        for group in sorted(each.later):
            if self._victims.of(group) is None:
                each.later.discard(group)
                left = self._left(each, group)
                why = "preempting to accommodate a higher priority pod"
                if left:
                    self._evict(group, left, why, each.until, key, regardless=False)
        for group in sorted(each.refused):
            self._settle_refusal(turn, key, each, group)
        late = each.until <= turn.now
        stuck = [pod for group in each.kept for pod in each.told[group] if self._stays(pod)]
        if late:
            stuck = [pod for pod in each.pods if self._stays(pod)]
        if stuck:
            self._hang(turn, key, each, stuck)
        elif late:  # they are gone, or somebody else nominated it, and it is not placed
            self._end(turn, key, each)
            self._put_off[key] = None
        elif not each.told.keys().isdisjoint(turn.released):
            turn.change(key)

    def _refused(self, answer: EvictRefused) -> None:
        """An eviction was refused; what follows is decided once those of its group are settled.

        Who is gone or has finished is refused for ever: the watch will show it.
        """
        if math.isinf(answer.retry_at):
            return
        for each in self._open.values():
            for group, pods in each.told.items():
                if any(pod.uid == answer.uid for pod in pods):
                    each.refused.add(group)

    def _settle_refusal(self, turn: Turn, key: GroupKey, each: _Open, group: GroupKey) -> None:
        """Of a unit of which some are gone, the rest goes all the same; else all stay.

        A part of a minimum is worth nothing.
        """
        if self._victims.of(group) is not None:
            return
        each.refused.discard(group)
        left = self._left(each, group)
        if not left:
            return
        broken = group in each.whole and len(left) < len(each.told[group])
        if not broken or group in each.forced:
            each.kept.add(group)
            return
        each.forced.add(group)
        why = "others of its gang gave way to a higher priority pod"
        until = max(each.until, turn.now + HANG_SECONDS)
        self._evict(group, left, why, until, key, regardless=True)

    def _left(self, each: _Open, group: GroupKey) -> Sequence[Pod]:
        """Those of a group that were to leave, and do not yet."""
        told = each.told[group]
        return [pod for pod in told if self._stays(pod) and not self._terminates(pod.uid)]

    def _terminates(self, uid: PodUID) -> bool:
        now = self._state.pods.get(uid)
        return now is not None and now.deleting

    def _stays(self, pod: Pod) -> bool:
        now = self._state.pods.get(pod.uid)
        return now is not None and not now.finished

    def _hang(self, turn: Turn, key: GroupKey, each: _Open, stuck: Sequence[Pod]) -> None:
        """Somebody cannot be evicted, or does not leave: others are looked for, a pause later."""
        hangs = self._pause(turn, key)
        hangs.pods.update(pod.uid for pod in stuck)
        hangs.again = turn.now + FIRST_PAUSE * hangs.count
        self._end(turn, key, each)
        self._put_off[key] = None

    def _pause(self, turn: Turn, key: GroupKey) -> _Hangs:
        """A preemption was in vain: after the second one the next has to wait, longer each time."""
        hangs = self._hangs.setdefault(key, _Hangs())
        hangs.count += 1
        if hangs.count > 1:
            pause = min(FIRST_PAUSE * 2 ** min(hangs.count - 2, 16), LONGEST_PAUSE)
            hangs.until = turn.now + pause
        return hangs

    def review(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """Who needs nothing any more claims nothing; who was nominated before we came does."""
        del members
        if not facts.deficit:
            self._hangs.pop(facts.key, None)
            if not self._victims.of(facts.key):
                self._preempted.pop(facts.key, None)
        each = self._open.get(facts.key)
        if each is not None:
            if not (facts.deficit and facts.pending):
                self._end(turn, facts.key, each)
            return
        nodes = [
            (pod, pod.nominated)
            for pod in facts.pending
            if pod.nominated and pod.uid not in self._known
        ]
        if nodes:
            until = turn.now + NOMINATED_SECONDS
            names = {pod.uid: node for pod, node in nodes}
            self._open[facts.key] = _Open(names, (), {}, until)
            self._claim(turn, facts, nodes, until)

    def planned(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """It is placed, where it was to go or elsewhere: who was not told stays."""
        del members
        self._said.pop(facts.key, None)
        self._put_off.pop(facts.key, None)
        each = self._open.get(facts.key)
        if each is not None:
            self._end(turn, facts.key, each)

    def _end(self, turn: Turn, key: GroupKey, each: _Open) -> None:
        del self._open[key]
        for group in each.told.keys() - each.forced:
            eviction = self._victims.of(group)
            counted_on = any(group in other.told for other in self._open.values())
            if eviction is not None and eviction.beneficiary == key and not counted_on:
                self._victims.cancel(group)
        turn.happened += self._state.release(self._state.claims.of(PREEMPTION, key))
        turn.change(key)

    def forget(self, turn: Turn, members: Members) -> None:
        """A group is gone: nobody gives way to it."""
        self._forget(members.key)
        self._known = {uid for uid in self._known if uid in self._state.pods}
        each = self._open.get(members.key)
        if each is not None:
            self._end(turn, members.key, each)
            turn.changed.pop(members.key, None)

    def _forget(self, key: GroupKey) -> None:
        self._hangs.pop(key, None)
        self._said.pop(key, None)
        self._put_off.pop(key, None)
        self._preempted.pop(key, None)

    def deadline(self) -> float | None:
        """When victims are looked for that were put off, or a nomination is over."""
        times = [each.until for each in self._open.values()]
        times += [
            time
            for hangs in self._hangs.values()
            for time in (hangs.until, hangs.again)
            if -math.inf < time < math.inf
        ]
        if self._put_off:
            times.append(self._effort.ready())
        return min(times, default=None)


def _by_group(units: Sequence[Unit]) -> dict[GroupKey, list[Pod]]:
    """The pods that are told to leave, by whose they are; who terminates needs no telling."""
    found: dict[GroupKey, list[Pod]] = {}
    for unit in sorted(units, key=lambda unit: unit.of is None):
        pods = [pod for pod in unit.pods if not pod.deleting]
        if pods:
            found.setdefault(unit.group, []).extend(pods)
    return found


def _named(pods: Sequence[Pod]) -> str:
    """A few of some pods by name, and how many more there are."""
    if len(pods) == 1:
        return f"pod {pods[0].key}"
    some = ", ".join(str(pod.key) for pod in pods[:_MOST_NAMED])
    more = len(pods) - _MOST_NAMED
    return f"{len(pods)} pods ({some} and {more} more)" if more > 0 else f"pods {some}"
