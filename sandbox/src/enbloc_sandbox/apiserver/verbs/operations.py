# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Writes and single reads by resource and subresource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from enbloc_sandbox.apiserver import status
from enbloc_sandbox.apiserver.request import bodies
from enbloc_sandbox.apiserver.request.options import Deletion, Options
from enbloc_sandbox.apiserver.request.target import Target
from enbloc_sandbox.apiserver.schema import types
from enbloc_sandbox.apiserver.storage import select
from enbloc_sandbox.apiserver.storage.catalog import Resource
from enbloc_sandbox.apiserver.storage.store import Item, decode, encode
from enbloc_sandbox.apiserver.verbs import apply, binding, eviction, patch, reviews, scale
from enbloc_sandbox.apiserver.verbs.api import Api

Written = tuple[int, Item | dict[str, Any]]
Document = Mapping[str, Any]

_APPLY: Final = "application/apply-patch+yaml"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_MERGE: Final = "application/merge-patch+json"
_JSON: Final = "application/json-patch+json"


class Operations:
    """What HTTP asks of the API."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def get(self, target: Target) -> Item:
        """The object, or its scale."""
        item = self._api.get(target.resource, target.key)
        return scale.of(item) if target.subresource == "scale" else item

    def write(self, target: Target, data: bytes, media: str, options: Options) -> Written:
        """Create, update or patch; the HTTP status and what to answer."""
        if target.verb == "patch":
            return self._patch(target, data, bodies.media_type(media), options)
        body = bodies.read(data, media)
        if target.verb == "create":
            return self._create(target, body, options)
        if target.subresource == "scale":
            return 200, scale.update(self._api, target, lambda _: body, options)
        return 200, self._update(target, body, options)

    def _create(self, target: Target, body: dict[str, Any], options: Options) -> Written:
        resource = target.resource
        if resource.plural == "bindings" or target.subresource == "binding":
            return 201, binding.bind(self._api, target, body, options)
        if target.subresource == "eviction":
            return 201, eviction.evict(self._api, target, body, options)
        if "list" not in resource.verbs:
            return 201, reviews.review(resource, body)
        body.setdefault("metadata", {})
        return 201, self._api.create(resource, target.namespace, body, options)

    def _update(self, target: Target, body: dict[str, Any], options: Options) -> Item:
        body.setdefault("metadata", {})
        if target.subresource == "finalize":
            return self._finalize(target, body, options)
        self._check_version(target, body)
        return self._api.change(
            target.resource, target.key, lambda _: body, options, target.subresource
        )

    def _check_version(self, target: Target, body: Document) -> None:
        resource, name = target.resource, target.name
        unconditional = self._api.kind(resource.storage).unconditional
        if unconditional or body["metadata"].get("resourceVersion"):
            return
        self._api.stored(resource, target.key)
        error = status.wrong("metadata.resourceVersion", 0, "must be specified for an update")
        details = {**status.details_of(resource, name), "causes": [error.cause()]}
        what = f'{status.qualified(resource)} "{name}"'
        message = f"{what} is invalid: {error.field}: {error.message}"
        raise status.Refused(422, "Invalid", message, details)

    def _finalize(self, target: Target, body: Document, options: Options) -> Item:
        item = self._api.stored(target.resource, target.key)
        spec = {
            **(item.obj.get("spec") or {}),
            "finalizers": (body.get("spec") or {}).get("finalizers"),
        }
        if not spec["finalizers"]:
            del spec["finalizers"]
        if options.dry_run:
            return item
        return self._api.amend(target.resource, target.key, {**item.obj, "spec": spec})

    # ── patches ──────────────────────────────────────────────────────────────────────────────

    def _patch(self, target: Target, data: bytes, media: str, options: Options) -> Written:
        resource = target.resource
        if media == _APPLY:
            return self._apply(target, data, options)
        allowed = [_JSON, _MERGE] + ([] if resource.custom else [_STRATEGIC]) + [_APPLY]
        if media not in allowed:
            raise _unsupported(resource, allowed)
        document = bodies.read_json(data)
        if media != _JSON and not isinstance(document, dict):
            raise status.bad_request(
                f"error decoding patch: json: cannot unmarshal {types.json_name(document)} into "
                "Go value of type map[string]interface {}"
            )

        def change(old: Document) -> Any:
            if media == _JSON:
                return patch.json_patch(old, document)
            if media == _MERGE:
                return patch.merge_patch(old, document)
            return patch.strategic_merge(self._api.type_of(resource), old, document)

        if target.subresource == "scale":
            return 200, scale.update(self._api, target, change, options)
        return 200, self._api.change(
            resource,
            target.key,
            lambda item: _object(change(_with_managers(item, data))),
            options,
            target.subresource,
        )

    def _apply(self, target: Target, data: bytes, options: Options) -> Written:
        if target.subresource == "scale":
            raise status.unsupported_body("the sandbox does not apply to the scale subresource")
        body = bodies.read_yaml(data)
        if not isinstance(body, dict):
            raise status.bad_request(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
                f"unmarshal {types.json_name(body)} into Go value of type map[string]interface {{}}"
            )
        if (
            target.subresource == ""
            and self._api.store.get(target.resource.storage, target.key) is None
        ):
            return 201, apply.create(self._api, target, body, options)
        return 200, apply.update(self._api, target, body, options)

    # ── deletes ──────────────────────────────────────────────────────────────────────────────

    def delete_collection(
        self, target: Target, how: Deletion, query: Mapping[str, str]
    ) -> list[Item]:
        """Delete what a selector finds; the objects as they were."""
        resource = target.resource
        selector = select.parse(
            resource,
            target.namespace,
            query.get("labelSelector", ""),
            query.get("fieldSelector", ""),
        )
        items = self._api.store.table(resource.storage).select(selector)
        for item in items:
            self._api.delete(resource, item.key, how)
        return items


def _unsupported(resource: Resource, allowed: list[str]) -> status.Refused:
    if resource.custom is None:
        message = "415: Unsupported Media Type"
        return status.Refused(415, "UnsupportedMediaType", message, {})
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(allowed)
    )
    return status.Refused(415, "UnsupportedMediaType", message)


def _with_managers(item: Item, data: bytes) -> Document:
    """The document that a patch sees; `managedFields` only when the patch speaks of them."""
    if b"managedFields" not in data:
        return item.obj
    managed = [one.entry() for one in item.managed]
    metadata = {**item.obj["metadata"], "managedFields": managed}
    # Raw parts become plain values, so that a JSON patch may point into them.
    return decode(encode({**item.obj, "metadata": metadata}))


def _object(value: Any) -> Document:
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        raise status.bad_request("the patch makes the object something else than an object")
    return value
