# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The class of a pod: from its spec's JSON fields to an interned PodSpec.

Pods from one template share one PodSpec: the fields that make the class are encoded to bytes,
and the bytes are looked up; only a class not seen lately is computed.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from enbloc.model.objects import (
    Affinity,
    Container,
    ContainerStatus,
    Expression,
    PodObject,
    PodStatusObject,
    Quantities,
    ResourceRequirements,
    SelectorTerm,
    SpreadConstraint,
    Texts,
    TolerationObject,
    Volume,
)
from enbloc.model.pods import NodeSelectorTerm, PodSpec
from enbloc.model.quantity import amount
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.resources import ContainerDemand, pod_demand
from enbloc.model.taints import Effect, Toleration, TolerationOperator

_RESIZE_PENDING: Final = "PodResizePending"
_INFEASIBLE: Final = "Infeasible"
_DO_NOT_SCHEDULE: Final = "DoNotSchedule"
_ALWAYS: Final = "Always"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


class _Class(msgspec.Struct, gc=False, array_like=True):
    """Every field that makes the class of a pod.

    The last ones say what an in-place resize has given (framework.md §8.2); they stay empty for a
    pod that is not bound.
    """

    containers: tuple[Container, ...] | None
    init_containers: tuple[Container, ...] | None
    resources: ResourceRequirements | None
    overhead: Quantities | None
    node_selector: Texts | None
    affinity: Affinity | None
    tolerations: tuple[TolerationObject, ...] | None
    spread: tuple[SpreadConstraint, ...] | None
    volumes: tuple[Volume, ...] | None
    claims: int = 0
    statuses: tuple[ContainerStatus, ...] = ()
    given: ResourceRequirements | None = None
    allocated: Quantities | None = None
    infeasible: bool = False


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Class)


class Problems(list[str]):
    """What could not be read, each with its field and the fix; such a part counts as absent."""

    def text(self) -> str:
        """All of them in one line."""
        return "; ".join(self)


def pod_class(obj: PodObject) -> tuple[PodSpec, str]:
    """The interned class of a pod, and what of it could not be read ("" = nothing)."""
    spec = obj.spec
    if spec is None:
        return PodSpec(), "spec: missing; a pod has one"
    made = _Class(
        spec.containers,
        spec.init_containers,
        spec.resources,
        spec.overhead,
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.topology_spread_constraints,
        spec.volumes,
        len(spec.resource_claims or ()),
    )
    if spec.node_name and obj.status is not None:
        _note_resize(made, obj.status)
    return _read(_ENCODER.encode(made))


def quantities(given: Quantities | None, path: str, problems: Problems) -> dict[str, int]:
    """Amounts by resource name; what cannot be read is left out and reported."""
    amounts: dict[str, int] = {}
    for name, text in (given or {}).items():
        try:
            amounts[name] = amount(name, text)
        except ValueError as error:
            problems.append(f"{path}[{name}]: {error}")
    return amounts


def _note_resize(made: _Class, status: PodStatusObject) -> None:
    statuses = (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    made.statuses = tuple(each for each in statuses if each.resources)
    made.given, made.allocated = status.resources, status.allocated_resources
    made.infeasible = any(
        each.type == _RESIZE_PENDING and each.reason == _INFEASIBLE
        for each in status.conditions or ()
    )


@lru_cache(maxsize=8192)
def _read(key: bytes) -> tuple[PodSpec, str]:
    fields = _DECODER.decode(key)
    problems = Problems()
    demand = _Demand(fields, problems)
    requests, cpu, memory = pod_demand(
        demand.containers(fields.containers, "containers"),
        demand.containers(fields.init_containers, "initContainers", init=True),
        demand.pod_level(),
        quantities(fields.overhead, "spec.overhead", problems),
    )
    spec = PodSpec(
        requests=requests,
        nonzero_cpu=cpu,
        nonzero_memory=memory,
        node_selector=tuple(sorted((fields.node_selector or {}).items())),
        node_affinity=_node_affinity(fields.affinity, problems),
        tolerations=_tolerations(fields.tolerations or (), problems),
        claims=tuple(_unhonoured(fields)),
    )
    return _interned(spec), problems.text()


@lru_cache(maxsize=8192)
def _interned(spec: PodSpec) -> PodSpec:
    """The one object that stands for all equal ones."""
    return spec


class _Demand:
    """Requests as the spec gives them, or as a resize in place has changed them."""

    def __init__(self, fields: _Class, problems: Problems) -> None:
        self._fields = fields
        self._statuses = {status.name: status for status in fields.statuses}
        self._problems = problems

    def containers(
        self, containers: Iterable[Container] | None, field: str, *, init: bool = False
    ) -> list[ContainerDemand]:
        demands: list[ContainerDemand] = []
        for position, container in enumerate(containers or ()):
            sidecar = init and container.restart_policy == _ALWAYS
            path = f"spec.{field}[{position}].resources.requests"
            asked = quantities(_requests(container.resources), path, self._problems)
            status = self._statuses.get(container.name)
            if status is not None and (sidecar or not init):
                asked = self._resized(asked, status.resources, status.allocated_resources)
            demands.append(ContainerDemand(asked, sidecar=sidecar))
        return demands

    def pod_level(self) -> dict[str, int]:
        asked = quantities(
            _requests(self._fields.resources), "spec.resources.requests", self._problems
        )
        if self._fields.given is None:
            return asked
        resized = self._resized(asked, self._fields.given, self._fields.allocated)
        return {name: resized.get(name, 0) for name in asked}

    def _resized(
        self,
        asked: Mapping[str, int],
        given: ResourceRequirements | None,
        allocated: Quantities | None,
    ) -> dict[str, int]:
        """The largest of asked, given and allocated; an infeasible resize does not count."""
        largest = {} if self._fields.infeasible else dict(asked)
        for path, some in (
            ("status.resources.requests", _requests(given)),
            ("status.allocatedResources", allocated),
        ):
            for name, value in quantities(some, path, self._problems).items():
                largest[name] = max(largest.get(name, 0), value)
        return largest


def _requests(resources: ResourceRequirements | None) -> Quantities | None:
    return resources.requests if resources else None


def _node_affinity(
    affinity: Affinity | None, problems: Problems
) -> tuple[NodeSelectorTerm, ...] | None:
    node = affinity.node_affinity if affinity else None
    if node is None or node.required is None:
        return None
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    terms = node.required.node_selector_terms or ()
    return tuple(
        _term(term, f"{path}[{position}]", problems) for position, term in enumerate(terms)
    )


def _term(term: SelectorTerm, path: str, problems: Problems) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        _requirements(term.match_expressions, f"{path}.matchExpressions", problems),
        _requirements(term.match_fields, f"{path}.matchFields", problems),
    )


def _requirements(
    expressions: Iterable[Expression] | None, path: str, problems: Problems
) -> tuple[Requirement, ...]:
    requirements: list[Requirement] = []
    for position, expression in enumerate(expressions or ()):
        try:
            operator = Operator(expression.operator)
        except ValueError:
            problems.append(
                f'{path}[{position}].operator: unknown "{expression.operator}"; '
                f"use one of {', '.join(Operator)}"
            )
            continue
        requirements.append(Requirement(expression.key, operator, expression.values or ()))
    return tuple(requirements)


def _tolerations(given: Iterable[TolerationObject], problems: Problems) -> tuple[Toleration, ...]:
    tolerations: list[Toleration] = []
    for position, each in enumerate(given):
        try:
            operator = TolerationOperator(each.operator or TolerationOperator.EQUAL)
            effect = Effect(each.effect) if each.effect else None
        except ValueError as error:
            problems.append(
                f"spec.tolerations[{position}]: {error}; operators are "
                f"{', '.join(TolerationOperator)}, effects {', '.join(Effect)}"
            )
            continue
        tolerations.append(Toleration(each.key or "", operator, each.value or "", effect))
    return tuple(tolerations)


def _unhonoured(fields: _Class) -> Iterable[str]:
    """Paths of constraints that no plugin honours yet."""
    affinity = fields.affinity or Affinity()
    for name, pods in (
        ("podAffinity", affinity.pod_affinity),
        ("podAntiAffinity", affinity.pod_anti_affinity),
    ):
        if pods and pods.required:
            yield f"spec.affinity.{name}.{_REQUIRED}"
    for position, constraint in enumerate(fields.spread or ()):
        if constraint.when_unsatisfiable in (_DO_NOT_SCHEDULE, None):
            yield f"spec.topologySpreadConstraints[{position}]"
    yield from _host_ports("containers", fields.containers or ())
    yield from _host_ports("initContainers", fields.init_containers or (), only=_ALWAYS)
    for position, volume in enumerate(fields.volumes or ()):
        if volume.persistent_volume_claim is not None:
            yield f"spec.volumes[{position}].persistentVolumeClaim"
        if volume.ephemeral is not None:
            yield f"spec.volumes[{position}].ephemeral"
    if fields.claims:
        yield "spec.resourceClaims"


def _host_ports(field: str, containers: Iterable[Container], only: str = "") -> Iterable[str]:
    """Paths of host ports; `only` = the restart policy of the containers that count."""
    for position, container in enumerate(containers):
        if only and container.restart_policy != only:
            continue
        for number, port in enumerate(container.ports or ()):
            if port.host_port:
                yield f"spec.{field}[{position}].ports[{number}].hostPort"
