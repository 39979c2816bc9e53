# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""From the start of a process to its first Binding, where much is there already.

5 000 nodes, 50 000 running pods and one that waits are put into the embedded API server, which
serves them as bytes. Server and scheduler share the machine's cores.
"""

import asyncio
import json
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import objects
from benchmarks.engine import Figure
from benchmarks.gang_cost import cpu
from benchmarks.real.measures import memory
from benchmarks.real.stage import settled
from enbloc_sandbox import Sandbox
from tests.e2e.processes import Server, environment
from tests.e2e.targets import ROOT
from tests.hack.processes import Process, free_port, wait_until

NODES: Final = 5000
PODS: Final = 50_000
#: The pod that waits.
WAITING: Final = "waiting-0"
PATIENCE: Final = 300.0
# Not through a proxy of the environment.
_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


async def serve(path: Path, nodes: int, pods: int) -> None:
    """Serve a cluster, for ever; the kubeconfig appears when it is complete."""
    async with Sandbox() as sandbox:
        assert sandbox._api is not None
        store = sandbox._api.store
        store.listeners.clear()  # the garbage collector would find no owner of any pod
        for index in range(nodes):
            store.put("nodes", objects.node(index), ())
        for index in range(pods):
            store.put("pods", objects.pod(f"app-{index % 100}-{index}", on=f"n{index % nodes}"), ())
        store.put("pods", objects.pod(WAITING), ())
        sandbox.write_kubeconfig(path)
        await asyncio.Event().wait()


def _answer(url: str) -> bytes:
    """What a GET is answered with; nothing while there is no good answer."""
    try:
        with _OPENER.open(url, timeout=30) as answer:
            return bytes(answer.read())
    except OSError:
        return b""


def _bound(url: str) -> bool:
    pod = _answer(f"{url}/api/v1/namespaces/default/pods/{WAITING}")
    return bool(pod) and bool(json.loads(pod)["spec"].get("nodeName"))


def measure(command: str, nodes: int, pods: int, folder: Path, of: str = "") -> Iterator[Figure]:
    """Start one process on a cluster of its own; `of` is part of the figures' names."""
    path = folder / "kubeconfig"
    arguments = [sys.executable, "-m", "benchmarks.start", str(path), str(nodes), str(pods)]
    sandbox = Process("sandbox", arguments, folder / "sandbox.log", _environment())
    port = free_port()
    flags = ["--no-leader-elect", "--secure-port=0", f"--health-port={port}"]
    process = Server(command, [f"--kubeconfig={path}", *flags], folder / "enbloc.log")
    sandbox.start()
    try:
        wait_until("the cluster is served", path.exists, [sandbox], PATIENCE)
        url = next(line.split()[1] for line in path.read_text().splitlines() if "server: " in line)
        began = time.monotonic()
        process.start()
        both, health = [sandbox, process], f"http://127.0.0.1:{port}/readyz"
        wait_until("it is ready", lambda: bool(_answer(health)), both, PATIENCE)
        ready = time.monotonic() - began
        wait_until("the pod is bound", partial(_bound, url), both, PATIENCE)
        first = time.monotonic() - began
        asyncio.run(settled(process.pid))
        yield f"start/{command}{of}-ready", ready
        yield f"start/{command}{of}-first-binding", first
        yield f"start/{command}{of}-cpu", cpu(process.pid)
        used = memory(process.pid)
        yield f"start/{command}{of}-memory", used.now
        yield f"start/{command}{of}-memory-peak", used.peak
    finally:
        process.stop(0)
        sandbox.stop(0)


def _environment() -> dict[str, str]:
    paths = f"{ROOT / 'operator'}:{ROOT / 'sandbox/src'}:{ROOT}"
    return environment() | {"PYTHONPATH": paths}


def start(nodes: int = NODES, pods: int = PODS) -> Iterator[Figure]:
    """Both ways to start enbloc, on a cluster with nothing in it, too; s, and memory in MiB."""
    for command in ("scheduler", "run"):
        for of, size in (("", (nodes, pods)), ("-empty", (1, 0))):
            with tempfile.TemporaryDirectory() as folder:
                yield from measure(command, *size, Path(folder), of)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
