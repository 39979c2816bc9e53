# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A recorded cluster: the same objects of the same age each time, for a page to show."""

import time
from datetime import UTC, datetime
from typing import Any, Final

from enbloc.client.client import Client, PatchType
from enbloc.client.paths import (
    JOBS,
    NAMESPACES,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    TOPOLOGIES,
)
from enbloc.model.names import EXPECTED_SECONDS_KEY
from tests.e2e import manifests

#: When the recording ends, and a page is opened.
NOW: Final = datetime(2026, 3, 2, 9, 30, tzinfo=UTC).timestamp()
GPU: Final = "nvidia.com/gpu"
RACK: Final = "example.com/rack"
_MINUTE, _HOUR = 60.0, 3600.0


class Clock:
    """The time of a recorded API server, in seconds since the epoch.

    Args:
        runs: whether it goes on once all is recorded; else it stands.

    Attributes:
        now: at which it stands.
    """

    def __init__(self, *, runs: bool) -> None:
        self.now = NOW
        self._runs = runs
        self._since: float | None = None

    def __call__(self) -> float:
        return self.now + (0.0 if self._since is None else time.monotonic() - self._since)

    def recorded(self) -> None:
        """All objects are there."""
        self.now = NOW
        self._since = time.monotonic() if self._runs else None


class Recording:
    """Creates objects at the times at which they were created.

    Args:
        client: of the API server.
        clock: its clock.
    """

    def __init__(self, client: Client, clock: Clock) -> None:
        self.client, self._clock = client, clock
        self._jobs: dict[tuple[str, str], Any] = {}

    async def cluster(self) -> None:
        """Two racks of nodes with GPUs and one without; gangs that run, and such that wait."""
        await self._nodes()
        await self._running()
        await self._waiting()
        self._clock.recorded()

    def _at(self, ago: float) -> None:
        """What is created from now on is so old (seconds)."""
        self._clock.now = NOW - ago

    async def _nodes(self) -> None:
        self._at(30 * 24 * _HOUR)
        for namespace in ("research", "speech", "vision"):
            await self.client.create(NAMESPACES, manifests.namespace(namespace))
        await self.client.create(TOPOLOGIES, manifests.topology("racks", {"rack": RACK}))
        urgent = {"metadata": {"name": "urgent"}, "value": 1000}
        kind = {"apiVersion": PRIORITY_CLASSES.api_version, "kind": PRIORITY_CLASSES.kind}
        await self.client.create(PRIORITY_CLASSES, {**kind, **urgent})
        for rack in ("r1", "r2"):
            for number in range(6):
                await self.node(f"gpu-{rack}-{number}", rack, cpu=96, memory="768Gi", gpus=8)
        for number in range(8):
            await self.node(f"cpu-{number}", "r3", cpu=32, memory="128Gi")
        await self._patch(NODES, "gpu-r2-5", {"spec": {"unschedulable": True}})
        await self._ready("cpu-7", ready=False)

    async def _running(self) -> None:
        self._at(3 * _HOUR)
        await self.gang("vision", "detector", 4, gpus=8, limit=4 * _HOUR)
        await self._runs("vision", "detector", [f"gpu-r1-{n}" for n in range(4)])
        self._at(2 * _HOUR)
        await self.gang("speech", "whisper", 3, gpus=8, expected=5 * _HOUR)
        await self._runs("speech", "whisper", [f"gpu-r2-{n}" for n in range(3)])
        self._at(50 * _MINUTE)
        await self.gang("vision", "index", 6, cpu=12, limit=90 * _MINUTE)
        await self._runs("vision", "index", [f"cpu-{n // 2}" for n in range(6)])
        await self.gang("research", "sweep", 4, gpus=4, limit=2 * _HOUR)
        await self._runs("research", "sweep", ["gpu-r1-4", "gpu-r1-4", "gpu-r1-5", "gpu-r2-3"])

    async def _waiting(self) -> None:
        self._at(42 * _MINUTE)
        await self.gang("research", "llm-pretrain", 6, required="rack", gpus=8, limit=12 * _HOUR)
        self._at(25 * _MINUTE)
        await self.gang("speech", "diarize", 3, gpus=8, limit=6 * _HOUR)
        self._at(18 * _MINUTE)
        await self.gang("vision", "segment", 2, gpus=8, node_selector={"example.com/gpu": "h200"})
        self._at(11 * _MINUTE)
        await self.gang("research", "ablation", 4, minimum=6, gpus=1)
        self._at(6 * _MINUTE)
        await self.gang("vision", "hotfix", 5, gpus=8, priority_class="urgent", limit=1 * _HOUR)
        self._at(2 * _MINUTE)
        await self.gang("speech", "align", 2, cpu=16)

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    async def node(self, name: str, rack: str, *, cpu: int, memory: str, gpus: int = 0) -> None:
        """A node that is ready."""
        shape = "g8.24xlarge" if gpus else "c8.8xlarge"
        labels = {RACK: rack, "node.kubernetes.io/instance-type": shape}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        await self.client.create(NODES, body)
        room = {"cpu": str(cpu), "memory": memory, "pods": "110"}
        room |= {GPU: str(gpus)} if gpus else {}
        status = {"status": {"capacity": room, "allocatable": room}}
        await self._patch(NODES, name, status, subresource="status")
        await self._ready(name, ready=True)
        await self._patch(NODES, name, {"spec": {"taints": []}})

    async def gang(
        self, namespace: str, name: str, size: int, minimum: int | None = None, **of: Any
    ) -> None:
        """A Job with its PodGroup and pods, which wait.

        Args:
            namespace: of all of them.
            name: of the Job and of the group.
            size: so many pods.
            minimum: so many the group needs; None = all.
            of: the pods, as of `pod`; `required` is the level of racks that the group is to be in
                one domain of.
        """
        required = of.pop("required", "")
        within = {"topology": {"name": "racks", "required": required}} if required else {}
        group = manifests.group(name, minimum or size, **within)
        await self.client.create(POD_GROUPS, group, namespace)
        job = manifests.job(name, size, name)
        job["spec"]["suspend"] = True
        self._jobs[namespace, name] = await self.client.create(JOBS, job, namespace)
        for number in range(size):
            await self.pod(namespace, name, number, **of)

    async def pod(
        self,
        namespace: str,
        gang: str,
        number: int,
        *,
        cpu: int = 4,
        gpus: int = 0,
        limit: float | None = None,
        expected: float | None = None,
        **of: Any,
    ) -> None:
        """One more member of a gang.

        Args:
            namespace: of it.
            gang: of which it is.
            number: after which it is called.
            cpu: CPUs that it requests.
            gpus: GPUs that it requests.
            limit: so long it may run (seconds).
            expected: so long it is expected to run (seconds).
            of: it, as of `manifests.pod`.
        """
        if limit is not None:
            of["activeDeadlineSeconds"] = int(limit)
        if expected is not None:
            of["annotations"] = {EXPECTED_SECONDS_KEY: f"{expected:.0f}"}
        job = self._jobs[namespace, gang]
        pod = manifests.pod(f"{gang}-{number}", gang, owner=job, **of)
        devices = {GPU: str(gpus)} if gpus else {}
        requests = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", **devices}
        pod["spec"]["containers"][0]["resources"] = {"requests": requests, "limits": devices}
        await self.client.create(PODS, pod, namespace)

    async def _runs(self, namespace: str, name: str, nodes: list[str]) -> None:
        """The pods of a gang run on these nodes, since they were created."""
        for number, node in enumerate(nodes):
            pod = f"{name}-{number}"
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            bound = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}}
            await self.client.create(
                PODS, {**bound, "target": target}, namespace, name=pod, subresource="binding"
            )
            started = datetime.fromtimestamp(self._clock.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            status = {"status": {"phase": "Running", "startTime": started}}
            await self._patch(PODS, pod, status, namespace, subresource="status")

    async def _ready(self, node: str, *, ready: bool) -> None:
        condition = {"type": "Ready", "status": str(ready), "reason": "Recorded", "message": ""}
        status = {"status": {"conditions": [condition]}}
        await self._patch(NODES, node, status, subresource="status")

    async def _patch(
        self, kind: Any, name: str, body: Any, namespace: str | None = None, subresource: str = ""
    ) -> None:
        await self.client.patch(
            kind, name, body, namespace, kind=PatchType.MERGE, subresource=subresource
        )
