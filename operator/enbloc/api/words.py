# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What conditions, reasons and events mean, for people: the API reference shows it.

Tests hold the tables complete: a word that is written somewhere has its meaning here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from enbloc.model import names
from enbloc.model.field_ownership import SCHEDULER_FIELDS
from enbloc.model.names import GANG_RUNNING, Condition, EventReason, Reason
from enbloc.model.reasons import WaitCause


class ConditionMeaning(NamedTuple):
    """What a condition of a PodGroup says.

    Attributes:
        true: reasons with which it is True.
        false: reasons with which it is False.
        meaning: what it says.
    """

    true: tuple[Reason, ...]
    false: tuple[Reason, ...]
    meaning: str


class EventMeaning(NamedTuple):
    """What an event says.

    Attributes:
        about: the kinds of object on which it stands.
        warning: its type is Warning; else Normal.
        meaning: what has happened.
    """

    about: str
    warning: bool
    meaning: str


class KeyMeaning(NamedTuple):
    """What a label or an annotation says.

    Attributes:
        kind: label, annotation, or either.
        about: the kinds of object on which it stands.
        writer: who sets it.
        meaning: what it says.
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
        "Summary of the others: its reason is the state of the group in one word.",
    ),
    Condition.SCHEDULED: ConditionMeaning(
        (Reason.SCHEDULED, Reason.RESERVATION_EXPIRED),
        _WAITS,
        "The API server shows the minimum bound. Turns False when members are lost.",
    ),
    Condition.INITIALLY_SCHEDULED: ConditionMeaning(
        (Reason.SCHEDULED,),
        (),
        "The minimum was bound at least once, in this run.",
    ),
    Condition.SATISFIED: ConditionMeaning(
        (Reason.SATISFIED,),
        (Reason.BELOW_MINIMUM,),
        "Once the group has started: the minimum is Running or has succeeded right now. A member "
        f"with the readiness gate {GANG_RUNNING} has it as its pod condition of that name.",
    ),
    Condition.DISRUPTION_TARGET: ConditionMeaning(
        (Reason.PREEMPTION_BY_SCHEDULER, Reason.BELOW_MINIMUM),
        (),
        "Members were preempted since the minimum was placed last; where only some beyond it were, "
        "until they have left. On pods: this member is about to be evicted, and why; for "
        f"{Reason.BELOW_MINIMUM} the group says so in {Condition.SCHEDULED}, reason "
        f"{Reason.TIMED_OUT}.",
    ),
    Condition.FINISHED: ConditionMeaning(
        (Reason.SUCCEEDED, Reason.FAILED),
        (),
        "The owner has ended; without an owner, all members have. Removed when the next "
        "run begins.",
    ),
}


def writer(kind: Condition) -> str:
    """The process that writes a condition."""
    return "scheduler" if kind in SCHEDULER_FIELDS.conditions else "controller"


REASONS: Final[Mapping[Reason, str]] = {
    Reason.PENDING: "The scheduler has not evaluated the group yet; the status is Unknown.",
    Reason.WAITING_FOR_MEMBERS: (
        "Fewer members exist than the minimum of the group, or of a role. Reserves no capacity."
    ),
    Reason.WAITING_ON_PERMIT: (
        "There is enough capacity, and a Permit plugin or an extender has not approved yet. Pods "
        "are not marked Unschedulable, so cluster-autoscaler does not scale up."
    ),
    Reason.UNSCHEDULABLE: (
        "All required members exist, and they do not all fit now. Released capacity or more nodes "
        "help, unless the message names a claim, a class or a selector: correct that. The pods are "
        "marked Unschedulable."
    ),
    Reason.INFEASIBLE: (
        "The group does not fit even on the present nodes when empty; the message has the number. "
        "Only other nodes help, unless the message names a claim or a selector: correct that. Pods "
        "are marked Unschedulable for cluster-autoscaler."
    ),
    Reason.SCHEDULER_ERROR: (
        "The API server, a webhook or a plugin failed or rejected the plan for a reason other than "
        "capacity. No other node is tried; the plan is retried after a backoff, or a longer pause "
        "if members were evicted for it before."
    ),
    Reason.INVALID_SPEC: (
        "The spec of the PodGroup or of a member is invalid; the message names the field."
    ),
    Reason.POD_GROUP_NOT_FOUND: (
        "On pods: the PodGroup that it names does not exist, or no longer exists, in its namespace."
    ),
    Reason.BINDING: "A plan exists, and its members are being bound.",
    Reason.SCHEDULED: "The minimum is bound.",
    Reason.STARTING: "The minimum is bound, and not all of it runs yet.",
    Reason.RUNNING: "The minimum is Running, or has succeeded.",
    Reason.BELOW_MINIMUM: (
        "Members were lost. Replacements are planned for as long as it takes; a gang that has "
        "started is evicted only with onIncomplete: Restart."
    ),
    Reason.TIMED_OUT: (
        "The rest of the gang did not fit within scheduleTimeoutSeconds. The bound members are "
        "evicted to release capacity, and the group queues again: at once the first time, then "
        "after a pause that doubles up to an hour (status.nextAttemptTime)."
    ),
    Reason.MEMBERS_CANNOT_EXIST: (
        "The owner can create no further pod before one has started, and the minimum asks for "
        "more: the message names the owner and its field. Lower the minimum, or start in waves."
    ),
    Reason.RESERVATION_EXPIRED: (
        "The minimum is bound. Reserved capacity of minResources went unused for "
        "scheduleTimeoutSeconds, or was not used up within the configuration's "
        "reservationSeconds, and is released; later pods use what is free."
    ),
    Reason.PREEMPTED: (
        "Members were evicted for a pod or a gang of higher priority, which the message names, "
        "with what the group waits for now. It keeps its place in the queue."
    ),
    Reason.PREEMPTION_BY_SCHEDULER: (
        "Members give way to a pod or a gang of higher priority, which the message names."
    ),
    Reason.SATISFIED: "The minimum is Running, or has succeeded, right now.",
    Reason.SUCCEEDED: "The owner completed, or as many members as the minimum succeeded.",
    Reason.FAILED: "The owner failed, or fewer members succeeded than the minimum.",
}

CAUSES: Final[Mapping[WaitCause, str]] = {
    WaitCause.NOTHING: "It starts as soon as the scheduler takes it.",
    WaitCause.SURPLUS: "It has its minimum; members beyond it do not fit.",
    WaitCause.MEMBERS: "Fewer members exist than it needs.",
    WaitCause.CAPACITY: "Its nodes exist, and others use them.",
    WaitCause.CLUSTER: "It would not fit if the cluster were empty.",
    WaitCause.OTHER: "What the message says: a field, an object, a plugin.",
}

#: An event of a group is written on the object that the group was made for as well.
_GROUP: Final = "PodGroup, what it was made for"

EVENTS: Final[Mapping[EventReason, EventMeaning]] = {
    EventReason.SCHEDULED: EventMeaning(
        "pod",
        False,
        "The pod is bound to a node. Of many that are bound at once, a part has it, and late.",
    ),
    EventReason.FAILED_SCHEDULING: EventMeaning(
        "pod",
        True,
        "It fits no node, or its gang does not: the note says what the gang waits for, and whether "
        "this member is the one that does not fit. Or it names its PodGroup by a misspelt key: the "
        "note has the right one, and the condition the reason InvalidSpec.",
    ),
    EventReason.WAITING_FOR_GANG: EventMeaning(
        "pod",
        True,
        "Its gang cannot be scheduled yet: the note says which members or claims are missing.",
    ),
    EventReason.GANG_SCHEDULED: EventMeaning(
        _GROUP,
        False,
        "The minimum is bound; the note names the domain of a group with a topology. In a burst of "
        "Bindings it comes late.",
    ),
    EventReason.GANG_UNSCHEDULABLE: EventMeaning(
        _GROUP, True, "The gang does not fit now, or a plugin has not approved it yet."
    ),
    EventReason.GANG_INFEASIBLE: EventMeaning(
        _GROUP, True, "The gang does not fit even on the present nodes when empty."
    ),
    EventReason.GANG_BIND_FAILED: EventMeaning(
        _GROUP,
        True,
        "A Binding was rejected for a reason other than capacity, or a volume or device could not "
        "be prepared; the note says which claim.",
    ),
    EventReason.GANG_BELOW_MINIMUM: EventMeaning(
        _GROUP, True, "Bound members were lost, and the rest is below the minimum."
    ),
    EventReason.GANG_REPAIRED: EventMeaning("PodGroup", False, "The minimum is bound again."),
    EventReason.GANG_TIMED_OUT: EventMeaning(
        _GROUP,
        True,
        "The rest did not fit in time, or another gang needs the capacity; members are evicted.",
    ),
    EventReason.PREEMPTED: EventMeaning(
        f"pod, {_GROUP}",
        False,
        "It gives way to a pod or a gang of higher priority, which the note names; on pod and "
        "PodGroup `related` refers to it.",
    ),
    EventReason.PREEMPTING: EventMeaning(
        "PodGroup",
        False,
        "Pods of lower priority are evicted for it; the note names some, `related` one.",
    ),
    EventReason.RESERVATION_EXPIRED: EventMeaning(
        "PodGroup",
        True,
        "Reserved capacity of minResources went unused and is released, or a group ordered earlier "
        "takes it; the note says which.",
    ),
    EventReason.RESERVATION_LIMITED: EventMeaning(
        "PodGroup",
        True,
        "The configuration limits what the reservations of one namespace keep: some of "
        "minResources is not reserved; the note says how much.",
    ),
    EventReason.BACKOFF_LIMIT_TOO_SMALL: EventMeaning(
        "PodGroup",
        True,
        "An eviction of the gang would fail its Job: raise backoffLimit, or ignore "
        "DisruptionTarget in its podFailurePolicy.",
    ),
    EventReason.NODE_QUARANTINED: EventMeaning(
        "Node",
        True,
        "It rejected or lost gang members, and gets no gang members for a while; the note names "
        "them.",
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
        "It was deleted while members were bound or being bound; those keep running.",
    ),
    EventReason.POD_GROUP_NOT_FOUND: EventMeaning(
        "pod, workload, PodGroup of another project",
        True,
        "A pod names a PodGroup that does not exist in its namespace; or the one to be made is "
        "refused, as by a quota or a webhook: the note says why.",
    ),
    EventReason.POD_GROUP_OUTDATED: EventMeaning(
        "pod, workload, PodGroup of another project",
        True,
        "The PodGroup that is made for it cannot be changed as it calls for, as where a webhook "
        "refuses it or a field is immutable: the note says why.",
    ),
    EventReason.POD_GROUP_AMBIGUOUS: EventMeaning(
        "pod", True, "Its annotation and its label name different PodGroups; the annotation wins."
    ),
    EventReason.POD_GROUP_SHARED: EventMeaning(
        "PodGroup",
        True,
        "Unrelated controllers create members of it: one that has "
        "the minimum alone is a gang of its own, the others count as one.",
    ),
    EventReason.UNKNOWN_KEY: EventMeaning(
        "pod",
        True,
        "An annotation or a label looks like a key of enbloc; the note names the right one. A pod "
        "that names its PodGroup by such a key alone gets FailedScheduling.",
    ),
    EventReason.UNKNOWN_ROLE: EventMeaning(
        "pod", True, "It names a role that its PodGroup does not list."
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
        "A scheduler of this Lease stands by for another install, which serves one of its "
        "schedulerNames, or has this Lease and serves others; the note names Lease and fix.",
    ),
    EventReason.INVALID_SPEC: EventMeaning(
        "PodGroup, what it was made for, pod",
        True,
        "Its spec, or that of a member, is invalid; the note names the field.",
    ),
    EventReason.UNSUPPORTED_FIELD: EventMeaning(
        "workload, PodGroup of another project, pod",
        True,
        "A field or annotation of it has no effect; the note names it and says what to use "
        "instead.",
    ),
}

KEYS: Final[Mapping[str, KeyMeaning]] = {
    names.POD_GROUP_KEY: KeyMeaning(
        "annotation or label",
        "pod",
        "you",
        "The name of a PodGroup in the pod's namespace: the pod is a member of it. If annotation "
        "and label differ, the annotation wins and the event PodGroupAmbiguous says so.",
    ),
    names.ROLE_KEY: KeyMeaning(
        "annotation or label",
        "pod",
        "you",
        "The role of the member: one of the names in spec.roles of its PodGroup.",
    ),
    names.MIN_MEMBER_KEY: KeyMeaning(
        "annotation or label",
        "pod",
        "you",
        "The minimum of the group that the pod names: where no PodGroup of that name exists, the "
        "controller makes one. Of different minimums the largest counts.",
    ),
    names.TOPOLOGY_REQUIRED_KEY: KeyMeaning(
        "annotation or label; on others than pods an annotation",
        "pod, a workload, or a PodGroup of another project",
        "you",
        "spec.topology.required of the PodGroup that is made for the pod, because of "
        f"{names.MIN_MEMBER_KEY} or {names.AUTO_GROUP_KEY}: a level of a Topology, or a node "
        "label. Where you write the PodGroup, it stands there. On a workload, or a PodGroup of "
        "another project, it counts before what these and their pods say.",
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
        "The same for spec.topology.slices: size and level of each, the outer ones first, as in "
        "32@block,4@rack.",
    ),
    names.TOPOLOGY_KEY: KeyMeaning(
        "annotation or label; on others than pods an annotation",
        "pod, a workload, or a PodGroup of another project",
        "you",
        "The same for spec.topology.name: which Topology has the levels; as an annotation, also "
        "one of another project, as in kueue.x-k8s.io/default. Alone on a workload, or a PodGroup "
        "of another project, it is that of the levels which these, or their pods, say.",
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
        "The kind that it made this PodGroup for, plural.group; it follows that object, and goes "
        'with it. "pods": the metadata of pods declares it.',
    ),
    names.AUTO_GROUP_KEY: KeyMeaning(
        "label; on pods annotation or label",
        "Namespace, pod",
        "you",
        "Pods that name no group become one by their workload. On a namespace: "
        '"true" for the kinds that are gangs by nature, "all", "false", or kinds with dots between '
        'them, as in "Job.RayCluster". On a pod: "true" or "false", whatever the namespace says.',
    ),
    names.CHECKPOINT_KEY: KeyMeaning(
        "annotation",
        "pod, PodGroup",
        "you",
        "When the work of the pod, or of all members, was saved last, as 2026-01-31T12:00:00Z: "
        "an eviction loses what was done since. The later of the two counts.",
    ),
    names.EXPECTED_SECONDS_KEY: KeyMeaning(
        "annotation",
        "pod",
        "you",
        "For how many seconds the pod is expected to run, as a whole number. Nobody ends it then: "
        "`enbloc queue` estimates by it when others start.",
    ),
    names.SCHEDULE_TIMEOUT_KEY: KeyMeaning(
        "annotation",
        "a workload, or a PodGroup of another project",
        "you",
        "scheduleTimeoutSeconds of the PodGroups that are made for it, 0 to 86400.",
    ),
    names.RANK_KEY: KeyMeaning(
        "annotation",
        "pod",
        "the scheduler, with the Binding",
        "The rank of the member, from 0; a replacement takes the rank that is free.",
    ),
    names.SIZE_KEY: KeyMeaning(
        "annotation",
        "pod",
        "the scheduler, with the Binding",
        "The minimum of the group when the member was bound.",
    ),
    names.COMPONENT_KEY: KeyMeaning(
        "label",
        "Lease",
        "the scheduler",
        '"scheduler" on the Lease of a scheduler: others find it by this label.',
    ),
    names.SCHEDULER_NAMES_KEY: KeyMeaning(
        "annotation",
        "Lease",
        "the scheduler",
        "The schedulerNames that the holder serves; a second install that serves one of them "
        "stands by.",
    ),
    names.RUN_SECONDS_KEY: KeyMeaning(
        "annotation", "pod, in the sandbox", "you", "The pod ends after so many seconds."
    ),
    names.EXIT_CODE_KEY: KeyMeaning(
        "annotation", "pod, in the sandbox", "you", "How it ends: 0 succeeded, else failed."
    ),
    names.REFUSE_KEY: KeyMeaning(
        "annotation",
        "Node or PersistentVolumeClaim, in the sandbox",
        "you",
        "The kubelet of the node rejects every pod, the provisioner the claim, for this reason.",
    ),
    names.SILENT_KEY: KeyMeaning(
        "annotation", "Node, in the sandbox", "you", '"true": its kubelet no longer reports.'
    ),
}

#: Keys of others that change what enbloc does.
KEYS_OF_OTHERS: Final[Mapping[str, KeyMeaning]] = {
    names.JOBSET_UID_KEY: KeyMeaning(
        "label", "pod", "JobSet", "With the restart attempt: which run the member belongs to."
    ),
    names.JOBSET_RESTART_KEY: KeyMeaning(
        "label", "pod", "JobSet", "The restart attempt of which the member is."
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
        "A mirror pod is never a member of a group, and never gives way to others.",
    ),
    names.KUEUE_GROUP_KEY: KeyMeaning(
        "label",
        "pod",
        "you, or a controller",
        "Pods that Kueue admits together: they give way to others together or not at all.",
    ),
    names.VOLCANO_CHECKPOINT_KEY: KeyMeaning(
        "annotation", "pod, PodGroup", "you", "As enbloc.dev/checkpointed-at, where that is absent."
    ),
    names.PART_OF_KEY: KeyMeaning(
        "label",
        "ClusterRoleBinding",
        "the manifests and the chart",
        '"enbloc": Leases in the namespaces of its subjects may be those of a scheduler.',
    ),
}
