# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What each process imports; the times are benchmarks."""

from collections.abc import Collection
from pathlib import Path

import pytest

from tests.cli.processes import python
from tests.kube.certificates import Authority

HEAVY = ("numpy", "aiohttp", "kopf", "kubernetes", "pydantic")
TOOLS = ("asyncio", "cachetools", "click", "msgspec", "prometheus_client", "yaml")

#: Runs one process on a server that is away, in a cluster, until it has said so.
IN_CLUSTER = """
import asyncio, sys
from pathlib import Path
from enbloc.kube import Client, Options, load
from enbloc.telemetry import Health

async def run(started):
    stop, health = asyncio.Event(), Health()
    cluster = await load(
        env={"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "9"},
        service_account=Path(sys.argv[1]),
    )
    async with Client(cluster, component="test") as client:
        running = asyncio.create_task(started(client, Options(health=health, stop=stop), health))
        while not {"scheduler-api", "controller-api"}.intersection(health.failed("readyz")):
            await asyncio.sleep(0.01)
        stop.set()
        assert await running == 0
"""
SCHEDULER = (
    IN_CLUSTER
    + """
from enbloc.live.scheduler import Scheduler
asyncio.run(run(lambda client, options, _: Scheduler(client, options).run()))
"""
)
CONTROLLER = (
    IN_CLUSTER
    + """
from enbloc.controller.shell import Controller
asyncio.run(run(lambda client, options, health: Controller(client, options, health).run()))
"""
)


def imported(code: str, of: Collection[str], *arguments: str) -> list[str]:
    """Which of these modules a program has imported at its end."""
    report = f"\nimport sys\nprint('IMPORTED', *(name for name in {of} if name in sys.modules))"
    return python(code + report, *arguments).rpartition("IMPORTED")[2].split()


@pytest.fixture
def service_account(tmp_path: Path) -> str:
    """What the kubelet mounts into a pod."""
    Authority(tmp_path)
    (tmp_path / "token").write_text("t")
    (tmp_path / "namespace").write_text("enbloc-system")
    return str(tmp_path)


def test_the_package_alone_imports_no_library() -> None:
    assert imported("import enbloc", HEAVY + TOOLS) == []


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="help"),
        pytest.param(["scheduler", "--help"], id="help of the scheduler"),
        pytest.param(["controller", "--help"], id="help of the controller"),
        pytest.param(["run", "--help"], id="help of both"),
        pytest.param(["config", "--help"], id="help of the configuration"),
        pytest.param(["config", "show", "--help"], id="help of showing it"),
        pytest.param(["doctor", "--help"], id="help of the doctor"),
        pytest.param(["drain-check", "--help"], id="help of checking a drain"),
        pytest.param(["replay", "--help"], id="help of replaying"),
        pytest.param(["version", "--client"], id="version"),
    ],
)
def test_what_needs_no_server_imports_no_heavy_library(arguments: list[str]) -> None:
    assert imported(f"import enbloc.cli\nenbloc.cli.main({arguments})", HEAVY) == []


def test_showing_the_configuration_imports_nothing_that_speaks_to_a_cluster() -> None:
    code = "import enbloc.cli\nenbloc.cli.main(['config', 'show'])"
    assert imported(code, HEAVY) == ["numpy", "pydantic"]


def test_the_scheduler_in_a_cluster_imports_neither_kopf_nor_the_client_library(
    service_account: str,
) -> None:
    found = imported(SCHEDULER, HEAVY, service_account)
    assert found == ["numpy", "aiohttp"]


def test_the_controller_decides_nothing_and_so_imports_no_numpy(service_account: str) -> None:
    found = imported(CONTROLLER, HEAVY, service_account)
    assert "kopf" in found
    assert "numpy" not in found
