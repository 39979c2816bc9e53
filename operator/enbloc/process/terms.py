# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs terms of leadership, one after another in one process.

::

    term: follow the cluster ──► hold the Lease, decide ──► stopped: the process ends
      ▲                                 │ LeaseLost
      │                                 ▼
      └── its writes have landed ◄── the whole term is dropped

A term that loses its Lease may have decided on outdated state, so only its identity is kept, and
who else was seen to hold the Lease. If the Lease still has that identity, and no other was seen,
the next term may take it at once, because only its own writes are in flight. Other processes wait
until the Lease has expired by their own clock.
"""

import asyncio
import gc
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from enbloc.client.lease import LeaseLost, identity_of
from enbloc.client.transport import WRITE_SECONDS
from enbloc.process.options import Options, served_health

logger = logging.getLogger(__name__)

Term = Callable[[Options], Awaitable[int]]
"""One term, made anew; it raises LeaseLost when nothing of it works any more, and else returns the
exit code of the process."""


async def run_terms(options: Options, term: Term) -> int:
    """Run terms until one of them ends by itself.

    Args:
        options: for each term; they share the health server, the stop and the holder's name.
        term: runs one term.

    Returns:
        The exit code.

    Raises:
        ConfigError: raised by a term, or the health port cannot be used.
    """
    stop = options.stop or asyncio.Event()
    with served_health(options) as health:
        shared = replace(
            options,
            health=health,
            stop=stop,
            identity=options.identity or identity_of(socket.gethostname()),
        )
        while True:
            try:
                return await term(shared)
            except LeaseLost as error:
                logger.error("Stopped deciding: %s; standing by", error)  # noqa: TRY400  # one line
            gc.unfreeze()  # the leader had frozen its state
            with suppress(TimeoutError):
                async with asyncio.timeout(WRITE_SECONDS):
                    await stop.wait()
                    return 0
