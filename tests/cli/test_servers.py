# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from enbloc.cli import main
from tests.cli.processes import unreachable

pytestmark = pytest.mark.processes


@contextmanager
def server(directory: Path, *arguments: str) -> Generator[subprocess.Popen[str]]:
    """A server process that looks for an API server in vain."""
    command = [sys.executable, "-m", "enbloc", *arguments]
    with subprocess.Popen(
        [*command, "--kubeconfig", str(unreachable(directory)), "--secure-port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], text: str) -> list[str]:
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"{text!r} never came:\n{''.join(lines)}")


@pytest.mark.parametrize("command", ["scheduler", "controller", "run"])
def test_an_unreachable_server_is_said_once_and_waited_for(tmp_path: Path, command: str) -> None:
    with server(tmp_path, command, "--log-format", "text", "--no-leader-elect") as process:
        read_until(process, "127.0.0.1:9")
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=30)
        assert "Traceback" not in rest
        assert process.returncode == 0


def test_a_standby_stops_at_once_and_an_interrupt_is_told_by_130(tmp_path: Path) -> None:
    with server(tmp_path, "scheduler", "--log-format", "json") as process:
        lines = read_until(process, "Waiting for the Lease")
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=30)
        assert process.returncode == 130
        for line in (*lines, *rest.splitlines()):
            assert line.startswith('{"timestamp":'), line


def test_the_second_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from enbloc.cli import servers\n"
        "async def stubborn(options):\n"
        "    print('ready', file=sys.stderr, flush=True)\n"
        "    await options.stop.wait()\n"
        "    print('stopping', file=sys.stderr, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "def serve(**flags):\n"
        "    return servers.serve(stubborn, 'run', **flags)\n"
        "servers.run.callback = serve\n"
        "servers.run.main(['--log-format=text', '--secure-port=0'])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        read_until(process, "ready")
        process.send_signal(signal.SIGTERM)
        read_until(process, "stopping")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 128 + signal.SIGTERM


@pytest.mark.parametrize("command", ["scheduler", "run"])
def test_sigusr1_asks_for_a_dump_that_can_be_read(tmp_path: Path, command: str) -> None:
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    with server(tmp_path, command, "--no-leader-elect", "--dump-dir", str(dumps)) as process:
        read_until(process, "127.0.0.1:9")
        process.send_signal(signal.SIGUSR1)
        [*_, line] = read_until(process, "Wrote a dump to")
        [path] = dumps.iterdir()
        assert str(path) in line
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        assert process.returncode == 0
    assert main(["replay", "--dump", str(path)]) == 0


@pytest.mark.parametrize("command", ["scheduler", "controller", "run"])
def test_a_server_that_is_stopped_while_it_starts_ends_at_once_and_well(
    tmp_path: Path, command: str
) -> None:
    """A kubelet does that every day; here the first thing that is imported takes for ever."""
    slow = "import sys, time\nprint('importing', file=sys.stderr, flush=True)\ntime.sleep(600)\n"
    (tmp_path / "click.py").write_text(slow)
    with subprocess.Popen(
        [sys.executable, "-m", "enbloc", command],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    ) as process:
        read_until(process, "importing")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
