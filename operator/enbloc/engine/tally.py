# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Tally: what an engine counts for the metrics; no decision depends on it.

Counts only grow. Durations are kept until they are taken, at least the newest of them.
"""

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

#: The most durations of a kind that are kept until they are taken.
MOST_KEPT: Final = 4096

#: Queues, as kube-scheduler names them.
ACTIVE: Final = "active"
BACKOFF: Final = "backoff"
UNSCHEDULABLE: Final = "unschedulable"
GATED: Final = "gated"

#: Why pods come to a queue, besides the events that hints are asked about.
#: Source: kube-scheduler v1.36 pkg/scheduler/framework/events.go.
POD_ADDED: Final = "UnscheduledPodAdd"
POD_UPDATED: Final = "UnscheduledPodUpdate"
ATTEMPT_FAILED: Final = "ScheduleAttemptFailure"
BACKOFF_OVER: Final = "BackoffComplete"
TOO_LONG: Final = "UnschedulableTimeout"
CALLED_UP: Final = "ForceActivate"
TAKEN_EARLY: Final = "PopFromBackoffQ"
HELD_BACK: Final = "HeldBack"
EXTENDER_ANSWERED: Final = "ExtenderAnswer"


def _kept() -> deque[float]:
    return deque(maxlen=MOST_KEPT)


@dataclass(slots=True)
class Tally:
    """Counters, and how long groups waited.

    Attributes:
        incoming: pods that came to a queue, by queue and event.
        group_waits: seconds from the presence of a PodGroup's minimum until it is held.
        preemption_attempts: how often victims were sought.
        preemption_victims: how many pods each preemption chose.
        preempted_gangs: gangs of which several members leave, some of the minimum among them.
        permit_waits: seconds that groups waited at Permit, by the status that ended the wait.
    """

    incoming: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    group_waits: deque[float] = field(default_factory=_kept)
    preemption_attempts: int = 0
    preemption_victims: deque[float] = field(default_factory=_kept)
    preempted_gangs: int = 0
    permit_waits: dict[str, deque[float]] = field(default_factory=dict[str, deque[float]])

    def waited_at_permit(self, status: str, seconds: float) -> None:
        """Record the end of a wait at Permit; one that ends between steps has no length."""
        if not math.isnan(seconds):
            self.permit_waits.setdefault(status, _kept()).append(seconds)


def taken(durations: deque[float]) -> Sequence[float]:
    """Return the durations that were kept, and forget them."""
    found = tuple(durations)
    durations.clear()
    return found


@dataclass(slots=True)
class Census:
    """Who waits for what at one moment.

    Attributes:
        pods: pending pods by queue.
        podgroups: PodGroups by place in the queue.
        reasons: PodGroups with pending members by why they are not scheduled.
        refused: pods whose last attempt failed, by the plugins that refused it and the profile.
        reserved: groups that have capacity reserved, by purpose.
        oldest: engine clock at which the longest-queued PodGroup was queued; None = none is queued.
        cached: how many nodes, pods and assumed pods are known.
        topology_gangs: gangs with a topology and bound members, by level ("" = of no Topology) and
            the number of its domains that they are in.
    """

    pods: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((ACTIVE, BACKOFF, UNSCHEDULABLE, GATED), 0)
    )
    podgroups: Counter[str] = field(default_factory=Counter[str])
    reasons: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    reserved: Mapping[str, int] = field(default_factory=dict[str, int])
    oldest: float | None = None
    cached: Mapping[str, int] = field(default_factory=dict[str, int])
    topology_gangs: Mapping[tuple[str, str], int] = field(default_factory=Counter[tuple[str, str]])
