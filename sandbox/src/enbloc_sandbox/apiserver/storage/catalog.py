# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The table of kinds that are served, from which discovery and routing are derived."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from enbloc_sandbox.apiserver.schema.builtin_kinds import builtins
from enbloc_sandbox.apiserver.schema.structural import CustomSchema


@dataclass(frozen=True, slots=True)
class Subresource:
    """One subresource, with the kind it speaks when that is not the parent's."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """One kind in one version, and how it is served."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    columns: tuple[Mapping[str, Any], ...] = ()
    schema: Mapping[str, Any] | None = None
    """The OpenAPI schema of a built-in kind."""
    custom: CustomSchema | None = None
    """The schema of a custom kind, compiled; None for built-in ones."""
    storage: str = ""
    """Where the objects lie: resources with the same storage are views of one table."""

    @property
    def api_version(self) -> str:
        """`v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def key(self) -> tuple[str, str, str]:
        """What a path names: group, version, plural."""
        return (self.group, self.version, self.plural)

    @property
    def list_name(self) -> str:
        """The kind of a list of these."""
        return self.list_kind or f"{self.kind}List"


class Catalog:
    """The resources served now; CRDs come and go."""

    def __init__(self) -> None:
        self._resources: dict[tuple[str, str, str], Resource] = {}
        for resource in _built_in():
            self.add(resource)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources.values())

    def get(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource that a path names."""
        return self._resources.get((group, version, plural))

    def builtin(self, plural: str, group: str = "") -> Resource:
        """The built-in resource of that name; KeyError if there is none."""
        for resource in self:
            if resource.plural == plural and resource.group == group:
                return resource
        raise KeyError(plural)

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource of a kind, any version of its group."""
        group, _, version = api_version.rpartition("/")
        found = [r for r in self if (r.group, r.kind) == (group, kind) and "get" in r.verbs]
        return next((r for r in found if r.version == version), found[0] if found else None)

    def add(self, resource: Resource) -> None:
        """Serve a resource, instead of an earlier one of that name."""
        self._resources[resource.key] = resource

    def remove(self, resource: Resource) -> None:
        """Stop serving a resource."""
        self._resources.pop(resource.key, None)

    def stored(self) -> Iterator[Resource]:
        """One resource for each table of objects."""
        seen: set[str] = set()
        for resource in self:
            if "list" in resource.verbs and resource.storage not in seen:
                seen.add(resource.storage)
                yield resource

    def is_builtin(self, group: str) -> bool:
        """Whether the group is the server's own."""
        return any(one.group == group and one.custom is None for one in self)

    def groups(self) -> dict[str, dict[str, list[Resource]]]:
        """Group → version → resources."""
        found: dict[str, dict[str, list[Resource]]] = {}
        for resource in self:
            found.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
        return found


def _built_in() -> Iterator[Resource]:
    definitions = builtins()["definitions"]
    schemas = {
        (gvk["group"], gvk["version"], gvk["kind"]): definition
        for definition in definitions.values()
        for gvk in definition.get("x-kubernetes-group-version-kind", ())
    }
    for group_version, entries in builtins()["resources"].items():
        group, _, version = group_version.rpartition("/")
        for entry in entries:
            if "/" in entry["name"]:
                continue
            yield Resource(
                group=group,
                version=version,
                plural=entry["name"],
                singular=entry["singularName"],
                kind=entry["kind"],
                namespaced=entry["namespaced"],
                verbs=tuple(entry["verbs"]),
                short_names=tuple(entry.get("shortNames", ())),
                categories=tuple(entry.get("categories", ())),
                subresources=_subresources(entry["name"], entries),
                columns=tuple(entry.get("columns", ())),
                schema=schemas.get((group, version, entry["kind"])),
                storage=_storage(group, entry["name"]),
            )


def _storage(group: str, plural: str) -> str:
    # The two shapes of an event are views of one table.
    return plural if not group or plural == "events" else f"{plural}.{group}"


def _subresources(plural: str, entries: list[dict[str, Any]]) -> dict[str, Subresource]:
    prefix = f"{plural}/"
    return {
        name: Subresource(
            name,
            entry["kind"],
            tuple(entry["verbs"]),
            entry.get("group", ""),
            entry.get("version", ""),
        )
        for entry in entries
        if entry["name"].startswith(prefix)
        for name in [entry["name"].removeprefix(prefix)]
    }
