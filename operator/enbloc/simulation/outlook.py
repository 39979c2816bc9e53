# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Outlook: a cluster as it is, and what becomes of who waits in it."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from typing import Final, Protocol, TypeVar

from enbloc.engine.events import Event, FactSeen, NodeSeen, PodSeen
from enbloc.engine.plan import PlanResult
from enbloc.engine.trial import Search
from enbloc.ledgers import made_again
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.simulation.cluster import GivenUpError, GoOn, Present, SimulatedCluster
from enbloc.simulation.estimates import Start, estimates
from enbloc.simulation.explanation import Explanation, explain
from enbloc.simulation.node_shapes import NodeShape, shapes
from enbloc.simulation.remedies import Result, outcome
from enbloc.simulation.waiting import Waiting, group_of, members_waiting, of_node, queue
from enbloc.simulation.what_if import Answer, Question, answer

T = TypeVar("T")

#: A group that was decided so has no nodes,
_REFUSED: Final = (PlanResult.UNSCHEDULABLE.value, PlanResult.INFEASIBLE.value)
#: and if it was found out so, there was no placement.
_EXACT: Final = (Search.NONE, Search.INFEASIBLE)


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
        wanted: asked until that is known: whether anybody wants it still.

    Attributes:
        rows: who waits, in the order in which they are decided.
        pods: all pods, as they are.
        groups: all PodGroups, by key.
        nodes: all nodes.
        schedulers: the names that pods of ours write.
        now: server time, seconds since the epoch.

    Raises:
        GivenUpError: nobody wants it any more.
    """

    def __init__(
        self,
        present: Present,
        in_copy: InCopy | None = None,
        go_on: GoOn = lambda: True,
        wanted: GoOn = lambda: True,
    ) -> None:
        self._present = present
        self._go_on = go_on
        self._in_copy = in_copy
        cluster = SimulatedCluster(present, wanted)
        self.schedulers = tuple(present.profiles)
        self.now = present.now
        self.pods = tuple(cluster.pods.values())
        self.groups = dict(cluster.groups)
        self.nodes = tuple(cluster.nodes.values())
        waiting = members_waiting(self.pods, self.schedulers)
        self._settled = cluster.settle()
        self.rows = tuple(queue(self._settled, waiting))

    def within(self, go_on: GoOn) -> "Outlook":
        """The same, which tries no more once this says that there is no time left."""
        other = copy(self)
        other._go_on = go_on  # noqa: SLF001  # of its own class
        return other

    def starts(self) -> Mapping[GroupKey, Start]:
        """When those start that do not now, as far as the ends of others can be told."""
        waiting = [
            row.key for row in self.rows if not row.starts and row.reason is not Reason.INFEASIBLE
        ]
        if not waiting or not any(pod.deleting or pod.limit or pod.expected for pod in self.pods):
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
            return SimulatedCluster(empty).settle()

        def now(events: Sequence[Event]) -> Result:
            return self._tried(self._present, self._settled, lambda it: _after(it, events, row.key))

        def later(events: Sequence[Event]) -> Result:
            if not events:  # what keeps it waiting is told in any case
                return outcome(settled_alone(), row.key)
            return self._tried(empty, settled_alone(), lambda it: _after(it, events, row.key))

        return explain(self._settled, self.rows, row, now, later)

    def answer(self, question: Question) -> Answer:
        """What would become of a question.

        Raises:
            GivenUpError: there was no time left.
        """
        return answer(self._present, question, self._settled, self._go_on)

    def _tried(
        self, present: Present, settled: SimulatedCluster, work: Callable[[SimulatedCluster], T]
    ) -> T:
        """What is found on a copy of a cluster in which the scheduler has done what it could."""
        if self._in_copy is not None:
            return self._in_copy(partial(_within, self._go_on, settled, work))
        return work(SimulatedCluster(present, self._go_on).settle())


def _within(go_on: GoOn, settled: SimulatedCluster, work: Callable[[SimulatedCluster], T]) -> T:
    """Done on a cluster that is given up once there is no time left."""
    settled.go_on = go_on
    return work(settled)


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
    decided = _Decided(cluster, events, key)
    cluster.tell(events)
    return outcome(cluster.settle(done=decided), key)


class _Decided:
    """Whether it is known what becomes of a group, though the scheduler goes on with others.

    It has a node; or it was refused, for lack of what those that are decided after it only take:
    what changes is nodes, nobody could give way to it, and no placement was left unsearched.
    """

    def __init__(self, cluster: SimulatedCluster, events: Sequence[Event], key: GroupKey) -> None:
        self._cluster, self._key = cluster, key
        self._before = cluster.told.decided.get(key)
        self._bound = len(cluster.told.bound)
        least = min((p.priority for p in cluster.pods.values() if p.bound), default=0)
        own = [p.priority for p in cluster.pods.values() if group_of(p) == key and not p.bound]
        nodes = all(isinstance(event, NodeSeen | FactSeen) for event in events)
        self._refusal_counts = nodes and max(own, default=0) <= least

    def __call__(self) -> bool:
        told = self._cluster.told
        now = told.decided.get(self._key)
        if now is None or now is self._before:
            return False
        if now.result in _REFUSED:
            return self._refusal_counts and now.search in _EXACT
        new = islice(told.bound, self._bound, None)
        pods = (self._cluster.pods.get(uid) for uid in new)
        return any(pod is not None and group_of(pod) == self._key for pod in pods)
