# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the driver and the executors of a SparkApplication request, and of which containers.

From Spark 4.0, resource-managers/kubernetes/core/…/BasicDriverFeatureStep.scala,
BasicExecutorFeatureStep.scala and KubernetesUtils.scala selectSparkContainer; spark-operator v2.3
internal/controller/sparkapplication/submission.go driverPodTemplateOption,
executorPodTemplateOption; internal/webhook/sparkpod_defaulter.go addGPU, addSidecarContainers,
addInitContainers.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from enbloc.model.quantity import amount

#: Memory in the JVM's notation; the default unit is MiB.
_JVM: Final = re.compile(r"([0-9]{1,15})([kmgtp]?)b?")
_MIB: Final = 1 << 20
_UNITS: Final = {"k": 1 << 10, "": _MIB, "m": _MIB, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_LEAST_OVERHEAD: Final = 384 * _MIB
_DEFAULT_MEMORY: Final = 1 << 30
#: The share of the heap that a JVM needs in addition, and the share with processes beside the JVM.
_JVM_FACTOR: Final = 0.1
_OTHER_FACTOR: Final = 0.4
_JVM_TYPES: Final = frozenset({"", "Java", "Scala"})


class Gpu(msgspec.Struct, gc=False, rename="camel"):
    """`gpu` of a driver or executor."""

    name: str = ""
    quantity: int | None = None


class Requesting(msgspec.Struct, gc=False, rename="camel"):
    """`spec.driver` or `spec.executor`, the fields by which its pods request resources."""

    cores: int | None = None
    core_request: str | None = None
    memory: str | None = None
    memory_overhead: str | None = None
    gpu: Gpu | None = None
    sidecars: tuple[dict[str, Any], ...] | None = None
    init_containers: tuple[dict[str, Any], ...] | None = None


def cpu(cores: int, core_request: str | None) -> int:
    """The CPU request of one pod, in milli.

    Args:
        cores: requested by default.
        core_request: a quantity that is requested instead; None = none.
    """
    if core_request:
        with suppress(ValueError):  # the operator rejects an invalid one
            return amount("cpu", core_request)
    return 1000 * cores


def memory(heap: str | None, overhead: str | None, kind: str | None, factor: str | None) -> int:
    """The memory request of one pod, in bytes, rounded up to whole MiB.

    Args:
        heap: in the JVM's notation; None = the default.
        overhead: in addition to the heap, in the same notation; None = by `factor` or the default.
        kind: `spec.type`.
        factor: `spec.memoryOverheadFactor`.
    """
    asked = _bytes(heap, _DEFAULT_MEMORY)
    share = _JVM_FACTOR if (kind or "") in _JVM_TYPES else _OTHER_FACTOR
    if factor:
        with suppress(ValueError):
            share = float(factor)
    least = max(_LEAST_OVERHEAD, int(asked * share) if 0 <= share <= 100 else 0)
    whole = asked + _bytes(overhead, least)
    return -(-whole // _MIB) * _MIB


def containers(
    role: str,
    template: Mapping[str, Any],
    given: Requesting,
    requests: Mapping[str, str],
    gpus: int,
) -> dict[str, list[Any]]:
    """`containers` and `initContainers` of a role's pods, as JSON; Spark's container comes first.

    Args:
        role: "driver" or "executor".
        template: `spec` of its pod template, as JSON.
        given: the role.
        requests: what Spark requests; its container keeps what the template requests besides.
        gpus: the number of `given.gpu`; 0 = as many as in the template.
    """
    name, others = f"spark-kubernetes-{role}", _listed(template, "containers")
    names = [each.get("name") if isinstance(each, dict) else None for each in others]
    main = others.pop(names.index(name) if name in names else 0) if others else None
    spark: dict[str, Any] = {"name": name, **(main if isinstance(main, dict) else {})}
    limits = {given.gpu.name: str(gpus)} if given.gpu and given.gpu.name and gpus else {}
    under = spark.get("resources")
    resources: dict[str, Any] = {**under} if isinstance(under, dict) else {}
    for field, own in (("requests", {**requests, **limits}), ("limits", limits)):
        amounts = resources.get(field)
        resources[field] = {**(amounts if isinstance(amounts, dict) else {}), **own}
    return {
        "containers": _with([{**spark, "resources": resources}, *others], given.sidecars),
        "initContainers": _with(_listed(template, "initContainers"), given.init_containers),
    }


def _listed(of: Mapping[str, Any], field: str) -> list[Any]:
    found = of.get(field)
    return [*found] if isinstance(found, list) else []


def _with(listed: Sequence[Any], more: Sequence[Mapping[str, Any]] | None) -> list[Any]:
    """The containers, and each of `more` unless one before it has its name and image."""
    made, known = [*listed], {_name_and_image(each) for each in listed}
    for each in more or ():
        if (key := _name_and_image(each)) not in known:
            known.add(key)
            made.append(each)
    return made


def _name_and_image(container: Any) -> tuple[str, str]:
    if not isinstance(container, dict):
        return "", ""
    return str(container.get("name")), str(container.get("image"))


def _bytes(text: str | None, default: int) -> int:
    found = _JVM.fullmatch((text or "").strip().lower().removesuffix("ib"))
    return int(found[1]) * _UNITS[found[2]] if found else default
