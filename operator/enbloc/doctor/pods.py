# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pending pods that wait in vain for a scheduler or a PodGroup that does not exist."""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Final

from enbloc.client.client import Client
from enbloc.client.errors import NotFound
from enbloc.client.paths import POD_GROUPS, PODS
from enbloc.doctor.finding import Finding, Installation
from enbloc.doctor.reading import Waiting, count, findings
from enbloc.doctor.schedulers import served
from enbloc.model.adoptions import adopted
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import POD_GROUP_KEY
from enbloc.wire import codec
from enbloc.wire.objects import PodGroupObject, PodObject

CHECK: Final = "pods"
_PENDING: Final = {"fieldSelector": "spec.nodeName=,status.phase=Pending"}


async def waiting(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Pods with enbloc's schedulerNames or annotation that nothing will place."""
    if ours.planned:
        return
    listed = client.list(POD_GROUPS, shape=PodGroupObject)
    try:
        groups = {key async for each in listed for key in _keys(codec.group(each))}
    except NotFound:  # the kind does not exist: another check reports that
        return
    names = await served(client)
    unserved: Waiting = {}
    lacking: Waiting = {}
    async for each in client.list(PODS, query=_PENDING, shape=PodObject):
        pod, metadata = codec.pod(each), each.metadata
        marks = {**(metadata.labels or {}), **(metadata.annotations or {})}
        if pod.scheduler not in ours.serves and POD_GROUP_KEY not in marks:
            continue
        if pod.scheduler not in names:
            count(unserved, pod.scheduler, str(pod.key))
        elif pod.group is not None and pod.group not in groups:
            count(lacking, str(pod.group), str(pod.key))

    for finding in findings(CHECK, "schedulername", unserved, partial(_nobody, ours)):
        yield finding
    fix = f"does not exist; create it, or fix the annotation {POD_GROUP_KEY} of its pods"
    for finding in findings(CHECK, "podgroup", lacking, lambda _: fix):
        yield finding


def _keys(group: Group) -> Iterator[GroupKey]:
    """The group keys that pods may name to be members of a group."""
    yield group.key
    for name in adopted(group.roles):
        yield GroupKey(group.key.namespace, name)


def _nobody(ours: Installation, name: str) -> str:
    """The fix for a schedulerName that nobody serves."""
    if name in ours.serves:
        return "no Lease says that a scheduler of enbloc serves it now; is a replica ready?"
    names = ", ".join(sorted(ours.serves))
    return (
        f"enbloc does not serve it, so that pods with the annotation {POD_GROUP_KEY} are not "
        f"placed with their gang; set their spec.schedulerName to {names}"
    )
