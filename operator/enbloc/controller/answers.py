# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What kopf gets to read of the API server's answers.

kopf decodes whole objects, by a decoder that gives up on what nests deep, on numbers of thousands
of digits and on much else that a tenant may store or a proxy may send; then no PodGroup is seen
any more. So each answer is read here first, and kopf is given what was understood.

Nor is kopf given what it would only pass on: that nothing but the status of a PodGroup changed,
which in a burst is one or two events for each, every one of them an echo of our own writes. For
each it would have a task, several deep copies and a line in the log. It is told by a bookmark how
far the watch has come.
"""

import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol, cast

import aiohttp
import msgspec
from aiohttp import hdrs
from multidict import CIMultiDict, CIMultiDictProxy

from enbloc.client.decoding import UNREADABLE, decoded, why
from enbloc.client.errors import LONGEST_WAIT, readable
from enbloc.client.items import Identified, ListMeta
from enbloc.client.paths import POD_GROUPS
from enbloc.client.reflector import CHANGES
from enbloc.client.transport import asked_to_wait
from enbloc.model.text import clipped, quoted
from enbloc.model.versions import version_of
from enbloc.wire.objects import Metadata, PodGroupObject

_LABEL: Final = POD_GROUPS.label()

log = logging.getLogger(__name__)


class _List(msgspec.Struct):
    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Versioned(msgspec.Struct, rename="camel"):
    resource_version: str


class _Bookmark(msgspec.Struct):
    metadata: _Versioned


class _Status(msgspec.Struct, omit_defaults=True):
    code: int = 500
    message: str | None = None
    reason: str | None = None


class _Condition(msgspec.Struct):
    type: str
    status: str
    reason: str


class _Role(msgspec.Struct):
    name: str


class _WholeStatus(msgspec.Struct):
    conditions: tuple[_Condition, ...] | None = None
    roles: tuple[_Role, ...] | None = None


class WholeGroup(msgspec.Struct):
    """What of a PodGroup's status is always there, by the CRD; who reconciles relies on it."""

    status: _WholeStatus | None = None


_LIST: Final = msgspec.json.Decoder(_List).decode
_EVENT: Final = msgspec.json.Decoder(_Event).decode
_BOOKMARK: Final = msgspec.json.Decoder(_Bookmark).decode
_STATUS: Final = msgspec.json.Decoder(_Status).decode
_GROUP: Final = msgspec.json.Decoder(PodGroupObject).decode
_WHOLE: Final = msgspec.json.Decoder(WholeGroup).decode
_IDENTIFIED: Final = msgspec.json.Decoder(Identified).decode
_ANY: Final = msgspec.json.Decoder(dict[str, Any]).decode
_ENCODE: Final = msgspec.json.Encoder().encode


def readable_group(raw: bytes | msgspec.Raw) -> Mapping[str, Any] | None:
    """A PodGroup as JSON, without what nobody here reads; None, and a warning, if it is none."""
    try:
        decoded(_WHOLE, raw)
        shown, found = decoded(_GROUP, raw), decoded(_ANY, raw)
        metadata = _given(shown.metadata)
        missing = [name for name in ("name", "namespace", "uid") if not metadata.get(name)]
        if missing:
            raise msgspec.ValidationError(f"metadata.{missing[0]}: missing")
        made = {
            "apiVersion": POD_GROUPS.api_version,
            "kind": POD_GROUPS.kind,
            "metadata": metadata,
            **{part: found[part] for part in ("spec", "status") if found.get(part)},
        }
        _ENCODE(made)  # no number that cannot be written again
    except (*UNREADABLE, OverflowError) as error:
        log.warning("Ignored a malformed PodGroup %s: %s", _name(raw), why(error))
        return None
    return made


class Answers:
    """The answers of one run of kopf, read before kopf reads them.

    Args:
        changed: told of a PodGroup of which only the status, or metadata that no generation
            counts, has changed; kopf does not see that event.
        went_back: called where a list is older than what was shown before.
    """

    def __init__(
        self, changed: Callable[[Mapping[str, Any]], object], went_back: Callable[[], object]
    ) -> None:
        self._changed = changed
        self._went_back = went_back
        self._generations: dict[str, int] = {}  # as last given to kopf, by UID
        self._newest = 0

    def page(self, raw: bytes, *, first: bool) -> bytes:
        """One page of PodGroups, without those that cannot be read.

        Raises:
            Unreachable: it is no list.
        """
        page = readable(_LIST, raw, "list", _LABEL)
        if first:
            self._generations.clear()
            version = version_of(page.metadata.resource_version)
            if version < self._newest:
                self._went_back()
            self._newest = version
        groups = [found for item in page.items or () if (found := readable_group(item)) is not None]
        for group in groups:
            self._note(group)
        return _ENCODE({"metadata": page.metadata, "items": groups})

    def line(self, line: bytes) -> bytes:
        """One line of a watch of PodGroups; b"" where it shows one that cannot be read.

        Raises:
            Unreachable: it is no watch event.
        """
        event = readable(_EVENT, line, "watch", _LABEL)
        given = _shown(event)
        if given is None:
            return b""
        kind = event.type
        if kind in CHANGES:
            version = version_of(given["metadata"].get("resourceVersion"))
            self._newest = max(self._newest, version)
        if kind == "DELETED":
            self._generations.pop(given["metadata"]["uid"], None)
        elif kind == "MODIFIED" and self._is_known(given):
            self._changed(given)
            kind, given = "BOOKMARK", _progress(given)
        elif kind in CHANGES:
            self._note(given)
        return _ENCODE({"type": kind, "object": given}) + b"\n"

    def _note(self, group: Mapping[str, Any]) -> None:
        metadata = group["metadata"]
        self._generations[metadata["uid"]] = metadata.get("generation", 0)

    def _is_known(self, group: Mapping[str, Any]) -> bool:
        """Whether kopf was given this object, with the spec that it has."""
        metadata = group["metadata"]
        known = self._generations.get(metadata["uid"])
        return known is not None and known == metadata.get("generation", 0)

    async def read_first(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """A client middleware: who asked is given what could be read of the answer."""
        response = await handler(request)
        if (asked := asked_to_wait(response.headers) or 0.0) > LONGEST_WAIT:
            log.warning(
                "API server asks to wait %.0f s for podgroups; waiting %d s", asked, LONGEST_WAIT
            )
        if response.status >= 300:
            whole = readable_refusal
        elif request.url.path.endswith(f"/{POD_GROUPS.plural}"):
            whole = partial(self.page, first="continue" not in request.url.query)
        else:
            whole = _other
        body = cast("Body", response.content)
        response.content = cast("aiohttp.StreamReader", ReadableBody(body, whole, self.line))
        return response


def _progress(group: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a bookmark at this state of an object shows."""
    version = group["metadata"].get("resourceVersion")
    return {"metadata": {} if version is None else {"resourceVersion": version}}


def _shown(event: _Event) -> Any:
    """What a watch event shows, as it can be read; None if it cannot be."""
    if event.type == "ERROR":
        return _refusal(event.object)
    if event.type == "BOOKMARK":
        return readable(_BOOKMARK, event.object, "watch", _LABEL)
    if event.type in CHANGES:
        return readable_group(event.object)
    log.warning("Ignored a watch event of the unknown type %s of %s", quoted(event.type), _LABEL)
    return None


def readable_refusal(raw: bytes) -> bytes:
    """The Status of an answer that is no success; an empty one if it is none."""
    return _ENCODE(_refusal(raw))


def _refusal(raw: bytes | msgspec.Raw) -> Mapping[str, Any]:
    try:
        status = decoded(_STATUS, raw)
    except UNREADABLE:
        status = _Status()
    return {"kind": "Status", "status": "Failure", "code": status.code, **_given(status)}


def _other(raw: bytes) -> bytes:
    return _ENCODE(readable(_ANY, raw, "get", _LABEL))


def _given(shown: Metadata | _Status) -> dict[str, Any]:
    """The fields that are there."""
    fields = cast("dict[str, Any]", msgspec.to_builtins(shown))
    return {name: value for name, value in fields.items() if value is not None}


def _name(raw: bytes | msgspec.Raw) -> str:
    try:
        meta = decoded(_IDENTIFIED, raw).metadata
    except UNREADABLE:
        return "without a name"
    return clipped(f"{meta.namespace}/{meta.name}", 256)


# ── in the place of a body ───────────────────────────────────────────────────────────────────


class Body(Protocol):
    """What kopf reads an answer from, as aiohttp's StreamReader."""

    async def read(self) -> bytes:
        """All of it."""
        ...

    def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """All of it, as it comes."""
        ...


class ReadableBody:
    """A body of which only what can be read is given.

    Args:
        body: as the server sends it.
        whole: reads all of an answer that ends.
        line: reads one line of a watch.
    """

    def __init__(
        self, body: Body, whole: Callable[[bytes], bytes], line: Callable[[bytes], bytes]
    ) -> None:
        self._body = body
        self._whole = whole
        self._line = line

    def __getattr__(self, name: str) -> Any:
        """Whatever else aiohttp asks its body for, as when it is given up."""
        return getattr(self._body, name)

    async def read(self) -> bytes:
        """An answer that ends.

        Raises:
            Unreachable: it cannot be read.
        """
        return self._whole(await self._body.read())

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """The lines of a watch.

        Raises:
            Unreachable: one of them is no watch event.
        """
        rest = b""
        async for chunk in self._body.iter_chunked(size):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                given = self._line(line) if line else b""
                if given:
                    yield given


class PatientResponse(aiohttp.ClientResponse):
    """An answer whose `Retry-After` is seconds, and no more than LONGEST_WAIT; or is not there.

    kopf waits as long as it says, and breaks where it is a date.
    """

    @property
    def headers(self) -> CIMultiDictProxy[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The headers."""
        headers = super().headers
        if hdrs.RETRY_AFTER not in headers:
            return headers
        given = CIMultiDict(headers)
        asked = asked_to_wait(given)
        del given[hdrs.RETRY_AFTER]
        if asked is not None and asked > 0:
            given[hdrs.RETRY_AFTER] = str(math.ceil(min(asked, LONGEST_WAIT)))
        return CIMultiDictProxy(given)
