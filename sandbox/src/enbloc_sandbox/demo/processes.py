# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's own processes: a sandbox, and scheduler and controller as its clients."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from enbloc.errors import EnblocError

#: A process that was asked to end gets this long (seconds).
STOP_SECONDS = 10.0
_TAIL = 8


class DemoError(EnblocError):
    """The demo cannot go on; the message says what happened, and where to read more."""


@dataclass(frozen=True, slots=True)
class Child:
    """One process of ours.

    Attributes:
        name: what it is, for messages.
        process: the process.
        log: the file with what it prints.
    """

    name: str
    process: asyncio.subprocess.Process
    log: Path

    def check(self) -> None:
        """It still runs.

        Raises:
            DemoError: it ended; with its last lines.
        """
        if self.process.returncode is not None:
            last = "\n".join(self.log.read_text(errors="replace").splitlines()[-_TAIL:])
            raise DemoError(f"{self.name} ended with code {self.process.returncode}:\n{last}")

    async def end(self, patience: float = STOP_SECONDS) -> None:
        """Ask it to end; after so many seconds, kill it."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.returncode is None:
                self.process.send_signal(number)
            try:
                async with asyncio.timeout(patience):
                    await self.process.wait()
            except TimeoutError:
                continue
            return


@asynccontextmanager
async def running(name: str, arguments: Sequence[str], log: Path) -> AsyncGenerator[Child]:
    """An `enbloc` command as a process of its own, ended gracefully when the block ends.

    Args:
        name: what it is, for messages.
        arguments: of the command line.
        log: the file that takes what it prints.
    """
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "enbloc",
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for us: we end it in order
        )
    child = Child(name, process, log)
    try:
        yield child
    finally:
        await child.end()
