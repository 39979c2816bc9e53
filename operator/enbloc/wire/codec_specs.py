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

from enbloc.model.limits import limited
from enbloc.model.pods import (
    ANY_ADDRESS,
    ContainerResource,
    HostPort,
    HostPorts,
    PodResourceClaim,
    PodSpec,
    PodVolume,
)
from enbloc.model.resources import ContainerDemand, may_be_devices, pod_demand
from enbloc.model.taints import Effect, Toleration, TolerationOperator
from enbloc.wire.codec_selectors import (
    pod_affinity,
    preferred_node_terms,
    required_node_terms,
    spread_constraints,
)
from enbloc.wire.codec_volumes import image_volumes, pod_resource_claims, pod_volumes
from enbloc.wire.objects import (
    PREFERRED,
    REQUIRED,
    Affinity,
    Container,
    ContainerStatus,
    NodeAffinityObject,
    PodObject,
    PodStatusObject,
    Quantities,
    ResourceRequirements,
    SpreadObject,
    Texts,
    TolerationObject,
)
from enbloc.wire.problems import Problems, quantities

_RESIZE_PENDING: Final = "PodResizePending"
_INFEASIBLE: Final = "Infeasible"
_ALWAYS: Final = "Always"
_RESTART_ALL: Final = "RestartAllContainers"
_TCP: Final = "TCP"
_NODE: Final = "spec.affinity.nodeAffinity"
_SPREAD: Final = "spec.topologySpreadConstraints"


class _Class(msgspec.Struct, gc=False, array_like=True):
    """Every field that makes the class of a pod.

    The last ones hold what an in-place resize has given; they are empty for unbound pods.
    """

    containers: tuple[Container, ...] | None
    init_containers: tuple[Container, ...] | None
    resources: ResourceRequirements | None
    overhead: Quantities | None
    node_selector: Texts | None
    affinity: Affinity | None
    tolerations: tuple[TolerationObject, ...] | None
    spread: tuple[SpreadObject, ...] | None
    volumes: tuple[PodVolume, ...]
    image_volumes: tuple[str, ...] = ()
    claims: tuple[PodResourceClaim, ...] = ()
    host_network_without_host_users: bool = False
    statuses: tuple[ContainerStatus, ...] = ()
    given: ResourceRequirements | None = None
    allocated: Quantities | None = None
    infeasible: bool = False


#: Sizes in bytes, and how many classes up to each size are cached: the larger, the fewer, to bound
#: what artificial classes of pods long gone take. The decoded form takes a few times as many bytes.
_SMALL: Final = 4 * 1024
_MIDDLE: Final = 32 * 1024
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Class)


def pod_class(obj: PodObject) -> tuple[PodSpec, str]:
    """The interned class of a pod, and what could not be read of it ("" = nothing)."""
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
        pod_volumes(spec.volumes) if spec.volumes else (),
        image_volumes(spec.volumes) if spec.volumes else (),
        pod_resource_claims(spec.resource_claims) if spec.resource_claims else (),
        bool(spec.host_network) and spec.host_users is False,
    )
    if spec.node_name and obj.status is not None:
        _note_resize(made, obj.status)
    key = _ENCODER.encode(made)
    if len(key) <= _SMALL:
        return _read(key)
    return _read_middle(key) if len(key) <= _MIDDLE else _read_large(key)


def _note_resize(made: _Class, status: PodStatusObject) -> None:
    statuses = (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    made.statuses = tuple([each for each in statuses if each.resources])
    made.given, made.allocated = status.resources, status.allocated_resources
    for each in status.conditions or ():
        if each.type == _RESIZE_PENDING:
            made.infeasible = each.reason == _INFEASIBLE


@lru_cache(maxsize=4096)
def _read(key: bytes) -> tuple[PodSpec, str]:
    spec, problem = _decoded(key)
    return _interned(spec), problem


@lru_cache(maxsize=256)
def _read_middle(key: bytes) -> tuple[PodSpec, str]:
    """As `_read`."""
    return _decoded(key)


@lru_cache(maxsize=4)
def _read_large(key: bytes) -> tuple[PodSpec, str]:
    """As `_read`, for classes that may have more than a megabyte."""
    return _decoded(key)


def _decoded(key: bytes) -> tuple[PodSpec, str]:
    fields = _DECODER.decode(key)
    problems = Problems()
    demand = _Demand(fields, problems)
    requests, cpu, memory, fit_scored = pod_demand(
        demand.containers(fields.containers, "containers"),
        demand.containers(fields.init_containers, "initContainers", init=True),
        demand.pod_level(),
        quantities(fields.overhead, "spec.overhead", problems),
    )
    affinity = fields.affinity or Affinity()
    near = affinity.node_affinity or NodeAffinityObject()
    spec = PodSpec(
        requests=requests,
        nonzero_cpu=cpu,
        nonzero_memory=memory,
        node_selector=tuple(sorted((fields.node_selector or {}).items())),
        node_affinity=required_node_terms(near.required, f"{_NODE}.{REQUIRED}", problems),
        preferred_node_affinity=preferred_node_terms(
            near.preferred or (), f"{_NODE}.{PREFERRED}", problems
        ),
        tolerations=_tolerations(fields.tolerations or (), problems),
        host_ports=HostPorts(_host_ports(fields)),
        spread=spread_constraints(fields.spread or (), _SPREAD, problems),
        pod_affinity=pod_affinity(affinity.pod_affinity, "spec.affinity.podAffinity", problems),
        pod_anti_affinity=pod_affinity(
            affinity.pod_anti_affinity, "spec.affinity.podAntiAffinity", problems
        ),
        images=tuple(_image(each.image) for each in _every_container(fields) if each.image),
        image_volumes=tuple(map(_image, fields.image_volumes)),
        features=tuple(_features(fields)),
        volumes=fields.volumes,
        resource_claims=fields.claims,
        extended=tuple(_extended(fields)),
        fit_scored=fit_scored,
        size=len(key),
    )
    return limited(spec, problems), problems.text()


@lru_cache(maxsize=4096)
def _interned(spec: PodSpec) -> PodSpec:
    """The one object that stands for all equal ones."""
    return spec


class _Demand:
    """Requests from the spec, or as changed by an in-place resize."""

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


def _host_ports(fields: _Class) -> Iterable[HostPort]:
    """The ports of containers that run as long as the pod: sidecars and regular containers."""
    for container in (*_sidecars(fields), *(fields.containers or ())):
        for port in container.ports or ():
            if port.host_port and port.host_port > 0:
                yield HostPort(port.host_ip or ANY_ADDRESS, port.protocol or _TCP, port.host_port)


def _sidecars(fields: _Class) -> Iterable[Container]:
    return (each for each in fields.init_containers or () if each.restart_policy == _ALWAYS)


def _every_container(fields: _Class) -> Iterable[Container]:
    return (*(fields.init_containers or ()), *(fields.containers or ()))


def _extended(fields: _Class) -> Iterable[ContainerResource]:
    """What containers request of resources that devices may serve."""
    first = len(fields.init_containers or ())
    for at, each in enumerate(_every_container(fields)):
        requests = _requests(each.resources) or {}
        for place, name in enumerate(sorted(requests)):
            if may_be_devices(name):
                init = at < first and each.restart_policy != _ALWAYS
                amount = quantities({name: requests[name]}, "", Problems()).get(name, 0)
                yield ContainerResource(at, each.name, name, place, amount, init)


def _image(name: str) -> str:
    """The name under which a node lists the image: with ":latest" if it has no tag."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def _features(fields: _Class) -> Iterable[str]:
    """What a node must declare for this pod, in name order.

    Source: kubernetes v1.36
    staging/src/k8s.io/component-helpers/nodedeclaredfeatures/features/registry.go AllFeatures.
    """
    rules = (rule for each in _every_container(fields) for rule in each.restart_policy_rules or ())
    if any(rule.action == _RESTART_ALL for rule in rules):
        yield "RestartAllContainersOnContainerExits"
    if fields.host_network_without_host_users:
        yield "UserNamespacesHostNetworkSupport"
