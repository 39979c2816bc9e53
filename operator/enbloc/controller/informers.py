# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Informers: pods, and what creates them, are kept in the table of members."""

import asyncio
from collections.abc import AsyncIterator, Callable

from enbloc.controller.creators import Creator
from enbloc.controller.members import Members
from enbloc.kube.items import Added, Deleted, Item, Malformed, Modified, Synced, T
from enbloc.model import codec
from enbloc.model.groups import GroupKey
from enbloc.model.objects import PodObject
from enbloc.model.pods import PodUID

Ask = Callable[[GroupKey], None]
"""Asks for the reconciliation of a group."""


async def follow_pods(
    items: AsyncIterator[Item[PodObject]], members: Members, ask: Ask, synced: asyncio.Event
) -> None:
    """Keep the members in step with the pods; a malformed state of a pod is ignored."""
    async for item in items:
        match item:
            case Added(object=found) | Modified(object=found):
                conditions = (found.status.conditions if found.status else None) or ()
                ready = any(c.type == "Ready" and c.status == "True" for c in conditions)
                touched = members.put(codec.pod(found), ready=ready)
            case Deleted(meta=meta):
                touched = members.remove(PodUID(meta.uid))
            case Synced():
                synced.set()
                continue
            case Malformed():
                continue
        for group in touched:
            ask(group)


async def follow_creators(
    items: AsyncIterator[Item[T]],
    read: Callable[[T], Creator],
    members: Members,
    ask: Ask,
    synced: asyncio.Event,
) -> None:
    """Keep what creates members in step with the API; a malformed state is ignored."""
    async for item in items:
        match item:
            case Added(object=found) | Modified(object=found):
                touched = members.put_creator(read(found))
            case Deleted(meta=meta):
                touched = members.remove_creator(meta.uid)
            case Synced():
                synced.set()
                continue
            case Malformed():
                continue
        for group in touched:
            ask(group)
