# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the PodGroups as last seen, and writes the controller's part of their status."""

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from cachetools import LRUCache

from enbloc.client.client import Client
from enbloc.client.coalescing_writer import (
    CROWD_LATEST_SECONDS,
    CROWD_SETTLED_SECONDS,
    CoalescingWriter,
)
from enbloc.client.errors import NotFound
from enbloc.client.events import Notice, ObjectReference, Recorder
from enbloc.client.group_status import INTERVAL, PASSING, SETTLED, apply_group_status
from enbloc.client.paths import JOBS, POD_GROUPS
from enbloc.controller.answers import WholeGroup
from enbloc.controller.existence import Creators, fragile
from enbloc.controller.members import Members
from enbloc.controller.reconcile import reconcile
from enbloc.controller.runs import RunHistory, finished
from enbloc.controller.sharing import sharing
from enbloc.model import names
from enbloc.model.field_ownership import CONTROLLER_FIELDS
from enbloc.model.groups import Group, GroupKey
from enbloc.model.times import seconds_of
from enbloc.telemetry import ActiveProblems
from enbloc.wire import codec
from enbloc.wire.objects import PodGroupObject

log = logging.getLogger(__name__)

#: The most groups that are reconciled and written at the same time.
PARALLEL: Final = 32
#: In a crowd, the scheduler reports on a group within this time (seconds).
WORD_SECONDS: Final = CROWD_LATEST_SECONDS + CROWD_SETTLED_SECONDS
#: For how many Jobs, and for how many groups, the last warning is remembered.
WARNED: Final = 4096


@dataclass(slots=True)
class _Known:
    """One PodGroup.

    Attributes:
        status: its current status, both writers' parts.
        history: from the last look.
    """

    group: Group
    status: Mapping[str, Any]
    history: RunHistory


class StatusWriter:
    """Knows every PodGroup, and writes the controller's part of its status.

    Args:
        client: the API, fenced when a Lease is held.
        members: the pods, by group.
        problems: told what keeps a status from being written.
        recorder: writes the events of groups that ended, and the warnings.
        now: server time, seconds since the epoch.
    """

    def __init__(
        self,
        client: Client,
        members: Members,
        problems: ActiveProblems,
        recorder: Recorder,
        now: Callable[[], float],
    ) -> None:
        self._client = client
        self._members = members
        self._recorder = recorder
        self._now = now
        self._groups: dict[GroupKey, _Known] = {}
        # By UID of the Job; bounded: a forgotten warning is only repeated.
        self._warned: LRUCache[str, int] = LRUCache(WARNED)
        # By UID of the PodGroup: the creators that the last warning named.
        self._shared: LRUCache[str, frozenset[str]] = LRUCache(WARNED)
        self.writer: Final = CoalescingWriter[GroupKey, _Known](
            "PodGroup status",
            self._write,
            problems,
            queue="podgroup_controller",
            parallel=PARALLEL,
            interval=INTERVAL,
            settles=_settles,
            patience=_patience,
        )

    def seen(self, found: Mapping[str, Any]) -> None:
        """Take in a PodGroup; a state older than the known one is ignored."""
        group = _read(found)
        if group is None:
            return
        status = found.get("status") or {}
        known = self._groups.get(group.key)
        failed = status.get("failed")
        history = RunHistory(group.memory.run_name, failed if isinstance(failed, int) else 0)
        if known is not None and known.group.uid == group.uid:
            if group.resource_version <= known.group.resource_version:
                return
            history = known.history
        self._groups[group.key] = _Known(group, status, history)
        self.reconcile(group.key)

    def gone(self, found: Mapping[str, Any]) -> None:
        """Forget a PodGroup that was deleted; a new one of the same name stays."""
        group = _read(found)
        known = self._groups.get(group.key) if group else None
        if known is not None and group is not None and known.group.uid == group.uid:
            del self._groups[group.key]

    def reconcile(self, key: GroupKey) -> None:
        """Look at a known group, and write what changed: at most once per INTERVAL."""
        known = self._groups.get(key)
        if known is not None:
            self.writer.put(key, known)

    async def _write(self, key: GroupKey, known: _Known) -> None:
        if self._groups.get(key) is not known:
            return  # it is gone, or a newer state is queued
        group = known.group
        seen = known.history.controllers | {group.owner_uid}
        creators = self._members.creators(key, seen)
        self._warn(known, creators)
        found = reconcile(
            group, known.status, self._members.of(key), creators, self._now(), known.history
        )
        if found.patch is None:
            known.history = found.history
            return
        try:
            written = await apply_group_status(
                self._client, key, group.uid, found.patch, CONTROLLER_FIELDS.manager
            )
        except NotFound as error:
            gone = not (error.resource_missing or error.denied)
            if gone and self._groups.get(key) is known:
                del self._groups[key]
            raise
        current = self._groups.get(key)  # the watch may have shown a newer state meanwhile
        if current is not None and current.group.uid == group.uid:
            current.history = found.history
        if found.ended:
            self._recorder.emit(_ended(group, found.patch))
        # The reply has what others wrote meanwhile, and their events will look old: look again now.
        self.seen(written)

    def _warn(self, known: _Known, creators: Creators) -> None:
        """Warn of Jobs that a repair could make fail, and of a shared group; each once."""
        group = known.group
        for creator, note in fragile(group, creators):
            if self._warned.get(creator.uid) != creator.generation:
                self._warned[creator.uid] = creator.generation
                job = ObjectReference(JOBS, group.key.namespace, creator.name, creator.uid)
                reason = names.EventReason.BACKOFF_LIMIT_TOO_SMALL
                self._recorder.emit(_notice(group, "Warning", reason, note, job))
        found = sharing(group, self._members.of(group.key), creators, _gathered(known.status))
        if found is not None and not found.sources <= self._shared.get(group.uid, frozenset()):
            self._shared[group.uid] = found.sources
            reason = names.EventReason.POD_GROUP_SHARED
            self._recorder.emit(_notice(group, "Warning", reason, found.note))


def _read(found: Mapping[str, Any]) -> Group | None:
    """A PodGroup as scheduling reads it; None, and a log line, if it is malformed."""
    try:
        msgspec.convert(found, WholeGroup)
        return codec.group(msgspec.convert(found, PodGroupObject))
    except msgspec.ValidationError as error:
        log.warning("Ignored a malformed PodGroup: %s", error)
        return None


def _settles(known: _Known) -> float:
    """How long a group must be stable before it is looked at (seconds)."""
    starts = _is_placed(known) and not known.status.get("startedTime")
    return PASSING if starts or _awaits_scheduler(known) else SETTLED


def _patience(known: _Known) -> float:
    """The longest such wait in a crowd (seconds); longer before the scheduler has reported."""
    return WORD_SECONDS if _awaits_scheduler(known) else CROWD_SETTLED_SECONDS


def _is_placed(known: _Known) -> bool:
    return (_scheduled(known) or {}).get("status") == "True"


def _awaits_scheduler(known: _Known) -> bool:
    """Whether the scheduler has not reported yet, or its report is about to change by itself."""
    said = _scheduled(known)
    return said is None or said.get("reason") in (names.Reason.PENDING, names.Reason.BINDING)


def _scheduled(known: _Known) -> Mapping[str, Any] | None:
    """Condition Scheduled; None = it is absent."""
    for condition in known.status.get("conditions") or ():
        if condition.get("type") == names.Condition.SCHEDULED:
            found: Mapping[str, Any] = condition
            return found
    return None


def _gathered(status: Mapping[str, Any]) -> float:
    """When the minimum of a group was first bound, seconds since the epoch; inf = not yet."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == names.Condition.INITIALLY_SCHEDULED:
            return seconds_of(str(condition.get("lastTransitionTime"))) or math.inf
    return math.inf


def _ended(group: Group, patch: Mapping[str, Any]) -> Notice:
    end = finished(patch)
    assert end is not None, "a group that ended says so"
    kind = "Normal" if end["reason"] == names.Reason.SUCCEEDED else "Warning"
    note = f"{end['reason']}: {end['message']}"
    return _notice(group, kind, names.EventReason.POD_GROUP_FINISHED, note)


def _notice(
    group: Group,
    kind: str,
    reason: names.EventReason,
    note: str,
    related: ObjectReference | None = None,
) -> Notice:
    return Notice(
        type=kind,
        reason=reason,
        action="Reconciling",
        note=note,
        reporter=names.CONTROLLER_REPORTER,
        regarding=ObjectReference(POD_GROUPS, group.key.namespace, group.key.name, group.uid),
        related=related,
    )
