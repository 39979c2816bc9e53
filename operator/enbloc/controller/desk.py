# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The PodGroups as last seen, and the writing of their status."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from enbloc.controller.members import Members
from enbloc.controller.reconcile import finished, reconcile
from enbloc.kube import Client
from enbloc.kube.backoff import Backoff
from enbloc.kube.errors import APIError, Conflict, Fenced, Invalid, NotFound
from enbloc.kube.events import About, Notice, Recorder
from enbloc.kube.group_status import apply_group_status
from enbloc.kube.paths import POD_GROUPS
from enbloc.model import codec, names
from enbloc.model.groups import Group, GroupKey
from enbloc.model.objects import PodGroupObject
from enbloc.telemetry import Troubles

log = logging.getLogger(__name__)

_WRITING: Final = f"{POD_GROUPS.plural}/status"


@dataclass(slots=True)
class _Card:
    """One PodGroup.

    Attributes:
        status: its status as it stands, both writers' parts.
        failed: failures counted in the incarnation of `group`, never less again.
        backoff: between writes that do not succeed.
    """

    group: Group
    status: Mapping[str, Any]
    failed: int
    backoff: Backoff


class Desk:
    """What is known of every PodGroup; writes the controller's part of its status.

    Args:
        client: the API, fenced when a Lease is held.
        members: the pods, by group.
        troubles: told what keeps a status from being written.
        recorder: told of groups that ended.
    """

    def __init__(
        self, client: Client, members: Members, troubles: Troubles, recorder: Recorder
    ) -> None:
        self._client = client
        self._members = members
        self._troubles = troubles
        self._recorder = recorder
        self._cards: dict[GroupKey, _Card] = {}

    def __contains__(self, key: GroupKey) -> bool:
        return key in self._cards

    def clear(self) -> None:
        """All PodGroups are about to be told of again."""
        self._cards.clear()

    def put(self, found: Mapping[str, Any]) -> GroupKey | None:
        """A PodGroup was added, changed or listed; returns its key unless that is old news."""
        group = _read(found)
        if group is None:
            return None
        status = found.get("status") or {}
        card = self._cards.get(group.key)
        failed = int(status.get("failed") or 0)
        if card is not None and card.group.uid == group.uid:
            if group.resource_version <= card.group.resource_version:
                return None
            same = card.group.memory.incarnation == group.memory.incarnation
            failed = max(failed, card.failed) if same else 0
        self._cards[group.key] = _Card(group, status, failed, card.backoff if card else Backoff())
        return group.key

    def remove(self, found: Mapping[str, Any]) -> GroupKey | None:
        """A PodGroup was deleted; returns its key unless another of that name is there."""
        group = _read(found)
        card = self._cards.get(group.key) if group else None
        if card is None or group is None or card.group.uid != group.uid:
            return None
        return self._cards.pop(group.key).group.key

    async def reconcile(self, key: GroupKey) -> float | None:
        """Write what changed of a group's status; returns when to try again (seconds), or None."""
        card = self._cards.get(key)
        if card is None:
            return None
        patch = reconcile(
            card.group,
            card.status,
            self._members.of(key),
            self._members.jobs,
            self._now(),
            failed_before=card.failed,
        )
        if patch is None:
            return None
        card.failed = patch["failed"]
        try:
            written = await apply_group_status(
                self._client, key, card.group.uid, patch, names.CONTROLLER_MANAGER
            )
        except APIError as error:
            return self._failed(card, error)
        self._troubles.say(_WRITING, None)
        card.backoff.reset()
        ended = finished(patch)
        if ended is not None and finished(card.status) is None:
            self._recorder.emit(_notice(card.group, ended))
        self.put(msgspec.json.decode(written))
        # It holds what others wrote in between, whose own event will be old news: look again.
        return 0.0

    def _failed(self, card: _Card, error: APIError) -> float | None:
        """What follows from a write that did not succeed: when to try again, or None."""
        log.debug("Could not write the status of %s: %s", card.group.key, error)
        if isinstance(error, NotFound):
            if self._cards.get(card.group.key) is card:
                del self._cards[card.group.key]
            return None
        if isinstance(error, Invalid):
            log.error("Could not write the status of %s: %s", card.group.key, error)
            return None
        if isinstance(error, Fenced) or error.namespace_terminating:
            return None
        if not isinstance(error, Conflict):  # a namesake, or a write in between: both show soon
            self._troubles.say(_WRITING, error.advice)
        return card.backoff.next()

    def _now(self) -> float:
        """Server time, seconds since the epoch."""
        offset = self._client.server_offset
        return time.time() if offset is None else time.monotonic() + offset


def _read(found: Mapping[str, Any]) -> Group | None:
    """A PodGroup as scheduling reads it; None, and a line in the log, if it cannot be read."""
    try:
        return codec.group(msgspec.convert(found, PodGroupObject))
    except msgspec.ValidationError as error:
        log.warning("Ignored a PodGroup that cannot be read: %s", error)
        return None


def _notice(group: Group, ended: Mapping[str, Any]) -> Notice:
    return Notice(
        type="Normal" if ended["reason"] == names.Reason.SUCCEEDED else "Warning",
        reason=names.EventReason.POD_GROUP_FINISHED,
        action="Reconciling",
        note=f"{ended['reason']}: {ended['message']}",
        reporter=names.CONTROLLER_REPORTER,
        regarding=About(POD_GROUPS, group.key.namespace, group.key.name, group.uid),
    )
