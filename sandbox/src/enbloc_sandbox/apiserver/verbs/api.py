# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The verbs: create, read, change and delete objects, each in one atomic step."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from enbloc.model.times import time_text
from enbloc_sandbox.apiserver import status
from enbloc_sandbox.apiserver.kinds.hooks import Kind
from enbloc_sandbox.apiserver.request.options import Deletion, Options, refused_patch
from enbloc_sandbox.apiserver.schema import types
from enbloc_sandbox.apiserver.schema.metadata import (
    check_finalizers,
    check_metadata,
    generated,
    with_metadata,
)
from enbloc_sandbox.apiserver.status import Refused, bad_request, wrong
from enbloc_sandbox.apiserver.storage.catalog import Catalog, Resource
from enbloc_sandbox.apiserver.storage.store import Item, Key, Store, make_item
from enbloc_sandbox.apiserver.storage.views import stored, viewed
from enbloc_sandbox.apiserver.verbs import fields

Document = Mapping[str, Any]
Change = Callable[[Item], Document]

#: Metadata that no client sets.
_SYSTEM = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


class Api:
    """The API without HTTP.

    Args:
        clock: the time in seconds since the epoch.
        kinds: storage → hooks; what is not in it is plain.
        advice: storage → what to warn of who creates such an object.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        kinds: Mapping[str, Kind],
        advice: Mapping[str, str] | None = None,
    ) -> None:
        self.clock = clock
        self._advice = {storage: [text] for storage, text in (advice or {}).items()}
        self.catalog = Catalog()
        self.store = Store()
        self._kinds = dict(kinds)
        self._plain = Kind()

    def kind(self, storage: str) -> Kind:
        """The hooks of a table."""
        return self._kinds.get(storage, self._plain)

    def set_kind(self, storage: str, kind: Kind) -> None:
        """Give a table its hooks."""
        self._kinds[storage] = kind

    def now(self) -> str:
        """The time as written into objects."""
        return time_text(self.clock())

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def get(self, resource: Resource, key: Key) -> Item:
        """The object as this resource shows it; Refused 404."""
        return viewed(resource, self.stored(resource, key))

    def stored(self, resource: Resource, key: Key) -> Item:
        """The object as it is stored; Refused 404."""
        item = self.store.get(resource.storage, key)
        if item is None:
            raise status.not_found(resource, key[1])
        return item

    # ── creating ─────────────────────────────────────────────────────────────────────────────

    def create(
        self,
        resource: Resource,
        namespace: str,
        body: Document,
        options: Options,
        managed: tuple[fields.Manager, ...] | None = None,
    ) -> Item:
        """Create an object.

        `managed` are the owners of its fields; by default the writer owns all of them.
        """
        obj = self._read(resource, namespace, body, options)
        metadata = obj["metadata"]
        for name in (*_SYSTEM, "resourceVersion", "selfLink", "managedFields"):
            metadata.pop(name, None)
        if body["metadata"].get("resourceVersion"):
            message = "resourceVersion should not be set on objects to be created"
            raise Refused(500, "", message)
        kind = self.kind(resource.storage)
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = generated(metadata["generateName"])
        kind.default(obj)
        if managed is None:
            managed = self._own(resource, (), kind.empty(obj), obj, options, "")
        self._check_namespace(resource, obj)
        kind.admit(self, obj)
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": self.now()}
        if self._has_status(resource) and not kind.keeps_status:
            _reset_status(resource, obj)
        if kind.generation:
            metadata["generation"] = 1
        kind.prepare_create(self, obj)
        errors = kind.validate_create(self, obj)
        errors += check_metadata(resource.storage, obj) + kind.validate(self, obj)
        errors += kind.rules(obj, None, errors)
        if errors:
            raise status.invalid(resource, metadata.get("name", ""), errors)
        key = (namespace, metadata["name"])
        obj = stored(resource, obj)
        if self.store.get(resource.storage, key) is not None:
            raise status.already_exists(resource, key[1])
        options.warnings.extend(self._advice.get(resource.storage, ()))
        if options.dry_run:
            return viewed(resource, make_item(key, obj, managed, 0))
        item = self.store.put(resource.storage, obj, managed)
        kind.written(self, item.obj)
        return viewed(resource, item)

    def _read(
        self, resource: Resource, namespace: str, body: Document, options: Options
    ) -> dict[str, Any]:
        """A fresh document of this kind from what a client sent."""
        if not isinstance(body.get("metadata", {}), dict):
            raise status.bad_request("metadata must be an object")
        _check_kind(resource, body, options)
        obj, unknown = parsed(resource, body)
        options.unknown_fields(resource, unknown, body)
        rest = {k: v for k, v in obj.items() if k not in {"kind", "apiVersion", "metadata"}}
        metadata = obj.get("metadata") or {}
        given = metadata.get("namespace", "")
        if given and given != namespace:
            raise status.bad_request(
                "the namespace of the provided object does not match the namespace sent on the "
                "request"
            )
        if namespace:
            metadata["namespace"] = namespace
        head = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return {**head, **rest}

    def _check_namespace(self, resource: Resource, obj: Document) -> None:
        metadata = obj["metadata"]
        if not resource.namespaced:
            return
        namespaces = self.catalog.builtin("namespaces")
        name = metadata["namespace"]
        found = self.store.get("namespaces", ("", name))
        if found is None:
            raise status.not_found(namespaces, name)
        if "deletionTimestamp" in found.obj["metadata"]:
            self.refuse_terminating(resource, metadata.get("name", ""), name)

    def refuse_terminating(self, resource: Resource, name: str, namespace: str) -> None:
        """403: nothing new comes into a namespace that goes away."""
        message = f"namespace {namespace} is being terminated"
        cause = {
            "reason": "NamespaceTerminating",
            "message": message,
            "field": "metadata.namespace",
        }
        why = (
            f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        raise status.forbidden(resource, name, why, [cause])

    # ── changing ─────────────────────────────────────────────────────────────────────────────

    def change(
        self,
        resource: Resource,
        key: Key,
        change: Change,
        options: Options,
        subresource: str = "",
        managed: Callable[[Item], tuple[fields.Manager, ...]] | None = None,
    ) -> Item:
        """Change an object: PUT and every PATCH come here.

        `change` makes the whole new document, as a client would PUT it, of the old one. `managed`
        tells the owners after an apply; without it this is an update by `options.manager`.
        """
        before = self.stored(resource, key)
        old = viewed(resource, before)
        body = change(old)
        obj = self._read(resource, key[0], body, options)
        self._check_identity(resource, obj, old, patched=options.verb == "patch")
        metadata = obj["metadata"]
        given = metadata.pop("managedFields", None)
        for name in _SYSTEM:
            metadata.pop(name, None)
            if name in old.obj["metadata"]:
                metadata[name] = old.obj["metadata"][name]
        kind = self.kind(resource.storage)
        kind.default(obj)
        obj = self._keep(resource, obj, old.obj, subresource)
        obj["metadata"].pop("resourceVersion", None)
        owners = before.managed
        if given is not None and given != [one.entry() for one in owners]:
            owners = fields.parse_managers(given) if given != [{}] else ()
        if managed is not None:
            owners = managed(old)
        else:
            # Objects whose owners were never recorded stay so until the first apply.
            owners = owners and self._own(resource, owners, old.obj, obj, options, subresource)
        self._prepare(resource, kind, obj, old.obj, subresource)
        # The API server checks these twice: for all kinds, and for each.
        errors = 2 * check_finalizers(obj, old.obj) + check_metadata(resource.storage, obj)
        errors += kind.validate(self, obj)
        check = kind.validate_status if subresource == "status" else kind.validate_update
        errors += check(self, obj, old.obj)
        errors += kind.rules(obj, old.obj, errors)
        if errors:
            raise status.invalid(resource, key[1], errors)
        return viewed(
            resource, self._replace(resource, before, stored(resource, obj), owners, options)
        )

    def _check_identity(
        self, resource: Resource, obj: Document, old: Item, *, patched: bool
    ) -> None:
        metadata, name = obj["metadata"], old.key[1]
        if metadata.get("name", "") != name:
            raise status.bad_request(
                f"the name of the object ({metadata.get('name', '')}) does not match the name on "
                f"the URL ({name})"
            )
        uid = metadata.get("uid")
        if uid and uid != old.obj["metadata"]["uid"] and patched:
            errors = 2 * [wrong("metadata.uid", uid, "field is immutable")]
            raise status.invalid(resource, name, errors)
        if uid and uid != old.obj["metadata"]["uid"]:
            key = "/".join(filter(None, (resource.plural, *old.key)))
            found = old.obj["metadata"]["uid"]
            raise status.storage_conflict(resource, key, name, "UID", uid, found)
        rv = metadata.get("resourceVersion")
        if rv and rv != str(old.rv):
            raise status.conflict(resource, name, status.MODIFIED)

    def _has_status(self, resource: Resource) -> bool:
        return "status" in resource.subresources

    def _keep(
        self, resource: Resource, obj: dict[str, Any], old: Document, subresource: str
    ) -> dict[str, Any]:
        """Leave alone what this endpoint does not write."""
        if subresource == "status":
            if resource.custom is not None:
                kept = dict(old)
                kept["metadata"] = dict(old["metadata"])
            else:
                kept = {
                    **{k: v for k, v in old.items() if k != "metadata"},
                    "metadata": obj["metadata"],
                }
            kept.pop("status", None)
            return {**kept, **({"status": obj["status"]} if "status" in obj else {})}
        if not self._has_status(resource):
            return obj
        obj.pop("status", None)
        return {**obj, **({"status": old["status"]} if "status" in old else {})}

    def _prepare(
        self, resource: Resource, kind: Kind, obj: dict[str, Any], old: Document, subresource: str
    ) -> None:
        if subresource == "status":
            kind.prepare_status(self, obj, old)
            return
        kind.prepare_update(self, obj, old)
        if kind.generation and _spec(resource, obj) != _spec(resource, old):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def _own(
        self,
        resource: Resource,
        owners: tuple[fields.Manager, ...],
        old: Document,
        obj: Document,
        options: Options,
        subresource: str,
    ) -> tuple[fields.Manager, ...]:
        # The API server forgets the time of who scales.
        time = "" if subresource == "scale" else self.now()
        who = fields.Manager(
            options.manager, "Update", resource.api_version, subresource, time, frozenset()
        )
        reset = ("status",) if self._has_status(resource) and not subresource else ()
        return fields.after_update(
            owners, who, fields.compare(self.type_of(resource), old, obj), reset
        )

    def type_of(self, resource: Resource) -> types.Type:
        """The type of a kind."""
        if resource.custom is not None:
            return resource.custom.type
        return types.builtin_type(resource.group, resource.version, resource.kind)

    def _replace(
        self,
        resource: Resource,
        before: Item,
        obj: Document,
        owners: tuple[fields.Manager, ...],
        options: Options,
    ) -> Item:
        """Store a change, unless it changes nothing; the last finalizer's end is the object's."""
        old = {**before.obj, "metadata": {**before.obj["metadata"]}}
        del old["metadata"]["resourceVersion"]
        if obj == old and owners == before.managed:
            return before
        if options.dry_run:
            return make_item(before.key, obj, owners, before.rv)
        metadata = obj["metadata"]
        kind = self.kind(resource.storage)
        kept = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
        if "deletionTimestamp" in metadata and not kept and not kind.held(obj):
            return self.remove(resource, before.key, obj, owners)
        item = self.store.put(resource.storage, obj, owners)
        kind.written(self, item.obj)
        return item

    def amend(self, resource: Resource, key: Key, obj: Document) -> Item:
        """A server-side write (binding, collector): no admission, no owner of fields."""
        before = self.stored(resource, key)
        document = with_metadata(obj)
        document["metadata"].pop("resourceVersion", None)
        return self._replace(resource, before, document, before.managed, Options())

    # ── deleting ─────────────────────────────────────────────────────────────────────────────

    def delete(self, resource: Resource, key: Key, how: Deletion) -> tuple[Item, bool]:
        """Delete an object; whether it is gone at once.

        Returns the object in its last state.
        """
        item = self.stored(resource, key)
        metadata = item.obj["metadata"]
        self.check_preconditions(resource, item, how)
        kind = self.kind(resource.storage)
        kind.check_delete(self, item.obj)
        finalizers = self._finalizers(kind, metadata, how)
        grace = kind.grace(item.obj, how.grace)
        deleting = "deletionTimestamp" in metadata
        if deleting and finalizers == (metadata.get("finalizers") or []):
            remaining = metadata.get("deletionGracePeriodSeconds") or 0
            if remaining and grace >= remaining:
                return viewed(resource, item), False
        if not finalizers and not grace and not kind.held(item.obj):
            gone = item
            if not how.dry_run:
                gone = self.remove(resource, key, item.obj, item.managed)
            return viewed(resource, self._deleted(gone) if kind.graceful else gone), True
        changes: dict[str, Any] = {
            "finalizers": finalizers or None,
            "deletionGracePeriodSeconds": grace,
        }
        if "finalizers" not in metadata and not finalizers:
            del changes["finalizers"]
        if kind.held(item.obj):
            del changes["deletionGracePeriodSeconds"]
        if not deleting or grace < (metadata.get("deletionGracePeriodSeconds") or 0):
            changes["deletionTimestamp"] = time_text(self.clock() + grace)
        if not deleting and metadata.get("generation"):
            changes["generation"] = metadata["generation"] + 1
        obj = with_metadata(item.obj, **changes)
        if how.dry_run:
            return viewed(resource, make_item(item.key, obj, item.managed, item.rv)), False
        obj["metadata"].pop("resourceVersion")
        kind.prepare_status(self, obj, item.obj)
        return viewed(resource, self._replace(resource, item, obj, item.managed, Options())), False

    def _deleted(self, item: Item) -> Item:
        """The answer to a deletion without grace: as if its time had just come."""
        metadata = item.obj["metadata"]
        changes: dict[str, Any] = {"deletionGracePeriodSeconds": 0}
        if "deletionTimestamp" not in metadata:
            changes["deletionTimestamp"] = self.now()
            changes["generation"] = metadata["generation"] + 1
        return make_item(item.key, with_metadata(item.obj, **changes), item.managed, item.rv)

    def check_preconditions(self, resource: Resource, item: Item, how: Deletion) -> None:
        """Refuse to delete another object than the one that was meant; 409."""
        why = ""
        uid, name = item.obj["metadata"]["uid"], item.key[1]
        if how.uid and how.uid != uid:
            why = (
                f"the UID in the precondition ({how.uid}) does not match the UID in record "
                f"({uid}). The object might have been deleted and then recreated"
            )
        elif how.rv and how.rv != str(item.rv):
            why = (
                f"the ResourceVersion in the precondition ({how.rv}) does not match the "
                f"ResourceVersion in record ({item.rv}). The object might have been modified"
            )
        if why:
            # The API server names the kind here, not the resource.
            refusal = status.conflict(resource, name, why)
            named = status.qualified(resource).replace(resource.plural, resource.kind, 1)
            message = f'Operation cannot be fulfilled on {named} "{name}": {why}'
            details = {**(refusal.details or {}), "kind": resource.kind}
            raise status.Refused(409, "Conflict", message, details)

    def _finalizers(self, kind: Kind, metadata: Document, how: Deletion) -> list[str]:
        own = ("foregroundDeletion", "orphan")
        given = [
            one for one in metadata.get("finalizers") or () if one not in own or not how.propagation
        ]
        policy = how.propagation or kind.propagation
        if policy == "Foreground" and "foregroundDeletion" not in given:
            return [*given, "foregroundDeletion"]
        if policy == "Orphan" and "orphan" not in given:
            return [*given, "orphan"]
        return given

    def remove(
        self, resource: Resource, key: Key, last: Document, managed: tuple[fields.Manager, ...]
    ) -> Item:
        """Remove an object for good."""
        document = with_metadata(last)
        document["metadata"].pop("resourceVersion", None)
        item = self.store.remove(resource.storage, key, document, managed)
        self.kind(resource.storage).deleted(self, item.obj)
        return item


def _reset_status(resource: Resource, obj: dict[str, Any]) -> None:
    obj.pop("status", None)
    if resource.custom is None:
        kind = types.builtin_type(resource.group, resource.version, resource.kind)
        if "status" in kind.present:
            obj["status"] = types.zero(kind.fields["status"])


def parsed(resource: Resource, body: Document) -> tuple[dict[str, Any], list[str]]:
    """A fresh document of this kind, and the paths that its schema does not have; Refused 400."""
    if resource.custom is not None:
        return resource.custom.read(body)
    kind = types.builtin_type(resource.group, resource.version, resource.kind)
    try:
        return types.read_builtin(kind, body)
    except Refused as refusal:
        raise bad_request(f"{status.cannot_handle(resource)}: {refusal.message}") from None


def _check_kind(resource: Resource, body: Document, options: Options) -> None:
    kind, version = body.get("kind"), body.get("apiVersion")
    if (kind and kind != resource.kind) or (version and version != resource.api_version):
        why = f'expected kind "{resource.kind}" and apiVersion "{resource.api_version}"'
        if options.verb == "patch":
            raise refused_patch(body, why)
        raise status.bad_request(
            f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {why}'
        )


def _spec(resource: Resource, obj: Document) -> dict[str, Any]:
    skipped = {"metadata", "status"} if "status" in resource.subresources else {"metadata"}
    return {name: value for name, value in obj.items() if name not in skipped}
