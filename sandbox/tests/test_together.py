# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc sandbox`, as people start it."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest
from aiohttp import ClientSession

from enbloc.cli import main
from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.client.errors import Forbidden, NotFound
from enbloc.client.paths import CRDS, NODES, PODS, RESOURCE_SLICES
from enbloc.errors import UsageError
from enbloc_sandbox.cli.sandbox import _fault
from enbloc_sandbox.nodes.shapes import Shape
from enbloc_sandbox.together import Plan, run_sandbox
from tests.cli.processes import started
from tests.patience import PATIENCE

HEADER = "sn,cpu_milli,memory_mib,gpu,model\n"


async def said(process: Process) -> str:
    """What it prints until it says that it is ready."""
    assert process.stdout is not None
    lines: list[str] = []
    async with asyncio.timeout(PATIENCE):
        while not lines or "Ctrl-C" not in lines[-1]:
            line = await process.stdout.readline()
            assert line, (await process.communicate())[1].decode()
            lines.append(line.decode())
    return "".join(lines)


@pytest.mark.processes
async def test_it_is_ready_once_every_node_offers_its_devices(tmp_path: Path) -> None:
    async with started("sandbox", "--nodes", "3", "--devices", "2", cwd=tmp_path) as process:
        await said(process)
        access = await load(tmp_path / "sandbox.kubeconfig")
        async with Client(access, component="test") as client:
            slices = [one async for one in client.list(RESOURCE_SLICES)]
    assert [len(one["spec"]["devices"]) for one in slices] == [2, 2, 2]


async def refused(*arguments: str, cwd: Path) -> tuple[int | None, str]:
    async with started("sandbox", *arguments, cwd=cwd) as process:
        async with asyncio.timeout(PATIENCE):
            _, errors = await process.communicate()
        return process.returncode, errors.decode()


@pytest.mark.processes
@pytest.mark.parametrize(
    ("number", "code"),
    [pytest.param(signal.SIGINT, 130, id="Ctrl-C"), pytest.param(signal.SIGTERM, 0, id="SIGTERM")],
)
async def test_it_says_how_to_use_it_and_ends_cleanly(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    async with started("sandbox", "--nodes", "2", cwd=tmp_path) as process:
        text = await said(process)
        kubeconfig = tmp_path / "sandbox.kubeconfig"
        assert f"export KUBECONFIG={kubeconfig}" in text
        assert "2 nodes" in text
        async with Client(await load(kubeconfig), component="test") as client:
            assert not [one async for one in client.list(RESOURCE_SLICES)]
            nodes = [node async for node in client.list(NODES)]
            assert [node["metadata"]["name"] for node in nodes] == ["node-0", "node-1"]
            assert not [node for node in nodes if node["spec"].get("taints")]
            await client.get(CRDS, "podgroups.enbloc.dev")
        process.send_signal(number)
        async with asyncio.timeout(PATIENCE):
            _, errors = await process.communicate()
    assert (process.returncode, errors) == (code, b"")
    assert not kubeconfig.exists()


@pytest.mark.processes
async def test_a_trace_gives_the_nodes_and_a_fault_goes_wrong_as_told(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(HEADER + "t4-0,8000,1024,2,T4\n")
    arguments = ("--trace", "nodes.csv", "--no-crds", "--write-kubeconfig", "k")
    fault = ("--fault", "verb=list,resource=pods,status=403,times=1")
    async with started("sandbox", *arguments, *fault, cwd=tmp_path) as process:
        await said(process)
        async with Client(await load(tmp_path / "k"), component="test") as client:
            node = await client.get(NODES, "t4-0")
            assert node["status"]["allocatable"]["nvidia.com/gpu"] == "2"
            with pytest.raises(NotFound):
                await client.get(CRDS, "podgroups.enbloc.dev")
            with pytest.raises(Forbidden):
                await client.page(PODS, "default")
            await client.page(PODS, "default")


@pytest.mark.processes
async def test_a_second_one_in_a_folder_leaves_the_first_its_kubeconfig(tmp_path: Path) -> None:
    async with started("sandbox", "--nodes", "1", cwd=tmp_path) as process:
        await said(process)
        kubeconfig = tmp_path / "sandbox.kubeconfig"
        text = kubeconfig.read_text()
        code, errors = await refused("--nodes", "1", cwd=tmp_path)
        assert code == 2
        assert "sandbox.kubeconfig belongs to a sandbox that runs at http://127.0.0.1:" in errors
        assert "name another file, or end that one first" in errors
        assert kubeconfig.read_text() == text
        process.kill()
        await process.wait()
    assert kubeconfig.exists()
    async with started("sandbox", "--nodes", "1", cwd=tmp_path) as process:
        await said(process)
        assert kubeconfig.read_text() != text


@pytest.mark.processes
async def test_enbloc_is_called_by_the_path_that_works_where_no_shell_finds_it(
    tmp_path: Path,
) -> None:
    program = tmp_path / "venv" / "bin" / "enbloc"
    program.parent.mkdir(parents=True)
    code = "import sys\nfrom enbloc.cli import main\nsys.exit(main())\n"
    program.write_text(f"#!{sys.executable}\n{code}")
    program.chmod(0o755)
    for path, shown in ((os.defpath, str(program)), (f"{program.parent}:{os.defpath}", "enbloc")):
        process = await asyncio.create_subprocess_exec(
            program,
            *("sandbox", "--nodes", "1"),
            cwd=tmp_path,
            stdout=PIPE,
            stderr=PIPE,
            env={**os.environ, "PATH": path},
        )
        try:
            assert f"  {shown} run\n" in await said(process)
        finally:
            process.terminate()
            await process.communicate()


@pytest.mark.processes
async def test_who_creates_what_no_controller_acts_on_is_warned(tmp_path: Path) -> None:
    pod = {"spec": {"containers": [{"name": "main", "image": "none"}]}}
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, **pod}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": template},
    }
    async with started("sandbox", "--nodes", "1", cwd=tmp_path) as process:
        await said(process)
        server = (await load(tmp_path / "sandbox.kubeconfig")).server
        url = f"{server}/apis/apps/v1/namespaces/default/deployments"
        async with ClientSession() as session, session.post(url, json=body) as answer:
            assert answer.status == 201
            assert answer.headers["Warning"] == (
                '299 - "the sandbox runs no controller for Deployments, so this one gets no pods; '
                'create a Job, or pods"'
            )
        url = f"{server}/api/v1/namespaces/default/pods"
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **pod}
        async with ClientSession() as session, session.post(url, json=body) as answer:
            assert answer.status == 201
            assert "Warning" not in answer.headers


@pytest.mark.processes
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--trace", "none.csv"), "none.csv: cannot be read", id="no such trace"),
        pytest.param(("--write-kubeconfig", "mine"), "is not a sandbox's", id="a foreign file"),
        pytest.param(("--write-kubeconfig", "no/k"), "cannot write", id="no such folder"),
        pytest.param(("--port", "70000"), "70000", id="no such port"),
    ],
)
async def test_what_cannot_be_is_said_with_its_flag(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "mine").write_text("current-context: production\n")
    code, errors = await refused(*arguments, cwd=tmp_path)
    assert code == 2
    assert message in errors
    assert (tmp_path / "mine").read_text() == "current-context: production\n"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("what=1", '"what=1" is not KEY=VALUE with a key of verb, resource, status, delay'),
        ("status", '"status" is not KEY=VALUE'),
        ("verb=list", "resource is missing"),
        ("resource=pods,status=500", "verb is missing"),
        ("verb=list,resource=pods", "a fault needs a status, a delay, hang or after_commit"),
        ("verb=zap,resource=pods,status=500", 'verb "zap" does not exist; one of *, create'),
        ("verb=list,resource=pod,status=500", 'resource "pod" does not exist; did you mean "pods"'),
        ("verb=list,resource=pods,status=abc", "status must be an integer, not abc"),
        ("verb=list,resource=pods,status=9999", "status must be from 400 to 599, not 9999"),
        ("verb=list,resource=pods,status=500,times=-1", "times must be at least 1, not -1"),
        (
            "verb=list,resource=pods,delay=-1",
            "delay must be a number of seconds, 0 or more, not -1",
        ),
        ("verb=list,resource=pods,delay=nan", "delay must be a number of seconds, 0 or more, not"),
        ("verb=list,resource=pods,status=429,retry_after=-1", "retry_after must be at least 0"),
        ("verb=list,resource=pods,hang=yes", "hang must be true or false, not yes"),
        ("verb=list,verb=get,resource=pods,status=500", "verb is given twice"),
    ],
)
def test_a_fault_that_cannot_be_names_its_field(
    fault: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sandbox", "--fault", fault]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"Invalid value for --fault: {message}" in said


@pytest.mark.parametrize("resource", ["*", "pods/binding", "podgroups/status", "leases"])
def test_a_fault_may_concern_what_the_sandbox_serves(resource: str) -> None:
    text = f"verb=*,resource={resource},status=503,delay=0.5,times=2,hang=false"
    assert _fault(text) == {
        "verb": "*",
        "resource": resource,
        "status": 503,
        "delay": 0.5,
        "times": 2,
        "hang": False,
    }


async def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        plan = Plan([], tmp_path / "k", port=taken.getsockname()[1])
        with pytest.raises(UsageError, match=f"--port: cannot listen on {plan.port}"):
            await run_sandbox(plan, print, asyncio.Event())


async def test_it_runs_until_told_to_stop_and_leaves_a_file_that_changed(tmp_path: Path) -> None:
    stop = asyncio.Event()
    urls: list[str] = []

    def ready(url: str) -> None:
        urls.append(url)
        path.write_text("changed")
        stop.set()

    path = tmp_path / "k"
    plan = Plan(
        [Shape("n", 1_000, 2**30)],
        path,
        faults=[{"verb": "get", "resource": "pods", "status": 500}],
    )
    async with asyncio.timeout(PATIENCE):
        await run_sandbox(plan, ready, stop)
    assert urls[0].startswith("http://127.0.0.1:")
    assert path.read_text() == "changed"
