# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Estimates: when those who wait start, as others end at their limits, or as is expected.

Nobody new comes, whoever starts runs for as long as its own pods say, and what says nothing stays.
"""

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID
from enbloc.simulation.cluster import GivenUpError, SimulatedCluster
from enbloc.simulation.waiting import group_of

#: What ends within so many seconds of each other is taken to end with the last of it.
_TOGETHER: Final = 60.0
#: So many times the scheduler is let decide again, at most.
_MOST_TIMES: Final = 60
#: Seconds from now that are looked at: a month.
_HORIZON: Final = 30 * 86_400.0


class Start(NamedTuple):
    """When a group starts.

    Attributes:
        at: server seconds.
        latest: all that ends until then ends by a limit, so it is then or earlier; else by what its
            users expect.
    """

    at: float
    latest: bool


class _Ends:
    """When pods end that have a node, the first one first.

    Args:
        cluster: whose pods they are.
    """

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._began = cluster.now
        self._known: set[PodUID] = set()
        #: When, whether by its limit, and who.
        self._ends: list[tuple[float, bool, PodUID]] = []
        self.look(cluster.pods)

    def look(self, uids: Iterable[PodUID]) -> None:
        """These may have got a node since."""
        for uid in uids:
            pod = self._cluster.pods.get(uid)
            if pod is not None and pod.node and not pod.finished and uid not in self._known:
                self._known.add(uid)
                end = ends_of(pod, self._cluster.now).first(self._cluster.now)
                if end is not None:
                    at, by_limit = end
                    heapq.heappush(self._ends, (max(self._began, at), by_limit, uid))

    def next(self) -> tuple[float, bool] | None:
        """When the next ones have ended, and whether by limits; None = nobody does."""
        if not self._ends:
            return None
        last = self._ends[0][0] + _TOGETHER
        together = [end for end in self._ends if end[0] <= last]
        return max(end[0] for end in together), all(end[1] for end in together)

    def until(self, now: float) -> Sequence[Pod]:
        """Who has ended by then, each once."""
        ended: list[Pod] = []
        while self._ends and self._ends[0][0] <= now:
            pod = self._cluster.pods.get(heapq.heappop(self._ends)[2])
            if pod is not None and not pod.finished:
                ended.append(pod)
        return ended


def estimates(settled: SimulatedCluster, waiting: Collection[GroupKey]) -> Mapping[GroupKey, Start]:
    """When groups start; those that are not in it do not, as far as anybody can tell.

    Args:
        settled: the cluster, after the scheduler did what it could; it goes on from there.
        waiting: who waits.
    """
    began, latest = settled.now, True
    found: dict[GroupKey, Start] = {}
    left = set(waiting) - _started(settled)
    ends = _Ends(settled)
    for _ in range(_MOST_TIMES):
        following = ends.next()
        if not left or following is None or following[0] > began + _HORIZON:
            break
        at, by_limit = following
        latest &= by_limit
        settled.now = max(settled.now, at)
        settled.tell(settled.ended(ends.until(settled.now)))
        try:
            settled.settle()
        except GivenUpError:
            break
        ends.look(settled.told.bound)
        started = left & _started(settled)
        found |= dict.fromkeys(started, Start(at, latest))
        left -= started
    return found


def _started(settled: SimulatedCluster) -> set[GroupKey]:
    """The groups of which a member got a node in the simulation."""
    pods = (settled.pods.get(uid) for uid in settled.told.bound)
    return {group_of(pod) for pod in pods if pod is not None}


class Ends(NamedTuple):
    """When a pod ends that has a node, in server seconds; it may be in the past.

    Attributes:
        limit: when it is made to; None = nothing does.
        expected: when its users expect it to; None = they do not say.
    """

    limit: float | None = None
    expected: float | None = None

    def first(self, now: float) -> tuple[float, bool] | None:
        """The first of both, and whether it is by limit; None = nobody can tell.

        Who should have been ended by now may be on a lost node.
        """
        ends: list[tuple[float, bool]] = []
        if self.limit is not None and self.limit >= now:
            ends.append((self.limit, True))
        if self.expected is not None:
            ends.append((max(now, self.expected), False))
        return min(ends, default=None)


def ends_of(pod: Pod, now: float) -> Ends:
    """When a pod ends.

    One that is being deleted is given its grace period from now on. Of one that its kubelet has not
    started, when it will is not known.
    """
    if pod.deleting:
        return Ends(limit=now + pod.grace)
    if pod.started is None:
        seconds = lasts(pod)
        return Ends() if seconds is None else Ends(expected=pod.bound_at + seconds)
    limit, expected = (
        None if seconds is None else pod.started + seconds for seconds in (pod.limit, pod.expected)
    )
    return Ends(limit, expected)


def lasts(pod: Pod) -> float | None:
    """Seconds for which it runs, by its limit or as is expected; None = nobody says."""
    return min(filter(None, (pod.limit, pod.expected)), default=None)
