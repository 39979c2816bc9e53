# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""enbloc's own processes, as a user starts them: real ones, with logs, that can be killed."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tests.e2e.forked import Forked, fork
from tests.hack.processes import Process

#: From SIGTERM to the end; the process itself gives its Bindings 20 s.
STOP_SECONDS = 30.0

ROOT = Path(__file__).parent.parent.parent
SOURCE = os.pathsep.join(str(ROOT / folder) for folder in ("operator", "sandbox/src"))
COMMAND = (sys.executable, "-m", "enbloc")


def environment() -> dict[str, str]:
    """What a process gets to know of ours: where programs are."""
    path = os.environ.get("PATH", os.defpath)
    return {
        "PATH": path,
        "PYTHONPATH": SOURCE,
    }  # the code beside these tests, not what is installed


class Server(Process):
    """`enbloc scheduler`, `controller`, `run` or `sandbox`.

    Args:
        command: which of them.
        arguments: its flags.
        log: where its output goes.
        folders: what is there can be imported, as if it were installed.
    """

    def __init__(
        self, command: str, arguments: Sequence[str], log: Path, folders: Sequence[Path] = ()
    ) -> None:
        env = environment()
        env["PYTHONPATH"] = os.pathsep.join([env["PYTHONPATH"], *map(str, folders)])
        super().__init__(command, [*COMMAND, command, *arguments], log, env)

    def text(self) -> str:
        """All that it has logged so far."""
        return self.log.read_text(errors="replace")

    def must_run(self) -> None:
        """Raise, with the end of its log, if it has ended by itself."""
        self.check()

    def kill(self) -> None:
        """End it as a crash does (SIGKILL)."""
        self.stop(0)

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end, and wait until it has; its exit code."""
        self.must_run()
        return await asyncio.to_thread(self.finish, number, STOP_SECONDS)


class ForkedServer(Server):
    """The same, without the second of CPU that imports take."""

    def _spawn(self, log: BinaryIO) -> Forked:
        del log
        return fork(self._command[len(COMMAND) :], self.log, self._environment)


@dataclass(frozen=True)
class Ended:
    """A command that has run to its end."""

    returncode: int
    stdout: str
    stderr: str


async def run(*arguments: str, seconds: float = 30.0) -> Ended:
    """Run `enbloc …` to its end; killed, and TimeoutError, if that does not come in time."""
    return await finished([*COMMAND, *arguments], environment(), seconds=seconds)


async def finished(
    command: Sequence[str], env: Mapping[str, str], *, stdin: str = "", seconds: float = 60.0
) -> Ended:
    """Run a command to its end; killed, and TimeoutError, if that does not come in time."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, env=env
    )
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate(stdin.encode())
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


async def told(command: Sequence[str], env: Mapping[str, str], until: str) -> str:
    """What a command prints up to the first line that holds a text; then it is killed."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, env=env
    )
    assert process.stdout is not None
    text = ""
    try:
        while until not in text:
            line = await process.stdout.readline()
            assert line, f"{command} ended without saying {until!r}:\n{text}"
            text += line.decode()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return text
