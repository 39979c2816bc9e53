# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Candidates: everybody whose priority is lower than a preemptor's, as units."""

import math
from collections.abc import Callable, Container, Iterable, Sequence
from functools import lru_cache

import numpy as np

from enbloc.engine.preemption.protection import Protection, is_system
from enbloc.engine.preemption.units import Unit
from enbloc.engine.state import ClusterState, Groups, Members, solo_key
from enbloc.framework.facts import Floor, Lacking
from enbloc.model.amounts import sums
from enbloc.model.groups import GroupKey
from enbloc.model.names import KUEUE_GROUP_KEY
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.model.times import CLOCK_ERROR


class Candidates:
    """The units of lower priority than one group's, found as they are asked for.

    Pods that are planned and not bound yet are none, nor are static ones, which their kubelet
    alone can end, and those of Kubernetes' own classes whose priority is not lower.

    Args:
        state: the cluster.
        groups: whose pods they are.
        key: the preemptor, which is no candidate.
        priority: only units below this.
        busy: whether a group is being bound; it is no candidate until that is over.
        spared: pods that are not to be chosen: their evictions came to nothing.
        now: the engine's clock.
        protection: says until when a unit may not be evicted, and which limits there are.

    Attributes:
        lifted: those that are protected are candidates too.
        protected: somebody was left out for that.
        disbelieved: pods and groups whose last checkpoint is no time that has passed.
    """

    def __init__(
        self,
        state: ClusterState,
        groups: Groups,
        key: GroupKey,
        priority: int,
        busy: Callable[[GroupKey], bool],
        spared: Container[PodUID],
        now: float,
        protection: Protection,
    ) -> None:
        self._state, self._groups = state, groups
        self._key, self._priority = key, priority
        self._busy, self._spared, self._now = busy, spared, now
        self._protection, self._most_work = protection, protection.limits.most_work
        self.lifted = self.protected = False
        self.disbelieved: dict[PodUID | GroupKey, Pod | Members] = {}
        self._of_group: dict[GroupKey, Sequence[Unit]] = {}
        self._shares = _Shares(state.nodes)
        self._uids = state.placed.uids
        lower = np.flatnonzero(state.placed.priority < priority)
        rows = state.placed.row[lower]
        order = np.argsort(rows, kind="stable")
        #: Places of the table of placed pods, by row; and the rows, both in the order of rows.
        self._places, self._rows = lower[order], rows[order]

    def __bool__(self) -> bool:
        """There may be some."""
        return bool(len(self._places))

    def on(self, row: int) -> Sequence[Unit]:
        """Those with pods on one row of the node table."""
        first, last = np.searchsorted(self._rows, (row, row + 1))
        return self._units(self._places[first:last].tolist())

    def everywhere(self) -> Sequence[Unit]:
        """All of them."""
        return self._units(self._places.tolist())

    def _units(self, places: Iterable[int]) -> Sequence[Unit]:
        found: dict[Unit, None] = {}
        for place in places:
            uid = self._uids[place]
            pod = self._state.pods.get(uid)
            if pod is None or not pod.node or not self._may_go(pod):
                continue
            key = self._groups.key_of(uid)
            members = self._groups.get(key) if key is not None else None
            if members is None or members.solo:
                found.update(dict.fromkeys(self._alone(pod)))
            elif pod.deleting:  # it goes by itself, and is no part of the gang any more
                found[self._unit(members.key, (pod,), pod.priority)] = None
            else:
                found.update(dict.fromkeys(self._of_members(members)))
        if self.lifted:
            return tuple(found)
        free = tuple(unit for unit in found if unit.protected <= self._now)
        self.protected |= len(free) < len(found)
        return free

    def _may_go(self, pod: Pod) -> bool:
        return not pod.mirror and pod.uid not in self._spared

    def _alone(self, pod: Pod) -> Sequence[Unit]:
        """A pod that is in no group that we place; with those that Kueue admitted with it."""
        name = next((value for key, value in pod.labels if key == KUEUE_GROUP_KEY), "")
        key = GroupKey(pod.key.namespace, f"kueue/{name}") if name else solo_key(pod)
        if key not in self._of_group:
            pods = self._of_kueue(pod.key.namespace, name) if name else (pod,)
            protected = max(map(self._protection.of_pod, pods))
            priority = min(each.priority for each in pods)
            unit = self._unit(key, pods, priority, gang=len(pods) > 1, protected=protected)
            able = priority < self._priority and all(map(self._may_go, pods))
            self._of_group[key] = (unit,) if able else ()
        return self._of_group[key]

    def _of_kueue(self, namespace: str, name: str) -> tuple[Pod, ...]:
        """The pods with nodes that Kueue knows as one group, the oldest first."""
        selector = Selector((Requirement(KUEUE_GROUP_KEY, Operator.IN, (name,)),))
        placed = self._state.placed
        mask = placed.matches(selector) & placed.in_namespaces({namespace})
        pods = (self._state.pods.get(self._uids[at]) for at in np.flatnonzero(mask).tolist())
        found = [pod for pod in pods if pod is not None and pod.node]
        return tuple(sorted(found, key=lambda pod: pod.seniority))

    def _of_members(self, members: Members) -> Sequence[Unit]:
        """What a gang cannot run without, and one unit for each pod beyond that."""
        key = members.key
        if key not in self._of_group:
            self._of_group[key] = self._tiers(members)
        return self._of_group[key]

    def _tiers(self, members: Members) -> Sequence[Unit]:
        if self._busy(members.key):
            return ()
        facts = self._groups.facts(members)
        if facts.priority >= self._priority or facts.key.podgroup == self._key.podgroup:
            return ()
        bound = sorted(members.bound, key=lambda pod: pod.seniority)
        if not all(self._may_go(pod) for pod in bound) or is_system(bound, self._priority):
            return ()
        until = self._protection.runs_until(members, bound)
        lacking = Lacking([_unmet(floor) for floor in facts.floors])
        minimum, surplus = list[Pod](), list[Pod]()
        for pod in bound:
            # What another scheduler's group needs is not known where there is no PodGroup of ours.
            needed = facts.group is None or lacking.take(pod.role)
            (minimum if needed else surplus).append(pod)
        whole = None
        if minimum:
            whole = self._unit(
                facts.key,
                tuple(minimum),
                facts.priority,
                group=members,
                gang=len(minimum) > 1,
                protected=self._protection.of_gang(members, bound),
            )
        more = (
            self._unit(facts.key, (pod,), facts.priority, group=members, of=whole, protected=until)
            for pod in surplus
        )
        return (whole, *more) if whole is not None else tuple(more)

    def _unit(
        self,
        key: GroupKey,
        pods: tuple[Pod, ...],
        priority: int,
        *,
        group: Members | None = None,
        gang: bool = False,
        of: Unit | None = None,
        protected: float = -math.inf,
    ) -> Unit:
        saved = self._saved_of_group(group) if group is not None else -math.inf
        work = sum(self._shares.of(pod.spec) * self._lost(pod, saved) for pod in pods)
        return Unit(key, pods, priority, work, gang=gang, of=of, protected=protected)

    def _lost(self, pod: Pod, saved: float) -> float:
        """Seconds of work that are lost with a pod: since its start, or since it was saved."""
        if pod.started is None:
            return 0.0
        if pod.checkpointed is not None:
            saved = max(saved, self._saved(pod.checkpointed, pod.uid, pod))
        return min(max(0.0, self._now - max(pod.started, saved)), self._most_work)

    def _saved_of_group(self, members: Members) -> float:
        at = members.group.checkpointed if members.group is not None else None
        return -math.inf if at is None else self._saved(at, members.key, members)

    def _saved(self, at: float, key: PodUID | GroupKey, of: Pod | Members) -> float:
        """When work was saved; what is no time that has passed is not believed."""
        if at <= self._now + CLOCK_ERROR:
            return at
        self.disbelieved[key] = of
        return -math.inf


def _unmet(floor: Floor) -> Floor:
    """The same, as if nobody were bound."""
    return Floor(floor.role, floor.minimum, 0, 0, floor.succeeded)


class _Shares:
    """Which part of the cluster a pod requests, of the resource of which that is the most."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self.of = lru_cache(maxsize=4096)(self._share)

    def _share(self, spec: PodSpec) -> float:
        asked = dict(spec.requests)
        names = tuple(asked)
        offered = sums(self._nodes.allocatables(names))
        return max(
            (asked[name] / there for name, there in zip(names, offered, strict=True) if there),
            default=0.0,
        )
