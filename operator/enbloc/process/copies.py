# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of this process, to try something on what it knows; what is tried is forgotten there."""

import gc
import os
import pickle
import sys
from collections.abc import Callable
from typing import Final, TypeVar

from enbloc.errors import EnblocError

T = TypeVar("T")

#: Elsewhere libraries may not survive a fork.
AVAILABLE: Final = sys.platform == "linux"


def in_copy(work: Callable[[], T]) -> T:
    """What `work` returns, or raises, when it is done in a copy of this process.

    The memory is shared until it is written to, so a copy takes milliseconds. Not for processes
    that have threads.

    Args:
        work: its result, or its exception, can be pickled.

    Raises:
        EnblocError: the copy ended without an answer.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _answer(work, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer:
        raise EnblocError("trying a change failed: its process was ended, maybe for lack of memory")
    done, found = pickle.loads(answer)  # noqa: S301  # from ourselves
    if not done:
        raise found
    result: T = found
    return result


def _answer(work: Callable[[], T], writer: int) -> None:
    """Do it and end, without anything that is done at the end of a program."""
    code = 1
    try:
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
