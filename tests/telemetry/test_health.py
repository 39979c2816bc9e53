# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Probes are answered from a thread of their own, without any data."""

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from enbloc.errors import ConfigError
from enbloc.telemetry import Health, Server, metrics
from enbloc.telemetry.server import MOST_CONNECTIONS
from tests.effort import slow


class Checks:
    def __init__(self) -> None:
        self.synced = True
        self.beating = True
        self.health = Health()
        self.health.register("watches", lambda: self.synced, "readyz")
        self.health.register("loop", lambda: self.beating, "livez", "healthz", "readyz")


@pytest.fixture
def checks() -> Checks:
    return Checks()


@pytest.fixture
def url(checks: Checks) -> Iterator[str]:
    with Server(checks.health, 0) as server:
        yield f"http://127.0.0.1:{server.port}"


def get(url: str) -> tuple[int, str]:
    try:
        with urlopen(url, timeout=60) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1])


@pytest.mark.parametrize("endpoint", ["livez", "healthz", "readyz"])
def test_well_is_one_word(url: str, endpoint: str) -> None:
    assert get(f"{url}/{endpoint}") == (200, "ok")


def test_a_failed_check_is_named_and_nothing_else(url: str, checks: Checks) -> None:
    checks.synced = False
    assert get(f"{url}/livez") == (200, "ok")
    lines = ["[+]ping ok", "[-]watches failed: reason withheld", "[+]loop ok"]
    assert get(f"{url}/readyz") == (500, "\n".join([*lines, "readyz check failed\n"]))


def test_verbose_lists_all_checks(url: str) -> None:
    text = "[+]ping ok\n[+]watches ok\n[+]loop ok\nreadyz check passed\n"
    assert get(f"{url}/readyz?verbose") == (200, text)


def test_checks_can_be_excluded(url: str, checks: Checks) -> None:
    checks.synced = checks.beating = False
    assert get(f"{url}/readyz?exclude=watches")[0] == 500
    code, text = get(f"{url}/readyz?verbose&exclude=watches&exclude=loop")
    assert code == 200
    assert "[+]watches excluded: ok" in text


def test_a_check_that_breaks_has_failed(url: str, checks: Checks) -> None:
    checks.health.register("broken", lambda: 1 / 0 > 0, "livez")
    assert get(f"{url}/livez")[0] == 500


def test_metrics_are_there(url: str) -> None:
    metrics.WATCH_RESTARTS.labels("pods").inc()
    code, text = get(f"{url}/metrics")
    assert code == 200
    assert 'enbloc_watch_restarts_total{resource="pods"}' in text
    assert 'enbloc_build_info{python_version="' in text


def test_other_paths_say_what_is_there(url: str) -> None:
    code, text = get(f"{url}/nothing")
    assert code == 404
    assert "/readyz" in text


@pytest.mark.parametrize("path", ["/livez", "/readyz?verbose", "/metrics", "/nothing"])
def test_head_answers_as_get_does_without_the_body(url: str, path: str) -> None:
    answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
    for method in ("GET", "HEAD"):
        connection = http.client.HTTPConnection("127.0.0.1", port_of(url), timeout=10)
        connection.request(method, path)
        response = connection.getresponse()
        headers = {name: value for name, value in response.getheaders() if name != "Date"}
        answers[method] = (response.status, headers, response.read())
        connection.close()
    (code, headers, body), (head_code, head_headers, head_body) = answers["GET"], answers["HEAD"]
    assert (head_code, head_body) == (code, b"")
    assert body
    assert headers["Content-Length"] == str(len(body))
    if path != "/metrics":  # which counts seconds
        assert head_headers == headers


@pytest.mark.parametrize(
    ("request_bytes", "code"),
    [
        (b"POST /livez HTTP/1.1\r\n\r\n", b"405"),
        (b"GET\r\n\r\n", b"400"),
        (b"\xff\x00 \x1b HTTP/9\r\n\r\n", b"400"),
        (b"GET /livez HTTP/1.0\r\n\r\n", b"200"),
        (b"GET //[?% HTTP/1.1\r\n\r\n", b"404"),
    ],
)
def test_what_is_no_probe_gets_an_answer_that_says_so(
    url: str, request_bytes: bytes, code: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", port_of(url)), timeout=10) as client:
        client.sendall(request_bytes)
        assert client.recv(1024).split(b" ")[1] == code


def test_a_request_without_end_is_cut_off(url: str) -> None:
    with socket.create_connection(("127.0.0.1", port_of(url)), timeout=10) as client:
        try:
            client.sendall(b"GET /livez HTTP/1.1\r\nX: " + b"x" * 2**20)
            assert client.recv(1024) == b""
        except ConnectionError:
            pass  # as good: the server has closed it
    assert get(f"{url}/livez") == (200, "ok")


# ── slow clients ─────────────────────────────────────────────────────────────────────────────


def silent(client: socket.socket) -> None:
    """Says nothing."""
    del client


def halting(client: socket.socket) -> None:
    """Begins a request."""
    client.sendall(b"GET /livez HTTP/1.1\r\nHost: ")


def deaf(client: socket.socket) -> None:
    """Asks for what is long, and does not read it."""
    client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")


def open_files() -> int:
    """How many files this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.parametrize(
    ("slowness", "count"),
    [
        (silent, MOST_CONNECTIONS + 20),
        (halting, MOST_CONNECTIONS + 20),
        (deaf, 40),
        *(
            pytest.param(how, 2000, marks=slow("2 000 connections"))
            for how in (silent, halting, deaf)
        ),
    ],
)
def test_a_probe_is_answered_while_slow_clients_hang(
    url: str, slowness: Callable[[socket.socket], None], count: int
) -> None:
    """And they take neither a thread each, nor more than a bounded number of connections."""
    threads, files = threading.active_count(), open_files()
    with ExitStack() as clients:
        for done in range(count):
            client = clients.enter_context(socket.create_connection(("127.0.0.1", port_of(url))))
            with suppress(ConnectionError):  # already ended, in favour of later ones
                slowness(client)
            if done % 50 == 0:
                assert get(f"{url}/livez") == (200, "ok")
        assert get(f"{url}/livez") == (200, "ok")
        assert threading.active_count() == threads
        # Those here, their counterparts, and as many that are being closed.
        assert open_files() - files <= count + 2 * MOST_CONNECTIONS


def test_a_taken_port_is_a_clear_error(checks: Checks) -> None:
    with (
        Server(checks.health, 0) as server,
        pytest.raises(ConfigError, match="--health-port: cannot listen on"),
    ):
        Server(checks.health, server.port)


def test_it_ends_while_clients_hang_and_answers_no_more(checks: Checks) -> None:
    with Server(checks.health, 0) as server:
        port = server.port
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        assert get(f"http://127.0.0.1:{port}/livez") == (200, "ok")
    for client in clients:
        with client:
            assert client.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
