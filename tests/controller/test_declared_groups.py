# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups that pods declare by their metadata, on an API server."""

from functools import partial
from typing import Any

import pytest

from enbloc.client.errors import NotFound
from enbloc.client.paths import EVENTS, LEASES, POD_GROUPS, PODS
from enbloc.model import names
from tests.controller.conftest import World, controller, eventually

MINIMUM = names.MIN_MEMBER_KEY


async def declaring(world: World, name: str, minimum: str = "2", group: str = "train") -> None:
    await world.create(
        PODS,
        metadata={"name": name, "annotations": {names.POD_GROUP_KEY: group, MINIMUM: minimum}},
        spec={
            "schedulerName": names.SCHEDULER_NAME,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "none"}],
        },
    )


async def made(world: World, name: str = "train") -> dict[str, Any] | None:
    try:
        return await world.get(POD_GROUPS, name)
    except NotFound:
        return None


async def seen(world: World) -> dict[str, Any] | None:
    """The PodGroup, once the controller has written what it saw of it."""
    found = await made(world)
    return found if found is not None and found.get("status") else None


async def minimum(world: World) -> int:
    found = await made(world)
    return 0 if found is None else int(found["spec"]["minMember"])


async def gone(world: World) -> bool:
    return await made(world) is None


async def told(world: World, pod: str, reason: str, note: str) -> bool:
    events = [one async for one in world.client.list(EVENTS, world.namespace)]
    return any(
        (one["regarding"]["name"], one["reason"]) == (pod, reason) and note in one["note"]
        for one in events
    )


async def test_a_podgroup_is_made_follows_its_pods_and_goes_with_the_last(world: World) -> None:
    async with controller(world):
        await declaring(world, "a")
        ours = await eventually(lambda: made(world))
        assert ours["metadata"]["labels"] == {names.DERIVED_KEY: "pods"}
        await declaring(world, "b", "3")

        async def followed() -> bool:
            return await minimum(world) == 3

        await eventually(followed)
        await eventually(
            lambda: told(world, "a", "UnsupportedField", "declares a minimum of 2, another")
        )
        await world.client.delete(PODS, "a", world.namespace)
        await world.client.delete(PODS, "b", world.namespace)
        await eventually(lambda: gone(world))


async def test_it_is_made_again_where_a_user_deletes_it(world: World) -> None:
    async with controller(world):
        await declaring(world, "a")
        first = await eventually(lambda: seen(world))
        await world.client.delete(POD_GROUPS, "train", world.namespace)

        async def again() -> bool:
            found = await made(world)
            return found is not None and found["metadata"]["uid"] != first["metadata"]["uid"]

        await eventually(again)


@pytest.mark.parametrize("world", ["sandbox"], indirect=True)
async def test_who_takes_over_deletes_none_whose_pods_it_has_yet_to_see(world: World) -> None:
    """Semantics §6.3: its stream of pods may still wait for the end of an outage."""
    assert world.faults is not None
    spec = {
        "holderIdentity": "the leader",
        "leaseDurationSeconds": 300,
        "renewTime": "2026-11-30T06:00:00.000000Z",
    }
    await world.create(LEASES, metadata={"name": names.CONTROLLER_LEASE}, spec=spec)
    async with controller(world, leader_elect=True) as standby:
        synced = "readyz/controller-pods-synced"
        await eventually(lambda: standby.health.report(synced, "") == (200, "ok"))
        world.faults.add(verb="watch", resource="pods", status=500)
        world.faults.end_watches()
        await declaring(world, "a")
        metadata = {"name": "train", "labels": {names.DERIVED_KEY: "pods"}}
        made_before = await world.create(POD_GROUPS, metadata=metadata, spec={"minMember": 2})
        lease = await world.get(LEASES, names.CONTROLLER_LEASE)
        lease["spec"] |= {"holderIdentity": ""}
        await world.client.replace(LEASES, names.CONTROLLER_LEASE, lease, world.namespace)
        found = await eventually(lambda: seen(world))
        assert found["metadata"]["uid"] == made_before["metadata"]["uid"]
        assert found["status"]["members"] == 1


async def test_a_users_own_podgroup_of_that_name_is_left_alone(world: World) -> None:
    await world.group(minMember=5)
    async with controller(world):
        await declaring(world, "a")
        await declaring(world, "b", group="later")
        await eventually(lambda: made(world, "later"))
        assert await minimum(world) == 5
        await world.client.delete(PODS, "a", world.namespace)
        await world.client.delete(PODS, "b", world.namespace)

        async def followed() -> bool:
            return await made(world, "later") is None

        await eventually(followed)
        assert await minimum(world) == 5


async def test_what_pods_declared_before_the_start_is_made_and_what_they_left_goes(
    world: World,
) -> None:
    async with controller(world):
        await declaring(world, "a")
        await eventually(lambda: made(world))
    await world.client.delete(PODS, "a", world.namespace)
    await declaring(world, "b", group="later")
    async with controller(world):
        await eventually(lambda: gone(world))
        await eventually(lambda: made(world, "later"))


async def test_a_minimum_that_is_no_number_is_told_on_the_pod(world: World) -> None:
    async with controller(world):
        await declaring(world, "a", "many")
        note = f'annotation {MINIMUM}: "many" is not a whole number'
        await eventually(lambda: told(world, "a", "InvalidSpec", note))
        assert await gone(world)


async def test_a_quota_that_forbids_the_podgroup_is_told_on_a_pod_that_declares_it(
    world: World,
) -> None:
    if world.faults is not None:
        pytest.skip("the sandbox has no quotas")
    await world.forbid_podgroups()
    async with controller(world):
        await declaring(world, "a")
        await eventually(partial(told, world, "a", names.EventReason.POD_GROUP_NOT_FOUND, "quota"))
