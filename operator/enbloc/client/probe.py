# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Probes whether a watch shows what the API server has, by reading a page of the collection.

A watch can fall silent or miss changes without any error, for example behind a stuck watch cache or
a proxy that buffers or drops data. A probe makes a consistent read of the metadata of PROBE_ROWS
objects, and compares it with what the watch has shown of them; it also compares the number of all
objects. The next probe continues where the last one ended, while the server keeps that snapshot (5
to 10 minutes).
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from enbloc.client.client import Client, Query
from enbloc.client.decoding import UNREADABLE, decoded
from enbloc.client.errors import APIError, Gone, TooLong, readable
from enbloc.client.items import Identified
from enbloc.client.paths import Resource
from enbloc.client.transport import JSON
from enbloc.model.versions import version_of

#: The objects that one probe compares.
PROBE_ROWS: Final = 250
#: The turns that a watch has to show what was read, counted from its beginning or latest progress.
TURNS: Final = 10
TURN_SECONDS: Final = 0.5
#: The turns that it has in all.
MOST_TURNS: Final = 60
METADATA_ONLY: Final = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"

Key = tuple[str, str]
"""Namespace and name."""


class _ListMeta(
    msgspec.Struct,
    rename={
        "resource_version": "resourceVersion",
        "more": "continue",
        "remaining": "remainingItemCount",
    },
):
    resource_version: str = ""
    more: str = ""
    remaining: int | None = None


class _Page(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


_PAGE: Final = msgspec.json.Decoder(_Page).decode
_IDENTIFIED: Final = msgspec.json.Decoder(Identified).decode


class Probe:
    """Compares what a watch has shown with consistent reads.

    Args:
        client: the API.
        resource: what is watched.
        version_of: the resourceVersion at which the watch last showed an object; 0 = unknown.
        count: the number of known objects; None = do not compare it.
        reached: the resourceVersion that the watch has reached; 0 = unknown.
        begun: whether the watch has begun.
        namespace: of the watch.
        query: selectors of the watch.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        version_of: Callable[[Key], int],
        count: Callable[[], int] | None = None,
        reached: Callable[[], int] = lambda: 0,
        begun: Callable[[], bool] = lambda: True,
        *,
        namespace: str | None = None,
        query: Query | None = None,
    ) -> None:
        self._client = client
        self.resource = resource
        self._version_of = version_of
        self._count = count
        self._reached = reached
        self._begun = begun
        self._namespace = namespace
        self._query = dict(query or {})
        self._more = ""
        self._rows = PROBE_ROWS
        self._looking = False
        self._seen: dict[Key, int] = {}
        self._counts: set[int] = set()
        self._latest = 0

    def saw(self, key: Key, version: int) -> None:
        """Note that the watch has shown this version of an object, or its deletion."""
        if self._looking:
            self._seen[key] = version
            self._latest = max(self._latest, version)
            if self._count is not None:
                self._counts.add(self._count())

    async def look(self) -> str:
        """Probe once: what the watch should have shown and has not, for people; "" = nothing.

        Raises:
            APIError: the collection cannot be read.
        """
        self._looking, self._latest = True, 0
        self._counts = set() if self._count is None else {self._count()}
        first, reached = not self._more, self._reached()
        try:
            version, wanted, total = await self._page()
            self._rows = PROBE_ROWS
            # A watch from a version that the restored server has yet to reach shows nothing.
            if first and 0 < version < reached:
                return restored(version, reached)
            return await self._lacking(version, wanted, total)
        except APIError as error:
            if isinstance(error, TooLong) and self._rows > 1:
                self._rows = max(1, self._rows // 10)
                return ""
            self._more = ""  # start over: the server may never take this token again
            if isinstance(error, Gone):  # the snapshot of the last probe has expired
                return ""
            raise
        finally:
            self._looking = False
            self._seen, self._counts = {}, set()

    async def _page(self) -> tuple[int, dict[Key, int], int | None]:
        """The next page: its resourceVersion, that of each object, the number of all objects."""
        first = not self._more
        more: dict[str, Any] = {} if first else {"continue": self._more}
        raw = await self._client.page(
            self.resource,
            self._namespace,
            query={**self._query, **more},
            limit=self._rows,
            accept=METADATA_ONLY,
        )
        page = readable(_PAGE, raw, "list", self.resource.label())
        self._more = page.metadata.more
        items = page.items or []
        remaining = page.metadata.remaining if self._more else 0
        counted = first and not self._query and remaining is not None
        return (
            version_of(page.metadata.resource_version),
            dict(filter(None, map(_identity, items))),
            len(items) + (remaining or 0) if counted else None,
        )

    async def _lacking(self, version: int, wanted: Mapping[Key, int], total: int | None) -> str:
        quiet = 0
        for _ in range(MOST_TURNS):
            problem = self._problem(version, wanted, total)
            if not problem or quiet == TURNS:
                return problem
            before = self._latest
            await asyncio.sleep(TURN_SECONDS)
            progress = before < self._latest < version
            quiet = 0 if progress or not self._begun() else quiet + 1
        return self._problem(version, wanted, total)

    def _problem(self, read_at: int, wanted: Mapping[Key, int], total: int | None) -> str:
        for key, version in wanted.items():
            shown = max(self._version_of(key), self._seen.get(key, 0))
            # Shown is newer than what a later read returns: the server was restored from a backup.
            if shown < version or version < self._version_of(key) <= read_at:
                name = "/".join(filter(None, key))
                return f"{name} of resourceVersion {version}"
        if total is None or self._count is None or total in {*self._counts, self._count()}:
            return ""
        return f"{total} objects in all, but {self._count()}"


def restored(version: int, reached: int) -> str:
    """What a watch lacks that has reached a later version than the server has."""
    return f"resourceVersion {version} after {reached} (the server was restored)"


def _identity(raw: msgspec.Raw) -> tuple[Key, int] | None:
    """Key and resourceVersion of an item; None if they cannot be read."""
    try:
        meta = decoded(_IDENTIFIED, raw).metadata
    except UNREADABLE:
        return None
    return ((meta.namespace, meta.name), meta.version) if meta.name else None
