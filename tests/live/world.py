# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A sandbox with nodes, gangs and schedulers in this process; nothing waits without a bound."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from enbloc.client.client import Client, PatchType
from enbloc.client.config import Cluster
from enbloc.client.errors import APIError, Unreachable
from enbloc.client.items import Timing
from enbloc.client.paths import CRDS, EVENTS, LEASES, NODES, POD_GROUPS, PODS
from enbloc.client.permissions import ROLES
from enbloc.config import Configuration, default_profiles
from enbloc.engine import Settings
from enbloc.framework.extenders import Extender
from enbloc.live.scheduler import Scheduler
from enbloc.model.names import PLAN_KEY, POD_GROUP_KEY, SCHEDULER_NAME
from enbloc.process.options import Options
from enbloc.process.terms import run_terms
from enbloc.telemetry import Health
from enbloc_sandbox.nodes import run_controllers
from tests.patience import PATIENCE
from tests.world.virtual_time import time_source

NAMESPACE = "default"
CRD_FILES = Path(__file__).parent.parent.parent / "crds"
#: Recovery as in production, only sooner.
FAST = Timing(watch=(30.0, 40.0), retry=(0.05, 0.2), refused=(0.1, 0.3))


class Running:
    """A scheduler under way."""

    def __init__(self, client: Client, options: Options, timing: Timing | None = None) -> None:
        assert options.stop is not None, "or it never ends"
        assert options.health is not None, "the test looks at it"
        self.stop = options.stop
        self.health = options.health
        self.task = asyncio.create_task(
            run_terms(options, lambda shared: Scheduler(client, shared, timing=timing).run())
        )

    async def kill(self) -> None:
        """End it as SIGKILL would: nothing more is sent, nothing is settled."""
        self.task.cancel()
        await asyncio.wait([self.task])

    async def end(self) -> int:
        """Stop it as SIGTERM would; the exit code."""
        self.stop.set()
        async with asyncio.timeout(PATIENCE):
            return await self.task


class World:
    """What a test does to a cluster, and what it waits for.

    Args:
        cluster: the API server.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.client = Client(cluster, component="test")

    async def __aenter__(self) -> Self:
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.client.__aexit__(None, None, None)

    async def install_crds(self) -> None:
        """As `kubectl apply -f crds/` does."""
        for path in CRD_FILES.glob("*.yaml"):
            await self.client.create(CRDS, yaml.safe_load(path.read_text()))

    # ── the cluster ──────────────────────────────────────────────────────────────────────────

    async def nodes(self, names: str, cpu: int = 8) -> None:
        """Nodes that are ready and untainted."""
        room = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "reason": "Test", "message": ""}
        status = {"capacity": room, "allocatable": room, "conditions": [ready]}
        for name in names.split():
            body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
            await self.client.create(NODES, body)
            await self.client.patch(
                NODES, name, {"status": status}, kind=PatchType.MERGE, subresource="status"
            )
            untainted: dict[str, Any] = {"spec": {"taints": []}}
            await self.client.patch(NODES, name, untainted, kind=PatchType.MERGE)

    async def group(self, name: str, minimum: int) -> None:
        body = {
            "apiVersion": POD_GROUPS.api_version,
            "kind": POD_GROUPS.kind,
            "metadata": {"name": name},
            "spec": {"minMember": minimum},
        }
        await self.client.create(POD_GROUPS, body, NAMESPACE)

    async def pod(
        self, name: str, group: str = "", *, cpu: int = 1, scheduler: str = "enbloc"
    ) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": {POD_GROUP_KEY: group} if group else {}},
            "spec": {"schedulerName": scheduler, "containers": [container]},
        }
        await self.client.create(PODS, body, NAMESPACE)

    async def gang(self, name: str, size: int, *, cpu: int = 1) -> None:
        await self.group(name, size)
        for index in range(size):
            await self.pod(f"{name}-{index}", name, cpu=cpu)

    async def bind(self, name: str, node: str) -> None:
        """Bind a pod, as another scheduler does."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        await self.client.create(PODS, body, NAMESPACE, name=name, subresource="binding")

    async def hand_lease_to(self, holder: str) -> None:
        """Say that somebody else holds the scheduler's Lease, or nobody."""

        async def taken() -> bool:
            lease = await self.client.get(LEASES, "enbloc-scheduler", NAMESPACE)
            lease["spec"]["holderIdentity"] = holder
            try:
                await self.client.replace(LEASES, "enbloc-scheduler", lease, NAMESPACE)
            except APIError:  # it was renewed in between
                return False
            return True

        await self.until(taken)

    async def runs(self, name: str) -> None:
        """Its kubelet says that a pod runs."""
        await self.client.patch(
            PODS,
            name,
            {"status": {"phase": "Running"}},
            NAMESPACE,
            kind=PatchType.MERGE,
            subresource="status",
        )

    async def delete(self, name: str) -> None:
        """Delete a pod for good, as its kubelet would confirm it."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        await self.client.request("delete", PODS, name, NAMESPACE, body=body)

    # ── what is there ────────────────────────────────────────────────────────────────────────

    async def pods(self, prefix: str = "") -> dict[str, Any]:
        found = [pod async for pod in self.client.list(PODS, NAMESPACE)]
        named = {pod["metadata"]["name"]: pod for pod in found}
        return {name: pod for name, pod in named.items() if name.startswith(prefix)}

    async def bound(self, prefix: str = "") -> dict[str, str]:
        """Name → node of the pods that have one."""
        pods = await self.pods(prefix)
        nodes = {name: pod["spec"].get("nodeName") for name, pod in pods.items()}
        return {name: node for name, node in nodes.items() if node}

    async def plans(self, prefix: str = "") -> set[str]:
        """The plans that placed these pods, by their binding_records."""
        pods = await self.pods(prefix)
        records = [pod["metadata"]["annotations"].get(PLAN_KEY) for pod in pods.values()]
        return {json.loads(record)["plan"] for record in records if record}

    async def condition(self, group: str, kind: str = "Scheduled") -> tuple[str, str]:
        """Status and reason of a PodGroup's condition; ("", "") while there is none."""
        found = await self.client.get(POD_GROUPS, group, NAMESPACE)
        return _condition(found, kind)

    async def pod_condition(self, pod: str) -> tuple[str, str]:
        return _condition(await self.client.get(PODS, pod, NAMESPACE), "PodScheduled")

    async def events(self, reason: str) -> list[Any]:
        found = [event async for event in self.client.list(EVENTS, NAMESPACE)]
        return [event for event in found if event["reason"] == reason]

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds: float = PATIENCE) -> None:
        """Wait until a condition holds, asked over and over; an unreachable server says no."""
        async with asyncio.timeout(seconds):
            while True:
                with suppress(Unreachable):
                    if await holds():
                        return
                await asyncio.sleep(0.02)

    async def until_logged(self, caplog: pytest.LogCaptureFixture, words: str) -> None:
        async def logged() -> bool:
            return words in caplog.text

        await self.until(logged)

    async def until_bound(self, prefix: str, count: int, seconds: float = PATIENCE) -> None:
        async def all_bound() -> bool:
            return len(await self.bound(prefix)) == count

        await self.until(all_bound, seconds)

    # ── schedulers ───────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def controllers(self, driver: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
        """The sandbox's controllers are at work, and a driver of volumes or devices."""
        tasks = [asyncio.create_task(each) for each in (run_controllers(self.client), driver)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    @asynccontextmanager
    async def scheduler(
        self,
        *extenders: Extender,
        leader_elect: bool = False,
        lease_namespace: str = NAMESPACE,
        name: str = SCHEDULER_NAME,
        ends_with: int | None = 0,
        settings: Settings | None = None,
    ) -> AsyncGenerator[Running]:
        """A scheduler with the permissions of its role and no more.

        Args:
            extenders: of its profile.
            leader_elect: it decides only while it holds the Lease.
            lease_namespace: where its Lease is.
            name: of its profile.
            ends_with: its exit code when it is stopped; None if the test ends it.
            settings: of the engine; None = the defaults.
        """
        stop, health = asyncio.Event(), Health()
        [given] = default_profiles().values()
        profile = dataclasses.replace(given, name=name, extenders=extenders)
        options = Options(
            leader_elect=leader_elect,
            lease_namespace=lease_namespace,
            health=health,
            stop=stop,
            configuration=Configuration({profile.name: profile}, settings or Settings()),
        )
        rules = ROLES["scheduler"]
        async with Client(
            self.cluster, component="scheduler", rules=rules, clock=time_source()
        ) as client:
            running = Running(client, options, FAST)
            try:
                yield running
                if ends_with is not None:
                    assert await running.end() == ends_with
            finally:
                await running.kill()


def _condition(found: Any, kind: str) -> tuple[str, str]:
    for condition in found.get("status", {}).get("conditions") or ():
        if condition["type"] == kind:
            return condition["status"], condition.get("reason", "")
    return "", ""
