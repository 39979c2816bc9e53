# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods bound per second on a real API server, beside a bare client in the same run."""

import asyncio
import compileall
import json
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from benchmarks.engine import Figure
from enbloc.kube import Client, PatchType, load
from enbloc.kube.paths import CRDS, NODES, POD_GROUPS, PODS
from tests.controlplane import ControlPlane

ROOT = Path(__file__).resolve().parent.parent
CONCURRENCY = 32
NODE_COUNT, GANG = 100, 16
NAMESPACE = "default"


def pod(name: str, scheduler: str, group: str = "") -> dict[str, Any]:
    annotations = {"enbloc.dev/pod-group": group} if group else {}
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "10m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "annotations": annotations,
            "labels": {"by": "ours" if group else "bare"},
        },
        "spec": {"schedulerName": scheduler, "containers": [container]},
    }


def pod_group(name: str, minimum: int) -> dict[str, Any]:
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {"name": name},
        "spec": {"minMember": minimum},
    }


@asynccontextmanager
async def enbloc(
    command: str, kubeconfig: Path
) -> AsyncGenerator[asyncio.subprocess.Process, None]:
    """`enbloc scheduler`, `controller` or `run`, as long as the context lasts.

    Compiled before, as the image is: else every start compiles all modules, where the environment
    says that bytecode is not to be written.
    """
    compileall.compile_dir(ROOT / "operator", quiet=1)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "enbloc.cli", command, "--kubeconfig", str(kubeconfig)),
        *("--no-leader-elect", "--secure-port", "0"),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 30)


async def all_at_once(count: int, work: Any) -> None:
    """Run `work(index)` for each index, CONCURRENCY at a time."""
    indices = iter(range(count))

    async def worker() -> None:
        for index in indices:
            await work(index)

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))


async def prepare(client: Client) -> None:
    """The CRD and the nodes, without the taint that a controller would take off."""
    await client.create(CRDS, yaml.safe_load((ROOT / "crds/podgroups.enbloc.dev.yaml").read_text()))
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    ready = [{"type": "Ready", "status": "True"}]

    async def node(index: int) -> None:
        name = f"n{index}"
        await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        status = {"status": {"allocatable": room, "capacity": room, "conditions": ready}}
        await client.patch(NODES, name, status, kind=PatchType.STRATEGIC, subresource="status")
        await client.patch(NODES, name, {"spec": {"taints": None}}, kind=PatchType.MERGE)

    await all_at_once(NODE_COUNT, node)


async def bare(client: Client, url: str, tls: Any, count: int) -> float:
    """What a client that only posts Bindings reaches, per second."""

    async def create(index: int) -> None:
        await client.create(PODS, pod(f"bare-{index}", "nobody"), NAMESPACE)

    await all_at_once(count, create)
    connector = aiohttp.TCPConnector(limit=CONCURRENCY, ssl=tls)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def bind(index: int) -> None:
            name = f"bare-{index}"
            body = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": name},
                "target": {"kind": "Node", "name": f"n{index % NODE_COUNT}"},
            }
            path = f"{url}/api/v1/namespaces/{NAMESPACE}/pods/{name}/binding"
            async with session.post(path, json=body) as response:
                assert response.status == 201, await response.text()

        began = time.perf_counter()
        await all_at_once(count, bind)
        return count / (time.perf_counter() - began)


async def until(client: Client, selector: str, *, found: bool) -> None:
    """Wait until our pods of which this is true exist, or do not; asked of the server's cache."""
    query = {"labelSelector": "by=ours", "fieldSelector": selector, "resourceVersion": "0"}
    for _ in range(3000):
        page = await client.page(PODS, NAMESPACE, query=query, limit=1)
        if bool(json.loads(page)["items"]) is found:
            return
        await asyncio.sleep(0.02)
    raise TimeoutError(f"pods with {selector}: not {found} after a minute")


async def ours(client: Client, kubeconfig: Path, count: int) -> float:
    """What the scheduler reaches, from its first bound pod to its last, per second."""

    async def create(index: int) -> None:
        name = f"g{index // GANG}"
        if index % GANG == 0:
            await client.create(POD_GROUPS, pod_group(name, GANG), NAMESPACE)
        await client.create(PODS, pod(f"ours-{index}", "enbloc", name), NAMESPACE)

    await all_at_once(count, create)
    async with enbloc("scheduler", kubeconfig):
        await until(client, "spec.nodeName!=", found=True)
        began = time.perf_counter()
        await until(client, "spec.nodeName=", found=False)
        return count / (time.perf_counter() - began)


async def _measure(running: ControlPlane, count: int) -> tuple[float, float]:
    cluster = await load(running.kubeconfig, None)
    async with Client(cluster, component="benchmark") as client:
        await prepare(client)
        raw = await bare(client, cluster.server, cluster.ssl_context(), count)
        return raw, await ours(client, running.kubeconfig, count)


def bind_rate(count: int = 1024) -> Iterator[Figure]:
    """Both rates and their ratio; the API server is the same, the clients run after each other."""
    with ControlPlane(controller_manager=False) as running:
        raw, mine = asyncio.run(_measure(running, count))
    yield "apiserver/bare-client-binds", raw
    yield "apiserver/enbloc-binds", mine
    yield "apiserver/enbloc-of-bare-client", 100 * mine / raw
