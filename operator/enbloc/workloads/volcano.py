# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs of Volcano: their tasks' pods, and the PodGroup of Volcano that its controller makes.

Source: volcano v1.10 pkg/controllers/job/job_controller_util.go createJobPod;
pkg/controllers/job/job_controller_actions.go createOrUpdatePodGroup, calcPGMinResources;
pkg/webhooks/admission/jobs/mutate/mutate_job.go patchDefaultMinAvailable.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from enbloc.model.quantity import render
from enbloc.wire.codec_specs import pod_class
from enbloc.wire.objects import PodObject
from enbloc.workloads.fields import Fields, Template, count, read
from enbloc.workloads.making import Maker, Owner

_VOLCANO: Final = "volcano"
_PODS: Final = "pods"
#: The most waves of tasks that depend on each other.
_MOST_WAVES: Final = 16


class _DependsOn(Fields):
    name: tuple[str, ...] | None = None


class _Task(Fields):
    template: Template
    name: str = ""
    replicas: int | None = None
    min_available: int | None = None
    depends_on: _DependsOn | None = None


class _Spec(Fields):
    tasks: tuple[_Task, ...] = ()
    min_available: int | None = None
    scheduler_name: str | None = None
    priority_class_name: str | None = None
    queue: str | None = None
    network_topology: dict[str, Any] | None = None


class _Job(Fields):
    spec: _Spec


def volcano_job(make: Maker, owner: Owner) -> None:
    """Add the PodGroup and the pods of all tasks; a task that depends on others comes later."""
    spec = read(owner.body, _Job, owner.where).spec
    names = [task.name or f"default{at}" for at, task in enumerate(spec.tasks)]
    sizes = [
        count(task.replicas, f"spec.tasks[{at}].replicas", owner.where, 0)
        for at, task in enumerate(spec.tasks)
    ]
    make.check(sum(sizes), owner, "spec.tasks")
    group = f"{owner.name}-{owner.uid}"
    make.child(owner, _pod_group(owner, spec, names, sizes, group))
    waves = _waves(names, spec.tasks)
    scheduler = spec.scheduler_name or _VOLCANO
    for at, task in enumerate(spec.tasks):
        labels = {
            "volcano.sh/job-name": owner.name,
            "volcano.sh/queue-name": spec.queue or "default",
            "volcano.sh/task-spec": names[at],
        }
        own = {
            "schedulerName": task.template.spec.get("schedulerName") or scheduler,
            "priorityClassName": task.template.spec.get("priorityClassName")
            or spec.priority_class_name,
        }
        for index in range(sizes[at]):
            numbered = {**labels, "volcano.sh/task-index": str(index)}
            make.pod(
                owner,
                task.template,
                f"{owner.name}-{names[at]}-{index}",
                at=f"spec.tasks[{at}].template.spec",
                labels={**numbered, "volcano.sh/job-namespace": owner.namespace},
                annotations={
                    **owner.annotations,
                    **numbered,
                    "scheduling.k8s.io/group-name": group,
                },
                spec={key: value for key, value in own.items() if value},
                wave=owner.wave + waves[at],
            )


def _waves(names: Sequence[str], tasks: Sequence[_Task]) -> Sequence[int]:
    """The wave of each task; the last one for tasks in a cycle, or at the end of a long chain."""
    place = {name: at for at, name in enumerate(names)}
    waves = [0] * len(tasks)
    for _ in range(_MOST_WAVES):
        for at, task in enumerate(tasks):
            after = (task.depends_on.name if task.depends_on is not None else None) or ()
            before = [waves[place[each]] + 1 for each in after if each in place]
            waves[at] = min(max([0, *before]), _MOST_WAVES)
    return waves


def _pod_group(
    owner: Owner, spec: _Spec, names: Sequence[str], sizes: Sequence[int], group: str
) -> dict[str, Any]:
    least = {
        name: size if task.min_available is None else task.min_available
        for name, task, size in zip(names, spec.tasks, sizes, strict=True)
    }
    minimum = spec.min_available or sum(least.values())
    wanted: dict[str, Any] = {
        "minMember": minimum,
        "minTaskMember": least,
        "minResources": _resources(spec.tasks, names, least, minimum),
        "queue": spec.queue or "default",
    }
    if spec.priority_class_name:
        wanted["priorityClassName"] = spec.priority_class_name
    if spec.network_topology is not None:
        wanted["networkTopology"] = spec.network_topology
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": group, "annotations": owner.annotations},
        "spec": wanted,
    }


def _resources(
    tasks: Sequence[_Task], names: Sequence[str], least: Mapping[str, int], minimum: int
) -> dict[str, str]:
    """What the first `minimum` pods request together; as in Volcano, limits do not count."""
    total, left = Counter[str](), minimum
    for name, task in zip(names, tasks, strict=True):
        number = min(left, least[name])
        left -= number
        try:
            found, _ = pod_class(msgspec.convert({"spec": task.template.spec}, PodObject))
        except msgspec.ValidationError:  # reported when the pod itself is read
            continue
        for resource, amount in found.requests:
            if resource != _PODS:
                total[resource] += amount * number
    return {resource: render(resource, amount) for resource, amount in sorted(total.items())}
