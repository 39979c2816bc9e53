# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of workloads that are scaled, suspended and reshaped, on an API server."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import JOBS, POD_GROUPS, PODS, STATEFUL_SETS, Resource
from enbloc.controller.sources.leaderworkerset import RESOURCE as LEADER_WORKER_SETS
from enbloc.controller.sources.ray import RESOURCE as RAY_CLUSTERS
from enbloc.controller.sources.volcano import RESOURCE as VOLCANO
from enbloc.model import names
from enbloc.wire.auto_groups import group_name
from tests.controller.conftest import World, controller, eventually
from tests.controller.test_workload_groups import (
    TEMPLATE,
    group_of,
    job,
    one_member,
    pod,
    serve,
    switch,
    told,
)


async def change(world: World, kind: Resource, name: str, body: Mapping[str, Any]) -> None:
    """Merge this into an object."""
    await world.client.patch(kind, name, body, world.namespace, kind=PatchType.MERGE)


async def spec_is(world: World, name: str, **wanted: object) -> bool:
    """Whether a PodGroup says this."""
    spec = (await world.get(POD_GROUPS, name))["spec"]
    return all(spec.get(key) == value for key, value in wanted.items())


def roles(**minimums: int) -> list[dict[str, Any]]:
    """Roles as a PodGroup has them."""
    return [{"name": name, "minMember": minimum} for name, minimum in minimums.items()]


async def stateful_set(
    world: World,
    name: str,
    replicas: int,
    *,
    ordered: bool = False,
    requests: Mapping[str, str] | None = None,
) -> str:
    """A set with a member; the name of its PodGroup, once that is made."""
    [main] = TEMPLATE["spec"]["containers"]
    container = {**main, "resources": {"requests": dict(requests or {})}}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container]},
    }
    found = await world.create(
        STATEFUL_SETS,
        metadata={"name": name},
        spec={
            "replicas": replicas,
            "serviceName": name,
            "podManagementPolicy": "OrderedReady" if ordered else "Parallel",
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    )
    group = group_name("StatefulSet", name, found["metadata"]["uid"])
    await pod(world, f"{name}-0", found, {"app": name})
    await one_member(world, group)
    return group


async def scale(world: World, name: str, replicas: int) -> None:
    await change(world, STATEFUL_SETS, name, {"spec": {"replicas": replicas}})


async def test_a_set_that_is_scaled_to_zero_leaves_the_minimum_as_it_was(world: World) -> None:
    """Semantics §2.5: its next pods may be there before their minimum is."""
    await switch(world, "all")
    async with controller(world):
        group, other = [await stateful_set(world, name, 4) for name in ("st", "other")]
        await scale(world, "st", 0)
        for replicas in (3, 5):  # what came before was followed by then
            await scale(world, "other", replicas)
            await eventually(partial(spec_is, world, other, minMember=replicas))
        assert await spec_is(world, group, minMember=4)
        await scale(world, "st", 6)
        await eventually(partial(spec_is, world, group, minMember=6))


TIMEOUT = names.SCHEDULE_TIMEOUT_KEY


async def test_an_annotation_gives_a_derived_group_its_timeout(world: World) -> None:
    await switch(world, "all")
    found = await job(world)
    await change(world, JOBS, "train", {"metadata": {"annotations": {TIMEOUT: "600"}}})
    async with controller(world):
        await pod(world, "a", found, {})
        await one_member(world, group_of(found))
        assert await spec_is(world, group_of(found), scheduleTimeoutSeconds=600)
        await change(world, JOBS, "train", {"metadata": {"annotations": {TIMEOUT: "10m"}}})
        problem = f'annotation {TIMEOUT} is ignored: "10m" is no number of seconds'
        await eventually(partial(told, world, found, problem))


async def test_what_is_reserved_no_longer_leaves_the_podgroup(world: World) -> None:
    """A merge patch takes nothing out of a map unless it is told to."""
    await switch(world, "all")
    async with controller(world):
        group = await stateful_set(
            world, "st", 3, ordered=True, requests={"cpu": "1", "memory": "1Gi"}
        )
        assert await spec_is(world, group, minResources={"cpu": "3", "memory": "3Gi"})
        container = {**TEMPLATE["spec"]["containers"][0], "resources": {"requests": {"cpu": "2"}}}
        template = {"spec": {"containers": [container]}}
        await change(world, STATEFUL_SETS, "st", {"spec": {"template": template}})
        await eventually(partial(spec_is, world, group, minResources={"cpu": "6"}))


async def test_a_timeout_that_is_no_number_is_told_of_workloads_with_several_podgroups_too(
    world: World,
) -> None:
    await serve(world, LEADER_WORKER_SETS)
    await switch(world, "all")
    template = {"size": 2, "workerTemplate": TEMPLATE}
    found = await world.create(
        LEADER_WORKER_SETS,
        metadata={"name": "w", "annotations": {TIMEOUT: "10m"}},
        spec={"replicas": 2, "leaderWorkerTemplate": template},
    )
    keys = {"name": "w", "group-index": "0", "worker-index": "0"}
    async with controller(world):
        labels = {f"leaderworkerset.sigs.k8s.io/{key}": value for key, value in keys.items()}
        await pod(world, "a", found, labels)
        await eventually(partial(told, world, found, f"annotation {TIMEOUT} is ignored"))


async def test_a_cluster_may_gain_and_lose_workers_while_it_runs(world: World) -> None:
    """Semantics §2.5: our own CRD lets the controller follow."""
    await serve(world, RAY_CLUSTERS)
    await switch(world, "all")
    gpu, cpu = {"groupName": "gpu", "replicas": 1}, {"groupName": "cpu", "replicas": 2}
    found = await world.create(
        RAY_CLUSTERS, metadata={"name": "ray"}, spec={"workerGroupSpecs": [gpu]}
    )
    name = group_name("RayCluster", "ray", found["metadata"]["uid"])
    labels = {"ray.io/cluster": "ray", "ray.io/node-type": "head", "ray.io/group": "headgroup"}
    async with controller(world):
        await pod(world, "head", found, labels)
        await one_member(world, name)
        await world.scheduler_says("True", "Scheduled", name)
        await change(world, RAY_CLUSTERS, "ray", {"spec": {"workerGroupSpecs": [gpu, cpu]}})
        more = roles(headgroup=1, gpu=1, cpu=2)
        await eventually(partial(spec_is, world, name, minMember=4, roles=more))
        await world.scheduler_says("True", "Scheduled", name)
        await change(world, RAY_CLUSTERS, "ray", {"spec": {"workerGroupSpecs": [cpu]}})
        await eventually(partial(spec_is, world, name, roles=roles(headgroup=1, cpu=2)))


@pytest.mark.parametrize("first", [None, "low"])
async def test_a_class_that_cannot_change_keeps_nothing_else_from_changing_and_is_told(
    world: World, first: str | None
) -> None:
    await serve(world, VOLCANO)
    spec: dict[str, Any] = {"minMember": 2} | ({"priorityClassName": first} if first else {})
    found = await world.create(VOLCANO, metadata={"name": "v"}, spec=spec)
    async with controller(world):
        await world.create(
            PODS,
            metadata={"name": "a", "annotations": {"scheduling.k8s.io/group-name": "v"}},
            spec={
                "schedulerName": names.SCHEDULER_NAME,
                "automountServiceAccountToken": False,
                **TEMPLATE["spec"],
            },
        )
        await one_member(world, "v")
        await world.scheduler_says("True", "Scheduled", "v")
        await change(world, VOLCANO, "v", {"spec": {"minMember": 3, "priorityClassName": "high"}})
        await eventually(partial(spec_is, world, "v", minMember=3, priorityClassName=first))
        await eventually(partial(told, world, found, "keeps its priorityClassName"))
