# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Lists and watches: selection, paging, streams, in the form that the client accepts."""

from __future__ import annotations

import asyncio
import base64
import binascii
import secrets
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from enbloc_sandbox.apiserver import status
from enbloc_sandbox.apiserver.http import list_options, tables
from enbloc_sandbox.apiserver.storage import select
from enbloc_sandbox.apiserver.storage.catalog import Resource
from enbloc_sandbox.apiserver.storage.select import Selector
from enbloc_sandbox.apiserver.storage.store import Change, Item, Watcher, as_seen, decode, encode
from enbloc_sandbox.apiserver.storage.views import viewed
from enbloc_sandbox.apiserver.verbs.api import Api

#: Seconds between bookmarks.
BOOKMARK_SECONDS: Final = 30.0
#: And so long before it ends, as kube-apiserver sends one (seconds).
LAST_BOOKMARK_SECONDS: Final = 2.0
#: Shorter waits are skipped (seconds): a clock may not tell them from 0.
CLOCK_SECONDS: Final = 0.001

_INITIAL_END: Final = {"k8s.io/initial-events-end": "true"}


@dataclass(frozen=True, slots=True)
class Form:
    """How objects are written: whole, as table rows, or metadata only."""

    kind: str = ""
    include: str = "Metadata"

    @staticmethod
    def of(accept: str, include: str) -> Form:
        """The form that an Accept header asks for; Refused 406 when we cannot write it."""
        if not accept:
            return Form()
        for one in accept.split(","):
            media, _, rest = one.strip().partition(";")
            pairs = [p.strip().partition("=") for p in rest.split(";")]
            asked = next((value for name, _, value in pairs if name == "as"), "")
            if media.strip() in {"application/json", "application/*", "*/*"}:
                kind = asked.removesuffix("List")
                if kind in {"", "Table", "PartialObjectMetadata"}:
                    return Form(kind, include or "Metadata")
        raise status.Refused(
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json",
            {},
        )

    def one(self, api: Api, resource: Resource, item: Item) -> bytes:
        """One object."""
        if self.kind == "Table":
            return encode(
                tables.table(
                    resource, [item], api.clock(), {"resourceVersion": str(item.rv)}, self.include
                )
            )
        return self._data(item)

    def _data(self, item: Item) -> bytes:
        if self.kind == "PartialObjectMetadata":
            return encode(tables.partial(item))
        return item.data

    def many(
        self, api: Api, resource: Resource, items: Sequence[Item], metadata: Mapping[str, Any]
    ) -> bytes:
        """A list."""
        if self.kind == "Table":
            return encode(tables.table(resource, items, api.clock(), metadata, self.include))
        kind, version = resource.list_name, resource.api_version
        if resource.custom is not None:
            metadata = {"continue": "", **metadata}
        if self.kind:
            kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        head = encode({"kind": kind, "apiVersion": version, "metadata": metadata})[:-1]
        drop = 0
        if not self.kind and resource.custom is None:
            # Items of built-in lists do not repeat their kind.
            drop = len(encode({"kind": resource.kind, "apiVersion": resource.api_version}))
        parts = (self._data(viewed(resource, item)) for item in items)
        body = b",".join((b"{" + part[drop:] if drop else part) for part in parts)
        return head + b',"items":[' + body + b"]}"


def listed(
    api: Api, resource: Resource, namespace: str, query: Mapping[str, str], form: Form
) -> bytes:
    """The body of a LIST."""
    selector = select.parse(
        resource, namespace, query.get("labelSelector", ""), query.get("fieldSelector", "")
    )
    found = api.store.table(resource.storage)
    list_options.check(query, watch=False)
    asked = list_options.version(query, watch=False)
    rv, start = api.store.rv, None
    token = query.get("continue")
    if token:
        rv, start = _unpack(token)
    elif asked > rv:
        raise status.too_large(asked, rv)
    elif query.get("resourceVersionMatch") == "Exact":
        rv = asked
    items = found.select(selector) if rv == api.store.rv else found.as_of(rv, selector)
    if items is None:
        raise status.expired(
            "The provided continue parameter is too old to display a consistent list result. You "
            "must start a new list without the continue parameter."
            if token
            else "The resourceVersion for the provided list is too old."
        )
    if start is not None:
        items = [item for item in items if item.key > start]
    limit = _number(query.get("limit", "") or "0")
    metadata: dict[str, Any] = {"resourceVersion": str(rv)}
    if limit and len(items) > limit:
        metadata["continue"] = _pack(rv, items[limit - 1].key)
        if selector.everything:
            metadata["remainingItemCount"] = len(items) - limit
        items = items[:limit]
    return form.many(api, resource, items, metadata)


def _pack(rv: int, key: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(encode([rv, *key])).decode()


def _unpack(token: str) -> tuple[int, tuple[str, str]]:
    try:
        rv, namespace, name = decode(base64.urlsafe_b64decode(token))
    except (binascii.Error, ValueError):
        raise status.bad_request(
            "invalid continue token: continue key is not valid: it was not made here"
        ) from None
    return rv, (namespace, name)


def _number(text: str) -> int:
    try:
        return int(text or "0")
    except ValueError:
        raise status.bad_request(f'"{text}" is not a number') from None


class Stream:
    """One watch, from its query to the lines it sends."""

    def __init__(
        self,
        api: Api,
        resource: Resource,
        namespace: str,
        query: Mapping[str, str],
        form: Form,
    ) -> None:
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        self._selector = select.parse(resource, namespace, labels, fields)
        self._api, self._resource, self._form = api, resource, form
        self._bookmarks = query.get("allowWatchBookmarks") in {"true", "1"}
        self._timeout = _number(query.get("timeoutSeconds", "")) or 1800 + secrets.randbelow(1800)
        self._initial = query.get("sendInitialEvents") in {"true", "1"}
        list_options.check(query, watch=True)
        self._rv = list_options.version(query, watch=True)
        self._replay = query.get("sendInitialEvents") in {"false", "0"} or self._rv > 0
        self._header_sent = False

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """What is sent, in chunks."""
        found = self._api.store.table(self._resource.storage)
        watcher = found.watch(self._selector)
        try:
            # No await up to here: nothing can be lost between the history and the watcher.
            first = self._first()
            if first is None:
                yield self._expired()
                return
            if first:
                yield first
            async for chunk in self._live(watcher):
                yield chunk
        finally:
            watcher.end()

    def _first(self) -> bytes | None:
        """What is already known, None when the resourceVersion is too old."""
        found = self._api.store.table(self._resource.storage)
        if self._replay and not self._initial:
            changes = found.since(self._rv or self._api.store.rv)
            return None if changes is None else self._lines(_seen(changes, self._selector))
        lines = self._lines(("ADDED", item) for item in found.select(self._selector))
        if self._initial and self._bookmarks:
            lines += self._bookmark(_INITIAL_END)
        return lines

    async def _live(self, watcher: Watcher) -> AsyncGenerator[bytes, None]:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._timeout
        last = end - LAST_BOOKMARK_SECONDS - CLOCK_SECONDS
        while (left := end - loop.time()) > CLOCK_SECONDS:
            early = loop.time() < last
            until_last = left - LAST_BOOKMARK_SECONDS
            woken = await watcher.wait(min(until_last if early else left, BOOKMARK_SECONDS))
            if taken := watcher.take():
                yield self._lines(taken)
            if watcher.over:
                if watcher.expired:
                    yield self._expired()
                return
            if self._bookmarks and (not woken or (early and loop.time() >= last)):
                yield self._bookmark(None)

    def _lines(self, seen: Iterable[tuple[str, Item]]) -> bytes:
        return b"".join(
            b'{"type":"%s","object":%s}\n' % (type_.encode(), self._one(item))
            for type_, item in seen
        )

    def _one(self, item: Item) -> bytes:
        item = viewed(self._resource, item)
        if self._form.kind != "Table":
            return self._form.one(self._api, self._resource, item)
        rows = tables.table(
            self._resource,
            [item],
            self._api.clock(),
            {"resourceVersion": str(item.rv)},
            self._form.include,
        )
        if self._header_sent:
            rows["columnDefinitions"] = None
        self._header_sent = True
        return encode(rows)

    def _bookmark(self, annotations: Mapping[str, str] | None) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(self._api.store.rv)}
        if annotations:
            metadata["annotations"] = annotations
        kind, version = self._resource.kind, self._resource.api_version
        if self._form.kind:
            kind, version = self._form.kind, "meta.k8s.io/v1"
        obj = {"kind": kind, "apiVersion": version, "metadata": metadata}
        return encode({"type": "BOOKMARK", "object": obj}) + b"\n"

    def _expired(self) -> bytes:
        refusal = status.expired(f"too old resource version: {self._rv} ({self._api.store.rv})")
        return encode({"type": "ERROR", "object": refusal.status()}) + b"\n"


def _seen(changes: Iterable[Change], selector: Selector) -> Iterable[tuple[str, Item]]:
    return filter(None, (as_seen(change, selector) for change in changes))
