# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Health answers and metrics, served by a thread of their own: planning must not delay probes."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Literal, Self
from urllib.parse import parse_qs, urlsplit

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from enbloc.errors import ConfigError

Endpoint = Literal["livez", "healthz", "readyz"]
Check = Callable[[], bool]

#: A client that sends or reads slower than this is cut off (seconds).
CLIENT_SECONDS: Final = 5.0


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
        handler = type("Handler", (_Handler,), {"health": health})
        try:
            self._server = ThreadingHTTPServer((address, port), handler)
        except OSError as error:
            raise ConfigError(
                f"--health-port: cannot listen on {address}:{port}: {error.strerror}; choose "
                "another port, or 0 for no health server"
            ) from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="health", daemon=True
        )

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    health: Health
    timeout = CLIENT_SECONDS

    def do_GET(self) -> None:  # http.server's name
        """Answer one of the four paths."""
        url = urlsplit(self.path)
        name = url.path.strip("/")
        if name == "metrics":
            self._answer(200, generate_latest(), CONTENT_TYPE_LATEST)
        elif name in {"livez", "healthz", "readyz"}:
            code, text = self.health.report(name, url.query)
            self._answer(code, text.encode())
        else:
            self._answer(404, b"not found; served are /livez, /healthz, /readyz and /metrics\n")

    def _answer(
        self, code: int, body: bytes, content_type: str = "text/plain; charset=utf-8"
    ) -> None:
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """The Server header: no versions for strangers."""
        return "enbloc"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's name
        """Probes come every few seconds: nothing to log."""
