# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Desk: an environment as a plugin author has it, and terminals in which commands run as written.

Nothing comes from the network: the environment borrows the packages of the one that runs the
tests, and pip builds with the hatchling that is there. For editable installs that would need one
package more, so they become plain ones.
"""

import os
import re
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from tests.hack.processes import Process, wait_until
from tests.patience import PATIENCE

ROOT: Final = Path(__file__).parent.parent.parent

_PIP: Final = {
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this as: no isolation
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
_PLAIN: Final = 'if [ "$1 $2" = "install -e" ]; then set -- "$1" "$(realpath "$3")"; fi\n'


class Desk:
    """Terminals that share a folder and variables, until the context ends.

    Args:
        path: an empty folder.
        kubectl: the program; None = a stand-in of ours.
        clone: be in a clone of the repository after `make setup`, whose environment is not
            activated; else in an empty folder, in an environment that is.
        variables: further ones of the first terminal.
    """

    def __init__(
        self,
        path: Path,
        kubectl: Path | None = None,
        *,
        clone: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path
        self._state = path / "state"
        self._servers: list[Process] = []
        environment, programs = path / "environment", path / "programs"
        venv.create(environment, symlinks=True)
        python = environment / "bin" / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        borrowed = environment / "lib" / version / "site-packages" / "borrowed.pth"
        lent = (ROOT / "operator", ROOT / "sandbox/src", sysconfig.get_path("purelib"))
        borrowed.write_text("".join(f"{folder}\n" for folder in lent))
        programs.mkdir()
        installed = environment / "bin"
        shims = {
            installed / "pip": "-m pip",
            installed / "pytest": "-m pytest",
            installed / "enbloc": "-m enbloc",
            programs / "kubectl": str(ROOT / "tests" / "examples" / "kubectl.py"),
        }
        for shim, how in shims.items():
            shim.write_text(f'#!/bin/sh\n{_PLAIN}exec {python} {how} "$@"\n')
            shim.chmod(0o755)
        if kubectl is not None:
            (programs / "kubectl").unlink()
            (programs / "kubectl").symlink_to(kubectl)
        paths = [programs, *(() if clone else (installed,)), os.environ.get("PATH", os.defpath)]
        self._environment = {
            "PATH": os.pathsep.join(map(str, paths)),
            "HOME": str(path),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **_PIP,
            **(variables or {}),
        }
        self.run(f"cd {path}")
        if clone:
            self._clone(environment)

    def _clone(self, environment: Path) -> None:
        """A folder like a clone; what `make setup` installs is there already."""
        folder = self.path / "enbloc"
        folder.mkdir()
        for name in ("Makefile", "requirements", "crds", "helm", "manifests", "sandbox"):
            (folder / name).symlink_to(ROOT / name)
        (folder / ".venv").symlink_to(environment)
        self.run(f"cd {folder} && make --touch setup demo")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._servers:
            self._servers.pop().stop()

    @property
    def folder(self) -> Path:
        """Where the terminals are."""
        return Path(self.run("pwd").strip())

    @property
    def latest(self) -> int:
        """The process id of the command that was left running last."""
        return self._servers[-1].pid

    def run(self, command: str) -> str:
        """Type a command, which must work; what it prints."""
        script = (
            f'if [ -e {self._state} ]; then . {self._state}; cd "$PWD"; fi\n'
            f"{command}\ncode=$?\nexport -p > {self._state}\nexit $code"
        )
        done = subprocess.run(
            ["bash", "-c", script],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def serve(self, command: str) -> Process:
        """Type a command that goes on, in a terminal of its own."""
        now = self._state.read_text()  # the next command changes it while this one begins
        script = f'{now}\ncd "$PWD"; exec {command}'
        log = self.path / f"{len(self._servers)}.log"
        server = Process(command, ["/bin/bash", "-c", script], log, self._environment)
        self._servers.append(server)
        server.start()
        return server

    def sandbox(self, command: str = "enbloc sandbox") -> None:
        """Start it; return when it can be reached."""
        server = self.serve(command)
        file = self.folder / "sandbox.kubeconfig"
        wait_until("the sandbox is there", file.exists, [server], PATIENCE)

    def shows(self, command: str, *lines: str) -> None:
        """Type a command until it prints these lines; see `pattern`."""
        deadline = time.monotonic() + PATIENCE
        while missing := lacking(self.run(command), lines):
            logs = "\n".join(server.tail() for server in self._servers)
            assert time.monotonic() < deadline, f"{command} never printed\n{missing}\n{logs}"
            for server in self._servers:
                server.check()
            time.sleep(0.1)  # noqa: TID251  # between two looks


def pattern(line: str) -> re.Pattern[str]:
    """What a line of the documentation stands for.

    … is anything; blanks are as good as one; ages and addresses are others each time.
    """
    text = re.escape(" ".join(line.split())).replace("…", ".*")
    text = re.sub(r"\b\d+s\b", r"\\d+m?s?", text)
    return re.compile(re.sub(r"\b\d+(\\\.\d+){3}\b", r"[0-9.]+", text))


def lacking(printed: str, lines: tuple[str, ...]) -> str:
    """Which of these lines are not in what was printed; with that, for the message."""
    found = [" ".join(line.split()) for line in printed.splitlines()]
    missing = [line for line in lines if not any(pattern(line).search(each) for each in found)]
    return "\n".join([*missing, "--- it printed:", printed]) if missing else ""
