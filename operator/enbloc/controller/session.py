# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The session that kopf's login gets: sends kopf's requests by our client, and filters the answers.

::

    kopf ──request()──► Session ──► Client      credentials, limits and time-outs as everywhere
         ◄──readable────   │   ◄────            hostile answers end here (`answers.py`)
                           │
                           └──► tell            what kopf cannot tell of, or need not

kopf finds PodGroups by discovery, lists them, watches from there, and lists again when told that
its place in the history is lost. The session reports failures; to kopf each is a broken connection,
which kopf retries as long as it runs.

Changes of a PodGroup's status alone bypass kopf, which would only pass them on: in a burst there
are one or two for each PodGroup, all echoes of our own writes, and for each kopf would have a task,
several deep copies and a log line. It gets a bookmark instead, to know how far the watch has come.
The session also notices what kopf does not: deletions between two lists, and a stale watch.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, Self
from urllib.parse import parse_qsl, urlsplit

import aiohttp

from enbloc.client.backoff import Backoff
from enbloc.client.client import PAGE_SIZE, Client, Paging
from enbloc.client.errors import APIError, Gone, Invalid, NotFound, TooLong
from enbloc.client.paths import POD_GROUPS
from enbloc.client.probe import Key, Probe
from enbloc.client.transport import Stream, user_agent
from enbloc.controller.answers import (
    LABEL,
    ROOT,
    discovered,
    event_line,
    group_version,
    listed,
    not_served,
    progress,
    watched,
)
from enbloc.model.versions import LARGEST
from enbloc.telemetry import ActiveProblems, metrics

_LISTING: Final = "listing podgroups"
_WATCHING: Final = "watching podgroups"
_COMPARING: Final = "comparing podgroups"
#: Failures in a row before they are reported: the server may restart, or the CRD be applied again.
SAID_AFTER: Final = 3
#: A watch that has lasted this long works (seconds).
PROVEN_SECONDS: Final = 1.0
#: The longest silence of a watch; kopf ends a silent one earlier.
SILENCE_SECONDS: Final = 120.0
#: Tells kopf that its place in the history is lost, so that it lists again.
RELIST: Final = event_line("ERROR", {"code": 410})

log = logging.getLogger(__name__)


class PodGroupObserver(Protocol):
    """Receives the changes of PodGroups."""

    def seen(self, kind: str | None, found: Mapping[str, Any]) -> None:
        """Take in a PodGroup: ADDED, MODIFIED, DELETED, or None for one that was listed."""
        ...

    def listed(self, found: Mapping[Key, Mapping[str, Any]], version: int) -> None:
        """Take in the full list at this resourceVersion; each PodGroup also comes to `seen`."""
        ...


@dataclass(frozen=True, slots=True)
class SessionTiming:
    """Waiting times (seconds).

    Attributes:
        retry: first and longest wait after a failed request.
        rewatch: first and longest wait after a failed watch.
        compare: the longest time between two checks of the watch against the server.
    """

    retry: tuple[float, float] = (0.5, 2.0)
    rewatch: tuple[float, float] = (0.5, 30.0)
    compare: float = 30.0


class _Row(NamedTuple):
    """A PodGroup as last seen."""

    uid: str
    version: int
    generation: int


class Session:
    """What kopf uses in place of an `aiohttp.ClientSession`.

    Args:
        client: the API.
        problems: told what fails.
        told: gets every PodGroup.
        timing: the waiting times.
    """

    #: For kopf: one login is enough, since the client renews its credentials.
    closed: Final = False

    def __init__(
        self,
        client: Client,
        problems: ActiveProblems,
        told: PodGroupObserver,
        timing: SessionTiming = SessionTiming(),
    ) -> None:
        self._client = client
        self._problems = problems
        self._told = told
        self._timing = timing
        self.headers: Final = {"User-Agent": user_agent("controller")}
        self._retry = Backoff(*timing.retry)
        self._rewatch = Backoff(*timing.rewatch)
        #: How often each kind of work has failed in a row.
        self._failures: Counter[str] = Counter()
        #: Each existing PodGroup as last seen.
        self._rows: dict[Key, _Row] = {}
        #: The PodGroups of the current list, from its pages so far.
        self._listing: dict[Key, Mapping[str, Any]] = {}
        #: The PodGroups of the latest list that cannot be read; their last known state is kept.
        self._unread: set[Key] = set()
        self._paging = Paging(LABEL)
        self._limit = PAGE_SIZE
        #: The highest resourceVersion seen.
        self._version = 0
        #: Whether the watch goes on; if not, a list is next or under way.
        self._synced = False
        self._open: Stream | None = None
        self._probe = Probe(
            client,
            POD_GROUPS,
            self._shown,
            lambda: len(self._rows.keys() | self._unread),
            lambda: self._version,
            lambda: self._open is not None,
        )

    async def close(self) -> None:
        """Do nothing; kopf calls this at its end."""

    async def request(self, method: str, url: str, **_: object) -> "KopfResponse":
        """Send one request of kopf's, which only reads.

        Raises:
            ClientConnectionError: it failed; kopf may retry at once.
            ClientPayloadError: a later page of a list failed; kopf must start the list again.
        """
        assert method == "get", "no handler changes an object"
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query))
        if "watch" in query:
            return KopfResponse(lines=self._changes(query))
        work = _LISTING if parts.path == POD_GROUPS.path() else f"reading {parts.path}"
        try:
            found = await (self._page(query) if work == _LISTING else self._discover(parts.path))
        except APIError as error:
            self._failed(work, error)
            await self._retry.wait_out(error)
            if "continue" in query:
                raise aiohttp.ClientPayloadError(str(error)) from error
            raise aiohttp.ClientConnectionError(str(error)) from error
        if work != _LISTING or self._synced:  # a page is no list: the next one may always fail
            self._retry.reset()
            self._worked(work)
        return KopfResponse(found)

    def _failed(self, work: str, error: APIError) -> None:
        self._failures[work] += 1
        log.debug("Trying again: %s", error)
        if self._failures[work] >= SAID_AFTER:
            self._problems.report(work, error.advice)

    def _worked(self, work: str) -> None:
        if self._failures.pop(work, 0):
            self._problems.report(work, None)

    async def _discover(self, path: str) -> Mapping[str, Any]:
        try:
            return discovered(path, await self._client.read(path))
        except NotFound as error:
            raise (not_served() if path == ROOT else error) from error

    # ── the list ─────────────────────────────────────────────────────────────────────────────

    async def _page(self, query: dict[str, str]) -> Mapping[str, Any]:
        query.pop("limit", None)
        self._synced = False
        try:
            raw = await self._client.page(POD_GROUPS, query=query, limit=self._limit)
        except TooLong:
            self._limit = max(1, self._limit // 10)
            raise
        page = listed(raw)
        if "continue" not in query:
            self._listing, self._unread = {}, set()
            self._paging = Paging(LABEL)
            if page.version < self._version:
                self._went_back()
            self._version = page.version
        self._unread.update(page.others)
        for group in page.groups:
            self._listing[key_of(group)] = group
            self._is_new(group)
        if page.more:
            self._paging.next(page.more)
        else:
            self._all_listed(page.version)
        return page.as_json()

    def _all_listed(self, version: int) -> None:
        if ("", "") not in self._unread:  # that could be any PodGroup missing from the list
            self._forget(self._rows.keys() - self._listing.keys() - self._unread)
        self._synced, self._limit = True, PAGE_SIZE
        self._told.listed(self._listing, version)
        self._listing = {}

    def _forget(self, keys: set[Key]) -> None:
        """Report PodGroups as deleted that went while no watch was open."""
        for key in sorted(keys):
            metadata = {"namespace": key[0], "name": key[1], "uid": self._rows.pop(key).uid}
            self._tell("DELETED", {"metadata": metadata})

    def _went_back(self) -> None:
        log.warning("The resourceVersion of %s went back in time: the server was restored", LABEL)
        self._forget(set(self._rows))

    # ── the watch ────────────────────────────────────────────────────────────────────────────

    async def _changes(self, query: dict[str, str]) -> AsyncGenerator[bytes, None]:
        """The lines of one watch, as kopf gets them."""
        if self._lacks():
            yield RELIST
            return
        del query["watch"]
        proven = asyncio.get_running_loop().call_later(PROVEN_SECONDS, self._watches)
        good = False
        failure: APIError | None = None
        try:
            async with self._client.watch(
                POD_GROUPS, query=query, silence=SILENCE_SECONDS
            ) as self._open:
                if self._lacks():  # found to be stale while it was opening
                    self._open.close()
                async for lines in self._open.lines():
                    for line in lines:
                        given = self._line(line)
                        good = True
                        if given:
                            yield given
        except APIError as error:
            failure = error
        finally:
            self._open = None
            proven.cancel()
        if failure is not None and not self._lacks():
            self._failed(_WATCHING, failure)
            await self._rewatch.wait_out(failure)
        elif not good:  # the server closed the watch at once: do not hammer it
            await asyncio.sleep(self._rewatch.next())
        if self._lacks() or (failure is not None and _lost_its_place(failure)):
            yield RELIST

    def _lacks(self) -> bool:
        """Whether a list is next or under way, because the watch does not show everything."""
        return not self._synced

    def _watches(self) -> None:
        """Record that the watch works, if it is open."""
        if self._open is not None:
            self._rewatch.reset()
            self._worked(_WATCHING)

    def _line(self, line: bytes) -> bytes:
        """A line of a watch as kopf gets it; b"" = kopf gets nothing.

        Raises:
            APIError: this line ends the watch.
        """
        kind, shown = watched(line)
        self._watches()
        if shown is None:
            return b""
        self._version = max(self._version, group_version(shown))
        if kind == "BOOKMARK":
            return event_line(kind, shown)
        if kind == "DELETED":
            self._rows.pop(key_of(shown), None)
            self._unread.discard(key_of(shown))
            self._probe.saw(key_of(shown), group_version(shown))
        elif not self._is_new(shown) and kind == "MODIFIED":
            self._tell(kind, shown)
            version = shown["metadata"].get("resourceVersion")
            return event_line("BOOKMARK", progress(version)) if version else b""
        return event_line(kind, shown)

    def _is_new(self, group: Mapping[str, Any]) -> bool:
        """Whether this PodGroup, or its current spec, is new to kopf; records it as known."""
        key, metadata = key_of(group), group["metadata"]
        row = _Row(metadata["uid"], group_version(group), metadata.get("generation", 0))
        known = self._rows.get(key)
        self._rows[key] = row
        self._unread.discard(key)
        self._probe.saw(key, row.version)
        return known is None or (known.uid, known.generation) != (row.uid, row.generation)

    # ── events ───────────────────────────────────────────────────────────────────────────────

    def seen(self, kind: str | None, found: Mapping[str, Any]) -> None:
        """Pass on an event from kopf, unless a later change has already bypassed kopf."""
        row = self._rows.get(key_of(found))
        if row is None or not 0 < group_version(found) < row.version:
            self._tell(kind, found)

    def _tell(self, kind: str | None, found: Mapping[str, Any]) -> None:
        try:
            self._told.seen(kind, found)
        except Exception:  # a bug must not hide other PodGroups
            log.exception("Failed to process PodGroup %s", "/".join(key_of(found)))

    # ── stale watches ────────────────────────────────────────────────────────────────────────

    def _shown(self, key: Key) -> int:
        if key in self._unread:
            return LARGEST  # a list would show no more of it
        row = self._rows.get(key)
        return 0 if row is None else row.version

    async def compare(self) -> None:
        """Compare from time to time, for ever, what was seen with what the server has."""
        while True:
            await asyncio.sleep(self._timing.compare * random.uniform(0.7, 1.0))  # noqa: S311
            if self._lacks():
                continue  # a list shows everything
            latest = self._paging
            try:
                lacking = await self._probe.look()
            except APIError as error:
                self._problems.report(_COMPARING, error.advice)
                continue
            if self._lacks() or self._paging is not latest:
                continue  # so does one of meanwhile
            problem = (
                f"the watch of {LABEL} is stale: a list has {lacking}, which the watch has not "
                "shown; relisting"
            )
            self._problems.report(_COMPARING, problem if lacking else None)
            if lacking:
                metrics.STALE_WATCHES.labels(POD_GROUPS.plural).inc()
                self._synced = False
                if self._open is not None:
                    self._open.close()


def key_of(found: Mapping[str, Any]) -> Key:
    """Namespace and name of a PodGroup."""
    metadata = found["metadata"]
    return (metadata.get("namespace") or "", metadata.get("name") or "")


def _lost_its_place(error: APIError) -> bool:
    """Whether a watch cannot continue from its place in the history."""
    lost = isinstance(error, Gone | Invalid | NotFound)
    return lost or error.has_cause("ResourceVersionTooLarge")


class KopfResponse:
    """What kopf uses in place of a successful `aiohttp.ClientResponse`.

    Args:
        found: what `json` returns.
        lines: the lines of a watch.
    """

    status: Final = 200

    def __init__(
        self, found: object = None, lines: AsyncGenerator[bytes, None] | None = None
    ) -> None:
        self._found = found
        self._lines = lines

    async def json(self) -> object:
        """The whole answer."""
        return self._found

    @property
    def content(self) -> Self:
        """The object that kopf reads the lines from."""
        return self

    def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """The lines of a watch, as they come; `size` has no effect."""
        del size
        assert self._lines is not None, "it is of a watch"
        return self._lines

    def close(self) -> None:
        """Do nothing; kopf calls this when it stops reading."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._lines is not None:
            with suppress(RuntimeError):  # still running, because its task was cancelled
                await self._lines.aclose()
