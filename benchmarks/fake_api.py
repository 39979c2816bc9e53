# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An API server in a process of its own that answers at once, and costs next to nothing.

It reads of a request what tells which answer is due: method, path and length. A POST is answered
as one of the API server is; a PATCH with the object that stands in ANSWERS; a list is empty; and a
watch has the lines of a file, after which it stays open.
"""

import asyncio
import ssl
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from email.utils import formatdate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

from enbloc.client.config import Cluster
from tests.client.certificates import Authority

NAME: Final = "api.example"
_SUCCESS: Final = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}\n'
)
_LIST: Final = b'{"kind":"List","metadata":{"resourceVersion":"1"},"items":[]}\n'
_OBJECT: Final = (
    b'{"kind":"PodGroup","metadata":{"name":"g","namespace":"b","uid":"u","resourceVersion":"9"}}\n'
)
_LENGTH: Final = b"content-length: "


class Connection(asyncio.Protocol):
    """One connection: requests are answered in order, as they are complete."""

    def __init__(self, watched: bytes) -> None:
        self._watched = watched
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer every request of which all has come."""
        self._rest += data
        while True:
            head, ends, body = self._rest.partition(b"\r\n\r\n")
            if not ends:
                return
            at = head.lower().find(_LENGTH)
            line = head.lower()[at + len(_LENGTH) :].partition(b"\r\n")[0]
            length = int(line) if at >= 0 else 0
            if len(body) < length:
                return
            self._rest = body[length:]
            self._answer(*head.split(b" ", 2)[:2])

    def _answer(self, method: bytes, path: bytes) -> None:
        date = formatdate(usegmt=True).encode()
        if b"watch=true" in path:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: " + date
            self._transport.write(head + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
            for line in self._watched.splitlines(keepends=True):  # as the API server flushes
                self._transport.write(b"%x\r\n%s\r\n" % (len(line), line))
            return
        status, body = {
            b"POST": (b"201 Created", _SUCCESS),
            b"PATCH": (b"200 OK", _OBJECT),
        }.get(method, (b"200 OK", _LIST))
        self._transport.write(
            b"HTTP/1.1 %s\r\nAudit-Id: 5f0e1ac0-9c80-4f13-8d5f-4d9a1c1e6d3a\r\n"
            b"Cache-Control: no-cache, private\r\nContent-Type: application/json\r\n"
            b"X-Kubernetes-Pf-Flowschema-Uid: 6f1fbc0c-70ca-4a5f-8c47-8c5ab2d4b7b1\r\n"
            b"X-Kubernetes-Pf-Prioritylevel-Uid: 2f2e4f1c-7a9b-4e55-92dc-bb5a66d0ac3d\r\n"
            b"Date: %s\r\nContent-Length: %d\r\n\r\n%s" % (status, date, len(body), body)
        )


async def serve(port_file: Path, watched: bytes, tls: ssl.SSLContext) -> None:
    """Serve for ever; the port is written to a file first."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(watched), "127.0.0.1", 0, ssl=tls)
    port_file.write_text(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


@contextmanager
def fake_api(watched: bytes = b"") -> Generator[Cluster]:
    """A server whose watches bring these lines, and how to talk to it: TLS, with a certificate."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        authority = Authority(folder)
        certificate = authority.issue(NAME)
        (folder / "watched").write_bytes(watched)
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fake_api", name, *map(str, certificate)]
        )
        try:
            port = _port(process, folder / "port")
            yield Cluster(
                f"https://127.0.0.1:{port}",
                ca_file=authority.ca,
                client_cert=authority.issue("client.example"),
            )
        finally:
            process.terminate()
            process.wait(10)


def _port(process: subprocess.Popen[bytes], file: Path) -> int:
    while process.poll() is None:
        if file.is_file() and (text := file.read_text()):
            return int(text)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
    raise RuntimeError("the server ended")


def main(folder: Path, certificate: str, key: str) -> None:
    """Serve until terminated."""
    import uvloop  # noqa: PLC0415  # only the server's process needs it

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(folder / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(folder / "port", (folder / "watched").read_bytes(), context))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
