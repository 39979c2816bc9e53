# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""ObjectWatches: who waits for an object to change hears of it from the streams that run anyway."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Protocol

from enbloc.client.items import Item, MetaLike, Synced
from enbloc.client.paths import Resource
from enbloc.framework.act import Seen

#: For an object that no stream shows, so long is waited, and not for as long as it takes (seconds).
UNWATCHED_SECONDS: Final = 2.0

_Key = tuple[str, str, str]


class Watch(Protocol):
    """What is needed of a reflector."""

    resource: Resource

    def has_passed(self, namespace: str, name: str, version: int) -> bool:
        """Whether it has shown a later version of an object, or that it is gone."""
        ...


class ObjectWatches:
    """The streams of those kinds that plugins write, and who waits for which of their objects."""

    def __init__(self) -> None:
        #: By kind.
        self._watches: dict[str, Watch] = {}
        #: Who waits for each object; no set is empty.
        self._waiting: dict[_Key, set[asyncio.Event]] = {}

    def follow(self, watch: Watch) -> None:
        """Hear of this stream from now on, by `saw`."""
        self._watches[watch.resource.kind] = watch

    def resource(self, kind: str) -> Resource | None:
        """Where a kind that is followed is served; None = it is not."""
        watch = self._watches.get(kind)
        return None if watch is None else watch.resource

    def saw(self, kind: str, meta: MetaLike) -> None:
        """A stream has shown an object, or that it is gone."""
        for waiter in self._waiting.get((kind, meta.namespace or "", meta.name), ()):
            waiter.set()

    def took(self, kind: str, item: Item[Any]) -> None:
        """A stream has brought this."""
        if not isinstance(item, Synced):
            self.saw(kind, item.meta)

    async def changed(self, seen: Sequence[Seen], timeout: float) -> bool:
        """Wait until one of the objects is shown in a later version, or as gone.

        Args:
            seen: which version of which object is known already.
            timeout: seconds.

        Returns:
            False when the time is over.
        """
        if not all(each.kind in self._watches for each in seen):
            timeout = min(timeout, UNWATCHED_SECONDS)
        woken = asyncio.Event()
        keys = {(each.kind, each.namespace, each.name) for each in seen}
        for key in keys:
            self._waiting.setdefault(key, set()).add(woken)
        try:
            async with asyncio.timeout(max(0.0, timeout)):
                while not any(self._has_passed(each) for each in seen):
                    await woken.wait()
                    woken.clear()
        except TimeoutError:
            return False
        finally:
            for key in keys:
                self._waiting[key].discard(woken)
                if not self._waiting[key]:
                    del self._waiting[key]
        return True

    def _has_passed(self, seen: Seen) -> bool:
        watch = self._watches.get(seen.kind)
        return watch is not None and watch.has_passed(seen.namespace, seen.name, seen.version)
