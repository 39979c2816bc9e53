# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP exchanges with the API server: connections, credentials, timeouts, typed errors."""

import asyncio
import logging
import ssl
import statistics
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec
from yarl import URL

import enbloc
from enbloc.client.clock import boot_clock
from enbloc.client.config import Cluster
from enbloc.client.connections import Connections, HttpAnswer, NotConnected, keep_alive_socket
from enbloc.client.decoding import UNREADABLE, decoded
from enbloc.client.errors import (
    APIError,
    TooLong,
    Unauthorized,
    Unreachable,
    from_status,
)
from enbloc.client.rate_limit import RateLimits
from enbloc.errors import ConfigError
from enbloc.model.request_rate import RequestRate
from enbloc.telemetry import metrics
from enbloc.telemetry.logs import TRACE

#: The time limit of a read (seconds).
READ_SECONDS: Final = 30.0
#: The time limit of a write, on both sides: ``?timeout=`` tells the server (seconds). That of a
#: leader may be lower, so that none takes effect under the next (`lease.LeaseTiming`).
WRITE_SECONDS: Final = 5.0
CONNECT_SECONDS: Final = 5.0
GOODBYE_SECONDS: Final = 0.1
#: The least interval between two reads of the certificate files after TLS failures (seconds).
TLS_SECONDS: Final = 10.0
#: The number of latest answers whose Date gives the server's time.
DATES: Final = 15
#: The longest answer that is read (bytes): a stored object has up to 1.5 MiB.
ANSWER_BYTES: Final = 2**25
#: The same for a page of a list (bytes). If a page is longer, the reflector asks for smaller ones.
LIST_BYTES: Final = 2**28
#: The longest part of a refusal that is read (bytes).
REFUSAL_BYTES: Final = 2**16
JSON: Final = "application/json"
_METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
}
#: Built once: a timeout object per call is measurable.
READ_TIMEOUT: Final = aiohttp.ClientTimeout(total=READ_SECONDS, sock_connect=CONNECT_SECONDS)
WRITE_TIMEOUT: Final = aiohttp.ClientTimeout(total=WRITE_SECONDS)
#: Idempotent methods: sent again if a connection that had been idle breaks.
_REPEATABLE: Final = frozenset({"PUT", "DELETE"})
_STATUSES: Final = frozenset(HTTPStatus)
_STATUS: Final = msgspec.json.Decoder(dict[str, Any]).decode
#: What a connection raises if it cannot be made, or breaks.
_BROKEN: Final = (aiohttp.ClientError, OSError, TimeoutError)


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Attributes:
        verb: the API verb, which decides the method.
        resource: the resource as RBAC spells it, for messages.
        path: path and query, percent-encoded.
        body: the encoded body.
        content_type: of the body.
        timeout: limits on this exchange.
        accept: the media types to accept.
        limit: the longest answer to read, bytes.
        check: raises if the request may not be sent any more; the wait for a rate limit, for new
            credentials or for a connection may have been long.
    """

    verb: str
    resource: str
    path: str
    body: bytes | None = None
    content_type: str = JSON
    timeout: aiohttp.ClientTimeout = READ_TIMEOUT
    accept: str = JSON
    limit: int = ANSWER_BYTES
    check: Callable[[], None] = lambda: None


R = TypeVar("R", aiohttp.ClientResponse, HttpAnswer)
Send = Callable[[Call, str | None], Awaitable[R]]


class Stream:
    """The body of a watch, as it arrives; ``close()`` from another task ends it."""

    def __init__(self, call: Call, response: aiohttp.ClientResponse) -> None:
        self._call = call
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Chunks of any size, until the server ends the body.

        Raises:
            Unreachable: the connection broke, was closed, or was silent for too long.
        """
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except _BROKEN as error:
            raise _unreachable(self._call, error) from error

    async def lines(self) -> AsyncIterator[list[bytes]]:
        """The lines that each chunk completes, without line ends.

        Raises:
            Unreachable: as for `__aiter__`, or a line is longer than ANSWER_BYTES.
        """
        rest = b""
        async for chunk in self:
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > ANSWER_BYTES:
                why = f"a line is longer than {ANSWER_BYTES} bytes"
                raise TooLong("watch", self._call.resource, why, sent=True)
            yield lines

    def close(self) -> None:
        """Abort the connection; its reader gets Unreachable.

        A TLS connection closed properly in the middle of an answer would wait for the other side.
        """
        connection = self._response.connection
        transport = connection.transport if connection is not None else None
        self._response.close()
        if transport is not None:
            transport.abort()


class Transport:
    """Keep-alive connections to one API server.

    A write goes as bytes over `Connections`, at a fifth of the cost; everything else, and every
    request through a proxy, goes over aiohttp.

    Args:
        cluster: the API server, and the credentials to use.
        component: the process, for the user agent ("scheduler").
        connections: the most at once for writes, and again for all else, watches included.
        rate: the limit on requests; None = no limit.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        component: str,
        connections: int,
        rate: RequestRate | None = None,
        clock: Callable[[], float] = boot_clock,
    ) -> None:
        self._cluster = cluster
        self._agent = user_agent(component)
        self._connections = connections
        self._host = host_of(cluster.server)
        self._limits = None if rate is None else RateLimits.of(rate, self._host)
        self._tls: ssl.SSLContext | None = None
        self._tls_read_at = 0.0
        self._authorization: str | None = None
        self._session: aiohttp.ClientSession | None = None
        self._direct: Connections | None = None
        self._base, self._head = "", ""
        self._dated: deque[tuple[str, float]] = deque(maxlen=DATES)
        self._offset: float | None = None
        self._clock = clock

    async def open(self) -> None:
        """Create the connection pool; needs a running loop.

        Raises:
            ConfigError: a certificate file cannot be used.
        """
        self._tls, self._tls_read_at = self._cluster.ssl_context(), time.monotonic()
        encoding = {} if self._cluster.compressed else {"Accept-Encoding": "identity"}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._connections, socket_factory=keep_alive_socket
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=2**21,  # an object may reach 1.5 MiB, on one line
            headers={"User-Agent": self._agent, **encoding},
        )
        if self._cluster.proxy is None:
            self._open_direct()

    def _open_direct(self) -> None:
        """Send writes as bytes, if the URL needs nothing more."""
        with suppress(ValueError):  # an invalid URL: aiohttp reports it at every request
            server = URL(self._cluster.server)
            if server.raw_host and server.raw_user is None and server.raw_password is None:
                self._direct = Connections(server, self._cluster.server_name, self._connections)
                self._direct.renew(self._tls)
                self._base = server.raw_path.rstrip("/")
                self._head = (
                    f" HTTP/1.1\r\nHost: {server.host_port_subcomponent}\r\n"
                    f"User-Agent: {self._agent}\r\nAccept-Encoding: identity\r\n"
                )

    async def close(self) -> None:
        """Close all connections."""
        if self._direct is not None:
            self._direct.close()
        if self._session is not None:
            await self._session.close()
            # A cancelled request's TLS connection shuts down first; then the loop may end.
            await asyncio.sleep(0 if self._tls is None else GOODBYE_SECONDS)

    @property
    def server_offset(self) -> float | None:
        """Server time (Unix seconds) minus the local clock, ± 1 s.

        The median over the latest DATES responses, so that a few wrong ones do not matter. None if
        none of them has a readable Date.
        """
        if self._offset is None:
            said = [(_timestamp(date), received) for date, received in self._dated]
            known = [then - received for then, received in said if then is not None]
            self._offset = statistics.median_low(known) if known else None
        return self._offset

    async def exchange(self, call: Call) -> bytes:
        """Send a request once (twice after a 401, with new credentials) and read the answer.

        The wait for the client's rate limit does not count towards the timeout.

        Raises:
            APIError: the answer was not a success, or none came.
        """
        if self._limits is not None:
            await self._limits.wait(_METHODS[call.verb], call.resource)
        direct = self._direct if call.body is not None else None
        try:
            if direct is not None:
                answer = await self._respond(call, partial(self._written, direct))
            else:
                async with await self._respond(call, self._request) as response:
                    answer = await _whole_answer(call, response)
        except _BROKEN as error:
            self._renew_tls(error)
            raise _unreachable(call, error) from error
        if not _succeeded(answer):
            raise _refused(call, answer)
        if answer.cut:
            raise _too_long(call)
        return answer.body

    def _renew_tls(self, error: Exception) -> None:
        """Read the certificate files again if they may be why the connection failed."""
        now = time.monotonic()
        if self._tls is None or now < self._tls_read_at + TLS_SECONDS or not _is_of_tls(error):
            return
        with suppress(ConfigError):  # a file that is being written: a later failure reads it again
            self._tls = self._cluster.ssl_context()
            self._cluster.auth.rejected(self._authorization)  # may load a new client certificate
            if self._direct is not None:
                self._direct.renew(self._tls)
        self._tls_read_at = now

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncGenerator[Stream, None]:
        """Send a request with an endless answer; the answer must begin within READ_SECONDS.

        Raises:
            APIError: the answer was not a success, or none came.
        """
        if self._limits is not None:
            await self._limits.wait(_METHODS[call.verb], call.resource)
        try:
            async with asyncio.timeout(READ_SECONDS):
                response = await self._respond(call, self._request)
                if not _succeeded(response):
                    async with response:
                        answer = await _answer(call, response)
                    raise _refused(call, answer)
        except _BROKEN as error:
            self._renew_tls(error)
            raise _unreachable(call, error) from error
        stream = Stream(call, response)
        try:
            yield stream
        finally:
            stream.close()

    async def _respond(self, call: Call, send: Send[R]) -> R:
        header = await self._credentials(call)
        response = await self._send(call, header, send)
        # A 401 means that it was not processed: safe to send again.
        if response.status == 401 and self._cluster.auth.rejected(header):
            if isinstance(response, aiohttp.ClientResponse):
                response.close()
            header = await self._credentials(call)
            if self._direct is not None:
                self._direct.renew(self._tls)  # the client certificate may be new
            response = await self._send(call, header, send)
        self._note_date(response.headers.get("Date"))
        return response

    def _note_date(self, date: str | None) -> None:
        """Keep when an answer came, and its Date; once DATES are known, at most one a second."""
        now, known = self._clock(), self._dated
        if date and (len(known) < DATES or now - known[-1][1] >= 1.0):
            known.append((date, now))
            self._offset = None

    async def _credentials(self, call: Call) -> str | None:
        try:
            header = await self._cluster.auth.header(self._tls)
        except ConfigError as error:
            raise Unauthorized(call.verb, call.resource, str(error)) from error
        if header is not None and not header.isprintable():
            raise Unauthorized(call.verb, call.resource, "the token holds a control character")
        self._authorization = header
        return header

    async def _send(self, call: Call, authorization: str | None, send: Send[R]) -> R:
        """Send a request, and record its outcome and duration in the metrics.

        The duration ends with the answer's headers; for a write, with the whole answer.
        """
        call.check()
        method, code = _METHODS[call.verb], "<error>"
        began = time.perf_counter()
        try:
            response = await send(call, authorization)
            code = _code(response.status)
        finally:
            metrics.series(metrics.REQUESTS, code, method, self._host).inc()
            seconds = time.perf_counter() - began
            if logger.isEnabledFor(TRACE):
                shown = {"method": method, "path": call.path, "code": code}
                logger.log(TRACE, "Request", extra={**shown, "duration": round(seconds, 6)})
            metrics.series(metrics.REQUEST_DURATION, method, self._host).observe(seconds)
        return response

    async def _request(self, call: Call, authorization: str | None) -> aiohttp.ClientResponse:
        assert self._session is not None, "the client is not open"
        headers = {"Accept": call.accept}
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        if authorization is not None:
            headers["Authorization"] = authorization
        return await self._session.request(
            _METHODS[call.verb],
            self._cluster.server + call.path,
            data=call.body,
            headers=headers,
            timeout=call.timeout,
            allow_redirects=False,
            ssl=self._tls or True,
            proxy=self._cluster.proxy,
            server_hostname=self._cluster.server_name,
        )

    async def _written(
        self, direct: Connections, call: Call, authorization: str | None
    ) -> HttpAnswer:
        """Send a request as bytes."""
        assert call.body is not None, "a write has a body"
        path = self._base + call.path
        assert path.isascii(), "percent-encoded"
        assert path.isprintable(), "percent-encoded"
        assert " " not in path, "percent-encoded"
        method = _METHODS[call.verb]
        said = "" if authorization is None else f"Authorization: {authorization}\r\n"
        head = (
            f"{method} {path}{self._head}{said}Accept: {call.accept}\r\n"
            f"Content-Type: {call.content_type}\r\nContent-Length: {len(call.body)}\r\n\r\n"
        )
        return await direct.ask(
            head.encode() + call.body,
            limits=(call.limit, REFUSAL_BYTES),
            repeatable=method in _REPEATABLE,
            total=call.timeout.total,
            connect=call.timeout.sock_connect,
            check=call.check,
        )


def user_agent(component: str) -> str:
    """The User-Agent of a process."""
    return f"enbloc-{component}/{enbloc.__version__}"


def host_of(server: str) -> str:
    """Host and port of a URL."""
    try:
        return urlsplit(server).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def _code(status: int) -> str:
    """The status of an answer as a label; an unknown one as its class, such as "7xx"."""
    return str(status) if status in _STATUSES else f"{status // 100}xx"


def _succeeded(response: aiohttp.ClientResponse | HttpAnswer) -> bool:
    return 200 <= response.status < 300


async def _whole_answer(call: Call, response: aiohttp.ClientResponse) -> HttpAnswer:
    """Read the answer; of a success that has begun in time but not ended, raise TooLong."""
    try:
        return await _answer(call, response)
    except TimeoutError as error:
        if not _succeeded(response):
            raise
        why = "timed out before the answer ended"
        raise TooLong(call.verb, call.resource, why, sent=True) from error


async def _answer(call: Call, response: aiohttp.ClientResponse) -> HttpAnswer:
    """Read the answer; of a refusal only the beginning, which is enough to name it."""
    limit = call.limit if _succeeded(response) else REFUSAL_BYTES
    chunks, size = list[bytes](), 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            response.close()
            break
    return HttpAnswer(response.status, response.headers, b"".join(chunks), cut=size > limit)


def _too_long(call: Call) -> TooLong:
    why = f"the answer is longer than {call.limit} bytes"
    return TooLong(call.verb, call.resource, why, sent=True)


def _refused(call: Call, answer: HttpAnswer) -> APIError:
    body = answer.body
    try:
        status = decoded(_STATUS, body)
    except UNREADABLE:  # not a Status: a proxy's page or plain text
        status = {"message": body[:200].decode(errors="replace").strip()}
    wait = asked_to_wait(answer.headers)
    return from_status(call.verb, call.resource, answer.status, status, wait)


def asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """`Retry-After` in seconds; a date counts from the answer's own Date; None = not given."""
    text = headers.get("Retry-After", "")
    with suppress(ValueError):
        return float(text)
    then = _timestamp(text)
    now = _timestamp(headers.get("Date", ""))
    return None if then is None else then - (time.time() if now is None else now)


def _timestamp(date: str) -> float | None:
    """An HTTP date as seconds since the epoch; None if it is not a date."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None


def _is_of_tls(error: BaseException) -> bool:
    """Whether one side rejected the other's certificate."""
    return isinstance(error, ssl.SSLError | ssl.CertificateError | aiohttp.ClientSSLError) or (
        error.__cause__ is not None and _is_of_tls(error.__cause__)
    )


def _unreachable(call: Call, error: Exception) -> Unreachable:
    unsent = (
        NotConnected,
        aiohttp.ClientConnectorError,
        aiohttp.ConnectionTimeoutError,
        aiohttp.InvalidURL,
    )
    if isinstance(error, aiohttp.InvalidURL):  # its text is the URL, maybe with credentials
        text = "the server's URL, or that of the proxy, cannot be used"
    else:
        text = str(error) or "timed out"
    if isinstance(error, aiohttp.ClientConnectorError):  # the text must not vary with the context
        text = text.replace(f"ssl:{error.ssl}", "ssl:default")
    return Unreachable(call.verb, call.resource, text, sent=not isinstance(error, unsent))
