# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""All objects of some kinds as watches show them, so that a contest polls for nothing."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from enbloc.client import items
from enbloc.client.client import Client
from enbloc.client.items import Deleted, Meta, Synced
from enbloc.client.paths import Resource
from enbloc.client.reflector import Reflector
from tests.e2e.differential.vocabulary import Json
from tests.patience import PATIENCE


class SeenMeta(Meta):
    """What a contest reads of an object's metadata."""

    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class Seen(msgspec.Struct):
    """An object as it was last seen."""

    metadata: SeenMeta
    spec: Json = msgspec.field(default_factory=dict)
    status: Json = msgspec.field(default_factory=dict)

    @property
    def phase(self) -> str:
        """That of its status; "Pending" before it has one."""
        return str(self.status.get("phase", "Pending"))


class Sights:
    """What watches have shown of some kinds."""

    def __init__(self, kinds: Iterable[Resource]) -> None:
        self._seen: dict[Resource, dict[str, Seen]] = {kind: {} for kind in kinds}
        self._changes = 0
        self._synced: set[Resource] = set()
        self._changed = asyncio.Condition()

    async def watch(self, client: Client) -> None:
        """Learn of all objects, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kind in self._seen:
                group.create_task(self._watch(client, kind))

    def find(self, kind: Resource, name: str) -> Seen | None:
        """The object of this name, in whichever namespace."""
        return self._seen[kind].get(name)

    def synced(self) -> bool:
        """Whether all kinds have been listed."""
        return len(self._synced) == len(self._seen)

    async def until(self, holds: Callable[[], Any], seconds: float = PATIENCE) -> Any:
        """What is returned first that is true; asked after each change.

        Raises:
            TimeoutError: nothing within so many seconds.
        """
        async with asyncio.timeout(seconds), self._changed:
            return await self._changed.wait_for(holds)

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing has changed for so long."""
        with suppress(TimeoutError):
            while True:
                before = self._changes
                await self.until(lambda: self._changes != before, seconds)  # noqa: B023

    async def _watch(self, client: Client, kind: Resource) -> None:
        seen = self._seen[kind]
        async for item in Reflector(client, kind, Seen).stream():
            match item:
                case items.Seen(meta, it):
                    seen[meta.name] = it
                case Deleted(meta, _):
                    seen.pop(meta.name, None)
                case Synced():
                    self._synced.add(kind)
                case _:
                    raise AssertionError(f"cannot read: {item}")
            self._changes += 1
            async with self._changed:
                self._changed.notify_all()


@asynccontextmanager
async def opened(client: Client, kinds: Iterable[Resource]) -> AsyncGenerator[Sights]:
    """Watches that have shown all that there is."""
    sights = Sights(kinds)
    watching = asyncio.create_task(sights.watch(client))
    try:
        await sights.until(sights.synced)
        yield sights
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
