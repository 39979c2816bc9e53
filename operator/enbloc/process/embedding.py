# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A server in a thread with an event loop of its own.

So kopf's documentation has an operator embedded: in a loop that it shares it takes over SIGINT and
SIGTERM, and on its way out cancels every task that was created after it started.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from enbloc.process.options import Options


async def embedded(
    options: Options,
    server: Callable[[Options], Awaitable[int]],
    loop: asyncio.AbstractEventLoop | None = None,
) -> int:
    """Run a server to its end; a cancellation tells it to stop, and waits for that.

    Args:
        options: of the server, but for `stop`, which is of the caller's loop.
        server: is called in the thread.
        loop: its loop, which is closed in the end; None = a new one.

    Returns:
        What the server does; what it raises is raised here.
    """
    home, stop = asyncio.get_running_loop(), asyncio.Event()
    ended: asyncio.Future[int] = home.create_future()
    runner = asyncio.Runner(loop_factory=options.clock.new_loop if loop is None else lambda: loop)
    inner = runner.get_loop()
    own = replace(options, stop=stop, take_signals=lambda: None)

    async def serve() -> int:
        try:
            return await server(own)
        finally:  # not as the runner is closed: the caller's loop would be held up by the join
            await inner.shutdown_default_executor()

    def work() -> None:
        with runner:
            try:
                outcome = runner.run(serve())
            except BaseException as error:  # noqa: BLE001  # told to whoever waits, in their loop
                home.call_soon_threadsafe(ended.set_exception, error)
            else:
                home.call_soon_threadsafe(ended.set_result, outcome)

    def tell() -> None:
        with suppress(RuntimeError):  # its loop is closed: it has ended
            inner.call_soon_threadsafe(stop.set)

    async def pass_on() -> None:
        if options.stop is not None:
            await options.stop.wait()
            tell()

    thread = threading.Thread(target=work, name="controller", daemon=True)
    passing = home.create_task(pass_on())
    thread.start()
    try:
        return await asyncio.shield(ended)
    finally:
        passing.cancel()
        tell()
        await asyncio.wait({ended})
        thread.join()
