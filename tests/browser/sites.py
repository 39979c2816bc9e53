# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Sites for a browser: an API server with a recorded cluster, and the page that shows it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from enbloc.client.client import Client
from enbloc.client.clock import TimeSource
from enbloc.client.config import Cluster
from enbloc.config import default_configuration
from enbloc.process.workers import ThreadWorker
from enbloc.ui import Address, serve_ui
from enbloc.ui.facts import Facts
from enbloc_sandbox import Sandbox
from tests.browser.cluster import NOW, Clock, Recording
from tests.e2e.processes import Server
from tests.hack.processes import free_port
from tests.patience import PATIENCE

#: The queue says so once it is known when who waits starts.
_STARTS: Final = "Start, if nobody new comes"


@dataclass
class Served:
    """A site.

    Attributes:
        url: where it is.
        recording: adds to what it shows.
    """

    url: str
    recording: Recording


@asynccontextmanager
async def recorded(*, runs: bool) -> AsyncGenerator[tuple[Sandbox, Recording]]:
    """An API server with the recorded cluster, whose time goes on or stands."""
    clock = Clock(runs=runs)
    async with (
        Sandbox(clock=clock) as sandbox,
        Client(Cluster(sandbox.url), component="test") as client,
    ):
        recording = Recording(client, clock)
        await recording.cluster()
        yield sandbox, recording


@asynccontextmanager
async def process(sandbox: Sandbox, path: Path) -> AsyncGenerator[str]:
    """`enbloc ui` as users start it; its URL."""
    kubeconfig, port = path / "kubeconfig", free_port()
    sandbox.write_kubeconfig(kubeconfig)
    server = Server("ui", [f"--kubeconfig={kubeconfig}", f"--port={port}"], path / "ui.log")
    server.start()
    url = f"http://127.0.0.1:{port}"
    try:
        await _ready(url, server)
        yield url
        server.must_run()
    finally:
        server.stop()
        print(server.tail())


@asynccontextmanager
async def standing(sandbox: Sandbox) -> AsyncGenerator[str]:
    """The same in this process, with a clock that stands: it shows the same each time."""
    stop, urls, worker = asyncio.Event(), asyncio.Queue[str](), ThreadWorker(Facts())
    serving = asyncio.create_task(
        serve_ui(
            Cluster(sandbox.url),
            default_configuration(),
            Address(port=0),
            stop,
            worker,
            serving=urls.put_nowait,
            clock=TimeSource(local=lambda: 0.0, wall=lambda: NOW),
        )
    )
    try:
        url = await urls.get()
        await _ready(url)
        yield url
    finally:
        stop.set()
        with closing(worker):
            async with asyncio.timeout(PATIENCE):
                assert await serving == 0


async def _ready(url: str, server: Server | None = None) -> None:
    """Return once a site shows the cluster, with when who waits starts."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE):
        while True:
            if server is not None:
                server.must_run()
            try:
                async with session.get(url) as response:
                    if response.status == 200 and _STARTS in await response.text():
                        return
            except aiohttp.ClientConnectionError:
                pass
            await asyncio.sleep(0.1)
