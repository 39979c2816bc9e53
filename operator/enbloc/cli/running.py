# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Running a command's work: coroutines, and work whose results stay in memory."""

import asyncio
import gc
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result.

    With `asyncio.run`, `signal.signal` formats an error about the SIGINT handler that it replaces,
    and with it the result of the task as text: that takes seconds if the result is a whole cluster.
    """
    found: list[T] = []

    async def keep() -> None:
        found.append(await work)

    asyncio.run(keep())
    return found[0]


@contextmanager
def uncollected() -> Generator[None]:
    """Exclude objects created in this context from garbage collection, now and later.

    Unused objects of an earlier such context are collected first.
    """
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
