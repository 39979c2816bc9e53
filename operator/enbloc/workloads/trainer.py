# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""TrainJobs of Kubeflow Trainer: the JobSet of their runtime; the files must hold the runtime too.

Source: trainer v2.1 pkg/runtime/framework/plugins/{plainml,torch,mpi,jobset,coscheduling,volcano};
pkg/runtime/core/trainingruntime.go; of runtimePatches: v2.2; of resourcesPerNode: v2.3
pkg/util/trainingruntime/trainingruntime.go MergeResourceRequirements.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from enbloc.errors import UsageError
from enbloc.workloads.fields import Fields, MetadataFields, count, read
from enbloc.workloads.making import Json, Maker, Owner

_ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER: Final = "trainer"
_NODE: Final = "node"
#: Where a TrainJob may patch its runtime's pods: what decides on their nodes, and is followed here;
#: and what is not.
_FOLLOWED: Final = ("nodeSelector", "affinity", "tolerations")
_NOT_FOLLOWED: Final = ("volumes", "schedulingGates")
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
    pod_spec_overrides: tuple[dict[str, Any], ...] | None = None
    pod_template_overrides: tuple[dict[str, Any], ...] | None = None
    runtime_patches: tuple[dict[str, Any], ...] | None = None


class _TrainJob(Fields):
    spec: _Spec


class _MPI(Fields):
    run_launcher_as_node: bool | None = None


class _Policy(Fields):
    num_nodes: int | None = None
    mpi: _MPI | None = None


class _JobSetTemplate(Fields):
    spec: dict[str, Any]
    metadata: MetadataFields | None = None


class _RuntimeSpec(Fields):
    template: _JobSetTemplate
    ml_policy: _Policy | None = None
    pod_group_policy: dict[str, Any] | None = None


class _Runtime(Fields):
    spec: _RuntimeSpec


class _Nodes(NamedTuple):
    """How many nodes train.

    Attributes:
        asked: as the TrainJob says; None = it does not say.
        default: as the policy of the runtime says; None = it has no policy.
        mpi: the runtime's policy for MPI; None = it has another one, or none.
    """

    asked: int | None
    default: int | None
    mpi: _MPI | None

    @property
    def number(self) -> int | None:
        """How many there are, including an MPI launcher that is one of them; None = not said."""
        return self.default if self.asked is None else self.asked

    def of(self, job: str, *, trains: bool) -> int | None:
        """How many pods a replicatedJob runs; None = as many as it says itself."""
        if self.mpi is None:
            return self.number if trains or job == _NODE else None
        if job == _NODE and self.asked is not None:
            return max(1, self.asked - 1) if self.mpi.run_launcher_as_node else self.asked
        return self.default if trains else None

    def train_in(self, job: str, *, trains: bool) -> bool:
        """Whether the pods of a replicatedJob have the resources of a node."""
        launcher_only = self.mpi is not None and not self.mpi.run_launcher_as_node
        return trains or (job == _NODE and not launcher_only)


class _Patch(NamedTuple):
    """What a TrainJob changes in pods of its runtime.

    Attributes:
        field: its path in the TrainJob.
        job: the name of the replicatedJob that it changes.
        template: the part of that Job's template that changes.
    """

    field: str
    job: str
    template: Json


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
    template = runtime.template.spec
    given = template.get("replicatedJobs")
    patches = _by_job(make, owner, spec)
    jobs = [
        _job(_patched(job, patches), spec, nodes, policy, owner.name)
        if isinstance(job, dict)
        else job
        for job in (given if isinstance(given, list) else ())
    ]
    if policy in _GROUP_KEYS:
        make.child(owner, _pod_group(owner, policy, _minimum({"replicatedJobs": jobs})))
    job_set = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": owner.name, **_of_job_set(spec, runtime)},
        "spec": {**template, "replicatedJobs": jobs},
    }
    make.child(owner, job_set, at=f"{ref.kind} {ref.name}: spec.template.spec")


def _nodes(owner: Owner, spec: _Spec, runtime: _RuntimeSpec) -> _Nodes:
    asked = spec.trainer.num_nodes if spec.trainer is not None else None
    if asked is not None:
        asked = count(asked, "spec.trainer.numNodes", owner.where)
    policy = runtime.ml_policy
    if policy is None:
        return _Nodes(asked, None, None)
    where = f"{spec.runtime_ref.kind} {spec.runtime_ref.name}"
    default = count(policy.num_nodes, "spec.mlPolicy.numNodes", where)
    return _Nodes(asked, default, policy.mpi)


def _of_job_set(spec: _Spec, runtime: _RuntimeSpec) -> dict[str, dict[str, str]]:
    """The labels and annotations of the JobSet: the runtime's, then the TrainJob's for it."""
    given = runtime.template.metadata or MetadataFields()
    labels = {**(given.labels or {}), **(spec.labels or {})}
    annotations = {**(given.annotations or {}), **(spec.annotations or {})}
    for each in spec.runtime_patches or ():
        said = _marks(_part(_part(each, "trainingRuntimeSpec"), "template"))
        labels |= said["labels"]
        annotations |= said["annotations"]
    return {"labels": labels, "annotations": annotations}


def _minimum(job_set: Json) -> int:
    """The minimum of the PodGroup: the pods of all replicatedJobs, of later ones too."""
    specs = (_part(_part(job, "template"), "spec") for job in _parts(job_set, "replicatedJobs"))
    sizes = (spec.get("parallelism") for spec in specs)
    return sum(size if isinstance(size, int) else 1 for size in sizes)


def _by_job(make: Maker, owner: Owner, spec: _Spec) -> Mapping[str, Sequence[Json]]:
    """The patches of each replicatedJob's template; a note says which fields are not followed."""
    found: defaultdict[str, list[Json]] = defaultdict(list)
    for each in _patches(spec):
        found[each.job].append(each.template)
        pod = _part(_part(_part(each.template, "spec"), "template"), "spec")
        for field in _NOT_FOLLOWED:
            if pod.get(field):
                make.note(f"{owner.where}: {each.field}: {field} is not followed in this answer")
    return found


def _patches(spec: _Spec) -> Iterator[_Patch]:
    """What the TrainJob changes in its runtime's pods, in the order in which it is applied."""
    for at, each in enumerate(spec.pod_spec_overrides or ()):
        template: Json = {"spec": {"template": {"spec": each}}}
        for name in _names(each, "targetJobs"):
            yield _Patch(f"spec.podSpecOverrides[{at}]", name, template)
    for at, each in enumerate(spec.pod_template_overrides or ()):
        template = {"spec": {"template": each}}
        for name in _names(each, "targetJobs"):
            yield _Patch(f"spec.podTemplateOverrides[{at}]", name, template)
    for at, each in enumerate(spec.runtime_patches or ()):
        whole = _part(_part(each, "trainingRuntimeSpec"), "template")
        for job in _parts(_part(whole, "spec"), "replicatedJobs"):
            yield _Patch(f"spec.runtimePatches[{at}]", _name(job), _part(job, "template"))


def _patched(job: Json, patches: Mapping[str, Sequence[Json]]) -> Json:
    """A replicatedJob with what is followed of its patches."""
    outer = _part(job, "template")
    for each in patches.get(_name(job), ()):
        pod = _part(_part(each, "spec"), "template")
        spec = _part(pod, "spec")
        followed = {field: spec[field] for field in _FOLLOWED if field in spec}
        inner = {"metadata": _marks(pod), "spec": followed}
        outer = _merged(outer, {"metadata": _marks(each), "spec": {"template": inner}})
    return {**job, "template": outer}


def _marks(of: Json) -> dict[str, Any]:
    metadata = _part(of, "metadata")
    return {field: _part(metadata, field) for field in ("labels", "annotations")}


def _merged(of: Json, patch: Json) -> dict[str, Any]:
    """An object with the fields of a patch; lists are replaced, and null changes nothing."""
    found = dict(of)
    for key, value in patch.items():
        if isinstance(value, dict):
            found[key] = _merged(_part(of, key), value)
        elif value is not None:
            found[key] = value
    return found


def _job(job: Json, spec: _Spec, nodes: _Nodes, policy: str, name: str) -> dict[str, Any]:
    """A replicatedJob, with the trainer's nodes and the name of the PodGroup."""
    outer = _part(job, "template")
    inner = _part(outer, "spec")
    pod = _part(inner, "template")
    trains = _part(_part(outer, "metadata"), "labels").get(_ANCESTOR) == _TRAINER
    size = nodes.of(_name(job), trains=trains)
    if size is not None:
        inner = {**inner, "parallelism": size, "completions": size, "completionMode": "Indexed"}
    if (
        nodes.train_in(_name(job), trains=trains)
        and spec.trainer is not None
        and spec.trainer.resources_per_node is not None
    ):
        pod = _with_resources(pod, spec.trainer.resources_per_node)
    if policy in _GROUP_KEYS:
        field, key, _ = _GROUP_KEYS[policy]
        metadata = _part(pod, "metadata")
        pod = {**pod, "metadata": {**metadata, field: {**_part(metadata, field), key: name}}}
    return {**job, "template": {**outer, "spec": {**inner, "template": pod}}}


def _part(of: Json, field: str) -> dict[str, Any]:
    found = of.get(field)
    return found if isinstance(found, dict) else {}


def _name(job: Json) -> str:
    found = job.get("name")
    return found if isinstance(found, str) else ""


def _names(of: Json, field: str) -> Iterable[str]:
    """The names of the objects in a list, each once."""
    return dict.fromkeys(_name(each) for each in _parts(of, field))


def _parts(of: Json, field: str) -> list[dict[str, Any]]:
    found = of.get(field)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _with_resources(pod: dict[str, Any], resources: Json) -> dict[str, Any]:
    """The pod template, with these resources over those of the container that trains.

    Trainer v2.1 and v2.2 drop the container's own instead.
    """
    spec = _part(pod, "spec")
    given = spec.get("containers")
    containers = [
        {**each, "resources": _merged(_part(each, "resources"), resources)}
        if isinstance(each, dict) and each.get("name") == _NODE
        else each
        for each in (given if isinstance(given, list) else ())
    ]
    return {**pod, "spec": {**spec, "containers": containers}}


def _pod_group(owner: Owner, policy: str, minimum: int) -> dict[str, Any]:
    return {
        "apiVersion": _GROUP_KEYS[policy][2],
        "kind": "PodGroup",
        "metadata": {"name": owner.name},
        "spec": {"minMember": minimum},
    }
