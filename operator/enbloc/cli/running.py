# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Running a coroutine from a command, whatever it returns."""

import asyncio
from collections.abc import Coroutine
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
