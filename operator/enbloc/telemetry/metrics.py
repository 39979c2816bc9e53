# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""All metrics of enbloc; label values come from sets closed in code, never from the cluster."""

import platform
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

import enbloc

_SECONDS: Final = tuple(0.001 * 2**power for power in range(15))

SCHEDULE_ATTEMPTS: Final = Counter(
    "scheduler_podgroup_schedule_attempts_total",
    "Attempts to schedule a group, by result (scheduled, unschedulable, …) and profile. [ALPHA]",
    ["result", "profile"],
)
PLAN_DURATION: Final = Histogram(
    "enbloc_podgroup_plan_duration_seconds",
    "Time to plan one group, by result. [ALPHA]",
    ["result"],
    buckets=_SECONDS,
)
SEARCH_STEPS: Final = Counter(
    "enbloc_search_steps_total",
    "Steps of the search beyond the ordered pass, by result (what found it, or why not). [ALPHA]",
    ["result"],
)
BIND_DURATION: Final = Histogram(
    "enbloc_bind_duration_seconds",
    "Time from sending a Binding to its outcome, by result (bound, refused, unknown). [ALPHA]",
    ["result"],
    buckets=_SECONDS,
)
EVICTIONS: Final = Counter(
    "enbloc_evictions_total",
    "Members asked to give their room back, by outcome (evicted, blocked, exempt). [ALPHA]",
    ["outcome"],
)
POD_GROUPS: Final = Gauge(
    "enbloc_podgroups",
    "Groups known to the scheduler, by status (active, backoff, unschedulable, …). [ALPHA]",
    ["status"],
)
INFEASIBLE_POD_GROUPS: Final = Gauge(
    "enbloc_infeasible_podgroups",
    "PodGroups that no change of load could ever place on the present nodes. [ALPHA]",
)
PARTIAL_BINDS: Final = Gauge(
    "enbloc_partial_binds",
    "Gangs that are bound below their minimum, and not by a burst under way. [ALPHA]",
)
PARTIAL_BINDS_ENDED: Final = Counter(
    "enbloc_partial_binds_ended_total",
    "Gangs bound in part that came to an end, by outcome (repaired, returned). [ALPHA]",
    ["outcome"],
)
BELOW_MINIMUM_SECONDS: Final = Counter(
    "enbloc_below_minimum_seconds_total",
    "Time that groups which had started spent below their minimum, summed over them. [ALPHA]",
)
WATCH_RESTARTS: Final = Counter(
    "enbloc_watch_restarts_total",
    "Watches that ended with an error or had to list again, by resource. [ALPHA]",
    ["resource"],
)
EVENTS_DROPPED: Final = Counter(
    "enbloc_events_dropped_total",
    "Kubernetes events that were not written: queue full, or refused to the last try. [ALPHA]",
)
LEADER: Final = Gauge(
    "leader_election_master_status",
    "1 while this process holds the Lease, else 0. [ALPHA]",
    ["name"],
)
BUILD_INFO: Final = Gauge(
    "enbloc_build_info",
    "Always 1; the labels say which build this is. [ALPHA]",
    ["version", "python_version"],
)
BUILD_INFO.labels(enbloc.__version__, platform.python_version()).set(1)
