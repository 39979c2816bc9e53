# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Workers that are processes, each forked from a process without threads.

::

    this process ──fork, once, before it has threads──► a worker ──fork──► a branch ──fork──► …
         └──── a pair of sockets for every question, sent over the worker's own socket ────┘

A worker, its copies and its branches have no threads, so that they can be forked at any time. Their
only sockets are those of their questions. Each ends with the process that it was forked from; the
first one, with this process.
"""

import asyncio
import gc
import os
import pickle
import signal
import socket
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, Final, Never, TypeVar

from enbloc.errors import EnblocError
from enbloc.process.copies import end_with, leave_no_zombies
from enbloc.process.workers import GoOn, TooMuchAskedError, Worker, WorkerEndedError, until

S = TypeVar("S")
N = TypeVar("N")
T = TypeVar("T")

_ASK: Final = b"a"
_COPY: Final = b"c"
_BRANCH: Final = b"b"
#: The time that a copy has for its answer after its time limit (seconds).
_GRACE: Final = 10.0
#: The size of the pieces in which an answer is read (bytes).
_PIECE: Final = 1 << 20


class ForkedWorker(Worker[S]):
    """A worker that is another process."""

    forks = True

    def __init__(
        self,
        control: socket.socket,
        child: int | None = None,
        origin: "Worker[Any] | None" = None,
    ) -> None:
        self._control, self._child = control, child
        self._origin = origin  # kept alive, because this one ends with it
        control.setblocking(False)
        # When this object is gone, the worker reads the end of its socket, and ends.
        weakref.finalize(self, control.close)

    @classmethod
    def start(cls, state: S) -> "ForkedWorker[S]":
        """Fork a worker; not from a process with threads or open connections.

        Raises:
            EnblocError: the process cannot be started.
        """
        parent = os.getpid()
        with ExitStack() as opened:
            try:
                mine, its = map(opened.enter_context, _pair(socket.SOCK_SEQPACKET))
                child = os.fork()
            except OSError as error:
                raise _not_started(error) from error
            if not child:
                mine.close()
                _become(state, its, parent)
            opened.pop_all()
        its.close()
        return cls(mine, child)

    async def ask(self, work: Callable[[S], T]) -> T:
        """Run it in the worker."""
        found: T = await self._exchange(_ASK, work)
        return found

    async def copy(self, work: Callable[[S, GoOn], T], seconds: float) -> T:
        """Run it in a process that is forked from the worker for this call."""
        found: T = await self._exchange(_COPY, (work, seconds))
        return found

    async def branch(
        self, work: Callable[[S, GoOn], N], seconds: float | None = None
    ) -> "Worker[N]":
        """Fork a process from the worker that stays."""
        mine, its = _more(socket.SOCK_SEQPACKET)
        branched: ForkedWorker[N] = ForkedWorker(mine, origin=self)
        with its:
            await self._exchange(_BRANCH, (work, seconds), its)
        return branched

    def close(self) -> None:
        """End the worker; every process forked from it is killed with it."""
        self._control.close()
        if self._child is not None:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._child, signal.SIGKILL)
                os.waitpid(self._child, 0)
            self._child = None

    async def _exchange(self, kind: bytes, asked: Any, beside: socket.socket | None = None) -> Any:
        """Send a question and read its answer.

        Raises:
            WorkerEndedError: the worker ended before it answered.
            TooMuchAskedError: the question was not sent.
        """
        question = pickle.dumps(asked, pickle.HIGHEST_PROTOCOL)
        loop = asyncio.get_running_loop()
        here, there = _more(socket.SOCK_STREAM)
        with here:
            with there:
                descriptors = [each.fileno() for each in (there, beside) if each is not None]
                try:
                    socket.send_fds(self._control, [kind], descriptors)
                except BlockingIOError as error:
                    raise _too_much() from error
                except OSError as error:
                    raise _ended() from error
            if beside is not None:
                beside.close()
            here.setblocking(False)
            pieces: list[bytes] = []
            try:
                await loop.sock_sendall(here, question)
                here.shutdown(socket.SHUT_WR)
                while piece := await loop.sock_recv(here, _PIECE):
                    pieces.append(piece)
            except ConnectionError as error:
                raise _ended() from error
        answer = b"".join(pieces)
        if not answer:
            raise _ended()
        done, found = pickle.loads(answer)  # noqa: S301  # from ourselves
        if not done:
            raise found
        return found


def _pair(kind: socket.SocketKind) -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, kind)


def _more(kind: socket.SocketKind) -> tuple[socket.socket, socket.socket]:
    """A pair of sockets for one more question.

    Raises:
        TooMuchAskedError: the limit of open files is reached.
    """
    try:
        return _pair(kind)
    except OSError as error:
        raise _too_much() from error


def _too_much() -> TooMuchAskedError:
    return TooMuchAskedError("too much is asked at once; try again")


def _not_started(error: OSError) -> EnblocError:
    return EnblocError(f"cannot start a process to work in: {error.strerror or error}")


def _ended() -> WorkerEndedError:
    return WorkerEndedError(
        "the process that worked it out was ended, maybe for lack of memory or of time"
    )


# ── in the worker ────────────────────────────────────────────────────────────────────────────


def _become(state: Any, control: socket.socket, parent: int) -> Never:
    """Serve as a worker until nobody can ask any more."""
    code = 1
    try:
        end_with(parent)
        # Signals are for the asking process; this one ends with it.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        leave_no_zombies()
        gc.freeze()
        _serve(state, control)
        code = 0
    finally:
        os._exit(code)


def _serve(state: Any, control: socket.socket) -> None:
    while True:
        kind, descriptors, *_ = socket.recv_fds(control, 1, 2)
        if not kind:
            return
        line, *beside = (socket.socket(fileno=each) for each in descriptors)
        with line:
            if kind == _ASK:
                _answer(line, lambda asked: asked(state))
                continue
            parent = os.getpid()
            try:
                child = os.fork()
            except OSError as error:
                _answer(line, _raising(_not_started(error)))
                child = -1
            if not child:
                control.close()
                if kind == _COPY:
                    _be_copy(state, line, parent)
                _be_branch(state, line, beside[0], parent)
        for each in beside:
            each.close()


def _be_copy(state: Any, line: socket.socket, parent: int) -> Never:
    """Answer one question in this copy, and end."""
    try:
        end_with(parent)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the work waits for its own children
        gc.disable()

        def work(asked: tuple[Callable[[Any, GoOn], Any], float]) -> Any:
            of, seconds = asked
            signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)  # SIGALRM ends the process
            return of(state, until(seconds))

        _answer(line, work)
    finally:
        os._exit(0)


def _be_branch(state: Any, line: socket.socket, control: socket.socket, parent: int) -> Never:
    """Compute a state, and serve as the worker that holds it."""
    found: list[Any] = []

    def work(asked: tuple[Callable[[Any, GoOn], Any], float | None]) -> None:
        of, seconds = asked
        found.append(of(state, until(seconds)))

    try:
        end_with(parent)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the work waits for its own children
        gc.freeze()  # a collection would write to all shared memory
        _answer(line, work)
        line.close()
        if found:
            state = found.pop()
            _become(state, control, parent)
    finally:
        os._exit(0)


def _answer(line: socket.socket, work: Callable[[Any], Any]) -> None:
    """Read a question, run it, and send the answer."""
    with suppress(OSError):  # nobody waits for it any more
        with line.makefile("rb") as stream:
            question = stream.read()
        line.sendall(_worked_out(question, work))


def _worked_out(question: bytes, work: Callable[[Any], Any]) -> bytes:
    try:
        found = work(pickle.loads(question))  # noqa: S301  # from ourselves
        return pickle.dumps((True, found), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001  # the asking process raises it
        try:
            answer = pickle.dumps((False, error))
            pickle.loads(answer)  # noqa: S301  # not every exception can be unpickled
        except Exception:  # noqa: BLE001  # as above
            answer = pickle.dumps((False, EnblocError(f"{type(error).__name__}: {error}")))
        return answer


def _raising(error: Exception) -> Callable[[Any], Never]:
    def work(asked: Any) -> Never:
        del asked
        raise error

    return work
