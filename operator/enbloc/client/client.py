# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The verbs of the Kubernetes API, with JSON bodies and typed errors.

The client waits out a 429 that asks for a short pause, because the request was not processed;
not that of a webhook, which denies. It sends nothing else twice: only the caller knows what may be
repeated, and what to do meanwhile.
"""

import copy
import enum
import time
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, Self
from urllib.parse import urlencode

import aiohttp
import msgspec

from enbloc.client.backoff import Backoff
from enbloc.client.clock import MACHINE, ServerClock, TimeSource
from enbloc.client.config import Cluster
from enbloc.client.errors import APIError, Fenced, NotFound, TooManyRequests, Unreachable, readable
from enbloc.client.paths import EVENTS, Resource
from enbloc.client.permissions import Rule, allowed
from enbloc.client.transport import (
    ANSWER_BYTES,
    CONNECT_SECONDS,
    JSON,
    LIST_BYTES,
    READ_TIMEOUT,
    WRITE_SECONDS,
    WRITE_TIMEOUT,
    Call,
    Stream,
    Transport,
)
from enbloc.model.request_rate import RequestRate

PAGE_SIZE: Final = 500
#: How often a request is sent, in all, while the answer is 429.
THROTTLED_TRIES: Final = 5
#: The longest wait of a 429 that the client waits out itself (seconds).
MOMENT_SECONDS: Final = 2.0
#: The longest time for all pages of a list (seconds): a server keeps its snapshot 5 to 10 minutes.
LIST_SECONDS: Final = 900.0
_SERVER_TIMEOUT: Final = f"timeout={WRITE_SECONDS:.0f}s"
_FAILURE: Final = ("Status", "Failure")
_READS: Final = frozenset({"get", "list", "watch"})

Query = Mapping[str, str | int]


class PatchType(enum.StrEnum):
    """The content types of a PATCH."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Client:
    """One API server; an async context manager. Every verb raises APIError.

    Args:
        cluster: the API server, and the credentials to use.
        component: the process, for the user agent ("scheduler").
        rules: if given, a request that they do not allow fails with AssertionError, unsent.
        connections: the most connections at once, watches included.
        rate: the limit on requests; None = no limit.
        clock: the source of time.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        component: str,
        rules: Sequence[Rule] | None = None,
        connections: int = 256,
        rate: RequestRate | None = None,
        clock: TimeSource = MACHINE,
    ) -> None:
        self.cluster = cluster
        self.clock: Final = clock
        self._component = component
        self._rules = rules
        self._may_write: Callable[[], bool] = lambda: True
        #: The time limit of a write, for the server and for this side.
        self._write_limits = _SERVER_TIMEOUT, WRITE_TIMEOUT
        #: When each write under way was sent; and the last that may still take effect although it
        #: has ended (seconds of `clock.local`).
        self._sent, self._unknown = dict[object, float](), float("-inf")
        self._transport = Transport(cluster, component, connections, rate, clock.local)

    async def __aenter__(self) -> Self:
        await self._transport.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.close()

    def again(self) -> "Client":
        """Another client for the same server and user, for another event loop.

        It has no rate limit: it renews the Lease, which must not wait.
        """
        cluster = replace(self.cluster, auth=self.cluster.auth.again())
        return Client(
            cluster, component=self._component, rules=self._rules, connections=4, clock=self.clock
        )

    def fenced(self, may_write: Callable[[], bool], seconds: float = WRITE_SECONDS) -> "Client":
        """The same client, but it sends no write while ``may_write()`` is false.

        Args:
            may_write: whether a write that takes so long may be sent now.
            seconds: the time limit of a write.
        """
        view = copy.copy(self)
        limits = f"timeout={seconds:g}s", aiohttp.ClientTimeout(total=seconds)
        view._may_write, view._write_limits = may_write, limits  # noqa: SLF001  # a copy of our own
        view._sent, view._unknown = {}, float("-inf")  # noqa: SLF001  # as above
        return view

    @contextmanager
    def writing(self, verb: str, resource: str) -> Generator[Callable[[], None]]:
        """Count a write for `landing`; returns what must be called just before it is sent.

        That raises Fenced if this process may no longer be the leader.
        """
        write, certain = object(), False

        def sending() -> None:
            self.check_fence(verb, resource)
            self._sent[write] = self.clock.local()

        try:
            yield sending
            certain = True
        except APIError as error:
            certain = not error.may_have_landed
            raise
        finally:
            sent = self._sent.pop(write, float("-inf"))
            if not certain:
                self._unknown = max(self._unknown, sent)

    def landing(self) -> float:
        """Seconds until no write can take effect that was given up or has no certain outcome.

        Those that are under way count as given up. Events do not count: nobody decides by them.
        """
        limit = self._write_limits[1].total or WRITE_SECONDS
        last = max(self._sent.values(), default=self._unknown)
        return max(0.0, max(last, self._unknown) + limit - self.clock.local())

    @property
    def server_offset(self) -> float | None:
        """Server time (Unix seconds) minus ``clock.local()`` by recent responses, ± 1 s."""
        return self._transport.server_offset

    def server_clock(self) -> ServerClock:
        """A clock of server time."""
        return ServerClock(lambda: self.server_offset, self.clock)

    async def version(self) -> Mapping[str, str]:
        """The server's version information, from /version."""
        return _read(await self.read("/version"), "get", "/version", dict[str, str])

    async def read(self, path: str) -> bytes:
        """The undecoded answer at a path that is not a resource's, such as discovery."""
        return await self._transport.exchange(Call("get", path, path))

    async def serves(self, resource: Resource) -> bool:
        """Whether the server's discovery lists this resource in this version."""
        path = f"/apis/{resource.group}/{resource.version}" if resource.group else "/api/v1"
        try:
            raw = await self.read(path)
        except NotFound:
            return False
        found = _read(raw, "get", path, _Resources)
        return any(each.name == resource.plural for each in found.resources)

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        shape: Any = dict[str, Any],
    ) -> Any:
        """The object, read as this type."""
        raw = await self.request("get", resource, name, namespace)
        return _read(raw, "get", resource.label(), shape)

    async def page(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        query: Query | None = None,
        limit: int = PAGE_SIZE,
        accept: str = JSON,
    ) -> bytes:
        """One page of a list, undecoded; ``query`` may hold selectors and ``continue``."""
        asked = {**(query or {}), **({"limit": limit} if limit else {})}
        return await self.request("list", resource, namespace=namespace, query=asked, accept=accept)

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        query: Query | None = None,
        shape: Any = dict[str, Any],
    ) -> AsyncIterator[Any]:
        """All objects, each read as this type, page by page."""
        more: dict[str, str] = {}
        paging = Paging(resource.label())
        while True:
            raw = await self.page(resource, namespace, query={**(query or {}), **more})
            page: _Page = _read(raw, "list", resource.label(), _Page)
            for item in page.items or ():
                yield _read(item, "list", resource.label(), shape)
            if not page.metadata.more:
                return
            more = paging.next(page.metadata.more)

    def watch(
        self, resource: Resource, namespace: str | None = None, *, query: Query, silence: float
    ) -> AbstractAsyncContextManager[Stream]:
        """A watch's stream of lines; ``silence`` seconds without data end it with Unreachable."""
        path = resource.path(namespace) + "?" + urlencode({**query, "watch": "true"})
        self._check("watch", resource, "", "")
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=silence)
        return self._transport.stream(Call("watch", resource.label(), path, timeout=timeout))

    async def create(
        self,
        resource: Resource,
        body: Any,
        namespace: str | None = None,
        *,
        name: str = "",
        subresource: str = "",
        tries: int = THROTTLED_TRIES,
        shape: Any = dict[str, Any],
    ) -> Any:
        """POST to a collection, or to a subresource of ``name``; the answer, read as this type."""
        raw = await self.request(
            "create", resource, name, namespace, body=body, subresource=subresource, tries=tries
        )
        return self._written(raw, "create", resource, subresource, shape)

    async def replace(
        self, resource: Resource, name: str, body: Any, namespace: str | None = None
    ) -> Any:
        """PUT the object; its resourceVersion, if it has one, is a precondition."""
        raw = await self.request("update", resource, name, namespace, body=body)
        return self._written(raw, "update", resource)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Any,
        namespace: str | None = None,
        *,
        kind: PatchType,
        subresource: str = "",
        query: Query | None = None,
        shape: Any = dict[str, Any],
    ) -> Any:
        """PATCH the object, read as this type; ``query`` holds fieldManager and force for APPLY."""
        raw = await self.request(
            "patch",
            resource,
            name,
            namespace,
            body=body,
            subresource=subresource,
            query=query,
            content_type=kind,
        )
        return self._written(raw, "patch", resource, subresource, shape)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        resource_version: str = "",
    ) -> Any:
        """DELETE the object if it still has this UID and resourceVersion (else Conflict)."""
        wanted = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {key: value for key, value in wanted.items() if value}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        raw = await self.request("delete", resource, name, namespace, body=body)
        return self._written(raw, "delete", resource)

    async def request(  # noqa: PLR0913  # an HTTP request has this many parts
        self,
        verb: str,
        resource: Resource,
        name: str = "",
        namespace: str | None = None,
        *,
        subresource: str = "",
        query: Query | None = None,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        tries: int = THROTTLED_TRIES,
    ) -> bytes:
        """Send any request and return the undecoded body.

        Args:
            verb: get, list, create, update, patch or delete.
            resource: the resource.
            name: the object; "" for the collection.
            namespace: the namespace; None for cluster-scoped resources and all namespaces.
            subresource: "status", "binding", ….
            query: the query string's values.
            body: what to encode as JSON.
            content_type: of the body.
            accept: the media types to accept.
            tries: how often to send in all while the answer is 429 and asks for a short pause.

        Raises:
            APIError: the request did not succeed.
        """
        self._check(verb, resource, subresource, name)
        writes = verb not in _READS
        at_server, timeout = self._write_limits if writes else ("", READ_TIMEOUT)
        asked = ([urlencode(query)] if query else []) + ([at_server] if writes else [])
        call = Call(
            verb,
            resource.label(subresource),
            resource.path(namespace, name, subresource) + ("?" + "&".join(asked) if asked else ""),
            None if body is None else msgspec.json.encode(body),
            content_type,
            timeout,
            accept,
            LIST_BYTES if verb == "list" else ANSWER_BYTES,
        )
        if not writes:
            return await self._exchange(call, tries)
        if resource == EVENTS:
            fence = partial(self.check_fence, verb, call.resource)
            return await self._exchange(replace(call, check=fence), tries)
        with self.writing(verb, call.resource) as sending:
            answer = await self._exchange(replace(call, check=sending), tries)
            if not answer.lstrip().startswith(b"{"):
                raise Unreachable(verb, call.resource, "unreadable answer: no object", sent=True)
        return answer

    def _written(
        self,
        raw: bytes,
        verb: str,
        resource: Resource,
        subresource: str = "",
        shape: Any = dict[str, Any],
    ) -> Any:
        """Decode the answer to a write; one that cannot be read leaves its outcome uncertain."""
        try:
            return _read(raw, verb, resource.label(subresource), shape)
        except Unreachable:
            if resource != EVENTS:
                self._unknown = self.clock.local()  # it was sent before that
            raise

    async def _exchange(self, call: Call, tries: int) -> bytes:
        backoff = Backoff()
        while True:
            call.check()
            try:
                return await self._transport.exchange(call)
            except TooManyRequests as error:
                tries -= 1
                if tries <= 0 or error.denied or error.retry_after > MOMENT_SECONDS:
                    raise
                await backoff.wait_out(error)

    def check_fence(self, verb: str, resource: str) -> None:
        """Refuse a write if none may be sent now; for writes that do not go through this client.

        Raises:
            Fenced: this process may no longer be the leader.
        """
        if not self._may_write():
            raise Fenced(verb, resource, "not sent: this process may no longer hold the Lease")

    def _check(self, verb: str, resource: Resource, subresource: str, name: str) -> None:
        if self._rules is not None:
            asked = f"{resource.plural}/{subresource}" if subresource else resource.plural
            ok = allowed(self._rules, resource.group, asked, verb, name)
            assert ok, f"{verb} {resource.label(subresource)} is not in client/permissions.py"


class Paging:
    """The paging of one list, which ends whatever the server answers.

    Args:
        resource: what is listed, as RBAC spells it.
    """

    def __init__(self, resource: str) -> None:
        self._resource = resource
        self._until = time.monotonic() + LIST_SECONDS
        self._known: set[str] = set()

    def next(self, token: str) -> dict[str, str]:
        """The query for the page of this continue token.

        Raises:
            Unreachable: this page was already asked for, or the list takes too long.
        """
        if token in self._known:
            why = "the same continue token came twice: the list has no end"
        elif time.monotonic() > self._until:
            why = f"the list has no end after {LIST_SECONDS:.0f} s"
        else:
            self._known.add(token)
            return {"continue": token}
        raise Unreachable("list", self._resource, why, sent=True)


class _PageMeta(msgspec.Struct, rename={"more": "continue"}):
    more: str = ""


class _Page(msgspec.Struct):
    """One page of a list, its objects undecoded."""

    metadata: _PageMeta
    items: list[msgspec.Raw] | None = None


class _ResourceName(msgspec.Struct):
    name: str = ""


class _Resources(msgspec.Struct):
    """The resources of one version of an API group."""

    resources: list[_ResourceName]


def _read(raw: bytes | msgspec.Raw, verb: str, resource: str, shape: Any = dict[str, Any]) -> Any:
    """Decode the answer to a successful request, which is always a JSON object."""
    found = readable(partial(msgspec.json.decode, type=shape), raw, verb, resource)
    if isinstance(found, dict) and (found.get("kind"), found.get("status")) == _FAILURE:
        raise Unreachable(verb, resource, "a success that says it is a failure", sent=True)
    return found
