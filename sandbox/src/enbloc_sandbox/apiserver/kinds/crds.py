# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# Hooks share their arguments and say in hooks.py what they are for.
# ruff: noqa: ARG002, D102
"""Hooks of CustomResourceDefinitions, and of the objects that they define."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from enbloc_sandbox.apiserver.kinds.hooks import Api, Kind
from enbloc_sandbox.apiserver.request.options import Deletion
from enbloc_sandbox.apiserver.schema.structural import CustomSchema
from enbloc_sandbox.apiserver.status import FieldError, forbidden_field, required, wrong
from enbloc_sandbox.apiserver.storage.catalog import Resource, Subresource

Document = Mapping[str, Any]
Fresh = dict[str, Any]

_VERBS: Final = (
    "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
)  # fmt: skip
_AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def resources(crd: Document) -> Iterator[Resource]:
    """The resources that a definition serves.

    Raises:
        ValueError: a schema, rule or path that we cannot serve; the message says which.
    """
    spec, names = crd["spec"], crd["status"]["acceptedNames"]
    storage = next(one["name"] for one in spec["versions"] if one["storage"])
    for version in spec["versions"]:
        if not version["served"]:
            continue
        subresources = {}
        if "status" in (version.get("subresources") or {}):
            verbs = ("get", "patch", "update")
            subresources["status"] = Subresource("status", names["kind"], verbs)
        yield Resource(
            group=spec["group"],
            version=version["name"],
            plural=names["plural"],
            singular=names["singular"],
            kind=names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            verbs=_VERBS,
            list_kind=names["listKind"],
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=subresources,
            columns=tuple(version.get("additionalPrinterColumns") or (_AGE,)),
            custom=CustomSchema.of(version, storage),
            storage=crd["metadata"]["name"],
        )


class Custom(Kind):
    """Objects of a custom kind."""

    generation = True
    unconditional = False

    def __init__(self, schemas: Mapping[str, CustomSchema]) -> None:
        self._schemas = schemas

    def default(self, obj: Fresh) -> None:
        self._schemas[obj["apiVersion"].rpartition("/")[2]].default(obj)

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        return self._schemas[obj["apiVersion"].rpartition("/")[2]].validate(obj)

    def rules(
        self, obj: Document, old: Document | None, errors: Sequence[FieldError]
    ) -> list[FieldError]:
        return self._schemas[obj["apiVersion"].rpartition("/")[2]].rules(obj, old, errors)


class CustomResourceDefinition(Kind):
    """Definitions: established at once."""

    generation = True
    unconditional = False

    def default(self, obj: Fresh) -> None:
        spec = obj.setdefault("spec", {})
        names = spec.setdefault("names", {})
        if names.get("kind"):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", names["kind"] + "List")
        spec.setdefault("conversion", {"strategy": "None"})

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        now = api.now()
        storage = [one["name"] for one in obj["spec"].get("versions") or () if one.get("storage")]
        obj["status"] = {
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "lastTransitionTime": now,
                    "reason": reason,
                    "message": message,
                }
                for kind, reason, message in (
                    ("NamesAccepted", "NoConflicts", "no conflicts found"),
                    ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
                )
            ],
            "acceptedNames": obj["spec"]["names"],
            "storedVersions": storage,
        }

    def prepare_update(self, api: Api, obj: Fresh, old: Document) -> None:
        obj["status"] = {**old["status"], "acceptedNames": obj["spec"]["names"]}

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        spec, name = obj["spec"], obj["metadata"].get("name", "")
        errors: list[FieldError] = []
        names = spec["names"]
        for field in ("plural", "kind"):
            if not names.get(field):
                errors.append(required(f"spec.names.{field}"))
        if not spec.get("group"):
            errors.append(required("spec.group"))
        if spec.get("scope") not in {"Namespaced", "Cluster"}:
            errors.append(required("spec.scope"))
        if name != f"{names.get('plural')}.{spec.get('group')}":
            errors.append(wrong("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
        if (spec.get("conversion") or {}).get("strategy", "None") != "None":
            why = "the sandbox converts by strategy None only"
            errors.append(forbidden_field("spec.conversion", why))
        errors += _check_versions(spec.get("versions") or ())
        if not errors:
            errors += _serveable(obj)
        return errors

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        return [
            wrong(f"spec.{field}", obj["spec"].get(field), "field is immutable")
            for field in ("group", "scope")
            if obj["spec"].get(field) != old["spec"].get(field)
        ]

    def written(self, api: Api, obj: Document) -> None:
        """Serve it."""
        name = obj["metadata"]["name"]
        if not any(one.storage == name for one in api.catalog):
            # Nobody can have seen the kind before it was served.
            api.store.table(name).forget(api.store.rv)
        for resource in [one for one in api.catalog if one.storage == name]:
            api.catalog.remove(resource)
        served = list(resources(obj))
        for resource in served:
            api.catalog.add(resource)
        schemas = {one.version: one.custom for one in served if one.custom is not None}
        api.set_kind(name, Custom(schemas))

    def check_delete(self, api: Api, obj: Document) -> None:
        """The objects go before their definition does."""
        name = obj["metadata"]["name"]
        resource = next((one for one in api.catalog if one.storage == name), None)
        if resource is not None:
            for key in list(api.store.table(name).items):
                api.delete(resource, key, Deletion())

    def deleted(self, api: Api, obj: Document) -> None:
        """Serve it no more."""
        name = obj["metadata"]["name"]
        for watcher in api.store.table(name).watchers():
            watcher.end()
        for resource in [one for one in api.catalog if one.storage == name]:
            api.catalog.remove(resource)


def _check_versions(versions: Sequence[Document]) -> list[FieldError]:
    errors: list[FieldError] = []
    if sum(bool(one.get("storage")) for one in versions) != 1:
        names = [one.get("name") for one in versions]
        detail = "must have exactly one version marked as storage version"
        errors.append(wrong("spec.versions", names, detail))
    for i, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            field = f"spec.versions[{i}].schema.openAPIV3Schema"
            errors.append(required(field))
    return errors


def _serveable(obj: Document) -> list[FieldError]:
    try:
        list(resources({**obj, "status": {"acceptedNames": obj["spec"]["names"]}}))
    except ValueError as error:
        return [wrong("spec.versions", obj["metadata"]["name"], str(error))]
    return []
