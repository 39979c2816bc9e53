# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption of what controllers keep up, and make again."""

import asyncio
from typing import Any, Final

import pytest

from enbloc.client.paths import POD_DISRUPTION_BUDGETS, STATEFUL_SETS, Resource
from enbloc.model.names import Condition, EventReason
from enbloc.wire.auto_groups import group_name
from tests.e2e import manifests
from tests.e2e.evictions import HIGH, Evictions, bound
from tests.e2e.fault_proxy import FaultProxy, evicts
from tests.e2e.test_workloads_e2e import says, switch
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("controllers are waited for")

DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
WEB: Final = {"app": "web"}

#: The sandbox has no controllers of StatefulSets and Deployments.
complete = pytest.mark.parametrize(
    "target", [pytest.param("controlplane", marks=pytest.mark.controlplane)], indirect=True
)


@complete
async def test_a_stateful_set_gives_way_whole_and_comes_back_whole(
    world: World, evictions: Evictions
) -> None:
    """Semantics §10.1: its pods have the same names again, and are others."""
    await switch(world, "StatefulSet")
    await world.nodes(1, cpu=3)
    body = manifests.parallel_set("set", 3, WEB)
    made = await world.client.create(STATEFUL_SETS, body, world.namespace)
    group = group_name("StatefulSet", "set", made["metadata"]["uid"])
    await says(world, group, "Ready", "True", reason="Running")
    await world.pod("high", priority_class=HIGH)
    await world.bound("high", 1)
    await world.event(group, EventReason.PREEMPTED, note=f"by pod {world.namespace}/high")
    await world.until(lambda: bound(world, "set") == set(), "the others are gone as well")
    await world.until(
        lambda: len(world.observer.of(world.namespace, "set")) == 3, "they are made again"
    )
    await world.quiet()
    assert bound(world, "") == {"high"}
    assert evictions.told == {f"set-{index}" for index in range(3)}
    await world.remove_pod("high")
    await says(world, group, "Ready", "True", reason="Running")
    await world.client.delete(STATEFUL_SETS, "set", world.namespace)


def deployment(name: str, replicas: int, labels: dict[str, str]) -> dict[str, Any]:
    """A Deployment of pods of a CPU each."""
    spec = {**manifests.pod("")["spec"], "restartPolicy": "Always"}
    return {
        "apiVersion": DEPLOYMENTS.api_version,
        "kind": DEPLOYMENTS.kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


@complete
async def test_a_budget_of_a_deployment_is_kept_until_nobody_else_could_go(
    world: World, evictions: Evictions, proxy: FaultProxy
) -> None:
    """Semantics §10.2, §10.3: first by the Eviction API, then by DELETE."""
    await world.nodes(2, cpu=1)
    await world.client.create(DEPLOYMENTS, deployment("web", 2, WEB), world.namespace)
    await world.running("web", 2)
    body = manifests.budget("web", WEB, minAvailable=1)
    await world.client.create(POD_DISRUPTION_BUDGETS, body, world.namespace)

    async def allows_one() -> bool:
        found = await world.client.get(POD_DISRUPTION_BUDGETS, "web", world.namespace)
        return bool(found.get("status", {}).get("disruptionsAllowed") == 1)

    await world.eventually(allows_one, lambda: "the budget has counted its pods")
    for number, way in enumerate(("POST", "DELETE"), 1):
        await world.pod(f"high-{number}", priority_class=HIGH)
        await world.bound(f"high-{number}", 1)
        assert len(evictions.told) == number
        assert [asked.method for asked in proxy.asked if evicts(asked)][-1] == way
        await world.quiet()
    assert bound(world, "web") == set()
    await world.client.delete(DEPLOYMENTS, "web", world.namespace)


async def test_jobs_of_one_gang_give_way_together_and_come_back_together(
    world: World, evictions: Evictions
) -> None:
    """Semantics §10.1: a driver and its workers, as of a JobSet."""
    await world.nodes(1, cpu=3)
    await world.group("train", 3)
    await asyncio.gather(
        world.job("driver", 1, "train", backoff_limit=100),
        world.job("workers", 2, "train", backoff_limit=100),
    )
    await world.condition("train", Condition.READY, "True", reason="Running")
    victims = bound(world, "")
    await world.gang("high", 1, priority_class=HIGH)
    await world.bound("high", 1)
    await world.until(lambda: bound(world, "") == {"high-0"}, "the others are gone as well")
    await world.until(lambda: len(world.observer.of(world.namespace)) == 4, "they are made again")
    await world.quiet()
    assert bound(world, "") == {"high-0"}
    assert evictions.told == victims
    await world.remove_pod("high-0")
    await world.running("driver", 1)
    await world.running("workers", 2)
    await world.condition("train", Condition.READY, "True", reason="Running")
