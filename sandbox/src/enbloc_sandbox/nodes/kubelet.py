# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A fake kubelet for many nodes: a plain client of any API server, the sandbox or a real one.

::

    bound, Pending ──admitted──► Running ──run-seconds──► Succeeded, or Failed by exit-code
          │                         │
          └─refused─► Failed        └─deletionTimestamp─► deleted with grace 0
              (OutOfcpu, …)

An admitted pod runs once its claims are bound, or allocated and reserved for it.

Room is counted from admission until the containers are gone, which is before the API server hears
of it: a scheduler that fills it at once finds it free.

Two annotations of a Node make its kubelet misbehave: one names the reason for which it refuses
every pod, the other ("true") cuts it off, so that nothing is heard of it while its pods run on.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from enbloc.client.client import Client, PatchType
from enbloc.client.errors import AlreadyExists, APIError, NotFound
from enbloc.client.items import Deleted, Item, Malformed, Seen, Synced
from enbloc.client.paths import LEASES, NAMESPACES, NODES, PODS
from enbloc.client.reflector import Reflector
from enbloc.model import names
from enbloc.model.quantity import amount
from enbloc_sandbox.nodes import reports
from enbloc_sandbox.nodes.claims.mounts import Mounts
from enbloc_sandbox.nodes.claims.of_pods import served_by_devices
from enbloc_sandbox.nodes.objects import Object, micro_timestamp, persistent, seconds_since, settled
from enbloc_sandbox.nodes.room import NODE_AFFINITY, Refusal, refusal, requests_of
from enbloc_sandbox.nodes.shapes import Shape

LEASE_NAMESPACE: Final = "kube-node-lease"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How often, how fast (seconds).

    Attributes:
        lease: between two renewals of a node's Lease.
        status: between two posts of an unchanged node status.
        start: from a pod's admission to Running.
        parallel: how many requests are under way at once (a count).
    """

    lease: float = 10.0
    status: float = 300.0
    start: float = 0.0
    parallel: int = 32


@dataclass(slots=True)
class _Machine:
    """One node as its kubelet knows it."""

    shape: Shape
    index: int
    node: Object = field(default_factory=Object)
    used: dict[str, int] = field(default_factory=dict)
    posted: float = float("-inf")
    addresses: int = 0
    reachable: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def unwell(self) -> bool:
        """The API shows its node as not ready."""
        conditions = self.node.status.get("conditions") or ()
        ready = [one.get("status") for one in conditions if one.get("type") == "Ready"]
        return bool(ready) and ready != ["True"]

    def admit(self, pod: Object) -> Refusal | None:
        """Why the node as it is now refuses the pod; None if it takes it."""
        reason = self.node.annotations.get(names.REFUSE_KEY)
        if reason:
            return Refusal(reason, f"Pod was rejected: node has annotation {names.REFUSE_KEY}")
        resources = self.shape.resources()
        return refusal(
            pod.spec,
            labels=self.node.labels,
            name=self.shape.name,
            taints=self.node.spec.get("taints") or (),
            allocatable={name: amount(name, text) for name, text in resources.items()},
            used=self.used,
            served=set(served_by_devices(pod)),
        )

    def charge(self, spec: dict[str, Any], sign: int) -> None:
        """Count a pod in (+1) or out (−1)."""
        for name, asked in requests_of(spec).items():
            self.used[name] = self.used.get(name, 0) + sign * asked

    @property
    def address(self) -> str:
        """The node's own address."""
        return f"10.{128 + (self.index >> 8) % 128}.{self.index & 255}.1"

    def next_address(self) -> str:
        """An address for one more pod."""
        self.addresses = self.addresses % 250 + 1
        return f"10.{(self.index >> 8) % 128}.{self.index & 255}.{self.addresses + 1}"


@dataclass(slots=True)
class _Held:
    """A pod that takes room."""

    machine: _Machine
    spec: dict[str, Any]
    life: asyncio.Task[None]


class Kubelet:
    """The kubelets of all given nodes, as one client.

    Args:
        client: the API, as someone who may write nodes, leases and pods.
        shapes: the nodes to register.
        pace: how often and how fast.
    """

    def __init__(self, client: Client, shapes: Sequence[Shape], pace: Pace | None = None) -> None:
        self._client = client
        self._pace = pace or Pace()
        self._machines = {shape.name: _Machine(shape, i) for i, shape in enumerate(shapes)}
        self._held: dict[str, _Held] = {}
        self._seen: set[str] = set()
        self._ending: set[str] = set()
        self._backlog: list[Object] | None = []
        self._slots = asyncio.Semaphore(self._pace.parallel)
        self._mounts = Mounts(client)
        self._tasks: asyncio.TaskGroup

    async def run(self) -> None:
        """Register the nodes and serve them, until cancelled.

        Raises:
            APIError: a node cannot be registered.
        """
        async with asyncio.TaskGroup() as self._tasks:
            await settled(
                lambda: self._client.create(NAMESPACES, reports.namespace(LEASE_NAMESPACE))
            )
            for machine in self._machines.values():
                self._tasks.create_task(self._register(machine))
            self._tasks.create_task(self._watch_nodes())
            self._tasks.create_task(self._watch_pods())
            self._tasks.create_task(self._mounts.run())

    # ── nodes ────────────────────────────────────────────────────────────────────────────────

    async def _register(self, machine: _Machine) -> None:
        """Create the Node, report it ready, then keep saying so."""
        async with self._slots:
            uid = await persistent(lambda: self._introduce(machine))
        await self._beat(machine, uid)

    async def _introduce(self, machine: _Machine) -> str:
        """Have the Node exist and be ready; its UID."""
        manifest = machine.shape.manifest()
        try:
            node = await self._client.create(NODES, manifest)
        except AlreadyExists:  # an earlier life of ours made it
            node = await self._client.patch(
                NODES,
                machine.shape.name,
                {"metadata": {"labels": manifest["metadata"]["labels"]}},
                kind=PatchType.MERGE,
            )
        uid = str(node["metadata"]["uid"])
        await self._renew(machine, uid)
        await self._post(machine)
        return uid

    async def _beat(self, machine: _Machine, uid: str) -> None:
        """Renew the Lease, and now and then the status; the first wait spreads the nodes out."""
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(self._pace.lease * (machine.index + 1) / (len(self._machines) + 1))
        while machine.shape.name in self._machines:
            await machine.reachable.wait()
            try:
                await self._renew(machine, uid)
                # Whoever missed it too long has said so of the node, and it is for us to deny it.
                if machine.unwell or clock() - machine.posted >= self._pace.status:
                    await self._post(machine)
            except APIError as error:
                log.warning("node %s: missed a heartbeat: %s", machine.shape.name, error)
            await asyncio.sleep(self._pace.lease)

    async def _renew(self, machine: _Machine, uid: str) -> None:
        name = machine.shape.name
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": 40,
            "renewTime": micro_timestamp(),
        }
        try:
            await self._client.patch(
                LEASES, name, {"spec": spec}, LEASE_NAMESPACE, kind=PatchType.MERGE
            )
        except NotFound:
            await self._client.create(
                LEASES, reports.lease(name, LEASE_NAMESPACE, uid, spec), LEASE_NAMESPACE
            )

    async def _post(self, machine: _Machine) -> None:
        await self._client.patch(
            NODES,
            machine.shape.name,
            {"status": reports.node_status(machine.shape, machine.address)},
            kind=PatchType.STRATEGIC,
            subresource="status",
        )
        machine.posted = asyncio.get_running_loop().time()

    async def _watch_nodes(self) -> None:
        """Labels and taints count when a pod is admitted; a deleted Node is a machine gone."""
        async for item in Reflector(self._client, NODES, Object).stream():
            if isinstance(item, Seen) and item.meta.name in self._machines:
                machine = self._machines[item.meta.name]
                machine.node = item.object
                if item.object.annotations.get(names.SILENT_KEY) == "true":
                    machine.reachable.clear()
                else:
                    machine.reachable.set()
            elif isinstance(item, Deleted):
                self._unplug(item.meta.name)

    def _unplug(self, node: str) -> None:
        """The machine is gone, and its pods' containers with it."""
        machine = self._machines.pop(node, None)
        for uid in [uid for uid, held in self._held.items() if held.machine is machine]:
            self._release(uid)

    # ── pods ─────────────────────────────────────────────────────────────────────────────────

    async def _watch_pods(self) -> None:
        bound = {"fieldSelector": "spec.nodeName!="}
        async for item in Reflector(self._client, PODS, Object, query=bound).stream():
            try:
                self._take(item)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                log.warning("%s: cannot be run: %s", item, error)

    def _take(self, item: Item[Object]) -> None:
        match item:
            case Synced():
                # Those that run keep their room; then first come, first served.
                waiting, self._backlog = self._backlog or [], None
                waiting.sort(key=lambda pod: (pod.phase != "Running", _age(pod)))
                for pod in waiting:
                    self._saw(pod)
            case Deleted():
                self._release(item.meta.uid)
                self._seen.discard(item.meta.uid)
                self._ending.discard(item.meta.uid)
            case Malformed():
                log.warning("pod %s/%s: %s", item.meta.namespace, item.meta.name, item.problem)
            case Seen():
                if self._backlog is not None:
                    self._backlog.append(item.object)
                else:
                    self._saw(item.object)

    def _saw(self, pod: Object) -> None:
        uid = pod.metadata.uid
        machine = self._machines.get(pod.spec.get("nodeName", ""))
        if machine is None:
            return
        if pod.deleting:
            self._release(uid)
            if uid not in self._ending:
                self._ending.add(uid)
                self._tasks.create_task(self._confirm(machine, pod))
        elif pod.finished:
            self._release(uid)
            self._seen.discard(uid)  # nor is it admitted by a look that is under way
        elif uid not in self._seen:
            self._seen.add(uid)
            refused = None if pod.phase == "Running" else _unreadable(pod) or machine.admit(pod)
            if refused is not None and refused.reason == NODE_AFFINITY:
                self._tasks.create_task(self._look_again(machine, pod))
            elif refused is not None:
                self._tasks.create_task(self._report(machine, pod, reports.refused(refused)))
            else:
                self._hold(machine, pod)
        if uid in self._held and (status := reports.readiness(pod)) is not None:
            self._tasks.create_task(self._report(machine, pod, status, as_seen=True))

    def _hold(self, machine: _Machine, pod: Object) -> None:
        """Admit a pod: it takes room from now on."""
        machine.charge(pod.spec, +1)
        life = self._tasks.create_task(self._live(machine, pod))
        self._held[pod.metadata.uid] = _Held(machine, pod.spec, life)

    async def _look_again(self, machine: _Machine, pod: Object) -> None:
        """Judge a pod by the node as the API has it: its labels may be newer than those seen.

        Source: kubelet v1.36 pkg/kubelet/lifecycle/predicate.go, generalFilter.
        """
        found = await self._sent(machine, lambda: self._client.get(NODES, machine.shape.name))
        uid = pod.metadata.uid
        there = self._machines.get(machine.shape.name) is machine
        if found is None or not there or uid not in self._seen or uid in self._ending:
            return
        try:
            machine.node = msgspec.convert(found, Object)
            refused = machine.admit(pod)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("node %s: cannot be read: %s", machine.shape.name, error)
            return
        if refused is None:
            self._hold(machine, pod)
        else:
            await self._report(machine, pod, reports.refused(refused))

    def _release(self, uid: str) -> None:
        """The pod's containers are gone: nothing of it takes room, nothing more is reported."""
        held = self._held.pop(uid, None)
        if held is not None:
            held.machine.charge(held.spec, -1)
            if held.life is not asyncio.current_task():
                held.life.cancel()

    async def _live(self, machine: _Machine, pod: Object) -> None:
        """From admission to the end that the pod's annotations name, if they name one."""
        started, ran = reports.started_at(pod), 0.0
        if started is not None:  # by an earlier life of this kubelet
            ran = seconds_since(started)
        else:
            await self._mounts.ready(pod)
            await asyncio.sleep(self._pace.start)
            status = reports.running(pod, machine.address, machine.next_address())
            if await self._report(machine, pod, status) is None:
                return
            pod = Object(pod.metadata, pod.spec, {**pod.status, **status})
        seconds = pod.annotations.get(names.RUN_SECONDS_KEY)
        if seconds is None:
            return
        await asyncio.sleep(max(0.0, float(seconds) - ran))
        self._release(pod.metadata.uid)
        code = int(pod.annotations.get(names.EXIT_CODE_KEY, "0"))
        await self._report(machine, pod, reports.ended(pod, code))

    async def _report(
        self, machine: _Machine, pod: Object, status: dict[str, Any], *, as_seen: bool = False
    ) -> Any | None:
        """Post a pod's status, if it still is that pod; `as_seen` = and nothing of it changed."""
        meta = pod.metadata
        known = {"uid": meta.uid, **({"resourceVersion": meta.resource_version} if as_seen else {})}
        body = {"metadata": known, "status": status}
        return await self._sent(
            machine,
            lambda: self._client.patch(
                PODS,
                meta.name,
                body,
                meta.namespace,
                kind=PatchType.STRATEGIC,
                subresource="status",
            ),
        )

    async def _confirm(self, machine: _Machine, pod: Object) -> None:
        """The containers are gone: let the API server drop the object."""
        meta = pod.metadata
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": meta.uid},
        }
        await self._sent(
            machine,
            lambda: self._client.request("delete", PODS, meta.name, meta.namespace, body=body),
        )

    async def _sent(self, machine: _Machine, call: Callable[[], Awaitable[Any]]) -> Any | None:
        await machine.reachable.wait()
        async with self._slots:
            return await settled(call)


def _age(pod: Object) -> str:
    return pod.metadata.creation_timestamp


def _unreadable(pod: Object) -> Refusal | None:
    """Why the sandbox's annotations cannot be followed; None if they can."""
    for key, read in ((names.RUN_SECONDS_KEY, float), (names.EXIT_CODE_KEY, int)):
        text = pod.annotations.get(key, "0")
        try:
            good = 0 <= read(text) < 2**31
        except ValueError:
            good = False
        if not good:
            return Refusal(
                "InvalidAnnotation",
                f'Pod was rejected: annotation {key}: "{text}" is no number of 0 or more',
            )
    return None
