# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An API server with our CRD, a namespace of its own for each test, and the controller on it."""

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from enbloc.client.client import Client, PatchType
from enbloc.client.cluster_access import load
from enbloc.client.errors import NotFound
from enbloc.client.paths import CRDS, NAMESPACES, POD_GROUPS, PODS, Resource
from enbloc.client.permissions import ROLES
from enbloc.controller.shell import Controller
from enbloc.model import names
from enbloc.process.embedding import embedded
from enbloc.process.options import Options
from enbloc.process.terms import run_terms
from enbloc.telemetry import Health
from enbloc_sandbox import Faults, Sandbox
from tests.controlplane import ControlPlane
from tests.patience import PATIENCE
from tests.world.virtual_time import time_source

CRD: dict[str, Any] = yaml.safe_load(Path("crds/podgroups.enbloc.dev.yaml").read_text())
NUMBERS = itertools.count()


async def eventually(probe: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """What the probe gives, or what it gives to await, once that is true."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        found = probe()
        found = await found if isinstance(found, Awaitable) else found
        if found:
            return found
        assert asyncio.get_running_loop().time() < deadline, f"in vain: {probe}"
        await asyncio.sleep(0.05)


@dataclass
class World:
    """One namespace of an API server, and what a scheduler, a kubelet or a user does there.

    Attributes:
        faults: what can go wrong with the server; None with a real one.
    """

    client: Client
    kubeconfig: Path
    namespace: str
    faults: Faults | None

    async def forbid_podgroups(self) -> None:
        """Use up the quota for PodGroups; a real server's alone."""
        quotas = Resource("", "v1", "resourcequotas", "ResourceQuota")
        hard = {"hard": {"count/podgroups.enbloc.dev": "0"}}
        await self.create(quotas, metadata={"name": "none"}, spec=hard)
        used = {"status": {**hard, "used": {"count/podgroups.enbloc.dev": "0"}}}
        await self.client.patch(
            quotas, "none", used, self.namespace, kind=PatchType.MERGE, subresource="status"
        )

    async def create(self, resource: Resource, **body: Any) -> dict[str, Any]:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        created: dict[str, Any] = await self.client.create(resource, body, self.namespace)
        return created

    async def group(self, name: str = "train", **spec: Any) -> dict[str, Any]:
        return await self.create(POD_GROUPS, metadata={"name": name}, spec=spec)

    async def pod(
        self, name: str, *, group: str = "train", role: str = "", owner: Any = None
    ) -> dict[str, Any]:
        labels = {names.POD_GROUP_KEY: group} | ({names.ROLE_KEY: role} if role else {})
        container = {"name": "main", "image": "none"}
        spec = {
            "schedulerName": names.SCHEDULER_NAME,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
        }
        metadata = {"name": name, "labels": labels, "ownerReferences": [owner] if owner else []}
        return await self.create(PODS, metadata=metadata, spec=spec)

    async def bind(self, name: str, node: str = "n1") -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self.client.create(PODS, body, self.namespace, name=name, subresource="binding")

    async def phase(self, name: str, phase: str, *, ready: bool = False) -> None:
        condition = {"type": "Ready", "status": str(ready)}
        await self.status(PODS, name, {"phase": phase, "conditions": [condition]})

    async def status(self, resource: Resource, name: str, status: Any) -> None:
        await self.client.patch(
            resource,
            name,
            {"status": status},
            self.namespace,
            kind=PatchType.STRATEGIC,
            subresource="status",
        )

    async def scheduler_says(
        self, status: str, reason: str, name: str = "train", *, preempted: str = "", **fields: Any
    ) -> None:
        """The scheduler's part of the status, as its shell applies it; by whom it was preempted."""
        condition = {
            "type": "Scheduled",
            "status": status,
            "reason": reason,
            "message": "says the scheduler",
            "observedGeneration": 1,
            "lastTransitionTime": "2026-11-21T05:00:00Z",
        }
        conditions = [condition]
        if preempted:
            more = {"reason": "PreemptionByScheduler", "message": preempted, "status": "True"}
            conditions.append({**condition, "type": "DisruptionTarget", **more})
        body = {
            "apiVersion": POD_GROUPS.api_version,
            "kind": POD_GROUPS.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "status": {"conditions": conditions, **fields},
        }
        await self.client.patch(
            POD_GROUPS,
            name,
            body,
            self.namespace,
            kind=PatchType.APPLY,
            subresource="status",
            query={"fieldManager": names.SCHEDULER_MANAGER, "force": "true"},
        )

    async def edit(self, name: str = "train", **spec: Any) -> None:
        body = {"spec": spec}
        await self.client.patch(POD_GROUPS, name, body, self.namespace, kind=PatchType.MERGE)

    async def get(self, resource: Resource, name: str = "train") -> dict[str, Any]:
        found: dict[str, Any] = await self.client.get(resource, name, self.namespace)
        return found

    async def until(self, state: str, name: str = "train", **counts: int) -> dict[str, Any]:
        """The status, once its summary is this word and its counts are these."""

        async def probe() -> dict[str, Any] | None:
            status: dict[str, Any] = (await self.get(POD_GROUPS, name)).get("status") or {}
            right = all(status.get(key) == count for key, count in counts.items())
            return status if right and condition(status, "Ready").get("reason") == state else None

        found: dict[str, Any] = await eventually(probe)
        return found

    def options(self, **changes: Any) -> Options:
        base = Options(
            kubeconfig=self.kubeconfig,
            leader_elect=False,
            lease_namespace=self.namespace,
            clock=time_source(),
        )
        return replace(base, **changes)


def condition(status: dict[str, Any], type_: str) -> dict[str, Any]:
    """A condition of a status; empty if it is not there."""
    found = (c for c in status.get("conditions") or () if c["type"] == type_)
    return next(found, {})


@dataclass
class Running:
    """A controller in this process.

    Attributes:
        code: resolves to its exit code.
    """

    code: asyncio.Task[int]
    stop: asyncio.Event
    health: Health

    def ready(self) -> bool:
        return not self.health.failed("readyz")


@asynccontextmanager
async def controller(
    world: World, *, breaks: bool = False, **options: Any
) -> AsyncGenerator[Running, None]:
    """The controller on this world with its role and no more, stopped at the end.

    Args:
        world: on which it runs.
        breaks: the test breaks it; else no exception of its own code may be logged, even where it
            goes on.
        options: of the command.
    """
    tracebacks = _Tracebacks()
    stop, health = asyncio.Event(), Health()
    given = world.options(stop=stop, health=health, **options)

    async def limited(shared: Options) -> int:
        async with Client(
            await load(world.kubeconfig),
            component="controller",
            rules=ROLES["controller"],
            clock=time_source(),
        ) as client:
            return await Controller(client, shared, health).run()

    async def run_controller(shared: Options) -> int:
        return await run_terms(shared, limited)

    running = Running(asyncio.create_task(embedded(given, run_controller)), stop, health)
    logging.getLogger("enbloc").addHandler(tracebacks)
    try:
        yield running
    finally:
        stop.set()
        await running.code
        logging.getLogger("enbloc").removeHandler(tracebacks)
    assert breaks or not tracebacks.told, "\n".join(tracebacks.told)


class _Tracebacks(logging.Handler):
    """Keeps what was logged with an exception that is a fault of the program."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(
            error, LookupError | TypeError | AttributeError | ValueError | AssertionError
        ):
            self.told.append(f"{record.getMessage()}: {error!r}")


async def install_crd(client: Client) -> None:
    """Apply the CRD, and wait until PodGroups are served."""
    await client.create(CRDS, CRD)

    async def served() -> bool:
        try:
            await client.page(POD_GROUPS, limit=1)
        except NotFound:
            return False
        return True

    await eventually(served)


async def remove_crd(client: Client) -> None:
    """Delete the CRD, and wait until PodGroups are not served."""
    await client.delete(CRDS, CRD["metadata"]["name"])

    async def gone() -> bool:
        try:
            await client.page(POD_GROUPS, limit=1)
        except NotFound:
            return True
        return False

    await eventually(gone)


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    with ControlPlane(controller_manager=False) as cp:
        yield cp


@pytest_asyncio.fixture(
    params=["sandbox", pytest.param("controlplane", marks=pytest.mark.controlplane)]
)
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """A fresh namespace of a server that serves PodGroups."""
    faults = None
    async with AsyncExitStack() as stack:
        if request.param == "sandbox":
            server = await stack.enter_async_context(Sandbox(clock=time_source().wall))
            kubeconfig = tmp_path / "kubeconfig"
            server.write_kubeconfig(kubeconfig)
            faults = server.faults
        else:
            kubeconfig = request.getfixturevalue("control_plane").kubeconfig
        client = Client(await load(kubeconfig), component="test")
        await stack.enter_async_context(client)
        try:
            await client.page(POD_GROUPS, limit=1)
        except NotFound:
            await install_crd(client)
        namespace = f"t{next(NUMBERS)}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await client.create(NAMESPACES, body)
        yield World(client, kubeconfig, namespace, faults)
