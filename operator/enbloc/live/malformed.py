# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What cannot be read of the objects that the API server shows, said once on each of them."""

from collections.abc import Callable

from enbloc.client.events import ObjectReference
from enbloc.client.items import MetaLike
from enbloc.client.paths import Resource

_Key = tuple[str, str, str]


class MalformedObjects:
    """Keeps what is wrong with which object, and says it when this process may write.

    Args:
        say: writes an event with this text on an object.
    """

    def __init__(self, say: Callable[[ObjectReference, str], None]) -> None:
        self._say = say
        #: What is wrong with each object now, as it is said on it once `_telling`.
        self._standing: dict[_Key, tuple[ObjectReference, str]] = {}
        self._telling = False

    def tell(self) -> None:
        """This process leads from now on: say what stands, and what comes."""
        self._telling = True
        for about, note in self._standing.values():
            self._say(about, note)

    def ignored(self, resource: Resource, meta: MetaLike, problem: str) -> None:
        """An object cannot be read at all."""
        self._wrong(resource, meta, f"Ignored because it is malformed: {problem}")

    def seen(self, resource: Resource, meta: MetaLike, problem: str) -> None:
        """An object was read; `problem` names what counts as absent, "" = nothing does."""
        if problem:
            self._wrong(resource, meta, f"Malformed fields are ignored: {problem}")
        elif self._standing:
            self.gone(resource, meta)

    def stands(self, resource: Resource, meta: MetaLike) -> bool:
        """Whether something was wrong with an object when it was shown last."""
        return bool(self._standing) and _key(resource, meta) in self._standing

    def gone(self, resource: Resource, meta: MetaLike) -> None:
        """An object was deleted, or nothing is wrong with it any more."""
        self._standing.pop(_key(resource, meta), None)

    def _wrong(self, resource: Resource, meta: MetaLike, note: str) -> None:
        if not meta.name:
            return  # nobody knows which object to say it on
        about = ObjectReference(resource, meta.namespace or "", meta.name, meta.uid)
        key = _key(resource, meta)
        if self._standing.get(key) == (about, note):
            return
        self._standing[key] = (about, note)
        if self._telling:
            self._say(about, note)


def _key(resource: Resource, meta: MetaLike) -> _Key:
    return resource.label(), meta.namespace or "", meta.name
