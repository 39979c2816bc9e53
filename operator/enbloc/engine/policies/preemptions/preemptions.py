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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from enbloc.engine.core import Core
from enbloc.engine.effects import Ask
from enbloc.engine.policies.policy import Policy
from enbloc.engine.policies.preemptions.begun import awaited, begun
from enbloc.engine.policies.preemptions.leavers import Leavers, leavers_of
from enbloc.engine.policies.preemptions.line import Line
from enbloc.engine.policies.preemptions.rests import Rests
from enbloc.engine.policies.preemptions.setbacks import Setbacks
from enbloc.engine.policies.preemptions.told import Told
from enbloc.engine.policies.preemptions.under_way import (
    HANG_SECONDS,
    Stage,
    UnderWay,
    named_preemptor,
    rest_of_gang,
    why_of,
)
from enbloc.engine.preemption import (
    Candidates,
    Effort,
    EvictionCounts,
    LookedAt,
    NodeCandidates,
    Places,
    Preemption,
    Protection,
    Searched,
    could_go,
    decided_without,
    no_victims,
    preempt_for_pod,
    preempting,
    search,
    unit_name,
)
from enbloc.engine.queue import Place
from enbloc.engine.state import PREEMPTION, Against, Claim, Members, nominated
from enbloc.engine.tally import CALLED_UP
from enbloc.engine.trial import Trial
from enbloc.engine.turn import Departure, Turn
from enbloc.framework import decide
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.framework.status import Diagnosis
from enbloc.ledgers import GETS_NOTHING, Decisions, ledgers_of
from enbloc.model.budgets import Budgets
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID
from enbloc.model.times import time_text

#: Nodes that a pod was nominated for before this process saw it, or that it was planned on in
#: vain, are claimed for so long (seconds).
NOMINATED_SECONDS: Final = 300.0
#: Told of a search, and of the cluster as it saw that, before anything is done about it.
Noting = Callable[[Trial, Searched], None]
_NOTHING_DECIDED: Final[Mapping[PodUID, Decisions]] = {}

_NEVER: Final = "preemption: not eligible due to preemptionPolicy=Never."
_TERMINATING: Final = "preemption: not eligible due to a terminating pod on the nominated node."


@dataclass(slots=True)
class _Tried:
    """What came of looking for victims for one group.

    Attributes:
        since: since when it has found no node, engine clock; None = something else kept it so far.
        said: what came of the last search.
        nowhere: a pod without a group for which the last one found nobody, with "".
    """

    since: float | None = None
    said: str = ""
    nowhere: Mapping[PodUID, str] = field(default_factory=dict[PodUID, str])


class Preemptions(Policy):
    """Lets pods of lower priority give way to groups that fit nowhere.

    Args:
        core: what is known.
    """

    def __init__(self, core: Core) -> None:
        self._core, self._state, self._groups = core, core.state, core.groups
        self._victims, self._reporter, self._tally = core.victims, core.reporter, core.tally
        #: By preemptor; each has claims for its pending pods, unless they are planned.
        self._open: dict[GroupKey, UnderWay] = {}
        #: Of preemptors; until they are whole.
        self._setbacks: dict[GroupKey, Setbacks] = {}
        #: Of groups that found no node; until they are planned, or nothing of them is pending.
        self._tried: dict[GroupKey, _Tried] = {}
        #: Groups that are tried again once there is effort left.
        self._line = Line()
        self._effort = Effort()
        self._limits, self._evictions = core.settings.preemption, EvictionCounts()
        self._preempted = Told(core)
        #: Pods that this process has nominated or chosen, or has seen nominated.
        self._known: set[PodUID] = set()
        self._rests = Rests()

    def nominated(self, group: GroupKey) -> Mapping[PodUID, str]:
        """Where the pending pods of a group are to go once its victims are gone.

        "" = nowhere: a pod without a group that nobody can help is nominated no more, by whomever.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/preemption/preemption.go
        Evaluator.Preempt.
        """
        found = self._open.get(group)
        if found is not None:
            return found.nodes
        tried = self._tried.get(group)
        return tried.nowhere if tried is not None else {}

    def preempted(self, group: GroupKey) -> str:
        """By whom members of a group were preempted; "" = none were since it was placed last."""
        return self._preempted.get(group, "")

    def try_later(self, group: GroupKey, until: float) -> None:
        """Look for nobody who gives way to a group before a time, and then try it again."""
        self._line.later(group, until)
        self._line.tried(group)

    # ── the choice ───────────────────────────────────────────────────────────────────────────

    def tried(
        self,
        turn: Turn,
        facts: GroupFacts,
        profile: Profile,
        diagnosis: Diagnosis,
        place: Places,
        note: Noting,
    ) -> str | None:
        """A group fits nowhere: let others give way, if they may and that helps.

        Args:
            turn: what is to be done goes there.
            facts: the group.
            profile: its own.
            diagnosis: why it, or its first member, finds no node.
            place: tries to place it.
            note: told what came of a search.

        Returns:
            What is to be added to the reason for which it waits; "" = nothing, None = extenders
            are asked first, whose answers bring it back.

        Raises:
            PluginError: a plugin failed.
        """
        plugin = preempting(profile)
        if plugin is None or not facts.deficit:
            return ""
        self._tally.preemption_attempts += 1
        tried = self._tried.setdefault(facts.key, _Tried())
        tried.nowhere = {}
        waits = self._waits(turn, facts, profile, tried)
        if waits:
            self._line.tried(facts.key)
            return waits
        candidates = self.candidates(facts, turn.now)
        helps = candidates and not diagnosis.message  # else it is refused whoever is there
        if helps and not self._effort.left(turn.now):
            self._line.add(facts.key)
            return tried.said
        self._line.tried(facts.key)
        under_way = self._open.get(facts.key)
        if under_way is not None:  # they are gone, and it is not enough
            self._end(turn, under_way)
            if under_way.victims or under_way.placed:
                setbacks = self._set_back(turn, facts.key)
                self._line.add(facts.key)
                return setbacks.pause(turn.now)
        if not helps:
            tried.nowhere = {pod.uid: "" for pod in facts.pending if facts.solo}
            return no_victims(diagnosis) if facts.solo else ""
        found, ask = self._search(turn, facts, profile, plugin, candidates, place, note)
        if ask is not None:
            turn.effects.append(ask)
            self._tally.preemption_attempts -= 1  # it is one with that which follows
            return None
        self._preempted.disbelieves(turn, candidates)
        if found.victims:
            return self._waiting(self._begin(turn, facts, profile, found))
        # Nobody helps, or it is short of something else.
        said = found.message
        tried.said = self._protected(turn, facts, profile, plugin, candidates, place, said)
        return tried.said

    def _protected(
        self,
        turn: Turn,
        facts: GroupFacts,
        profile: Profile,
        plugin: decide.Preempts,
        candidates: Candidates,
        place: Places,
        said: str,
    ) -> str:
        """Nobody else helps: whether those who are protected would, and until when they are."""
        if not candidates.protected:
            return said
        candidates.lifted = True
        found, _ = self._search(turn, facts, profile, plugin, candidates, place)
        protected = [unit for unit in found.victims if unit.protected > turn.now]
        if not protected:
            return said
        last = max(protected, key=lambda unit: unit.protected)
        self._line.later(facts.key, last.protected)
        are = "is" if len(protected) == 1 else f"and {len(protected) - 1} more are"
        end = time_text(last.protected)
        return f"{said or 'preemption:'} {last.named} {are} protected from preemption until {end}."

    def _waits(self, turn: Turn, facts: GroupFacts, profile: Profile, tried: _Tried) -> str:
        """Why nobody is looked for now; "" = nothing keeps it from that."""
        under_way = self._open.get(facts.key)
        if under_way is not None and under_way.leaving(self._state):
            nodes = under_way.nodes
            going = [(pod, nodes[pod.uid]) for pod in facts.pending if pod.uid in nodes]
            if could_go(going, self._trial(turn, facts, profile)):
                return self._waiting(under_way)
            self._end(turn, under_way)
        if not all(pod.preempts for pod in facts.pending):
            return _NEVER
        if self._awaited(turn, facts, profile):
            return _TERMINATING
        tried.since = turn.now if tried.since is None else tried.since
        delayed = tried.since + self._limits.delay
        if delayed > turn.now:
            self._line.later(facts.key, delayed)
            return f"preemption: delayed until {time_text(delayed)}, as nodes may be added."
        setbacks = self._setbacks.get(facts.key)
        return setbacks.pause(turn.now) if setbacks is not None else ""

    def _waiting(self, under_way: UnderWay) -> str:
        waits, setbacks = under_way.waits(), self._setbacks.get(under_way.key)
        return f"{waits}; {setbacks.why}" if setbacks is not None else waits

    def _spared(self, key: GroupKey) -> Collection[PodUID]:
        setbacks = self._setbacks.get(key)
        return setbacks.spared if setbacks is not None else ()

    def candidates(self, facts: GroupFacts, now: float) -> Candidates:
        """Who may give way to a group, if that helps."""
        return Candidates(
            self._state,
            self._groups,
            facts,
            self._core.plans.of,
            {pod.uid for pod in self._victims.leaving()},
            self._spared(facts.key),
            now,
            Protection(self._limits, self._evictions, self._state.pods, now),
        )

    def _search(
        self,
        turn: Turn,
        facts: GroupFacts,
        profile: Profile,
        plugin: decide.Preempts,
        candidates: Candidates,
        place: Places,
        note: Noting = lambda *_: None,
    ) -> tuple[Preemption, Ask | None]:
        """Who gives way; or what extenders must be asked before that is known."""
        trial = self._trial(turn, facts, profile)
        budgets, units = self._state.budgets, LookedAt(candidates, trial.nodes, {})
        asked: Ask | None = None

        def choose(pod: Pod, nodes: NodeCandidates) -> Preemption:
            nonlocal asked
            if not nodes.nodes:
                self._tried[facts.key].nowhere = {pod.uid: ""}
            if candidates.lifted:  # nobody is evicted for it yet, so no extender is asked
                return preempt_for_pod(pod, nodes)
            taken, asked = self._core.extender_queries.consult(facts.key, profile, pod, nodes)
            return taken

        found = search(facts, plugin, trial, units, budgets, place, choose)
        self._effort.take(found.steps + candidates.steps)
        self._line.after(facts.key, candidates.binding)
        if asked is None:
            note(trial, Searched(units.known, tuple(budgets), found))
        return found, asked

    def _trial(self, turn: Turn, facts: GroupFacts, profile: Profile) -> Trial:
        """The cluster as a group may see it."""
        ledgers = self._core.plans.ledgers(profile)
        return self._core.trials.trial(profile, facts, turn.now, ledgers, keep=False)

    def _awaited(self, turn: Turn, facts: GroupFacts, profile: Profile) -> bool:
        """Whether pods that were told to leave for one of these are terminating yet.

        Where a preemption of ours has ended, its nominations are withdrawn: the pods may show them
        for a while.
        """
        if facts.key not in self._open and not self._known.isdisjoint(
            pod.uid for pod in facts.pending
        ):
            return False
        waiting = awaited(self._state, self._groups, facts, self._spared(facts.key))
        return bool(waiting) and could_go(waiting, self._trial(turn, facts, profile))

    # ── what it leads to ─────────────────────────────────────────────────────────────────────

    def _begin(
        self, turn: Turn, facts: GroupFacts, profile: Profile, found: Preemption
    ) -> UnderWay:
        """Claim the capacity, then let the victims go."""
        victims = leavers_of(found, Budgets(self._state.budgets))
        leaving = chain.from_iterable(some.pods for some in victims.values())
        each = self._open[facts.key] = UnderWay(
            facts.key,
            {pod.uid: node for pod, node in found.nodes},
            victims,
            min(facts.priority - 1, max(unit.priority for unit in found.victims)),
            by=named_preemptor(facts),
            why=why_of(profile),
            held=ledgers_of(self._state.nodes).leaving(leaving),
        )
        decided: Mapping[PodUID, Decisions] = {}
        if any(pod.spec.holds for pod, _ in found.nodes):
            trial = self._trial(turn, facts, profile)
            decided = decided_without(found.victims, found.nodes, trial)
        self._claim(facts, found.nodes, turn.now, decided=decided)
        self._start(each)
        for unit in found.victims:
            if unit.planned:  # nothing of it was sent: the plan is dropped, and nobody evicted
                self._core.plans.withdraw(unit.group, turn)
                self._preempted.given_up(turn, unit, each)
        if not victims:
            each.free(turn.now + HANG_SECONDS)
            self._line.add(facts.key)
        pods = [pod for unit in found.victims for pod in unit.pods]
        self._tally.preemption_victims.append(float(len(pods)))
        self._preempted.preempting(turn, facts, pods)
        return each

    def _start(self, each: UnderWay) -> None:
        self._known.update(pod.uid for pod in each.pods)
        each.start(self._victims)

    def _claim(
        self,
        facts: GroupFacts,
        nodes: Iterable[tuple[Pod, str]],
        now: float,
        until: float = math.inf,
        decided: Mapping[PodUID, Decisions] = _NOTHING_DECIDED,
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
                pod=nominated(name, pod, node),
                node=node,
                end=until,
                decided=decided.get(pod.uid, GETS_NOTHING) if pod.spec.holds else None,
            )
            self._state.claim(claim, now, crowded=True)

    # ── what becomes of it ───────────────────────────────────────────────────────────────────

    def expire(self, turn: Turn) -> None:
        """Take in that victims leave, or will not go; search where that was put off."""
        self._evictions.expire(turn.now)
        for departure in turn.departures:
            if departure.by:
                self._leaves(turn, departure)
        for key in self._rests.expire(turn.now):
            turn.change(key)
        self._try_again(turn)
        lost = turn.lost_nodes() if self._open else set[str]()
        for each in tuple(self._open.values()):
            for answer in turn.refused_evictions:
                each.refused(answer)
            self._look(turn, each, lost)

    def _leaves(self, turn: Turn, departure: Departure) -> None:
        """A victim leaves for certain: once for all that go together that is counted."""
        members = self._groups.get(departure.group)
        lone = members is None or members.solo
        if self._preempted.leaves(turn, departure) and (lone or departure.whole):
            self._evictions.note(unit_name(departure.pod, None if lone else members), turn.now)
            self._tally.preempted_gangs += not lone and len(departure.together) > 1
        if members is not None:
            self._rests.leave(departure, turn.now)

    def _try_again(self, turn: Turn) -> None:
        """Let one group be tried again."""
        self._line.expire(turn.now, lambda group: self._core.plans.of(group) is not None)
        for key, setbacks in self._setbacks.items():
            if setbacks.expire(turn.now, self._state):
                self._line.add(key)
        if self._line and self._effort.left(turn.now):
            key = self._line.call()
            item = self._core.queue.get(key)
            if item is not None and item.place in (Place.WAITING, Place.BACKOFF):
                self._core.queue.activate(item, CALLED_UP)
            else:
                self._line.discard(key)

    def _look(self, turn: Turn, each: UnderWay, lost: set[str]) -> None:
        """See who is gone, and who will not go."""
        stuck = each.look(turn, self._victims, self._state, lost)
        if each.times(self._victims):
            self._line.add(each.key)  # so that it is said
        if stuck:
            self._end(turn, each)
            self._set_back(turn, each.key, stuck)
            self._line.add(each.key)
        elif each.until <= turn.now:  # they are gone, or somebody else nominated it
            self._end(turn, each)
            if each.placed:
                self._set_back(turn, each.key)
            self._line.add(each.key)
        elif not each.victims.keys().isdisjoint(turn.released):
            turn.change(each.key)
            if each.stage is Stage.LEAVING and not each.holds(self._state):
                each.free(turn.now + HANG_SECONDS)

    def _set_back(self, turn: Turn, key: GroupKey, stuck: Sequence[Pod] = ()) -> Setbacks:
        """A preemption was in vain."""
        setbacks = self._setbacks.setdefault(key, Setbacks())
        setbacks.add(turn.now, stuck)
        return setbacks

    def review(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """Who needs nothing any more claims nothing; who was nominated before we came does."""
        self._remember(members)
        if not facts.pending:
            self._tried.pop(facts.key, None)
        if not facts.deficit:
            self._setbacks.pop(facts.key, None)
            if not self._victims.of(facts.key):
                self._preempted[facts.key] = ""
                self._rests.end(facts.key)
        each = self._open.get(facts.key)
        planned = self._core.plans.of(facts.key) is not None
        self._finish(turn, members, facts)
        if each is None:
            self._resume(turn, facts)
        elif not facts.deficit or facts.problem or not (planned or each.serves(facts.pending)):
            self._end(turn, each)
        elif facts.priority <= each.highest:  # its priority has changed since
            self._end(turn, each)
            self._line.add(each.key)
        elif each.stage is Stage.PLANNED and not planned:
            self._unbound(turn, facts, each)

    def _unbound(self, turn: Turn, facts: GroupFacts, each: UnderWay) -> None:
        """It was planned and is not bound: what was free for it stays so for a while, once."""
        if each.spent(self._victims, self._state):
            self._end(turn, each)
            self._set_back(turn, each.key)
            return
        each.unbound(turn.now + NOMINATED_SECONDS)
        nodes = [(pod, node) for pod in facts.pending if (node := each.nodes.get(pod.uid))]
        self._claim(facts, nodes, turn.now, each.until)

    def _resume(self, turn: Turn, facts: GroupFacts) -> None:
        """Go on with what somebody had begun who nominated pending pods before we saw them."""
        nodes = [
            (pod, pod.nominated)
            for pod in facts.pending
            if pod.nominated and pod.uid not in self._known
        ]
        if not nodes or facts.problem or not facts.deficit:
            return
        found = begun(self._state, self._groups, facts, {node for _, node in nodes})
        victims = {
            group: Leavers(pods, needed=True, minimum=frozenset(pod.uid for pod in pods))
            for group, pods in found.items()
        }
        for group in victims:  # of a broken gang all leave, wherever the preemptor is placed
            members = self._groups.get(group)
            if members is not None:
                self._finish(turn, members, self._groups.facts(members))
        each = self._open[facts.key] = UnderWay(
            facts.key,
            {pod.uid: node for pod, node in nodes},
            victims,
            facts.priority - 1,
            by=named_preemptor(facts),
            why=why_of(self._groups.profile(facts)),
        )
        if not victims:
            each.free(turn.now + NOMINATED_SECONDS)
        self._claim(facts, nodes, turn.now, each.until)
        self._start(each)

    def _finish(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """Have the rest of a gang leave of which we, or an earlier leader, have evicted some.

        All of a unit have the condition before the first of them leaves.
        """
        if members.solo or not facts.deficit or self._victims.of(facts.key) is not None:
            return
        rest = [pod for pod in members.bound if pod.preempted and pod.uid not in self._known]
        if rest:
            self._known.update(pod.uid for pod in rest)
            self._rests.add(facts.key, rest)
        left = self._rests.take(facts.key, members.bound, turn.now)
        if left:
            self._victims.choose(rest_of_gang(facts.key, left))

    def _remember(self, members: Members) -> None:
        """Take from the status, the first time, who preempted a group before this process."""
        memory = members.group.memory if members.group is not None else None
        if memory is not None and memory.incarnation == members.incarnation:
            self._preempted.setdefault(members.key, memory.preempted)

    def planned(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """It is placed, where it was to go or elsewhere: who was not told stays.

        Nothing is claimed while the plan reserves it.
        """
        del members
        self._forget(facts.key)
        each = self._open.get(facts.key)
        if each is not None:
            each.planned()
            each.ends(self._victims, self._counted_on(each))
            self._release(turn, each)

    def _end(self, turn: Turn, each: UnderWay) -> None:
        del self._open[each.key]
        each.ends(self._victims, self._counted_on(each))
        self._release(turn, each)

    def _counted_on(self, each: UnderWay) -> set[PodUID]:
        """The victims that others wait for."""
        others = (other for other in self._open.values() if other is not each)
        return {uid for other in others for uid in other.counts_on}

    def _release(self, turn: Turn, each: UnderWay) -> None:
        turn.happened += self._state.release(self._state.claims.of(PREEMPTION, each.key))
        turn.change(each.key)

    def forget(self, turn: Turn, members: Members) -> None:
        """A group is gone: nobody gives way to it."""
        key = members.key
        self._forget(key)
        self._setbacks.pop(key, None)
        self._preempted.pop(key, None)
        self._rests.end(key)
        self._known = {uid for uid in self._known if uid in self._state.pods}
        each = self._open.get(key)
        if each is not None:
            self._end(turn, each)
            turn.changed.pop(key, None)

    def _forget(self, key: GroupKey) -> None:
        self._line.discard(key)
        self._tried.pop(key, None)

    def deadline(self) -> float | None:
        """When victims are looked for that were put off, or a nomination is over."""
        times = [each.until for each in self._open.values()]
        times += [self._line.deadline(), self._rests.deadline()]
        times += [time for each in self._setbacks.values() for time in each.deadlines()]
        if self._line:
            times.append(self._effort.ready())
        return min(times, default=None)
