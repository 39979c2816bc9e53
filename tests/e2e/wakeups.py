# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster made for one pod that waits, what happens in it, and how often the pod was tried."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists
from enbloc.client.paths import NAMESPACES, NODES, PODS
from enbloc.model.names import SCHEDULER_NAME
from tests.e2e import bare
from tests.e2e.bare import Bare, without_afterwards
from tests.e2e.targets import ControlPlaneTarget

NAMESPACE: Final = "wakeups"
#: The pause after a first refusal is 1 s; a retry by a timer would come just after it.
PAUSE: Final = 1.2


def node(
    name: str, *, labels: dict[str, str] | None = None, cpu: str = "4", **spec: Any
) -> dict[str, Any]:
    """A node that can take pods."""
    room = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": room, "capacity": room},
    }


def pod(
    name: str, *, labels: dict[str, str] | None = None, container: Any = None, **spec: Any
) -> dict[str, Any]:
    """A pod for enbloc, or one that is on a node already (`nodeName`)."""
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "containers": [{"name": "main", "image": "example.com/none", **(container or {})}],
            **spec,
        },
    }


def cpu(text: str) -> dict[str, Any]:
    """What a container has that requests so much."""
    return {"resources": {"requests": {"cpu": text}}}


def pod_terms(kind: str) -> dict[str, Any]:
    """A required term about pods with label app=web on the same node."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


class Wakeups:
    """A cluster made for one pod, `waiter`."""

    def __init__(self, cluster: Bare) -> None:
        self._bare = cluster
        self._nodes: list[str] = []
        self._pods: list[str] = []
        self._uid = ""

    async def node(self, body: dict[str, Any]) -> None:
        """Add a node."""
        self._nodes.append(body["metadata"]["name"])
        await self._bare.create(NODES, body)

    async def pod(self, body: dict[str, Any]) -> str:
        """Add a pod; its UID."""
        self._pods.append(body["metadata"]["name"])
        return await self._bare.create(PODS, body, NAMESPACE)

    async def refused(self, body: dict[str, Any], message: str, *, attempts: int = 1) -> None:
        """Have this pod refused with this message, and see that nobody tries it again."""
        self._uid = await self.pod(body)
        # All else is there, so it knows all from its first lists; and it logs each attempt.
        self._bare.start_enbloc("--v=2")
        await self._bare.until(self._is_refused, f"pod {self._uid} is refused")
        assert self._refusals() == [message]
        await self.change_node(self._nodes[0], {"metadata": {"labels": {"of-no": "help"}}})
        await asyncio.sleep(PAUSE)
        assert self._attempts() == attempts, "tried again without an event that could help"

    def _is_refused(self) -> bool:
        return bool(self._refusals())

    def _refusals(self) -> list[str]:
        pod = self._bare.pods.get(self._uid)
        return [without_afterwards(one.message) for one in pod.refusals()] if pod else []

    async def placed(self, on: str, *, attempts: int = 2) -> None:
        """Wait until the pod is on this node; the attempt after the event put it there."""

        def bound() -> bool:
            return bool(self._bare.pods[self._uid].spec.node_name)

        await self._bare.until(bound, "the pod is placed after the event")
        assert self._bare.pods[self._uid].spec.node_name == on
        assert self._attempts() == attempts

    def _attempts(self) -> int:
        """How often the scheduler has tried the pod, by its log."""
        assert self._bare.enbloc is not None
        pattern = rf"pod=\"{NAMESPACE}/waiter\".* attempts=(\d+)"
        return max((int(text) for text in re.findall(pattern, self._bare.enbloc.text())), default=0)

    async def change_node(self, name: str, patch: dict[str, Any], subresource: str = "") -> None:
        """Merge this into a node."""
        await self._bare.client.patch(
            NODES, name, patch, kind=PatchType.MERGE, subresource=subresource
        )

    async def change_pod(self, name: str, patch: dict[str, Any], subresource: str = "") -> None:
        """Merge this into a pod."""
        await self._bare.client.patch(
            PODS, name, patch, NAMESPACE, kind=PatchType.STRATEGIC, subresource=subresource
        )

    async def tolerate(self, key: str) -> None:
        """Let the pod tolerate a taint, beside those that the API server has it tolerate."""
        found = await self._bare.client.get(PODS, "waiter", NAMESPACE)
        tolerations = [*found["spec"]["tolerations"], {"key": key, "operator": "Exists"}]
        await self.change_pod("waiter", {"spec": {"tolerations": tolerations}})

    async def delete(self, name: str) -> None:
        """Delete a pod."""
        await self._bare.delete(PODS, name, NAMESPACE)

    async def clear(self) -> None:
        """Leave nothing behind."""
        await self._bare.clear(self._nodes, [(NAMESPACE, name) for name in self._pods])


@asynccontextmanager
async def opened(target: ControlPlaneTarget, path: Path) -> AsyncGenerator[Wakeups]:
    """An empty cluster, which is empty again after the context."""
    async with bare.opened(target, path) as cluster:
        with suppress(AlreadyExists):
            await cluster.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        wakeups = Wakeups(cluster)
        try:
            yield wakeups
        finally:
            await wakeups.clear()
