# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs all checks in order; a check that cannot read says why, and the others go on."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Final

from enbloc.client.client import Client
from enbloc.client.errors import APIError, NotFound
from enbloc.client.lease_objects import LeaseObject
from enbloc.client.paths import JOBS, LEASES, POD_GROUPS
from enbloc.client.server_version import NEWEST, OLDEST, minor, written
from enbloc.controller.creator_objects import JobObject, job
from enbloc.controller.existence import fragile
from enbloc.doctor import claims, devices, kinds, permissions, pods, schedulers, topologies
from enbloc.doctor.finding import Finding, Installation, Verdict
from enbloc.doctor.installed import installed
from enbloc.doctor.shapes import QUOTAS, Quota
from enbloc.wire import codec
from enbloc.wire.objects import PodGroupObject

Check = Callable[[Client, Installation], AsyncIterator[Finding]]

#: The most Jobs that are named; the others are counted.
_MOST_JOBS: Final = 10


async def examine(client: Client, ours: Installation) -> list[Finding]:
    """Run all checks and return their findings; one that finds nothing says so in a finding.

    Raises:
        APIError: the API server cannot be reached, or rejects the credentials.
    """
    info = await client.version()
    ours = await installed(client, ours)
    found: list[Finding] = list(_version(info))
    for name, (checks, fine) in CHECKS.items():
        before = len(found)
        for check in checks:
            try:
                async for each in check(client, ours):
                    found.append(each)  # what was found counts after an error too
            except* APIError as group:
                found += [_unknown(name, error) for error in _leaves(group)]
        found[before:] = dict.fromkeys(found[before:])  # many requests may fail for the same reason
        if len(found) == before:
            found.append(Finding(name, Verdict.OK, "", fine))
    if "-gke." in info.get("gitVersion", ""):
        found += [each async for each in _quota(client, ours)]
    return found


def _version(info: Mapping[str, str]) -> Iterator[Finding]:
    said = info.get("gitVersion") or "of unknown version"
    about = f"the API server is Kubernetes {said}"
    found = minor(info)
    if found is None:
        yield Finding("version", Verdict.UNKNOWN, "", about)
    elif found < OLDEST:
        message = f"{about}; enbloc needs {written(OLDEST)} or newer"
        yield Finding("version", Verdict.FAULT, "", message)
    elif found > NEWEST:
        message = f"{about}; enbloc was tested up to {written(NEWEST)}"
        yield Finding("version", Verdict.WARNING, "", message)
    else:
        yield Finding("version", Verdict.OK, "", about)


async def _leaders(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Whether each process of an installation has a leader."""
    if ours.planned:
        return
    for process in ours.processes:
        namespace, name = process.lease_namespace, process.lease
        where = f"lease {namespace}/{name}"
        try:
            lease = await client.get(LEASES, name, namespace, shape=LeaseObject)
        except NotFound:
            message = "does not exist: no replica has run yet, or leader election is off"
            yield Finding("leaders", Verdict.WARNING, where, message)
            continue
        if not (lease.spec and lease.spec.holder_identity):
            yield Finding("leaders", Verdict.FAULT, where, "is held by nobody; is a replica ready?")


async def _jobs(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Jobs that enbloc could make fail by a repair of their gang, or indexes of them."""
    del ours  # Jobs concern every installation
    try:
        groups = [codec.group(each) async for each in client.list(POD_GROUPS, shape=PodGroupObject)]
    except NotFound:
        return
    known = {each.key: each for each in groups}
    named = 0
    async for each in client.list(JOBS, shape=JobObject) if known else _none():
        creator = job(each)
        group = known.get(creator.group) if creator.group else None
        for _, note in fragile(group, {creator.uid: creator}) if group else ():
            named += 1
            if named <= _MOST_JOBS:
                where = f"job {creator.group.namespace if creator.group else ''}/{creator.name}"
                yield Finding("jobs", Verdict.WARNING, where, note)
    if named > _MOST_JOBS:
        more = named - _MOST_JOBS
        message = f"{more} more Jobs allow too few failures for an eviction of their gang"
        yield Finding("jobs", Verdict.WARNING, "", message)


async def _none() -> AsyncIterator[JobObject]:
    return
    yield


async def _quota(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Whether a quota permits system-cluster-critical, which GKE requires in a namespace."""
    name, where = "quota", f"namespace {ours.namespace}"
    try:
        quotas = [each async for each in client.list(QUOTAS, ours.namespace, shape=Quota)]
    except APIError as error:
        yield _unknown(name, error)
        return
    if ours.namespace != "kube-system" and not any(each.of_priority_classes for each in quotas):
        message = (
            "has no ResourceQuota that selects a PriorityClass: GKE refuses pods of "
            "system-cluster-critical here; set priorityClassName to another class, or create one"
        )
        yield Finding(name, Verdict.WARNING, where, message)


#: Check → its parts, and the message if they find nothing.
CHECKS: Final[Mapping[str, tuple[tuple[Check, ...], str]]] = {
    "schedulers": (
        (schedulers.leases, schedulers.deployments),
        "no other scheduler was found that serves the same schedulerName",
    ),
    "crds": ((kinds.definitions,), "no CRD is missing, and no other one has the same names"),
    "permissions": (
        (permissions.missing,),
        "no permission is missing",
    ),
    "leaders": ((_leaders,), "scheduler and controller lead, or are still to be installed"),
    "pods": ((pods.waiting,), "no pod waits for a scheduler or a PodGroup that does not exist"),
    "claims": (
        (claims.volumes, claims.devices),
        "no pod waits for a claim, a template or a class that does not exist",
    ),
    "devices": (
        (devices.contested,),
        "no pods of another scheduler have resource claims beside pods of enbloc",
    ),
    "topologies": (
        (topologies.levels,),
        "no Topology lists a level that no node is in, or levels in the wrong order",
    ),
    "jobs": ((_jobs,), "no Job would fail because members of its gang are evicted"),
}


def _unknown(check: str, error: APIError) -> Finding:
    return Finding(check, Verdict.UNKNOWN, error.resource, f"could not be checked: {error.advice}")


def _leaves(group: BaseExceptionGroup[APIError]) -> Iterator[APIError]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
