# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Events that say, on the object that a PodGroup was made for, why the group waits.

The creator of that object may not know that there is a PodGroup. In the common case, a gang that
starts without a wait, there is no event.
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

#: For how many PodGroups the last event is remembered.
TOLD: Final = 4096
#: The reasons of condition Ready that are reported, each with the reason of its event.
_EVENTS: Final[Mapping[str, EventReason]] = {
    str(reason): event for reason, event in GROUP_EVENTS.items()
}
#: The reasons of condition Ready that end the wait.
_OVER: Final = frozenset({Reason.STARTING, Reason.RUNNING, Reason.SUCCEEDED})


class WaitCondition(NamedTuple):
    """What to report of a PodGroup."""

    type: str
    reason: EventReason
    message: str


class Waits:
    """Remembers what was reported of each PodGroup; each state is reported once, when it begins.

    A waiting gang that is held at Permit at each attempt is not reported again.
    """

    def __init__(self) -> None:
        self._told: LRUCache[str, EventReason] = LRUCache(TOLD)

    def news(self, found: Mapping[str, Any]) -> WaitCondition | None:
        """What to report of this PodGroup now; None = nothing new.

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
            return WaitCondition("Warning" if EVENTS[reason].warning else "Normal", reason, message)
        if reason is None and before is not None and ready.get("reason") in _OVER:
            del self._told[uid]
            return WaitCondition("Normal", EventReason.GANG_SCHEDULED, message)
        return None


def notice(said: WaitCondition, found: Mapping[str, Any], owner: Mapping[str, Any]) -> Notice:
    """The event on the owner.

    Args:
        said: what to report.
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
    """Its condition Ready; empty = it has none. The status is untrusted: any client may write."""
    status = found.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, dict) and each.get("type") == Condition.READY:
            return each
    return {}
