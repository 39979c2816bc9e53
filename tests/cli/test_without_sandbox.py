# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The image carries neither sandbox nor demo, nor the libraries that only they need."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from enbloc.engine.replay.file import DumpFile, encoded
from tests.cli.processes import unreachable
from tests.world.cluster import Cluster

pytestmark = pytest.mark.processes

#: `enbloc` in an interpreter that has none of these modules. A server ends once it has said that it
#: finds no API server: then all that it imports is there.
PROGRAM = """
import logging, os, signal, sys
from importlib import metadata

class Absent:
    names = ("enbloc_sandbox", "cel", "jsonschema_rs")

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

class Ending(logging.Handler):
    def emit(self, record):
        if "127.0.0.1:9" in record.getMessage():
            logging.getLogger("enbloc").removeHandler(self)  # a second signal would cut it short
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Absent())
found = metadata.distributions
metadata.distributions = lambda: (one for one in found() if one.name != "enbloc-sandbox")
logging.getLogger("enbloc").addHandler(Ending())
from enbloc.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", ["scheduler", "controller", "run"])
def test_servers_run_without_the_sandbox(tmp_path: Path, command: str) -> None:
    kubeconfig = str(unreachable(tmp_path))
    code, _, errors = run(
        command, "--kubeconfig", kubeconfig, "--no-leader-elect", "--secure-port", "0"
    )
    assert "127.0.0.1:9" in errors
    assert "Traceback" not in errors
    assert code == 0


def test_the_configuration_is_shown_without_the_sandbox() -> None:
    code, output, errors = run("config", "show")
    assert "KubeSchedulerConfiguration" in output
    assert (code, errors) == (0, "")


def test_a_decision_is_replayed_without_the_sandbox(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=2)
    cluster.gang("g", 2)
    cluster.settle()
    dump = tmp_path / "dump.json.gz"
    file = DumpFile("2026-01-01T00:00:00Z", "0.1.0.dev0", [], cluster.engine.dump())
    dump.write_bytes(gzip.compress(encoded(file)))
    code, output, errors = run("replay", "0-1", "--dump", str(dump))
    assert "The replay decided the same." in output
    assert (code, errors) == (0, "")


@pytest.mark.parametrize("arguments", [(), ("--help",)], ids=["called", "asked for help"])
@pytest.mark.parametrize("command", ["sandbox", "demo"])
def test_commands_of_the_sandbox_say_how_to_get_it(
    command: str, arguments: tuple[str, ...]
) -> None:
    code, output, errors = run(command, *arguments)
    assert errors.startswith(f"error: enbloc {command} comes with the package enbloc-sandbox")
    assert errors.endswith('pip install ".[sandbox]" ./sandbox\n')
    assert len(errors.splitlines()) == 1
    assert (code, output) == (2, "")


def test_they_are_not_listed() -> None:
    code, output, errors = run("--help")
    assert "drain-check" in output
    assert "sandbox" not in output
    assert (code, errors) == (0, "")
