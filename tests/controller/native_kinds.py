# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own PodGroup and CompositePodGroup as 1.37 serves them, for an older sandbox.

Source of the fields and of what may change: k8s.io/api v0.37, scheduling/v1beta1/types.go and
scheduling/v1alpha3/types.go. No
cluster ever gets this group as a custom one: there it is built in.
"""

from typing import Any

from enbloc.client.paths import CRDS, Resource

_TEXT = {"type": "string"}
_EMPTY = {"type": "object"}
_ONE_OF = "has(self.{0}) != has(self.{1})"


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _either(first: str, second: str, **properties: Any) -> dict[str, Any]:
    rule = {"rule": _ONE_OF.format(first, second), "message": f"one of {first} and {second}"}
    return {**_object(**properties), "x-kubernetes-validations": [rule]}


_IMMUTABLE = {
    "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "field is immutable"}]
}
_SPEC = _object(
    parentCompositePodGroupName={**_TEXT, **_IMMUTABLE},
    workloadRef={**_object(workloadName=_TEXT, templateName=_TEXT), **_IMMUTABLE},
    schedulingPolicy=_either(
        "basic",
        "gang",
        basic=_EMPTY,
        gang=_object(minCount={"type": "integer", "format": "int32", "minimum": 1}),
    ),
    schedulingConstraints={
        **_object(topology={"type": "array", "maxItems": 1, "items": _object(key=_TEXT)}),
        **_IMMUTABLE,
    },
    resourceClaims={
        "type": "array",
        "maxItems": 4,
        "items": _object(name=_TEXT, resourceClaimName=_TEXT, resourceClaimTemplateName=_TEXT),
    },
    disruptionMode={**_either("single", "all", single=_EMPTY, all=_EMPTY), **_IMMUTABLE},
    priorityClassName={**_TEXT, **_IMMUTABLE},
    priority={"type": "integer", "format": "int32"},
    preemptionPolicy={"type": "string", "enum": ["Never", "PreemptLowerPriority"]},
)
_TREE_SPEC = _object(
    parentCompositePodGroupName={**_TEXT, **_IMMUTABLE},
    workloadRef={**_object(workloadName=_TEXT, templateName=_TEXT), **_IMMUTABLE},
    schedulingPolicy=_either(
        "basic",
        "gang",
        basic=_EMPTY,
        gang=_object(minGroupCount={"type": "integer", "format": "int32", "minimum": 1}),
    ),
    schedulingConstraints=_SPEC["properties"]["schedulingConstraints"],
    disruptionMode=_SPEC["properties"]["disruptionMode"],
    priorityClassName={**_TEXT, **_IMMUTABLE},
    priority={"type": "integer", "format": "int32"},
    preemptionPolicy={"type": "string", "enum": ["Never", "PreemptLowerPriority"]},
)
_CONDITION = {
    **_object(
        type=_TEXT,
        status={"type": "string", "enum": ["True", "False", "Unknown"]},
        observedGeneration={"type": "integer", "format": "int64"},
        lastTransitionTime={"type": "string", "format": "date-time"},
        reason={"type": "string", "minLength": 1},
        message=_TEXT,
    ),
    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
}
_STATUS = _object(
    conditions={
        "type": "array",
        "items": _CONDITION,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }
)


def crd(*resources: Resource) -> dict[str, Any]:
    """The definition that serves these versions, the first of which is stored."""
    [first, *_] = resources
    spec = _SPEC if first.plural == "podgroups" else _TREE_SPEC
    schema = {**_object(spec=spec, status=_STATUS), "required": ["spec"]}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": first.label()},
        "spec": {
            "group": first.group,
            "scope": "Namespaced",
            "names": {"kind": first.kind, "plural": first.plural, "singular": first.kind.lower()},
            "versions": [
                {
                    "name": each.version,
                    "served": True,
                    "storage": each is first,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
                for each in resources
            ],
        },
    }
