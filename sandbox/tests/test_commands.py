# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The commands that the sandbox adds to `enbloc`."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from enbloc.cli import main
from enbloc.cli.other_packages import GROUP, SANDBOX, load

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def declared() -> dict[str, str]:
    """What the package declares."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    return dict(project["entry-points"][GROUP])


def test_enbloc_knows_what_they_are_called_and_what_they_do() -> None:
    commands = {name: load(EntryPoint(name, value, GROUP)) for name, value in declared().items()}
    assert {name: command.short_help for name, command in commands.items()} == SANDBOX


def test_they_are_listed_among_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "  sandbox      Run a local API server" in shown
    assert "  demo         Show that two gangs" in shown


@pytest.mark.parametrize("name", SANDBOX)
def test_each_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: enbloc {name} ")


def test_what_is_no_number_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox", "--nodes=few"]) == 2
    assert "'few' is not a valid integer" in capsys.readouterr().err
