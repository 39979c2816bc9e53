# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Health, metrics and pages, served by a separate thread: planning must not delay probes.

The thread runs an event loop: a slow client occupies one of a bounded number of connections, never
a thread. A TLS handshake counts towards its connection's time.
"""

import asyncio
import errno
import json
import logging
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, Final, Protocol, Self

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from enbloc.errors import ConfigError
from enbloc.telemetry.health import Health

#: The longest time for a handshake with its request, and for an answer, whatever the client sends
#: or does not read (seconds).
CLIENT_SECONDS: Final = 5.0
#: The most connections at once. One more ends the oldest one of the address with the most, so that
#: probes are answered whatever a single client does.
MOST_CONNECTIONS: Final = 256
#: The longest request, headers included (bytes).
_REQUEST_BYTES: Final = 16384
_TEXT: Final = "text/plain; charset=utf-8"
_JSON: Final = "application/json"
_METRICS: Final = "metrics"
#: How flags write "every address of the machine".
_EVERY: Final = ("", "0.0.0.0", "::")  # noqa: S104  # compared with, not listened on

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """A request, as far as access is concerned.

    Attributes:
        path: with its first slash.
        authorization: the header; "" = none was sent.
        certificate: the verified client certificate, as `ssl` shows it; empty = none.
    """

    path: str
    authorization: str = field(default="", repr=False)
    certificate: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class RequestRefusal:
    """Why a request is refused, as the fields of a Kubernetes Status."""

    code: int
    reason: str
    message: str

    def body(self) -> bytes:
        """The Status as JSON."""
        refused = self.code == HTTPStatus.UNAUTHORIZED
        details: dict[str, Any] = {} if refused else {"details": {}}
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **details,
            "code": self.code,
        }
        return json.dumps(status, indent=2).encode() + b"\n"


class Guard(Protocol):
    """Decides who may see what; entered and called in the server's loop."""

    async def refuse(self, asked: AccessRequest) -> RequestRefusal | None:
        """Why the request is refused, within a bounded time; None = let it in."""
        ...


class OpenToAll:
    """Lets everybody see everything."""

    async def refuse(self, asked: AccessRequest) -> RequestRefusal | None:
        """None: nothing is refused."""
        del asked
        return None


Guarding = AbstractAsyncContextManager[Guard]


class Server:
    """Serves /livez, /healthz, /readyz, /metrics and the pages; a context manager.

    Args:
        health: the checks and the pages.
        port: 0 for any free one.
        address: the address to listen on; 0.0.0.0 and :: mean all addresses of both families.
        tls: returns the TLS context for a new connection; None = plain HTTP.
        guard: decides who may see what; lives as long as the server.
        flag: the flag that sets the port, for messages.
        shared: whether other processes may listen on the same port.

    Raises:
        ConfigError: the port is in use, or the address is not one of this machine.
    """

    def __init__(
        self,
        health: Health,
        port: int,
        address: str = "127.0.0.1",
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        guard: Guarding | None = None,
        flag: str = "--health-port",
        shared: bool = False,
    ) -> None:
        self._health = health
        self._tls = tls
        self._guarding: Guarding = guard or nullcontext(OpenToAll())
        self._guard: Guard = OpenToAll()
        self._socket = listening(address, port, flag, shared=shared)
        # asyncio's own loop: this thread needs nothing of a faster main loop.
        self._loop = asyncio.SelectorEventLoop()
        self._loop.set_exception_handler(_quietly)
        self._stop = asyncio.Event()
        self._clients: dict[asyncio.Task[None], str] = {}
        self._thread = threading.Thread(target=self._run, name="server", daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._socket.getsockname()[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        """Serve until stopped; open requests then get no answer."""
        async with self._guarding as self._guard:
            server = await asyncio.start_server(
                self._connected, sock=self._socket, limit=_REQUEST_BYTES, backlog=MOST_CONNECTIONS
            )
            async with server:
                await self._stop.wait()
                server.close()
                for client in self._clients:
                    client.cancel()
                await asyncio.gather(*self._clients, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request on a connection, and close it."""
        if len(self._clients) >= MOST_CONNECTIONS:
            [(greediest, _)] = Counter(self._clients.values()).most_common(1)
            oldest = next(each for each, of in self._clients.items() if of == greediest)
            del self._clients[oldest]
            oldest.cancel()
        client = asyncio.current_task()
        assert client is not None
        peer = writer.get_extra_info("peername")  # None if the client is already gone
        self._clients[client] = peer[0] if peer else ""
        try:
            async with asyncio.timeout(CLIENT_SECONDS):
                if self._tls is not None:  # before anything is read
                    await writer.start_tls(self._tls())
                request = await reader.readuntil(b"\r\n\r\n")
            answer = await self._answer(request, writer)
            async with asyncio.timeout(CLIENT_SECONDS):
                writer.write(answer)
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client was slow, went away, or does not speak HTTP
        except asyncio.CancelledError:
            pass  # cancelled here: asyncio 3.11 reports a cancelled connection as a fault
        finally:
            writer.transport.abort()
            self._clients.pop(client, None)

    async def _answer(self, request: bytes, writer: asyncio.StreamWriter) -> bytes:
        """The answer to a request; for HEAD, that of GET without the body."""
        line, *lines = request.decode("latin-1").split("\r\n")
        method, _, rest = line.partition(" ")
        target, _, version = rest.partition(" ")
        if not version.startswith("HTTP/1."):
            return _encoded(400, b"this is no HTTP/1 request\n")
        if method not in ("GET", "HEAD"):
            return _encoded(405, b"use GET or HEAD\n", headers="Allow: GET, HEAD\r\n")
        path, _, query = target.partition("?")
        name, body = path.strip("/"), method == "GET"
        page = self._page(name, query)
        if page is None:
            return _encoded(404, self._known().encode(), with_body=body)
        asked = AccessRequest(f"/{name}", _authorization(lines), _certificate(writer))
        try:
            refusal = await self._guard.refuse(asked)
            if refusal is not None:
                return _encoded(refusal.code, refusal.body(), _JSON, with_body=body)
            code, content, text = page()
        except Exception:  # a bug must not close the connection without an answer
            logger.exception("Failed to serve %s", path)
            return _encoded(500, b"failed; see the log\n", with_body=body)
        return _encoded(code, text, content, with_body=body)

    def _page(self, name: str, query: str) -> Callable[[], tuple[int, str, bytes]] | None:
        """The function that makes status, type and body of a page; None = no page has that name."""
        if name == _METRICS:
            return lambda: (200, CONTENT_TYPE_LATEST, generate_latest())
        shown = self._health.pages.get(name)
        if shown is not None:
            return lambda: (200, *_shown(shown()))
        report = self._health.report(name, query)
        return None if report is None else lambda: (report[0], _TEXT, report[1].encode())

    def _known(self) -> str:
        pages = ("livez", "healthz", "readyz", _METRICS, *self._health.pages)
        *most, last = (f"/{name}" for name in pages)
        return f"not found; served are {', '.join(most)} and {last}\n"


def listening(
    address: str, port: int, flag: str, *, shared: bool = False, zero: str = "none"
) -> socket.socket:
    """A listening socket.

    Args:
        address: the address; 0.0.0.0 and :: mean all addresses of both families.
        port: 0 for any free one.
        flag: the flag that sets the port, for messages.
        shared: whether other processes may listen on the same port.
        zero: what port 0 means in that flag.

    Raises:
        ConfigError: the address or the port cannot be used.
    """
    every = address in _EVERY
    dual = every and socket.has_dualstack_ipv6()
    host = "::" if dual else "0.0.0.0" if every else address  # noqa: S104  # as it was asked for
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server(
            (host, port), family=family, dualstack_ipv6=dual, reuse_port=shared
        )
    except OSError as error:
        name = f"[{address}]" if ":" in address else address
        if error.errno == errno.EADDRINUSE:
            fix = f"choose another port with {flag}, or 0 for {zero}"
        else:
            fix = "choose an address of this machine with --bind-address"
        why = error.strerror or str(error)
        raise ConfigError(f"{flag}: cannot listen on {name}:{port}: {why}; {fix}") from error
    # Connections inherit it. asyncio does not set it here, and handshakes would wait for ACKs.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _quietly(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log errors of connections only at debug level, because clients can cause them."""
    del loop
    logger.debug("Serving: %s", context.get("message"))


def _authorization(lines: list[str]) -> str:
    for line in lines:
        name, _, value = line.partition(":")
        if name.lower() == "authorization":
            return value.strip()
    return ""


def _certificate(writer: asyncio.StreamWriter) -> Mapping[str, Any]:
    found: Mapping[str, Any] | None = writer.get_extra_info("peercert")
    return found or {}


def _shown(text: str) -> tuple[str, bytes]:
    """The content type and body of a page."""
    return (_JSON if text.startswith("{") else _TEXT), text.encode()


def _encoded(
    code: int, body: bytes, content: str = _TEXT, *, headers: str = "", with_body: bool = True
) -> bytes:
    """An HTTP answer; its headers show no versions."""
    head = (
        f"HTTP/1.1 {code} {HTTPStatus(code).phrase}\r\n"
        f"Date: {formatdate(usegmt=True)}\r\n"
        "Server: enbloc\r\n"
        f"Content-Type: {content}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n"
        f"{headers}\r\n"
    )
    return head.encode("latin-1") + (body if with_body else b"")
