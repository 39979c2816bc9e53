# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Informers: keep the table of members in step with pods, namespaces and creators."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any, Final

from enbloc.client.backoff import Backoff
from enbloc.client.errors import APIError
from enbloc.client.items import Deleted, Item, Malformed, Meta, Seen, Synced, T
from enbloc.client.reflector import Reflector
from enbloc.controller.creators import Creator
from enbloc.controller.members import Members
from enbloc.controller.sources.declaring_pods import DeclaringPods
from enbloc.model.groups import GroupKey
from enbloc.model.names import AUTO_GROUP_KEY
from enbloc.model.pods import Pod, PodUID
from enbloc.wire import codec
from enbloc.wire.auto_groups import AutoGroups, kinds_of
from enbloc.wire.objects import NamespaceObject, PodObject

log: Final = logging.getLogger(__name__)

Ask = Callable[[GroupKey], None]
"""Asks for the reconciliation of a group."""

Confirm = Callable[[float], Awaitable[None]]
"""Returns once a stream was taken in up to a consistent read made after a time (seconds of the
client's `clock.local`)."""


async def follow_pods(
    items: AsyncIterator[Item[PodObject]],
    members: Members,
    auto: AutoGroups,
    declaring: DeclaringPods,
    ask: Ask,
    synced: asyncio.Event,
) -> None:
    """Keep the members, and the groups that pods declare, in step with the pods."""

    def put(found: PodObject) -> Iterable[GroupKey]:
        declaring.put(found)
        conditions = (found.status.conditions if found.status else None) or ()
        ready = any(c.type == "Ready" and c.status == "True" for c in conditions)
        return members.put(auto.pod(found, codec.pod(found), ready=ready), ready=ready)

    def remove(meta: Meta) -> Iterable[GroupKey]:
        declaring.remove(meta.uid)
        auto.gone(PodUID(meta.uid))
        return members.remove(PodUID(meta.uid))

    await _follow(items, put, remove, ask, synced)


async def follow_namespaces(
    items: AsyncIterator[Item[NamespaceObject]],
    members: Members,
    auto: AutoGroups,
    ask: Ask,
    synced: asyncio.Event,
) -> None:
    """Keep the members in step with namespaces: their labels say which workloads get groups."""

    def put(found: NamespaceObject) -> Iterable[GroupKey]:
        labels = found.metadata.labels or {}
        _, unknown = kinds_of(labels.get(AUTO_GROUP_KEY, ""))
        if unknown:
            log.warning(
                "Namespace %s: label %s names %s, of which no groups are made; use true, "
                "all, false, or kinds with dots between them",
                found.metadata.name,
                AUTO_GROUP_KEY,
                ", ".join(unknown),
            )
        return regrouped(auto.namespace(found.metadata.name, labels), members, auto)

    def remove(meta: Meta) -> Iterable[GroupKey]:
        auto.namespace_gone(meta.name)
        return ()

    await _follow(items, put, remove, ask, synced)


def regrouped(pods: Iterable[Pod], members: Members, auto: AutoGroups) -> Iterator[GroupKey]:
    """Move pods that changed their group without a change of their own; the affected groups."""
    for pod in pods:
        yield from members.put(pod, ready=auto.was_ready(pod.uid))


async def follow_creators(
    items: AsyncIterator[Item[T]],
    read: Callable[[T], Creator],
    members: Members,
    ask: Ask,
    synced: asyncio.Event,
) -> None:
    """Keep the creators of members in step with the API."""
    await _follow(
        items,
        lambda found: members.put_creator(read(found)),
        lambda meta: members.remove_creator(meta.uid),
        ask,
        synced,
    )


async def confirm(stream: Reflector[Any], since: float) -> None:
    """Return once a stream has passed a consistent read made after `since`.

    Args:
        stream: what fills the table of members.
        since: seconds of the client's `clock.local`.
    """
    backoff = Backoff(cap=5.0)
    while True:
        try:
            return await stream.confirm(since)
        except APIError as error:  # the stream's own problem is reported
            log.debug("Retrying the consistent read of %s: %s", stream.resource.label(), error)
            await backoff.wait_out(error)


async def _follow(
    items: AsyncIterator[Item[T]],
    put: Callable[[T], Iterable[GroupKey]],
    remove: Callable[[Meta], Iterable[GroupKey]],
    ask: Ask,
    synced: asyncio.Event,
) -> None:
    """Take in each change, and ask for the affected groups; malformed objects are ignored."""
    async for item in items:
        match item:
            case Seen(object=found):
                touched = put(found)
            case Deleted(meta=meta):
                touched = remove(meta)
            case Synced():
                synced.set()
                continue
            case Malformed():
                continue
        for group in touched:
            ask(group)
