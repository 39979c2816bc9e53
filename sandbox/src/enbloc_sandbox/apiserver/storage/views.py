# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One stored object, shown in the versions that serve it: both shapes of events, CRD versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from enbloc_sandbox.apiserver.storage.catalog import Resource
from enbloc_sandbox.apiserver.storage.store import Item, make_item

Document = Mapping[str, Any]

#: Core Event field → events.k8s.io field; the rest has the same name in both.
_EVENT: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
#: What the new shape leaves out when it is empty, and the old one does not.
_OMITTED: Final = frozenset({"reportingController", "reportingInstance"})
_CORE: Final = {new: old for old, new in _EVENT.items()}


def viewed(resource: Resource, item: Item) -> Item:
    """The item as the resource shows it."""
    if item.obj["apiVersion"] == resource.api_version:
        return item
    names = _EVENT if resource.group == "events.k8s.io" else {}
    obj = _renamed(item.obj, names)
    if names:
        obj = {k: v for k, v in obj.items() if v or k not in _OMITTED}
    obj["apiVersion"] = resource.api_version
    return make_item(item.key, obj, item.managed, item.rv)


def stored(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """What the resource was sent, as it is stored."""
    if resource.group == "events.k8s.io":
        return {**_renamed(obj, _CORE), "apiVersion": "v1"}
    if resource.custom is not None:
        obj["apiVersion"] = f"{resource.group}/{resource.custom.storage_version}"
    return obj


def _renamed(obj: Document, names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in obj.items()}
