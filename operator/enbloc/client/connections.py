# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: N818  # errors are named for what has happened
"""Keep-alive HTTP/1.1 connections for requests given as bytes, with short answers.

A write costs a fifth of what it costs through a general client. httptools parses the answers, and
every deviation from HTTP/1.1 is an error: nothing guesses the outcome of a write.
"""

import asyncio
import math
import select
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import aiohappyeyeballs
import httptools
from yarl import URL

#: A connection is closed after this long without traffic (seconds): a load balancer on the way may
#: have dropped it silently.
IDLE_SECONDS: Final = 15.0
#: The longest head of an answer, including any 1xx before it (bytes).
HEAD_BYTES: Final = 2**16
#: The pause before the next address of a host is tried in parallel (RFC 8305, seconds).
NEXT_ADDRESS_SECONDS: Final = 0.25
#: The headers that are kept: the name in lower case, and the name in the result.
_READ: Final = {b"date": "Date", b"retry-after": "Retry-After"}
_FRAMING: Final = (b"content-length", b"transfer-encoding")
#: The most bytes on the wire for each byte of a body: it may come in chunks of one byte, with
#: trailers.
_PER_BYTE: Final = 8


class HttpAnswer(NamedTuple):
    """The answer to one request.

    Attributes:
        status: the HTTP status.
        headers: Date and Retry-After, if they were sent.
        body: the whole body, or its beginning.
        cut: whether the body is longer than the limit.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool = False


class NotConnected(OSError):
    """The connection could not be made: nothing was sent."""


class Broken(OSError):
    """The connection ended before the answer did, or the answer is not HTTP/1.1."""


class Connections:
    """A pool of connections to one server; each carries one request at a time.

    Args:
        server: the base URL, without credentials and not behind a proxy.
        server_name: the name expected in the server's certificate, if not the URL's host.
        limit: the most connections at once.
    """

    def __init__(self, server: URL, server_name: str | None, limit: int) -> None:
        self._server = server
        self._host = (server.raw_host or "").rstrip(".")
        self._server_name = server_name or self._host
        self._slots = asyncio.Semaphore(limit)
        self._idle: list[_Connection] = []
        self._tls: ssl.SSLContext | None = None
        self._closed = False
        self._sweeping: asyncio.TimerHandle | None = None

    def renew(self, tls: ssl.SSLContext | None) -> None:
        """Use this TLS context for new connections; None = without TLS."""
        self._tls = tls
        self._drop_idle()

    def close(self) -> None:
        """Close idle connections now, and the others when their request ends."""
        self._closed = True
        self._drop_idle()
        if self._sweeping is not None:
            self._sweeping.cancel()

    async def ask(
        self,
        request: bytes,
        *,
        limits: tuple[int, int],
        repeatable: bool,
        total: float | None = None,
        connect: float | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> HttpAnswer:
        """Send one request and read its answer.

        Args:
            request: head and body.
            limits: the longest body to read of a success, and of any other answer (bytes).
            repeatable: whether to send it again if a connection that had been idle breaks at once.
            total: the longest time for the whole exchange, seconds; None = no limit.
            connect: the longest time to connect, seconds; None = no separate limit.
            check: raises if the request may not be sent now; called again after each wait.

        Raises:
            NotConnected: nothing was sent.
            OSError: the connection broke, or time was up; the request may have been processed.
        """
        sent = False
        try:
            async with asyncio.timeout(total):
                waited = self._slots.locked()
                async with self._slots:  # first come, first served
                    if waited:
                        check()
                    connection = self._take() or await self._connected(connect, check)
                    sent = True
                    try:
                        return await connection.ask(request, limits)
                    except OSError as error:
                        if not repeatable or not connection.fell_idle or connection.heard:
                            raise
                        lost = error
                    finally:
                        self._give_back(connection)
                    try:
                        connection = await self._connected(connect, check)
                    except Exception:  # noqa: BLE001  # in any case the first may have arrived
                        raise lost from None
                    try:
                        return await connection.ask(request, limits)
                    finally:
                        self._give_back(connection)
        except TimeoutError as error:
            if sent:
                raise
            raise NotConnected("timed out before there was a connection for it") from error

    def _take(self) -> "_Connection | None":
        """The most recently used idle connection, which is the least likely to be broken."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable():
                return connection
            connection.abort()
        return None

    def _give_back(self, connection: "_Connection") -> None:
        if self._closed or not connection.may_be_kept():
            connection.abort()
            return
        self._idle.append(connection)
        if self._sweeping is None:
            loop = asyncio.get_running_loop()
            self._sweeping = loop.call_later(IDLE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Close connections that are idle for too long; repeat while any is idle."""
        kept = [each for each in self._idle if each.usable()]
        for connection in set(self._idle).difference(kept):
            connection.abort()
        self._idle = kept
        loop = asyncio.get_running_loop()
        self._sweeping = loop.call_later(IDLE_SECONDS, self._sweep) if kept else None

    def _drop_idle(self) -> None:
        for connection in self._idle:
            connection.abort()
        self._idle.clear()

    async def _connected(self, seconds: float | None, check: Callable[[], None]) -> "_Connection":
        """A new connection, once `check` has allowed the request again."""
        connection = await self._made(seconds)
        try:
            check()
        except BaseException:
            connection.abort()
            raise
        return connection

    async def _made(self, seconds: float | None) -> "_Connection":
        if self._closed:
            raise NotConnected("the client is closed")
        timeout = asyncio.timeout(seconds)
        try:
            async with timeout:
                return await self._connect()
        except TimeoutError as error:
            if timeout.expired():
                raise self._failed("timed out") from error
            raise self._failed(error.strerror or "timed out") from error  # the system's own
        except ssl.CertificateError as error:
            raise self._failed(f"{type(error).__name__}: {error.args}") from error
        except OSError as error:
            raise self._failed(error.strerror or str(error)) from error
        except (ValueError, TypeError) as error:  # an invalid name of host or certificate
            raise self._failed(f"the server's name cannot be used: {error}") from error

    async def _connect(self) -> "_Connection":
        loop, server = asyncio.get_running_loop(), self._server
        addresses = await loop.getaddrinfo(self._host, server.port, type=socket.SOCK_STREAM)
        made = await aiohappyeyeballs.start_connection(
            addresses,
            happy_eyeballs_delay=NEXT_ADDRESS_SECONDS,
            interleave=1,
            loop=loop,
            socket_factory=keep_alive_socket,
        )
        name = self._server_name if self._tls is not None else None
        _, connection = await loop.create_connection(
            _Connection, sock=made, ssl=self._tls, server_hostname=name
        )
        return connection

    def _failed(self, why: str) -> NotConnected:
        """An error worded as aiohttp words it, so that one outage is one problem."""
        where = f"{self._host}:{self._server.port}"
        return NotConnected(f"Cannot connect to host {where} ssl:default [{why}]")


class _Connection(asyncio.Protocol):
    """One connection, with the parser of its answers."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._asked: asyncio.Future[HttpAnswer] | None = None
        self._limits = (0, 0)
        self._idle_since = -math.inf
        #: Whether it had been idle when the current request was sent.
        self.fell_idle = False
        #: Whether any data has arrived since then.
        self.heard = False
        self._kept = self._aborted = False
        self._bytes = 0
        self._socket: Any = None
        #: Tells without waiting whether there is data to read, or the peer has closed.
        self._poll = select.poll() if hasattr(select, "poll") else None  # Windows has no poll
        self._begin()

    def ask(self, request: bytes, limits: tuple[int, int]) -> asyncio.Future[HttpAnswer]:
        """Send a request, one at a time, and return the answer's future."""
        self._asked = asked = self._loop.create_future()
        self._limits = limits
        self.fell_idle, self.heard, self._kept = self._idle_since > -math.inf, False, False
        self._bytes = 0
        self._begin()
        if self._transport is None or self._transport.is_closing():
            asked.set_exception(Broken("Server disconnected"))
        else:
            self._transport.write(request)
        return asked

    def usable(self) -> bool:
        """Whether a request may be sent on this idle connection."""
        if self._transport is None or self._aborted or self._transport.is_closing():
            return False
        if self._loop.time() - self._idle_since >= IDLE_SECONDS:
            return False
        # Data that has arrived meanwhile would be taken for the next answer.
        if self._poll is None:
            return not select.select([self._socket], [], [], 0)[0]
        return not self._poll.poll(0)

    def may_be_kept(self) -> bool:
        """Mark it idle; whether the answer was complete and the server keeps it open."""
        self._asked, self._idle_since = None, self._loop.time()
        return self._kept and self.usable()

    def abort(self) -> None:
        """Close the connection at once."""
        self._aborted = True
        if self._transport is not None:
            self._transport.abort()

    # ── of the transport ─────────────────────────────────────────────────────────────────────
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = transport  # type: ignore[assignment]  # of a stream
        self._socket = transport.get_extra_info("socket")
        if self._poll is not None:
            self._poll.register(self._socket.fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Feed the data to the parser."""
        self.heard = True
        if self._asked is None:  # unsolicited data: it must not pass for the answer to a request
            self.abort()
            return
        self._bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._break(Broken(f"the answer is no HTTP/1.1: {type(error).__name__}: {error}"))
        else:
            if not self._head_done and self._bytes > HEAD_BYTES:
                self._break(Broken(f"the answer's head is longer than {HEAD_BYTES} bytes"))
            elif self._bytes > HEAD_BYTES + _PER_BYTE * max(self._limits):
                self._break(Broken("the answer is mostly not its body"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Complete an answer that ends with the connection; fail any other."""
        self._transport = None
        if exc is None and self._head_done and not self._framed:
            self._finish()
        else:
            self._break(exc if isinstance(exc, OSError) else Broken("Server disconnected"))

    def _break(self, error: OSError) -> None:
        self._kept = False
        if self._asked is not None and not self._asked.done():
            self._asked.set_exception(error)
        self.abort()

    def _finish(self, *, cut: bool = False) -> None:
        if self._asked is not None and not self._asked.done():
            # Compressed, though the request asked for no compression: it cannot be read.
            body = b"" if self._packed else bytes(self._body)
            self._asked.set_result(HttpAnswer(self._status, self._headers, body, cut))

    # ── of the parser ────────────────────────────────────────────────────────────────────────
    def _begin(self) -> None:
        self._status = 0
        self._headers: dict[str, str] = {}
        self._framed = self._packed = self._head_done = False
        self._body = bytearray()
        self._room = 0

    def on_message_begin(self) -> None:
        """Reject a second answer to one request."""
        if self._asked is None or self._asked.done():
            self._kept = False
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the headers that are used."""
        name = name.lower()
        if name in _READ:
            self._headers[_READ[name]] = value.decode("latin-1")
        elif name in _FRAMING:
            self._framed = True
        elif name == b"content-encoding":
            self._packed = value.strip().lower() != b"identity"

    def on_headers_complete(self) -> None:
        """Set the limit for the body, by the status."""
        self._status = self._parser.get_status_code()
        if self._status >= 200:
            self._head_done = True
            most, of_refusal = self._limits
            self._room = most if self._status < 300 else of_refusal

    def on_body(self, piece: bytes) -> None:
        """Keep the piece, up to the limit."""
        if self._room < 0:
            return
        self._body += piece
        self._room -= len(piece)
        if self._room < 0:
            self._finish(cut=True)
            self.abort()

    def on_message_complete(self) -> None:
        """Deliver the answer; after an interim one (1xx), wait for the next."""
        if self._status < 200:
            self._begin()
            return
        # The cause of a 401 may be the client certificate, which belongs to the connection.
        self._kept = self._parser.should_keep_alive() and self._status != 401
        self._finish()


def keep_alive_socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket that detects a lost peer within 30 s, because watches send nothing."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # not every system has all of them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
