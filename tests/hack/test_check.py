# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`make check` and pre-commit run the same checks, and a failure is named."""

import sys
from pathlib import Path

import pytest
import yaml

from hack import check


def test_pre_commit_runs_exactly_the_checks() -> None:
    config = yaml.safe_load(Path(".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repo,) = config["repos"]

    assert [hook["id"] for hook in repo["hooks"]] == list(check.CHECKS)
    for hook in repo["hooks"]:
        assert hook["entry"] == f".venv/bin/python hack/check.py {hook['id']}"


@pytest.mark.processes
def test_a_command_that_fails_is_reported_with_what_it_said() -> None:
    said = check.command(sys.executable, "-c", "import sys; sys.exit('line 7: wrong')")

    assert said == check.Result("FAILED", "line 7: wrong")


@pytest.mark.processes
def test_a_command_that_succeeds_says_nothing() -> None:
    assert check.command(sys.executable, "-c", "print('chatter')") == check.Result("ok")


@pytest.mark.processes
def test_a_tool_that_is_not_installed_fails_and_says_what_to_do() -> None:
    said = check.command("no-such-tool-of-ours")

    assert said.state == "FAILED"
    assert "make setup" in said.text


def test_a_check_that_does_not_exist_is_refused_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        check.main(["mipy"])

    assert "unknown: mipy; known: ruff, format, mypy" in capsys.readouterr().err


def test_one_line_per_check_and_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["source-root"]) == 0

    first, last = capsys.readouterr().out.splitlines()
    assert first.split()[:2] == ["ok", "source-root"]
    assert last == "all passed"


def test_results_come_in_the_order_of_the_names() -> None:
    names = ["quarantine", "source-root", "licences"]

    assert [name for name, _ in check.results(names)] == names


@pytest.mark.controlplane
@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        pytest.param("echo ${{ matrix.python }}", 'property "python" is not defined', id="context"),
        pytest.param("rm -r $BUILD", "SC2086", id="script"),
    ],
)
def test_a_mistake_in_a_workflow_is_named(step: str, wrong: str, tmp_path: Path) -> None:
    jobs = {"check": {"runs-on": "ubuntu-24.04", "steps": [{"run": step}]}}
    workflow = tmp_path / "ci.yml"
    workflow.write_text(yaml.safe_dump({"on": "push", "jobs": jobs}), encoding="utf-8")

    said = check.linted([workflow])

    assert said.state == "FAILED"
    assert "ci.yml:" in said.text
    assert wrong in said.text
