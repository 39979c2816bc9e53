# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A TCP line between a client and its API server, which can be slow, stuck, or cut."""

import asyncio
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

HOST = "127.0.0.1"
CHUNK = 2**16


class Wire:
    """Forwards bytes as they are (TLS included), so only their times can be changed.

    Args:
        url: of the API server.
    """

    def __init__(self, url: str) -> None:
        self._there = urlsplit(url)
        #: Seconds by which each piece of an answer comes late.
        self.delay = 0.0
        self._answers = asyncio.Event()
        self._answers.set()
        self._ends: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, HOST, 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        self.cut()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    @property
    def url(self) -> str:
        """Where clients connect to; the server's certificate is for this address as well."""
        return f"{self._there.scheme}://{HOST}:{self._server.sockets[0].getsockname()[1]}"

    def kubeconfig(self, of: Path, to: Path) -> Path:
        """A copy of a kubeconfig that leads through this line."""
        direct = self._there.geturl()
        text = of.read_text(encoding="utf-8")
        assert direct in text, f"{of} does not lead to {direct}"
        to.write_text(text.replace(direct, self.url), encoding="utf-8")
        return to

    def hold_answers(self) -> None:
        """Requests arrive from now on, their answers do not."""
        self._answers.clear()

    def cut(self) -> None:
        """Reset all connections; answers that are held are lost. New ones work."""
        for end in self._ends:
            end.transport.abort()
        self._answers.set()

    async def _connected(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            answers, server = await asyncio.open_connection(self._there.hostname, self._there.port)
            self._ends |= {client, server}
            pumps = [
                asyncio.create_task(self._pump(reader, server, answers=False)),
                asyncio.create_task(self._pump(answers, client, answers=True)),
            ]
            self._pumps.update(pumps)
            # Keep-alive: no side is closed for writing alone, so the first end ends both.
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            self._ends -= {client, server}
            server.transport.abort()
        client.transport.abort()

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        with suppress(OSError):
            while piece := await source.read(CHUNK):
                if answers:
                    await asyncio.sleep(self.delay)
                    await self._answers.wait()
                sink.write(piece)
                await sink.drain()
