# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Run a command, and keep what it prints."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_logged(
    command: Sequence[str], log: Path, *, cwd: Path, env: Mapping[str, str], show: bool = True
) -> int:
    """Run a command without input; its exit code.

    Args:
        command: the program and its arguments.
        log: takes all that it prints.
        cwd: where it runs.
        env: its environment.
        show: print it as it comes, too.
    """
    with (
        log.open("w", encoding="utf-8", errors="replace") as kept,
        subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None  # it is a pipe
        for line in process.stdout:
            kept.write(line)
            if show:
                print(line, end="", flush=True)
    return process.returncode
