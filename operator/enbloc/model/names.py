# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The fixed names of enbloc: API group, keys, process names, ports, condition types, reasons."""

from enum import StrEnum
from typing import Final

# ── identity ─────────────────────────────────────────────────────────────────────────────────
API_GROUP: Final = "enbloc.dev"
API_VERSION: Final = "v1alpha1"
CONFIG_GROUP: Final = "config.enbloc.dev"
#: The apiVersion of machine-readable command output.
CLI_API_VERSION: Final = "cli.enbloc.dev/v1alpha1"
POD_GROUP_KIND: Final = "PodGroup"
POD_GROUP_PLURAL: Final = "podgroups"
TOPOLOGY_KIND: Final = "Topology"
TOPOLOGY_PLURAL: Final = "topologies"
SCHEDULER_NAME: Final = "enbloc"
NAMESPACE: Final = "enbloc-system"
#: The ConfigMap in which chart and manifests put the scheduler's configuration.
CONFIG_MAP: Final = "enbloc-scheduler"
#: kube-scheduler's name and Lease: a scheduler that serves the name replaces it.
DEFAULT_SCHEDULER: Final = "default-scheduler"
KUBE_SCHEDULER_LEASE: Final = "kube-scheduler"
KUBE_SYSTEM: Final = "kube-system"

# ── labels and annotations ───────────────────────────────────────────────────────────────────
POD_GROUP_KEY: Final = "enbloc.dev/pod-group"
ROLE_KEY: Final = "enbloc.dev/role"
#: On a pod: its group's minimum; the group is made if it does not exist.
MIN_MEMBER_KEY: Final = "enbloc.dev/min-member"
#: On a pod: `spec.topology` of its group, if enbloc makes that for the pod or its workload.
TOPOLOGY_KEY: Final = "enbloc.dev/topology"
TOPOLOGY_REQUIRED_KEY: Final = "enbloc.dev/topology-required"
TOPOLOGY_PREFERRED_KEY: Final = "enbloc.dev/topology-preferred"
TOPOLOGY_SLICES_KEY: Final = "enbloc.dev/topology-slices"
PLAN_KEY: Final = "enbloc.dev/plan"
#: On a PodGroup that enbloc made: the kind that it was made for, `plural.group`.
DERIVED_KEY: Final = "enbloc.dev/derived-from"
#: On a namespace: the kinds of workload for which groups are made; on a pod: whether one is made
#: for its workload.
AUTO_GROUP_KEY: Final = "enbloc.dev/auto-group"
#: On a namespace: with the chart's admission, its pods that name no scheduler are ours.
INJECT_KEY: Final = "enbloc.dev/inject-scheduler-name"
SCHEDULE_TIMEOUT_KEY: Final = "enbloc.dev/schedule-timeout-seconds"
#: On a pod or a PodGroup: when its work was last saved. Without it, Volcano's key is read.
CHECKPOINT_KEY: Final = "enbloc.dev/checkpointed-at"
#: On a pod: how many seconds it is expected to run.
EXPECTED_SECONDS_KEY: Final = "enbloc.dev/expected-seconds"
VOLCANO_CHECKPOINT_KEY: Final = "volcano.sh/last-checkpoint-time"
#: The pod label by which Kueue groups pods that it admits and evicts together.
KUEUE_GROUP_KEY: Final = "kueue.x-k8s.io/pod-group-name"
#: The annotations of such pods that tell how many they are, and that some may start before others.
KUEUE_TOTAL_KEY: Final = "kueue.x-k8s.io/pod-group-total-count"
KUEUE_FAST_KEY: Final = "kueue.x-k8s.io/pod-group-fast-admission"
RANK_KEY: Final = "enbloc.dev/rank"
SIZE_KEY: Final = "enbloc.dev/size"
COMPONENT_KEY: Final = "enbloc.dev/component"
SCHEDULER_NAMES_KEY: Final = "enbloc.dev/scheduler-names"
HOLDER_KEY: Final = "enbloc.dev/holder"
PART_OF_KEY: Final = "app.kubernetes.io/part-of"
RUN_SECONDS_KEY: Final = "sandbox.enbloc.dev/run-seconds"
EXIT_CODE_KEY: Final = "sandbox.enbloc.dev/exit-code"
REFUSE_KEY: Final = "sandbox.enbloc.dev/refuse"
SILENT_KEY: Final = "sandbox.enbloc.dev/silent"
#: Marks mirror pods. The API server accepts it only on pods created with a node, and never removes
#: it.
MIRROR_POD_KEY: Final = "kubernetes.io/config.mirror"
#: The finalizer of pods that their Job has yet to count.
JOB_TRACKING: Final = "batch.kubernetes.io/job-tracking"
#: Labels that an API server copies from the node to a pod that it binds to it.
COPIED_TO_PODS: Final = frozenset({"topology.kubernetes.io/zone", "topology.kubernetes.io/region"})

# ── processes ────────────────────────────────────────────────────────────────────────────────
SCHEDULER_MANAGER: Final = "enbloc-scheduler"
CONTROLLER_MANAGER: Final = "enbloc-controller"
SCHEDULER_LEASE: Final = "enbloc-scheduler"
CONTROLLER_LEASE: Final = "enbloc-controller"
SCHEDULER_REPORTER: Final = "enbloc.dev/scheduler"
CONTROLLER_REPORTER: Final = "enbloc.dev/controller"
#: Each process's HTTPS port; the scheduler's is kube-scheduler's.
SCHEDULER_PORT: Final = 10259
CONTROLLER_PORT: Final = 10261
#: The port on which `enbloc ui` serves its page.
UI_PORT: Final = 10263

# ── conditions of pods ───────────────────────────────────────────────────────────────────────
GANG_RUNNING: Final = "enbloc.dev/GangRunning"
DISRUPTION_TARGET: Final = "DisruptionTarget"

# ── taints that Kubernetes itself sets ───────────────────────────────────────────────────────
TAINT_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
TAINT_NOT_READY: Final = "node.kubernetes.io/not-ready"
TAINT_UNREACHABLE: Final = "node.kubernetes.io/unreachable"

# ── labels by which a run is told ────────────────────────────────────────────────────────────
JOBSET_UID_KEY: Final = "jobset.sigs.k8s.io/jobset-uid"
JOBSET_RESTART_KEY: Final = "jobset.sigs.k8s.io/restart-attempt"
#: The pod label whose value, cut from the ReplicaSet's name, leaves the Deployment's name.
POD_TEMPLATE_HASH_KEY: Final = "pod-template-hash"

#: How long a group may hold capacity in any wait, unless it says otherwise.
DEFAULT_SCHEDULE_TIMEOUT_SECONDS: Final = 60


class Condition(StrEnum):
    """Condition types on a PodGroup."""

    READY = "Ready"
    SCHEDULED = "Scheduled"
    INITIALLY_SCHEDULED = "InitiallyScheduled"
    SATISFIED = "Satisfied"
    DISRUPTION_TARGET = "DisruptionTarget"
    FINISHED = "Finished"


class Reason(StrEnum):
    """Reasons of conditions; the summary condition Ready shows one of them as the state."""

    PENDING = "Pending"
    WAITING_FOR_MEMBERS = "WaitingForMembers"
    WAITING_ON_PERMIT = "WaitingOnPermit"
    UNSCHEDULABLE = "Unschedulable"
    INFEASIBLE = "Infeasible"
    SCHEDULER_ERROR = "SchedulerError"
    INVALID_SPEC = "InvalidSpec"
    POD_GROUP_NOT_FOUND = "PodGroupNotFound"
    BINDING = "Binding"
    SCHEDULED = "Scheduled"
    STARTING = "Starting"
    RUNNING = "Running"
    BELOW_MINIMUM = "BelowMinimum"
    TOPOLOGY_DOMAIN_FULL = "TopologyDomainFull"
    TIMED_OUT = "TimedOut"
    MEMBERS_CANNOT_EXIST = "MembersCannotExist"
    RESERVATION_EXPIRED = "ReservationExpired"
    PREEMPTED = "Preempted"
    PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"
    SATISFIED = "Satisfied"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


#: PodScheduled=False with these reasons is replaced once the pod waits for anything else.
OUTDATED_REASONS: Final = frozenset(
    {Reason.UNSCHEDULABLE, Reason.POD_GROUP_NOT_FOUND, Reason.INVALID_SPEC}
)


class EventReason(StrEnum):
    """Reasons of the events that enbloc writes."""

    SCHEDULED = "Scheduled"
    FAILED_SCHEDULING = "FailedScheduling"
    WAITING_FOR_GANG = "WaitingForGang"
    GANG_SCHEDULED = "GangScheduled"
    GANG_UNSCHEDULABLE = "GangUnschedulable"
    GANG_INFEASIBLE = "GangInfeasible"
    GANG_BIND_FAILED = "GangBindFailed"
    GANG_REPAIRED = "GangRepaired"
    GANG_TIMED_OUT = "GangTimedOut"
    GANG_BELOW_MINIMUM = "GangBelowMinimum"
    PREEMPTED = "Preempted"
    PREEMPTING = "Preempting"
    RESERVATION_EXPIRED = "ReservationExpired"
    RESERVATION_LIMITED = "ReservationLimited"
    BACKOFF_LIMIT_TOO_SMALL = "BackoffLimitTooSmall"
    NODE_QUARANTINED = "NodeQuarantined"
    NODE_RELEASED = "NodeReleased"
    OVERLAPPING_RUNS = "OverlappingRuns"
    POD_GROUP_DELETED = "PodGroupDeleted"
    POD_GROUP_NOT_FOUND = "PodGroupNotFound"
    POD_GROUP_OUTDATED = "PodGroupOutdated"
    POD_GROUP_AMBIGUOUS = "PodGroupAmbiguous"
    POD_GROUP_SHARED = "PodGroupShared"
    UNKNOWN_KEY = "UnknownKey"
    UNKNOWN_ROLE = "UnknownRole"
    POD_GROUP_FINISHED = "PodGroupFinished"
    MALFORMED_OBJECT = "MalformedObject"
    LEASE_CONFLICT = "LeaseConflict"
    INVALID_SPEC = "InvalidSpec"
    UNSUPPORTED_FIELD = "UnsupportedField"
