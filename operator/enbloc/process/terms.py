# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Terms of leadership, one after another in one process.

::

    term: follow the cluster ──► hold the Lease, decide ──► stopped: the process ends
      ▲                                 │ LeaseLost
      │                                 ▼
      └── what was sent has landed ◄── all of the term is given up

A term that loses its Lease has decided by what may be outdated, so nothing of it is kept but its
identity: whoever still holds the Lease by that name may take it at once, for its own writes are
the only ones under way. All others wait until the Lease is over by their own clock.
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
        options: for each; they share the health server, the stop and the holder's name.
        term: runs one.

    Returns:
        The exit code.

    Raises:
        ConfigError: as a term does, or the health port cannot be had.
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
            gc.unfreeze()  # a leader froze what it knew
            with suppress(TimeoutError):
                async with asyncio.timeout(WRITE_SECONDS):
                    await stop.wait()
                    return 0
