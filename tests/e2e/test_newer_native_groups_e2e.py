# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own PodGroups as 1.37 has them: their minimum can change; semantics §6.5.

On a sandbox with schemas written for it, which protects no PodGroup whose pods are live.
"""

from collections.abc import Iterator

import pytest

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists
from enbloc.client.paths import CRDS, NATIVE_POD_GROUPS
from tests.controller.native_kinds import crd
from tests.e2e import native_objects as native
from tests.e2e.targets import SandboxTarget
from tests.e2e.world import World

_V1, V1BETA1, V1ALPHA3, _V1ALPHA2 = NATIVE_POD_GROUPS
SIZE = 4


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxTarget]:
    with SandboxTarget(tmp_path_factory.mktemp("newer")) as target:
        yield target


@pytest.fixture
async def world(world: World) -> World:
    try:
        await world.client.create(CRDS, crd(V1BETA1, V1ALPHA3))
    except AlreadyExists:
        return world
    # The controller looks every half minute for what is served.
    world.controller.kill()
    await world.start_controller()
    return world


async def gang(world: World, name: str, minimum: int) -> None:
    """Create a PodGroup of v1beta1, whose minimum the observer watches over."""
    spec = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
    body = {"apiVersion": V1BETA1.api_version, "kind": V1BETA1.kind, "spec": spec}
    await world.client.create(V1BETA1, {**body, "metadata": {"name": name}}, world.namespace)
    world.watch_over(name, minimum)


async def scale(world: World, name: str, minimum: int) -> None:
    body = {"spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}}}
    await world.client.patch(V1BETA1, name, body, world.namespace, kind=PatchType.MERGE)
    world.watch_over(name, minimum)


async def pods(world: World, name: str, first: int, count: int) -> None:
    for index in range(first, first + count):
        await world.pod(f"{name}-{index}", **native.naming(name))


async def test_a_gang_follows_the_minimum_of_its_podgroup_down_and_up(world: World) -> None:
    await world.nodes(1, cpu=SIZE)
    await gang(world, "train", SIZE + 1)
    await pods(world, "train", 0, SIZE)
    await world.eventually(
        lambda: native.made(world, "train"), lambda: "a PodGroup of ours is made"
    )
    await world.condition("train", "Scheduled", "False", reason="WaitingForMembers")
    assert world.observer.bound(world.namespace, "train") == {}

    await scale(world, "train", SIZE)
    await world.bound("train", SIZE)
    await native.told(world, V1BETA1, "train")

    await scale(world, "train", SIZE + 2)
    await pods(world, "train", SIZE, 2)
    await world.nodes(1, cpu=2)
    await world.bound("train", SIZE + 2)
    await world.condition("train", "Ready", "True", reason="Running")


async def test_a_gang_whose_podgroup_is_deleted_while_it_is_bound_is_whole(world: World) -> None:
    await world.nodes(2, cpu=SIZE)
    await gang(world, "train", SIZE)
    await pods(world, "train", 0, SIZE)
    await world.bound("train", 1)
    await world.client.delete(V1BETA1, "train", world.namespace)
    await world.bound("train", SIZE)

    await pods(world, "train", SIZE, 1)
    note = f"PodGroup {world.namespace}/train not found"
    await world.event(f"train-{SIZE}", "PodGroupNotFound", note=note)
