# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Expands the objects of manifests into the pods that their controllers would make."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from enbloc.errors import UsageError
from enbloc.model.names import API_GROUP, POD_GROUP_KIND, TOPOLOGY_KIND
from enbloc.model.near_words import near
from enbloc.wire.auto_groups import TRAINING
from enbloc.workloads import (
    apps,
    batch,
    jobset,
    kubeflow,
    leaderworkerset,
    ray,
    spark,
    trainer,
    volcano,
)
from enbloc.workloads.fields import Named, read
from enbloc.workloads.making import Expander, Json, Maker, Owner, PlannedPod
from enbloc.workloads.manifests import Manifest

#: The expanders, by API group and kind of the object.
EXPANDERS: Final[Mapping[tuple[str, str], Expander]] = {
    ("", "Pod"): Maker.alone,
    ("batch", "Job"): batch.job,
    ("batch", "CronJob"): batch.cron_job,
    ("apps", "StatefulSet"): apps.stateful_set,
    ("apps", "Deployment"): apps.deployment,
    ("apps", "ReplicaSet"): apps.replicas,
    ("", "ReplicationController"): apps.replicas,
    ("jobset.x-k8s.io", "JobSet"): jobset.job_set,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): leaderworkerset.leader_worker_set,
    **{("kubeflow.org", kind): kubeflow.training_job for kind in TRAINING},
    ("kubeflow.org", "MPIJob"): kubeflow.mpi_job,
    ("trainer.kubeflow.org", "TrainJob"): trainer.train_job,
    ("ray.io", "RayCluster"): ray.ray_cluster,
    ("ray.io", "RayJob"): ray.ray_job,
    ("ray.io", "RayService"): ray.ray_service,
    ("sparkoperator.k8s.io", "SparkApplication"): spark.spark_application,
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): spark.scheduled_spark_application,
    ("batch.volcano.sh", "Job"): volcano.volcano_job,
}
#: Kinds that matter for the answer, although they make no pods.
_BESIDE: Final = frozenset(
    {
        ("", "Namespace"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("storage.k8s.io", "StorageClass"),
        (API_GROUP, TOPOLOGY_KIND),
        ("resource.k8s.io", "DeviceClass"),
        ("resource.k8s.io", "ResourceClaim"),
        ("resource.k8s.io", "ResourceClaimTemplate"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("trainer.kubeflow.org", "TrainingRuntime"),
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
    }
)
#: Kinds that are often in the same file, and are ignored.
_SKIPPED: Final = frozenset(
    {
        ("", "ConfigMap"),
        ("", "LimitRange"),
        ("", "ResourceQuota"),
        ("", "Secret"),
        ("", "Service"),
        ("", "ServiceAccount"),
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("kueue.x-k8s.io", "ClusterQueue"),
        ("kueue.x-k8s.io", "LocalQueue"),
        ("kueue.x-k8s.io", "ResourceFlavor"),
        ("kueue.x-k8s.io", "Topology"),
        ("kueue.x-k8s.io", "WorkloadPriorityClass"),
        ("monitoring.coreos.com", "PodMonitor"),
        ("monitoring.coreos.com", "ServiceMonitor"),
        ("networking.k8s.io", "Ingress"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("policy", "PodDisruptionBudget"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("scheduling.k8s.io", "Workload"),
    }
)


@dataclass(frozen=True, slots=True)
class Expansion:
    """The result of expanding manifests.

    Attributes:
        pods: in the order of their creation.
        objects: the objects that may call for PodGroups, with namespace and UID.
        beside: other objects that matter, by kind: claims, Namespaces, classes, Topologies.
        claims: PersistentVolumeClaims that controllers make with the pods.
        namespace: the namespace of objects that name none.
        notes: remarks about the objects, one line each.
    """

    pods: Sequence[PlannedPod]
    objects: Sequence[Json]
    beside: Mapping[str, Sequence[Json]] = field(default_factory=dict[str, Sequence[Json]])
    claims: Sequence[Json] = ()
    namespace: str = "default"
    notes: Sequence[str] = ()


def expand(
    given: Sequence[Manifest],
    groups: Collection[tuple[str, str]],
    namespace: str,
    *,
    only: bool = False,
) -> Expansion:
    """Expand objects into what their controllers make, once all of them have done their work.

    Args:
        given: the objects.
        groups: API group and kind of objects that call for PodGroups, or are PodGroups, but make
            no pods.
        namespace: the namespace of objects that name none.
        only: objects may name no other namespace.

    Raises:
        UsageError: a kind is unknown, an object cannot be read, or there are too many pods.
    """
    beside: dict[str, list[Json]] = {}
    wanted: list[Manifest] = []
    skipped: dict[str, None] = {}
    for each in given:
        key = each.group, each.kind
        if key in EXPANDERS or key in groups or key == (API_GROUP, POD_GROUP_KIND):
            wanted.append(each)
        elif key in _BESIDE:
            where = f"{each.where}: {each.kind}"
            if not read(each.body, Named, where).metadata.name:
                raise UsageError(f"{where}: metadata.name is missing")
            beside.setdefault(each.kind, []).append(each.body)
        elif key in _SKIPPED:
            skipped[each.kind] = None
        else:
            raise UsageError(_unknown(each, groups))
    runtimes = {
        (kind, str(body["metadata"].get("name"))): body
        for kind, bodies in beside.items()
        for body in bodies
    }
    make = Maker(EXPANDERS, namespace, only, runtimes)
    owners = [make.given(each.body, f"{each.where}: {each.kind}") for each in wanted]
    _once(owners)
    for owner in owners:
        make.ask(owner)
    for kind in skipped:
        make.note(f"{kind} objects make no pods, and are left out")
    return Expansion(make.pods, make.objects, beside, make.claims, namespace, [*make.notes])


def _once(owners: Sequence[Owner]) -> None:
    """Check that no object is given twice.

    Raises:
        UsageError: an object is given twice.
    """
    seen: set[tuple[Any, ...]] = set()
    for owner in owners:
        key = owner.body["apiVersion"], owner.kind, owner.namespace, owner.name
        if key in seen:
            raise UsageError(f"{owner.where} is in the files twice; remove one")
        seen.add(key)


def _unknown(given: Manifest, groups: Collection[tuple[str, str]]) -> str:
    every = {*EXPANDERS, *groups, (API_GROUP, POD_GROUP_KIND)}
    kinds = {kind for _, kind in every}
    of = f"{given.kind} of {given.body['apiVersion']}"
    if given.kind == "DaemonSet":
        return (
            f"{given.where}: {of}: each of its pods belongs to one node, and none waits for "
            "another; leave it out"
        )
    if given.kind in kinds:
        known = sorted(group or "v1" for group, kind in every if kind == given.kind)
        return (
            f"{given.where}: {of} is not known; {given.kind} is known of {', '.join(known)}: "
            "correct apiVersion, or leave it out"
        )
    return (
        f"{given.where}: kind {of} is not known{near(given.kind, kinds)}; known are "
        f"{', '.join(sorted(kinds))}; leave out what makes no pods"
    )
