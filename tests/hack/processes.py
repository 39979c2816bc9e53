# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Server processes that a test starts, and that never outlive it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Protocol

# Asks the kernel to kill this process when its parent dies, then becomes the server. A wrapper
# and not a `preexec_fn`, which may deadlock when the parent has threads.
DIE_WITH_PARENT = """
import ctypes, os, sys
parent, *command = sys.argv[1:]
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
if os.getppid() == int(parent):
    os.execv(command[0], command)
"""


# How long a server may take to end well.
STOP_SECONDS = 10.0


class ProcessError(Exception):
    """A server died, or did not become ready; the message ends with its log."""


class Started(Protocol):
    """As much of `subprocess.Popen` as a `Process` uses."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int) -> None: ...

    def kill(self) -> None: ...


class Process:
    """One server, its log file, and its end."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self._command = list(command)
        # Nothing of the developer's: etcd reads ETCD_*, Go reads proxies and GODEBUG.
        self._environment = environment or {"PATH": os.environ.get("PATH", os.defpath)}
        self._popen: Started | None = None
        #: The size of its log before it has written to it (bytes).
        self._silent = 0
        #: It was told to end: that it has is no surprise.
        self._asked = False
        self._starter: ThreadPoolExecutor | None = None

    @property
    def pid(self) -> int:
        """The process id while it runs, else 0."""
        return 0 if self._popen is None else self._popen.pid

    def start(self) -> None:
        """Start it; readiness is for the caller to wait for."""
        # The kernel counts the end of the *thread* that started a process as its parent's death.
        # This thread lives until `stop`; the caller's may be a worker of a short-lived pool.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix=self.name)
        self._asked = False
        self._popen = self._starter.submit(self._start).result()

    def _start(self) -> Started:
        with self.log.open("ab") as log:
            self._silent = log.tell()
            return self._spawn(log)

    def _spawn(self, log: BinaryIO) -> Started:
        wrapper = [sys.executable, "-I", "-S", "-c", DIE_WITH_PARENT, str(os.getpid())]
        return subprocess.Popen(
            [*wrapper, *self._command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(self._environment),
            # Ctrl-C in a terminal goes to the test, which then stops its servers in order.
            process_group=0,
        )

    def _has_begun(self) -> bool:
        return self.log.stat().st_size > self._silent

    def check(self) -> None:
        """Raise if it was started and has ended by itself."""
        code = self.ended
        # Looked at in this order: another thread may be asking it to end just now.
        if code is not None and not self._asked:
            raise ProcessError(f"{self.name} ended by itself with code {code}\n{self.tail()}")

    @property
    def ended(self) -> int | None:
        """The exit code if it has ended by itself; None while it runs, and after `stop`."""
        popen = self._popen
        return None if popen is None else popen.poll()

    def terminate(self) -> None:
        """Ask it to end, without waiting."""
        if self._popen is not None:
            with contextlib.suppress(ProcessLookupError):
                self._popen.send_signal(signal.SIGTERM)

    def finish(self, number: signal.Signals, seconds: float) -> int:
        """Send it a signal and wait until it has ended; its exit code.

        Before its first line a process has no handler yet, and the signal would end it at once:
        it is waited for, no longer than the end itself.

        Raises:
            ProcessError: it said nothing, ended by itself, or runs on; it is killed then.
        """
        assert self._popen is not None, f"{self.name} was not started"
        try:
            wait_until(f"{self.name} has written to its log", self._has_begun, [self], seconds)
        except ProcessError:
            self.stop(0)
            raise
        self._asked = True
        self._popen.send_signal(number)
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ProcessError(
                f"{self.name} has not ended {seconds:g} s after {number.name}\n{self.tail()}"
            ) from None
        finally:
            self.stop(0)

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """End it: asked first, and killed after so many seconds (0: killed without asking)."""
        if self._popen is not None:
            if seconds > 0:
                self.terminate()
            try:
                self._popen.wait(seconds)
            except subprocess.TimeoutExpired:
                self._popen.kill()
                self._popen.wait()
            self._popen = None
        if self._starter is not None:
            self._starter.shutdown()
            self._starter = None

    def tail(self, lines: int = 25) -> str:
        """The end of its log, under a heading."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join([f"--- the end of {self.name}'s log:", *text.splitlines()[-lines:]])


def wait_until(
    what: str, probe: Callable[[], bool], processes: Sequence[Process], seconds: float = 90.0
) -> None:
    """Wait until the probe holds; an error at once if one of the processes dies meanwhile."""
    deadline = time.monotonic() + seconds
    while not probe():
        for process in processes:
            process.check()
        if time.monotonic() > deadline:
            logs = "\n".join(process.tail() for process in processes)
            raise ProcessError(f"{what}: not within {seconds:g} s\n{logs}")
        time.sleep(0.05)  # noqa: TID251  # between two looks


def runs(pid: int) -> bool:
    """Whether a process is there, and not merely waiting to be reaped (Linux)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    # The state follows the name, which is in parentheses and may hold some itself.
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def _reserved(lock: Path) -> bool:
    """Take a lock that the kernel drops when this process ends; whether nobody has it."""
    handle = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return False
    return True  # the handle stays open


def free_port() -> int:
    """A free port of 127.0.0.1, below those that the kernel gives to outgoing connections.

    It is this process' own as long as that lives: a server may bind it later, and again after a
    restart, whatever other processes ask for here meanwhile.
    """
    locks = Path(tempfile.gettempdir(), f"enbloc-ports-{os.getuid()}")
    locks.mkdir(exist_ok=True)
    # From the kernel's own range a client could be given the port of a server that is down for
    # a restart (it may even connect to itself), and the server could not come back.
    for port in random.sample(range(20000, 32000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if _reserved(locks / str(port)):
                return port
    raise ProcessError("no free port between 20000 and 32000")
