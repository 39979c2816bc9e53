# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Informers: pods, and what creates them, are kept in the table of members."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from enbloc.controller.creators import Creator
from enbloc.controller.members import Members
from enbloc.kube.items import Added, Deleted, Item, Malformed, Modified, Synced, T
from enbloc.model import codec
from enbloc.model.auto_groups import AutoGroups, kinds_of
from enbloc.model.groups import GroupKey
from enbloc.model.names import AUTO_GROUP_KEY
from enbloc.model.objects import NamespaceObject, PodObject
from enbloc.model.pods import Pod, PodUID

log: Final = logging.getLogger(__name__)

Ask = Callable[[GroupKey], None]
"""Asks for the reconciliation of a group."""


async def follow_pods(
    items: AsyncIterator[Item[PodObject]],
    members: Members,
    auto: AutoGroups,
    ask: Ask,
    synced: asyncio.Event,
) -> None:
    """Keep the members in step with the pods; a malformed state of a pod is ignored."""
    async for item in items:
        match item:
            case Added(object=found) | Modified(object=found):
                conditions = (found.status.conditions if found.status else None) or ()
                ready = any(c.type == "Ready" and c.status == "True" for c in conditions)
                pod = auto.pod(found, codec.pod(found), ready=ready)
                touched = members.put(pod, ready=ready)
            case Deleted(meta=meta):
                auto.gone(PodUID(meta.uid))
                touched = members.remove(PodUID(meta.uid))
            case Synced():
                synced.set()
                continue
            case Malformed():
                continue
        for group in touched:
            ask(group)


async def follow_namespaces(
    items: AsyncIterator[Item[NamespaceObject]],
    members: Members,
    auto: AutoGroups,
    ask: Ask,
    synced: asyncio.Event,
) -> None:
    """Keep the members in step with what namespaces say of groups for workloads."""
    async for item in items:
        match item:
            case Added(object=found) | Modified(object=found):
                labels = found.metadata.labels or {}
                regroup(auto.namespace(found.metadata.name, labels), members, auto, ask)
                _, unknown = kinds_of(labels.get(AUTO_GROUP_KEY, ""))
                if unknown:
                    log.warning(
                        "Namespace %s: label %s names %s, of which no groups are made; use true, "
                        "all, false, or kinds with dots between them",
                        found.metadata.name,
                        AUTO_GROUP_KEY,
                        ", ".join(unknown),
                    )
            case Deleted(meta=meta):
                auto.namespace_gone(meta.name)
            case Synced():
                synced.set()
            case Malformed():
                continue


def regroup(pods: Iterable[Pod], members: Members, auto: AutoGroups, ask: Ask) -> None:
    """Pods belong to another group now, though they did not change."""
    for pod in pods:
        for group in members.put(pod, ready=auto.was_ready(pod.uid)):
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
