# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reasons for which a group waits, with the events and causes reported for each."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from enbloc.model.names import EventReason, Reason

#: The event on a pending member that says why its gang waits.
MEMBER_EVENTS: Final[Mapping[Reason, EventReason]] = {
    Reason.UNSCHEDULABLE: EventReason.FAILED_SCHEDULING,
    Reason.INFEASIBLE: EventReason.FAILED_SCHEDULING,
    Reason.SCHEDULER_ERROR: EventReason.FAILED_SCHEDULING,
    Reason.WAITING_FOR_MEMBERS: EventReason.WAITING_FOR_GANG,
    Reason.WAITING_ON_PERMIT: EventReason.WAITING_FOR_GANG,
    Reason.INVALID_SPEC: EventReason.INVALID_SPEC,
    Reason.POD_GROUP_NOT_FOUND: EventReason.POD_GROUP_NOT_FOUND,
}

#: The event on the PodGroup, and on the object it was made for.
GROUP_EVENTS: Final[Mapping[Reason, EventReason]] = {
    Reason.UNSCHEDULABLE: EventReason.GANG_UNSCHEDULABLE,
    Reason.WAITING_ON_PERMIT: EventReason.GANG_UNSCHEDULABLE,
    Reason.INFEASIBLE: EventReason.GANG_INFEASIBLE,
    Reason.SCHEDULER_ERROR: EventReason.GANG_BIND_FAILED,
    Reason.INVALID_SPEC: EventReason.INVALID_SPEC,
    Reason.BELOW_MINIMUM: EventReason.GANG_BELOW_MINIMUM,
    Reason.TOPOLOGY_DOMAIN_FULL: EventReason.GANG_BELOW_MINIMUM,
    Reason.TIMED_OUT: EventReason.GANG_TIMED_OUT,
    Reason.PREEMPTED: EventReason.PREEMPTED,
}

#: Reasons that are reported at once, not when the group is decided again.
HAPPENED: Final = frozenset(
    {Reason.BELOW_MINIMUM, Reason.TOPOLOGY_DOMAIN_FULL, Reason.TIMED_OUT, Reason.PREEMPTED}
)


class WaitCause(StrEnum):
    """What keeps a group waiting, as found by trying what would make it start."""

    NOTHING = "nothing"
    SURPLUS = "surplus"
    MEMBERS = "members"
    CAPACITY = "capacity"
    CLUSTER = "cluster"
    OTHER = "other"


_FIT: Final = (WaitCause.CAPACITY, WaitCause.CLUSTER, WaitCause.OTHER)

#: The possible causes, by the reason of a group that does not have its minimum.
CAUSES: Final[Mapping[Reason, tuple[WaitCause, ...]]] = {
    **dict.fromkeys(Reason, (WaitCause.OTHER,)),
    Reason.WAITING_FOR_MEMBERS: (WaitCause.MEMBERS,),
    Reason.UNSCHEDULABLE: _FIT,
    Reason.INFEASIBLE: _FIT,
    Reason.BELOW_MINIMUM: (WaitCause.MEMBERS, *_FIT),
    Reason.TOPOLOGY_DOMAIN_FULL: _FIT,
    Reason.PREEMPTED: (WaitCause.MEMBERS, *_FIT),
}
