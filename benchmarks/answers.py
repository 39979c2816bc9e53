# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How long `enbloc explain` and `enbloc queue` take on a large cluster, lists included.

5 000 nodes, 50 000 running pods and a gang that fits no node are put into a real API server. It
shares the machine's cores with the command, so its CPU is told as well.
"""

import asyncio
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks import objects
from benchmarks.engine import Figure
from benchmarks.gang_cost import cpu
from benchmarks.real.requests import Request, Unit, create
from benchmarks.real.stage import Stage, control_plane
from benchmarks.server import compile_enbloc
from enbloc.client.paths import CRDS, NODES, POD_GROUPS, PODS
from tests.controlplane import API_SERVER, ControlPlane
from tests.e2e import manifests
from tests.e2e.processes import COMMAND, environment
from tests.e2e.targets import ROOT

NODE_COUNT: Final = 5000
POD_COUNT: Final = 50_000
NAMESPACE: Final = "default"
#: The gang that is asked about.
GANG: Final = "asked"
#: What the API server fills in itself.
_OF_SERVER: Final = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"}
)


#: So many pods are put there in one go.
_AT_ONCE: Final = 10_000


def answers(nodes: int = NODE_COUNT, pods: int = POD_COUNT) -> Iterator[Figure]:
    """What each takes there, s; CPU of the command, and of the API server meanwhile, s."""
    compile_enbloc()
    with cluster(nodes, pods) as running:
        server = running.pids[API_SERVER]
        for words in (["explain", GANG], ["queue"]):
            began, used, of_server = time.monotonic(), _cpu_of_children(), cpu(server)
            where = [f"--namespace={NAMESPACE}", f"--kubeconfig={running.kubeconfig}"]
            command = [*COMMAND, *words, *where]
            subprocess.run(command, env=environment(), check=True, capture_output=True)
            yield f"answers/{words[0]}", time.monotonic() - began
            yield f"answers/{words[0]}-cpu", _cpu_of_children() - used
            yield f"answers/{words[0]}-server-cpu", cpu(server) - of_server


def _cpu_of_children() -> float:
    """CPU seconds of those that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def cluster(nodes: int, pods: int) -> Generator[ControlPlane]:
    """A control plane with so many nodes and running pods, and the gang."""
    with control_plane() as running, tempfile.TemporaryDirectory() as folder:
        asyncio.run(_fill(Stage(running, Path(folder)), nodes, pods))
        yield running


async def _fill(stage: Stage, nodes: int, pods: int) -> None:
    crd = yaml.safe_load((ROOT / "crds/podgroups.enbloc.dev.yaml").read_text(encoding="utf-8"))
    await stage.all_of([create(CRDS, crd)])
    stage.running.established(crd["metadata"]["name"])
    await stage.all_of([create(NODES, _created(objects.node(index))) for index in range(nodes)])
    units = (_running(f"app-{index % 100}-{index}", f"n{index % nodes}") for index in range(pods))
    while some := list(islice(units, _AT_ONCE)):
        await stage.send(some)
    members = [manifests.pod(f"{GANG}-{index}", GANG, cpu=60) for index in range(4)]
    await stage.all_of([create(POD_GROUPS, manifests.group(GANG, 4), NAMESPACE)])
    await stage.all_of([create(PODS, member, NAMESPACE) for member in members])


def _created(body: dict[str, Any]) -> dict[str, Any]:
    """An object as it is sent at first."""
    metadata = {key: each for key, each in body["metadata"].items() if key not in _OF_SERVER}
    return {**body, "metadata": metadata}


def _running(name: str, node: str) -> Unit:
    """A pod is created on a node, and its kubelet says that it runs."""
    pod = objects.pod(name, on=node)
    path = PODS.path(NAMESPACE, name, "status")
    status = json.dumps({"status": pod["status"]})
    merge = "application/merge-patch+json"
    return [create(PODS, _created(pod), NAMESPACE), Request("PATCH", path, status, merge)]
