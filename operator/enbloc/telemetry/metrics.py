# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""All metrics of enbloc, each declared once, with the possible values of its labels.

Label values come from sets that code or configuration fixes, never from objects of the cluster: no
tenant can add a series. `docs/reference/metrics.md` is rendered from here.

Metrics of kube-scheduler, client-go and its work queues keep their names, buckets and meanings.
Source: kube-scheduler v1.36 pkg/scheduler/metrics/metrics.go; component-base v0.36
metrics/prometheus/restclient/metrics.go, metrics/prometheus/workqueue/metrics.go.
"""

import platform
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics

import enbloc

# Nobody needs the second series per counter and histogram, which tells when the first one began.
disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no annotations

Process = Literal["scheduler", "controller", "both"]
M = TypeVar("M", Counter, Gauge, Histogram, "SharedHistogram")


@dataclass(frozen=True, slots=True)
class Declared:
    """One metric, as the reference page shows it.

    Attributes:
        labels: each with its possible values.
        process: the process that has it.
    """

    name: str
    kind: str
    text: str
    labels: Mapping[str, str]
    process: Process
    buckets: Sequence[float] = ()


#: Every metric, in the order of the page.
DECLARED: Final[list[Declared]] = []


class SharedHistogram(Histogram):
    """A histogram that can observe one amount for many at once, such as all members of a gang.

    It finds the bucket by bisection, because each bound pod causes seven observations.
    """

    def observe(self, amount: float, exemplar: dict[str, str] | None = None) -> None:  # noqa: ARG002  # the library's signature
        """Observe an amount."""
        self._sum.inc(amount)
        self._buckets[bisect_left(self._upper_bounds, amount)].inc(1)

    def observe_all(self, amount: float, count: int) -> None:
        """Observe one amount `count` times."""
        self._sum.inc(amount * count)
        self._buckets[bisect_left(self._upper_bounds, amount)].inc(count)


def _counter(
    name: str, text: str, process: Process = "scheduler", labels: Mapping[str, str] | None = None
) -> Counter:
    DECLARED.append(Declared(name, "counter", text, labels or {}, process))
    return Counter(name, text, tuple(labels or ()))


def _gauge(
    name: str, text: str, process: Process = "scheduler", labels: Mapping[str, str] | None = None
) -> Gauge:
    DECLARED.append(Declared(name, "gauge", text, labels or {}, process))
    return Gauge(name, text, tuple(labels or ()))


def _histogram(
    name: str,
    text: str,
    buckets: Sequence[float],
    process: Process = "scheduler",
    labels: Mapping[str, str] | None = None,
) -> SharedHistogram:
    DECLARED.append(Declared(name, "histogram", text, labels or {}, process, buckets))
    return SharedHistogram(name, text, tuple(labels or ()), buckets=tuple(buckets))


def _powers(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Exponential buckets, without rounding errors of binary fractions."""
    return tuple(float(f"{start * factor**power:.6g}") for power in range(count))


_ATTEMPT: Final = _powers(0.001, 2, 15)
_CALL: Final = _powers(0.0001, 2, 12)
_PROFILE: Final = "a profile of the configuration"
_PLUGIN: Final = "a plugin of the configuration"
_POINT: Final = "an extension point, as kube-scheduler spells it"
_STATUS: Final = "a status code, as kube-scheduler spells it: Success, Unschedulable, Error, …"
_RESULT: Final = "scheduled, unschedulable, error"
_OURS: Final = "scheduled, unschedulable, infeasible, error"
_RESOURCE: Final = "plural name of a resource that enbloc uses"
_REQUEST: Final = {"verb": "an API verb", "resource": _RESOURCE}
_LEASE: Final = {"name": "the name of the Lease"}
_HOST: Final = "host and port of the API server or of an extender"
_WORK: Final = {
    "name": "podgroup_status, pod_condition (scheduler), podgroup_controller, derived_podgroup, "
    "source_status (controller)"
}

# ── kube-scheduler's ─────────────────────────────────────────────────────────────────────────
PENDING_PODS: Final = _gauge(
    "scheduler_pending_pods",
    "Pending pods by queue. unschedulable: an attempt failed, and no event since could help; "
    "gated: no attempt yet, because of a scheduling gate or missing members of the gang.",
    labels={"queue": "active, backoff, unschedulable, gated"},
)
SCHEDULE_ATTEMPTS: Final = _counter(
    "scheduler_schedule_attempts_total",
    "Attempts to schedule pods, by result. An attempt for a gang counts once for each of its "
    "pending members. unschedulable: it did not fit; error: an error occurred.",
    labels={"result": _RESULT, "profile": _PROFILE},
)
ATTEMPT_DURATION: Final = _histogram(
    "scheduler_scheduling_attempt_duration_seconds",
    "Duration of one attempt to schedule a pod, from its decision to the outcome of its Binding.",
    _ATTEMPT,
    labels={"result": _RESULT, "profile": _PROFILE},
)
ALGORITHM_DURATION: Final = _histogram(
    "scheduler_scheduling_algorithm_duration_seconds",
    "Duration of the decision about one group of pods, or about one pod without a group.",
    _ATTEMPT,
)
POD_SLI: Final = _histogram(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "Time from when a pod can first be tried, with all that its gang needs, until it is bound.",
    _powers(0.01, 2, 20),
    labels={"attempts": "1 to 14, 15+"},
)
POD_ATTEMPTS: Final = _histogram(
    "scheduler_pod_scheduling_attempts",
    "Number of attempts until a pod was bound.",
    _powers(1, 2, 5),
)
EXTENSION_POINT_DURATION: Final = _histogram(
    "scheduler_framework_extension_point_duration_seconds",
    "Duration of all plugins of an extension point in one decision (from PreBind on: for one "
    "member). "
    "One decision in ten is measured.",
    _CALL,
    labels={"extension_point": _POINT, "status": _STATUS, "profile": _PROFILE},
)
PLUGIN_DURATION: Final = _histogram(
    "scheduler_plugin_execution_duration_seconds",
    "Duration of one call of a plugin. One decision in ten is measured.",
    _powers(0.00001, 1.5, 20),
    labels={"plugin": _PLUGIN, "extension_point": _POINT, "status": _STATUS},
)
PLUGIN_EVALUATIONS: Final = _counter(
    "scheduler_plugin_evaluation_total",
    "Calls of a plugin at PreFilter, Filter, PreScore and Score, counted in one decision in ten "
    "and multiplied by ten. One call covers all nodes, and many pods that are alike.",
    labels={"plugin": _PLUGIN, "extension_point": _POINT, "profile": _PROFILE},
)
QUEUE_INCOMING_PODS: Final = _counter(
    "scheduler_queue_incoming_pods_total",
    "Pods added to a queue, by the event that added them.",
    labels={
        "queue": "active, backoff, unschedulable",
        "event": "UnscheduledPodAdd, UnscheduledPodUpdate, ScheduleAttemptFailure, "
        "BackoffComplete, UnschedulableTimeout, ForceActivate, PopFromBackoffQ, HeldBack, "
        "ExtenderAnswer, RefusalExpired, or a kind with Add, Update or Delete: "
        "AssignedPodDelete, NodeAdd, …",
    },
)
PREEMPTION_ATTEMPTS: Final = _counter(
    "scheduler_preemption_attempts_total",
    "Preemption attempts for a pod or a group.",
)
PREEMPTION_VICTIMS: Final = _histogram(
    "scheduler_preemption_victims",
    "Pods chosen as victims of one preemption.",
    _powers(1, 2, 7),
)
PREEMPTED_GANGS: Final = _counter(
    "enbloc_preempted_gangs_total",
    "Gangs of which several pods were preempted at once, including members that the gang cannot "
    "run without. Counted when the API server has accepted the first of their evictions.",
)
PERMIT_WAIT: Final = _histogram(
    "scheduler_permit_wait_duration_seconds",
    "Time that a group waited at Permit with reserved capacity, by result.",
    _ATTEMPT,
    labels={"result": "Success, Unschedulable, Error"},
)
CACHE_SIZE: Final = _gauge(
    "scheduler_cache_size",
    "Known nodes, pods and assumed pods, which have a node that the API server does not show yet.",
    labels={"type": "nodes, pods, assumed_pods"},
)
UNSCHEDULABLE_PODS: Final = _gauge(
    "scheduler_unschedulable_pods",
    "Pods whose last attempt failed, by plugin. A pod counts for each plugin that refused it.",
    labels={"plugin": _PLUGIN, "profile": _PROFILE},
)
GOROUTINES: Final = _gauge(
    "scheduler_goroutines",
    "Running tasks, by operation. The name is kube-scheduler's.",
    labels={"operation": "binding"},
)
EVENT_HANDLING: Final = _histogram(
    "scheduler_event_handling_duration_seconds",
    "Time to process one watch event or request outcome. One event in sixteen is measured.",
    _CALL,
    labels={"event": "an event type of the engine: PodSeen, NodeSeen, GroupSeen, Bound, …"},
)
GROUP_ATTEMPTS: Final = _counter(
    "scheduler_podgroup_schedule_attempts_total",
    "Attempts to schedule a PodGroup, by result.",
    labels={"result": _RESULT, "profile": _PROFILE},
)
GROUP_ATTEMPT_DURATION: Final = _histogram(
    "scheduler_podgroup_scheduling_attempt_duration_seconds",
    "Duration of one attempt to schedule a PodGroup.",
    _ATTEMPT,
    labels={"result": _RESULT, "profile": _PROFILE},
)
GROUP_ALGORITHM_DURATION: Final = _histogram(
    "scheduler_podgroup_scheduling_algorithm_duration_seconds",
    "Duration of the decision about one PodGroup.",
    _ATTEMPT,
)

# ── enbloc's: what waits ─────────────────────────────────────────────────────────────────────
POD_GROUPS: Final = _gauge(
    "enbloc_podgroups",
    "PodGroups with members, by their state in the queue. parked: there is nothing to decide.",
    labels={"status": "active, backoff, waiting, parked"},
)
PENDING_POD_GROUPS: Final = _gauge(
    "enbloc_pending_podgroups",
    "PodGroups with pending members, by the reason why these are not scheduled.",
    labels={"reason": "a reason of the condition Scheduled"},
)
OLDEST_PENDING: Final = _gauge(
    "enbloc_oldest_pending_podgroup_age_seconds",
    "Time that the longest-queued PodGroup has been in the queue; 0 if there is none.",
)
INFEASIBLE_POD_GROUPS: Final = _gauge(
    "enbloc_infeasible_podgroups",
    "PodGroups that do not fit even on empty nodes.",
)
GROUP_WAIT: Final = _histogram(
    "enbloc_podgroup_wait_duration_seconds",
    "Time from the minimum of a PodGroup being present to its being scheduled, once per run.",
    _powers(0.01, 2, 24),
)
RESERVATIONS: Final = _gauge(
    "enbloc_reservations",
    "Groups with reserved capacity: for members that are being bound, or by minResources.",
    labels={"purpose": "binding, min_resources"},
)

# ── enbloc's: decisions ──────────────────────────────────────────────────────────────────────
PLAN_DURATION: Final = _histogram(
    "enbloc_podgroup_plan_duration_seconds",
    "Duration of the decision about one group, or about one pod without a group. infeasible: no "
    "change of load could help.",
    _ATTEMPT,
    labels={"result": _OURS},
)
SEARCHES: Final = _counter(
    "enbloc_searches_total",
    "Searches after the ordered pass, by what found a placement, or why none was found.",
    labels={
        "result": "another order, domain by domain, search over classes, exact solver, "
        "proven infeasible, refused by plugins, budget spent"
    },
)
SEARCH_STEPS: Final = _counter(
    "enbloc_search_steps_total",
    "Steps of the searches that enbloc_searches_total counts.",
    labels={"result": "as in enbloc_searches_total"},
)
BIND_DURATION: Final = _histogram(
    "enbloc_bind_duration_seconds",
    "Time from sending a Binding to its outcome. unknown: it is sent again.",
    _ATTEMPT,
    labels={"result": "bound, refused, unknown"},
)
EVICTIONS: Final = _counter(
    "enbloc_evictions_total",
    "Evictions of members to release capacity, by outcome.",
    labels={"outcome": "evicted, blocked, exempt"},
)
PARTIAL_BINDS: Final = _gauge(
    "enbloc_partial_binds",
    "Partially bound gangs: below their minimum, with no Bindings in flight.",
)
PARTIAL_BINDS_ENDED: Final = _counter(
    "enbloc_partial_binds_ended_total",
    "Partially bound gangs that ended. repaired: the gang is whole again; evicted: it was evicted.",
    labels={"outcome": "repaired, evicted"},
)
TOPOLOGY_GANGS: Final = _gauge(
    "enbloc_topology_gangs",
    "Gangs with a topology and bound members, by level and the number of its domains they are in.",
    labels={
        "level": "a level of a Topology; empty: a node label that is no level of one",
        "domains": "0 to 8, more than 8; 0: the nodes of its members are in no domain",
    },
)
BELOW_MINIMUM_SECONDS: Final = _counter(
    "enbloc_below_minimum_seconds_total",
    "Time that started groups spent below their minimum, summed over groups.",
)

# ── enbloc's: the API server ─────────────────────────────────────────────────────────────────
WATCH_RESTARTS: Final = _counter(
    "enbloc_watch_restarts_total",
    "Watches that ended with an error or had to relist, by resource.",
    "both",
    {"resource": _RESOURCE},
)
WATCH_FAILING: Final = _gauge(
    "enbloc_watch_failing",
    "1 while a resource cannot be listed or watched, or its watch is stale, else 0.",
    "both",
    {"resource": _RESOURCE},
)
STALE_WATCHES: Final = _counter(
    "enbloc_stale_watches_total",
    "Watches that a consistent read showed to be stale, and that were relisted, by resource.",
    "both",
    {"resource": _RESOURCE},
)
THROTTLED: Final = _counter(
    "enbloc_throttled_requests_total",
    "Requests that the API server answered with 429, by verb and resource.",
    "both",
    _REQUEST,
)
WAITING_REQUESTS: Final = _gauge(
    "enbloc_waiting_requests",
    "Requests that wait for a retry, for example after a 429, by verb and resource.",
    "both",
    _REQUEST,
)
EVENTS_DROPPED: Final = _counter(
    "enbloc_events_dropped_total",
    "Kubernetes events dropped: queue full, or rejected by the API server.",
    "both",
)
LEASE_CONFLICT: Final = _gauge(
    "enbloc_lease_conflict",
    "1 while this process stands by for another installation, else 0. Its log names the Lease.",
)
BUILD_INFO: Final = _gauge(
    "enbloc_build_info",
    "Always 1. The labels identify the build.",
    "both",
    {"version": "version of enbloc", "python_version": "version of Python"},
)

# ── client-go's ──────────────────────────────────────────────────────────────────────────────
LEADER: Final = _gauge(
    "leader_election_master_status",
    "1 while this process holds the Lease, else 0.",
    "both",
    _LEASE,
)
LEADER_SLOWPATH: Final = _counter(
    "leader_election_slowpath_total",
    "Renewals that had to read the Lease first, because the previous attempt did not succeed.",
    "both",
    _LEASE,
)
REQUESTS: Final = _counter(
    "rest_client_requests_total",
    "HTTP requests, by status code of the response. <error>: there was none.",
    "both",
    {"code": "an HTTP status code, <error>", "method": "an HTTP method", "host": _HOST},
)
REQUEST_DURATION: Final = _histogram(
    "rest_client_request_duration_seconds",
    "Time from sending a request to the first byte of its response.",
    (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0),
    "both",
    {"verb": "an HTTP method", "host": _HOST},
)
RATE_LIMITER_DURATION: Final = _histogram(
    "rest_client_rate_limiter_duration_seconds",
    "Time that requests waited for the client-side rate limit. Empty if none is set.",
    (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0),
    "both",
    {"verb": "an HTTP method", "host": _HOST},
)
WORKQUEUE_DEPTH: Final = _gauge(
    "workqueue_depth",
    "Objects that wait to be written: their status or conditions, or a derived PodGroup.",
    "both",
    _WORK,
)
WORKQUEUE_ADDS: Final = _counter(
    "workqueue_adds_total",
    "Values added to the queue. A newer value replaces one that waits.",
    "both",
    _WORK,
)
WORKQUEUE_QUEUE_DURATION: Final = _histogram(
    "workqueue_queue_duration_seconds",
    "Time that a value waited before it was written.",
    _powers(10e-9, 10, 10),
    "both",
    _WORK,
)
WORKQUEUE_WORK_DURATION: Final = _histogram(
    "workqueue_work_duration_seconds",
    "Time to write a value.",
    _powers(10e-9, 10, 10),
    "both",
    _WORK,
)
WORKQUEUE_RETRIES: Final = _counter(
    "workqueue_retries_total", "Writes that failed and are retried.", "both", _WORK
)
WORKQUEUE_UNFINISHED: Final = _gauge(
    "workqueue_unfinished_work_seconds",
    "Sum of the time that the writes in progress have taken so far.",
    "both",
    _WORK,
)
WORKQUEUE_LONGEST: Final = _gauge(
    "workqueue_longest_running_processor_seconds",
    "Time that the longest write in progress has taken so far.",
    "both",
    _WORK,
)

BUILD_INFO.labels(enbloc.__version__, platform.python_version()).set(1)


_SERIES: Final[dict[tuple[object, ...], Any]] = {}


def series(metric: M, *labels: str) -> M:
    """One series of a metric, cached for uses per pod or request.

    The library's lookup by labels costs more than the counting itself.
    """
    key = (metric, *labels)
    found: M | None = _SERIES.get(key)
    if found is None:
        found = _SERIES[key] = metric.labels(*labels)
    return found


def attempts_label(attempts: int) -> str:
    """The label `attempts` of scheduler_pod_scheduling_sli_duration_seconds."""
    return "15+" if attempts >= 15 else str(attempts)
