# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What each process imports; the times are benchmarks."""

from collections.abc import Collection
from pathlib import Path

import pytest

from tests.cli.processes import python
from tests.client.certificates import Authority

pytestmark = pytest.mark.processes

HEAVY = ("numpy", "aiohttp", "kopf", "kubernetes", "pydantic")
#: What a start needs only for what it may never meet: a login, arguments of plugins, selectors of
#: devices, an exact search, traces, a certificate of its own.
LATER = (
    "cryptography",
    "enbloc.config.arguments",
    "enbloc.config.models",
    "enbloc.doctor",
    "enbloc.client.kubeconfig_logins",
    "enbloc.cel",
    "enbloc_sandbox",
    "highspy",
    "kubernetes",
    "opentelemetry",
    "pydantic",
    "re2",
    "requests",
)
TOOLS = ("asyncio", "cachetools", "click", "msgspec", "prometheus_client", "yaml")

KUBECONFIG = """
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:9"}}]
users: [{name: u, user: {token: t}}]
"""
#: Runs one process on a server that is away, until it has said so.
RUN = """
import asyncio, sys
from pathlib import Path
from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.process.options import Options
from enbloc.telemetry import Health

async def run(started):
    stop, health = asyncio.Event(), Health()
    given = Path(sys.argv[1])
    cluster = await load(
        None if given.is_dir() else given,
        env={"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "9"},
        service_account=given,
    )
    async with Client(cluster, component="test") as client:
        running = asyncio.create_task(started(client, Options(health=health, stop=stop), health))
        while not {"scheduler-api", "controller-api"}.intersection(health.failed("readyz")):
            await asyncio.sleep(0.01)
        stop.set()
        assert await running == 0
"""
SCHEDULER = (
    RUN
    + """
from enbloc.live.scheduler import Scheduler
asyncio.run(run(lambda client, options, _: Scheduler(client, options).run()))
"""
)
CONTROLLER = (
    RUN
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
        pytest.param(["topology", "show", "--help"], id="help of showing a topology"),
        pytest.param(["topology", "init", "--help"], id="help of writing one"),
        pytest.param(["ui", "--help"], id="help of the page"),
        pytest.param(["version", "--client"], id="version"),
    ],
)
def test_what_needs_no_server_imports_no_heavy_library(arguments: list[str]) -> None:
    assert imported(f"import enbloc.cli\nenbloc.cli.main({arguments})", HEAVY) == []


def test_listing_the_commands_imports_none_of_other_packages() -> None:
    assert imported("import enbloc.cli\nenbloc.cli.main(['--help'])", ["enbloc_sandbox"]) == []


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


@pytest.mark.parametrize("process", [SCHEDULER, CONTROLLER], ids=["scheduler", "controller"])
@pytest.mark.parametrize("by", ["a service account", "a kubeconfig"])
def test_a_start_imports_nothing_that_it_may_never_need(
    process: str, by: str, service_account: str, tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    known = service_account if by == "a service account" else str(path)
    assert imported(process, LATER, known) == []


def test_a_scheduler_imports_nothing_of_the_controller(service_account: str) -> None:
    assert imported(SCHEDULER, ["enbloc.controller", "kopf"], service_account) == []
