# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""SparkApplications of the Spark operator: one PodGroup each, of driver and executors.

The driver creates the executors, so only it counts, and capacity for all is reserved. Source
of the amounts: spark-operator v2.3, pkg/util/sparkapplication.go GetInitialExecutorNumber.
"""

from collections import Counter
from typing import Any, Final

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.sources.source import Derived, RefusedGroup, Source, SourceObject
from enbloc.controller.sources.topology_keys import PodMetadata, with_topology
from enbloc.controller.sources.workloads import (
    MetadataOnly,
    Template,
    WorkloadPart,
    bounded,
    metadata_of,
    of_roles,
    requests,
)
from enbloc.model.quantity import render
from enbloc.wire.auto_groups import DRIVER, EXECUTOR, SPARK_APPLICATION, group_name
from enbloc.wire.objects import Texts
from enbloc.workloads import spark_requests

RESOURCE: Final = Resource(
    "sparkoperator.k8s.io", "v1beta2", "sparkapplications", SPARK_APPLICATION
)
_DEFAULT_EXECUTORS: Final = 2


class _Template(MetadataOnly):
    spec: dict[str, Any] | None = None


class _Pod(spark_requests.Requesting):
    instances: int | None = None
    labels: Texts | None = None
    annotations: Texts | None = None
    template: _Template | None = None

    @property
    def metadata(self) -> PodMetadata:
        """The metadata of its pods; these fields take precedence over the template's."""
        under = metadata_of(self.template) or PodMetadata()
        return PodMetadata(
            {**(under.labels or {}), **(self.labels or {})},
            {**(under.annotations or {}), **(self.annotations or {})},
        )


class _Allocation(WorkloadPart):
    enabled: bool | None = None
    initial_executors: int | None = None
    min_executors: int | None = None


class _Spec(WorkloadPart):
    type: str | None = None
    memory_overhead_factor: str | None = None
    driver: _Pod = msgspec.field(default_factory=_Pod)
    executor: _Pod = msgspec.field(default_factory=_Pod)
    dynamic_allocation: _Allocation | None = None


class SparkApplication(SourceObject):
    """A SparkApplication."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: SparkApplication) -> Derived | RefusedGroup:
    """The PodGroup of the driver, with capacity for it and the executors that it starts with."""
    spec = found.spec
    dynamic = spec.dynamic_allocation
    if dynamic is not None and dynamic.enabled:
        starts = (spec.executor.instances, dynamic.initial_executors, dynamic.min_executors)
        executors = max(bounded(each, 0) for each in starts)
    else:
        executors = bounded(spec.executor.instances, _DEFAULT_EXECUTORS)
    reserved = _requests(DRIVER, spec.driver, spec)
    reserved += _requests(EXECUTOR, spec.executor, spec, executors)
    roles = [(DRIVER, 1), (EXECUTOR, 0)]
    name = group_name(SPARK_APPLICATION, found.metadata.name)
    metadata = (DRIVER, spec.driver.metadata), (EXECUTOR, spec.executor.metadata)
    return with_topology(of_roles(roles, name, reserved), metadata)


def _requests(role: str, pod: _Pod, spec: _Spec, count: int = 1) -> Counter[str]:
    """What `count` pods of a role request, by resource, CPU in milli."""
    asked = {
        "cpu": spark_requests.cpu(bounded(pod.cores), pod.core_request),
        "memory": spark_requests.memory(
            pod.memory, pod.memory_overhead, spec.type, spec.memory_overhead_factor
        ),
    }
    under = (pod.template.spec if pod.template is not None else None) or {}
    gpus = bounded(pod.gpu.quantity, 0) if pod.gpu is not None else 0
    own = {name: render(name, amount) for name, amount in asked.items()}
    made = {**under, **spark_requests.containers(role, under, pod, own, gpus)}
    try:
        template = msgspec.convert({"spec": made}, Template)
    except msgspec.ValidationError:  # the API server stores a template unchecked
        return Counter({name: amount * count for name, amount in asked.items()})
    return requests(template, count)


SPARK_APPLICATION_SOURCE: Final = Source(
    "Spark operator", (RESOURCE,), SparkApplication, derive, controls=True
)
