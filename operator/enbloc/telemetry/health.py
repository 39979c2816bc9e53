# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Health answers and metrics, served by a thread of their own: planning must not delay probes.

That thread runs an event loop: a slow client costs a connection, of which there are a bounded
number, and never a thread.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus
from types import TracebackType
from typing import Final, Literal, Self
from urllib.parse import parse_qs

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from enbloc.errors import ConfigError

Endpoint = Literal["livez", "healthz", "readyz"]
Check = Callable[[], bool]

#: A connection ends after this time, whatever its client sends or does not read (seconds).
CLIENT_SECONDS: Final = 5.0
#: So many connections at once; one more ends the oldest, so a probe is always let in.
MOST_CONNECTIONS: Final = 256
#: The longest request, headers included (bytes).
_REQUEST_BYTES: Final = 8192
_TEXT: Final = "text/plain; charset=utf-8"


class Health:
    """The checks behind each endpoint; shells register them, any thread may read."""

    def __init__(self) -> None:
        self._checks: dict[str, dict[str, Check]] = {"livez": {}, "healthz": {}, "readyz": {}}

    def register(self, name: str, check: Check, *endpoints: Endpoint) -> None:
        """Add a check; it runs in the server's thread and must not wait.

        Args:
            name: shown to who asks: it says what is checked, never any data.
            check: whether it is well; an exception counts as not.
            endpoints: where it counts.
        """
        for endpoint in endpoints:
            self._checks[endpoint][name] = check

    def failed(self, endpoint: str, excluded: frozenset[str] = frozenset()) -> list[str]:
        """Names of the checks of an endpoint that fail now."""
        checks = list(self._checks[endpoint].items())
        return [name for name, check in checks if name not in excluded and not _passes(check)]

    def report(self, endpoint: str, query: str) -> tuple[int, str]:
        """HTTP status and text for ``?verbose`` and ``?exclude=``, as upstream words them."""
        asked = parse_qs(query, keep_blank_values=True)
        excluded = frozenset(asked.get("exclude", ()))
        failed = self.failed(endpoint, excluded)
        if not failed and "verbose" not in asked:
            return 200, "ok"
        lines = ["[+]ping ok"]
        for name in self._checks[endpoint]:
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif name in failed:
                lines.append(f"[-]{name} failed: reason withheld")
            else:
                lines.append(f"[+]{name} ok")
        lines.append(f"{endpoint} check {'failed' if failed else 'passed'}\n")
        return (500 if failed else 200), "\n".join(lines)


def _passes(check: Check) -> bool:
    try:
        return check()
    except Exception:  # noqa: BLE001  # a check that breaks is a check that fails
        return False


class HealthServer:
    """Serves /livez, /healthz, /readyz and /metrics; a context manager.

    Args:
        health: the checks.
        port: 0 for any free one.
        address: which address to listen on.

    Raises:
        ConfigError: the port is taken, or the address is not ours.
    """

    def __init__(self, health: Health, port: int, address: str = "127.0.0.1") -> None:
        self._health = health
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            self._socket = socket.create_server((address, port), family=family)
        except OSError as error:
            raise ConfigError(
                f"--health-port: cannot listen on {address}:{port}: {error.strerror}; choose "
                "another port, or 0 for no health server"
            ) from error
        # asyncio's own kind of loop: it needs nothing that the process' main loop may have.
        self._loop = asyncio.SelectorEventLoop()
        self._stop = asyncio.Event()
        self._clients: dict[asyncio.Task[None], None] = {}
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._socket.getsockname()[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        """Serve until stopped; who has no answer by then gets none."""
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
        """Answer one request on a connection, which then ends."""
        if len(self._clients) >= MOST_CONNECTIONS:
            oldest = next(iter(self._clients))
            del self._clients[oldest]
            oldest.cancel()
        client = asyncio.current_task()
        assert client is not None
        self._clients[client] = None
        try:
            async with asyncio.timeout(CLIENT_SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(request))
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # its client was slow, went away, or does not speak HTTP
        except asyncio.CancelledError:
            pass  # by us: asyncio 3.11 reports a cancelled connection as a fault
        finally:
            writer.transport.abort()
            self._clients.pop(client, None)

    def _answer(self, request: bytes) -> bytes:
        """The answer to a request; to HEAD as to GET, without the body."""
        method, _, rest = request.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        target, _, version = rest.partition(" ")
        if not version.startswith("HTTP/1."):
            return _encoded(400, b"this is no HTTP/1 request\n")
        if method not in ("GET", "HEAD"):
            return _encoded(405, b"use GET or HEAD\n", headers="Allow: GET, HEAD\r\n")
        path, _, query = target.partition("?")
        name, body = path.strip("/"), method == "GET"
        if name == "metrics":
            return _encoded(200, generate_latest(), CONTENT_TYPE_LATEST, with_body=body)
        if name in {"livez", "healthz", "readyz"}:
            code, text = self._health.report(name, query)
            return _encoded(code, text.encode(), with_body=body)
        known = b"not found; served are /livez, /healthz, /readyz and /metrics\n"
        return _encoded(404, known, with_body=body)


def _encoded(
    code: int, body: bytes, content: str = _TEXT, *, headers: str = "", with_body: bool = True
) -> bytes:
    """An HTTP answer; no versions for strangers."""
    head = (
        f"HTTP/1.1 {code} {HTTPStatus(code).phrase}\r\n"
        f"Date: {formatdate(usegmt=True)}\r\n"
        "Server: enbloc\r\n"
        f"Content-Type: {content}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "Connection: close\r\n"
        f"{headers}\r\n"
    )
    return head.encode("latin-1") + (body if with_body else b"")
