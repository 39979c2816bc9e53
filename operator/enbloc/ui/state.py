# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Keeper: follows the cluster, and keeps the latest view of it.

::

    list and watch ──► a worker, which keeps Facts ──branch──► a worker, which keeps a View
                                                                  │ ask ──► pages
                                                                  └ copy ──► explanations, places

This process answers browsers and knows nothing of the cluster but the name of each namespace in
which somebody waits: whatever is worked out, it can answer. A view is made when something has
changed, and no sooner than some time after the last one. Nothing is written to the cluster.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from enbloc.client.client import Client
from enbloc.client.errors import APIError
from enbloc.client.events import ObjectReference
from enbloc.client.items import Timing
from enbloc.config import Configuration
from enbloc.engine.events import Event
from enbloc.live import read_admission
from enbloc.live.event_queue import EventQueue
from enbloc.live.informers import Informers
from enbloc.live.malformed import MalformedObjects
from enbloc.model.groups import GroupKey
from enbloc.process.copies import in_copy
from enbloc.process.workers import TooMuchAskedError, Worker, WorkerEndedError
from enbloc.simulation import GivenUpError
from enbloc.telemetry import Problems
from enbloc.ui import questions
from enbloc.ui.facts import Facts
from enbloc.ui.history import Histories
from enbloc.ui.node_events import NodeEvents
from enbloc.ui.places import Places
from enbloc.ui.questions import Head
from enbloc.ui.view import Explained, View, Viewer
from enbloc.ui.what_if_page import Told, WhatIf
from enbloc.ui.what_if_question import what_if
from enbloc.workloads import Admission

T = TypeVar("T")

#: A view is made no sooner after the last one than this (seconds),
LEAST_SECONDS: Final = 2.0
#: nor than so many times as long as that took: the machine has other work.
SHARE: Final = 2.0
#: And after this, though nothing has changed: what waits for time may be over (seconds).
MOST_SECONDS: Final = 60.0
#: When who waits starts is worked out within this time, or not told (seconds).
STARTS_SECONDS: Final = 5.0
#: An explanation tries no further change after this time (seconds).
EXPLANATION_SECONDS: Final = 15.0
#: So many explanations are worked out at once; and so many are, or wait for that, at most.
EXPLANATIONS_AT_ONCE: Final = 3
MOST_EXPLANATIONS: Final = 16
#: And a question what would happen is answered within this time, or not (seconds).
WHAT_IF_SECONDS: Final = 30.0
#: One is kept for so long after it was worked out, though there are newer views (seconds).
KEPT_SECONDS: Final = 10.0
#: A page is made within this time, or not at all (seconds).
PAGE_SECONDS: Final = 10.0
#: And so many are made at once, or wait for that, at most.
MOST_PAGES: Final = 64
#: So many events are handed over at once: what that takes, no page is answered.
_MOST_EVENTS: Final = 256

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Latest:
    """A view, which a worker has.

    Attributes:
        head: what is known of it here.
        worker: it ends when nobody refers to it any more.
        lost: it has ended, so no page can be made of this view.
    """

    head: Head
    worker: Worker[View]
    lost: bool = field(default=False, init=False)
    _asked: int = field(default=0, init=False)

    async def read(self, page: Callable[[View], T]) -> T:
        """What a function of a view returns, as a page of it.

        Raises:
            TooMuchAskedError: too many pages are asked for at once, or it takes too long.
            WorkerEndedError: the worker ended.
        """
        if self._asked >= MOST_PAGES:
            raise TooMuchAskedError("too many pages are asked for at once; try again")
        self._asked += 1
        try:
            async with asyncio.timeout(PAGE_SECONDS):
                return await self.worker.ask(page)
        except TimeoutError as error:
            raise TooMuchAskedError("the page takes too long; try again") from error
        except WorkerEndedError:
            self.lost = True
            raise
        finally:
            self._asked -= 1


@dataclass(slots=True)
class Asked:
    """An explanation that somebody asked for.

    Attributes:
        view: of which it is; as soon as it is begun, the latest then.
        answer: the explanation, once it has been worked out; None = the group does not wait.
        done: when that was, by the loop's clock; None = not yet.
    """

    view: Latest
    answer: "asyncio.Future[Explained | None]" = field(init=False)
    done: float | None = field(default=None, init=False)


class Keeper:
    """The latest view of a cluster.

    Args:
        client: the API; `client.permissions.VIEWING` is all it needs.
        configuration: of the scheduler.
        worker: keeps what the API server shows.
        timing: how long the reflectors wait.

    Attributes:
        view: the latest; None = the first lists are not complete.
        problems: what keeps the cluster from being read, or views from being made.
        node_events: says which nodes are in quarantine.
        histories: what was said of groups.
        read_admission: reads what the API server fills in.
    """

    read_admission: Callable[[Client], Awaitable[Admission]]

    def __init__(
        self,
        client: Client,
        configuration: Configuration,
        worker: Worker[Facts],
        timing: Timing | None = None,
    ) -> None:
        self.view: Latest | None = None
        self.problems = Problems()
        self.node_events = NodeEvents(client)
        self._configuration = configuration
        self._client = client
        self.read_admission = read_admission
        self.histories = Histories(client)
        self._clock = client.server_clock()
        self._queue = EventQueue()
        self._worker = worker
        malformed = MalformedObjects(_say_nothing)
        malformed.tell()
        informers = Informers(
            client, self._queue, malformed, configuration.profiles, self.problems, timing
        )
        self._informers = informers.every()
        self._changed = asyncio.Condition()
        self._news, self._lost = asyncio.Event(), asyncio.Event()
        self._explainers = asyncio.Semaphore(EXPLANATIONS_AT_ONCE)
        self._finders = asyncio.Semaphore()
        #: Since when something cannot be read, server time; None = all can be.
        self._failing: float | None = None
        self._explanations: dict[GroupKey, Asked] = {}
        #: By group, in the view of this number.
        self._places: dict[GroupKey, Places] = {}
        self._places_in = 0

    # ── following ────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Keep the view up to date until cancelled.

        Raises:
            ExceptionGroup: of a WorkerEndedError where what was known is lost.
        """
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers:
                tasks.create_task(informer.run())
            tasks.create_task(self._take())
            tasks.create_task(self.node_events.run())
            tasks.create_task(self._make())

    async def close(self) -> None:
        """End what is under way."""
        under_way = [each.answer for each in self._explanations.values()]
        for answer in under_way:
            answer.cancel()
        if under_way:
            await asyncio.wait(under_way)

    async def _take(self) -> None:
        """Hand over what happens."""
        while True:
            await self._queue.wait(None)
            while events := self._queue.take(_MOST_EVENTS):
                await self._hand_over(events)
                self._news.set()
                await asyncio.sleep(0)

    async def _hand_over(self, events: Sequence[Event]) -> None:
        """Hand these over, as soon as they are taken: none may be lost."""
        while True:
            try:
                await self._worker.ask(partial(questions.take, events=events))
            except TooMuchAskedError as error:
                self.problems.report("worker", f"what happened cannot be handed over: {error}")
                await asyncio.sleep(LEAST_SECONDS)
            else:
                self.problems.report("worker", None)
                return

    async def _make(self) -> None:
        """Make views, one after the other."""
        for informer in self._informers:
            await informer.synced.wait()
        await self._queue.caught_up()
        number = 0
        while True:
            self._news.clear()
            began, number = time.perf_counter(), number + 1
            try:
                view = await self._made(number)
            except Exception as error:  # noqa: BLE001  # the next state may do; the last one stays
                text = f"the state cannot be worked out: {type(error).__name__}: {error}"
                self.problems.report("views", text)
                if isinstance(error, WorkerEndedError):
                    await self._hand_over(())  # ends all where what was known is lost
            else:
                self.problems.report("views", None)
                self.read_at(view)  # notes since when, though nobody may ask
                await self.show(view)
                number = await self._show_starts(view)
            took = time.perf_counter() - began
            await self._pause(max(LEAST_SECONDS, SHARE * took))
            with suppress(TimeoutError):
                async with asyncio.timeout(MOST_SECONDS):
                    await self._news.wait()

    async def _pause(self, seconds: float) -> None:
        """Leave the machine to others, but for no longer than there are pages."""
        await asyncio.sleep(LEAST_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds - LEAST_SECONDS):
                await self._lost.wait()

    async def _made(self, number: int) -> Latest:
        """The view of this number, of what was handed over until now."""
        work = partial(
            questions.made,
            configuration=self._configuration,
            now=self._clock.now(),
            number=number,
            in_copy=in_copy if self._worker.forks else None,
        )
        worker = await self._worker.branch(work)
        return Latest(await worker.ask(questions.head), worker)

    async def _show_starts(self, view: Latest) -> int:
        """Show the same view with when who waits starts, if that can be told; the latest number."""
        try:
            worker = await view.worker.branch(View.with_starts, STARTS_SECONDS)
            found = Latest(await worker.ask(questions.head), worker)
        except GivenUpError:
            return view.head.number
        except Exception:  # the view stands without it
            logger.exception("Cannot estimate when who waits starts")
            return view.head.number
        await self.show(found)
        return found.head.number

    async def show(self, view: Latest) -> None:
        """This is the latest view from now on."""
        async with self._changed:
            self.view = view
            self._lost.clear()
            self._changed.notify_all()
        self._forget()  # an explanation holds the processes of its view

    async def newer(self, than: int) -> int:
        """Return once there is a newer view than that of this number; its number."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: self.view is not None and self.view.head.number > than
            )
        assert self.view is not None, "it was waited for"
        return self.view.head.number

    def make_anew(self) -> None:
        """Make another view soon, though nothing may have changed: something of it ended."""
        self._news.set()
        if self.view is not None and self.view.lost:
            self._lost.set()

    def now(self) -> float:
        """Server time."""
        return self._clock.now()

    def read_at(self, view: Latest) -> float:
        """Server time of what a view shows: not after something could be read no more."""
        if not self.problems.active:
            self._failing = None
        elif self._failing is None:
            self._failing = self._clock.now()
        at = view.head.now
        return at if self._failing is None else min(at, self._failing)

    # ── asking ───────────────────────────────────────────────────────────────────────────────

    def known(self, key: GroupKey) -> Explained | None:
        """The explanation of a group, if one was worked out lately."""
        asked = self._explanations.get(key)
        if asked is None or asked.done is None or asked.answer.cancelled():
            return None
        failed = asked.answer.exception() is not None
        return None if failed or self._outdated(asked) else asked.answer.result()

    def explanation(self, view: Latest, key: GroupKey) -> Asked:
        """Why one of a view waits; what is being worked out is not begun anew.

        Raises:
            TooMuchAskedError: too many are asked for.
        """
        self._forget()
        kept = self._explanations
        if key in kept:
            return kept[key]
        if sum(each.done is None for each in kept.values()) >= MOST_EXPLANATIONS:
            raise TooMuchAskedError("too many explanations are being worked out; try again later")
        loop = asyncio.get_running_loop()
        asked = Asked(view)
        asked.answer = loop.create_task(self._explained(asked, key))
        asked.answer.add_done_callback(partial(_take_note, asked, loop.time))
        kept[key] = asked
        return asked

    async def _explained(self, asked: Asked, key: GroupKey) -> Explained | None:
        """Work it out once it is its turn, within some time; what was found by then counts."""
        async with self._explainers:
            asked.view = self.view or asked.view
            work = partial(questions.explained, key=key)
            return await asked.view.worker.copy(work, EXPLANATION_SECONDS)

    def _forget(self) -> None:
        """Keep no explanation that is told no more."""
        kept = {key: each for key, each in self._explanations.items() if not self._outdated(each)}
        self._explanations = kept

    def _outdated(self, asked: Asked) -> bool:
        """Whether it failed, or is of an older view and was worked out some time ago."""
        if asked.done is None:
            return False
        if asked.answer.cancelled() or asked.answer.exception() is not None:
            return True
        late = asyncio.get_running_loop().time() > asked.done + KEPT_SECONDS
        return late and asked.view is not self.view

    async def what_if(self, view: Latest, form: WhatIf, viewer: Viewer) -> Told:
        """What would happen.

        Args:
            view: the cluster.
            form: what is asked.
            viewer: as whom.
        """
        try:
            admission = await self.read_admission(self._client)
        except APIError as error:
            logger.warning("Cannot read PriorityClasses and StorageClasses: %s", error)
            return Told(problems=["There is no answer: classes cannot be read now; see the log."])
        work = partial(what_if, form=form, viewer=viewer, admission=admission)
        return await view.worker.copy(work, WHAT_IF_SECONDS)

    async def places(self, view: Latest, viewer: Viewer) -> Mapping[GroupKey, Places]:
        """Which nodes could hold members of those that are listed beside the nodes."""
        keys = await view.read(partial(questions.in_order, viewer=viewer))
        async with self._finders:
            if view.head.number > self._places_in:
                self._places, self._places_in = {}, view.head.number
            known = self._places if view.head.number == self._places_in else {}
            unknown = [key for key in keys if key not in known]
            if unknown:
                work = partial(questions.places, keys=unknown)
                known |= await view.worker.copy(work, PAGE_SECONDS)
            return {key: known[key] for key in keys if key in known}


def _take_note(
    asked: Asked, clock: Callable[[], float], answer: "asyncio.Future[Explained | None]"
) -> None:
    """It has been worked out, or failed; who asked may have gone away since."""
    asked.done = clock()
    if not answer.cancelled() and (error := answer.exception()) is not None:
        logger.error("Cannot work out an explanation", exc_info=error)


def _say_nothing(about: ObjectReference, note: str) -> None:
    """The scheduler says it on the object."""
    del about, note
