# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A pod's spec, also inside templates: its defaults, what is wrong with it, its QoS class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from enbloc.model.quantity import amount
from enbloc_sandbox.apiserver.schema.metadata import check_labels, key_rule, label_rule, value_rule
from enbloc_sandbox.apiserver.status import (
    FieldError,
    forbidden_field,
    missing,
    not_supported,
    required,
    wrong,
)

Document = Mapping[str, Any]
Fresh = dict[str, Any]

_POLICIES: Final = ("Always", "OnFailure", "Never")
_OPERATORS: Final = ("Equal", "Exists")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def default_pod_spec(spec: Fresh) -> None:
    """The defaults of a pod's spec, also inside templates."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    if "serviceAccountName" in spec:
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    for container in _containers(spec):
        _default_container(container)


def _default_container(container: Fresh) -> None:
    image: str = container.get("image", "")
    latest = "@" not in image and (":" not in image.rpartition("/")[2] or image.endswith(":latest"))
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    resources = container.setdefault("resources", {})
    if "limits" in resources:
        resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None:
            for key, value in (
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            ):
                probe.setdefault(key, value)


def _containers(spec: Document) -> Iterator[Any]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def qos(spec: Document) -> str:
    """The quality-of-service class."""
    requests: dict[str, set[str]] = {}
    guaranteed = True
    for container in _containers(spec):
        resources = container.get("resources") or {}
        wants, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            if wants.get(name, "0") != "0" or limits.get(name, "0") != "0":
                requests.setdefault(name, set()).add(name)
            if limits.get(name, "0") == "0" or wants.get(name) != limits.get(name):
                guaranteed = False
    if not requests:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def check_pod_spec(path: str, spec: Document) -> list[FieldError]:
    """The errors of a pod's spec."""
    return list(_errors(path, spec))


def _errors(path: str, spec: Document) -> Iterator[FieldError]:
    names: set[str] = set()
    claims = sorted({one["name"] for one in spec.get("resourceClaims") or () if one.get("name")})
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    for field in ("initContainers", "containers"):
        for i, container in enumerate(spec.get(field) or ()):
            where = f"{path}.{field}[{i}]"
            yield from _container(where, container, names)
            used = (container.get("resources") or {}).get("claims") or ()
            yield from _used_claims(f"{where}.resources.claims", used, claims)
    if spec["restartPolicy"] not in _POLICIES:
        yield not_supported(f"{path}.restartPolicy", spec["restartPolicy"], _POLICIES)
    yield from check_labels(f"{path}.nodeSelector", spec.get("nodeSelector") or {})
    for i, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _toleration(f"{path}.tolerations[{i}]", toleration)
    yield from _gates(path, spec)


def _container(path: str, container: Document, names: set[str]) -> Iterator[FieldError]:
    name = container.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    elif rule := label_rule(name):
        yield wrong(f"{path}.name", name, rule)
    elif name in names:
        yield FieldError(f"{path}.name", "Duplicate value", "", name)
    names.add(name)
    if not container.get("image"):
        yield required(f"{path}.image")
    yield from _resources(f"{path}.resources", container.get("resources") or {})


def _used_claims(
    path: str, used: Sequence[Document], claims: Sequence[str]
) -> Iterator[FieldError]:
    """The claims that a container uses are claims of its pod, and none twice.

    Source: kube-apiserver v1.36 pkg/apis/core/validation/validation.go validateResourceClaimNames.
    """
    seen: set[str] = set()
    for i, one in enumerate(used):
        name, request = one.get("name") or "", one.get("request") or ""
        if not name:
            yield required(f"{path}[{i}]")
            continue
        key = f"{name}/{request}" if request else name
        if name in seen:
            yield FieldError(f"{path}[{i}]", "Duplicate value", "", name)
        elif key in seen:
            yield FieldError(f"{path}[{i}]", "Duplicate value", "", key)
        elif not request:
            for _ in (each for each in seen if each.startswith(f"{name}/")):
                yield FieldError(f"{path}[{i}]", "Duplicate value", "", name)
        seen.add(key)
        if name not in claims:
            known = f": {', '.join(claims)}" if claims else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{known}"
            yield missing(f"{path}[{i}]", name, detail)


def _resources(path: str, resources: Document) -> Iterator[FieldError]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, text in limits.items():
        yield from _quantity(f"{path}.limits[{name}]", name, text)
    for name, text in requests.items():
        yield from _quantity(f"{path}.requests[{name}]", name, text)
        if name not in limits:
            if _counted(name):
                detail = "Limit must be set for non overcommitable resources"
                yield required(f"{path}.limits", detail)
            continue
        limit = limits[name]
        if text.startswith("-") or limit.startswith("-"):
            continue
        if _counted(name) and amount(name, text) != amount(name, limit):
            yield wrong(f"{path}.requests", text, f"must be equal to {name} limit of {limit}")
        elif amount(name, text) > amount(name, limit):
            detail = f"must be less than or equal to {name} limit of {limit}"
            yield wrong(f"{path}.requests", text, detail)


def _quantity(path: str, name: str, text: str) -> Iterator[FieldError]:
    if text.startswith("-"):
        yield wrong(path, text, "must be greater than or equal to 0")
    # Quantities are canonical here: only parts of one have these suffixes.
    if _counted(name) and text.endswith(("m", "u", "n")):
        yield wrong(path, text, "must be an integer")


def _counted(name: str) -> bool:
    """Whether a resource is an extended one: whole devices that nobody shares."""
    return "/" in name and "kubernetes.io/" not in name


def _toleration(path: str, toleration: Document) -> Iterator[FieldError]:
    key, value = toleration.get("key") or "", toleration.get("value") or ""
    operator, effect = toleration.get("operator") or "", toleration.get("effect") or ""
    if key and (rule := key_rule(key)):
        yield wrong(f"{path}.key", key, rule)
    if not key and operator != "Exists":
        detail = (
            'operator must be Exists when `key` is empty, which means "match all values and all '
            'keys"'
        )
        yield wrong(f"{path}.operator", operator, detail)
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield wrong(f"{path}.effect", effect, detail)
    if operator not in {"", *_OPERATORS}:
        yield not_supported(f"{path}.operator", operator, _OPERATORS)
    elif operator == "Exists" and value:
        yield wrong(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif rule := value_rule(value):
        yield wrong(f"{path}.operator", value, rule)
    if effect not in {"", *_EFFECTS}:
        yield not_supported(f"{path}.effect", effect, _EFFECTS)


def _gates(path: str, spec: Document) -> Iterator[FieldError]:
    gates = spec.get("schedulingGates") or ()
    for i, gate in enumerate(gates):
        if rule := key_rule(gate.get("name") or ""):
            yield wrong(f"{path}.schedulingGates[{i}]", gate.get("name") or "", rule)
    if gates and spec.get("nodeName"):
        detail = "cannot be set until all schedulingGates have been cleared"
        yield forbidden_field(f"{path}.nodeName", detail)
