# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods of KAI, whose pod grouper names their group only after they were created."""

import pytest
import yaml

from enbloc.client.client import PatchType
from enbloc.client.paths import PODS
from tests.e2e.world import World

SCHEDULER = "kai-scheduler"
SIZE = 3


@pytest.fixture
async def world(world: World) -> World:
    """With a scheduler that serves KAI's name in place of the first."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": SCHEDULER}],
    }
    config = world.path / "kai.yaml"
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    await world.start_scheduler(f"--config={config}", restart=True)
    return world


async def named(world: World, pod: str) -> None:
    """What the pod grouper writes."""
    body = {"metadata": {"annotations": {"pod-group-name": "train"}}}
    await world.client.patch(PODS, pod, body, world.namespace, kind=PatchType.MERGE)


async def test_no_member_is_placed_before_the_pod_grouper_has_named_the_group_of_all(
    world: World,
) -> None:
    await world.nodes(1, cpu=SIZE)
    await world.group("train", SIZE)
    for index in range(SIZE):
        await world.pod(f"train-{index}", scheduler=SCHEDULER)
    await world.event("train-0", "PodGroupNotFound", note="annotation pod-group-name is missing")
    for index in range(SIZE - 1):
        await named(world, f"train-{index}")
    await world.condition("train", "Ready", "False", reason="WaitingForMembers")
    await world.quiet()
    assert not world.observer.bound(world.namespace, "train")
    await named(world, f"train-{SIZE - 1}")
    await world.bound("train", SIZE)


async def test_a_pod_that_asks_for_a_part_of_a_gpu_is_told_the_fix_and_never_placed(
    world: World,
) -> None:
    await world.nodes(1, cpu=2, gpus=1)
    await world.pod("part", scheduler=SCHEDULER, annotations={"gpu-fraction": "0.5"})
    await world.event("part", "FailedScheduling", note="annotation gpu-fraction: parts of a GPU")
    await world.quiet()
    assert not world.observer.bound(world.namespace, "part")
