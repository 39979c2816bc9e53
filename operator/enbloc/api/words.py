# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Meanings of conditions, reasons, events, labels and annotations, as the API reference shows them.

Tests check that the tables are complete: every word that enbloc writes has its meaning here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from enbloc.model import names
from enbloc.model.field_ownership import SCHEDULER_FIELDS
from enbloc.model.names import GANG_RUNNING, Condition, EventReason, Reason
from enbloc.model.reasons import WaitCause


class ConditionMeaning(NamedTuple):
    """What a condition of a PodGroup means.

    Attributes:
        true: reasons with which it is True.
        false: reasons with which it is False.
        meaning: the condition in a sentence or two.
    """

    true: tuple[Reason, ...]
    false: tuple[Reason, ...]
    meaning: str


class EventMeaning(NamedTuple):
    """What an event means.

    Attributes:
        about: the kinds of object that get it.
        warning: its type is Warning; else Normal.
        meaning: what has happened.
    """

    about: str
    warning: bool
    meaning: str


class KeyMeaning(NamedTuple):
    """What a label or an annotation means.

    Attributes:
        kind: label, annotation, or either.
        about: the kinds of object that have it.
        writer: who sets it.
        meaning: what it means.
    """

    kind: str
    about: str
    writer: str
    meaning: str


_WAITS: Final = (
    Reason.WAITING_FOR_MEMBERS,
    Reason.WAITING_ON_PERMIT,
    Reason.UNSCHEDULABLE,
    Reason.INFEASIBLE,
    Reason.SCHEDULER_ERROR,
    Reason.INVALID_SPEC,
    Reason.BINDING,
    Reason.BELOW_MINIMUM,
    Reason.TOPOLOGY_DOMAIN_FULL,
    Reason.TIMED_OUT,
    Reason.PREEMPTED,
)

CONDITIONS: Final[Mapping[Condition, ConditionMeaning]] = {
    Condition.READY: ConditionMeaning(
        (Reason.RUNNING,),
        (
            *_WAITS,
            Reason.STARTING,
            Reason.MEMBERS_CANNOT_EXIST,
            Reason.SUCCEEDED,
            Reason.FAILED,
        ),
        "Summary of the other conditions: its reason is the state of the group in one word.",
    ),
    Condition.SCHEDULED: ConditionMeaning(
        (Reason.SCHEDULED, Reason.RESERVATION_EXPIRED),
        _WAITS,
        "The API server shows that the minimum is bound. Turns False when members are lost.",
    ),
    Condition.INITIALLY_SCHEDULED: ConditionMeaning(
        (Reason.SCHEDULED,),
        (),
        "The minimum was bound at least once, in this run.",
    ),
    Condition.SATISFIED: ConditionMeaning(
        (Reason.SATISFIED,),
        (Reason.BELOW_MINIMUM,),
        "Set once the group has started: whether the minimum is Running or has succeeded right "
        f"now. Members with the readiness gate {GANG_RUNNING} show it in the pod condition of that "
        "name.",
    ),
    Condition.DISRUPTION_TARGET: ConditionMeaning(
        (Reason.PREEMPTION_BY_SCHEDULER, Reason.BELOW_MINIMUM),
        (),
        "Members were preempted since the minimum was last placed. If only members beyond the "
        "minimum were preempted, the condition is removed once they have left. On pods: this "
        "member is about to be evicted, for this reason. With reason "
        f"{Reason.BELOW_MINIMUM}, the group has condition {Condition.SCHEDULED} with reason "
        f"{Reason.TIMED_OUT} instead.",
    ),
    Condition.FINISHED: ConditionMeaning(
        (Reason.SUCCEEDED, Reason.FAILED),
        (),
        "The owner has ended, if it is of a kind that ends; without an owner, all members have. "
        "Removed when the next run begins.",
    ),
}


def writer(kind: Condition) -> str:
    """The process that writes a condition."""
    return "scheduler" if kind in SCHEDULER_FIELDS.conditions else "controller"


REASONS: Final[Mapping[Reason, str]] = {
    Reason.PENDING: "The scheduler has not evaluated the group yet; the status is Unknown.",
    Reason.WAITING_FOR_MEMBERS: (
        "Fewer members exist than the minimum of the group or of a role. No capacity is reserved."
    ),
    Reason.WAITING_ON_PERMIT: (
        "There is enough capacity, but a Permit plugin or an extender has not approved yet. Pods "
        "are not marked Unschedulable, so cluster-autoscaler does not scale up."
    ),
    Reason.UNSCHEDULABLE: (
        "All required members exist, but they do not all fit now. If the message names a claim, a "
        "class or a selector, correct that. Otherwise released capacity or more nodes help. The "
        "pods are marked Unschedulable."
    ),
    Reason.INFEASIBLE: (
        "The group would not fit even if the present nodes were empty; the message says how many "
        "nodes it needs. If the message names a claim or a selector, correct that. Otherwise only "
        "other nodes help. The pods are marked Unschedulable for cluster-autoscaler."
    ),
    Reason.SCHEDULER_ERROR: (
        "The API server, a webhook or a plugin failed or rejected the plan for a reason other than "
        "capacity. No other node is tried. The plan is retried after a backoff, or after a longer "
        "pause if members were evicted for this before."
    ),
    Reason.INVALID_SPEC: (
        "The spec of the PodGroup or of a member is invalid; the message names the field."
    ),
    Reason.POD_GROUP_NOT_FOUND: (
        "On pods: the PodGroup that the pod names does not exist, or no longer exists, in its "
        "namespace."
    ),
    Reason.BINDING: "A plan exists, and its members are being bound.",
    Reason.SCHEDULED: "The minimum is bound.",
    Reason.STARTING: "The minimum is bound, but not all of it runs yet.",
    Reason.RUNNING: "The minimum is Running, or has succeeded.",
    Reason.BELOW_MINIMUM: (
        "Members were lost. Replacements are planned for as long as it takes; a gang that has "
        "started is evicted only with onIncomplete: Restart."
    ),
    Reason.TOPOLOGY_DOMAIN_FULL: (
        "Members were lost, and the domain that holds the others has no room for replacements; the "
        "message names the domain and its room. Like BelowMinimum in all else: release capacity "
        "there, or add nodes to that domain."
    ),
    Reason.TIMED_OUT: (
        "The rest of the gang did not fit within scheduleTimeoutSeconds. The bound members are "
        "evicted to release capacity, and the group queues again: at once the first time, then "
        "after a pause that doubles up to an hour (status.nextAttemptTime)."
    ),
    Reason.MEMBERS_CANNOT_EXIST: (
        "The owner cannot create further pods before one has started, but the minimum requires "
        "more. The message names the owner and its field. Lower the minimum, or use one PodGroup "
        "per wave of pods."
    ),
    Reason.RESERVATION_EXPIRED: (
        "The minimum is bound. Reserved capacity of minResources was released: it went unused for "
        "scheduleTimeoutSeconds, or was not used up within the configured reservationSeconds. "
        "Further members are placed where they fit."
    ),
    Reason.PREEMPTED: (
        "Members were evicted for a pod or a gang of higher priority. The message names it, and "
        "what the group waits for now. The group keeps its place in the queue."
    ),
    Reason.PREEMPTION_BY_SCHEDULER: (
        "Members are preempted by a pod or a gang of higher priority, which the message names."
    ),
    Reason.SATISFIED: "The minimum is Running, or has succeeded, right now.",
    Reason.SUCCEEDED: "The owner completed, or enough members for the minimum succeeded.",
    Reason.FAILED: "The owner failed, or fewer members than the minimum succeeded.",
}

CAUSES: Final[Mapping[WaitCause, str]] = {
    WaitCause.NOTHING: "The group starts as soon as its turn comes.",
    WaitCause.SURPLUS: "The group has its minimum; members beyond it do not fit.",
    WaitCause.MEMBERS: "Fewer members exist than the group needs.",
    WaitCause.CAPACITY: "Suitable nodes exist, but others use their capacity.",
    WaitCause.CLUSTER: "The group would not fit even if the cluster were empty.",
    WaitCause.OTHER: "Something else, which the message names: a field, an object or a plugin.",
}

#: An event of a group is written on the object that the group was made for as well.
_GROUP: Final = "PodGroup, object it was made for"

EVENTS: Final[Mapping[EventReason, EventMeaning]] = {
    EventReason.SCHEDULED: EventMeaning(
        "pod",
        False,
        "The pod is bound to a node. If many are bound at once, only some get this event, with a "
        "delay.",
    ),
    EventReason.FAILED_SCHEDULING: EventMeaning(
        "pod",
        True,
        "The pod or its gang does not fit: the note says what the gang waits for, and whether this "
        "member is the one that does not fit. Or the pod names its PodGroup by a misspelt key: the "
        "note has the correct key, and the condition has reason InvalidSpec.",
    ),
    EventReason.WAITING_FOR_GANG: EventMeaning(
        "pod",
        True,
        "The gang cannot be scheduled yet: the note says which members or claims are missing.",
    ),
    EventReason.GANG_SCHEDULED: EventMeaning(
        _GROUP,
        False,
        "The minimum is bound. For a group with a topology, the note names the domain. In a burst "
        "of Bindings the event is delayed.",
    ),
    EventReason.GANG_UNSCHEDULABLE: EventMeaning(
        _GROUP, True, "The gang does not fit now, or a plugin has not approved it yet."
    ),
    EventReason.GANG_INFEASIBLE: EventMeaning(
        _GROUP, True, "The gang would not fit even if the present nodes were empty."
    ),
    EventReason.GANG_BIND_FAILED: EventMeaning(
        _GROUP,
        True,
        "A Binding was rejected for a reason other than capacity, or a volume or device could not "
        "be prepared; the note names the claim.",
    ),
    EventReason.GANG_BELOW_MINIMUM: EventMeaning(
        _GROUP, True, "Bound members were lost, and fewer than the minimum are left."
    ),
    EventReason.GANG_REPAIRED: EventMeaning("PodGroup", False, "The minimum is bound again."),
    EventReason.GANG_TIMED_OUT: EventMeaning(
        _GROUP,
        True,
        "The rest of the gang did not fit in time, or another gang needs the capacity; members are "
        "evicted.",
    ),
    EventReason.PREEMPTED: EventMeaning(
        f"pod, {_GROUP}",
        False,
        "Preempted by a pod or a gang of higher priority, which the note names. On a pod or a "
        "PodGroup, `related` refers to it.",
    ),
    EventReason.PREEMPTING: EventMeaning(
        "PodGroup",
        False,
        "Pods of lower priority are evicted for the group. The note names some of them; `related` "
        "refers to one.",
    ),
    EventReason.RESERVATION_EXPIRED: EventMeaning(
        "PodGroup",
        True,
        "Reserved capacity of minResources went unused and was released, or a group ordered "
        "earlier takes it; the note says which.",
    ),
    EventReason.RESERVATION_LIMITED: EventMeaning(
        "PodGroup",
        True,
        "Some of minResources is not reserved, because the configuration limits the reservations "
        "of each namespace; the note says how much.",
    ),
    EventReason.BACKOFF_LIMIT_TOO_SMALL: EventMeaning(
        "PodGroup",
        True,
        "An eviction of the gang would fail its Job, or indexes of it: raise backoffLimit or "
        "backoffLimitPerIndex, or ignore DisruptionTarget in its podFailurePolicy.",
    ),
    EventReason.NODE_QUARANTINED: EventMeaning(
        "Node",
        True,
        "The node rejected or lost members of the gangs that the note names, and gets no gang "
        "members for a while.",
    ),
    EventReason.NODE_RELEASED: EventMeaning("Node", False, "The quarantine has ended."),
    EventReason.OVERLAPPING_RUNS: EventMeaning(
        "PodGroup",
        True,
        "Members of an earlier run are live; those of the new one are another gang.",
    ),
    EventReason.POD_GROUP_DELETED: EventMeaning(
        "PodGroup",
        True,
        "The PodGroup was deleted while members were bound or being bound; those keep running.",
    ),
    EventReason.POD_GROUP_NOT_FOUND: EventMeaning(
        "pod, workload, PodGroup of another project",
        True,
        "A pod names a PodGroup that does not exist in its namespace, or its PodGroup cannot be "
        "created, for example because of a quota or a webhook: the note says why.",
    ),
    EventReason.POD_GROUP_OUTDATED: EventMeaning(
        "pod, workload, PodGroup of another project",
        True,
        "The PodGroup that was made for the object cannot be updated to match it, for example "
        "because a webhook refuses it or a field is immutable: the note says why.",
    ),
    EventReason.POD_GROUP_AMBIGUOUS: EventMeaning(
        "pod", True, "Annotation and label name different PodGroups; the annotation wins."
    ),
    EventReason.POD_GROUP_SHARED: EventMeaning(
        "PodGroup",
        True,
        "Unrelated controllers create members of the PodGroup. A controller whose members reach "
        "the minimum alone is a gang of its own; the others count as one gang.",
    ),
    EventReason.UNKNOWN_KEY: EventMeaning(
        "pod",
        True,
        "An annotation or a label looks like a key of enbloc; the note has the correct key. A pod "
        "that names its PodGroup only by such a key gets FailedScheduling.",
    ),
    EventReason.UNKNOWN_ROLE: EventMeaning(
        "pod", True, "The pod names a role that its PodGroup does not list."
    ),
    EventReason.POD_GROUP_FINISHED: EventMeaning(
        "PodGroup", False, "The group succeeded; a Warning if it failed."
    ),
    EventReason.MALFORMED_OBJECT: EventMeaning(
        "any", True, "A field is malformed; the note names it and the fix."
    ),
    EventReason.LEASE_CONFLICT: EventMeaning(
        "Lease",
        True,
        "A scheduler of this Lease stands by, because another install serves one of its "
        "schedulerNames, or holds this Lease and serves other schedulerNames. The note names the "
        "Lease and the fix.",
    ),
    EventReason.INVALID_SPEC: EventMeaning(
        f"{_GROUP}, pod",
        True,
        "The spec of the object or of a member is invalid; the note names the field.",
    ),
    EventReason.UNSUPPORTED_FIELD: EventMeaning(
        "workload, PodGroup of another project, pod",
        True,
        "A field or an annotation of the object has no effect; the note names it and says what to "
        "use instead.",
    ),
}

KEYS: Final[Mapping[str, KeyMeaning]] = {
    names.POD_GROUP_KEY: KeyMeaning(
        "annotation or label",
        "pod",
        "you",
        "Name of a PodGroup in the pod's namespace, of which the pod is a member. If annotation "
        "and label differ, the annotation wins, and event PodGroupAmbiguous says so.",
    ),
    names.ROLE_KEY: KeyMeaning(
        "annotation or label",
        "pod",
        "you",
        "Role of the member: one of the names in spec.roles of its PodGroup.",
    ),
    names.MIN_MEMBER_KEY: KeyMeaning(
        "annotation or label",
        "pod",
        "you",
        "Minimum of the group that the pod names. If no PodGroup of that name exists, the "
        "controller creates one. If pods have different minimums, the largest counts.",
    ),
    names.TOPOLOGY_REQUIRED_KEY: KeyMeaning(
        "annotation or label; on others than pods an annotation",
        "pod, a workload, or a PodGroup of another project",
        "you",
        "spec.topology.required of the PodGroup that the controller creates for the pod, because "
        f"of {names.MIN_MEMBER_KEY} or {names.AUTO_GROUP_KEY}: a level of a Topology, or a node "
        "label. If you write the PodGroup yourself, set its field instead. On a workload, or a "
        "PodGroup of another project, it takes precedence over that object and its pods.",
    ),
    names.TOPOLOGY_PREFERRED_KEY: KeyMeaning(
        "annotation or label; on others than pods an annotation",
        "pod, a workload, or a PodGroup of another project",
        "you",
        "The same for spec.topology.preferred.",
    ),
    names.TOPOLOGY_SLICES_KEY: KeyMeaning(
        "annotation",
        "pod, a workload, or a PodGroup of another project",
        "you",
        "The same for spec.topology.slices: size and level of each, outer slices first, such as "
        "32@block,4@rack.",
    ),
    names.TOPOLOGY_KEY: KeyMeaning(
        "annotation or label; on others than pods an annotation",
        "pod, a workload, or a PodGroup of another project",
        "you",
        "The same for spec.topology.name: the Topology that has the levels. An annotation may also "
        "name one of another project, such as kueue.x-k8s.io/default. Alone on a workload, or a "
        "PodGroup of another project, it applies to the levels that the object or its pods give.",
    ),
    names.PLAN_KEY: KeyMeaning(
        "annotation",
        "pod",
        "the scheduler, with the Binding",
        "The plan that placed the member, as JSON: id, run, minimum, queue time. A new "
        "leader reads it; `enbloc replay` takes the id.",
    ),
    names.DERIVED_KEY: KeyMeaning(
        "label",
        "PodGroup",
        "the controller",
        "Kind of the object that the PodGroup was made for, as plural.group. The PodGroup follows "
        'that object and is deleted with it. "pods": the metadata of pods declares the group.',
    ),
    names.AUTO_GROUP_KEY: KeyMeaning(
        "label; on pods annotation or label",
        "Namespace, pod",
        "you",
        "Makes a group of the pods of each workload, if they name no group. On a namespace: "
        '"true" for the kinds that are gangs by nature, "all", "false", or kinds separated by '
        'dots, such as "Job.RayCluster". On a pod: "true" or "false", which overrides the '
        "namespace.",
    ),
    names.INJECT_KEY: KeyMeaning(
        "label",
        "Namespace",
        "you",
        '"true": pods that name no scheduler get that of enbloc when they are created, if '
        "admission.enabled is set in the values of the chart.",
    ),
    names.CHECKPOINT_KEY: KeyMeaning(
        "annotation",
        "pod, PodGroup",
        "you",
        "Time of the last checkpoint of the pod, or of all members, such as 2026-01-31T12:00:00Z. "
        "An eviction loses the work done since. The later of the two counts.",
    ),
    names.EXPECTED_SECONDS_KEY: KeyMeaning(
        "annotation",
        "pod",
        "you",
        "Number of seconds that the pod is expected to run, a whole number. It is not ended then: "
        "`enbloc queue` only estimates when others start.",
    ),
    names.SCHEDULE_TIMEOUT_KEY: KeyMeaning(
        "annotation",
        "a workload, or a PodGroup of another project",
        "you",
        "scheduleTimeoutSeconds of the PodGroups that are made for the object, 0 to 86400.",
    ),
    names.RANK_KEY: KeyMeaning(
        "annotation",
        "pod",
        "the scheduler, with the Binding",
        "Rank of the member, from 0. A replacement takes the rank that is free.",
    ),
    names.SIZE_KEY: KeyMeaning(
        "annotation",
        "pod",
        "the scheduler, with the Binding",
        "Minimum of the group when the member was bound.",
    ),
    names.COMPONENT_KEY: KeyMeaning(
        "label",
        "Lease",
        "the scheduler",
        '"scheduler" on the Lease of a scheduler, so that other schedulers find it.',
    ),
    names.SCHEDULER_NAMES_KEY: KeyMeaning(
        "annotation",
        "Lease",
        "the scheduler",
        "schedulerNames that the holder serves. A second install that serves one of them "
        "stands by.",
    ),
    names.HOLDER_KEY: KeyMeaning(
        "annotation",
        "Lease",
        "the scheduler",
        "Holder that wrote enbloc.dev/scheduler-names. While another holds the Lease, such as "
        "kube-scheduler, which keeps annotations, these names do not count.",
    ),
    names.RUN_SECONDS_KEY: KeyMeaning(
        "annotation", "pod, in the sandbox", "you", "Number of seconds after which the pod ends."
    ),
    names.EXIT_CODE_KEY: KeyMeaning(
        "annotation", "pod, in the sandbox", "you", "Exit code of the pod: 0 succeeds, others fail."
    ),
    names.REFUSE_KEY: KeyMeaning(
        "annotation",
        "Node or PersistentVolumeClaim, in the sandbox",
        "you",
        "Reason with which the kubelet rejects every pod, or the provisioner the claim.",
    ),
    names.SILENT_KEY: KeyMeaning(
        "annotation", "Node, in the sandbox", "you", '"true": the kubelet no longer reports.'
    ),
}

#: Keys of others that change what enbloc does.
KEYS_OF_OTHERS: Final[Mapping[str, KeyMeaning]] = {
    names.JOBSET_UID_KEY: KeyMeaning(
        "label",
        "pod",
        "JobSet",
        "With the restart attempt: the owner, which tells the member's run.",
    ),
    names.JOBSET_RESTART_KEY: KeyMeaning(
        "label", "pod", "JobSet", "Restart attempt that the member belongs to."
    ),
    names.POD_TEMPLATE_HASH_KEY: KeyMeaning(
        "label",
        "pod",
        "Kubernetes",
        "Tells the Deployment of a ReplicaSet's pod: pods of one Deployment are one run.",
    ),
    names.MIRROR_POD_KEY: KeyMeaning(
        "annotation",
        "pod",
        "the kubelet",
        "A mirror pod is never a member of a group, and is never preempted.",
    ),
    names.KUEUE_GROUP_KEY: KeyMeaning(
        "label",
        "pod",
        "you, or a controller",
        "Pods that Kueue admits together: they are preempted together or not at all.",
    ),
    names.KUEUE_TOTAL_KEY: KeyMeaning(
        "annotation",
        "pod",
        "you, or a controller",
        "How many pods Kueue admits together: a new leader knows by it that one of them has left.",
    ),
    names.KUEUE_FAST_KEY: KeyMeaning(
        "annotation",
        "pod",
        "you, or a controller",
        "With it, the total count is not read: some of these pods may start before others exist.",
    ),
    names.VOLCANO_CHECKPOINT_KEY: KeyMeaning(
        "annotation",
        "pod, PodGroup",
        "you",
        "Same as enbloc.dev/checkpointed-at, and used if that is absent.",
    ),
    names.PART_OF_KEY: KeyMeaning(
        "label",
        "ClusterRoleBinding",
        "the manifests and the chart",
        '"enbloc": schedulers look for each other\'s Leases in the namespaces of its subjects, and '
        "in kube-system.",
    ),
}
