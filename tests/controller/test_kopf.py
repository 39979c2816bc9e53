# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What kopf does in the controller, and what it does not: docs/explanation/decisions.md."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import kopf
import pytest

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists
from enbloc.client.paths import CRDS, JOBS, LEASES, NAMESPACES, POD_GROUPS, PODS, Resource
from enbloc.controller.sources.coscheduling import RESOURCE as THEIR_GROUPS
from enbloc.controller.sources.leaderworkerset import RESOURCE as LEADER_WORKER_SETS
from enbloc.model import names
from enbloc.model.times import micro_time_text
from tests.controller.conftest import World, controller, eventually
from tests.controller.fake import KINDS, PodGroupServer, group
from tests.controller.test_session import following
from tests.controller.test_workload_groups import group_of, job, made, one_member, pod, switch
from tests.foreign_crds import crd

#: The managers of fields that we write, or kopf.
OURS = ("enbloc-controller", "kopf")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Whether kopf runs in this process."""
    running: list[object] = []
    operator = kopf.operator

    async def counted(**options: Any) -> None:
        running.append(options)
        try:
            await operator(**options)
        finally:
            running.remove(options)

    monkeypatch.setattr(kopf, "operator", counted)
    return lambda: bool(running)


async def test_nothing_is_registered_where_another_operator_in_the_process_would_find_it(
    world: World,
) -> None:
    before = kopf.get_default_registry()
    async with controller(world):
        await world.group(minMember=1)
        await world.until("WaitingForMembers")
        assert kopf.get_default_registry() is before
        handlers = {
            handler.id for part in vars(before).values() for handler in part.get_all_handlers()
        }
    assert handlers == {"login_via_client"}, "kopf's own, which it falls back to"


PEERING = "/apis/kopf.dev/v1"


async def test_peerings_of_other_kopf_operators_are_neither_read_nor_written() -> None:
    kinds = {**KINDS, PEERING: ["clusterkopfpeerings", "kopfpeerings"]}
    server = PodGroupServer(group("a"), kinds=kinds)
    async with following(server) as (log, _):
        await log.until((None, "a"))
    assert [(verb, path) for verb, path in server.asked if path.startswith(f"{PEERING}/")] == []


async def test_a_standby_neither_runs_kopf_nor_writes(
    world: World, runs: Callable[[], bool]
) -> None:
    now = micro_time_text(time.time())
    spec = {
        "holderIdentity": "another",
        "leaseDurationSeconds": 3600,
        "acquireTime": now,
        "renewTime": now,
        "leaseTransitions": 0,
    }
    await world.create(LEASES, metadata={"name": names.CONTROLLER_LEASE}, spec=spec)
    await switch(world, "Job")
    async with controller(world, leader_elect=True) as running:
        found = await job(world)
        await pod(world, "p", found, {})
        await world.group(minMember=1)
        await eventually(running.ready)
        assert not runs()
        assert await made(world, group_of(found)) is None
        assert "status" not in await world.get(POD_GROUPS)

        body = {"spec": {"holderIdentity": ""}}
        await world.client.patch(
            LEASES, names.CONTROLLER_LEASE, body, world.namespace, kind=PatchType.MERGE
        )
        await world.until("WaitingForMembers")
        assert runs()
    assert not runs()


async def test_a_stop_ends_kopf(world: World, runs: Callable[[], bool]) -> None:
    async with controller(world) as running:
        await world.group(minMember=1)
        await world.until("WaitingForMembers")
        assert runs()
        running.stop.set()
        assert await running.code == 0
        assert not runs()


async def served(world: World, resource: Resource) -> None:
    with suppress(AlreadyExists):
        await world.client.create(CRDS, crd(resource))
    await eventually(lambda: world.client.serves(resource))


def untouched(found: dict[str, Any]) -> dict[str, Any]:
    """What nobody but its owner may change of an object."""
    kept = ("annotations", "finalizers", "labels", "ownerReferences")
    return {key: found["metadata"].get(key) for key in kept}


async def test_objects_of_others_get_a_status_and_nothing_else(world: World) -> None:
    await served(world, THEIR_GROUPS)
    await served(world, LEADER_WORKER_SETS)
    await switch(world, "all")
    async with controller(world):
        spec: dict[str, Any] = {"replicas": 1, "leaderWorkerTemplate": {"size": 2}}
        theirs = [
            (JOBS, await job(world)),
            (
                THEIR_GROUPS,
                await world.create(THEIR_GROUPS, metadata={"name": "g"}, spec={"minMember": 1}),
            ),
            (
                LEADER_WORKER_SETS,
                await world.create(LEADER_WORKER_SETS, metadata={"name": "s"}, spec=spec),
            ),
        ]
        owner = theirs[0][1]
        await pod(world, "p", owner, {})
        await pod(world, "q", owner, {"scheduling.x-k8s.io/pod-group": "g"})
        theirs += [(PODS, await world.get(PODS, name)) for name in ("p", "q")]
        await one_member(world, group_of(owner))

        async def told() -> bool:
            return bool((await world.get(THEIR_GROUPS, "g")).get("status", {}).get("phase"))

        await eventually(told)
        for resource, before in theirs:
            after = await world.get(resource, before["metadata"]["name"])
            assert untouched(after) == untouched(before), resource.label()
            ours = {
                field.get("subresource")
                for field in after["metadata"]["managedFields"]
                if field["manager"].startswith(OURS)
            }
            assert ours <= {"status"}, resource.label()
        namespace = await world.client.get(NAMESPACES, world.namespace)
        assert "annotations" not in namespace["metadata"]
