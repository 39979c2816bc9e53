# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemptions: which pods are evicted for which group, until that group is placed.

::

    nothing fits ──search──► victims chosen, the capacity reserved ──► victims leave ──► placed
                   │            │ capacity elsewhere: victims not yet told stay
                   │            └ a victim hangs: the reservation ends, and others may be chosen
                   └ no eviction helps: reported

Capacity is reserved against every group later in the order before the first victim is told, so that
none takes what becomes free piece by piece (semantics §10.3).
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from enbloc.engine.core import Core
from enbloc.engine.effects import AskExtender
from enbloc.engine.policies.policy import Policy
from enbloc.engine.policies.preemptions.begun import (
    all_chosen,
    awaited,
    begun,
    leaves_without_minimum,
)
from enbloc.engine.policies.preemptions.leavers import Leavers, leavers_of
from enbloc.engine.policies.preemptions.open_preemptions import OpenPreemptions
from enbloc.engine.policies.preemptions.preempted_by import PreemptedBy
from enbloc.engine.policies.preemptions.preemptor_queue import PreemptorQueue
from enbloc.engine.policies.preemptions.reserving import Reserver, ToBeFree
from enbloc.engine.policies.preemptions.rests import Rests
from enbloc.engine.policies.preemptions.setbacks import AllSetbacks
from enbloc.engine.policies.preemptions.under_way import (
    HANG_SECONDS,
    Stage,
    UnderWay,
    in_vain,
    named_preemptor,
    rest_of_gang,
    why_of,
)
from enbloc.engine.preemption import (
    EvictionCounts,
    LookedAt,
    NodeCandidates,
    PlacesOnceGone,
    Preemption,
    Protection,
    Searched,
    StepAccount,
    VictimCandidates,
    could_go,
    no_victims,
    of_kueue,
    preempt_for_pod,
    preempting,
    search,
    unit_name,
)
from enbloc.engine.queue import QueuePlace
from enbloc.engine.state import PREEMPTION, Run
from enbloc.engine.tally import CALLED_UP
from enbloc.engine.trial import Trial
from enbloc.engine.turn import Departure, Turn
from enbloc.framework import decide
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.framework.status import Diagnosis
from enbloc.ledgers import ledgers_of
from enbloc.model.budgets import Budgets
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID
from enbloc.model.times import time_text

#: How long (seconds) nodes are reserved that a pod was nominated for before this process saw it, or
#: where its plan failed.
NOMINATED_SECONDS: Final = 300.0
#: Receives a search, and the cluster as it saw it, before anything is done about it.
Noting = Callable[[Trial, Searched], None]

_NEVER: Final = "preemption: not eligible due to preemptionPolicy=Never."
_TERMINATING: Final = "preemption: not eligible due to a terminating pod on the nominated node."


@dataclass(slots=True)
class _Tried:
    """The result of looking for victims for one group.

    Attributes:
        since: when it first found no node, engine clock; None = another reason kept it so far.
        said: the message of the last search.
        nowhere: with "", a pod without a group for which the last search found no victims.
    """

    since: float | None = None
    said: str = ""
    nowhere: Mapping[PodUID, str] = field(default_factory=dict[PodUID, str])


class Preemptions(Policy):
    """Evicts pods of lower priority for groups that fit nowhere.

    Args:
        core: what is known of the cluster.
        to_be_free: returns what must be free for a group before it may start.
    """

    def __init__(self, core: Core, to_be_free: ToBeFree) -> None:
        self._core, self._state, self._groups = core, core.state, core.groups
        self._victims, self._reporter, self._tally = core.victims, core.reporter, core.tally
        self._open = OpenPreemptions()
        self._setbacks = AllSetbacks(core.groups)
        #: By group that found no node, until it is planned or has no pending pods.
        self._tried: dict[GroupKey, _Tried] = {}
        #: Groups to be tried again once there is effort left.
        self._line = PreemptorQueue()
        self._effort = StepAccount()
        self._limits, self._evictions = core.settings.preemption, EvictionCounts()
        self._preempted = PreemptedBy(core)
        #: Pods that this process has nominated, chosen, or seen nominated; and how many were left
        #: when those that are gone were last forgotten.
        self._known, self._left = set[PodUID](), 0
        self._rests = Rests(core.state, core.groups, core.victims)
        self._reserver = Reserver(core, self._trial, to_be_free)

    def nominated(self, group: GroupKey) -> Mapping[PodUID, str]:
        """Return the nodes for the pending pods of a group once its victims are gone.

        "" = none: drop any nomination of a pod without a group that no eviction helps.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/preemption/preemption.go
        Evaluator.Preempt.
        """
        found = self._open.of(group)
        if found is not None:
            return found.nodes
        tried = self._tried.get(group)
        return tried.nowhere if tried is not None else {}

    def preempted(self, group: GroupKey) -> str:
        """Return who preempted members of a group since it was last placed; "" = nobody."""
        return self._preempted.get(group, "")

    def try_later(self, group: GroupKey, until: float) -> None:
        """Look for no victims for a group before a time, then try it again."""
        self._line.later(group, until)
        self._line.tried(group)

    def seek_again(self) -> Collection[GroupKey]:
        """Look again for victims for all that found no node; return these groups."""
        for group in self._tried:
            self._line.add(group)
        return self._tried.keys()

    # ── the choice ───────────────────────────────────────────────────────────────────────────

    def tried(
        self,
        turn: Turn,
        facts: GroupFacts,
        profile: Profile,
        diagnosis: Diagnosis,
        place: PlacesOnceGone,
        note: Noting,
    ) -> str | None:
        """Evict others for a group that fits nowhere, if that is allowed and helps.

        Args:
            turn: receives what to do.
            facts: the group.
            profile: its own.
            diagnosis: why it, or its first member, finds no node.
            place: tries to place it.
            note: receives the result of a search.

        Returns:
            What to add to the reason for which it waits; "" = nothing, None = extenders are asked
            first, whose answers bring it back.

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
        helps = candidates and not diagnosis.message  # otherwise evictions do not help
        if helps and not self._effort.left(turn.now):
            self._line.add(facts.key)
            return tried.said
        self._line.tried(facts.key)
        under_way = self._open.of(facts.key)
        if under_way is not None:  # the victims are gone, but that is not enough
            self._end(turn, under_way)
            if under_way.victims or under_way.placed:
                self._setbacks.add(facts.key, turn.now)
                self._line.add(facts.key)
                return self._setbacks.pause(facts.key, turn.now)
        if not helps:
            tried.nowhere = {pod.uid: "" for pod in facts.pending if facts.solo}
            return no_victims(diagnosis) if facts.solo else ""
        found, ask = self._search(turn, facts, profile, plugin, candidates, place, note)
        if ask is not None:
            turn.effects.append(ask)
            self._tally.preemption_attempts -= 1  # counted with the attempt that follows
            return None
        self._preempted.disbelieves(turn, candidates)
        if found.victims:
            return self._waiting(self._begin(turn, facts, profile, found))
        # No eviction helps, or the group lacks something else.
        said = found.message
        tried.said = self._protected(turn, facts, profile, plugin, candidates, place, said)
        return tried.said

    def _protected(
        self,
        turn: Turn,
        facts: GroupFacts,
        profile: Profile,
        plugin: decide.Preempts,
        candidates: VictimCandidates,
        place: PlacesOnceGone,
        said: str,
    ) -> str:
        """Return whether protected units would help, and until when they are protected."""
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
        """Return why no victims are sought now; "" = they may be."""
        under_way = self._open.of(facts.key)
        if under_way is not None and under_way.leaving(self._state, turn.now):
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
        return self._setbacks.pause(facts.key, turn.now)

    def _waiting(self, under_way: UnderWay) -> str:
        waits, why = under_way.waits(), self._setbacks.why(under_way.key)
        return f"{waits}; {why}" if why else waits

    def candidates(self, facts: GroupFacts, now: float) -> VictimCandidates:
        """Return the units that may be evicted for a group, whatever it lacks."""
        return VictimCandidates(
            self._state,
            self._groups,
            facts,
            self._core.plans.of,
            {pod.uid for pod in self._victims.leaving()},
            self._setbacks.spared(facts.key),
            now,
            Protection(self._limits, self._evictions, self._state.pods, now),
        )

    def _search(
        self,
        turn: Turn,
        facts: GroupFacts,
        profile: Profile,
        plugin: decide.Preempts,
        candidates: VictimCandidates,
        place: PlacesOnceGone,
        note: Noting = lambda *_: None,
    ) -> tuple[Preemption, AskExtender | None]:
        """Return the victims, or what extenders must be asked first."""
        trial = self._trial(turn, facts, profile)
        if facts.group is not None and place.lacks(facts, trial.nodes):
            candidates.filling = facts.group.family
        budgets, units = self._state.budgets, LookedAt(candidates, trial.nodes, {})
        asked: AskExtender | None = None

        def choose(pod: Pod, nodes: NodeCandidates) -> Preemption:
            nonlocal asked
            if not nodes.nodes:
                self._tried[facts.key].nowhere = {pod.uid: ""}
            if candidates.lifted:  # nothing is evicted for it yet, so no extender is asked
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
        """Return the cluster as a group may see it."""
        ledgers = self._core.plans.ledgers(profile)
        return self._core.trials.trial(profile, facts, turn.now, ledgers, keep=False)

    def _awaited(self, turn: Turn, facts: GroupFacts, profile: Profile) -> bool:
        """Whether pods that were told to leave for this group are terminating.

        Not where a preemption of this process has ended: its nominations are withdrawn, though pods
        may show them for a while.
        """
        pending = {pod.uid for pod in facts.pending}
        if facts.key not in self._open and not self._known.isdisjoint(pending):
            return False
        waiting = awaited(self._state, self._groups, facts, self._setbacks.spared(facts.key))
        return bool(waiting) and could_go(waiting, self._trial(turn, facts, profile))

    # ── starting it ──────────────────────────────────────────────────────────────────────────

    def _begin(
        self, turn: Turn, facts: GroupFacts, profile: Profile, found: Preemption
    ) -> UnderWay:
        """Reserve the capacity, then start the evictions."""
        victims = leavers_of(found, Budgets(self._state.budgets))
        leaving = chain.from_iterable(some.pods for some in victims.values())
        planned = [unit for unit in found.victims if unit.planned]
        each = UnderWay(
            facts.key,
            {pod.uid: node for pod, node in found.nodes},
            victims,
            min(facts.priority - 1, max(unit.priority for unit in found.victims)),
            by=named_preemptor(facts),
            why=why_of(profile),
            held=ledgers_of(self._state.nodes).leaving(leaving),
            given_up=frozenset(pod.uid for unit in planned for pod in unit.pods),
        )
        self._reserver.reserve(turn, facts, found.nodes, found.victims)
        self._start(each)
        for unit in planned:  # nothing of it was sent: drop the plan, evict nothing
            self._core.plans.withdraw(unit.group, turn)
            self._preempted.given_up(turn, unit, each)
        if not victims:
            self._free(each, turn.now)
            self._line.add(facts.key)
        pods = [pod for unit in found.victims for pod in unit.pods]
        self._tally.preemption_victims.append(float(len(pods)))
        self._preempted.preempting(turn, facts, pods)
        return each

    def _start(self, each: UnderWay) -> None:
        self._open.add(each)
        self._known.update(each.nodes, (pod.uid for pod in each.pods))
        each.start(self._victims)

    # ── following it ─────────────────────────────────────────────────────────────────────────

    def expire(self, turn: Turn) -> None:
        """Process victims that leave or will not go; resume searches that were put off."""
        self._evictions.expire(turn.now)
        for departure in turn.departures:
            if departure.by:
                self._leaves(turn, departure)
        self._rests.expire(turn)
        self._try_again(turn)
        lost = turn.lost_nodes() if self._open else set[str]()
        self._open.refused(turn)
        for each in self._open.concerned(turn, lost):
            self._look(turn, each, lost)

    def _leaves(self, turn: Turn, departure: Departure) -> None:
        """Record that a victim certainly leaves; count once for all that leave together."""
        run = self._groups.get(departure.group)
        lone = run is None or run.solo
        if self._preempted.leaves(turn, departure) and (lone or departure.whole):
            self._evictions.note(unit_name(departure.pod, None if lone else run), turn.now)
            self._tally.preempted_gangs += not lone and len(departure.together) > 1
        if run is not None or of_kueue(departure.group):
            self._rests.leave(departure, turn.now)

    def _try_again(self, turn: Turn) -> None:
        """Let one group be tried again."""
        self._line.expire(turn.now, self._is_settling)
        for key in self._setbacks.expire(turn.now, self._state):
            self._line.add(key)
        if self._line and self._effort.left(turn.now):
            key = self._line.call()
            item = self._core.queue.get(key)
            if item is not None and item.place in (QueuePlace.WAITING, QueuePlace.BACKOFF):
                self._core.queue.activate(item, CALLED_UP)
            else:
                self._line.discard(key)

    def _is_settling(self, group: GroupKey) -> bool:
        """Whether a group is being bound, or some of it is to leave and does not terminate yet."""
        return self._core.plans.of(group) is not None or self._victims.staying(group) > 0

    def _look(self, turn: Turn, each: UnderWay, lost: set[str]) -> None:
        """Check which victims are gone, and which will not go."""
        stuck = each.look(turn, self._victims, self._state, lost)
        if each.times(self._victims):
            self._line.add(each.key)  # so that it is reported
        if stuck:
            self._end(turn, each)
            self._setbacks.add(each.key, turn.now, stuck)
            self._line.add(each.key)
        elif each.until <= turn.now:  # they are gone, or another scheduler nominated it
            self._end(turn, each)
            if each.failed:
                self._setbacks.add(each.key, turn.now)
            self._line.add(each.key)
        elif not each.victims.keys().isdisjoint(turn.released):
            turn.change(each.key)
            if each.stage is Stage.LEAVING and not each.holds(self._state):
                self._free(each, turn.now)

    def _free(self, each: UnderWay, now: float) -> None:
        each.free(now + HANG_SECONDS)
        self._open.timed(each)

    def review(self, turn: Turn, run: Run, facts: GroupFacts) -> None:
        """End reservations that nobody needs; reserve for nominations from before this process."""
        self._remember(run)
        if not facts.pending:
            self._tried.pop(facts.key, None)
        self._setbacks.review(facts)
        if not facts.deficit and not self._victims.staying(facts.key):
            self._preempted[facts.key] = ""
            if run.group is not None:  # otherwise its minimum is not known
                self._rests.end(facts.key)
        each = self._open.of(facts.key)
        planned = self._core.plans.of(facts.key) is not None
        self._finish(turn, run, facts)
        if each is None:
            self._resume(turn, facts)
        elif in_vain(facts) or not (planned or each.serves(facts.pending)):
            self._end(turn, each)
        elif facts.priority <= each.highest:  # its priority has changed
            self._end(turn, each)
            self._line.add(each.key)
        elif each.stage is Stage.PLANNED and not planned:
            self._unbound(turn, facts, each)
        else:
            self._reserver.reduce(turn, facts, each)
        self._open.limit(facts, turn.now)

    def _unbound(self, turn: Turn, facts: GroupFacts, each: UnderWay) -> None:
        """Keep the nodes of a plan that came to nothing reserved for a while, once."""
        if each.spent(self._victims, self._state):
            self._end(turn, each)
            self._setbacks.add(each.key, turn.now)
            return
        each.unbound(turn.now + NOMINATED_SECONDS)
        self._open.timed(each)
        nodes = [(pod, node) for pod in facts.pending if (node := each.nodes.get(pod.uid))]
        self._reserver.reserve_again(turn, facts, nodes, each)

    def _resume(self, turn: Turn, facts: GroupFacts) -> None:
        """Continue a preemption whose nominations precede this process's view of the pods."""
        nodes = [
            (pod, pod.nominated)
            for pod in facts.pending
            if pod.nominated and pod.uid not in self._known
        ]
        if not nodes or in_vain(facts):
            return
        found = begun(self._state, self._groups, facts, {node for _, node in nodes})
        victims = {
            group: Leavers(pods, needed=True, minimum=frozenset(pod.uid for pod in pods))
            for group, pods in found.items()
        }
        for group in victims:  # a broken gang leaves whole, wherever the preemptor is placed
            run = self._groups.get(group)
            if run is not None:
                self._finish(turn, run, self._groups.facts(run))
        each = UnderWay(
            facts.key,
            {pod.uid: node for pod, node in nodes},
            victims,
            facts.priority - 1,
            by=named_preemptor(facts),
            why=why_of(self._groups.profile(facts)),
            held=ledgers_of(self._state.nodes).leaving(chain.from_iterable(found.values())),
        )
        if not victims:
            each.free(turn.now + NOMINATED_SECONDS)
        if any(pod.spec.holds for pod, _ in nodes):
            each.unclear = turn.now + HANG_SECONDS
            self._line.later(each.key, each.unclear)
        self._reserver.reserve_again(turn, facts, nodes, each)
        self._start(each)

    def _finish(self, turn: Turn, run: Run, facts: GroupFacts) -> None:
        """Evict the rest of a gang of which this or an earlier leader has evicted a part.

        All pods of a unit get the condition before the first of them leaves.
        """
        if run.solo or self._victims.staying(facts.key):
            return
        if not (facts.deficit or facts.key in self._rests or leaves_without_minimum(run)):
            return
        rest = [pod for pod in run.bound if pod.preempted and pod.uid not in self._known]
        if rest and all_chosen(run.bound, self._known):
            self._known.update(pod.uid for pod in rest)
            self._rests.add(facts.key, rest)
        left = self._rests.take(facts.key, run.bound, turn.now)
        if left:
            self._victims.choose(rest_of_gang(facts.key, left))

    def _remember(self, run: Run) -> None:
        """Read from the status, once, who preempted a group before this process started."""
        memory = run.group.memory if run.group is not None else None
        if memory is not None and memory.run_name == run.run_name:
            self._preempted.setdefault(run.key, memory.preempted)

    def planned(self, turn: Turn, run: Run, facts: GroupFacts) -> None:
        """End the evictions of a group that is placed: victims not yet told stay.

        Nothing is reserved while the plan reserves the capacity.
        """
        del run
        self._forget(facts.key)
        each = self._open.of(facts.key)
        if each is not None:
            each.planned()
            self._open.timed(each)
            self._release(turn, each)

    def _end(self, turn: Turn, each: UnderWay) -> None:
        self._open.drop(each)
        self._release(turn, each)

    def _release(self, turn: Turn, each: UnderWay) -> None:
        each.ends(turn, self._victims, lambda uid: self._open.others_count_on(uid, each))
        self._open.mark(each.victims)
        turn.happened += self._state.release(self._state.reservations.of(PREEMPTION, each.key))
        turn.change(each.key)

    def forget(self, turn: Turn, run: Run) -> None:
        """End the preemption for a group that is gone."""
        key = run.key
        self._forget(key)
        self._setbacks.end(key)
        self._preempted.pop(key, None)
        self._rests.end(key)
        if len(self._known) > 2 * self._left:
            self._known = {uid for uid in self._known if uid in self._state.pods}
            self._left = len(self._known)
        each = self._open.of(key)
        if each is not None:
            self._end(turn, each)
            turn.changed.pop(key, None)

    def _forget(self, key: GroupKey) -> None:
        self._line.discard(key)
        self._tried.pop(key, None)

    def deadline(self) -> float:
        """Return when to resume a search for victims, or when a nomination ends."""
        return min(
            self._open.deadline(),
            self._line.deadline(),
            self._rests.deadline(),
            self._setbacks.deadline(),
            self._effort.ready() if self._line else math.inf,
        )
