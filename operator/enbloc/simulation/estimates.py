# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Estimates of when waiting groups start, as running pods end at their limits or as expected.

They assume that nothing new arrives, that a started group runs for as long as its pods say, and
that pods without a limit or an expected end stay.
"""

import heapq
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID
from enbloc.simulation.cluster import SECONDS, GivenUpError, SimulatedCluster
from enbloc.simulation.waiting import group_of

#: Ends of one group within this time of the next one count as one, at the time of the last; so do
#: those of all if there are more than times to decide again (seconds).
_TOGETHER: Final = 60.0
#: The most times that the scheduler decides again.
_MOST_TIMES: Final = 60
#: The longest time ahead that is estimated (seconds): a month.
_HORIZON: Final = 30 * 86_400.0


class Start(NamedTuple):
    """When a group starts.

    Attributes:
        at: server seconds.
        latest: whether everything that ends until then ends by a limit, so that enough is free then
            at the latest, unless another waiting group takes what is free earlier; else it depends
            on the times that users expect.
    """

    at: float
    latest: bool


class _End(NamedTuple):
    """The end of a pod.

    Attributes:
        at: server seconds.
        by_limit: whether a limit ends it.
        uid: of the pod.
    """

    at: float
    by_limit: bool
    uid: PodUID


class _Ends:
    """The ends of the pods that have a node, the earliest first.

    Args:
        cluster: the cluster of the pods.
    """

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._began = cluster.now
        self._known: set[PodUID] = set()
        #: A heap.
        self._ends: list[_End] = []
        self.look(cluster.pods)

    def look(self, uids: Iterable[PodUID]) -> None:
        """Take in those of these pods that have got a node since."""
        found: dict[GroupKey, list[_End]] = {}
        for uid in uids:
            pod = self._cluster.pods.get(uid)
            if pod is not None and pod.node and not pod.finished and uid not in self._known:
                self._known.add(uid)
                end = ends_of(pod, self._cluster.now).first(self._cluster.now)
                if end is not None:
                    at, by_limit = end
                    ends = found.setdefault(group_of(pod), [])
                    ends.append(_End(max(self._began, at), by_limit, uid))
        for each in found.values():
            for joined in _joined(sorted(each)):
                heapq.heappush(self._ends, joined)

    def next(self, times: int) -> tuple[float, bool] | None:
        """When the next pods have ended, and whether all by limits; None = no known end is left.

        Args:
            times: how often this is asked at most, from now on.
        """
        if not self._ends:
            return None
        many = len({end.at for end in self._ends}) > times
        last = self._ends[0].at + (_TOGETHER if many else 0.0)
        together = [end for end in self._ends if end.at <= last]
        return max(end.at for end in together), all(end.by_limit for end in together)

    def gap(self, now: float) -> float:
        """Seconds until the next known end; those of a simulation if it is later, or unknown."""
        return min(SECONDS, max(0.0, self._ends[0].at - now)) if self._ends else SECONDS

    def until(self, now: float) -> Sequence[Pod]:
        """The pods that have ended by then; returns each only once."""
        ended: list[Pod] = []
        while self._ends and self._ends[0].at <= now:
            pod = self._cluster.pods.get(heapq.heappop(self._ends).uid)
            if pod is not None and not pod.finished:
                ended.append(pod)
        return ended


def _joined(ends: Sequence[_End]) -> Iterator[_End]:
    """The ends of one group, in their order; those close together at the time of the last."""
    first = 0
    while first < len(ends):
        after = bisect_right(ends, ends[first].at + _TOGETHER, lo=first, key=attrgetter("at"))
        yield from (end._replace(at=ends[after - 1].at) for end in ends[first:after])
        first = after


def estimates(settled: SimulatedCluster, waiting: Collection[GroupKey]) -> Mapping[GroupKey, Start]:
    """When waiting groups start; a group without an entry has no known start.

    Args:
        settled: the settled cluster; the simulation continues in it.
        waiting: the waiting groups.
    """
    began, latest = settled.now, True
    found: dict[GroupKey, Start] = {}
    left = set(waiting) - _started(settled).keys()
    ends = _Ends(settled)
    for times in range(_MOST_TIMES, 0, -1):
        following = ends.next(times)
        if not left or following is None or following[0] > began + _HORIZON:
            break
        at, by_limit = following
        latest &= by_limit
        settled.now = max(settled.now, at)
        settled.tell(settled.ended(ends.until(settled.now)))
        try:
            settled.settle(ends.gap(settled.now))
        except GivenUpError:
            break
        ends.look(settled.told.bound)
        for key, bound_at in _started(settled).items():
            if key in left:
                found[key] = Start(bound_at, latest)
        left -= found.keys()
    return found


def _started(settled: SimulatedCluster) -> Mapping[GroupKey, float]:
    """The groups with a member that got a node in the simulation → when the first one did."""
    found: dict[GroupKey, float] = {}
    for uid in settled.told.bound:
        pod = settled.pods.get(uid)
        if pod is not None:
            found.setdefault(group_of(pod), pod.bound_at)
    return found


class Ends(NamedTuple):
    """The possible ends of a pod with a node, in server seconds; they may be in the past.

    Attributes:
        limit: when Kubernetes ends it; None = it has no limit.
        expected: when its users expect it to end; None = they do not say.
    """

    limit: float | None = None
    expected: float | None = None

    def first(self, now: float) -> tuple[float, bool] | None:
        """The earlier of both, and whether it is the limit; None = neither is known.

        A limit in the past does not count: the pod may be on a lost node.
        """
        ends: list[tuple[float, bool]] = []
        if self.limit is not None and self.limit >= now:
            ends.append((self.limit, True))
        if self.expected is not None:
            ends.append((max(now, self.expected), False))
        return min(ends, default=None)


def ends_of(pod: Pod, now: float) -> Ends:
    """When a pod ends.

    A pod that is being deleted ends after its grace period from now. A pod that its kubelet has not
    started has no known limit; its expected end counts from its binding.
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
    """Seconds that a pod runs, by its limit or as expected, whichever is less; None = unknown."""
    return min(filter(None, (pod.limit, pod.expected)), default=None)
