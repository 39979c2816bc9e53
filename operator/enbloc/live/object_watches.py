# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""ObjectWatches: waits for changes of objects, by the streams that run anyway."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Protocol

from enbloc.client.items import Item, MetaLike, Synced
from enbloc.client.paths import Resource
from enbloc.framework.act import ReadObject
from enbloc.model.grouped import Index

#: The longest wait for an object that no stream shows (seconds).
UNWATCHED_SECONDS: Final = 2.0

_Key = tuple[str, str, str]


class Watch(Protocol):
    """The part of a reflector that is used here."""

    resource: Resource

    def has_passed(self, namespace: str, name: str, version: int) -> bool:
        """Whether it has shown a later version of the object, or its deletion."""
        ...


class ObjectWatches:
    """The streams of the kinds that plugins write, and the tasks that wait for their objects."""

    def __init__(self) -> None:
        #: The streams by kind.
        self._watches: dict[str, Watch] = {}
        #: The waiting tasks of each object.
        self._waiting: Index[_Key, asyncio.Event] = Index()

    def follow(self, watch: Watch) -> None:
        """Register a stream; its items must be passed to `took`."""
        self._watches[watch.resource.kind] = watch

    def resource(self, kind: str) -> Resource | None:
        """The resource of a kind that is followed; None = it is not."""
        watch = self._watches.get(kind)
        return None if watch is None else watch.resource

    def saw(self, kind: str, meta: MetaLike) -> None:
        """Wake the tasks that wait for this object: a stream has shown it, or its deletion."""
        for waiter in self._waiting.get((kind, meta.namespace or "", meta.name), ()):
            waiter.set()

    def took(self, kind: str, item: Item[Any]) -> None:
        """Take an item of a stream."""
        if not isinstance(item, Synced):
            self.saw(kind, item.meta)

    async def changed(self, seen: Sequence[ReadObject], timeout: float) -> bool:
        """Wait until a stream shows a later version of one of the objects, or its deletion.

        Args:
            seen: the objects, each with the version already known.
            timeout: seconds.

        Returns:
            False if the timeout passed first.
        """
        if not all(each.kind in self._watches for each in seen):
            timeout = min(timeout, UNWATCHED_SECONDS)
        woken = asyncio.Event()
        keys = {(each.kind, each.namespace, each.name) for each in seen}
        for key in keys:
            self._waiting.add(key, woken)
        try:
            async with asyncio.timeout(max(0.0, timeout)):
                while not any(self._has_passed(each) for each in seen):
                    await woken.wait()
                    woken.clear()
        except TimeoutError:
            return False
        finally:
            for key in keys:
                self._waiting.drop(key, woken)
        return True

    def _has_passed(self, seen: ReadObject) -> bool:
        watch = self._watches.get(seen.kind)
        return watch is not None and watch.has_passed(seen.namespace, seen.name, seen.version)
