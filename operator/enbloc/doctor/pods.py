# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pending pods that wait in vain: for a scheduler, or for a PodGroup, that is not there."""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Final

from enbloc.doctor.finding import Finding, Installation, Verdict
from enbloc.doctor.schedulers import served
from enbloc.kube.client import Client
from enbloc.kube.errors import NotFound
from enbloc.kube.paths import POD_GROUPS, PODS
from enbloc.model import codec
from enbloc.model.claims import claimed
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import POD_GROUP_KEY
from enbloc.model.objects import PodGroupObject, PodObject
from enbloc.model.text import clipped, printable

CHECK: Final = "pods"
#: So many findings of each kind; of more, the number.
_MOST: Final = 10
#: What is shown of a name (characters).
_SHOWN: Final = 253
_PENDING: Final = {"fieldSelector": "spec.nodeName=,status.phase=Pending"}

#: How many pods there are of each name, and the first of them.
_Pods = dict[str, tuple[int, str]]


async def waiting(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Pods of our schedulerNames, or with our annotation, that nothing will place."""
    if ours.planned:
        return
    listed = client.list(POD_GROUPS, shape=PodGroupObject)
    try:
        groups = {key async for each in listed for key in _keys(codec.group(each))}
    except NotFound:  # no such kind: another check says so
        return
    names = await served(client)
    unserved: _Pods = {}
    lacking: _Pods = {}
    async for each in client.list(PODS, query=_PENDING, shape=PodObject):
        pod, metadata = codec.pod(each), each.metadata
        marks = {**(metadata.labels or {}), **(metadata.annotations or {})}
        if pod.scheduler not in ours.serves and POD_GROUP_KEY not in marks:
            continue
        if pod.scheduler not in names:
            _count(unserved, pod.scheduler, str(pod.key))
        elif pod.group is not None and pod.group not in groups:
            _count(lacking, str(pod.group), str(pod.key))

    for finding in _findings("schedulername", unserved, partial(_nobody, ours)):
        yield finding
    fix = f"does not exist; create it, or fix the annotation {POD_GROUP_KEY} of its pods"
    for finding in _findings("podgroup", lacking, lambda _: fix):
        yield finding


def _keys(group: Group) -> Iterator[GroupKey]:
    """What pods may name to be members of a group."""
    yield group.key
    for name in claimed(group.roles):
        yield GroupKey(group.key.namespace, name)


def _nobody(ours: Installation, name: str) -> str:
    """What to do about a schedulerName that nobody serves."""
    if name in ours.serves:
        return "no Lease says that a scheduler of enbloc serves it now; is a replica ready?"
    names = ", ".join(sorted(ours.serves))
    return (
        f"enbloc does not serve it, so that pods with the annotation {POD_GROUP_KEY} are not "
        f"placed with their gang; set their spec.schedulerName to {names}"
    )


def _count(pods: _Pods, name: str, pod: str) -> None:
    number, first = pods.get(name, (0, pod))
    pods[name] = (number + 1, first)


def _findings(kind: str, pods: _Pods, why: Callable[[str], str]) -> Iterator[Finding]:
    for name, (number, first) in list(pods.items())[:_MOST]:
        who = f"{first} waits" if number == 1 else f"{number} pods wait, such as {first}"
        where = f"{kind} {clipped(printable(name), _SHOWN)}"
        yield Finding(CHECK, Verdict.WARNING, where, f"{why(name)} ({who})")
    if len(pods) > _MOST:
        message = f"pods wait in vain for {len(pods) - _MOST} more of these"
        yield Finding(CHECK, Verdict.WARNING, f"{kind}s", message)
