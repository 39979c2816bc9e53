# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who gives way to whom on a running API server; every test on both targets."""

from contextlib import suppress
from typing import Any

from enbloc.client.errors import AlreadyExists
from enbloc.client.paths import PODS, PRIORITY_CLASSES
from tests.e2e.world import World

HIGH, PATIENT = "e2e-preempts", "e2e-never-preempts"


async def high(world: World, name: str = HIGH, **more: str) -> None:
    """A PriorityClass above everybody's."""
    with suppress(AlreadyExists):
        await world.client.create(
            PRIORITY_CLASSES, {"metadata": {"name": name}, "value": 1000, **more}
        )


async def pod(world: World, name: str) -> dict[str, Any]:
    found: dict[str, Any] = await world.client.get(PODS, name, world.namespace)
    return found


async def test_a_gang_of_higher_priority_takes_the_place_of_a_whole_one(world: World) -> None:
    await high(world)
    await world.nodes(2, cpu=2)
    await world.group("low", 4)
    await world.job("low", 4, "low")  # which makes the victims again at once
    await world.condition("low", "Ready", "True", reason="Running")
    await world.gang("high", 2, priority_class=HIGH)
    await world.bound("high", 2)
    await world.event("low", "Preempted", note="preempted by PodGroup")
    await world.event("high", "Preempting")
    await world.condition("low", "Scheduled", "False")
    assert world.observer.bound(world.namespace, "low") == {}


async def test_only_the_surplus_of_an_elastic_gang_gives_way(world: World) -> None:
    await high(world)
    await world.nodes(1, cpu=4)
    await world.group("elastic", 3)
    await world.job("elastic", 4, "elastic")
    await world.bound("elastic", 4)
    await world.pod("urgent", priority_class=HIGH)
    await world.until(
        lambda: len(world.observer.bound(world.namespace, "elastic")) == 3, "one gives way"
    )
    await world.until(
        lambda: "urgent" in str(world.observer.bound(world.namespace)), "urgent is bound"
    )
    await world.condition("elastic", "Satisfied", "True")


async def test_a_pod_that_may_not_preempt_says_so_and_evicts_nobody(world: World) -> None:
    await high(world, PATIENT, preemptionPolicy="Never")
    await world.nodes(1, cpu=1)
    await world.pod("low")
    await world.until(lambda: bool(world.observer.bound(world.namespace)), "low is bound")
    await world.pod("patient", priority_class=PATIENT)

    async def told() -> bool:
        conditions = (await pod(world, "patient")).get("status", {}).get("conditions", ())
        return any("preemptionPolicy=Never" in each.get("message", "") for each in conditions)

    await world.eventually(told, lambda: "patient says why", 30)
    assert not (await pod(world, "low"))["metadata"].get("deletionTimestamp")
