# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Notes when pods of a namespace came to be, and when each was bound, as a watch shows it.

    python -m benchmarks.real.watcher KUBECONFIG NAMESPACE EXPECTED RESULT.json

It says on stdout that the watch is open ("open"), how many pods are bound ("bound 17", twice a
second at most), and that all expected ones are ("all"). It ends when its stdin does, and leaves
the times: seconds of CLOCK_MONOTONIC, which is the same for all processes of a machine.
"""

import asyncio
import os
import select
import socket
import ssl
import sys
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from enbloc.client.cluster_access import load

_NAME: Final = b'"metadata":{"name":"'
_NODE: Final = b'"nodeName":"'
_DELETED: Final = b'{"type":"DELETED"'


class Times(msgspec.Struct):
    """When each pod was first seen, and first seen with a node.

    Attributes:
        created: seconds of CLOCK_MONOTONIC, by the pod's name.
        bound: the same.
        reopened: how often the server ended the watch; times are late then.
    """

    created: dict[str, float] = {}
    bound: dict[str, float] = {}
    reopened: int = 0


def note(times: Times, line: bytes, now: float) -> None:
    """Take one event of the watch in, without decoding it."""
    begin = line.find(_NAME)
    if begin < 0 or line.startswith(_DELETED):
        return
    begin += len(_NAME)
    name = line[begin : line.index(b'"', begin)].decode()
    times.created.setdefault(name, now)
    if name not in times.bound and _NODE in line:
        times.bound[name] = now


def opened(server: str, tls: ssl.SSLContext | None, namespace: str) -> socket.socket:
    """A connection on which the answer to the watch comes."""
    url = urlsplit(server)
    assert tls is not None, "the control plane speaks TLS"
    assert url.hostname, server
    plain = socket.create_connection((url.hostname, url.port or 443), timeout=30)
    secured = tls.wrap_socket(plain, server_hostname=url.hostname)
    # To HTTP/1.0 the server answers without chunks: the body is lines, and nothing else.
    path = f"/api/v1/namespaces/{namespace}/pods?watch=1&timeoutSeconds=7200"
    secured.sendall(f"GET {path} HTTP/1.0\r\nAccept: application/json\r\n\r\n".encode())
    return secured


class Watching:
    """The watch, opened again where the server ends it: it may, when the machine has much to do.

    A new watch begins with what is there, so no pod is missed; the time of some may be late then.
    """

    def __init__(self, server: str, tls: ssl.SSLContext | None, namespace: str) -> None:
        self._where = server, tls, namespace
        self.reopened = 0
        self._open()

    def _open(self) -> None:
        self.connection, self._rest, self._in_head = opened(*self._where), b"", True

    def read(self) -> list[bytes]:
        """The lines that have come."""
        data = self.connection.recv(1 << 18)
        # What TLS has decrypted already does not make the socket readable again.
        while isinstance(self.connection, ssl.SSLSocket) and self.connection.pending():
            data += self.connection.recv(1 << 18)
        if not data:
            self.reopened += 1
            self.connection.close()
            self._open()
            return []
        self._rest += data
        if self._in_head:
            head, found, rest = self._rest.partition(b"\r\n\r\n")
            if not found:
                return []
            assert head.split(b" ", 2)[1] == b"200", head
            self._in_head, self._rest = False, rest
            print("open", flush=True)
        *lines, self._rest = self._rest.split(b"\n")
        return lines


def watch(watching: Watching, expected: int) -> Times:
    """Follow the watch until stdin ends."""
    times, said, count, told = Times(), 0.0, 0, False
    while True:
        ready, _, _ = select.select([watching.connection, sys.stdin], [], [], 0.5)
        now = time.monotonic()
        if watching.connection in ready:
            for line in watching.read():
                note(times, line, now)
        if len(times.bound) != count and (now > said + 0.5 or not count):
            count, said = len(times.bound), now
            print("bound", count, flush=True)
        if not told and len(times.bound) >= expected:
            told = True
            print("all", flush=True)
        if sys.stdin in ready and not os.read(sys.stdin.fileno(), 1024):
            times.reopened = watching.reopened
            return times


def main() -> None:
    """Watch, and leave the times."""
    kubeconfig, namespace, expected, result = sys.argv[1:]
    cluster = asyncio.run(load(Path(kubeconfig), None))
    times = watch(Watching(cluster.server, cluster.ssl_context(), namespace), int(expected))
    Path(result).write_bytes(msgspec.json.encode(times))


if __name__ == "__main__":
    main()
