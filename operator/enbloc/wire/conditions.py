# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conditions to write; their lastTransitionTime changes only when their status does."""

from enbloc.model.text import clipped, printable
from enbloc.model.times import time_text
from enbloc.wire.objects import GroupConditionObject


def group_condition(
    kind: str,
    status: str,
    reason: str,
    message: str,
    generation: int,
    now: float,
    standing: GroupConditionObject | None,
) -> GroupConditionObject:
    """A condition of a PodGroup, with all six fields, as server-side apply needs them.

    Args:
        kind: its type.
        status: "True", "False" or "Unknown".
        reason: in CamelCase.
        message: for people; escaped, and cut at 1024 characters.
        generation: of the spec that it is about.
        now: server time, seconds since the epoch.
        standing: the current condition; None = none.
    """
    same = standing is not None and standing.status == status
    since = standing.last_transition_time if standing is not None and same else None
    return GroupConditionObject(
        type=str(kind),
        status=status,
        observed_generation=generation,
        last_transition_time=since or time_text(now),
        reason=str(reason),
        message=clipped(printable(message)),
    )


def pod_condition(
    kind: str, status: str, reason: str, message: str, now: float, *, same: bool
) -> dict[str, str]:
    """A condition of a pod, for a strategic merge patch, which leaves absent fields as they are.

    Args:
        kind: its type.
        status: "True" or "False".
        reason: in CamelCase.
        message: for people; escaped, and cut at 1024 characters.
        now: server time, seconds since the epoch.
        same: the condition already has this status.
    """
    condition = {
        "type": str(kind),
        "status": status,
        "reason": str(reason),
        "message": clipped(printable(message)),
    }
    return condition if same else {**condition, "lastTransitionTime": time_text(now)}
