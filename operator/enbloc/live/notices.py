# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The events that the scheduler writes on pods, PodGroups, nodes and its Lease."""

from collections.abc import Mapping
from typing import Final

from enbloc.client.events import Notice, ObjectReference, Urgency
from enbloc.client.paths import NODES, POD_GROUPS, PODS
from enbloc.engine.effects import Emit, Related
from enbloc.model.names import SCHEDULER_REPORTER, EventReason

_URGENCY: Final[Mapping[str, Urgency]] = {
    EventReason.SCHEDULED: Urgency.POD,
    EventReason.GANG_SCHEDULED: Urgency.GROUP,
}
#: Not aggregated: their notes state a duration, and they are at least a minute apart.
_SINGLE: Final = (EventReason.NODE_QUARANTINED, EventReason.NODE_RELEASED)


def notice(effect: Emit) -> Notice:
    """The event that the engine asked for."""
    return Notice(
        type=effect.type,
        reason=effect.reason,
        action=effect.action,
        note=effect.note,
        reporter=effect.reporter,
        regarding=_about(effect),
        related=None if effect.related is None else _object(effect.related),
        urgency=_URGENCY.get(effect.reason, Urgency.NEWS),
        single=effect.reason in _SINGLE,
    )


def malformed(about: ObjectReference, note: str) -> Notice:
    """The event that says what of an object cannot be read."""
    return _warning(about, EventReason.MALFORMED_OBJECT, "Scheduling", note)


def lease_conflict(about: ObjectReference, note: str) -> Notice:
    """The event on our Lease that says for whom this process stands by."""
    return _warning(about, EventReason.LEASE_CONFLICT, "StandingBy", note)


def _warning(about: ObjectReference, reason: EventReason, action: str, note: str) -> Notice:
    return Notice("Warning", reason, action, note, SCHEDULER_REPORTER, about)


def _about(effect: Emit) -> ObjectReference:
    if effect.node:
        return ObjectReference(NODES, "", effect.node, effect.uid)
    return _object(effect)


def _object(found: Emit | Related) -> ObjectReference:
    if found.pod is not None:
        return ObjectReference(PODS, found.pod.namespace, found.pod.name, found.uid)
    assert found.group is not None, "an event is about a pod, a group or a node"
    return ObjectReference(POD_GROUPS, found.group.namespace, found.group.name, found.uid)
