# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups that the controller makes for objects of other projects, on an API server."""

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists, NotFound
from enbloc.client.paths import CRDS, EVENTS, POD_GROUPS, PODS, Resource
from enbloc.controller.sources.coscheduling import RESOURCE
from enbloc.controller.sources.derived_groups import INTERVAL
from enbloc.controller.sources.volcano import RESOURCE as VOLCANO
from enbloc.model import names
from tests.controller.conftest import World, controller, eventually
from tests.controller.test_workload_groups import serve

THEIR_KEY = "scheduling.x-k8s.io/pod-group"
ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CRD: dict[str, Any] = {
    "apiVersion": CRDS.api_version,
    "kind": CRDS.kind,
    "metadata": {"name": RESOURCE.label()},
    "spec": {
        "group": RESOURCE.group,
        "scope": "Namespaced",
        "names": {"kind": RESOURCE.kind, "plural": RESOURCE.plural, "singular": "podgroup"},
        "versions": [
            {
                "name": RESOURCE.version,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": ANY, "status": ANY},
                    }
                },
            }
        ],
    },
}


async def member(world: World, name: str, scheduler: str = names.SCHEDULER_NAME) -> None:
    await world.create(
        PODS,
        metadata={"name": name, "labels": {THEIR_KEY: "theirs"}},
        spec={
            "schedulerName": scheduler,
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "none"}],
        },
    )


async def theirs(world: World, **spec: Any) -> dict[str, Any]:
    return await world.create(RESOURCE, metadata={"name": "theirs"}, spec=spec)


async def made(world: World) -> dict[str, Any] | None:
    try:
        return await world.get(POD_GROUPS, "theirs")
    except NotFound:
        return None


@pytest.fixture(autouse=True)
async def _installed(world: World) -> None:
    with suppress(AlreadyExists):
        await world.client.create(CRDS, CRD)
    await eventually(lambda: world.client.serves(RESOURCE))


async def test_a_podgroup_is_made_follows_and_goes_with_the_one_it_is_made_for(
    world: World,
) -> None:
    async with controller(world):
        origin = await theirs(world, minMember=2)
        await member(world, "a")
        ours = await eventually(lambda: made(world))
        assert ours["spec"]["minMember"] == 2
        assert ours["metadata"]["labels"] == {names.DERIVED_KEY: RESOURCE.label()}
        assert ours["metadata"]["ownerReferences"][0]["uid"] == origin["metadata"]["uid"]

        body = {"spec": {"minMember": 3, "scheduleTimeoutSeconds": 9}}
        await world.client.patch(RESOURCE, "theirs", body, world.namespace, kind=PatchType.MERGE)

        async def followed() -> bool:
            spec = (await world.get(POD_GROUPS, "theirs"))["spec"]
            return (spec["minMember"], spec.get("scheduleTimeoutSeconds")) == (3, 9)

        await eventually(followed)
        await world.client.delete(RESOURCE, "theirs", world.namespace)

        async def gone() -> bool:
            return await made(world) is None

        await eventually(gone)


async def test_the_object_is_told_its_phase_and_counters(world: World) -> None:
    async with controller(world):
        await theirs(world, minMember=1)
        await member(world, "a")
        await world.bind("a")
        await world.phase("a", "Running")

        async def told() -> bool:
            status = (await world.get(RESOURCE, "theirs")).get("status") or {}
            return (status.get("phase"), status.get("running")) == ("Running", 1)

        await eventually(told)


async def test_a_podgroup_whose_pods_are_another_schedulers_is_left_alone(world: World) -> None:
    async with controller(world):
        await theirs(world, minMember=1)
        await member(world, "a", "default-scheduler")
        await theirs_is_known(world)
        assert await made(world) is None
        assert not (await world.get(RESOURCE, "theirs")).get("status")


async def theirs_is_known(world: World, later: str = "later") -> None:
    """Another PodGroup that came later was followed."""
    await world.create(RESOURCE, metadata={"name": later}, spec={})
    await world.create(
        PODS,
        metadata={"name": later, "labels": {THEIR_KEY: later}},
        spec={
            "schedulerName": names.SCHEDULER_NAME,
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "none"}],
        },
    )

    async def followed() -> bool:
        try:
            return bool(await world.get(POD_GROUPS, later))
        except NotFound:
            return False

    await eventually(followed)


async def test_a_users_own_podgroup_of_that_name_stays_as_it_is(world: World) -> None:
    await world.group("theirs", minMember=5)
    async with controller(world):
        await theirs(world, minMember=2)
        await member(world, "a")
        await theirs_is_known(world)
        ours = await made(world)
    assert ours is not None
    assert ours["spec"]["minMember"] == 5
    assert "ownerReferences" not in ours["metadata"]


async def test_what_lost_its_object_while_nobody_watched_goes_at_the_start(world: World) -> None:
    async with controller(world):
        await theirs(world, minMember=2)
        await member(world, "a")
        await eventually(lambda: made(world))
    await world.client.delete(RESOURCE, "theirs", world.namespace)
    async with controller(world):

        async def gone() -> bool:
            return await made(world) is None

        await eventually(gone)


@pytest.mark.parametrize("goes", ["object", "kind"])
async def test_a_podgroup_follows_the_object_that_it_was_made_for_until_that_goes(
    world: World, goes: str
) -> None:
    """Objects of two projects have its name; the second is of the one that comes first."""
    await serve(world, VOLCANO)

    async def follows(minimum: int, kind: Resource) -> bool:
        ours = await made(world)
        if ours is None or ours["spec"]["minMember"] != minimum:
            return False
        return bool(ours["metadata"]["labels"][names.DERIVED_KEY] == kind.label())

    async with controller(world):
        await world.create(VOLCANO, metadata={"name": "theirs"}, spec={"minMember": 2})
        await member(world, "a")
        await eventually(partial(follows, 2, VOLCANO))
        await theirs(world, minMember=5)
        await theirs_is_known(world, "later")
        body = {"spec": {"minMember": 3}}
        await world.client.patch(VOLCANO, "theirs", body, world.namespace, kind=PatchType.MERGE)
        await eventually(partial(follows, 3, VOLCANO))
        if goes == "object":
            await world.client.delete(VOLCANO, "theirs", world.namespace)
        else:
            await world.client.delete(CRDS, VOLCANO.label())
        await eventually(partial(follows, 5, RESOURCE))


@pytest.mark.parametrize("minimum", [-1, "many"])
async def test_what_was_made_stays_while_its_object_cannot_be_followed(
    world: World, minimum: Any
) -> None:
    """Its gang may run, and its status tells which members are of it."""
    async with controller(world):
        await theirs(world, minMember=2)
        await member(world, "a")
        ours = await eventually(lambda: made(world))
        for each in (minimum, 3):
            await asyncio.sleep(2 * INTERVAL)  # so that each is looked at
            body = {"spec": {"minMember": each}}
            await world.client.patch(
                RESOURCE, "theirs", body, world.namespace, kind=PatchType.MERGE
            )
            await theirs_is_known(world, f"later-{each}")

        async def followed() -> bool:
            found = await world.get(POD_GROUPS, "theirs")
            assert found["metadata"]["uid"] == ours["metadata"]["uid"]
            return bool(found["spec"]["minMember"] == 3)

        await eventually(followed)


async def test_a_minimum_below_zero_is_told_on_the_object(world: World) -> None:
    async with controller(world):
        await theirs(world, minMember=-1)
        await member(world, "a")

        async def told() -> bool:
            events = [one async for one in world.client.list(EVENTS, world.namespace)]
            return any(
                one["reason"] == "InvalidSpec"
                and one["regarding"]["kind"] == "PodGroup"
                and "spec.minMember: -1 is negative" in one["note"]
                for one in events
            )

        await eventually(told)
        assert await made(world) is None
