# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster in use, from a seed: tenants whose workloads come and go, and machines that fail."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists, APIError, NotFound
from enbloc.client.paths import (
    JOBS,
    NODES,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)
from enbloc.model.names import ROLE_KEY, SILENT_KEY
from enbloc_sandbox.nodes import Kubelet, Pace, Shape
from enbloc_sandbox.nodes.objects import persistent
from tests.e2e import manifests
from tests.e2e.observer import RUN_LABEL, PodView
from tests.e2e.world import GIB, World

#: CPUs of a node.
CPU: Final = 8
#: scheduleTimeoutSeconds of every PodGroup.
TIMEOUT: Final = 15
#: The PriorityClasses that tenants use; "" = none.
PRIORITIES: Final = {"soak-high": 1000, "soak-low": -10}
#: How long a Job may lack pods at the end (seconds).
BACK_OFF: Final = 15.0
#: The most members of a gang.
LARGEST: Final = 10


class Tenant:
    """Runs one workload after the other, until told that the present one is the last.

    Args:
        world: where.
        name: begins the names of all that is its own.
        seed: of what it does.
        last: set when nothing more is to begin, and nothing is to be disturbed any more.
        ended: what became of its workloads, by kind.
    """

    def __init__(
        self, world: World, name: str, seed: str, last: asyncio.Event, ended: Counter[str]
    ) -> None:
        self._world = world
        self._rng = random.Random(seed)
        self._last = last
        self._ended = ended
        self._name = name
        self._number = 0
        #: What it waits for, for whoever asks why it does not end.
        self.waits_for = ""

    async def run(self) -> None:
        """Work until the last workload has ended."""
        kinds: Sequence[Callable[[str], Awaitable[str]]] = (
            self._bare,
            self._bare,
            self._roles,
            self._jobs,
            self._jobs,
            self._lone,
            self._too_large,
        )
        while not self._last.is_set():
            self._number += 1
            await self._pause(0.0, 1.0)
            name = f"{self._name}-{self._number}"
            self._ended[await self._rng.choice(kinds)(name)] += 1

    # ── workloads ────────────────────────────────────────────────────────────────────────────

    async def _bare(self, name: str) -> str:
        """A gang of bare pods; one that lost a member is deleted, as its user would."""
        size = self._rng.randint(2, LARGEST)
        await self._group(name, self._rng.choice((size, max(1, size - 2))))
        how = self._how(name, 0)
        await self._pods([manifests.pod(f"{name}-{index}", name, **how) for index in range(size)])
        return await self._to_its_end(name, size)

    async def _roles(self, name: str) -> str:
        """A driver and workers that are larger, each with a minimum of its own."""
        workers = self._rng.randint(1, LARGEST // 2)
        roles = [{"name": "driver"}, {"name": "worker", "minMember": workers}]
        await self._group(name, workers + 1, roles=roles)
        how = self._how(name, 0)
        driver: dict[str, Any] = how | {"cpu": 1, "annotations": {ROLE_KEY: "driver"}}
        worker: dict[str, Any] = how | {"cpu": 3, "annotations": {ROLE_KEY: "worker"}}
        await self._pods(
            [
                manifests.pod(f"{name}-{index}", name, **(worker if index else driver))
                for index in range(workers + 1)
            ]
        )
        return await self._to_its_end(name, workers + 1, least=workers + 1)

    async def _jobs(self, name: str) -> str:
        """A Job, and maybe its next runs, in one PodGroup; the next may begin before the last.

        A budget may keep all of its pods, or all but one.
        """
        size = self._rng.randint(2, LARGEST)
        await self._group(name, size)
        kept = self._rng.choice((0, 0, size - 1, size))
        if kept:
            budget = manifests.budget(name, {"app": name}, minAvailable=kept)
            await self._create(POD_DISRUPTION_BUDGETS, budget)
        runs = self._rng.choice((1, 1, 2, 3))
        for run in range(runs):
            job = f"{name}-r{run}"
            document = manifests.job(job, size, name, backoff_limit=1000, **self._how(name, run))
            await self._create(JOBS, document)
            if self._rng.random() < 0.3:
                await self._suspend(job)
            if self._rng.random() < 0.3:
                await self._lose_one(job)
            if self._rng.random() < 0.2:
                await self._patch(POD_GROUPS, name, {"minMember": self._rng.randint(1, size)})
            if run == runs - 1 or self._rng.random() < 0.7:
                await self._job_done(job, size)
            else:
                await self._pause(0.5, 4.0)  # it runs into the next one
            if run < runs - 1 and self._rng.random() < 0.5:
                await self._delete(JOBS, job)
        for run in range(runs):
            await self._delete(JOBS, f"{name}-r{run}")
        if kept:
            await self._delete(POD_DISRUPTION_BUDGETS, name)
        await self._gone(name)
        await self._delete(POD_GROUPS, name)
        return f"Job with {runs} run{'s' if runs > 1 else ''}"

    async def _lone(self, name: str) -> str:
        """Pods without a group."""
        count = self._rng.randint(1, 5)
        how: dict[str, Any] = self._how(name, 0) | {"labels": None}
        await self._pods([manifests.pod(f"{name}-{index}", **how) for index in range(count)])
        await self._until(lambda: self._over(name, count), f"lone pods {name} end")
        await self._delete_all(name, count)
        return "lone pods"

    async def _too_large(self, name: str) -> str:
        """A gang that cannot fit; it is given up after a while."""
        await self._group(name, 3 * LARGEST)
        how: dict[str, Any] = self._how(name, 0) | {"cpu": CPU - 1}
        await self._pods(
            [manifests.pod(f"{name}-{index}", name, **how) for index in range(3 * LARGEST)]
        )
        await self._pause(2.0, 6.0)
        await self._delete_all(name, 3 * LARGEST)
        await self._delete(POD_GROUPS, name)
        return "gang too large"

    async def _to_its_end(self, name: str, size: int, *, least: int = 1) -> str:
        """Wait for a gang of bare pods, maybe disturb it, and delete it.

        Args:
            name: of the PodGroup.
            size: how many pods it has.
            least: what minMember may become.
        """
        became = "gang of pods"
        if self._rng.random() < 0.2:
            await self._pause(0.0, 4.0)
            await self._patch(POD_GROUPS, name, {"minMember": self._rng.randint(least, size)})
        if self._rng.random() < 0.15:
            await self._pause(0.0, 4.0)
            became = "gang deleted"
        else:
            await self._until(lambda: self._over(name, size), f"gang {name} of {size} ends")
            if sum(pod.status.phase == "Succeeded" for pod in self._mine(name)) < size:
                became = "gang that lost a member"
        await self._delete_all(name, size)
        await self._delete(POD_GROUPS, name)
        return became

    # ── steps ────────────────────────────────────────────────────────────────────────────────

    def _how(self, group: str, run: int) -> dict[str, Any]:
        """What the pods of a workload have in common."""
        return {
            "cpu": self._rng.choice((1, 1, 2)),
            "run_seconds": round(self._rng.uniform(1.0, 12.0), 1),
            "priority_class": self._rng.choice(("", "", *PRIORITIES)),
            "labels": {RUN_LABEL: f"{group}.{run}", "app": group},
        }

    async def _group(self, name: str, minimum: int, **spec: Any) -> None:
        group = manifests.group(name, minimum, scheduleTimeoutSeconds=TIMEOUT, **spec)
        await self._create(POD_GROUPS, group)

    async def _pods(self, pods: Sequence[dict[str, Any]]) -> None:
        await asyncio.gather(*(self._create(PODS, pod) for pod in pods))

    async def _suspend(self, job: str) -> None:
        await self._pause(0.0, 5.0)
        await self._patch(JOBS, job, {"suspend": True})
        await self._pause(0.5, 5.0)
        await self._patch(JOBS, job, {"suspend": False})

    async def _lose_one(self, job: str) -> None:
        """A pod of a Job is deleted; the Job makes another one."""
        await self._pause(0.0, 4.0)
        pods = [pod.metadata.name for pod in self._mine(job)]
        if pods:
            await self._delete(PODS, self._rng.choice(sorted(pods)))

    async def _job_done(self, job: str, size: int) -> None:
        """Wait until a Job has completed; at the end one that makes no pods is given up.

        Its controller makes the next pod only after a back-off that doubles with each pod that
        was lost, and that takes longer than anybody waits.
        """
        self.waits_for = f"Job {job} of {size} completes"
        short_since: float | None = None
        while True:
            found = await persistent(
                lambda: self._world.client.get(JOBS, job, self._world.namespace)
            )
            status = found["status"]
            ended = {
                one["type"]: one.get("message")
                for one in status.get("conditions", ())
                if one["status"] == "True"
            }
            assert "Failed" not in ended, f"Job {job} failed: {ended['Failed']}"
            if "Complete" in ended:
                return
            now = time.monotonic()
            if status.get("active", 0) + status.get("succeeded", 0) >= size:
                short_since = None
            else:
                short_since = short_since or now
                if self._last.is_set() and now - short_since > BACK_OFF:
                    self._ended["Job given up, whose controller makes no pods"] += 1
                    return
            await asyncio.sleep(0.5)

    def _mine(self, name: str) -> list[PodView]:
        return self._world.observer.of(self._world.namespace, name)

    def _over(self, name: str, size: int) -> bool:
        """All have succeeded, or one never will."""
        phases = [pod.status.phase for pod in self._mine(name) if not pod.ends]
        return "Failed" in phases or len(phases) < size or set(phases) == {"Succeeded"}

    async def _gone(self, name: str) -> None:
        def gone() -> bool:
            return all(pod.ends for pod in self._mine(name))

        await self._until(gone, f"the pods of {name} are deleted")

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        self.waits_for = what
        # The observer may be behind what this tenant has just created.
        await asyncio.sleep(0.5)
        changed = self._world.observer.changed
        async with changed:
            await changed.wait_for(holds)

    async def _pause(self, least: float, most: float) -> None:
        """Wait, unless it is the last."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._rng.uniform(least, most)):
                await self._last.wait()

    async def _create(self, resource: Resource, document: dict[str, Any]) -> None:
        client, namespace = self._world.client, self._world.namespace
        with suppress(AlreadyExists):  # an earlier try arrived
            await persistent(lambda: client.create(resource, document, namespace))

    async def _patch(self, resource: Resource, name: str, spec: dict[str, Any]) -> None:
        client, namespace = self._world.client, self._world.namespace
        with suppress(NotFound):
            await persistent(
                lambda: client.patch(
                    resource, name, {"spec": spec}, namespace, kind=PatchType.MERGE
                )
            )

    async def _delete(self, resource: Resource, name: str) -> None:
        await delete(self._world, resource, name)

    async def _delete_all(self, name: str, count: int) -> None:
        await asyncio.gather(*(self._delete(PODS, f"{name}-{index}") for index in range(count)))
        await self._gone(name)


class Machines:
    """The nodes: cordoned, cut off, lost and replaced; a third of them at a time at most.

    Args:
        world: where.
        count: how many there are.
        seed: of what befalls them.
        did: counts what befell them.
    """

    def __init__(self, world: World, count: int, seed: str, did: Counter[str]) -> None:
        self._world = world
        self._count = count
        self._rng = random.Random(seed)
        self._did = did
        self._number = 0
        self._well: set[str] = set()

    async def start(self) -> None:
        """Add the nodes."""
        for _ in range(self._count):
            self._add()

    async def run(self, pause: float, last: asyncio.Event) -> None:
        """Disturb one every so many seconds on average, until told to stop; then heal all."""
        kinds = (self._cordon, self._cut_off, self._replace)
        async with asyncio.TaskGroup() as tasks:
            while not last.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._rng.uniform(0, 2 * pause)):
                        await last.wait()
                if not last.is_set() and len(self._well) > self._count * 2 / 3:
                    node = self._rng.choice(sorted(self._well))
                    self._well.discard(node)
                    tasks.create_task(self._rng.choice(kinds)(node, last))

    def _add(self) -> None:
        self._number += 1
        name = f"{self._world.namespace}-m{self._number}"
        self._world._nodes.append(name)
        shape = Shape(name, CPU * 1000, 64 * GIB)
        pace = Pace(lease=4.0, start=0.2)
        self._world.keep(name, Kubelet(self._world.client, [shape], pace).run())
        self._well.add(name)

    async def _cordon(self, node: str, last: asyncio.Event) -> None:
        self._did["node cordoned"] += 1
        await self._patch(node, {"spec": {"unschedulable": True}})
        await self._wait(last, 2.0, 15.0)
        await self._patch(node, {"spec": {"unschedulable": None}})
        self._well.add(node)

    async def _cut_off(self, node: str, last: asyncio.Event) -> None:
        """Nothing is heard of its kubelet, so that it becomes NotReady."""
        self._did["node cut off"] += 1
        await self._patch(node, {"metadata": {"annotations": {SILENT_KEY: "true"}}})
        await self._wait(last, 5.0, 35.0)
        await self._patch(node, {"metadata": {"annotations": {SILENT_KEY: None}}})
        self._well.add(node)

    async def _replace(self, node: str, last: asyncio.Event) -> None:
        """It is gone, and its pods with it, as by the garbage collector; another one comes."""
        self._did["node lost"] += 1
        await delete(self._world, NODES, node, force=True)
        kubelet = self._world._tasks.pop(node)
        kubelet.cancel()
        await asyncio.gather(kubelet, return_exceptions=True)
        pods = self._world.observer.of(self._world.namespace)
        lost = [pod.metadata.name for pod in pods if pod.spec.node_name == node]
        await asyncio.gather(*(delete(self._world, PODS, name, force=True) for name in lost))
        await self._wait(last, 1.0, 10.0)
        self._add()

    async def _wait(self, last: asyncio.Event, least: float, most: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._rng.uniform(least, most)):
                await last.wait()

    async def _patch(self, node: str, patch: dict[str, Any]) -> None:
        client = self._world.client
        await persistent(lambda: client.patch(NODES, node, patch, kind=PatchType.MERGE))


async def delete(world: World, resource: Resource, name: str, *, force: bool = False) -> None:
    """Delete an object and what it owns; `force` = without waiting for a kubelet."""
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        **({"gracePeriodSeconds": 0} if force else {}),
    }
    namespace = world.namespace if resource.namespaced else None
    with suppress(NotFound):
        await persistent(
            lambda: world.client.request("delete", resource, name, namespace, body=body)
        )


async def priorities(world: World) -> None:
    """Have the PriorityClasses that tenants use."""
    for name, value in PRIORITIES.items():
        with suppress(AlreadyExists):
            await world.client.create(
                PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value}
            )


async def described(world: World, group: str) -> str:
    """What is said of a PodGroup, for a message."""
    try:
        found = await world.client.get(POD_GROUPS, group, world.namespace)
    except APIError as error:
        return str(error)
    conditions = (found.get("status") or {}).get("conditions") or ()
    said = [
        f"{one['type']}={one['status']} {one['reason']}: {one['message']}" for one in conditions
    ]
    return f"{group}, minMember {found['spec']['minMember']}: " + "; ".join(said)
