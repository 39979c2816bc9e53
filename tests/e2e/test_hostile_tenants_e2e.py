# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One tenant does all at once that has stopped others; another one's gang is bound all the same."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from enbloc.kube.client import PatchType
from enbloc.kube.errors import AlreadyExists, NotFound
from enbloc.kube.paths import NAMESPACES, NODES, POD_GROUPS, PODS, Resource
from enbloc.sandbox.nodes import Shape
from enbloc.sandbox.nodes.reports import node_status
from tests.e2e import manifests
from tests.e2e.world import GIB, SERVICE_ACCOUNTS, World
from tests.effort import slow

pytestmark = slow("hundreds of pods are created on API servers")

Object = dict[str, Any]

#: Requests at once.
_AT_ONCE: Final = 20
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_WEB: Final = {"matchLabels": {"app": "web"}}
#: 130 of these are more bytes than fit in 64 bits.
_HUGE: Final = "64Pi"


def _requesting(pod: Object, **requests: str) -> Object:
    pod["spec"]["containers"][0]["resources"] = {"requests": requests}
    return pod


def _pinned(node: str) -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {_REQUIRED: terms}}


def many_kinds(group: str, count: int) -> Iterator[Object]:
    """Members of which each requests something else, and keeps all others away."""
    apart = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": _WEB}]
    for number in range(count):
        affinity = {"podAntiAffinity": {_REQUIRED: apart}}
        member = manifests.pod(f"{group}-{number}", group, labels={"app": "web"}, affinity=affinity)
        yield _requesting(member, cpu=f"{number + 1}m")


def many_terms(group: str) -> Iterator[Object]:
    """Four members with hundreds of terms, each about another label."""
    terms = [{"topologyKey": f"k{n}", "labelSelector": _WEB} for n in range(500)]
    for number in range(4):
        affinity = {"podAffinity": {_REQUIRED: terms}}
        yield manifests.pod(f"{group}-{number}", group, affinity=affinity)


def many_ports(group: str, ports: int) -> Iterator[Object]:
    """Four members that want thousands of ports of their nodes."""
    for number in range(4):
        member = manifests.pod(f"{group}-{number}", group)
        wanted = [{"containerPort": n, "hostPort": n} for n in range(1 + number, ports + number)]
        member["spec"]["containers"][0]["ports"] = wanted
        yield member


def pinned_and_too_large(nodes: list[str]) -> Iterator[Object]:
    """A hundred pods of nobody's scheduler, each for one node."""
    for number in range(100):
        affinity = _pinned(nodes[number % len(nodes)])
        yield manifests.pod(f"pinned-{number}", scheduler="nobody", cpu=64, affinity=affinity)


def huge_on(node: str) -> Iterator[Object]:
    """More pods than one node's sums hold, bound there by nobody."""
    for number in range(130):
        yield _requesting(
            manifests.pod(f"huge-{number}", scheduler="nobody", node=node), memory=_HUGE
        )


def bound_by_themselves(group: str, nodes: list[str]) -> Iterator[Object]:
    """A member on every node, which none of their kubelets takes."""
    for number, node in enumerate(nodes):
        yield manifests.pod(f"{group}-{number}", group, cpu=64, node=node)


def looking_for_company() -> Iterator[Object]:
    """Pods without a group that want to be near somebody who is not there."""
    near = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": _WEB}]
    for number in range(40):
        affinity = {"podAffinity": {_REQUIRED: near}}
        yield manifests.pod(f"lone-{number}", affinity=affinity)


class Tenant:
    """Somebody who may create pods and PodGroups in one namespace.

    Args:
        world: where the namespace is.
    """

    def __init__(self, world: World) -> None:
        self._world, self._client = world, world.client
        self.namespace = f"{world.namespace}-tenant"

    async def open(self) -> None:
        """Have the namespace."""
        await self._client.create(NAMESPACES, manifests.namespace(self.namespace))
        with suppress(AlreadyExists):  # the server's own controller makes it as well
            account = {"metadata": {"name": "default"}}
            await self._client.create(SERVICE_ACCOUNTS, account, self.namespace)

    async def create(self, pods: Iterable[Object]) -> None:
        """Create pods, a few at once."""
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(pod: Mapping[str, Any]) -> None:
            if "nodeName" in pod["spec"]:
                self._world.observer.bound_by_test.add(pod["metadata"]["name"])
            async with slots:
                await self._client.create(PODS, pod, self.namespace)

        await asyncio.gather(*map(one, pods))

    async def gang(self, name: str, minimum: int, pods: Iterable[Object]) -> None:
        """Create a PodGroup and its members."""
        await self._client.create(POD_GROUPS, manifests.group(name, minimum), self.namespace)
        await self.create(pods)

    async def refused(self, group: str, reason: str, message: str) -> None:
        """Wait until condition Scheduled of a group says this."""
        said: tuple[str, str] = "", ""
        for _ in range(300):
            found = await self._client.get(POD_GROUPS, group, self.namespace)
            for one in (found.get("status") or {}).get("conditions") or ():
                if one["type"] == "Scheduled":
                    said = one["reason"], one["message"]
            if said[0] == reason and message in said[1]:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"{group} has Scheduled with {said}")

    async def close(self) -> None:
        """Leave nothing behind."""
        for resource in (POD_GROUPS, PODS):
            found = [item async for item in self._client.list(resource, self.namespace)]
            slots = asyncio.Semaphore(_AT_ONCE)
            await asyncio.gather(
                *(self._delete(resource, item["metadata"]["name"], slots) for item in found)
            )
        await self._client.delete(NAMESPACES, self.namespace)

    async def _delete(self, resource: Resource, name: str, slots: asyncio.Semaphore) -> None:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        async with slots:
            with suppress(NotFound):
                await self._client.request("delete", resource, name, self.namespace, body=body)


@asynccontextmanager
async def tenant(world: World) -> AsyncGenerator[Tenant]:
    """Another tenant, for as long as the context lasts."""
    made = Tenant(world)
    await made.open()
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def node_without_kubelet(world: World) -> AsyncGenerator[str]:
    """A ready node on which what is bound stays Pending: nobody takes or refuses it."""
    name = f"{world.namespace}-silent"
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    await world.client.create(NODES, made)
    try:
        status = node_status(Shape(name, 8000, 64 * GIB, 0), "10.9.9.9")
        for side in ("capacity", "allocatable"):  # so that only their memory is too much
            status[side] = {**status[side], "pods": "1000"}
        await world.client.patch(
            NODES, name, {"status": status}, kind=PatchType.MERGE, subresource="status"
        )
        # Admission has tainted it, and a controller takes that away.
        await world.until(lambda: name in world.observer.ready_nodes(), f"{name} takes pods")
        yield name
    finally:
        await world.client.delete(NODES, name)


async def test_a_tenant_who_does_its_worst_keeps_no_other_gang_waiting(world: World) -> None:
    """Semantics §3.6, §6.1, §9.8."""
    nodes = await world.nodes(4, cpu=8)
    async with tenant(world) as evil, node_without_kubelet(world) as silent:
        await evil.create(huge_on(silent))
        await evil.create(pinned_and_too_large(nodes))
        await evil.create(looking_for_company())
        for name in ("blaming", "blaming-too"):
            await evil.gang(name, len(nodes), bound_by_themselves(name, nodes))
        await evil.gang("ports", 4, many_ports("ports", 1000))
        await evil.gang("too-many-ports", 4, many_ports("too-many-ports", 5000))
        await evil.gang("terms", 4, many_terms("terms"))
        await evil.gang("kinds", 300, many_kinds("kinds", 300))
        await world.gang("good", 4, cpu=4)
        await world.bound("good", 4)
        for group, said in (
            ("kinds", "too many different ones"),
            ("terms", "500 terms and constraints about pods; use at most 64"),
            ("too-many-ports", "4999 host ports; use at most 1024"),
        ):
            await evil.refused(group, "InvalidSpec", said)
        for said in ("invalid score", "Traceback", "SchedulerError", "NodeQuarantined"):
            assert said not in world.scheduler.text()
