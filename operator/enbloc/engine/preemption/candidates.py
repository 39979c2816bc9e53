# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Candidates: all pods whose priority is lower than a preemptor's, as units."""

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from enbloc.engine.plan import Assignment
from enbloc.engine.preemption.protection import Protection, is_system
from enbloc.engine.preemption.together import admitted, floors_of, gang_of, kueue_key, parted
from enbloc.engine.preemption.units import Unit
from enbloc.engine.state import ClusterState, Groups, Run, solo_key
from enbloc.framework.facts import GroupFacts
from enbloc.model.amounts import sums
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodSpec, PodUID
from enbloc.model.times import CLOCK_ERROR

#: A pod that leaves anyway is preferred as a victim if its grace period is no longer than this
#: (seconds). Otherwise it is the most expensive of its priority (seconds of the whole cluster):
#: pods that a tenant deletes, and that take an hour, must not attract every preemptor.
_SOON: Final = 60.0
_SLOW_WORK: Final = 1e12
#: The number of units listed along with another one that costs one step.
_FOUND_A_STEP: Final = 64


class OpenPlanView(Protocol):
    """The part of an open plan that is used here."""

    @property
    def started(self) -> bool:
        """Whether a Binding of it was sent."""
        ...

    def unsent(self) -> Sequence[Assignment]:
        """Return the members for which no Binding was sent."""
        ...


class _Tiers(NamedTuple):
    """What a gang cannot run without, and one unit for each pod beyond that.

    Attributes:
        minimum: None = it is empty, or must not go.
        surplus: the units of the other pods.
    """

    minimum: Unit | None
    surplus: Mapping[PodUID, Unit]


class VictimCandidates:
    """The units of lower priority than a group, found on demand.

    Static pods are excluded, which only their kubelet can end, as are pods of Kubernetes' own
    classes whose priority is not lower, and groups that fill the minResources that the preemptor
    lacks. A plan of which no Binding was sent is given up as a whole; a group that is being bound
    is no candidate until that is over.

    Attributes:
        binding: checked groups of lower priority that are being bound.
        steps: the cost of creating the units, in steps of a search.
        away: placed pods that count as gone.
        filling: groups of this family without minResources are no candidates, as they fill what
            the preemptor lacks; "" = none do.
        lifted: protected units are candidates too.
        protected: a unit was excluded because it is protected.
        disbelieved: pods and groups whose last checkpoint is not in the past.

    Args:
        state: the cluster.
        groups: of these pods.
        facts: the preemptor, which is no candidate; only units of lower priority are.
        plan_of: returns the open plan of a group.
        leaving: pods that were told to leave, or are about to be.
        spared: pods that are not to be chosen: their evictions came to nothing.
        now: the engine's clock.
        protection: tells until when a unit may not be evicted, and the limits.
    """

    def __init__(
        self,
        state: ClusterState,
        groups: Groups,
        facts: GroupFacts,
        plan_of: Callable[[GroupKey], OpenPlanView | None],
        leaving: AbstractSet[PodUID],
        spared: Container[PodUID],
        now: float,
        protection: Protection,
    ) -> None:
        self._state, self._groups = state, groups
        self._key, self._priority = facts.key, facts.priority
        self._plan_of, self._leaving = plan_of, leaving
        self._spared, self._now = spared, now
        self._protection, self._most_work = protection, protection.limits.most_work
        self.away: Container[PodUID] = ()
        self.filling = ""
        self.lifted = self.protected = False
        self.disbelieved: dict[PodUID | GroupKey, Pod | Run] = {}
        self._lone: dict[PodUID, Unit] = {}
        self._of_kueue: dict[GroupKey, Unit | None] = {}
        self._of_group: dict[GroupKey, _Tiers] = {}
        self._of_plan: dict[GroupKey, Unit | None] = {}
        #: By member that a gang cannot run without.
        self._of_bound: dict[PodUID, Unit] = {}
        self._shares = _Shares(state.nodes)
        self._placed = state.placed.snapshot()
        #: Indices into that table: pods that may be evicted by priority alone.
        self._lower = np.flatnonzero(groups.placed_below(facts.priority, self._placed))
        self.binding: set[GroupKey] = set()
        self.steps = 0

    def __bool__(self) -> bool:
        """Whether there may be any."""
        return bool(len(self._lower))

    @cached_property
    def _by_row(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]]:
        """intp[C], int32[C]: the indices sorted by row, and these rows."""
        rows = self._placed.row[self._lower]
        order = np.argsort(rows, kind="stable")
        return self._lower[order], rows[order]

    @cached_property
    def _uids(self) -> Sequence[PodUID]:
        return self._placed.uids

    def on(self, row: int) -> Sequence[Unit]:
        """Return the units with pods on a row of the node table, and those that go with them.

        With a gang's minimum goes what the gang has beyond it, and its planned pods.
        """
        places, rows = self._by_row
        first, last = np.searchsorted(rows, (row, row + 1)).tolist()
        found: dict[Unit, None] = {}
        for unit in self._those(places[first:last]):
            found[unit] = None
            tiers = self._of_group.get(unit.group)
            if tiers is not None and unit is tiers.minimum:
                self.steps += len(tiers.surplus) // _FOUND_A_STEP
                found.update(dict.fromkeys(tiers.surplus.values()))
                planned = self._planned(unit.group)
                if planned is not None:
                    found[planned] = None
        return tuple(found)

    def everywhere(self) -> Sequence[Unit]:
        """Return all units."""
        return self._those(self._by_row[0])

    def _those(self, places: npt.NDArray[np.intp]) -> Sequence[Unit]:
        """Return the evictable units of some indices."""
        self.steps += len(places)
        uids = self._uids
        found = dict.fromkeys([self._unit_of(uids[place]) for place in places.tolist()])
        return tuple(unit for unit in found if unit is not None and self._may_be_evicted(unit))

    def _unit_of(self, uid: PodUID) -> Unit | None:
        """Return the unit with which a pod goes; None = it stays."""
        known = self._of_bound.get(uid)
        if known is not None:
            return known
        pod = self._state.pods.get(uid)
        if pod is None:
            return None
        if not pod.node:
            reserved = self._state.reservations.plans.get(uid)
            return (
                self._planned(reserved.holder) if reserved is not None and reserved.holder else None
            )
        if uid in self.away or not self._may_go(pod):
            return None
        run = gang_of(self._groups, uid)
        if run is None:
            return self._alone(pod)
        if pod.deleting:  # it leaves by itself, and is no longer part of the gang
            return self._unit(run.key, (pod,), pod.priority)
        tiers = self._of_run(run)
        return tiers.surplus.get(uid, tiers.minimum)

    def _may_be_evicted(self, unit: Unit) -> bool:
        free = self.lifted or unit.protected <= self._now
        self.protected |= not free
        return free

    def _may_go(self, pod: Pod) -> bool:
        return not pod.mirror and pod.uid not in self._spared

    def _alone(self, pod: Pod) -> Unit | None:
        """Return a pod of no group of this scheduler, with those that Kueue admitted with it."""
        key = kueue_key(pod)
        if key is not None:
            if key not in self._of_kueue:
                pods = admitted(key, self._placed, self._uids, self._state, self._groups)
                left = tuple(each for each in pods if each.uid not in self.away)
                self._of_kueue[key] = self._kueue(key, left)
            return self._of_kueue[key]
        unit = self._lone.get(pod.uid)
        if unit is None:
            until = self._protection.of_pod(pod)
            unit = self._unit(solo_key(pod), (pod,), pod.priority, protected=until)
            self._lone[pod.uid] = unit
        return unit

    def _kueue(self, key: GroupKey, pods: tuple[Pod, ...]) -> Unit | None:
        priority = min(pod.priority for pod in pods)
        if priority >= self._priority or not all(map(self._may_go, pods)):
            return None
        # A pod that is new among them, or terminates by itself, does not affect the others.
        staying = [pod for pod in pods if not pod.deleting]
        until = min(map(self._protection.of_pod, staying or pods))
        return self._unit(key, pods, priority, gang=len(pods) > 1, protected=until)

    def _of_run(self, run: Run) -> _Tiers:
        key = run.key
        tiers = self._of_group.get(key)
        if tiers is None:
            tiers = self._of_group[key] = self._tiers(run)
        return tiers

    def _tiers(self, run: Run) -> _Tiers:
        key, priority = run.key, self._groups.priority(run)
        bound = [pod for pod in run.bound if pod.uid not in self.away]
        if not self._is_below(run, priority) or self._is_bound_now(key):
            return _Tiers(None, {})
        if self._leaves_in_part(run, bound) or not all(map(self._may_go, bound)):
            return _Tiers(None, {})
        if is_system(bound, self._priority):
            return _Tiers(None, {})
        minimum, surplus = parted(bound, floors_of(run))
        until = self._protection.runs_until(run, bound) if surplus else -math.inf
        whole = None
        if minimum:
            whole = self._unit(
                key,
                tuple(minimum),
                priority,
                run=run,
                gang=len(minimum) > 1,
                protected=self._protection.of_gang(run, bound),
            )
            self._of_bound.update(dict.fromkeys([pod.uid for pod in minimum], whole))
        more = {
            pod.uid: self._unit(key, (pod,), priority, run=run, of=whole, protected=until)
            for pod in surplus
        }
        return _Tiers(whole, more)

    def _leaves_in_part(self, run: Run, bound: Sequence[Pod]) -> bool:
        """Whether a part of the pods is leaving: the rest is no candidate until that is over."""
        told = sum(pod.uid in self._leaving for pod in bound)
        if not 0 < told < len(bound):
            return False
        self.binding.add(run.key)
        return True

    def _planned(self, key: GroupKey) -> Unit | None:
        """Return a plan of which nothing was sent: it is given up whole, and nothing is evicted."""
        if key not in self._of_plan:
            self._of_plan[key] = self._of_unsent(key)
        return self._of_plan[key]

    def _of_unsent(self, key: GroupKey) -> Unit | None:
        run, open_plan = self._groups.get(key), self._plan_of(key)
        if run is None or open_plan is None:
            return None
        priority = self._groups.priority(run)
        if not self._is_below(run, priority) or self._is_bound_now(key):
            return None
        seats = (self._state.seat(each.pod.uid) for each in open_plan.unsent())
        pods = tuple(replace(seat.pod, node=seat.node) for seat in seats if seat is not None)
        return Unit(key, pods, priority, of=self._of_run(run).minimum, planned=True)

    def _is_below(self, run: Run, priority: int) -> bool:
        if priority >= self._priority or run.key.podgroup == self._key.podgroup:
            return False
        group = run.group  # what it would free, the preemptor would want as well
        fills = group is not None and not group.min_resources and group.family == self.filling
        return not (self.filling and fills)

    def _is_bound_now(self, key: GroupKey) -> bool:
        open_plan = self._plan_of(key)
        if open_plan is None or not open_plan.started:
            return False
        self.binding.add(key)
        return True

    def _unit(
        self,
        key: GroupKey,
        pods: tuple[Pod, ...],
        priority: int,
        *,
        run: Run | None = None,
        gang: bool = False,
        of: Unit | None = None,
        protected: float = -math.inf,
    ) -> Unit:
        saved = self._saved_of_group(run) if run is not None else -math.inf
        work = sum([self._shares.of(pod.spec) * self._lost(pod, saved) for pod in pods])
        leaving = pods[0].deleting or pods[0].uid in self._leaving
        leaving = leaving and all(pod.deleting or pod.uid in self._leaving for pod in pods)
        soon = leaving and all(pod.grace <= _SOON for pod in pods)
        if leaving and not soon:
            work = _SLOW_WORK
        return Unit(
            key, pods, priority, work, gang, of, protected=protected, leaving=leaving, soon=soon
        )

    def _lost(self, pod: Pod, saved: float) -> float:
        """Return the seconds of work that are lost with a pod: since its start or last save."""
        if pod.started is None:
            return 0.0
        if pod.checkpointed is not None:
            saved = max(saved, self._saved(pod.checkpointed, pod.uid, pod))
        return min(max(0.0, self._now - max(pod.started, saved)), self._most_work)

    def _saved_of_group(self, run: Run) -> float:
        at = run.group.checkpointed if run.group is not None else None
        return -math.inf if at is None else self._saved(at, run.key, run)

    def _saved(self, at: float, key: PodUID | GroupKey, of: Pod | Run) -> float:
        """Return when work was saved; a time that is not in the past is ignored."""
        if at <= self._now + CLOCK_ERROR:
            return at
        self.disbelieved[key] = of
        return -math.inf


class _Shares:
    """The part of the cluster that a pod requests, of the resource where it is largest."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        #: By identity of the class, which compares much faster than the class.
        self._known: dict[int, tuple[PodSpec, float]] = {}
        self._offered: dict[str, int] = {}

    def of(self, spec: PodSpec) -> float:
        """Return the share for pods of a class, 0 to 1 if it fits."""
        known = self._known.get(id(spec))
        if known is None:
            known = self._known[id(spec)] = spec, max(self._each(spec.requests), default=0.0)
        return known[1]

    def _each(self, requests: Iterable[tuple[str, int]]) -> Iterable[float]:
        for name, asked in requests:
            if name not in self._offered:
                (self._offered[name],) = sums(self._nodes.allocatables((name,)))
            if self._offered[name]:
                yield asked / self._offered[name]
