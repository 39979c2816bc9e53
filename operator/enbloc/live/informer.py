# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Informer: decodes one stream of the API server into events of the engine."""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, assert_never

from enbloc.client import items
from enbloc.client.backoff import Backoff
from enbloc.client.errors import APIError, Forbidden, NotFound
from enbloc.client.items import HasMeta, Meta
from enbloc.client.reflector import Reflector
from enbloc.engine.events import Event, Stream, Synced
from enbloc.live.event_queue import EventQueue
from enbloc.live.malformed import MalformedObjects

T = TypeVar("T", bound=HasMeta)

#: An optional list is given up once it was refused for this many seconds in a row: a server that
#: has just started may not know the roles yet.
OPTIONAL_SECONDS: Final = 5
#: Expendable objects that are confirmed no sooner are forgotten (seconds).
EXPENDABLE_SECONDS: Final = 20.0

#: After an object that took longer than this to process (seconds), other tasks get a turn:
#: hundreds of HyperNodes may arrive at once, each with patterns for all nodes.
_LONG_TAKE: Final = 0.005

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OptionalObjects:
    """What to do while objects that are not required cannot be read.

    Attributes:
        without: the consequence, for the log.
        expendable: whether any failure to read them counts as if access were denied.
        unread: the event that says that they cannot be read (True), or can again; None = the engine
            is not told.
    """

    without: str
    expendable: bool = False
    unread: Callable[[bool], Event] | None = None


_REQUIRED: Final = OptionalObjects("")


class Informer(Generic[T]):
    """Decodes one stream and puts its events into the queue.

    Args:
        stream: which of the engine's streams this is; None = the engine does not wait for it.
        reflector: where the objects come from.
        seen: the engine's event for an object; it returns None where nothing relevant changed.
        gone: the engine's event for a deleted object.
        queue: where the events go.
        malformed: told of objects that cannot be read, or not in full.
        problem: the fields of an object that are ignored, from its event; "" = none.
        optional: what to do where access to these objects is denied; None = they are required.
    """

    def __init__(
        self,
        stream: Stream | None,
        reflector: Reflector[T],
        seen: Callable[[T], Event | None],
        gone: Callable[[Meta], Event],
        queue: EventQueue,
        malformed: MalformedObjects,
        problem: Callable[[Event], str],
        optional: OptionalObjects | None = None,
    ) -> None:
        self._optional = optional or _REQUIRED
        self._unread = False
        #: Also gets each item; set it only before `run`.
        self.also: Callable[[items.Item[T]], None] | None = None
        self.stream = stream
        self.reflector = reflector
        self._seen = seen
        self._gone = gone
        self._queue = queue
        self._malformed = malformed
        self._problem = problem
        self._report = reflector.report
        #: Why these optional objects are done without; "" = they are read.
        self._refusal = ""
        #: Whether the latest request failed.
        self._failing = False
        reflector.report = self._tell
        #: Set once the first list is in the queue, or is given up.
        self.synced = asyncio.Event()

    @property
    def name(self) -> str:
        """The name of the resource in metrics and health checks."""
        return self.reflector.resource.known_as

    @property
    def without(self) -> str:
        """The consequence while the objects cannot be read; "" = they are required."""
        return self._optional.without

    @property
    def expendable(self) -> bool:
        """Whether any failure to read the objects has that consequence."""
        return self._optional.expendable

    def readable(self) -> bool:
        """Whether the first list was read; for any thread."""
        return self.reflector.synced

    async def confirm(self, since: float) -> None:
        """Return once the queue has everything that happened before `since`.

        Optional objects that may not be read are not waited for: what was known of them before is
        forgotten, as if this process had just started.

        Args:
            since: seconds of the client's `clock.local`.
        """
        if not self.expendable:
            await self._confirm(since)
            return
        try:
            async with asyncio.timeout(EXPENDABLE_SECONDS):
                await self._confirm(since)
        except TimeoutError:
            self._leave_out(f"cannot confirm {self.reflector.resource.label()}: no answer in time")

    async def _confirm(self, since: float) -> None:
        clock, refused = asyncio.get_running_loop().time, math.inf
        backoff = Backoff(cap=5.0)
        while self.reflector.synced or not self.without:
            try:
                await self.reflector.confirm(since)
            except APIError as error:
                logger.debug("Retrying the consistent read of %s: %s", self.name, error)
                lacking = isinstance(error, Forbidden | NotFound) or self.expendable
                refused = min(refused, clock()) if lacking else math.inf
                if self.without and clock() - refused >= OPTIONAL_SECONDS:
                    self._leave_out(error.advice)
                    return
                await backoff.wait_out(error)
            else:
                return

    async def run(self) -> None:
        """Fill the queue until cancelled."""
        doing_without = asyncio.ensure_future(self._give_up_if_denied())
        try:
            async for item in self.reflector.stream():
                began = time.monotonic()
                self._take(item)
                if self.also is not None:
                    self.also(item)
                if time.monotonic() - began > _LONG_TAKE:
                    await asyncio.sleep(0)
        finally:
            doing_without.cancel()

    def _have_synced(self) -> None:
        """Report that the first list is in the queue, or is given up."""
        if self.stream is not None:
            self._queue.put(Synced(self.stream))
        self.synced.set()

    def _tell(self, problem: str | None) -> None:
        """Report a problem, unless it is that access to optional objects is denied."""
        self._failing = problem is not None
        if problem is not None and self._dispensable():
            self._refusal, problem = problem, None
        self._report(problem)

    def _dispensable(self) -> bool:
        """Whether what fails now is a reason to continue without the objects."""
        reflector = self.reflector
        denied = reflector.refused or (self.expendable and not reflector.away)
        return bool(self.without) and denied and not reflector.synced

    async def _give_up_if_denied(self) -> None:
        """Continue without optional objects that were refused for OPTIONAL_SECONDS."""
        if not self.without:
            return
        refused = 0
        while refused < OPTIONAL_SECONDS and not self.reflector.synced:
            await asyncio.sleep(1.0)
            refused = refused + 1 if self._failing and self._dispensable() else 0
        if not self.reflector.synced:
            self._warn()
            self.do_without()
            self._have_synced()

    def _tell_engine(self, *, unread: bool) -> None:
        event = self._optional.unread
        if event is not None and unread != self._unread:
            self._unread = unread
            self._queue.put(event(unread))

    def _warn(self) -> None:
        refusal, label = self._refusal, self.reflector.resource.label()
        if label not in refusal:
            refusal = f"cannot read {label}: {refusal}"
        refusal = f"{refusal[:1].upper()}{refusal[1:]}"
        logger.warning("%s; until then: %s", refusal, self.without)

    def _leave_out(self, refusal: str) -> None:
        """Continue without the optional objects that were read before."""
        self._forget(refusal)
        self._warn()
        self.do_without()

    def _forget(self, refusal: str) -> None:
        """Count the objects as deleted until they can be read again."""
        for item in self.reflector.forget():
            self._take(item)
            if self.also is not None:
                self.also(item)
        self._refusal = refusal
        self._report(None)

    async def read_once(self) -> None:
        """Fill the queue with one list.

        Raises:
            APIError: it cannot be read; there is no retry.
        """
        async for item in self.reflector.list_once():
            self._take(item)

    def do_without(self) -> None:
        """Tell the engine that these optional objects cannot be read."""
        self._tell_engine(unread=True)

    def _take(self, item: items.Item[T]) -> None:
        resource = self.reflector.resource
        match item:
            case items.Seen():
                event = self._seen(item.object)
                if event is not None:
                    self._malformed.seen(resource, item.meta, self._problem(event))
                    self._queue.put(event)
            case items.Deleted():
                self._malformed.gone(resource, item.meta)
                self._queue.put(self._gone(item.meta))
            case items.Malformed():
                logger.warning(
                    "Ignored a malformed object: %s",
                    item.problem,
                    extra={"object": f"{resource.kind} {item.meta.name}"},
                )
                self._malformed.ignored(resource, item.meta, item.problem)
            case items.Synced():
                if self._refusal:
                    self._refusal = ""
                    logger.info("Can read %s now", resource.label())
                self._tell_engine(unread=False)
                self._have_synced()
            case _:
                assert_never(item)
