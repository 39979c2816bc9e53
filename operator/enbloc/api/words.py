# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What conditions, reasons and events mean, for people: the API reference shows it.

Tests hold the tables complete: a word that is written somewhere has its meaning here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from enbloc.model.names import GANG_RUNNING, Condition, EventReason, Reason


class ConditionMeaning(NamedTuple):
    """What a condition of a PodGroup says.

    Attributes:
        writer: the process that writes it.
        true: reasons with which it is True.
        false: reasons with which it is False.
        meaning: what it says.
    """

    writer: str
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
)

CONDITIONS: Final[Mapping[Condition, ConditionMeaning]] = {
    Condition.READY: ConditionMeaning(
        "controller",
        (Reason.RUNNING,),
        (
            *_WAITS,
            Reason.STARTING,
            Reason.MEMBERS_CANNOT_EXIST,
            Reason.SUCCEEDED,
            Reason.FAILED,
        ),
        "The sum of all: its reason is the state of the group in one word.",
    ),
    Condition.SCHEDULED: ConditionMeaning(
        "scheduler",
        (Reason.SCHEDULED, Reason.PROMISE_EXPIRED),
        _WAITS,
        "The minimum holds nodes, as the API server shows it. Goes back when members are lost.",
    ),
    Condition.INITIALLY_SCHEDULED: ConditionMeaning(
        "scheduler",
        (Reason.SCHEDULED,),
        (),
        "The minimum held nodes at least once, in this incarnation.",
    ),
    Condition.SATISFIED: ConditionMeaning(
        "scheduler",
        (Reason.SATISFIED,),
        (Reason.BELOW_MINIMUM,),
        "Once the group has started: the minimum is Running or has succeeded right now. A member "
        f"with the readiness gate {GANG_RUNNING} has it as its pod condition of that name.",
    ),
    Condition.DISRUPTION_TARGET: ConditionMeaning(
        "scheduler",
        (Reason.BELOW_MINIMUM,),
        (),
        "On pods: enbloc is about to evict this member, and why. The group says the same in "
        f"{Condition.SCHEDULED}, reason {Reason.TIMED_OUT}.",
    ),
    Condition.FINISHED: ConditionMeaning(
        "controller",
        (Reason.SUCCEEDED, Reason.FAILED),
        (),
        "The owner is done; without an owner, all members are. Goes with the incarnation.",
    ),
}

REASONS: Final[Mapping[Reason, str]] = {
    Reason.PENDING: "Nobody has looked at the group yet; the status is Unknown.",
    Reason.WAITING_FOR_MEMBERS: (
        "Fewer members exist than the minimum of the group, or of a role. Holds no room."
    ),
    Reason.WAITING_ON_PERMIT: (
        "There is room, and a Permit plugin or an extender has not agreed. Pods do not say "
        "Unschedulable, so no autoscaler buys nodes."
    ),
    Reason.UNSCHEDULABLE: (
        "All members that are needed exist, and there is no room for all of them now. Room that "
        "becomes free, or more nodes, help. The pods say so too."
    ),
    Reason.INFEASIBLE: (
        "Not even the empty nodes of today could hold the group; the message has the number. Only "
        "other nodes help, so pods say Unschedulable, which an autoscaler reads."
    ),
    Reason.SCHEDULER_ERROR: (
        "The API server, a webhook or a plugin refused for a reason that is no lack of room. No "
        "other node is tried; the same plan is made again after a pause."
    ),
    Reason.INVALID_SPEC: (
        "What the PodGroup or its members ask for cannot be; the message names the field."
    ),
    Reason.BINDING: "The plan is made, and its members are being bound.",
    Reason.SCHEDULED: "The minimum holds nodes.",
    Reason.STARTING: "The minimum holds nodes, and has not run together yet.",
    Reason.RUNNING: "The minimum is Running, or has succeeded.",
    Reason.BELOW_MINIMUM: (
        "Members were lost. Replacements are planned for as long as it takes; what was started "
        "is evicted only with onIncomplete: Restart."
    ),
    Reason.TIMED_OUT: (
        "The rest of the gang found no room within scheduleTimeoutSeconds, so the members that "
        "held nodes give them back, and the group queues again."
    ),
    Reason.MEMBERS_CANNOT_EXIST: (
        "The owner can create no further pod before one has started, and the minimum asks for "
        "more: the message names the owner and its field. Lower the minimum, or start in waves."
    ),
    Reason.PROMISE_EXPIRED: (
        "The minimum holds nodes, and for scheduleTimeoutSeconds no further pod took of the room "
        "that minResources was promised: others may have it. Later pods take what there is."
    ),
    Reason.SATISFIED: "The minimum is Running, or has succeeded, right now.",
    Reason.SUCCEEDED: "The owner completed, or as many members as the minimum succeeded.",
    Reason.FAILED: "The owner failed, or fewer members succeeded than the minimum.",
}

EVENTS: Final[Mapping[EventReason, EventMeaning]] = {
    EventReason.SCHEDULED: EventMeaning("pod", False, "It has a node."),
    EventReason.FAILED_SCHEDULING: EventMeaning(
        "pod", True, "A pod on its own found no node. Members of a gang have the condition only."
    ),
    EventReason.GANG_SCHEDULED: EventMeaning("PodGroup", False, "The minimum holds nodes."),
    EventReason.GANG_UNSCHEDULABLE: EventMeaning(
        "PodGroup", True, "There is no room for the whole gang now, or a plugin does not agree yet."
    ),
    EventReason.GANG_INFEASIBLE: EventMeaning(
        "PodGroup", True, "No load on today's nodes would leave enough room."
    ),
    EventReason.GANG_BIND_FAILED: EventMeaning(
        "PodGroup", True, "A binding was refused for a reason that is no lack of room."
    ),
    EventReason.GANG_BELOW_MINIMUM: EventMeaning(
        "PodGroup", True, "Members that held nodes were lost, and the minimum with them."
    ),
    EventReason.GANG_REPAIRED: EventMeaning("PodGroup", False, "The minimum holds nodes again."),
    EventReason.GANG_TIMED_OUT: EventMeaning(
        "PodGroup",
        True,
        "The rest found no room in time, or another gang needs it: its members are evicted.",
    ),
    EventReason.PROMISE_EXPIRED: EventMeaning(
        "PodGroup", True, "The room that minResources held is free for others."
    ),
    EventReason.BACKOFF_LIMIT_TOO_SMALL: EventMeaning(
        "PodGroup",
        True,
        "An eviction of the gang would fail its Job: raise backoffLimit, or ignore "
        "DisruptionTarget in its podFailurePolicy.",
    ),
    EventReason.NODE_QUARANTINED: EventMeaning(
        "Node", True, "It refused or lost members, and gets none for a while; it says whose."
    ),
    EventReason.NODE_RELEASED: EventMeaning("Node", False, "It gets members again."),
    EventReason.POD_GROUP_DELETED: EventMeaning(
        "PodGroup",
        True,
        "It was deleted while members were being bound; these are bound all the same.",
    ),
    EventReason.POD_GROUP_NOT_FOUND: EventMeaning(
        "pod", True, "It names a PodGroup that does not exist in its namespace."
    ),
    EventReason.POD_GROUP_AMBIGUOUS: EventMeaning(
        "pod", True, "Its annotation and its label name two groups; the annotation wins."
    ),
    EventReason.POD_GROUP_FINISHED: EventMeaning(
        "PodGroup", False, "The group succeeded; a Warning if it failed."
    ),
    EventReason.MALFORMED_OBJECT: EventMeaning(
        "any", True, "Something of it cannot be read; the note names the field and the fix."
    ),
    EventReason.INVALID_SPEC: EventMeaning(
        "PodGroup", True, "What it or its members ask for cannot be; the note names the field."
    ),
}
