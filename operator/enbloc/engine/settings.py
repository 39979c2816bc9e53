# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Settings: the options of one engine."""

from dataclasses import dataclass, field

from enbloc.engine.preemption import PreemptionLimits
from enbloc.engine.queue import Backoff
from enbloc.model.names import DEFAULT_SCHEDULE_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one engine.

    Attributes:
        identity: unique among processes, so that plan ids are unique.
        backoff: pauses after failed attempts, per group.
        schedule_timeout: seconds that limit a wait which holds capacity, unless the group sets
            them.
        reservation_seconds: the most seconds in all for which capacity of minResources is reserved
            in one run of a group.
        reservation_limits: `(resource, amount)`, the most that the reservations of one namespace
            keep together; a resource that is not named has no limit.
        longest_wait: seconds after which a waiting group is tried even without an event.
        missing_grace: seconds that members may precede their PodGroup before that is reported.
        waiting_grace: seconds that members may precede the last of their gang before they are told
            what it waits for.
        search_steps: how much a search beyond the ordered pass may cost, in its own steps (the
            default is worth about 100 ms); 0 switches it off.
        priority_class_raises: a PodGroup's priorityClassName may also raise its priority.
        other_schedulers: names of other running schedulers: a pod that a DaemonSet pins to a node
            counts there while one of these is to bind it.
        preemption: how long groups run before they may be preempted, and how often they may be.
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
