# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Workers: each holds a state, and computes answers from it outside the event loop.

::

    ask     ──► in the worker itself, one after the other: quick work
    copy    ──► in a copy that ends with the answer: work that takes long or changes the state
    branch  ──► makes another worker, whose state is the result

On other systems than Linux, and in tests, threads do the work.
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

#: Whether there is time left and somebody still wants the answer.
GoOn = Callable[[], bool]
#: The number of threads for the work of copies.
_THREADS: Final = 2


class WorkerEndedError(EnblocError):
    """A question has no answer, because the worker or its copy has ended."""


class TooMuchAskedError(EnblocError):
    """A worker has too many questions open: this one was not asked."""


class Worker(ABC, Generic[S]):
    """Holds a state and runs functions on it.

    The work is a function of a module, or a `partial` of one, so that it can be sent to another
    process. The answer and exceptions must be picklable too; exceptions are raised in the caller.

    Attributes:
        forks: whether it is a process without threads, which can be copied repeatedly.
    """

    forks: bool

    @abstractmethod
    async def ask(self, work: Callable[[S], T]) -> T:
        """Run `work` on the state, which it may change, and return its result.

        Raises:
            WorkerEndedError: the worker has ended.
            TooMuchAskedError: too many questions are open.
        """

    @abstractmethod
    async def copy(self, work: Callable[[S, GoOn], T], seconds: float) -> T:
        """Run `work` on a copy of the state, and return its result.

        Args:
            work: its GoOn turns false after the given seconds.
            seconds: the time limit; a copy that runs much longer is ended.

        Raises:
            WorkerEndedError: the copy ended before its answer.
            TooMuchAskedError: too many questions are open.
        """

    @abstractmethod
    async def branch(
        self, work: Callable[[S, GoOn], N], seconds: float | None = None
    ) -> "Worker[N]":
        """Make another worker, whose state is the result of `work`.

        It ends when nobody refers to it any more, or when this one's origin is closed.

        Args:
            work: its GoOn turns false after the given seconds.
            seconds: the time limit; None = no limit.

        Raises:
            WorkerEndedError: it ended before its state was computed.
            TooMuchAskedError: too many questions are open.
        """

    @abstractmethod
    def close(self) -> None:
        """End the worker, its branches and their work."""


def until(seconds: float | None) -> GoOn:
    """A GoOn that is true for the given seconds from now; None = forever."""
    if seconds is None:
        return lambda: True
    end = time.monotonic() + seconds
    return lambda: time.monotonic() <= end


class _Threads:
    """The threads of a worker and of all its branches."""

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
    """A worker in threads of this process; it copies nothing.

    Args:
        state: its state; work for `copy` must not change it.
        threads: those of the worker of which this is a branch; None = it has its own.
    """

    forks = False

    def __init__(self, state: S, threads: _Threads | None = None) -> None:
        self.state = state
        self._threads = threads or _Threads()

    async def ask(self, work: Callable[[S], T]) -> T:
        """Run it at once, in the event loop's thread."""
        return work(self.state)

    async def copy(self, work: Callable[[S, GoOn], T], seconds: float) -> T:
        """Run it in a thread, as soon as one is free."""

        def begun() -> T:
            return work(self.state, self._threads.limited(seconds))

        return await get_running_loop().run_in_executor(self._threads.copies, begun)

    async def branch(
        self, work: Callable[[S, GoOn], N], seconds: float | None = None
    ) -> "Worker[N]":
        """Run it in a thread, one after the other."""
        limited = partial(work, self.state, self._threads.limited(seconds))
        found = await get_running_loop().run_in_executor(self._threads.branches, limited)
        return ThreadWorker(found, self._threads)

    def close(self) -> None:
        """Start no more work; running work ends soon."""
        self._threads.close()
