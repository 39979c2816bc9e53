# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The life of each job that other projects' controllers were recorded to create."""

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import NAMESPACES, POD_GROUPS
from enbloc.model.names import AUTO_GROUP_KEY
from tests import recorded
from tests.e2e import incidents
from tests.e2e.recorded_jobs import SERVED, Recorded, install, start
from tests.e2e.world import World

CONTROLPLANE = pytest.mark.controlplane
#: On the sandbox, one of each dialect, of a declared group and of a workload suffices.
SOME = ("kuberay-scheduler-plugins", "kuberay-volcano", "koordinator", "kuberay", "kai", "godel")
#: Jobs without a PodGroup all of whose pods start together.
WHOLE = ("koordinator", "kuberay", "training-operator")


@pytest.mark.parametrize(
    ("target", "name"),
    [
        *(pytest.param("controlplane", name, marks=CONTROLPLANE) for name in recorded.FILES),
        *(("sandbox", name) for name in SOME),
    ],
    indirect=["target"],
)
async def test_a_job_starts_whole_grows_shrinks_ends_and_is_deleted(
    world: World, name: str
) -> None:
    await install(world, [name])
    await start(world, *SERVED)
    labels = {"metadata": {"labels": {AUTO_GROUP_KEY: "true"}}}
    await world.client.patch(NAMESPACES, world.namespace, labels, kind=PatchType.MERGE)
    count = len(recorded.of_kind(name, "Pod"))
    await world.nodes(1, cpu=count + 1)
    job = Recorded(world, name)

    await job.submit()
    await job.pods(last=len(job.steps) - 1)
    if job.reports and job.minimum > 1 and name != "lws-volcano":
        await job.told(phase=job.waiting())
    if name in WHOLE or (len(job.pod_groups) == 1 and job.minimum > 1):
        await world.quiet()
        assert world.observer.bound(world.namespace) == {}
    await job.pods(first=len(job.steps) - 1)
    await world.bound("train", count)
    members = job.members()
    assert sum(len(each) for each in members.values()) == count
    assert job.made_groups() <= members.keys() or not job.pod_groups
    for group in members:
        await world.condition(group, "Ready", "True", reason="Running")

    if len(members) == 1:
        await grows_and_shrinks(world, job, count)
    if job.reports:
        await job.told(phase="Running")

    for pods in members.values():
        for each in pods:
            await incidents.ends(world, each, "Succeeded")
    for group, pods in members.items():
        await succeeded(world, group, len(pods))
    if job.reports:
        await job.told(phase=job.over())
    await job.delete()


async def grows_and_shrinks(world: World, job: Recorded, count: int) -> None:
    """One more pod comes, and goes."""
    if all(each["kind"] == "Job" for each in job.steps):
        return  # another controller's pods
    more = await job.another()
    gang = job.pod_groups and job.minimum > 1
    if gang:
        await minimum(world, job, count + 1)
    await world.bound("train", count + 1)
    if gang:
        await minimum(world, job, count)
    await world.remove_pod(more)


async def succeeded(world: World, group: str, count: int) -> None:
    """Wait until a PodGroup of ours says that so many of its members have succeeded."""

    async def told() -> bool:
        found = await world.client.get(POD_GROUPS, group, world.namespace)
        return bool(found["status"].get("succeeded") == count)

    await world.eventually(told, lambda: f"{count} members of {group} have succeeded")


async def minimum(world: World, job: Recorded, count: int) -> None:
    """Change that of the job's PodGroup, as its controller does, and see it followed."""
    spec = {"spec": {"minMember": count}}
    await world.client.patch(job.resource, job.group, spec, world.namespace, kind=PatchType.MERGE)

    async def followed() -> bool:
        found = await world.client.get(POD_GROUPS, job.group, world.namespace)
        return bool(found["spec"]["minMember"] == count)

    await world.eventually(followed, lambda: f"{job.group} needs {count}")
