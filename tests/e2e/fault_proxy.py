# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An HTTPS proxy before an API server that delays, loses, doubles or forges what passes it.

::

    client ──TLS──► FaultProxy ──► API server
                      │ a request: policy(method, path) says which Fault it suffers
                      └ a watch:   watch_policy(path) says which WatchFault its stream suffers

Clients trust a certificate authority of the proxy's own, and must bring a token: a certificate of
theirs would end here.
"""

import asyncio
import base64
import contextlib
import datetime as dt
import json
import socket
import ssl
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import format_datetime, parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

from enbloc.client.cluster_access import load
from tests.hack.certificates import Authority

HOST: Final = "127.0.0.1"
#: How long requests under way may take at the end (seconds).
GOODBYE: Final = 0.1
#: How many earlier answers are kept, to be repeated.
KEPT: Final = 200
#: What belongs to one connection, or is set anew by whoever sends the body on.
_OWN: Final = frozenset(
    {"connection", "content-length", "host", "keep-alive", "transfer-encoding", "upgrade"}
)
#: With these, closing a socket resets its connection.
_RESET: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Fault:
    """What happens to one request; by default it is passed on, and so is its answer.

    Attributes:
        before: seconds that it is held before it is sent on.
        sends: how often it is sent on; the client gets the last answer.
        after: seconds that the answer is held.
        drop: the client's connection is reset instead of an answer.
        late: seconds after the reset at which the request is sent on all the same; None: not.
        forge: a status that the client is told instead of the answer.
        retry_after: the header of that name in a forged answer.
        body: what the client gets as the body instead of the answer's.
        cut: the share of the body after which the client's connection is reset; None: not.
        stale: the answer that the same request got the last time is given again, if there is one
            and the request does not ask for a newer one.
        name: under which it is counted; "" = it is not.
    """

    before: float = 0.0
    sends: int = 1
    after: float = 0.0
    drop: bool = False
    late: float | None = None
    forge: int | None = None
    retry_after: str = ""
    body: bytes | None = None
    cut: float | None = None
    stale: bool = False
    name: str = ""


@dataclass(frozen=True)
class WatchFault:
    """What happens to one watch; by default its stream is passed on.

    Attributes:
        refuse: a status instead of the stream.
        lag: seconds by which each piece of the stream comes late.
        doubled: each event comes so often.
        lines: after how many events the stream ends as `end` says.
        end: "" = as the server ends it; "close" = well, "reset"; "cut" = reset in the middle of
            an event; "gone" = with an ERROR event of code 410; "garbage" = with `line`;
            "silence" = it stays open for `seconds` and says nothing more, then is reset.
        seconds: see there.
        line: see there.
        name: under which it is counted; "" = it is not.
    """

    refuse: int | None = None
    lag: float = 0.0
    doubled: int = 1
    lines: int = 0
    end: Literal["", "close", "reset", "cut", "gone", "garbage", "silence"] = ""
    seconds: float = 0.0
    line: bytes = b'<html>\xff{"type":'
    name: str = ""


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


@dataclass
class _Gate:
    """Holds requests of a kind, all but the first ones."""

    of: Callable[[str, str], bool]
    left: int
    held: int = 0
    _waits: asyncio.Event = field(default_factory=asyncio.Event)

    def let_go(self) -> None:
        """Hold those no longer that are held now."""
        self._waits.set()
        self._waits = asyncio.Event()

    async def passed(self, request: web.BaseRequest) -> bool:
        """Wait until a request may be sent on; false if its client has gone meanwhile."""
        if not self.of(request.method, request.path):
            return True
        if self.left:
            self.left -= 1
            return True
        self.held += 1
        try:
            await self._waits.wait()
        finally:
            self.held -= 1
        return request.transport is not None and not request.transport.is_closing()


#: Looks at a method and a path, and says what to do.
Policy = Callable[[str, str], Fault]
#: Looks at the path of a watch, and says what to do.
WatchPolicy = Callable[[str], WatchFault]


def is_binding(method: str, path: str) -> bool:
    """Whether a request is a Binding."""
    return method == "POST" and path.endswith("/binding")


def is_eviction(method: str, path: str) -> bool:
    """Whether a request deletes or evicts pods."""
    return "pods" in path.split("/") and (method == "DELETE" or path.endswith("/eviction"))


def evicts(asked: Asked) -> bool:
    """Whether this one does."""
    return is_eviction(asked.method, asked.path)


class FaultProxy:
    """The proxy, as long as its context lasts.

    Args:
        kubeconfig: leads to the API server.
        through: where to write a copy of it that leads through this proxy.
        policy: what to do with each request that is no watch; may be set anew at any time.
        watch_policy: what to do with each watch; may be set anew as well.
    """

    def __init__(
        self,
        kubeconfig: Path,
        through: Path,
        policy: Policy = lambda *_: Fault(),
        watch_policy: WatchPolicy = lambda _: WatchFault(),
    ) -> None:
        self.policy = policy
        self.watch_policy = watch_policy
        self.through = through
        #: Seconds by which the server's clock seems to be ahead of its own.
        self.ahead = 0.0
        #: Seconds by which what any watch shows comes late.
        self.lag = 0.0
        #: Every answered request, in the order of the answers; watches when they begin.
        self.asked: list[Asked] = []
        #: How often a fault of each name has happened.
        self.happened: Counter[str] = Counter()
        self._kubeconfig = kubeconfig
        self._answers = asyncio.Event()
        self._answers.set()
        self._gate = _Gate(lambda *_: False, 0)
        self._earlier: OrderedDict[str, _Answer] = OrderedDict()
        self._clients: set[asyncio.Transport] = set()
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
        directory = self.through.with_suffix(".tls")
        directory.mkdir()
        authority = Authority(directory)
        pair = authority.server("proxy", [HOST])
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(pair.certificate, pair.key)
        runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=GOODBYE)
        await runner.setup()
        self._exits.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, HOST, 0, ssl_context=tls)
        await site.start()
        #: Where clients connect to.
        self.url = f"https://{HOST}:{runner.addresses[0][1]}"
        self._write(authority.pair.certificate)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self._exits.aclose()

    def count(self, wanted: Callable[[Asked], bool]) -> int:
        """How many requests this holds for."""
        return sum(map(wanted, self.asked))

    def hold(self, after: int, of: Callable[[str, str], bool] = is_binding) -> None:
        """Pass so many more of these requests on; the others wait until `release` or `cut`.

        Those that wait have not been sent: the API server does not know of them.

        Args:
            after: how many pass.
            of: whether a request (method, path) is one of them.
        """
        self.release()
        self._gate = _Gate(of, after)

    def release(self) -> None:
        """Send on what `hold` holds, unless its client has gone, and hold nothing more."""
        gate, self._gate = self._gate, _Gate(lambda *_: False, 0)
        gate.let_go()

    @property
    def held(self) -> int:
        """How many requests wait for `release`."""
        return self._gate.held

    def hold_answers(self) -> None:
        """Requests arrive from now on, their answers do not; nor does anything of a watch."""
        self._answers.clear()

    def cut(self) -> None:
        """Reset all connections; answers that are held are lost. New ones work."""
        for transport in self._clients:
            _reset(transport)
        self._clients.clear()
        self._answers.set()
        self._gate.let_go()

    def _write(self, authority: Path) -> None:
        """The same kubeconfig, but for where its clusters are and how they are known."""
        document = yaml.safe_load(self._kubeconfig.read_text(encoding="utf-8"))
        trusted = base64.b64encode(authority.read_bytes()).decode()
        for each in document["clusters"]:
            assert each["cluster"]["server"].rstrip("/") == self._server, self._kubeconfig
            each["cluster"] = {"server": self.url, "certificate-authority-data": trusted}
        self.through.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML

    # ── one request ──────────────────────────────────────────────────────────────────────────

    def _track(self, task: asyncio.Task[Any] | None) -> None:
        assert task is not None
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._track(asyncio.current_task())
        self._clients = {each for each in self._clients if not each.is_closing()}
        if request.transport is not None:
            self._clients.add(request.transport)
        try:
            if request.query.get("watch") in {"true", "1"}:
                return await self._watch(request)
            return await self._answer(request)
        except (aiohttp.ClientError, OSError):  # the server or the client has gone
            return self._reset(request)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        fault = self.policy(request.method, request.path)
        earlier = self._repeatable(request) if fault.stale else None
        if fault.name and (earlier or not fault.stale):
            self.happened[fault.name] += 1
        await asyncio.sleep(fault.before)
        if not await self._gate.passed(request):
            return self._reset(request)
        answer = earlier or _Answer(502, {}, b"")
        for _ in range(0 if earlier else fault.sends):
            answer = await self._send(request, body)
        await asyncio.sleep(fault.after)
        await self._answers.wait()
        if fault.late is not None:
            self._track(asyncio.create_task(self._send_late(request, body, fault.late)))
        if fault.drop:
            return self._reset(request)
        if fault.forge:
            answer = _forged(fault.forge, fault.retry_after)
        if fault.body is not None:
            answer = _Answer(answer.status, answer.headers, fault.body)
        if fault.cut is not None:
            return await self._cut_short(request, answer, fault.cut)
        self._note(request, answer.status)
        return web.Response(status=answer.status, headers=answer.headers, body=answer.body)

    async def _cut_short(
        self, request: web.BaseRequest, answer: _Answer, share: float
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        response.content_length = len(answer.body)
        await response.prepare(request)
        await response.write(answer.body[: int(len(answer.body) * share)])
        return self._reset(request)

    def _reset(self, request: web.BaseRequest) -> web.StreamResponse:
        self._note(request, 0)
        if request.transport is not None:
            _reset(request.transport)
        return web.Response(status=502)  # nobody gets it

    async def _send_late(self, request: web.BaseRequest, body: bytes, seconds: float) -> None:
        await asyncio.sleep(seconds)
        with contextlib.suppress(aiohttp.ClientError, OSError):
            await self._send(request, body)

    async def _send(self, request: web.BaseRequest, body: bytes) -> _Answer:
        async with self._session.request(
            request.method, self._url(request), data=body or None, headers=_kept(request.headers)
        ) as answer:
            found = _Answer(answer.status, self._headers(answer), await answer.read())
        if request.method == "GET" and found.status == HTTPStatus.OK:
            self._earlier[_question(request)] = found
            self._earlier.move_to_end(_question(request))
            if len(self._earlier) > KEPT:
                self._earlier.popitem(last=False)
        return found

    def _repeatable(self, request: web.BaseRequest) -> _Answer | None:
        """The earlier answer to the same question, unless a newer one is asked for."""
        earlier = self._earlier.get(_question(request)) if request.method == "GET" else None
        if earlier is None or earlier.headers.get("Content-Encoding"):
            return None
        wanted = int(request.query.get("resourceVersion") or 0)
        meta = json.loads(earlier.body).get("metadata") or {}
        return earlier if int(meta.get("resourceVersion") or 0) >= wanted else None

    # ── one watch ────────────────────────────────────────────────────────────────────────────

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        fault = self.watch_policy(request.path)
        if fault.refuse:
            self.happened[fault.name] += bool(fault.name)
            refusal = _forged(fault.refuse)
            self._note(request, refusal.status)
            return web.Response(status=refusal.status, headers=refusal.headers, body=refusal.body)
        async with self._session.get(self._url(request), headers=_kept(request.headers)) as answer:
            self._note(request, answer.status)
            stream = web.StreamResponse(status=answer.status, headers=self._headers(answer))
            await stream.prepare(request)
            with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                if answer.status == HTTPStatus.OK and (fault.end or fault.doubled > 1):
                    if fault.doubled > 1:
                        self.happened[fault.name] += bool(fault.name)
                    if await self._events(request, answer, stream, fault):
                        return stream
                else:
                    async for piece in answer.content.iter_any():
                        await self._pass_on(stream, piece, fault.lag)
                await stream.write_eof()
            return stream

    async def _events(
        self,
        request: web.BaseRequest,
        answer: aiohttp.ClientResponse,
        stream: web.StreamResponse,
        fault: WatchFault,
    ) -> bool:
        """Pass a stream on event by event; whether the client's connection has been reset."""
        left, rest = fault.lines, b""
        async for piece in answer.content.iter_any():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if fault.end and not left:
                    self.happened[fault.name] += bool(fault.name)
                    return await self._end(request, stream, fault, line)
                left -= 1
                await self._pass_on(stream, (line + b"\n") * fault.doubled, fault.lag)
        return False

    async def _end(
        self, request: web.BaseRequest, stream: web.StreamResponse, fault: WatchFault, line: bytes
    ) -> bool:
        match fault.end:
            case "gone":
                status = json.loads(_forged(HTTPStatus.GONE).body)
                await stream.write(json.dumps({"type": "ERROR", "object": status}).encode() + b"\n")
                return False
            case "garbage":
                await stream.write(fault.line + b"\n")
                return False
            case "cut":
                await stream.write(line[: len(line) // 2])
            case "silence":
                await asyncio.sleep(fault.seconds)
            case _:
                pass
        if fault.end != "close":
            self._reset(request)
        return fault.end != "close"

    async def _pass_on(self, stream: web.StreamResponse, piece: bytes, lag: float) -> None:
        await asyncio.sleep(self.lag + lag)
        await self._answers.wait()
        await stream.write(piece)

    # ── both ─────────────────────────────────────────────────────────────────────────────────

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


def _question(request: web.BaseRequest) -> str:
    """What is asked for, however new it has to be."""
    asked = {key: text for key, text in request.query.items() if key != "resourceVersion"}
    return str(URL.build(path=request.path, query=asked))


def _forged(status: int, retry_after: str = "") -> _Answer:
    """An answer as an API server gives it."""
    reasons = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError"}
    document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the proxy made this up",
        "reason": reasons.get(status, HTTPStatus(status).phrase.replace(" ", "")),
        "code": status,
    }
    more = {"Retry-After": retry_after} if retry_after else {}
    headers = {"Content-Type": "application/json", **more}
    return _Answer(status, headers, json.dumps(document).encode())


def _reset(transport: asyncio.Transport) -> None:
    """End a connection by RST, not by a goodbye."""
    if transport.is_closing():
        return
    line = transport.get_extra_info("socket")
    if line is not None:
        with contextlib.suppress(OSError):
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()
