# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Histories: groups' conditions and events in the API server, read on demand."""

import asyncio
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from enbloc.client.client import Client
from enbloc.client.decoding import UNREADABLE
from enbloc.client.errors import APIError
from enbloc.client.paths import CORE_EVENTS, POD_GROUPS, Resource
from enbloc.model.groups import GroupKey
from enbloc.model.names import CONTROLLER_REPORTER, SCHEDULER_REPORTER
from enbloc.model.times import seconds_of
from enbloc.ui.attempts import GroupHistory, HistoryEntry

#: How long a history is cached (seconds), and the most histories that are.
KEPT_SECONDS: Final = 10.0
MOST_KEPT: Final = 256
#: The time limit for reading one history (seconds), and the most that are read at once.
READ_SECONDS: Final = 0.8
AT_ONCE: Final = 4
#: The most events that are read of a group, and also of its namespace, for its members.
MOST_EVENTS: Final = 500

T = TypeVar("T")

logger = logging.getLogger(__name__)


class _Struct(msgspec.Struct, gc=False, rename="camel"):
    """Decodes camelCase objects; skips undeclared fields."""


class _Condition(_Struct):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class _Status(_Struct):
    conditions: list[_Condition] | None = None


class _Group(_Struct):
    status: _Status | None = None


class _About(_Struct):
    kind: str | None = None
    name: str | None = None


class _Series(_Struct):
    count: int | None = None
    last_observed_time: str | None = None


class _Metadata(_Struct):
    name: str = ""


class _Event(_Struct):
    metadata: _Metadata
    reason: str | None = None
    message: str | None = None
    event_time: str | None = None
    series: _Series | None = None
    involved_object: _About | None = None
    reporting_component: str | None = None


class _List(_Struct):
    items: list[msgspec.Raw] | None = None


class Histories:
    """Reads the histories of groups, and caches them for some seconds.

    Args:
        client: the API; may list PodGroups, and events if those are to be shown.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._kept: dict[GroupKey, tuple[float, GroupHistory]] = {}

    async def of(self, key: GroupKey, members: Collection[str]) -> GroupHistory:
        """The history of a group, or of a pod without one.

        Args:
            key: of the group.
            members: the names of its pods.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._kept = {k: each for k, each in self._kept.items() if each[0] > now}
        if key in self._kept:
            return self._kept[key][1]
        try:
            async with asyncio.timeout(READ_SECONDS), self._slots:
                found = await self._read(key, members)
        except TimeoutError:
            return GroupHistory(
                problem="The API server takes too long to list what was said of it."
            )
        if len(self._kept) < MOST_KEPT:
            self._kept[key] = loop.time() + KEPT_SECONDS, found
        return found

    async def _read(self, key: GroupKey, members: Collection[str]) -> GroupHistory:
        solo = key.name.startswith("/")
        name = key.name.removeprefix("/")
        asked = [
            self._page(CORE_EVENTS, key, f"involvedObject.name={name}"),
            self._page(CORE_EVENTS, key, f"reportingComponent={SCHEDULER_REPORTER}"),
        ]
        if not solo:
            asked.append(self._page(POD_GROUPS, key, f"metadata.name={name}"))
        own, ours, *groups = await asyncio.gather(*asked, return_exceptions=True)
        problem = ""
        entries: list[HistoryEntry] = []
        for group in groups:
            if isinstance(group, BaseException):
                problem = _problem("conditions", group)
            else:
                entries += _conditions(group)
        events: dict[str, HistoryEntry] = {}
        for found in (own, ours):
            if isinstance(found, BaseException):
                problem = _problem("events", found)
                continue
            if len(found) >= MOST_EVENTS:
                problem = "There are so many events in its namespace that not all were read."
            events |= _events(found, {name, *members})
        return GroupHistory([*entries, *events.values()], problem)

    async def _page(self, resource: Resource, key: GroupKey, field: str) -> Sequence[msgspec.Raw]:
        query = {"fieldSelector": field}
        raw = await self._client.page(resource, key.namespace, query=query, limit=MOST_EVENTS)
        return msgspec.json.decode(raw, type=_List).items or []


def _problem(what: str, error: BaseException) -> str:
    """Why `what` is missing.

    Raises:
        BaseException: the error itself, if it is a bug.
    """
    if not isinstance(error, (APIError, msgspec.MsgspecError, *UNREADABLE)):
        raise error
    logger.warning("Cannot list %s: %s", what, error)
    if isinstance(error, APIError) and error.code == 403:
        return f"Its {what} cannot be shown: the account of this page may not list them."
    return f"Its {what} cannot be shown: the API server does not list them now."


def _conditions(groups: Sequence[msgspec.Raw]) -> Sequence[HistoryEntry]:
    return [
        HistoryEntry(
            _time(c.last_transition_time), f"{c.type}={c.status}", c.reason or "", c.message or ""
        )
        for group in _read(groups, _Group)
        for c in (group.status or _Status()).conditions or ()
    ]


def _events(items: Sequence[msgspec.Raw], names: Collection[str]) -> Mapping[str, HistoryEntry]:
    """The events that enbloc wrote about the objects of these names."""
    found: dict[str, HistoryEntry] = {}
    for event in _read(items, _Event):
        about = event.involved_object or _About()
        by = event.reporting_component
        if about.name not in names or by not in (SCHEDULER_REPORTER, CONTROLLER_REPORTER):
            continue
        series = event.series or _Series()
        found[event.metadata.name] = HistoryEntry(
            _time(series.last_observed_time or event.event_time),
            f"{about.kind} {about.name}",
            event.reason or "",
            event.message or "",
            series.count or 1,
        )
    return found


def _time(text: str | None) -> float | None:
    return seconds_of(text) if text else None


def _read(items: Sequence[msgspec.Raw], shape: type[T]) -> Iterator[T]:
    """The items that can be decoded."""
    for item in items:
        with suppress(msgspec.MsgspecError, *UNREADABLE):
            yield msgspec.json.decode(item, type=shape)
