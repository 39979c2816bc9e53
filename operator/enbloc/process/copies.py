# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Forked copies of this process, to try something on its state without changing it."""

import ctypes
import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Never, TypeVar

from enbloc.errors import EnblocError

T = TypeVar("T")

#: Whether copies can be made: on other systems, libraries may not survive a fork.
AVAILABLE: Final = sys.platform == "linux"
#: Linux' numbers of the options (prctl(2)).
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def in_copy(work: Callable[[], T]) -> T:
    """Run `work` in a copy of this process; returns its result, or raises its exception.

    Memory is shared until written, so a copy takes milliseconds. Not for processes with threads.
    No copy outlives this process or this call.

    Args:
        work: what to run; its result and its exception must be picklable.

    Raises:
        EnblocError: the process cannot be copied, or the copy ended without an answer.
    """
    parent = os.getpid()
    try:
        reader, writer = os.pipe()
    except OSError as error:
        raise _no_copy(error) from error
    try:
        child = os.fork()
    except OSError as error:
        os.close(reader)
        os.close(writer)
        raise _no_copy(error) from error
    if not child:
        _answer(work, reader, writer, parent)
    try:
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            answer = pipe.read()
        _, status = os.waitpid(child, 0)
    except BaseException:  # above all KeyboardInterrupt
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        raise
    if status or not answer:
        raise EnblocError("trying a change failed: its process was ended, maybe for lack of memory")
    done, found = pickle.loads(answer)  # noqa: S301  # from ourselves
    if not done:
        raise found
    result: T = found
    return result


def _no_copy(error: OSError) -> EnblocError:
    why = error.strerror or str(error)
    return EnblocError(f"trying a change failed: cannot start a process for it: {why}")


def _answer(work: Callable[[], T], reader: int, writer: int, parent: int) -> Never:
    """Run `work`, send the answer, and end without the cleanup at exit."""
    code = 1
    try:
        end_with(parent)
        os.close(reader)
        gc.disable()  # a collection would write to all shared memory
        try:
            answer = pickle.dumps((True, work()))
        except Exception as error:  # noqa: BLE001  # the parent raises it
            answer = pickle.dumps((False, error))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(answer)
        code = 0
    finally:
        os._exit(code)


def end_with(parent: int) -> None:
    """Have this process killed when its parent ends; end it now if the parent has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def leave_no_zombies() -> None:
    """Reap children as they end, and grandchildren that outlive them.

    Otherwise grandchildren go to process 1, which in a container is enbloc itself and does not wait
    for them.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
