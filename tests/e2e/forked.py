# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc …` in a process that is forked from one that has imported it: no second of CPU a start.

It is a process of its own from there on, with its own environment, log, signals and end. What a
start from nothing does is seen by the tests that are marked `smoke`, by those of the command line,
and by the benchmarks.
"""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final

from enbloc import start

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["enbloc.cli", "enbloc.live.scheduler", "enbloc.controller.shell"])
_PR_SET_PDEATHSIG: Final = 1


class Forked:
    """As much of `subprocess.Popen` as a `Process` uses."""

    def __init__(self, process: ForkServerProcess) -> None:
        assert process.pid is not None, "it was started"
        self._process = process
        self.pid: Final = process.pid

    def poll(self) -> int | None:
        """The exit code, below 0 by a signal; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, no longer than so many seconds; the exit code.

        Raises:
            TimeoutExpired: it runs on.
        """
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired("enbloc", timeout or 0.0)
        return code

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def fork(arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> Forked:
    """Start `enbloc ARGUMENTS`; what it writes goes to the end of a file."""
    process = _CONTEXT.Process(target=_become, args=([*arguments], log, {**environment}))
    process.start()
    return Forked(process)


def _become(arguments: list[str], log: Path, environment: dict[str, str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setpgid(0, 0)
    os.environ.clear()
    os.environ.update(environment)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.argv = ["enbloc", *arguments]
    sys.exit(start.main())
