# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy before an API server that may delay, drop, double or forge what passes it.

It reads what it forwards, which `Wire` cannot, and so it also knows what a client asked for and
what it was told. Clients speak plain HTTP to it and must bring a token, not a certificate.
"""

import asyncio
import contextlib
import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from aiohttp import web
from yarl import URL

from enbloc.kube.cluster_access import load

HOST: Final = "127.0.0.1"
#: How long requests under way may take at the end (seconds).
GOODBYE: Final = 0.1
#: What belongs to one connection, or is set anew by whoever sends the body on.
_OWN: Final = frozenset(
    {"connection", "content-length", "host", "keep-alive", "transfer-encoding", "upgrade"}
)


@dataclass(frozen=True)
class Meddling:
    """What happens to one request; by default it is passed on, and so is its answer.

    Attributes:
        before: seconds that it is held before it is sent on.
        sends: how often it is sent on; the client gets the last answer.
        after: seconds that the answer is held.
        drop: the client's connection is reset instead of an answer.
        late: seconds after the reset at which the request is sent on all the same; None: not.
        forge: a status that the client is told instead of the answer.
    """

    before: float = 0.0
    sends: int = 1
    after: float = 0.0
    drop: bool = False
    late: float | None = None
    forge: int | None = None


@dataclass(frozen=True)
class Asked:
    """One request of a client and what it was told: 0 for a reset."""

    method: str
    path: str
    status: int


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


#: Looks at a method and a path, and says what to do.
Policy = Callable[[str, str], Meddling]


def is_binding(method: str, path: str) -> bool:
    """Whether a request is a Binding."""
    return method == "POST" and path.endswith("/binding")


def evicts(asked: Asked) -> bool:
    """Whether a request deletes or evicts pods."""
    parts = asked.path.split("/")
    of_pods = "pods" in parts
    return of_pods and (asked.method == "DELETE" or asked.path.endswith("/eviction"))


class Meddler:
    """The proxy, as long as its context lasts.

    Args:
        kubeconfig: leads to the API server.
        through: where to write a copy of it that leads through this proxy.
        policy: what to do with each request that is no watch; may be set anew at any time.
    """

    def __init__(
        self, kubeconfig: Path, through: Path, policy: Policy = lambda *_: Meddling()
    ) -> None:
        self.policy = policy
        self.through = through
        #: Seconds by which the server's clock seems to be ahead of its own.
        self.ahead = 0.0
        #: Seconds by which what a watch shows comes late.
        self.lag = 0.0
        #: Every answered request, in the order of the answers; watches when they begin.
        self.asked: list[Asked] = []
        self._kubeconfig = kubeconfig
        self._under_way: set[asyncio.Task[Any]] = set()
        self._exits = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        cluster = await load(self._kubeconfig)
        self._server = cluster.server
        connector = aiohttp.TCPConnector(limit=0, ssl=cluster.ssl_context() or True)
        self._session = await self._exits.enter_async_context(
            aiohttp.ClientSession(
                connector=connector,
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            )
        )
        runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=GOODBYE)
        await runner.setup()
        self._exits.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, HOST, 0)
        await site.start()
        self._write(f"http://{HOST}:{runner.addresses[0][1]}")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self._exits.aclose()

    def count(self, wanted: Callable[[Asked], bool]) -> int:
        """How many requests this holds for."""
        return sum(map(wanted, self.asked))

    def _write(self, here: str) -> None:
        text = self._kubeconfig.read_text(encoding="utf-8")
        assert self._server in text, f"{self._kubeconfig} does not lead to {self._server}"
        self.through.write_text(text.replace(self._server, here), encoding="utf-8")

    # ── one request ──────────────────────────────────────────────────────────────────────────

    def _track(self, task: asyncio.Task[Any] | None) -> None:
        assert task is not None
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._track(asyncio.current_task())
        if request.query.get("watch") == "true":
            return await self._watch(request)
        body = await request.read()
        what = self.policy(request.method, request.path)
        await asyncio.sleep(what.before)
        answer = _Answer(502, {}, b"")
        for _ in range(what.sends):
            answer = await self._send(request, body)
        await asyncio.sleep(what.after)
        if what.late is not None:
            task = asyncio.create_task(self._send_late(request, body, what.late))
            self._track(task)
        if what.drop:
            self._note(request, 0)
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=502)
        status = what.forge or answer.status
        self._note(request, status)
        if what.forge:
            return web.Response(status=status, text="the proxy made this up")
        return web.Response(status=status, headers=answer.headers, body=answer.body)

    async def _send_late(self, request: web.BaseRequest, body: bytes, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._send(request, body)

    async def _send(self, request: web.BaseRequest, body: bytes) -> _Answer:
        async with self._session.request(
            request.method, self._url(request), data=body or None, headers=_kept(request.headers)
        ) as answer:
            return _Answer(answer.status, self._headers(answer), await answer.read())

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        async with self._session.get(self._url(request), headers=_kept(request.headers)) as answer:
            self._note(request, answer.status)
            stream = web.StreamResponse(status=answer.status, headers=self._headers(answer))
            await stream.prepare(request)
            with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                async for piece in answer.content.iter_any():
                    await asyncio.sleep(self.lag)
                    await stream.write(piece)
                await stream.write_eof()
            return stream

    def _url(self, request: web.BaseRequest) -> URL:
        return URL(self._server + request.raw_path, encoded=True)

    def _note(self, request: web.BaseRequest, status: int) -> None:
        self.asked.append(Asked(request.method, request.path, status))

    def _headers(self, answer: aiohttp.ClientResponse) -> dict[str, str]:
        kept = _kept(answer.headers)
        if self.ahead and (said := kept.get("Date")):
            then = parsedate_to_datetime(said) + dt.timedelta(seconds=self.ahead)
            kept["Date"] = format_datetime(then, usegmt=True)
        return kept


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in headers.items() if name.lower() not in _OWN}
