# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Objects: the requests of binding plugins; a list names each kind and verb that is allowed."""

import asyncio
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Hashable,
    Mapping,
)
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from enbloc.client.backoff import asked_for
from enbloc.client.client import Client, PatchType
from enbloc.client.decoding import UNREADABLE, decoded, why
from enbloc.client.discovery import served
from enbloc.client.errors import APIError, Fenced
from enbloc.client.fair_slots import FairSlots
from enbloc.client.paths import (
    NATIVE_POD_GROUPS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIMS,
    Resource,
)
from enbloc.client.transport import JSON
from enbloc.framework.act import Reply
from enbloc.live.object_watches import ObjectWatches
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodUID

#: The most requests in flight, for all plans together. A plugin that waits for a change uses none.
REQUESTS: Final = 32
#: The longest Unreserve of one member, not counting waits for other members (seconds). Each of its
#: few requests may wait as long as the server asks for.
UNRESERVE_SECONDS: Final = 120.0

#: The kinds that plugins may access, and the verbs.
_ALLOWED: Final[Mapping[str, tuple[Resource, frozenset[str]]]] = {
    resource.kind: (resource, frozenset(verbs.split()))
    for resource, verbs in (
        (NODES, "get"),
        (PODS, "get patch/status"),
        (PERSISTENT_VOLUMES, "get patch"),
        (PERSISTENT_VOLUME_CLAIMS, "get patch"),
        (RESOURCE_CLAIMS, "get patch patch/status create delete"),
        (NATIVE_POD_GROUPS[0], "get"),
    )
}

#: The kind that is looked for in discovery, because the server may not have it.
_OPTIONAL: Final = NATIVE_POD_GROUPS[0].label()

_OBJECT: Final = msgspec.json.Decoder(dict[str, Any]).decode

T = TypeVar("T")


class Objects:
    """Sends the requests of binding plugins; plans take turns.

    Args:
        client: may write only while this process is the leader.
        watches: report changes, and the version in which a kind is served.
        now: server time, seconds since the epoch.
        places: as `Engine.places`.
    """

    def __init__(
        self,
        client: Client,
        watches: ObjectWatches,
        now: Callable[[], float],
        places: Callable[[GroupKey, PodUID], bool],
    ) -> None:
        self._client = client
        self.places = places
        #: The served resource of Kubernetes' PodGroups, once looked up.
        self._native: Resource | None = None
        self._looking = asyncio.Lock()
        self._slots = FairSlots(REQUESTS)
        #: For each object that is held: its lock, and how many hold it or wait for it.
        self._alone: dict[tuple[str, str, str], tuple[asyncio.Lock, int]] = {}
        self.watches = watches
        self.now = now

    async def read(self, party: Hashable, kind: str, namespace: str, name: str) -> Reply:
        """GET an object."""
        return await self._send(party, "get", kind, namespace, name)

    async def patch(
        self, party: Hashable, kind: str, namespace: str, name: str, body: Any, *, status: bool
    ) -> Reply:
        """PATCH an object, or its status, by a merge patch."""
        return await self._send(party, "patch", kind, namespace, name, body, status=status)

    async def create(self, party: Hashable, kind: str, namespace: str, body: Any) -> Reply:
        """POST an object."""
        return await self._send(party, "create", kind, namespace, "", body)

    async def delete(
        self, party: Hashable, kind: str, namespace: str, name: str, uid: str
    ) -> Reply:
        """DELETE an object if it has this UID."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
        return await self._send(party, "delete", kind, namespace, name, body)

    @asynccontextmanager
    async def alone(
        self, kind: str, namespace: str, name: str, limit: asyncio.Timeout | None = None
    ) -> AsyncGenerator[None]:
        """Hold an object exclusively among the plugins of this process.

        Args:
            kind: of the object.
            namespace: of the object; "" for kinds without one.
            name: of the object.
            limit: paused while others hold the object, at most UNRESERVE_SECONDS for each.
        """
        key = (kind, namespace, name)
        lock, users = self._alone.get(key, (asyncio.Lock(), 0))
        self._alone[key] = lock, users + 1
        try:
            with _stopped(limit, users * UNRESERVE_SECONDS):
                await lock.acquire()
            try:
                yield
            finally:
                lock.release()
        finally:
            lock, users = self._alone[key]
            if users > 1:
                self._alone[key] = lock, users - 1
            else:
                del self._alone[key]

    async def _send(
        self,
        party: Hashable,
        verb: str,
        kind: str,
        namespace: str,
        name: str,
        body: Any = None,
        *,
        status: bool = False,
    ) -> Reply:
        resource, verbs = _ALLOWED.get(kind, (None, frozenset[str]()))
        asked = f"{verb}/status" if status else verb
        if resource is None or asked not in verbs:
            return Reply(400, message=f"plugins may not {asked} the kind {kind}")
        found = await self._served(resource)
        if isinstance(found, Reply):
            return found
        resource = found
        if verb == "create":
            body = {**body, "apiVersion": resource.api_version, "kind": resource.kind}
        send = partial(
            self._client.request,
            verb,
            resource,
            name,
            namespace or None,
            subresource="status" if status else "",
            body=body,
            content_type=PatchType.MERGE if verb == "patch" else JSON,
        )
        async with self._slots.slot(party):
            reply = await _whole(_reply(send, f"{verb} {resource.label()}"))
        if reply.code == 404 and resource == self._native:
            self._native = None  # the server may have another version now
        return reply

    async def _served(self, resource: Resource) -> Resource | Reply:
        """The resource as the server has it; a Reply with the error if that is unknown."""
        if resource not in NATIVE_POD_GROUPS:
            return self.watches.resource(resource.kind) or resource
        async with self._looking:
            if self._native is None:
                versions = [each.version for each in NATIVE_POD_GROUPS]
                try:
                    self._native = await served(self._client, resource, versions)
                except APIError as error:
                    return _refused(error)
        if self._native is None:
            return Reply(404, message=f"the API server does not serve {resource.label()}")
        return self._native


async def _reply(send: Callable[[], Awaitable[bytes]], asked: str) -> Reply:
    """The outcome of a request.

    Raises:
        Fenced: it was not sent, because this process may no longer write.
    """
    try:
        raw = await send()
    except Fenced:
        raise
    except APIError as error:
        return _refused(error)
    try:
        found = decoded(_OBJECT, raw)
    except UNREADABLE as error:
        return Reply(0, message=f"cannot {asked}: unreadable answer: {why(error)}")
    return Reply(200, found)


def _refused(error: APIError) -> Reply:
    if error.denied:  # webhooks and policies choose the code
        return Reply(403, message=str(error))
    if error.resource_missing and error.resource != _OPTIONAL:
        # From a proxy, or the kind is served in another version now; plans use what is served.
        return Reply(0, message=str(error))
    return Reply(error.code, message=str(error), retry_after=asked_for(error))


@contextmanager
def _stopped(limit: asyncio.Timeout | None, seconds: float) -> Generator[None]:
    """Pause a time limit meanwhile, for at most `seconds`."""
    if limit is None:
        yield
        return
    now = asyncio.get_running_loop().time
    began = now()
    _put_off(limit, seconds)
    try:
        yield
    finally:
        _put_off(limit, min(now() - began, seconds) - seconds)


def _put_off(limit: asyncio.Timeout, seconds: float) -> None:
    end = limit.when()
    if end is not None and not limit.expired():
        limit.reschedule(end + seconds)


async def _whole(work: Coroutine[Any, Any, T]) -> T:
    """Finish work that must not stop midway: a cancellation takes effect after it.

    Otherwise a request could take effect after it was undone.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
