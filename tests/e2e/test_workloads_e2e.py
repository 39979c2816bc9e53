# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Workloads whose pods name no group become gangs, with the objects that their controllers make."""

import asyncio
import copy
import functools
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists, NotFound
from enbloc.client.paths import CRDS, JOBS, NAMESPACES, POD_GROUPS, PODS, STATEFUL_SETS, Resource
from enbloc.controller.sources import SOURCES, WORKLOADS
from enbloc.controller.sources.native import COMPOSITE, NATIVE
from enbloc.model.names import AUTO_GROUP_KEY
from enbloc.wire.auto_groups import group_name
from tests.e2e import manifests
from tests.e2e.requests import Requests
from tests.e2e.targets import ControlPlaneTarget
from tests.e2e.world import World
from tests.foreign_crds import crd

TEMPLATE: dict[str, Any] = {"spec": manifests.pod("")["spec"]}
JOB_TEMPLATE = {"spec": {"parallelism": 2, "completions": 2, "template": TEMPLATE}}
#: So long a kind may take to be served, and its informer to look for it (seconds).
SERVED = 90.0


async def switch(world: World, value: str) -> None:
    """What the namespace of the test says of groups for workloads."""
    body = {"metadata": {"labels": {AUTO_GROUP_KEY: value}}}
    await world.client.patch(NAMESPACES, world.namespace, body, kind=PatchType.MERGE)
    await world.quiet()  # both processes see it


async def has_group(world: World, name: str) -> bool:
    """Whether there is such a PodGroup."""
    try:
        await world.client.get(POD_GROUPS, name, world.namespace)
    except NotFound:
        return False
    return True


async def says(world: World, group: str, kind: str, status: str, **more: Any) -> None:
    """Wait for a PodGroup, and for a condition of it."""
    await world.eventually(
        lambda: has_group(world, group), lambda: f"PodGroup {group} is made", timeout=SERVED
    )
    await world.condition(group, kind, status, **more)


async def group_of_job(world: World, name: str) -> str:
    """The PodGroup that is made for a Job."""
    found = await world.client.get(JOBS, name, world.namespace)
    return group_name("Job", name, found["metadata"]["uid"])


async def serve(world: World, kind: str) -> Resource:
    """Have the API server serve a kind of another project, before the controller starts."""
    [source] = [each for each in WORKLOADS if each.resources[0].kind == kind]
    resource = source.resources[0]
    await serve_resource(world, resource)
    return resource


async def serve_resource(world: World, resource: Resource) -> None:
    """As `serve`, for a resource."""
    with suppress(AlreadyExists):
        await world.client.create(CRDS, crd(resource))
    served = f"{resource.kind} is served"
    await world.eventually(lambda: world.client.serves(resource), lambda: served)
    world.controller.kill()
    await world.start_controller()


async def a_younger_pod(world: World) -> None:
    """A pod that wants a CPU; of two that were created in the same second either may come first."""
    await asyncio.sleep(1.0)
    await world.pod("other", cpu=1)


@dataclass
class Workload:
    """A workload, and what its own controller makes of it.

    Attributes:
        spec: of the workload.
        pods: the labels of each pod, by name, in the order of creation.
        groups: the part and the minimum of each PodGroup.
        by: the kind of what controls the pods, where that is not the workload; "Job" is created.
    """

    kind: str
    spec: Mapping[str, Any]
    pods: Mapping[str, Mapping[str, str]]
    groups: Mapping[str, int]
    by: str = ""
    uid: bool = field(default=False)


def _training(role: str, index: int, operator: str) -> dict[str, str]:
    return {
        "training.kubeflow.org/job-name": "w",
        "training.kubeflow.org/operator-name": operator,
        "training.kubeflow.org/replica-type": role,
        "training.kubeflow.org/replica-index": str(index),
    }


def _jobset(part: str, index: int) -> dict[str, str]:
    keys = {"jobset-name": "w", "replicatedjob-name": part, "job-index": str(index)}
    keys |= {"jobset-uid": "11111111-2222-4333-8444-555555555555", "restart-attempt": "0"}
    return {f"jobset.sigs.k8s.io/{key}": value for key, value in keys.items()}


def _lws(group: int, worker: int) -> dict[str, str]:
    keys = {"name": "w", "group-index": str(group), "worker-index": str(worker)}
    return {f"leaderworkerset.sigs.k8s.io/{key}": value for key, value in keys.items()}


def _ray(group: str) -> dict[str, str]:
    node = "head" if group == "headgroup" else "worker"
    return {"ray.io/cluster": "w", "ray.io/node-type": node, "ray.io/group": group}


WHOLE = [
    Workload(
        "JobSet",
        {
            "replicatedJobs": [
                {"name": "driver", "replicas": 1, "template": JOB_TEMPLATE},
                {"name": "workers", "replicas": 1, "template": JOB_TEMPLATE},
            ]
        },
        {
            f"w-{part}-{index}": _jobset(part, index)
            for part in ("driver", "workers")
            for index in (0, 1)
        },
        {"": 4},
        by="Job",
    ),
    Workload(
        "LeaderWorkerSet",
        {"replicas": 1, "leaderWorkerTemplate": {"size": 3, "workerTemplate": TEMPLATE}},
        {f"w-0-{worker}": _lws(0, worker) for worker in range(3)},
        {"0": 3},
    ),
    Workload(
        "RayCluster",
        {
            "headGroupSpec": {"template": TEMPLATE},
            "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "template": TEMPLATE}],
        },
        {"w-head": _ray("headgroup"), "w-gpu-0": _ray("gpu"), "w-gpu-1": _ray("gpu")},
        {"": 3},
        uid=True,
    ),
    Workload(
        "MPIJob",
        {
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": TEMPLATE},
                "Worker": {"replicas": 2, "template": TEMPLATE},
            }
        },
        {
            "w-worker-0": _training("worker", 0, "mpi-operator"),
            "w-worker-1": _training("worker", 1, "mpi-operator"),
            "w-launcher": _training("launcher", 0, "mpi-operator"),
        },
        {"": 3},
    ),
    Workload(
        "PyTorchJob",
        {
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": TEMPLATE},
                "Worker": {"replicas": 2, "template": TEMPLATE},
            }
        },
        {
            "w-master-0": _training("master", 0, "pytorchjob-controller"),
            "w-worker-0": _training("worker", 0, "pytorchjob-controller"),
            "w-worker-1": _training("worker", 1, "pytorchjob-controller"),
        },
        {"": 3},
        uid=True,
    ),
]


async def create(world: World, resource: Resource, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Create a workload named w."""
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "w"}}
    made: dict[str, Any] = await world.client.create(
        resource, {**body, "spec": copy.deepcopy(dict(spec))}, world.namespace
    )
    return made


@pytest.mark.parametrize("of", WHOLE, ids=lambda of: of.kind)
async def test_the_pods_of_a_workload_start_together_and_its_podgroup_goes_with_it(
    world: World, of: Workload
) -> None:
    resource = await serve(world, of.kind)
    await switch(world, "true")
    await world.nodes(1, cpu=8)
    workload = await create(world, resource, of.spec)
    *others, last = of.pods.items()
    for name, labels in others:
        await world.pod(name, owner=workload, labels=labels)
    uid = workload["metadata"]["uid"] if of.uid else ""
    groups = [group_name(of.kind, "w", uid, part) for part in of.groups]
    for group in groups:
        await says(world, group, "Scheduled", "False", reason="WaitingForMembers")
    assert world.observer.bound(world.namespace) == {}
    await world.pod(last[0], owner=workload, labels=last[1])
    await world.bound("w", len(of.pods))
    for group in groups:
        await says(world, group, "Ready", "True", reason="Running")
    await world.client.delete(resource, "w", world.namespace)

    async def gone() -> bool:
        return not any([await has_group(world, group) for group in groups])

    await world.eventually(gone, lambda: "the PodGroups are gone", timeout=SERVED)


async def test_two_jobs_that_would_deadlock_run_one_after_the_other_without_a_podgroup_of_anybody(
    world: World,
) -> None:
    await switch(world, "Job")
    await world.nodes(2, cpu=4)
    await world.job("a", 6, "", run_seconds=2)
    await world.job("b", 6, "", run_seconds=2)
    first = await world.either_bound({"a": 6, "b": 6})
    second = "b" if first == "a" else "a"
    assert len(world.observer.bound(world.namespace, second)) in {0, 6}
    groups = {name: await group_of_job(world, name) for name in ("a", "b")}
    for group in groups.values():
        await says(world, group, "Finished", "True", reason="Succeeded", timeout=60)
    await world.event(groups[second], "GangScheduled")
    await world.delete_job("a")

    async def gone() -> bool:
        return not await has_group(world, groups["a"])

    await world.eventually(gone, lambda: "its PodGroup is gone", timeout=SERVED)
    await world.job("a", 6, "", run_seconds=0)
    again = await group_of_job(world, "a")
    assert again != groups["a"]
    await says(world, again, "Finished", "True", reason="Succeeded", timeout=60)


async def test_runs_that_overlap_are_a_gang_each(world: World) -> None:
    await switch(world, "all")
    await world.nodes(1, cpu=6)
    await world.job("nightly-1", 4, "")
    await world.bound("nightly-1", 4)
    await world.job("nightly-2", 4, "")
    later = await group_of_job(world, "nightly-2")
    await says(world, later, "Scheduled", "False", reason="Unschedulable")
    assert world.observer.bound(world.namespace, "nightly-2") == {}
    await world.delete_job("nightly-1")
    await world.bound("nightly-2", 4)


async def test_no_pod_of_a_workload_is_placed_before_its_podgroup_exists(world: World) -> None:
    await switch(world, "Job")
    await world.nodes(1, cpu=8)
    world.controller.kill()
    await world.job("train", 4, "")
    group = await group_of_job(world, "train")

    def told() -> bool:
        pods = world.observer.of(world.namespace, "train")
        return len(pods) == 4 and all(pod.waits_for == "PodGroupNotFound" for pod in pods)

    await world.until(told, "all pods wait for their PodGroup")
    assert world.observer.bound(world.namespace) == {}
    await world.start_controller()
    await world.bound("train", 4)
    await says(world, group, "Ready", "True", reason="Running")


async def test_a_jobs_pods_are_placed_one_by_one_where_nothing_says_otherwise(world: World) -> None:
    await switch(world, "true")
    await world.nodes(1, cpu=2)
    await world.job("plain", 4, "")
    await world.bound("plain", 2)
    assert not await has_group(world, await group_of_job(world, "plain"))


async def test_a_namespace_that_is_switched_off_has_its_waiting_pods_placed_one_by_one(
    world: World,
) -> None:
    await switch(world, "Job")
    await world.nodes(1, cpu=2)
    await world.job("train", 4, "")
    await says(world, await group_of_job(world, "train"), "Scheduled", "False", reason="Infeasible")
    assert world.observer.bound(world.namespace) == {}
    await switch(world, "false")
    await world.bound("train", 2)


async def test_what_a_jobset_creates_later_is_a_gang_of_its_own_whose_capacity_was_kept(
    world: World,
) -> None:
    resource = await serve(world, "JobSet")
    await switch(world, "true")
    await world.nodes(1, cpu=4)
    jobs = [
        {"name": name, "replicas": 1, "template": JOB_TEMPLATE} for name in ("driver", "workers")
    ]
    order = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
    workload = await create(world, resource, {"replicatedJobs": jobs, **order})
    whole, later = group_name("JobSet", "w"), group_name("JobSet", "w", part="workers")
    for index in range(2):
        await world.pod(f"w-driver-{index}", owner=workload, labels=_jobset("driver", index))
    await world.bound("w-driver", 2)
    await world.eventually(lambda: has_group(world, later), lambda: "the later part has a PodGroup")
    await a_younger_pod(world)
    await world.pod("w-workers-0", owner=workload, labels=_jobset("workers", 0))
    await says(world, later, "Scheduled", "False", reason="WaitingForMembers")
    assert world.observer.bound(world.namespace, "w-workers") == {}
    assert world.observer.bound(world.namespace, "other") == {}, "the capacity is reserved"
    await world.pod("w-workers-1", owner=workload, labels=_jobset("workers", 1))
    await world.bound("w-workers", 2)
    await says(world, whole, "Ready", "True", reason="Running")
    await says(world, later, "Ready", "True", reason="Running")


async def test_each_replica_of_a_leaderworkerset_starts_whole_and_scales_by_whole_groups(
    world: World,
) -> None:
    resource = await serve(world, "LeaderWorkerSet")
    await switch(world, "true")
    await world.nodes(1, cpu=3)
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": TEMPLATE}}
    workload = await create(world, resource, spec)
    for worker in range(2):
        await world.pod(f"w-0-{worker}", owner=workload, labels=_lws(0, worker))
    await world.bound("w-0", 2)
    for worker in range(2):
        await world.pod(f"w-1-{worker}", owner=workload, labels=_lws(1, worker))
    second = group_name("LeaderWorkerSet", "w", part="1")
    await says(world, second, "Scheduled", "False", reason="Unschedulable")
    assert world.observer.bound(world.namespace, "w-1") == {}
    await world.client.patch(
        resource, "w", {"spec": {"replicas": 1}}, world.namespace, kind=PatchType.MERGE
    )
    for worker in range(2):
        await world.delete_pod(f"w-1-{worker}")

    async def gone() -> bool:
        return not await has_group(world, second)

    await world.eventually(
        gone, lambda: "the PodGroup of the second replica is gone", timeout=SERVED
    )


async def test_a_spark_driver_starts_only_where_its_executors_fit_and_they_get_that_room(
    world: World,
) -> None:
    resource = await serve(world, "SparkApplication")
    await switch(world, "true")
    await world.nodes(1, cpu=3)
    amounts = {"cores": 1, "memory": "1m"}
    spec = {"type": "Scala", "driver": amounts, "executor": {**amounts, "instances": 2}}
    application = await create(world, resource, spec)
    labels = {"sparkoperator.k8s.io/app-name": "w", "spark-app-selector": "spark-1"}
    await world.pod("w-driver", owner=application, labels={**labels, "spark-role": "driver"})
    await world.bound("w-driver", 1)
    await a_younger_pod(world)
    await world.quiet()
    assert world.observer.bound(world.namespace, "other") == {}
    driver = await world.client.get(PODS, "w-driver", world.namespace)
    driver |= {"apiVersion": "v1", "kind": "Pod"}
    for index in range(2):
        name = f"w-exec-{index}"
        await world.pod(name, owner=driver, labels={**labels, "spark-role": "executor"})
    await world.bound("w-exec", 2)


async def test_a_stateful_set_starts_together_where_its_pods_need_not_wait_for_each_other(
    world: World,
) -> None:
    await switch(world, "StatefulSet")
    await world.nodes(1, cpu=3)
    labels = {"app": "w"}
    body = manifests.parallel_set("w", 3, labels)
    made = await world.client.create(STATEFUL_SETS, body, world.namespace)
    if not world.target.complete:  # the sandbox has no controller of these
        for index in range(3):
            await world.pod(f"w-{index}", owner=made, labels=labels)
    await world.bound("w", 3)
    name = group_name("StatefulSet", "w", made["metadata"]["uid"])
    await says(world, name, "Ready", "True", reason="Running")
    await world.client.delete(STATEFUL_SETS, "w", world.namespace)


@pytest.mark.controlplane
@pytest.mark.parametrize("target", ["controlplane"], indirect=True)
async def test_every_kind_that_groups_are_made_for_is_read_where_it_is_served(
    world: World,
) -> None:
    target = world.target
    assert isinstance(target, ControlPlaneTarget)
    # Kubernetes' own are served by gates, and never defined.
    kinds = [each.resources[0] for each in SOURCES if each not in (NATIVE, COMPOSITE)]
    made = []
    for kind in kinds:
        if not any([await world.client.serves(each) for each in versions(kind)]):
            with suppress(AlreadyExists):
                made.append(await world.client.create(CRDS, crd(kind)))
    names = {one["metadata"]["name"] for one in made}
    for kind in (each for each in kinds if each.label() in names):
        await world.eventually(
            functools.partial(world.client.serves, kind), lambda: "the kinds are served"
        )
    world.controller.kill()
    await world.start_controller()
    wanted = {(verb, kind.plural, kind.group) for verb in ("list", "watch") for kind in kinds}

    async def read() -> bool:
        asked = {request[1:] for request in Requests.of(target).made}
        return {each for each in wanted if f"{each[1]}.{each[2]}" in names} <= asked

    await world.eventually(read, lambda: "the controller reads them all", timeout=SERVED)
    for name in names:
        await world.client.delete(CRDS, name)


def versions(kind: Resource) -> tuple[Resource, ...]:
    """All that a source of this kind reads."""
    [found] = [each.resources for each in SOURCES if each.resources[0] == kind]
    return found
