# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Why a PodGroup waits, as an event on the object that it was made for.

Who created that object may not know that there is a PodGroup. The common case, a gang that starts
without a wait, costs no event.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cachetools import LRUCache

from enbloc.api.words import EVENTS
from enbloc.client.events import Notice, ObjectReference
from enbloc.client.paths import POD_GROUPS, Resource
from enbloc.model import names
from enbloc.model.names import Condition, EventReason, Reason
from enbloc.model.reasons import GROUP_EVENTS

#: Of how many PodGroups it is kept what was said last.
TOLD: Final = 4096
#: States of a group that are told, each with the reason of the event.
_EVENTS: Final[Mapping[str, EventReason]] = {
    str(reason): event for reason, event in GROUP_EVENTS.items()
}
#: The wait is over.
_OVER: Final = frozenset({Reason.STARTING, Reason.RUNNING, Reason.SUCCEEDED})


class Said(NamedTuple):
    """What is to be said of a PodGroup."""

    type: str
    reason: EventReason
    message: str


class Waits:
    """What was said of which PodGroup; each state is told once, when the group comes into it.

    A gang that waits already may be held at Permit each time that it is tried: that is no news.
    """

    def __init__(self) -> None:
        self._told: LRUCache[str, EventReason] = LRUCache(TOLD)

    def news(self, found: Mapping[str, Any]) -> Said | None:
        """What is to be said of this PodGroup now; None = nothing new.

        Args:
            found: the PodGroup as JSON.
        """
        uid, ready = str(found["metadata"].get("uid")), _ready(found)
        before, reason = self._told.get(uid), _EVENTS.get(str(ready.get("reason")))
        message = str(ready.get("message") or "")
        if before is not None and ready.get("reason") == Reason.WAITING_ON_PERMIT:
            return None
        if reason is not None and reason is not before:
            self._told[uid] = reason
            return Said("Warning" if EVENTS[reason].warning else "Normal", reason, message)
        if reason is None and before is not None and ready.get("reason") in _OVER:
            del self._told[uid]
            return Said("Normal", EventReason.GANG_SCHEDULED, message)
        return None


def notice(said: Said, found: Mapping[str, Any], owner: Mapping[str, Any]) -> Notice:
    """The event.

    Args:
        said: what it says.
        found: the PodGroup, as JSON.
        owner: ownerReference to the object that the PodGroup was made for, as JSON.
    """
    metadata = found["metadata"]
    namespace, name = str(metadata["namespace"]), str(metadata["name"])
    group, _, version = owner["apiVersion"].rpartition("/")
    kind = Resource(group, version, "", owner["kind"])
    return Notice(
        type=said.type,
        reason=said.reason,
        action="Reconciling",
        note=f"PodGroup {namespace}/{name}: {said.message}",
        reporter=names.CONTROLLER_REPORTER,
        regarding=ObjectReference(kind, namespace, owner["name"], owner["uid"]),
        related=ObjectReference(POD_GROUPS, namespace, name, str(metadata.get("uid"))),
    )


def _ready(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its condition Ready; empty = it has none. kopf shows what any client wrote."""
    status = found.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, dict) and each.get("type") == Condition.READY:
            return each
    return {}
