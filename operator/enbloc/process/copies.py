# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of this process, to try something on what it knows; what is tried is forgotten there."""

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

#: Elsewhere libraries may not survive a fork.
AVAILABLE: Final = sys.platform == "linux"
#: The numbers that Linux has for them (prctl(2)).
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def in_copy(work: Callable[[], T]) -> T:
    """What `work` returns, or raises, when it is done in a copy of this process.

    The memory is shared until it is written to, so a copy takes milliseconds. Not for processes
    that have threads. No copy outlives this process, nor this call.

    Args:
        work: its result, or its exception, can be pickled.

    Raises:
        EnblocError: no copy can be made, or it ended without an answer.
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
    except BaseException:  # an interrupt, above all
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
    """Do it and end, without anything that is done at the end of a program."""
    code = 1
    try:
        end_with(parent)
        os.close(reader)
        gc.disable()  # it would write to all that is shared
        try:
            answer = pickle.dumps((True, work()))
        except Exception as error:  # noqa: BLE001  # whatever it is, the parent raises it
            answer = pickle.dumps((False, error))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(answer)
        code = 0
    finally:
        os._exit(code)


def end_with(parent: int) -> None:
    """Have this process killed when its parent ends, and end it if that is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def leave_no_zombies() -> None:
    """Let go of children as they end, and of theirs that outlive them.

    Those would else be handed to process 1, which in a container is who started all this, and waits
    for none of them.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
