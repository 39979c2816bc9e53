# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Candidates: everybody whose priority is lower than a preemptor's, as units."""

from collections.abc import Callable, Container, Iterable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from enbloc.engine.preemption.units import Unit
from enbloc.engine.state import ClusterState, Groups, Members, solo_key
from enbloc.framework.facts import Floor, Lacking
from enbloc.model.amounts import sums
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodSpec, PodUID

#: Of work since the start no more counts (seconds), so that nobody gains by never saving any.
MOST_WORK_SECONDS: Final = 24 * 3600.0


class Candidates:
    """The units of lower priority than one group's, found as they are asked for.

    Pods that are planned and not bound yet are none, nor are those that belong to their node.

    Args:
        state: the cluster.
        groups: whose pods they are.
        key: the preemptor, which is no candidate.
        priority: only units below this.
        busy: whether a group is being bound; it is no candidate until that is over.
        spared: pods that are not to be chosen: their evictions came to nothing.
        now: the engine's clock.
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
    ) -> None:
        self._state, self._groups = state, groups
        self._key, self._priority = key, priority
        self._busy, self._spared, self._now = busy, spared, now
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
                found[self._alone(pod)] = None
            elif pod.deleting:  # it goes by itself, and is no part of the gang any more
                found[self._unit(members.key, (pod,), pod.priority)] = None
            else:
                found.update(dict.fromkeys(self._of_members(members)))
        return tuple(found)

    def _may_go(self, pod: Pod) -> bool:
        on_its_node = pod.owner is not None and pod.owner.kind == "Node"
        return not on_its_node and pod.uid not in self._spared

    def _alone(self, pod: Pod) -> Unit:
        key = solo_key(pod)
        if key not in self._of_group:
            self._of_group[key] = (self._unit(key, (pod,), pod.priority),)
        return self._of_group[key][0]

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
        if not all(self._may_go(pod) for pod in bound):
            return ()
        lacking = Lacking([_unmet(floor) for floor in facts.floors])
        minimum, surplus = list[Pod](), list[Pod]()
        for pod in bound:
            (minimum if lacking.take(pod.role) else surplus).append(pod)
        if not minimum:
            return tuple(self._unit(facts.key, (pod,), facts.priority) for pod in surplus)
        whole = self._unit(facts.key, tuple(minimum), facts.priority, gang=len(minimum) > 1)
        more = (self._unit(facts.key, (pod,), facts.priority, of=whole) for pod in surplus)
        return (whole, *more)

    def _unit(
        self,
        key: GroupKey,
        pods: tuple[Pod, ...],
        priority: int,
        *,
        gang: bool = False,
        of: Unit | None = None,
    ) -> Unit:
        work = sum(self._shares.of(pod.spec) * self._seconds(pod) for pod in pods)
        return Unit(key, pods, priority, work, gang=gang, of=of)

    def _seconds(self, pod: Pod) -> float:
        began = self._now if pod.started is None else pod.started
        return min(max(0.0, self._now - began), MOST_WORK_SECONDS)


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
