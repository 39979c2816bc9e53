# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""RayClusters, and the RayJobs and RayServices that make one: head and workers.

The submitter of a RayJob starts once the cluster runs, and is not included. Source: kuberay v1.4
ray-operator/controllers/ray/common/pod.go DefaultHeadPodTemplate, DefaultWorkerPodTemplate,
BuildAutoscalerContainer; ray-operator/controllers/ray/utils/util.go CalculateDesiredReplicas.
"""

from typing import Any, Final

from enbloc.wire.auto_groups import HEAD
from enbloc.workloads.fields import Fields, Template, count, read
from enbloc.workloads.making import Maker, Owner

#: The init container of a worker, which waits for the head.
_WAITING: Final = {
    "name": "wait-gcs-ready",
    "resources": {
        "limits": {"cpu": "200m", "memory": "256Mi"},
        "requests": {"cpu": "200m", "memory": "256Mi"},
    },
}
#: The container beside the head that scales the workers.
_SCALING: Final = {
    "limits": {"cpu": "500m", "memory": "512Mi"},
    "requests": {"cpu": "500m", "memory": "512Mi"},
}


class _HeadGroup(Fields):
    template: Template


class _WorkerGroup(Fields):
    group_name: str
    template: Template
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    num_of_hosts: int | None = None
    suspend: bool | None = None


class _Autoscaler(Fields):
    resources: dict[str, Any] | None = None


class _ClusterSpec(Fields):
    head_group_spec: _HeadGroup
    worker_group_specs: tuple[_WorkerGroup, ...] | None = None
    enable_in_tree_autoscaling: bool | None = None
    autoscaler_options: _Autoscaler | None = None
    suspend: bool | None = None


class _Cluster(Fields):
    spec: _ClusterSpec


class _JobSpec(Fields):
    ray_cluster_spec: dict[str, Any] | None = None
    cluster_selector: dict[str, str] | None = None
    suspend: bool | None = None


class _Job(Fields):
    spec: _JobSpec


class _ServiceSpec(Fields):
    ray_cluster_config: dict[str, Any]


class _Service(Fields):
    spec: _ServiceSpec


def ray_cluster(make: Maker, owner: Owner) -> None:
    """Add the head of a RayCluster, and the workers that it starts with."""
    spec = read(owner.body, _Cluster, owner.where).spec
    if spec.suspend:
        make.suspended(owner, "spec.suspend")
    common = {
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
        "ray.io/cluster": owner.name,
        "ray.io/is-ray-node": "yes",
    }
    head, extra = spec.head_group_spec.template, dict[str, Any]()
    if spec.enable_in_tree_autoscaling:
        given = spec.autoscaler_options
        scaling = {
            "name": "autoscaler",
            "image": _image(head),
            "resources": (given.resources if given is not None else None) or _SCALING,
        }
        extra["containers"] = [*_listed(head, "containers"), scaling]
    labels = {**common, "ray.io/node-type": "head", "ray.io/group": HEAD}
    name = f"{owner.name}-head-0"
    make.pod(owner, head, name, at="spec.headGroupSpec.template.spec", labels=labels, spec=extra)
    for at, group in enumerate(spec.worker_group_specs or ()):
        field = f"spec.workerGroupSpecs[{at}]"
        number = _desired(group, field, owner.where)
        make.check(number, owner, f"{field}.replicas")
        labels = {**common, "ray.io/node-type": "worker", "ray.io/group": group.group_name}
        own = {**_WAITING, "image": _image(group.template)}
        waiting = [*_listed(group.template, "initContainers"), own]
        for index in range(number):
            make.pod(
                owner,
                group.template,
                f"{owner.name}-{group.group_name}-worker-{index}",
                at=f"{field}.template.spec",
                labels=labels,
                spec={"initContainers": waiting},
            )


def _desired(group: _WorkerGroup, field: str, where: str) -> int:
    """How many pods a worker group starts with."""
    if group.suspend:
        return 0
    least = count(group.min_replicas, f"{field}.minReplicas", where, 0)
    wanted = max(least, count(group.replicas, f"{field}.replicas", where, least))
    if group.max_replicas is not None:
        wanted = min(wanted, count(group.max_replicas, f"{field}.maxReplicas", where))
    return wanted * max(1, count(group.num_of_hosts, f"{field}.numOfHosts", where))


def _image(template: Template) -> Any:
    """The image of Ray, in the first container; None = there is none."""
    containers = _listed(template, "containers")
    first = containers[0] if containers else None
    return first.get("image") if isinstance(first, dict) else None


def _listed(template: Template, field: str) -> list[Any]:
    found = template.spec.get(field)
    return found if isinstance(found, list) else []


def ray_job(make: Maker, owner: Owner) -> None:
    """Add the RayCluster of a RayJob."""
    spec = read(owner.body, _Job, owner.where).spec
    if spec.suspend:
        make.suspended(owner, "spec.suspend")
    if spec.ray_cluster_spec is not None:
        _cluster(make, owner, spec.ray_cluster_spec, "spec.rayClusterSpec")
    elif spec.cluster_selector:
        make.note(f"{owner.where}: spec.clusterSelector: it runs on a RayCluster that exists")


def ray_service(make: Maker, owner: Owner) -> None:
    """Add the RayCluster of a RayService."""
    spec = read(owner.body, _Service, owner.where).spec
    _cluster(make, owner, spec.ray_cluster_config, "spec.rayClusterConfig")


def _cluster(make: Maker, owner: Owner, spec: dict[str, Any], field: str) -> None:
    body = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": f"{owner.name}-0",
            "labels": owner.labels,
            "annotations": owner.annotations,
        },
        "spec": spec,
    }
    make.child(owner, body, at=field)
