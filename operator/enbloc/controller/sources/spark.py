# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""SparkApplications of the Spark operator: a PodGroup each, of driver and executors.

The driver creates the executors, so it alone is counted, and capacity for all is reserved. Source
of the amounts: spark-operator v2.3, pkg/util/sparkapplication.go GetInitialExecutorNumber;
Spark 4.0, resource-managers/kubernetes/core/…/BasicDriverFeatureStep.scala.
"""

import re
from collections import Counter
from contextlib import suppress
from typing import Final

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.sources.source import Derived, RefusedGroup, Source, SourceObject
from enbloc.controller.sources.topology_keys import PodMetadata, with_topology
from enbloc.controller.sources.workloads import (
    MetadataOnly,
    Part,
    bounded,
    metadata_of,
    of_roles,
)
from enbloc.model.quantity import amount
from enbloc.wire.auto_groups import DRIVER, EXECUTOR, SPARK_APPLICATION, group_name
from enbloc.wire.objects import Texts

RESOURCE: Final = Resource(
    "sparkoperator.k8s.io", "v1beta2", "sparkapplications", SPARK_APPLICATION
)
#: Memory as the JVM writes it; without a unit it is MiB.
_JVM: Final = re.compile(r"([0-9]{1,15})([kmgtp]?)b?")
_MIB: Final = 1 << 20
_UNITS: Final = {"k": 1 << 10, "": _MIB, "m": _MIB, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_LEAST_OVERHEAD: Final = 384 * _MIB
_DEFAULT_MEMORY: Final = 1 << 30
_DEFAULT_EXECUTORS: Final = 2
#: What a JVM needs beside its heap, and what the processes beside a JVM need.
_JVM_FACTOR: Final = 0.1
_OTHER_FACTOR: Final = 0.4
_JVM_TYPES: Final = frozenset({"", "Java", "Scala"})


class _Gpu(Part):
    name: str = ""
    quantity: int | None = None


class _Pod(Part):
    cores: int | None = None
    core_request: str | None = None
    memory: str | None = None
    memory_overhead: str | None = None
    instances: int | None = None
    gpu: _Gpu | None = None
    labels: Texts | None = None
    annotations: Texts | None = None
    template: MetadataOnly | None = None

    @property
    def metadata(self) -> PodMetadata:
        """What is written into the metadata of its pods; what stands in the template gives way."""
        under = metadata_of(self.template) or PodMetadata()
        return PodMetadata(
            {**(under.labels or {}), **(self.labels or {})},
            {**(under.annotations or {}), **(self.annotations or {})},
        )


class _Allocation(Part):
    enabled: bool | None = None
    initial_executors: int | None = None
    min_executors: int | None = None


class _Spec(Part):
    type: str | None = None
    memory_overhead_factor: str | None = None
    driver: _Pod = msgspec.field(default_factory=_Pod)
    executor: _Pod = msgspec.field(default_factory=_Pod)
    dynamic_allocation: _Allocation | None = None


class SparkApplication(SourceObject):
    """A SparkApplication."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: SparkApplication) -> Derived | RefusedGroup:
    """The driver, and capacity for it and the executors that it starts with."""
    spec = found.spec
    dynamic = spec.dynamic_allocation
    if dynamic is not None and dynamic.enabled:
        starts = (spec.executor.instances, dynamic.initial_executors, dynamic.min_executors)
        executors = max(bounded(each, 0) for each in starts)
    else:
        executors = bounded(spec.executor.instances, _DEFAULT_EXECUTORS)
    reserved = Counter(_requests(spec.driver, spec))
    for name, each in _requests(spec.executor, spec).items():
        reserved[name] += each * executors
    roles = [(DRIVER, 1), (EXECUTOR, 0)]
    name = group_name(SPARK_APPLICATION, found.metadata.name)
    metadata = (DRIVER, spec.driver.metadata), (EXECUTOR, spec.executor.metadata)
    return with_topology(of_roles(roles, name, reserved), metadata)


def _requests(pod: _Pod, spec: _Spec) -> dict[str, int]:
    """What one pod asks for, by resource, CPU in milli."""
    asked = {"cpu": 1000 * bounded(pod.cores), "memory": _memory(pod, spec)}
    if pod.core_request:
        with suppress(ValueError):  # the operator refuses it
            asked["cpu"] = amount("cpu", pod.core_request)
    if pod.gpu is not None and pod.gpu.name:
        asked[pod.gpu.name] = bounded(pod.gpu.quantity, 0)
    return asked


def _memory(pod: _Pod, spec: _Spec) -> int:
    heap = _bytes(pod.memory, _DEFAULT_MEMORY)
    factor = _JVM_FACTOR if (spec.type or "") in _JVM_TYPES else _OTHER_FACTOR
    if spec.memory_overhead_factor:
        with suppress(ValueError):
            factor = float(spec.memory_overhead_factor)
    overhead = max(_LEAST_OVERHEAD, int(heap * factor) if 0 <= factor <= 100 else 0)
    whole = heap + _bytes(pod.memory_overhead, overhead)
    return -(-whole // _MIB) * _MIB


def _bytes(text: str | None, default: int) -> int:
    found = _JVM.fullmatch((text or "").strip().lower().removesuffix("ib"))
    return int(found[1]) * _UNITS[found[2]] if found else default


SPARK_APPLICATION_SOURCE: Final = Source(
    "Spark operator", (RESOURCE,), SparkApplication, derive, controls=True
)
