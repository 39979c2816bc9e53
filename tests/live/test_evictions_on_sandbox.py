# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Evictions against an API server, with the scheduler's permissions (semantics §4.5)."""

import asyncio
from typing import Any

import pytest

from enbloc.client.client import Client, PatchType
from enbloc.client.errors import NotFound
from enbloc.client.paths import PODS, Resource
from enbloc.client.permissions import ROLES
from enbloc.engine.effects import Evict
from enbloc.engine.events import Evicted, EvictRefused, EvictStopped
from enbloc.live.evictions import Evictions
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.model.pods import PodKey, PodUID
from enbloc_sandbox import Sandbox
from tests.live.world import NAMESPACE, World
from tests.world.virtual_time import time_source

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
#: What owns pods here: nothing acts on it.
OWNERS = Resource("", "v1", "configmaps", "ConfigMap")
FAULTS = [
    pytest.param({"status": 500}, id="500"),
    pytest.param({"status": 504, "after_commit": True}, id="504 after the write"),
    pytest.param({"after_commit": True}, id="connection cut after the write"),
    pytest.param({"status": 429, "retry_after": 1}, id="throttled"),
    pytest.param({"status": 401}, id="401"),
]


@pytest.fixture
async def world(world: World) -> World:
    await world.nodes("n1")
    return world


async def placed(world: World, name: str, phase: str, *, owned: bool = True) -> PodUID:
    """A pod on a node, made by a controller or bare."""
    thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"owner-of-{name}"}}
    owner = (await world.client.create(OWNERS, thing, NAMESPACE))["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"]}
    reference |= {"uid": owner["uid"], "controller": True}
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"app": "g"},
            "ownerReferences": [reference] if owned else [],
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
    }
    made = await world.client.create(PODS, body, NAMESPACE)
    status = {"status": {"phase": phase}}
    await world.client.patch(
        PODS, name, status, NAMESPACE, kind=PatchType.MERGE, subresource="status"
    )
    return PodUID(made["metadata"]["uid"])


async def outcome(world: World, name: str, uid: PodUID) -> Evicted | EvictRefused | EvictStopped:
    """What the engine is told when it has this pod evicted."""
    told: asyncio.Queue[Evicted | EvictRefused | EvictStopped] = asyncio.Queue()
    rules = ROLES["scheduler"]
    effect = Evict(
        PodKey(NAMESPACE, name), uid, GroupKey(NAMESPACE, "g"), Reason.BELOW_MINIMUM, "3 of 8 fit"
    )
    async with Client(
        world.cluster, component="scheduler", rules=rules, clock=time_source()
    ) as client:
        evictions = Evictions(client, lambda: 0.0, told.put_nowait, lambda _: None)
        evictions.start([effect])
        async with asyncio.timeout(20.0):
            return await told.get()


async def reasons(world: World, name: str) -> dict[str, str]:
    """The conditions of a pod that is terminating, by type; none if it is gone."""
    try:
        pod = await world.client.get(PODS, name, NAMESPACE)
    except NotFound:
        return {}
    assert "deletionTimestamp" in pod["metadata"]
    return {c["type"]: c["reason"] for c in pod["status"]["conditions"] if c.get("reason")}


@pytest.mark.parametrize("fault", [None, *FAULTS])
async def test_a_pod_that_has_not_started_is_deleted_and_says_why(
    world: World, sandbox: Sandbox, fault: dict[str, Any] | None
) -> None:
    if fault is not None:
        sandbox.faults.add(verb="delete", resource="pods", times=2, **fault)
    uid = await placed(world, "p", "Pending")
    assert await outcome(world, "p", uid) == Evicted(uid)
    assert (await reasons(world, "p"))["DisruptionTarget"] == "BelowMinimum"


@pytest.mark.parametrize("fault", [None, *FAULTS])
async def test_a_pod_that_runs_is_evicted(
    world: World, sandbox: Sandbox, fault: dict[str, Any] | None
) -> None:
    if fault is not None:
        sandbox.faults.add(verb="create", resource="pods/eviction", times=2, **fault)
    uid = await placed(world, "p", "Running")
    assert await outcome(world, "p", uid) == Evicted(uid)
    assert (await reasons(world, "p"))["DisruptionTarget"] == "EvictionByEvictionAPI"


async def test_a_pod_that_a_budget_covers_runs_on(world: World) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "g"}}},
    }
    await world.client.create(BUDGETS, budget, NAMESPACE)
    uid = await placed(world, "p", "Running")
    refused = await outcome(world, "p", uid)
    assert isinstance(refused, EvictRefused)
    assert refused.retry_at == 10.0
    assert "disruption budget b" in refused.message
    pod = await world.client.get(PODS, "p", NAMESPACE)
    assert "deletionTimestamp" not in pod["metadata"]


async def test_a_bare_pod_is_left_as_it_is(world: World) -> None:
    uid = await placed(world, "p", "Running", owned=False)
    refused = await outcome(world, "p", uid)
    assert isinstance(refused, EvictRefused)
    pod = await world.client.get(PODS, "p", NAMESPACE)
    assert "deletionTimestamp" not in pod["metadata"]
    types = {c["type"] for c in pod["status"].get("conditions") or ()}
    assert "DisruptionTarget" not in types


async def test_a_namesake_is_left_alone(world: World) -> None:
    await placed(world, "p", "Running")
    refused = await outcome(world, "p", PodUID("another"))
    assert isinstance(refused, EvictRefused)
    pod = await world.client.get(PODS, "p", NAMESPACE)
    assert "deletionTimestamp" not in pod["metadata"]
