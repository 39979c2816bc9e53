# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods and gangs with volumes: semantics §2.9 and §3.8."""

import asyncio
import random

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from tests.e2e import incidents
from tests.e2e.claims import REFUSE, Claims, mounted, own
from tests.e2e.fault_proxy import Fault
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("processes are started for each test, and volumes are provisioned")

GANG = 8


def prepares(method: str, path: str) -> bool:
    """Whether a request writes a claim or a volume."""
    return method in ("PATCH", "PUT") and "/persistentvolume" in path


async def with_claims(
    world: World, claims: Claims, gang: str, size: int, storage_class: str, how: str = "1Gi"
) -> None:
    """A gang each of whose pods names a claim that exists by itself."""
    await asyncio.gather(
        *(claims.claim(f"{gang}-{index}", storage_class, how) for index in range(size))
    )
    await world.group(gang, size)
    await asyncio.gather(
        *(
            world.pod(f"{gang}-{index}", gang, volumes=mounted(f"{gang}-{index}"))
            for index in range(size)
        )
    )


async def runs(world: World, *pods: str) -> None:
    """Wait until these pods are Running."""

    def all_run() -> bool:
        phases = {pod.metadata.name: pod.status.phase for pod in world.observer.of(world.namespace)}
        return all(phases.get(name) == "Running" for name in pods)

    await world.until(all_run, f"{pods} run")


# ── one pod ──────────────────────────────────────────────────────────────────────────────────


async def test_a_pod_with_each_kind_of_claim_starts(world: World, claims: Claims) -> None:
    first, second = await world.nodes(2, cpu=4)
    local, fast = await claims.local_class(), await claims.storage_class("fast")
    now = await claims.storage_class("now", waits=False)
    by_hand = await claims.storage_class(
        "by-hand", waits=False, provisioner="kubernetes.io/no-provisioner"
    )
    await claims.volume("bound", by_hand, second)
    await claims.volume("local", local, first)
    await claims.claim("bound", by_hand)
    await claims.claim("local", local)
    await claims.claim("fast", fast)
    await claims.claim("now", now)
    await world.until(
        lambda: (
            (claims.met("bound"), claims.met("now")) == (0, 0)
            or all(
                one.phase == "Bound"
                for one in claims.all(PERSISTENT_VOLUME_CLAIMS)
                if one.metadata.name in ("bound", "now")
            )
        ),
        "what is bound at once is bound",
    )

    for name in ("bound", "local", "fast", "now"):
        await world.pod(name, volumes=mounted(name))
    await world.pod("own", volumes=[own(fast)])
    await world.pod("two", volumes=[*mounted("fast"), own(fast)])

    await runs(world, "bound", "local", "fast", "now", "own", "two")
    bound = world.observer.bound(world.namespace)
    assert bound["bound"] == second
    assert bound["local"] == first
    assert bound["two"] == bound["fast"]


# ── gangs ────────────────────────────────────────────────────────────────────────────────────


async def test_two_members_get_the_two_volumes_of_two_nodes(world: World, claims: Claims) -> None:
    nodes = await world.nodes(2, cpu=4)
    local = await claims.local_class()
    for node in nodes:
        await claims.volume(node, local, node)
    await with_claims(world, claims, "pair", 2, local)
    await runs(world, "pair-0", "pair-1")
    assert set(world.observer.bound(world.namespace, "pair").values()) == set(nodes)


async def test_storage_for_one_member_is_not_given_to_a_gang_of_two(
    world: World, claims: Claims
) -> None:
    await world.nodes(1, cpu=8)
    scarce = await claims.storage_class("scarce", capacityPerNode="15Gi")
    await with_claims(world, claims, "pair", 2, scarce, "10Gi")
    await world.condition("pair", "Scheduled", "False")
    await world.quiet()
    assert not world.observer.bound(world.namespace)
    assert claims.chosen("pair") == []
    assert claims.made_for("pair") == []


async def test_two_gangs_for_the_same_volumes_never_hold_half_each(
    world: World, claims: Claims
) -> None:
    nodes = await world.nodes(6, cpu=8)
    local = await claims.local_class()
    for node in nodes:
        await claims.volume(node, local, node)
    await asyncio.gather(
        with_claims(world, claims, "left", 4, local), with_claims(world, claims, "right", 4, local)
    )
    first = await world.either_bound({"left": 4, "right": 4})
    other = {"left": "right", "right": "left"}[first]
    await runs(world, *(f"{first}-{index}" for index in range(4)))
    await world.quiet()
    assert len(claims.made_for(first)) == 4
    assert claims.made_for(other) == []
    assert claims.chosen(other) == []
    assert claims.most_in_part <= 1


async def test_a_gang_gets_the_capacity_that_another_one_gave_back(
    world: World, claims: Claims
) -> None:
    await world.nodes(4, cpu=8)
    disk = await claims.storage_class("disk", capacityPerNode="2Gi")
    await claims.members("left", GANG, disk)
    await world.bound("left", GANG)
    await claims.members("right", GANG, disk)
    await world.condition("right", "Scheduled", "False")
    for index in range(GANG):
        await world.delete_pod(f"left-{index}")
    await world.delete_group("left")
    await world.bound("right", GANG)


async def test_a_claim_that_cannot_be_provisioned_holds_up_its_whole_gang_and_no_longer(
    world: World, claims: Claims
) -> None:
    await world.nodes(4, cpu=8)
    disk = await claims.storage_class("disk")
    await claims.claim("burst-3", disk, annotations={REFUSE: "the array is full"})
    await asyncio.gather(
        *(claims.claim(f"burst-{index}", disk) for index in range(GANG) if index != 3)
    )
    await world.group("burst", GANG)
    await asyncio.gather(
        *(
            world.pod(f"burst-{index}", "burst", volumes=mounted(f"burst-{index}"))
            for index in range(GANG)
        )
    )
    await world.event("burst-3", "ProvisioningFailed", note="the array is full")
    await world.quiet()
    assert not world.observer.bound(world.namespace)

    await claims.patch_claim("burst-3", {"metadata": {"annotations": {REFUSE: None}}})
    await world.bound("burst", GANG)
    await runs(world, *(f"burst-{index}" for index in range(GANG)))
    assert len(claims.made_for("burst")) == GANG


# ── what goes wrong in mid-PreBind ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("made", [pytest.param(1, id="early"), pytest.param(5, id="late")])
@pytest.mark.parametrize(
    "static", [pytest.param(True, id="static"), pytest.param(False, id="made")]
)
async def test_a_scheduler_killed_in_mid_prebind_leaves_nothing_behind(
    world: World, claims: Claims, made: int, *, static: bool
) -> None:
    nodes = await world.nodes(GANG, cpu=4)
    disk = await claims.local_class() if static else await claims.storage_class("disk")
    if static:
        for node in nodes:
            await claims.volume(node, disk, node)
    await incidents.slow_writes(world, prepares)
    await with_claims(world, claims, "burst", GANG, disk)

    def begun() -> bool:
        return len({*claims.made_for("burst"), *claims.chosen("burst")}) >= made

    await world.until(begun, f"{made} claims are prepared")
    world.scheduler.kill()
    assert len(world.observer.bound(world.namespace)) < GANG

    await world.start_scheduler()
    await world.bound("burst", GANG)
    await runs(world, *(f"burst-{index}" for index in range(GANG)))
    assert len(claims.made_for("burst")) == GANG


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(forge=500), id="500"),
        pytest.param(Fault(forge=409), id="409"),
        pytest.param(Fault(drop=True), id="dropped"),
        pytest.param(Fault(drop=True, late=0.2), id="dropped and done"),
        pytest.param(Fault(sends=2), id="sent twice"),
    ],
)
async def test_writes_that_go_wrong_in_mid_prebind_double_and_lose_nothing(
    world: World, claims: Claims, fault: Fault
) -> None:
    rng = random.Random(11)
    await world.nodes(4, cpu=8)
    disk = await claims.storage_class("disk")
    proxy = await incidents.fault_proxy(world)
    proxy.policy = lambda method, path: (
        fault if prepares(method, path) and rng.random() < 0.4 else Fault()
    )
    await with_claims(world, claims, "burst", GANG, disk)
    await world.bound("burst", GANG)
    await runs(world, *(f"burst-{index}" for index in range(GANG)))
    assert len(claims.made_for("burst")) == GANG


async def test_a_plan_that_is_given_up_in_mid_prebind_gives_back_the_nodes_it_chose(
    world: World, claims: Claims
) -> None:
    await world.nodes(GANG, cpu=4)
    disk = await claims.storage_class("disk")
    for index in range(GANG):
        await claims.claim(f"burst-{index}", disk, annotations={REFUSE: "not today"})
    await incidents.slow_writes(world, prepares)
    await world.group("burst", GANG)
    for index in range(GANG):
        await world.pod(f"burst-{index}", "burst", volumes=mounted(f"burst-{index}"))
    await world.event("burst-0", "ProvisioningFailed")
    await world.remove_pod("burst-7")
    await world.until(lambda: claims.chosen("burst") == [], "no node is chosen", timeout=90)
    assert not world.observer.bound(world.namespace)


# ── bad input ────────────────────────────────────────────────────────────────────────────────


async def waits_for(world: World, claims: Claims, what: str) -> str:
    """Make a claim of which this is wrong; its name."""
    by_hand = await claims.storage_class(
        "by-hand", waits=False, provisioner="kubernetes.io/no-provisioner"
    )
    if what == "being deleted":
        await claims.claim("data", by_hand, finalizers=["e2e.enbloc.dev/hold"])
        await world.client.delete(PERSISTENT_VOLUME_CLAIMS, "data", world.namespace)
    elif what == "lost":
        volume = await claims.volume("lost", by_hand)
        await claims.claim("data", by_hand)
        await world.until(lambda: claims.met("data", PERSISTENT_VOLUME_CLAIMS) == 1, "it is bound")
        free = {"metadata": {"finalizers": None}}
        await world.client.delete(PERSISTENT_VOLUMES, volume)
        await world.client.patch(PERSISTENT_VOLUMES, volume, free, kind=PatchType.MERGE)
        await world.until(
            lambda: any(one.phase == "Lost" for one in claims.all(PERSISTENT_VOLUME_CLAIMS)),
            "it is lost",
        )
    elif what == "immediate":
        now = await claims.storage_class("now", waits=False, provisioner="nobody.example.com")
        await claims.claim("data", now)
    elif what == "class":
        await claims.claim("data", "nothing-of-the-kind")
    return "data"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        pytest.param("missing", 'persistentvolumeclaim "data" not found', id="missing"),
        pytest.param("being deleted", 'persistentvolumeclaim "data" is being deleted', id="going"),
        pytest.param("lost", 'persistentvolumeclaim "data" bound to non-existent', id="Lost"),
        pytest.param("immediate", "unbound immediate PersistentVolumeClaims", id="immediate"),
        pytest.param("class", "unbound immediate PersistentVolumeClaims", id="class missing"),
    ],
)
async def test_a_claim_that_is_no_good_is_named_and_holds_up_nobody_else(
    world: World, claims: Claims, what: str, said: str
) -> None:
    await world.nodes(2, cpu=8)
    name = await waits_for(world, claims, what)
    await world.group("bad", 2)
    await world.pod("bad-0", "bad", volumes=mounted(name))
    await world.pod("bad-1", "bad")
    await world.gang("good", 2)

    await world.bound("good", 2)
    await world.condition("bad", "Scheduled", "False", message=said)
    await world.event("bad-0", "FailedScheduling", note=said)
    assert not world.observer.bound(world.namespace, "bad")


async def test_a_claim_for_one_pod_that_two_members_share_is_infeasible(
    world: World, claims: Claims
) -> None:
    await world.nodes(2, cpu=8)
    disk = await claims.storage_class("disk")
    await claims.claim("alone", disk, mode="ReadWriteOncePod")
    await world.gang("pair", 2, volumes=mounted("alone"))
    await world.condition("pair", "Scheduled", "False", reason="Infeasible", message="alone")


async def test_members_that_share_a_read_write_many_claim_go_anywhere(
    world: World, claims: Claims
) -> None:
    await world.nodes(3, cpu=2)
    disk = await claims.storage_class("disk")
    await claims.claim("shared", disk, mode="ReadWriteMany")
    await world.gang("three", 3, cpu=2, volumes=mounted("shared"))
    await runs(world, *(f"three-{index}" for index in range(3)))
    assert len(set(world.observer.bound(world.namespace, "three").values())) == 3


async def test_members_that_share_a_read_write_once_claim_go_to_one_node(
    world: World, claims: Claims
) -> None:
    await world.nodes(3, cpu=4)
    disk = await claims.storage_class("disk")
    await claims.claim("shared", disk)
    await world.gang("four", 4, volumes=mounted("shared"))
    await runs(world, *(f"four-{index}" for index in range(4)))
    assert len(set(world.observer.bound(world.namespace, "four").values())) == 1
