# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What kopf gets to read of the API server's answers.

kopf decodes whole objects, by a decoder that gives up on what nests deep, on numbers of thousands
of digits and on much else that a tenant may store or a proxy may send; then no PodGroup is seen
any more. So each answer is read here first, and kopf is given what was understood.
"""

import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final, Protocol, cast

import aiohttp
import msgspec
from aiohttp import hdrs
from multidict import CIMultiDict, CIMultiDictProxy

from enbloc.kube.decoding import UNREADABLE, decoded, why
from enbloc.kube.errors import LONGEST_WAIT, readable
from enbloc.kube.items import Identified, ListMeta
from enbloc.kube.paths import POD_GROUPS
from enbloc.kube.reflector import CHANGES
from enbloc.kube.transport import asked_to_wait
from enbloc.model.objects import Metadata, PodGroupObject
from enbloc.model.text import clipped, quoted

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


def readable_list(raw: bytes) -> bytes:
    """One page of PodGroups, without those that cannot be read.

    Raises:
        Unreachable: it is no list.
    """
    page = readable(_LIST, raw, "list", _LABEL)
    groups = [found for item in page.items or () if (found := readable_group(item)) is not None]
    return _ENCODE({"metadata": page.metadata, "items": groups})


def readable_line(line: bytes) -> bytes:
    """One line of a watch of PodGroups; b"" where it shows one that cannot be read.

    Raises:
        Unreachable: it is no watch event.
    """
    event = readable(_EVENT, line, "watch", _LABEL)
    found: Any
    if event.type == "ERROR":
        found = _refusal(event.object)
    elif event.type == "BOOKMARK":
        found = readable(_BOOKMARK, event.object, "watch", _LABEL)
    elif event.type in CHANGES:
        found = readable_group(event.object)
    else:
        log.warning(
            "Ignored a watch event of the unknown type %s of %s", quoted(event.type), _LABEL
        )
        return b""
    return b"" if found is None else _ENCODE({"type": event.type, "object": found}) + b"\n"


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
    """

    def __init__(self, body: Body, whole: Callable[[bytes], bytes]) -> None:
        self._body = body
        self._whole = whole

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
                given = readable_line(line) if line else b""
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


async def read_first(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """A client middleware: who asked is given what could be read of the answer."""
    response = await handler(request)
    if (asked := asked_to_wait(response.headers) or 0.0) > LONGEST_WAIT:
        log.warning(
            "API server asks to wait %.0f s for podgroups; waiting %d s", asked, LONGEST_WAIT
        )
    listing = request.url.path.endswith(f"/{POD_GROUPS.plural}")
    whole = readable_list if listing else _other
    if response.status >= 300:
        whole = readable_refusal
    body = cast("Body", response.content)
    response.content = cast("aiohttp.StreamReader", ReadableBody(body, whole))
    return response
