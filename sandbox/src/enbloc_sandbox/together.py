# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A whole sandbox in one process: API server, kubelet, controllers, drivers, joined by HTTP."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.items import Seen
from enbloc.client.paths import NODES
from enbloc.client.reflector import Reflector
from enbloc.errors import EnblocError, UsageError
from enbloc_sandbox.apiserver import Sandbox
from enbloc_sandbox.nodes import (
    UNATTENDED,
    DeviceDriver,
    Kubelet,
    Object,
    Provisioner,
    Shape,
    run_controllers,
)

#: The nodes take pods within this time (seconds).
READY_SECONDS: Final = 60.0
#: Another sandbox on this machine takes a connection within this time (seconds).
LOOK_SECONDS: Final = 5.0
#: A kubeconfig that says so was written by a sandbox, and may be replaced.
_OURS: Final = "current-context: sandbox\n"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run.

    Attributes:
        shapes: the nodes.
        kubeconfig: where to write how to reach it.
        port: of the API server; 0 = any that is free.
        crds: install our CustomResourceDefinitions.
        devices: how many devices each node offers through ResourceSlices; 0 = no device driver.
        faults: what is to go wrong once the nodes are ready, as `Faults.add` takes it.
    """

    shapes: Sequence[Shape]
    kubeconfig: Path
    port: int = 0
    crds: bool = True
    devices: int = 0
    faults: Sequence[Mapping[str, Any]] = ()


async def run_sandbox(plan: Plan, ready: Callable[[str], None], stop: asyncio.Event) -> None:
    """Run a sandbox until told to stop; its kubeconfig goes with it.

    Args:
        plan: what to run.
        ready: called with the URL once the nodes take pods.
        stop: ends it.

    Raises:
        UsageError: the port or the file cannot be used, or a fault makes no sense. A file by which
            another sandbox that runs is reached is left to it.
        EnblocError: a part of it failed.
    """
    await _check_replaceable(plan.kubeconfig)
    server = Sandbox(port=plan.port, crds=None if plan.crds else (), advice=UNATTENDED)
    try:
        await server.start()
    except OSError as error:
        raise UsageError(f"--port: cannot listen on {plan.port}: {error}") from error
    text = yaml.safe_dump(server.kubeconfig(), sort_keys=False)
    try:
        _write(plan.kubeconfig, text)
        await _populate(plan, server, ready, stop)
    finally:
        await server.stop()
        if plan.kubeconfig.is_file() and plan.kubeconfig.read_text() == text:
            plan.kubeconfig.unlink()


async def _populate(
    plan: Plan, server: Sandbox, ready: Callable[[str], None], stop: asyncio.Event
) -> None:
    """Kubelet and controllers, until told to stop or one of them fails."""
    try:
        async with (
            Client(Cluster(server=server.url), component="sandbox") as client,
            asyncio.TaskGroup() as tasks,
        ):
            driver = DeviceDriver(client, plan.shapes, plan.devices) if plan.devices else None
            works = [
                Kubelet(client, plan.shapes).run(),
                run_controllers(client),
                Provisioner(client).run(),
                _prepare(plan, server, client, driver, ready),
            ]
            if driver is not None:
                works.append(driver.run())
            running = [tasks.create_task(work) for work in works]
            await stop.wait()
            for task in running:
                task.cancel()
    except BaseExceptionGroup as group:
        raise _first(group) from group


async def _prepare(
    plan: Plan,
    server: Sandbox,
    client: Client,
    driver: DeviceDriver | None,
    ready: Callable[[str], None],
) -> None:
    """Wait for nodes and devices, let go wrong what is to go wrong, then say that all is ready."""
    await _nodes_ready(client, {shape.name for shape in plan.shapes})
    if driver is not None:
        await driver.published.wait()
    for fault in plan.faults:
        try:
            server.faults.add(**fault)
        except (TypeError, ValueError) as error:
            raise UsageError(f"--fault: {error}") from error
    ready(server.url)


async def _nodes_ready(client: Client, names: set[str]) -> None:
    """Return once these nodes take pods.

    Raises:
        EnblocError: they do not in time.
    """
    missing = set(names)
    nodes = Reflector(client, NODES, Object)
    try:
        async with asyncio.timeout(READY_SECONDS), aclosing(nodes.stream()) as stream:
            while missing:
                item = await anext(stream)
                if isinstance(item, Seen) and not item.object.spec.get("taints"):
                    missing.discard(item.meta.name)
    except TimeoutError:
        raise EnblocError(
            f"{len(missing)} of {len(names)} nodes were not ready after {READY_SECONDS:.0f} s"
        ) from None


async def _check_replaceable(path: Path) -> None:
    try:
        text = path.read_text() if path.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--write-kubeconfig: cannot look at {path}: {error}") from error
    if text is None:
        return
    if _OURS not in text:
        raise UsageError(
            f"--write-kubeconfig: {path} exists and is not a sandbox's; name another file"
        )
    if (url := await _running(text)) is not None:
        raise UsageError(
            f"--write-kubeconfig: {path} belongs to a sandbox that runs at {url}; name another "
            "file, or end that one first"
        )


async def _running(kubeconfig: str) -> str | None:
    """The URL of the sandbox that a kubeconfig names, if something listens there."""
    try:
        url: str = yaml.safe_load(kubeconfig)["clusters"][0]["cluster"]["server"]
        host, _, port = url.rpartition("/")[2].rpartition(":")
        async with asyncio.timeout(LOOK_SECONDS):
            _, writer = await asyncio.open_connection(host, int(port))
    except (yaml.YAMLError, LookupError, TypeError, ValueError, AttributeError, OSError):
        return None  # a timeout is an OSError
    writer.close()
    return url


def _write(path: Path, text: str) -> None:
    """Write the file in one step, so that who waits for it never reads a half."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text)
        part.replace(path)
    except OSError as error:
        raise UsageError(f"--write-kubeconfig: cannot write {path}: {error}") from error


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first thing that went wrong, out of its groups."""
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
