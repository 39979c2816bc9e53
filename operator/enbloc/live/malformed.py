# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Malformed objects: an event on each says, once, what of it cannot be read."""

from collections.abc import Callable

from enbloc.client.events import ObjectReference
from enbloc.client.items import MetaLike
from enbloc.client.paths import Resource

_Key = tuple[str, str, str]


class MalformedObjects:
    """Knows what is wrong with which object, and reports it while this process leads.

    Args:
        say: writes an event with this text on an object.
    """

    def __init__(self, say: Callable[[ObjectReference, str], None]) -> None:
        self._say = say
        #: What is wrong with each object now; reported once `_telling` is set.
        self._standing: dict[_Key, tuple[ObjectReference, str]] = {}
        self._telling = False

    def tell(self) -> None:
        """Report what is wrong from now on, because this process leads."""
        self._telling = True
        for about, note in self._standing.values():
            self._say(about, note)

    def ignored(self, resource: Resource, meta: MetaLike, problem: str) -> None:
        """Record that an object cannot be read at all."""
        self._wrong(resource, meta, f"Ignored because it is malformed: {problem}")

    def seen(self, resource: Resource, meta: MetaLike, problem: str) -> None:
        """Record that an object was read; `problem` names its ignored fields, "" = none."""
        if problem:
            self._wrong(resource, meta, f"Malformed fields are ignored: {problem}")
        elif self._standing:
            self.gone(resource, meta)

    def stands(self, resource: Resource, meta: MetaLike) -> bool:
        """Whether something was wrong with the object when it was last seen."""
        return bool(self._standing) and _key(resource, meta) in self._standing

    def gone(self, resource: Resource, meta: MetaLike) -> None:
        """Record that an object was deleted, or that nothing is wrong with it any more."""
        self._standing.pop(_key(resource, meta), None)

    def _wrong(self, resource: Resource, meta: MetaLike, note: str) -> None:
        if not meta.name:
            return  # without a name there is no object to write the event on
        about = ObjectReference(resource, meta.namespace or "", meta.name, meta.uid)
        key = _key(resource, meta)
        if self._standing.get(key) == (about, note):
            return
        self._standing[key] = (about, note)
        if self._telling:
            self._say(about, note)


def _key(resource: Resource, meta: MetaLike) -> _Key:
    return resource.label(), meta.namespace or "", meta.name
