# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc ui` as people start it."""

import asyncio
import re
import signal
import socket
from pathlib import Path

import aiohttp
import pytest

from enbloc.cli import main
from enbloc_sandbox import Sandbox
from tests.cli.processes import started, unreachable
from tests.patience import PATIENCE


def test_a_certificate_without_its_key_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--tls-cert-file", "tls.crt"]) == 2
    assert "belong together; pass both" in capsys.readouterr().err


def test_a_port_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--port", "65536"]) == 2
    assert "--port" in capsys.readouterr().err


@pytest.mark.processes
def test_without_a_cluster_it_does_not_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ui", "--kubeconfig", str(tmp_path / "none")]) == 2
    assert "no such file; pass --kubeconfig" in capsys.readouterr().err


@pytest.mark.processes
def test_a_port_that_is_taken_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "enbloc.yaml"
    config.write_text("apiVersion: config.enbloc.dev/v1alpha1\nkind: EnblocConfiguration\n")
    flags = ("--kubeconfig", str(unreachable(tmp_path)), "--config", str(config))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["ui", *flags, "--port", port]) == 2
    assert f"--port: cannot listen on 127.0.0.1:{port}: " in capsys.readouterr().err


@pytest.mark.processes
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_it_serves_until_it_is_stopped(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    async with Sandbox() as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        flags = ("--port", "0", "--kubeconfig", str(tmp_path / "kubeconfig"))
        async with started("ui", *flags, PYTHONUNBUFFERED="1") as process:
            assert process.stdout is not None
            async with asyncio.timeout(PATIENCE):
                line = (await process.stdout.readline()).decode()
                found = re.fullmatch(
                    r"Serving (http://127\.0\.0\.1:\d+/) \(read-only; .*\)\n", line
                )
                assert found, line
                async with aiohttp.ClientSession() as session:
                    while (await session.get(found[1])).status == 503:  # noqa: ASYNC110  # no event tells
                        await asyncio.sleep(0.1)
                    async with session.get(found[1]) as response:
                        assert "Nobody waits for nodes" in await response.text()
                process.send_signal(number)
                assert await process.wait() == code
