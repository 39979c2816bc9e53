# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What goes away after an object does: dependents, and the contents of namespaces."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from enbloc_sandbox.apiserver.request.options import Deletion
from enbloc_sandbox.apiserver.schema.metadata import with_metadata
from enbloc_sandbox.apiserver.status import Refused
from enbloc_sandbox.apiserver.storage.catalog import Resource
from enbloc_sandbox.apiserver.storage.store import Change, Item, Key
from enbloc_sandbox.apiserver.verbs.api import Api

#: Objects handled before other requests get their turn.
_BATCH: Final = 50


class Collector:
    """The garbage collector and the namespace controller, run between requests."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._todo: deque[Callable[[], None]] = deque()
        self._scheduled = False
        api.store.listeners.append(self._on_change)

    def _on_change(self, storage: str, change: Change) -> None:
        obj = change.last.obj
        metadata = obj["metadata"]
        if change.after is None:
            self._later(lambda: self._orphaned(metadata["uid"]))
        elif "deletionTimestamp" in metadata:
            self._later(lambda: self._finish(storage, change.last.key))
        if change.after is None and metadata.get("ownerReferences"):
            self._later(lambda: self._owners_of(obj))
        if change.before is None and metadata.get("ownerReferences"):
            self._later(lambda: self._check_owners(storage, change.last.key))
        if change.after is None and metadata.get("namespace"):
            self._drained(metadata["namespace"])

    def _later(self, job: Callable[[], None]) -> None:
        self._todo.append(job)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        for _ in range(min(_BATCH, len(self._todo))):
            self._todo.popleft()()
        self._scheduled = bool(self._todo)
        if self._scheduled:
            asyncio.get_running_loop().call_soon(self._run)

    def _resource(self, storage: str) -> Resource | None:
        return next((r for r in self._api.catalog.stored() if r.storage == storage), None)

    def _delete(self, storage: str, item: Item, how: Deletion) -> None:
        resource = self._resource(storage)
        if resource is None or self._api.store.get(storage, item.key) is None:
            return
        try:
            self._api.delete(resource, item.key, how)
        except Refused:
            return  # what may not be deleted stays, as with the real collector

    # ── owners ───────────────────────────────────────────────────────────────────────────────

    def _alive(self, reference: Mapping[str, Any], namespace: str) -> bool:
        resource = self._api.catalog.of_kind(reference["apiVersion"], reference["kind"])
        if resource is None:
            return True  # unknown kinds block nothing: the real collector retries for ever
        key = (namespace if resource.namespaced else "", reference["name"])
        owner = self._api.store.get(resource.storage, key)
        return owner is not None and owner.obj["metadata"]["uid"] == reference["uid"]

    def _check_owners(self, storage: str, key: Key) -> None:
        """Delete an object none of whose owners exists; drop references to dead ones."""
        item = self._api.store.get(storage, key)
        references = item.obj["metadata"].get("ownerReferences") if item else None
        if item is None or not references:
            return
        alive = [one for one in references if self._alive(one, key[0])]
        if not alive:
            self._delete(storage, item, Deletion(propagation="Background"))
        elif len(alive) < len(references):
            self._amend(storage, item, ownerReferences=alive)

    def _orphaned(self, uid: str) -> None:
        for storage, key in self._api.store.dependents(uid):
            self._check_owners(storage, key)

    def _owners_of(self, obj: Mapping[str, Any]) -> None:
        """A dependent is gone: owners that wait for it may go."""
        namespace = obj["metadata"].get("namespace", "")
        for reference in obj["metadata"]["ownerReferences"]:
            resource = self._api.catalog.of_kind(reference["apiVersion"], reference["kind"])
            if resource is not None:
                self._finish(
                    resource.storage, (namespace if resource.namespaced else "", reference["name"])
                )

    def _finish(self, storage: str, key: Key) -> None:
        """Do what the collector's own finalizers ask for."""
        item = self._api.store.get(storage, key)
        if item is None or "deletionTimestamp" not in item.obj["metadata"]:
            return
        if storage == "namespaces":
            self._drain(item)
            return
        finalizers = item.obj["metadata"].get("finalizers") or []
        uid = item.obj["metadata"]["uid"]
        if "orphan" in finalizers:
            self._orphan(uid)
            self._amend(storage, item, finalizers=[f for f in finalizers if f != "orphan"] or None)
        elif "foregroundDeletion" in finalizers and not self._blocked(uid):
            kept = [f for f in finalizers if f != "foregroundDeletion"]
            self._amend(storage, item, finalizers=kept or None)

    def _orphan(self, uid: str) -> None:
        for storage, key in self._api.store.dependents(uid):
            item = self._api.store.get(storage, key)
            assert item is not None
            references = item.obj["metadata"]["ownerReferences"]
            kept = [one for one in references if one["uid"] != uid]
            self._amend(storage, item, ownerReferences=kept or None)

    def _blocked(self, uid: str) -> bool:
        """Delete all dependents; whether one that blocks its owner is still there."""
        for storage, key in self._api.store.dependents(uid):
            item = self._api.store.get(storage, key)
            if item is not None and "deletionTimestamp" not in item.obj["metadata"]:
                self._delete(storage, item, Deletion(propagation="Foreground"))
        return any(
            reference.get("blockOwnerDeletion")
            for storage, key in self._api.store.dependents(uid)
            if (item := self._api.store.get(storage, key)) is not None
            for reference in item.obj["metadata"]["ownerReferences"]
            if reference["uid"] == uid
        )

    def _amend(self, storage: str, item: Item, **changes: Any) -> None:
        resource = self._resource(storage)
        if resource is not None:
            self._api.amend(resource, item.key, with_metadata(item.obj, **changes))

    # ── namespaces ───────────────────────────────────────────────────────────────────────────

    def _drained(self, namespace: str) -> None:
        item = self._api.store.get("namespaces", ("", namespace))
        if item is not None and "deletionTimestamp" in item.obj["metadata"]:
            self._later(lambda: self._finish("namespaces", ("", namespace)))

    def _drain(self, item: Item) -> None:
        """Delete what is in a namespace; when nothing is left, let the namespace go."""
        name = item.key[1]
        left = False
        for storage, table in list(self._api.store.tables().items()):
            for found in [one for one in table.items.values() if one.key[0] == name]:
                if "deletionTimestamp" not in found.obj["metadata"]:
                    self._delete(storage, found, Deletion(propagation="Background"))
                left = left or found.key in table.items
        current = self._api.store.get("namespaces", item.key)
        if not left and current is not None and "kubernetes" in _held(current):
            resource = self._api.catalog.builtin("namespaces")
            spec = {k: v for k, v in current.obj["spec"].items() if k != "finalizers"}
            kept = [one for one in _held(current) if one != "kubernetes"]
            obj = {**current.obj, "spec": {**spec, **({"finalizers": kept} if kept else {})}}
            if kept or current.obj["metadata"].get("finalizers"):
                self._api.amend(resource, current.key, obj)
            else:
                self._api.remove(resource, current.key, obj, current.managed)


def _held(namespace: Item) -> list[str]:
    return (namespace.obj.get("spec") or {}).get("finalizers") or []
