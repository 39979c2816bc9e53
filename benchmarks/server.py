# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks on a real API server share: nodes, pods, and enbloc as a process."""

import asyncio
import compileall
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from enbloc.client.client import Client, PatchType
from enbloc.client.paths import CRDS, NODES, POD_GROUPS

ROOT = Path(__file__).resolve().parent.parent
CONCURRENCY = 32
NODE_COUNT = 100
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


def compile_enbloc() -> None:
    """Compile enbloc's modules, as the image has them.

    Else each start compiles them all, where the environment says that bytecode is not written.
    """
    compileall.compile_dir(ROOT / "operator", quiet=1)


@asynccontextmanager
async def enbloc(
    command: str, kubeconfig: Path
) -> AsyncGenerator[asyncio.subprocess.Process, None]:
    """`enbloc scheduler`, `controller` or `run`, as long as the context lasts."""
    compile_enbloc()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "enbloc", command, "--kubeconfig", str(kubeconfig)),
        *("--no-leader-elect", "--secure-port", "0"),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        async with asyncio.timeout(30):
            await process.wait()


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
