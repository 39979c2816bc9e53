# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Keeper: follows the cluster, and keeps the latest view of it.

::

    list and watch ──► Facts ──► Present ──► the simulation, in a thread ──► View

A view is made when something has changed, and no sooner than some time after the last one. Nothing
is written to the cluster.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from enbloc.client.client import Client
from enbloc.client.events import ObjectReference
from enbloc.client.items import Timing
from enbloc.config import Configuration
from enbloc.live.event_queue import EventQueue
from enbloc.live.informers import Informers
from enbloc.live.malformed import MalformedObjects
from enbloc.model.groups import GroupKey
from enbloc.simulation import Explanation, Waiting
from enbloc.telemetry import Problems
from enbloc.ui.facts import Facts
from enbloc.ui.node_events import NodeEvents
from enbloc.ui.places import Places
from enbloc.ui.timeline import Timeline, timeline
from enbloc.ui.view import Row, View, view_of

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
#: So many explanations are worked out or wait for that, at most.
MOST_EXPLANATIONS: Final = 16
#: One is kept for so long after it was worked out, though there are newer views (seconds).
KEPT_SECONDS: Final = 10.0

logger = logging.getLogger(__name__)


class BusyError(Exception):
    """So many explanations are asked for that no further one is taken."""


@dataclass(slots=True)
class Asked:
    """An explanation that somebody asked for.

    Attributes:
        view: of which it is.
        answer: the explanation, once it has been worked out.
        done: when that was, by the loop's clock; None = not yet.
    """

    view: View
    answer: "asyncio.Future[Explanation]"
    done: float | None = field(default=None, init=False)


class Keeper:
    """The latest view of a cluster.

    Args:
        client: the API; `client.permissions.VIEWING` is all it needs.
        configuration: of the scheduler.
        timing: how long the reflectors wait.

    Attributes:
        view: the latest; None = the first lists are not complete.
        problems: what keeps the cluster from being read, or views from being made.
        node_events: says which nodes are in quarantine.
    """

    def __init__(
        self, client: Client, configuration: Configuration, timing: Timing | None = None
    ) -> None:
        self.view: View | None = None
        self.problems = Problems()
        self.node_events = NodeEvents(client)
        self._configuration = configuration
        self._clock = client.server_clock()
        self._queue = EventQueue()
        self._facts = Facts()
        malformed = MalformedObjects(_say_nothing)
        malformed.tell()
        informers = Informers(
            client, self._queue, malformed, configuration.profiles, self.problems, timing
        )
        self._informers = informers.every()
        self._changed = asyncio.Condition()
        self._news = asyncio.Event()
        self._maker = ThreadPoolExecutor(1, "view")
        self._explainer = ThreadPoolExecutor(1, "explanation")
        self._finder = ThreadPoolExecutor(1, "places")
        self._ending = threading.Event()
        #: Since when something cannot be read, server time; None = all can be.
        self._failing: float | None = None
        self._explanations: dict[GroupKey, Asked] = {}
        #: By group, in the view of this number.
        self._places: dict[GroupKey, Places] = {}
        self._places_in = 0
        #: Of the view of this number.
        self._times: tuple[int, asyncio.Future[Timeline]] | None = None

    # ── following ────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Keep the view up to date until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for informer in self._informers:
                    tasks.create_task(informer.run())
                tasks.create_task(self._take())
                tasks.create_task(self.node_events.run())
                tasks.create_task(self._make())
        finally:
            self.close()

    def close(self) -> None:
        """Begin nothing more; what is under way ends soon."""
        self._ending.set()
        for executor in (self._maker, self._explainer, self._finder):
            executor.shutdown(wait=False, cancel_futures=True)

    async def _take(self) -> None:
        """Take in what happens."""
        while True:
            await self._queue.wait(None)
            for event in self._queue.take():
                self._facts.take(event)
                self._news.set()
            await asyncio.sleep(0)

    async def _make(self) -> None:
        """Make views, one after the other."""
        for informer in self._informers:
            await informer.synced.wait()
        await self._queue.caught_up()
        loop, number = asyncio.get_running_loop(), 0
        while True:
            self._news.clear()
            configuration = self._configuration
            present = self._facts.present(
                configuration.profiles, configuration.settings, self._clock.now()
            )
            began, number = time.perf_counter(), number + 1
            try:
                work = partial(view_of, present, number, lambda: not self._ending.is_set())
                view = await loop.run_in_executor(self._maker, work)
            except Exception as error:  # noqa: BLE001  # the next state may do; the last one stays
                text = f"the state cannot be worked out: {type(error).__name__}: {error}"
                self.problems.report("views", text)
            else:
                self.problems.report("views", None)
                self.read_at(view)  # notes since when, though nobody may ask
                await self.show(view)
                number = await self._show_starts(view)
            took = time.perf_counter() - began
            await asyncio.sleep(max(LEAST_SECONDS, SHARE * took))
            try:
                async with asyncio.timeout(MOST_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                pass

    async def _show_starts(self, view: View) -> int:
        """Show the same view with when who waits starts, if that can be told; the latest number."""
        until = time.monotonic() + STARTS_SECONDS
        work = partial(
            view.with_starts, lambda: not self._ending.is_set() and time.monotonic() <= until
        )
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._maker, work)
        except Exception:  # the view stands without it
            logger.exception("Cannot estimate when who waits starts")
            return view.number
        if found is None:
            return view.number
        await self.show(found)
        return found.number

    async def show(self, view: View) -> None:
        """This is the latest view from now on."""
        async with self._changed:
            self.view = view
            self._changed.notify_all()

    async def newer(self, than: int) -> int:
        """Return once there is a newer view than that of this number; its number."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.view is not None and self.view.number > than)
        assert self.view is not None, "it was waited for"
        return self.view.number

    def now(self) -> float:
        """Server time."""
        return self._clock.now()

    def read_at(self, view: View) -> float:
        """Server time of what a view shows: not after something could be read no more."""
        if not self.problems.active:
            self._failing = None
        elif self._failing is None:
            self._failing = self._clock.now()
        at = view.present.now
        return at if self._failing is None else min(at, self._failing)

    # ── asking ───────────────────────────────────────────────────────────────────────────────

    def known(self, key: GroupKey) -> Asked | None:
        """The explanation of a group, if one was worked out lately."""
        asked = self._explanations.get(key)
        if asked is None or asked.done is None or asked.answer.exception() is not None:
            return None
        return None if self._outdated(asked) else asked

    def explanation(self, view: View, waiting: Waiting) -> Asked:
        """Why one of a view waits; what is being worked out is not begun anew.

        Raises:
            BusyError: too many are asked for.
        """
        kept = {key: each for key, each in self._explanations.items() if not self._outdated(each)}
        self._explanations = kept
        if waiting.key in kept:
            return kept[waiting.key]
        if sum(each.done is None for each in kept.values()) >= MOST_EXPLANATIONS:
            raise BusyError
        loop = asyncio.get_running_loop()
        work = partial(_explained, view, waiting, self._ending)
        asked = Asked(view, loop.run_in_executor(self._explainer, work))
        asked.answer.add_done_callback(partial(_take_note, asked, loop.time))
        kept[waiting.key] = asked
        return asked

    def _outdated(self, asked: Asked) -> bool:
        """Whether it is of an older view, and was worked out some time ago."""
        if asked.done is None or asked.view is self.view:
            return False
        return asyncio.get_running_loop().time() > asked.done + KEPT_SECONDS

    async def places(self, view: View, rows: Sequence[Row]) -> Sequence[tuple[Row, Places]]:
        """Which nodes could hold members of these."""
        if view.number > self._places_in:
            self._places, self._places_in = {}, view.number
        known = dict(self._places)
        unknown = [row.waiting for row in rows if row.waiting.key not in known]
        if unknown:
            loop = asyncio.get_running_loop()
            known |= await loop.run_in_executor(self._finder, _found, view, unknown)
            if view.number == self._places_in:
                self._places |= known
        return [(row, known[row.waiting.key]) for row in rows]

    async def times(self, view: View) -> Timeline:
        """What runs until when, and what starts when; worked out once for each view."""
        if self._times is None or self._times[0] != view.number:
            loop = asyncio.get_running_loop()
            work = partial(timeline, view.members, _waiting(view), view.starts, view.present.now)
            self._times = view.number, loop.run_in_executor(self._finder, work)
        return await asyncio.shield(self._times[1])


def _waiting(view: View) -> Sequence[Waiting]:
    return [row.waiting for row in view.rows]


def _found(view: View, waiting: Sequence[Waiting]) -> dict[GroupKey, Places]:
    return {each.key: view.finder.places(each) for each in waiting}


def _explained(view: View, waiting: Waiting, ending: threading.Event) -> Explanation:
    """Work it out, within some time; what was found by then counts."""
    until = time.monotonic() + EXPLANATION_SECONDS
    return view.explained(waiting, lambda: not ending.is_set() and time.monotonic() <= until)


def _take_note(
    asked: Asked, clock: Callable[[], float], answer: "asyncio.Future[Explanation]"
) -> None:
    """It has been worked out, or failed; who asked may have gone away since."""
    asked.done = clock()
    if not answer.cancelled() and (error := answer.exception()) is not None:
        logger.error("Cannot work out an explanation", exc_info=error)


def _say_nothing(about: ObjectReference, note: str) -> None:
    """The scheduler says it on the object."""
    del about, note
