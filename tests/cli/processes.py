# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: a fresh interpreter, a server that nobody runs."""

import subprocess
import sys
from pathlib import Path


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
