# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Workloads that come back from zero, start slowly, or are made anew in part."""

from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import JOBS, PODS, STATEFUL_SETS
from enbloc.controller.sources import volcano
from enbloc.controller.sources.leaderworkerset import RESOURCE as LEADER_WORKER_SETS
from enbloc.wire.auto_groups import group_name
from tests.e2e import manifests
from tests.e2e.test_workloads_e2e import TEMPLATE, group_of_job, says, serve, serve_resource, switch
from tests.e2e.world import World

LABELS = {"app": "st"}


async def patch(world: World, kind: Any, name: str, spec: dict[str, Any]) -> None:
    """Change the spec of an object."""
    body = {"spec": spec}
    await world.client.patch(kind, name, body, world.namespace, kind=PatchType.MERGE)


async def occupied(world: World, nodes: list[str]) -> None:
    """Somebody else's pods are on these nodes."""
    for node in nodes:
        await world.pod(f"other-{node}", node=node, scheduler="other")
    await world.until(
        lambda: len(world.observer.bound(world.namespace, "other")) == len(nodes),
        "others are there",
    )


async def gone(world: World, prefix: str) -> None:
    """No pod of this name is left."""
    await world.until(
        lambda: not list(world.observer.of(world.namespace, prefix)), f"{prefix} is gone"
    )


class Set:
    """A StatefulSet of pods of a CPU each, which are created side by side."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.made: dict[str, Any] = {}

    async def create(self, replicas: int) -> str:
        """Create it; the name of its PodGroup."""
        body = manifests.parallel_set("st", replicas, LABELS)
        self.made = await self.world.client.create(STATEFUL_SETS, body, self.world.namespace)
        await self._make(replicas)
        return group_name("StatefulSet", "st", self.made["metadata"]["uid"])

    async def scale(self, replicas: int) -> None:
        await patch(self.world, STATEFUL_SETS, "st", {"replicas": replicas})
        if replicas:
            await self._make(replicas)
        else:
            if not self.world.target.complete:
                for pod in list(self.world.observer.of(self.world.namespace, "st")):
                    await self.world.delete_pod(pod.metadata.name)
            await gone(self.world, "st")

    async def _make(self, replicas: int) -> None:
        if self.world.target.complete:
            return
        for index in range(replicas):  # the sandbox has no controller of these
            await self.world.pod(f"st-{index}", owner=self.made, labels=LABELS)


@pytest.mark.parametrize("killed", [False, True])
async def test_a_set_that_is_scaled_to_zero_and_back_starts_whole_or_not_at_all(
    world: World, killed: bool
) -> None:
    """Semantics §2.5."""
    await switch(world, "StatefulSet")
    nodes = await world.nodes(4, cpu=1)
    workload = Set(world)
    group = await workload.create(4)
    await world.running("st", 4)
    await says(world, group, "Ready", "True", reason="Running")
    await workload.scale(0)
    await world.quiet()  # the controller sees that no pods are wanted
    if killed:
        world.scheduler.kill()
        await world.start_scheduler()
    await occupied(world, nodes[:2])
    await workload.scale(4)
    await world.condition(group, "Scheduled", "False", reason="Unschedulable")
    await world.quiet()
    assert world.observer.bound(world.namespace, "st") == {}
    for node in nodes[:2]:
        await world.remove_pod(f"other-{node}")
    await world.bound("st", 4)
    await world.client.delete(STATEFUL_SETS, "st", world.namespace)


async def test_a_job_that_is_suspended_at_two_and_resumed_at_four_starts_with_four(
    world: World,
) -> None:
    """Semantics §2.5."""
    await switch(world, "Job")
    nodes = await world.nodes(4, cpu=1)
    body = manifests.job("train", 8, "")
    body["spec"]["parallelism"] = 2
    await world.client.create(JOBS, body, world.namespace)
    group = await group_of_job(world, "train")
    await world.running("train", 2)
    await says(world, group, "Ready", "True", reason="Running")
    await patch(world, JOBS, "train", {"suspend": True})
    await gone(world, "train")
    await patch(world, JOBS, "train", {"parallelism": 4})
    await occupied(world, nodes[:2])
    await patch(world, JOBS, "train", {"suspend": False})
    await world.condition(group, "Scheduled", "False", reason="Unschedulable")
    await world.quiet()
    assert world.observer.bound(world.namespace, "train") == {}


async def leader_worker_set(world: World, replicas: int, **spec: Any) -> dict[str, Any]:
    """A LeaderWorkerSet of groups of three."""
    await serve(world, "LeaderWorkerSet")
    template = {"size": 3, "workerTemplate": TEMPLATE}
    body = {
        "apiVersion": LEADER_WORKER_SETS.api_version,
        "kind": LEADER_WORKER_SETS.kind,
        "metadata": {"name": "w"},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": template, **spec},
    }
    made: dict[str, Any] = await world.client.create(LEADER_WORKER_SETS, body, world.namespace)
    return made


async def one_of(world: World, made: dict[str, Any], group: int, worker: int, life: int) -> None:
    """A pod of its, as its controller makes it."""
    keys = {"name": "w", "group-index": str(group), "worker-index": str(worker)}
    labels = {f"leaderworkerset.sigs.k8s.io/{key}": value for key, value in keys.items()}
    await world.pod(f"w-{group}-{worker}-{life}", owner=made, labels=labels)


async def test_capacity_is_kept_for_workers_while_their_leader_starts(world: World) -> None:
    """Semantics §5.1: the leader takes longer than the timeout of its PodGroup."""
    await switch(world, "LeaderWorkerSet")
    await world.nodes(3, cpu=1, start=6.0)
    made = await leader_worker_set(world, 1, startupPolicy="LeaderReady")
    body = {"metadata": {"annotations": {"enbloc.dev/schedule-timeout-seconds": "2"}}}
    await world.client.patch(LEADER_WORKER_SETS, "w", body, world.namespace, kind=PatchType.MERGE)
    await one_of(world, made, 0, 0, 1)
    await world.bound("w-0-0", 1)
    await world.gang("rival", 2)
    await world.running("w-0-0", 1)
    assert world.observer.bound(world.namespace, "rival") == {}
    for worker in (1, 2):
        await one_of(world, made, 0, worker, 1)
    await world.bound("w-0", 3)
    assert world.observer.bound(world.namespace, "rival") == {}


async def test_capacity_of_min_resources_is_kept_while_the_first_member_starts(
    world: World,
) -> None:
    """Semantics §5.1: a PodGroup of the user's own, which comes with a timeout of its own."""
    await world.nodes(3, cpu=1, start=6.0)
    more = {"minResources": {"cpu": "3"}, "scheduleTimeoutSeconds": 2}
    await world.group("first", 1, **more)
    await world.pod("first-0", "first")
    await world.bound("first", 1)
    await world.gang("rival", 2)
    await world.running("first", 1)
    assert world.observer.bound(world.namespace, "rival") == {}
    for index in (1, 2):
        await world.pod(f"first-{index}", "first")
    await world.bound("first", 3)
    assert world.observer.bound(world.namespace, "rival") == {}


async def task_pods(world: World, task: str, count: int) -> None:
    """Pods of a task of Volcano."""
    for index in range(count):
        await world.pod(
            f"v-{task}-{index}",
            labels={"volcano.sh/task-spec": task},
            annotations={"scheduling.k8s.io/group-name": "v"},
        )


async def test_a_task_that_a_running_group_of_volcano_gains_is_placed_whole_beside_it(
    world: World,
) -> None:
    """Semantics §2.5."""
    nodes = await world.nodes(4, cpu=1)
    await serve_resource(world, volcano.RESOURCE)
    body = {
        "apiVersion": volcano.RESOURCE.api_version,
        "kind": volcano.RESOURCE.kind,
        "metadata": {"name": "v"},
        "spec": {"minMember": 2, "minTaskMember": {"a": 2}},
    }
    await world.client.create(volcano.RESOURCE, body, world.namespace)
    await task_pods(world, "a", 2)
    await world.running("v-a", 2)
    free = sorted(set(nodes) - set(world.observer.bound(world.namespace).values()))
    await occupied(world, free[:1])
    await patch(world, volcano.RESOURCE, "v", {"minMember": 4, "minTaskMember": {"a": 2, "b": 2}})
    await task_pods(world, "b", 2)
    await world.quiet()
    assert world.observer.bound(world.namespace, "v-b") == {}
    await world.remove_pod(f"other-{free[0]}")
    await world.bound("v-b", 2)


async def test_of_two_groups_that_were_made_anew_in_part_one_yields_to_the_other(
    world: World,
) -> None:
    """Semantics §1, §4.4."""
    await switch(world, "LeaderWorkerSet")
    nodes = await world.nodes(6, cpu=1)
    made = await leader_worker_set(world, 2)
    for group in (0, 1):
        for worker in range(3):
            await one_of(world, made, group, worker, 1)
    await world.running("w", 6)
    for group in (0, 1):
        name = group_name("LeaderWorkerSet", "w", part=str(group))
        await says(world, name, "Ready", "True", reason="Running")
    for group in (0, 1):
        await world.remove_pod(f"w-{group}-0-1")
        await one_of(world, made, group, 0, 2)
    await world.running("w", 6)
    workers = {
        name: node
        for name, node in world.observer.bound(world.namespace, "w").items()
        if name.endswith("-1")
    }
    for node in sorted(workers.values())[:3]:
        await world.cordon(node, cordoned=True)
    assert len(nodes) == 6
    for name in workers:
        await world.remove_pod(name)
    for group in (0, 1):
        for worker in (1, 2):
            await one_of(world, made, group, worker, 2)

    def whole() -> bool:
        placed = world.observer.bound(world.namespace, "w")
        return sorted(sum(n.startswith(f"w-{g}-") for n in placed) for g in (0, 1)) == [0, 3]

    await world.until(whole, "one group is whole, and the other holds nothing")


async def test_four_hundred_members_with_a_node_each_are_placed(world: World) -> None:
    """Semantics §9.8: as topology-aware admission writes it, each names its node."""
    nodes = await world.nodes(400, cpu=1)
    await world.group("pinned", 400)
    for index, node in enumerate(nodes):
        body = manifests.pod(
            f"pinned-{index}", "pinned", node_selector={"kubernetes.io/hostname": node}
        )
        await world.client.create(PODS, body, world.namespace)
    await world.bound("pinned", 400)
    placed = world.observer.bound(world.namespace, "pinned")
    assert all(placed[f"pinned-{index}"] == node for index, node in enumerate(nodes))
