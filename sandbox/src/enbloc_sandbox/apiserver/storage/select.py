# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Label and field selectors, parsed once into predicates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc_sandbox.apiserver.status import bad_request
from enbloc_sandbox.apiserver.storage.catalog import Resource

Document = Mapping[str, Any]
Predicate = Callable[[Document], bool]

_SET: Final = re.compile(r"^([^\s,!=()]+)\s+(in|notin)\s*\(([^()]*)\)$")
_EQUAL: Final = re.compile(r"^([^\s,!=()]+)\s*(==|=|!=)\s*([^\s,!=()]*)$")
_EXISTS: Final = re.compile(r"^(!?)\s*([^\s,!=()]+)$")

#: Fields that may be selected besides metadata.name and metadata.namespace.
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "jobs.batch": ("status.successful",),
    "services": ("spec.clusterIP", "spec.type"),
    "replicationcontrollers": ("status.replicas",),
    "replicasets.apps": ("status.replicas",),
    "resourceslices.resource.k8s.io": ("spec.nodeName", "spec.driver"),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
}


@dataclass(frozen=True, slots=True)
class Selector:
    """Which objects of a table a request is about.

    Attributes:
        namespace: only this namespace, "" for all.
        name: only this name, from the path or from `metadata.name=`.
        node: only pods on this node (an index answers it), None for any.
        predicates: what else must hold.
    """

    namespace: str = ""
    name: str = ""
    node: str | None = None
    predicates: tuple[Predicate, ...] = ()

    def matches(self, obj: Document) -> bool:
        """Whether the object is among those asked for."""
        metadata = obj["metadata"]
        if self.namespace and metadata.get("namespace", "") != self.namespace:
            return False
        if self.name and metadata["name"] != self.name:
            return False
        if self.node is not None and (obj["spec"].get("nodeName") or "") != self.node:
            return False
        return all(predicate(obj) for predicate in self.predicates)

    @property
    def everything(self) -> bool:
        """Whether nothing but the namespace is asked for."""
        return not self.name and self.node is None and not self.predicates


def parse(resource: Resource, namespace: str, labels: str, fields: str) -> Selector:
    """The selector of a request; Refused 400 for what cannot be parsed or is not supported."""
    name, node = "", None
    predicates = [_on_labels(term) for term in label_terms(labels)]
    for path, negated, value in _field_terms(fields):
        if not _supported(resource, path):
            raise bad_request(f"field label not supported: {path}")
        if path == "metadata.name" and not negated and not name:
            name = value
        elif path == "spec.nodeName" and resource.storage == "pods" and not negated:
            node = value
        else:
            predicates.append(_on_field(path, value, negated))
    return Selector(namespace, name, node, tuple(predicates))


def _supported(resource: Resource, path: str) -> bool:
    if path == "metadata.name" or (path == "metadata.namespace" and resource.namespaced):
        return True
    if resource.custom is not None:
        return path in resource.custom.selectable
    return path in _FIELDS.get(resource.storage, ())


def label_terms(text: str) -> list[tuple[str, str, frozenset[str]]]:
    """(key, operator, values) of each requirement; Refused 400 for what cannot be parsed."""
    terms: list[tuple[str, str, frozenset[str]]] = []
    for part in re.split(r",(?![^(]*\))", text):
        term = part.strip()
        if not term:
            if text.strip():
                raise bad_request(f'unable to parse requirement: "{text}" has an empty term')
            continue
        if found := _SET.match(term):
            values = frozenset(value.strip() for value in found[3].split(","))
            terms.append((found[1], found[2], values))
        elif found := _EQUAL.match(term):
            terms.append((found[1], "notin" if found[2] == "!=" else "in", frozenset({found[3]})))
        elif found := _EXISTS.match(term):
            terms.append((found[2], "absent" if found[1] else "exists", frozenset()))
        else:
            raise bad_request(f'unable to parse requirement: "{term}" is no label selector')
    return terms


def _on_labels(term: tuple[str, str, frozenset[str]]) -> Predicate:
    key, operator, values = term

    def labels(obj: Document) -> Mapping[str, str]:
        return obj["metadata"].get("labels") or {}

    if operator == "in":
        return lambda obj: labels(obj).get(key) in values
    if operator == "notin":
        return lambda obj: labels(obj).get(key) not in values
    if operator == "exists":
        return lambda obj: key in labels(obj)
    return lambda obj: key not in labels(obj)


def label_selector(selector: Document | None) -> Predicate:
    """The predicate of a LabelSelector object; an absent one matches nothing."""
    if selector is None:
        return lambda _: False
    terms = [(k, "in", frozenset({v})) for k, v in (selector.get("matchLabels") or {}).items()]
    names = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}
    for one in selector.get("matchExpressions") or ():
        terms.append((one["key"], names[one["operator"]], frozenset(one.get("values") or ())))
    predicates = [_on_labels(term) for term in terms]
    return lambda obj: all(predicate(obj) for predicate in predicates)


def _field_terms(text: str) -> list[tuple[str, bool, str]]:
    terms: list[tuple[str, bool, str]] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = re.match(r"^([^=!]+?)(!=|==|=)(.*)$", part)
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        terms.append((found[1], found[2] == "!=", found[3].replace("\\", "")))
    return terms


def _on_field(path: str, value: str, negated: bool) -> Predicate:
    keys = path.split(".")

    def predicate(obj: Document) -> bool:
        found: Any = obj
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        # Fields are compared as the API server prints them; what is absent reads as "".
        if isinstance(found, bool):
            text = str(found).lower()
        elif found is None:
            text = "false" if path in {"spec.unschedulable", "spec.hostNetwork"} else ""
        else:
            text = str(found)
        return (text == value) != negated

    return predicate
