# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether another scheduler allocates devices too: both may allocate the same one."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Final

from enbloc.client import discovery
from enbloc.client.client import Client
from enbloc.client.paths import DEVICE_VERSIONS, PODS, RESOURCE_CLAIMS, Resource
from enbloc.devices.facts import ResourceClaim
from enbloc.doctor.finding import Finding, Installation, Verdict
from enbloc.doctor.reading import MOST, Reader, shown
from enbloc.doctor.schedulers import served
from enbloc.model.pods import Pod
from enbloc.wire import codec
from enbloc.wire.device_codec import resource_claim
from enbloc.wire.device_objects import ClaimObject
from enbloc.wire.objects import PodObject

CHECK: Final = "devices"
#: The most claims that are read, the most of their namespaces, and the most pods in all of these.
MOST_CLAIMS: Final = 10_000
MOST_NAMESPACES: Final = 100
MOST_PODS: Final = 10_000
_UNFINISHED: Final = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
_NEXT: Final = (
    "give each scheduler nodes or pools of devices of its own, or let enbloc schedule all pods "
    'with resource claims: see "Pods with claims" in docs/reference/compatibility.md'
)


@dataclass(slots=True)
class _Users:
    """The pods of a scheduler that claim devices.

    Attributes:
        number: the number of these pods.
        first: one of them, `namespace/name`.
        pools: the pools of their devices, `driver/pool`.
    """

    number: int = 0
    first: str = ""
    pools: set[str] = field(default_factory=set[str])

    def add(self, pod: Pod, claims: Iterable[ResourceClaim]) -> None:
        """Count a pod with these claims."""
        self.number += 1
        self.first = self.first or str(pod.key)
        given = [each.allocation for each in claims if each.allocation is not None]
        results = [result for each in given for result in each.results if not result.admin]
        self.pools.update(f"{each.driver}/{each.pool}" for each in results)

    def __str__(self) -> str:
        """The number of pods, and one of them."""
        return self.first if self.number == 1 else f"{self.number}, such as {self.first}"


async def contested(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Pods of other schedulers that claim devices, if pods of enbloc do too."""
    if ours.planned:
        return
    reader = Reader()
    resource = await discovery.served(client, RESOURCE_CLAIMS, DEVICE_VERSIONS)
    if resource is None:
        return
    claims = await _claims(client, resource, reader)
    if not claims and reader.whole:
        return
    names = {*ours.serves, *await served(client)}
    us, others = _Users(), dict[str, _Users]()
    async for pod in _pods(client, reader, claims):
        named = (*pod.resource_claims, pod.extended_claim)
        keys = [f"{pod.key.namespace}/{name}" for name in named if name]
        if has := [claims[key] for key in keys if key in claims]:
            them = us if pod.scheduler in names else others.setdefault(pod.scheduler, _Users())
            them.add(pod, has)
    for finding in _findings(us, others) if us.number else ():
        yield finding
    if not (reader.whole or (us.number and others)):
        message = (
            f"found nothing in the first {MOST_CLAIMS} ResourceClaims and the first {MOST_PODS} "
            f"pods of the first {MOST_NAMESPACES} namespaces with any; there are more"
        )
        yield Finding(CHECK, Verdict.UNKNOWN, RESOURCE_CLAIMS.label(), message)


async def _claims(client: Client, resource: Resource, reader: Reader) -> dict[str, ResourceClaim]:
    """The claims that take devices exclusively, without those for admin access."""
    listed = client.list(resource, shape=ClaimObject)
    read = [resource_claim(each) async for each in reader.first(MOST_CLAIMS, listed)]
    return {each.key: each for each in read if any(not ask.admin for ask in each.spec.asks)}


async def _pods(
    client: Client, reader: Reader, claims: dict[str, ResourceClaim]
) -> AsyncIterator[Pod]:
    """The pods that have not ended, in namespaces with claims."""
    namespaces = sorted({each.namespace for each in claims.values()})
    reader.whole = reader.whole and len(namespaces) <= MOST_NAMESPACES
    lists = (
        client.list(PODS, namespace, query=_UNFINISHED, shape=PodObject)
        for namespace in namespaces[:MOST_NAMESPACES]
    )
    async for each in reader.first(MOST_PODS, *lists):
        yield codec.pod(each)


def _findings(us: _Users, others: dict[str, _Users]) -> Iterable[Finding]:
    for name, them in list(others.items())[:MOST]:
        where = f"schedulername {shown(name)}"
        message = (
            f"its pods ({them}) and pods of enbloc ({us}) have resource claims, so both schedulers "
            f"may allocate the same device; {_shared(us.pools & them.pools)}; {_NEXT}"
        )
        yield Finding(CHECK, Verdict.WARNING, where, message)
    if len(others) > MOST:
        message = f"pods of {len(others) - MOST} more of these have resource claims beside enbloc"
        yield Finding(CHECK, Verdict.WARNING, "schedulernames", message)


def _shared(pools: set[str]) -> str:
    """The clause that names the pools that both use now."""
    if not pools:
        return "no pool has devices of both now"
    if len(pools) == 1:
        return f"pool {min(pools)} has devices of both"
    return f"{len(pools)} pools, such as {min(pools)}, have devices of both"
