# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that a test starts end with it, in every way a test can end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hack.build_controlplane import HACK
from tests.hack.processes import Process, ProcessError, free_port, runs, wait_until

pytestmark = pytest.mark.processes

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]
SLOW = """
import signal, time
time.sleep(0.3)
signal.signal(signal.SIGTERM, lambda *_: exit(7))
print("up", flush=True)
time.sleep(60)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(60)
"""
TAKES_A_PORT = """
import random
random.sample = lambda ports, _: ports[:2]
from tests.hack.processes import free_port
print(free_port())
"""
PARENT = """
import sys, time
from pathlib import Path
from tests.hack.processes import Process
process = Process("sleep", {command!r}, Path({log!r}))
process.start()
print(process.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Make a process that is stopped at the end, whatever the test came to."""
    made: list[Process] = []

    def _make(name: str, command: list[str]) -> Process:
        made.append(Process(name, command, tmp_path / name))
        return made[-1]

    yield _make
    for process in made:
        process.stop()


def test_a_process_that_is_asked_to_end_tells_its_exit_code(make: Callable[..., Process]) -> None:
    process = make("sleep", SLEEP)
    process.start()
    assert process.finish(signal.SIGTERM, 10) == -signal.SIGTERM
    assert process.pid == 0


def test_a_process_is_not_asked_to_end_before_its_first_line(make: Callable[..., Process]) -> None:
    process = make("slow", [sys.executable, "-c", SLOW])
    for _ in range(2):  # its log is the same one, and is not empty the second time
        process.start()
        assert process.finish(signal.SIGTERM, 10) == 7


def test_a_process_that_says_nothing_is_killed_and_named(make: Callable[..., Process]) -> None:
    process = make("silent", [sys.executable, "-c", "import time; time.sleep(60)"])
    process.start()
    pid = process.pid
    with pytest.raises(ProcessError, match=r"silent has written to its log: not within 0\.2 s"):
        process.finish(signal.SIGTERM, 0.2)
    assert not runs(pid)


def test_a_process_that_was_asked_to_end_has_not_ended_by_itself(
    make: Callable[..., Process],
) -> None:
    process = make("sleep", SLEEP)
    process.start()
    ending = threading.Thread(target=process.finish, args=(signal.SIGTERM, 10))
    ending.start()
    while ending.is_alive():
        process.check()
    ending.join()


def test_a_process_that_does_not_end_is_killed_and_named(make: Callable[..., Process]) -> None:
    process = make("stubborn", [sys.executable, "-c", STUBBORN])
    process.start()
    pid = process.pid
    wait_until("it is up", lambda: "up" in process.tail(1), [process])
    with pytest.raises(ProcessError, match=r"stubborn has not ended 0\.2 s after SIGTERM"):
        process.finish(signal.SIGTERM, 0.2)
    assert not runs(pid)


def test_a_stopped_process_is_gone(make: Callable[..., Process]) -> None:
    process = make("sleep", SLEEP)
    process.start()
    pid = process.pid
    assert runs(pid)
    process.stop()
    assert not runs(pid)
    assert process.pid == 0


def test_a_process_that_ignores_the_request_is_killed(make: Callable[..., Process]) -> None:
    process = make("stubborn", [sys.executable, "-c", STUBBORN])
    process.start()
    pid = process.pid
    wait_until("it ignores SIGTERM", lambda: "up" in process.tail(), [process])
    process.stop(0.2)
    assert not runs(pid)


def test_stopping_twice_is_harmless(make: Callable[..., Process]) -> None:
    process = make("sleep", SLEEP)
    process.stop()
    process.start()
    process.stop()
    process.stop()


def test_an_early_death_shows_the_end_of_the_log(make: Callable[..., Process]) -> None:
    command = [sys.executable, "-c", "print('bad flag'); raise SystemExit(3)"]
    process = make("server", command)
    process.start()
    with pytest.raises(ProcessError, match=r"server ended by itself with code 3\n.*\nbad flag"):
        wait_until("it is ready", lambda: False, [process])


def test_a_wait_that_takes_too_long_shows_the_logs(make: Callable[..., Process]) -> None:
    process = make("sleep", SLEEP)
    process.start()
    with pytest.raises(ProcessError, match=r"it is ready: not within 0.1 s\n.*sleep's log"):
        wait_until("it is ready", lambda: False, [process], seconds=0.1)


def test_a_process_dies_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    script = PARENT.format(command=SLEEP, log=str(tmp_path / "log"))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=HACK.parent
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert runs(pid)
        parent.kill()
    wait_until("it is gone", lambda: not runs(pid), [], seconds=10)


def test_a_process_outlives_the_thread_that_started_it(make: Callable[..., Process]) -> None:
    process = make("sleep", SLEEP)
    thread = threading.Thread(target=process.start)
    thread.start()
    thread.join()
    time.sleep(0.3)  # noqa: TID251  # the thread begins
    process.check()
    assert runs(process.pid)


def test_nothing_of_the_environment_but_the_path_reaches_a_process(
    make: Callable[..., Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCD_DATA_DIR", "/elsewhere")
    command = [sys.executable, "-c", "import os; print(*os.environ)"]
    process = make("env", command)
    process.start()
    wait_until("it has spoken", lambda: "PATH" in process.tail(), [])
    process.stop()
    assert "ETCD_DATA_DIR" not in process.tail()


def test_a_port_is_given_to_one_process_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("random.sample", lambda ports, _: ports[:2])
    other = subprocess.run(
        [sys.executable, "-c", TAKES_A_PORT],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        cwd=HACK.parent,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    # It has ended, and so its port is free again.
    first, second = free_port(), free_port()
    assert first == int(other.stdout)
    assert second != first
    with pytest.raises(ProcessError, match="no free port"):
        free_port()


def test_a_free_port_can_be_bound_and_is_not_one_of_outgoing_connections() -> None:
    port = free_port()
    assert 20000 <= port < 32000
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
