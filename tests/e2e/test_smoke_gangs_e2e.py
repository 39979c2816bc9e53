# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What users live by, while nothing fails, on a real API server: a part of `make smoke`."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from enbloc.client.paths import JOBS
from enbloc.model.names import AUTO_GROUP_KEY, Condition, Reason
from enbloc.wire.auto_groups import group_name
from tests.e2e.claims import Claims, from_template, own
from tests.e2e.requests import Requests
from tests.e2e.targets import ControlPlaneTarget
from tests.e2e.world import World, opened

pytestmark = [pytest.mark.smoke, pytest.mark.controlplane]


@pytest.fixture
def target(plain_target: ControlPlaneTarget) -> ControlPlaneTarget:
    return plain_target


async def test_a_gang_of_eight_plain_pods_starts_together(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.gang("train", 8)
    await world.running("train", 8)
    await world.condition("train", Condition.SCHEDULED, "True")
    await world.condition("train", Condition.READY, "True", reason=Reason.RUNNING)


async def test_a_gang_made_by_an_indexed_job_starts_together_and_finishes(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.group("job", 8)
    await world.job("job", 8, "job", run_seconds=1)
    await world.bound("job", 8)
    await world.condition("job", Condition.FINISHED, "True", reason=Reason.SUCCEEDED)


async def test_two_gangs_that_would_deadlock_run_one_after_the_other(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.group("a", 6)
    await world.group("b", 6)
    for index in range(6):
        await world.pod(f"a-{index}", "a")
        await world.pod(f"b-{index}", "b")
    first = await world.either_bound({"a": 6, "b": 6})
    second = "b" if first == "a" else "a"
    await world.condition(second, Condition.SCHEDULED, "False", reason=Reason.UNSCHEDULABLE)
    assert world.observer.bound(world.namespace, second) == {}
    for index in range(6):
        await world.delete_pod(f"{first}-{index}")
    await world.delete_group(first)
    await world.running(second, 6)


async def test_a_missing_member_is_waited_for(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.gang("short", 2, minimum=3)
    missing = "2 of 3 members exist"
    await world.condition("short", Condition.SCHEDULED, "False", message=missing)
    assert world.observer.bound(world.namespace) == {}
    await world.pod("short-2", "short")
    await world.running("short", 3)


async def test_a_job_that_is_run_again_needs_its_whole_gang_again(world: World) -> None:
    [node] = await world.nodes(1, cpu=4)
    await world.group("job", 4)
    await world.job("job", 4, "job", run_seconds=0)
    await world.condition("job", Condition.FINISHED, "True", reason=Reason.SUCCEEDED)
    await world.delete_job("job")
    await world.pod("sitting", scheduler="somebody-else", node=node)
    await world.job("job", 4, "job", run_seconds=0)
    await world.condition("job", Condition.SCHEDULED, "False", reason=Reason.UNSCHEDULABLE)
    # With it goes what was said of the run before: Ready and Finished are one writer's.
    await world.condition("job", Condition.READY, "False", reason=Reason.UNSCHEDULABLE)
    assert world.observer.bound(world.namespace, "job") == {}
    await world.delete_pod("sitting")
    await world.condition("job", Condition.FINISHED, "True", reason=Reason.SUCCEEDED)
    await world.all_finished(4)


async def test_a_gang_with_a_device_and_a_volume_each_starts_together(
    world: World, claims: Claims
) -> None:
    nodes = await world.nodes(2, cpu=4)
    await claims.offer(nodes, 2)
    await claims.template()
    disk = [own(await claims.storage_class("fast"))]
    await world.gang("train", 4, resourceClaims=from_template(), volumes=disk)
    await world.running("train", 4)
    assert len(claims.devices()) == 4
    assert len(claims.made_for("train")) == 4


@pytest.fixture
async def grouping(target: ControlPlaneTarget, tmp_path: Path) -> AsyncGenerator[World]:
    """A world whose namespace asks for a gang for each Job."""
    async with opened(target, tmp_path, {AUTO_GROUP_KEY: "Job"}) as world:
        yield world


async def test_a_workload_without_a_group_starts_together(grouping: World) -> None:
    await grouping.nodes(1, cpu=3)
    await grouping.job("job", 4, "", run_seconds=1)
    found = await grouping.client.get(JOBS, "job", grouping.namespace)
    group = group_name("Job", "job", found["metadata"]["uid"])
    await grouping.there(group)
    grouping.watch_over(group, 4)
    await grouping.condition(group, Condition.SCHEDULED, "False", reason=Reason.INFEASIBLE)
    assert grouping.observer.bound(grouping.namespace) == {}
    await grouping.nodes(1, cpu=1)
    await grouping.condition(group, Condition.FINISHED, "True", reason=Reason.SUCCEEDED)


def test_nothing_was_refused_to_either_process(target: ControlPlaneTarget) -> None:
    requests = Requests.of(target)
    assert requests.made
    assert requests.refused == []
