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
    "Search steps after the ordered pass, by result (what found a placement, or why none). [ALPHA]",
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
    "Evictions of members to release capacity, by outcome (evicted, blocked, exempt). [ALPHA]",
    ["outcome"],
)
POD_GROUPS: Final = Gauge(
    "enbloc_podgroups",
    "Groups known to the scheduler, by status (active, backoff, unschedulable, …). [ALPHA]",
    ["status"],
)
INFEASIBLE_POD_GROUPS: Final = Gauge(
    "enbloc_infeasible_podgroups",
    "PodGroups that do not fit even on empty nodes. [ALPHA]",
)
PARTIAL_BINDS: Final = Gauge(
    "enbloc_partial_binds",
    "Partially bound gangs: below their minimum, with no Bindings in flight. [ALPHA]",
)
PARTIAL_BINDS_ENDED: Final = Counter(
    "enbloc_partial_binds_ended_total",
    "Partially bound gangs that ended, by outcome (repaired, evicted). [ALPHA]",
    ["outcome"],
)
BELOW_MINIMUM_SECONDS: Final = Counter(
    "enbloc_below_minimum_seconds_total",
    "Time that started groups spent below their minimum, summed over groups. [ALPHA]",
)
WATCH_RESTARTS: Final = Counter(
    "enbloc_watch_restarts_total",
    "Watches that ended with an error or had to relist, by resource. [ALPHA]",
    ["resource"],
)
STALE_WATCHES: Final = Counter(
    "enbloc_stale_watches_total",
    "Watches that did not show what a consistent read did, and were relisted, by resource. [ALPHA]",
    ["resource"],
)
THROTTLED: Final = Counter(
    "enbloc_throttled_requests_total",
    "Requests that the API server answered with 429, by verb and resource. [ALPHA]",
    ["verb", "resource"],
)
WAITING_REQUESTS: Final = Gauge(
    "enbloc_waiting_requests",
    "Requests that wait to be sent again, as after a 429, by verb and resource. [ALPHA]",
    ["verb", "resource"],
)
EVENTS_DROPPED: Final = Counter(
    "enbloc_events_dropped_total",
    "Kubernetes events dropped: queue full, or rejected by the API server. [ALPHA]",
)
LEADER: Final = Gauge(
    "leader_election_master_status",
    "1 while this process holds the Lease, else 0. [ALPHA]",
    ["name"],
)
LEASE_CONFLICT: Final = Gauge(
    "enbloc_lease_conflict",
    "1 while this process stands by for another install: its log names the Lease. [ALPHA]",
)
BUILD_INFO: Final = Gauge(
    "enbloc_build_info",
    "Always 1; the labels say which build this is. [ALPHA]",
    ["version", "python_version"],
)
BUILD_INFO.labels(enbloc.__version__, platform.python_version()).set(1)
