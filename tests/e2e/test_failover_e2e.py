# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What holds whoever leads: the leader is killed in the middle of each of these."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists
from enbloc.client.paths import JOBS, POD_GROUPS, PODS, PRIORITY_CLASSES
from tests.e2e.replicas import Replicas
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("leaders are killed, and their Leases have to end")

SIZE = 4


@pytest.fixture
async def replicas(world: World) -> Replicas:
    world.scheduler.kill()
    return await Replicas(world).start()


# ── the order ────────────────────────────────────────────────────────────────────────────────

HIGH = "e2e-1000"
#: Who goes does so by itself, not for it.
PATIENT = {"metadata": {"name": HIGH}, "value": 1000, "preemptionPolicy": "Never"}


async def filled(world: World, node: str, round_: int) -> list[str]:
    """Pods that somebody else put on a node, one for each of its CPUs."""
    names = [f"sitting-{round_}-{index}" for index in range(SIZE)]
    await asyncio.gather(*(world.pod(name, scheduler="somebody-else", node=node) for name in names))
    return names


async def test_a_priority_of_1000_is_never_overtaken_by_a_younger_gang_while_pods_come_and_go(
    world: World, replicas: Replicas
) -> None:
    """semantics §2.7: its pause grows with each pod that goes, and the gang's has just begun."""
    with suppress(AlreadyExists):
        await world.client.create(PRIORITY_CLASSES, PATIENT)
    [node] = await world.nodes(1, cpu=SIZE)
    for round_ in range(4):
        sitting = await filled(world, node, round_)
        high, low = f"high-{round_}", f"low-{round_}"
        await world.pod(high, cpu=SIZE, priority_class=HIGH)
        for _ in range(5):  # each gives it hope, in vain
            await world.remove_pod(sitting[0])
            await world.pod(sitting[0], scheduler="somebody-else", node=node)
        if round_ == 1:
            await replicas.kill_the_leader()
        await world.gang(low, 2, cpu=SIZE // 2)
        await world.condition(low, "Scheduled", "False", reason="Unschedulable")
        if round_ == 2:
            await replicas.kill_the_leader()
        await asyncio.gather(*(world.remove_pod(name) for name in sitting))
        await world.bound(high, 1)
        assert world.observer.bound(world.namespace, low) == {}
        await world.remove_pod(high)
        await world.bound(low, 2)
        await asyncio.gather(*(world.remove_pod(f"{low}-{index}") for index in range(2)))
        await world.delete_group(low)


# ── gangs of other projects ──────────────────────────────────────────────────────────────────

#: By project: what its pods have.
FOREIGN: dict[str, dict[str, Any]] = {
    "volcano": {"annotations": {"scheduling.k8s.io/group-name": "theirs"}},
    "coscheduling": {"labels": {"scheduling.x-k8s.io/pod-group": "theirs"}},
    "koordinator": {"labels": {"gang.scheduling.koordinator.sh/name": "theirs"}},
    "kai": {"annotations": {"pod-group-name": "theirs"}},
    "yunikorn": {
        "labels": {"applicationId": "theirs"},
        "annotations": {"yunikorn.apache.org/task-group-name": "workers"},
    },
    "native": {"schedulingGroup": {"podGroupName": "theirs"}},
}


async def test_pods_of_foreign_gangs_wait_for_their_podgroup(
    world: World, replicas: Replicas
) -> None:
    """semantics §6.5"""
    await world.nodes(2, cpu=32)
    for project, names_it in FOREIGN.items():
        await world.pod(f"{project}-0", **names_it)
    await replicas.kill_the_leader()
    for project, names_it in FOREIGN.items():
        await world.pod(f"{project}-1", **names_it)
    await world.gang("ours", SIZE)
    await world.bound("ours", SIZE)
    for project in FOREIGN:
        if not await kept(world, f"{project}-0", project):
            continue
        for name in (f"{project}-0", f"{project}-1"):
            await world.event(name, "PodGroupNotFound", note="theirs")
            assert name not in world.observer.bound(world.namespace)


async def kept(world: World, pod: str, project: str) -> bool:
    """Whether the server has what names the gang: a field whose gate is off it drops."""
    found = await world.client.get(PODS, pod, world.namespace)
    return project != "native" or "schedulingGroup" in found["spec"]


# ── suspend and resume ───────────────────────────────────────────────────────────────────────


async def suspend(world: World, job: str, *, suspended: bool) -> None:
    """`kubectl patch job`, as a queue does."""
    patch = {"spec": {"suspend": suspended}}
    await world.client.patch(JOBS, job, patch, world.namespace, kind=PatchType.MERGE)


async def started(world: World, group: str) -> str:
    """When a gang started, by its status; "" = it has not."""
    found = await world.client.get(POD_GROUPS, group, world.namespace)
    return str(found["status"].get("startedTime") or "")


async def once_started(world: World, group: str, *, after: str = "") -> str:
    """Wait until status says when a gang started, and that it was after such a time."""
    said = ""

    async def is_said() -> bool:
        nonlocal said
        said = await started(world, group)
        return said > after

    await world.eventually(is_said, lambda: f"{group} started after {after!r}: {said!r}")
    return said


async def once_not_started(world: World, group: str) -> None:
    """Wait until status says that a gang has not started."""

    async def is_said() -> bool:
        return not await started(world, group)

    await world.eventually(is_said, lambda: f"{group} has not started")


async def test_a_job_that_is_resumed_starts_whole_or_not_at_all(
    world: World, replicas: Replicas
) -> None:
    """semantics §1, §2.1: it has not started, though it had; the cluster is smaller meanwhile."""
    await world.nodes(2, cpu=SIZE // 2)
    await world.group("job", SIZE)
    await world.job("job", SIZE, "job")
    await world.condition("job", "Ready", "True", reason="Running")
    before = await once_started(world, "job")
    await suspend(world, "job", suspended=True)
    await world.until(lambda: not world.observer.of(world.namespace, "job"), "its pods are gone")
    await once_not_started(world, "job")
    await world.pod("sitting", scheduler="somebody-else", node=f"{world.namespace}-n0")
    await replicas.kill_the_leader()
    await suspend(world, "job", suspended=False)
    await world.condition("job", "Scheduled", "False", message="the 4 required members")
    await world.quiet()
    assert world.observer.bound(world.namespace, "job") == {}
    await replicas.kill_the_leader()
    await world.quiet()
    assert world.observer.bound(world.namespace, "job") == {}
    assert await started(world, "job") == ""
    await world.remove_pod("sitting")
    await world.bound("job", SIZE)
    await world.condition("job", "Ready", "True", reason="Running")
    await once_started(world, "job", after=before)
