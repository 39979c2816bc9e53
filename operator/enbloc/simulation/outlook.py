# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Outlook: a cluster as it is, and what becomes of who waits in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Protocol, TypeVar

from enbloc.engine.events import Event, FactSeen, PodSeen
from enbloc.ledgers import made_again
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.simulation.cluster import GivenUpError, GoOn, Present, SimulatedCluster
from enbloc.simulation.estimates import Start, estimates
from enbloc.simulation.explanation import Explanation, explain
from enbloc.simulation.node_shapes import NodeShape, shapes
from enbloc.simulation.remedies import Result, outcome
from enbloc.simulation.waiting import Waiting, group_of, members_waiting, of_node, queue

T = TypeVar("T")


class InCopy(Protocol):
    """Does something in a copy of this process, and forgets what it changes."""

    def __call__(self, work: Callable[[], T], /) -> T:
        """What `work` returns."""
        ...


class Outlook:
    """What the scheduler would do with a cluster as it is.

    Args:
        present: the cluster.
        in_copy: how changes are tried; None = on a cluster that is made anew for each, which takes
            as long as this does.
        go_on: whether there is time left for more than who waits and why.

    Attributes:
        rows: who waits, in the order in which they are decided.
        pods: all pods, as they are.
        groups: the keys of all PodGroups.
        schedulers: the names that pods of ours write.
        now: server time, seconds since the epoch.
    """

    def __init__(
        self, present: Present, in_copy: InCopy | None = None, go_on: GoOn = lambda: True
    ) -> None:
        self._present = present
        self._go_on = go_on
        self._in_copy = in_copy
        cluster = SimulatedCluster(present)
        self.schedulers = tuple(present.profiles)
        self.now = present.now
        self.pods = tuple(cluster.pods.values())
        self.groups = tuple(cluster.groups)
        waiting = members_waiting(self.pods, self.schedulers)
        self._settled = cluster.settle()
        self._settled.go_on = go_on
        self.rows = tuple(queue(self._settled, waiting))

    def starts(self) -> Mapping[GroupKey, Start]:
        """When those start that do not now, as far as the ends of others can be told."""
        waiting = [
            row.key for row in self.rows if not row.starts and row.reason is not Reason.INFEASIBLE
        ]
        if not waiting:
            return {}

        def work(cluster: SimulatedCluster) -> Mapping[GroupKey, Start]:
            return estimates(cluster, waiting)

        try:
            return self._tried(self._present, self._settled, work)
        except GivenUpError:
            return {}

    def node_shapes(self) -> Sequence[NodeShape]:
        """The shapes of nodes, with what is free on them, and who gets it next."""
        return shapes(self._settled.nodes, self.pods, self.rows)

    def explain(self, row: Waiting) -> Explanation:
        """Why one of them waits, and with what it would start."""
        empty = alone(self._present, row)

        @cache  # only if it is asked for
        def settled_alone() -> SimulatedCluster:
            cluster = SimulatedCluster(empty).settle()
            cluster.go_on = self._go_on
            return cluster

        def now(events: Sequence[Event]) -> Result:
            return self._tried(self._present, self._settled, lambda it: _after(it, events, row.key))

        def later(events: Sequence[Event]) -> Result:
            return self._tried(empty, settled_alone(), lambda it: _after(it, events, row.key))

        return explain(self._settled, self.rows, row, now, later)

    def _tried(
        self, present: Present, settled: SimulatedCluster, work: Callable[[SimulatedCluster], T]
    ) -> T:
        """What is found on a copy of a cluster in which the scheduler has done what it could."""
        if self._in_copy is not None:
            return self._in_copy(partial(work, settled))
        return work(SimulatedCluster(present, self._go_on).settle())


def alone(present: Present, row: Waiting) -> Present:
    """The same where all pods have ended but those of one run of a group, and those of nodes."""
    runs = {pod.incarnation for pod in row.pending}
    others = {
        event.pod.uid
        for event in present.events
        if isinstance(event, PodSeen)
        and not of_node(event.pod)
        and (
            event.pod.deleting
            or group_of(event.pod) != row.key
            or event.pod.incarnation not in runs
        )
    }
    events: list[Event] = []
    for event in present.events:
        if isinstance(event, FactSeen):
            anew = made_again(event.fact, others)
            events.append(event if anew is None else FactSeen(anew))
        elif not (isinstance(event, PodSeen) and event.pod.uid in others):
            events.append(event)
    return replace(present, events=tuple(events))


def _after(cluster: SimulatedCluster, events: Sequence[Event], key: GroupKey) -> Result:
    cluster.tell(events)
    return outcome(cluster.settle(), key)
