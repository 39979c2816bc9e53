# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Groups of every dialect that run again, are deleted in the middle, or are named wrongly."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import NAMESPACES, POD_GROUPS, Resource
from enbloc.controller.sources import coscheduling, godel, kai, volcano
from enbloc.model.names import AUTO_GROUP_KEY, Condition, EventReason, Reason
from tests.e2e import incidents, manifests
from tests.e2e.fault_proxy import Fault, is_binding
from tests.e2e.recorded_jobs import PLUGINS, SERVED, Recorded, install, start
from tests.e2e.world import World

SIZE = 3
CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob")
TASK_GROUPS = '[{"name": "worker", "minMember": 3, "minResource": {"cpu": "1"}}]'


@dataclass(frozen=True)
class Dialect:
    """How users of a project say that pods are the gang `train`, without any job's controller.

    Attributes:
        scheduler: the schedulerName of the pods.
        labels: of each pod.
        annotations: of each pod.
        group: the kind of PodGroup that they create; None = none.
    """

    scheduler: str
    labels: dict[str, str] = field(default_factory=dict[str, str])
    annotations: dict[str, str] = field(default_factory=dict[str, str])
    group: Resource | None = None

    async def declare(self, world: World, namespace: str = "") -> None:
        """Create the PodGroup, if there is one to be created."""
        if self.group is None:
            return
        body = {
            "apiVersion": self.group.api_version,
            "kind": self.group.kind,
            "metadata": {"name": "train"},
            "spec": {"minMember": SIZE},
        }
        await world.client.create(self.group, body, namespace or world.namespace)

    def how(self, **more: Any) -> dict[str, Any]:
        """What a pod or a Job is created with."""
        keys = {"labels": self.labels, "annotations": self.annotations}
        return {"scheduler": self.scheduler, **keys, **more}


DIALECTS = {
    "scheduler-plugins": Dialect(
        PLUGINS, {"scheduling.x-k8s.io/pod-group": "train"}, group=coscheduling.RESOURCE
    ),
    "Volcano": Dialect(
        "volcano",
        annotations={"scheduling.k8s.io/group-name": "train"},
        group=volcano.RESOURCE,
    ),
    "KAI": Dialect("kai-scheduler", annotations={"pod-group-name": "train"}, group=kai.RESOURCE),
    "Gödel": Dialect(
        "godel-scheduler",
        {"godel.bytedance.com/pod-group-name": "train"},
        {"godel.bytedance.com/pod-group-name": "train"},
        godel.RESOURCE,
    ),
    "Koordinator": Dialect(
        "koord-scheduler",
        annotations={
            "gang.scheduling.koordinator.sh/name": "train",
            "gang.scheduling.koordinator.sh/min-available": str(SIZE),
        },
    ),
    "YuniKorn": Dialect(
        "yunikorn",
        {"applicationId": "train", "queue": "root.default"},
        {
            "yunikorn.apache.org/task-group-name": "worker",
            "yunikorn.apache.org/task-groups": TASK_GROUPS,
        },
    ),
}
#: Those whose users create PodGroups.
WITH_GROUPS = [name for name, dialect in DIALECTS.items() if dialect.group is not None]


@pytest.fixture
async def served(world: World) -> World:
    """A world with the kinds of all projects, whose scheduler serves their names."""
    await install(world, ["kai", "godel"])
    await start(world, *SERVED)
    return world


@pytest.mark.parametrize("name", DIALECTS)
async def test_a_run_that_overlaps_the_one_before_starts_whole_once_there_is_room(
    served: World, name: str
) -> None:
    """semantics §2.4."""
    dialect = DIALECTS[name]
    await served.nodes(1, cpu=SIZE + 2)
    await dialect.declare(served)
    await served.job("train-1", SIZE, "", **dialect.how())
    await served.bound("train-1", SIZE)
    await served.condition("train", Condition.READY, "True", reason=Reason.RUNNING)
    await served.job("train-2", SIZE, "", **dialect.how())
    await served.condition(
        "train", Condition.SCHEDULED, "False", reason=Reason.UNSCHEDULABLE, message="earlier runs"
    )
    await served.quiet()
    assert served.observer.bound(served.namespace, "train-2") == {}
    await served.delete_job("train-1")
    await served.bound("train-2", SIZE)
    await served.condition("train", Condition.READY, "True", reason=Reason.RUNNING)


@pytest.mark.parametrize("name", WITH_GROUPS)
async def test_a_group_that_is_deleted_while_it_is_being_bound_is_bound_whole(
    served: World, name: str
) -> None:
    """semantics §3.5."""
    dialect = DIALECTS[name]
    assert dialect.group is not None
    profiles = served.path / "profiles.yaml"
    proxy = await incidents.fault_proxy(served, f"--config={profiles}")
    proxy.policy = lambda method, path: (
        Fault(sends=0, drop=True) if is_binding(method, path) and "train-2" in path else Fault()
    )
    await served.nodes(1, cpu=SIZE)
    await dialect.declare(served)
    for index in range(SIZE):
        await served.pod(f"train-{index}", **dialect.how())
    await served.bound("train", SIZE - 1)
    await served.client.delete(dialect.group, "train", served.namespace)
    await served.quiet()
    proxy.policy = lambda *_: Fault()
    await served.bound("train", SIZE)


@pytest.mark.parametrize("name", WITH_GROUPS)
async def test_pods_that_name_a_group_of_another_namespace_are_told_where_it_is(
    served: World, name: str
) -> None:
    dialect = DIALECTS[name]
    elsewhere = f"{served.namespace}-elsewhere"
    await served.client.create(NAMESPACES, manifests.namespace(elsewhere))
    await served.nodes(1, cpu=SIZE)
    await dialect.declare(served, elsewhere)
    await served.pod("train-0", **dialect.how())
    await served.event("train-0", "PodGroupNotFound", note=f"{served.namespace}/train not found")
    assert served.observer.bound(served.namespace) == {}
    await served.client.delete(NAMESPACES, elsewhere)


async def test_annotation_and_label_that_disagree_are_named_and_the_annotation_counts(
    served: World,
) -> None:
    dialect = DIALECTS["Gödel"]
    await served.nodes(1, cpu=SIZE)
    await dialect.declare(served)
    labels = {"godel.bytedance.com/pod-group-name": "other"}
    how = dialect.how(labels=labels)
    for index in range(SIZE):
        await served.pod(f"train-{index}", **how)
    await served.bound("train", SIZE)
    await served.event(
        "train-0", EventReason.POD_GROUP_AMBIGUOUS, note="the label of the same key other"
    )


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("[{", "annotation yunikorn.apache.org/task-groups: "),
        ('[{"name": "worker", "minMember": -1}]', "[0].minMember: -1 is not between 0 and"),
        (
            '[{"name": "worker", "minMember": 3, "minResource": {"cpu": "1x"}}]',
            "[0].minResource",
        ),
    ],
)
async def test_task_groups_that_cannot_be_read_are_named_on_the_pod(
    served: World, said: str, note: str
) -> None:
    dialect = DIALECTS["YuniKorn"]
    await served.nodes(1, cpu=SIZE)
    how = dialect.how()
    how["annotations"] = how["annotations"] | {"yunikorn.apache.org/task-groups": said}
    await served.pod("train-0", **how)
    await served.event("train-0", "InvalidSpec", note=note)
    assert served.observer.bound(served.namespace) == {}


@pytest.mark.controlplane
@pytest.mark.parametrize("target", ["controlplane"], indirect=True)
@pytest.mark.parametrize("group", ["", "train"])
async def test_runs_of_a_cron_job_that_overlap_are_a_gang_each(world: World, group: str) -> None:
    """With a PodGroup for each Job, and with one that the schedule's template names."""
    switch = {"metadata": {"labels": {AUTO_GROUP_KEY: "Job"}}}
    await world.client.patch(NAMESPACES, world.namespace, switch, kind=PatchType.MERGE)
    await world.nodes(1, cpu=SIZE + 2)
    if group:
        await world.client.create(POD_GROUPS, manifests.group(group, SIZE), world.namespace)
    template = {"spec": manifests.job("", SIZE, group)["spec"]}
    spec = {"schedule": "0 0 1 1 *", "concurrencyPolicy": "Allow", "jobTemplate": template}
    body = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}}
    await world.client.create(CRON_JOBS, {**body, "spec": spec}, world.namespace)
    for run in ("monday", "tuesday"):
        await world.kubectl("create", "job", run, "--from=cronjob/nightly")
        if run == "monday":
            await world.bound("monday", SIZE)
    await world.until(
        lambda: len(world.observer.of(world.namespace, "tuesday")) == SIZE, "the run has its pods"
    )
    await world.quiet()
    assert world.observer.bound(world.namespace, "tuesday") == {}
    await world.delete_job("monday")
    await world.bound("tuesday", SIZE)
    await world.client.delete(CRON_JOBS, "nightly", world.namespace)


async def test_a_jobset_that_restarts_between_its_waves_starts_each_whole_again(
    world: World,
) -> None:
    name = "jobset-in-order"
    await install(world, [name])
    await start(world, *SERVED)
    switch = {"metadata": {"labels": {AUTO_GROUP_KEY: "true"}}}
    await world.client.patch(NAMESPACES, world.namespace, switch, kind=PatchType.MERGE)
    await world.nodes(1, cpu=4)
    job = Recorded(world, name)
    await job.submit()
    await job.pods(last=1)
    await world.bound("train-driver", 2)
    first = set(world.observer.bound(world.namespace))
    await world.delete_job("train-driver-0")
    job.restart()
    await job.pods(last=1)
    await world.bound("train-driver", 2)
    assert not first & set(world.observer.bound(world.namespace))
    await job.pods(first=1)
    await world.bound("train-workers", 2)
    for group in job.members():
        await world.condition(group, Condition.READY, "True", reason=Reason.RUNNING)
