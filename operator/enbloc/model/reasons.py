# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What goes with a reason for which a group waits, wherever it is told: events, and its cause."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from enbloc.model.names import EventReason, Reason

#: By which event a pending member is told why its gang waits.
MEMBER_EVENTS: Final[Mapping[Reason, EventReason]] = {
    Reason.UNSCHEDULABLE: EventReason.FAILED_SCHEDULING,
    Reason.INFEASIBLE: EventReason.FAILED_SCHEDULING,
    Reason.SCHEDULER_ERROR: EventReason.FAILED_SCHEDULING,
    Reason.WAITING_FOR_MEMBERS: EventReason.WAITING_FOR_GANG,
    Reason.WAITING_ON_PERMIT: EventReason.WAITING_FOR_GANG,
    Reason.INVALID_SPEC: EventReason.INVALID_SPEC,
    Reason.POD_GROUP_NOT_FOUND: EventReason.POD_GROUP_NOT_FOUND,
}

#: By which event it is told on the PodGroup, and on what that was made for.
GROUP_EVENTS: Final[Mapping[Reason, EventReason]] = {
    Reason.UNSCHEDULABLE: EventReason.GANG_UNSCHEDULABLE,
    Reason.WAITING_ON_PERMIT: EventReason.GANG_UNSCHEDULABLE,
    Reason.INFEASIBLE: EventReason.GANG_INFEASIBLE,
    Reason.SCHEDULER_ERROR: EventReason.GANG_BIND_FAILED,
    Reason.INVALID_SPEC: EventReason.INVALID_SPEC,
    Reason.BELOW_MINIMUM: EventReason.GANG_BELOW_MINIMUM,
    Reason.TIMED_OUT: EventReason.GANG_TIMED_OUT,
    Reason.PREEMPTED: EventReason.PREEMPTED,
}

#: Of these what happened is told at once, not when the group is decided again.
HAPPENED: Final = frozenset({Reason.BELOW_MINIMUM, Reason.TIMED_OUT, Reason.PREEMPTED})


class Cause(StrEnum):
    """What keeps a group waiting, once it has been tried what would make it start."""

    NOTHING = "nothing"
    SURPLUS = "surplus"
    MEMBERS = "members"
    CAPACITY = "capacity"
    CLUSTER = "cluster"
    OTHER = "other"


_FIT: Final = (Cause.CAPACITY, Cause.CLUSTER, Cause.OTHER)

#: The causes of which one is found, by the reason of a group that has not its minimum.
CAUSES: Final[Mapping[Reason, tuple[Cause, ...]]] = {
    **dict.fromkeys(Reason, (Cause.OTHER,)),
    Reason.WAITING_FOR_MEMBERS: (Cause.MEMBERS,),
    Reason.UNSCHEDULABLE: _FIT,
    Reason.INFEASIBLE: _FIT,
    Reason.BELOW_MINIMUM: (Cause.MEMBERS, *_FIT),
    Reason.PREEMPTED: (Cause.MEMBERS, *_FIT),
}
