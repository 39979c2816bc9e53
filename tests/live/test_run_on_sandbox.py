# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc run`: scheduler and controller in one process, which reads pods once."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from enbloc.client.events import Recorder
from enbloc.client.lease import LeaseTiming
from enbloc.client.paths import LEASES, POD_GROUPS, PODS
from enbloc.model import names
from enbloc.process.options import Options
from enbloc.run import run_both
from enbloc.telemetry import Health
from enbloc_sandbox import Sandbox
from tests.live.world import NAMESPACE, World
from tests.patience import PATIENCE
from tests.world.virtual_time import time_source


@asynccontextmanager
async def running(sandbox: Sandbox, folder: Path, *, elect: bool) -> AsyncGenerator[Health, None]:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": sandbox.url}}],
        "contexts": [
            {"name": "c", "context": {"cluster": "c", "user": "", "namespace": NAMESPACE}}
        ],
        "current-context": "c",
    }
    (folder / "config").write_text(json.dumps(config))
    health, stop = Health(), asyncio.Event()
    options = Options(
        kubeconfig=folder / "config",
        leader_elect=elect,
        lease_timing=LeaseTiming(3.0, 2.0, 0.2),
        health=health,
        stop=stop,
        clock=time_source(),
    )
    task = asyncio.create_task(run_both(options))
    try:
        yield health
    finally:
        stop.set()
        async with asyncio.timeout(60):
            assert await task == 0


async def members_of(world: World, group: str) -> object:
    found = await world.client.get(POD_GROUPS, group, NAMESPACE)
    return found.get("status", {}).get("members")


async def test_a_gang_is_bound_and_told_of_by_one_process_that_watches_pods_once(
    world: World, sandbox: Sandbox, tmp_path: Path
) -> None:
    await world.nodes("n1", cpu=8)
    sandbox.faults.add(verb="watch", resource="pods", delay=0.001, times=1000)
    async with running(sandbox, tmp_path, elect=False):
        await world.gang("g", 4)
        await world.until_bound("g-", 4)

        async def told() -> bool:
            return await world.condition("g", "Ready") == ("False", "Starting")

        await world.until(told)
        assert await members_of(world, "g") == 4
        [watches] = sandbox.faults._faults
        assert watches.times == 1000 - 1


async def test_both_begin_anew_when_one_has_lost_its_lease(
    world: World, sandbox: Sandbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await world.nodes("n1", cpu=8)
    async with running(sandbox, tmp_path, elect=True) as health:
        await world.gang("g", 4)
        await world.until_bound("g-", 4)
        await world.hand_lease_to("another")
        await world.until_logged(caplog, "Stopped deciding: lost the Lease")
        await world.delete("g-0")
        await world.pod("g-4", "g")
        await world.pod("g-5", "g")
        await world.hand_lease_to("")
        await world.until_bound("g-", 5)

        async def told() -> bool:
            return await members_of(world, "g") == 5

        await world.until(told)

        async def well() -> bool:
            return not health.failed("readyz")

        await world.until(well)


async def test_who_takes_over_deletes_no_podgroup_whose_pods_it_has_yet_to_see(
    world: World, sandbox: Sandbox, tmp_path: Path
) -> None:
    """Semantics §6.3: the controller gets pods from the scheduler, whose stream may be behind."""
    metadata = {"name": names.CONTROLLER_LEASE}
    spec = {
        "holderIdentity": "the leader",
        "leaseDurationSeconds": 300,
        "renewTime": "2026-11-30T06:00:00.000000Z",
    }
    lease = await world.client.create(LEASES, {"metadata": metadata, "spec": spec}, NAMESPACE)
    async with running(sandbox, tmp_path, elect=True) as health:

        async def synced() -> bool:
            return health.report("readyz/controller-pods-synced", "") == (200, "ok")

        await world.until(synced)
        sandbox.faults.add(verb="watch", resource="pods", status=500)
        sandbox.faults.end_watches()
        declared = {names.POD_GROUP_KEY: "train", names.MIN_MEMBER_KEY: "2"}
        containers = [{"name": "main", "image": "none"}]
        pod = {
            "metadata": {"name": "a", "annotations": declared},
            "spec": {"schedulerName": names.SCHEDULER_NAME, "containers": containers},
        }
        await world.client.create(PODS, pod, NAMESPACE)
        group = {
            "metadata": {"name": "train", "labels": {names.DERIVED_KEY: "pods"}},
            "spec": {"minMember": 2},
        }
        made = await world.client.create(POD_GROUPS, group, NAMESPACE)
        free = {**lease, "spec": {**spec, "holderIdentity": ""}}
        await world.client.replace(LEASES, names.CONTROLLER_LEASE, free, NAMESPACE)

        async def told() -> bool:
            return await members_of(world, "train") == 1

        await world.until(told)
        found = await world.client.get(POD_GROUPS, "train", NAMESPACE)
        assert found["metadata"]["uid"] == made["metadata"]["uid"]


async def test_a_background_task_that_breaks_ends_the_process_and_is_logged(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: Recorder) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Recorder, "run", broken)
    async with world.scheduler(ends_with=None) as running:
        async with asyncio.timeout(PATIENCE):
            assert await running.task == 1
    assert "Scheduler failed" in caplog.messages
