# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: processes, and a server that nobody runs."""

import asyncio
import os
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def started(
    *arguments: str, cwd: Path | None = None, **environment: str
) -> AsyncGenerator[Process]:
    """`enbloc` as people start it, with these variables as well; told to end at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "enbloc",
        *arguments,
        cwd=cwd,
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.communicate()


def python(code: str, *arguments: str) -> str:
    """What a program prints in an interpreter that has imported nothing yet."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def unreachable(directory: Path) -> Path:
    """A kubeconfig of a server that nobody runs."""
    path = directory / "kubeconfig"
    path.write_text(
        """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""
    )
    return path
