# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Discovery documents, legacy and aggregated, derived from the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from enbloc_sandbox.apiserver.schema.builtin_kinds import builtins
from enbloc_sandbox.apiserver.storage.catalog import Catalog, Resource, Subresource

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

Document = dict[str, Any]


def version() -> Document:
    """/version, as the API server whose schemas we serve."""
    return builtins()["version"]


def core_versions(address: str) -> Document:
    """/api."""
    clients = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": clients}


def group_list(catalog: Catalog) -> Document:
    """/apis."""
    groups = [_group(name, list(versions)) for name, versions in catalog.groups().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(catalog: Catalog, name: str) -> Document | None:
    """/apis/GROUP, None when there is no such group."""
    versions = catalog.groups().get(name)
    if not name or versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, list(versions))}


def resource_list(catalog: Catalog, group_name: str, version_name: str) -> Document | None:
    """/api/v1 or /apis/GROUP/VERSION, None when there is no such version."""
    resources = catalog.groups().get(group_name, {}).get(version_name)
    if resources is None:
        return None
    entries: list[Document] = []
    for resource in sorted(resources, key=lambda r: r.plural):
        entries.append(_legacy(resource))
        for name in sorted(resource.subresources):
            entries.append(_legacy_sub(resource, resource.subresources[name]))
    group_version = f"{group_name}/{version_name}" if group_name else version_name
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": entries,
    }


def aggregated(catalog: Catalog, *, core: bool) -> Document:
    """/api or /apis for clients that ask for everything at once."""
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [
                {
                    "version": version_name,
                    "resources": [_aggregated(r) for r in sorted(found, key=lambda r: r.plural)],
                    "freshness": "Current",
                }
                for version_name, found in versions.items()
            ],
        }
        for name, versions in catalog.groups().items()
        if bool(name) != core
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _group(name: str, versions: Iterable[str]) -> Document:
    listed = [{"groupVersion": f"{name}/{one}", "version": one} for one in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _legacy(resource: Resource) -> Document:
    entry: Document = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return entry


def _legacy_sub(resource: Resource, sub: Subresource) -> Document:
    entry: Document = {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if sub.group:
        entry |= {"group": sub.group, "version": sub.version}
    return {**entry, "kind": sub.kind, "verbs": list(sub.verbs)}


def _aggregated(resource: Resource) -> Document:
    entry: Document = {
        "resource": resource.plural,
        # Empty: that of the list around it.
        "responseKind": {"group": "", "version": "", "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": name,
                "responseKind": {"group": sub.group, "version": sub.version, "kind": sub.kind},
                "verbs": list(sub.verbs),
            }
            for name, sub in sorted(resource.subresources.items())
        ]
    return entry
