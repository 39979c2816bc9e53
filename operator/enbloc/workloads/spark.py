# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""SparkApplications of the Spark operator: the driver, and the executors once it has a node.

Source: spark-operator v2.3 internal/webhook/sparkpod_defaulter.go;
internal/controller/sparkapplication/submission.go; pkg/util/sparkapplication.go
GetInitialExecutorNumber.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from enbloc.model.quantity import render
from enbloc.workloads import spark_requests
from enbloc.workloads.fields import Fields, MetadataFields, Template, count, read
from enbloc.workloads.making import Maker, Owner

_KEY: Final = "sparkoperator.k8s.io/"
_DEFAULT_EXECUTORS: Final = 2
#: Volumes that Spark itself adds, by their names.
_LOCAL_DIR: Final = "spark-local-dir-"
#: The fields of a driver or executor that are copied to its pods unchanged.
_COPIED: Final = (
    ("affinity", "affinity"),
    ("schedulerName", "schedulerName"),
    ("hostNetwork", "hostNetwork"),
    ("priorityClassName", "priorityClassName"),
)


class _Mount(Fields):
    name: str = ""


class _Pod(spark_requests.Requesting):
    instances: int | None = None
    tolerations: tuple[dict[str, Any], ...] | None = None
    volume_mounts: tuple[_Mount, ...] | None = None
    node_selector: dict[str, str] | None = None
    image: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    template: dict[str, Any] | None = None


class _Allocation(Fields):
    enabled: bool | None = None
    initial_executors: int | None = None
    min_executors: int | None = None


class _Batch(Fields):
    priority_class_name: str | None = None


class _Spec(Fields):
    driver: _Pod
    executor: _Pod
    volumes: tuple[dict[str, Any], ...] | None = None
    type: str | None = None
    node_selector: dict[str, str] | None = None
    image: str | None = None
    memory_overhead_factor: str | None = None
    dynamic_allocation: _Allocation | None = None
    batch_scheduler_options: _Batch | None = None
    suspend: bool | None = None


class _Application(Fields):
    spec: _Spec


class _ScheduledSpec(Fields):
    template: dict[str, Any]


class _Scheduled(Fields):
    spec: _ScheduledSpec


def spark_application(make: Maker, owner: Owner) -> None:
    """Add the driver of a SparkApplication, and a wave later the executors that it starts with."""
    spec = read(owner.body, _Application, owner.where).spec
    if spec.suspend:
        make.suspended(owner, "spec.suspend")
    number = _executors(spec, owner.where)
    make.check(1 + number, owner, "spec.executor.instances")
    driver = make.pod(
        owner,
        _template(owner, spec, "driver"),
        f"{owner.name}-driver",
        at="spec.driver",
        labels=_labels(owner, "driver"),
    )
    by = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": driver["metadata"]["name"],
        "uid": driver["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    template = _template(owner, spec, "executor")
    for index in range(1, number + 1):
        make.pod(
            owner,
            template,
            f"{owner.name}-exec-{index}",
            at="spec.executor",
            labels=_labels(owner, "executor"),
            wave=owner.wave + 1,
            by=by,
        )


def scheduled_spark_application(make: Maker, owner: Owner) -> None:
    """Add the SparkApplication and the pods of one run of a ScheduledSparkApplication."""
    spec = read(owner.body, _Scheduled, owner.where).spec
    make.note(f"{owner.where}: the answer is for one run that starts now")
    body = {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": f"{owner.name}-0"},
        "spec": spec.template,
    }
    make.child(owner, body, at="spec.template")


def _executors(spec: _Spec, where: str) -> int:
    dynamic, field = spec.dynamic_allocation, "spec.executor.instances"
    if dynamic is None or not dynamic.enabled:
        return count(spec.executor.instances, field, where, _DEFAULT_EXECUTORS)
    starts = (spec.executor.instances, dynamic.initial_executors, dynamic.min_executors)
    return max(count(each, "spec.dynamicAllocation", where, 0) for each in starts)


def _labels(owner: Owner, role: str) -> dict[str, str]:
    return {
        f"{_KEY}app-name": owner.name,
        f"{_KEY}launched-by-spark-operator": "true",
        "spark-role": role,
    }


def _template(owner: Owner, spec: _Spec, role: str) -> Template:
    """The template of a role's pods: its own template, with the role's other fields applied."""
    pod: _Pod = spec.driver if role == "driver" else spec.executor
    given = owner.body["spec"][role]
    under = read(pod.template or {"spec": {}}, Template, f"{owner.where}: spec.{role}.template")
    cores = count(pod.cores, f"spec.{role}.cores", owner.where)
    requests = {
        "cpu": render("cpu", spark_requests.cpu(cores, pod.core_request)),
        "memory": render("memory", _memory(pod, spec)),
    }
    quantity = pod.gpu.quantity if pod.gpu is not None else None
    gpus = count(quantity, f"spec.{role}.gpu.quantity", owner.where, 0)
    made = spark_requests.containers(role, under.spec, pod, requests, gpus)
    main, *others = made["containers"]
    image = pod.image or spec.image or main.get("image")
    batch = spec.batch_scheduler_options
    named = batch.priority_class_name if batch is not None else None
    copied = {field: given[own] for own, field in _COPIED if given.get(own) is not None}
    selected = {**(spec.node_selector or {}), **(pod.node_selector or {})}
    below = under.spec.get("nodeSelector")
    if isinstance(below, dict):
        selected = {**below, **selected}
    return Template(
        {
            **under.spec,
            **({"nodeSelector": selected} if selected else {}),
            **({"priorityClassName": named} if named else {}),
            **copied,
            **_added(under.spec, "tolerations", pod.tolerations or ()),
            **_added(under.spec, "volumes", _mounted(spec, pod)),
            **made,
            "containers": [{**main, "image": image}, *others],
        },
        MetadataFields(
            labels={**under.labels, **(pod.labels or {})},
            annotations={**under.annotations, **(pod.annotations or {})},
        ),
    )


def _mounted(spec: _Spec, pod: _Pod) -> list[dict[str, Any]]:
    """The volumes of the application that a role mounts, in the order in which it does."""
    known = {str(each.get("name")): each for each in spec.volumes or ()}
    names = dict.fromkeys(each.name for each in pod.volume_mounts or ())
    return [known[name] for name in names if name in known and not name.startswith(_LOCAL_DIR)]


def _added(
    template: Mapping[str, Any], field: str, more: Sequence[dict[str, Any]]
) -> dict[str, list[Any]]:
    """A list of a template with more at its end; nothing if there are no more."""
    found = template.get(field)
    return {field: [*(found if isinstance(found, list) else ()), *more]} if more else {}


def _memory(pod: _Pod, spec: _Spec) -> int:
    return spark_requests.memory(
        pod.memory, pod.memory_overhead, spec.type, spec.memory_overhead_factor
    )
