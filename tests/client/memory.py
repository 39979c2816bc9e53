# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A client whose server is a dictionary, for tests in virtual time, where sockets mislead."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from enbloc.client.client import Client, Query
from enbloc.client.clock import MACHINE, TimeSource
from enbloc.client.config import Cluster, FixedAuth
from enbloc.client.errors import AlreadyExists, Conflict, NotFound
from enbloc.client.paths import Resource


class Store:
    """What several clients share.

    Attributes:
        objects: (plural, name) → object.
        namespaces: that exist; None for any.
    """

    def __init__(self, namespaces: set[str] | None = None) -> None:
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        self.namespaces = namespaces
        self.version = 0

    def listed(
        self, resource: Resource, selector: str, namespace: str | None = None
    ) -> list[dict[str, Any]]:
        """All objects of a type that have this label ("key=value"); None = of every namespace."""
        wanted = [tuple(selector.split("="))] if selector else []
        return [
            found
            for (plural, _), found in self.objects.items()
            if plural == resource.plural
            and namespace in (None, found["metadata"].get("namespace"))
            and all(item in found["metadata"].get("labels", {}).items() for item in wanted)
        ]

    def apply(self, verb: str, resource: Resource, name: str, namespace: str, body: Any) -> Any:
        if self.namespaces is not None and namespace not in self.namespaces:
            details = {"name": namespace, "kind": "namespaces"}
            text = f'namespaces "{namespace}" not found'
            raise NotFound(verb, resource.label(), text, code=404, details=details)
        key = (resource.plural, name or body["metadata"]["name"])
        found = self.objects.get(key)
        if verb == "create":
            if found is not None:
                raise AlreadyExists(verb, resource.label(), "there")
        elif found is None:
            raise NotFound(verb, resource.label(), "not there", details={"name": name})
        if verb == "get":
            return found
        if found is not None and verb in ("patch", "update"):
            stands = found["metadata"]["resourceVersion"]
            # An update must name the version that it changes, a patch may.
            unnamed = stands if verb == "patch" else None
            if body.get("metadata", {}).get("resourceVersion", unnamed) != stands:
                raise Conflict(verb, resource.label(), "the object has been modified")
            body = _patched(found, body) if verb == "patch" else body
        self.version += 1
        metadata = {**body["metadata"], "resourceVersion": str(self.version)}
        self.objects[key] = {**body, "metadata": metadata}
        return self.objects[key]


def _patched(found: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """The object after a patch, which is merged two levels deep; lists are replaced."""
    merged = {**found, **body}
    for part in ("metadata", "status"):
        if part in body:
            merged[part] = {**found.get(part, {}), **body[part]}
    return merged


class MemoryClient(Client):
    """Talks to a Store.

    Attributes:
        before: called with the verb before each request: may raise.
        after: called with the verb after each request took effect: may raise.
        garble: makes the answer to a request that is no list from what it should be.
        latency: seconds before a request takes effect; asyncio.sleep(inf) hangs.
        sent: (verb, plural, body) of all requests.
    """

    def __init__(
        self, store: Store, authorization: str | None = None, clock: TimeSource = MACHINE
    ) -> None:
        cluster = Cluster("http://in.memory", auth=FixedAuth(authorization))
        super().__init__(cluster, component="test", clock=clock)
        self.store = store
        self.before: Callable[[str], None] = lambda _: None
        self.after: Callable[[str], None] = lambda _: None
        self.garble: Callable[[bytes], bytes] = lambda raw: raw
        self.latency = 0.0
        self.sent: list[tuple[str, str, Any]] = []

    async def request(
        self,
        verb: str,
        resource: Resource,
        name: str = "",
        namespace: str | None = None,
        *,
        body: Any = None,
        query: Query | None = None,
        **_: Any,
    ) -> bytes:
        self.sent.append((verb, resource.plural, body))
        await asyncio.sleep(self.latency)
        self.before(verb)
        if verb == "list":
            selector = str((query or {}).get("labelSelector", ""))
            found = self.store.listed(resource, selector, namespace)
            return msgspec.json.encode({"metadata": {}, "items": found})
        body = msgspec.json.decode(msgspec.json.encode(body))
        written = self.store.apply(verb, resource, name, namespace or "", body)
        self.after(verb)
        return self.garble(msgspec.json.encode(written))
