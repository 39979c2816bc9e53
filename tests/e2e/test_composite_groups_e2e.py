# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of groups of other projects start so many of them together; semantics §6.5.

On a sandbox: with the schemas of 1.37 written for it, and kinds of the others that take any spec.
"""

from collections.abc import Iterator

import pytest

from enbloc.client.errors import AlreadyExists
from enbloc.client.paths import CRDS, NATIVE_POD_GROUPS, Resource
from enbloc.controller.sources import grove, kai, volcano
from enbloc.controller.sources.native import COMPOSITES
from enbloc.wire.auto_groups import group_name
from tests import foreign_crds
from tests.controller.native_kinds import crd
from tests.e2e import native_objects as native
from tests.e2e.targets import SandboxTarget
from tests.e2e.world import World

GROUPS, TREES = NATIVE_POD_GROUPS[2], COMPOSITES[2]
SIZE = 2


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxTarget]:
    with SandboxTarget(tmp_path_factory.mktemp("composite")) as target:
        yield target


@pytest.fixture
async def world(world: World) -> World:
    try:
        await world.client.create(CRDS, crd(GROUPS))
        await world.client.create(CRDS, crd(TREES))
        for kind in (kai.RESOURCE, grove.RESOURCE, volcano.RESOURCE):
            await world.client.create(CRDS, foreign_crds.crd(kind))
    except AlreadyExists:
        return world
    # The controller looks every half minute for what is served.
    world.controller.kill()
    await world.start_controller()
    return world


async def tree(world: World, name: str, count: int, parent: str = "") -> None:
    spec: dict[str, object] = {"schedulingPolicy": {"gang": {"minGroupCount": count}}}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    await create(world, TREES, name, spec)


async def create(world: World, kind: Resource, name: str, spec: dict[str, object]) -> None:
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
    await world.client.create(kind, {**body, "metadata": {"name": name}}, world.namespace)


async def group(world: World, name: str, parent: str) -> None:
    """A PodGroup in a tree, whose minimum the observer watches over."""
    policy = {"gang": {"minCount": SIZE}}
    spec: dict[str, object] = {
        "schedulingPolicy": policy,
        "parentCompositePodGroupName": parent,
    }
    await create(world, GROUPS, name, spec)
    world.watch_over(name, SIZE)


async def gang(world: World, name: str, parent: str) -> None:
    """The same, with all of its pods."""
    await group(world, name, parent)
    for index in range(SIZE):
        await world.pod(f"{name}-{index}", **native.naming(name))


async def test_a_tree_starts_with_enough_groups_and_the_others_follow_whole(world: World) -> None:
    await world.nodes(1, cpu=2 * SIZE - 1)
    await tree(world, "root", 2)
    await tree(world, "inner", 1, "root")
    await gang(world, "a", "root")
    await gang(world, "b", "inner")
    await gang(world, "c", "inner")
    ours = group_name("CompositePodGroup", "root")
    await world.eventually(lambda: native.made(world, ours), lambda: f"{ours} is made")
    await world.condition(ours, "Scheduled", "False", reason="Infeasible")
    assert world.observer.bound(world.namespace, "") == {}
    for kind, name in ((TREES, "root"), (TREES, "inner"), (GROUPS, "a"), (GROUPS, "b")):
        await native.told(world, kind, name, "False")

    await world.nodes(1, cpu=1)
    await world.bound("", 2 * SIZE)
    await world.bound("a", SIZE)
    for kind, name in ((TREES, "root"), (TREES, "inner"), (GROUPS, "a")):
        await native.told(world, kind, name)

    await world.nodes(1, cpu=SIZE)
    await world.bound("", 3 * SIZE)
    for name in "bc":
        await native.told(world, GROUPS, name)


async def test_a_tree_waits_for_the_group_that_it_lacks(world: World) -> None:
    await world.nodes(2, cpu=2 * SIZE)
    await tree(world, "root", 2)
    await gang(world, "a", "root")
    await native.told(world, TREES, "root", "False")
    assert world.observer.bound(world.namespace, "") == {}
    await gang(world, "b", "root")
    await world.bound("", 2 * SIZE)
    await native.told(world, TREES, "root")


async def test_jobs_that_are_children_of_a_tree_are_one_gang_and_are_replaced_in_it(
    world: World,
) -> None:
    await world.nodes(1, cpu=2 * SIZE)
    await tree(world, "root", 2)
    for name in ("a", "b", "c"):
        await group(world, name, "root")
        await world.job(name, SIZE, "", **native.naming(name))
    await world.bound("", 2 * SIZE)
    ours = group_name("CompositePodGroup", "root")
    await world.condition(ours, "Scheduled", "True")
    await native.told(world, TREES, "root")
    bound = sorted({name[0] for name in world.observer.bound(world.namespace)})
    assert len(bound) == 2, "the third does not fit"
    [third] = set("abc") - set(bound)

    await world.delete_job(bound[0])
    await world.bound(third, SIZE)
    await world.condition(ours, "Ready", "True", reason="Running")


async def test_sub_groups_of_kai_start_as_many_as_are_needed(world: World) -> None:
    await world.nodes(1, cpu=2 * SIZE)
    roles = ("prefill-a", "prefill-b", "decode")
    groups = [
        {"name": "prefill", "minSubGroup": 1},
        *({"name": name, "parent": "prefill", "minMember": SIZE} for name in roles[:2]),
        {"name": roles[2], "minMember": SIZE},
    ]
    await create(world, kai.RESOURCE, "serve", {"minSubGroup": 2, "subGroups": groups})
    for role in roles:
        for index in range(SIZE):
            await world.pod(
                f"{role}-{index}",
                annotations={"pod-group-name": "serve"},
                labels={"kai.scheduler/subgroup-name": role},
            )
    await world.bound("decode", SIZE)
    await world.bound("", 2 * SIZE)
    await world.nodes(1, cpu=SIZE)
    await world.bound("", 3 * SIZE)


async def test_the_pod_groups_of_a_podgang_start_together(world: World) -> None:
    await world.nodes(1, cpu=2 * SIZE - 1)
    roles = ("app-0-prefill", "app-0-decode")
    groups = [{"name": name, "minReplicas": SIZE, "podReferences": []} for name in roles]
    await create(world, grove.RESOURCE, "app-0", {"podgroups": groups})
    for role in roles:
        for index in range(SIZE):
            labels = {"grove.io/podgang": "app-0", "grove.io/podclique": role}
            await world.pod(f"{role}-{index}", labels=labels)
    await world.eventually(lambda: native.made(world, "app-0"), lambda: "app-0 is made")
    await world.condition("app-0", "Scheduled", "False", reason="Infeasible")
    assert world.observer.bound(world.namespace) == {}
    await world.nodes(1, cpu=1)
    await world.bound("", 2 * SIZE)


async def test_partitions_of_a_task_of_volcano_start_as_many_as_are_needed(world: World) -> None:
    await world.nodes(1, cpu=2 * SIZE)
    policy = {
        "name": "worker",
        "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
        "matchLabelKeys": ["volcano.sh/partition-id"],
        "subGroupSize": SIZE,
        "minSubGroups": 2,
    }
    spec: dict[str, object] = {"minMember": 1, "subGroupPolicy": [policy]}
    await create(world, volcano.RESOURCE, "vcjob", spec)
    for part in range(3):
        for index in range(SIZE if part else SIZE - 1):
            await world.pod(
                f"p{part}-{index}",
                annotations={"scheduling.k8s.io/group-name": "vcjob"},
                labels={"volcano.sh/task-spec": "worker", "volcano.sh/partition-id": str(part)},
            )
    await world.bound("", 2 * SIZE)
    bound = world.observer.bound(world.namespace)
    assert sorted(name.partition("-")[0] for name in bound) == ["p1"] * SIZE + ["p2"] * SIZE
