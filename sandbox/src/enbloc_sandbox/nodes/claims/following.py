# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of several kinds, kept by watches, and the changes that a controller makes of them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from enbloc.client.client import Client, PatchType
from enbloc.client.errors import APIError, NotFound
from enbloc.client.items import Deleted, Seen, Synced
from enbloc.client.paths import Resource
from enbloc.client.reflector import Reflector
from enbloc_sandbox.nodes.objects import Object, settled

#: One object that was made once: its kind, namespace, name and UID.
Identity = tuple[Resource, str, str, str]

#: How many requests of one controller are under way at once.
_PARALLEL: Final = 16

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """One write. It is lost when the object is no more what it was: its event brings us back.

    Attributes:
        of: the object as it was seen, or the owner of what is to be created.
        resource: the kind of the object that is written.
        body: a merge patch, or the object to create; None to delete it.
        subresource: "status", or "" for the object.
        create: make a new object of `body`, in the namespace of `of`.
        unless: it is not done while one of these is there.
        then: a second merge patch, of the object that the first one left.
    """

    of: Object
    resource: Resource
    body: Mapping[str, Any] | None
    subresource: str = ""
    create: bool = False
    unless: tuple[Identity, ...] = ()
    then: Mapping[str, Any] | None = None


def each(objects: Iterable[Object], rule: Callable[[Object], Iterable[Change]]) -> Iterator[Change]:
    """What a rule makes of each object; one that it cannot read holds up no other."""
    for one in objects:
        try:
            yield from list(rule(one))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            log.debug("%s: cannot be followed: %s", one.key, error)


class Following:
    """What watches have shown of some kinds, by "namespace/name" or name.

    Args:
        client: the API.
        resources: the kinds.
        shapes: the msgspec type of those that are read otherwise than as `Object`.
    """

    def __init__(
        self,
        client: Client,
        *resources: Resource,
        shapes: Mapping[Resource, type[Any]] | None = None,
    ) -> None:
        self._client = client
        self._shapes = shapes or {}
        self._known: dict[Resource, dict[str, Any]] = {one: {} for one in resources}
        self._slots = asyncio.Semaphore(_PARALLEL)
        self._lists = 0
        self.changed = asyncio.Event()

    def of(self, resource: Resource) -> Mapping[str, Any]:
        """The objects of a kind."""
        return self._known[resource]

    @property
    def complete(self) -> bool:
        """Every kind has been listed."""
        return self._lists >= len(self._known)

    async def run(self, step: Callable[[], Awaitable[None]] | None = None) -> None:
        """Watch until cancelled; `step` runs after changes, one at a time, once all is known."""
        async with asyncio.TaskGroup() as tasks:
            for resource, known in self._known.items():
                tasks.create_task(self._watch(resource, known))
            while step is not None:
                await self.changed.wait()
                self.changed.clear()
                await step()

    async def _watch(self, resource: Resource, known: dict[str, Any]) -> None:
        shape = self._shapes.get(resource, Object)
        listed = False
        async for item in Reflector(self._client, resource, shape).stream():
            if isinstance(item, Seen | Deleted):
                meta = item.meta
                key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
                if isinstance(item, Deleted):
                    known.pop(key, None)
                else:
                    known[key] = item.object
            elif isinstance(item, Synced) and not listed:
                listed = True
                self._lists += 1
            if self.complete:
                self.changed.set()

    async def carry_out(self, changes: Iterable[Change]) -> list[Any | None]:
        """Write them all; the answers, None for what was not written."""
        return list(await asyncio.gather(*(self._write(change) for change in changes)))

    async def _write(self, change: Change) -> Any | None:
        async with self._slots:
            for one in change.unless:  # a watch that lags must not make us take things away
                if await self._is_there(*one):
                    return None
            answer = await settled(lambda: self._send(change))
            if answer is not None and change.then is not None:
                again = Change(msgspec.convert(answer, Object), change.resource, change.then)
                return await settled(lambda: self._send(again))
            return answer

    async def _send(self, change: Change) -> Any:
        meta = change.of.metadata
        if change.create:
            return await self._client.create(
                change.resource, change.body, meta.namespace if change.resource.namespaced else None
            )
        if change.body is None:
            return await self._client.delete(
                change.resource, meta.name, meta.namespace or None, uid=meta.uid
            )
        seen = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        metadata = {**change.body.get("metadata", {}), **seen}
        return await self._client.patch(
            change.resource,
            meta.name,
            {**change.body, "metadata": metadata},
            meta.namespace or None,
            kind=PatchType.MERGE,
            subresource=change.subresource,
        )

    async def _is_there(self, resource: Resource, namespace: str, name: str, uid: str) -> bool:
        """Whether this very object still is; also while the server cannot say."""
        try:
            found = await self._client.get(resource, name, namespace)
        except NotFound:
            return False
        except APIError:
            return True
        return bool(found["metadata"]["uid"] == uid)
