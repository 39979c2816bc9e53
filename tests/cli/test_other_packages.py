# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that other packages bring."""

import sys
from pathlib import Path

import pytest

from enbloc.cli import main

GREET = """
import click

@click.command()
def greet():
    click.echo("hello")
"""


def install(folder: Path, name: str, entry_points: str, **modules: str) -> None:
    """Put a package into a folder, as pip does."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which packages are found."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_command_is_listed_with_its_package_and_run_like_others(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "greeter", "[enbloc.commands]\ngreet = greeter_one:greet\n", greeter_one=GREET)
    assert main(["--help"]) == 0
    assert "  greet        From the package greeter.\n" in capsys.readouterr().out
    assert main(["greet"]) == 0
    assert capsys.readouterr().out == "hello\n"
    assert main(["gret"]) == 2
    assert "Did you mean 'greet'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        pytest.param(
            {"broken_two": "import no_such_module"},
            "cannot be imported from broken_two:greet: ModuleNotFoundError: No module named "
            "'no_such_module'",
            id="it imports what is not there",
        ),
        pytest.param(
            {"broken_two": "greet = len"},
            "is not a click command: broken_two:greet",
            id="it is something else",
        ),
        pytest.param(
            {}, "cannot be imported from broken_two:greet: ModuleNotFoundError", id="it is gone"
        ),
    ],
)
def test_a_command_that_is_broken_is_named_when_it_is_called_and_harms_no_other(
    site: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    modules: dict[str, str],
    message: str,
) -> None:
    monkeypatch.delitem(sys.modules, "broken_two", raising=False)
    install(site, "broken", "[enbloc.commands]\ngreet = broken_two:greet\n", **modules)
    assert main(["greet"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"error: the command greet of broken {message}")
    assert len(said.splitlines()) == 1
    assert main(["--help"]) == 0
    assert "From the package broken." in capsys.readouterr().out
    assert main(["version", "--client"]) == 0


@pytest.mark.parametrize(
    ("entry_points", "warning"),
    [
        pytest.param(
            "[enbloc.commands]\nrun = greeter_one:greet\n",
            "the command run of odd is ignored: the name is taken",
            id="a command of enbloc",
        ),
        pytest.param(
            "[enbloc.commands]\nno value\n",
            "cannot read the entry points of odd: ",
            id="no entry point at all",
        ),
    ],
)
def test_what_cannot_be_a_command_is_named_in_the_list(
    site: Path, capsys: pytest.CaptureFixture[str], entry_points: str, warning: str
) -> None:
    install(site, "odd", entry_points)
    install(site, "good", "[enbloc.commands]\ngreet = greeter_one:greet\n", greeter_one=GREET)
    assert main(["--help"]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith(f"warning: {warning}")
    assert "Run scheduler and controller in one process" in shown.out
    assert "From the package good." in shown.out
    assert main(["greet"]) == 0


def test_of_two_packages_with_a_command_of_one_name_one_is_ignored_by_name(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        install(site, name, f"[enbloc.commands]\ngreet = greeter_{name}:greet\n")
    assert main(["--help"]) == 0
    shown = capsys.readouterr()
    [line] = shown.err.splitlines()
    assert line.startswith("warning: the command greet of ")
    assert shown.out.count("greet ") == 1
