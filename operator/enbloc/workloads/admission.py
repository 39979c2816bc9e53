# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The defaults that the API server sets when a pod is created, as far as scheduling reads them.

Source: kubernetes v1.36 pkg/apis/core/v1/defaults.go SetDefaults_Pod,
plugin/pkg/admission/priority/admission.go, and of StorageClasses
plugin/pkg/admission/storage/storageclass/setdefault/admission.go.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from enbloc.errors import UsageError
from enbloc.model.names import DEFAULT_SCHEDULER
from enbloc.model.near_words import near
from enbloc.model.text import quoted

_CONTAINERS: Final = ("initContainers", "containers")
_HUGE_PAGES: Final = "hugepages-"


class PriorityClass(NamedTuple):
    """A PriorityClass.

    Attributes:
        preempts: its pods may preempt others.
        default: pods that name no PriorityClass get this one.
    """

    value: int
    preempts: bool = True
    default: bool = False


#: The PriorityClasses that every cluster has.
BUILT_IN: Final = {
    "system-cluster-critical": PriorityClass(2_000_000_000),
    "system-node-critical": PriorityClass(2_000_001_000),
}


@dataclass(frozen=True, slots=True)
class Admission:
    """The defaults of a cluster.

    Attributes:
        classes: its PriorityClasses, by name.
        storage_class: the default StorageClass; "" = there is none, None = unknown.
    """

    classes: Mapping[str, PriorityClass] = field(default_factory=dict[str, PriorityClass])
    storage_class: str | None = ""

    def pod(self, pod: Mapping[str, Any], where: str) -> dict[str, Any]:
        """A pod as the API server stores it.

        Args:
            pod: as JSON; its spec is a mapping.
            where: the path of its template, for messages.

        Raises:
            UsageError: its PriorityClass does not exist.
        """
        spec = with_requests(pod["spec"])
        spec["schedulerName"] = spec.get("schedulerName") or DEFAULT_SCHEDULER
        if spec.get("hostNetwork") is True:
            _in_containers(spec, _with_host_ports)
        return {**pod, "spec": {**spec, **self._priority(spec, where)}}

    def _priority(self, spec: Mapping[str, Any], where: str) -> dict[str, Any]:
        name = spec.get("priorityClassName") or ""
        known = {**BUILT_IN, **self.classes}
        if not name:
            defaults = ((each.value, key) for key, each in self.classes.items() if each.default)
            name = min(defaults, default=(0, ""))[1]
        if not name:
            return {"priority": 0}
        if not isinstance(name, str) or name not in known:
            raise UsageError(
                f"{where}.priorityClassName: PriorityClass {quoted(str(name))} not found"
                f"{near(str(name), known)}; create it, or name one that exists"
            )
        found = known[name]
        made: dict[str, Any] = {"priority": found.value, "priorityClassName": name}
        if not found.preempts:
            made["preemptionPolicy"] = "Never"
        return made

    def claim(self, claim: Mapping[str, Any]) -> dict[str, Any]:
        """A PersistentVolumeClaim as the API server stores it."""
        spec = claim.get("spec")
        if not isinstance(spec, dict) or spec.get("storageClassName") is not None:
            return {**claim}
        if not self.storage_class:
            return {**claim}
        return {**claim, "spec": {**spec, "storageClassName": self.storage_class}}


def with_requests(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A pod's spec with requests set to the limits where they are missing.

    The limits of the pod count only for resources that none of its containers requests.

    Args:
        spec: as JSON; a pod template's has no such defaults yet.
    """
    made, asked = {**spec}, set[str]()

    def container(given: Mapping[str, Any]) -> dict[str, Any]:
        done = _requesting(given)
        resources = done.get("resources")
        requests = resources.get("requests") if isinstance(resources, dict) else None
        asked.update(requests if isinstance(requests, dict) else ())
        return done

    _in_containers(made, container)
    return _requesting(made, asked)


def _in_containers(
    spec: dict[str, Any], change: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> None:
    for containers in _CONTAINERS:
        listed = spec.get(containers)
        if isinstance(listed, list):
            spec[containers] = [change(each) if isinstance(each, dict) else each for each in listed]


def _requesting(of: Mapping[str, Any], asked: Collection[str] = ()) -> dict[str, Any]:
    """A container, or the spec of a pod of which containers request the resources `asked`."""
    resources = of.get("resources")
    if not isinstance(resources, dict):
        return {**of}
    return {**of, "resources": _resources(resources, asked)}


def _with_host_ports(container: Mapping[str, Any]) -> dict[str, Any]:
    ports = container.get("ports")
    if not isinstance(ports, list):
        return {**container}
    return {**container, "ports": [_host_port(each) for each in ports]}


def _resources(resources: Mapping[str, Any], asked: Collection[str]) -> dict[str, Any]:
    """The resources, with requests set to the limits where they are missing and none are `asked`.

    Huge pages cannot be overcommitted: a limit of them is always the request.
    """
    limits, requests = resources.get("limits"), resources.get("requests")
    if not isinstance(limits, dict):
        return {**resources}
    if requests is None:
        requests = {}
    own = {
        name: amount
        for name, amount in limits.items()
        if name not in asked or str(name).startswith(_HUGE_PAGES)
    }
    return {
        **resources,
        "requests": {**own, **requests} if isinstance(requests, dict) else requests,
    }


def _host_port(port: Any) -> Any:
    """A container's port with its hostPort set, for a pod on the node's network."""
    if not isinstance(port, dict) or port.get("hostPort"):
        return port
    return {**port, "hostPort": port.get("containerPort")}


def priority_classes(objects: Sequence[Mapping[str, Any]]) -> dict[str, PriorityClass]:
    """PriorityClasses from their JSON, by name; those without a value are left out."""
    found: dict[str, PriorityClass] = {}
    for each in objects:
        name, value = (each.get("metadata") or {}).get("name"), each.get("value")
        if isinstance(name, str) and isinstance(value, int):
            found[name] = PriorityClass(
                value,
                each.get("preemptionPolicy") != "Never",
                each.get("globalDefault") is True,
            )
    return found


def default_storage_class(objects: Sequence[Mapping[str, Any]]) -> str:
    """The default among StorageClasses, as JSON: the newest of those marked; "" = none."""
    marked: list[tuple[str, str]] = []
    for each in objects:
        metadata = each.get("metadata") or {}
        said = (metadata.get("annotations") or {}).get(_IS_DEFAULT)
        if said == "true":
            marked.append((str(metadata.get("creationTimestamp") or ""), str(metadata.get("name"))))
    newest = max((time for time, _ in marked), default="")
    return min((name for time, name in marked if time == newest), default="")


_IS_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
