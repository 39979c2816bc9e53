# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Spark on Kubernetes without an operator: pods as spark-submit and the driver create them.

Source of labels and owners: Spark 4.0, resource-managers/kubernetes/core/…/KubernetesConf.scala and
…/features/BasicExecutorFeatureStep.scala.
"""

from collections.abc import Mapping
from typing import Any

from enbloc.client.errors import NotFound
from enbloc.client.paths import POD_GROUPS, PODS
from enbloc.model import names
from tests.e2e.world import World

EXECUTORS = 3
GROUP = "etl-executors"
APPLICATION = {
    "spark-app-name": "etl",
    "spark-app-selector": "spark-0af1",
    "spark-version": "4.0.0",
}
#: What spark.kubernetes.executor.label.* says.
SAID = {names.POD_GROUP_KEY: GROUP, names.MIN_MEMBER_KEY: str(EXECUTORS)}


async def driver(world: World) -> Mapping[str, Any]:
    await world.pod("etl-driver", labels={**APPLICATION, "spark-role": "driver"})
    found: Mapping[str, Any] = await world.client.get(PODS, "etl-driver", world.namespace)
    return found


async def executor(world: World, number: int, owner: Mapping[str, Any]) -> None:
    labels = {
        **APPLICATION,
        **SAID,
        "spark-role": "executor",
        "spark-exec-id": str(number),
        "spark-exec-resourceprofile-id": "0",
        "spark-exec-inactive": "false",
    }
    await world.pod(f"etl-exec-{number}", labels=labels, owner=owner)


async def exists(world: World) -> bool:
    try:
        await world.client.get(POD_GROUPS, GROUP, world.namespace)
    except NotFound:
        return False
    return True


async def test_executors_that_declare_a_minimum_start_together_and_their_group_goes_with_the_driver(
    world: World,
) -> None:
    await world.nodes(1, cpu=1 + EXECUTORS)
    owner = await driver(world)
    await world.bound("etl-driver", 1)
    world.watch_over(GROUP, EXECUTORS)
    for number in range(1, EXECUTORS):
        await executor(world, number, owner)
    await world.eventually(lambda: exists(world), lambda: f"{GROUP} is there")
    await world.condition(GROUP, "Ready", "False", reason="WaitingForMembers")
    await executor(world, EXECUTORS, owner)
    await world.bound("etl-exec", EXECUTORS)
    group = await world.client.get(POD_GROUPS, GROUP, world.namespace)
    [reference] = group["metadata"]["ownerReferences"]
    assert reference["uid"] == owner["metadata"]["uid"]

    await world.delete_pod("etl-driver")

    async def gone() -> bool:
        return not (await exists(world) or world.observer.of(world.namespace, "etl-exec"))

    await world.eventually(gone, lambda: f"{GROUP} and its executors are gone")
