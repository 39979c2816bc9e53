# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Workers: each knows something, and works out what is asked of it beside the event loop.

::

    ask     ──► the worker itself: what is quick, one after the other
    copy    ──► a copy of it, that ends with the answer: what takes long, or changes what is known
    branch  ──► another worker, which knows what was worked out, and is asked in turn

Elsewhere than on Linux, and in tests, threads do it.
"""

import threading
import time
from abc import ABC, abstractmethod
from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, Generic, TypeVar

from enbloc.errors import EnblocError

S = TypeVar("S")
N = TypeVar("N")
T = TypeVar("T")

#: Says whether there is time left, and somebody who wants the answer.
GoOn = Callable[[], bool]
#: So many threads work on what is asked of copies.
_THREADS: Final = 2


class WorkerEndedError(EnblocError):
    """What was asked of a worker has no answer: it, or its copy, ended before."""


class TooMuchAskedError(EnblocError):
    """So much is asked of a worker that no more is taken: this was not asked."""


class Worker(ABC, Generic[S]):
    """Knows something: its state.

    What is asked of it is a function of a module, or a `partial` of one, so that it can be sent to
    another process; so can the answer, or the exception, which is raised where it was asked.

    Attributes:
        forks: it is a process without threads, which may be copied time and again.
    """

    forks: bool

    @abstractmethod
    async def ask(self, work: Callable[[S], T]) -> T:
        """What `work` returns of the state, which it may change.

        Raises:
            WorkerEndedError: there is no worker any more.
            TooMuchAskedError: it is asked too much.
        """

    @abstractmethod
    async def copy(self, work: Callable[[S, GoOn], T], seconds: float) -> T:
        """What `work` returns when it is done in a copy.

        Args:
            work: is told after so many seconds that there is no time left.
            seconds: a copy that goes on for much longer is ended.

        Raises:
            WorkerEndedError: the copy ended before its answer.
            TooMuchAskedError: too much is asked.
        """

    @abstractmethod
    async def branch(
        self, work: Callable[[S, GoOn], N], seconds: float | None = None
    ) -> "Worker[N]":
        """Another worker, whose state is what `work` returns.

        It ends when nobody refers to it any more, or when this one's origin is closed.

        Args:
            work: is told after so many seconds that there is no time left.
            seconds: None = there is always.

        Raises:
            WorkerEndedError: it ended before it was done.
            TooMuchAskedError: too much is asked.
        """

    @abstractmethod
    def close(self) -> None:
        """End it, and all that is worked out by it, or by what branched from it."""


def until(seconds: float | None) -> GoOn:
    """Says for so long from now on that there is time left; None = for ever."""
    if seconds is None:
        return lambda: True
    end = time.monotonic() + seconds
    return lambda: time.monotonic() <= end


class _Threads:
    """Those of a worker, and of all that branch from it."""

    def __init__(self) -> None:
        self.ending = threading.Event()
        self.branches = ThreadPoolExecutor(1, "view")
        self.copies = ThreadPoolExecutor(_THREADS, "question")

    def limited(self, seconds: float | None) -> GoOn:
        timely = until(seconds)
        return lambda: not self.ending.is_set() and timely()

    def close(self) -> None:
        self.ending.set()
        for executor in (self.branches, self.copies):
            executor.shutdown(wait=False, cancel_futures=True)


class ThreadWorker(Worker[S]):
    """A worker in this process, which works in threads; nothing is copied.

    Args:
        state: what it knows; work that is done in a copy leaves it as it is.
    """

    forks = False

    def __init__(self, state: S, threads: _Threads | None = None) -> None:
        self.state = state
        self._threads = threads or _Threads()

    async def ask(self, work: Callable[[S], T]) -> T:
        """Done at once, by the event loop's own thread."""
        return work(self.state)

    async def copy(self, work: Callable[[S, GoOn], T], seconds: float) -> T:
        """Done in a thread, as soon as one is free."""

        def begun() -> T:
            return work(self.state, self._threads.limited(seconds))

        return await get_running_loop().run_in_executor(self._threads.copies, begun)

    async def branch(
        self, work: Callable[[S, GoOn], N], seconds: float | None = None
    ) -> "Worker[N]":
        """Done in a thread, one after the other."""
        limited = partial(work, self.state, self._threads.limited(seconds))
        found = await get_running_loop().run_in_executor(self._threads.branches, limited)
        return ThreadWorker(found, self._threads)

    def close(self) -> None:
        """Begin nothing more; what is under way ends soon."""
        self._threads.close()
