# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""TrainJobs of Kubeflow Trainer: the JobSet of their runtime; the files must hold the runtime too.

Source: trainer v2.1 pkg/runtime/framework/plugins/{plainml,torch,jobset,coscheduling,volcano}.
"""

from typing import Any, Final

from enbloc.errors import UsageError
from enbloc.workloads.fields import Fields, count, read
from enbloc.workloads.making import Json, Maker, Owner

_ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER: Final = "trainer"
_NODE: Final = "node"
#: For each policy, the key by which pods name the PodGroup that is made, and its apiVersion.
_GROUP_KEYS: Final = {
    "coscheduling": ("labels", "scheduling.x-k8s.io/pod-group", "scheduling.x-k8s.io/v1alpha1"),
    "volcano": (
        "annotations",
        "scheduling.k8s.io/group-name",
        "scheduling.volcano.sh/v1beta1",
    ),
}


class _RuntimeRef(Fields):
    name: str
    kind: str = "ClusterTrainingRuntime"


class _Trainer(Fields):
    num_nodes: int | None = None
    resources_per_node: dict[str, Any] | None = None


class _Spec(Fields):
    runtime_ref: _RuntimeRef
    trainer: _Trainer | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    suspend: bool | None = None


class _TrainJob(Fields):
    spec: _Spec


class _Policy(Fields):
    num_nodes: int | None = None


class _JobSetTemplate(Fields):
    spec: dict[str, Any]


class _RuntimeSpec(Fields):
    template: _JobSetTemplate
    ml_policy: _Policy | None = None
    pod_group_policy: dict[str, Any] | None = None


class _Runtime(Fields):
    spec: _RuntimeSpec


def train_job(make: Maker, owner: Owner) -> None:
    """Add the JobSet of a TrainJob's runtime, with as many nodes as the TrainJob asks for."""
    spec = read(owner.body, _TrainJob, owner.where).spec
    if spec.suspend:
        make.suspended(owner, "spec.suspend")
    ref = spec.runtime_ref
    body = make.beside.get((ref.kind, ref.name))
    if body is None:
        raise UsageError(
            f"{owner.where}: spec.runtimeRef: {ref.kind} {ref.name} is not in the files; add it, "
            f"as with: kubectl get {ref.kind.lower()} {ref.name} -o yaml | enbloc what-if -f FILE "
            "-f -"
        )
    runtime = read(body, _Runtime, f"{ref.kind} {ref.name}").spec
    nodes = _nodes(owner, spec, runtime)
    policy = next(iter(runtime.pod_group_policy or {}), "")
    if policy in _GROUP_KEYS:
        make.child(owner, _pod_group(owner, policy, nodes))
    template = runtime.template.spec
    given = template.get("replicatedJobs")
    jobs = [
        _job(job, spec, nodes, policy, owner.name) if isinstance(job, dict) else job
        for job in (given if isinstance(given, list) else ())
    ]
    job_set = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": owner.name,
            "labels": spec.labels or {},
            "annotations": {**owner.annotations, **(spec.annotations or {})},
        },
        "spec": {**template, "replicatedJobs": jobs},
    }
    make.child(owner, job_set, at=f"{ref.kind} {ref.name}: spec.template.spec")


def _nodes(owner: Owner, spec: _Spec, runtime: _RuntimeSpec) -> int:
    asked = spec.trainer.num_nodes if spec.trainer is not None else None
    default = runtime.ml_policy.num_nodes if runtime.ml_policy is not None else None
    given = default if asked is None else asked
    return count(given, "spec.trainer.numNodes", owner.where)


def _job(job: Json, spec: _Spec, nodes: int, policy: str, name: str) -> dict[str, Any]:
    """A replicatedJob, with the trainer's nodes and the name of the PodGroup."""
    outer = _part(job, "template")
    inner = _part(outer, "spec")
    pod = _part(inner, "template")
    trains = _part(_part(outer, "metadata"), "labels").get(_ANCESTOR) == _TRAINER
    if trains or (job.get("name") == _NODE):
        inner = {**inner, "parallelism": nodes, "completions": nodes, "completionMode": "Indexed"}
        if spec.trainer is not None and spec.trainer.resources_per_node is not None:
            pod = _with_resources(pod, spec.trainer.resources_per_node)
    if policy in _GROUP_KEYS:
        field, key, _ = _GROUP_KEYS[policy]
        metadata = _part(pod, "metadata")
        pod = {**pod, "metadata": {**metadata, field: {**_part(metadata, field), key: name}}}
    return {**job, "template": {**outer, "spec": {**inner, "template": pod}}}


def _part(of: Json, field: str) -> dict[str, Any]:
    found = of.get(field)
    return found if isinstance(found, dict) else {}


def _with_resources(pod: dict[str, Any], resources: Json) -> dict[str, Any]:
    """The pod template, with these resources for the container that trains."""
    spec = _part(pod, "spec")
    given = spec.get("containers")
    containers = [
        {**each, "resources": resources}
        if isinstance(each, dict) and each.get("name") == _NODE
        else each
        for each in (given if isinstance(given, list) else ())
    ]
    return {**pod, "spec": {**spec, "containers": containers}}


def _pod_group(owner: Owner, policy: str, nodes: int) -> dict[str, Any]:
    return {
        "apiVersion": _GROUP_KEYS[policy][2],
        "kind": "PodGroup",
        "metadata": {"name": owner.name},
        "spec": {"minMember": nodes},
    }
