# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Outlook: the current cluster, and what the scheduler would do for what waits in it."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from typing import Final, Protocol, TypeVar

from enbloc.engine.events import Event, FactSeen, NodeSeen, PodSeen
from enbloc.engine.plan import PlanResult
from enbloc.engine.trial import Search
from enbloc.ledgers import detached, made_again
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.simulation.cluster import GivenUpError, GoOn, PresentState, SimulatedCluster
from enbloc.simulation.estimates import Start, estimates
from enbloc.simulation.explanation import Explanation, explain
from enbloc.simulation.node_shapes import NodeShape, shapes
from enbloc.simulation.remedies import TryResult, outcome
from enbloc.simulation.waiting import CUT, Waiting, group_of, members_waiting, of_node, queue
from enbloc.simulation.what_if import WhatIfAnswer, WhatIfQuestion, answer
from enbloc.storage.facts import VolumeAttachment

T = TypeVar("T")

#: A group with such a decision has no nodes.
_REFUSED: Final = (PlanResult.UNSCHEDULABLE.value, PlanResult.INFEASIBLE.value)
#: With such a search, a refusal is proof that there is no placement.
_EXACT: Final = (Search.NONE, Search.INFEASIBLE)


class InCopy(Protocol):
    """Runs work in a copy of this process, so that its changes are discarded."""

    def __call__(self, work: Callable[[], T], /) -> T:
        """Run `work` in a copy, and return its result."""
        ...


class Outlook:
    """What the scheduler would do with the current cluster.

    Args:
        present: the cluster.
        in_copy: runs each try of a change in a copy of the process; None = build the cluster anew
            for each try, which takes as long as this constructor.
        timely: whether there is time left to find out what waits and why; once false, the rows are
            what was found by then.

    Attributes:
        rows: the waiting groups and pods, in the order in which they are decided.
        complete: whether the simulation ended; else rows may be untried, and nothing is concluded.
        pods: all pods, before the simulation.
        groups: all PodGroups, by key.
        nodes: all nodes.
        schedulers: the schedulerNames that enbloc serves.
        now: server time, seconds since the epoch.
    """

    def __init__(
        self,
        present: PresentState,
        in_copy: InCopy | None = None,
        timely: GoOn = lambda: True,
    ) -> None:
        self._present = present
        self._in_copy = in_copy
        self._go_on: GoOn = lambda: True
        cluster = SimulatedCluster(present)
        self.schedulers = tuple(present.profiles)
        self.now = present.now
        self.pods = tuple(cluster.pods.values())
        self.groups = dict(cluster.groups)
        self.nodes = tuple(cluster.nodes.values())
        waiting = members_waiting(self.pods, self.schedulers)
        self.complete = True

        def late() -> bool:
            self.complete = timely()
            return not self.complete

        self._settled = cluster.settle(done=late)
        self.rows = tuple(queue(self._settled, waiting, complete=self.complete))

    @property
    def cut(self) -> str:
        """What is missing because the time limit was reached; "" = nothing."""
        if self.complete:
            return ""
        untried = sum(row.message == CUT for row in self.rows)
        return (
            f"the simulation reached its time limit; {untried} of {len(self.rows)} waiting groups "
            "and pods were not tried, and more may start than are shown"
        )

    def within(self, go_on: GoOn) -> "Outlook":
        """The same outlook, which finds out no more than what waits once `go_on` is false."""
        other = copy(self)
        other._go_on = go_on  # noqa: SLF001  # of its own class
        return other

    def starts(self) -> Mapping[GroupKey, Start]:
        """When the groups start that do not start now, as far as the ends of others are known."""
        waiting = [
            row.key for row in self.rows if not row.starts and row.reason is not Reason.INFEASIBLE
        ]
        if not (waiting and self.complete):
            return {}
        if not any(pod.deleting or pod.limit or pod.expected for pod in self.pods):
            return {}

        def work(cluster: SimulatedCluster) -> Mapping[GroupKey, Start]:
            return estimates(cluster, waiting)

        try:
            return self._tried(self._present, self._settled, work)
        except GivenUpError:
            return {}

    def node_shapes(self) -> Sequence[NodeShape]:
        """The shapes of nodes, with what is free on them and who gets it next."""
        return shapes(self._settled.nodes, self.pods, self.rows)

    def explain(self, row: Waiting) -> Explanation:
        """Explain why one of the rows waits, and which changes would start it."""
        empty = alone(self._present, row)

        @cache  # built only if needed
        def settled_alone() -> SimulatedCluster:
            return SimulatedCluster(empty).settle()

        def now(events: Sequence[Event]) -> TryResult:
            self._conclude()
            return self._tried(self._present, self._settled, lambda it: _after(it, events, row.key))

        def later(events: Sequence[Event]) -> TryResult:
            if not events:  # the cause is worked out even without time left
                return outcome(settled_alone(), row.key)
            return self._tried(empty, settled_alone(), lambda it: _after(it, events, row.key))

        return explain(self._settled, self.rows, row, now, later)

    def answer(self, question: WhatIfQuestion) -> WhatIfAnswer:
        """Answer a what-if question.

        Raises:
            GivenUpError: there was no time left.
        """
        self._conclude()
        return answer(self._present, question, self._settled, self._go_on)

    def _conclude(self) -> None:
        """Check that a difference from the simulation is due to a change.

        Raises:
            GivenUpError: it may be due to where the simulation was cut.
        """
        if not self.complete:
            raise GivenUpError

    def _tried(
        self,
        present: PresentState,
        settled: SimulatedCluster,
        work: Callable[[SimulatedCluster], T],
    ) -> T:
        """The result of `work` on a copy of a settled cluster."""
        if self._in_copy is not None:
            return self._in_copy(partial(_within, self._go_on, settled, work))
        return work(SimulatedCluster(present, self._go_on).settle())


def _within(go_on: GoOn, settled: SimulatedCluster, work: Callable[[SimulatedCluster], T]) -> T:
    """Run `work` on a settled cluster with this time limit."""
    settled.go_on = go_on
    return work(settled)


def alone(present: PresentState, row: Waiting) -> PresentState:
    """The cluster as if all pods had ended but those of a row's run and those of DaemonSets."""
    own = {pod.owner_key for pod in row.pending}
    pods = [event.pod for event in present.events if isinstance(event, PodSeen)]
    facts = [event.fact for event in present.events if isinstance(event, FactSeen)]
    others = {
        pod.uid: pod
        for pod in pods
        if not of_node(pod)
        and (pod.deleting or group_of(pod) != row.key or pod.owner_key not in own)
    }
    known = {(fact.kind, fact.key): fact for fact in facts}
    gone = {each.key for each in detached(others.values(), pods, known)}
    events: list[Event] = []
    for event in present.events:
        if isinstance(event, FactSeen):
            if not (isinstance(event.fact, VolumeAttachment) and event.fact.key in gone):
                anew = made_again(event.fact, others.keys())
                events.append(event if anew is None else FactSeen(anew))
        elif not (isinstance(event, PodSeen) and event.pod.uid in others):
            events.append(event)
    return replace(present, events=tuple(events))


def _after(cluster: SimulatedCluster, events: Sequence[Event], key: GroupKey) -> TryResult:
    decided = _decided(cluster, events, key)
    cluster.tell(events)
    return outcome(cluster.settle(done=decided), key)


def _decided(
    cluster: SimulatedCluster, events: Sequence[Event], key: GroupKey
) -> Callable[[], bool]:
    """Whether the outcome of a group is final, though the scheduler goes on with others.

    It is final if a member has a node. A refusal is final if later decisions can only take more
    capacity: the change is about nodes only, no pod could be evicted for the group, and the search
    was exhaustive.
    """
    told = cluster.told
    before, bound = told.decided.get(key), len(told.bound)
    least = min((p.priority for p in cluster.pods.values() if p.bound), default=0)
    own = [p.priority for p in cluster.pods.values() if group_of(p) == key and not p.bound]
    nodes = all(isinstance(event, NodeSeen | FactSeen) for event in events)
    refusal_counts = nodes and max(own, default=0) <= least

    def decided() -> bool:
        now = told.decided.get(key)
        if now is None or now is before:
            return False
        if now.result in _REFUSED:
            return refusal_counts and now.search in _EXACT
        pods = (cluster.pods.get(uid) for uid in islice(told.bound, bound, None))
        return any(pod is not None and group_of(pod) == key for pod in pods)

    return decided
