# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a test may not do that other processes or the clock could make fail.

It starts no process, talks to nobody but this machine, and lives in virtual time. Exceptions are
marked: `controlplane`, `kubectl` and `processes` may do all of that, and are no part of `make
test`; `real_time` waits for real seconds, and says why. What is drawn at random, as by a back-off,
is the same each time.
"""

import asyncio
import ipaddress
import logging
import random
import sys
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.effort import deep
from tests.world.virtual_time import VirtualTimeLoop

#: Marks of what talks to other processes.
OUTSIDE: Final = ("controlplane", "kubectl", "processes", "browser")
REAL_TIME: Final = "real_time"

_STARTS: Final = frozenset({
    "subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn",
    "os.system", "pty.spawn",
})  # fmt: skip


class Confinement:
    """What the test that runs may do."""

    def __init__(self) -> None:
        self._test = ""
        self._broken = ""
        self._loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
        self._level = logging.root.level
        sys.addaudithook(self._audit)

    def begins(self, item: pytest.Item) -> None:
        """A test is about to be set up."""
        self._level = logging.root.level
        outside = any(item.get_closest_marker(mark) for mark in OUTSIDE)
        real = outside or item.get_closest_marker(REAL_TIME)
        self._test, self._broken = "" if outside else item.nodeid, ""
        self._loop = asyncio.new_event_loop if real else VirtualTimeLoop
        random.seed(None if outside or deep() else item.nodeid)

    def ended(self) -> None:
        """It has been torn down.

        Raises:
            AssertionError: it did what it may not, wherever that was caught.
        """
        self._test = ""
        logging.root.setLevel(self._level)  # a command that ran has set what it logs
        assert not self._broken, self._broken

    def forgive(self) -> None:
        """Forget what it did."""
        self._broken = ""

    def new_loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the test."""
        return self._loop()

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._test:
            return
        if event in _STARTS:
            self._break("starts a process: mark it `processes`")
        if event == "socket.connect" and not _is_here(arguments[1]):
            self._break(f"connects to {arguments[1]}, not to a fake")

    def _break(self, what: str) -> None:
        self._broken = f"{self._test} {what}"
        raise AssertionError(self._broken)


def _is_here(address: Any) -> bool:
    """Whether the address of a socket is this machine's, and no name of a host."""
    if not isinstance(address, tuple):
        return True  # a file
    try:
        return ipaddress.ip_address(address[0]).is_loopback
    except ValueError:
        return address[0] in ("", "localhost")


#: Of the process: such a hook cannot be taken back.
CONFINEMENT: Final = Confinement()
