# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Keeper: follows the cluster and keeps the latest view of it.

::

    list and watch ──► a worker, which keeps Facts ──branch──► a worker, which keeps a View
                                                                  │ ask ──► pages
                                                                  └ copy ──► explanations, places

This process answers browsers. It knows only the namespaces with waiting groups or pods, so that no
computation blocks its answers. A view is made after a change, and not too soon after the last one.
Nothing is written to the cluster.
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
from enbloc.telemetry import ActiveProblems
from enbloc.ui import questions
from enbloc.ui.facts import Facts
from enbloc.ui.history import Histories
from enbloc.ui.node_events import NodeEvents
from enbloc.ui.places import MemberNodes
from enbloc.ui.questions import Head
from enbloc.ui.view import Explained, View, Viewer
from enbloc.ui.what_if_page import VisibleAnswer, WhatIfForm
from enbloc.ui.what_if_question import what_if
from enbloc.workloads import Admission

T = TypeVar("T")

#: The least pause between two views (seconds).
LEAST_SECONDS: Final = 2.0
#: The least pause as a multiple of the time that the last view took: the machine has other work.
SHARE: Final = 2.0
#: The longest pause, even without a change, because waits may have expired (seconds).
MOST_SECONDS: Final = 60.0
#: The time limit for deciding what waits; then a view shows what was decided by then (seconds).
VIEW_SECONDS: Final = 30.0
#: The time limit for estimates of starts; then none are shown (seconds).
STARTS_SECONDS: Final = 5.0
#: The time after which an explanation tries no more changes (seconds).
EXPLANATION_SECONDS: Final = 15.0
#: The most explanations that are computed at once, and the most including waiting ones.
EXPLANATIONS_AT_ONCE: Final = 3
MOST_EXPLANATIONS: Final = 16
#: The time limit for the answer to a what-if question (seconds).
WHAT_IF_SECONDS: Final = 30.0
#: How long an explanation is cached even if there are newer views (seconds).
KEPT_SECONDS: Final = 10.0
#: The time limit for making a page (seconds).
PAGE_SECONDS: Final = 10.0
#: The most pages that are being made or wait for that.
MOST_PAGES: Final = 64
#: The most events that are handed over at once: meanwhile no page is answered.
_MOST_EVENTS: Final = 256

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Latest:
    """A view, which a worker holds.

    Attributes:
        head: the view's summary, in this process.
        worker: the worker; it ends when nobody refers to it any more.
        lost: whether the worker has ended, so that this view makes no more pages.
    """

    head: Head
    worker: Worker[View]
    lost: bool = field(default=False, init=False)
    _asked: int = field(default=0, init=False)

    async def read(self, page: Callable[[View], T]) -> T:
        """Run a function on the view in its worker, for example to make a page.

        Raises:
            TooMuchAskedError: too many pages are requested at once, or this one takes too long.
            WorkerEndedError: the worker has ended.
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
class ExplanationRequest:
    """A requested explanation.

    Attributes:
        view: its view; set to the latest one when the computation begins.
        answer: the future explanation; None = the group does not wait.
        done: when it was done, by the loop's clock; None = not yet.
    """

    view: Latest
    answer: "asyncio.Future[Explained | None]" = field(init=False)
    done: float | None = field(default=None, init=False)


class Keeper:
    """The latest view of a cluster.

    Args:
        client: the API; needs only `client.permissions.VIEWING`.
        configuration: of the scheduler.
        worker: holds the facts.
        timing: the waits of the reflectors.

    Attributes:
        view: the latest view; None = the first lists are not complete.
        problems: what keeps the cluster from being read, or views from being made.
        node_events: tells which nodes are in quarantine.
        histories: the histories of groups.
        read_admission: reads what the API server fills in at admission.
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
        self.problems = ActiveProblems()
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
        #: Since when something cannot be read, server time; None = everything can be read.
        self._failing: float | None = None
        self._explanations: dict[GroupKey, ExplanationRequest] = {}
        #: Group → its places, in the view with the number `_places_in`.
        self._places: dict[GroupKey, MemberNodes] = {}
        self._places_in = 0

    # ── following ────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Keep the view up to date until cancelled.

        Raises:
            ExceptionGroup: a WorkerEndedError, if the worker with the facts is lost.
        """
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers:
                tasks.create_task(informer.run())
            tasks.create_task(self._take())
            tasks.create_task(self.node_events.run())
            tasks.create_task(self._make())

    async def close(self) -> None:
        """Cancel the running explanations."""
        under_way = [each.answer for each in self._explanations.values()]
        for answer in under_way:
            answer.cancel()
        if under_way:
            await asyncio.wait(under_way)

    async def _take(self) -> None:
        """Hand events over to the worker as they arrive."""
        while True:
            await self._queue.wait(None)
            while events := self._queue.take(_MOST_EVENTS):
                await self._hand_over(events)
                self._news.set()
                await asyncio.sleep(0)

    async def _hand_over(self, events: Sequence[Event]) -> None:
        """Hand these events over, and retry until the worker takes them: none may be lost."""
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
            except Exception as error:  # noqa: BLE001  # the last view stays until one succeeds
                text = f"the state cannot be worked out: {type(error).__name__}: {error}"
                self.problems.report("views", text)
                if isinstance(error, WorkerEndedError):
                    await self._hand_over(())  # raises if the worker with the facts is lost
            else:
                self.problems.report("views", None)
                self.read_at(view)  # notes since when reads fail, even if nobody asks
                await self.show(view)
                number = await self._show_starts(view)
            took = time.perf_counter() - began
            await self._pause(max(LEAST_SECONDS, SHARE * took))
            with suppress(TimeoutError):
                async with asyncio.timeout(MOST_SECONDS):
                    await self._news.wait()

    async def _pause(self, seconds: float) -> None:
        """Leave the machine to others, but end the pause if the view is lost."""
        await asyncio.sleep(LEAST_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds - LEAST_SECONDS):
                await self._lost.wait()

    async def _made(self, number: int) -> Latest:
        """Make the view of this number from the events handed over so far."""
        work = partial(
            questions.made,
            configuration=self._configuration,
            now=self._clock.now(),
            number=number,
            in_copy=in_copy if self._worker.forks else None,
        )
        worker = await self._worker.branch(work, VIEW_SECONDS)
        return Latest(await worker.ask(questions.head), worker)

    async def _show_starts(self, view: Latest) -> int:
        """Show the same view with estimates of starts, if possible; returns the latest number."""
        try:
            worker = await view.worker.branch(View.with_starts, STARTS_SECONDS)
            found = Latest(await worker.ask(questions.head), worker)
        except GivenUpError:
            return view.head.number
        except Exception:  # the view is shown without estimates
            logger.exception("Cannot estimate when who waits starts")
            return view.head.number
        await self.show(found)
        return found.head.number

    async def show(self, view: Latest) -> None:
        """Make this the latest view."""
        async with self._changed:
            self.view = view
            self._lost.clear()
            self._changed.notify_all()
        self._forget()  # an explanation keeps its view's processes alive

    async def newer(self, than: int) -> int:
        """Wait for a view with a larger number, and return its number."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: self.view is not None and self.view.head.number > than
            )
        assert self.view is not None, "it was waited for"
        return self.view.head.number

    def make_anew(self) -> None:
        """Make another view soon, even without a change, because a process of it has ended."""
        self._news.set()
        if self.view is not None and self.view.lost:
            self._lost.set()

    def now(self) -> float:
        """Server time."""
        return self._clock.now()

    def read_at(self, view: Latest) -> float:
        """Server time of what a view shows; at most the time since when something is unreadable."""
        if not self.problems.active:
            self._failing = None
        elif self._failing is None:
            self._failing = self._clock.now()
        at = view.head.now
        return at if self._failing is None else min(at, self._failing)

    # ── asking ───────────────────────────────────────────────────────────────────────────────

    def known(self, key: GroupKey) -> Explained | None:
        """The cached explanation of a group, if there is one."""
        asked = self._explanations.get(key)
        if asked is None or asked.done is None or asked.answer.cancelled():
            return None
        failed = asked.answer.exception() is not None
        return None if failed or self._outdated(asked) else asked.answer.result()

    def explanation(self, view: Latest, key: GroupKey) -> ExplanationRequest:
        """Start to explain why a group waits, unless its explanation is cached or in progress.

        Raises:
            TooMuchAskedError: too many are requested.
        """
        self._forget()
        kept = self._explanations
        if key in kept:
            return kept[key]
        if sum(each.done is None for each in kept.values()) >= MOST_EXPLANATIONS:
            raise TooMuchAskedError("too many explanations are being worked out; try again later")
        loop = asyncio.get_running_loop()
        asked = ExplanationRequest(view)
        asked.answer = loop.create_task(self._explained(asked, key))
        asked.answer.add_done_callback(partial(_take_note, asked, loop.time))
        kept[key] = asked
        return asked

    async def _explained(self, asked: ExplanationRequest, key: GroupKey) -> Explained | None:
        """Compute it when its turn comes; after the time limit, with what was found by then."""
        async with self._explainers:
            asked.view = self.view or asked.view
            work = partial(questions.explained, key=key)
            return await asked.view.worker.copy(work, EXPLANATION_SECONDS)

    def _forget(self) -> None:
        """Drop outdated explanations."""
        kept = {key: each for key, each in self._explanations.items() if not self._outdated(each)}
        self._explanations = kept

    def _outdated(self, asked: ExplanationRequest) -> bool:
        """Whether it failed, or is of an older view and older than KEPT_SECONDS."""
        if asked.done is None:
            return False
        if asked.answer.cancelled() or asked.answer.exception() is not None:
            return True
        late = asyncio.get_running_loop().time() > asked.done + KEPT_SECONDS
        return late and asked.view is not self.view

    async def what_if(self, view: Latest, form: WhatIfForm, viewer: Viewer) -> VisibleAnswer:
        """Answer a what-if question.

        Args:
            view: the cluster.
            form: the question.
            viewer: what the viewer may see.
        """
        try:
            admission = await self.read_admission(self._client)
        except APIError as error:
            logger.warning("Cannot read PriorityClasses and StorageClasses: %s", error)
            return VisibleAnswer(
                problems=["There is no answer: classes cannot be read now; see the log."]
            )
        work = partial(what_if, form=form, viewer=viewer, admission=admission)
        return await view.worker.copy(work, WHAT_IF_SECONDS)

    async def places(self, view: Latest, viewer: Viewer) -> Mapping[GroupKey, MemberNodes]:
        """The places of the groups that are listed beside the map of nodes."""
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
    asked: ExplanationRequest,
    clock: Callable[[], float],
    answer: "asyncio.Future[Explained | None]",
) -> None:
    """Note when an explanation is done or has failed; the client may be gone by then."""
    asked.done = clock()
    if not answer.cancelled() and (error := answer.exception()) is not None:
        logger.error("Cannot work out an explanation", exc_info=error)


def _say_nothing(about: ObjectReference, note: str) -> None:
    """Do nothing: the scheduler itself writes the event on the object."""
    del about, note
