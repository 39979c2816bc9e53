# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A sandbox in this process, and clients that act on it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import pytest

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.errors import NotFound
from enbloc.client.paths import EVENTS, JOBS, NODES, PODS, Resource
from enbloc_sandbox import Sandbox
from enbloc_sandbox.nodes.controllers import ControllerPace, run_controllers
from enbloc_sandbox.nodes.kubelet import Kubelet, Pace
from enbloc_sandbox.nodes.shapes import Shape
from tests.patience import PATIENCE
from tests.world.virtual_time import time_source


class Yard:
    """The sandbox's API, and the tasks that a test runs against it."""

    def __init__(self, sandbox: Sandbox, client: Client) -> None:
        self.sandbox = sandbox
        self.client = client
        self._running: list[asyncio.Task[None]] = []

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._running.append(task)
        return task

    async def kubelet(self, *shapes: Shape, pace: Pace | None = None) -> asyncio.Task[None]:
        task = self.start(Kubelet(self.client, shapes, pace).run())
        for shape in shapes:
            await self.until(NODES, shape.name, lambda node: condition(node, "Ready") == "True")
        return task

    def controllers(self, pace: ControllerPace | None = None) -> asyncio.Task[None]:
        return self.start(run_controllers(self.client, pace))

    async def stop(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        await asyncio.wait([task])

    async def pod(self, name: str, node: str = "", **more: Any) -> dict[str, Any]:
        made: dict[str, Any] = await self.client.create(PODS, pod(name, node, **more), "default")
        return made

    async def get(
        self, resource: Resource, name: str, namespace: str = "default"
    ) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = await self.client.get(
                resource, name, namespace if resource.namespaced else None
            )
        except NotFound:
            return None
        return found

    async def until(
        self,
        resource: Resource,
        name: str,
        holds: Callable[[dict[str, Any]], object],
        namespace: str = "default",
    ) -> dict[str, Any]:
        """The object, once something holds of it."""
        found: dict[str, Any] | None = None
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    self._check()
                    found = await self.get(resource, name, namespace)
                    if found is not None and holds(found):
                        return found
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{resource.kind} {name} stayed {found}") from None

    async def gone(self, resource: Resource, name: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while await self.get(resource, name) is not None:
                self._check()
                await asyncio.sleep(0.02)

    async def phase(self, name: str, wanted: str) -> dict[str, Any]:
        return await self.until(PODS, name, lambda found: found["status"].get("phase") == wanted)

    async def pods(self) -> list[dict[str, Any]]:
        return [one async for one in self.client.list(PODS, "default")]

    async def told(self, of: str, reason: str) -> dict[str, Any]:
        """The event with this reason about an object of this name, once there is one."""
        async with asyncio.timeout(PATIENCE):
            while True:
                self._check()
                async for one in self.client.list(EVENTS, "default"):
                    event: dict[str, Any] = one
                    if (event["regarding"]["name"], event["reason"]) == (of, reason):
                        return event
                await asyncio.sleep(0.02)

    def _check(self) -> None:
        for task in self._running:
            if task.done() and not task.cancelled():
                task.result()

    async def close(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


def condition(found: dict[str, Any], kind: str) -> str | None:
    conditions = found.get("status", {}).get("conditions") or ()
    return next((one["status"] for one in conditions if one["type"] == kind), None)


def pod(
    name: str,
    node: str = "",
    *,
    cpu: str = "1",
    gpu: int = 0,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    requests = {"cpu": cpu, **({"nvidia.com/gpu": str(gpu)} if gpu else {})}
    limits = {"nvidia.com/gpu": str(gpu)} if gpu else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {
            "schedulerName": "nobody",
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "worker",
                    "image": "busybox",
                    "resources": {"requests": requests, "limits": limits},
                }
            ],
            **({"nodeName": node} if node else {}),
            **spec,
        },
    }


def job(name: str, *, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    template = pod("", annotations=annotations)
    del template["metadata"]["name"]
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": name},
        "spec": {"template": {"metadata": template["metadata"], "spec": template["spec"]}, **spec},
    }


@pytest.fixture
async def yard() -> AsyncGenerator[Yard]:
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(Sandbox(clock=time_source().wall))
        client = await stack.enter_async_context(
            Client(Cluster(server=sandbox.url), component="test")
        )
        made = Yard(sandbox, client)
        stack.push_async_callback(made.close)
        yield made
