# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The recorder of the events that the scheduler writes on pods, PodGroups and nodes."""

import asyncio
import socket
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self

from enbloc.client.client import Client
from enbloc.client.events import Notice, ObjectReference, Recorder, Urgency
from enbloc.client.paths import NODES, POD_GROUPS, PODS
from enbloc.engine.effects import Emit
from enbloc.model.names import SCHEDULER_REPORTER, EventReason

_URGENCY: Final[Mapping[str, Urgency]] = {
    EventReason.SCHEDULED: Urgency.POD,
    EventReason.GANG_SCHEDULED: Urgency.GROUP,
}

#: How long the end waits for what is not yet written (seconds).
FLUSH_SECONDS: Final = 1.0


class EventRecorder:
    """Writes events in the background while the context lasts.

    Args:
        client: what is written while this process does not lead must not be about its decisions.
        busy: whether events of what went well had better wait; None = they never need.
    """

    def __init__(self, client: Client, busy: Callable[[], bool] | None = None) -> None:
        self._recorder = Recorder(client, socket.gethostname(), busy)
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._writing = asyncio.create_task(self._recorder.run(), name="events")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close(FLUSH_SECONDS)

    async def run(self) -> None:
        """Raise what ended the writing, by a bug of ours; until cancelled or closed."""
        writing = self._writing
        assert writing is not None, "only in the context"
        await asyncio.wait([writing])
        writing.result()

    async def close(self, seconds: float) -> None:
        """Write what is left, in so many seconds at most; nothing is written after."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.cancel()
            await asyncio.wait([writing])
            await self._recorder.flush(seconds)

    def emit(self, effect: Emit) -> None:
        """Write an event that the engine asked for."""
        self._recorder.emit(
            Notice(
                type=effect.type,
                reason=effect.reason,
                action=effect.action,
                note=effect.note,
                reporter=effect.reporter,
                regarding=_about(effect),
                urgency=_URGENCY.get(effect.reason, Urgency.NEWS),
            )
        )

    def malformed(self, about: ObjectReference, note: str) -> None:
        """Say on an object what cannot be read of it."""
        self._warn(about, EventReason.MALFORMED_OBJECT, "Scheduling", note)

    def lease_conflict(self, about: ObjectReference, note: str) -> None:
        """Say on our Lease for whom we stand by."""
        self._warn(about, EventReason.LEASE_CONFLICT, "StandingBy", note)

    def _warn(self, about: ObjectReference, reason: EventReason, action: str, note: str) -> None:
        self._recorder.emit(
            Notice(
                type="Warning",
                reason=reason,
                action=action,
                note=note,
                reporter=SCHEDULER_REPORTER,
                regarding=about,
            )
        )


def _about(effect: Emit) -> ObjectReference:
    if effect.pod is not None:
        return ObjectReference(PODS, effect.pod.namespace, effect.pod.name, effect.uid)
    if effect.group is not None:
        return ObjectReference(POD_GROUPS, effect.group.namespace, effect.group.name, effect.uid)
    assert effect.node, "an event is about a pod, a group or a node"
    return ObjectReference(NODES, "", effect.node, effect.uid)
