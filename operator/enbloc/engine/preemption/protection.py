# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Protection: until when a unit may not be evicted for a higher priority (semantics §10.6)."""

import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from enbloc.engine.state import Members
from enbloc.model.pods import Pod, PodUID

#: Evictions are counted over so long (seconds).
_HOUR: Final = 3600.0
#: Classes of Kubernetes itself; the API server lets nobody else make one of such a name.
_SYSTEM: Final = "system-"


class MinRuntime(NamedTuple):
    """For how long some pods run at least before they give way.

    Attributes:
        seconds: from the start of their run.
        priority_class: of those that name this PriorityClass; "" = any.
        namespace: of those in this namespace; "" = any.
    """

    seconds: float
    priority_class: str = ""
    namespace: str = ""

    def of(self, pod: Pod) -> bool:
        """Whether it says something about a pod."""
        return self.priority_class in ("", pod.priority_class) and self.namespace in (
            "",
            pod.key.namespace,
        )


@dataclass(frozen=True, slots=True)
class PreemptionLimits:
    """What an administrator lets preemption do.

    Attributes:
        min_runtime: seconds that everybody runs at least before he gives way, unless
        min_runtimes: say otherwise; the first that is of a pod counts.
        delay: seconds for which a group has found no node before others give way to it.
        most_evictions: so often may one unit give way in an hour.
        most_work: seconds of work that count as lost at most, so that nobody gains by never saving
            any.
    """

    min_runtime: float = 0.0
    min_runtimes: tuple[MinRuntime, ...] = ()
    delay: float = 0.0
    most_evictions: int = 2
    most_work: float = 24 * _HOUR

    def runtime_of(self, pods: Iterable[Pod]) -> float:
        """How long a unit runs at least (seconds): as long as that of its pods with the least."""
        if not self.min_runtimes:
            return self.min_runtime
        return min(map(self._runtime, pods), default=self.min_runtime)

    def _runtime(self, pod: Pod) -> float:
        found = (each.seconds for each in self.min_runtimes if each.of(pod))
        return next(found, self.min_runtime)


def unit_name(pod: Pod, gang: Members | None = None) -> str:
    """By what a unit is known when it runs again: its PodGroup's name, its controller, its own.

    Args:
        pod: one of its pods.
        gang: the group, if it is what that cannot run without.
    """
    namespace = pod.key.namespace
    if gang is not None:
        return f"{namespace}/group/{gang.key.name}"
    if pod.owner is not None:
        return f"{namespace}/owner/{pod.owner.uid}"
    return f"{namespace}/pod/{pod.key.name}"


class EvictionCounts:
    """Who gave way to a higher priority within the last hour, as far as this process saw it."""

    def __init__(self) -> None:
        self._times: dict[str, deque[float]] = {}
        #: Every eviction, the oldest first.
        self._all: deque[tuple[float, str]] = deque()

    def note(self, name: str, now: float) -> None:
        """A unit of this name gives way."""
        self._times.setdefault(name, deque()).append(now)
        self._all.append((now, name))

    def expire(self, now: float) -> None:
        """Forget what is longer ago."""
        while self._all and self._all[0][0] <= now - _HOUR:
            _, name = self._all.popleft()
            times = self._times[name]
            times.popleft()
            if not times:
                del self._times[name]

    def count(self, name: str) -> int:
        """How often those of one name did."""
        return len(self._times.get(name, ()))

    def allowed_at(self, name: str, most: int) -> float:
        """From when they may again, if so often in an hour is allowed; the past = now."""
        times = self._times.get(name, ())
        return -math.inf if len(times) < most else times[len(times) - most] + _HOUR


class Protection:
    """Who is protected, for one search.

    Args:
        limits: what is allowed.
        evictions: who gave way lately.
        pods: all that are known.
        now: engine clock.
    """

    def __init__(
        self,
        limits: PreemptionLimits,
        evictions: EvictionCounts,
        pods: Mapping[PodUID, Pod],
        now: float,
    ) -> None:
        self.limits, self._evictions, self._pods, self._now = limits, evictions, pods, now
        self._siblings: Counter[str] | None = None

    def of_pod(self, pod: Pod) -> float:
        """Until when a pod without a group may not be evicted, engine clock; the past = it may.

        One that terminates goes by itself. Pods of one controller are alike: each of them may
        give way so often.
        """
        if pod.deleting:
            return -math.inf
        began = self._began(pod.started, (pod,))
        name, most = unit_name(pod), self.limits.most_evictions
        if pod.owner is not None and self._evictions.count(name) >= most:
            most *= max(1, self._of_controller(name))
        return max(began + self.limits.runtime_of((pod,)), self._evictions.allowed_at(name, most))

    def runs_until(self, members: Members, pods: Sequence[Pod]) -> float:
        """Until when no pod of a gang may be evicted, as its run is too young."""
        return self._began(members.started, pods) + self.limits.runtime_of(pods)

    def _began(self, started: float | None, pods: Sequence[Pod]) -> float:
        """Since when pods run: who is bound later must not protect a gang for ever.

        Nor must a clock that is ahead: a time that has not passed is none.
        """
        if started is not None and started <= self._now:
            return started
        return min([self._now, *(pod.bound_at for pod in pods)])

    def of_gang(self, members: Members, pods: Sequence[Pod]) -> float:
        """Until when what a gang cannot run without may not be evicted, engine clock."""
        allowed_at = self._evictions.allowed_at(
            unit_name(pods[0], members), self.limits.most_evictions
        )
        return max(self.runs_until(members, pods), allowed_at)

    def _of_controller(self, name: str) -> int:
        """How many pods without a group that have a node are of one controller."""
        if self._siblings is None:
            self._siblings = Counter(
                unit_name(pod)
                for pod in self._pods.values()
                if pod.owner is not None
                and pod.bound
                and self._evictions.count(unit_name(pod)) >= self.limits.most_evictions
            )
        return self._siblings[name]


def is_system(pods: Iterable[Pod], priority: int) -> bool:
    """Whether some pod is of a class of Kubernetes itself that is not below a priority.

    So a PodGroup's own class lowers nobody's of these.
    """
    return any(pod.priority_class.startswith(_SYSTEM) and pod.priority >= priority for pod in pods)
