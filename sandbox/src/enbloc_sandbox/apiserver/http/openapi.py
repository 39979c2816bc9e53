# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""OpenAPI v3 documents: what `kubectl explain` reads, and why kubectl leaves validation to us."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from enbloc_sandbox.apiserver.schema.builtin_kinds import builtins
from enbloc_sandbox.apiserver.storage.catalog import Catalog, Resource
from enbloc_sandbox.apiserver.storage.store import encode

Document = dict[str, Any]

_REF: Final = "#/components/schemas/"
_META: Final = f"{_REF}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_PARAMETERS: Final = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]


def document(catalog: Catalog, path: str) -> Document | None:
    """The index (path "") or the document of a group version; None if there is none."""
    versions = {
        (f"apis/{group}/{version}" if group else f"api/{version}"): found
        for group, by_version in catalog.groups().items()
        for version, found in by_version.items()
    }
    if not path:
        return {
            "paths": {
                name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={_hash(found)}"}
                for name, found in versions.items()
            }
        }
    return _describe(path, versions[path]) if path in versions else None


def _hash(resources: Iterable[Resource]) -> str:
    seen = [[r.plural, r.custom.source if r.custom else None] for r in resources]
    return hashlib.sha256(encode(seen)).hexdigest()[:32].upper()


def _describe(path: str, resources: list[Resource]) -> Document:
    schemas: Document = {}
    for resource in resources:
        name, schema = _schema(resource)
        if schema is not None:
            schemas[name] = schema
    todo = [*schemas.values(), {"$ref": _META}]
    while todo:
        for name in _references(todo.pop()):
            if name not in schemas:
                schemas[name] = builtins()["definitions"][name]
                todo.append(schemas[name])
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": {
            route: item for resource in resources for route, item in _paths(path, resource).items()
        },
        "components": {"schemas": schemas},
    }


def _gvk(resource: Resource) -> Document:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _paths(path: str, resource: Resource) -> Document:
    base = (
        f"/{path}/" + ("namespaces/{namespace}/" if resource.namespaced else "") + resource.plural
    )

    def operation(action: str) -> Document:
        return {
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": _gvk(resource),
            "parameters": _PARAMETERS,
            "responses": {"200": {"description": "OK"}},
        }

    one, many = {}, {}
    for verb, method in (
        ("get", "get"),
        ("update", "put"),
        ("patch", "patch"),
        ("delete", "delete"),
    ):
        if verb in resource.verbs:
            one[method] = operation(verb if verb != "update" else "put")
    if "create" in resource.verbs:
        many["post"] = operation("post")
    if "list" in resource.verbs:
        many["get"] = operation("list")
    return {base: many, **({base + "/{name}": one} if one else {})}


def _schema(resource: Resource) -> tuple[str, Document | None]:
    if resource.custom is None:
        wanted = _gvk(resource)
        for name, schema in builtins()["definitions"].items():
            if wanted in schema.get("x-kubernetes-group-version-kind", ()):
                return name, schema
        return "", None
    reverse = ".".join(reversed(resource.group.split(".")))
    schema = dict(resource.custom.source)
    standard = builtins()["definitions"]["io.k8s.api.core.v1.Pod"]["properties"]
    schema["properties"] = {
        **schema.get("properties", {}),
        "apiVersion": standard["apiVersion"],
        "kind": standard["kind"],
        "metadata": {
            "description": standard["metadata"]["description"],
            "allOf": [{"$ref": _META}],
        },
    }
    schema["x-kubernetes-group-version-kind"] = [_gvk(resource)]
    return f"{reverse}.{resource.version}.{resource.kind}", schema


def _references(node: Any) -> set[str]:
    if isinstance(node, list):
        return {name for one in node for name in _references(one)}
    if not isinstance(node, Mapping):
        return set()
    found = {name for one in node.values() for name in _references(one)}
    reference = node.get("$ref")
    return found | {reference.removeprefix(_REF)} if isinstance(reference, str) else found
