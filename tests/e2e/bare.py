# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A real API server on which nothing moves but schedulers, and what they say of pods.

Without controllers and kubelets a node stays as it was made, from its first moment on.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.client.errors import NotFound
from enbloc.client.items import Deleted, Seen, Synced
from enbloc.client.paths import NODES, PODS, Resource
from enbloc.client.reflector import Reflector
from tests.controlplane import API_SERVER, ControlPlane
from tests.e2e.processes import Server
from tests.e2e.targets import ControlPlaneTarget
from tests.patience import PATIENCE

#: Else every new node begins with a taint that nobody here would take away; and the priority of a
#: pod is what it says.
FLAGS: Final = {
    API_SERVER: ["--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority"]
}


def bare_control_plane() -> ControlPlane:
    """An API server without controllers, whose new nodes can take pods at once."""
    return ControlPlane(controller_manager=False, flags=FLAGS)


#: What kube-scheduler's PostFilter plugins add at the end: whether freeing device claims helped
#: ("not found": it was not even looked at), and whether victims could make room.
AFTERWARDS: Final = re.compile(
    "( no new claims to deallocate,| still not schedulable,"
    "| (deallocation|deletion) of ResourceClaim completed,)? preemption:.*$|(?<=[.]) not found$",
    re.DOTALL,
)


def without_afterwards(message: str) -> str:
    """Why no node is feasible, without what was then tried to make one so."""
    return AFTERWARDS.sub("", message)


@dataclass(frozen=True)
class PlanResult:
    """What a scheduler decided about a pod: the node, or why there is none."""

    node: str = ""
    message: str = ""

    def __str__(self) -> str:
        return f"on {self.node}" if self.node else self.message


class Condition(msgspec.Struct):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class Status(msgspec.Struct, rename="camel"):
    conditions: list[Condition] = []
    nominated_node_name: str = ""


class Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None


class PodView(msgspec.Struct):
    """As much of a pod as shows what was decided about it."""

    metadata: Meta
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Status = msgspec.field(default_factory=Status)

    def refusals(self) -> list[Condition]:
        """Who says that it is not scheduled, the API server too, and why."""
        said = (one for one in self.status.conditions if one.message)
        return [one for one in said if (one.type, one.status) == ("PodScheduled", "False")]

    def verdict(self) -> PlanResult | None:
        """None while no scheduler has said anything."""
        if self.spec.node_name:
            return PlanResult(node=self.spec.node_name)
        for one in self.refusals():
            if one.reason != "SchedulingGated":  # says the API server
                return PlanResult(message=one.message)
        return None

    def preempted(self) -> bool:
        """It was told to leave for one of higher priority."""
        marks = {(one.type, one.status, one.reason) for one in self.status.conditions}
        return ("DisruptionTarget", "True", "PreemptionByScheduler") in marks


class Bare:
    """A control plane, an administrator's client, and all pods as a watch shows them.

    Args:
        target: the control plane, with enbloc's roles.
        client: the administrator's.
        path: where logs go.
    """

    def __init__(self, target: ControlPlaneTarget, client: Client, path: Path) -> None:
        self.target = target
        self.client = client
        self.path = path
        self.enbloc: Server | None = None
        self.pods: dict[str, PodView] = {}
        self._changed = asyncio.Condition()
        self._synced = False

    async def watch(self) -> None:
        """Learn of all pods, until cancelled."""
        async for item in Reflector(self.client, PODS, PodView).stream():
            match item:
                case Seen(_, pod):
                    self.pods[pod.metadata.uid] = pod
                case Deleted(meta, _):
                    self.pods.pop(meta.uid, None)
                case Synced():
                    self._synced = True
                case _:
                    raise AssertionError(f"cannot read a pod: {item}")
            async with self._changed:
                self._changed.notify_all()

    def start_enbloc(self, *arguments: str) -> None:
        """Start the scheduler with the role that the manifests give it."""
        kubeconfig = self.target.kubeconfig_of("scheduler")
        flags = [f"--kubeconfig={kubeconfig}", "--no-leader-elect", "--secure-port=0"]
        log = self.path / "enbloc.log"
        self.enbloc = Server("scheduler", [*flags, "--log-format=text", *arguments], log)
        self.enbloc.start()

    async def create(self, resource: Resource, body: Any, namespace: str | None = None) -> str:
        """Create an object; its UID."""
        made = await self.client.create(resource, body, namespace)
        return str(made["metadata"]["uid"])

    async def delete(self, resource: Resource, name: str, namespace: str | None = None) -> None:
        """Delete an object without waiting for a kubelet; one that is gone already is fine."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        with suppress(NotFound):
            await self.client.request("delete", resource, name, namespace, body=body)

    async def clear(self, nodes: Iterable[str], pods: Iterable[tuple[str, str]]) -> None:
        """Delete these pods (namespace, name), then these nodes."""
        await asyncio.gather(*(self.delete(PODS, name, namespace) for namespace, name in pods))
        await asyncio.gather(*(self.delete(NODES, name) for name in nodes))

    async def verdict(self, uid: str, seconds: float = PATIENCE) -> PlanResult:
        """Wait until a scheduler has decided about this pod."""

        def said() -> PlanResult | None:
            pod = self.pods.get(uid)
            return pod.verdict() if pod else None

        await self.until(lambda: said() is not None, f"a verdict on pod {uid}", seconds)
        verdict = said()
        assert verdict is not None
        return verdict

    async def synced(self) -> None:
        """Wait until all pods are known."""
        await self.until(lambda: self._synced, "the first list of pods")

    async def until(self, holds: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
        """Wait until something holds; looked at after each change of a pod."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.enbloc:
                self.enbloc.must_run()
            async with self._changed:
                with suppress(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await self._changed.wait_for(holds)
                    return
        log = self.enbloc.tail() if self.enbloc else ""
        raise AssertionError(f"not within {seconds:g} s: {what}\n{log}")


@asynccontextmanager
async def opened(target: ControlPlaneTarget, path: Path) -> AsyncGenerator[Bare]:
    """The control plane; enbloc's scheduler, once started, ends with the context."""
    async with Client(await load(target.kubeconfig), component="e2e") as client:
        bare = Bare(target, client, path)
        watching = asyncio.create_task(bare.watch())
        try:
            await bare.synced()
            yield bare
        finally:
            if bare.enbloc:
                bare.enbloc.stop(0)
                print(bare.enbloc.tail(100))
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
