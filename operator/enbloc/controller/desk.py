# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The PodGroups as last seen, and the writing of their status."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from cachetools import LRUCache

from enbloc.controller.existence import Creators, fragile
from enbloc.controller.life import Recall, finished
from enbloc.controller.members import Members
from enbloc.controller.reconcile import reconcile
from enbloc.kube import Client
from enbloc.kube.backoff import Backoff
from enbloc.kube.errors import APIError, Conflict, Fenced, Invalid, NotFound
from enbloc.kube.events import About, Notice, Recorder
from enbloc.kube.group_status import apply_group_status
from enbloc.kube.paths import JOBS, POD_GROUPS
from enbloc.model import codec, names
from enbloc.model.groups import Group, GroupKey
from enbloc.model.objects import PodGroupObject
from enbloc.telemetry import Troubles

log = logging.getLogger(__name__)

#: Of how many Jobs it is kept that they were warned of.
WARNED: Final = 4096
_WRITING: Final = f"{POD_GROUPS.plural}/status"


@dataclass(slots=True)
class _Card:
    """One PodGroup.

    Attributes:
        status: its status as it stands, both writers' parts.
        recall: what the last look left to be remembered.
        backoff: between writes that do not succeed.
    """

    group: Group
    status: Mapping[str, Any]
    recall: Recall
    backoff: Backoff


class Desk:
    """What is known of every PodGroup; writes the controller's part of its status.

    Args:
        client: the API, fenced when a Lease is held.
        members: the pods, by group.
        troubles: told what keeps a status from being written.
        recorder: told of groups that ended, and of Jobs that a repair could make fail.
    """

    def __init__(
        self, client: Client, members: Members, troubles: Troubles, recorder: Recorder
    ) -> None:
        self._client = client
        self._members = members
        self._troubles = troubles
        self._recorder = recorder
        self._cards: dict[GroupKey, _Card] = {}
        # By UID of the Job; bounded, as what is forgotten is merely said again.
        self._warned: LRUCache[str, int] = LRUCache(WARNED)

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
        recall = Recall(group.memory.incarnation, int(status.get("failed") or 0))
        if card is not None and card.group.uid == group.uid:
            if group.resource_version <= card.group.resource_version:
                return None
            recall = card.recall
        self._cards[group.key] = _Card(group, status, recall, card.backoff if card else Backoff())
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
        creators = self._members.creators(key)
        self._warn(card.group, creators)
        found = reconcile(
            card.group, card.status, self._members.of(key), creators, self._now(), card.recall
        )
        if found.patch is None:
            card.recall = found.recall
            return None
        try:
            written = await apply_group_status(
                self._client, key, card.group.uid, found.patch, names.CONTROLLER_MANAGER
            )
        except APIError as error:
            return self._failed(card, error)
        self._troubles.say(_WRITING, None)
        card.backoff.reset()
        current = self._cards.get(key)  # the watch may have put another card meanwhile
        if current is not None and current.group.uid == card.group.uid:
            current.recall = found.recall
        if found.ended:
            self._recorder.emit(_ended(card.group, found.patch))
        self.put(msgspec.json.decode(written))
        # It holds what others wrote in between, whose own event will be old news: look again.
        return 0.0

    def _warn(self, group: Group, creators: Creators) -> None:
        """Say which Jobs a repair could make fail, once for each state of their spec."""
        for creator, note in fragile(group, creators):
            if self._warned.get(creator.uid) != creator.generation:
                self._warned[creator.uid] = creator.generation
                job = About(JOBS, group.key.namespace, creator.name, creator.uid)
                reason = names.EventReason.BACKOFF_LIMIT_TOO_SMALL
                self._recorder.emit(_notice(group, "Warning", reason, note, job))

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
    related: About | None = None,
) -> Notice:
    return Notice(
        type=kind,
        reason=reason,
        action="Reconciling",
        note=note,
        reporter=names.CONTROLLER_REPORTER,
        regarding=About(POD_GROUPS, group.key.namespace, group.key.name, group.uid),
        related=related,
    )
