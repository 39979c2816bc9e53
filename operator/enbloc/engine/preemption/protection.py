# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Protection: until when a unit may not be preempted (semantics §10.6)."""

import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from enbloc.engine.state import Run
from enbloc.model.pods import Pod, PodUID

#: The period over which evictions are counted (seconds).
_HOUR: Final = 3600.0
#: Prefix of Kubernetes' own classes; the API server lets no user create such a name.
_SYSTEM: Final = "system-"


class MinRuntime(NamedTuple):
    """The time for which some pods run at least before they are preempted.

    Attributes:
        seconds: from the start of their run.
        priority_class: of pods that name this PriorityClass; "" = any.
        namespace: of pods in this namespace; "" = any.
    """

    seconds: float
    priority_class: str = ""
    namespace: str = ""

    def of(self, pod: Pod) -> bool:
        """Whether it applies to a pod."""
        return self.priority_class in ("", pod.priority_class) and self.namespace in (
            "",
            pod.key.namespace,
        )


@dataclass(frozen=True, slots=True)
class PreemptionLimits:
    """An administrator's limits of preemption.

    Attributes:
        min_runtime: seconds that any pod runs at least before it is preempted, unless
        min_runtimes: say otherwise; the first that applies to a pod counts.
        delay: seconds for which a group has found no node before pods are evicted for it.
        most_evictions: how often one unit may be preempted per hour.
        most_work: the most seconds of work that count as lost, so that never saving any gains
            nothing.
    """

    min_runtime: float = 0.0
    min_runtimes: tuple[MinRuntime, ...] = ()
    delay: float = 0.0
    most_evictions: int = 2
    most_work: float = 24 * _HOUR

    def runtime_of(self, pods: Iterable[Pod]) -> float:
        """Return how long a unit runs at least (seconds): the least of its pods' minimums."""
        if not self.min_runtimes:
            return self.min_runtime
        return min(map(self._runtime, pods), default=self.min_runtime)

    def _runtime(self, pod: Pod) -> float:
        found = (each.seconds for each in self.min_runtimes if each.of(pod))
        return next(found, self.min_runtime)


def unit_name(pod: Pod, gang: Run | None = None) -> str:
    """Return the name of a unit that outlives its pods: its PodGroup, its controller, or the pod.

    Args:
        pod: one of its pods.
        gang: the group, if the unit is what that cannot run without.
    """
    namespace = pod.key.namespace
    if gang is not None:
        return f"{namespace}/group/{gang.key.name}"
    if pod.owner is not None:
        return f"{namespace}/owner/{pod.owner.uid}"
    return f"{namespace}/pod/{pod.key.name}"


class EvictionCounts:
    """Preemptions of the last hour, as far as this process saw them."""

    def __init__(self) -> None:
        self._times: dict[str, deque[float]] = {}
        #: Every preemption, the oldest first.
        self._all: deque[tuple[float, str]] = deque()

    def note(self, name: str, now: float) -> None:
        """Record that a unit of this name is preempted."""
        self._times.setdefault(name, deque()).append(now)
        self._all.append((now, name))

    def expire(self, now: float) -> None:
        """Forget those of more than an hour ago."""
        while self._all and self._all[0][0] <= now - _HOUR:
            _, name = self._all.popleft()
            times = self._times[name]
            times.popleft()
            if not times:
                del self._times[name]

    def count(self, name: str) -> int:
        """Return how often units of this name were preempted."""
        return len(self._times.get(name, ()))

    def allowed_at(self, name: str, most: int) -> float:
        """Return from when they may be again, if `most` per hour are allowed; past = now."""
        times = self._times.get(name, ())
        return -math.inf if len(times) < most else times[len(times) - most] + _HOUR


class Protection:
    """Tells which units are protected, for one search.

    Args:
        limits: what is allowed.
        evictions: which units were preempted lately.
        pods: all known pods.
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
        """Return until when a pod without a group may not be evicted, engine clock; past = it may.

        A terminating pod leaves by itself. Pods of one controller are alike: each of them may be
        evicted that often.
        """
        if pod.deleting:
            return -math.inf
        began = self._began(pod.started, (pod,))
        name, most = unit_name(pod), self.limits.most_evictions
        if pod.owner is not None and self._evictions.count(name) >= most:
            most *= max(1, self._of_controller(name))
        return max(began + self.limits.runtime_of((pod,)), self._evictions.allowed_at(name, most))

    def runs_until(self, run: Run, pods: Sequence[Pod]) -> float:
        """Return until when no pod of a gang may be evicted, because its run is too young."""
        return self._began(run.started, pods) + self.limits.runtime_of(pods)

    def _began(self, started: float | None, pods: Sequence[Pod]) -> float:
        """Return since when pods run: one that is bound later must not protect a gang for ever.

        Nor must a clock that is ahead: a time in the future does not count.
        """
        if started is not None and started <= self._now:
            return started
        return min([self._now, *(pod.bound_at for pod in pods)])

    def of_gang(self, run: Run, pods: Sequence[Pod]) -> float:
        """Return until when what a gang cannot run without may not be evicted, engine clock."""
        allowed_at = self._evictions.allowed_at(unit_name(pods[0], run), self.limits.most_evictions)
        return max(self.runs_until(run, pods), allowed_at)

    def _of_controller(self, name: str) -> int:
        """Return how many pods without a group that have a node belong to one controller."""
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
    """Whether some pod is of one of Kubernetes' own classes and not below a priority.

    So a PodGroup's own class does not lower the priority of such pods.
    """
    return any(pod.priority_class.startswith(_SYSTEM) and pod.priority >= priority for pod in pods)
