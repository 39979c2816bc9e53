# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own PodGroups in the versions of 1.37, whose schemas a sandbox serves."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from enbloc.client.client import Client, PatchType
from enbloc.client.cluster_access import load
from enbloc.client.errors import NotFound
from enbloc.client.paths import (
    CRDS,
    EVENTS,
    NAMESPACES,
    NATIVE_POD_GROUPS,
    POD_GROUPS,
    PODS,
    Resource,
)
from enbloc.controller.sources.native import COMPOSITES
from enbloc.model import names
from enbloc_sandbox import Sandbox
from tests.controller.conftest import World, condition, controller, eventually
from tests.controller.native_kinds import crd
from tests.world.virtual_time import time_source

_V1, V1BETA1, V1ALPHA3, _V1ALPHA2 = NATIVE_POD_GROUPS
GANG_OF_2: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": 2}}}
KIND = "PodGroupInitiallyScheduled"


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with Sandbox(clock=time_source().wall) as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        async with Client(await load(tmp_path / "kubeconfig"), component="test") as client:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
            await client.create(NAMESPACES, body)
            yield World(client, tmp_path / "kubeconfig", "ns", server.faults)


@pytest.fixture(params=[(V1BETA1, V1ALPHA3), (V1ALPHA3,)], ids=["v1beta1", "v1alpha3"])
async def native(world: World, request: pytest.FixtureRequest) -> Resource:
    """The newest version that is served."""
    await world.client.create(CRDS, crd(*request.param))
    await world.client.create(CRDS, crd(COMPOSITES[-1]))
    found: Resource = request.param[0]
    return found


async def member(
    world: World, name: str, scheduler: str = names.SCHEDULER_NAME, *, of: str = "train"
) -> None:
    await world.create(
        PODS,
        metadata={"name": name},
        spec={
            "schedulerName": scheduler,
            "automountServiceAccountToken": False,
            "schedulingGroup": {"podGroupName": of},
            "containers": [{"name": "main", "image": "none"}],
        },
    )


async def group(world: World, native: Resource, name: str = "train", **spec: Any) -> dict[str, Any]:
    return await world.create(native, metadata={"name": name}, spec=spec)


async def made(world: World, name: str = "train") -> dict[str, Any] | None:
    try:
        return await world.get(POD_GROUPS, name)
    except NotFound:
        return None


async def told(
    world: World, native: Resource, status: str, reason: str, name: str = "train"
) -> dict[str, Any]:
    """The condition, once it has this status and reason."""

    async def probe() -> dict[str, Any] | None:
        found = condition((await world.get(native, name)).get("status") or {}, KIND)
        return found if (found.get("status"), found.get("reason")) == (status, reason) else None

    found: dict[str, Any] = await eventually(probe)
    return found


async def event(world: World, reason: str, text: str) -> None:
    async def said() -> bool:
        events = [one async for one in world.client.list(EVENTS, world.namespace)]
        return any(
            (one["reason"], one["regarding"]["apiVersion"].partition("/")[0])
            == (reason, "scheduling.k8s.io")
            and text in one["note"]
            for one in events
        )

    await eventually(said)


async def edit(world: World, native: Resource, **spec: Any) -> None:
    body = {"spec": spec}
    await world.client.patch(native, "train", body, world.namespace, kind=PatchType.MERGE)


async def test_a_gang_is_made_follows_its_minimum_and_goes(world: World, native: Resource) -> None:
    async with controller(world):
        origin = await group(world, native, **GANG_OF_2, priorityClassName="high")
        await member(world, "a")
        ours = await eventually(lambda: made(world))
        assert ours["spec"]["minMember"] == 2
        assert ours["spec"]["priorityClassName"] == "high"
        [owner] = ours["metadata"]["ownerReferences"]
        assert (owner["apiVersion"], owner["uid"]) == (
            native.api_version,
            origin["metadata"]["uid"],
        )

        await edit(world, native, schedulingPolicy={"gang": {"minCount": 3}})

        async def followed() -> bool:
            return bool((await world.get(POD_GROUPS))["spec"]["minMember"] == 3)

        await eventually(followed)
        await world.client.delete(native, "train", world.namespace)

        async def gone() -> bool:
            return await made(world) is None

        await eventually(gone)


async def test_a_basic_group_starts_pod_by_pod(world: World, native: Resource) -> None:
    async with controller(world):
        await group(world, native, schedulingPolicy={"basic": {}}, disruptionMode={"all": {}})
        await member(world, "a")
        ours = await eventually(lambda: made(world))
        assert ours["spec"]["minMember"] == 1


async def test_its_condition_says_why_it_waits_and_stays_true_once_it_was(
    world: World, native: Resource
) -> None:
    async with controller(world):
        await group(world, native, **GANG_OF_2)
        await member(world, "a")
        await eventually(lambda: made(world))
        await world.scheduler_says("False", "Unschedulable")
        found = await told(world, native, "False", "Unschedulable")
        assert found["message"] == "says the scheduler"
        assert found["observedGeneration"] == 1

        await world.scheduler_says("False", "SchedulerError")
        later = await told(world, native, "False", "SchedulerError")
        assert later["lastTransitionTime"] == found["lastTransitionTime"]

        await world.scheduler_says("True", "Scheduled")
        found = await told(world, native, "True", "Scheduled")
        assert found["message"] == ""

        await world.scheduler_says("False", "Unschedulable")
        await settled(world, native)
        assert condition((await world.get(native))["status"], KIND) == found


async def test_that_it_was_preempted_stands_there_until_it_is_bound_again(
    world: World, native: Resource
) -> None:
    async with controller(world):
        await group(world, native, **GANG_OF_2)
        await member(world, "a")
        await eventually(lambda: made(world))
        await world.scheduler_says("True", "Scheduled")
        await told(world, native, "True", "Scheduled")
        await world.scheduler_says("False", "Preempted", preempted="preempted by pod ns/high")

        async def preempted() -> dict[str, Any]:
            return condition((await world.get(native))["status"], "DisruptionTarget")

        found = await eventually(preempted)
        assert (found["status"], found["reason"]) == ("True", "PreemptionByScheduler")
        assert found["message"] == "preempted by pod ns/high"

        await world.scheduler_says("True", "Scheduled")

        async def over() -> bool:
            return not await preempted()

        await eventually(over)


async def settled(world: World, native: Resource, name: str = "later") -> None:
    """Another group that came later was told, so whatever is to be said of others was."""
    await group(world, native, name, schedulingPolicy={"basic": {}})
    await member(world, f"{name}-0", of=name)
    await eventually(lambda: made(world, name))
    await world.scheduler_says("False", "Unschedulable", name)
    await told(world, native, "False", "Unschedulable", name)
    await world.scheduler_says("True", "Scheduled", name)
    await told(world, native, "True", "Scheduled", name)


async def test_nothing_is_said_while_members_are_missing(world: World, native: Resource) -> None:
    async with controller(world):
        await group(world, native, **GANG_OF_2)
        await member(world, "a")
        await eventually(lambda: made(world))
        await world.scheduler_says("False", "WaitingForMembers")
        await settled(world, native)
        assert not (await world.get(native)).get("status")


async def test_conditions_of_others_are_kept(world: World, native: Resource) -> None:
    theirs = {
        "type": "example.com/Audited",
        "status": "True",
        "lastTransitionTime": "2026-11-21T05:00:00Z",
        "reason": "Seen",
        "message": "",
    }
    async with controller(world):
        await group(world, native, **GANG_OF_2)
        body = {"status": {"conditions": [theirs]}}
        await world.client.patch(
            native, "train", body, world.namespace, kind=PatchType.MERGE, subresource="status"
        )
        await member(world, "a")
        await eventually(lambda: made(world))
        await world.scheduler_says("True", "Scheduled")
        await told(world, native, "True", "Scheduled")
        assert condition((await world.get(native))["status"], theirs["type"]) == theirs


async def test_a_group_whose_pods_are_another_schedulers_is_left_alone(
    world: World, native: Resource
) -> None:
    """Also where a user has a PodGroup of ours by that name."""
    async with controller(world):
        await group(
            world, native, **GANG_OF_2, schedulingConstraints={"topology": [{"key": "rack"}]}
        )
        await member(world, "a", "default-scheduler")
        await settled(world, native)
        assert await made(world) is None

        await world.group("train", minMember=1)
        await world.scheduler_says("True", "Scheduled")
        await settled(world, native, "last")
        assert not (await world.get(native)).get("status")


async def test_one_that_was_created_again_begins_anew(world: World, native: Resource) -> None:
    """What was scheduled was the one before: terminal True would be wrong for ever."""
    async with controller(world):
        await group(world, native, **GANG_OF_2)
        await member(world, "a")
        before = await eventually(lambda: made(world))
        await world.scheduler_says("True", "Scheduled")
        await told(world, native, "True", "Scheduled")

    # As a garbage collector leaves ours that comes too late.
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan"}
    await world.client.request("delete", native, "train", world.namespace, body=body)
    again = await group(world, native, **GANG_OF_2)
    async with controller(world):

        async def anew() -> dict[str, Any] | None:
            found = await made(world)
            owners = (found or again)["metadata"].get("ownerReferences") or [{}]
            return found if owners[0].get("uid") == again["metadata"]["uid"] else None

        ours = await eventually(anew)
        await settled(world, native)
    assert ours["metadata"]["uid"] != before["metadata"]["uid"]
    assert not (await world.get(native)).get("status")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {**GANG_OF_2, "parentCompositePodGroupName": "root"},
            "spec.parentCompositePodGroupName: CompositePodGroup root not found; create it",
        ),
        (
            {"schedulingPolicy": {"gang": {"minCount": 200_000}}},
            "spec.schedulingPolicy.gang.minCount: 200000 is not between 1 and 100000",
        ),
    ],
    ids=["a parent", "too many"],
)
async def test_what_cannot_be_scheduled_is_said_on_the_object(
    world: World, native: Resource, spec: dict[str, Any], text: str
) -> None:
    async with controller(world):
        await group(world, native, **spec)
        await member(world, "a")
        await event(world, "InvalidSpec", text)
        assert await made(world) is None


async def test_the_pods_of_a_gang_are_to_be_in_one_domain_of_the_node_label_that_it_names(
    world: World, native: Resource
) -> None:
    async with controller(world):
        constraints = {"topology": [{"key": "example.com/rack"}]}
        await group(world, native, **GANG_OF_2, schedulingConstraints=constraints)
        await member(world, "a")
        ours = await eventually(lambda: made(world))
        assert ours["spec"]["topology"] == {"required": "example.com/rack"}
