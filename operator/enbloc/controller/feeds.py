# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods and Jobs on their way from the API into the table of members."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

import msgspec

from enbloc.controller.members import Members
from enbloc.kube.items import Added, Deleted, Item, Malformed, Meta, Modified, Synced
from enbloc.model import codec
from enbloc.model.groups import GroupKey
from enbloc.model.objects import ConditionObject, PodObject
from enbloc.model.pods import PodUID

#: Conditions that end a Job, and whether it is complete by them.
_ENDS: Final = {"Complete": True, "Failed": False}

Ask = Callable[[GroupKey], None]
"""Asks for the reconciliation of a group."""


class _JobStatus(msgspec.Struct, gc=False):
    conditions: tuple[ConditionObject, ...] | None = None


class JobObject(msgspec.Struct, gc=False):
    """A Job as the API server sends it, as far as its end shows."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    status: _JobStatus | None = None


async def follow_pods(
    items: AsyncIterator[Item[PodObject]], members: Members, ask: Ask, synced: asyncio.Event
) -> None:
    """Keep the members as the pods are, for ever; a pod that cannot be read stays as it was."""
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


async def follow_jobs(
    items: AsyncIterator[Item[JobObject]], members: Members, ask: Ask, synced: asyncio.Event
) -> None:
    """Keep how Jobs ended, for ever."""
    async for item in items:
        match item:
            case Added(meta=meta, object=found) | Modified(meta=meta, object=found):
                complete = _complete(found)
                if complete is not None:
                    for group in members.end_job(meta.uid, complete=complete):
                        ask(group)
            case Deleted(meta=meta):
                members.remove_job(meta.uid)
            case Synced():
                synced.set()
            case Malformed():
                pass


def _complete(job: JobObject) -> bool | None:
    """Whether a Job is complete (True) or failed (False); None while it goes on."""
    for condition in (job.status.conditions if job.status else None) or ():
        if condition.type in _ENDS and condition.status == "True":
            return _ENDS[condition.type]
    return None
