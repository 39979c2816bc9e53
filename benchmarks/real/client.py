# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A bare client: sends requests that were made beforehand, and does nothing else.

    python -m benchmarks.real.client JOB.json RESULT.json

On connections of its own, as bytes, without reading more of an answer than its status: what it
reaches with Bindings is the most that a scheduler could reach on this machine.
"""

import asyncio
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from benchmarks.real.requests import Request, Unit
from enbloc.client.cluster_access import load

_END_OF_HEAD: Final = b"\r\n\r\n"
_LENGTH: Final = b"content-length:"
_CHUNKED: Final = b"transfer-encoding: chunked"


class Job(msgspec.Struct):
    """What to send.

    Attributes:
        kubeconfig: where, and as whom; with a client certificate.
        units: what to send.
        connections: how many units are under way at once, at most.
        rate: units begun per second; 0: as fast as they go.
    """

    kubeconfig: str
    units: list[Unit]
    connections: int = 32
    rate: float = 0.0


class Result(msgspec.Struct):
    """What became of it.

    Attributes:
        seconds: from the first request to the last answer.
        cpu: CPU seconds of the client in that time.
        sent: requests.
        refused: how many answers were no success, by how they begin.
    """

    seconds: float
    cpu: float
    sent: int
    refused: dict[str, int]


def encoded(request: Request, host: str) -> bytes:
    """A request as HTTP/1.1 has it."""
    body = request.body.encode()
    head = (
        f"{request.method} {request.path} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\n"
        f"Content-Type: {request.content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def complete(answer: bytes) -> bool:
    """Whether an answer is there to its end."""
    at = answer.find(_END_OF_HEAD)
    if at < 0:
        return False
    head = answer[:at].lower()
    if _CHUNKED in head:
        return answer.endswith(b"\r\n0" + _END_OF_HEAD)
    found = head.find(_LENGTH)
    length = int(head[found + len(_LENGTH) :].split(b"\r\n", 1)[0]) if found >= 0 else 0
    return len(answer) >= at + len(_END_OF_HEAD) + length


class Sender:
    """Hands units to connections, those that wait in the order in which they came."""

    def __init__(self, units: int) -> None:
        self.left = units
        self.finished = asyncio.get_running_loop().create_future()
        self.refused: Counter[str] = Counter()
        self.idle: list[Connection] = []
        self._waiting: deque[list[bytes]] = deque()

    def offer(self, unit: list[bytes]) -> None:
        """Begin this unit now, or as soon as a connection is free."""
        if self.idle:
            self.idle.pop().begin(unit)
        else:
            self._waiting.append(unit)

    def done(self, connection: "Connection") -> None:
        """A connection has the last answer of its unit."""
        self.left -= 1
        if self._waiting:
            connection.begin(self._waiting.popleft())
        else:
            self.idle.append(connection)
        if self.left == 0 and not self.finished.done():
            self.finished.set_result(None)

    def broken(self, error: Exception | None) -> None:
        """A connection is lost, and with it the measurement."""
        if not self.finished.done():
            self.finished.set_exception(error or ConnectionError("the server closed a connection"))


class Connection(asyncio.Protocol):
    """One keep-alive connection."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._transport: Any = None
        self._unit: list[bytes] = []
        self._at = 0
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._sender.broken(exc)

    def begin(self, unit: list[bytes]) -> None:
        """Send the first request of a unit; the others follow."""
        self._unit, self._at = unit, 0
        self._transport.write(unit[0])

    def data_received(self, data: bytes) -> None:
        answer = self._answer = self._answer + data if self._answer else data
        if not complete(answer):
            return
        self._answer = b""
        if answer[9:10] != b"2":
            self._sender.refused[answer[9:12].decode() + " " + answer[-200:].decode()] += 1
        self._at += 1
        if self._at < len(self._unit):
            self._transport.write(self._unit[self._at])
        else:
            self._sender.done(self)


async def send(job: Job) -> Result:
    """Send all units of a job.

    Raises:
        OSError: the server is not there, or closed a connection.
    """
    cluster = await load(Path(job.kubeconfig), None)
    url = urlsplit(cluster.server)
    host, port = url.hostname or "", url.port or 443
    loop = asyncio.get_running_loop()
    units = [[encoded(request, url.netloc) for request in unit] for unit in job.units]
    sender = Sender(len(units))
    tls = cluster.ssl_context()
    for _ in range(min(job.connections, len(units))):
        made: Callable[[], Connection] = lambda: Connection(sender)  # noqa: E731
        _, connection = await loop.create_connection(made, host, port, ssl=tls)
        sender.idle.append(connection)
    began, used = time.perf_counter(), time.process_time()
    for index, unit in enumerate(units):
        if job.rate:
            loop.call_later(index / job.rate, sender.offer, unit)
        else:
            sender.offer(unit)
    if units:
        await sender.finished
    return Result(
        time.perf_counter() - began,
        time.process_time() - used,
        sum(map(len, units)),
        dict(sender.refused),
    )


def main() -> None:
    """Carry one job out."""
    job = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Job)
    try:
        import uvloop  # noqa: PLC0415  # optional, and cheaper
    except ImportError:
        result = asyncio.run(send(job))
    else:
        result = uvloop.run(send(job))
    Path(sys.argv[2]).write_bytes(msgspec.json.encode(result))


if __name__ == "__main__":
    main()
