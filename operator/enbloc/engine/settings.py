# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Settings: how one engine behaves."""

from dataclasses import dataclass, field

from enbloc.engine.preemption import PreemptionLimits
from enbloc.engine.queue import Backoff
from enbloc.model.names import DEFAULT_SCHEDULE_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class Settings:
    """How one engine behaves.

    Attributes:
        identity: unlike any other process's, so that plan ids never meet.
        backoff: pauses after failed attempts, per group.
        schedule_timeout: seconds that bound a wait which holds capacity, unless a group has one.
        reservation_seconds: seconds for which capacity of minResources is reserved in one life of a
            group, in all.
        reservation_limits: `(resource, amount)` that the reservations of one namespace keep
            together at most; what is not named has no limit.
        longest_wait: seconds after which a waiting group is tried even without an event.
        missing_grace: seconds that members may be ahead of their PodGroup before anyone is told.
        waiting_grace: seconds that members may be ahead of the last of their gang before they are
            told what it waits for.
        search_steps: how much a search beyond the ordered pass may cost, in its own steps (the
            default is about 100 ms' worth); 0 switches it off.
        priority_class_raises: a PodGroup's priorityClassName may also raise its priority.
        other_schedulers: names of those that run beside us: a pod that a DaemonSet pins to a node
            counts there while one of these is yet to bind it.
        preemption: how long groups run before they give way to others, and how often they do.
        log: how many of the latest changes and decisions are kept for a replay.
        validate: assert the invariants after every step.
    """

    identity: str = "0"
    backoff: Backoff = field(default_factory=Backoff)
    schedule_timeout: float = float(DEFAULT_SCHEDULE_TIMEOUT_SECONDS)
    reservation_seconds: float = 900.0
    reservation_limits: tuple[tuple[str, int], ...] = ()
    longest_wait: float = 300.0
    missing_grace: float = 5.0
    waiting_grace: float = 30.0
    search_steps: int = 20_000
    priority_class_raises: bool = False
    other_schedulers: tuple[str, ...] = ("default-scheduler",)
    preemption: PreemptionLimits = field(default_factory=PreemptionLimits)
    log: int = 10_000
    validate: bool = False
