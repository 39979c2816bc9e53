# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The process behind the page: follows the cluster and answers browsers until it is stopped."""

import asyncio
import logging
from collections.abc import Callable

from enbloc.client.client import Client
from enbloc.client.clock import MACHINE, TimeSource
from enbloc.client.config import Cluster
from enbloc.client.items import Timing
from enbloc.client.permissions import VIEWING
from enbloc.config import Configuration
from enbloc.process.copies import AVAILABLE
from enbloc.process.forks import ForkedWorker
from enbloc.process.workers import ThreadWorker, Worker
from enbloc.ui.access import Access, OpenAccess, ReviewedAccess
from enbloc.ui.facts import Facts
from enbloc.ui.server import Address, Site, served
from enbloc.ui.state import Keeper

logger = logging.getLogger(__name__)


def started() -> Worker[Facts]:
    """Start the worker that computes pages; call it before there are threads or connections.

    Raises:
        EnblocError: the process cannot be started.
    """
    return ForkedWorker.start(Facts()) if AVAILABLE else ThreadWorker(Facts())


async def serve_ui(  # what flags say, and what tests replace
    cluster: Cluster,
    configuration: Configuration,
    address: Address,
    stop: asyncio.Event,
    worker: Worker[Facts],
    *,
    serving: Callable[[str], None],
    clock: TimeSource = MACHINE,
    timing: Timing | None = None,
) -> int:
    """Serve the page until stopped.

    Args:
        cluster: the cluster to show.
        configuration: of its scheduler.
        address: where to serve the page.
        stop: ends the server once set.
        worker: see `started`.
        serving: called with the URL once the page is served.
        clock: the source of time.
        timing: the waits of the reflectors.

    Returns:
        0 after `stop`; 1 after a failure.

    Raises:
        ConfigError: the address, the port or the certificate cannot be used.
    """

    async def find() -> Cluster:
        return cluster

    access: Access = OpenAccess() if address.local else ReviewedAccess(find, clock.local)
    async with Client(cluster, component="ui", rules=VIEWING, clock=clock) as client:
        keeper = Keeper(client, configuration, worker, timing)
        site = Site(keeper, access, local=address.local)
        async with served(site, address) as url:
            serving(url)
            following = asyncio.create_task(keeper.run())
            stopping = asyncio.create_task(stop.wait())
            try:
                await asyncio.wait({following, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if following.done():
                    logger.error("Cannot go on", exc_info=following.exception())
                    return 1
                return 0
            finally:
                following.cancel()
                stopping.cancel()
                await asyncio.wait({following, stopping})
                await keeper.close()
                await access.close()
