# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What operators see: a log line and metrics for each decision, and the queue lengths."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from prometheus_client import Gauge

from enbloc.engine import Census, Tally
from enbloc.engine.effects import Attempt, Decided, Emit
from enbloc.engine.tally import taken
from enbloc.live.traces import Traces
from enbloc.model.names import EventReason
from enbloc.telemetry import metrics
from enbloc.telemetry.logs import DETAIL

logger = logging.getLogger(__name__)

_SAID: Final = {
    "scheduled": "Placed pod group",
    "unschedulable": "Pod group does not fit",
    "infeasible": "Pod group does not fit even on empty nodes",
    "waiting": "Pod group is waiting with reserved capacity",
    "error": "Failed to schedule pod group",
}
_SAID_OF_POD: Final = {
    result: text.replace("pod group", "pod").replace("Pod group", "Pod")
    for result, text in _SAID.items()
}


#: The metric's labels for the outcomes of partially bound gangs.
_ENDS: Final[Mapping[str, str]] = {
    EventReason.GANG_REPAIRED: "repaired",
    EventReason.GANG_TIMED_OUT: "evicted",
}


class Counted(Protocol):
    """The counts that an engine offers about its groups."""

    @property
    def tally(self) -> Tally:
        """Counts since the start."""
        ...

    def census(self) -> Census:
        """How many pods and groups wait now, and for what."""
        ...

    def below_minimum(self) -> int:
        """How many groups have started and are below their minimum now."""
        ...

    def in_part(self) -> int:
        """How many gangs are partially bound now, with no Bindings in flight."""
        ...


class GroupCounts:
    """Keeps the metrics of groups.

    Args:
        engine: read between its steps, as both run on one loop.
        infeasible: how many PodGroups have reason Infeasible, by us.
        leads: whether this process is the leader; the others do not count groups below minimum,
            partially bound gangs and infeasible PodGroups again.
        clock: the engine's.
    """

    def __init__(
        self,
        engine: Counted,
        infeasible: Callable[[], int],
        leads: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._infeasible = infeasible
        self._leads = leads
        self._clock = clock
        #: When `count` was called last, as the leader.
        self._counted: float | None = None
        #: The part of the tally that is already in the metrics.
        self._incoming: Counter[tuple[str, str]] = Counter()
        #: The preemption attempts and preempted gangs already in the metrics.
        self._preemptions = (0, 0)

    async def run(self) -> None:
        """Count once a second, until cancelled."""
        try:
            while True:
                self.count(time.monotonic())
                await asyncio.sleep(1)
        finally:  # a standby does not report what it counted as the leader
            metrics.PARTIAL_BINDS.set(0)
            metrics.INFEASIBLE_POD_GROUPS.set(0)
            self._take_census(Census())

    def count(self, now: float) -> None:
        """Count the groups in each state, and the time that they were below their minimum.

        Args:
            now: seconds of a monotonic clock.
        """
        self._take_census(self._engine.census())
        self._take_tally(self._engine.tally)
        if not self._leads():
            return
        since = now - self._counted if self._counted is not None else 0.0
        self._counted = now
        metrics.BELOW_MINIMUM_SECONDS.inc(self._engine.below_minimum() * since)
        metrics.PARTIAL_BINDS.set(self._engine.in_part())
        metrics.INFEASIBLE_POD_GROUPS.set(self._infeasible())

    def _take_census(self, census: Census) -> None:
        _show(metrics.PENDING_PODS, census.pods)
        _show(metrics.POD_GROUPS, census.podgroups)
        _show(metrics.PENDING_POD_GROUPS, census.reasons)
        _show(metrics.UNSCHEDULABLE_PODS, census.refused)
        _show(metrics.RESERVATIONS, census.reserved)
        _show(metrics.CACHE_SIZE, census.cached)
        _show(metrics.TOPOLOGY_GANGS, census.topology_gangs)
        age = 0.0 if census.oldest is None else max(0.0, self._clock() - census.oldest)
        metrics.OLDEST_PENDING.set(age)

    def _take_tally(self, tally: Tally) -> None:
        for (queue, event), pods in (tally.incoming - self._incoming).items():
            metrics.QUEUE_INCOMING_PODS.labels(queue, event).inc(pods)
        self._incoming = tally.incoming.copy()
        metrics.PREEMPTION_ATTEMPTS.inc(tally.preemption_attempts - self._preemptions[0])
        metrics.PREEMPTED_GANGS.inc(tally.preempted_gangs - self._preemptions[1])
        self._preemptions = (tally.preemption_attempts, tally.preempted_gangs)
        for victims in taken(tally.preemption_victims):
            metrics.PREEMPTION_VICTIMS.observe(victims)
        for seconds in taken(tally.group_waits):
            metrics.GROUP_WAIT.observe(seconds)
        for status, waits in tally.permit_waits.items():
            for seconds in taken(waits):
                metrics.PERMIT_WAIT.labels(status).observe(seconds)


def _show(gauge: Gauge, counts: Mapping[str, int] | Mapping[tuple[str, str], int]) -> None:
    """Set a gauge for each of its label values; values that are no longer counted become 0.

    A series is never removed, so that a scrape sees its drop to 0.
    """
    present: dict[tuple[str, ...], int]
    present = {(key,) if isinstance(key, str) else key: count for key, count in counts.items()}
    for metric in gauge.collect():
        for sample in metric.samples:
            present.setdefault(tuple(sample.labels.values()), 0)
    for labels, count in present.items():
        gauge.labels(*labels).set(count)


def count_end(effect: Emit) -> None:
    """Count the outcome of a partially bound gang, if this event reports one."""
    if effect.reason in _ENDS:
        metrics.PARTIAL_BINDS_ENDED.labels(_ENDS[effect.reason]).inc()


def count_decision(effect: Decided, seconds: float) -> None:
    """Count an attempt; the pods' own metrics count a placed pod once it is bound.

    Args:
        effect: the decision.
        seconds: how long it took.
    """
    # kube-scheduler's dashboards know no "infeasible".
    result = "unschedulable" if effect.result == "infeasible" else effect.result
    metrics.ALGORITHM_DURATION.observe(seconds)
    metrics.series(metrics.PLAN_DURATION, effect.result).observe(seconds)
    if effect.steps:
        metrics.series(metrics.SEARCHES, effect.search).inc()
        metrics.series(metrics.SEARCH_STEPS, effect.search).inc(effect.steps)
    if not effect.solo:
        metrics.GROUP_ALGORITHM_DURATION.observe(seconds)
        metrics.series(metrics.GROUP_ATTEMPTS, result, effect.profile).inc()
        metrics.series(metrics.GROUP_ATTEMPT_DURATION, result, effect.profile).observe(seconds)
    if result != "scheduled":
        metrics.series(metrics.SCHEDULE_ATTEMPTS, result, effect.profile).inc(effect.pods)
        metrics.series(metrics.ATTEMPT_DURATION, result, effect.profile).observe_all(
            seconds, effect.pods
        )


def count_bound(profile: str, attempt: Attempt | None, now: float, *, bound: bool) -> None:
    """Count the outcome of one pod's Binding.

    Args:
        profile: the pod's profile.
        attempt: the attempt that placed the pod; None = not known.
        now: the engine's clock.
        bound: whether the pod has its node; else its Binding was refused.
    """
    if attempt is None:
        return
    result = "scheduled" if bound else "error"
    metrics.series(metrics.SCHEDULE_ATTEMPTS, result, profile).inc()
    metrics.series(metrics.ATTEMPT_DURATION, result, profile).observe(
        max(0.0, now - attempt.decided)
    )
    if bound:
        label = metrics.attempts_label(attempt.number)
        metrics.series(metrics.POD_SLI, label).observe(max(0.0, now - attempt.queued))
        metrics.POD_ATTEMPTS.observe(attempt.number)


class DecisionLog:
    """Counts and logs each decision.

    Args:
        traces: get each decision too; None = no traces.
    """

    def __init__(self, traces: Traces | None = None) -> None:
        #: How many decisions were logged.
        self._cycle = 0
        self._traces = traces

    def decided(self, effect: Decided, seconds: float) -> None:
        """Log one decision.

        Args:
            effect: the decision.
            seconds: how long it took.
        """
        self._cycle += 1
        count_decision(effect, seconds)
        if self._traces is not None:
            self._traces.decided(effect, seconds)
        level = _level(effect)
        if not logger.isEnabledFor(level):
            return
        searched = {"search": effect.search, "steps": effect.steps} if effect.steps else {}
        group, solo = effect.group, effect.solo
        pod = f"{group.namespace}{group.name}" if solo else ""
        logger.log(
            level,
            (_SAID_OF_POD if solo else _SAID)[effect.result],
            extra={
                "pod": pod,
                "podGroup": "" if solo else str(group),
                "profile": effect.profile,
                "cycle": self._cycle,
                "attempts": effect.attempts,
                "result": effect.result,
                "duration": round(seconds, 6),
                "placed": effect.placed,
                "plan": effect.plan,
                "reason": effect.message,
                **searched,
            },
        )


def _level(effect: Decided) -> int:
    """The log level; DETAIL for a placed pod without a group: logging costs as much as placing."""
    if effect.result == "error":
        return logging.ERROR
    return DETAIL if effect.solo and effect.result == "scheduled" else logging.INFO
