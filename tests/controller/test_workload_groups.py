# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups that the controller makes for workloads, on an API server."""

from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists, NotFound
from enbloc.client.paths import CRDS, EVENTS, JOBS, NAMESPACES, POD_GROUPS, PODS, Resource
from enbloc.controller.sources import WORKLOADS
from enbloc.controller.sources.jobset import RESOURCE as JOB_SETS
from enbloc.controller.sources.leaderworkerset import RESOURCE as LEADER_WORKER_SETS
from enbloc.controller.sources.spark import RESOURCE as SPARK_APPLICATIONS
from enbloc.model import names
from enbloc.wire.auto_groups import group_name
from tests.controller.conftest import World, condition, controller, eventually
from tests.foreign_crds import crd

TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "none"}]}}
JOB_TEMPLATE = {"spec": {"parallelism": 2, "completions": 2, "template": TEMPLATE}}


async def serve(world: World, resource: Resource) -> None:
    """Have the server serve a kind."""
    with suppress(AlreadyExists):
        await world.client.create(CRDS, crd(resource))
    await eventually(lambda: world.client.serves(resource))


async def switch(world: World, value: str | None) -> None:
    """What the namespace says of groups for workloads."""
    body = {"metadata": {"labels": {names.AUTO_GROUP_KEY: value}}}
    await world.client.patch(NAMESPACES, world.namespace, body, kind=PatchType.MERGE)


def reference(of: dict[str, Any]) -> dict[str, Any]:
    """The reference to a controller."""
    named = {"name": of["metadata"]["name"], "uid": of["metadata"]["uid"]}
    return {"apiVersion": of["apiVersion"], "kind": of["kind"], "controller": True, **named}


async def pod(
    world: World,
    name: str,
    owner: dict[str, Any],
    labels: dict[str, str],
    scheduler: str = names.SCHEDULER_NAME,
) -> None:
    await world.create(
        PODS,
        metadata={"name": name, "labels": labels, "ownerReferences": [reference(owner)]},
        spec={
            "schedulerName": scheduler,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "none"}],
        },
    )


async def made(world: World, name: str) -> dict[str, Any] | None:
    """A PodGroup; None = there is none."""
    try:
        return await world.get(POD_GROUPS, name)
    except NotFound:
        return None


async def one_member(world: World, name: str) -> None:
    """Wait until a PodGroup is made, and counts one."""

    async def counted() -> bool:
        status = (await made(world, name) or {}).get("status") or {}
        return bool(status.get("members") == 1)

    await eventually(counted)


async def job(world: World, name: str = "train") -> dict[str, Any]:
    template = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
    spec = {"parallelism": 4, "completions": 4, "completionMode": "Indexed", "template": template}
    return await world.create(JOBS, metadata={"name": name}, spec=spec)


async def told(world: World, workload: dict[str, Any], problem: str) -> bool:
    """Whether an event on a workload says this."""
    events = [event async for event in world.client.list(EVENTS, world.namespace)]
    return any(
        event["regarding"]["uid"] == workload["metadata"]["uid"] and problem in event["note"]
        for event in events
    )


def group_of(job: dict[str, Any]) -> str:
    return group_name("Job", job["metadata"]["name"], job["metadata"]["uid"])


KINDS = [
    (
        "RayCluster",
        {"workerGroupSpecs": [{"groupName": "gpu", "replicas": 2}]},
        {"ray.io/cluster": "w", "ray.io/node-type": "head", "ray.io/group": "headgroup"},
        "",
        3,
    ),
    (
        "LeaderWorkerSet",
        {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": TEMPLATE}},
        {
            "leaderworkerset.sigs.k8s.io/name": "w",
            "leaderworkerset.sigs.k8s.io/group-index": "1",
            "leaderworkerset.sigs.k8s.io/worker-index": "0",
        },
        "1",
        4,
    ),
    (
        "SparkApplication",
        {"driver": {"cores": 1}, "executor": {"instances": 2}},
        {"sparkoperator.k8s.io/app-name": "w", "spark-role": "driver"},
        "",
        1,
    ),
    (
        "MPIJob",
        {"mpiReplicaSpecs": {"Launcher": {"replicas": 1}, "Worker": {"replicas": 2}}},
        {
            "training.kubeflow.org/job-name": "w",
            "training.kubeflow.org/operator-name": "mpi-operator",
            "training.kubeflow.org/job-role": "worker",
        },
        "",
        3,
    ),
    (
        "PyTorchJob",
        {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}},
        {
            "training.kubeflow.org/job-name": "w",
            "training.kubeflow.org/operator-name": "pytorchjob-controller",
            "training.kubeflow.org/replica-type": "worker",
        },
        "",
        4,
    ),
    (
        "JobSet",
        {"replicatedJobs": [{"name": "workers", "replicas": 2, "template": JOB_TEMPLATE}]},
        {
            "jobset.sigs.k8s.io/jobset-name": "w",
            "jobset.sigs.k8s.io/replicatedjob-name": "workers",
        },
        "",
        4,
    ),
]
#: Kinds whose pods show the UID of the workload.
BY_UID = ("RayCluster", "PyTorchJob")


@pytest.mark.parametrize(
    ("kind", "spec", "labels", "part", "minimum"), KINDS, ids=[each[0] for each in KINDS]
)
async def test_a_podgroup_is_made_once_a_pod_of_a_workload_exists_and_goes_with_the_workload(
    world: World, kind: str, spec: dict[str, Any], labels: dict[str, str], part: str, minimum: int
) -> None:
    [source] = [each for each in WORKLOADS if each.resources[0].kind == kind]
    resource = source.resources[0]
    await serve(world, resource)
    await switch(world, "true")
    async with controller(world):
        workload = await world.create(resource, metadata={"name": "w"}, spec=spec)
        uid = workload["metadata"]["uid"] if kind in BY_UID else ""
        name = group_name(kind, "w", uid, part)
        await pod(world, "p", workload, labels)
        found = await eventually(lambda: made(world, name))
        assert found["spec"]["minMember"] == minimum
        assert found["metadata"]["labels"] == {names.DERIVED_KEY: resource.label()}
        [owner] = found["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (workload["metadata"]["uid"], True)
        await one_member(world, name)

        await world.client.delete(resource, "w", world.namespace)

        async def gone() -> bool:
            return await made(world, name) is None

        await eventually(gone)


@pytest.mark.parametrize(
    ("kind", "waiting", "goes_on", "end"),
    [
        (
            "PyTorchJob",
            "WaitingForMembers",  # one of four
            {"conditions": [{"type": "Running", "status": "True"}]},
            {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimit"}]},
        ),
        (
            "SparkApplication",
            "Pending",  # its driver alone is needed
            {"applicationState": {"state": "PENDING_RERUN"}},
            {"applicationState": {"state": "FAILED"}},
        ),
    ],
)
async def test_a_podgroup_is_finished_once_its_workload_is(
    world: World, kind: str, waiting: str, goes_on: dict[str, Any], end: dict[str, Any]
) -> None:
    """Semantics §7.2."""
    [(_, spec, labels, _, _)] = [each for each in KINDS if each[0] == kind]
    [source] = [each for each in WORKLOADS if each.resources[0].kind == kind]
    resource = source.resources[0]
    await serve(world, resource)
    await switch(world, "true")

    async def says(status: dict[str, Any]) -> None:
        body = {"status": status}
        await world.client.patch(
            resource, "w", body, world.namespace, kind=PatchType.MERGE, subresource="status"
        )

    workload = await world.create(resource, metadata={"name": "w"}, spec=spec)
    name = group_name(kind, "w", workload["metadata"]["uid"] if kind in BY_UID else "")
    async with controller(world):
        await pod(world, "p", workload, labels)
        await one_member(world, name)
        await says(goes_on)
        await world.phase("p", "Succeeded")
        await world.until(waiting, name, members=0)
        await says(end)
        await world.until("Failed", name)

        await says(goes_on)
        await pod(world, "again", workload, labels)
        await world.until(waiting, name, members=1)
        await world.client.delete(PODS, "again", world.namespace)
        await world.client.delete(PODS, "p", world.namespace)
        await world.until("WaitingForMembers", name, members=0)
    await says(end)
    async with controller(world):  # which never saw a pod of it
        await world.until("Failed", name)


async def test_a_plain_job_is_a_gang_only_where_its_namespace_or_its_pods_say_so(
    world: World,
) -> None:
    await switch(world, "true")
    async with controller(world):
        plain, told = await job(world), await job(world, "told")
        await pod(world, "a", plain, {})
        await pod(world, "b", told, {names.AUTO_GROUP_KEY: "true"})
        assert (await eventually(lambda: made(world, group_of(told))))["spec"]["minMember"] == 4
        assert await made(world, group_of(plain)) is None
        await switch(world, "Job")
        assert await eventually(lambda: made(world, group_of(plain)))


async def test_a_podgroup_follows_the_scaling_of_its_workload(world: World) -> None:
    await switch(world, "all")
    async with controller(world):
        found = await job(world)
        await pod(world, "a", found, {})
        await eventually(lambda: made(world, group_of(found)))
        body = {"spec": {"parallelism": 6, "completions": 6}}
        await world.client.patch(JOBS, "train", body, world.namespace, kind=PatchType.MERGE)

        async def followed() -> bool:
            spec: dict[str, Any] = (await world.get(POD_GROUPS, group_of(found)))["spec"]
            return spec["minMember"] == 6

        await eventually(followed)


async def test_a_podgroup_has_the_topology_that_the_pod_template_of_its_workload_says(
    world: World,
) -> None:
    await switch(world, "all")
    said = {names.TOPOLOGY_REQUIRED_KEY: "rack", names.TOPOLOGY_KEY: "default"}
    template = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
    async with controller(world):
        near = {**template, "metadata": {"annotations": said}}
        good = await world.create(JOBS, metadata={"name": "good"}, spec={"template": near})
        await pod(world, "a", good, {})
        found = await eventually(lambda: made(world, group_of(good)))
        assert found["spec"]["topology"] == {"name": "default", "required": "rack"}

        wrong = {**template, "metadata": {"annotations": {names.TOPOLOGY_KEY: "default"}}}
        bad = await world.create(JOBS, metadata={"name": "bad"}, spec={"template": wrong})
        await pod(world, "b", bad, {})
        await eventually(partial(told, world, bad, "names a Topology, and no level of it"))
        assert await made(world, group_of(bad)) is None


async def test_no_podgroup_is_made_for_pods_of_another_scheduler(world: World) -> None:
    await switch(world, "all")
    async with controller(world):
        theirs, ours = await job(world, "theirs"), await job(world, "ours")
        await pod(world, "a", theirs, {}, "default-scheduler")
        await pod(world, "b", ours, {})
        await eventually(lambda: made(world, group_of(ours)))
        assert await made(world, group_of(theirs)) is None


async def test_a_later_part_of_a_jobset_has_its_podgroup_before_its_pods_and_ends_with_the_set(
    world: World,
) -> None:
    """Semantics §6.6, §7.2."""
    await serve(world, JOB_SETS)
    await switch(world, "true")
    jobs = [{"name": name, "replicas": 1, "template": JOB_TEMPLATE} for name in ("first", "then")]
    spec = {"replicatedJobs": jobs, "startupPolicy": {"startupPolicyOrder": "InOrder"}}
    whole, later = group_name("JobSet", "w"), group_name("JobSet", "w", part="then")

    def labels(part: str) -> dict[str, str]:
        return {
            "jobset.sigs.k8s.io/jobset-name": "w",
            "jobset.sigs.k8s.io/replicatedjob-name": part,
        }

    done = {"type": "Completed", "status": "True", "reason": "Done", "message": ""}
    body = {"status": {"conditions": [{**done, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
    async with controller(world):
        await world.create(JOB_SETS, metadata={"name": "w"}, spec=spec)
        await pod(world, "a", await job(world, "w-first-0"), labels("first"))
        for name in (whole, later):
            found = await eventually(partial(made, world, name))
            assert found["spec"]["minMember"] == 2
        await pod(world, "b", await job(world, "w-then-0"), labels("then"))
        await one_member(world, whole)
        await one_member(world, later)

        for name in ("a", "b"):
            await world.client.delete(PODS, name, world.namespace)
        for name in (whole, later):
            status = await world.until("WaitingForMembers", name, members=0)
            assert condition(status, "Finished") == {}, "the JobSet goes on"
        await world.client.patch(
            JOB_SETS, "w", body, world.namespace, kind=PatchType.MERGE, subresource="status"
        )
        for name in (whole, later):
            await world.until("Succeeded", name)


async def test_a_group_that_a_leaderworkerset_no_longer_has_loses_its_podgroup(
    world: World,
) -> None:
    await serve(world, LEADER_WORKER_SETS)
    await switch(world, "true")
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 1, "workerTemplate": TEMPLATE}}
    groups = [group_name("LeaderWorkerSet", "w", part=part) for part in ("0", "1")]
    async with controller(world):
        workload = await world.create(LEADER_WORKER_SETS, metadata={"name": "w"}, spec=spec)
        for index, name in enumerate(groups):
            labels = {
                "leaderworkerset.sigs.k8s.io/name": "w",
                "leaderworkerset.sigs.k8s.io/group-index": str(index),
                "leaderworkerset.sigs.k8s.io/worker-index": "0",
            }
            await pod(world, f"w-{index}", workload, labels)
            await eventually(partial(made, world, name))
        for replicas in (2**31 - 1, 1):  # too many at first
            await world.client.patch(
                LEADER_WORKER_SETS,
                "w",
                {"spec": {"replicas": replicas}},
                world.namespace,
                kind=PatchType.MERGE,
            )

        async def scaled() -> bool:
            return await made(world, groups[1]) is None

        await eventually(scaled)
        assert await made(world, groups[0])


@pytest.mark.parametrize(
    ("resource", "spec", "labels", "problem"),
    [
        (
            LEADER_WORKER_SETS,
            {"replicas": 2**31 - 1},
            {
                "leaderworkerset.sigs.k8s.io/name": "w",
                "leaderworkerset.sigs.k8s.io/group-index": "0",
            },
            "at most 1024 are supported",
        ),
        (
            SPARK_APPLICATIONS,
            {"executor": {"gpu": {"name": "two words", "quantity": 1}}},
            {"sparkoperator.k8s.io/app-name": "w", "spark-role": "driver"},
            "spec.minResources: a resource name must be",
        ),
    ],
    ids=lambda each: getattr(each, "kind", ""),
)
async def test_a_workload_for_which_no_podgroup_can_be_made_is_told_why(
    world: World, resource: Resource, spec: dict[str, Any], labels: dict[str, str], problem: str
) -> None:
    await serve(world, resource)
    await switch(world, "true")
    async with controller(world) as running:
        workload = await world.create(resource, metadata={"name": "w"}, spec=spec)
        await pod(world, "a", workload, labels)
        await eventually(partial(told, world, workload, problem))
        assert running.ready()


async def test_a_quota_that_a_tenant_has_used_up_is_told_on_the_workload_and_disturbs_nobody(
    world: World,
) -> None:
    if world.faults is not None:
        pytest.skip("the sandbox has no quotas")
    await world.forbid_podgroups()
    await switch(world, "all")
    async with controller(world) as running:
        workload = await job(world)
        await eventually(running.ready)
        await pod(world, "a", workload, {})
        await eventually(partial(told, world, workload, " quota"))
        assert running.ready()


async def test_a_users_podgroup_of_that_name_stays_as_it_is(world: World) -> None:
    await switch(world, "all")
    found = await job(world)
    await world.group(group_of(found), minMember=2)
    async with controller(world):
        await pod(world, "a", found, {})
        await one_member(world, group_of(found))
        spec = (await world.get(POD_GROUPS, group_of(found)))["spec"]
        assert spec["minMember"] == 2
