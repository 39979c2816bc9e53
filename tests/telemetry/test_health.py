# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Probes are answered from a thread of their own, without any data."""

import socket
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from enbloc.errors import ConfigError
from enbloc.telemetry import Health, HealthServer, metrics


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
    with HealthServer(checks.health, 0) as server:
        yield f"http://127.0.0.1:{server.port}"


def get(url: str) -> tuple[int, str]:
    try:
        with urlopen(url, timeout=5) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


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


def test_a_client_that_says_nothing_blocks_nobody(url: str) -> None:
    port = int(url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port)):
        assert get(f"{url}/livez") == (200, "ok")


def test_a_taken_port_is_a_clear_error(checks: Checks) -> None:
    with (
        HealthServer(checks.health, 0) as server,
        pytest.raises(ConfigError, match="--health-port: cannot listen on"),
    ):
        HealthServer(checks.health, server.port)
