# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own PodGroups on a control plane of 1.36 that serves them; semantics §6.5."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from enbloc.client.errors import NotFound
from enbloc.client.paths import JOBS, NODES, POD_GROUPS, PODS
from enbloc.model import names
from tests.e2e import incidents
from tests.e2e import native_objects as native
from tests.e2e.claims import Claims, from_template, sharing
from tests.e2e.requests import Requests
from tests.e2e.targets import ControlPlaneTarget, Target
from tests.e2e.world import World

pytestmark = pytest.mark.controlplane
SIZE = 4


@pytest.fixture(scope="module")
def native_target(request: pytest.FixtureRequest) -> Iterator[ControlPlaneTarget]:
    with native.native_control_plane() as cp:
        target = ControlPlaneTarget(cp)
        yield target
        folder = request.config.getoption("requests")
        if folder is not None:
            worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
            Requests.of(target).keep(folder, f"native-{worker}")


@pytest.fixture
def target(native_target: ControlPlaneTarget) -> Target:
    return native_target


async def group(world: World, name: str, minimum: int, **how: Any) -> None:
    body = native.group(name, minimum, **how)
    await world.client.create(native.GROUPS, body, world.namespace)


async def members(world: World, group: str, count: int, *, first: int = 0, **how: Any) -> None:
    for index in range(first, first + count):
        await world.pod(f"{group}-{index}", **native.naming(group), **how)


async def conditions(world: World, name: str) -> list[Any]:
    """What the PodGroup of Kubernetes says."""
    found = await world.client.get(native.GROUPS, name, world.namespace)
    return list((found.get("status") or {}).get("conditions") or ())


async def told(world: World, name: str, status: str, reason: str, message: str = "") -> Any:
    """Wait until its condition says this; the condition."""
    found: list[Any] = []

    async def is_told() -> bool:
        found[:] = [
            one
            for one in await conditions(world, name)
            if (one["type"], one["status"], one["reason"]) == ("PodGroupScheduled", status, reason)
            and message in one["message"]
        ]
        return bool(found)

    await world.eventually(is_told, lambda: f"{name} is told {status} {reason} {message}")
    [condition] = found
    return condition


async def gone(world: World, resource: Any, name: str) -> None:
    async def is_gone() -> bool:
        try:
            await world.client.get(resource, name, world.namespace)
        except NotFound:
            return True
        return False

    await world.eventually(is_gone, lambda: f"{resource.label()} {name} is gone")


async def test_a_group_of_a_workload_starts_whole_and_is_told_so(world: World) -> None:
    await world.nodes(1, cpu=SIZE - 1)
    workload = native.workload("train", SIZE)
    await world.client.create(native.WORKLOADS, workload, world.namespace)
    await group(world, "train", SIZE, of="train")
    world.watch_over("train", SIZE)
    await members(world, "train", SIZE)
    found = await told(world, "train", "False", "Unschedulable", f"the {SIZE} required members")
    shown = await world.client.get(native.GROUPS, "train", world.namespace)
    assert found.get("observedGeneration") == shown["metadata"].get("generation")
    assert world.observer.bound(world.namespace, "train") == {}

    await world.nodes(1, cpu=1)
    await world.bound("train", SIZE)
    found = await told(world, "train", "True", "Scheduled")
    assert found["message"] == ""
    await world.condition("train", "Ready", "True", reason="Running")


async def test_a_group_lies_in_one_domain_of_the_label_that_it_names(world: World) -> None:
    rack = "example.com/rack"
    await world.nodes(SIZE - 1, cpu=1, labels={rack: "r1"})
    await world.nodes(SIZE, cpu=1, labels={rack: "r2"})
    await group(world, "train", SIZE, near=rack)
    world.watch_over("train", SIZE)
    await members(world, "train", SIZE)
    await world.bound("train", SIZE)
    nodes = world.observer.bound(world.namespace, "train").values()
    labels = [(await world.client.get(NODES, node))["metadata"]["labels"] for node in nodes]
    assert {each[rack] for each in labels} == {"r2"}


async def test_a_basic_group_starts_pod_by_pod(world: World) -> None:
    await world.nodes(1, cpu=2)
    await group(world, "loose", 0)
    await members(world, "loose", 3)
    await world.bound("loose", 2)
    await told(world, "loose", "True", "Scheduled")


async def test_a_group_that_ends_lets_its_podgroup_go(world: World) -> None:
    await world.nodes(1, cpu=SIZE)
    await group(world, "train", SIZE)
    await members(world, "train", SIZE, run_seconds=0.5)
    await world.all_finished(SIZE, timeout=60)
    await world.condition("train", "Finished", "True", reason="Succeeded")
    await told(world, "train", "True", "Scheduled")

    await world.client.delete(native.GROUPS, "train", world.namespace)
    await gone(world, native.GROUPS, "train")
    await gone(world, POD_GROUPS, "train")


async def test_a_job_of_kubernetes_own_needs_nothing_of_ours(world: World) -> None:
    """WorkloadWithJob: the Job's controller makes Workload and PodGroup, and pods name it."""
    await world.nodes(1, cpu=SIZE - 1)
    await world.job("train", SIZE, "")

    def named() -> set[str]:
        pods = world.observer.of(world.namespace, "train")
        return {pod.group for pod in pods} if len(pods) == SIZE else set()

    await world.until(lambda: bool(named()), "the Job made its pods")
    [name] = named()
    world.watch_over(name, SIZE)
    await told(world, name, "False", "Unschedulable")
    assert world.observer.bound(world.namespace, "train") == {}
    await world.nodes(1, cpu=1)
    await world.bound("train", SIZE)
    await told(world, name, "True", "Scheduled")

    await world.delete_job("train")
    await gone(world, native.GROUPS, name)
    await gone(world, POD_GROUPS, name)


async def test_a_rerun_that_overlaps_is_a_gang_by_itself(world: World) -> None:
    """A Job is deleted and created again while pods of the first are still ending.

    Its template names the PodGroup: a Job for which Kubernetes makes one gets none in 1.36 while
    the Workload of a Job that had its name exists.
    """
    await world.nodes(1, cpu=SIZE)
    await group(world, "train", SIZE)
    await world.job("train", SIZE, "", **native.naming("train"))
    await world.bound("train", SIZE)
    first = {pod.metadata.uid for pod in world.observer.of(world.namespace, "train")}
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    await world.client.request("delete", JOBS, "train", world.namespace, body=body)
    await world.job("train", SIZE, "", **native.naming("train"))

    def second() -> list[Any]:
        pods = world.observer.of(world.namespace, "train")
        return [pod for pod in pods if pod.metadata.uid not in first and pod.spec.node_name]

    await world.until(lambda: len(second()) == SIZE, "the second run is bound")
    assert len({pod.plan for pod in second()}) == 1, "it was not placed by one plan"
    await world.condition("train", "Ready", "True", reason="Running")


async def test_gangs_of_kubernetes_and_of_ours_that_contend_all_run(world: World) -> None:
    """Each alone fits, two do not: none may hold half while another does."""
    gangs = 6
    await world.nodes(3, cpu=2)
    for index in range(gangs):
        name = f"g{index}"
        world.watch_over(name, SIZE)
        if index % 2:
            await world.gang(name, SIZE, run_seconds=0.5)
        else:
            await group(world, name, SIZE)
            await members(world, name, SIZE, run_seconds=0.5)
    await world.all_finished(gangs * SIZE, timeout=120)
    for index in range(0, gangs, 2):
        await told(world, f"g{index}", "True", "Scheduled")


async def test_pods_of_another_scheduler_are_none_of_ours(world: World) -> None:
    await world.nodes(1, cpu=SIZE)
    await group(world, "theirs", SIZE)
    await members(world, "theirs", SIZE, scheduler="default-scheduler")
    await group(world, "ours", 1)
    await members(world, "ours", 1)
    await told(world, "ours", "True", "Scheduled")
    assert await conditions(world, "theirs") == []
    with pytest.raises(NotFound):
        await world.client.get(POD_GROUPS, "theirs", world.namespace)


# ── bad input ────────────────────────────────────────────────────────────────────────────────────


async def test_a_group_that_is_missing_is_named_with_its_namespace(world: World) -> None:
    """Also where one of that name exists in another namespace."""
    await world.nodes(1, cpu=SIZE)
    await world.client.create(native.GROUPS, native.group("train", 1), "default")
    try:
        await members(world, "train", 1)
        note = f"PodGroup {world.namespace}/train not found; create it"
        await world.event("train-0", "PodGroupNotFound", note=note)
        assert world.observer.bound(world.namespace) == {}
        await group(world, "train", 1)
        await world.bound("train", 1)
    finally:
        await world.client.delete(native.GROUPS, "train", "default")


async def test_field_and_annotation_that_disagree_are_both_named(world: World) -> None:
    await world.nodes(1, cpu=SIZE)
    await group(world, "left", 1)
    await world.group("right", 1)
    annotations = {names.POD_GROUP_KEY: "right"}
    await world.pod("torn", annotations=annotations, **native.naming("left"))
    note = (
        'spec.schedulingGroup names group "left" and enbloc.dev/pod-group names "right"; '
        "remove one of them"
    )
    await world.event("torn", "InvalidSpec", note=note)
    assert world.observer.bound(world.namespace) == {}


async def test_a_group_deleted_while_it_is_bound_stays_until_its_pods_are_gone(
    world: World,
) -> None:
    """Kubernetes keeps a PodGroup whose pods are live, and so is ours kept."""
    await world.nodes(1, cpu=SIZE)
    await group(world, "train", SIZE)
    world.watch_over("train", SIZE)
    await members(world, "train", SIZE)
    await world.client.delete(native.GROUPS, "train", world.namespace)
    await world.bound("train", SIZE)
    await world.client.get(POD_GROUPS, "train", world.namespace)
    await asyncio.gather(*(world.remove_pod(f"train-{index}") for index in range(SIZE)))
    await gone(world, native.GROUPS, "train")
    await gone(world, POD_GROUPS, "train")
    assert [one async for one in world.client.list(PODS, world.namespace)] == []


# ── claims that a PodGroup lists: semantics §2.10, §3.8 ──────────────────────────────────────

#: More than a claim has consumers.
MANY = 300


@pytest.mark.parametrize("named", [True, False], ids=["named", "template"])
async def test_a_gang_of_300_shares_a_claim_that_its_podgroup_lists(
    world: World, claims: Claims, *, named: bool
) -> None:
    """The PodGroup is its one consumer, and has the device until it is gone."""
    await world.nodes(4, cpu=MANY)
    await claims.fabric("link")
    if named:
        await claims.resource_claim("shared", device_class=claims.name("gpu"))
    claim = sharing("shared") if named else from_template()
    await group(world, "train", MANY, claims=claim)
    world.watch_over("train", MANY)
    await members(world, "train", MANY, resourceClaims=claim)
    await world.bound("train", MANY)
    [consumers] = claims.consumers().values()
    assert consumers == [("podgroups", "train")]
    await told(world, "train", "True", "Scheduled")

    for index in range(MANY):
        await world.delete_pod(f"train-{index}")
    await world.client.delete(native.GROUPS, "train", world.namespace)
    await world.until(lambda: not claims.devices(), "the device is free")


async def test_what_is_reserved_for_a_podgroup_outlives_a_scheduler(
    world: World, claims: Claims
) -> None:
    await world.nodes(2, cpu=SIZE)
    await claims.fabric("link")
    await incidents.slow_writes(world, lambda _, path: path.endswith("/binding"))
    await group(world, "train", SIZE, claims=from_template())
    await members(world, "train", SIZE, resourceClaims=from_template())
    await world.until(lambda: any(claims.consumers().values()), "the claim is reserved")
    world.scheduler.kill()
    assert len(world.observer.bound(world.namespace)) < SIZE

    await world.start_scheduler()
    await world.bound("train", SIZE)
    assert list(claims.consumers().values()) == [[("podgroups", "train")]]


async def test_two_gangs_never_have_the_device_that_both_podgroups_need(
    world: World, claims: Claims
) -> None:
    await world.nodes(2, cpu=2 * SIZE)
    await claims.fabric("link")
    for name in ("left", "right"):
        await group(world, name, SIZE, claims=from_template())
        await members(world, name, SIZE, resourceClaims=from_template())
    first = await world.either_bound({"left": SIZE, "right": SIZE})
    other = {"left": "right", "right": "left"}[first]
    assert world.observer.bound(world.namespace, other) == {}

    for index in range(SIZE):
        await world.delete_pod(f"{first}-{index}")
    await world.client.delete(native.GROUPS, first, world.namespace)
    await world.bound(other, SIZE)
