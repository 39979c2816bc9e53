# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a reflector reads off the wire, and the items that it emits."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from enbloc.client.decoding import UNREADABLE, decoded, why
from enbloc.model.versions import version_of


class Meta(msgspec.Struct, rename="camel", gc=False):
    """The part of metadata that identifies an object and its state."""

    uid: str = ""
    name: str = ""
    namespace: str = ""
    resource_version: str = ""

    @property
    def version(self) -> int:
        """The resourceVersion as a number; 0 if it is not a number."""
        return version_of(self.resource_version)


class MetaLike(Protocol):
    """What must be readable in the metadata of a watched type."""

    @property
    def uid(self) -> str:
        """metadata.uid."""
        ...

    @property
    def name(self) -> str:
        """metadata.name."""
        ...

    @property
    def namespace(self) -> str | None:
        """metadata.namespace; absent for cluster-scoped objects."""
        ...

    @property
    def resource_version(self) -> str | None:
        """metadata.resourceVersion."""
        ...


class HasMeta(Protocol):
    """A msgspec Struct of a Kubernetes object."""

    @property
    def metadata(self) -> MetaLike:
        """The object's metadata."""
        ...


T = TypeVar("T", bound=HasMeta)
_Object = TypeVar("_Object")


class Seen(msgspec.Struct, Generic[T], frozen=True):
    """A new object, or a newer state of a known one."""

    meta: Meta
    object: T


class Deleted(msgspec.Struct, Generic[T], frozen=True):
    """A known object is gone.

    Attributes:
        meta: its identity.
        object: its last state; None if it was deleted while no watch was open.
    """

    meta: Meta
    object: T | None


class Malformed(msgspec.Struct, frozen=True):
    """A state of an object that cannot be decoded; the stream goes on.

    Attributes:
        meta: its identity.
        problem: what is wrong, with its JSON path.
    """

    meta: Meta
    problem: str


class Synced(msgspec.Struct, frozen=True):
    """A list is complete: all its differences were emitted."""


Item = Seen[T] | Deleted[T] | Malformed | Synced


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of a reflector (seconds).

    Attributes:
        watch: shortest and longest length of a watch; each watch draws its own.
        grace: silence allowed beyond a watch's length before it counts as stalled.
        retry: first and longest wait after an error.
        refused: first and longest wait after 403, or 404 of the whole resource.
        probe: the longest time between two probes of a watch (`client/probe.py`).
    """

    watch: tuple[float, float] = (300.0, 600.0)
    grace: float = 15.0
    retry: tuple[float, float] = (0.5, 30.0)
    refused: tuple[float, float] = (1.0, 30.0)
    probe: float = 30.0


class Row(msgspec.Struct, gc=False):
    """The UID and resourceVersion that a reflector keeps of an object."""

    uid: str
    version: int

    def meta(self, namespace: str, name: str) -> Meta:
        """The identity of the object, for an item."""
        return Meta(self.uid, name, namespace, str(self.version))


class Identified(msgspec.Struct):
    """An object of which only the identity is read."""

    metadata: Meta = msgspec.field(default_factory=Meta)


class _Event(msgspec.Struct, Generic[_Object]):
    type: str
    object: _Object


class ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "more": "continue"}):
    """metadata of a list."""

    resource_version: str
    more: str = ""


class ListObject(msgspec.Struct, Generic[_Object]):
    """One page of a list, as the API server sends it."""

    metadata: ListMeta
    items: list[_Object] | None = None

    def __post_init__(self) -> None:
        """Fail if the page has no resourceVersion: no API server sends such a page."""
        if not self.version:
            raise ValueError("metadata.resourceVersion is no number above 0")

    @property
    def version(self) -> int:
        """The resourceVersion as a number."""
        return version_of(self.metadata.resource_version)


class Page(NamedTuple, Generic[T]):
    """One page of a list, decoded.

    Attributes:
        version: the resourceVersion of the list, as a number.
        more: the token for the next page; "" = this is the last.
        objects: (identity, object, problem) of each; may be decoded lazily.
    """

    version: int
    more: str
    objects: Iterator[tuple[Meta, T | None, str]]


class Wire(Generic[T]):
    """Decoders for one type: an object that cannot be decoded is at least identified."""

    def __init__(self, shape: type[T]) -> None:
        events: Any = _Event[shape]  # type: ignore[valid-type]  # known at run time only
        self._event = msgspec.json.Decoder(events)
        self._object = msgspec.json.Decoder(shape)
        self._bare_event = msgspec.json.Decoder(_Event[msgspec.Raw])
        self._identified = msgspec.json.Decoder(Identified)
        pages: Any = ListObject[shape]  # type: ignore[valid-type]  # likewise
        self._page = msgspec.json.Decoder(pages)
        self._bare_page = msgspec.json.Decoder(ListObject[msgspec.Raw])

    def page(self, raw: bytes) -> Page[T]:
        """Decode one page of a list; if an object cannot be decoded, each one separately.

        Raises:
            msgspec.DecodeError: it is not a page of a list; or another of UNREADABLE.
        """
        objects: Iterator[tuple[Meta, T | None, str]]
        try:
            page = decoded(self._page.decode, raw)
            objects = map(_identified, page.items or ())
        except UNREADABLE:
            page = decoded(self._bare_page.decode, raw)
            objects = map(self.object, page.items or ())
        return Page(page.version, page.metadata.more, objects)

    def line(self, line: bytes) -> tuple[str, Meta, T | None, str]:
        """Decode one line of a watch into (event type, identity, object, problem).

        Raises:
            msgspec.DecodeError: the line is not a watch event; or another of UNREADABLE.
        """
        try:
            event = decoded(self._event.decode, line)
        except UNREADABLE as error:
            bare = decoded(self._bare_event.decode, line)
            return bare.type, self._identity(bare.object), None, why(error)
        return event.type, *_identified(event.object)

    def object(self, raw: msgspec.Raw) -> tuple[Meta, T | None, str]:
        """Decode one item of a list into (identity, object, problem)."""
        try:
            found = decoded(self._object.decode, raw)
        except UNREADABLE as error:
            return self._identity(raw), None, why(error)
        return _identified(found)

    def _identity(self, raw: msgspec.Raw) -> Meta:
        """The identity of an object that cannot be decoded; an empty Meta if it has none."""
        try:
            return decoded(self._identified.decode, raw).metadata
        except UNREADABLE:
            return Meta()


def _identified(found: T) -> tuple[Meta, T | None, str]:
    """(identity, object, problem) of a decoded object; one without a name is malformed."""
    metadata = found.metadata
    meta = Meta(
        metadata.uid, metadata.name, metadata.namespace or "", metadata.resource_version or ""
    )
    return (meta, found, "") if metadata.name else (meta, None, "metadata.name: missing")
