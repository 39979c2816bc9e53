# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Event loops whose time passes at once where all of them wait for it.

Servers and clients of a test run in loops of this process and talk over sockets of this machine. So
where every loop is idle only time can help, and the clock is set to the first timer of any of them.
While a thread of an executor is at work, time passes as it does for everybody.
"""

import asyncio
import math
import select
import selectors
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import Context
from typing import Final, TypeVar, TypeVarTuple, Unpack

from enbloc.client.clock import MACHINE, TimeSource

#: Where loops have sockets, the kernel may still be handing on what was sent: before time passes,
#: all have been idle for this share of that time, at least and at most so many seconds.
SHARE: Final = 0.01
LEAST: Final = 0.0002
MOST: Final = 0.01
#: The clock goes in so many steps a second, and timers that are nearer than one are due.
TICKS: Final = 1e6
#: A loop that is never idle for so long, or is held up, may wait for the time (real seconds).
STUCK: Final = 5.0

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Clock:
    """The time of some loops, in seconds; and what their wall clock says.

    A machine that keeps this process from running takes no time from a test: where time passes as
    it does for everybody, only that counts for which the process worked, or waited as it wanted.

    Args:
        real: the time of everybody, in seconds.
        work: for how long all threads of this process have run, in seconds.
    """

    def __init__(
        self,
        real: Callable[[], float] = time.perf_counter,
        work: Callable[[], float] = time.process_time,
    ) -> None:
        self.now = 0.0
        self._real, self._work = real, work
        self._read, self._ran = (real(), work()), 0.0
        self._epoch = time.time()
        self._lock = threading.Lock()
        self._loops: set[VirtualTimeLoop] = set()
        self._idle: dict[VirtualTimeLoop, float] = {}  # until when
        self._calls: Counter[VirtualTimeLoop] = Counter()  # by other threads, still to be made
        self._quiet = self._looked = 0.0
        self._threads = 0

    def skip(self, seconds: float) -> None:
        """Have so much time passed, as in a long step of a loop."""
        with self._lock:
            self._set(_tick(self.now + seconds))

    def wall(self) -> float:
        """Seconds since the epoch."""
        return self._epoch + self.now

    def opened(self, loop: "VirtualTimeLoop") -> None:
        """A loop is there, and busy until it says otherwise."""
        with self._lock:
            self._loops.add(loop)

    def closed(self, loop: "VirtualTimeLoop") -> None:
        """It is no more."""
        with self._lock:
            self._loops.discard(loop)
            self._idle.pop(loop, None)

    def begun(self, count: int = 1) -> None:
        """So much goes on in threads."""
        with self._lock:
            self._threads += count

    def done(self, count: int = 1) -> None:
        """So much of it has ended."""
        with self._lock:
            self._threads -= count

    def called(self, loop: "VirtualTimeLoop") -> None:
        """Another thread gave a loop something to do."""
        with self._lock:
            self._calls[loop] += 1
            self._idle.pop(loop, None)

    def answers(self, loop: "VirtualTimeLoop") -> None:
        """It does it now."""
        with self._lock:
            self._calls[loop] -= 1

    def idle(self, loop: "VirtualTimeLoop", until: float) -> None:
        """A loop has nothing to do before that time, but for what it was just given."""
        with self._lock:
            if not self._calls[loop]:
                self._idle[loop] = until
            self._quiet = self._looked = self._look()

    def busy(self, loop: "VirtualTimeLoop") -> None:
        """It has."""
        with self._lock:
            self._idle.pop(loop, None)

    def runs_on(self) -> None:
        """A loop has the next thing to do: where that has gone on for long, time passes."""
        with self._lock:
            real = self._look()
            if real - self._quiet > STUCK:
                self._set(_tick(self.now + real - max(self._looked, self._quiet + STUCK)))
                self._looked = real

    def pass_on(self, waited: float = 0.0) -> float:
        """Let time pass if only that can help; after how many real seconds to ask again.

        Args:
            waited: what was answered last, if that was waited for.
        """
        with self._lock:
            real, first = self._look(waited), min(self._idle.values(), default=math.inf)
            since, self._looked = real - self._looked, real
            quiet = real - self._quiet
            if any(loop.unread() for loop in self._idle):
                return LEAST
            if self._threads or quiet > STUCK:
                self._set(min(first, _tick(self.now + since)))
                return min(MOST, max(LEAST, first - self.now))
            if self._idle.keys() != self._loops or first == math.inf:
                return MOST
            if any(loop.talks() for loop in self._loops):
                wanted = max(LEAST, min(MOST, SHARE * (first - self.now)))
                if quiet < wanted:
                    return wanted - quiet
            self._set(first)
            return 0.0

    def _look(self, waited: float = 0.0) -> float:
        """For how long this process has worked, or waited as it wanted (real seconds)."""
        real, work = self._real(), self._work()
        passed, worked = real - self._read[0], work - self._read[1]
        self._ran += min(passed, worked + waited)
        self._read = real, work
        return self._ran

    def _set(self, now: float) -> None:
        self.now = max(self.now, now)
        for loop, until in self._idle.items():
            if until <= self.now:
                loop.wake()


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Such a loop.

    Args:
        clock: that of others, or its own.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._epoll = selectors.DefaultSelector()
        self._poll = self._epoll.select
        self._epoll.select = self._select  # type: ignore[method-assign]
        super().__init__(self._epoll)
        self._clock_resolution = 1 / TICKS  # or it would wait for the last 1e-13 seconds for ever
        self.clock.opened(self)

    def time(self) -> float:
        """Of its clock."""
        return self.clock.now

    def another(self) -> "VirtualTimeLoop":
        """A loop for another thread, with the same clock."""
        return VirtualTimeLoop(self.clock)

    def close(self) -> None:
        """Close it, and keep others waiting no more."""
        self.clock.closed(self)
        super().close()

    def talks(self) -> bool:
        """Whether it has sockets, beside the one that wakes it."""
        return len(self._epoll.get_map() or ()) > 1

    def wake(self) -> None:
        """End its wait, from any thread."""
        self._write_to_self()  # type: ignore[attr-defined]

    def unread(self) -> bool:
        """Whether something has come for it that it has not noticed yet."""
        return bool(select.select([self._epoll.fileno()], [], [], 0)[0])

    def call_soon_threadsafe(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """As ever; it is busy from now on, not from when it notices."""

        def call() -> None:
            self.clock.answers(self)
            callback(*args)

        self.clock.called(self)
        try:
            return super().call_soon_threadsafe(call, context=context)
        except RuntimeError:  # it is closed
            self.clock.answers(self)
            raise

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """As ever; time passes meanwhile as it does for everybody."""

        def work(*given: *Ts) -> T:
            try:
                return func(*given)
            finally:
                self.clock.done()

        self.clock.begun(2)  # the work, and the news of its end
        try:
            future = super().run_in_executor(executor, work, *args)
        except BaseException:
            self.clock.done(2)
            raise
        future.add_done_callback(lambda _: self.clock.done())
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """As ever: a thread waits for those of the executor, for as long as that takes."""
        del timeout
        self.clock.begun()
        try:
            await super().shutdown_default_executor()
        finally:
            self.clock.done()

    def _select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._poll(0)
        if ready or (timeout is not None and timeout <= 0):
            self.clock.runs_on()
            return ready
        until = math.inf if timeout is None else _tick(self.clock.now + timeout)
        self.clock.idle(self, until)
        wait = 0.0
        try:
            while not ready and self.clock.now < until:
                wait = self.clock.pass_on(wait)
                ready = self._poll(wait)
            return ready
        finally:
            self.clock.busy(self)


def _tick(seconds: float) -> float:
    """The first tick of a clock that is not before this time."""
    return math.ceil(seconds * TICKS - 1e-3) / TICKS


def busy(seconds: float) -> None:
    """Have the loop that runs be busy for so long, as by a long step of the engine."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop), "this needs virtual time"
    loop.clock.skip(seconds)


def time_source() -> TimeSource:
    """Of the loop that runs: virtual time, or the time of everybody."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, VirtualTimeLoop):
        return TimeSource(loop.time, loop.clock.wall, loop.another)
    return MACHINE
