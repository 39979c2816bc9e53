# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
from pathlib import Path

import pytest
from aiohttp import web

import enbloc
from enbloc.cli import main
from enbloc.cli.entry import COMMANDS
from tests.cli.processes import python, started, unreachable
from tests.client.fake import serving
from tests.hack.processes import free_port


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in COMMANDS:
        assert f"  {name} " in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_exists_and_explains_itself(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    assert "Usage: enbloc " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["nonsense"], "No such command 'nonsense'", id="unknown command"),
        pytest.param(["drain-checks"], "Did you mean 'drain-check'?", id="nearly a command"),
        pytest.param(["config", "checks"], "Did you mean 'check'?", id="nearly a subcommand"),
        pytest.param(["doctor", "--releas=a"], "Did you mean '--release'?", id="nearly a flag"),
        pytest.param(["scheduler", "--bogus"], "No such option '--bogus'", id="unknown flag"),
        pytest.param(["run", "--health-port", "70000"], "not in the range", id="bad port"),
        pytest.param(
            ["scheduler", "--kubeconfig", "/does/not/exist"],
            "/does/not/exist: no such file; pass --kubeconfig FILE",
            id="no such kubeconfig",
        ),
        pytest.param(
            ["version", "--kubeconfig", "/does/not/exist"], "no such file", id="as for version"
        ),
        pytest.param(
            ["run", "--dump-dir", "/does/not/exist"],
            "Invalid value for --dump-dir: cannot write to /does/not/exist: No such file or "
            "directory; name an existing directory that is writable",
            id="no such directory for dumps",
        ),
        pytest.param(
            ["scheduler", "--dump-dir", __file__],
            f"cannot write to {__file__}: Not a directory; name an existing directory",
            id="dumps into a file",
        ),
    ],
)
def test_bad_usage_says_what_is_wrong_and_exits_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.processes
@pytest.mark.parametrize("command", ["scheduler", "controller", "run"])
async def test_a_server_without_any_kubeconfig_says_that_and_nothing_else(
    tmp_path: Path, command: str
) -> None:
    home = str(tmp_path)
    flags = (command, "--log-format=text", f"--secure-port={free_port()}")
    async with started(*flags, KUBECONFIG="", KUBERNETES_SERVICE_HOST="", HOME=home) as process:
        async with asyncio.timeout(60):
            _, errors = await process.communicate()
    [line] = errors.decode().splitlines()
    assert line.startswith(f"error: {home}/.kube/config: no such file; pass --kubeconfig FILE")
    assert process.returncode == 2


def test_without_a_command_the_help_is_shown_and_the_code_is_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().err


def test_the_client_version_needs_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--client"]) == 0
    assert capsys.readouterr().out == f"enbloc {enbloc.__version__}\n"


def test_the_version_is_a_flag_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"enbloc {enbloc.__version__}\n"


@pytest.mark.processes
async def test_without_any_kubeconfig_the_version_of_the_client_is_answer_enough(
    tmp_path: Path,
) -> None:
    home = str(tmp_path)
    async with started("version", KUBECONFIG="", KUBERNETES_SERVICE_HOST="", HOME=home) as process:
        async with asyncio.timeout(60):
            output, errors = await process.communicate()
    assert (process.returncode, output.decode()) == (0, f"enbloc {enbloc.__version__}\n")
    assert errors.decode() == "no kubeconfig here, so no API server was asked\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_for_which_there_is_no_room_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr("sys.stdout", full)
        assert main(["version", "--client"]) == 1
    error = "error: the output cannot be written: No space left on device\n"
    assert capsys.readouterr().err == error


def test_an_unreachable_server_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["version", "--kubeconfig", str(unreachable(tmp_path))]) == 1
    captured = capsys.readouterr()
    assert captured.out == f"enbloc {enbloc.__version__}\n"
    assert captured.err.startswith("error: cannot get /version")


async def test_both_versions_are_printed_and_an_old_server_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def old(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"major": "1", "minor": "29+", "gitVersion": "v1.29.3"})

    async with serving(old) as url:
        path = unreachable(tmp_path)
        path.write_text(path.read_text().replace("http://127.0.0.1:9", url))
        assert await asyncio.to_thread(main, ["version", "--kubeconfig", str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"enbloc {enbloc.__version__}\nKubernetes v1.29.3\n"
    assert captured.err == ("warning: Kubernetes 1.29 is older than 1.32, which enbloc needs\n")


async def test_a_server_that_does_not_tell_its_version_is_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def silent(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"major": "one"})

    async with serving(silent) as url:
        path = unreachable(tmp_path)
        path.write_text(path.read_text().replace("http://127.0.0.1:9", url))
        assert await asyncio.to_thread(main, ["version", "--kubeconfig", str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"enbloc {enbloc.__version__}\nKubernetes of unknown version\n"
    assert captured.err == ""


@pytest.mark.processes
def test_a_kubectl_plugin_is_shown_as_kubectl_calls_it() -> None:
    shown = python(
        "import sys, enbloc.cli\n"
        "sys.argv[0] = '/usr/local/bin/kubectl-enbloc'\n"
        "enbloc.cli.main(['version', '--help'])"
    )
    assert "Usage: kubectl enbloc version" in shown
