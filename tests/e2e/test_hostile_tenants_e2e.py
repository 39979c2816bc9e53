# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One tenant does all at once that has stopped others; another one's gang is bound all the same."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists, NotFound
from enbloc.client.paths import NAMESPACES, NODES, POD_GROUPS, PODS, PRIORITY_CLASSES, Resource
from enbloc.model import names
from enbloc_sandbox.nodes import Shape
from enbloc_sandbox.nodes.reports import node_status
from tests.e2e import incidents, manifests
from tests.e2e.fault_proxy import evicts
from tests.e2e.processes import Server
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
_HOUR: Final = 3600
_MIB: Final = 2**20
#: Ours, and one of nobody's: pods with a group are not placed without it.
GROUP_KEYS: Final = (names.POD_GROUP_KEY, "example.com/note")


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

    async def create(self, pods: Iterable[Object], *, at_once: int = _AT_ONCE) -> None:
        """Create pods, a few at once."""
        slots = asyncio.Semaphore(at_once)

        async def one(pod: Mapping[str, Any]) -> None:
            if "nodeName" in pod["spec"]:
                self._world.observer.bound_by_test.add(pod["metadata"]["name"])
            async with slots:
                await self._client.create(PODS, pod, self.namespace)

        await asyncio.gather(*map(one, pods))

    async def group(self, group: Mapping[str, Any]) -> None:
        """Create a PodGroup."""
        await self._client.create(POD_GROUPS, group, self.namespace)

    async def gang(self, name: str, minimum: int, pods: Iterable[Object], **spec: Any) -> None:
        """Create a PodGroup and its members."""
        await self.group(manifests.group(name, minimum, **spec))
        await self.create(pods)

    async def remove(self, pods: Iterable[str]) -> None:
        """Delete pods at once, a few at a time."""
        slots = asyncio.Semaphore(_AT_ONCE)
        await asyncio.gather(*(self._delete(PODS, name, slots) for name in pods))

    def bound(self) -> dict[str, str]:
        """The nodes of its pods."""
        return self._world.observer.bound(self.namespace)

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
            ("kinds", "too many different pod templates"),
            ("terms", "500 terms and constraints about pods; use at most 64"),
            ("too-many-ports", "4999 host ports; use at most 1024"),
        ):
            await evil.refused(group, "InvalidSpec", said)
        for said in ("invalid score", "Traceback", "SchedulerError", "NodeQuarantined"):
            assert said not in world.scheduler.text()


# ── who names an owner, or a node ────────────────────────────────────────────────────────────────


async def test_a_forged_owner_fills_no_capacity_that_another_namespace_has_reserved(
    world: World,
) -> None:
    """Semantics §5.1. The owner has no namespace, so that no garbage collector takes offence."""
    await world.nodes(2, cpu=4)
    owner = manifests.reference(await world.client.get(NAMESPACES, world.namespace))

    def owned(name: str, **spec: Any) -> Object:
        made = manifests.group(name, 1, **spec)
        return {**made, "metadata": {**made["metadata"], "ownerReferences": [owner]}}

    await world.client.create(POD_GROUPS, owned("app", minResources={"cpu": "8"}), world.namespace)
    await world.pod("app-0", "app")
    await world.bound("app", 1)
    async with tenant(world) as evil:
        await evil.group(owned("forged"))
        await evil.create([manifests.pod("forged-0", "forged")])
        await evil.refused("forged", "Unschedulable", f"reserved for {world.namespace}/app")
        await world.client.create(POD_GROUPS, owned("rest"), world.namespace)
        for index in range(7):
            await world.pod(f"rest-{index}", "rest")
        await world.bound("rest", 7)
        assert evil.bound() == {}


async def test_a_member_created_with_a_node_does_not_put_its_group_first(world: World) -> None:
    """Semantics §2.7."""
    [small, large] = await world.nodes(2, cpu=4)
    await world.pod("filler", scheduler="nobody", node=large, cpu=4)
    await world.pod("filler-too", scheduler="nobody", node=small, cpu=3)
    await world.gang("early", 1, cpu=4)
    await world.condition("early", "Scheduled", "False", reason="Unschedulable")
    async with tenant(world) as evil:
        first = manifests.pod("late-0", "late", node=small)
        await evil.gang("late", 2, [first, manifests.pod("late-1", "late", cpu=4)])
        await evil.refused("late", "Unschedulable", "")
        await world.remove_pod("filler")
        await world.until(
            lambda: bool(
                {"early-0", "late-1"} & {*world.observer.bound(world.namespace), *evil.bound()}
            ),
            "one of them takes the capacity",
        )
        await world.bound("early", 1)
        assert set(evil.bound()) == {"late-0"}


async def test_a_member_created_with_a_node_makes_no_gang_of_higher_priority_yield(
    world: World,
) -> None:
    """Semantics §2.7, §4.4: a gang that has not started lost a member, whose node was taken.

    It does not preempt, or it would have the node back.
    """
    patient = {"metadata": {"name": "e2e-million"}, "value": 10**6, "preemptionPolicy": "Never"}
    with suppress(AlreadyExists):
        await world.client.create(PRIORITY_CLASSES, patient)
    proxy = await incidents.fault_proxy(world)
    nodes = await world.nodes(2, cpu=4, start=float(_HOUR))
    await world.group("rich", 2, scheduleTimeoutSeconds=_HOUR)
    await world.job("rich", 2, "rich", cpu=4, priority_class="e2e-million")
    await world.bound("rich", 2)
    lost, stays = sorted(world.observer.bound(world.namespace, "rich"))
    taken = world.observer.bound(world.namespace, "rich")[lost]
    await world.cordon(taken, cordoned=True)
    await world.remove_pod(lost)
    async with tenant(world) as evil:
        pods = [
            manifests.pod("evil-0", "evil", cpu=4, node=taken),
            manifests.pod("evil-1", "evil", cpu=4),
        ]
        await evil.gang("evil", 2, pods, scheduleTimeoutSeconds=_HOUR)
        await world.cordon(taken, cordoned=False)
        await evil.refused("evil", "Unschedulable", "")
        await world.condition("rich", "Scheduled", "False", reason="Unschedulable")
        for name in nodes:  # something that may help both, again and again
            await world.label(name, "looked-at", "again")
            await world.quiet()
        assert not any(map(evicts, proxy.asked))
        assert set(world.observer.bound(world.namespace, "rich")) == {stays}
        assert set(evil.bound()) == {"evil-0"}


# ── memory ───────────────────────────────────────────────────────────────────────────────────────


def heavy(number: int) -> Object:
    """A pod of 632 KB that no other pod is like: an image and a group that nobody can have."""
    name = f"heavy-{number}"
    group = name.ljust(250_000, "x")
    made = manifests.pod(name, cpu=1000, annotations={GROUP_KEYS[number % 2]: group})
    made["spec"]["containers"][0]["image"] = name.ljust(382_000, "x")
    return made


def resident(server: Server) -> int:
    """Bytes of memory that a process has."""
    lines = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii").splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(kilobytes) * 1024


async def test_large_pods_that_came_and_went_leave_the_memory_of_both_processes(
    world: World,
) -> None:
    """190 MB of pods, of which one cache may keep what 16 MiB were read from."""
    await world.nodes(1, cpu=4)
    await world.gang("warm", 4)
    await world.bound("warm", 4)
    servers = (world.scheduler, world.controller)
    before = [resident(each) for each in servers]
    async with tenant(world) as evil:
        for first in range(0, 300, 20):
            await evil.create(map(heavy, range(first, first + 20)), at_once=4)
            await evil.remove([f"heavy-{first + index}" for index in range(20)])
    await world.group("later", 1)  # both have seen what was before it
    await world.pod("later-0", "later", cpu=1000)
    await world.condition("later", "Ready", "False", reason="Infeasible")
    grown = {
        each.name: (resident(each) - was) // _MIB for each, was in zip(servers, before, strict=True)
    }
    print(f"grown by (MiB): {grown}")
    assert all(each < 64 for each in grown.values()), grown
