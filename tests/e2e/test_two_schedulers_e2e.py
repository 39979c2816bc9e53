# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Two schedulers of ours in one cluster, with different profiles or the same; semantics §6.4."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from enbloc.client.errors import AlreadyExists
from enbloc.client.paths import CLUSTER_ROLE_BINDINGS, LEASES, NAMESPACES, POD_GROUPS
from enbloc.model.field_managers import schedulers_among
from enbloc.model.names import SCHEDULER_LEASE, SCHEDULER_NAME
from tests.e2e import manifests
from tests.e2e.replicas import Replicas, elected, leads
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("leaders are killed, and their Leases have to end")

BATCH = "batch"
SIZE = 4


async def writers(world: World, group: str) -> tuple[str, ...]:
    """The schedulers that own a part of a PodGroup's status."""
    found = await world.client.get(POD_GROUPS, group, world.namespace)
    owners = found["metadata"].get("managedFields", ())
    return schedulers_among(
        each["manager"] for each in owners if each.get("subresource") == "status"
    )


async def written_by(world: World, group: str, manager: str) -> None:
    """Wait until one scheduler alone owns a part of a PodGroup's status.

    Of a group of the other one a scheduler may write until the other has written for the first
    time, which a leader that is killed may never have done.
    """

    async def alone() -> bool:
        return await writers(world, group) == (manager,)

    await world.eventually(alone, lambda: f"{manager} alone writes of {group}")


async def test_two_schedulers_place_and_speak_of_their_own_gangs_while_leaders_die(
    world: World,
) -> None:
    await world.nodes(4, cpu=16)
    world.scheduler.kill()
    ours = await Replicas(world).start()
    theirs = await Replicas(world, BATCH, "batch-scheduler", world.target.kubeconfig).start()
    both = {SCHEDULER_NAME: ours, BATCH: theirs}
    for name in both:
        await world.gang(f"{name}-short", SIZE - 1, minimum=SIZE, scheduler=name)
    for round_ in range(2):
        gangs = [f"{name}-{round_}" for name in both]
        arriving = asyncio.gather(
            *(world.gang(f"{name}-{round_}", SIZE, scheduler=name) for name in both)
        )
        await asyncio.gather(*(each.kill_the_leader() for each in both.values()))
        await arriving
        for gang in gangs:
            await world.bound(gang, SIZE)
            await world.condition(gang, "Scheduled", "True")
    for name in both:
        message = f"{SIZE - 1} of {SIZE} members exist"
        await world.condition(
            f"{name}-short", "Scheduled", "False", reason="WaitingForMembers", message=message
        )
        [waiting] = [
            each["message"]
            for each in await world.conditions(f"{name}-short")
            if each["type"] == "Scheduled"
        ]
        assert "another schedulerName" not in waiting
        for group in (f"{name}-short", f"{name}-0", f"{name}-1"):
            await written_by(world, group, f"enbloc-scheduler:{name}")
        await world.pod(f"{name}-short-last", f"{name}-short", scheduler=name)
        await world.bound(f"{name}-short", SIZE)


@asynccontextmanager
async def another_install(world: World) -> AsyncGenerator[str]:
    """A namespace to which somebody has given the rights of a scheduler."""
    name = f"{world.namespace}-other"
    binding = {
        "metadata": {"name": name, "labels": {"app.kubernetes.io/part-of": "enbloc"}},
        "roleRef": {
            "apiGroup": CLUSTER_ROLE_BINDINGS.group,
            "kind": "ClusterRole",
            "name": "enbloc-scheduler",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "scheduler", "namespace": name}],
    }
    with suppress(AlreadyExists):
        await world.client.create(NAMESPACES, manifests.namespace(name))
    if world.target.complete:
        await world.client.create(CLUSTER_ROLE_BINDINGS, binding)
    try:
        yield name
    finally:
        await world.client.delete(LEASES, SCHEDULER_LEASE, name)
        if world.target.complete:
            await world.client.delete(CLUSTER_ROLE_BINDINGS, name)
        await world.client.delete(NAMESPACES, name)


async def test_the_second_install_of_a_scheduler_name_waits_until_the_first_is_dead(
    world: World,
) -> None:
    await world.nodes(1, cpu=8)
    world.scheduler.kill()
    async with another_install(world) as namespace:
        kubeconfig = world.target.kubeconfig
        first = await elected(world, namespace=namespace, kubeconfig=kubeconfig)
        await world.until(lambda: leads(first), "the first one leads")
        second = await elected(world)
        waits_for = f"Standing by: the scheduler of the Lease {namespace}/{SCHEDULER_LEASE}"
        await world.until(lambda: waits_for in second.text(), "the second one says for whom")
        await world.gang("before", SIZE)
        await world.bound("before", SIZE)
        assert not leads(second)
        first.kill()
        await world.gang("after", SIZE)
        await world.bound("after", SIZE)
        assert leads(second)
        assert second.text().count("Standing by") == 1
