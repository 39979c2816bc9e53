# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Running what a command does: coroutines, and work whose results stay."""

import asyncio
import gc
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """What it returns.

    `asyncio.run` has the result of its task written out as text, as `signal.signal` words an error
    about the handler of SIGINT that it replaces: seconds, where the result is a whole cluster.
    """
    found: list[T] = []

    async def keep() -> None:
        found.append(await work)

    asyncio.run(keep())
    return found[0]


@contextmanager
def uncollected() -> Generator[None]:
    """What is made meanwhile stays, so the collector looks at none of it, now or later.

    What was made so before, and nobody has any more, is collected first.
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
