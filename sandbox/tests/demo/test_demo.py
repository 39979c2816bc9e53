# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc demo`, as people start it."""

import asyncio
import re
import signal
from pathlib import Path

import pytest

from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.client.paths import POD_GROUPS
from tests.cli.processes import started

pytestmark = pytest.mark.processes


async def test_the_demo_shows_both_acts_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async with started("demo", TMPDIR=str(tmp_path)) as process:
        async with asyncio.timeout(100):
            output, errors = await process.communicate()
    text = output.decode()
    assert (process.returncode, errors) == (0, b""), text
    assert "both jobs hold GPUs, and neither can start" in text
    assert re.search(r"gpu8-0 +a a a a a a a a", text) or re.search(r"gpu8-0 +(a a|b b) ", text)
    assert re.search(r"PodGroup [ab]: Unschedulable — .*nvidia.com/gpu", text)
    assert "gang a is placed, all 8 pods of it" in text
    assert "gang b is placed, all 8 pods of it" in text
    assert "PodGroup a: Succeeded" in text
    assert "PodGroup b: Succeeded" in text
    assert "OK: one by one, both jobs got stuck" in text
    assert "--keep" in text
    assert "\x1b[" not in text
    assert list(tmp_path.iterdir()) == []


async def test_a_trace_is_played_and_kept_until_it_is_ended(tmp_path: Path) -> None:
    trace = tmp_path / "nodes.csv"
    trace.write_text(
        "sn,cpu_milli,memory_mib,gpu,model\n"
        "big,96000,393216,8,G2\nsmall,64000,262144,2,P100\nplain,32000,131072,0,\n"
    )
    folder = tmp_path / "tmp"
    folder.mkdir()
    async with started("demo", "--trace", str(trace), "--keep", TMPDIR=str(folder)) as process:
        assert process.stdout is not None
        lines: list[str] = []
        async with asyncio.timeout(100):
            while not lines or "Ctrl-C" not in lines[-1]:
                line = await process.stdout.readline()
                assert line, (await process.communicate())[1].decode() + "".join(lines)
                lines.append(line.decode())
        text = "".join(lines)
        assert re.search(r"small +(a a|b b|· ·)", text)
        assert "plain " not in text
        exported = re.search(r"export KUBECONFIG=(\S+)", text)
        assert exported
        async with Client(await load(Path(exported[1])), component="test") as client:
            groups = [one["metadata"]["name"] async for one in client.list(POD_GROUPS, "default")]
        assert groups == ["a", "b"]
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            await process.communicate()
    assert process.returncode == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, 143, id="SIGTERM"),
    ],
)
async def test_a_demo_that_is_cut_short_ends_what_it_started(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    async with started("demo", TMPDIR=str(tmp_path)) as process:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            while b"ready" not in await process.stdout.readline():
                continue
        process.send_signal(number)
        async with asyncio.timeout(40):
            await process.communicate()
    assert process.returncode == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param("n,1000,1024,0,\n", "too few GPUs", id="no GPUs"),
        pytest.param("n,x,1024,0,\n", "nodes.csv:2: column cpu_milli", id="a wrong column"),
    ],
)
async def test_nodes_that_cannot_be_used_are_named(tmp_path: Path, rows: str, message: str) -> None:
    trace = tmp_path / "nodes.csv"
    trace.write_text("sn,cpu_milli,memory_mib,gpu,model\n" + rows)
    async with started("demo", "--trace", str(trace), TMPDIR=str(tmp_path)) as process:
        async with asyncio.timeout(60):
            _, errors = await process.communicate()
    assert process.returncode == 2
    assert message in errors.decode()
