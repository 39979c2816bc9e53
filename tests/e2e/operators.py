# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the controllers of other projects create for a job of four pods, and when.

Names, keys, owners and fields are those of: Kubeflow Trainer v2.1 pkg/runtime/framework/plugins/
coscheduling; KubeRay v1.4 ray-operator/controllers/ray/batchscheduler; Kubeflow training-operator
v1.9 pkg/controller.v1; mpi-operator v0.6 pkg/controller/podgroup.go; spark-operator v2.3
internal/scheduler. Their own pod templates are cut down to what a scheduler reads.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from enbloc.controller.sources import coscheduling, volcano
from enbloc.kube.errors import AlreadyExists, NotFound
from enbloc.kube.paths import CRDS, PODS, Resource
from enbloc.model import names
from tests.e2e import manifests
from tests.e2e.observer import RUN_LABEL
from tests.e2e.world import PATIENCE, World

SIZE: Final = 4
PLUGINS: Final = "scheduler-plugins-scheduler"
#: The schedulerNames that a scheduler serves which takes the place of both projects' own.
SERVED: Final = (names.SCHEDULER_NAME, volcano.SCHEDULER_NAME, PLUGINS)

RAY_CLUSTERS = Resource("ray.io", "v1", "rayclusters", "RayCluster")
TRAIN_JOBS = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")
PYTORCH_JOBS = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
MPI_JOBS = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")
SPARK_APPLICATIONS = Resource(
    "sparkoperator.k8s.io", "v1beta2", "sparkapplications", "SparkApplication"
)


@dataclass(frozen=True)
class Operator:
    """One project's controller, as far as gangs go.

    Attributes:
        project: its name, for the test's.
        owner: the kind of its jobs.
        group: the kind of PodGroup that it creates.
        group_name: the PodGroup's name, for a job's.
        scheduler: the schedulerName of its pods.
        controls: whether the job is named as the controller of its PodGroup.
        fields: of the PodGroup's spec, beside the minimum.
        minimum: minMember; of Spark 1, whatever there is to run.
        labels: of each pod, by the job's name and the pod's number.
        annotations: the same.
        delays: it creates no pod before the phase is another than Pending.
    """

    project: str
    owner: Resource
    group: Resource
    group_name: str
    scheduler: str
    labels: Callable[[str, int], Mapping[str, str]]
    annotations: Callable[[str, int], Mapping[str, str]]
    controls: bool = True
    fields: Mapping[str, Any] | None = None
    minimum: int = SIZE
    delays: bool = False

    def named(self, job: str) -> str:
        """The name of a job's PodGroup."""
        return self.group_name.format(job)

    def pod_group(self, job: str, owner: Mapping[str, Any]) -> dict[str, Any]:
        """The PodGroup of a job."""
        reference = manifests.reference(owner)
        if not self.controls:
            del reference["controller"]
        body = {
            "apiVersion": self.group.api_version,
            "kind": self.group.kind,
            "metadata": {"name": self.named(job), "ownerReferences": [reference]},
            "spec": {
                "minMember": self.minimum,
                "minResources": {"cpu": str(SIZE), "memory": f"{16 * SIZE}Mi"},
                **(self.fields or {}),
            },
        }
        if self.group is volcano.RESOURCE:
            body["status"] = {"phase": "Pending"}
        return body

    def pod(self, job: str, index: int, owner: Mapping[str, Any], **how: Any) -> dict[str, Any]:
        """One pod of a job; the first is its head, master, launcher or driver."""
        return manifests.pod(
            f"{job}-{index}",
            scheduler=self.scheduler,
            owner=owner,
            labels={**self.labels(job, index), RUN_LABEL: self.named(job)},
            annotations=self.annotations(job, index),
            **how,
        )


def _nothing(job: str, index: int) -> Mapping[str, str]:
    del job, index
    return {}


def _task(first: str, others: str, group: str) -> Callable[[str, int], Mapping[str, str]]:
    def keys(job: str, index: int) -> Mapping[str, str]:
        return {
            "scheduling.k8s.io/group-name": group.format(job),
            "volcano.sh/task-spec": others if index else first,
        }

    return keys


def _labelled(job: str, index: int) -> Mapping[str, str]:
    del index
    return {"scheduling.x-k8s.io/pod-group": job}


TRAINER = Operator(
    project="Trainer",
    owner=TRAIN_JOBS,
    group=coscheduling.RESOURCE,
    group_name="{}",
    scheduler=names.SCHEDULER_NAME,  # of the runtime's template: Trainer sets none
    labels=_labelled,
    annotations=_nothing,
    fields={"scheduleTimeoutSeconds": 60},
)
KUBERAY_PLUGINS = Operator(
    project="KubeRay with scheduler-plugins",
    owner=RAY_CLUSTERS,
    group=coscheduling.RESOURCE,
    group_name="{}",
    scheduler=PLUGINS,
    labels=_labelled,
    annotations=_nothing,
    controls=False,
)
MPI = Operator(
    project="MPI-operator",
    owner=MPI_JOBS,
    group=coscheduling.RESOURCE,
    group_name="{}",
    scheduler=PLUGINS,
    labels=_labelled,
    annotations=_nothing,
    fields={"scheduleTimeoutSeconds": 0},
)
KUBERAY_VOLCANO = Operator(
    project="KubeRay with Volcano",
    owner=RAY_CLUSTERS,
    group=volcano.RESOURCE,
    group_name="ray-{}-pg",
    scheduler=volcano.SCHEDULER_NAME,
    labels=_nothing,
    annotations=_task("headgroup", "workers", "ray-{}-pg"),
)
TRAINING = Operator(
    project="training-operator",
    owner=PYTORCH_JOBS,
    group=volcano.RESOURCE,
    group_name="{}",
    scheduler=volcano.SCHEDULER_NAME,
    labels=_nothing,
    annotations=_task("master", "worker", "{}"),
    fields={"queue": "default"},
    delays=True,
)
SPARK = Operator(
    project="Spark-operator",
    owner=SPARK_APPLICATIONS,
    group=volcano.RESOURCE,
    group_name="spark-{}-pg",
    scheduler=volcano.SCHEDULER_NAME,
    labels=_nothing,
    annotations=_task("driver", "executor", "spark-{}-pg"),
    minimum=1,
)
OPERATORS: Final[Sequence[Operator]] = (
    TRAINER,
    KUBERAY_PLUGINS,
    MPI,
    KUBERAY_VOLCANO,
    TRAINING,
    SPARK,
)


class Submitted:
    """A job of an operator, which creates for it what it would create.

    Args:
        world: where.
        operator: whose.
        job: its name.
    """

    def __init__(self, world: World, operator: Operator, job: str) -> None:
        self._world, self.operator, self.job = world, operator, job
        self.owner: Mapping[str, Any] = {}

    @property
    def group(self) -> str:
        """The name of its PodGroup."""
        return self.operator.named(self.job)

    async def submit(self, **spec: Any) -> None:
        """Create the job and its PodGroup, with these fields beside its own."""
        world, kind = self._world, self.operator.owner
        body = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": self.job},
            "spec": {},
        }
        self.owner = await world.client.create(kind, body, world.namespace)
        group = self.operator.pod_group(self.job, self.owner)
        group["spec"] |= spec
        await world.client.create(self.operator.group, group, world.namespace)
        world.watch_over(self.group, self.operator.minimum)
        if self.operator.delays:
            await self.told(phase="Inqueue")

    async def pods(self, first: int = 0, last: int = SIZE, **how: Any) -> None:
        """Create pods, by their numbers."""
        for index in range(first, last):
            body = self.operator.pod(self.job, index, self.owner, **how)
            await self._world.client.create(PODS, body, self._world.namespace)

    async def status(self) -> dict[str, Any]:
        """What the PodGroup says now."""
        found = await self._world.client.get(self.operator.group, self.group, self._world.namespace)
        return found.get("status") or {}

    async def told(self, **wanted: Any) -> None:
        """Wait until the PodGroup's status holds this."""
        found: dict[str, Any] = {}

        async def is_there() -> bool:
            found.clear()
            found.update(await self.status())
            return all(found.get(name) == value for name, value in wanted.items())

        await self._world.eventually(is_there, lambda: f"{self.group} says {wanted}; {found}")

    async def delete(self) -> None:
        """Delete the job, and with it what it owns."""
        world = self._world
        await world.client.delete(self.operator.owner, self.job, world.namespace)


async def install(world: World, kinds: Sequence[Resource]) -> None:
    """Have these kinds served, of which nothing but the names matters."""
    for kind in kinds:
        with suppress(AlreadyExists):
            await world.client.create(CRDS, _definition(kind))
        await asyncio.wait_for(_served(world, kind), PATIENCE)


async def _served(world: World, kind: Resource) -> None:
    while True:
        with suppress(NotFound):
            await world.client.page(kind, limit=1)
            return
        await asyncio.sleep(0.1)


def _definition(kind: Resource) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    approved = {"api-approved.kubernetes.io": "unapproved, of a test"}
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}},
    }
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": kind.label(), "annotations": approved},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()},
            "versions": [version],
        },
    }
