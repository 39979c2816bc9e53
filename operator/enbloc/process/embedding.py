# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Running a server in a thread with its own event loop.

kopf's documentation asks for this: in a shared loop an operator takes over SIGINT and SIGTERM, and
at its end cancels every task that was created after it started.
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
    """Run a server to its end; on cancellation, tell it to stop, and wait until it has.

    Args:
        options: for the server; `stop` belongs to the caller's loop.
        server: called in the thread.
        loop: the thread's loop, closed at the end; None = a new one.

    Returns:
        The server's exit code; its exceptions are raised here.
    """
    home, stop = asyncio.get_running_loop(), asyncio.Event()
    ended: asyncio.Future[int] = home.create_future()
    runner = asyncio.Runner(loop_factory=options.clock.new_loop if loop is None else lambda: loop)
    inner = runner.get_loop()
    own = replace(options, stop=stop, take_signals=lambda: None)

    async def serve() -> int:
        try:
            return await server(own)
        finally:  # here, because closing the runner would block the caller's loop in a join
            await inner.shutdown_default_executor()

    def work() -> None:
        with runner:
            try:
                outcome = runner.run(serve())
            except BaseException as error:  # noqa: BLE001  # raised in the loop that awaits it
                home.call_soon_threadsafe(ended.set_exception, error)
            else:
                home.call_soon_threadsafe(ended.set_result, outcome)

    def tell() -> None:
        with suppress(RuntimeError):  # its loop is closed: the server has ended
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
